//! What the tests of the command share: running it, and inputs.
#![allow(
    dead_code,
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
pub fn symidx() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_symidx"));
    command.env_remove("MAKEFLAGS").env_remove("NO_COLOR");
    command
}

/// Runs the command with arguments.
pub fn run<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(arguments: I) -> Output {
    symidx().args(arguments).output().unwrap()
}

/// Runs the command with arguments and standard input.
pub fn run_with(arguments: &[&str], input: &[u8]) -> Output {
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
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The exit code.
pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("ended by a signal: {output:?}"))
}

/// Every line of standard output as JSON.
pub fn json(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A file of `testdata/`.
pub fn testdata(path: &str) -> PathBuf {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(path);
    assert!(found.exists(), "no such test input: {}", found.display());
    found
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A copy of a file of `testdata/` in a directory of the test's own.
pub fn copied(path: &str, directory: &Path) -> PathBuf {
    let from = testdata(path);
    let to = directory.join(from.file_name().unwrap());
    std::fs::copy(from, &to).unwrap();
    to
}

/// A kernel's symbols: an input that is easy to make.
pub fn kallsyms(names: &[&[u8]], path: &Path) {
    let mut text = Vec::new();
    for (i, name) in names.iter().enumerate() {
        write!(text, "{:016x} T ", 0xffff_ffff_8100_0000_u64 + 0x100 * i as u64).unwrap();
        text.extend_from_slice(name);
        text.push(b'\n');
    }
    std::fs::write(path, text).unwrap();
}

/// An index of a file of `testdata/`.
pub fn built(path: &str, directory: &Path) -> PathBuf {
    let output = directory.join("built.symidx");
    let input = testdata(path);
    let done = run(["build", text(&input), "-o", text(&output), "-q"]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    output
}
