//! Whatever happens, the output path holds a whole index or what was there before.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{code, kallsyms, run, stderr, symidx, text};

/// An input that takes some milliseconds to build.
fn big_input(directory: &Path) -> std::path::PathBuf {
    let input = directory.join("big");
    let names: Vec<String> =
        (0..30_000).map(|i| format!("function_with_a_rather_long_name_{i}")).collect();
    let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    kallsyms(&names, &input);
    input
}

#[test]
fn a_killed_build_leaves_no_half_index() {
    let directory = tempfile::tempdir().unwrap();
    let input = big_input(directory.path());
    let output = directory.path().join("out.symidx");
    let mut killed = 0;
    for round in 0..40u64 {
        let mut child = symidx()
            .args(["build", text(&input), "-o", text(&output), "--force", "-q"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(round * 997 % 40_000));
        let _ = child.kill();
        killed += u32::from(!child.wait().unwrap().success());
        if output.exists() {
            let verified = run(["verify", text(&output)]);
            assert_eq!(code(&verified), 0, "{}", stderr(&verified));
        }
    }
    assert!(killed > 0, "no build was killed in time: make the input bigger");
}

#[test]
fn builders_of_one_path_do_not_disturb_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let input = big_input(directory.path());
    let output = directory.path().join("out.symidx");
    let children: Vec<_> = (0..8)
        .map(|_| {
            symidx()
                .args(["build", text(&input), "-o", text(&output), "--force", "-q"])
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let done = child.wait_with_output().unwrap();
        assert_eq!(code(&done), 0, "{}", stderr(&done));
        assert_eq!(code(&run(["verify", text(&output)])), 0);
    }
    let left: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "temporary files are left: {left:?}");
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("kallsyms");
    kallsyms(&[b"a", b"b"], &input);
    // Nobody creates files here, not even root.
    let mut places = vec![Path::new("/proc/self/out.symidx").to_owned()];
    places.push(directory.path().join("no/such/directory/out.symidx"));
    for output in places {
        let done = run(["build", text(&input), "-o", text(&output)]);
        assert_eq!(code(&done), 1);
        assert_eq!(stderr(&done).lines().count(), 1, "{}", stderr(&done));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_and_keeps_the_old_index() {
    let directory = tempfile::tempdir().unwrap();
    let disk = directory.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs", text(&disk)])
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: mounting a tmpfs needs root");
        return;
    }
    let small = directory.path().join("small");
    kallsyms(&[b"a", b"b"], &small);
    let big = big_input(directory.path());
    let output = disk.join("out.symidx");
    let first = run(["build", text(&small), "-o", text(&output), "-q"]);
    let before = std::fs::read(&output);
    let second = run(["build", text(&big), "-o", text(&output), "-q"]);
    let after = std::fs::read(&output);
    let left = std::fs::read_dir(&disk).unwrap().count();
    Command::new("umount").arg(&disk).status().unwrap();
    assert_eq!(code(&first), 0, "{}", stderr(&first));
    assert_eq!(code(&second), 1, "{}", stderr(&second));
    assert_eq!(stderr(&second).lines().count(), 1);
    assert_eq!(before.unwrap(), after.unwrap());
    assert_eq!(left, 1, "a temporary file is left");
}

/// The signal of `ulimit -f` ended a build before it could remove what it had begun.
#[test]
fn a_limit_of_file_sizes_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let input = big_input(directory.path());
    let output = directory.path().join("out.symidx");
    // Blocks of 512 or 1024 bytes; the index has some hundreds of kilobytes.
    let script = format!("ulimit -f 20 && exec {} \"$@\"", env!("CARGO_BIN_EXE_symidx"));
    let done = Command::new("sh")
        .args(["-c", &script, "sh", "build", text(&input), "-o", text(&output), "-q"])
        .output()
        .unwrap();
    assert_eq!(code(&done), 1, "{}", stderr(&done));
    let message = stderr(&done);
    assert!(message.contains("cannot write") && message.contains("nothing was published"));
    assert_eq!(message.lines().count(), 1, "{message}");
    let left: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["big"]);
}
