//! Symbol tables: which entries are definitions, and what each one says.
//!
//! In: the records of one table. Out: [`Symbol`]s in table order, everything
//! else counted. Sizes are not clamped and no symbol is preferred to another.

use object::elf;
use object::endian::Endianness;
use object::read::elf::{FileHeader, Sym as _};

use super::bytes::{self, Strings};
use super::header::{File, Section, with_class};
use super::layout::Place;
use super::opd::Descriptors;
use super::rules;
use super::versions::Versions;
use crate::model::{Binding, Kind, NO_SECTION, NO_VERSION, Report, Source, Symbol};

/// One symbol table and the tables beside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'data> {
    /// Its records.
    pub(super) entries: &'data [u8],
    /// Its names.
    pub(super) strings: &'data [u8],
    /// `SHT_SYMTAB_SHNDX`: section numbers that do not fit 16 bits.
    pub(super) extended: &'data [u8],
    /// `.gnu.version`.
    pub(super) versions: &'data [u8],
    /// What to call its symbols' origin.
    pub(super) source: Source,
}

impl<'data> Table<'data> {
    /// The table in a section, or a warning why not.
    pub(super) fn from_section(
        file: &File<'data>,
        (number, section): (u32, &Section<'data>),
        source: Source,
        report: &mut Report,
    ) -> Option<Self> {
        let what = match source {
            Source::Dynsym => "dynamic symbol table",
            _ => "symbol table",
        };
        let entries = file.section_data_there(section);
        if bytes::length(entries) < section.size && section.kind != elf::SHT_NOBITS {
            report.warn(format!(
                "{what} (section {number}): expected {:#x} bytes at offset {:#x}, found {:#x} before the end of the file; kept those",
                section.size, section.offset, entries.len(),
            ));
        }
        if entries.is_empty() {
            return None;
        }
        let record = record_size(file);
        if section.entry_size != record {
            report.warn(format!(
                "{what} (section {number}): expected entries of {record} bytes, found {}; read them as {record}",
                section.entry_size,
            ));
        }
        let strings = file.section(section.link).filter(|_| section.link != 0);
        let strings = strings.map_or(&[][..], |strings| file.section_data_there(strings));
        if strings.is_empty() {
            report.warn(format!(
                "{what} (section {number}): expected its names in section {}, found none in the file; dropped the table",
                section.link,
            ));
            report.skip_many(
                "symbol without a name table",
                bytes::length(entries).checked_div(record).unwrap_or(0),
            );
            return None;
        }
        let beside = |kind| {
            file.sections
                .iter()
                .find(|s| s.kind == kind && s.link == number)
                .map_or(&[][..], |s| file.section_data_there(s))
        };
        Some(Self {
            entries,
            strings,
            extended: beside(elf::SHT_SYMTAB_SHNDX),
            versions: beside(elf::SHT_GNU_VERSYM),
            source,
        })
    }

    /// How many records it has.
    pub(super) fn count(&self, file: &File<'_>) -> u64 {
        bytes::length(self.entries).checked_div(record_size(file)).unwrap_or(0)
    }
}

/// Bytes in one symbol record of the file's class.
pub(super) fn record_size(file: &File<'_>) -> u64 {
    with_class!(file.is_64, Elf => bytes::size_of::<<Elf as FileHeader>::Sym>())
}

/// What reading a table needs to know about the image.
pub(super) struct Context<'a, 'data> {
    /// The file the table is in.
    pub(super) file: &'a File<'data>,
    /// By section number of that file.
    pub(super) places: &'a [Place],
    /// Function descriptors of the main file.
    pub(super) descriptors: &'a Descriptors<'data>,
    /// Version numbers of that file.
    pub(super) versions: &'a Versions,
    /// The image is the kernel or a module of it.
    pub(super) kernel: bool,
}

/// Adds the definitions of `table` to `symbols`.
pub(super) fn read_table<'data>(
    context: &Context<'_, 'data>,
    table: &Table<'data>,
    symbols: &mut Vec<Symbol<'data>>,
    report: &mut Report,
) {
    let mut tally = Tally { report, reason: "", count: 0 };
    with_class!(context.file.is_64, Elf => {
        read_records::<Elf>(context, table, symbols, &mut tally);
    });
    tally.flush();
}

fn read_records<'data, Elf: FileHeader<Endian = Endianness>>(
    context: &Context<'_, 'data>,
    table: &Table<'data>,
    symbols: &mut Vec<Symbol<'data>>,
    tally: &mut Tally<'_>,
) {
    let mut strings = Strings::new(table.strings, table.count(context.file));
    let records = table.entries.chunks_exact(std::mem::size_of::<Elf::Sym>());
    // Record 0 is the null symbol.
    for (order, record) in (0u32..).zip(records).skip(1) {
        let Some(record) = bytes::record::<Elf::Sym>(record) else { break };
        match read_record::<Elf>(context, table, &mut strings, order, record) {
            Ok((symbol, note)) => {
                symbols.push(symbol);
                if let Some(note) = note {
                    tally.add(note);
                }
            }
            Err(reason) => tally.add(reason),
        }
    }
}

/// One record and what could not be made of it, or why it is no definition.
fn read_record<'data, Elf: FileHeader<Endian = Endianness>>(
    context: &Context<'_, 'data>,
    table: &Table<'data>,
    strings: &mut Strings<'data>,
    order: u32,
    record: &Elf::Sym,
) -> Result<(Symbol<'data>, Option<&'static str>), &'static str> {
    let file = context.file;
    let endian = file.endian;
    let kind = symbol_kind(file.machine, record.st_type())?;
    let (kind, place) = match section_number(record.st_shndx(endian), order, table, endian)? {
        None if kind == Kind::Tls => (kind, None),
        None => (Kind::Absolute, None),
        Some(number) => {
            let number = usize::try_from(number).ok();
            let place = number.and_then(|number| context.places.get(number).copied());
            match place {
                Some(Place::NotAllocated) => return Err("in a section that is not in memory"),
                Some(Place::Template(index)) if kind != Kind::Tls => (Kind::Absolute, Some(index)),
                Some(Place::Template(index) | Place::Section(index)) => (kind, Some(index)),
                Some(Place::Unknown) | None if file.is_relocatable() => {
                    return Err("in an unknown section of a relocatable file");
                }
                Some(Place::Unknown) | None => (kind, None),
            }
        }
    };
    let name = strings.get(u64::from(record.st_name(endian))).map_err(|fault| fault.reason())?;
    if name.is_empty() {
        return Err("no name");
    }
    if kind == Kind::Label && rules::is_mapping_symbol(file.machine, name) {
        return Err("mapping symbol");
    }
    if context.kernel && kind == Kind::Label && rules::is_local_label(name) {
        return Err("local label of the kernel");
    }
    let mut address: u64 = record.st_value(endian).into();
    let mut section = place.unwrap_or(NO_SECTION);
    let (mut kind, mut note) = (kind, None);
    if matches!(kind, Kind::Function | Kind::Ifunc) {
        address = rules::function_address(file.machine, record.st_other().0, address);
        if context.descriptors.hold(address, place) {
            match context.descriptors.entry(address) {
                Some(entry) => (address, section) = (entry, NO_SECTION),
                // Without the descriptor's bytes it is only that: data.
                None => (kind, note) = (Kind::Object, Some("function descriptor kept as data")),
            }
        }
    }
    let version = context.versions.of(table.versions, order, endian);
    let symbol = Symbol {
        name,
        address,
        size: record.st_size(endian).into(),
        section,
        order,
        version: version.map_or(NO_VERSION, |version| version.index),
        kind,
        binding: binding(record.st_bind()),
        source: table.source,
        default_version: version.is_some_and(|version| version.default),
    };
    Ok((symbol, note))
}

/// What a symbol names, or why it is never an answer. `object`'s own
/// `is_definition()` is false for `STT_GNU_IFUNC`, so it is not asked.
fn symbol_kind(machine: elf::Machine, kind: elf::SymbolType) -> Result<Kind, &'static str> {
    const STT_ARM_TFUNC: elf::SymbolType = elf::SymbolType(13);
    Ok(match kind {
        elf::STT_FUNC => Kind::Function,
        elf::STT_GNU_IFUNC => Kind::Ifunc,
        // A common symbol that has been given its place is an object.
        elf::STT_OBJECT | elf::STT_COMMON => Kind::Object,
        elf::STT_NOTYPE => Kind::Label,
        elf::STT_TLS => Kind::Tls,
        elf::STT_SECTION => return Err("section symbol"),
        elf::STT_FILE => return Err("file symbol"),
        STT_ARM_TFUNC if machine == elf::EM_ARM => Kind::Function,
        _ => return Err("symbol of an unknown type"),
    })
}

/// The section a symbol is defined in (`None` = absolute), or why it is not
/// defined here.
fn section_number(
    claimed: elf::SymbolSection,
    order: u32,
    table: &Table<'_>,
    endian: Endianness,
) -> Result<Option<u32>, &'static str> {
    match claimed {
        elf::SHN_UNDEF => Err("undefined"),
        elf::SHN_ABS => Ok(None),
        elf::SHN_COMMON => Err("common symbol"),
        elf::SHN_XINDEX => {
            let at = u64::from(order).saturating_mul(4);
            match bytes::u32_at(table.extended, at, endian) {
                Some(0) => Err("undefined"),
                Some(number) => Ok(Some(number)),
                // No such table: found by its address, if it has one.
                None => Ok(Some(u32::MAX)),
            }
        }
        elf::SymbolSection(number) if number >= elf::SHN_LORESERVE => {
            Err("in a reserved section number")
        }
        elf::SymbolSection(number) => Ok(Some(u32::from(number))),
    }
}

fn binding(bind: elf::SymbolBind) -> Binding {
    match bind {
        elf::STB_LOCAL => Binding::Local,
        elf::STB_WEAK => Binding::Weak,
        // Also STB_GNU_UNIQUE.
        _ => Binding::Global,
    }
}

/// Counts reasons; runs of the same one cost an addition, not a map look-up.
struct Tally<'a> {
    report: &'a mut Report,
    reason: &'static str,
    count: u64,
}

impl Tally<'_> {
    fn add(&mut self, reason: &'static str) {
        if !std::ptr::eq(self.reason, reason) {
            self.flush();
            self.reason = reason;
        }
        self.count = self.count.saturating_add(1);
    }

    fn flush(&mut self) {
        self.report.skip_many(self.reason, self.count);
        self.count = 0;
    }
}
