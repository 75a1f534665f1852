//! perf with this command as its addr2line: the same source lines as with GNU's.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use common::{addresses, json, program, run, run_with, stdout, text};

/// An event of perf.data: kind, flags, length, body.
fn event(kind: u32, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + body.len()).unwrap();
    let mut event =
        [kind.to_le_bytes().as_slice(), &flags.to_le_bytes(), &length.to_le_bytes()].concat();
    event.extend_from_slice(body);
    event
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_le_bytes()).collect()
}

/// A recording, as `perf record -o -` writes it, of a process that has one file
/// mapped and was seen at each address once.
fn recording(file: &Path, start: u64, length: u64, offset: u64, seen: &[u64]) -> Vec<u8> {
    const PID: u32 = 4242;
    // Software event cpu-clock, every 1000; ip, thread and time of each sample,
    // thread and time of all else; with mmap and comm events.
    let mut attributes = vec![0; 136];
    let head = [words(&[1, 136]), longs(&[0, 1000, 7, 0, 1 << 18 | 1 << 9 | 1 << 8])].concat();
    attributes[..head.len()].copy_from_slice(&head);
    let who = |time: u64| [words(&[PID, PID]), longs(&[time])].concat();
    let mut bytes = [b"PERFILE2".to_vec(), longs(&[16])].concat();
    bytes.extend(event(64, 0, &[attributes, longs(&[0])].concat()));
    bytes.extend(event(3, 0, &[words(&[PID, PID]), b"program\0".to_vec(), who(1)].concat()));
    let mut name = file.as_os_str().as_bytes().to_vec();
    name.resize((name.len() / 8 + 1) * 8, 0);
    let map = [
        words(&[PID, PID]),
        longs(&[start, length, offset]),
        words(&[0, 0]),
        longs(&[0, 0]),
        // Protection r-x, private.
        words(&[5, 2]),
    ];
    bytes.extend(event(10, 2, &[map.concat(), name, who(2)].concat()));
    for (time, address) in (3..).zip(seen) {
        bytes.extend(event(9, 2, &[longs(&[*address]), who(time)].concat()));
    }
    bytes.extend(event(68, 0, &[]));
    bytes
}

#[test]
fn perf_shows_the_lines_that_it_shows_with_gnu_addr2line() {
    let there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    let (perf, gnu) = (there("perf"), there("addr2line"));
    if !perf || !gnu {
        eprintln!("SKIPPED: perf found: {perf}, addr2line found: {gnu}");
        return;
    }
    let Some(program) = program(&["-g"]) else { return };
    let directory = program.binary.parent().unwrap();
    let info = json(&run(["info", "-q", "--json", text(&program.binary)])).remove(0);
    let hex = |value: &serde_json::Value| {
        u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
    };
    let segments = info["segments"].as_array().unwrap();
    let code = segments.iter().find(|segment| segment["permissions"] == "r-x").unwrap();
    let (address, offset) = (hex(&code["address"]), hex(&code["file_offset"]));
    // Only code with lines: of other code GNU knows the source file's name.
    let asked = addresses(&program.binary, None, 0);
    let answers = json(&run_with(&["lookup", "-q", "--json", text(&program.binary)], &asked));
    let seen: Vec<u64> = answers
        .iter()
        .filter(|answer| !answer["frames"][0]["line"].is_null())
        .map(|answer| 0x40_0000 + hex(&answer["address"]) - address)
        .collect();
    let data = directory.join("perf.data");
    let length = code["size"].as_u64().unwrap().next_multiple_of(0x1000);
    std::fs::write(&data, recording(&program.binary, 0x40_0000, length, offset, &seen)).unwrap();
    // The first addr2line on the path is the one that perf starts.
    let tools = |name: &str, program: &str| {
        let tools = directory.join(name);
        std::fs::create_dir(&tools).unwrap();
        std::os::unix::fs::symlink(program, tools.join("addr2line")).unwrap();
        tools.to_str().unwrap().to_owned()
    };
    let path = std::env::var("PATH").unwrap();
    let script = |path: &str| {
        let mut command = Command::new("perf");
        command.args(["script", "-i", text(&data), "-F", "ip,sym,symoff,srcline"]);
        stdout(&command.env("PATH", path).env("HOME", directory).output().unwrap())
    };
    let theirs = script(&path);
    let ours = tools("ours", env!("CARGO_BIN_EXE_symidx"));
    let ours = script(&format!("{ours}:{path}"));
    assert_eq!(theirs.matches("p.c:").count(), seen.len(), "{theirs}");
    assert_eq!(ours, theirs);
    let silent = tools("silent", "/bin/true");
    assert_eq!(script(&format!("{silent}:{path}")).matches("p.c:").count(), 0);
}
