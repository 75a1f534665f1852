//! Split units: which units of a file are skeletons, and which ids a split
//! file or a package has.
//!
//! In: debug sections. Out: ids and file names. Only unit headers and root DIEs
//! are read; what cannot be read is passed over, for whoever reads it all to say.

use std::collections::HashSet;

use gimli::{AttributeValue, DwoId, EndianSlice, Reader as _, RunTimeEndian, UnitType};

use super::bytes;
use crate::input::dwarf;
use crate::model::DwarfSections;

/// File names and directories are not longer.
const LONGEST_PATH: u64 = 4096;
/// Bytes of declarations that are read to find the root's: for one unit, and on
/// average, as a multiple of the section.
const DECLARATIONS: u64 = 1 << 16;

/// A unit whose DIEs are in another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Skeleton<'data> {
    /// What both files call the unit.
    pub(super) id: u64,
    /// `DW_AT_dwo_name`: the file's path.
    pub(super) name: &'data [u8],
    /// `DW_AT_comp_dir`, to which the path is relative; may be empty.
    pub(super) directory: &'data [u8],
}

type Slice<'data> = EndianSlice<'data, RunTimeEndian>;
type Header<'data> = gimli::UnitHeader<Slice<'data>>;

fn endian(big: bool) -> RunTimeEndian {
    if big { RunTimeEndian::Big } else { RunTimeEndian::Little }
}

/// The skeletons of a file, in file order, each id once.
pub(super) fn skeletons<'data>(sections: &DwarfSections<'data>, big: bool) -> Vec<Skeleton<'data>> {
    // A skeleton with code has its addresses in `.debug_addr`; without code it
    // has nothing to look for.
    if sections.addr.is_empty() {
        return Vec::new();
    }
    let mut roots = Roots::new(sections, endian(big));
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for header in headers(sections, endian(big)) {
        let id = match header.type_() {
            UnitType::Skeleton(DwoId(id)) => Some(id),
            UnitType::Compilation if header.version() < 5 => None,
            _ => continue,
        };
        let Some(root) = roots.read(&header) else { continue };
        let names_code = root.has_addresses && !root.name.is_empty();
        let Some(id) = id.or(root.id).filter(|_| names_code) else { continue };
        if seen.insert(id) {
            found.push(Skeleton { id, name: root.name, directory: root.directory });
        }
    }
    found
}

/// The ids of the units of a split file.
pub(super) fn split_ids(sections: &DwarfSections<'_>, big: bool) -> Vec<u64> {
    let mut roots = Roots::new(sections, endian(big));
    let ids = headers(sections, endian(big)).filter_map(|header| match header.type_() {
        UnitType::SplitCompilation(DwoId(id)) => Some(id),
        UnitType::Compilation if header.version() < 5 => roots.read(&header)?.id,
        _ => None,
    });
    ids.collect()
}

/// The ids in a package's index, as many as there are.
pub(super) fn package_ids(cu_index: &[u8], big: bool) -> HashSet<u64> {
    const HEADER: u64 = 16;
    let endian = if big { object::Endianness::Big } else { object::Endianness::Little };
    let slots = u64::from(bytes::u32_at(cu_index, 12, endian).unwrap_or(0));
    let hashes = slots.saturating_mul(8);
    let rows = bytes::part(cu_index, HEADER.saturating_add(hashes), slots.saturating_mul(4));
    let used = rows.unwrap_or(&[]).chunks_exact(4).enumerate().filter(|(_, row)| *row != [0; 4]);
    let ids = used.filter_map(|(slot, _)| {
        let at = u64::try_from(slot).ok()?.checked_mul(8)?.checked_add(HEADER)?;
        bytes::u64_at(cu_index, at, endian)
    });
    ids.collect()
}

fn headers<'data>(
    sections: &DwarfSections<'data>,
    endian: RunTimeEndian,
) -> impl Iterator<Item = Header<'data>> + use<'data> {
    // After a header that cannot be read, nobody knows where the next one is.
    gimli::DebugInfo::new(sections.info, endian).units().map_while(Result::ok)
}

/// What a root DIE says about splitting.
#[derive(Debug, Default)]
struct Root<'data> {
    id: Option<u64>,
    /// It says where code or addresses are. A unit that stands for a module of
    /// headers (`.pcm`) names a file as well, but has neither.
    has_addresses: bool,
    name: &'data [u8],
    directory: &'data [u8],
}

/// Reads root DIEs, in time that is linear in the sections.
struct Roots<'a, 'data> {
    sections: &'a DwarfSections<'data>,
    endian: RunTimeEndian,
    budget: u64,
}

impl<'a, 'data> Roots<'a, 'data> {
    fn new(sections: &'a DwarfSections<'data>, endian: RunTimeEndian) -> Self {
        let budget = bytes::length(sections.abbrev)
            .saturating_add(bytes::length(sections.info))
            .saturating_mul(4)
            .saturating_add(DECLARATIONS);
        Self { sections, endian, budget }
    }

    fn read(&mut self, header: &Header<'data>) -> Option<Root<'data>> {
        let code = header.range_from(header.root_offset()..).ok()?.read_uleb128().ok()?;
        let declaration = self.declaration(header.debug_abbrev_offset().0, code)?;
        let table = gimli::DebugAbbrev::new(&declaration, self.endian);
        let table = table.abbreviations(gimli::DebugAbbrevOffset(0)).ok()?;
        let mut entries = header.entries_raw(&table, None).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        let mut root = Root::default();
        let (mut name, mut directory, mut base) = (None, None, None);
        for &specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(specification).ok()?;
            root.has_addresses |= dwarf::has_addresses(attribute.name());
            match attribute.name() {
                gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name => name = Some(attribute.value()),
                gimli::DW_AT_comp_dir => directory = Some(attribute.value()),
                gimli::DW_AT_str_offsets_base => base = attribute_offset(&attribute.value()),
                gimli::DW_AT_GNU_dwo_id => root.id = dwo_id(&attribute.value()),
                _ => {}
            }
        }
        let encoding = header.encoding();
        root.name = self.string(name, base, encoding);
        root.directory = self.string(directory, base, encoding);
        Some(root)
    }

    /// A table of abbreviations with only the declaration of `code` in it: a
    /// whole table may be huge, and every unit may name the same one.
    fn declaration(&mut self, offset: usize, code: u64) -> Option<Vec<u8>> {
        let table = self.sections.abbrev.get(offset..)?;
        let most = self.budget.min(DECLARATIONS);
        let table = bytes::part_there(table, 0, most);
        let mut reader = EndianSlice::new(table, self.endian);
        let found = declaration(&mut reader, code);
        let read = table.len().saturating_sub(reader.len());
        self.budget = self.budget.saturating_sub(u64::try_from(read).unwrap_or(u64::MAX));
        let mut found = found?.to_vec();
        found.push(0);
        Some(found)
    }

    /// The bytes of a string attribute; empty when there are none.
    fn string(
        &mut self,
        value: Option<AttributeValue<Slice<'data>>>,
        base: Option<usize>,
        encoding: gimli::Encoding,
    ) -> &'data [u8] {
        let sections = self.sections;
        let (strings, offset) = match value {
            Some(AttributeValue::String(string)) => return string.slice(),
            Some(AttributeValue::DebugStrRef(offset)) => (sections.str, offset.0),
            Some(AttributeValue::DebugLineStrRef(offset)) => (sections.line_str, offset.0),
            Some(AttributeValue::DebugStrOffsetsIndex(index)) => {
                let offsets = gimli::DebugStrOffsets::from(EndianSlice::new(
                    sections.str_offsets,
                    self.endian,
                ));
                let base = gimli::DebugStrOffsetsBase(base.unwrap_or(0));
                match offsets.get_str_offset(encoding.format, base, index) {
                    Ok(offset) => (sections.str, offset.0),
                    Err(_) => return &[],
                }
            }
            _ => return &[],
        };
        let rest = strings.get(offset..).unwrap_or(&[]);
        let near = bytes::part_there(rest, 0, LONGEST_PATH);
        memchr::memchr(0, near).and_then(|end| near.get(..end)).unwrap_or(&[])
    }
}

/// The bytes of the declaration of `code`, when it comes before the table's end.
fn declaration<'a>(reader: &mut EndianSlice<'a, RunTimeEndian>, code: u64) -> Option<&'a [u8]> {
    loop {
        let start = reader.slice();
        let own = reader.read_uleb128().ok().filter(|&own| own != 0)?;
        reader.read_uleb128().ok()?;
        reader.read_u8().ok()?;
        loop {
            let name = reader.read_uleb128().ok()?;
            let form = reader.read_uleb128().ok()?;
            if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                reader.read_sleb128().ok()?;
            }
            if (name, form) == (0, 0) {
                break;
            }
        }
        if own == code {
            return start.get(..start.len().checked_sub(reader.len())?);
        }
    }
}

fn attribute_offset(value: &AttributeValue<Slice<'_>>) -> Option<usize> {
    match value {
        AttributeValue::DebugStrOffsetsBase(base) => Some(base.0),
        _ => None,
    }
}

fn dwo_id(value: &AttributeValue<Slice<'_>>) -> Option<u64> {
    match value {
        AttributeValue::DwoId(DwoId(id)) => Some(*id),
        other => other.udata_value(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    /// A DWARF 5 skeleton whose name is `DW_FORM_strx1` 1, with two bases; its
    /// declaration is the second of the table.
    const ABBREV: &[u8] = &[
        1, 0x34, 0, 0x3f, 0x21, 5, 0, 0, // a variable, external by implicit constant
        2, 0x4a, 0, 0x76, 0x25, 0x1b, 0x08, 0x72, 0x17, 0x73, 0x17, 0, 0, 0,
    ];

    fn unit(id: u64, code: u8) -> Vec<u8> {
        let body = [&[2][..], &[code, 1], b"/dir\0", &[8, 0, 0, 0], &[8, 0, 0, 0]].concat();
        let mut unit = [&5u16.to_le_bytes()[..], &[4, 8], &0u32.to_le_bytes()].concat();
        unit.extend(id.to_le_bytes());
        unit.extend(&body[1..]);
        [u32::try_from(unit.len()).unwrap().to_le_bytes().to_vec(), unit].concat()
    }

    fn sections(info: &[u8]) -> DwarfSections<'_> {
        DwarfSections {
            info,
            abbrev: ABBREV,
            addr: b"some",
            str: b"no\0a.dwo\0",
            str_offsets: &[12, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0],
            ..DwarfSections::default()
        }
    }

    #[test]
    fn indexed_names_and_inline_directories() {
        let info = [unit(7, 2), unit(7, 2), unit(9, 2)].concat();
        let expected = |id| Skeleton { id, name: b"a.dwo", directory: b"/dir" };
        assert_eq!(skeletons(&sections(&info), false), [expected(7), expected(9)]);
        // A module of headers has a line program in place of the base of addresses.
        let module: Vec<u8> =
            ABBREV.iter().map(|&byte| if byte == 0x73 { 0x10 } else { byte }).collect();
        let module = DwarfSections { abbrev: &module, ..sections(&info) };
        assert!(skeletons(&module, false).is_empty());
        // Without addresses there is nothing to look for.
        let sections = DwarfSections { addr: &[], ..sections(&info) };
        assert!(skeletons(&sections, false).is_empty());
    }

    #[test]
    fn damage_hides_the_damaged_unit() {
        let info = [unit(7, 3), unit(9, 2)].concat();
        assert_eq!(skeletons(&sections(&info), false).len(), 1);
        for end in 0..info.len() {
            assert!(skeletons(&sections(&info[..end]), false).is_empty());
        }
        for end in 0..ABBREV.len() - 1 {
            let sections = DwarfSections { abbrev: &ABBREV[..end], ..sections(&info) };
            assert!(skeletons(&sections, false).is_empty());
        }
    }

    /// Units that all name one huge table: reading it for each would be quadratic.
    #[test]
    fn many_units_of_one_long_table_are_read_in_linear_time() {
        let info: Vec<u8> = (0..40_000).flat_map(|id| unit(id, 2)).collect();
        let abbrev: Vec<u8> = std::iter::repeat_n([1, 0x34, 0, 0, 0], 400_000).flatten().collect();
        let sections = DwarfSections { abbrev: &abbrev, ..sections(&info) };
        let start = std::time::Instant::now();
        assert!(skeletons(&sections, false).is_empty());
        assert!(start.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn ids_of_a_package() {
        let mut index = [5u32, 1, 1, 2].map(u32::to_le_bytes).concat();
        index.extend([7u64.to_le_bytes(), 9u64.to_le_bytes()].concat());
        index.extend([0u32.to_le_bytes(), 1u32.to_le_bytes()].concat());
        assert_eq!(package_ids(&index, false), HashSet::from([9]));
        for end in 0..index.len() {
            assert!(package_ids(&index[..end], false).is_empty());
        }
        index[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(package_ids(&index, false).is_empty());
    }
}
