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
//!              separate debug file ──────────┤
//!              plt (relocations + stubs) ────┘
//! ```

use std::path::Path;

use object::elf;

use self::bytes::Budget;
use self::header::File;
use self::layout::{Layout, Place};
use self::opd::Descriptors;
use self::symbols::{Context, Table};
use self::versions::{VersionTables, Versions};
use super::{InputError, ReadOptions};
use crate::model::{AddressKind, Format, Image, Report, Source, Store};

mod bytes;
mod header;
mod layout;
mod machine;
mod notes;
mod opd;
mod rules;
mod symbols;
mod versions;

/// True when the bytes start like ELF.
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
        companions: Vec::new(),
        report,
    };
    let _ = (store, options);
    let main = Main::new(file, layout);
    main.read_own_tables(&mut image);
    image.sections = main.layout.sections;
    Ok(image)
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
    kernel: bool,
}

impl<'data> Main<'data> {
    fn new(file: File<'data>, layout: Layout<'data>) -> Self {
        let descriptors = Descriptors::find(&file, |number| match layout.places.get(number) {
            Some(&Place::Section(index)) => Some(index),
            _ => None,
        });
        let kernel = rules::is_kernel_file(&file);
        Self { file, layout, descriptors, kernel }
    }

    /// Reads the symbol tables that the section headers name.
    fn read_own_tables(&self, image: &mut Image<'data>) {
        let mut tables =
            section_tables(&self.file, elf::SHT_SYMTAB, Source::Symtab, &mut image.report);
        tables.extend(section_tables(
            &self.file,
            elf::SHT_DYNSYM,
            Source::Dynsym,
            &mut image.report,
        ));
        let versions = Versions::read(
            &version_sections(&self.file),
            self.file.endian,
            &mut image.versions,
            &mut image.report,
        );
        let context = Context {
            file: &self.file,
            places: &self.layout.places,
            descriptors: &self.descriptors,
            versions: &versions,
            kernel: self.kernel,
        };
        read_tables(&context, &tables, image);
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
