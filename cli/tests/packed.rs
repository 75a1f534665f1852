//! Packed names: every command prints of a packed index what it prints of a plain one.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;
#[cfg(target_os = "linux")]
#[path = "common/recording.rs"]
#[allow(dead_code, reason = "other tests write other recordings")]
mod recording;

use std::path::{Path, PathBuf};

use common::{code, json, run, run_with, stdout, testdata, text};

/// Inputs of every kind: versions, aliases, lines, relocatable, Mach-O, kernel, Rust and C++.
const INPUTS: [&str; 12] = [
    "golden/display.elf",
    "golden/lines.elf",
    "golden/rich.elf",
    "golden/example.elf",
    "pprof/work.elf",
    "elf/alias-choice/libal.so",
    "elf/relocatable/r.o",
    "elf/nested-overlap/n.exe",
    "elf/plt/aarch64.so",
    "macho/symbols/sym.macho",
    "kallsyms/kallsyms",
    "elf/swift/s5.exe",
];

/// The indexes of one input, plain and packed.
fn both(input: &Path, directory: &Path, options: &[&str]) -> [PathBuf; 2] {
    ["plain", "packed"].map(|form| {
        let output = directory.join(form).with_extension("symidx");
        let mut arguments = vec!["build", "-q", "--force", text(input), "-o", text(&output)];
        arguments.extend(options);
        arguments.extend((form == "packed").then_some("--pack-names"));
        assert_eq!(code(&run(arguments)), 0, "{}", input.display());
        assert_eq!(code(&run(["verify", text(&output)])), 0, "{}", input.display());
        output
    })
}

fn same(indexes: &[PathBuf; 2], arguments: &[&str], input: &[u8]) -> String {
    let [plain, packed] = indexes.each_ref().map(|index| {
        let arguments: Vec<&str> = arguments
            .iter()
            .map(|&word| if word == "INDEX" { text(index) } else { word })
            .collect();
        let output = run_with(&arguments, input);
        // The file's own name is in some messages.
        stdout(&output).replace(text(index), "INDEX")
    });
    assert!(plain == packed, "{arguments:?}\n{plain}\n---\n{packed}");
    packed
}

#[test]
fn every_command_prints_the_same() {
    let directory = tempfile::tempdir().unwrap();
    for input in INPUTS {
        for options in [&[][..], &["--demangle"], &["--names-only", "--code-only"]] {
            let indexes = both(&testdata(input), directory.path(), options);
            let dumped = same(&indexes, &["dump", "INDEX"], b"");
            assert!(dumped.lines().count() >= 3, "{input}");
            let lines = same(&indexes, &["dump", "--json", "INDEX"], b"");
            same(&indexes, &["dump", "--lines", "INDEX"], b"");
            same(&indexes, &["dump", "--lines", "--json", "INDEX"], b"");
            let entries: Vec<serde_json::Value> =
                lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let mut addresses = String::from("0x0\n");
            for entry in &entries {
                let Some(start) = entry["start"].as_str().or(entry["address"].as_str()) else {
                    continue;
                };
                let section = entry["section"].as_str().unwrap_or("");
                let start = u64::from_str_radix(&start[2..], 16).unwrap();
                for address in [start.wrapping_sub(1), start, start.wrapping_add(5)] {
                    let relocatable = input.ends_with(".o");
                    let prefix = if relocatable { format!("{section}:") } else { String::new() };
                    addresses += &format!("{prefix}{address:#x}\n");
                }
            }
            for style in [
                &["--json", "--all"][..],
                &["--style", "plain", "--all"],
                &["--style", "llvm"],
                &["--style", "gnu", "--no-demangle"],
            ] {
                let arguments = [&["lookup", "INDEX"][..], style].concat();
                same(&indexes, &arguments, addresses.as_bytes());
            }
            // Half a hundred names of each input, spread.
            let step = entries.len() / 50 + 1;
            let names: Vec<&str> =
                entries.iter().step_by(step).filter_map(|entry| entry["name"].as_str()).collect();
            if !names.is_empty() {
                let arguments = [&["find", "INDEX", "--json"][..], &names].concat();
                assert!(same(&indexes, &arguments, b"").contains("\"matches\":[{"), "{input}");
            }
            same(&indexes, &["find", "INDEX", "--prefix", "_"], b"");
            same(&indexes, &["find", "INDEX", "--regex", "[a-z]+.*"], b"");
        }
    }
}

/// This test itself: some thousand mangled names with hashes and all that a compiler makes.
#[test]
#[cfg(target_os = "linux")]
fn a_real_program_is_the_same_and_smaller() {
    let directory = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let indexes = both(&program, directory.path(), &["--names-only"]);
    let dumped = same(&indexes, &["dump", "INDEX"], b"");
    assert!(dumped.lines().count() > 1000);
    same(&indexes, &["find", "INDEX", "--prefix", "core::fmt"], b"");
    let [plain, packed] = indexes.each_ref().map(|index| std::fs::metadata(index).unwrap().len());
    assert!(packed * 3 < plain * 2, "{packed} bytes packed, {plain} plain");
}

#[test]
#[cfg(target_os = "linux")]
fn threads_do_not_change_a_byte() {
    let directory = tempfile::tempdir().unwrap();
    let build = |threads: &str| {
        let output = directory.path().join("i.symidx");
        let input = testdata("pprof/work.elf");
        let arguments =
            ["build", "-q", "--force", "--pack-names", "-j", threads, text(&input), "-o"];
        assert_eq!(code(&run(arguments.into_iter().chain([text(&output)]))), 0);
        std::fs::read(output).unwrap()
    };
    assert!(build("1") == build("7"));
}

/// The option is part of what an index is, and `info` tells of it.
#[test]
fn an_index_is_built_again_when_the_option_changes() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (testdata("pprof/work.elf"), directory.path().join("i.symidx"));
    let build = |options: &[&str]| {
        let arguments = [&["build", "--json", text(&input), "-o", text(&output)][..], options];
        let report = json(&run(arguments.concat())).remove(0);
        report["status"].as_str().unwrap().to_owned()
    };
    let info = || stdout(&run(["info", text(&output)]));
    let names = || json(&run(["info", "--json", text(&output)])).remove(0)["names"].clone();
    assert_eq!(build(&[]), "built");
    assert!(!info().contains("packed"));
    let plain = names();
    assert_eq!(plain["encoding"], "plain");
    assert_eq!(plain["bytes"], plain["stored"]);
    assert_eq!(build(&["--pack-names"]), "built");
    assert_eq!(build(&["--pack-names"]), "fresh");
    assert!(info().lines().any(|line| line.starts_with("names") && line.contains("packed, ")));
    let packed = names();
    assert_eq!(packed["encoding"], "packed");
    assert_eq!(packed["bytes"], plain["bytes"]);
    assert_ne!(packed["stored"], plain["stored"]);
    assert_eq!(build(&[]), "built");
}

/// Packed, an index of 500 names of random bytes was a quarter larger, one of 203 names of
/// one byte 7 %: phrases that interrupt bytes as they are cost more than they save.
#[test]
fn names_that_would_grow_stay_plain_and_the_index_is_fresh() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("kallsyms"), directory.path().join("i.symidx"));
    let mut state = 1u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        0x80 | u8::try_from(state >> 57).unwrap()
    };
    let random: Vec<Vec<u8>> = (0..500).map(|_| (0..120).map(|_| byte()).collect()).collect();
    let single: Vec<Vec<u8>> = (0x80..=0xffu8).chain(b'0'..=b'z').map(|byte| vec![byte]).collect();
    for names in [random, single] {
        let mut text_of_it = Vec::new();
        for (name, number) in names.iter().zip(1u64..) {
            text_of_it.extend(format!("{:016x} T ", (0xffff << 48) + (number << 8)).bytes());
            text_of_it.extend(name.iter().chain(b"\n"));
        }
        std::fs::write(&input, text_of_it).unwrap();
        let build = |options: &[&str]| {
            let arguments = [&["build", "--json", text(&input), "-o", text(&output)][..], options];
            let report = json(&run(arguments.concat())).remove(0);
            let size = std::fs::metadata(&output).unwrap().len();
            (report["status"].as_str().unwrap().to_owned(), size)
        };
        let _ = std::fs::remove_file(&output);
        let (status, plain) = build(&[]);
        assert_eq!(status, "built");
        // The option is still part of what the index is: its own words are all that is added.
        let (status, asked) = build(&["--pack-names"]);
        assert_eq!(status, "built");
        assert!(asked <= plain + 64, "{asked} bytes, {plain} plain");
        assert_eq!(build(&["--pack-names"]), ("fresh".to_owned(), asked));
        let info = json(&run(["info", "--json", text(&output)])).remove(0);
        assert_eq!(info["names"]["encoding"], "plain");
        assert_eq!(info["names"]["stored"], info["names"]["bytes"]);
        assert_eq!(code(&run(["verify", text(&output)])), 0);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn recordings_and_profiles_have_the_same_names() {
    let Some(program) = common::program(&["-g"]) else { return };
    let directory = program.binary.parent().unwrap().to_owned();
    let size = std::fs::metadata(&program.binary).unwrap().len();
    let mut recording = recording::Recording::new();
    recording.comm(4242, "program");
    recording.map(4242, 0x5000_0000, &program.binary, None);
    for offset in (0x1000..size.min(0x1400)).step_by(3) {
        recording.sample(4242, &[0x5000_0000 + offset, 0x5000_0000 + offset / 2 + 0x900]);
    }
    let data = directory.join("perf.data");
    std::fs::write(&data, recording.finish()).unwrap();
    let run_of = |store: &Path, arguments: &[&str]| {
        let first = ["perf", arguments[0], "-i", text(&data), "--store", text(store)];
        stdout(&run(first.iter().chain(&arguments[1..])))
    };
    let stores = ["plain", "packed"].map(|form| directory.join(form));
    for store in &stores {
        let mut arguments = vec!["build", "-q", text(&program.binary), "--store", text(store)];
        arguments.extend(store.ends_with("packed").then_some("--pack-names"));
        assert_eq!(code(&run(arguments)), 0);
    }
    for arguments in [
        &["script"][..],
        &["script", "--json"],
        &["script", "--no-demangle", "--no-inline", "-F", "comm,tid,time,ip,sym,symoff,dso"],
        &["report"],
    ] {
        let [plain, packed] = stores.each_ref().map(|store| run_of(store, arguments));
        assert_eq!(plain, packed, "{arguments:?}");
        assert!(packed.contains("main"), "{packed}");
    }
    let stored = |store: &Path| {
        let files = std::fs::read_dir(store.join(".build-id")).unwrap();
        files.map(|file| file.unwrap().path()).next().unwrap()
    };
    let file = std::fs::read_dir(stored(&stores[1])).unwrap().next().unwrap().unwrap().path();
    let info = json(&run(["info", "--json", text(&file)])).remove(0);
    assert_eq!(
        info["names"]["encoding"], "packed",
        "the packed index was used, and is still there"
    );
}
