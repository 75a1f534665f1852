//! Small random trees and line programs, compared with the obvious at every
//! address.

use gimli::constants::*;
use proptest::prelude::*;

use super::super::flatten::{self, Flattening, separate};
use super::super::rows::{LineRow, Span};
use super::super::table::{LineTable, Part, Store};
use super::super::tree::{Code, Inlined, Tree, TreeNode};
use super::builder::Value::*;
use super::builder::{Builder, V4};
use super::*;

/// Addresses up to twice this: one mapping each.
const HALF: u64 = 24;

#[derive(Clone, Debug)]
struct Case {
    /// Ranges (start, size) of each function.
    functions: Vec<Vec<(u64, u64)>>,
    /// (function, start, size)
    inlined: Vec<(usize, u64, u64)>,
    /// (gap before it, size, line)
    spans: Vec<(u64, u64, u32)>,
}

fn case() -> impl Strategy<Value = Case> {
    let ranges = prop::collection::vec((0..2 * HALF, 1..12_u64), 1..4);
    let functions = prop::collection::vec(ranges, 0..5);
    let inlined = prop::collection::vec((0..5_usize, 0..2 * HALF, 1..16_u64), 0..12);
    let spans = prop::collection::vec((0..4_u64, 1..6_u64, 0..3_u32), 0..16);
    (functions, inlined, spans).prop_map(|(functions, inlined, spans)| Case {
        functions,
        inlined,
        spans,
    })
}

/// The end of a range that stays in its mapping.
fn end(start: u64, size: u64) -> u64 {
    let limit = if start < HALF { HALF } else { 2 * HALF };
    (start + size).min(limit)
}

/// A table of these spans: a run each.
fn table_of<'a>(spans: &[Span], addresses: &'a AddressMap) -> LineTable<'a> {
    let mut store = Store::new(spans.len().is_multiple_of(2));
    let mut parts = Vec::new();
    for &Span { start, end, file, line, column } in spans {
        store.push(LineRow { address: start, file, line, column });
        parts.push(Part { start, end, rows: store.open() });
        store.close();
    }
    LineTable::new(addresses, store, parts)
}

proptest! {
    #[test]
    fn flattening_is_what_is_obvious(case in case()) {
        let mut tree = Tree::default();
        let node = |parent| TreeNode {
            declared: None, parent, call_file: NONE, call_line: 0, call_column: 0,
        };
        let mut roots = Vec::new();
        for ranges in &case.functions {
            let root = tree.nodes.len() as u32;
            roots.push(root);
            tree.nodes.push(node(NONE));
            for (place, &(start, size)) in ranges.iter().enumerate() {
                let end = end(start, size);
                tree.code.push(Code { start, end, root, entry: place == 0 });
            }
            for &(_, start, size) in case.inlined.iter().filter(|i| i.0 == roots.len() - 1) {
                let node_number = tree.nodes.len() as u32;
                tree.nodes.push(node(root));
                tree.inlined.push(Inlined { root, start, node: node_number, end: start + size });
            }
        }
        let mut spans = Vec::new();
        let mut position = 0;
        for &(gap, size, line) in &case.spans {
            let start = position + gap;
            if start >= 2 * HALF {
                break;
            }
            let end = end(start, size);
            spans.push(Span { start, end, file: 0, line, column: 0 });
            position = end;
        }
        let (code, inlined) = (tree.code.clone(), tree.inlined.clone());
        let mut separated = Tree { code: code.clone(), ..Tree::default() };
        separate(&mut separated);
        let separated = separated.code;
        let info = info_of(
            DwarfSections::default(), false, &[(0, HALF, 0), (HALF, HALF, 0)],
        );
        let lines = table_of(&spans, &info.addresses);
        let starts = flatten::starts(&mut tree).collect();
        let mut flat = Flattening::new(&lines, &info.addresses, true, starts);
        let (mut files, mut report) = (|file, _| file, Report::default());
        let (mut pieces, mut rows) = flat.part(&mut tree, &mut files, &mut report);
        flat.outside(usize::MAX, &mut files, &mut report, |(more, their_rows), _| {
            let before = rows.len() as u32;
            rows.extend(their_rows);
            pieces.extend(more.into_iter().map(|mut piece| {
                piece.rows = piece.rows.start + before..piece.rows.end + before;
                piece
            }));
        });
        for address in 0..2 * HALF {
            let span = spans.iter().find(|span| (span.start..span.end).contains(&address));
            let place = span.map_or((NONE, 0), |span| (0, span.line));
            let mut wanted: Vec<(u32, u32, (u32, u32))> = Vec::new();
            for &root in &roots {
                let covers =
                    |code: &Code| code.root == root && (code.start..code.end).contains(&address);
                let mut covering = inlined.iter().filter(|inlined| {
                    inlined.root == root && (inlined.start..inlined.end).contains(&address)
                });
                // Outside its function, up to the next function.
                let stray = covering.clone().any(|inlined| {
                    let before = |code: &Code| inlined.start < code.start && code.start <= address;
                    let one_mapping = end(inlined.start, inlined.end - inlined.start) == inlined.end;
                    one_mapping && !separated.iter().any(before)
                });
                if code.iter().any(covers) || stray {
                    let covering = covering.by_ref();
                    let innermost = covering.max_by_key(|inlined| (inlined.start, inlined.node));
                    wanted.push((root, innermost.map_or(root, |inlined| inlined.node), place));
                }
            }
            if wanted.is_empty() && span.is_some() {
                wanted.push((NONE, NONE, place));
            }
            let (section, target) =
                if address < HALF { (0, address) } else { (1, address - HALF) };
            let mut found: Vec<_> = pieces.iter().filter(|piece| {
                piece.section == section && target.wrapping_sub(piece.start) < piece.size
            }).map(|piece| {
                let rows = &rows[piece.rows.start as usize..piece.rows.end as usize];
                let offset = (target - piece.start) as u32;
                let row = rows[rows.partition_point(|row| row.offset <= offset) - 1];
                (piece.root, row.node, (row.file, row.line))
            }).collect();
            found.sort_unstable();
            prop_assert_eq!(found, wanted, "at {}", address);
        }
        for &root in &roots {
            let entries = pieces.iter().filter(|piece| piece.root == root && piece.entry);
            prop_assert!(entries.count() <= 1);
        }
    }

    #[test]
    fn sequences_are_what_is_obvious(
        sequences in prop::collection::vec(
            (0x1000..0x1030_u64, prop::collection::vec(0..5_u64, 1..6)),
            0..5,
        )
    ) {
        let mut b = Builder::new(V4);
        let offset = b.lines();
        // (start, end, rows as (address, line))
        let mut written = Vec::new();
        let mut line = 0;
        for (start, steps) in &sequences {
            let mut address = *start;
            let mut rows = Vec::new();
            for step in steps {
                line += 1;
                b.row(address, 1, line, 0);
                rows.push((address, line as u32));
                address += step;
            }
            b.end_sequence(address);
            written.push((*start, address, rows));
        }
        b.end_lines();
        b.unit(&[(DW_AT_stmt_list, Section(offset))]);
        b.end_unit();
        let (lines, report) = read_one(b);
        prop_assert_eq!(report, Report::default());
        written.sort_by_key(|sequence| sequence.0);
        for address in 0x1000..0x1050 {
            let covering = written.iter().filter(|(start, end, _)| (*start..*end).contains(&address));
            let wanted = covering.min_by_key(|(_, end, _)| *end).map(|(_, _, rows)| {
                rows.iter().rfind(|row| row.0 <= address).unwrap().1
            });
            let found = at(&lines, address);
            let found = found.first().map(|frame| frame.split(':').nth(1).unwrap().parse().unwrap());
            prop_assert_eq!(found, wanted, "at {:#x}", address);
        }
    }
}
