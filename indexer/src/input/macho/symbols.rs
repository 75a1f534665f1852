//! The symbol table: `nlist` records in, symbols out, in table order. Never
//! keeps what is no definition, and never scans more name bytes than the string
//! table can honestly hold.

use object::Endianness;
use object::macho::{self, SymbolDesc, SymbolFlags, SymbolStab};
use object::read::macho::Nlist;

use super::bytes;
use super::commands::Commands;
use super::layout::{Layout, holds};
use crate::model::{Binding, Kind, NO_SECTION, NO_VERSION, Report, Section, Source, Symbol};

/// No name is longer; the longest known real ones are some 100 KiB of C++.
const LONGEST_NAME: usize = 1 << 20;
/// How often over, on average, names may share the bytes of the string table.
const NAME_SHARING: u64 = 16;

/// What the image's machine and file type say about its symbols.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// 32-bit ARM: bit 0 of a code address is the Thumb bit.
    pub(super) thumb: bool,
    /// A relocatable object file.
    pub(super) object: bool,
}

/// The symbol table of an image and its names.
pub(super) struct Table<'data, N> {
    records: &'data [N],
    strings: &'data [u8],
    endian: Endianness,
}

/// Name bytes that may still be read: keeps a table whose records all name one
/// huge string from costing (records × string).
pub(super) struct Budget {
    left: u64,
}

impl Budget {
    pub(super) fn new(strings: &[u8]) -> Self {
        Self { left: bytes::length(strings).saturating_mul(NAME_SHARING).saturating_add(1 << 20) }
    }
}

impl<'data, N: Nlist<Endian = Endianness>> Table<'data, N> {
    /// Finds the table in the image: as many records as are really there.
    pub(super) fn new(
        slice: &'data [u8],
        endian: Endianness,
        commands: &Commands<'_>,
        report: &mut Report,
    ) -> Self {
        let Some(place) = commands.symbols else {
            return Self { records: &[], strings: &[], endian };
        };
        let table = bytes::from(slice, place.offset).unwrap_or_default();
        let records = bytes::records::<N>(table, place.count);
        let missing = place.count.saturating_sub(u64::try_from(records.len()).unwrap_or(0));
        if missing > 0 {
            report.skip_many("symbol past the end of the file", missing);
            report.warn(format!(
                "symbol table at offset {:#x}: expected {} symbols, found room for {}; kept those",
                place.offset,
                place.count,
                records.len()
            ));
        }
        let strings = bytes::at_most(slice, commands.strings.offset, commands.strings.count);
        if place.count > 0 && bytes::length(strings) < commands.strings.count {
            report.warn(format!(
                "string table at offset {:#x}: expected {} bytes, found {}; kept the names in them",
                commands.strings.offset,
                commands.strings.count,
                strings.len()
            ));
        }
        Self { records, strings, endian }
    }

    /// The string table's name of the record with that index; no definition is needed.
    pub(super) fn name(&self, index: u32, budget: &mut Budget) -> Option<&'data [u8]> {
        let record = self.records.get(usize::try_from(index).ok()?)?;
        let name = string(self.strings, record.n_strx(self.endian), budget).ok()?;
        Some(without_underscore(name))
    }

    /// Debugger entries in table order: kind, value and name as they are.
    pub(super) fn stabs(&self) -> impl Iterator<Item = (SymbolStab, u64, &'data [u8])> {
        let mut budget = self.budget();
        self.records.iter().filter_map(move |record| {
            let kind = record.n_type().stab()?;
            let name = string(self.strings, record.n_strx(self.endian), &mut budget);
            Some((kind, record.n_value(self.endian).into(), name.unwrap_or_default()))
        })
    }

    /// Names, as they are, and values of what is defined in a section.
    pub(super) fn definitions(&self) -> impl Iterator<Item = (&'data [u8], u64)> {
        let mut budget = self.budget();
        let defined =
            self.records.iter().filter(|record| is_absolute(record.n_type()) == Ok(false));
        defined.filter_map(move |record| {
            let name = string(self.strings, record.n_strx(self.endian), &mut budget).ok()?;
            Some((name, record.n_value(self.endian).into()))
        })
    }

    /// The value of the record with that index, if it is defined in a section.
    pub(super) fn value(&self, index: u32) -> Option<u64> {
        let record = self.records.get(usize::try_from(index).ok()?)?;
        let defined = is_absolute(record.n_type()) == Ok(false);
        defined.then(|| record.n_value(self.endian).into())
    }

    /// A fresh budget for this table's names.
    pub(super) fn budget(&self) -> Budget {
        Budget::new(self.strings)
    }

    /// All definitions, in table order.
    pub(super) fn symbols(
        &self,
        layout: &Layout<'data>,
        style: Style,
        report: &mut Report,
    ) -> Vec<Symbol<'data>> {
        let mut symbols = Vec::with_capacity(self.records.len());
        let mut budget = self.budget();
        let mut skipped = std::collections::BTreeMap::<&'static str, u64>::new();
        for (order, record) in (0_u32..).zip(self.records) {
            match self.symbol(record, order, layout, style, &mut budget) {
                Ok(symbol) => symbols.push(symbol),
                Err(reason) => {
                    let count = skipped.entry(reason).or_default();
                    *count = count.saturating_add(1);
                }
            }
        }
        for (reason, count) in skipped {
            report.skip_many(reason, count);
        }
        symbols
    }

    /// One record's symbol, or why it is none.
    fn symbol(
        &self,
        record: &N,
        order: u32,
        layout: &Layout<'data>,
        style: Style,
        budget: &mut Budget,
    ) -> Result<Symbol<'data>, &'static str> {
        let flags = record.n_type();
        let absolute = is_absolute(flags)?;
        let name = string(self.strings, record.n_strx(self.endian), budget)?;
        if is_temporary_label(name, style.object) {
            return Err("assembler label");
        }
        let value: u64 = record.n_value(self.endian).into();
        let description = record.n_desc(self.endian);
        let (address, section, kind) = if absolute {
            (value, NO_SECTION, Kind::Absolute)
        } else {
            place(layout, record.n_sect(), value, style.thumb)?
        };
        Ok(Symbol {
            name: without_underscore(name),
            address,
            size: 0,
            section,
            order,
            version: NO_VERSION,
            kind,
            binding: binding(flags, description),
            source: Source::Symtab,
            default_version: false,
        })
    }
}

/// The NUL-terminated string at `offset`, or why there is none.
fn string<'data>(
    strings: &'data [u8],
    offset: u32,
    budget: &mut Budget,
) -> Result<&'data [u8], &'static str> {
    let rest = bytes::from(strings, offset.into()).ok_or("name outside the string table")?;
    let near = rest.get(..LONGEST_NAME).unwrap_or(rest);
    let near = bytes::at_most(near, 0, budget.left);
    let end = memchr::memchr(0, near);
    let scanned = end.unwrap_or(near.len());
    budget.left = budget.left.saturating_sub(u64::try_from(scanned).unwrap_or(u64::MAX));
    match end.and_then(|end| near.get(..end)) {
        Some([]) => Err("no name"),
        Some(name) => Ok(name),
        None => Err("name without an end"),
    }
}

/// Whether a record is absolute (`Ok(true)`) or in a section (`Ok(false)`), or
/// why it is no definition: a stab, an import, or an alias for one.
fn is_absolute(flags: SymbolFlags) -> Result<bool, &'static str> {
    if flags.is_stab() {
        return Err("stab");
    }
    match flags.typ() {
        macho::N_SECT => Ok(false),
        macho::N_ABS => Ok(true),
        macho::N_UNDF | macho::N_PBUD => Err("undefined"),
        macho::N_INDR => Err("indirect"),
        _ => Err("unknown symbol type"),
    }
}

/// The name without the one underscore that the format adds. A name that lacks
/// it (Go, hand-written assembly) or is nothing else stays as it is.
pub(super) fn without_underscore(name: &[u8]) -> &[u8] {
    match name.strip_prefix(b"_") {
        None | Some([]) => name,
        Some(rest) => rest,
    }
}

/// Labels that only an assembler meant: `ltmp` and digits, and in an object file
/// (`L…` never survives the linker) also those that start with `L`.
fn is_temporary_label(name: &[u8], object: bool) -> bool {
    let numbered = name.strip_prefix(b"ltmp");
    numbered.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
        || (object && name.starts_with(b"L"))
}

/// Global, weak or local, from the type and description of a definition.
fn binding(flags: SymbolFlags, description: SymbolDesc) -> Binding {
    if !flags.is_ext() {
        Binding::Local
    } else if description.contains(macho::N_WEAK_DEF) {
        Binding::Weak
    } else {
        Binding::Global
    }
}

/// What a symbol in that section names: the table itself does not say.
pub(super) fn kind_in(section: &Section<'_>) -> Kind {
    if section.tls {
        Kind::Tls
    } else if section.execute {
        Kind::Function
    } else {
        Kind::Object
    }
}

/// Address, section and kind of a symbol that claims section `ordinal`. Where
/// the claimed section does not hold it, the one that does counts; where none
/// does (header symbols), it is by name only.
fn place(
    layout: &Layout<'_>,
    ordinal: u8,
    value: u64,
    thumb: bool,
) -> Result<(u64, u32, Kind), &'static str> {
    let claimed = layout.ordinal(ordinal).map_err(|()| "section not loaded")?;
    if let Some((index, section)) = claimed.and_then(|i| Some((i, layout.section(i)?))) {
        if holds(section, value) {
            let kind = kind_in(section);
            return Ok((without_thumb_bit(value, kind, thumb), index, kind));
        }
        if section.address.checked_add(section.size) == Some(value) {
            return Ok((value, index, Kind::Label));
        }
    }
    match layout.holding(value).and_then(|i| Some((i, layout.section(i)?))) {
        Some((index, section)) => {
            let kind = kind_in(section);
            Ok((without_thumb_bit(value, kind, thumb), index, kind))
        }
        None => Ok((value, NO_SECTION, Kind::Absolute)),
    }
}

/// Clears the Thumb bit of a function on 32-bit ARM. The format keeps that bit
/// in the description (`N_ARM_THUMB_DEF`), but some tools set it in the value too.
pub(super) fn without_thumb_bit(value: u64, kind: Kind, thumb: bool) -> u64 {
    if thumb && kind == Kind::Function { value & !1 } else { value }
}
