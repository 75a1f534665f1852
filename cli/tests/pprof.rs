//! `symidx pprof`: raw profiles of real profilers, and what becomes of them.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{code, copied, json, stderr, stdout, symidx, testdata, text};
use serde_json::json;
use symidx_pprof::{Function, Limits, Line, Location, Mapping, Profile, Sample, ValueType};

/// The command without any store or cache of the machine.
fn pprof(home: &Path) -> Command {
    let mut command = symidx();
    command.env("HOME", home).env_remove("XDG_CACHE_HOME").env_remove("SYMIDX_PATH").arg("pprof");
    command
}

fn read(path: &Path) -> Profile {
    let (profile, damage) =
        Profile::read(std::fs::File::open(path).unwrap(), Limits::default()).unwrap();
    assert!(damage.is_none(), "{damage:?}");
    profile
}

/// Address, and `name (system name) file:line from first line` of each line.
fn lines(profile: &Profile) -> Vec<String> {
    let function = |id| profile.functions.iter().find(|f| f.id == id).unwrap();
    let locations = profile.locations.iter();
    locations
        .map(|location| {
            let lines = location.line.iter().map(|line| {
                let f = function(line.function_id);
                let (name, file) = (profile.text(f.name), profile.text(f.filename));
                format!("{name} {file}:{} from {}", line.line, f.start_line)
            });
            lines.collect::<Vec<_>>().join(", ")
        })
        .collect()
}

fn flags(profile: &Profile) -> Vec<[bool; 4]> {
    let mappings = profile.mappings.iter();
    let flags =
        |m: &Mapping| [m.has_functions, m.has_filenames, m.has_line_numbers, m.has_inline_frames];
    mappings.map(flags).collect()
}

/// `--binary work.elf=…/work.elf`, and no libc whatever the machine has.
fn binaries() -> [String; 4] {
    let work = testdata("pprof/work.elf");
    let flag = || "--binary".to_owned();
    [flag(), format!("work.elf={}", text(&work)), flag(), "libc.so.6=/none/libc.so.6".to_owned()]
}

/// As addr2line -i gives the addresses of `cpu.pb.gz` in work.elf.
const CPU: [&str; 10] = [
    "mix /src/work.c:6 from 4, hot /src/work.c:14 from 10",
    "deep /src/work.c:20 from 18",
    "main /src/work.c:28 from 24",
    "",
    "",
    "_start :0 from 0",
    "hot /src/work.c:13 from 10",
    "hot /src/work.c:13 from 10",
    "mix /src/work.c:7 from 4, hot /src/work.c:14 from 10",
    "main /src/work.c:27 from 24",
];

#[test]
fn a_raw_profile_of_gperftools_gets_functions_lines_and_inlined_frames() {
    let directory = tempfile::tempdir().unwrap();
    let raw = copied("pprof/cpu.pb.gz", directory.path());
    let done = pprof(directory.path()).args(binaries()).arg(&raw).output().unwrap();
    assert_eq!((code(&done), stdout(&done)), (0, String::new()), "{}", stderr(&done));
    let said = stderr(&done);
    for part in [
        "8 of 10 locations have names (80.0 %)",
        "libc.so.6: 2 of 2 locations have none: 2 no index: /none/libc.so.6 is not here",
        "the profile states no build-id",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (before, after) = (read(&raw), read(&directory.path().join("cpu.symbolized.pb.gz")));
    assert_eq!(lines(&after), CPU);
    // `_start` has no line: the flags say so.
    assert_eq!(flags(&after), [[true, false, false, false], [false; 4]]);
    // Samples, addresses and mappings are as they were.
    assert_eq!(after.samples, before.samples);
    let addresses = |p: &Profile| p.locations.iter().map(|l| (l.id, l.address)).collect::<Vec<_>>();
    assert_eq!(addresses(&after), addresses(&before));
    // The raw profile is still there, and nothing else is.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    // Once more changes nothing.
    let again = directory.path().join("again.pb.gz");
    let done = pprof(directory.path())
        .args(binaries())
        .arg(directory.path().join("cpu.symbolized.pb.gz"))
        .args(["-o", text(&again)])
        .output()
        .unwrap();
    assert!(stderr(&done).contains("(8 had names before)"), "{}", stderr(&done));
    assert_eq!(read(&again), after);
}

#[test]
fn the_summary_is_json_too() {
    let directory = tempfile::tempdir().unwrap();
    let raw = copied("pprof/cpu.pb.gz", directory.path());
    let output = directory.path().join("o");
    let done = pprof(directory.path())
        .args(binaries())
        .args(["-q", "--json", "-o", text(&output), text(&raw)])
        .output()
        .unwrap();
    assert_eq!(
        json(&done),
        [json!({
            "input": text(&raw), "output": text(&output), "samples": 7, "functions": 5,
            "locations": 10, "symbolized": 8, "kept": 0, "unknown": {"no index": 2},
            "mappings": [
                {"id": 1, "filename": "/src/work.elf", "build_id": "", "locations": 8,
                 "symbolized": 8, "kept": 0, "unknown": {}, "error": null},
                {"id": 2, "filename": "/usr/lib/x86_64-linux-gnu/libc.so.6", "build_id": "",
                 "locations": 2, "symbolized": 0, "kept": 0, "unknown": {"no index": 2},
                 "error": "/none/libc.so.6 is not here, and no store has its index"},
            ],
            "damage": {},
        })]
    );
    assert_eq!(stderr(&done), "");
}

#[test]
fn stacks_are_folded_and_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let raw = testdata("pprof/cpu.pb.gz");
    let graph = directory.path().join("g.svg");
    let done = pprof(directory.path())
        .args(binaries())
        .args(["-q", "--folded", "--sample-type", "samples", "--flamegraph", text(&graph)])
        .arg(&raw)
        .output()
        .unwrap();
    assert_eq!(
        stdout(&done),
        "_start;[libc.so.6];[libc.so.6];main;deep;hot 85\n\
         _start;[libc.so.6];[libc.so.6];main;deep;hot;mix 49\n\
         _start;[libc.so.6];[libc.so.6];main;hot 93\n\
         _start;[libc.so.6];[libc.so.6];main;hot;mix 48\n"
    );
    let svg = std::fs::read_to_string(&graph).unwrap();
    assert!(svg.contains("deep (134 count, 48.73%)") && svg.contains("mix (49 count"), "{svg}");
    // Only what was asked for is written, and the values are the profile's default.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    let done = pprof(directory.path())
        .args(binaries())
        .args(["-q", "--folded", "--no-inlines", text(&raw)])
        .output()
        .unwrap();
    assert_eq!(
        stdout(&done),
        "_start;[libc.so.6];[libc.so.6];main;deep;hot 536000000\n\
         _start;[libc.so.6];[libc.so.6];main;hot 564000000\n"
    );
}

/// The raw profile with a build-id stated for the main program, under a name that is no file here.
fn stating(build_id: &str, directory: &Path) -> PathBuf {
    let mut profile = read(&testdata("pprof/cpu.pb.gz"));
    profile.mappings[0].build_id = profile.strings.intern(build_id);
    let path = directory.join("stated.pb.gz");
    profile.write(std::fs::File::create(&path).unwrap()).unwrap();
    path
}

const WORK: &str = include_str!("../../testdata/pprof/work.id");

#[test]
fn an_index_in_a_store_is_found_by_build_id_alone() {
    let directory = tempfile::tempdir().unwrap();
    let raw = stating(WORK.trim(), directory.path());
    let store = directory.path().join("store");
    let built = symidx()
        .args(["build", "-q", text(&testdata("pprof/work.elf")), "--store", text(&store)])
        .output()
        .unwrap();
    assert_eq!(code(&built), 0, "{}", stderr(&built));
    let output = directory.path().join("o.pb.gz");
    let symbolize = |command: &mut Command| {
        let done = command.args([text(&raw), "-o", text(&output)]).output().unwrap();
        assert_eq!(code(&done), 0);
        assert!(!stderr(&done).contains("states no build-id;"), "{}", stderr(&done));
        lines(&read(&output)).into_iter().take(3).collect::<Vec<_>>()
    };
    let none = ["--binary", "libc.so.6=/none", "--binary", "work.elf=/none"];
    let mut command = pprof(directory.path());
    assert_eq!(symbolize(command.args(none).args(["--store", text(&store)])), CPU[..3]);
    let mut command = pprof(directory.path());
    assert_eq!(symbolize(command.args(none).env("SYMIDX_PATH", &store)), CPU[..3]);
    let mut command = pprof(directory.path());
    assert_eq!(symbolize(command.args(none)), [""; 3]);
}

#[test]
fn a_binary_of_another_build_is_never_used() {
    let directory = tempfile::tempdir().unwrap();
    for (build_id, symbolized) in [(WORK.trim(), 8), ("00112233445566778899", 0)] {
        let raw = stating(build_id, directory.path());
        let done = pprof(directory.path())
            .args(binaries())
            .args(["--json", "-o", text(&directory.path().join("o")), text(&raw)])
            .output()
            .unwrap();
        let summary = json(&done).remove(0);
        assert_eq!(summary["symbolized"], symbolized);
        let error = summary["mappings"][0]["error"].as_str().unwrap_or("");
        let expected = "expected build-id 00112233445566778899, as the profile states, found";
        assert_eq!(error.contains(expected), symbolized == 0, "{error}");
    }
}

#[test]
fn a_file_that_was_deleted_is_known_by_its_build_id_alone() {
    let directory = tempfile::tempdir().unwrap();
    let binary = copied("pprof/work.elf", directory.path());
    for (build_id, symbolized) in [(WORK.trim(), 8), ("", 0)] {
        let raw = stating(build_id, directory.path());
        let mut profile = read(&raw);
        let name = format!("{} (deleted)", text(&binary));
        profile.mappings[0].filename = profile.strings.intern(&name);
        profile.write(std::fs::File::create(&raw).unwrap()).unwrap();
        let output = directory.path().join("o");
        let done = pprof(directory.path())
            .args(["--json", text(&raw), "-o", text(&output), "--binary", "libc.so.6=/none"])
            .output()
            .unwrap();
        let summary = json(&done).remove(0);
        assert_eq!(summary["symbolized"], symbolized, "{summary}");
    }
}

#[test]
fn frames_that_the_profile_drops_are_in_no_graph() {
    let directory = tempfile::tempdir().unwrap();
    let mut profile = read(&testdata("pprof/cpu.pb.gz"));
    profile.drop_frames = profile.strings.intern("hot|deep|main");
    profile.keep_frames = profile.strings.intern("deep|ma.*");
    let raw = directory.path().join("raw");
    profile.write(std::fs::File::create(&raw).unwrap()).unwrap();
    let folded = |raw: &Path| {
        let mut command = pprof(directory.path());
        command.args(binaries()).args(["--folded", "--sample-type", "0", text(raw)]);
        command.output().unwrap()
    };
    assert_eq!(
        stdout(&folded(&raw)),
        "_start;[libc.so.6];[libc.so.6];main 141\n_start;[libc.so.6];[libc.so.6];main;deep 134\n"
    );
    profile.drop_frames = profile.strings.intern("(");
    profile.write(std::fs::File::create(&raw).unwrap()).unwrap();
    let done = folded(&raw);
    assert!(stderr(&done).contains("found `(`; none is left out"), "{}", stderr(&done));
    assert_eq!(stdout(&done).lines().count(), 4);
}

#[test]
fn a_profile_that_go_has_symbolized_is_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let raw = testdata("pprof/go.pb.gz");
    let output = directory.path().join("o");
    let done = pprof(directory.path()).args([text(&raw), "-o", text(&output)]).output().unwrap();
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    assert_eq!(read(&output), read(&raw));
}

#[test]
fn addresses_of_jemalloc_pprof_are_svmas() {
    let directory = tempfile::tempdir().unwrap();
    let mut profile = read(&testdata("pprof/jemalloc.pb.gz"));
    // Its program is not here; work.elf plays it: `hot` at its svma. The location is in the
    // second mapping of the program's file.
    profile.locations[0].address = 0x11a4;
    assert_eq!(profile.locations[0].mapping_id, 2);
    for mapping in &mut profile.mappings {
        mapping.build_id = 0;
    }
    let raw = directory.path().join("raw");
    profile.write(std::fs::File::create(&raw).unwrap()).unwrap();
    let work = testdata("pprof/work.elf");
    let output = directory.path().join("o");
    let done = pprof(directory.path())
        .args(["--exe", text(&work), text(&raw), "-o", text(&output)])
        .output()
        .unwrap();
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    assert_eq!(lines(&read(&output))[0], "hot /src/work.c:13 from 10");
}

/// A profile of these addresses, of which no mapping is known.
fn bare(addresses: &[u64], path: &Path) {
    let mut profile = Profile { sample_types: vec![ValueType::default()], ..Profile::default() };
    for (id, address) in (1..).zip(addresses) {
        let address = *address;
        profile.locations.push(Location { id, address, ..Location::default() });
        profile.samples.push(Sample { location_id: vec![id], value: vec![1], label: vec![] });
    }
    profile.write(std::fs::File::create(path).unwrap()).unwrap();
}

/// A regular file that says it is empty: reading it waited for the kernel's next message,
/// and any profile may name it.
#[test]
fn a_file_of_the_kernel_is_not_read_because_a_profile_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let (raw, output) = (directory.path().join("raw"), directory.path().join("o"));
    bare(&[0x1010], &raw);
    let mut profile = read(&raw);
    let filename = profile.strings.intern("/proc/kmsg");
    let (memory_start, memory_limit) = (0x1000, 0x2000);
    profile.mappings.push(Mapping {
        id: 1,
        memory_start,
        memory_limit,
        filename,
        ..Mapping::default()
    });
    profile.locations[0].mapping_id = 1;
    profile.write(std::fs::File::create(&raw).unwrap()).unwrap();
    let mut command = pprof(directory.path());
    let done = command.args([text(&raw), "-o", text(&output)]).output().unwrap();
    assert_eq!(code(&done), 0);
    assert!(stderr(&done).contains("/proc/kmsg is not here"), "{}", stderr(&done));
}

/// A kilobyte came to hundreds of megabytes of folded stacks.
#[test]
fn stacks_that_grow_out_of_all_proportion_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let raw = directory.path().join("raw.pb.gz");
    let mut profile = Profile { sample_types: vec![ValueType::default()], ..Profile::default() };
    let name = profile.strings.intern(&"n".repeat(100));
    profile.functions.push(Function { id: 1, name, ..Function::default() });
    let line = vec![Line { function_id: 1, ..Line::default() }; 100];
    profile.locations = vec![Location { id: 1, line, ..Location::default() }];
    profile.samples = (1..=150)
        .map(|frames| Sample { location_id: vec![1; frames], value: vec![1], label: Vec::new() })
        .collect();
    profile.write(std::fs::File::create(&raw).unwrap()).unwrap();
    assert!(raw.metadata().unwrap().len() < 2000);
    let done = pprof(directory.path()).args(["--folded", text(&raw)]).output().unwrap();
    assert_eq!((code(&done), done.stdout.len()), (1, 0));
    let message = stderr(&done);
    assert!(message.contains("at most 67108864 bytes") && message.contains("--max-memory"));
    assert_eq!(message.lines().count(), 1, "{message}");
    // Whoever trusts it says so.
    let done = pprof(directory.path())
        .args(["--folded", "--max-memory", "1G", text(&raw)])
        .output()
        .unwrap();
    assert_eq!((code(&done), stdout(&done).lines().count()), (0, 150));
}

#[test]
fn a_profile_without_mappings_is_of_the_program_that_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (raw, output) = (directory.path().join("raw"), directory.path().join("o"));
    bare(&[0x11a4, 0x10], &raw);
    let exe = testdata("pprof/work.elf");
    let done = pprof(directory.path())
        .args(["--exe", text(&exe), text(&raw), "-o", text(&output)])
        .output()
        .unwrap();
    assert_eq!(lines(&read(&output)), ["hot /src/work.c:13 from 10", ""]);
    assert!(stderr(&done).contains("1 no symbol covers this address"), "{}", stderr(&done));
    let done = pprof(directory.path()).args([text(&raw), "--json", "-o", text(&output)]).output();
    let summary = json(&done.unwrap()).remove(0);
    assert_eq!(summary["unknown"], json!({"no mapping holds the address": 2}));
    assert_eq!(summary["mappings"][0]["id"], serde_json::Value::Null);
}

#[test]
fn a_kernel_is_named_with_its_mapping() {
    let directory = tempfile::tempdir().unwrap();
    let (raw, output) = (directory.path().join("raw"), directory.path().join("o"));
    let slide = 0x1e00_0000;
    bare(&[0xffff_ffff_8100_1015 + slide], &raw);
    let mut profile = read(&raw);
    let filename = profile.strings.intern("[kernel.kallsyms]_stext");
    profile.mappings.push(Mapping {
        id: 1,
        memory_start: 0xffff_ffff_8100_0000 + slide,
        memory_limit: 0xffff_ffff_a200_0000,
        file_offset: 0xffff_ffff_8100_0000 + slide,
        filename,
        ..Mapping::default()
    });
    profile.write(std::fs::File::create(&raw).unwrap()).unwrap();
    let symbolize = |arguments: &[&str]| {
        let mut command = pprof(directory.path());
        let done = command.args(arguments).args([text(&raw), "-o", text(&output)]).output();
        (lines(&read(&output)), stderr(&done.unwrap()))
    };
    let (found, said) = symbolize(&[]);
    assert_eq!(found, [""]);
    assert!(said.contains("no file, and no build-id stated"), "{said}");
    let kallsyms = testdata("kallsyms/kallsyms");
    let binary = format!("[kernel.kallsyms]_stext={}", text(&kallsyms));
    assert_eq!(symbolize(&["--binary", &binary]).0, ["do_one :0 from 0"]);
}

#[test]
fn standard_input_and_output() {
    let directory = tempfile::tempdir().unwrap();
    let raw = std::fs::File::open(testdata("pprof/cpu.pb.gz")).unwrap();
    let done = pprof(directory.path()).args(binaries()).arg("-").stdin(raw).output().unwrap();
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let (profile, _) = Profile::read(done.stdout.as_slice(), Limits::default()).unwrap();
    assert_eq!(lines(&profile), CPU);
}

#[test]
fn a_damaged_profile_is_written_as_far_as_it_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let mut profile = read(&testdata("pprof/cpu.pb.gz"));
    profile.samples[2].location_id.push(99);
    profile.samples[3].value.pop();
    let raw = directory.path().join("raw.pb.gz");
    profile.write(std::fs::File::create(&raw).unwrap()).unwrap();
    let done = pprof(directory.path()).args(binaries()).arg(&raw).output().unwrap();
    assert_eq!(code(&done), 1);
    for part in ["1 frames at locations that are not there", "1 samples with too many or too few"] {
        assert!(stderr(&done).contains(part), "{}", stderr(&done));
    }
    let output = read(&directory.path().join("raw.symbolized.pb.gz"));
    assert_eq!((output.samples.len(), lines(&output)), (6, CPU.map(str::to_owned).to_vec()));
}

#[test]
fn what_cannot_be_done_is_said_and_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let raw = copied("pprof/cpu.pb.gz", directory.path());
    let no = directory.path().join("no.pb.gz");
    let other = directory.path().join("other.pb.gz");
    std::fs::write(&other, "heap profile: 1: 2 [1: 2] @ heapprofile\n").unwrap();
    for (arguments, exit, part) in [
        (vec![text(&no)], 1, "cannot open"),
        (vec![text(&other)], 1, "expected a pprof profile"),
        (vec![text(&raw), "-o", "-", "--json"], 2, "expected one result for standard output"),
        (vec![text(&raw), "--folded", "--json"], 2, "expected one result for standard output"),
        (vec![text(&raw), "--sample-type", "space"], 1, "`space`, found only samples, cpu"),
        (vec![text(&raw), "--max-memory", "1K"], 1, "at most 1024 bytes"),
        (vec![text(&raw), "--binary", "x"], 2, "expected NAME=FILE, found `x`"),
        (vec![text(&raw), "-o", "/none/there/o"], 1, "nothing was written"),
    ] {
        let mut command = pprof(directory.path());
        let done = command.args(binaries()).args(&arguments).output().unwrap();
        assert_eq!(code(&done), exit, "{arguments:?}: {}", stderr(&done));
        assert!(stderr(&done).contains(part), "{arguments:?}: {}", stderr(&done));
        assert_eq!(stdout(&done), "");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn folded_code_and_short_names() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: cc is not there; nothing was compiled");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, binary) = (directory.path().join("a.s"), directory.path().join("a"));
    let function = |name: &str| format!(".globl {name}\n.type {name},@function\n{name}:\n");
    let (one, two, three) = ("_ZN5space3oneEi", "_ZN5space3twoEi", "_ZN5space5threeEPKc");
    let program = format!(
        ".text\n{}{}.zero 16\n.size {one},16\n.size {two},16\n{}.zero 16\n.size {three},16\n",
        function(one),
        function(two),
        function(three),
    );
    std::fs::write(&source, program).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-nostdlib", "-no-pie", "-Wl,-Ttext=0x401000,-e,0x401000", "-o"])
        .args([&binary, &source]);
    assert!(cc.status().unwrap().success());
    let (raw, output) = (directory.path().join("raw"), directory.path().join("o"));
    bare(&[0x40_1004, 0x40_1014], &raw);
    let symbolize = |arguments: &[&str]| {
        let mut command = pprof(directory.path());
        let command = command.args(["--exe", text(&binary), text(&raw), "-o", text(&output)]);
        assert_eq!(code(&command.args(arguments).output().unwrap()), 0);
        read(&output)
    };
    let profile = symbolize(&[]);
    assert_eq!(lines(&profile), ["space::one :0 from 0", "space::three :0 from 0"]);
    let folded: Vec<_> = profile.locations.iter().map(|location| location.is_folded).collect();
    assert_eq!(folded, [true, false]);
    let names: Vec<_> = profile.functions.iter().map(|f| profile.text(f.system_name)).collect();
    assert_eq!(names, [one, three]);
    assert_eq!(lines(&symbolize(&["--no-demangle"]))[1], format!("{three} :0 from 0"));
}

/// Code outside of every function still has a line: pprof shows it, and the
/// location is no less unknown for that.
#[test]
fn a_line_without_a_function_is_kept_and_counts_as_unknown() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: cc is not there; nothing was compiled");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, binary) = (directory.path().join("a.s"), directory.path().join("a"));
    let program = ".text\n.globl f\n.type f,@function\nf:\nnop\n.size f,1\nnop\nnop\n";
    std::fs::write(&source, program).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-g", "-nostdlib", "-no-pie", "-Wl,-Ttext=0x401000,-e,0x401000", "-o"]);
    assert!(cc.args([&binary, &source]).status().unwrap().success());
    let (raw, output) = (directory.path().join("raw"), directory.path().join("o"));
    bare(&[0x40_1000, 0x40_1002], &raw);
    let symbolize = |raw: &Path| {
        let mut command = pprof(directory.path());
        let command = command.args(["--json", "--exe", text(&binary), text(raw)]);
        json(&command.args(["-o", text(&output)]).output().unwrap()).remove(0)
    };
    let summary = symbolize(&raw);
    assert_eq!(summary["symbolized"], 1);
    assert_eq!(summary["unknown"], json!({"no symbol covers this address": 1}));
    let profile = read(&output);
    let file = text(&source);
    assert_eq!(lines(&profile), [format!("f {file}:5 from 0"), format!(" {file}:8 from 0")]);
    assert_eq!(flags(&profile), [[false, true, true, false]]);
    // It has no name, so it is asked for again.
    let first = profile;
    std::fs::copy(&output, &raw).unwrap();
    assert_eq!((symbolize(&raw)["kept"].clone(), read(&output)), (json!(1), first));
}

/// Go's pprof shares no code with this one.
#[test]
fn go_reads_what_is_written() {
    if Command::new("go").args(["tool", "-n", "pprof"]).output().is_ok_and(|o| o.status.success()) {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("o.pb.gz");
        let raw = testdata("pprof/cpu.pb.gz");
        let done = pprof(directory.path())
            .args(binaries())
            .args([text(&raw), "-o", text(&output)])
            .output()
            .unwrap();
        assert_eq!(code(&done), 0, "{}", stderr(&done));
        let go = |arguments: &[&str]| {
            let mut command = Command::new("go");
            command.args(["tool", "pprof", "-symbolize=none"]).args(arguments).arg(&output);
            let done = command.env("HOME", directory.path()).output().unwrap();
            assert_eq!(code(&done), 0, "{}", stderr(&done));
            stdout(&done)
        };
        let raw = go(&["-raw"]);
        for part in
            ["M=1 mix /src/work.c:6 s=4\n             hot /src/work.c:14 s=10", "work.elf  [FN]\n"]
        {
            assert!(raw.contains(part), "{raw}");
        }
        let traces = go(&["-top"]);
        assert!(traces.contains("hot") && traces.contains("(inline)"), "{traces}");
    } else {
        eprintln!("SKIPPED: `go tool pprof` is not there; nothing was read with it");
    }
}
