//! Tests of symbol choice: hand-made images, the slow version at every
//! address of small random ones, and big hostile ones against the clock.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::as_conversions
)]

mod damage;
mod hostile;
mod names;
mod property;
mod shapes;

use super::{NormaliseOptions, Normalised, Owner, normalise};
use crate::model::{
    AddressKind, Binding, Format, Image, Kind, Machine, NO_VERSION, Report, Section, Source, Symbol,
};

pub(super) fn image<'data>(sections: Vec<Section<'data>>) -> Image<'data> {
    Image {
        format: Format::Elf,
        addresses: AddressKind::Svma,
        machine: Machine { number: 62, subtype: 0, name: "x86_64", is_64: true, big_endian: false },
        build_id: None,
        uuid: None,
        slice: None,
        segments: Vec::new(),
        sections,
        modules: Vec::new(),
        versions: Vec::new(),
        symbols: Vec::new(),
        function_starts: Vec::new(),
        holes: Vec::new(),
        debug: Vec::new(),
        lines: Vec::new(),
        companions: Vec::new(),
        report: Report::default(),
    }
}

pub(super) fn section(name: &str, address: u64, size: u64) -> Section<'_> {
    Section {
        name: name.as_bytes(),
        address,
        size,
        number: 0,
        module: None,
        execute: name.starts_with(".text") || name.starts_with(".init") || name.starts_with(".plt"),
        write: false,
        tls: name.starts_with(".t") && !name.starts_with(".text"),
    }
}

/// A global function in section 0; `order` is left to [`run`].
pub(super) fn func(name: &str, address: u64, size: u64) -> Symbol<'_> {
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

pub(super) fn label(name: &str, address: u64) -> Symbol<'_> {
    Symbol { kind: Kind::Label, binding: Binding::Local, ..func(name, address, 0) }
}

pub(super) fn object(name: &str, address: u64, size: u64) -> Symbol<'_> {
    Symbol { kind: Kind::Object, ..func(name, address, size) }
}

pub(super) fn in_section(section: u32, symbol: Symbol<'_>) -> Symbol<'_> {
    Symbol { section, ..symbol }
}

pub(super) fn run<'data>(image: &mut Image<'data>, symbols: &[Symbol<'data>]) -> Normalised<'data> {
    image.symbols =
        symbols.iter().zip(0..).map(|(symbol, order)| Symbol { order, ..*symbol }).collect();
    let normalised = normalise(image, NormaliseOptions::default());
    check(image, &normalised);
    normalised
}

/// The owner that answers an address, by the search the reader does.
pub(super) fn owner_at<'n>(
    normalised: &'n Normalised<'_>,
    section: Option<u32>,
    address: u64,
) -> Option<&'n Owner> {
    let space = normalised.spaces.iter().find(|space| {
        space.section == section && space.start <= address && address - space.start < space.size
    })?;
    let pieces = &normalised.pieces[space.pieces.start as usize..space.pieces.end as usize];
    let after = pieces.partition_point(|piece| piece.start <= address);
    let owner = &normalised.owners[pieces[after.checked_sub(1)?].owner as usize];
    (address < owner.end()).then_some(owner)
}

/// `name+offset` at an address; `?+offset` for an unnamed function; `-` for none.
pub(super) fn at(normalised: &Normalised<'_>, address: u64) -> String {
    show(normalised, owner_at(normalised, None, address), address)
}

pub(super) fn at_offset(normalised: &Normalised<'_>, section: u32, offset: u64) -> String {
    show(normalised, owner_at(normalised, Some(section), offset), offset)
}

fn show(normalised: &Normalised<'_>, owner: Option<&Owner>, address: u64) -> String {
    owner.map_or("-".to_owned(), |owner| {
        let name = normalised.primary(owner).map_or("?".into(), |s| text(s.name));
        format!("{name}+{:#x}", address - owner.address)
    })
}

pub(super) fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The listed aliases at an address, in order.
pub(super) fn aliases(normalised: &Normalised<'_>, address: u64) -> Vec<String> {
    let owner = owner_at(normalised, None, address).unwrap();
    normalised.listed_aliases(owner).iter().map(|symbol| text(symbol.name)).collect()
}

pub(super) fn names_only(normalised: &Normalised<'_>) -> Vec<String> {
    normalised.names_only.iter().map(|symbol| text(symbol.name)).collect()
}

/// Asserts everything that the types' documentation promises.
pub(super) fn check(image: &Image<'_>, normalised: &Normalised<'_>) {
    let mut own = vec![0; normalised.names.len()];
    let mut next_owner = 0;
    let mut next_piece = 0;
    let mut end_before = None;
    for space in &normalised.spaces {
        assert_eq!(space.owners.start, next_owner);
        assert_eq!(space.pieces.start, next_piece);
        next_owner = space.owners.end;
        next_piece = space.pieces.end;
        assert!(!space.owners.is_empty());
        if space.section.is_none() {
            assert!(end_before.is_none_or(|end| end <= space.start));
            end_before = Some(space.start + space.size);
        }
        let owners = &normalised.owners[space.owners.start as usize..space.owners.end as usize];
        for pair in owners.windows(2) {
            let [a, b] = pair else { unreachable!() };
            assert!(a.address < b.address || a.address == b.address && a.size > b.size, "{pair:?}");
        }
        for owner in owners {
            assert!(owner.size > 0 && space.start <= owner.address);
            assert!(owner.end() - space.start <= space.size);
            let section = &image.sections[owner.section as usize];
            assert_eq!((section.execute, section.module), (space.code, space.module));
            assert!(owner.own_names <= owner.listed_names);
            assert_eq!(owner.is_unnamed(), normalised.primary(owner).is_none());
            let first = owner.first_name as usize;
            let listed = &normalised.names[first..first + owner.listed_names as usize];
            // The first and the last: thousands may share one start.
            let listed = listed.first().into_iter().chain(listed.last());
            assert!(
                listed
                    .into_iter()
                    .all(|s| s.address == owner.address && s.section == owner.section)
            );
            for count in &mut own[first..first + owner.own_names as usize] {
                *count += 1;
            }
            let order = |s: &Symbol<'_>| (s.source, s.order);
            assert!(normalised.own_aliases(owner).is_sorted_by_key(order));
        }
        let pieces = &normalised.pieces[space.pieces.start as usize..space.pieces.end as usize];
        assert!(pieces.len() <= 2 * owners.len());
        let mut seen = vec![false; owners.len()];
        for (index, piece) in pieces.iter().enumerate() {
            let slot = (piece.owner - space.owners.start) as usize;
            let owner = &owners[slot];
            assert!(piece.start < owner.end());
            if seen[slot] {
                assert!(piece.start > owner.address);
            } else {
                assert_eq!(piece.start, owner.address);
            }
            seen[slot] = true;
            if let Some(next) = pieces.get(index + 1) {
                let inner = &normalised.owners[next.owner as usize];
                assert!(
                    piece.start < next.start
                        || piece.start == owner.address
                            && inner.address == owner.address
                            && inner.size < owner.size
                );
            }
        }
        assert!(seen.iter().all(|seen| *seen));
    }
    assert_eq!(next_owner as usize, normalised.owners.len());
    assert_eq!(next_piece as usize, normalised.pieces.len());
    assert!(own.iter().all(|count| *count == 1), "each name has one owner");
    assert!(normalised.names_only.is_sorted_by(|a, b| (a.address, a.name) <= (b.address, b.name)));
    assert!(normalised.versions.is_sorted_by(|a, b| a < b));
}
