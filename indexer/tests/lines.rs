//! Lines through the whole chain: what units say, packed, encoded, written,
//! opened and asked, against the slow obvious reading of the same units.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::cmp::Ordering;

use proptest::prelude::*;
use symidx::format::lines::LineSpan;
use symidx::format::{Identity, SectionId};
use symidx::{ImageSectionId, Index, Svma};
use symidx_indexer::layout::{self, LayoutOptions};
use symidx_indexer::lines::{self, Lines};
use symidx_indexer::model::lines::{Function, NONE, Node, Piece, Row, SourceFile, UnitLines};
use symidx_indexer::model::{AddressKind, Binding, Image, Kind, NO_VERSION, Report};
use symidx_indexer::model::{Section, Source, Symbol};
use symidx_indexer::normalise::{NormaliseOptions, normalise};
use symidx_indexer::write::{Contents, write};
use zerocopy::FromZeros as _;

mod common;

/// One frame as text: `function file:line:column`, `?` for what is not known.
type Chain = Vec<String>;

fn frame(function: &[u8], file: Option<String>, line: u32, column: u32) -> String {
    let function = if function.is_empty() { "?".into() } else { String::from_utf8_lossy(function) };
    let column = if line == 0 { 0 } else { column };
    format!("{function} {}:{line}:{column}", file.unwrap_or_else(|| "?".into()))
}

fn path(unit: &UnitLines<'_>, file: u32) -> Option<String> {
    let file = unit.files.get(file as usize)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(format!("{}/{}/{}", text(file.base), text(file.directory), text(file.name)))
}

/// The slow reading: of the pieces that hold the address the one that starts
/// last (the shorter where two start together), functions before others.
fn slow(units: &[UnitLines<'_>], section: u32, address: u64) -> Chain {
    let mut best: Option<(&UnitLines<'_>, &Piece)> = None;
    for unit in units {
        for piece in &unit.pieces {
            let holds = piece.section == section
                && piece.start <= address
                && address < piece.start + piece.size;
            let key = |p: &Piece| {
                let inside = p.root != NONE;
                (
                    inside,
                    if inside { p.start } else { 0 },
                    if inside { u64::MAX - p.size } else { u64::MAX - p.start },
                )
            };
            // Of equal ones the first unit's, and in it the last.
            let same_unit = best.is_some_and(|(of, _)| std::ptr::eq(of, unit));
            let better = |b: &Piece| match key(piece).cmp(&key(b)) {
                Ordering::Equal => same_unit && piece.root != NONE,
                order => order == Ordering::Greater,
            };
            if holds && best.is_none_or(|(_, b)| better(b)) {
                best = Some((unit, piece));
            }
        }
    }
    let Some((unit, piece)) = best else { return Chain::new() };
    let rows = &unit.rows[piece.rows.start as usize..piece.rows.end as usize];
    let offset = (address - piece.start) as u32;
    let Some(row) = rows.iter().rfind(|row| row.offset <= offset) else { return Chain::new() };
    let mut chain = Chain::new();
    let (mut node, mut place) = (row.node, (row.file, row.line, row.column));
    if node == NONE {
        if path(unit, row.file).is_some() {
            chain.push(frame(b"", path(unit, place.0), place.1, place.2));
        }
        return chain;
    }
    while node != NONE {
        let this = &unit.nodes[node as usize];
        let name = unit.functions.get(this.function as usize).map_or(&b""[..], |f| f.name);
        chain.push(frame(name, path(unit, place.0), place.1, place.2));
        place = (this.call_file, this.call_line, this.call_column);
        node = this.parent;
    }
    chain
}

fn image(addresses: AddressKind) -> Image<'static> {
    let section = |number, address| Section {
        name: b".text",
        address,
        size: 1 << 34,
        number,
        module: None,
        execute: true,
        write: false,
        tls: false,
    };
    let mut image = common::image(addresses == AddressKind::SectionOffset);
    image.sections = match addresses {
        AddressKind::Svma => vec![section(1, 0)],
        AddressKind::SectionOffset => vec![section(1, 0), section(2, 0)],
    };
    image
}

/// The index of units, as bytes.
fn build(units: &[UnitLines<'static>], addresses: AddressKind) -> Vec<u8> {
    build_with(units, addresses, Vec::new())
}

/// The same with symbols beside them.
fn build_with(
    units: &[UnitLines<'static>],
    addresses: AddressKind,
    symbols: Vec<Symbol<'static>>,
) -> Vec<u8> {
    build_lines(&Lines::from_units(units), addresses, symbols)
}

fn build_lines(
    lines: &Lines<'static>,
    addresses: AddressKind,
    symbols: Vec<Symbol<'static>>,
) -> Vec<u8> {
    let mut image = Image { symbols, ..image(addresses) };
    let normalised = normalise(&mut image, NormaliseOptions::default());
    let mut report = Report::default();
    let encoded = lines::encode(lines, &image, &normalised, &mut report);
    let plan =
        layout::plan(&image, normalised, encoded, LayoutOptions::default(), &mut report).unwrap();
    let mut bytes = Vec::new();
    let mut identity = Identity::new_zeroed();
    identity.container = symidx::format::CONTAINER_ELF;
    let contents = Contents {
        plan: &plan,
        identity,
        relocatable: addresses == AddressKind::SectionOffset,
        metadata: &[],
    };
    write(&contents, std::io::Cursor::new(&mut bytes)).unwrap();
    bytes
}

fn ask(index: &Index<'_>, section: u32, address: u64) -> Chain {
    let frames = match index.is_relocatable() {
        true => index.frames_in(ImageSectionId(section), address),
        false => index.frames(Svma(address)),
    };
    let frames: Vec<_> = frames.unwrap().map(Result::unwrap).collect();
    for (i, frame) in frames.iter().enumerate() {
        assert_eq!(frame.is_inlined(), i + 1 < frames.len());
    }
    let text = |frame: &symidx::Frame<'_>| {
        let name = frame.function().map(|name| name.to_string()).unwrap_or_default();
        let file = frame.file().map(|file| file.to_string());
        self::frame(name.as_bytes(), file, frame.line().unwrap_or(0), frame.column().unwrap_or(0))
    };
    frames.iter().map(text).collect()
}

const NAMES: [&[u8]; 6] = [b"main", b"inner", b"leaf", b"_ZN4core3fmtE", b"", b"other"];

prop_compose! {
    fn unit()(
        pieces in prop::collection::vec(
            (0u32..2, 0u64..3000, prop_oneof![1u64..900, 1u64..900, 2000u64..9000, Just(0xffff_f000)], 0u8..5),
            0..8,
        ),
        nodes in prop::collection::vec((0u32..7, 0u32..9, 0u32..4, 0u32..70_000, 0u32..400), 1..12),
        rows in prop::collection::vec(
            (1u32..300, prop_oneof![Just(0u32), 0u32..12], 0u32..4, prop_oneof![0u32..40, 100_000u32..100_040, Just(u32::MAX)],
                prop_oneof![0u32..30, 250u32..70_000]),
            1..40,
        ),
        far in prop_oneof![Just(0u64), Just(1 << 33)],
        lines in prop::collection::vec(prop_oneof![Just(0), 0u32..40, Just(9_000_000)], 6),
    ) -> UnitLines<'static> {
        let mut unit = UnitLines {
            files: [("/src", "inc", "a.h"), ("/src", "lib", "b.c"), ("/o", "x", "c.rs")]
                .map(|(base, directory, name)| SourceFile {
                    base: base.as_bytes(), directory: directory.as_bytes(), name: name.as_bytes(),
                }).to_vec(),
            functions: NAMES.iter().zip(lines).zip(0u32..).map(|((name, line), i)| Function {
                name, file: if i % 4 == 3 { NONE } else { i % 3 }, line,
            }).collect(),
            ..UnitLines::default()
        };
        let index = |value: u32, count: usize| if (value as usize) < count { value } else { NONE };
        unit.nodes = nodes.iter().enumerate().map(|(i, &(function, parent, file, line, column))| {
            let parent = if i == 0 { NONE } else { index(parent, i) };
            let known = parent != NONE;
            Node {
                function: index(function, NAMES.len()),
                parent,
                call_file: if known { index(file, 3) } else { NONE },
                call_line: if known { line } else { 0 },
                call_column: if known { column } else { 0 },
            }
        }).collect();
        for (section, start, size, root) in pieces {
            let first = unit.rows.len() as u32;
            let mut offset = 0;
            for &(step, node, file, line, column) in &rows {
                if u64::from(offset) >= size { break }
                let node = if root == 0 { NONE } else { index(node, unit.nodes.len()).min(unit.nodes.len() as u32 - 1) };
                unit.rows.push(Row { offset, node, file: index(file, 3), line, column });
                offset += step;
            }
            let last = unit.rows.len() as u32;
            let root = if root == 0 { NONE } else { 0 };
            unit.pieces.push(Piece { section, start: start + far, size, root, entry: true, rows: first..last });
        }
        unit
    }
}

/// Pieces with their rows and nodes, for the messages of failed tests.
fn brief<'u>(units: &'u [UnitLines<'_>]) -> Vec<(&'u [Piece], &'u [Row], &'u [Node])> {
    units.iter().map(|unit| (&unit.pieces[..], &unit.rows[..], &unit.nodes[..])).collect()
}

fn check(units: &[UnitLines<'static>], addresses: AddressKind) {
    let mut units = units.to_vec();
    if addresses == AddressKind::Svma {
        for piece in units.iter_mut().flat_map(|unit| &mut unit.pieces) {
            piece.section = 0;
        }
    }
    check_bytes(&build(&units, addresses), &units, addresses);
    let mut lines = Lines::from_units(&units);
    lines.drop_columns();
    for unit in &mut units {
        unit.rows.iter_mut().for_each(|row| row.column = 0);
        unit.nodes.iter_mut().for_each(|node| node.call_column = 0);
    }
    check_bytes(&build_lines(&lines, addresses, Vec::new()), &units, addresses);
}

fn check_bytes(bytes: &[u8], units: &[UnitLines<'static>], addresses: AddressKind) {
    let index = Index::from_bytes(bytes).unwrap();
    index.verify().unwrap();
    let mut places: Vec<u64> = Vec::new();
    for piece in units.iter().flat_map(|unit| &unit.pieces) {
        let near = |at: u64| [at.saturating_sub(1), at, at + 1];
        places.extend(near(piece.start).into_iter().chain(near(piece.start + piece.size)));
    }
    places.extend((0..4000).step_by(7));
    places.extend((0..4000).step_by(13).map(|at| at + (1 << 33)));
    for section in 0..2 {
        for &address in &places {
            if addresses == AddressKind::Svma && section == 1 {
                continue;
            }
            let expected = slow(units, section, address);
            let at = format!("section {section} {address:#x} of {:?}", brief(units));
            assert_eq!(ask(&index, section, address), expected, "{at}");
        }
    }
    assert!(index.frames(Svma(1 << 50)).unwrap().next().is_none());
    // However far code reaches, it costs what its rows do.
    let rows: usize = units.iter().map(|unit| unit.rows.len() + unit.pieces.len()).sum();
    assert!(bytes.len() < 8192 + 512 * rows, "{} bytes of {rows} rows", bytes.len());
}

proptest! {
    #[test]
    fn frames_are_the_slow_reading(units in prop::collection::vec(unit(), 0..4)) {
        check(&units, AddressKind::Svma);
    }

    #[test]
    fn frames_in_sections_are_the_slow_reading(units in prop::collection::vec(unit(), 0..4)) {
        check(&units, AddressKind::SectionOffset);
    }
}

/// A function of assembly: no file and no line of its own, and many rows.
fn assembly(file: u32, lines: std::ops::Range<u32>) -> UnitLines<'static> {
    let source =
        |name: &'static str| SourceFile { base: b"/src", directory: b"asm", name: name.as_bytes() };
    let rows: Vec<_> = lines
        .zip(0..)
        .map(|(line, place)| Row { offset: place * 4, node: 0, file, line, column: 0 })
        .collect();
    let count = rows.len() as u32;
    let piece = Piece {
        section: 0,
        start: 0x1000,
        size: u64::from(count) * 4,
        root: 0,
        entry: true,
        rows: 0..count,
    };
    UnitLines {
        files: vec![source("memcpy.S"), source("macros.h")],
        functions: vec![Function { name: b"memcpy", file: NONE, line: 0 }],
        nodes: vec![Node {
            function: 0,
            parent: NONE,
            call_file: NONE,
            call_line: 0,
            call_column: 0,
        }],
        rows,
        pieces: vec![piece],
    }
}

#[test]
fn far_lines_of_assembly_are_no_longer_than_near_ones() {
    let near = build(&[assembly(0, 100..220)], AddressKind::Svma);
    let far = [assembly(0, 100..820)];
    check(&far, AddressKind::Svma);
    let far = build(&far, AddressKind::Svma);
    // A row more costs its start and its line, and each 128 lines a function.
    let (rows, functions) = (600, 5);
    assert!(far.len() < near.len() + rows * 5 / 2 + functions * 24, "{} {}", far.len(), near.len());
    // All are one function: no symbol of its own, no place where it was declared.
    let index = Index::from_bytes(&far).unwrap();
    for address in [0x1000u64, 0x1400, 0x1b00] {
        let frame = index.frames(Svma(address)).unwrap().next().unwrap().unwrap();
        assert_eq!(frame.function().unwrap(), "memcpy");
        assert_eq!(frame.declared().unwrap().1, None);
    }
}

/// Lines of 20,000 places far from each other, in one function: its roots were
/// gone through one by one for every row.
#[test]
fn many_far_places_of_one_function_are_found_at_once() {
    const PLACES: u32 = 20_000;
    let mut unit = assembly(0, 0..PLACES * 12);
    for (row, number) in unit.rows.iter_mut().zip(0..) {
        row.line = 1000 + (number % PLACES) * 128 + number / PLACES;
    }
    let started = std::time::Instant::now();
    let bytes = build(&[unit.clone()], AddressKind::Svma);
    let took = started.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
    let index = Index::from_bytes(&bytes).unwrap();
    for number in (0..PLACES * 12).step_by(997) {
        let frame = index.frames(Svma(0x1000 + u64::from(number) * 4)).unwrap().next();
        let line = unit.rows[number as usize].line;
        assert_eq!(frame.unwrap().unwrap().line(), Some(line));
    }
}

#[test]
fn a_file_that_only_rows_know_is_no_place_of_declaration() {
    // A line without a file, as Go has it for inlined functions.
    let mut unit = assembly(1, 40..60);
    unit.functions[0].line = 38;
    unit.pieces.push(Piece { start: 0x9000, ..unit.pieces[0].clone() });
    check(&[unit.clone()], AddressKind::Svma);
    let bytes = build(&[unit], AddressKind::Svma);
    let index = Index::from_bytes(&bytes).unwrap();
    let frame = index.frames(Svma(0x9004)).unwrap().next().unwrap().unwrap();
    assert_eq!(frame.file().unwrap().to_string(), "/src/asm/macros.h");
    let (file, line) = frame.declared().unwrap();
    assert_eq!((file.map(|file| file.to_string()), line), (None, Some(38)));
}

fn symbol(name: &'static [u8], section: u32, address: u64, size: u64) -> Symbol<'static> {
    Symbol {
        name,
        address,
        size,
        section,
        order: 0,
        version: NO_VERSION,
        kind: Kind::Function,
        binding: Binding::Global,
        source: Source::Symtab,
        default_version: false,
    }
}

const SYMBOLS: [&[u8]; 4] = [b"main", b"inner", b"only_a_symbol", b"another_symbol"];

prop_compose! {
    fn some_symbol()(
        name in 0usize..4,
        section in 0u32..2,
        // Many at the starts of pieces, which are as small.
        address in prop_oneof![0u64..3000, (0u64..30).prop_map(|at| at * 100)],
        size in prop_oneof![Just(0), 1u64..900, Just(9000)],
        far in prop_oneof![Just(0u64), Just(1 << 33)],
    ) -> Symbol<'static> {
        symbol(SYMBOLS[name], section, address + far, size)
    }
}

proptest! {
    /// What a root says of its symbol is so: `verify` looks, and so do these.
    #[test]
    fn the_outermost_frame_is_named_as_its_symbol(
        mut units in prop::collection::vec(unit(), 1..4),
        mut symbols in prop::collection::vec(some_symbol(), 0..12),
        relocatable: bool,
    ) {
        let addresses =
            if relocatable { AddressKind::SectionOffset } else { AddressKind::Svma };
        if !relocatable {
            for piece in units.iter_mut().flat_map(|unit| &mut unit.pieces) {
                piece.section = 0;
            }
        }
        for (order, symbol) in symbols.iter_mut().enumerate() {
            symbol.order = order as u32;
            if !relocatable {
                symbol.section = 0;
            }
        }
        let bytes = build_with(&units, addresses, symbols);
        let index = Index::from_bytes(&bytes).unwrap();
        index.verify().unwrap();
        for (section, address) in
            (0..4000).step_by(3).flat_map(|at| [(0, at), (1, at), (0, at + (1 << 33))])
        {
            let section = ImageSectionId(section);
            let Some(frames) = index.frames_in(section, address).ok() else { continue };
            let symbol = frames.symbol().unwrap().map(|symbol| symbol.name().to_string());
            prop_assert_eq!(
                &symbol,
                &index.lookup_in(section, address).unwrap().map(|s| s.name().to_string())
            );
            let last = frames.map(Result::unwrap).last();
            let name = last.and_then(|frame| frame.function()).map(|name| name.to_string());
            match symbol {
                Some(symbol) => prop_assert_eq!(name, Some(symbol), "{:#x}", address),
                // Then it is DWARF's.
                None => prop_assert!(!name.is_some_and(|name| name.contains("symbol"))),
            }
        }
    }
}

/// Three functions that DWARF knows by other names: one symbol covers all of
/// the first (whose root has that name then), a part of the second, and two share
/// the third. DWARF's name is told to whoever asks for it.
#[test]
fn a_function_has_the_name_of_the_symbol_that_covers_all_of_it() {
    let names: [&[u8]; 3] = [b"dwarf_first", b"dwarf_second", b"dwarf_third"];
    let mut unit = UnitLines {
        files: vec![SourceFile { base: b"/src", directory: b"", name: b"a.c" }],
        ..UnitLines::default()
    };
    for (i, name) in (0u32..).zip(names) {
        unit.functions.push(Function { name, file: 0, line: 10 });
        let root =
            Node { function: i, parent: NONE, call_file: NONE, call_line: 0, call_column: 0 };
        unit.nodes.push(root);
        unit.rows.push(Row { offset: 0, node: i, file: 0, line: 12, column: 0 });
        let start = 0x1000 + u64::from(i) * 0x100;
        unit.pieces.push(Piece {
            section: 0,
            start,
            size: 64,
            root: i,
            entry: true,
            rows: i..i + 1,
        });
    }
    let symbols = vec![
        symbol(b"symbol_first", 0, 0x1000, 64),
        symbol(b"symbol_second", 0, 0x1100, 32),
        symbol(b"symbol_third", 0, 0x1200, 32),
        symbol(b"symbol_fourth", 0, 0x1220, 32),
    ];
    let bytes = build_with(&[unit], AddressKind::Svma, symbols);
    let index = Index::from_bytes(&bytes).unwrap();
    index.verify().unwrap();
    // Two entries for the first, one for each of the others.
    assert_eq!(index.line_counts().functions, 4);
    for (address, name) in [
        (0x1000, "symbol_first"),
        (0x103f, "symbol_first"),
        (0x111f, "symbol_second"),
        (0x1120, "dwarf_second"),
        (0x121f, "symbol_third"),
        (0x1220, "symbol_fourth"),
    ] {
        assert_eq!(ask(&index, 0, address), [format!("{name} /src/a.c:12:0")], "{address:#x}");
        let stated = index.stated_function(Svma(address)).unwrap().unwrap();
        let number = ((address - 0x1000) / 0x100) as usize;
        assert_eq!(stated.as_bytes(), Some(names[number]), "{address:#x}");
    }
}

/// Spans that share their windows, as no writer makes them: counting visits no
/// window twice. (It did: 80 million rows were counted, where 42,000 are stored.)
#[test]
fn spans_that_share_windows_are_counted_in_linear_time() {
    let mut unit = UnitLines {
        files: vec![SourceFile { base: b"/src", directory: b"", name: b"a.c" }],
        functions: vec![Function { name: b"main", file: 0, line: 1 }],
        nodes: vec![Node {
            function: 0,
            parent: NONE,
            call_file: NONE,
            call_line: 0,
            call_column: 0,
        }],
        ..UnitLines::default()
    };
    for (start, rows) in [(0, 40_000)].into_iter().chain((1..2000).map(|far| (far << 24, 1))) {
        let first = unit.rows.len() as u32;
        unit.rows.extend((0..rows).map(|row| Row {
            offset: row * 16,
            node: 0,
            file: 0,
            line: 1 + row % 2,
            column: 0,
        }));
        unit.pieces.push(Piece {
            section: 0,
            start,
            size: u64::from(rows) * 16,
            root: 0,
            entry: true,
            rows: first..unit.rows.len() as u32,
        });
    }
    let mut bytes = build(&[unit], AddressKind::Svma);
    let size = std::mem::size_of::<LineSpan>();
    let (rows, spans, most) = {
        let index = Index::from_bytes(&bytes).unwrap();
        let part = |id| index.file_sections().find(|section| section.id == id).unwrap();
        let spans = part(SectionId::LINE_SPANS);
        let start = spans.offset as usize;
        let most = part(SectionId::LINES).size;
        (index.line_counts().rows, start..start + spans.size as usize, most)
    };
    assert_eq!((rows, spans.len()), (40_000 + 1999, 2000 * size));
    let first = bytes[spans.start..spans.start + size].to_vec();
    bytes[spans].chunks_exact_mut(size).for_each(|span| span.copy_from_slice(&first));
    let index = Index::from_bytes(&bytes).unwrap();
    assert!(index.verify_structure().is_err());
    let counted = index.line_counts().rows;
    assert!((40_000..=most).contains(&counted), "{counted} rows in {most} bytes");
    // Listing them ends as well, with what is wrong.
    let (listed, wrong): (Vec<_>, Vec<_>) = index.line_rows().partition(Result::is_ok);
    assert!((40_000..=most).contains(&(listed.len() as u64)), "{} rows", listed.len());
    assert_eq!(wrong.len(), 1);
}

/// Thousands of files in one long directory, which is written for each: their
/// DWARF has it once. Past what it can be worth they are not known, and said.
#[test]
fn files_of_one_long_directory_take_a_bounded_part() {
    const FILES: u32 = 3000;
    let base: &'static [u8] = format!("/{}", "d".repeat(4000)).into_bytes().leak();
    let name = |file: u32| -> &'static [u8] { format!("{file}.c").into_bytes().leak() };
    let row = |file: u32| Row { offset: file * 4, node: 0, file, line: file + 1, column: 0 };
    let root = Node { function: 0, parent: NONE, call_file: NONE, call_line: 0, call_column: 0 };
    let unit = UnitLines {
        files: (0..FILES)
            .map(|file| SourceFile { base, directory: b"", name: name(file) })
            .collect(),
        functions: vec![Function { name: b"main", file: 0, line: 1 }],
        nodes: vec![root],
        rows: (0..FILES).map(row).collect(),
        pieces: vec![Piece {
            section: 0,
            start: 0,
            size: u64::from(FILES) * 4,
            root: 0,
            entry: true,
            rows: 0..FILES,
        }],
    };
    let image = image(AddressKind::Svma);
    let normalised = normalise(&mut self::image(AddressKind::Svma), NormaliseOptions::default());
    let mut report = Report::default();
    let lines = Lines::from_units(std::slice::from_ref(&unit));
    let encoded = lines::encode(&lines, &image, &normalised, &mut report);
    let bytes: usize = encoded.file_names.iter().map(|(directory, _)| directory.len()).sum();
    assert!(bytes < 2 << 20, "{bytes}");
    assert!(report.skipped["source files beyond what their DWARF can hold"] > 2000, "{report:?}");
    let index = build(&[unit], AddressKind::Svma);
    let index = Index::from_bytes(&index).unwrap();
    index.verify().unwrap();
    let last = u64::from(FILES - 1) * 4;
    assert!(ask(&index, NONE, 4)[0].ends_with("d/1.c:2:0"));
    assert_eq!(ask(&index, NONE, last), [format!("main ?:{FILES}:0")]);
}

/// A function around thousands of nested ones: each gap between two wrote all of
/// its inlined functions and walked all of its rows again, 100 KB came to 100 MB.
#[test]
fn nested_functions_cost_what_their_rows_do() {
    const COUNT: u32 = 2000;
    let root =
        |function| Node { function, parent: NONE, call_file: NONE, call_line: 0, call_column: 0 };
    let function = |name| Function { name, file: 0, line: 1 };
    let mut unit = UnitLines {
        files: vec![SourceFile { base: b"/o", directory: b"src", name: b"a.c" }],
        functions: vec![function(b"outer"), function(b"inner"), function(b"nested")],
        nodes: vec![root(0), root(2)],
        ..UnitLines::default()
    };
    for number in 0..COUNT {
        let (call_file, call_line) = (0, number + 1);
        let node = unit.nodes.len() as u32;
        unit.nodes.push(Node { function: 1, parent: 0, call_file, call_line, call_column: 0 });
        unit.rows.push(Row { offset: number * 8, node, file: 0, line: number + 1, column: 0 });
    }
    let piece =
        |start, size, root, rows| Piece { section: 0, start, size, root, entry: true, rows };
    unit.pieces.push(piece(0, u64::from(COUNT) * 8, 0, 0..COUNT));
    for number in 0..COUNT {
        unit.rows.push(Row { offset: 0, node: 1, file: 0, line: 7, column: 0 });
        let row = COUNT + number;
        unit.pieces.push(piece(u64::from(number) * 8 + 4, 2, 1, row..row + 1));
    }
    unit.pieces.sort_by_key(|piece| piece.start);
    let units = [unit];
    let bytes = build(&units, AddressKind::Svma);
    assert!(bytes.len() < 400_000, "{}", bytes.len());
    let index = Index::from_bytes(&bytes).unwrap();
    index.verify().unwrap();
    for address in (0..u64::from(COUNT) * 8).step_by(3) {
        assert_eq!(ask(&index, 0, address), slow(&units, 0, address), "{address:#x}");
    }
}
