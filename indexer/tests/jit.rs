//! Real files of two JIT compilers, decoded by a script of their own
//! (`testdata/jit/decode.py`): the same symbols and the same lines.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "a test that goes wrong should stop"
)]

use std::path::Path;

use symidx::{Index, Svma};
use symidx_indexer::{BuildOptions, build_bytes};

fn built(name: &str) -> (Index<'static>, Vec<(String, u64)>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/jit");
    let (bytes, report) = build_bytes(&root.join(name), &BuildOptions::default()).unwrap();
    let index = Index::from_vec(bytes).unwrap();
    index.verify().unwrap();
    (index, report.skipped)
}

fn text(index: &Index<'_>, address: u64) -> String {
    match index.lookup(Svma(address)).unwrap() {
        Some(s) => format!("symbol {:x} {:x} {}", s.start().0, s.size(), s.name()),
        None => "nothing".to_owned(),
    }
}

#[test]
fn symbols_and_lines_are_those_of_the_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/jit");
    let expected = std::fs::read_to_string(root.join("expect.txt")).unwrap();
    let (dump, skipped) = built("node.dump");
    let (map, nothing) = built("perf-1.map");
    assert_eq!(nothing, []);
    let mut index = &dump;
    let (mut symbols, mut lines, mut ends) = (0, 0, Vec::new());
    for line in expected.lines() {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let hex = |at: usize| u64::from_str_radix(words[at], 16).unwrap();
        match words[0] {
            "symbol" => {
                for address in [hex(1), hex(1) + hex(2) - 1] {
                    assert_eq!(text(index, address), line);
                }
                ends.push(hex(1) + hex(2));
                symbols += 1;
            }
            "line" => {
                let mut frames = index.frames(Svma(hex(1))).unwrap();
                let frame = frames.next().unwrap().unwrap();
                assert!(frames.next().is_none());
                let file = frame.file().unwrap();
                let path = match file.directory().len() {
                    0 => file.name().to_string(),
                    _ => format!("{}/{}", file.directory(), file.name()),
                };
                let column = frame.column().unwrap_or(0);
                let found = format!("line {} {} {column} {path}", words[1], frame.line().unwrap());
                assert_eq!(found, line);
                lines += 1;
            }
            "broken" => {
                assert_eq!(skipped, [("broken record".to_owned(), words[1].parse().unwrap())]);
                for end in ends.drain(..) {
                    let next = index.lookup(Svma(end)).unwrap();
                    assert!(next.is_none_or(|next| next.start().0 == end), "{end:x}");
                }
                index = &map;
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!((symbols, lines), (u64::from(dump.symbol_count() + map.symbol_count()), 308));
}
