//! The DWARF sections of one image: its section headers and bytes in,
//! [`DwarfSections`] out, borrowed from the file where nothing has to be changed.
//! A damaged section costs itself; nothing in a section is parsed.

use std::borrow::Cow;

use object::Endianness;
use object::macho;

use super::bytes;
use super::commands::Sect;
use crate::input::compressed::{self, Method, Room};
use crate::input::debug::slot;
use crate::model::{DwarfSections, Report, Store};

/// Where the debug sections are.
const SEGMENT: &[u8] = b"__DWARF";

/// What reading the debug sections of an image needs to know of it.
pub(super) struct Source<'a, 'data> {
    /// Its bytes.
    pub(super) slice: &'data [u8],
    /// Its sections.
    pub(super) sections: &'a [Sect<'data>],
    /// Its byte order.
    pub(super) endian: Endianness,
    /// For an object file: the values of its symbols, by number.
    pub(super) values: Option<&'a dyn Fn(u32) -> Option<u64>>,
    /// What goes before each warning.
    pub(super) label: &'a str,
}

/// True when there is a `__debug_info` with anything in it.
pub(super) fn has_info(sections: &[Sect<'_>]) -> bool {
    sections.iter().any(|sect| short_name(sect) == Some(b"info") && sect.contents.count > 0)
}

/// The name after `__debug_` (or `__zdebug_`) of a debug section.
fn short_name<'data>(sect: &Sect<'data>) -> Option<&'data [u8]> {
    let name = sect.section.name;
    let name = name.strip_prefix(b"__debug_").or_else(|| name.strip_prefix(b"__zdebug_"));
    name.filter(|_| sect.segment == SEGMENT)
}

/// The debug sections of an image; the first of each name counts.
pub(super) fn load<'data>(
    source: &Source<'_, 'data>,
    store: &'data Store,
    report: &mut Report,
) -> DwarfSections<'data> {
    let mut sections = DwarfSections::default();
    let mut relocations_left = bytes::length(source.slice);
    let mut room = Room::for_file(source.slice);
    for sect in source.sections {
        let slot = short_name(sect).and_then(|name| slot(&mut sections, name));
        let Some(slot) = slot.filter(|slot| slot.is_empty()) else { continue };
        let found = contents(source, sect, &mut room)
            .map(|found| relocate(source, sect, found, &mut relocations_left));
        match found {
            Ok(Cow::Borrowed(found)) => *slot = found,
            Ok(Cow::Owned(found)) => *slot = store.keep(found),
            Err(found) => report.warn(format!(
                "{}{}: expected {:#x} bytes at offset {:#x}, found {found}; went on without it",
                source.label,
                String::from_utf8_lossy(sect.section.name),
                sect.contents.count,
                sect.contents.offset,
            )),
        }
    }
    sections
}

fn contents<'data>(
    source: &Source<'_, 'data>,
    sect: &Sect<'data>,
    room: &mut Room,
) -> Result<Cow<'data, [u8]>, String> {
    let place = sect.contents;
    let data = bytes::at(source.slice, place.offset, place.count).ok_or_else(|| {
        let there = bytes::at_most(source.slice, place.offset, place.count);
        format!("{:#x} before the end of the file", there.len())
    })?;
    if !sect.section.name.starts_with(b"__zdebug_") {
        return Ok(Cow::Borrowed(data));
    }
    let (packed, claimed) = compressed::old_header(data).ok_or("no ZLIB header")?;
    compressed::unpack(Method::Zlib, packed, claimed, room).map(Cow::Owned)
}

/// Adds the values of symbols where an object leaves that to its linker. Most
/// assemblers do not, in debug sections: the numbers there are right as they are.
fn relocate<'data>(
    source: &Source<'_, 'data>,
    sect: &Sect<'data>,
    mut contents: Cow<'data, [u8]>,
    left: &mut u64,
) -> Cow<'data, [u8]> {
    let Some(values) = source.values else { return contents };
    let place = sect.relocations;
    let records = bytes::from(source.slice, place.offset).unwrap_or_default();
    let records = bytes::records::<macho::Relocation<Endianness>>(records, place.count);
    // Many sections may name the same records.
    let size = u64::try_from(size_of_val(records)).unwrap_or(u64::MAX);
    let Some(rest) = left.checked_sub(size) else { return contents };
    *left = rest;
    for record in records {
        let info = record.info(source.endian);
        // Type 0 is a plain pointer on every machine.
        if !info.r_extern || info.r_type.0 != 0 || info.r_pcrel {
            continue;
        }
        let width = match info.r_length {
            2 => 4,
            3 => 8,
            _ => continue,
        };
        let Some(value) = values(info.r_symbolnum) else { continue };
        let at = usize::try_from(info.r_address).unwrap_or(usize::MAX);
        let end = at.saturating_add(width);
        if let Some(place) = contents.to_mut().get_mut(at..end) {
            add(place, source.endian, value);
        }
    }
    contents
}

/// Adds to the number in up to eight bytes.
fn add(place: &mut [u8], endian: Endianness, value: u64) {
    if endian == Endianness::Big {
        place.reverse();
    }
    let there = place.iter().rev().fold(0u64, |value, byte| (value << 8) | u64::from(*byte));
    let sum = there.wrapping_add(value).to_le_bytes();
    place.iter_mut().zip(sum).for_each(|(to, from)| *to = from);
    if endian == Endianness::Big {
        place.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_in_either_order() {
        let mut place = [1, 2, 3, 0xff];
        add(&mut place, Endianness::Big, 2);
        assert_eq!(place, [1, 2, 4, 1]);
        add(&mut place, Endianness::Little, 0xff);
        assert_eq!(place, [0, 3, 4, 1]);
    }
}
