//! Whole real libraries: what is stored for a name is what the demangler says
//! of it, for every name; and an index with display names answers all else as
//! one without.

#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::Command;

use symidx::Index;
use symidx::format::SectionId;
use symidx_indexer::demangle::Demangler;
use symidx_indexer::{BuildOptions, build_bytes};

/// What a tool prints, if there is such a tool.
fn printed(tool: &str, arguments: &[&str]) -> Option<PathBuf> {
    let output = Command::new(tool).args(arguments).output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

fn libstdcxx() -> Option<PathBuf> {
    printed("cc", &["-print-file-name=libstdc++.so.6"]).filter(|path| path.is_absolute())
}

fn librustc_driver() -> Option<PathBuf> {
    let libraries = std::fs::read_dir(printed("rustc", &["--print", "sysroot"])?.join("lib"));
    let mut paths = libraries.ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    paths.find(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        name.starts_with("librustc_driver") && name.ends_with(".so")
    })
}

/// Compares every name; returns how many are shown otherwise than stored.
fn compare(library: &std::path::Path) -> usize {
    let options = BuildOptions { demangle: true, ..BuildOptions::default() };
    let (bytes, _) = build_bytes(library, &options).unwrap();
    let index = Index::from_bytes(&bytes).unwrap();
    index.verify().unwrap();
    let mut demangler = Demangler::new(true);
    let mut shown = 0;
    for found in index.names() {
        let found = found.unwrap();
        let name = found.name();
        let texts = demangler.texts(name.as_bytes().unwrap());
        let display = index.display_name(name).unwrap();
        assert_eq!(display.is_some(), texts.is_some(), "{name}");
        if let (Some(display), Some(texts)) = (display, texts) {
            assert_eq!(display.full(), *texts.full, "{name}");
            assert_eq!(display.short(), *texts.short, "{name}");
            shown += 1;
        }
        // The library's own demangler agrees where it knows the name.
        let own = name.demangle();
        if let Some(display) = display.filter(|_| own.is_rust()) {
            assert_eq!(own.to_string(), display.full().to_string());
        }
    }
    let (plain, _) = build_bytes(library, &BuildOptions::default()).unwrap();
    let plain = Index::from_bytes(&plain).unwrap();
    let sections = |index: &Index<'_>| -> Vec<_> {
        let other = [SectionId::IDENTITY, SectionId::METADATA];
        let display = [SectionId::DISPLAY_BUCKETS, SectionId::DISPLAY, SectionId::DISPLAY_TEXT];
        let kept = index
            .file_sections()
            .filter(|section| !other.contains(&section.id) && !display.contains(&section.id));
        kept.map(|section| (section.id, section.size, section.hash)).collect()
    };
    assert_eq!(sections(&index), sections(&plain), "other sections do not change");
    shown
}

#[test]
fn every_name_of_a_cpp_library_is_stored_as_it_is_demangled() {
    match libstdcxx() {
        Some(library) => assert!(compare(&library) > 4000),
        None => eprintln!("SKIPPED: no C compiler that knows where libstdc++.so.6 is"),
    }
}

#[test]
fn every_name_of_a_rust_library_is_stored_as_it_is_demangled() {
    match librustc_driver() {
        Some(library) => assert!(compare(&library) > 50_000),
        None => eprintln!("SKIPPED: no librustc_driver in rustc's sysroot"),
    }
}
