//! ELF input: one file and its companions in, one [`Image`] out.
//!
//! Every table is read on its own: a damaged one costs itself, with a warning
//! and counts in the report. Nothing here decides which symbol wins, nothing
//! is allocated by a size that the file only claims, and the work is linear in
//! the bytes that are there.
//!
//! ```text
//! header ─▶ layout (sections, segments) ─▶ symbols ◀─ versions, opd, rules
//!                                            ▲
//!              sections or PT_DYNAMIC ───────┤
//!              .gnu_debugdata ───────────────┤
//!              separate debug file ──────────┤─▶ debug info (sections, companions)
//!              plt (relocations + stubs) ────┘
//! ```
//!
//! ```
//! # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
//! use symidx_indexer::{input::{ReadOptions, elf}, model::{Format, Store}};
//!
//! let (store, data) = (Store::new(), std::fs::read(app)?);
//! assert!(elf::is_elf(&data));
//! let image = elf::read(app, store.keep(data), &store, &ReadOptions::default())?;
//! assert_eq!((image.format, image.machine.name), (Format::Elf, "x86_64"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::Path;

use object::elf;

use self::bytes::Budget;
use self::debug_info::Search;
use self::dynamic::Dynamic;
use self::header::File;
use self::layout::{Layout, Place};
use self::opd::Descriptors;
use self::symbols::{Context, Table};
use self::versions::{VersionTables, Versions};
use super::{InputError, ReadOptions};
use crate::model::{AddressKind, Format, Image, Report, Source, Store};

pub(super) mod binutils;
mod bytes;
mod companion;
mod debug_alt;
mod debug_info;
mod debug_sections;
mod debug_split;
mod debugdata;
mod dynamic;
mod header;
mod layout;
mod machine;
mod notes;
mod opd;
mod places;
mod plt;
mod relocate;
mod relocate_types;
mod rules;
mod skeletons;
mod stubs;
mod symbols;
mod versions;

#[cfg(test)]
mod tests;

pub(super) use machine::by_number as machine_by_number;
pub(super) use notes::build_id_in_notes;

/// True when the bytes start like ELF.
///
/// ```
/// assert!(symidx_indexer::input::elf::is_elf(b"\x7fELF\x02\x01"));
/// assert!(!symidx_indexer::input::elf::is_elf(b"#!/bin/sh"));
/// ```
#[must_use]
pub fn is_elf(data: &[u8]) -> bool {
    data.starts_with(&elf::ELFMAG)
}

/// Reads ELF bytes, and the companions that `options` allow: symbols of
/// `.symtab`, `.dynsym`, `.gnu_debugdata`, a separate debug file and the PLT.
///
/// # Errors
/// [`InputError::Malformed`] when the ELF header is unusable, the file is a
/// core dump, or there is neither a section nor a segment to read. A damaged
/// part is a warning in the image's report instead.
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// use symidx_indexer::{input::{ReadOptions, elf}, model::Store};
///
/// let store = Store::new();
/// let data = store.keep(std::fs::read(app)?);
/// let image = elf::read(app, data, &store, &ReadOptions::default())?;
/// assert_eq!(image.build_id.unwrap().len(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read<'store>(
    path: &Path,
    data: &'store [u8],
    store: &'store Store,
    options: &ReadOptions,
) -> Result<Image<'store>, InputError> {
    let mut report = Report::default();
    let file = File::parse(path, data, &mut report)?;
    refuse_core(path, &file)?;
    if !matches!(file.kind, elf::ET_REL | elf::ET_EXEC | elf::ET_DYN) {
        report.warn(format!(
            "ELF header: expected type REL, EXEC or DYN, found {}; read as DYN",
            file.kind.0
        ));
    }
    let layout = layout::layout(&file, &mut report);
    if layout.sections.is_empty() && file.sections.is_empty() {
        return Err(InputError::Malformed {
            path: path.to_path_buf(),
            offset: None,
            expected: "section or program headers".to_owned(),
            found: "neither".to_owned(),
            advice: "the file is cut short or only a header; copy it again",
        });
    }
    let mut image = Image {
        format: Format::Elf,
        addresses: if file.is_relocatable() {
            AddressKind::SectionOffset
        } else {
            AddressKind::Svma
        },
        machine: machine::machine(&file),
        build_id: notes::build_id(&file, &mut report),
        uuid: None,
        slice: None,
        segments: layout::segments(&file, &mut report),
        sections: Vec::new(),
        modules: Vec::new(),
        versions: Vec::new(),
        symbols: Vec::new(),
        function_starts: Vec::new(),
        holes: Vec::new(),
        debug: Vec::new(),
        lines: Vec::new(),
        companions: Vec::new(),
        report,
    };
    let main = Main::new(file, layout);
    let has_symtab = main.read_own_tables(&mut image);
    main.read_debug_data(path, store, &mut image);
    main.read_debug_info(&Search { path, options, store }, has_symtab, &mut image);
    plt::read(&main.file, &main.layout.places, main.dynamic.as_ref(), store, &mut image);
    image.sections = main.layout.sections;
    Ok(image)
}

/// The build-id of an ELF file, without reading its symbols.
///
/// # Errors
/// [`InputError::Malformed`] when the header is damaged.
pub(super) fn build_id(path: &Path, data: &[u8]) -> Result<Option<Vec<u8>>, InputError> {
    let mut report = Report::default();
    let file = File::parse(path, data, &mut report)?;
    Ok(notes::build_id(&file, &mut report))
}

/// A core dump has the memory of a process, not the symbols of a program.
fn refuse_core(path: &Path, file: &File<'_>) -> Result<(), InputError> {
    if file.kind != elf::ET_CORE {
        return Ok(());
    }
    Err(InputError::Malformed {
        path: path.to_path_buf(),
        offset: Some(16),
        expected: "an executable, shared object or relocatable file".to_owned(),
        found: "a core dump".to_owned(),
        advice: "give the program that dumped it, or its debug file",
    })
}

/// The main file, and what its companions are matched against.
struct Main<'data> {
    file: File<'data>,
    layout: Layout<'data>,
    descriptors: Descriptors<'data>,
    dynamic: Option<Dynamic>,
    kernel: bool,
}

impl<'data> Main<'data> {
    fn new(file: File<'data>, layout: Layout<'data>) -> Self {
        let descriptors = Descriptors::find(&file, |number| match layout.places.get(number) {
            Some(&Place::Section(index)) => Some(index),
            _ => None,
        });
        let dynamic = Dynamic::read(&file);
        let kernel = rules::is_kernel_file(&file);
        Self { file, layout, descriptors, dynamic, kernel }
    }

    /// Reads the symbol tables that the section headers name, or the dynamic
    /// one by `PT_DYNAMIC` when no header does. True when there is a symbol
    /// table besides the dynamic one.
    fn read_own_tables(&self, image: &mut Image<'data>) -> bool {
        let file = &self.file;
        let report = &mut image.report;
        let mut tables = section_tables(file, elf::SHT_SYMTAB, Source::Symtab, report);
        let has_symtab = !tables.is_empty();
        let mut version_tables = version_sections(file);
        let dynamic_tables = section_tables(file, elf::SHT_DYNSYM, Source::Dynsym, report);
        if dynamic_tables.is_empty()
            && let Some(dynamic) = &self.dynamic
            && let Some(table) = dynamic.table(file, report)
        {
            tables.push(table);
            version_tables = dynamic.versions(file);
        }
        tables.extend(dynamic_tables);
        let versions = Versions::read(&version_tables, file.endian, &mut image.versions, report);
        let context = Context {
            file: &self.file,
            places: &self.layout.places,
            descriptors: &self.descriptors,
            versions: &versions,
            kernel: self.kernel,
        };
        read_tables(&context, &tables, image);
        has_symtab
    }

    /// Adds the symbols of `.gnu_debugdata`.
    fn read_debug_data(&self, path: &Path, store: &'data Store, image: &mut Image<'data>) {
        let Some(section) = self.file.section_named(b".gnu_debugdata") else { return };
        let unpacked = match self.file.section_data(section) {
            Some(data) => debugdata::unpack(data),
            None => Err("a section outside the file".to_owned()),
        };
        let whose = ".gnu_debugdata";
        let file =
            unpacked.and_then(|data| self.parse_companion(path, store.keep(data), whose, image));
        let result = file.and_then(|file| {
            let read = self.read_companion(&file, Source::DebugData, whose, image);
            read.then_some(()).ok_or_else(|| "no symbol table".to_owned())
        });
        if let Err(found) = result {
            image.report.warn(format!(
                ".gnu_debugdata: expected an xz-compressed ELF file, found {found}; kept the other tables"
            ));
        }
    }

    /// A companion's headers, when it is a file for the same machine.
    fn parse_companion(
        &self,
        path: &Path,
        data: &'data [u8],
        whose: &str,
        image: &mut Image<'data>,
    ) -> Result<File<'data>, String> {
        let mut report = Report::default();
        let file = File::parse(path, data, &mut report).map_err(|error| error.to_string())?;
        if (file.machine, file.is_64, file.endian)
            != (self.file.machine, self.file.is_64, self.file.endian)
        {
            return Err("a file for another machine".to_owned());
        }
        for warning in report.warnings {
            image.report.warn(format!("{whose}: {warning}"));
        }
        Ok(file)
    }

    /// Adds the symbol table of another file of the same program; false when
    /// it has none.
    fn read_companion(
        &self,
        file: &File<'data>,
        source: Source,
        whose: &str,
        image: &mut Image<'data>,
    ) -> bool {
        let mut report = Report::default();
        let tables = section_tables(file, elf::SHT_SYMTAB, source, &mut report);
        for warning in report.warnings {
            image.report.warn(format!("{whose}: {warning}"));
        }
        let places = layout::match_sections(&self.layout, &self.file, file);
        let context = Context {
            file,
            places: &places,
            descriptors: &self.descriptors,
            versions: &Versions::default(),
            kernel: self.kernel,
        };
        read_tables(&context, &tables, image);
        !tables.is_empty()
    }
}

/// Real files have one table of a type; looking for the tables beside each is
/// linear in the number of sections.
const MAX_TABLES: usize = 16;

/// The tables of one section type, each at most once.
fn section_tables<'data>(
    file: &File<'data>,
    kind: elf::SectionType,
    source: Source,
    report: &mut Report,
) -> Vec<Table<'data>> {
    let mut budget = Budget::for_file(file.data, 1);
    let mut tables = Vec::new();
    let sections = (0u32..).zip(&file.sections).filter(|(_, section)| section.kind == kind);
    for (number, section) in sections.take(MAX_TABLES) {
        let Some(table) = Table::from_section(file, (number, section), source, report) else {
            continue;
        };
        if !budget.take(bytes::length(table.entries)) {
            report.warn(format!(
                "symbol table (section {number}): its bytes were read already by another table; dropped it"
            ));
            continue;
        }
        tables.push(table);
    }
    tables
}

fn version_sections<'data>(file: &File<'data>) -> VersionTables<'data> {
    let find = |kind| {
        let section = file.sections.iter().find(|section| section.kind == kind);
        section.map_or((&[][..], &[][..]), |section| {
            let strings = file.section(section.link);
            (
                file.section_data_there(section),
                strings.map_or(&[][..], |strings| file.section_data_there(strings)),
            )
        })
    };
    VersionTables { defined: find(elf::SHT_GNU_VERDEF), needed: find(elf::SHT_GNU_VERNEED) }
}

/// Reads tables that were found, with room made once for all of them.
fn read_tables<'data>(
    context: &Context<'_, 'data>,
    tables: &[Table<'data>],
    image: &mut Image<'data>,
) {
    let count = tables.iter().fold(0u64, |sum, t| sum.saturating_add(t.count(context.file)));
    // Bounded by the bytes that are there: a record has at least 16 of them.
    image.symbols.reserve_exact(usize::try_from(count).unwrap_or(0));
    for table in tables {
        symbols::read_table(context, table, &mut image.symbols, &mut image.report);
    }
}
