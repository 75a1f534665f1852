//! The examples of the header: each compiles without a warning, runs, and prints what it says.
//!
//! In: `include/symidx.h`. Out: one C program with a function per example, in
//! which the handles that examples speak of are there, made anew for each.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use common::{C, Installed, Link, there};

/// An example: what it documents, and its lines.
struct Example {
    of: String,
    lines: Vec<String>,
}

/// What declares something in a line of the header: its name.
fn declared(line: &str) -> Option<&str> {
    let word = |before: &str| line.strip_prefix(before)?.split([' ', ';', '{']).next();
    // The last word before the parameters of a function.
    let function = || line.split_once('(')?.0.rsplit([' ', '*']).next();
    let name = word("typedef struct ").or_else(|| word("enum ")).or_else(function)?;
    name.starts_with("symidx_").then_some(name)
}

/// The header's declarations, in order, each with the example in its comment.
fn declarations(header: &str) -> Vec<Example> {
    let mut found = Vec::new();
    let (mut lines, mut inside) = (Vec::new(), false);
    for line in header.lines() {
        let comment = line.strip_prefix(" *").map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
        match comment {
            Some("```c") => inside = true,
            Some("```") => inside = false,
            Some(text) if inside => lines.push(text.to_owned()),
            _ => {}
        }
        if let (None, Some(name)) = (comment, declared(line)) {
            found.push(Example { of: name.to_owned(), lines: std::mem::take(&mut lines) });
        }
    }
    found
}

/// What the lines say that they print.
fn printed(example: &Example) -> String {
    let said = example.lines.iter().filter_map(|line| line.split_once("// prints "));
    said.map(|(_, text)| format!("{text}\n")).collect()
}

/// What stands before the examples.
const BEFORE: &str = r#"#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <symidx.h>

#define EXAMPLE(number)                                                                            \
    static void example_##number(symidx_index *index, symidx_store *store,                         \
                                 symidx_modules *modules, symidx_resolver *resolver)
#define USED (void)index, (void)store, (void)modules, (void)resolver
"#;

/// What stands behind them: each gets handles of its own, which it may free.
const BEHIND: &str = r#"
static const char maps[] = MAPS;

static void run(const char *name, void (*example)(symidx_index *, symidx_store *,
                                                  symidx_modules *, symidx_resolver *)) {
    symidx_index *index;
    symidx_store *store;
    symidx_modules *modules;
    symidx_resolver *resolver;
    assert(symidx_open_read("app.symidx", &index, NULL, 0) == SYMIDX_OK);
    assert(symidx_store_new(0, &store) == SYMIDX_OK);
    assert(symidx_modules_from_maps(maps, strlen(maps), &modules, NULL, 0) == SYMIDX_OK);
    assert(symidx_resolver_new(modules, store, &resolver) == SYMIDX_OK);
    printf("== %s\n", name);
    fflush(stdout);
    example(index, store, modules, resolver);
}
"#;

fn program(examples: &[Example], maps: &str) -> String {
    let mut source = String::from(BEFORE);
    for (number, example) in examples.iter().enumerate() {
        write!(source, "\n/* {} */\nEXAMPLE({number}) {{\n    USED;\n    {{\n", example.of)
            .unwrap();
        for line in &example.lines {
            writeln!(source, "        {line}").unwrap();
        }
        source.push_str("    }\n}\n");
    }
    source.push_str(&BEHIND.replace("MAPS", &format!("{maps:?}")));
    source.push_str("\nint main(void) {\n");
    for (number, example) in examples.iter().enumerate() {
        writeln!(source, "    run({:?}, example_{number});", example.of).unwrap();
    }
    source.push_str("    return 0;\n}\n");
    source
}

/// The files that examples name, in a folder: a program with its index, and other indexes.
fn files(folder: &Path) -> String {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden");
    for (from, to) in [
        ("lines.elf", "app"),
        ("lines.symidx", "app.symidx"),
        ("relocatable.symidx", "object.symidx"),
        ("kallsyms.symidx", "kallsyms.symidx"),
        ("libal.symidx", "library.symidx"),
        ("packed.symidx", "packed.symidx"),
        ("rich.symidx", "jit.symidx"),
    ] {
        std::fs::copy(golden.join(from), folder.join(to)).unwrap();
    }
    let app = folder.join("app").canonicalize().unwrap();
    let inode = app.metadata().unwrap().ino();
    format!("555500000000-555500001000 r-xp 00000000 08:01 {inode} {}\n", app.display())
}

#[test]
fn every_example_of_the_header_does_what_it_says() {
    let header = std::fs::read_to_string(common::crate_file("include/symidx.h")).unwrap();
    let examples = declarations(&header);
    let missing = examples.iter().filter(|example| example.lines.is_empty());
    assert_eq!(missing.map(|example| example.of.as_str()).collect::<Vec<_>>(), [""; 0]);
    assert!(examples.len() > 60, "{}", examples.len());
    if !there("cc") {
        return;
    }
    let installed = Installed::new();
    let maps = files(installed.directory.path());
    let source = installed.path("examples.c");
    std::fs::write(&source, program(&examples, &maps)).unwrap();
    let program = installed.compile(C, Link::Shared, &[&source], "examples");
    let mut command = installed.command(&program);
    let output = command.current_dir(installed.directory.path()).output().unwrap();
    let (text, errors) = (String::from_utf8(output.stdout).unwrap(), output.stderr);
    assert_eq!(String::from_utf8(errors).unwrap(), "", "{text}");
    assert!(output.status.success(), "{}\n{text}", output.status);
    let expected: String =
        examples.iter().map(|example| format!("== {}\n{}", example.of, printed(example))).collect();
    let text: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    assert_eq!(text, expected);
}

#[test]
fn declarations_and_their_examples_are_found() {
    let header = "/**\n * One.\n *\n * ```c\n * one();\n *\n * ```\n */\nint32_t symidx_one(int a);\n\
                  \n/** Two. */\ntypedef struct symidx_two {\n  int a;\n} symidx_two;\n";
    let found = declarations(header);
    let found: Vec<_> = found.iter().map(|e| (e.of.as_str(), e.lines.join("|"))).collect();
    assert_eq!(found, [("symidx_one", "one();|".to_owned()), ("symidx_two", String::new())]);
}
