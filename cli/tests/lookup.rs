//! `symidx lookup` as scripts and people use it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use common::{
    built, code, copied, json, kallsyms, run, run_with, stderr, stdout, symidx, testdata, text,
};

#[test]
fn json_has_the_keys_of_the_contract_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/zero-size/z.exe", directory.path());
    let output = run(["lookup", text(&index), "--json", "0x401058"]);
    assert_eq!(
        stdout(&output),
        concat!(
            r#"{"address":"0x401058","symbol":{"name":"sized","demangled":"sized","start":"0x401040","#,
            r#""size":32,"offset":24,"kind":"func","binding":"global","extent":"exact","section":".text","#,
            r#""module":null,"version":null,"flags":[],"aliases":[]},"#,
            r#""frames":[{"function":"sized","demangled":"sized","file":null,"line":null,"column":null,"inlined":false}]}"#,
            "\n"
        )
    );
    let output = run(["lookup", text(&index), "--json", "1", "zz", "0x10000000000000000"]);
    assert_eq!(
        stdout(&output),
        concat!(
            r#"{"address":"0x1","symbol":null,"frames":[],"reason":"no symbol covers this address"}"#,
            "\n",
            r#"{"query":"zz","error":"expected a hexadecimal address of at most 64 bits"}"#,
            "\n",
            r#"{"query":"0x10000000000000000","error":"expected a hexadecimal address of at most 64 bits"}"#,
            "\n"
        )
    );
    assert_eq!(code(&output), 1);
}

#[test]
fn styles_look_like_the_tools_they_are_named_for() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/zero-size/z.exe", directory.path());
    let out =
        |style: &str| stdout(&run(["lookup", text(&index), "--style", style, "0x401058", "1"]));
    assert_eq!(out("llvm"), "sized\n??:0:0\n\n??\n??:0:0\n\n");
    assert_eq!(out("gnu"), "sized\n??:?\n??\n??:0\n");
    assert_eq!(out("plain"), "0x401058 sized+0x18\n0x1 ?? (no symbol covers this address)\n");
}

#[test]
fn llvm_json_is_an_array_of_arguments_and_a_line_per_line() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/zero-size/z.exe", directory.path());
    let flags = ["lookup", text(&index), "--style", "llvm", "--json"];
    let arguments = run(flags.iter().chain(&["0x401058", "zz", "1"]));
    assert_eq!(code(&arguments), 1);
    let array = json(&arguments).remove(0);
    let lines = json(&run_with(&flags, b"0x401058\nzz\n1\n"));
    assert_eq!(array, serde_json::Value::Array(lines));
    assert_eq!(array[0]["Symbol"][0]["FunctionName"], "sized");
    assert_eq!(array[0]["Symbol"][0]["StartAddress"], "0x401040");
    assert_eq!(array[0]["ModuleName"], text(&index));
    assert_eq!(array[1]["SymName"], "zz");
    let mixed = run_with(&[&flags[..], &["0x401058", "-"]].concat(), b"1\n");
    assert_eq!(json(&mixed).len(), 2);
}

#[test]
fn misses_exit_0_and_malformed_addresses_exit_1_with_the_rest_answered() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/zero-size/z.exe", directory.path());
    assert_eq!(code(&run(["lookup", text(&index), "0x1"])), 0);
    let output = run_with(&["lookup", text(&index)], b"401058\r\n\nnonsense\n0x401040");
    assert_eq!(code(&output), 1);
    let lines: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 4, "one answer per line: {lines:?}");
    assert_eq!(lines[0], "0x401058 sized+0x18");
    assert!(lines[1].contains("??") && lines[2].starts_with("nonsense ??"));
    assert_eq!(lines[3], "0x401040 sized+0x0");
    assert!(stderr(&output).lines().count() == 2);
}

#[test]
fn usage_errors_exit_2() {
    for arguments in [
        &["lookup"][..],
        &["lookup", "x", "--style", "fancy", "1"],
        &["lookup", "x", "--style", "gnu", "--json", "1"],
        &["lookup", "x", "--offset", "--bias", "1", "1"],
        &["lookup", "x", "--load-address", "zz", "1"],
        &["no-such-verb"],
        &[],
    ] {
        assert_eq!(code(&run(arguments)), 2, "{arguments:?}");
    }
}

#[test]
fn each_line_is_answered_before_the_next_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/zero-size/z.exe", directory.path());
    let mut child = symidx()
        .args(["lookup", text(&index), "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut questions = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    for query in ["0x401040", "0x1", "401058"] {
        // In two pieces: a line may arrive in any number of them.
        let (first, second) = query.split_at(2);
        questions.write_all(first.as_bytes()).unwrap();
        questions.flush().unwrap();
        writeln!(questions, "{second}").unwrap();
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        assert!(line.starts_with("{\"address\":"), "{line}");
    }
    drop(questions);
    assert!(child.wait().unwrap().success());
}

#[test]
fn many_lines_are_answered_like_few() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/nested-overlap/n.exe", directory.path());
    let queries: Vec<String> = (0..40_000u64)
        .map(|n| match n % 1000 {
            0 => "nonsense".to_owned(),
            _ => format!("{:#x}", 0x40_1000 + n * 7 % 0x3000),
        })
        .collect();
    let bulk = run_with(&["lookup", text(&index), "--json"], queries.join("\n").as_bytes());
    assert_eq!(code(&bulk), 1);
    assert_eq!(stderr(&bulk).lines().count(), 40);
    let bulk: Vec<String> = stdout(&bulk).lines().map(str::to_owned).collect();
    assert_eq!(bulk.len(), queries.len());
    for (few, answers) in queries.chunks(2000).zip(bulk.chunks(2000)) {
        let mut arguments = vec!["lookup", text(&index), "--json"];
        arguments.extend(few.iter().map(String::as_str));
        assert_eq!(stdout(&run(arguments)).lines().collect::<Vec<_>>(), answers);
    }
}

#[test]
fn a_line_without_end_costs_one_answer() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/zero-size/z.exe", directory.path());
    let mut input = vec![b'0'; 3_000_000];
    input.extend_from_slice(b"\n401058\n");
    let output = run_with(&["lookup", text(&index), "--json"], &input);
    assert_eq!(stdout(&output).lines().count(), 2);
    assert!(stdout(&output).ends_with("}\n"));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/nested-overlap/n.exe", directory.path());
    for verb in ["dump", "lookup"] {
        let mut child = symidx()
            .args([verb, text(&index), "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().unwrap();
        let _ = stdin.write_all("401040\n".repeat(10_000).as_bytes());
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{verb}");
        assert_eq!(stderr(&output), "", "{verb}");
    }
}

#[test]
fn odd_names_are_valid_json_and_come_with_their_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("kallsyms");
    kallsyms(
        &[b"plain", b"odd\xff\x01", b"back\\slash", "é".as_bytes(), b"quo\"te", b"end"],
        &input,
    );
    let output = run([
        "lookup",
        text(&input),
        "--json",
        "-q",
        "ffffffff81000100",
        "ffffffff81000200",
        "ffffffff81000300",
        "ffffffff81000400",
    ]);
    let answers = json(&output);
    let name = |i: usize| answers[i]["symbol"]["name"].as_str().unwrap().to_owned();
    let bytes = |i: usize| answers[i]["symbol"]["name_hex"].as_str().map(str::to_owned);
    assert_eq!((name(0).as_str(), bytes(0).as_deref()), ("odd\\xff\\x01", Some("6f6464ff01")));
    assert_eq!(
        (name(1).as_str(), bytes(1).as_deref()),
        ("back\\\\slash", Some("6261636b5c736c617368"))
    );
    assert_eq!((name(2).as_str(), bytes(2)), ("é", None));
    assert_eq!((name(3).as_str(), bytes(3)), ("quo\"te", None));
}

#[test]
fn run_time_addresses_are_brought_back() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/load-bias/bias.so", directory.path());
    let symbol = |arguments: &[&str]| {
        let output = run(["lookup", text(&index), "--json"].iter().chain(arguments));
        let answer = json(&output).remove(0);
        (answer["symbol"]["name"].clone(), answer["symbol"]["offset"].clone())
    };
    let f1 = ("f1".into(), 4.into());
    assert_eq!(symbol(&["0x215044"]), f1);
    assert_eq!(symbol(&["--offset", "0x2044"]), f1);
    assert_eq!(symbol(&["--bias", "0x1000", "0x216044"]), f1);
    assert_eq!(symbol(&["--bias", "-0x1000", "0x214044"]), f1);
    assert_eq!(symbol(&["--section", ".text", "0x4"]), f1);
    assert_eq!(symbol(&[".text:0x4"]), f1);
    // One past the function's last byte is its return address.
    assert_eq!(symbol(&["--return-address", "0x215060"]), ("f1".into(), 0x20.into()));
    // Where the address counts otherwise than `start`, what it is as an svma.
    let answer = |arguments: &[&str]| {
        let output = run(["lookup", text(&index), "--json"].iter().chain(arguments));
        json(&output).remove(0)
    };
    for (arguments, svma) in [
        (&["0x215044"][..], None),
        (&[".text:0x4"], None),
        (&["--offset", "0x2044"], Some("0x215044")),
        (&["--bias", "0x1000", "0x216044"], Some("0x215044")),
        (&["--bias", "0x1000", "--return-address", "0x216060"], Some("0x215060")),
        (&["--bias", "0x1000", "0x1000"], Some("0x0")),
    ] {
        let answer = answer(arguments);
        assert_eq!(answer.get("svma").map(|svma| svma.as_str().unwrap()), svma, "{answer}");
        assert_eq!(answer["address"], *arguments.last().unwrap().rsplit(':').next().unwrap());
        if answer["symbol"].is_object() && svma.is_some() {
            let number = |text: &serde_json::Value| {
                let digits = text.as_str().unwrap().trim_start_matches("0x").to_owned();
                u64::from_str_radix(&digits, 16).unwrap()
            };
            let offset = answer["symbol"]["offset"].as_u64().unwrap();
            assert_eq!(number(&answer["symbol"]["start"]) + offset, number(&answer["svma"]));
        }
    }
}

#[test]
fn maps_lead_to_the_file_and_its_segment() {
    let directory = tempfile::tempdir().unwrap();
    let file = copied("elf/load-bias/bias.so", directory.path());
    let maps = directory.path().join("maps");
    let path = text(&file);
    std::fs::write(
        &maps,
        format!(
            "7f0000015000-7f0000025000 r-xp 00002000 08:01 1    {path}\n\
             7f0000030000-7f0000031000 rw-p 00000000 00:00 0\n\
             7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0    [vdso]\n\
             7f0000040000-7f0000041000 r-xp 00000000 08:01 1    /no/such/file\n\
             7f0000050000-7f0000051000 r-xp 00000000 08:01 1    /proc/kmsg\n"
        ),
    )
    .unwrap();
    let output = run([
        "lookup",
        "--maps",
        text(&maps),
        "--json",
        "7f0000015044",
        "7f0000030000",
        "7ffc00000000",
        "0x10",
        "7f0000040000",
        "7f0000050000",
    ]);
    assert_eq!(code(&output), 0);
    let answers = json(&output);
    assert_eq!(answers[0]["symbol"]["name"], "f1");
    assert_eq!(answers[0]["file"], path);
    assert_eq!(answers[0]["address"], "0x7f0000015044");
    assert_eq!(answers[0]["svma"], "0x215044");
    assert_eq!(answers[1].get("svma"), None);
    assert_eq!(answers[1]["reason"], "anonymous memory");
    assert_eq!(answers[2]["reason"], "no file: [vdso]");
    assert_eq!(answers[3]["reason"], "no mapping holds this address");
    assert!(answers[4]["reason"].as_str().unwrap().contains("/no/such/file"));
    // A regular file that says it is empty: reading it waited for the kernel's next message.
    assert_eq!(answers[5]["reason"], "no file: /proc/kmsg");
}

#[test]
#[cfg(target_os = "linux")]
fn a_running_process_is_looked_into() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = child.id();
    // The dynamic loader maps the program a moment after the process exists.
    let start = loop {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let code = |line: &&str| line.contains("r-xp") && line.contains("/sleep");
        if let Some(line) = maps.lines().find(code) {
            break line.split('-').next().unwrap().to_owned();
        }
        assert!(child.try_wait().unwrap().is_none(), "the process ended early");
        std::thread::yield_now();
    };
    let output = run(["lookup", "--pid", &pid.to_string(), "--json", "-q", &start]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(json(&output)[0]["address"], format!("0x{start}"));
}

#[test]
fn sections_of_a_relocatable_file_have_addresses_of_their_own() {
    let name = |arguments: &[&str]| {
        let file = testdata("elf/relocatable/fake.ko");
        let output = run(["lookup", text(&file), "--json", "-q"].iter().chain(arguments));
        let answer = json(&output).remove(0);
        (answer["symbol"]["name"].clone(), answer["symbol"]["start"].clone())
    };
    assert_eq!(name(&["0x0"]), ("one".into(), "0x0".into()));
    assert_eq!(name(&["--section", ".init.text", "0"]), ("mod_init".into(), "0x0".into()));
    assert_eq!(name(&[".exit.text:0"]), ("mod_exit".into(), "0x0".into()));
    let directory = tempfile::tempdir().unwrap();
    let sections = directory.path().join("sections");
    std::fs::write(&sections, ".text 0xffffffffc0100000\n.init.text 0xffffffffc0200000\n").unwrap();
    assert_eq!(
        name(&["--module-sections", text(&sections), "0xffffffffc0200000"]),
        ("mod_init".into(), "0xffffffffc0200000".into())
    );
    let file = testdata("elf/relocatable/fake.ko");
    let output = run(["lookup", text(&file), "-q", "--section", ".nothing", "0"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains(".nothing"));
}

#[test]
fn an_unnamed_function_says_so() {
    let file = testdata("macho/symbols/stripped.macho");
    let output = run(["lookup", text(&file), "--json", "-q", "0x100000f04"]);
    let answer = json(&output).remove(0);
    assert!(answer["symbol"].is_null());
    assert_eq!(answer["reason"], "unnamed function at 0x100000f00");
}

#[test]
fn a_fresh_index_beside_the_binary_is_used_and_a_stale_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let binary = copied("elf/zero-size/z.exe", directory.path());
    let output = run(["lookup", text(&binary), "0x401058"]);
    assert!(stderr(&output).contains("built an index"), "{}", stderr(&output));
    assert_eq!(code(&run(["build", text(&binary), "-q"])), 0);
    let output = run(["lookup", text(&binary), "0x401058"]);
    assert_eq!(stderr(&output), "");
    assert_eq!(stdout(&output), "0x401058 sized+0x18\n");
    // Another program takes the binary's place; its index stays.
    std::fs::copy(testdata("elf/nested-overlap/n.exe"), &binary).unwrap();
    let output = run(["lookup", text(&binary), "0x401038"]);
    assert_eq!(code(&output), 0);
    assert_eq!(stdout(&output), "0x401038 innermost+0x0\n");
    assert!(stderr(&output).contains("another build"), "{}", stderr(&output));
    let index = directory.path().join("z.exe.symidx");
    let output = run(["verify", text(&index), "--against", text(&binary)]);
    assert_eq!(code(&output), 4, "{}", stderr(&output));
}

#[test]
fn an_index_in_the_store_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let binary = copied("elf/zero-size/z.exe", directory.path());
    let store = directory.path().join("store");
    assert_eq!(code(&run(["build", text(&binary), "--store", text(&store), "-q"])), 0);
    let output = run(["lookup", text(&binary), "--store", text(&store), "0x401058"]);
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("0x401058 sized+0x18\n", ""));
}

#[test]
fn a_cut_index_is_an_error_at_every_length() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/zero-size/z.exe", directory.path());
    let bytes = std::fs::read(&index).unwrap();
    let cut = directory.path().join("cut.symidx");
    for length in (0..bytes.len()).step_by(97) {
        std::fs::write(&cut, &bytes[..length]).unwrap();
        let output = run(["lookup", text(&cut), "0x401058"]);
        assert_eq!(code(&output), 1, "{length}");
        assert_eq!(stderr(&output).lines().count(), 1);
    }
}

#[cfg(unix)]
#[test]
fn mapped_devices_and_pipes_are_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let maps = directory.path().join("maps");
    let lines =
        format!("1000-2000 r-xp 0 0:0 0 /dev/zero\n3000-4000 r-xp 0 0:0 0 {}\n", text(&pipe));
    std::fs::write(&maps, lines).unwrap();
    let output = run(["lookup", "--maps", text(&maps), "1000", "3000"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output).matches("(no file: ").count(), 2, "{}", stdout(&output));
}

#[cfg(unix)]
#[test]
fn a_binary_may_come_through_a_pipe() {
    let binary = std::fs::read(testdata("elf/zero-size/z.exe")).unwrap();
    let output = run_with(&["info", "/dev/stdin", "-q"], &binary);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

#[test]
fn a_message_does_not_repeat_megabytes() {
    let directory = tempfile::tempdir().unwrap();
    let maps = directory.path().join("maps");
    std::fs::write(&maps, vec![b'f'; 1 << 20]).unwrap();
    let output = run(["lookup", "--maps", text(&maps), "1"]);
    assert_eq!(code(&output), 1);
    assert!(output.stderr.len() < 10_000, "{}", output.stderr.len());
}
