//! Functions that only DWARF knows become symbols.
//!
//! In: lines, and an image with the symbols of its tables. Out: the image with
//! more of them. Never changes or removes a symbol that a table has.

use super::Lines;
use crate::model::{AddressKind, Binding, Image, Kind, NO_VERSION, Source, Symbol};

/// Adds a symbol for each function of the DWARF that no symbol table names.
///
/// A function is known already when a function symbol starts where it starts,
/// or one with a size covers its start: a table's name is what the program was
/// linked with, and the parts that it tells apart (`f.cold`) DWARF does not.
///
/// ```
/// # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
/// let lines = symidx_indexer::lines::Lines::from_units(&[unit]);
/// // A stripped binary with a debug file: DWARF alone knows its functions.
/// image.symbols.clear();
/// symidx_indexer::lines::add_symbols(&lines, &mut image);
/// assert!(image.symbols.iter().any(|symbol| symbol.name == b"outer"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn add_symbols<'data>(lines: &Lines<'data>, image: &mut Image<'data>) {
    let relocatable = image.addresses == AddressKind::SectionOffset;
    // In a linked image addresses tell all; a claim of a section may be stale.
    let key = |section: u32| if relocatable { section } else { 0 };
    let mut known: Vec<(u32, u64, u64)> = image
        .symbols
        .iter()
        .filter_map(|symbol| {
            // A label is known where it starts; how far it reaches is a guess.
            let size = match symbol.kind {
                Kind::Function | Kind::Ifunc => symbol.size,
                Kind::Label => 0,
                Kind::Object | Kind::Tls | Kind::Absolute => return None,
            };
            Some((key(symbol.section), symbol.address, size))
        })
        .collect();
    known.sort_unstable();
    let mut known = known.into_iter().peekable();
    let mut entries: Vec<_> = lines.pieces.iter().filter(|piece| piece.entry).collect();
    // Folded functions: one name each, in the order of the units.
    entries.sort_by_key(|piece| (key(piece.section), piece.start));
    // Section, last start and furthest end of the table's symbols so far.
    let mut before = (0, None, 0);
    let mut added: Vec<Symbol<'data>> = Vec::new();
    for piece in entries {
        let section = key(piece.section);
        while let Some((of, address, size)) =
            known.next_if(|&(of, address, _)| (of, address) <= (section, piece.start))
        {
            let reach = if of == before.0 { before.2 } else { 0 };
            before = (of, Some(address), reach.max(address.saturating_add(size)));
        }
        let (of, start, end) = before;
        let is_known = of == section && (start == Some(piece.start) || piece.start < end);
        let function = usize::try_from(piece.function).ok().and_then(|at| lines.functions.get(at));
        let name = function.map_or(&[][..], |(function, _)| function.name);
        if is_known || name.is_empty() {
            continue;
        }
        added.push(Symbol {
            name,
            address: piece.start,
            size: piece.size,
            section: piece.section,
            order: u32::try_from(added.len()).unwrap_or(u32::MAX),
            version: NO_VERSION,
            kind: Kind::Function,
            binding: Binding::Local,
            source: Source::Dwarf,
            default_version: false,
        });
    }
    image.symbols.extend(added);
}
