//! Relocatable files: made-up addresses for their sections, and the relocations
//! of their debug sections applied for these.
//!
//! In: section headers, symbol tables, relocation records. Out: patched copies of
//! debug sections, and the map back to (section, offset). A record that cannot be
//! applied leaves its bytes as they are and is counted.

use std::collections::HashMap;

use object::elf::{self, RelocationType};
use object::endian::{Endian as _, Endianness};
use object::read::elf::{FileHeader, Sym as _};

use super::bytes::{self, Budget};
use super::debug_sections::Piece;
use super::header::{File, with_class};
use super::layout::Place;
use super::relocate_types::{Effect, effect};
use super::{rules, symbols};
use crate::input::debug::disjoint;
use crate::model::{AddressMap, Mapping, Report};

/// Where the first section is laid: no DWARF means an address below by mistake.
const FIRST: u64 = 0x1_0000;
const PAGE: u64 = 0x1000;

/// Made-up addresses of a relocatable file's allocated sections.
pub(super) struct Spread {
    /// By section number; `None` for what is not in memory or found no room.
    addresses: Vec<Option<u64>>,
}

impl Spread {
    /// Lays the allocated sections out one after the other, code first, with at
    /// least a page between them: the end of one is never the start of another.
    pub(super) fn new(file: &File<'_>) -> Self {
        let limit = if file.is_64 { u64::MAX >> 1 } else { u64::from(u32::MAX) };
        let mut addresses = vec![None; file.sections.len()];
        let mut next = FIRST;
        for code in [true, false] {
            for (section, address) in file.sections.iter().zip(&mut addresses) {
                if !section.is_allocated() || section.has(elf::SHF_EXECINSTR) != code {
                    continue;
                }
                // A section that claims more than there is room for is passed over.
                let end = next.checked_add(section.size).and_then(|end| end.checked_add(PAGE));
                let end = end.and_then(|end| end.checked_next_multiple_of(PAGE));
                if let Some(end) = end.filter(|&end| end <= limit) {
                    *address = Some(next);
                    next = end;
                }
            }
        }
        Self { addresses }
    }

    pub(super) fn address(&self, number: u32) -> Option<u64> {
        self.addresses.get(usize::try_from(number).ok()?).copied()?
    }

    /// The way back: each code section's addresses to offsets in the image's
    /// section. `places` says which that is.
    pub(super) fn map(&self, file: &File<'_>, places: &[Place]) -> AddressMap {
        let sections = file.sections.iter().zip(&self.addresses).zip(places);
        let code = sections.filter(|((section, _), _)| section.has(elf::SHF_EXECINSTR));
        let mappings = code.filter_map(|((section, address), place)| match place {
            Place::Section(index) => {
                Some(Mapping { start: (*address)?, size: section.size, section: *index, target: 0 })
            }
            _ => None,
        });
        disjoint(mappings.collect())
    }
}

/// Applies the relocations of `pieces`, all of one file. References to debug
/// sections become offsets in what [`super::debug_sections::join`] makes of them.
pub(super) fn relocate(
    file: &File<'_>,
    spread: &Spread,
    pieces: &mut [Piece<'_>],
    report: &mut Report,
) {
    let mut bases = HashMap::new();
    let mut ends: HashMap<&[u8], u64> = HashMap::new();
    for piece in pieces.iter() {
        let end = ends.entry(piece.name).or_default();
        bases.insert(piece.number, *end);
        *end = end.saturating_add(bytes::length(&piece.bytes));
    }
    let places: HashMap<u32, usize> =
        pieces.iter().enumerate().map(|(place, piece)| (piece.number, place)).collect();
    let extended = file.sections.iter().filter(|s| s.kind == elf::SHT_SYMTAB_SHNDX);
    let extended: HashMap<u32, &[u8]> =
        extended.map(|s| (s.link, file.section_data_there(s))).collect();
    let mut budget = Budget::for_file(file.data, 1);
    let mut tally = Tally::default();
    for section in &file.sections {
        let addends = match section.kind {
            elf::SHT_RELA => true,
            elf::SHT_REL => false,
            _ => continue,
        };
        let piece = places.get(&section.info).and_then(|&place| pieces.get_mut(place));
        let Some(piece) = piece else { continue };
        let records = file.section_data_there(section);
        if !budget.take(bytes::length(records)) {
            report.skip("relocations read already for another section");
            continue;
        }
        let table = file.section(section.link).filter(|table| table.kind == elf::SHT_SYMTAB);
        let symbols = Symbols {
            file,
            records: table.map_or(&[][..], |table| file.section_data_there(table)),
            extended: extended.get(&section.link).copied().unwrap_or(&[]),
            spread,
            bases: &bases,
        };
        apply(file, records, addends, &symbols, piece.bytes.to_mut(), &mut tally);
    }
    report.skip_many("relocation of an unknown type in debug information", tally.unknown);
    report.skip_many("relocation outside its debug section", tally.outside);
}

/// Records that were not applied, by reason.
#[derive(Default)]
struct Tally {
    unknown: u64,
    outside: u64,
}

/// Applies records of one section to its bytes.
fn apply(
    file: &File<'_>,
    records: &[u8],
    addends: bool,
    symbols: &Symbols<'_, '_>,
    target: &mut [u8],
    tally: &mut Tally,
) {
    let words = if addends { 3 } else { 2 };
    let size = usize::try_from(file.word_size().saturating_mul(words)).unwrap_or(24);
    for record in records.chunks_exact(size) {
        let Some(record) = Record::read(file, record, addends) else { break };
        let Some(effect) = effect(file.machine, record.kind) else {
            tally.unknown = tally.unknown.saturating_add(1);
            continue;
        };
        let value = symbols.value(record.symbol);
        if patch(target, file.endian, effect, &record, value).is_none() {
            tally.outside = tally.outside.saturating_add(1);
        }
    }
}

/// One relocation record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    offset: u64,
    symbol: u32,
    kind: RelocationType,
    /// `None`: it is what lies at the place.
    addend: Option<u64>,
}

impl Record {
    fn read(file: &File<'_>, record: &[u8], addends: bool) -> Option<Self> {
        let endian = file.endian;
        let word = |number: u64| {
            let at = number.saturating_mul(file.word_size());
            if file.is_64 {
                bytes::u64_at(record, at, endian)
            } else {
                bytes::u32_at(record, at, endian).map(u64::from)
            }
        };
        let (offset, info) = (word(0)?, word(1)?);
        let (symbol, kind) =
            if file.is_64 { split_info_64(file, info) } else { (info >> 8, info & 0xff) };
        Some(Self {
            offset,
            symbol: u32::try_from(symbol).ok()?,
            kind: RelocationType(u32::try_from(kind).ok()?),
            addend: if addends { Some(word(2)?) } else { None },
        })
    }
}

/// Symbol and type of a 64-bit `r_info`. Little-endian MIPS has the symbol first
/// and then four bytes, which big-endian order makes one number like elsewhere.
fn split_info_64(file: &File<'_>, info: u64) -> (u64, u64) {
    let low = info & 0xffff_ffff;
    let mips = matches!(file.machine, elf::EM_MIPS | elf::EM_MIPS_RS3_LE);
    if mips && !file.is_big_endian() {
        return (low, info.swap_bytes() & 0xffff_ffff);
    }
    (info >> 32, low)
}

/// The values of one symbol table's symbols.
struct Symbols<'a, 'data> {
    file: &'a File<'data>,
    records: &'data [u8],
    extended: &'data [u8],
    spread: &'a Spread,
    bases: &'a HashMap<u32, u64>,
}

impl Symbols<'_, '_> {
    /// The address or offset that the symbol stands for; `None` when it is not
    /// defined here, or is in what a linker dropped.
    fn value(&self, index: u32) -> Option<u64> {
        with_class!(self.file.is_64, Elf => self.read::<Elf>(index))
    }

    fn read<Elf: FileHeader<Endian = Endianness>>(&self, index: u32) -> Option<u64> {
        let endian = self.file.endian;
        let at = u64::from(index).checked_mul(symbols::record_size(self.file))?;
        let symbol = bytes::record_at::<Elf::Sym>(self.records, at).filter(|_| index != 0)?;
        let mut value: u64 = symbol.st_value(endian).into();
        let number = match symbol.st_shndx(endian) {
            elf::SHN_ABS => return Some(value),
            elf::SHN_XINDEX => {
                bytes::u32_at(self.extended, u64::from(index).checked_mul(4)?, endian)?
            }
            elf::SymbolSection(number) if number < elf::SHN_LORESERVE => u32::from(number),
            _ => return None,
        };
        let section = self.file.section(number).filter(|_| number != 0)?;
        if !section.is_allocated() {
            return Some(self.bases.get(&number).copied().unwrap_or(0).wrapping_add(value));
        }
        if symbol.st_type() == elf::STT_FUNC {
            value = rules::function_address(self.file.machine, symbol.st_other().0, value);
        }
        Some(self.spread.address(number)?.wrapping_add(value))
    }
}

/// Changes the record's place; `None` when the place is not in the section. A
/// symbol without a value gives 0 whatever its addend: nobody's address.
fn patch(
    target: &mut [u8],
    endian: Endianness,
    effect: Effect,
    record: &Record,
    symbol: Option<u64>,
) -> Option<()> {
    if effect == Effect::Nothing {
        return Some(());
    }
    let rest = target.get_mut(usize::try_from(record.offset).ok()?..)?;
    let value =
        |there: u64| symbol.map_or(0, |symbol| symbol.wrapping_add(record.addend.unwrap_or(there)));
    let six = |byte: u8, new: u64| {
        // Six bits fit a byte.
        (byte & 0xc0) | u8::try_from(new & 0x3f).unwrap_or(0)
    };
    match effect {
        Effect::Nothing => {}
        Effect::Set(width) => {
            let place = rest.get_mut(..usize::from(width))?;
            let there = read_number(place, endian);
            write_number(place, endian, value(there));
        }
        Effect::Add(width) | Effect::Subtract(width) => {
            let place = rest.get_mut(..usize::from(width))?;
            let there = read_number(place, endian);
            let new = if matches!(effect, Effect::Add(_)) {
                there.wrapping_add(value(0))
            } else {
                there.wrapping_sub(value(0))
            };
            write_number(place, endian, new);
        }
        Effect::SetSix | Effect::AddSix | Effect::SubtractSix => {
            let byte = rest.first_mut()?;
            let there = u64::from(*byte);
            *byte = six(
                *byte,
                match effect {
                    Effect::AddSix => there.wrapping_add(value(0)),
                    Effect::SubtractSix => there.wrapping_sub(value(0)),
                    _ => value(0),
                },
            );
        }
        Effect::SetUleb | Effect::AddUleb | Effect::SubtractUleb => {
            let place = uleb_place(rest)?;
            let there = read_uleb(place);
            write_uleb(
                place,
                match effect {
                    Effect::AddUleb => there.wrapping_add(value(0)),
                    Effect::SubtractUleb => there.wrapping_sub(value(0)),
                    _ => value(0),
                },
            );
        }
    }
    Some(())
}

/// The number in up to eight bytes.
fn read_number(place: &[u8], endian: Endianness) -> u64 {
    let shift = |value: u64, &byte: &u8| (value << 8) | u64::from(byte);
    if endian.is_big_endian() {
        place.iter().fold(0, shift)
    } else {
        place.iter().rev().fold(0, shift)
    }
}

/// Stores the low bytes of a number.
fn write_number(place: &mut [u8], endian: Endianness, value: u64) {
    let bytes = value.to_le_bytes();
    if endian.is_big_endian() {
        place.iter_mut().rev().zip(bytes).for_each(|(to, from)| *to = from);
    } else {
        place.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    }
}

/// The bytes of the ULEB128 at the start, at most ten.
fn uleb_place(rest: &mut [u8]) -> Option<&mut [u8]> {
    let last = rest.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    rest.get_mut(..=last)
}

fn read_uleb(place: &[u8]) -> u64 {
    place.iter().rev().fold(0, |value, byte| (value << 7) | u64::from(byte & 0x7f))
}

/// Stores the low bits of a number in a ULEB128 of the same length.
fn write_uleb(place: &mut [u8], mut value: u64) {
    for byte in place {
        *byte = (*byte & 0x80) | u8::try_from(value & 0x7f).unwrap_or(0);
        value >>= 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(effect: Effect, bytes: &[u8], record: Record, symbol: Option<u64>) -> Vec<u8> {
        let mut target = bytes.to_vec();
        let done = patch(&mut target, Endianness::Little, effect, &record, symbol);
        if done.is_none() {
            target.clear();
        }
        target
    }

    const RECORD: Record =
        Record { offset: 1, symbol: 1, kind: RelocationType(1), addend: Some(2) };

    #[test]
    fn effects_change_their_place_only() {
        let with = |effect, bytes: &[u8]| patched(effect, bytes, RECORD, Some(0x10));
        assert_eq!(with(Effect::Set(2), &[9, 9, 9, 9]), [9, 0x12, 0, 9]);
        assert_eq!(with(Effect::Add(1), &[9, 0xff, 9]), [9, 0x11, 9]);
        assert_eq!(with(Effect::Subtract(2), &[9, 0, 1, 9]), [9, 0xee, 0, 9]);
        assert_eq!(with(Effect::SetSix, &[9, 0xff]), [9, 0xd2]);
        assert_eq!(with(Effect::AddSix, &[9, 0x41]), [9, 0x53]);
        assert_eq!(with(Effect::SubtractSix, &[9, 0x41]), [9, 0x6f]);
        assert_eq!(with(Effect::SetUleb, &[9, 0x80, 0x80, 0]), [9, 0x92, 0x80, 0]);
        assert_eq!(with(Effect::AddUleb, &[9, 0xff, 1]), [9, 0x91, 2]);
        assert_eq!(with(Effect::SubtractUleb, &[9, 0x93, 0]), [9, 0x81, 0]);
        assert_eq!(with(Effect::Nothing, &[9]), [9]);
    }

    /// Without addend records the addend lies at the place.
    #[test]
    fn addends_in_place() {
        let record = Record { addend: None, ..RECORD };
        assert_eq!(patched(Effect::Set(2), &[9, 4, 1, 9], record, Some(0x10)), [9, 0x14, 1, 9]);
        assert_eq!(patched(Effect::Set(2), &[9, 4, 1, 9], record, None), [9, 0, 0, 9]);
    }

    #[test]
    fn a_place_outside_changes_nothing() {
        for (effect, bytes) in [
            (Effect::Set(4), &[9, 9, 9, 9][..]),
            (Effect::Add(1), &[9]),
            (Effect::SetSix, &[9]),
            (Effect::SetUleb, &[9, 0x80]),
            (Effect::SetUleb, &[0xff; 20]),
        ] {
            assert!(patched(effect, bytes, RECORD, Some(1)).is_empty());
        }
        let far = Record { offset: u64::MAX, ..RECORD };
        assert!(patched(Effect::Set(1), &[9], far, Some(1)).is_empty());
    }

    #[test]
    fn numbers_of_either_order() {
        let mut place = [0; 3];
        write_number(&mut place, Endianness::Big, 0x0a0b_0c0d);
        assert_eq!(place, [0x0b, 0x0c, 0x0d]);
        assert_eq!(read_number(&place, Endianness::Big), 0x0b0c0d);
        assert_eq!(read_number(&place, Endianness::Little), 0x0d0c0b);
    }
}
