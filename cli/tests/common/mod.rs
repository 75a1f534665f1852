//! What the tests of the command share: running it, and inputs.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::as_conversions,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should stop, and each test file uses a part of this"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The command, ready for arguments, with an empty cache and no make around it.
pub(crate) fn symidx() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_symidx"));
    command.env_remove("MAKEFLAGS").env_remove("NO_COLOR");
    command
}

/// Runs the command with arguments.
pub(crate) fn run<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(arguments: I) -> Output {
    symidx().args(arguments).output().unwrap()
}

/// Runs the command with arguments and standard input.
pub(crate) fn run_with(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = symidx()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// Standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The exit code.
pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("ended by a signal: {output:?}"))
}

/// Every line of standard output as JSON.
pub(crate) fn json(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A file of `testdata/`.
pub(crate) fn testdata(path: &str) -> PathBuf {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(path);
    assert!(found.exists(), "no such test input: {}", found.display());
    found
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A copy of a file of `testdata/` in a directory of the test's own.
pub(crate) fn copied(path: &str, directory: &Path) -> PathBuf {
    let from = testdata(path);
    let to = directory.join(from.file_name().unwrap());
    std::fs::copy(from, &to).unwrap();
    to
}

/// A kernel's symbols: an input that is easy to make.
pub(crate) fn kallsyms(names: &[&[u8]], path: &Path) {
    let mut text = Vec::new();
    for (i, name) in (0u64..).zip(names) {
        write!(text, "{:016x} T ", 0xffff_ffff_8100_0000_u64 + 0x100 * i).unwrap();
        text.extend_from_slice(name);
        text.push(b'\n');
    }
    std::fs::write(path, text).unwrap();
}

/// An index of a file of `testdata/`.
pub(crate) fn built(path: &str, directory: &Path) -> PathBuf {
    let output = directory.join("built.symidx");
    let input = testdata(path);
    let done = run(["build", text(&input), "-o", text(&output), "-q"]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    output
}

/// Functions inlined into each other, a cold one, and data.
const SOURCE: &str = r#"
#include <stdio.h>
static inline __attribute__((always_inline)) int inner(int x) { return x * 3 + printf("%d", x); }
static inline __attribute__((always_inline)) int middle(int x) {
  int r = inner(x + 1);
  return r ^ 0x55;
}
__attribute__((noinline)) int outer(int x) { return middle(x) + 1; }
static __attribute__((noinline)) int lonely(volatile int *p) { return *p + 2; }
__attribute__((cold, noinline)) int rare(int x) { return printf("%d rare", x); }
int table[4] = {1, 2, 3, 4};
int main(int c, char **v) { return c > 9 ? rare(c) : outer(c) + lonely(&c) + table[c & 3]; }
"#;

/// A compiled program.
pub(crate) struct Program {
    /// Where they are, as long as they are.
    _directory: tempfile::TempDir,
    /// Linked.
    pub(crate) binary: PathBuf,
    /// Not linked.
    pub(crate) object: PathBuf,
}

/// A small program with inlined functions, when there is a compiler.
pub(crate) fn program(flags: &[&str]) -> Option<Program> {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: cc is not there; nothing was compiled");
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, binary, object) =
        (directory.path().join("p.c"), directory.path().join("p"), directory.path().join("p.o"));
    std::fs::write(&source, SOURCE).unwrap();
    let compile = |more: &[&str], output: &Path| {
        let mut command = Command::new("cc");
        command.args(flags).args(more).arg(&source).arg("-o").arg(output);
        assert!(command.status().unwrap().success());
    };
    compile(&["-O2"], &binary);
    compile(&["-O2", "-c"], &object);
    Some(Program { _directory: directory, binary, object })
}

/// Every address of the program's code, or of a section, and so many around it.
pub(crate) fn addresses(file: &Path, section: Option<&str>, around: u64) -> Vec<u8> {
    let output = run(["info", text(file), "--json", "-q"]);
    let info = json(&output).remove(0);
    let mut lines = Vec::new();
    for entry in info["sections"].as_array().unwrap() {
        let number = |key: &str| match entry[key].as_str() {
            Some(hex) => u64::from_str_radix(hex.trim_start_matches("0x"), 16).unwrap(),
            None => entry[key].as_u64().unwrap(),
        };
        let name = entry["name"].as_str().unwrap();
        let start = number("address");
        // The linker's stubs are synthesized names here, and nothing at all there.
        let wanted = section.map_or(name.starts_with(".text"), |wanted| name == wanted);
        if wanted {
            for address in start.saturating_sub(around)..start + number("size") + around {
                writeln!(lines, "{address:x}").unwrap();
            }
        }
    }
    assert!(!lines.is_empty(), "no code in {}", file.display());
    lines
}
