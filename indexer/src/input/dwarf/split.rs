//! Split DWARF: from a skeleton to the unit that has its DIEs.
//!
//! In: an id. Out: the unit with that id, from a `.dwo` file or a package. A
//! unit with another id is never taken.

use gimli::read::Section as _;
use gimli::{IndexSectionId, Reader as _};

use super::files::{FileTable, program};
use super::limits::Allowance;
use super::unit::{self, Dwarf, Header, Slice, Unit};
use super::{File, wide};
use crate::model::{DebugInfo, DwarfSections, Report};

/// At most this many units are looked at for the one with an id.
const MOST_UNITS: usize = 1 << 16;

/// A split unit and the file it is in.
pub(super) struct SplitFile<'data> {
    /// The sections of its file, or of its part of a package.
    pub(super) file: File<'data>,
    /// The unit, with the bases of its skeleton.
    pub(super) unit: Unit<'data>,
    /// Its own file table. Producers that leave it out mean the skeleton's.
    pub(super) files: Option<FileTable<'data>>,
}

/// The sections that have the unit with an id.
pub(super) fn find<'data>(
    info: &DebugInfo<'data>,
    package: Option<&Package<'data>>,
    main: &Dwarf<'data>,
    id: gimli::DwoId,
) -> Option<Dwarf<'data>> {
    if let Ok(place) = info.split.binary_search_by_key(&id.0, |split| split.id) {
        let mut dwarf = unit::dwarf(&info.split.get(place)?.sections, unit::endian(info));
        dwarf.make_dwo(main);
        return Some(dwarf);
    }
    let mut dwarf = unit::dwarf(&package?.find(id)?, unit::endian(info));
    dwarf.make_dwo(main);
    Some(dwarf)
}

/// A package of split units.
pub(super) struct Package<'data> {
    index: gimli::UnitIndex<Slice<'data>>,
    sections: DwarfSections<'data>,
}

impl<'data> Package<'data> {
    /// Reads the index of a package.
    ///
    /// # Errors
    /// gimli's, when the index is damaged.
    pub(super) fn open(
        sections: DwarfSections<'data>,
        endian: gimli::RunTimeEndian,
    ) -> gimli::Result<Self> {
        let index = gimli::DebugCuIndex::new(sections.cu_index, endian).index()?;
        Ok(Self { index, sections })
    }

    /// The parts of the package's sections that belong to the unit with an id.
    /// A part that is not there is left out, not the unit.
    fn find(&self, id: gimli::DwoId) -> Option<DwarfSections<'data>> {
        let row = self.index.find(id.0)?;
        let mut found = DwarfSections { str: self.sections.str, ..DwarfSections::default() };
        for part in self.index.sections(row).ok()? {
            let (all, found) = match part.section {
                IndexSectionId::DebugAbbrev => (self.sections.abbrev, &mut found.abbrev),
                IndexSectionId::DebugInfo => (self.sections.info, &mut found.info),
                IndexSectionId::DebugLine => (self.sections.line, &mut found.line),
                IndexSectionId::DebugRngLists => (self.sections.rnglists, &mut found.rnglists),
                IndexSectionId::DebugStrOffsets => {
                    (self.sections.str_offsets, &mut found.str_offsets)
                }
                _ => continue,
            };
            *found = usize::try_from(part.offset)
                .ok()
                .zip(usize::try_from(part.size).ok())
                .and_then(|(offset, size)| all.get(offset..offset.checked_add(size)?))
                .unwrap_or(&[]);
        }
        Some(found)
    }
}

/// Bytes to read of a split unit's sections.
pub(super) fn weight(dwarf: &Dwarf<'_>) -> u64 {
    let sections = [dwarf.debug_info.reader(), dwarf.debug_abbrev.reader()];
    sections.iter().fold(0, |sum, section| wide(section.len()).saturating_add(sum))
}

/// Enters the unit with an id.
pub(super) fn enter<'data>(
    dwarf: Dwarf<'data>,
    id: gimli::DwoId,
    skeleton: &Unit<'data>,
    allowance: &Allowance,
    label: &str,
    report: &mut Report,
) -> Option<SplitFile<'data>> {
    let file = File::open(dwarf, &format!("{label}split unit {:#018x}: ", id.0), report);
    let (mut unit, root) = file.headers.list.iter().take(MOST_UNITS).find_map(|header| {
        has_id(header, id)?;
        let (unit, root) = file.enter(header, allowance, None).ok()?;
        (unit.dwo_id == Some(id)).then_some((unit, root))
    })?;
    unit.copy_relocated_attributes(skeleton);
    unit.comp_dir = unit.comp_dir.or(skeleton.comp_dir);
    let files = root.stmt_list.and_then(|offset| {
        let program = program(&file.dwarf, offset, unit.header.address_size()).ok()?;
        Some(FileTable::read(&file.dwarf, &unit, &program, allowance))
    });
    Some(SplitFile { file, unit, files })
}

/// `None` when the header alone says that this is not the unit. Before DWARF 5
/// the id is in the root DIE.
fn has_id(header: &Header<'_>, id: gimli::DwoId) -> Option<()> {
    match header.type_() {
        gimli::UnitType::SplitCompilation(found) => (found == id).then_some(()),
        gimli::UnitType::Compilation => Some(()),
        _ => None,
    }
}
