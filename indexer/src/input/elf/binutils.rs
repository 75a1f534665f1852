//! An ELF file as binutils have it: sections and symbols in the order of their
//! tables, and the file that its debug information is in.
//!
//! In: bytes of a file. Out: [`Plain`]. Nothing is chosen, named or left out by
//! the index's rules; a damaged table is an empty one, since whoever builds the
//! index has said so.

use std::path::Path;

use object::elf;
use object::endian::Endianness;
use object::read::elf::{FileHeader, SectionHeader as _, Sym as _};

use super::bytes::{self, Strings};
use super::companion::{DebugLink, Wanted};
use super::debug_sections::{self, Flavour};
use super::header::{File, Section, with_class};
use super::relocate::Spread;
use super::symbols::Table;
use super::{debug_alt, machine, notes};
use crate::input::ReadOptions;
use crate::model::{AddressMap, DebugInfo, Report, Source, Store};

/// One section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::input) struct PlainSection<'data> {
    /// Its name.
    pub(in crate::input) name: &'data [u8],
    /// Its number in the file.
    pub(in crate::input) number: u32,
    /// Its address; 0 in a relocatable file.
    pub(in crate::input) address: u64,
    /// Its address as the debug information of the same file states it.
    pub(in crate::input) stated: u64,
    /// Bytes.
    pub(in crate::input) size: u64,
    /// It is in memory.
    pub(in crate::input) allocated: bool,
    /// It holds code.
    pub(in crate::input) code: bool,
}

/// One symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::input) struct PlainSymbol<'data> {
    /// Its name.
    pub(in crate::input) name: &'data [u8],
    /// The number of its section; 0 for none.
    pub(in crate::input) section: u32,
    /// Its address; in a relocatable file its offset in the section.
    pub(in crate::input) address: u64,
    /// Bytes; 0 unknown.
    pub(in crate::input) size: u64,
    /// `STT_…`.
    pub(in crate::input) kind: elf::SymbolType,
    /// `STB_…`.
    pub(in crate::input) binding: elf::SymbolBind,
    /// `STV_HIDDEN`.
    pub(in crate::input) hidden: bool,
}

/// Sections and symbols of one file.
#[derive(Clone, Debug, Default)]
pub(in crate::input) struct PlainFile<'data> {
    /// In the order of their headers.
    pub(in crate::input) sections: Vec<PlainSection<'data>>,
    /// In the order of their table: of the static one, else of the dynamic one.
    pub(in crate::input) symbols: Vec<PlainSymbol<'data>>,
}

/// A file and its debug information.
pub(in crate::input) struct Plain<'data> {
    /// Addresses have 64 bits.
    pub(in crate::input) is_64: bool,
    /// Its sections all begin at 0.
    pub(in crate::input) relocatable: bool,
    /// The file itself.
    pub(in crate::input) own: PlainFile<'data>,
    /// The debug file, where the file has no debug information of its own.
    pub(in crate::input) debug_file: Option<PlainFile<'data>>,
    /// The debug information.
    pub(in crate::input) debug: Option<DebugInfo<'data>>,
}

/// Reads a file; `None` for what binutils do not take for one of theirs.
pub(in crate::input) fn plain<'data>(
    path: &Path,
    data: &'data [u8],
    store: &'data Store,
) -> Option<Plain<'data>> {
    let mut report = Report::default();
    let file = File::parse(path, data, &mut report).ok().filter(|_| is_recognized(data))?;
    let options = ReadOptions { auto_debug: true, ..ReadOptions::default() };
    let mut plain = Plain {
        is_64: file.is_64,
        relocatable: file.is_relocatable(),
        own: plain_file(&file),
        debug_file: None,
        debug: None,
    };
    if debug_sections::has_info(&file, Flavour::Plain) {
        plain.debug = debug_of((path, &file), &options, store, &mut report);
        return Some(plain);
    }
    let build_id = notes::build_id(&file, &mut report);
    let link = DebugLink::read(&file, &mut report);
    let wanted = Wanted { path, file: &file, build_id: build_id.as_deref(), link };
    if let Some(found) = wanted.search(&options, store, &mut report)
        && let Ok(debug) = File::parse(&found.path, found.data, &mut report)
        && debug_sections::has_info(&debug, Flavour::Plain)
    {
        plain.debug = debug_of((&found.path, &debug), &options, store, &mut report);
        plain.debug_file = Some(plain_file(&debug));
    }
    Some(plain)
}

/// True for a file whose headers binutils accept: no core dump, and both header
/// tables whole. What is in the sections is not looked at.
fn is_recognized(data: &[u8]) -> bool {
    match data.get(4).copied() {
        Some(1) => has_whole_tables::<elf::FileHeader32<Endianness>>(data),
        Some(2) => has_whole_tables::<elf::FileHeader64<Endianness>>(data),
        _ => false,
    }
}

fn has_whole_tables<Elf: FileHeader<Endian = Endianness>>(data: &[u8]) -> bool {
    let Some(header) = bytes::record::<Elf>(data) else { return false };
    let Ok(endian) = header.endian() else { return false };
    let versions = header.e_ident().version == elf::EV_CURRENT;
    let (start, count) = (header.e_shoff(endian).into(), header.e_shnum(endian));
    let size = u64::from(header.e_shentsize(endian));
    let record = bytes::size_of::<Elf::SectionHeader>();
    // Number 0 says how many there are when there are very many.
    let count = match (start, count) {
        (0, _) => u64::from(count),
        (_, 0) => match bytes::record_at::<Elf::SectionHeader>(data, start) {
            Some(first) => first.sh_size(endian).into(),
            None => return false,
        },
        (_, count) => u64::from(count),
    };
    let sections = match (start, count) {
        (0, count) => count == 0 && header.e_type(endian) != elf::ET_REL,
        (_, 0) => false,
        (start, count) => size == record && is_there(data, start, count.saturating_mul(record)),
    };
    let start = header.e_phoff(endian).into();
    let record = bytes::size_of::<Elf::ProgramHeader>();
    let programs = u64::from(header.e_phnum(endian)).saturating_mul(record);
    versions && header.e_type(endian) != elf::ET_CORE && sections && is_there(data, start, programs)
}

fn is_there(data: &[u8], start: u64, size: u64) -> bool {
    size == 0 || bytes::part(data, start, size).is_some()
}

fn debug_of<'data>(
    (path, file): (&Path, &File<'data>),
    options: &ReadOptions,
    store: &'data Store,
    report: &mut Report,
) -> Option<DebugInfo<'data>> {
    let file = &without_big_sections(file);
    let sections = match file.is_relocatable() {
        true => debug_sections::load_relocated(file, &Spread::new(file), "", store, report),
        false => debug_sections::load(file, Flavour::Plain, "", store, report),
    };
    let supplementary = debug_alt::load((path, file), "", options, store, report);
    (!sections.info.is_empty()).then(|| DebugInfo {
        label: String::new(),
        sections,
        supplementary: supplementary.map(|(sections, _)| sections),
        split: Vec::new(),
        package: None,
        addresses: AddressMap::default(),
        machine: machine::machine(file),
    })
}

/// The file without the packed sections that are too big for it: binutils warn of
/// them and go on as if they were not there.
fn without_big_sections<'data>(file: &File<'data>) -> File<'data> {
    let mut kept = file.clone();
    let size = u64::try_from(file.data.len()).unwrap_or(u64::MAX);
    for section in &mut kept.sections {
        let claimed = debug_sections::claimed_size(file, section);
        if claimed.is_some_and(|claimed| is_too_big(claimed, size)) {
            section.kind = elf::SHT_NOBITS;
        }
    }
    kept
}

/// True for a section that unpacks to more than ten times its whole file.
fn is_too_big(claimed: u64, file: u64) -> bool {
    claimed.checked_div(10).is_some_and(|tenth| tenth > file)
}

/// The sections and symbols of a file.
fn plain_file<'data>(file: &File<'data>) -> PlainFile<'data> {
    let spread = file.is_relocatable().then(|| Spread::new(file));
    let section = |(number, section): (u32, &Section<'data>)| {
        let address = if file.is_relocatable() { 0 } else { section.address };
        let spread = spread.as_ref().and_then(|spread| spread.address(number));
        PlainSection {
            name: section.name,
            number,
            address,
            stated: spread.unwrap_or(address),
            size: section.size,
            allocated: section.is_allocated(),
            code: section.has(elf::SHF_EXECINSTR),
        }
    };
    let numbered = (0u32..).zip(&file.sections).skip(1);
    let sections = numbered.filter(|(_, section)| !describes(file, section)).map(section).collect();
    let mut symbols = Vec::new();
    for (kind, source) in [(elf::SHT_SYMTAB, Source::Symtab), (elf::SHT_DYNSYM, Source::Dynsym)] {
        let section = (0u32..).zip(&file.sections).find(|(_, section)| section.kind == kind);
        let report = &mut Report::default();
        let table = section.and_then(|section| Table::from_section(file, section, source, report));
        if let Some(table) = table {
            symbols = with_class!(file.is_64, Elf => read::<Elf>(file, &table));
        }
        if !symbols.is_empty() {
            break;
        }
    }
    PlainFile { sections, symbols }
}

/// True for a table that describes others (symbols, names, relocations):
/// binutils do not count it as a section.
fn describes(file: &File<'_>, section: &Section<'_>) -> bool {
    match section.kind {
        elf::SHT_NULL | elf::SHT_SYMTAB | elf::SHT_SYMTAB_SHNDX => true,
        elf::SHT_REL | elf::SHT_RELA => file.is_relocatable(),
        elf::SHT_STRTAB => matches!(section.name, b".strtab" | b".shstrtab"),
        _ => false,
    }
}

fn read<'data, Elf: FileHeader<Endian = Endianness>>(
    file: &File<'data>,
    table: &Table<'data>,
) -> Vec<PlainSymbol<'data>> {
    let endian = file.endian;
    let mut strings = Strings::new(table.strings, table.count(file));
    let mut found = Vec::new();
    let records = table.entries.chunks_exact(std::mem::size_of::<Elf::Sym>());
    // Record 0 is the null symbol.
    for (order, record) in (0u64..).zip(records).skip(1) {
        let Some(record) = bytes::record::<Elf::Sym>(record) else { break };
        let section = match record.st_shndx(endian) {
            elf::SHN_XINDEX => {
                bytes::u32_at(table.extended, order.saturating_mul(4), endian).unwrap_or(0)
            }
            elf::SymbolSection(number) if number >= elf::SHN_LORESERVE => 0,
            elf::SymbolSection(number) => u32::from(number),
        };
        let name = strings.get(u64::from(record.st_name(endian))).unwrap_or(&[]);
        let name = match file.section(section) {
            Some(section) if name.is_empty() && record.st_type() == elf::STT_SECTION => {
                section.name
            }
            _ => name,
        };
        found.push(PlainSymbol {
            name,
            section,
            address: record.st_value(endian).into(),
            size: record.st_size(endian).into(),
            kind: record.st_type(),
            binding: record.st_bind(),
            hidden: record.st_visibility() == elf::STV_HIDDEN,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn testdata(name: &str) -> Vec<u8> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/elf");
        std::fs::read(folder.join(name)).unwrap_or_default()
    }

    fn opens(data: &[u8]) -> bool {
        let store = Store::new();
        plain(Path::new("/nowhere/x"), store.keep(data.to_vec()), &store).is_some()
    }

    #[test]
    fn sections_are_those_that_describe_no_others() {
        let (store, data) = (Store::new(), testdata("swift/s4.exe"));
        let plain = plain(Path::new("/nowhere/x"), store.keep(data), &store);
        let sections = plain.map(|plain| plain.own.sections).unwrap_or_default();
        let has = |name: &[u8]| sections.iter().any(|section| section.name == name);
        assert!(has(b".text") && has(b".debug_info"));
        for none in [&b".nothing"[..], b".symtab", b".strtab", b".shstrtab", b""] {
            assert!(!has(none), "{none:?}");
        }
    }

    /// Both header tables must be there; what is in the sections is not looked at.
    #[test]
    fn a_file_cut_short_is_none() {
        for name in ["swift/s4.exe", "relocatable/m1.o"] {
            let data = testdata(name);
            assert!(opens(&data), "{name}");
            for end in (0..data.len()).step_by(97) {
                assert!(!opens(data.get(..end).unwrap_or(&[])), "{name} up to {end}");
            }
        }
    }

    /// 40 kB that unpacked to 40 MB cost 8 GB. The border was found by asking 2.40.
    #[test]
    fn packed_sections_that_are_too_big_are_not_there() {
        assert!(is_too_big(400_037, 40_002) && !is_too_big(400_037, 40_003));
        let data = testdata("relocations/x86_64-zlib.o");
        let info = |data: &[u8], kept: bool| {
            let file = File::parse(Path::new("x"), data, &mut Report::default()).ok()?;
            let file = if kept { without_big_sections(&file) } else { file };
            let mut all = file.sections.iter();
            let found = all.find(|section| section.name == b".debug_info").copied();
            found.filter(|section| section.kind != elf::SHT_NOBITS).map(|section| section.offset)
        };
        // The size is the second word of the section.
        let at = info(&data, false).and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
        let claims = |claimed: usize| {
            let mut data = data.clone();
            let place = data.get_mut(at.saturating_add(8)..).unwrap_or(&mut []);
            place.iter_mut().zip(claimed.to_le_bytes()).for_each(|(place, byte)| *place = byte);
            info(&data, true).is_some()
        };
        let most = data.len().saturating_mul(10).saturating_add(9);
        assert!(at > 0 && info(&data, true).is_some());
        assert!(claims(most) && !claims(most.saturating_add(1)));
    }

    #[test]
    fn headers_that_binutils_refuse() {
        let data = testdata("swift/s4.exe");
        let with = |at: usize, bytes: &[u8]| {
            let mut data = data.clone();
            if let Some(place) = data.get_mut(at..at.saturating_add(bytes.len())) {
                place.copy_from_slice(bytes);
            }
            opens(&data)
        };
        assert!(with(7, &[99]) && with(18, &[40, 0]) && with(16, &[0, 0]) && with(54, &[40, 0]));
        // A core dump, no such class, order and version, no sections, too many of both.
        assert!(!with(16, &[4, 0]) && !with(4, &[3]) && !with(5, &[3]) && !with(6, &[0]));
        assert!(!with(60, &[0, 0]) && !with(40, &[0; 8]) && !with(58, &[40, 0]));
        assert!(!with(60, &[0xff, 0xf0]) && !with(56, &[0xff, 0xf0]));
    }
}
