//! File tables: from the index in an attribute or a row to a source file.
//!
//! In: the header of a line program. Out: source files in the parts that it
//! states. An index that is not in the table is no file, never another one.

use std::collections::HashMap;

use gimli::read::Section as _;

use super::flatten::Order;
use super::limits::Allowance;
use super::text;
use super::unit::{Dwarf, Slice, Unit, comp_dir};
use crate::model::lines::{NONE, SourceFile, is_absolute};

/// A line program whose header is read.
pub(super) type Program<'data> = gimli::IncompleteLineProgram<Slice<'data>>;

/// A longer header is damage: gimli reserves memory by its claims.
const LONGEST_HEADER: u64 = 1 << 22;

/// Reads the header of the line program at `offset`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn program<'data>(
    dwarf: &Dwarf<'data>,
    offset: usize,
    address_size: u8,
) -> Result<Program<'data>, String> {
    let fault = |error: gimli::Error| error.to_string();
    let length = header_size(dwarf, offset).map_err(fault)?;
    if length > LONGEST_HEADER {
        return Err(format!("expected a header of at most {LONGEST_HEADER} bytes, found {length}"));
    }
    dwarf
        .debug_line
        .program(gimli::DebugLineOffset(offset), address_size, None, None)
        .map_err(fault)
}

/// The size of the header of the program at `offset`, as it claims.
///
/// # Errors
/// gimli's, when it is not there.
pub(super) fn header_size(dwarf: &Dwarf<'_>, offset: usize) -> gimli::Result<u64> {
    use gimli::Reader as _;
    let mut section = *dwarf.debug_line.reader();
    section.skip(offset)?;
    let (_, format) = section.read_initial_length()?;
    let version = section.read_u16()?;
    if version >= 5 {
        section.skip(2)?;
    }
    section.read_length(format).map(super::wide)
}

/// Bytes of the line program at `offset`, as far as they are there.
pub(super) fn extent(dwarf: &Dwarf<'_>, offset: usize) -> Option<u64> {
    use gimli::Reader as _;
    let mut section = *dwarf.debug_line.reader();
    section.skip(offset).ok()?;
    let (length, _) = section.read_initial_length().ok()?;
    Some(super::wide(length.min(section.len())))
}

/// A path of more bytes is damage: no system opens one.
const LONGEST_PATH: usize = 4096;

/// What the header of a line program states: directories, and files by their
/// directory and name.
pub(super) struct Stated<'data> {
    pub(super) directories: Vec<&'data [u8]>,
    pub(super) files: Vec<(u64, &'data [u8])>,
}

impl<'data> Stated<'data> {
    /// Reads both lists; a text that cannot be read is empty.
    pub(super) fn read(
        dwarf: &Dwarf<'data>,
        unit: &Unit<'data>,
        program: &Program<'data>,
        allowance: &Allowance,
    ) -> Self {
        let header = program.header();
        let text = |value| text::of(dwarf, Some(unit), &value, allowance).unwrap_or(&[]);
        let files = header.file_names().iter();
        Self {
            directories: header.include_directories().iter().map(|value| text(*value)).collect(),
            files: files.map(|file| (file.directory_index(), text(file.path_name()))).collect(),
        }
    }
}

/// The file table of one unit.
#[derive(Clone, Debug, Default)]
pub(super) struct FileTable<'data> {
    version: u16,
    base: &'data [u8],
    directories: Vec<&'data [u8]>,
    files: Vec<(u64, &'data [u8])>,
    /// By index: its number among the files put out, once it has one.
    numbers: Vec<u32>,
}

impl<'data> FileTable<'data> {
    /// The table in a line program's header.
    pub(super) fn read(
        dwarf: &Dwarf<'data>,
        unit: &Unit<'data>,
        program: &Program<'data>,
        allowance: &Allowance,
    ) -> Self {
        let Stated { directories, files } = Stated::read(dwarf, unit, program, allowance);
        let version = program.header().version();
        Self { version, base: comp_dir(unit), directories, files, numbers: Vec::new() }
    }

    /// Adds a file that the program itself defines (DWARF 2 to 4).
    pub(super) fn define(&mut self, directory: u64, name: &'data [u8]) {
        self.files.push((directory, name));
    }

    /// The place of index `file` in the table. DWARF 5 counts from 0; older
    /// tables from 1, and 0 is no file.
    fn place(&self, file: u64) -> Option<usize> {
        let place = if self.version >= 5 { Some(file) } else { file.checked_sub(1) };
        usize::try_from(place?).ok().filter(|&place| place < self.files.len())
    }

    /// The directory of index `directory`; empty for the compilation directory.
    fn directory(&self, directory: u64) -> &'data [u8] {
        let place = if self.version >= 5 { Some(directory) } else { directory.checked_sub(1) };
        let place = place.and_then(|place| usize::try_from(place).ok());
        let found = place.and_then(|place| self.directories.get(place)).copied().unwrap_or(&[]);
        if directory == 0 && found == self.base { &[] } else { found }
    }

    /// The file of index `file`, in parts; parts that an absolute one makes
    /// meaningless are left out.
    pub(super) fn source(&self, file: u64) -> Option<SourceFile<'data>> {
        let &(directory, name) = self.files.get(self.place(file)?)?;
        if name.is_empty() {
            return None;
        }
        if is_absolute(name) {
            return Some(SourceFile { base: &[], directory: &[], name });
        }
        let directory = self.directory(directory);
        let base = if is_absolute(directory) { &[] } else { self.base };
        Some(SourceFile { base, directory, name })
    }

    /// The number of index `file` among the files put out; `NONE` when it is
    /// not in the table.
    pub(super) fn number(&mut self, file: u64, files: &mut Files<'data>) -> u32 {
        let Some(place) = self.place(file) else { return NONE };
        if self.numbers.len() < self.files.len() {
            self.numbers.resize(self.files.len(), UNSET);
        }
        match self.numbers.get(place) {
            Some(&number) if number != UNSET => number,
            _ => {
                let number = self.source(file).map_or(NONE, |source| files.number(source));
                if let Some(slot) = self.numbers.get_mut(place) {
                    *slot = number;
                }
                number
            }
        }
    }
}

/// Not a number of a file yet.
const UNSET: u32 = NONE.saturating_sub(1);

/// The files put out, each once.
#[derive(Debug, Default)]
pub(super) struct Files<'data> {
    /// In order of first use.
    pub(super) list: Vec<SourceFile<'data>>,
    /// How many were refused for the length of their paths.
    pub(super) too_long: u64,
    numbers: HashMap<SourceFile<'data>, u32>,
    /// By number: the first row that names it.
    rows: Vec<Option<Order>>,
}

impl<'data> Files<'data> {
    /// The number of a file, a new one when it is new; `NONE` for a path that
    /// cannot be one.
    pub(super) fn number(&mut self, file: SourceFile<'data>) -> u32 {
        if file.len() > LONGEST_PATH {
            self.too_long = self.too_long.saturating_add(1);
            return NONE;
        }
        *self.numbers.entry(file).or_insert_with(|| {
            let number = super::count32(self.list.len());
            self.list.push(file);
            number
        })
    }

    /// A row names the file of this number.
    pub(super) fn named(&mut self, number: u32, at: Order) {
        let Some(place) = super::index(number) else { return };
        if self.rows.len() <= place {
            self.rows.resize(self.list.len(), None);
        }
        if let Some(first) = self.rows.get_mut(place)
            && first.is_none_or(|first| at < first)
        {
            *first = Some(at);
        }
    }

    /// The numbers in the order that does not depend on what was read first:
    /// files that rows name, by address, then the others as they were met.
    pub(super) fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..super::count32(self.list.len())).collect();
        order.sort_by_key(|&number| {
            let row = super::index(number).and_then(|place| *self.rows.get(place)?);
            (row.is_none(), row)
        });
        order
    }
}
