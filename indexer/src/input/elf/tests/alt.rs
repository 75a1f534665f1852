//! The file that dwz moves common debug information to.

use std::path::Path;

use super::builder::{Builder, LE64};
use super::debug::plain;
use super::testdata;
use crate::input::ReadOptions;
use crate::model::{Image, Store};

const ID: [u8; 20] = [
    0x68, 0xd5, 0x97, 0x95, 0xa8, 0xaf, 0xf6, 0x9e, 0x62, 0x13, 0xdf, 0xe9, 0x04, 0x29, 0x84, 0xd8,
    0xc0, 0x70, 0x29, 0x49,
];

fn auto() -> ReadOptions {
    ReadOptions { auto_debug: true, ..ReadOptions::default() }
}

fn open<'s>(path: &Path, store: &'s Store, options: &ReadOptions) -> Image<'s> {
    crate::input::read(path, store, options).unwrap()
}

#[test]
fn the_link_is_followed_relative_to_the_file() {
    let shared = std::fs::read(testdata("dwz/common/shared.debug")).unwrap();
    for file in ["dwz/one", "dwz/two"] {
        let store = Store::new();
        let image = open(&testdata(file), &store, &auto());
        assert_eq!(image.report.warnings, [""; 0]);
        let supplementary = image.debug[0].supplementary.unwrap();
        assert!(supplementary.str.windows(8).any(|name| name == b"picture\0"));
        assert_eq!(image.companions.len(), 1);
        assert_eq!(image.companions[0].role, "dwz file");
        assert_eq!(image.companions[0].data, shared);
    }
}

#[test]
fn a_missing_file_costs_only_what_is_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let one = directory.path().join("one");
    std::fs::copy(testdata("dwz/one"), &one).unwrap();
    let store = Store::new();
    let image = open(&one, &store, &auto());
    assert!(image.debug[0].supplementary.is_none() && image.companions.is_empty());
    assert!(!image.debug[0].sections.info.is_empty());
    assert_eq!(image.report.warnings.len(), 1);
    let warning = &image.report.warnings[0];
    assert!(warning.contains("dwz file common/shared.debug"), "{warning}");
    assert!(warning.contains("68d59795a8aff69e6213dfe9042984d8c0702949"), "{warning}");
    // By its build-id, and by its name in a directory of such files.
    for place in [".build-id/68/d59795a8aff69e6213dfe9042984d8c0702949.debug", ".dwz/shared.debug"]
    {
        let tree = tempfile::tempdir().unwrap();
        let path = tree.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::copy(testdata("dwz/common/shared.debug"), &path).unwrap();
        let options =
            ReadOptions { debug_dirs: vec![tree.path().to_owned()], ..ReadOptions::default() };
        let image = open(&one, &store, &options);
        assert_eq!(image.report.warnings, [""; 0], "{place}");
        assert_eq!(image.companions[0].path, path);
    }
}

#[test]
fn another_build_s_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (one, common) = (directory.path().join("one"), directory.path().join("common"));
    std::fs::copy(testdata("dwz/one"), &one).unwrap();
    std::fs::create_dir(&common).unwrap();
    let mut data = std::fs::read(testdata("dwz/common/shared.debug")).unwrap();
    let at = data.windows(20).position(|window| window == ID).unwrap();
    data[at] ^= 1;
    for (bytes, found) in
        [(&data[..], "found 69d5"), (b"text", "something else"), (&data[..100], "build-id")]
    {
        std::fs::write(common.join("shared.debug"), bytes).unwrap();
        let store = Store::new();
        let image = open(&one, &store, &auto());
        assert!(image.debug[0].supplementary.is_none());
        assert_eq!(image.report.warnings.len(), 2, "{:?}", image.report.warnings);
        assert!(image.report.warnings[0].contains(found), "{:?}", image.report.warnings);
    }
}

#[test]
fn dwarf_5_has_its_own_link() {
    let directory = tempfile::tempdir().unwrap();
    let build = |sup: &[u8], text: &[u8]| {
        let mut b = Builder::new(LE64);
        b.text();
        b.section(plain(".debug_info", b"units"));
        b.section(plain(".debug_str", text));
        b.section(plain(".debug_sup", sup));
        b.build()
    };
    let main = directory.path().join("main");
    std::fs::write(&main, build(b"\x05\0\0sup\0\x03abc", b"main\0")).unwrap();
    std::fs::write(directory.path().join("sup"), build(b"\x05\0\x01\0\x03abc", b"sup\0")).unwrap();
    let store = Store::new();
    let image = open(&main, &store, &auto());
    assert_eq!(image.report.warnings, [""; 0]);
    assert_eq!(image.debug[0].supplementary.unwrap().str, b"sup\0");
    // The supplementary file itself refers to none.
    let image = open(&directory.path().join("sup"), &store, &auto());
    assert_eq!(image.report.warnings, [""; 0]);
    for damaged in [&b"\x05\0\0sup\0\x04abc"[..], b"\x05\0\0sup\0", b"\x05\0\0sup", b"\x05", b""] {
        std::fs::write(&main, build(damaged, b"main\0")).unwrap();
        let image = open(&main, &store, &auto());
        assert_eq!(image.report.warnings.len(), 1, "{damaged:?}");
        assert!(image.debug[0].supplementary.is_none());
    }
}

#[test]
fn damaged_links_are_said() {
    for damaged in [&b"name"[..], b"name\0", b"\0id", b""] {
        let mut b = Builder::new(LE64);
        b.text();
        b.section(plain(".debug_info", b"units"));
        b.section(plain(".gnu_debugaltlink", damaged));
        let data = b.build();
        let store = Store::new();
        let image = super::super::read(Path::new("x"), &data, &store, &auto()).unwrap();
        assert_eq!(image.report.warnings.len(), 1, "{damaged:?}");
        assert!(image.report.warnings[0].contains("gnu_debugaltlink"));
        assert_eq!(image.debug.len(), 1);
    }
}
