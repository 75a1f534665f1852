//! Lines and inlined functions as the command prints them, beside llvm-symbolizer.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;

use std::io::Write as _;
use std::process::{Command, Stdio};

use common::{addresses, code, json, program, run, run_with, stderr, stdout, testdata, text};
use serde_json::Value;

/// llvm-symbolizer's name, if it is there.
fn llvm() -> Option<&'static str> {
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let found = ["llvm-symbolizer-19", "llvm-symbolizer"].into_iter().find(runs);
    if found.is_none() {
        eprintln!("SKIPPED: llvm-symbolizer is not there; nothing was compared with it");
    }
    found
}

fn asked(tool: &str, arguments: &[&str], input: &[u8]) -> String {
    let mut child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    stdout(&output)
}

/// Addresses with `0x`: without it llvm-symbolizer takes them for decimal.
fn questions(addresses: &[u8]) -> Vec<u8> {
    let lines = addresses.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.flat_map(|line| [b"0x", line, b"\n"].concat()).collect()
}

/// What the index does not hold: the source file's name of functions without
/// lines (a name without directories at line 0).
fn without_file_symbols(text: &str) -> String {
    let line = |line: &str| match line.strip_suffix(":0:0") {
        Some(place) if !place.contains('/') => "??:0:0\n".to_owned(),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The same for JSON; further discriminators, and where the code of an inlined
/// function begins. And llvm-symbolizer does not always find the file of a
/// declaration: then it is taken from `ours`.
fn known(line: &str, ours: &str) -> String {
    let mut answer: Value = serde_json::from_str(line).unwrap();
    let ours: Value = serde_json::from_str(ours).unwrap();
    let symbols = answer["Symbol"].as_array_mut().unwrap();
    let last = symbols.len() - 1;
    for (i, symbol) in symbols.iter_mut().enumerate() {
        symbol["Discriminator"] = 0.into();
        if i < last {
            symbol["StartAddress"] = "".into();
        }
        if symbol["Line"] == 0 && !symbol["FileName"].as_str().unwrap().contains('/') {
            symbol["FileName"] = "".into();
        }
        if symbol["StartFileName"] == "" && symbol["StartLine"] != 0 {
            symbol["StartFileName"] = ours["Symbol"][i]["StartFileName"].clone();
        }
    }
    // Keys are in the order of the alphabet, there as here.
    answer.to_string()
}

#[test]
fn llvm_style_is_that_of_llvm_symbolizer() {
    let Some(llvm) = llvm() else { return };
    for format in ["-gdwarf-5", "-gdwarf-4"] {
        let Some(program) = program(&["-g", format]) else { return };
        let file = text(&program.binary);
        // It gives symbols without a size whatever follows them, across sections.
        let questions = questions(&addresses(&program.binary, None, 0));
        for flags in [&[][..], &["--no-inlines"]] {
            let theirs = asked(llvm, &[&["-e", file], flags].concat(), &questions);
            let ours = [&["lookup", "-q", "--style", "llvm", file], flags].concat();
            let text = stdout(&run_with(&ours, &questions));
            for (ours, theirs) in text.lines().zip(without_file_symbols(&theirs).lines()) {
                assert_eq!(ours, theirs);
            }
            assert_eq!(text.lines().count(), theirs.lines().count());

            let json = [&["-e", file, "--output-style=JSON"], flags].concat();
            let theirs = asked(llvm, &json, &questions);
            let ours = stdout(&run_with(&[&ours[..], &["--json"]].concat(), &questions));
            assert_eq!(ours.lines().count(), theirs.lines().count());
            for (ours, theirs) in ours.lines().zip(theirs.lines()) {
                assert_eq!(ours, known(theirs, ours));
            }
        }
    }
}

#[test]
fn a_chain_is_shown_to_people_and_to_programs() {
    let Some(program) = program(&["-g"]) else { return };
    let file = text(&program.binary);
    let outer = json(&run(["find", file, "outer", "--json"])).remove(0);
    let start = outer["matches"][0]["address"].as_str().unwrap().to_owned();
    let start = u64::from_str_radix(start.trim_start_matches("0x"), 16).unwrap();
    let address = format!("{:#x}", start + 8);
    let output = stdout(&run(["lookup", "-q", file, &address]));
    let lines: Vec<&str> = output.lines().collect();
    let source = program.binary.with_extension("c");
    let at = format!(" at {}:", text(&source));
    assert_eq!(lines.len(), 3, "{output}");
    assert!(lines[0].starts_with(&format!("{address} inner{at}3:")), "{output}");
    assert!(lines[1].starts_with(&format!("    (inlined by) middle{at}5:")), "{output}");
    assert!(lines[2].starts_with(&format!("    (inlined by) outer+0x8{at}8:")), "{output}");
    let answer = json(&run(["lookup", "-q", "--json", file, &address])).remove(0);
    assert_eq!(answer["symbol"]["name"], "outer");
    let frames = answer["frames"].as_array().unwrap();
    let is = |i: usize, name: &str, line: u64, inlined: bool| {
        let frame = &frames[i];
        assert_eq!(frame["function"], name);
        assert_eq!(frame["file"], text(&source));
        assert_eq!(frame["line"], line);
        assert_eq!(frame["inlined"], inlined);
    };
    is(0, "inner", 3, true);
    is(1, "middle", 5, true);
    is(2, "outer", 8, false);
    let output = run(["lookup", "-q", "--no-inlines", file, &address]);
    assert_eq!(code(&output), 0);
    assert!(stdout(&output).starts_with(&format!("{address} outer+0x8{at}3:")));
    // The index says the same as the binary it was made from.
    let index = program.binary.with_extension("symidx");
    assert_eq!(code(&run(["build", "-q", file, "-o", text(&index)])), 0);
    for form in [&["--json"][..], &["--style", "llvm"], &["--style", "gnu"], &[]] {
        let from = |file| stdout(&run([&["lookup", "-q", file, &address], form].concat()));
        assert_eq!(from(text(&index)), from(file));
    }
    let info = json(&run(["info", text(&index), "--json"])).remove(0);
    let report = json(&run(["build", "--json", "--force", file, "-o", text(&index)])).remove(0);
    for key in ["line_rows", "inlined_functions"] {
        assert!(info["counts"][key].as_u64().unwrap() > 0, "{key}");
        assert_eq!(info["counts"][key], report[key]);
    }
    // Without columns every answer is the same but for them.
    let with = stdout(&run(["lookup", "-q", text(&index), &address]));
    let dump = stdout(&run(["dump", "--lines", text(&index)]));
    let built = run(["build", "--json", file, "-o", text(&index), "--no-columns"]);
    assert_eq!(json(&built).remove(0)["status"], "built", "other options, other contents");
    let without = stdout(&run(["lookup", "-q", text(&index), &address]));
    let cut = |line: &str| line.rsplit_once(':').map(|(place, _)| format!("{place}\n"));
    assert_eq!(without, with.lines().filter_map(cut).collect::<String>());
    assert!(without.lines().count() > 1);
    let rows = stdout(&run(["dump", "--lines", text(&index)]));
    assert!(rows.lines().count() < dump.lines().count(), "rows that only columns keep apart");
    let bare = run(["build", "-q", file, "-o", text(&index), "--names-only"]);
    assert_eq!(code(&bare), 0);
    assert_eq!(stdout(&run(["lookup", text(&index), &address])), format!("{address} outer+0x8\n"));
}

/// Whatever is broken in an index: every question gets an answer of its own,
/// and what is missing is said.
#[test]
fn damage_costs_only_what_it_hits() {
    let Some(program) = program(&["-g"]) else { return };
    let file = text(&program.binary);
    let index = program.binary.with_extension("symidx");
    assert_eq!(code(&run(["build", "-q", file, "-o", text(&index)])), 0);
    let whole = std::fs::read(&index).unwrap();
    let questions = addresses(&program.binary, None, 0);
    let asked = questions.iter().filter(|&&byte| byte == b'\n').count();
    let right = stdout(&run_with(&["addr2line", "-afie", text(&index)], &questions));
    let (mut lost, mut kept) = (0, 0);
    for start in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes.iter_mut().skip(start).take(24).for_each(|byte| *byte ^= 0xff);
        std::fs::write(&index, &bytes).unwrap();
        for arguments in
            [&["addr2line", "-afie", text(&index)][..], &["lookup", "--json", text(&index)]]
        {
            let output = run_with(arguments, &questions);
            assert!(matches!(code(&output), 0 | 1), "{arguments:?}, damaged at {start}");
            let lines = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.stdout.is_empty() {
                // It does not open: the reason is all there is.
                assert_eq!(stderr(&output).lines().count(), 1);
                lost += 1;
                continue;
            }
            let answers = match arguments[0] {
                "lookup" => lines.lines().filter(|line| line.ends_with('}')).count(),
                _ => lines.lines().filter(|line| line.starts_with("0x0")).count(),
            };
            assert_eq!(answers, asked, "{arguments:?}, damaged at {start}");
            kept += usize::from(lines == right);
        }
    }
    assert!(lost > 0 && kept > 0, "{lost} do not open, {kept} are as before");
}

/// Swift's names are shown as they are in every style, its lines like any other's,
/// and the unit that stands for a module of headers has no code to be missing.
#[test]
fn swift_is_read_and_its_names_are_left_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let asked_for = b"0x401000\n0x401007\n0x40100b\n0x40100e\n0x401010\n0x401020\n";
    for version in ["4", "5"] {
        let file = testdata(&format!("elf/swift/s{version}.exe"));
        let output = directory.path().join("index.symidx");
        let report = run(["build", "--force", "--json", text(&file), "-o", text(&output)]);
        let report = &json(&report)[0];
        assert_eq!(report["warnings"], serde_json::json!([]), "{report}");
        let skipped: Vec<&String> = report["skipped"].as_object().unwrap().keys().collect();
        assert!(!skipped.iter().any(|why| why.contains("split")), "{skipped:?}");
        let answers = json(&run_with(&["lookup", "--json", text(&output)], asked_for));
        let first = &answers[0]["frames"];
        assert_eq!(first[0]["function"], "$s4main5inneryS2iF");
        assert_eq!(first[0]["demangled"], "$s4main5inneryS2iF");
        assert_eq!((&first[0]["file"], &first[0]["line"]), (&"/src/main.swift".into(), &4.into()));
        assert_eq!(first[1]["demangled"], "$s4main5outeryS2iF");
        // Line 0 is no line, in code that is inlined and in code that the compiler made.
        assert_eq!(answers[1]["frames"][0]["line"], Value::Null);
        assert_eq!(answers[4]["frames"][0]["line"], Value::Null);
        assert_eq!(answers[5]["frames"][0]["file"], "/src/<compiler-generated>");
        let gnu = run(["addr2line", "-Cife", text(&file), "0x401000"]);
        assert_eq!(
            stdout(&gnu),
            "$s4main5inneryS2iF\n/src/main.swift:4\n$s4main5outeryS2iF\n/src/main.swift:12\n"
        );
        let plain = stdout(&run(["lookup", text(&output), "0x401010"]));
        assert!(plain.contains("$s4main4DataV4SelfyACSiFZTm+0x0"), "{plain}");
        let own = stdout(&run_with(&["lookup", "--style", "llvm", text(&output)], asked_for));
        if let Some(llvm) = llvm() {
            assert_eq!(own, asked(llvm, &["-e", text(&file)], asked_for));
        }
    }
}
