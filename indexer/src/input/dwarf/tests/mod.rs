//! Tests of the DWARF reader: sections made byte by byte, and such that were
//! broken on purpose.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::collections::HashSet;

use super::Units;
use crate::model::lines::{NONE, SourceFile, UnitLines, is_absolute};
use crate::model::{AddressMap, DebugInfo, DwarfSections, Machine, Mapping, Report};

mod builder;
mod hostile;
mod lines;
mod names;
mod nearest;
mod property;
mod split;
mod trees;

/// Code from 0x1000 to 0x2000, and from 0x3000 to 0x4000, where it is.
const CODE: [(u64, u64, u64); 2] = [(0x1000, 0x1000, 0x1000), (0x3000, 0x1000, 0x3000)];

/// The DWARF of one file. `code` is (start, size, target); a section each.
fn info_of(
    sections: DwarfSections<'static>,
    big_endian: bool,
    code: &[(u64, u64, u64)],
) -> DebugInfo<'static> {
    let mappings = code.iter().enumerate().map(|(section, &(start, size, target))| Mapping {
        start,
        size,
        section: section as u32,
        target,
    });
    DebugInfo {
        label: String::new(),
        sections,
        supplementary: None,
        split: Vec::new(),
        package: None,
        addresses: AddressMap { mappings: mappings.collect() },
        machine: Machine { number: 0, subtype: 0, name: "unknown", is_64: true, big_endian },
    }
}

/// Reads all units, and checks what every answer promises. Read by parts, of
/// any size, a unit is the same.
fn read(info: &DebugInfo<'static>) -> (Vec<UnitLines<'static>>, Report) {
    let mut report = Report::default();
    let units = Units::open(info, &mut report);
    let lines: Vec<_> = (0..units.len()).map(|unit| units.read(unit, &mut report)).collect();
    lines.iter().for_each(check);
    for bytes in [1, 50, 700] {
        let mut of_parts = Report::default();
        let again = Units::open(info, &mut of_parts);
        for (unit, whole) in lines.iter().enumerate() {
            assert!(again.read_by(unit, bytes, &mut of_parts) == *whole, "parts of {bytes} bytes");
        }
        assert_eq!(report, of_parts, "parts of {bytes} bytes");
    }
    (lines, report)
}

/// Reads the only unit of a builder in [`CODE`].
fn read_one(builder: builder::Builder) -> (UnitLines<'static>, Report) {
    let big = builder.shape.big;
    let (mut lines, report) = read(&info_of(builder.build(), big, &CODE));
    assert_eq!(lines.len(), 1, "{report:?}");
    (lines.remove(0), report)
}

/// What `model::lines` promises.
fn check(lines: &UnitLines<'_>) {
    let UnitLines { files, functions, nodes, pieces, rows } = lines;
    let in_list = |index: u32, length: usize| index == NONE || (index as usize) < length;
    let (mut used_files, mut used_nodes) = (HashSet::new(), HashSet::new());
    let mut used_functions = HashSet::new();
    for piece in pieces {
        assert!(piece.size > 0 && piece.size <= u64::from(u32::MAX));
        used_nodes.insert(piece.root);
        assert!(piece.root == NONE || nodes[piece.root as usize].parent == NONE);
        let rows = &rows[piece.rows.start as usize..piece.rows.end as usize];
        assert_eq!(rows[0].offset, 0);
        for pair in rows.windows(2) {
            assert!(pair[0].offset < pair[1].offset, "rows in order");
            let place = |row: &crate::model::lines::Row| (row.node, row.file, row.line, row.column);
            assert_ne!(place(&pair[0]), place(&pair[1]), "equal rows are one");
        }
        assert!(u64::from(rows.last().unwrap().offset) < piece.size);
        for row in rows {
            used_files.insert(row.file);
            used_nodes.insert(row.node);
            assert!(in_list(row.node, nodes.len()) && in_list(row.file, files.len()));
            let mut root = row.node;
            while root != NONE && nodes[root as usize].parent != NONE {
                assert!(nodes[root as usize].parent < root, "parents come first");
                root = nodes[root as usize].parent;
            }
            assert_eq!(root, piece.root, "a row's outermost function is its piece's");
        }
    }
    let order = |piece: &crate::model::lines::Piece| (piece.section, piece.start, piece.size);
    assert!(pieces.is_sorted_by_key(order));
    for (number, node) in nodes.iter().enumerate().rev() {
        assert!(used_nodes.contains(&(number as u32)), "node without use");
        used_nodes.insert(node.parent);
        used_files.insert(node.call_file);
        used_functions.insert(node.function);
        assert!(in_list(node.function, functions.len()));
    }
    for (number, function) in functions.iter().enumerate() {
        assert!(used_functions.contains(&(number as u32)), "function without use");
        used_files.insert(function.file);
    }
    assert!(used_files.iter().all(|&file| in_list(file, files.len())));
    assert!((0..files.len()).all(|file| used_files.contains(&(file as u32))), "file without use");
    assert_eq!(files.iter().collect::<HashSet<_>>().len(), files.len(), "files once");
    assert_eq!(functions.iter().collect::<HashSet<_>>().len(), functions.len(), "functions once");
}

/// A file's path.
fn path(file: &SourceFile<'_>) -> String {
    let parts = if is_absolute(file.name) {
        vec![file.name]
    } else if is_absolute(file.directory) {
        vec![file.directory, file.name]
    } else {
        vec![file.base, file.directory, file.name]
    };
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect::<Vec<_>>().join("/")
}

/// `name@file:line:column` of every frame at an address, innermost first; of
/// pieces that overlap, the function that starts last. `-` where nothing is known.
fn at(lines: &UnitLines<'_>, address: u64) -> Vec<String> {
    let covers =
        |piece: &&crate::model::lines::Piece| address.wrapping_sub(piece.start) < piece.size;
    let piece = lines.pieces.iter().filter(covers).max_by_key(|piece| {
        (piece.root != NONE, piece.start, std::cmp::Reverse(piece.size), piece.root)
    });
    let Some(piece) = piece else { return Vec::new() };
    let rows = &lines.rows[piece.rows.start as usize..piece.rows.end as usize];
    let offset = u32::try_from(address - piece.start).unwrap();
    let row = rows[rows.partition_point(|row| row.offset <= offset) - 1];
    let file = |file: u32| lines.files.get(file as usize).map_or("-".to_owned(), path);
    let mut frames = Vec::new();
    let (mut node, mut place) = (row.node, (row.file, row.line, row.column));
    loop {
        let function = lines.nodes.get(node as usize).map_or(NONE, |node| node.function);
        let name = lines.functions.get(function as usize).map_or(&b"-"[..], |f| f.name);
        let name = String::from_utf8_lossy(name);
        frames.push(format!("{name}@{}:{}:{}", file(place.0), place.1, place.2));
        let Some(inner) = lines.nodes.get(node as usize) else { return frames };
        place = (inner.call_file, inner.call_line, inner.call_column);
        node = inner.parent;
        if node == NONE {
            return frames;
        }
    }
}
