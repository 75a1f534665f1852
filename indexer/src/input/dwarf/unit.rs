//! gimli's view of a file's DWARF, and the headers of its units.
//!
//! In: sections as slices. Out: units that can be entered at any DIE. What a
//! DIE means is not decided here.

use std::convert::Infallible;
use std::sync::Arc;

use gimli::read::{Reader as _, Section as _};
use gimli::{Abbreviations, AttributeValue, SectionId, UnitOffset, constants};

use super::limits::Allowance;
use super::text;
use crate::model::{DebugInfo, DwarfSections};

/// Bytes of a section, in the file's byte order.
pub(super) type Slice<'data> = gimli::EndianSlice<'data, gimli::RunTimeEndian>;
/// The sections of one file.
pub(super) type Dwarf<'data> = gimli::Dwarf<Slice<'data>>;
/// One unit with the attributes of its root.
pub(super) type Unit<'data> = gimli::Unit<Slice<'data>>;
/// One unit's header.
pub(super) type Header<'data> = gimli::UnitHeader<Slice<'data>>;
/// One attribute's value.
pub(super) type Value<'data> = AttributeValue<Slice<'data>>;

/// The byte order of a file.
pub(super) fn endian(info: &DebugInfo<'_>) -> gimli::RunTimeEndian {
    if info.machine.big_endian { gimli::RunTimeEndian::Big } else { gimli::RunTimeEndian::Little }
}

/// gimli's view of one file's sections.
pub(super) fn dwarf<'data>(
    sections: &DwarfSections<'data>,
    endian: gimli::RunTimeEndian,
) -> Dwarf<'data> {
    let loaded = Dwarf::load(|id| -> Result<_, Infallible> {
        Ok(Slice::new(section(sections, id), endian))
    });
    match loaded {
        Ok(dwarf) => dwarf,
        Err(never) => match never {},
    }
}

/// The section with gimli's id.
pub(super) fn section<'data>(sections: &DwarfSections<'data>, id: SectionId) -> &'data [u8] {
    match id {
        SectionId::DebugAbbrev => sections.abbrev,
        SectionId::DebugAddr => sections.addr,
        SectionId::DebugInfo => sections.info,
        SectionId::DebugLine => sections.line,
        SectionId::DebugLineStr => sections.line_str,
        SectionId::DebugRanges => sections.ranges,
        SectionId::DebugRngLists => sections.rnglists,
        SectionId::DebugStr => sections.str,
        SectionId::DebugStrOffsets => sections.str_offsets,
        SectionId::DebugTypes => sections.types,
        SectionId::DebugCuIndex => sections.cu_index,
        SectionId::DebugTuIndex => sections.tu_index,
        _ => &[],
    }
}

/// Where a DIE refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// An offset in the unit that holds the reference.
    Unit(usize),
    /// An offset in `.debug_info` of the file that holds the reference.
    Info(usize),
    /// An offset in `.debug_info` of the supplementary file (dwz).
    Supplementary(usize),
}

/// What an attribute refers to; `None` when it is no reference that is followed
/// (type signatures never lead to code).
pub(super) fn target(value: &Value<'_>) -> Option<Target> {
    match *value {
        AttributeValue::UnitRef(UnitOffset(offset)) => Some(Target::Unit(offset)),
        AttributeValue::DebugInfoRef(offset) => Some(Target::Info(offset.0)),
        AttributeValue::DebugInfoRefSup(offset) => Some(Target::Supplementary(offset.0)),
        _ => None,
    }
}

/// What the root DIE of a unit says beside the bases that gimli keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Root {
    /// Its tag.
    pub(super) tag: constants::DwTag,
    /// Offset of its line program.
    pub(super) stmt_list: Option<usize>,
    /// It names a split unit.
    pub(super) names_split: bool,
    /// It says where code or addresses are. A unit that stands for a module of
    /// headers (Swift's and Clang's `.pcm`) names a split file, but has neither.
    pub(super) has_addresses: bool,
}

/// Reads the root DIE of a unit. Unlike gimli's own, this outlives a damaged
/// line program, string or address.
///
/// # Errors
/// gimli's, when the root DIE cannot be read.
pub(super) fn enter<'data>(
    dwarf: &Dwarf<'data>,
    header: Header<'data>,
    abbreviations: Arc<Abbreviations>,
    allowance: &Allowance,
) -> gimli::Result<(Unit<'data>, Root)> {
    let encoding = header.encoding();
    let split_id = match header.type_() {
        gimli::UnitType::Skeleton(id) | gimli::UnitType::SplitCompilation(id) => Some(id),
        _ => None,
    };
    let mut unit = Unit {
        header,
        abbreviations: Arc::clone(&abbreviations),
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(
            encoding,
            dwarf.file_type,
        ),
        addr_base: gimli::DebugAddrBase(0),
        loclists_base: gimli::DebugLocListsBase::default_for_encoding_and_file(
            encoding,
            dwarf.file_type,
        ),
        rnglists_base: gimli::DebugRngListsBase::default_for_encoding_and_file(
            encoding,
            dwarf.file_type,
        ),
        line_program: None,
        dwo_id: split_id,
    };
    let mut entries = header.entries_raw(&abbreviations, None)?;
    let root = entries.read_abbreviation()?.ok_or(gimli::Error::MissingUnitDie)?;
    let mut found =
        Root { tag: root.tag(), stmt_list: None, names_split: false, has_addresses: false };
    let (mut low_pc, mut comp_dir) = (None, None);
    for spec in root.attributes() {
        let attribute = entries.read_attribute(*spec)?;
        found.has_addresses |= has_addresses(attribute.name());
        match (attribute.name(), attribute.value()) {
            (constants::DW_AT_low_pc, value) => low_pc = Some(value),
            (constants::DW_AT_comp_dir, value) => comp_dir = Some(value),
            (constants::DW_AT_stmt_list, AttributeValue::DebugLineRef(offset)) => {
                found.stmt_list = Some(offset.0);
            }
            (constants::DW_AT_str_offsets_base, AttributeValue::DebugStrOffsetsBase(base)) => {
                unit.str_offsets_base = base
            }
            (
                constants::DW_AT_addr_base | constants::DW_AT_GNU_addr_base,
                AttributeValue::DebugAddrBase(base),
            ) => unit.addr_base = base,
            (
                constants::DW_AT_rnglists_base | constants::DW_AT_GNU_ranges_base,
                AttributeValue::DebugRngListsBase(base),
            ) => unit.rnglists_base = base,
            (constants::DW_AT_dwo_name | constants::DW_AT_GNU_dwo_name, _) => {
                found.names_split = true;
            }
            (constants::DW_AT_GNU_dwo_id, AttributeValue::DwoId(id)) if split_id.is_none() => {
                unit.dwo_id = Some(id);
            }
            _ => {}
        }
    }
    unit.comp_dir = comp_dir
        .and_then(|value| text::of(dwarf, Some(&unit), &value, allowance))
        .map(|text| Slice::new(text, dwarf.debug_info.reader().endian()));
    if let Some(Ok(Some(address))) = low_pc.map(|value| dwarf.attr_address(&unit, value)) {
        unit.low_pc = address;
    }
    Ok((unit, found))
}

/// True for an attribute of a root DIE that says where code or addresses are.
pub(in crate::input) fn has_addresses(attribute: constants::DwAt) -> bool {
    matches!(
        attribute,
        constants::DW_AT_low_pc
            | constants::DW_AT_ranges
            | constants::DW_AT_addr_base
            | constants::DW_AT_GNU_addr_base
    )
}

/// The unit's compilation directory; empty when it states none.
pub(super) fn comp_dir<'data>(unit: &Unit<'data>) -> &'data [u8] {
    unit.comp_dir.map_or(&[], |directory| directory.slice())
}
