//! The DWARF reader: what a unit's DIEs and line program say about its code.
//!
//! In: [`DebugInfo`], sections as slices. Out: [`UnitLines`] for each unit, in
//! any order, on any number of threads. It never reads a container, never
//! recurses, and a damaged part costs only itself.

use std::collections::HashSet;

use gimli::constants;

use crate::model::lines::{NONE, UnitLines};
use crate::model::{DebugInfo, Report};

mod assemble;
mod files;
mod flatten;
mod headers;
mod names;
mod ranges;
mod rows;
mod split;
mod text;
mod tree;
mod unit;

use assemble::Parts;
use files::FileTable;
use headers::Headers;
use names::Space;
use split::SplitFile;
use unit::{Dwarf, Header, Slice, Unit};

/// The longest stretch of addresses that is believed to be code of one
/// function or of one line.
const LONGEST: u64 = 1 << 36;

/// The units of one file's DWARF, ready to be read in any order, by any number
/// of threads.
pub struct Units<'a, 'data> {
    info: &'a DebugInfo<'data>,
    main: File<'data>,
    supplementary: Option<File<'data>>,
    package: Option<gimli::DwarfPackage<Slice<'data>>>,
    units: Vec<CodeUnit<'data>>,
}

/// One file's sections and the units in them.
struct File<'data> {
    dwarf: Dwarf<'data>,
    headers: Headers<'data>,
}

/// A unit that may have code.
struct CodeUnit<'data> {
    header: Header<'data>,
    /// The rows outside every function are this unit's to tell.
    owns_lines: bool,
    /// It is the skeleton of the split unit with this id.
    split: Option<gimli::DwoId>,
    weight: u64,
}

impl<'data> File<'data> {
    fn space(&self) -> Space<'_, 'data> {
        Space { dwarf: &self.dwarf, headers: &self.headers }
    }
}

impl<'a, 'data> Units<'a, 'data> {
    /// Finds the units: reads their headers and root DIEs only. A damaged
    /// header costs its unit, or, when it does not say where it ends, those
    /// after it.
    pub fn open(info: &'a DebugInfo<'data>, report: &mut Report) -> Self {
        let endian = unit::endian(info);
        let mut dwarf = unit::dwarf(&info.sections, endian);
        let supplementary = info.supplementary.as_ref().map(|sections| {
            let dwarf = unit::dwarf(sections, endian);
            let label = format!("{}supplementary file: ", info.label);
            File { headers: Headers::read(&dwarf, &label, report), dwarf }
        });
        if let Some(sections) = &info.supplementary {
            dwarf.set_sup(unit::dwarf(sections, endian));
        }
        let headers = Headers::read(&dwarf, &info.label, report);
        let package = info.package.as_ref().and_then(|sections| {
            let load = |id| Ok(Slice::new(unit::section(sections, id), endian));
            match gimli::DwarfPackage::load(load, Slice::new(&[], endian)) {
                Ok(package) => Some(package),
                Err::<_, gimli::Error>(error) => {
                    report.warn(format!(
                        "{}package of split units: expected an index, found damage ({error}); went on without it",
                        info.label
                    ));
                    None
                }
            }
        });
        let main = File { dwarf, headers };
        let units = code_units(&main);
        Self { info, main, supplementary, package, units }
    }

    /// How many units there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// True when there is no unit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Bytes of `.debug_info` and `.debug_line` that the unit has: what reading
    /// it costs, roughly.
    #[must_use]
    pub fn weight(&self, unit: usize) -> u64 {
        self.units.get(unit).map_or(0, |unit| unit.weight)
    }

    /// Reads one unit; the same whenever and wherever it is called.
    pub fn read(&self, unit: usize, report: &mut Report) -> UnitLines<'data> {
        let Some(code) = self.units.get(unit) else { return UnitLines::default() };
        let label = &self.info.label;
        let dwarf = &self.main.dwarf;
        let entered = dwarf
            .abbreviations(&code.header)
            .and_then(|abbreviations| unit::enter(dwarf, code.header, abbreviations));
        let (entered, root) = match entered {
            Ok(entered) => entered,
            Err(error) => {
                report.warn(format!(
                    "{label}.debug_info: unit at {:#x}: expected a root DIE, found damage ({error}); went on with the others",
                    headers::offset_of(&code.header),
                ));
                return UnitLines::default();
            }
        };
        let program = root.stmt_list.and_then(|offset| {
            let read = files::program(dwarf, offset, code.header.address_size());
            let warn = |fault| {
                report.warn(format!(
                    "{label}.debug_line: at {offset:#x}: expected a line program, found damage ({fault}); kept the functions of its unit"
                ));
            };
            read.map_err(warn).ok()
        });
        let split = match code.split {
            Some(id) => self.split(id, &entered, report),
            None => None,
        };
        let own = match &split {
            Some(split) => Space { dwarf: &split.file.dwarf, headers: &split.file.headers },
            None => Space { dwarf, headers: &self.main.headers },
        };
        let table = program.as_ref().map(|program| FileTable::read(dwarf, &entered, program));
        let parts = Parts {
            addresses: &self.info.addresses,
            own,
            supplementary: self.supplementary.as_ref().map(File::space),
            calls: split.as_ref().and_then(|split| split.files.clone()),
            unit: split.as_ref().map_or(&entered, |split| &split.unit),
            lines: program.as_ref().zip(table),
            owns_lines: code.owns_lines,
        };
        parts.assemble(report)
    }

    /// The split unit with an id, ready to be read with the bases of its skeleton.
    fn split(
        &self,
        id: gimli::DwoId,
        skeleton: &Unit<'data>,
        report: &mut Report,
    ) -> Option<SplitFile<'data>> {
        let found = split::find(self.info, self.package.as_ref(), &self.main.dwarf, id);
        let read =
            found.and_then(|dwarf| split::enter(dwarf, id, skeleton, &self.info.label, report));
        if read.is_none() {
            report.skip("split units that are missing");
        }
        read
    }
}

/// The units that may have code; type units and partial units have none. The
/// first of those that share a line program or a split unit is its owner.
fn code_units<'data>(file: &File<'data>) -> Vec<CodeUnit<'data>> {
    let mut units = Vec::new();
    let (mut programs, mut splits) = (HashSet::new(), HashSet::new());
    for header in &file.headers.list {
        if matches!(
            header.type_(),
            gimli::UnitType::Type { .. }
                | gimli::UnitType::SplitType { .. }
                | gimli::UnitType::Partial
        ) {
            continue;
        }
        let entered = file
            .dwarf
            .abbreviations(header)
            .and_then(|abbreviations| unit::enter(&file.dwarf, *header, abbreviations));
        let mut unit = CodeUnit {
            header: *header,
            owns_lines: false,
            split: None,
            weight: wide(header.length_including_self()),
        };
        if let Ok((entered, root)) = entered {
            if root.tag == constants::DW_TAG_partial_unit {
                continue;
            }
            unit.owns_lines = root.stmt_list.is_some_and(|line| programs.insert(line));
            if root.names_split && root.has_code {
                unit.split = entered.dwo_id.filter(|id| splits.insert(id.0));
            }
            let line = root.stmt_list.and_then(|line| files::extent(&file.dwarf, line));
            unit.weight = unit.weight.saturating_add(line.unwrap_or(0));
        }
        units.push(unit);
    }
    units
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
