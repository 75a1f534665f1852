//! The C programs, as C and as C++, with the static and the shared library:
//! what they print is true, they leak nothing, and handlers do not allocate.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "a test that goes wrong should stop"
)]

mod common;

use std::path::Path;
use std::process::Command;

use common::{C, CPP, Installed, Link, crate_file, index, stdout, succeed, there};

const EACH: [(common::Language, Link); 4] =
    [(C, Link::Static), (C, Link::Shared), (CPP, Link::Static), (CPP, Link::Shared)];

/// The number of the line that holds a text.
fn line_of(source: &Path, text: &str) -> usize {
    let source = std::fs::read_to_string(source).unwrap();
    source.lines().position(|line| line.contains(text)).unwrap() + 1
}

#[test]
fn a_program_symbolizes_its_own_stack() {
    if !there("cc") || !there("c++") {
        return;
    }
    let installed = Installed::new();
    let store = installed.store_with_libc();
    let source = crate_file("examples/backtrace.c");
    let at = |text| format!("at {}:{}", source.display(), line_of(&source, text));
    for (language, link) in EACH {
        let name = format!("backtrace-{}-{link:?}", language.name);
        let program = installed.compile(language, link, &[&source], &name);
        index(&program);
        let text = stdout(installed.command(&program).arg(&store));
        // Names of C++ are those that the index stores: `compare(void const*, …)`.
        let lines: Vec<String> = text.lines().map(|line| line.trim().replace("()", "")).collect();
        let (args, main_args) = match language.name {
            "cpp" => ("(void const*, void const*)", ""),
            _ => ("", ""),
        };
        // The innermost stack entry: two functions inlined into the one libc called.
        let expected = [
            format!("(inlined) innermost {}", at("depth = backtrace(stack, MOST)")),
            format!("(inlined) between {}", at("    innermost();")),
            format!("compare{args} {}", at("    between();")),
        ];
        assert!(lines[0].starts_with("#0 0x"), "{text}");
        assert_eq!(lines[1..4], expected, "{name}: {text}");
        let main = format!("main{main_args} {}", at("qsort(numbers"));
        let main = lines.iter().position(|line| *line == main).unwrap_or_else(|| panic!("{text}"));
        // libc's frames lie between, named by its exported symbols; its hidden ones
        // are an honest gap.
        let between = &lines[4..main];
        assert!(between.iter().any(|line| line.starts_with("qsort")), "{text}");
        assert!(lines[main..].iter().any(|line| line.starts_with("__libc_start_main")), "{text}");
        assert!(lines.iter().any(|line| *line == "_start"), "{text}");
        let unknown = lines.iter().filter(|line| line.starts_with('[')).count();
        let entries = lines.iter().filter(|line| line.starts_with('#')).count();
        for line in lines.iter().filter(|line| line.starts_with('[')) {
            assert!(line.starts_with("[no symbol covers this address] in "), "{line}");
            assert!(line.contains("libc.so.6 at file offset 0x"), "{line}");
        }
        let last = format!("{} of {entries} addresses have names", entries - unknown);
        assert_eq!(lines.last().unwrap(), &last);
        // Without the store, libc's addresses say why they have no name.
        let text = stdout(&mut installed.command(&program));
        assert!(text.contains("[no index of the module was found; build one: symidx build]"));
        assert!(text.contains("main"), "{text}");
    }
}

#[test]
fn a_signal_handler_names_every_tick_without_heap() {
    if !there("cc") || !there("c++") {
        return;
    }
    let installed = Installed::new();
    let store = installed.store_with_libc();
    let sources = [crate_file("examples/signal.c"), crate_file("tests/c/forbid_malloc.c")];
    let sources: Vec<&Path> = sources.iter().map(AsRef::as_ref).collect();
    for (language, link) in EACH {
        let name = format!("signal-{}-{link:?}", language.name);
        let program = installed.compile(language, link, &sources, &name);
        index(&program);
        let output = succeed(installed.command(&program).arg("700").arg(&store));
        let errors = String::from_utf8(output.stderr).unwrap();
        let calls =
            errors.trim().strip_prefix("allocator called ").unwrap_or_else(|| panic!("{errors}"));
        let calls: u64 = calls.split(' ').next().unwrap().parse().unwrap();
        assert!(calls > 1000, "{errors}");
        let text = String::from_utf8(output.stdout).unwrap();
        let numbers: Vec<u64> =
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [ticks, resolved, spin, frames, gap, no_index, no_module] = numbers[..] else {
            panic!("{text}")
        };
        assert!(ticks >= 20, "{name}: {text}");
        // A tick in the loader or the vDSO, which have no index here, is a rare one.
        assert!(no_module == 0 && no_index <= ticks / 10, "{name}: {text}");
        assert_eq!(resolved + gap + no_index, ticks, "{name}: {text}");
        // The work is the program's own function and libc's allocator.
        assert!(spin > 0 && resolved > spin / 2 && frames >= resolved, "{name}: {text}");
    }
}

#[test]
fn nothing_leaks_and_nothing_is_read_that_is_not_there() {
    if !there("cc") || !there("valgrind") {
        return;
    }
    let installed = Installed::new();
    let store = installed.store_with_libc();
    let source = crate_file("examples/backtrace.c");
    for link in [Link::Static, Link::Shared] {
        let program = installed.compile(C, link, &[&source], &format!("checked-{link:?}"));
        index(&program);
        let mut command: Command = installed.command(Path::new("valgrind"));
        command.args(["--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=all"]);
        command.args(["--errors-for-leak-kinds=definite,indirect,possible", "-q"]);
        let text = stdout(command.arg(&program).arg(&store));
        assert!(text.contains("(inlined) innermost"), "{text}");
    }
}
