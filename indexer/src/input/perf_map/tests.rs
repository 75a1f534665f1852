//! Hand-written texts: the rules of [`super`], one by one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::*;
use crate::model::Store;

/// (address, size, name) of each symbol.
fn symbols(text: &[u8]) -> Vec<(u64, u64, String)> {
    let store = Store::new();
    let image = read(Path::new("perf-1.map"), store.keep(text.to_vec())).unwrap();
    let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    image.symbols.iter().map(|s| (s.address, s.size, name(s.name))).collect()
}

fn one(text: &str) -> Option<(u64, u64, String)> {
    let all = symbols(text.as_bytes());
    assert!(all.len() <= 1);
    all.into_iter().next()
}

#[test]
fn a_line_is_start_size_and_name_with_blanks() {
    let found = |address, size, name: &str| Some((address, size, name.to_owned()));
    assert_eq!(
        one("7f1000 20 LazyCompile:*f /a b.js:1"),
        found(0x7f_1000, 0x20, "LazyCompile:*f /a b.js:1")
    );
    assert_eq!(one("0x7f1000 0x20 f\r\n"), found(0x7f_1000, 0x20, "f"));
    assert_eq!(one("  7F1000   20   f  \n"), found(0x7f_1000, 0x20, "f"));
    assert_eq!(one("ffffffffffffffff 1 f"), found(u64::MAX, 1, "f"));
}

#[test]
fn broken_lines_are_counted_and_the_first_is_shown() {
    let text = b"7f1000 20 good\n\nzz 20 f\n7f2000 20\n7f3000\n7f4000 20 \n7f5000 100000000 huge\n\
                 10000000000000000 1 wide\n7f7000 1 a\0b\n7f6000 20 also good";
    let store = Store::new();
    let image = read(Path::new("/tmp/perf-1.map"), store.keep(text.to_vec())).unwrap();
    assert_eq!(image.symbols.len(), 2);
    assert_eq!(image.report.skipped["broken line"], 7);
    assert_eq!(
        image.report.warnings,
        [
            "perf-1.map line 3: expected START SIZE NAME with hexadecimal numbers and a size below 4 GiB, \
          found \"zz 20 f\"; skipped it"
        ]
    );
}

#[test]
fn the_last_line_wins_where_lines_overlap() {
    let text = b"2000 20 old\n1000 20 first\n2010 20 new\n1000 20 second\n";
    let found = symbols(text);
    assert_eq!(found, [(0x1000, 0x20, "second".to_owned()), (0x2010, 0x20, "new".to_owned())]);
}

#[test]
fn what_is_a_perf_map() {
    for text in ["7f1000 20 f", "7f1000 20 a\n7f1020 b b\n7f1040 30 c", "\r\n 0x10 0x20 x y z\r\n"]
    {
        assert!(is_perf_map(text.as_bytes()), "{text}");
    }
    for text in [
        "",
        "\n",
        "ffffffff81000000 T f\nffffffff81000010 D d\n",
        "ffffffff81000000 D d\n",
        "7f1000 20",
        "int main() {}",
        "\x7fELF",
        "7f1000 20 f\n\0",
        "#! /bin/sh\nset -e\nadd bad cafe\n",
    ] {
        assert!(!is_perf_map(text.as_bytes()), "{text}");
    }
    // A line that is cut by the end of what is looked at says nothing.
    let long = format!("7f1000 20 {}", "x".repeat(BYTES_TO_TRY));
    assert!(!is_perf_map(long.as_bytes()));
    for (name, is) in [
        ("/tmp/perf-12.map", true),
        ("perf-.map", false),
        ("perf-12.map.gz", false),
        ("perf-a.map", false),
    ] {
        assert_eq!(is_perf_map_name(Path::new(name)), is, "{name}");
    }
}

#[test]
fn a_size_that_looks_like_a_type_is_told_by_name_or_by_its_neighbours() {
    // One line alone could be kallsyms; the file's name says that it is not.
    assert!(!is_perf_map(b"7f1000 b stub"));
    assert_eq!(one("7f1000 b stub"), Some((0x7f_1000, 0xb, "stub".to_owned())));
}

#[test]
fn no_truncation_or_damaged_byte_panics() {
    let text = b"7f1000 20 a b\r\n7f1010 0 c\nffffffffffffff00 ffffffff d\nzz\n".to_vec();
    for end in 0..text.len() {
        let _ = (is_perf_map(&text[..end]), symbols(&text[..end]));
    }
    for place in 0..text.len() {
        for value in [0, b'\n', b' ', b'f', b'0', 0xff] {
            let mut damaged = text.clone();
            damaged[place] = value;
            let _ = (is_perf_map(&damaged), symbols(&damaged));
        }
    }
}
