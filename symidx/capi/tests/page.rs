//! The programs of README.md, taken from the page: they compile and do what it says.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should stop"
)]

mod common;

use common::{C, CPP, Installed, Link, index, stdout, there};

fn page() -> String {
    std::fs::read_to_string(common::crate_file("README.md")).unwrap()
}

/// The page's blocks of C, in order.
fn programs() -> Vec<String> {
    let page = page();
    let blocks = page.split("```c\n").skip(1);
    blocks.map(|block| block.split("```\n").next().unwrap().to_owned()).collect()
}

/// What the heading says: 20 lines, those that name headers apart.
#[test]
fn the_first_program_has_20_lines() {
    assert!(page().contains("## Symbolize in your profiler in 20 lines\n"));
    let program = programs().swap_remove(0);
    let lines = program.lines().filter(|line| !(line.is_empty() || line.starts_with("#include")));
    assert_eq!(lines.count(), 20);
}

#[test]
fn the_programs_of_the_page_run() {
    if !there("cc") || !there("c++") {
        return;
    }
    let installed = Installed::new();
    let programs = programs();
    assert_eq!(programs.len(), 2);
    for (number, text) in programs.iter().enumerate() {
        let source = installed.path(&format!("page{number}.c"));
        std::fs::write(&source, text).unwrap();
        for language in [C, CPP] {
            let name = format!("page{number}-{}", language.name);
            let program = installed.compile(language, Link::Shared, &[&source], &name);
            let beside = index(&program);
            let mut run = installed.command(&program);
            let output = match number {
                0 => stdout(&mut run),
                _ => stdout(run.arg(&beside)),
            };
            let first = output.lines().next().unwrap();
            match number {
                0 => {
                    let call = text.lines().position(|line| line.contains("backtrace(stack"));
                    let line = call.unwrap().checked_add(1).unwrap();
                    assert!(first.ends_with(&format!(" main at page0.c:{line}")), "{output}");
                    assert!(output.contains(" [no index of the module was found; "), "{output}");
                    assert!(output.lines().last().unwrap().contains(" _start at "), "{output}");
                }
                _ => assert!(first.starts_with("main 0x") && first.ends_with(" bytes"), "{output}"),
            }
        }
    }
}

/// Every function of the header has its place in the table, and nothing else has.
#[test]
fn the_table_is_of_the_functions_there_are() {
    let header = std::fs::read_to_string(common::crate_file("include/symidx.h")).unwrap();
    let page = page();
    let table: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
    let in_table: Vec<&str> = table
        .iter()
        .flat_map(|line| line.split('`'))
        .filter(|word| word.starts_with("symidx_"))
        .collect();
    for name in &in_table {
        assert!(header.contains(&format!("{name}(")), "{name} is no function");
    }
    let code = header.lines().filter(|line| !line.trim_start().starts_with('*'));
    let declared: Vec<&str> = code
        .filter_map(|line| line.split_once('('))
        .filter_map(|(before, _)| before.split([' ', '*']).next_back())
        .filter(|name| name.starts_with("symidx_"))
        .collect();
    assert!(declared.len() > 40);
    for name in declared {
        assert_eq!(in_table.iter().filter(|word| **word == name).count(), 1, "{name}");
    }
}
