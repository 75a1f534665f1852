//! Line rows of debug information as found: what tests compare with the truth.
//!
//! In: [`DebugInfo`]. Out: (section, address in it, file name, line), by gimli's
//! own line programs. For tests only; decides nothing.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use crate::model::{DebugInfo, DwarfSections, Image};

/// Section name, address there, file name, line.
pub(crate) type Line = (String, u64, String, u64);

type Reader<'data> = gimli::EndianSlice<'data, gimli::RunTimeEndian>;

/// The sections for gimli.
pub(crate) fn dwarf<'data>(
    sections: &DwarfSections<'data>,
    big_endian: bool,
) -> gimli::Dwarf<Reader<'data>> {
    let endian = if big_endian { gimli::RunTimeEndian::Big } else { gimli::RunTimeEndian::Little };
    gimli::Dwarf::load(|id| {
        let bytes = match id {
            gimli::SectionId::DebugAbbrev => sections.abbrev,
            gimli::SectionId::DebugAddr => sections.addr,
            gimli::SectionId::DebugInfo => sections.info,
            gimli::SectionId::DebugLine => sections.line,
            gimli::SectionId::DebugLineStr => sections.line_str,
            gimli::SectionId::DebugStr => sections.str,
            gimli::SectionId::DebugStrOffsets => sections.str_offsets,
            gimli::SectionId::DebugTypes => sections.types,
            gimli::SectionId::DebugRanges => sections.ranges,
            gimli::SectionId::DebugRngLists => sections.rnglists,
            _ => &[],
        };
        Ok::<_, gimli::Error>(gimli::EndianSlice::new(bytes, endian))
    })
    .unwrap()
}

/// All rows that mean code of the image; a row of a sequence that maps nowhere
/// is left out.
pub(crate) fn rows(image: &Image<'_>, debug: &DebugInfo<'_>) -> BTreeSet<Line> {
    let dwarf = dwarf(&debug.sections, debug.machine.big_endian);
    let mut lines = BTreeSet::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next().unwrap() {
        let unit = dwarf.unit(header).unwrap();
        let Some(program) = unit.line_program.clone() else { continue };
        let mut rows = program.rows();
        while let Some((header, row)) = rows.next_row().unwrap() {
            let Some(mapping) = debug.addresses.find(row.address()) else { continue };
            let file = row.file(header).unwrap();
            let name = dwarf.attr_string(&unit, file.path_name()).unwrap();
            let name = name.to_string_lossy().into_owned();
            let name = name.rsplit('/').next().unwrap_or_default().to_owned();
            let section = image.sections.get(usize::try_from(mapping.section).unwrap()).unwrap();
            let at = row.address().wrapping_sub(mapping.start).wrapping_add(mapping.target);
            let line = row.line().map_or(0, std::num::NonZeroU64::get);
            if !row.end_sequence() {
                let section = String::from_utf8_lossy(section.name).into_owned();
                lines.insert((section, at, name, line));
            }
        }
    }
    lines
}
