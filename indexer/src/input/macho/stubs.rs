//! Stubs for imported functions: the indirect symbol table in, `name@plt`
//! symbols out, as ELF's PLT entries are named. Never makes more of them than
//! the indirect symbol table has entries.

use object::macho::{self, IndirectSymbol};
use object::read::macho::Nlist;
use object::{Endianness, U32};

use super::bytes;
use super::commands::Commands;
use super::layout::Layout;
use super::symbols::Table;
use crate::model::{Binding, Kind, NO_VERSION, Report, Source, Store, Symbol};

/// Bytes of the longest possible stub; real ones have 5 to 16.
const LONGEST_STUB: u32 = 256;

/// One stub before its name has a home: where the name is in the buffer.
struct Stub {
    name: std::ops::Range<usize>,
    address: u64,
    size: u64,
    section: u32,
    order: u32,
}

/// Adds a symbol for each stub whose import has a name.
#[allow(clippy::too_many_arguments)]
pub(super) fn add<'data, N: Nlist<Endian = Endianness>>(
    slice: &'data [u8],
    endian: Endianness,
    commands: &Commands<'data>,
    layout: &Layout<'data>,
    table: &Table<'data, N>,
    store: &'data Store,
    symbols: &mut Vec<Symbol<'data>>,
    report: &mut Report,
) {
    let Some(place) = commands.indirect else { return };
    let indirect = bytes::from(slice, place.offset).unwrap_or_default();
    let indirect = bytes::records::<U32<Endianness, IndirectSymbol>>(indirect, place.count);
    let mut budget = table.budget();
    let mut names = Vec::new();
    let mut stubs = Vec::new();
    let mut unnamed = 0_u64;
    let mut left = indirect.len();
    let stub_sections = (1_u32..)
        .zip(&commands.sections)
        .filter(|(_, sect)| sect.loaded && sect.kind == macho::S_SYMBOL_STUBS);
    for (number, sect) in stub_sections {
        let size = u64::from(sect.stub_size);
        let Some(count) = sect.section.size.checked_div(size) else { continue };
        let section = layout.sections.iter().position(|s| s.number == number);
        let Some(section) = section.and_then(|index| u32::try_from(index).ok()) else { continue };
        if sect.stub_size > LONGEST_STUB {
            report.warn(format!(
                "section {number}: expected stubs of at most {LONGEST_STUB} bytes, found {size}; \
                 they have no names"
            ));
            continue;
        }
        let first = usize::try_from(sect.first_indirect).unwrap_or(usize::MAX);
        let entries = indirect.get(first..).unwrap_or_default();
        // Sections that claim the same entries over and over must not multiply them.
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(entries.len()).min(left);
        left = left.saturating_sub(count);
        let mut address = sect.section.address;
        for entry in entries.get(..count).unwrap_or_default() {
            let index = entry.get(endian);
            let name = if index.is_local() || index.is_abs() {
                None
            } else {
                table.name(index.0, &mut budget)
            };
            if let Some(name) = name {
                let start = names.len();
                names.extend_from_slice(name);
                names.extend_from_slice(b"@plt");
                let order = u32::try_from(stubs.len()).unwrap_or(u32::MAX);
                stubs.push(Stub { name: start..names.len(), address, size, section, order });
            } else {
                unnamed = unnamed.saturating_add(1);
            }
            address = address.saturating_add(size);
        }
    }
    report.skip_many("stub without a name", unnamed);
    if stubs.is_empty() {
        return;
    }
    let names = store.keep(names);
    symbols.extend(stubs.into_iter().map(|stub| Symbol {
        name: names.get(stub.name).unwrap_or_default(),
        address: stub.address,
        size: stub.size,
        section: stub.section,
        order: stub.order,
        version: NO_VERSION,
        kind: Kind::Function,
        binding: Binding::Local,
        source: Source::Plt,
        default_version: false,
    }));
}
