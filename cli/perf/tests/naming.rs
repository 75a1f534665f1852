//! Names: the kernel and its modules, files by build-id, run-time code, bounds.

#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should stop"
)]

mod common;

use std::path::{Path, PathBuf};

use common::*;
use symidx_perf::{
    Binaries, BuildMissing, Fields, Format, IndexOptions, NameOptions, Names, Reason,
    ScriptOptions, Summary, script,
};

const TEXT: u64 = 0xffff_ffff_8100_0000;
const DCA: u64 = 0xffff_ffff_c0a0_0000;
const NFT: u64 = 0xffff_ffff_c0a0_1000;

/// The layout of which perf says `dca_sysfs_exit` for the first bytes of `nft_do_chain`.
const KALLSYMS: &str = "ffffffff81000000 T _text\n\
                        ffffffff81001000 T schedule\n\
                        ffffffff81002000 T next\n\
                        ffffffffc0a00f00 t dca_sysfs_exit\t[dca]\n\
                        ffffffffc0a01000 t nft_do_chain\t[nf_tables]\n\
                        ffffffffc0a01400 t nft_other\t[nf_tables]\n";

struct World {
    directory: tempfile::TempDir,
    options: ScriptOptions,
    kallsyms: bool,
    max_bytes: Option<u64>,
    build: bool,
    /// Recorded paths are below this directory of it.
    root: Option<&'static str>,
}

impl World {
    fn new(fields: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("kallsyms"), KALLSYMS).unwrap();
        let mut options = ScriptOptions::default();
        options.fields = Fields::parse(fields).unwrap();
        options.demangle = false;
        Self { directory, options, kallsyms: true, max_bytes: None, build: true, root: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, recording: &Recording) -> (String, Summary) {
        let mut names = NameOptions::default();
        names.stores.push(self.path("store"));
        names.max_bytes = self.max_bytes;
        names.binaries = Binaries::nowhere_else();
        if let Some(root) = self.root {
            names.binaries = names.binaries.with_root(self.path(root));
        }
        if self.kallsyms {
            names.kallsyms = Some(self.path("kallsyms"));
            names.binaries = names.binaries.with_kallsyms(self.path("kallsyms"));
        }
        if self.build {
            names.build = Some(BuildMissing::new(IndexOptions::new(self.path("store"))));
        }
        let mut names = Names::new(names);
        if let Some(bound) = self.max_bytes {
            names.choose(&mut session(&recording.file()).unwrap(), 127, bound).unwrap();
        }
        let mut out = Vec::new();
        let mut session = session(&recording.file()).unwrap();
        let summary = script(&mut session, &mut names, &self.options, &mut out, |_| ()).unwrap();
        (String::from_utf8(out).unwrap(), summary)
    }
}

fn kernel(base: u64) -> Recording {
    let mut recording = Recording::new(IP_TID_TIME | CALLCHAIN);
    recording.kernel(base, 0x3000, base, "[kernel.kallsyms]_text");
    recording.kernel(DCA, 0x1000, 0, "[dca]");
    recording.kernel(NFT, 0x8000, 0, "/lib/modules/6.1/nf-tables.ko.xz");
    recording.comm(7, 0, "worker", false);
    recording
}

fn count(summary: &Summary, reason: Reason) -> u64 {
    summary.unknown[reason.number()]
}

#[test]
fn the_kernel_and_its_modules_are_named_and_no_symbol_crosses_a_module() {
    let mut recording = kernel(TEXT);
    let chain = [
        CONTEXT_KERNEL,
        NFT,
        NFT + 0x3f0,
        NFT + 0x410,
        DCA + 0xf10,
        TEXT + 0x1010,
        0x10,
        CONTEXT_USER,
        0x20,
    ];
    recording.sample(KERNEL, 7, 1_234_567_890, NFT, &chain);
    let world = World::new("comm,tid,time,ip,sym,symoff,dso");
    let (text, summary) = world.run(&recording);
    let expected = "worker     7     1.234567: \n\
                    \tffffffffc0a01000 nft_do_chain+0x0 ([nf_tables])\n\
                    \tffffffffc0a013f0 nft_do_chain+0x3f0 ([nf_tables])\n\
                    \tffffffffc0a01410 nft_other+0x10 ([nf_tables])\n\
                    \tffffffffc0a00f10 dca_sysfs_exit+0x10 ([dca])\n\
                    \tffffffff81001010 schedule+0x10 ([kernel.kallsyms])\n\
                    \t              10 [unknown] ([unknown])\n\
                    \t              20 [unknown] ([unknown])\n\n";
    assert_eq!(text, expected);
    assert_eq!((summary.frames, summary.named), (7, 5));
    assert_eq!(count(&summary, Reason::Unmapped), 2);
    // The index is there now, and nothing is built again.
    assert_eq!(summary.built, 1);
    let again = world.run(&recording);
    assert_eq!((again.0.as_str(), again.1.built), (expected, 0));
}

#[test]
fn a_kernel_that_was_placed_elsewhere_is_named_and_its_modules_are_not() {
    let mut recording = kernel(TEXT + 0x1000_0000);
    recording.sample(KERNEL, 7, 1, 0, &[CONTEXT_KERNEL, TEXT + 0x1000_1010, NFT]);
    let (text, summary) = World::new("ip,sym").run(&recording);
    assert_eq!(text, "\n\tffffffff91001010 schedule\n\tffffffffc0a01000 [unknown]\n\n");
    assert_eq!(count(&summary, Reason::NoSymbol), 1);
}

#[test]
fn without_symbols_the_reason_says_what_to_give() {
    let mut recording = kernel(TEXT);
    recording.ids.push((KERNEL, b"[kernel.kallsyms]".to_vec(), [9; 20]));
    recording.sample(KERNEL, 7, 1, 0, &[CONTEXT_KERNEL, TEXT + 0x1010]);
    let mut world = World::new("ip,sym");
    world.kallsyms = false;
    let (text, summary) = world.run(&recording);
    assert_eq!(text, "\n\tffffffff81001010 [unknown]\n\n");
    assert_eq!(count(&summary, Reason::NoIndex), 1);
    assert!(summary.dsos[0].why.contains("--kallsyms"), "{}", summary.dsos[0].why);
}

/// A program with a build-id, a function of it, and where that function is in the file.
fn program() -> (PathBuf, [u8; 20], String, u64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/pprof/work.elf");
    let built = symidx_indexer::build_bytes(&path, &symidx_indexer::BuildOptions::default());
    let index = symidx::Index::from_vec(built.unwrap().0).unwrap();
    let mut functions = index.symbols().flatten();
    let function = functions.find(|f| f.name() == *b"main" && f.aliases().count() == 0).unwrap();
    let offset = index.file_offset_of(function.start()).unwrap().0;
    let id = index.build_id().unwrap().try_into().unwrap();
    (path, id, function.name().to_string(), offset)
}

#[test]
fn a_file_is_named_by_file_offset_when_it_is_the_recorded_build() {
    let (path, id, name, offset) = program();
    let name_of_file = path.to_str().unwrap();
    for (id, expected) in [(Some(id), true), (Some([1; 20]), false), (None, true)] {
        let mut recording = Recording::new(IP_TID_TIME);
        recording.ids.extend(id.map(|id| (USER, name_of_file.as_bytes().to_vec(), id)));
        let page = offset & !0xfff;
        recording.mmap(5, 0, 0x7f00_0000_0000, 0x1000, page, name_of_file);
        let ip = 0x7f00_0000_0000 + (offset - page);
        recording.sample(USER, 5, 1, ip + 1, &[]);
        let world = World::new("comm,ip,sym,symoff,dso");
        let (text, summary) = world.run(&recording);
        let symbol = if expected { format!("{name}+0x1") } else { "[unknown]".to_owned() };
        // Without a chain the address is that of the process, with one of the file.
        assert_eq!(text, format!("              :5      {:x} {symbol} ({name_of_file})\n", ip + 1));
        assert_eq!(summary.named, u64::from(expected));
        if !expected {
            assert!(summary.dsos[0].why.contains("build"), "{}", summary.dsos[0].why);
        }
    }
}

#[test]
fn what_was_not_to_be_built_is_not() {
    let (path, id, ..) = program();
    let mut recording = Recording::new(IP_TID_TIME);
    recording.ids.push((USER, path.to_str().unwrap().as_bytes().to_vec(), id));
    recording.mmap(5, 0, 0x1000, 0x1000, 0, path.to_str().unwrap());
    recording.sample(USER, 5, 1, 0x1010, &[]);
    let mut world = World::new("ip,sym");
    world.build = false;
    let (_, summary) = world.run(&recording);
    assert_eq!((summary.built, count(&summary, Reason::NoIndex)), (0, 1));
    assert!(!world.path("store").exists());
}

#[test]
fn run_time_code_is_named_by_the_map_of_its_process() {
    // No process has this number.
    let pid = 0x4000_0000 + std::process::id() % 0x1000_0000;
    let map = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    std::fs::write(&map, "7f0000000100 40 LazyCompile:~f a.js:1\n7f0000000140 10 stub\n").unwrap();
    let mut recording = Recording::new(IP_TID_TIME | CALLCHAIN);
    recording.mmap(pid, 0, 0x7f00_0000_0000, 0x1000, 0, "//anon");
    recording.sample(USER, pid, 1, 0, &[0x7f00_0000_0104, 0x7f00_0000_0148, 0x7f00_0000_0158]);
    let (text, summary) = World::new("ip,sym,dso").run(&recording);
    // Of a copy of another machine's files, this machine's map is somebody else's.
    let copy = World { root: Some("copy"), ..World::new("ip,sym,dso") };
    let (_, elsewhere) = copy.run(&recording);
    assert_eq!(count(&elsewhere, Reason::NoMapFile), 3);
    std::fs::create_dir_all(copy.path("copy/tmp")).unwrap();
    std::fs::copy(&map, copy.path("copy").join(map.strip_prefix("/").unwrap())).unwrap();
    assert_eq!(copy.run(&recording).0, text);
    // The map is there: what it lacks is an index.
    let mut unbuilt = World::new("ip,sym,dso");
    unbuilt.build = false;
    let (_, summary_unbuilt) = unbuilt.run(&recording);
    std::fs::remove_file(&map).unwrap();
    assert_eq!(count(&summary_unbuilt, Reason::NoIndex), 3);
    let file = map.display();
    let expected = format!(
        "\n\t    7f0000000104 LazyCompile:~f a.js:1 ({file})\n\
         \t    7f0000000148 stub ({file})\n\
         \t    7f0000000158 [unknown] ({file})\n\n"
    );
    assert_eq!(text, expected);
    assert_eq!(count(&summary, Reason::NoSymbol), 1);
    let (_, summary) = World::new("ip,sym,dso").run(&recording);
    assert_eq!(count(&summary, Reason::NoMapFile), 3);
}

/// In `/tmp` anyone can put an index beside a map that is not theirs: it was taken when it
/// stated the map's hash, whatever names were in it.
#[test]
fn an_index_that_others_put_beside_a_map_is_not_taken() {
    let pid = 0x5000_0000 + std::process::id() % 0x1000_0000;
    let map = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    let beside = PathBuf::from(format!("/tmp/perf-{pid}.map.symidx"));
    std::fs::write(&map, "7f0000000100 40 name\n").unwrap();
    symidx_indexer::build_file(&map, &beside, &symidx_indexer::BuildOptions::default()).unwrap();
    let mut recording = Recording::new(IP_TID_TIME);
    recording.mmap(pid, 0, 0x7f00_0000_0000, 0x1000, 0, "//anon");
    recording.sample(USER, pid, 1, 0x7f00_0000_0104, &[]);
    let built = || World::new("ip,sym").run(&recording).1.built;
    let own = built();
    // Only root can give a file away.
    let others = std::os::unix::fs::chown(&beside, Some(12_345), None).is_ok().then(built);
    std::fs::remove_file(&map).unwrap();
    std::fs::remove_file(&beside).unwrap();
    assert_eq!(own, 0);
    assert!(others.is_none_or(|built| built == 1), "{others:?}");
}

#[test]
fn a_bound_on_bytes_leaves_out_what_names_least_and_says_what_it_cost() {
    let (path, id, name, offset) = program();
    let mut recording = kernel(TEXT);
    recording.ids.push((USER, path.to_str().unwrap().as_bytes().to_vec(), id));
    recording.mmap(7, 0, 0x7f00_0000_0000, 0x1000, offset & !0xfff, path.to_str().unwrap());
    let ip = 0x7f00_0000_0000 + (offset & 0xfff);
    for time in 1..=10 {
        recording.sample(USER, 7, time, 0, &[ip]);
    }
    recording.sample(KERNEL, 7, 11, 0, &[CONTEXT_KERNEL, TEXT + 0x1010, TEXT + 0x1020]);
    let mut world = World::new("ip,sym");
    let (_, whole) = world.run(&recording);
    assert_eq!((whole.named, whole.dsos.len()), (12, 2));
    let sizes: Vec<u64> = whole.dsos.iter().filter_map(|dso| dso.index_bytes).collect();
    assert_eq!(whole.mapped_bytes, sizes.iter().sum::<u64>());
    // Room for the larger one of ten frames, and for nothing beside it.
    world.max_bytes = Some(sizes[0]);
    let (text, bounded) = world.run(&recording);
    assert_eq!(bounded.named, 10);
    assert!(text.contains(&name) && bounded.mapped_bytes <= sizes[0]);
    assert_eq!(count(&bounded, Reason::OverBudget), 2);
    let lost = &bounded.dsos[1];
    assert_eq!(
        (&*lost.dso.name, lost.samples, lost.frames),
        (b"[kernel.kallsyms]".as_slice(), 1, 2)
    );
    assert_eq!(lost.reason, Some(Reason::OverBudget));
    world.max_bytes = Some(0);
    assert_eq!(world.run(&recording).1.named, 0);
}

#[test]
fn a_bpf_program_is_named_by_the_kernel_while_it_is_there() {
    // As perf 6.1 prints it.
    let mut recording = kernel(TEXT);
    let program = 0xffff_ffff_a000_0000u64;
    let ksymbol = |recording: &mut Recording, removed: u16| {
        let place = [recording.u64(program), recording.u32(0x80)].concat();
        let what =
            [recording.u16(1), recording.u16(removed), padded(b"bpf_prog_6deef7357e7b4530_x")];
        let who = [recording.u32(3), recording.u32(3), recording.u64(0)].concat();
        recording.add(17, 0, &[place, what.concat(), who].concat());
    };
    ksymbol(&mut recording, 0);
    recording.sample(KERNEL, 7, 10, 0, &[CONTEXT_KERNEL, program + 0x10, program + 0x90]);
    let mut gone = recording.clone();
    let world = World::new("ip,sym,symoff,dso");
    let (text, summary) = world.run(&recording);
    let expected = "\n\tffffffffa0000010 bpf_prog_6deef7357e7b4530_x+0x10 (bpf_prog_6deef7357e7b4530_x)\n\
                    \tffffffffa0000090 [unknown] ([unknown])\n\n";
    assert_eq!(text, expected);
    assert_eq!(summary.counts.kernel_code, 1);
    ksymbol(&mut gone, 1);
    assert_eq!(
        world.run(&gone).0,
        "\n\tffffffffa0000010 [unknown] ([unknown])\n\tffffffffa0000090 [unknown] ([unknown])\n\n"
    );
}

#[test]
fn json_and_folded_stacks_say_the_same() {
    let mut recording = kernel(TEXT);
    recording.sample(KERNEL, 7, 5, 0, &[CONTEXT_KERNEL, NFT + 1, TEXT + 0x1010, 0x99]);
    recording.sample(KERNEL, 7, 6, 0, &[CONTEXT_KERNEL, NFT + 1, TEXT + 0x1010, 0x99]);
    let mut world = World::new("ip");
    world.options.format = Format::Folded;
    assert_eq!(world.run(&recording).0, "worker;[unknown];schedule;nft_do_chain 2\n");
    world.options.format = Format::Json;
    let (text, _) = world.run(&recording);
    let expected = concat!(
        r#"{"comm":"worker","pid":7,"tid":7,"time_ns":5,"period":4000,"event":"cpu-clock","frames":["#,
        r#"{"ip":"0xffffffffc0a01001","symbol":"nft_do_chain","offset":1,"dso":"[nf_tables]","address":"0xffffffffc0a01001"},"#,
        r#"{"ip":"0xffffffff81001010","symbol":"schedule","offset":16,"dso":"[kernel.kallsyms]","address":"0xffffffff81001010"},"#,
        r#"{"ip":"0x99","symbol":null,"reason":"in no mapping","dso":null}]}"#,
    );
    assert_eq!(text.lines().next(), Some(expected));
}

#[test]
fn at_most_so_many_addresses_of_a_chain_are_shown() {
    let mut recording = kernel(TEXT);
    let chain = [CONTEXT_KERNEL, TEXT + 0x1001, CONTEXT_USER, 1, 2, 3];
    recording.sample(KERNEL, 7, 5, 0, &chain);
    let mut world = World::new("ip");
    for (most, lines) in [(0, 0), (1, 1), (2, 2), (4, 4), (100, 4)] {
        world.options.max_stack = most;
        let (text, summary) = world.run(&recording);
        assert_eq!(text.lines().filter(|line| line.starts_with('\t')).count(), lines);
        assert_eq!(summary.frames, u64::try_from(lines).unwrap());
    }
}
