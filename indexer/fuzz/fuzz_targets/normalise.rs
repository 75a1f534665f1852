//! Invariant: whatever sections, symbols, function starts and holes an input
//! states, symbol choice, layout and writing end in an index that opens,
//! verifies and answers every address near a border as the pieces of symbol
//! choice do, with small regions and shifted names too.
#![no_main]

use std::io::Cursor;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use symidx::format::Identity;
use symidx::{ImageSectionId, Index, Svma};
use symidx_indexer::layout::{self, LayoutOptions};
use symidx_indexer::lines::EncodedLines;
use symidx_indexer::model::{
    AddressKind, Binding, Format, Image, Kind, Machine, NO_SECTION, NO_VERSION, Report, Section,
    Segment, Source, Symbol,
};
use symidx_indexer::normalise::{NormaliseOptions, Normalised, normalise};
use symidx_indexer::write::{Contents, write};
use zerocopy::FromZeros;

mod build_and_check;

#[derive(Arbitrary, Debug)]
struct Input {
    relocatable: bool,
    code_only: bool,
    /// log2 of the largest region, and of the largest name offset.
    region: u8,
    names_end: u8,
    base: Place,
    sections: Vec<FuzzSection>,
    symbols: Vec<FuzzSymbol>,
    starts: Vec<Place>,
    holes: Vec<(Place, u8)>,
    segments: Vec<(Place, Place, Place, Place, u8)>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Place {
    Near(u8),
    Page(u8),
    Far(u64),
}

#[derive(Arbitrary, Debug)]
struct FuzzSection {
    address: Place,
    size: Place,
    module: Option<bool>,
    bits: u8,
}

#[derive(Arbitrary, Debug)]
struct FuzzSymbol {
    name: u8,
    address: Place,
    size: Place,
    section: u8,
    order: u8,
    version: Option<u8>,
    bits: u16,
}

impl Place {
    fn from(self, base: u64) -> u64 {
        match self {
            Self::Near(offset) => base.wrapping_add(offset.into()),
            Self::Page(page) => base.wrapping_add(u64::from(page) << 8),
            Self::Far(anywhere) => anywhere,
        }
    }
}

const NAMES: [&str; 16] = [
    "",
    "a",
    "_a",
    "main",
    "f.cold",
    "f",
    "f@V1",
    "f@@V2",
    "__x",
    "a@",
    "$d",
    "x.part.0",
    "b",
    "@",
    "@@",
    "\u{e9}.llvm.123",
];
const VERSIONS: [&str; 4] = ["V1", "V2", "", "V@3"];

fuzz_target!(|input: Input| {
    let base = input.base.from(0);
    let mut image = Image {
        format: Format::Elf,
        addresses: match input.relocatable {
            true => AddressKind::SectionOffset,
            false => AddressKind::Svma,
        },
        machine: Machine { number: 62, subtype: 0, name: "x86_64", is_64: true, big_endian: false },
        build_id: None,
        uuid: None,
        slice: None,
        segments: input.segments.iter().map(|&segment| fuzz_segment(segment, base)).collect(),
        sections: input.sections.iter().map(|section| fuzz_section(section, base)).collect(),
        modules: vec![b"mod_a", b"mod_b"],
        versions: VERSIONS.iter().map(|version| version.as_bytes()).collect(),
        symbols: input.symbols.iter().map(|symbol| fuzz_symbol(symbol, base)).collect(),
        function_starts: input.starts.iter().map(|start| start.from(base)).collect(),
        holes: input.holes.iter().map(|&(start, size)| (start.from(base), size.into())).collect(),
        debug: Vec::new(),
        lines: Vec::new(),
        companions: Vec::new(),
        report: Report::default(),
    };
    if input.relocatable {
        image.sections.iter_mut().for_each(|section| section.address = 0);
    }
    let normalised = normalise(&mut image, NormaliseOptions { code_only: input.code_only });
    let options = LayoutOptions {
        max_region: 1 << (input.region % 33),
        max_name_offset: 1 << (7 + input.names_end % 26),
    };
    let plan = layout::plan(
        &image,
        normalised.clone(),
        EncodedLines::default(),
        options,
        &mut Report::default(),
    )
    .expect("a few names always fit");
    let mut identity = Identity::new_zeroed();
    identity.container = symidx::format::CONTAINER_ELF;
    let contents =
        Contents { plan: &plan, identity, relocatable: input.relocatable, metadata: &[] };
    let mut bytes = Vec::new();
    write(&contents, Cursor::new(&mut bytes)).expect("memory");
    build_and_check::check(&bytes);
    let index = Index::from_bytes(&bytes).expect("checked");
    compare_with_pieces(&index, &normalised, &image, options.max_region);
});

/// Every border of every piece and owner, and what the pieces say there.
fn compare_with_pieces(
    index: &Index<'_>,
    normalised: &Normalised<'_>,
    image: &Image<'_>,
    max_region: u64,
) {
    // At most 256 regions only carry a symbol on, on purpose: beyond that only
    // the symbols' starts are sure to answer.
    let regions = normalised.owners.iter().map(|owner| (owner.size / max_region).saturating_add(1));
    let all = regions.fold(0u64, u64::saturating_add) < 256;
    for space in &normalised.spaces {
        let pieces = &normalised.pieces[space.pieces.start as usize..space.pieces.end as usize];
        for piece in pieces {
            let end = normalised.owners[piece.owner as usize].end();
            for address in [piece.start, piece.start.wrapping_sub(1), end.wrapping_sub(1), end] {
                let last = pieces.iter().rfind(|piece| piece.start <= address);
                let expected = last
                    .map(|piece| &normalised.owners[piece.owner as usize])
                    .filter(|owner| address - owner.address < owner.size)
                    .filter(|owner| !owner.is_unnamed());
                let Some(expected) = expected else { continue };
                if !all && address != expected.address {
                    continue;
                }
                let found = match space.section {
                    Some(section) => index.lookup_in(ImageSectionId(section), address),
                    None => index.lookup(Svma(address)),
                };
                let found = found.expect("verified").expect("a symbol covers it");
                assert_eq!(found.start().0, expected.address);
                assert_eq!(found.size(), expected.size);
                let primary = normalised.primary(expected).expect("named");
                assert_eq!(found.name(), *primary.name);
                let aliases: Vec<_> =
                    found.aliases().map(|alias| alias.expect("verified")).collect();
                let listed = normalised.listed_aliases(expected);
                assert_eq!(aliases.len(), listed.len());
                for (alias, listed) in aliases.iter().zip(listed) {
                    assert_eq!(alias.name(), *listed.name);
                }
            }
        }
    }
    let listed = normalised.names.len() + normalised.names_only.len();
    assert_eq!(index.names().count(), listed, "every name is there ({:?})", image.report);
}

fn fuzz_section(section: &FuzzSection, base: u64) -> Section<'static> {
    Section {
        name: [&b".text"[..], b".data", b"", b".init"][usize::from(section.bits & 3)],
        address: section.address.from(base),
        size: section.size.from(0),
        number: section.bits.into(),
        module: section.module.map(u32::from),
        execute: section.bits & 4 == 0,
        write: section.bits & 8 != 0,
        tls: section.bits & 0x70 == 0x70,
    }
}

fn fuzz_symbol(symbol: &FuzzSymbol, base: u64) -> Symbol<'static> {
    let pick = |bits: u16, n: u16| usize::from(bits % n);
    Symbol {
        name: NAMES[usize::from(symbol.name) % NAMES.len()].as_bytes(),
        address: symbol.address.from(base),
        size: symbol.size.from(0),
        section: match symbol.section {
            u8::MAX => NO_SECTION,
            section => u32::from(section) % 8,
        },
        order: symbol.order.into(),
        version: symbol.version.map_or(NO_VERSION, |v| u32::from(v) % 5),
        kind: [Kind::Function, Kind::Ifunc, Kind::Object, Kind::Label, Kind::Tls, Kind::Absolute]
            [pick(symbol.bits, 6)],
        binding: [Binding::Global, Binding::Weak, Binding::Local][pick(symbol.bits >> 3, 3)],
        source: [Source::Symtab, Source::Dynsym, Source::DebugData, Source::DebugFile, Source::Plt]
            [pick(symbol.bits >> 6, 5)],
        default_version: symbol.bits & 0x1000 != 0,
    }
}

fn fuzz_segment(
    (address, offset, memory, file, bits): (Place, Place, Place, Place, u8),
    base: u64,
) -> Segment {
    Segment {
        address: address.from(base),
        memory_size: memory.from(0),
        file_offset: offset.from(0),
        file_size: file.from(0),
        read: bits & 1 != 0,
        write: bits & 2 != 0,
        execute: bits & 4 != 0,
    }
}
