//! `find`, `info`, `dump`, `verify`, `completions` and `man`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;

use common::{built, code, json, kallsyms, run, stderr, stdout, testdata, text};
use serde_json::json as value;

#[test]
fn find_has_the_keys_of_the_contract_in_their_order() {
    let file = testdata("elf/alias-choice/libal.so");
    let output = run(["find", text(&file), "-q", "--json", "verfn", "nobody"]);
    let lines = stdout(&output);
    let mut lines = lines.lines();
    let first = lines.next().unwrap();
    assert!(
        first.starts_with(
            r#"{"name":"verfn","matches":[{"name":"verfn@@V2","address":"0x1040","size":16,"section":".text","module":null,"kind":"func"},{"name":"verfn@V1","#
        ),
        "{first}"
    );
    assert_eq!(lines.next(), Some(r#"{"name":"nobody","matches":[]}"#));
    assert_eq!(code(&output), 0);
}

#[test]
fn names_are_found_however_they_are_spelled() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("kallsyms");
    kallsyms(
        &[
            b"plain",
            b"_ZN5space6methodEv",
            b"_ZN4core3fmt5write17h0123456789abcdefE",
            b"work.cold",
            b"work",
            b"_ZN2ns1gIiEEvT_",
            b"_ZN2ns1gIcEEvT_",
            b"_ZN1CIiE4makeIcEEvv",
            b"_ZN1D4makeEv",
            b"_ZN1DIiE4makeEv",
        ],
        &input,
    );
    let found = |arguments: &[&str]| {
        let output = run(["find", text(&input), "--json", "-q"].iter().chain(arguments));
        let matches = json(&output)[0]["matches"].as_array().unwrap().clone();
        matches.iter().map(|found| found["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&["plain"]), ["plain"]);
    for name in ["_ZN5space6methodEv", "space::method()", "space::method"] {
        assert_eq!(found(&[name]), ["_ZN5space6methodEv"], "{name}");
    }
    assert_eq!(found(&["core::fmt::write"]).len(), 1);
    // Without the arguments of templates every one of them is meant, unless one is
    // called just that.
    assert_eq!(found(&["ns::g"]), ["_ZN2ns1gIiEEvT_", "_ZN2ns1gIcEEvT_"]);
    assert_eq!(found(&["C::make"]), ["_ZN1CIiE4makeIcEEvv"]);
    assert_eq!(found(&["D::make"]), ["_ZN1D4makeEv"]);
    for name in ["g", "ns::g<long>", "C", "C::make<int>", "ns::", ""] {
        assert!(found(&[name]).is_empty(), "{name}");
    }
    assert!(found(&["--no-demangle", "ns::g"]).is_empty());
    assert_eq!(found(&["--prefix", "work"]).len(), 2);
    assert_eq!(found(&["--prefix", "space::"]).len(), 1);
    assert_eq!(found(&["--regex", "^(plain|space::.*)$"]).len(), 2);
    assert_eq!(code(&run(["find", text(&input), "--regex", "("])), 2);
    let macho = testdata("macho/symbols/sym.macho");
    for name in ["_foo", "foo"] {
        let output = run(["find", text(&macho), "--json", "-q", name]);
        assert_eq!(json(&output)[0]["matches"][0]["address"], "0x100000f00");
    }
}

#[test]
fn info_tells_identity_counts_and_shares() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/zero-size/z.exe", directory.path());
    let output = run(["info", text(&index), "--json"]);
    let info = json(&output).remove(0);
    assert_eq!(info["machine"], "x86_64");
    assert_eq!(info["format_version"], value!(1));
    assert_eq!(info["bytes"], std::fs::metadata(&index).unwrap().len());
    assert!(info["counts"]["symbols"].as_u64().unwrap() > 0);
    assert!(info["sections"].as_array().unwrap().iter().any(|s| s["name"] == ".text"));
    assert!(info["file_sections"].as_array().unwrap().iter().any(|s| s["name"] == "names"));
    let people = stdout(&run(["info", text(&index)]));
    assert!(people.contains("blake3") && people.contains(".text"));
}

#[test]
fn dump_holds_every_name_in_a_stable_order() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/alias-choice/libal.so", directory.path());
    let output = run(["dump", text(&index), "--json"]);
    let names: Vec<_> = json(&output)
        .iter()
        .flat_map(|symbol| {
            let aliases = symbol["aliases"].as_array().cloned().unwrap_or_default();
            std::iter::once(symbol["name"].clone())
                .chain(aliases.iter().map(|alias| alias["name"].clone()).collect::<Vec<_>>())
        })
        .collect();
    for name in ["__GI_strdup", "real_fn@@V1", "label_alias", "verfn@@V2", "verfn@V1"] {
        assert!(names.iter().any(|found| found == name), "{name} is not in {names:?}");
    }
    assert_eq!(stdout(&output), stdout(&run(["dump", text(&index), "--json"])));
    assert!(stdout(&run(["dump", text(&index)])).contains("  alias "));
}

#[test]
fn dump_lists_lines_with_their_frames() {
    let index = testdata("golden/lines.symidx");
    let info = run(["info", text(&index), "--json"]);
    let rows = json(&run(["dump", "--lines", "--json", text(&index)]));
    assert_eq!(json(&info)[0]["counts"]["line_rows"], rows.len());
    let place = |row: &serde_json::Value| row["address"].as_str().unwrap().to_owned();
    for row in &rows {
        // The answer of a lookup, but for what is demangled.
        let answer = json(&run(["lookup", "--json", text(&index), &place(row)]));
        let mut frames = answer[0]["frames"].clone();
        for frame in frames.as_array_mut().unwrap() {
            frame.as_object_mut().unwrap().remove("demangled");
        }
        assert_eq!(row["frames"], frames, "{row}");
        assert!(row["size"].as_u64().unwrap() > 0 && row["section"].is_null(), "{row}");
    }
    let lines = stdout(&run(["dump", "--lines", text(&index)]));
    assert_eq!(lines.lines().filter(|line| line.starts_with("0x")).count(), rows.len());
    assert!(lines.contains("\n  (inlined by) "), "{lines}");
}

#[test]
fn verify_names_the_invariant_and_compares_identities() {
    let directory = tempfile::tempdir().unwrap();
    let index = built("elf/zero-size/z.exe", directory.path());
    let output = run(["verify", text(&index)]);
    assert_eq!(code(&output), 0);
    assert!(stdout(&output).contains(": ok, "));
    let own = testdata("elf/zero-size/z.exe");
    assert_eq!(code(&run(["verify", text(&index), "--against", text(&own)])), 0);
    let other = testdata("elf/nested-overlap/n.exe");
    let output = run(["verify", text(&index), "--against", text(&other)]);
    assert_eq!(code(&output), 4);
    assert!(stderr(&output).contains("another build"), "{}", stderr(&output));
    let mut bytes = std::fs::read(&index).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&index, bytes).unwrap();
    let output = run(["verify", text(&index)]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("invariant I"), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 1);
}

#[test]
fn manual_pages_keep_the_lines_of_examples() {
    for words in
        [&["man"][..], &["man", "build"], &["man", "addr2line"], &["man", "perf", "script"]]
    {
        let page = stdout(&run(words));
        let (before, after) = page.split_once("\n.SH EXAMPLES\n.nf\n").unwrap();
        assert!(!before.contains("EXAMPLES:") && !page.contains(".SH EXTRA"), "{words:?}");
        let (examples, after) = after.split_once("\n.fi\n").unwrap();
        assert!(examples.lines().all(|line| line.starts_with("  ")), "{words:?}: {examples}");
        assert!(after.starts_with(".SH VERSION"), "{words:?}");
    }
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(stdout(&run(["completions", shell])).contains("symidx"), "{shell}");
    }
    assert!(stdout(&run(["man"])).contains(".TH symidx"));
    assert!(stdout(&run(["man", "lookup"])).contains("symidx\\-lookup"));
    for words in [&["man", "perf", "report"][..], &["man", "perf-report"]] {
        assert!(stdout(&run(words)).contains(".TH symidx-perf-report"), "{words:?}");
    }
    assert_eq!(code(&run(["man", "nothing"])), 2);
    let script = stdout(&run(["completions", "zsh"]));
    let verbs = script.lines().find(|line| line.contains("::verb")).unwrap();
    assert!(verbs.contains("(build lookup ") && verbs.contains(" pprof "), "{verbs}");
    assert!(stdout(&run(["--version"])).starts_with("symidx "));
    assert!(stdout(&run(["lookup", "--help"])).contains("EXAMPLES"));
    assert_eq!(code(&run(["--help"])), 0);
}

#[test]
fn colour_is_a_choice() {
    let plain = run(["--color", "never", "info", "/no/such/file"]);
    assert_eq!(code(&plain), 1);
    assert!(!stderr(&plain).contains('\x1b'));
    let coloured = run(["info", "/no/such/file", "--color=always"]);
    assert!(stderr(&coloured).contains('\x1b'));
}

/// "1 symbols, 1 aliases": one is not many.
#[test]
fn one_is_not_many() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("one"), directory.path().join("one.symidx"));
    std::fs::write(&input, "ffffffff81000000 T one\nffffffff81000000 T two\n").unwrap();
    let said = [
        &["build", text(&input), "-o", text(&output)][..],
        &["verify", text(&output)],
        &["info", text(&output)],
        &["lookup", text(&input), "0xffffffff81000000"],
    ]
    .map(|arguments| {
        let done = run(arguments);
        stdout(&done) + &stderr(&done)
    });
    assert!(said[0].contains(": 1 symbol, 1 alias, no lines, "), "{said:?}");
    assert!(said[1].contains("1 alias, 0 names without an address, "), "{said:?}");
    assert!(said[2].contains("1, 1 of them a function"), "{said:?}");
    for text in &said {
        let words: Vec<&str> = text.split_whitespace().collect();
        for pair in words.windows(2) {
            let noun = pair[1].trim_matches([',', ';', ')', '.']);
            let is_many = noun.len() > 3 && noun.ends_with('s') && !noun.ends_with("alias");
            assert!(pair[0] != "1" || !is_many, "`{} {noun}` in {text}", pair[0]);
        }
    }
}
