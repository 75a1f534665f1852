//! `symidx perf index`, `budget` and `report` on recordings made by hand.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;
#[path = "common/recording.rs"]
mod recording;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{code, json, stderr, stdout, symidx, testdata, text};
use recording::Recording;
use serde_json::Value;

/// The build-id of `lines.elf`.
const LINES: [u8; 8] = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];

/// Where `example.elf` is mapped, and functions in it; the code starts at offset 0x80.
const EXAMPLE: u64 = 0x7f00_0000_0000;
const MAIN: u64 = EXAMPLE + 0x80 + 0x2;
const INNER: u64 = EXAMPLE + 0x80 + 0xa;
/// In `main` again, behind the function in the middle of it.
const MAIN_END: u64 = EXAMPLE + 0x80 + 0x1e;
const HELPER: u64 = EXAMPLE + 0x80 + 0x28;
/// Where `lines.elf` is mapped, and a function in it.
const OTHER: u64 = 0x7f11_0000_0000;
const OUTER: u64 = OTHER + 0x1a8;
/// Behind all its functions.
const BEHIND: u64 = OTHER + 0x8000;
/// Where a file is mapped that is nowhere.
const GONE: u64 = 0x7f22_0000_0000;
/// Code made at run time.
const JIT: u64 = 0x7f33_0000_0000;
const NOWHERE: u64 = 0x6000_0000_0000;

/// A process whose number no process of this machine has.
const PID: u32 = 0x7fff_0001;

/// A home of its own with a recording in it.
struct Home {
    directory: tempfile::TempDir,
    data: PathBuf,
}

impl Home {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let copy = |name: &str| {
            let path = directory.path().join(name);
            std::fs::copy(testdata(&format!("golden/{name}")), &path).unwrap();
            path
        };
        let (example, lines) = (copy("example.elf"), copy("lines.elf"));
        let mut recording = Recording::new();
        recording.comm(PID, "first");
        recording.map(PID, EXAMPLE, &example, None);
        recording.map(PID, OTHER, &lines, Some(&LINES));
        recording.map(PID, GONE, Path::new("/nowhere/gone"), Some(&[9; 20]));
        recording.map_name(PID, JIT, 0x1000, b"//anon", None);
        for _ in 0..4 {
            recording.sample(PID, &[HELPER, MAIN, OUTER]);
        }
        recording.sample(PID, &[INNER, MAIN_END]);
        // A function that calls itself.
        recording.sample(PID, &[MAIN, MAIN_END, MAIN, OUTER]);
        recording.sample(PID, &[GONE + 5, MAIN]);
        recording.sample(PID, &[JIT + 5, MAIN]);
        recording.sample(PID, &[BEHIND, NOWHERE]);
        recording.comm(PID, "second");
        recording.sample(PID, &[HELPER]);
        let data = directory.path().join("perf.data");
        std::fs::write(&data, recording.finish()).unwrap();
        Self { directory, data }
    }

    fn command(&self) -> Command {
        let mut command = symidx();
        command.env("HOME", self.directory.path()).env_remove("XDG_CACHE_HOME");
        command.env_remove("SYMIDX_PATH").current_dir(self.directory.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command().arg("perf").args(arguments).output().unwrap()
    }

    /// The objects of a run, and its summary.
    fn json(&self, arguments: &[&str]) -> (Vec<Value>, Value) {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let mut lines = json(&output);
        let summary = lines.pop().unwrap()["summary"].take();
        assert!(summary.is_object());
        (lines, summary)
    }

    fn cache(&self) -> PathBuf {
        self.directory.path().join(".cache/symidx")
    }
}

fn of<'v>(rows: &'v [Value], dso: &str) -> &'v Value {
    let found = rows.iter().find(|row| row["dso"].as_str().is_some_and(|name| name.ends_with(dso)));
    found.unwrap_or_else(|| panic!("no {dso} in {rows:?}"))
}

#[test]
fn index_builds_what_is_missing_and_says_what_is_not_here() {
    let home = Home::new();
    let (rows, summary) = home.json(&["index"]);
    // The most frames first.
    let frames: Vec<u64> = rows.iter().map(|row| row["frames"].as_u64().unwrap()).collect();
    assert!(frames.is_sorted_by(|a, b| a >= b), "{frames:?}");
    let example = of(&rows, "example.elf");
    assert_eq!((&example["status"], &example["symbols"]), (&"built".into(), &3.into()));
    assert_eq!(example["frames"], 16);
    assert_eq!(example["samples"], 9);
    let lines = of(&rows, "lines.elf");
    assert_eq!(lines["build_id"], "1122334455667788");
    assert_ne!(lines["line_rows"], 0);
    assert_eq!(text(&home.cache().join(".build-id/11/22334455667788.symidx")), lines["index"]);
    let gone = of(&rows, "gone");
    assert_eq!((&gone["status"], &gone["reason"]), (&"missing".into(), &"no such build".into()));
    assert_eq!(of(&rows, ".map")["reason"], "no map of run-time code");
    assert_eq!(summary["frames"], 25);
    assert_eq!(summary["unmapped_frames"], 1);
    assert_eq!(summary["built"], 2);
    assert_eq!(summary["missing"], 2);
    assert_eq!(summary["frames_without_index"], 2);
    // The one without an id has a link, which leads to it.
    let links: Vec<_> = std::fs::read_dir(home.cache().join(".by-file")).unwrap().collect();
    assert_eq!(links.len(), 1);
    let link = links[0].as_ref().unwrap().path().canonicalize().unwrap();
    assert_eq!(text(&link), example["index"]);
    let (rows, summary) = home.json(&["index"]);
    assert_eq!(of(&rows, "example.elf")["status"], "present");
    assert_eq!((&summary["built"], &summary["present"]), (&0.into(), &2.into()));
}

#[test]
fn index_tells_people_the_same() {
    let home = Home::new();
    let output = home.run(&["index", "--names-only", "--store", "here"]);
    assert_eq!(code(&output), 0);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(out.lines().count(), 2, "{out}");
    assert!(out.contains("lines.elf: 6 symbols, no lines"), "{out}");
    assert!(
        err.contains("/nowhere/gone (1 frame of 1 sample): expected a file with build-id 0909"),
        "{err}"
    );
    assert!(err.contains("10 samples, 25 frames in 4 DSOs: 2 indexes built"), "{err}");
    assert!(home.directory.path().join("here/.build-id").is_dir());
    assert!(!home.cache().exists());
    let again = home.run(&["index", "--store", "here", "-q"]);
    assert_eq!((stdout(&again), stderr(&again)), (String::new(), String::new()));
}

#[test]
fn files_of_another_machine_are_below_a_root() {
    let home = Home::new();
    let root = home.directory.path().join("root");
    let path = home.directory.path().join("lines.elf");
    let below = root.join(path.strip_prefix("/").unwrap());
    std::fs::create_dir_all(below.parent().unwrap()).unwrap();
    std::fs::copy(&path, &below).unwrap();
    let (rows, summary) = home.json(&["index", "--symfs", text(&root)]);
    assert_eq!(of(&rows, "lines.elf")["binary"], text(&below));
    // It is here, and not there.
    assert_eq!(of(&rows, "example.elf")["reason"], "no file");
    assert_eq!(summary["built"], 1);
    // Names come from what was built of it.
    let (rows, _) = home.json(&["report", "--children", "--symfs", text(&root)]);
    assert!(rows.iter().any(|row| row["symbol"] == "outer" && row["children"] == 5));
}

#[test]
fn a_build_that_fails_is_an_error_of_its_own_dso() {
    let home = Home::new();
    std::fs::write(home.directory.path().join("store"), "a file").unwrap();
    let output = home.run(&["index", "--store", "store"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("cannot create"), "{}", stderr(&output));
}

#[test]
fn budget_tells_what_is_mapped_and_what_stays_unknown() {
    let home = Home::new();
    let (rows, summary) = home.json(&["budget"]);
    assert_eq!(of(&rows, "example.elf")["status"], "unknown");
    assert_eq!((&summary["mapped_bytes"], &summary["frames"]), (&0.into(), &25.into()));
    assert_eq!(summary["unknown_frames"]["no index"], 23);
    home.json(&["index"]);
    let (rows, summary) = home.json(&["budget"]);
    let size = |name: &str| of(&rows, name)["mapped_bytes"].as_u64().unwrap();
    let index = home.cache().join(".build-id/11/22334455667788.symidx");
    assert_eq!(size("lines.elf"), index.metadata().unwrap().len());
    assert_eq!(summary["mapped_bytes"], size("lines.elf") + size("example.elf"));
    assert_eq!(summary["unknown_frames"]["no index"], 1);
    assert_eq!(summary["unknown_frames"]["in no mapping"], 1);
    assert_eq!(summary["unknown_frames"]["no map of run-time code"], 1);
    assert!(summary["anonymous_bytes"].as_u64().unwrap() <= 8 << 20);
    // One byte less than both need: the one with fewer frames a byte goes.
    let bound = (size("lines.elf") + size("example.elf") - 1).to_string();
    let (rows, summary) = home.json(&["budget", "--max-bytes", &bound]);
    assert_eq!(of(&rows, "lines.elf")["status"], "left out");
    assert_eq!(of(&rows, "example.elf")["status"], "index");
    assert_eq!(summary["left_out_dsos"], 1);
    assert_eq!(summary["left_out_frames"], 6);
    assert_eq!(summary["left_out_samples"], 6);
    // The job does what was said.
    let (_, report) = home.json(&["report", "--max-bytes", &bound]);
    assert_eq!(report["unknown"]["over budget"], 1);
    assert!(report["mapped_bytes"].as_u64().unwrap() <= bound.parse().unwrap());
    let text = stdout(&home.run(&["budget", "--max-bytes", &bound]));
    assert!(text.contains("1 DSO left out, 6 frames of 6 samples unknown by it"), "{text}");
    let text = stdout(&home.run(&["budget", "--limit", "1"]));
    assert!(text.contains("3 more DSOs"), "{text}");
}

/// Self and children of each row, by symbol or reason.
fn counts(rows: &[Value]) -> Vec<(String, u64, u64)> {
    let name = |row: &Value| row["symbol"].as_str().or(row["reason"].as_str()).unwrap().to_owned();
    let count = |row: &Value, key: &str| row[key].as_u64().unwrap();
    rows.iter().map(|row| (name(row), count(row, "self"), count(row, "children"))).collect()
}

#[test]
fn report_counts_self_and_children_once_a_sample() {
    let home = Home::new();
    home.json(&["index"]);
    let (rows, summary) = home.json(&["report", "--children"]);
    assert_eq!(summary["samples"], 10);
    assert_eq!(summary["events"][0], "cpu-clock");
    let mut found = counts(&rows);
    found.sort();
    let expected = [
        // In `gone`, and in nothing at all.
        ("helper", 5, 5),
        ("in no mapping", 0, 1),
        ("inner", 1, 1),
        ("main", 1, 8),
        ("no index", 1, 1),
        ("no map of run-time code", 1, 1),
        ("no symbol there", 1, 1),
        ("outer", 0, 5),
    ];
    let expected: Vec<_> = expected.map(|(name, own, all)| (name.to_owned(), own, all)).into();
    assert_eq!(found, expected);
    assert_eq!(counts(&rows)[0].0, "main");
    // Without --children only what samples were taken in, the heaviest first.
    let (rows, _) = home.json(&["report"]);
    assert_eq!(counts(&rows)[0], ("helper".to_owned(), 5, 5));
    assert!(rows.iter().all(|row| row["self"] != 0));
    let own: u64 = rows.iter().map(|row| row["self"].as_u64().unwrap()).sum();
    assert_eq!(own, 10);
}

#[test]
fn report_sorts_by_what_is_asked_for() {
    let home = Home::new();
    home.json(&["index"]);
    let (rows, _) = home.json(&["report", "--sort", "dso", "--children"]);
    let example = of(&rows, "example.elf");
    assert_eq!((&example["self"], &example["children"]), (&7.into(), &9.into()));
    // The address in no mapping, which is in no DSO.
    let nowhere = rows.iter().find(|row| row["dso"].is_null()).unwrap();
    assert_eq!((&nowhere["self"], &nowhere["children"]), (&0.into(), &1.into()));
    let (rows, _) = home.json(&["report", "--sort", "comm"]);
    let comms: Vec<_> = rows
        .iter()
        .map(|row| (row["comm"].as_str().unwrap(), row["self"].as_u64().unwrap()))
        .collect();
    assert_eq!(comms, [("first", 9), ("second", 1)]);
    let (rows, _) = home.json(&["report", "--sort", "comm,sym"]);
    assert!(
        rows.iter().any(|r| r["comm"] == "second" && r["symbol"] == "helper" && r["self"] == 1)
    );
    let (rows, summary) = home.json(&["report", "--limit", "1"]);
    assert_eq!((rows.len(), &summary["other_samples"]), (1, &5.into()));
    let text = stdout(&home.run(&["report", "--children", "--limit", "2"]));
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["children", "self", "samples", "dso", "symbol"]);
    assert_eq!(lines[1], ["80.00", "%", "10.00", "%", "1", "example.elf", "main"]);
    assert_eq!(lines[2], ["50.00", "%", "50.00", "%", "5", "example.elf", "helper"]);
    assert_eq!(code(&home.run(&["report", "--sort", "nonsense"])), 2);
}

#[test]
fn a_recording_may_come_through_a_pipe_or_be_missing() {
    let home = Home::new();
    let file = std::fs::File::open(&home.data).unwrap();
    let output =
        home.command().args(["perf", "report", "-i", "-", "--json"]).stdin(file).output().unwrap();
    assert_eq!(json(&output).pop().unwrap()["summary"]["samples"], 10);
    for verb in ["index", "budget", "report"] {
        let output = home.run(&[verb, "-i", "not-there"]);
        assert_eq!(code(&output), 1);
        let error = stderr(&output);
        assert!(error.contains("not-there: cannot open") && error.lines().count() == 1, "{error}");
        let output = home.run(&[verb, "-i", text(&testdata("golden/example.elf"))]);
        assert_eq!(code(&output), 1);
        assert!(stderr(&output).contains("expected a perf.data file"), "{}", stderr(&output));
    }
}

#[test]
fn a_recording_cut_anywhere_costs_what_is_cut() {
    let home = Home::new();
    home.json(&["index"]);
    let whole = std::fs::read(&home.data).unwrap();
    // Every length would be thousands of runs; these meet every kind of record.
    for length in (0..whole.len()).step_by(37) {
        std::fs::write(&home.data, &whole[..length]).unwrap();
        for verb in ["index", "budget", "report"] {
            let output = home.run(&[verb, "--json"]);
            assert!(matches!(code(&output), 0 | 1), "{verb}, {length} bytes: {output:?}");
            if code(&output) == 0 {
                let summary = json(&output).pop().unwrap();
                let told = summary["summary"]["damage"].as_array().unwrap().len();
                let silent = length == whole.len() || is_at_a_record(&whole, length);
                assert!(told != 0 || silent, "{verb}, {length} bytes: {summary}");
            }
        }
    }
}

/// The profile was written and the exit code was 1, and nothing said why.
#[test]
fn a_profile_of_a_cut_recording_says_what_was_cut() {
    let home = Home::new();
    let whole = std::fs::read(&home.data).unwrap();
    std::fs::write(&home.data, &whole[..whole.len() - 3]).unwrap();
    let output = home.run(&["script", "--no-build", "--pprof", "out.pb.gz"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("the last record is cut short"), "{}", stderr(&output));
}

/// A file name in a recording reached the terminal as it was, with what moves its cursor.
#[test]
fn reasons_reach_the_terminal_as_text() {
    let home = Home::new();
    let mut recording = Recording::new();
    recording.map_name(PID, GONE, 0x1000, b"/nowhere/\x1b[31m\nred", None);
    recording.sample(PID, &[GONE + 5]);
    std::fs::write(&home.data, recording.finish()).unwrap();
    for verb in ["script", "index", "budget", "report"] {
        let said = stderr(&home.run(&[verb]));
        assert!(
            !said.contains('\x1b') && (verb != "script" || said.contains("red")),
            "{verb}: {said}"
        );
    }
}

/// True when a record ends at this byte.
fn is_at_a_record(recording: &[u8], at: usize) -> bool {
    let mut next = 16;
    while next < at {
        next += usize::from(u16::from_le_bytes([recording[next + 6], recording[next + 7]]));
    }
    next == at
}

/// A recording of so many samples, nearly all of whose addresses are random.
fn unknowns(samples: u64, data: &Path, file: &Path) {
    const PROCESSES: u32 = 40;
    let mut recording = Recording::new();
    for process in 0..PROCESSES {
        let pid = PID + process;
        recording.comm(pid, &format!("process{process}"));
        recording.map(pid, EXAMPLE, file, None);
        for n in 0..50 {
            let start = JIT + n * 0x10_0000;
            recording.map_name(pid, start, 0x10_0000, format!("/lib/lib{n}.so").as_bytes(), None);
        }
    }
    let mut state = 7u64;
    for sample in 0..samples {
        let mut chain = [0; 16];
        for address in &mut chain {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *address = match state >> 61 {
                0 => HELPER,
                1..=3 => JIT + (state >> 20) % 0x320_0000,
                _ => (state >> 17) & 0x7fff_ffff_ffff,
            };
        }
        recording.sample(PID + u32::try_from(sample).unwrap() % PROCESSES, &chain);
        if sample % 500 == 499 {
            recording.round();
        }
    }
    std::fs::write(data, recording.finish()).unwrap();
}

/// The bound that `symidx perf budget` states holds for the jobs themselves, and does
/// not depend on how many samples and unknown addresses there are.
#[test]
fn anonymous_memory_stays_below_what_the_budget_states() {
    let home = Home::new();
    home.json(&["index"]);
    let mut peaks = Vec::new();
    let mut stated = 0;
    for samples in [5_000, 40_000] {
        unknowns(samples, &home.data, &home.directory.path().join("example.elf"));
        let (_, budget) = home.json(&["budget"]);
        assert_eq!(budget["samples"], samples);
        stated = budget["anonymous_bytes"].as_u64().unwrap();
        let report = |more: &[&str]| {
            let (_, summary) = home.json(&[&["report", "--children"], more].concat());
            summary["peak_anon_bytes"].as_u64().unwrap()
        };
        peaks.push(report(&[]));
        peaks.push(report(&["--sort", "comm,dso,sym"]));
        let script =
            home.run(&["script", "--no-build", "--no-inline", "-F", "comm,tid,time,ip,sym,dso"]);
        assert_eq!(code(&script), 0);
        let cost = stderr(&script);
        let words: Vec<&str> = cost.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(&words[1..5], ["MB", "anonymous", "at", "most,"], "{cost}");
        peaks.push((words[0].parse::<f64>().unwrap() * 1e6) as u64);
    }
    assert!(peaks.iter().all(|&peak| peak != 0 && peak <= stated), "{peaks:?}, {stated} stated");
    for (small, large) in peaks.iter().zip(&peaks[3..]) {
        assert!(large.saturating_sub(*small) <= 3 << 20, "{peaks:?}");
    }
}
