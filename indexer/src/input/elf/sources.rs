//! What no index keeps of an ELF file: the source files that its symbol table
//! names, and its sections that are not in memory.
//!
//! In: bytes of a file. Out: names. For tools that imitate others; a damaged
//! table is an empty one here, since whoever builds the index has said so.

use std::path::Path;

use object::elf;
use object::endian::Endianness;
use object::read::elf::{FileHeader, Sym as _};

use super::bytes::{self, Strings};
use super::header::{File, Section, with_class};
use super::rules;
use super::symbols::Table;
use crate::model::{Report, Source};

/// A function, and the source file that the symbol table has it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOfSymbol<'data> {
    /// The function's address; in a relocatable file its offset in a section.
    pub address: u64,
    /// The function's name.
    pub name: &'data [u8],
    /// The file's name, as the compiler was given it.
    pub file: &'data [u8],
}

/// The functions of a file's symbol table that follow a file's symbol and belong
/// to it, in order of address and name: local ones, and all of them where there
/// is but one file. Empty for what is no ELF file.
#[must_use]
pub fn files_of_symbols(data: &[u8]) -> Vec<FileOfSymbol<'_>> {
    let mut report = Report::default();
    let Ok(file) = File::parse(Path::new(""), data, &mut report) else { return Vec::new() };
    let table = (0u32..).zip(&file.sections).find(|(_, section)| section.kind == elf::SHT_SYMTAB);
    let table =
        table.and_then(|table| Table::from_section(&file, table, Source::Symtab, &mut report));
    let Some(table) = table else { return Vec::new() };
    let mut found = with_class!(file.is_64, Elf => read::<Elf>(&file, &table));
    found.sort_by_key(|function| (function.address, function.name));
    found
}

/// Whether a file has a section of this name, in memory or not. The tables that
/// describe the others (symbols, names, relocations) are not counted, as binutils
/// do not count them.
#[must_use]
pub fn has_section(data: &[u8], name: &[u8]) -> bool {
    let Ok(file) = File::parse(Path::new(""), data, &mut Report::default()) else { return false };
    let describes = |section: &Section<'_>| match section.kind {
        elf::SHT_SYMTAB | elf::SHT_SYMTAB_SHNDX => true,
        elf::SHT_REL | elf::SHT_RELA => file.is_relocatable(),
        elf::SHT_STRTAB => matches!(section.name, b".strtab" | b".shstrtab"),
        _ => false,
    };
    // Number 0 is no section.
    file.sections.iter().skip(1).any(|section| section.name == name && !describes(section))
}

fn read<'data, Elf: FileHeader<Endian = Endianness>>(
    file: &File<'data>,
    table: &Table<'data>,
) -> Vec<FileOfSymbol<'data>> {
    let endian = file.endian;
    let mut strings = Strings::new(table.strings, table.count(file));
    let mut found = Vec::new();
    let mut source: Option<&[u8]> = None;
    // Another symbol came before a file's: the table is of more than one.
    let (mut begun, mut several) = (false, false);
    for record in table.entries.chunks_exact(std::mem::size_of::<Elf::Sym>()).skip(1) {
        let Some(record) = bytes::record::<Elf::Sym>(record) else { break };
        let mut name = || strings.get(u64::from(record.st_name(endian))).ok();
        if record.st_type() == elf::STT_FILE {
            source = name();
            several |= begun;
            continue;
        }
        begun = true;
        let function = matches!(record.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC)
            || record.st_type() == elf::STT_NOTYPE;
        let belongs = record.st_bind() == elf::STB_LOCAL || !several;
        let Some(source) = source.filter(|source| function && belongs && !source.is_empty()) else {
            continue;
        };
        let Some(name) = name().filter(|name| !name.is_empty()) else { continue };
        let address: u64 = record.st_value(endian).into();
        let address = rules::function_address(file.machine, record.st_other().0, address);
        found.push(FileOfSymbol { address, name, file: source });
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

    fn file_of(data: &[u8], name: &str) -> Option<String> {
        let found = files_of_symbols(data);
        assert!(found.is_sorted_by_key(|found| (found.address, found.name)));
        let found = found.into_iter().find(|found| found.name == name.as_bytes())?;
        Some(String::from_utf8_lossy(found.file).into_owned())
    }

    #[test]
    fn functions_belong_to_the_file_before_them() {
        // One file: global functions, too.
        let object = testdata("relocatable/m1.o");
        assert_eq!(file_of(&object, "one").as_deref(), Some("m.c"));
        // Several: global ones stand behind all of them.
        let linked = testdata("gnu-debugdata/m.full");
        assert_eq!(file_of(&linked, "hidden_one").as_deref(), Some("m.o"));
        assert_eq!(file_of(&linked, "_start"), None);
        assert_eq!(files_of_symbols(b"no ELF file"), []);
    }

    #[test]
    fn sections_are_found_by_name_in_memory_or_not() {
        let data = testdata("swift/s4.exe");
        assert!(has_section(&data, b".text") && has_section(&data, b".debug_info"));
        for none in [&b".nothing"[..], b".symtab", b".strtab", b".shstrtab", b""] {
            assert!(!has_section(&data, none), "{none:?}");
        }
        // Whatever is cut off: never a panic.
        for end in (0..data.len()).step_by(97) {
            let cut = data.get(..end).unwrap_or(&[]);
            let _ = (has_section(cut, b".text"), files_of_symbols(cut).len());
        }
    }
}
