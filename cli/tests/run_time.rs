//! Run-time addresses: of a kernel, of its modules, and of code that a process
//! made itself, in whatever namespaces it lives.
#![allow(
    clippy::as_conversions,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should stop"
)]
#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{code, json, program, run, run_with, stderr, stdout, testdata, text};

/// A kernel at a border of modules: `dca`'s last symbol lies in front of `nf_tables`,
/// whose first one perf answered as `dca_sysfs_exit`.
const BORDER: &str = "\
ffffffff81000000 T _text\n\
ffffffff81000000 T _stext\n\
ffffffff81001000 T kfn_1\n\
ffffffff81002000 T kfn_2\n\
ffffffffc0a00000 t dca_0\t[dca]\n\
ffffffffc0a00f00 t dca_sysfs_exit\t[dca]\n\
ffffffffc0a01000 t nft_do_chain\t[nf_tables]\n\
ffffffffc0a01400 t nft_0\t[nf_tables]\n\
ffffffffc0300000 t bpf_prog_6deef7357e7b4530\t[bpf]\n\
ffffffffc0203000 t ftrace_trampoline\t[__builtin__ftrace]\n";

#[test]
fn a_module_ends_where_the_next_begins() {
    let directory = tempfile::tempdir().unwrap();
    let (kallsyms, modules) = (directory.path().join("kallsyms"), directory.path().join("modules"));
    std::fs::write(&kallsyms, BORDER).unwrap();
    std::fs::write(
        &modules,
        "dca 16384 0 - Live 0xffffffffc0a00000\nnf_tables 32768 0 - Live 0xffffffffc0a01000\n",
    )
    .unwrap();
    let queries = [
        ("ffffffffc0a00fff", "dca_sysfs_exit", "dca", 0xff),
        ("ffffffffc0a01000", "nft_do_chain", "nf_tables", 0),
        ("ffffffffc0a013f0", "nft_do_chain", "nf_tables", 0x3f0),
        ("ffffffffc0a01510", "nft_0", "nf_tables", 0x110),
        ("ffffffffc0300010", "bpf_prog_6deef7357e7b4530", "bpf", 0x10),
        ("ffffffffc0203000", "ftrace_trampoline", "__builtin__ftrace", 0),
    ];
    for with_modules in [true, false] {
        let mut arguments =
            vec!["lookup", "--kernel", "--json", "-q", "--kallsyms", text(&kallsyms)];
        if with_modules {
            arguments.extend(["--modules", text(&modules)]);
        }
        arguments.extend(queries.map(|query| query.0));
        let output = run(arguments);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        for (answer, (address, name, module, offset)) in json(&output).iter().zip(queries) {
            let symbol = &answer["symbol"];
            assert_eq!(symbol["name"], name, "{address}");
            assert_eq!(symbol["module"], module, "{address}");
            assert_eq!(symbol["offset"], offset, "{address}");
        }
    }
}

#[test]
fn hidden_addresses_name_the_sysctl_and_root() {
    let kallsyms = testdata("kallsyms/kallsyms-hidden");
    let output = run(["lookup", "--kernel", "--kallsyms", text(&kallsyms), "0x10"]);
    assert_eq!(code(&output), 1);
    let message = stderr(&output);
    assert!(message.contains("kernel.kptr_restrict") && message.contains("root"), "{message}");
    assert_eq!(message.lines().count(), 1);
}

#[test]
fn what_the_kernel_makes_up_needs_a_place_for_its_index() {
    let output = run(["build", "/proc/kallsyms"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("-o FILE or --store DIR"), "{}", stderr(&output));
}

/// The address of a function of a binary.
fn function(binary: &Path, name: &str) -> u64 {
    let output = run(["find", text(binary), name, "--json", "-q"]);
    let address = json(&output)[0]["matches"][0]["address"].as_str().unwrap().to_owned();
    u64::from_str_radix(address.trim_start_matches("0x"), 16).unwrap()
}

#[test]
fn a_vmlinux_is_moved_to_where_kallsyms_has_it() {
    let Some(program) = program(&["-g", "-no-pie", "-Wl,--defsym=_text=outer"]) else { return };
    let outer = function(&program.binary, "outer");
    let slide = 0xffff_ffff_9000_0000_u64 - (outer & !0xfff);
    let kallsyms = program.binary.with_file_name("kallsyms");
    let at = outer.wrapping_add(slide);
    std::fs::write(&kallsyms, format!("{at:x} T _text\n{at:x} T outer_as_it_runs\n")).unwrap();
    let arguments =
        ["lookup", "--kernel", "--json", "-q", "--kallsyms", text(&kallsyms), "--vmlinux"];
    let address = format!("{:x}", at + 4);
    let output = run(arguments.iter().copied().chain([text(&program.binary), &address]));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = json(&output).remove(0);
    assert_eq!(answer["symbol"]["name"], "outer");
    assert_eq!(answer["symbol"]["start"], format!("{at:#x}"));
    assert_eq!(answer["symbol"]["offset"], 4);
    assert!(answer["frames"].as_array().unwrap().len() > 1, "{answer}");
    // Where the image has nothing, kallsyms still has the last word.
    let far = 0xffff_ffff_9800_0000_u64;
    std::fs::write(&kallsyms, format!("{at:x} T _text\n{far:x} T made_later\n")).unwrap();
    let address = format!("{far:x}");
    let output = run(arguments.iter().copied().chain([text(&program.binary), &address]));
    assert_eq!(json(&output)[0]["symbol"]["name"], "made_later");
    // A file without the anchor cannot be placed.
    let other = testdata("elf/zero-size/z.exe");
    let output = run(arguments.iter().copied().chain([text(&other), &address]));
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("expected _text or _stext"), "{}", stderr(&output));
}

#[test]
fn a_module_is_placed_by_its_sections() {
    let directory = tempfile::tempdir().unwrap();
    let module = testdata("elf/relocatable/fake.ko");
    let dump = run(["dump", text(&module), "--json", "-q"]);
    let functions: Vec<_> = json(&dump)
        .into_iter()
        .filter(|line| line["section"] == ".text" && line["kind"] == "func")
        .collect();
    let sections = directory.path().join("fake/sections");
    std::fs::create_dir_all(&sections).unwrap();
    std::fs::write(sections.join(".text"), "0xffffffffc0500000\n").unwrap();
    std::fs::write(sections.join(".not.there"), "0x10\n").unwrap();
    let kallsyms = directory.path().join("kallsyms");
    std::fs::write(
        &kallsyms,
        "ffffffff81000000 T _text\nffffffff81000000 T f\nffffffffc0500000 t as_it_runs\t[fake]\n",
    )
    .unwrap();
    let output = run([
        "lookup",
        "--kernel",
        "--json",
        "--kallsyms",
        text(&kallsyms),
        "--module-sections",
        text(directory.path()),
        "--debug-file",
        text(&module),
        "ffffffffc0500000",
        "ffffffff81000000",
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answers = json(&output);
    let first = functions.iter().find(|line| line["address"] == "0x0").unwrap();
    assert_eq!(answers[0]["symbol"]["name"], first["name"], "{}", stderr(&output));
    assert_eq!(answers[0]["symbol"]["start"], "0xffffffffc0500000");
    assert_eq!(answers[1]["symbol"]["name"], "f");
    // The same directory, for the module alone.
    let output = run([
        "lookup",
        text(&module),
        "--json",
        "-q",
        "--module-sections",
        text(&sections),
        "ffffffffc0500000",
    ]);
    assert_eq!(json(&output)[0]["symbol"]["name"], first["name"], "{}", stderr(&output));
}

/// Makes code at run time twice, tells of it in a perf map and in a jitdump file as
/// compilers do, says where it is, and waits.
const JIT: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int here(void) { return getpid(); }
int main(int argc, char **argv) {
  char *code = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char name[64];
  snprintf(name, sizeof name, "/tmp/perf-%d.map", here());
  FILE *map = fopen(name, "w");
  fprintf(map, "%lx 40 mapped old\n%lx 40 mapped f\n", (long)code, (long)code);
  fclose(map);
  snprintf(name, sizeof name, "%s/jit-%d.dump", argv[1], here());
  int fd = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);
  uint32_t header[10] = {0x4a695444, 1, 40, 62, 0, here()};
  uint64_t at = (uint64_t)code + 4096;
  struct { uint32_t id, size; uint64_t time, code, count, address; uint32_t line, column; char file[8]; }
    debug = {2, 56, 0, at, 1, at, 7, 3, "a.dyn"};
  struct { uint32_t id, size; uint64_t time; uint32_t pid, tid; uint64_t vma, address, bytes, index; }
    load = {0, 56 + 7 + 16, 0, here(), here(), at, at, 16, 1};
  if (write(fd, header, 40) != 40 || write(fd, &debug, 56) != 56 || write(fd, &load, 56) != 56) return 1;
  if (write(fd, "dumped\0", 7) != 7 || write(fd, code, 16) != 16) return 1;
  mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  printf("%d %lx %lx %lx\n", here(), (long)code, (long)at, (long)here);
  fflush(stdout);
  sleep(60);
  return 0;
}
"#;

/// A process that is ended when the test is.
struct Running {
    child: Child,
    /// Its number here.
    pid: u32,
    /// Mapped code, dumped code, and a function of the program.
    addresses: [String; 3],
    map: PathBuf,
    /// The map is in the `/tmp` of this test.
    is_here: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if self.is_here {
            let _ = std::fs::remove_file(&self.map);
        }
    }
}

/// The program; `None` without a compiler.
fn compiled(directory: &Path) -> Option<PathBuf> {
    let (source, binary) = (directory.join("jit.c"), directory.join("jit"));
    std::fs::write(&source, JIT).unwrap();
    match Command::new("cc").arg("-g").arg(&source).arg("-o").arg(&binary).status() {
        Ok(status) => assert!(status.success()),
        Err(_) => {
            eprintln!("SKIPPED: cc is not there; nothing was compiled");
            return None;
        }
    }
    Some(binary)
}

fn started(mut command: Command) -> Option<Running> {
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[inner, mapped, dumped, here] = words.as_slice() else {
        let _ = child.kill();
        let _ = child.wait();
        return None;
    };
    let addresses = [mapped, dumped, here].map(str::to_owned);
    let map = PathBuf::from(format!("/tmp/perf-{inner}.map"));
    let is_here = inner == child.id().to_string();
    Some(Running { pid: child.id(), child, addresses, map, is_here })
}

#[test]
fn code_made_at_run_time_is_told_by_its_compiler() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = compiled(directory.path()) else { return };
    let mut command = Command::new(&binary);
    command.arg(directory.path());
    let process = started(command).unwrap();
    // Whatever became of the file since, the process still has it.
    let root = is_root();
    if root {
        std::fs::remove_file(&binary).unwrap();
    }
    let pid = process.pid.to_string();
    let mut arguments = vec!["lookup", "--pid", &pid, "--json", "-q"];
    arguments.extend(process.addresses.iter().map(String::as_str));
    let output = run(&arguments);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answers = json(&output);
    assert_eq!(answers[0]["symbol"]["name"], "mapped f");
    assert_eq!(answers[1]["symbol"]["name"], "dumped");
    assert_eq!(answers[1]["frames"][0]["file"], "a.dyn");
    assert_eq!(
        (&answers[1]["frames"][0]["line"], &answers[1]["frames"][0]["column"]),
        (&7.into(), &3.into())
    );
    assert_eq!(answers[2]["symbol"]["name"], "here");
    if root {
        assert!(stdout(&run(&arguments)).contains("jit.c"), "lines through map_files");
    }
    // The vDSO has no file either.
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    if let Some(line) = maps.lines().find(|line| line.ends_with("[vdso]")) {
        let start = u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
        let queries: Vec<String> = (0..256).map(|i| format!("{:x}\n", start + i * 16)).collect();
        let output = run_with(&["lookup", "--pid", &pid, "-q"], queries.concat().as_bytes());
        assert!(stdout(&output).contains("__vdso_"), "{}", stdout(&output));
    }
    // A map that somebody else put there is not believed.
    if root {
        std::os::unix::fs::chown(&process.map, Some(12345), None).unwrap();
        let output = run(["lookup", "--pid", &pid, "-q", &process.addresses[0]]);
        assert!(stdout(&output).contains("not told of"), "{}", stdout(&output));
    }
}

/// True when the test runs as root.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

#[test]
fn a_process_in_namespaces_of_its_own_is_looked_into() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = compiled(directory.path()) else { return };
    // In there /tmp is another one, with the program in it, and the process has another number.
    let script = format!(
        "mkdir {0}/m && mount -t tmpfs none {0}/m && cp {1} {0}/m/jit && \
         mount --bind {0}/m /tmp && cd / && exec /tmp/jit /tmp",
        directory.path().display(),
        binary.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", &script]);
    let Some(process) = started(command) else {
        eprintln!("SKIPPED: namespaces cannot be made here");
        return;
    };
    // The child of `unshare` is the process that is meant.
    let children = format!("/proc/{0}/task/{0}/children", process.pid);
    let pid = std::fs::read_to_string(children).unwrap().trim().to_owned();
    let mut arguments = vec!["lookup", "--pid", &pid, "--json", "-q"];
    arguments.extend(process.addresses.iter().map(String::as_str));
    let output = run(&arguments);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let names: Vec<_> =
        json(&output).iter().map(|answer| answer["symbol"]["name"].clone()).collect();
    assert_eq!(names, ["mapped f", "dumped", "here"]);
}
