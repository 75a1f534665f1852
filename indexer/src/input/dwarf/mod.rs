//! The DWARF reader: what a unit's DIEs and line program say about its code.
//!
//! In: [`DebugInfo`], sections as slices. Out: [`UnitLines`] for each unit, in
//! any order, on any number of threads. It never reads a container, never
//! recurses, and a damaged part costs only itself.
//!
//! ```
//! # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
//! use symidx_indexer::{input::dwarf::Units, model::Report};
//!
//! let mut report = Report::default(); // what could not be read of it
//! let units = Units::open(&image.debug[0], &mut report);
//! let functions = (0..units.len()).flat_map(|unit| units.read(unit, &mut Report::default()).functions);
//! assert!(functions.into_iter().any(|function| function.name == b"leaf"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::HashSet;

use gimli::constants;

use crate::model::lines::{NONE, UnitLines};
use crate::model::{DebugInfo, Report};

mod abbreviations;
mod assemble;
mod files;
mod flatten;
mod headers;
mod limits;
mod names;
pub(super) mod nearest;
mod ranges;
mod rows;
mod split;
mod table;
mod text;
mod tree;
mod unit;

pub(crate) use assemble::Names;
pub(super) use unit::has_addresses;

#[cfg(test)]
mod tests;

use abbreviations::Tables;
use assemble::{Parts, Steps, Whole};
use files::FileTable;
use headers::Headers;
use limits::Allowance;
use names::Space;
use rows::Addresses;
use split::{Package, SplitFile};
use unit::{Dwarf, Header, Root, Unit};

/// The longest stretch of addresses that is believed to be code of one
/// function or of one line.
const LONGEST: u64 = 1 << 36;

/// Bytes of a line program that a row takes, about.
const ROW_BYTES: u64 = 4;

/// The units of one file's DWARF, ready to be read in any order, by any number
/// of threads.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// use symidx_indexer::{input::dwarf::Units, model::Report};
///
/// let mut report = Report::default();
/// let units: Units<'_, '_> = Units::open(&image.debug[0], &mut report);
/// assert_eq!((units.len(), report.warnings.len()), (2, 0)); // of C, and of assembly
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Units<'a, 'data> {
    info: &'a DebugInfo<'data>,
    main: File<'data>,
    supplementary: Option<File<'data>>,
    package: Option<Package<'data>>,
    /// All addresses mean themselves.
    linked: bool,
    units: Vec<CodeUnit<'data>>,
}

/// One file's sections and the units in them.
struct File<'data> {
    dwarf: Dwarf<'data>,
    headers: Headers<'data>,
    tables: Tables,
}

/// A unit that may have code.
struct CodeUnit<'data> {
    header: Header<'data>,
    /// Offset of its line program.
    lines: Option<usize>,
    /// The rows outside every function are this unit's to tell.
    owns_lines: bool,
    /// It is the skeleton of the split unit with this id.
    split: Option<gimli::DwoId>,
    weight: u64,
}

impl<'data> File<'data> {
    fn open(dwarf: Dwarf<'data>, label: &str, report: &mut Report) -> Self {
        let headers = Headers::read(&dwarf, label, report);
        let tables = Tables::find(&dwarf, &headers);
        Self { dwarf, headers, tables }
    }

    fn space(&self) -> Space<'_, 'data> {
        Space { dwarf: &self.dwarf, headers: &self.headers, tables: &self.tables }
    }

    /// Enters one of its units; `far` pays for its abbreviations.
    fn enter(
        &self,
        header: &Header<'data>,
        allowance: &Allowance,
        far: Option<&Allowance>,
    ) -> gimli::Result<(Unit<'data>, Root)> {
        let abbreviations = self.tables.of(&self.dwarf, header, far)?;
        unit::enter(&self.dwarf, *header, abbreviations, allowance)
    }
}

impl<'a, 'data> Units<'a, 'data> {
    /// Finds the units: reads their headers and root DIEs only. A damaged
    /// header costs its unit, or, when it does not say where it ends, those
    /// after it.
    ///
    /// ```
    /// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
    /// use symidx_indexer::{input::dwarf::Units, model::Report};
    ///
    /// let mut report = Report::default();
    /// let units = Units::open(&image.debug[0], &mut report); // headers only: cheap
    /// assert!(!units.is_empty() && report == Report::default());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(info: &'a DebugInfo<'data>, report: &mut Report) -> Self {
        let endian = unit::endian(info);
        let mut dwarf = unit::dwarf(&info.sections, endian);
        let supplementary = info.supplementary.as_ref().map(|sections| {
            let dwarf = unit::dwarf(sections, endian);
            let label = format!("{}supplementary file: ", info.label);
            File::open(dwarf, &label, report)
        });
        if let Some(sections) = &info.supplementary {
            dwarf.set_sup(unit::dwarf(sections, endian));
        }
        let package = info.package.as_ref().and_then(|sections| {
            match Package::open(*sections, endian) {
                Ok(package) => Some(package),
                Err(error) => {
                    report.warn(format!(
                        "{}package of split units: expected an index, found damage ({error}); went on without it",
                        info.label
                    ));
                    None
                }
            }
        });
        let main = File::open(dwarf, &info.label, report);
        let units = code_units(info, &main, package.as_ref(), report);
        let linked = info.addresses.mappings.iter().all(|mapping| mapping.start == mapping.target);
        Self { info, main, supplementary, package, linked, units }
    }

    /// How many units there are.
    ///
    /// ```
    /// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
    /// use symidx_indexer::{input::dwarf::Units, model::Report};
    ///
    /// assert_eq!(Units::open(&image.debug[0], &mut Report::default()).len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// True when there is no unit.
    ///
    /// ```
    /// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
    /// use symidx_indexer::{input::dwarf::Units, model::Report};
    ///
    /// assert!(!Units::open(&image.debug[0], &mut Report::default()).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Bytes of `.debug_info` and `.debug_line` that the unit has: what reading
    /// it costs, roughly.
    #[must_use]
    pub(crate) fn weight(&self, unit: usize) -> u64 {
        self.units.get(unit).map_or(0, |unit| unit.weight)
    }

    /// Reads one unit; the same whenever and wherever it is called.
    ///
    /// ```
    /// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
    /// use symidx_indexer::{input::dwarf::Units, model::Report};
    ///
    /// let mut report = Report::default();
    /// let units = Units::open(&image.debug[0], &mut report);
    /// let unit = units.read(0, &mut report); // in any order, on any thread
    /// assert!(unit.files.iter().any(|file| file.name == b"lines.c"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, unit: usize, report: &mut Report) -> UnitLines<'data> {
        self.read_by(unit, u64::MAX, report)
    }

    /// Reads one unit by parts of about `bytes`; the same for any.
    fn read_by(&self, unit: usize, bytes: u64, report: &mut Report) -> UnitLines<'data> {
        let mut whole = Whole::default();
        let names = self.read_parts(unit, bytes, report, &mut |part, _| whole.add(part));
        whole.finish(names)
    }

    /// Reads one unit: parts of about `bytes` of its DWARF go to `take`, as nodes,
    /// pieces and rows with numbers of their own; pieces are in order in each part,
    /// and those of one place come in their order. Functions and files have the
    /// numbers of the names that come at the end.
    pub(crate) fn read_parts(
        &self,
        unit: usize,
        bytes: u64,
        report: &mut Report,
        take: &mut dyn FnMut(&UnitLines<'data>, &mut Report),
    ) -> Names<'data> {
        let Some(code) = self.units.get(unit) else { return Names::default() };
        let label = &self.info.label;
        let dwarf = &self.main.dwarf;
        let allowance = Allowance::of(code.weight);
        let entered = match self.main.enter(&code.header, &allowance, None) {
            Ok((entered, _)) => entered,
            Err(error) => {
                report.warn(format!(
                    "{label}.debug_info: unit at {:#x}: expected a root DIE, found damage ({error}); went on with the others",
                    headers::offset_of(&code.header),
                ));
                return Names::default();
            }
        };
        let program = code.lines.and_then(|offset| {
            let read = files::program(dwarf, offset, code.header.address_size());
            let warn = |fault| {
                report.warn(format!(
                    "{label}.debug_line: at {offset:#x}: expected a line program, found damage ({fault}); kept the functions of its unit"
                ));
            };
            read.map_err(warn).ok()
        });
        let split = match code.split {
            Some(id) => self.split(id, &entered, &allowance, report),
            None => None,
        };
        let table =
            program.as_ref().map(|program| FileTable::read(dwarf, &entered, program, &allowance));
        let parts = Parts {
            addresses: Addresses { map: &self.info.addresses, linked: self.linked },
            own: split.as_ref().map_or(&self.main, |split| &split.file).space(),
            supplementary: self.supplementary.as_ref().map(File::space),
            calls: split.as_ref().and_then(|split| split.files.clone()),
            unit: split.as_ref().map_or(&entered, |split| &split.unit),
            lines: program.as_ref().zip(table),
            owns_lines: code.owns_lines,
            allowance: &allowance,
        };
        let steps = Steps {
            dies: (code.weight > bytes).then_some(bytes),
            rows: usize::try_from(bytes / ROW_BYTES).unwrap_or(usize::MAX).max(1),
        };
        parts.assemble(steps, report, take)
    }

    /// The split unit with an id, ready to be read with the bases of its skeleton.
    fn split(
        &self,
        id: gimli::DwoId,
        skeleton: &Unit<'data>,
        allowance: &Allowance,
        report: &mut Report,
    ) -> Option<SplitFile<'data>> {
        let found = split::find(self.info, self.package.as_ref(), &self.main.dwarf, id);
        let read = found.and_then(|dwarf| {
            split::enter(dwarf, id, skeleton, allowance, &self.info.label, report)
        });
        if read.is_none() {
            report.skip("split units that are missing");
        }
        read
    }
}

/// The units that may have code; type units and partial units have none. The
/// first of those that share a line program or a split unit is its owner.
fn code_units<'data>(
    info: &DebugInfo<'data>,
    file: &File<'data>,
    package: Option<&Package<'data>>,
    report: &mut Report,
) -> Vec<CodeUnit<'data>> {
    let mut units = Vec::new();
    let (mut programs, mut splits) = (HashSet::new(), HashSet::new());
    // Many units may name one long line program, or one part of a package.
    let mut lines_left = times(8, info.sections.line);
    let mut package_left = info.package.map_or(0, |package| {
        [package.info, package.abbrev]
            .iter()
            .fold(0, |sum, part| times(8, part).saturating_add(sum))
    });
    for header in &file.headers.list {
        if matches!(
            header.type_(),
            gimli::UnitType::Type { .. }
                | gimli::UnitType::SplitType { .. }
                | gimli::UnitType::Partial
        ) {
            continue;
        }
        let mut unit = CodeUnit {
            header: *header,
            lines: None,
            owns_lines: false,
            split: None,
            weight: wide(header.length_including_self()),
        };
        if let Ok((entered, root)) = file.enter(header, &Allowance::of(unit.weight), None) {
            if root.tag == constants::DW_TAG_partial_unit {
                continue;
            }
            if let Some(offset) = root.stmt_list {
                let bytes = files::extent(&file.dwarf, offset).unwrap_or(0);
                match lines_left.checked_sub(bytes) {
                    Some(left) => {
                        lines_left = left;
                        unit.weight = unit.weight.saturating_add(bytes);
                        unit.lines = Some(offset);
                        unit.owns_lines = programs.insert(offset);
                    }
                    None => report.skip("line programs that too many units share"),
                }
            }
            let id = entered.dwo_id.filter(|_| root.names_split && root.has_addresses);
            if id.is_some_and(|id| splits.contains(&id.0)) {
                report.skip("split units that too many units share");
            }
            if let Some(id) = id.filter(|id| splits.insert(id.0)) {
                unit.split = Some(id);
                let found = split::find(info, package, &file.dwarf, id);
                let bytes = found.as_ref().map_or(0, split::weight);
                if info.split.binary_search_by_key(&id.0, |split| split.id).is_err() {
                    match package_left.checked_sub(bytes) {
                        Some(left) => package_left = left,
                        None => {
                            unit.split = None;
                            report.skip("split units that too many units share");
                        }
                    }
                }
                unit.weight = unit.weight.saturating_add(bytes);
            }
        }
        units.push(unit);
    }
    units
}

/// A bound for work on a section that is read `factor` times over.
fn times(factor: u64, section: &[u8]) -> u64 {
    wide(section.len()).saturating_mul(factor).saturating_add(1 << 16)
}

/// A length as the `u64` of sums.
fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A length as an index; `NONE` past 32 bits.
fn count32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(NONE)
}

/// An index as a place in a vector; `None` for `NONE`.
fn index(number: u32) -> Option<usize> {
    (number != NONE).then(|| usize::try_from(number).ok()).flatten()
}

/// The bits of an address of `size` bytes.
fn address_mask(size: u8) -> u64 {
    let unused = 64_u32.saturating_sub(u32::from(size).saturating_mul(8));
    u64::MAX.checked_shr(unused).unwrap_or(u64::MAX)
}
