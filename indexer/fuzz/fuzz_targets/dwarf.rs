//! Invariant: for any bytes in the DWARF sections, reading ends; every answer
//! is the same when read again; what it names is there, and no parent loops.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use symidx_indexer::input::dwarf::Units;
use symidx_indexer::model::lines::{NONE, UnitLines};
use symidx_indexer::model::{
    AddressMap, DebugInfo, DwarfSections, Machine, Mapping, Report, SplitUnit,
};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    big_endian: bool,
    linked: bool,
    has_supplementary: bool,
    has_split: bool,
    id: u64,
    abbrev: &'a [u8],
    line: &'a [u8],
    ranges: &'a [u8],
    rnglists: &'a [u8],
    addr: &'a [u8],
    str_offsets: &'a [u8],
    cu_index: &'a [u8],
    str: &'a [u8],
    info: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let sections = DwarfSections {
        abbrev: input.abbrev,
        addr: input.addr,
        info: input.info,
        line: input.line,
        line_str: input.str,
        ranges: input.ranges,
        rnglists: input.rnglists,
        str: input.str,
        str_offsets: input.str_offsets,
        types: &[],
        cu_index: input.cu_index,
        tu_index: &[],
    };
    let shift = if input.linked { 0 } else { 0x10 };
    let mapping =
        |section, start: u64, size| Mapping { start, size, section, target: start + shift };
    let info = DebugInfo {
        label: String::new(),
        sections,
        supplementary: input.has_supplementary.then_some(sections),
        split: input
            .has_split
            .then_some(SplitUnit { id: input.id, sections })
            .into_iter()
            .collect(),
        package: (!input.cu_index.is_empty()).then_some(sections),
        addresses: AddressMap {
            mappings: vec![
                mapping(0, 0, 0x40),
                mapping(1, 0x1000, 0x1000),
                mapping(2, 1 << 40, 1 << 41),
            ],
        },
        machine: Machine {
            number: 0,
            subtype: 0,
            name: "unknown",
            is_64: true,
            big_endian: input.big_endian,
        },
    };
    let units = Units::open(&info, &mut Report::default());
    for unit in 0..units.len() {
        let lines = units.read(unit, &mut Report::default());
        check(&lines);
        assert_eq!(lines, units.read(unit, &mut Report::default()));
    }
});

fn check(lines: &UnitLines<'_>) {
    let there = |index: u32, length: usize| index == NONE || (index as usize) < length;
    for (number, node) in lines.nodes.iter().enumerate() {
        assert!(node.parent == NONE || (node.parent as usize) < number);
        assert!(there(node.function, lines.functions.len()));
        assert!(there(node.call_file, lines.files.len()));
    }
    for piece in &lines.pieces {
        assert!(piece.size > 0 && there(piece.root, lines.nodes.len()));
        let rows = &lines.rows[piece.rows.start as usize..piece.rows.end as usize];
        assert_eq!(rows[0].offset, 0);
        assert!(rows.is_sorted_by(|a, b| a.offset < b.offset));
        assert!(u64::from(rows[rows.len() - 1].offset) < piece.size);
        for row in rows {
            assert!(there(row.node, lines.nodes.len()) && there(row.file, lines.files.len()));
        }
    }
}
