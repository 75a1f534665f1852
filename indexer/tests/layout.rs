//! Layout, writing and the runtime together: random images, and every answer
//! of the index compared with the pieces of symbol choice, read one by one.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::collections::BTreeSet;
use std::io::Cursor;

use proptest::prelude::*;
use symidx::format::{Header, Identity, Record, Region, SectionId};
use symidx::{ImageSectionId, Index, Svma};
use symidx_indexer::demangle::Demangler;
use symidx_indexer::layout::{self, LayoutOptions};
use symidx_indexer::lines::EncodedLines;
use symidx_indexer::model::{
    AddressKind, Binding, Image, Kind, NO_VERSION, Report, Section, Segment, Source, Symbol,
};
use symidx_indexer::normalise::{NormaliseOptions, Normalised, Owner, normalise};
use symidx_indexer::write::{Contents, write};
use zerocopy::{FromBytes, FromZeros};

#[path = "../../symidx/tests/support/mod.rs"]
mod support;

mod common;

use common::image;

fn section(name: &'static str, address: u64, size: u64) -> Section<'static> {
    let code = name.starts_with(".text");
    Section {
        name: name.as_bytes(),
        address,
        size,
        number: 1,
        module: None,
        execute: code,
        write: !code,
        tls: name == ".tbss",
    }
}

fn func(name: &str, address: u64, size: u64) -> Symbol<'_> {
    Symbol {
        name: name.as_bytes(),
        address,
        size,
        section: 0,
        order: 0,
        version: NO_VERSION,
        kind: Kind::Function,
        binding: Binding::Global,
        source: Source::Symtab,
        default_version: false,
    }
}

/// The whole way from an image to bytes.
fn build<'data>(mut image: Image<'data>, options: LayoutOptions) -> (Vec<u8>, Normalised<'data>) {
    let normalised = normalise(&mut image, NormaliseOptions::default());
    let mut report = Report::default();
    let lines = EncodedLines::default();
    let mut plan = layout::plan(&image, normalised.clone(), lines, options, &mut report).unwrap();
    layout::add_display_names(&mut plan, &mut report).unwrap();
    let mut identity = Identity::new_zeroed();
    identity.container = symidx::format::CONTAINER_ELF;
    let relocatable = image.addresses == AddressKind::SectionOffset;
    let contents = Contents { plan: &plan, identity, relocatable, metadata: &[] };
    let mut bytes = Vec::new();
    let size = write(&contents, Cursor::new(&mut bytes)).unwrap();
    assert_eq!(size, bytes.len() as u64);
    Index::from_bytes(&bytes).unwrap().verify().unwrap();
    (bytes, normalised)
}

/// What the pieces say: the last one at or before the address, in the space
/// that holds it.
fn slow<'a>(
    normalised: &'a Normalised<'_>,
    section: Option<u32>,
    address: u64,
) -> Option<&'a Owner> {
    let space = normalised
        .spaces
        .iter()
        .find(|space| space.section == section && address.wrapping_sub(space.start) < space.size)?;
    let pieces = &normalised.pieces[space.pieces.start as usize..space.pieces.end as usize];
    let piece = pieces.iter().rfind(|piece| piece.start <= address)?;
    let owner = &normalised.owners[piece.owner as usize];
    (address - owner.address < owner.size).then_some(owner)
}

fn compare_at(
    index: &Index<'_>,
    normalised: &Normalised<'_>,
    section: Option<u32>,
    addresses: &[u64],
) {
    for &address in addresses {
        let owner = slow(normalised, section, address);
        let expected = owner.filter(|owner| !owner.is_unnamed());
        let found = match section {
            Some(section) => index.lookup_in(ImageSectionId(section), address),
            None => index.lookup(Svma(address)),
        };
        let found = found.unwrap();
        assert_eq!(found.is_some(), expected.is_some(), "at {section:?} {address:#x}");
        if section.is_none() {
            let unnamed = owner.filter(|owner| owner.is_unnamed()).map(|owner| owner.address);
            assert_eq!(index.unnamed_function(Svma(address)).unwrap().map(u64::from), unnamed);
        }
        let (Some(found), Some(expected)) = (found, expected) else { continue };
        assert_eq!(found.start().0, expected.address, "at {address:#x}");
        assert_eq!(found.size(), expected.size, "at {address:#x}");
        assert_eq!(found.offset(), address - expected.address);
        assert_eq!(found.name(), *normalised.primary(expected).unwrap().name);
        let listed = normalised.listed_aliases(expected);
        let aliases: Vec<_> = found.aliases().map(Result::unwrap).collect();
        assert_eq!(aliases.len(), listed.len());
        for (alias, listed) in aliases.iter().zip(listed) {
            assert_eq!(alias.name(), *listed.name);
            assert_eq!(alias.version().map_or(0, |v| v.len()), normalised.version(listed).len());
        }
        let section = found.section().unwrap().map(|section| section.address().0);
        assert!(section.is_some(), "at {address:#x}");
    }
    if section.is_none() {
        // In ascending order, and in one that jumps back and forth.
        let mut shuffled = addresses.to_vec();
        shuffled.sort_by_key(|address| address.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for order in [addresses, &shuffled] {
            let batch = index.lookup_sorted(order.iter().copied().map(Svma));
            for (&address, found) in order.iter().zip(batch) {
                let single = index.lookup(Svma(address)).unwrap().map(|s| (s.id(), s.offset()));
                assert_eq!(found.unwrap().map(|s| (s.id(), s.offset())), single, "{address:#x}");
            }
        }
    }
}

fn compare_names(index: &Index<'_>, normalised: &Normalised<'_>) {
    support::compare_find(index, usize::MAX);
    let stored = |symbol: &Symbol<'_>| {
        let version = normalised.version(symbol);
        let mark: &[u8] = match (version.is_empty(), symbol.default_version) {
            (true, _) => b"",
            (false, true) => b"@@",
            (false, false) => b"@",
        };
        ([symbol.name, mark, version].concat(), symbol.address)
    };
    let all = normalised.names.iter().chain(&normalised.names_only);
    let mut expected: Vec<_> = all.map(stored).collect();
    let mut found: Vec<_> = index
        .names()
        .map(|found| found.unwrap())
        .map(|m| (m.stored_name().as_bytes().unwrap().to_vec(), m.address()))
        .collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    // What `find` promises: the default version before the others.
    for symbol in normalised.names.iter().chain(&normalised.names_only) {
        let found = index.find(symbol.name).map(|found| found.unwrap());
        let same = found.filter(|found| found.name() == *symbol.name);
        let others = same.map(|m| m.version().is_some_and(|(_, default)| !default));
        assert!(others.is_sorted(), "{:?}", symbol.name);
    }
    let named = normalised.owners.iter().filter(|owner| !owner.is_unnamed());
    let starts: Vec<_> = named.map(|owner| (owner.address, owner.size)).collect();
    let listed: Vec<_> =
        index.symbols().map(|s| s.unwrap()).map(|s| (s.start().0, s.size())).collect();
    assert_eq!(listed, starts);
}

const SPAN: u64 = 96;

#[derive(Clone, Debug)]
struct Case {
    base: u64,
    relocatable: bool,
    sections: Vec<(u64, u64, u8)>,
    symbols: Vec<(u64, u64, u32, u16)>,
    starts: Vec<u64>,
    max_region: u64,
    max_name_offset: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let size = prop_oneof![3 => Just(0), 8 => 1..40_u64, 1 => Just(1 << 40)];
    let sections = prop::collection::vec((0..SPAN, 1..SPAN, 0..8_u8), 1..4);
    let symbols = prop::collection::vec((0..SPAN, size, 0..4_u32, any::<u16>()), 0..40);
    let starts = prop::collection::vec(0..SPAN, 0..4);
    // Large, and small enough to cut symbols in pieces.
    let max_region = prop_oneof![Just(1_u64 << 32), 1..24_u64];
    let max_name_offset = prop_oneof![Just(u64::from(u32::MAX)), 40..200_u64];
    let base = prop_oneof![Just(0), Just(0x40_0000), Just((1 << 32) - 40), Just(u64::MAX - 200)];
    (any::<bool>(), base, sections, symbols, starts, max_region, max_name_offset).prop_map(
        |(relocatable, base, sections, symbols, starts, max_region, max_name_offset)| Case {
            base: if relocatable { 0 } else { base },
            relocatable,
            sections,
            symbols,
            starts,
            max_region,
            max_name_offset,
        },
    )
}

/// Every name shows what the demangler says, whatever its version.
fn compare_display_names(index: &Index<'_>) {
    let mut demangler = Demangler::new(true);
    for found in index.names() {
        let found = found.unwrap();
        let plain = found.name().as_bytes().unwrap();
        let expected = demangler.texts(plain);
        for display in [found.display_name(), index.display_name(found.stored_name())] {
            let display = display.unwrap();
            assert_eq!(display.is_some(), expected.is_some(), "{plain:?}");
            if let (Some(display), Some(expected)) = (display, expected) {
                assert_eq!(display.full(), *expected.full);
                assert_eq!(display.short(), *expected.short);
            }
        }
    }
}

/// Few names, so that they repeat; `f` with versions among them.
const NAMES: [&str; 13] = [
    "a",
    "b",
    "_b",
    "main",
    "f",
    "f@V1",
    "f@@V2",
    "g.cold",
    "_ZN5space6methodEi",
    "_ZN5space6methodEi.cold",
    "_ZN5space6methodEid@V1",
    "_ZN4core3fmt5write17h0123456789abcdefE",
    "h",
];

fn image_of(case: &Case) -> Image<'static> {
    let mut image = image(case.relocatable);
    for (offset, size, bits) in &case.sections {
        let name = [".text", ".text.b", ".data", ".tbss"][usize::from(bits & 3)];
        let address = if case.relocatable { 0 } else { case.base + offset };
        let module = (bits & 4 != 0).then_some(u32::from(bits & 1));
        image.sections.push(Section { module, ..section(name, address, *size) });
    }
    for (i, (offset, size, section, bits)) in case.symbols.iter().enumerate() {
        let pick = |bits: u16, n: u16| usize::from(bits % n);
        image.symbols.push(Symbol {
            section: *section,
            order: i as u32,
            kind: [
                Kind::Function,
                Kind::Object,
                Kind::Label,
                Kind::Tls,
                Kind::Absolute,
                Kind::Ifunc,
            ][pick(bits >> 4, 6)],
            binding: [Binding::Global, Binding::Weak, Binding::Local][pick(bits >> 7, 3)],
            source: [Source::Symtab, Source::Dynsym][pick(bits >> 9, 2)],
            version: u32::from(bits >> 10) % 3,
            default_version: bits & 0x8000 != 0,
            ..func(NAMES[pick(*bits, 13)], case.base + offset, *size)
        });
    }
    image.function_starts = case.starts.iter().map(|start| case.base + start).collect();
    image
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn an_index_answers_as_the_pieces_do(case in case()) {
        let options = LayoutOptions {
            max_region: case.max_region,
            max_name_offset: case.max_name_offset,
        };
        let (bytes, normalised) = build(image_of(&case), options);
        let index = Index::from_bytes(&bytes).unwrap();
        let near: Vec<u64> = (0..=2 * SPAN).map(|offset| case.base.saturating_add(offset)).collect();
        match case.relocatable {
            true => {
                for section in 0..case.sections.len() as u32 {
                    compare_at(&index, &normalised, Some(section), &near);
                }
            }
            false => compare_at(&index, &normalised, None, &near),
        }
        compare_names(&index, &normalised);
        compare_display_names(&index);
        support::compare_with_slow(&index, &near);
        support::compare_display(&index, usize::MAX);
        // The order in which the tables came does not show in the bytes.
        let mut reversed = image_of(&case);
        reversed.symbols.reverse();
        prop_assert!(build(reversed, options).0 == bytes);
    }
}

fn header(bytes: &[u8]) -> Header {
    Header::read_from_prefix(bytes).unwrap().0
}

/// A symbol cut into many regions is found in each of them, nested ones too.
#[test]
fn a_symbol_goes_on_across_regions() {
    let mut image = image(false);
    image.sections.push(section(".text", 0x1000, 0x100));
    image.symbols = vec![func("outer", 0x1008, 0xe0), func("inner", 0x1050, 4)];
    let options = LayoutOptions { max_region: 16, ..LayoutOptions::default() };
    let (bytes, normalised) = build(image, options);
    let index = Index::from_bytes(&bytes).unwrap();
    assert!(support::table::<Region>(&index, SectionId::REGIONS).len() >= 14);
    let addresses: Vec<u64> = (0x0ff0..0x1110).collect();
    compare_at(&index, &normalised, None, &addresses);
}

/// The second region starts with a resume record for a nameless function.
/// Looking it up answered `Corrupt`, in an index that had just been built.
#[test]
fn a_nameless_function_goes_on_across_regions() {
    let mut image = image(false);
    image.sections.push(section(".text", 0x1000, 0x40));
    image.function_starts = vec![0x1000];
    let options = LayoutOptions { max_region: 16, ..LayoutOptions::default() };
    let (bytes, normalised) = build(image, options);
    let index = Index::from_bytes(&bytes).unwrap();
    let addresses: Vec<u64> = (0x0ff0..0x1050).collect();
    compare_at(&index, &normalised, None, &addresses);
    assert_eq!(index.unnamed_function(Svma(0x103f)).unwrap(), Some(Svma(0x1000)));
    assert_eq!(index.symbols().count(), 0);
}

#[test]
fn an_image_wider_than_4_gib_has_several_regions() {
    let gib = 1u64 << 30;
    let mut image = image(false);
    image.sections.push(section(".text", gib, 40 * gib));
    image.sections.push(section(".data", 64 * gib, 16));
    image.symbols = vec![
        func("first", gib, 32),
        func("wide", 2 * gib, 9 * gib),
        func("nested", 7 * gib, 32),
        func("last", 40 * gib, gib),
        Symbol { kind: Kind::Object, section: 1, ..func("data", 64 * gib, 16) },
    ];
    let (bytes, normalised) = build(image, LayoutOptions::default());
    let index = Index::from_bytes(&bytes).unwrap();
    let regions = support::table::<Region>(&index, SectionId::REGIONS);
    assert!(regions.len() >= 4 && regions.iter().all(|region| region.size.get() <= 1 << 32));
    let mut addresses: Vec<u64> =
        (0..90 * 4).map(|i| i * gib / 4).flat_map(|at| [at, at + 31, at.wrapping_sub(1)]).collect();
    addresses.sort_unstable();
    compare_at(&index, &normalised, None, &addresses);
    let name = |address| index.lookup(Svma(address)).unwrap().map(|s| s.name().to_string());
    assert_eq!(name(7 * gib + 40).as_deref(), Some("wide"));
    assert_eq!(name(11 * gib - 1).as_deref(), Some("wide"));
    assert_eq!(name(11 * gib), None);
}

/// Sizes around the largest that a record holds by itself.
#[test]
fn large_sizes_are_exact() {
    for size in [(1u64 << 32) - 2, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 36] {
        let mut image = image(false);
        image.sections.push(section(".text", 0x1000, 1 << 40));
        image.symbols = vec![func("big", 0x1000, size), func("next", 0x1000 + size, 8)];
        let (bytes, normalised) = build(image, LayoutOptions::default());
        let index = Index::from_bytes(&bytes).unwrap();
        let end = 0x1000 + size;
        compare_at(&index, &normalised, None, &[0xfff, 0x1000, end - 1, end, end + 7, end + 8]);
        assert_eq!(index.find(b"big").next().unwrap().unwrap().size(), size);
    }
}

/// Lengths around the longest that a record holds by itself.
#[test]
fn long_names_are_whole() {
    for length in [65_533, 65_534, 65_535, 65_536, 200_000] {
        let long = "n".repeat(length);
        for options in [
            LayoutOptions::default(),
            LayoutOptions { max_name_offset: 1 << 14, ..LayoutOptions::default() },
        ] {
            let mut image = image(false);
            image.sections.push(section(".text", 0x1000, 0x100));
            image.symbols = vec![
                func("before", 0x1000, 8),
                func(&long, 0x1010, 8),
                Symbol { version: 0, default_version: true, ..func(&long, 0x1020, 8) },
                func("after", 0x1030, 8),
            ];
            let (bytes, normalised) = build(image, options);
            let index = Index::from_bytes(&bytes).unwrap();
            let symbol = index.lookup(Svma(0x1014)).unwrap().unwrap();
            assert_eq!(symbol.name(), long.as_str());
            assert_eq!(symbol.name().len(), length);
            let versioned = index.lookup(Svma(0x1020)).unwrap().unwrap();
            assert_eq!(versioned.name(), long.as_str());
            assert_eq!(versioned.version().unwrap(), "V1");
            assert_eq!(index.lookup(Svma(0x1031)).unwrap().unwrap().name(), "after");
            assert_eq!(index.find(long.as_bytes()).count(), 2);
            compare_names(&index, &normalised);
        }
    }
}

/// When names outgrow their offsets, the unit of the offsets grows.
#[test]
fn names_beyond_the_offsets_are_shifted() {
    let names: Vec<String> = (0..500).map(|i| format!("function_number_{i}")).collect();
    let mut shifts = BTreeSet::new();
    for max_name_offset in [u64::from(u32::MAX), 8000, 4000, 1000, 512] {
        let mut image = image(false);
        image.sections.push(section(".text", 0x1000, 0x10000));
        let place = |i: usize| 0x1000 + i as u64 * 16;
        image.symbols =
            names.iter().enumerate().map(|(i, name)| func(name, place(i), 16)).collect();
        let options = LayoutOptions { max_name_offset, ..LayoutOptions::default() };
        let (bytes, normalised) = build(image, options);
        let index = Index::from_bytes(&bytes).unwrap();
        let shift = header(&bytes).name_shift.get();
        shifts.insert(shift);
        let records: &[Record] = support::table(&index, SectionId::RECORDS);
        assert!(records.iter().all(|r| u64::from(r.name.get()) <= max_name_offset));
        for (i, name) in names.iter().enumerate() {
            let symbol = index.lookup(Svma(place(i) + 5)).unwrap().unwrap();
            assert_eq!(symbol.name(), name.as_str(), "shift {shift}");
        }
        compare_names(&index, &normalised);
    }
    assert!(shifts.len() >= 4, "{shifts:?}");
}

#[test]
fn an_image_without_symbols_is_an_index_that_answers_nothing() {
    let (bytes, _) = build(image(false), LayoutOptions::default());
    let index = Index::from_bytes(&bytes).unwrap();
    assert_eq!(index.file_sections().count(), 1, "only the identity");
    for address in [0, 1, u64::MAX] {
        assert!(index.lookup(Svma(address)).unwrap().is_none());
    }
    assert_eq!(index.find(b"").count() + index.find(b"main").count(), 0);
    assert_eq!(index.symbols().count() + index.names().count(), 0);
}

/// The last address of all belongs to somebody, and no sum wraps past it.
#[test]
fn the_end_of_the_address_space_answers() {
    let mut image = image(false);
    let start = u64::MAX - 0xff;
    image.sections.push(section(".text", start, 0x100));
    image.symbols = vec![func("first", start, 0x80), func("last", start + 0x80, u64::MAX)];
    for max_region in [1 << 32, 16] {
        let options = LayoutOptions { max_region, ..LayoutOptions::default() };
        let (bytes, normalised) = build(image.clone(), options);
        let index = Index::from_bytes(&bytes).unwrap();
        let addresses: Vec<u64> = (start - 8..=u64::MAX).chain(0..8).collect();
        compare_at(&index, &normalised, None, &addresses);
    }
}

/// A damaged load command may claim more than there are addresses. The index
/// did not verify, so one bad segment cost the whole build.
#[test]
fn segments_are_cut_where_addresses_end() {
    for (address, memory_size, file_offset, file_size) in [
        (u64::MAX - 15, 1 << 20, 0, 1 << 20),
        (0x1000, u64::MAX, 0x1000, u64::MAX),
        (u64::MAX, u64::MAX, u64::MAX, u64::MAX),
        (0, u64::MAX, 0, 0),
    ] {
        let mut image = image(false);
        image.segments.push(Segment {
            address,
            memory_size,
            file_offset,
            file_size,
            read: true,
            write: false,
            execute: true,
        });
        let (bytes, _) = build(image, LayoutOptions::default());
        let index = Index::from_bytes(&bytes).unwrap();
        let stored = index.segments()[0];
        assert!(stored.memory_size.get() <= memory_size && stored.memory_size.get() > 0);
        assert!(stored.file_size.get() <= stored.memory_size.get());
    }
}

/// Thousands of names that only look mangled would cost minutes: the build
/// gives up on display names, says so, and keeps all else.
#[test]
fn too_many_names_that_only_look_mangled_end_the_display_names() {
    let names: Vec<String> = (0..400).map(|i| format!("_Z_oops{i}")).collect();
    let mut image = image(false);
    image.sections.push(section(".text", 0x1000, 0x10_0000));
    image.symbols.push(func("_Z5firstv", 0x1000, 16));
    for (address, name) in (0x1010..).step_by(16).zip(&names) {
        image.symbols.push(func(name, address, 16));
    }
    image.symbols.push(func("_Z4lastv", 0x2_0000, 16));
    let normalised = normalise(&mut image, NormaliseOptions::default());
    let mut report = Report::default();
    let options = LayoutOptions::default();
    let lines = EncodedLines::default();
    let mut plan = layout::plan(&image, normalised, lines, options, &mut report).unwrap();
    layout::add_display_names(&mut plan, &mut report).unwrap();
    assert_eq!(plan.display.len(), 1, "the first, not the last");
    assert!(report.warnings.iter().any(|warning| warning.contains("gave up")));
}
