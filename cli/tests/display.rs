//! Stored display names: the command answers the same with and without them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should stop"
)]

mod common;

use common::{code, json, run, run_with, stdout, testdata, text};

/// The indexes of one binary, plain and with display names.
fn both(directory: &std::path::Path) -> [std::path::PathBuf; 2] {
    let input = testdata("golden/display.elf");
    let [plain, stored] = ["plain.symidx", "stored.symidx"].map(|name| directory.join(name));
    assert_eq!(code(&run(["build", "-q", text(&input), "-o", text(&plain)])), 0);
    assert_eq!(code(&run(["build", "-q", "--demangle", text(&input), "-o", text(&stored)])), 0);
    [plain, stored]
}

#[test]
fn every_style_shows_what_it_showed_without() {
    let directory = tempfile::tempdir().unwrap();
    let indexes = both(directory.path());
    let addresses: String = (0..0x120).map(|at| format!("{:#x}\n", 0x400ff8 + at * 4)).collect();
    for style in [
        &["--json"][..],
        &["--style", "plain"],
        &["--style", "llvm"],
        &["--style", "gnu"],
        &["--json", "--no-demangle"],
        &["--all", "--no-demangle"],
    ] {
        let [plain, stored] = indexes.each_ref().map(|index| {
            let arguments = [&["lookup", text(index)][..], style].concat();
            stdout(&run_with(&arguments, addresses.as_bytes()))
        });
        assert_eq!(plain, stored, "{style:?}");
        let mangled = style.contains(&"--no-demangle");
        assert_eq!(stored.contains("space::Longer::Names::method(int)"), !mangled, "{style:?}");
    }
}

#[test]
fn names_are_found_by_every_form_that_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let indexes = both(directory.path());
    for (name, count) in [
        ("space::Longer::Names::method(int)", 1),
        ("space::Longer::Names::method", 4),
        ("int space::template<int>(int)", 1),
        ("int space::template<int>", 1),
        ("space::template<int>", 1),
        ("space::template", 1),
        ("template", 0),
        ("space::Longer::Names::Names()", 2),
        ("vtable for space::Longer::Names", 1),
        ("non-virtual thunk to space::Longer::Names::method(int)", 1),
        ("core::fmt::Formatter::write_fmt", 2),
        ("mycrate::g\u{f6}del", 1),
        ("_Znot_a_name", 1),
    ] {
        let [plain, stored] =
            indexes.each_ref().map(|index| json(&run(["find", text(index), "--json", name])));
        assert_eq!(plain, stored, "{name}");
        assert_eq!(stored[0]["matches"].as_array().unwrap().len(), count, "{name}");
    }
    for arguments in [["--regex", r"method\(int\)"], ["--prefix", "core::fmt::"]] {
        let [plain, stored] = indexes
            .each_ref()
            .map(|index| stdout(&run(["find", text(index)].iter().copied().chain(arguments))));
        assert_eq!(plain, stored);
        assert!(stored.lines().count() >= 3, "{stored}");
    }
}

/// The option is part of what an index is: with another one it is not fresh.
#[test]
fn an_index_without_display_names_is_built_again() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (testdata("golden/display.elf"), directory.path().join("i.symidx"));
    let build = |options: &[&str]| {
        let arguments = [&["build", "--json", text(&input), "-o", text(&output)][..], options];
        let report = json(&run(arguments.concat())).remove(0);
        (report["status"].as_str().unwrap().to_owned(), report["bytes"].as_u64().unwrap())
    };
    let (status, small) = build(&[]);
    assert_eq!(status, "built");
    let (status, large) = build(&["--demangle"]);
    assert_eq!(status, "built");
    assert!(large > small);
    assert_eq!(build(&["--demangle"]).0, "fresh");
    assert_eq!(build(&[]).0, "built");
    let golden = std::fs::read(testdata("golden/display.symidx")).unwrap();
    assert!(build(&["--demangle"]).0 == "built");
    assert_eq!(std::fs::read(&output).unwrap().len(), golden.len());
}
