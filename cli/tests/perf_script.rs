//! `symidx perf script`: the same lines as `perf script`, and its other forms.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;
#[path = "common/recording.rs"]
mod recording;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{code, json, program, run, stderr, stdout, symidx, text};
use recording::Recording;

/// A program, and a recording with a sample at every byte of its code.
fn recorded() -> Option<(common::Program, PathBuf, usize)> {
    let program = program(&["-g"])?;
    let size = std::fs::metadata(&program.binary).unwrap().len();
    let mut recording = Recording::new();
    recording.comm(4242, "program");
    recording.map(4242, 0x5000_0000, &program.binary, None);
    let mut samples = 0;
    for offset in 0x1000..size.min(0x1400) {
        recording.sample(4242, &[0x5000_0000 + offset, 0x5000_0000 + offset / 2 + 0x900]);
        samples += 1;
    }
    recording.comm(4243, "other");
    // Nothing is mapped in the second process.
    recording.sample(4243, &[0x5000_1010]);
    let data = program.binary.parent().unwrap().join("perf.data");
    std::fs::write(&data, recording.finish()).unwrap();
    Some((program, data, samples + 1))
}

fn script(data: &Path, more: &[&str]) -> std::process::Output {
    let store = data.parent().unwrap().join("store");
    let first = ["perf", "script", "-i", text(data), "--store", text(&store)];
    run(first.iter().chain(more))
}

#[test]
fn it_prints_what_perf_prints() {
    let Some((_program, data, samples)) = recorded() else { return };
    if Command::new("perf").arg("--version").output().is_err() {
        eprintln!("SKIPPED: perf is not there; nothing was compared");
        return;
    }
    // perf has no rule for the stubs in front of the code, and stretches unsized symbols
    // over the ends of their sections.
    let is_stub =
        |line: &str| ["@plt", "_init", "_fini", "__"].iter().any(|name| line.contains(name));
    for fields in [
        "comm,tid,time,ip,sym,dso",
        "comm,pid,tid,time,period,ip,sym,symoff,dso",
        "tid,period,ip",
        "ip,sym",
    ] {
        let more = ["--no-demangle", "--no-inline", "-F", fields];
        let perf = Command::new("perf").args(["script", "-i", text(&data)]).args(more).output();
        let theirs = stdout(&perf.unwrap());
        let ours = stdout(&script(&data, &more));
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{fields}");
        let mut same = 0;
        for (ours, theirs) in ours.lines().zip(theirs.lines()) {
            if ours != theirs && !(is_stub(ours) || is_stub(theirs)) {
                // In a pipe's format perf 6.1 prints symbols that were not asked for.
                assert!(!fields.contains("sym"), "{fields}: `{ours}`, perf: `{theirs}`");
            }
            same += usize::from(ours == theirs);
        }
        assert!(same > samples, "{fields}: {same} lines of {samples} samples are the same");
    }
}

#[test]
fn other_forms_count_the_same_samples() {
    let Some((program, data, samples)) = recorded() else { return };
    let lines = json(&script(&data, &["--json"]));
    assert_eq!(lines.len(), samples);
    let last = &lines[samples - 1];
    assert_eq!(
        (&last["comm"], &last["frames"][0]["symbol"]),
        (&"other".into(), &serde_json::Value::Null)
    );
    assert_eq!(last["frames"][0]["reason"], "in no mapping");

    let folded = stdout(&script(&data, &["--folded"]));
    let count = |line: &str| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap();
    assert_eq!(folded.lines().map(count).sum::<usize>(), samples);
    assert!(folded.lines().any(|line| line.starts_with("program;")), "{folded}");

    let directory = program.binary.parent().unwrap();
    let (svg, profile) = (directory.join("out.svg"), directory.join("out.pb.gz"));
    assert_eq!(code(&script(&data, &["--flamegraph", text(&svg)])), 0);
    assert!(std::fs::read_to_string(&svg).unwrap().contains("</svg>"));
    assert_eq!(code(&script(&data, &["--pprof", text(&profile)])), 0);
    let shown =
        stdout(&run(["pprof", "-q", "--folded", "--sample-type", "samples", text(&profile)]));
    assert_eq!(shown.lines().map(count).sum::<usize>(), samples, "{shown}");
}

/// What an index without lines cannot tell is not claimed, so that pprof may look itself.
#[test]
fn a_profile_claims_inlined_functions_only_where_lines_are_known() {
    let Some(program) = program(&["-g"]) else { return };
    let mut recording = Recording::new();
    recording.map(4242, 0x5000_0000, &program.binary, None);
    let data = program.binary.parent().unwrap().join("perf.data");
    // Not beside the program, where it would be found.
    let index = data.with_file_name("other.symidx");
    assert_eq!(code(&run(["build", "-o", text(&index), text(&program.binary)])), 0);
    let found = json(&run(["find", "--json", text(&index), "main"]));
    let main = found[0]["matches"][0]["address"].as_str().unwrap();
    let main = u64::from_str_radix(main.trim_start_matches("0x"), 16).unwrap();
    recording.sample(4242, &[0x5000_0000 + main]);
    std::fs::write(&data, recording.finish()).unwrap();
    for (store, more, claimed) in [("names", &["--names-only"][..], false), ("lines", &[], true)] {
        let store = data.with_file_name(store);
        let places = ["-i", text(&data), "--store", text(&store)];
        let index = ["perf", "index"].iter().chain(&places).chain(more);
        assert_eq!(code(&run(index)), 0);
        let out = store.with_extension("pb.gz");
        let script = ["perf", "script", "--no-build", "--pprof", text(&out)];
        assert_eq!(code(&run(script.iter().chain(&places))), 0);
        let file = std::fs::File::open(&out).unwrap();
        let (profile, _) =
            symidx_pprof::Profile::read(file, symidx_pprof::Limits::default()).unwrap();
        let flags: Vec<_> =
            profile.mappings.iter().map(|m| (m.has_functions, m.has_inline_frames)).collect();
        assert_eq!(flags, [(true, claimed)], "{}", store.display());
    }
}

#[test]
fn the_summary_says_what_has_no_name_and_why() {
    let Some((_program, data, _)) = recorded() else { return };
    let output = script(&data, &["-F", "ip,sym"]);
    let said = stderr(&output);
    assert!(said.contains("1 in no mapping"), "{said}");
    assert!(said.contains("anonymous at most"), "{said}");
    let store = data.parent().unwrap().join("elsewhere");
    let bounded = run([
        "perf",
        "script",
        "-i",
        text(&data),
        "--store",
        text(&store),
        "--max-bytes",
        "1",
        "-F",
        "ip,sym",
    ]);
    let said = stderr(&bounded);
    assert!(said.contains("over budget"), "{said}");
    assert_eq!(stderr(&script(&data, &["-q"])), "");
}

#[test]
fn a_reader_that_goes_away_is_no_error_and_damage_is_told() {
    let Some((_program, data, _)) = recorded() else { return };
    let mut command = Command::new("sh");
    let line = format!(
        "{} perf script -q -i {} --no-build | head -1",
        text(symidx().get_program().as_ref()),
        text(&data)
    );
    let output = command.args(["-c", &line]).output().unwrap();
    assert_eq!((stderr(&output).as_str(), stdout(&output).lines().count()), ("", 1));

    let mut bytes = std::fs::read(&data).unwrap();
    bytes.truncate(bytes.len() - 5);
    std::fs::write(&data, bytes).unwrap();
    let profile = data.with_extension("pb.gz");
    for form in [&["-F", "ip"][..], &["--pprof", text(&profile)]] {
        let output = script(&data, form);
        assert_eq!(code(&output), 1);
        assert!(stderr(&output).contains("cut short"), "{}", stderr(&output));
    }
    std::fs::write(&data, "no recording").unwrap();
    let output = script(&data, &[]);
    assert_eq!((code(&output), stderr(&output).lines().count()), (1, 1));
}

/// With a cache that cannot be written nothing had a name.
#[test]
fn without_a_cache_to_write_indexes_are_built_for_the_run() {
    let Some((program, data, samples)) = recorded() else { return };
    let script = |more: &[&str]| {
        let mut command = symidx();
        command.args(["perf", "script", "-i", text(&data), "-F", "ip,sym", "--no-inline"]);
        // Below a file there are no directories, not even for root.
        let output = command.args(more).env("XDG_CACHE_HOME", program.binary.join("cache"));
        output.env_remove("SYMIDX_PATH").output().unwrap()
    };
    let output = script(&[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).lines().filter(|line| line.ends_with(" main")).count() > 1);
    let said = stderr(&output);
    assert!(said.contains("1 index was built for this run only; --store DIR keeps them"), "{said}");
    assert!(said.contains("1 index built"), "{said}");
    // When none is built it says how to.
    let output = script(&["--no-build"]);
    let said = stderr(&output);
    assert!(said.contains("`symidx perf index` builds the indexes that are missing"), "{said}");
    assert!(said.contains(" samples, ") && samples > 1000, "{said}");
    assert_eq!(stdout(&output).lines().filter(|line| line.ends_with(" main")).count(), 0);
}

/// An empty recording was 100 % named here and 0 % in the report.
#[test]
fn a_recording_without_samples_has_no_share() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("perf.data");
    std::fs::write(&data, Recording::new().finish()).unwrap();
    for verb in ["script", "report"] {
        let output = run(["perf", verb, "-i", text(&data)]);
        let said = stderr(&output);
        assert!(said.starts_with("0 samples") && !said.contains("named"), "{verb}: {said}");
    }
}

/// A guest's samples, and what the kernel says of its BPF programs, went without a word in
/// every verb but `script`.
#[test]
fn every_verb_says_what_it_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("perf.data");
    let mut recording = Recording::new();
    recording.comm(7, "host");
    recording.sample(7, &[0x1000]);
    // Address, process, thread, time, period, and a chain of no entries.
    let sample = [0x10u64, 7 | 7 << 32, 5, 1000, 0].map(u64::to_le_bytes).concat();
    // `PERF_RECORD_MISC_GUEST_KERNEL`, `_GUEST_USER`.
    recording.event(9, 4, &sample);
    recording.event(9, 5, &sample);
    let who = [7u64 | 7 << 32, 6].map(u64::to_le_bytes).concat();
    let program = [[1, 0, 9].map(u64::to_le_bytes).concat(), who.clone()].concat();
    recording.event(18, 0, &program);
    let code = [0xffff_ffff_c000_0000u64, 64 | 1 << 32].map(u64::to_le_bytes).concat();
    recording.event(17, 0, &[code, b"bpf_prog_1234\0\0\0".to_vec(), who].concat());
    std::fs::write(&data, recording.finish()).unwrap();
    for verb in ["script", "report", "budget", "index"] {
        let first = ["perf", verb, "-i", text(&data), "--store", text(directory.path())];
        let said = stderr(&run(first));
        for line in [
            "2 samples of guests, left out",
            "1 record that says more of a BPF program, left out",
            "1 record of code that the kernel made (BPF, trampolines), known by name alone",
        ] {
            assert!(said.lines().any(|found| found == line), "{verb}: {said}");
        }
        assert!(verb == "budget" || said.contains("1 sample"), "{verb}: {said}");
        if verb != "script" {
            let summary = &json(&run(first.iter().chain(&["--json"]))).pop().unwrap()["summary"];
            assert_eq!(summary["guest_samples"], 2, "{verb}: {summary}");
            assert_eq!(summary["bpf_records"], 1, "{verb}: {summary}");
            assert_eq!(summary["kernel_code_records"], 1, "{verb}: {summary}");
        }
    }
}

/// A column that a recording does not have was an empty one; perf refuses it when it was asked
/// for by name, and only then. Names of symbols without addresses are nothing to perf.
#[test]
fn fields_that_a_recording_cannot_fill_are_taken_as_perf_takes_them() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("perf.data");
    let mut recording = Recording::new();
    recording.comm(4242, "program");
    recording.sample(4242, &[0x5000_1010]);
    std::fs::write(&data, recording.finish()).unwrap();
    let perf = |fields: &str| {
        let mut command = Command::new("perf");
        command.args(["script", "-i", text(&data), "-F", fields]).output()
    };
    let is_here = Command::new("perf").arg("--version").output().is_ok();
    if !is_here {
        eprintln!("SKIPPED: perf is not there; nothing was compared with it");
    }
    for (fields, is_refused, said) in [
        ("cpu", true, "expected samples of cpu-clock with the field cpu, found none that have it"),
        ("comm,cpu", true, "the field cpu"),
        ("+cpu", true, "the field cpu"),
        ("-comm", false, ""),
        ("+pid", false, ""),
        ("ip,symoff", true, "expected sym among the fields with symoff"),
        ("symoff", true, "expected sym among the fields with symoff"),
        ("sym", false, ""),
        ("comm,dso", false, ""),
        ("comm,sym", false, ""),
        ("comm,trace", false, "-F trace"),
        ("comm,,tid", false, ""),
        ("", true, "expected fields such as"),
        ("comm,nothing", true, "found `nothing`"),
    ] {
        let ours = script(&data, &["-F", fields, "--no-build"]);
        assert_eq!(code(&ours) != 0, is_refused, "{fields}: {}", stderr(&ours));
        assert!(stderr(&ours).contains(said), "{fields}: {}", stderr(&ours));
        assert_eq!(ours.stdout.is_empty(), is_refused, "{fields}");
        if is_here {
            let theirs = perf(fields).unwrap();
            assert_eq!(!theirs.status.success(), is_refused, "{fields}: {}", stderr(&theirs));
            // In a pipe's format perf 6.1 prints stacks that were not asked for: names alone.
            let name = |output| stdout(output).lines().next().map(|line| line.trim().to_owned());
            if fields.starts_with("comm") {
                assert_eq!(name(&ours), name(&theirs), "{fields}");
            }
        }
    }
    let message = script(&data, &["-F", "comm,cpu", "--no-build"]);
    assert_eq!((code(&message), stderr(&message).lines().count()), (1, 1), "{}", stderr(&message));
}

/// What a killed run built for itself stayed among the temporary files for ever.
#[test]
fn a_killed_run_leaves_nothing_for_longer_than_to_the_next() {
    let Some((program, data, _)) = recorded() else { return };
    let parent = tempfile::tempdir().unwrap();
    let command = || {
        let mut command = symidx();
        command.args(["perf", "script", "-i", text(&data), "-F", "ip,sym"]);
        command.env("XDG_CACHE_HOME", program.binary.join("cache"));
        command.env_remove("SYMIDX_PATH").env("TMPDIR", parent.path());
        command
    };
    let left = || {
        let entries = std::fs::read_dir(parent.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("symidx-perf-")).collect::<Vec<_>>()
    };
    // It writes to a pipe that nobody reads, so it is there until it is killed.
    let mut child = command().stdout(std::process::Stdio::piped()).spawn().unwrap();
    let started = std::time::Instant::now();
    while left().is_empty() || !parent.path().join(&left()[0]).join("lock").exists() {
        assert!(started.elapsed().as_secs() < 60 && child.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let first = left();
    // One that runs at the same time leaves it alone.
    let running = child.try_wait().unwrap().is_none();
    assert_eq!(code(&command().output().unwrap()), 0);
    if running && child.try_wait().unwrap().is_none() {
        assert_eq!(left(), first);
        child.kill().unwrap();
    }
    child.wait().unwrap();
    assert_eq!(code(&command().output().unwrap()), 0);
    assert_eq!(left(), Vec::<String>::new());
}
