//! Invariant: for any bytes in the DWARF sections, reading ends; every answer
//! is the same when read again; what it names is there, and no parent loops;
//! and the index that is made of it verifies and answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symidx::format::{CONTAINER_ELF, Identity};
use symidx::{Index, Svma};
use symidx_indexer::input::dwarf::Units;
use symidx_indexer::layout::{self, LayoutOptions};
use symidx_indexer::lines::{self, Lines};
use symidx_indexer::model::lines::{NONE, UnitLines};
use symidx_indexer::model::{
    AddressKind, AddressMap, DebugInfo, DwarfSections, Format, Image, Machine, Mapping, Report,
    Section, SplitUnit,
};
use symidx_indexer::normalise::{NormaliseOptions, normalise};
use symidx_indexer::write::{Contents, write};
use zerocopy::FromZeros;

/// Splits the next section off: its length in two bytes, then as much of it as is there.
fn section<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let Some((length, after)) = rest.split_first_chunk::<2>() else { return &[] };
    let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
    let (section, after) = after.split_at(length);
    *rest = after;
    section
}

/// Seeds are written by `examples/dwarf_seeds.rs`, in this order.
fn sections(mut rest: &[u8]) -> DwarfSections<'_> {
    let mut next = || section(&mut rest);
    let (abbrev, info, line, line_str, str) = (next(), next(), next(), next(), next());
    let (str_offsets, addr, ranges, rnglists, cu_index) = (next(), next(), next(), next(), next());
    DwarfSections {
        abbrev,
        addr,
        info,
        line,
        line_str,
        ranges,
        rnglists,
        str,
        str_offsets,
        types: &[],
        cu_index,
        tu_index: &[],
    }
}

const BIG_ENDIAN: u8 = 1;
const MOVED: u8 = 2;
const SUPPLEMENTARY: u8 = 4;
const SPLIT: u8 = 8;

fuzz_target!(|data: &[u8]| {
    let Some((&flags, rest)) = data.split_first() else { return };
    let has = |flag: u8| flags & flag != 0;
    let sections = sections(rest);
    let shift = if has(MOVED) { 0x10 } else { 0 };
    let mapping =
        |section, start: u64, size| Mapping { start, size, section, target: start + shift };
    let info = DebugInfo {
        label: String::new(),
        sections,
        supplementary: has(SUPPLEMENTARY).then_some(sections),
        split: match has(SPLIT) {
            true => vec![SplitUnit { id: rest.len() as u64 % 7, sections }],
            false => Vec::new(),
        },
        package: (!sections.cu_index.is_empty()).then_some(sections),
        addresses: AddressMap {
            mappings: vec![
                mapping(0, 0, 0x4000),
                mapping(1, 0x1_0000, 0x1_0000),
                mapping(2, 0x40_0000, 0x10_0000),
                mapping(3, 1 << 40, 1 << 41),
            ],
        },
        machine: Machine {
            number: 0,
            subtype: 0,
            name: "unknown",
            is_64: true,
            big_endian: has(BIG_ENDIAN),
        },
    };
    let units = Units::open(&info, &mut Report::default());
    let mut all = Vec::new();
    for unit in 0..units.len() {
        let lines = units.read(unit, &mut Report::default());
        check(&lines);
        assert_eq!(lines, units.read(unit, &mut Report::default()));
        all.push(lines);
    }
    build(&info, &all);
});

/// The rest of the chain: what was read makes an index that verifies and answers.
fn build(info: &DebugInfo<'_>, units: &[UnitLines<'_>]) {
    let section = |number: &Mapping| Section {
        name: b".text",
        address: number.target,
        size: number.size,
        number: number.section,
        module: None,
        execute: true,
        write: false,
        tls: false,
    };
    let mut image = Image {
        format: Format::Elf,
        addresses: AddressKind::Svma,
        machine: info.machine.clone(),
        build_id: None,
        uuid: None,
        slice: None,
        segments: Vec::new(),
        sections: info.addresses.mappings.iter().map(section).collect(),
        modules: Vec::new(),
        versions: Vec::new(),
        symbols: Vec::new(),
        function_starts: Vec::new(),
        holes: Vec::new(),
        debug: Vec::new(),
        lines: Vec::new(),
        companions: Vec::new(),
        report: Report::default(),
    };
    let lines = Lines::from_units(units);
    lines::add_symbols(&lines, &mut image);
    let normalised = normalise(&mut image, NormaliseOptions::default());
    let mut report = Report::default();
    let encoded = lines::encode(&lines, &image, &normalised, &mut report);
    let plan =
        layout::plan(&image, normalised, encoded, LayoutOptions::default(), &mut report).unwrap();
    let mut identity = Identity::new_zeroed();
    identity.container = CONTAINER_ELF;
    let contents = Contents { plan: &plan, identity, relocatable: false, metadata: &[] };
    let mut bytes = Vec::new();
    write(&contents, std::io::Cursor::new(&mut bytes)).unwrap();
    let index = Index::from_bytes(&bytes).unwrap();
    index.verify_structure().unwrap();
    for piece in units.iter().flat_map(|unit| &unit.pieces).take(64) {
        for address in [piece.start, piece.start + piece.size / 2, piece.start + piece.size - 1] {
            let frames: Result<Vec<_>, _> = index.frames(Svma(address)).unwrap().collect();
            // A piece outside every function may say nothing there.
            assert!(!frames.unwrap().is_empty() || piece.root == NONE);
        }
    }
}

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
