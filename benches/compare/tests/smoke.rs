//! In: this program's own executable. Out: proof that a short run checks, times and prints every contender.
//! The run itself compares `std` with the slow truth and fails when they differ.
//! Never: judges a time.

use std::process::Command;

#[test]
fn a_short_run_on_its_own_executable() {
    let own = env!("CARGO_BIN_EXE_compare");
    let args = [
        "--addresses",
        "500",
        "--rounds",
        "1",
        "--builds",
        "1",
        "--no-cold",
        own,
    ];
    let output = Command::new(own)
        .args(args)
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    for word in [
        "std",
        "object",
        "symcache",
        "gsym-rs",
        "blazesym-elf",
        "addr2line",
        "hit, name read",
        "file size",
    ] {
        assert!(text.contains(word), "no `{word}` in\n{text}\n{errors}");
    }
}

#[test]
fn a_missing_binary_is_a_one_line_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_compare"))
        .arg("no-such-file")
        .output()
        .expect("the program starts");
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains("no-such-file"), "{errors}");
}

#[test]
fn a_short_run_of_frames_on_its_own_executable() {
    let own = env!("CARGO_BIN_EXE_compare");
    let args = ["--frames", "--addresses", "500", "--rounds", "1", "--builds", "1", "--only", "symidx,symidx-names,symidx-256M,symcache", own];
    let output = Command::new(own).args(args).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    for word in ["all frames, ns", "the symbol alone, ns", "build, 2 threads: peak RSS", "frames at 500 addresses by symidx"] {
        assert!(text.contains(word), "no `{word}` in\n{text}\n{errors}");
    }
    assert!(!text.contains("SKIPPED"), "{text}");
}
