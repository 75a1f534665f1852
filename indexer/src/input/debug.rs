//! DWARF sections by name: what is common to the readers of containers.
//!
//! In: section names and executable sections. Out: where a section belongs in
//! [`DwarfSections`], and the map of an image's addresses onto themselves. Never
//! looks at a section's bytes.

use crate::model::{AddressMap, DwarfSections, Mapping, Section};

/// The place of the section whose name ends in `name` after `.debug_` or
/// `__debug_`; `None` for what says nothing about lines or inlines. Mach-O cuts
/// names to 16 bytes.
pub(super) fn slot<'s, 'data>(
    sections: &'s mut DwarfSections<'data>,
    name: &[u8],
) -> Option<&'s mut &'data [u8]> {
    Some(match name {
        b"abbrev" => &mut sections.abbrev,
        b"addr" => &mut sections.addr,
        b"info" => &mut sections.info,
        b"line" => &mut sections.line,
        b"line_str" => &mut sections.line_str,
        b"ranges" => &mut sections.ranges,
        b"rnglists" => &mut sections.rnglists,
        b"str" => &mut sections.str,
        b"str_offsets" | b"str_offs" => &mut sections.str_offsets,
        b"types" => &mut sections.types,
        b"cu_index" => &mut sections.cu_index,
        b"tu_index" => &mut sections.tu_index,
        _ => return None,
    })
}

/// The map of a linked image: each executable section onto itself. Where
/// sections overlap, the one that starts first keeps its bytes.
pub(super) fn linked_addresses(sections: &[Section<'_>]) -> AddressMap {
    let numbered = (0u32..).zip(sections).filter(|(_, section)| section.execute);
    let mappings = numbered.map(|(index, section)| Mapping {
        start: section.address,
        size: section.size,
        section: index,
        target: section.address,
    });
    disjoint(mappings.collect())
}

/// The mappings sorted, without empty ones; of overlapping ones the later is
/// cut to what the earlier leaves.
pub(super) fn disjoint(mut mappings: Vec<Mapping>) -> AddressMap {
    mappings.sort_by_key(|mapping| (mapping.start, mapping.section));
    let mut free = 0u64;
    mappings.retain_mut(|mapping| {
        let end = mapping.start.saturating_add(mapping.size);
        let cut = free.saturating_sub(mapping.start);
        mapping.size = end.saturating_sub(mapping.start).saturating_sub(cut);
        mapping.start = mapping.start.saturating_add(cut);
        mapping.target = mapping.target.saturating_add(cut);
        free = free.max(end);
        mapping.size > 0
    });
    AddressMap { mappings }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, size: u64, section: u32) -> Mapping {
        Mapping { start, size, section, target: start.wrapping_add(7) }
    }

    #[test]
    fn mappings_are_sorted_and_do_not_overlap() {
        let map = disjoint(vec![
            mapping(0x30, 0x10, 0),
            mapping(0x10, 0x18, 1),
            mapping(0x20, 0x10, 2),
            mapping(0x22, 2, 3),
            mapping(0x50, 0, 4),
            mapping(u64::MAX - 1, u64::MAX, 5),
        ]);
        let places: Vec<_> =
            map.mappings.iter().map(|m| (m.start, m.size, m.section, m.target)).collect();
        assert_eq!(
            places,
            [
                (0x10, 0x18, 1, 0x17),
                (0x28, 8, 2, 0x2f),
                (0x30, 0x10, 0, 0x37),
                (u64::MAX - 1, 1, 5, 5),
            ]
        );
        assert_eq!(map.find(0x2f).map(|m| m.section), Some(2));
        assert_eq!(map.find(0x30).map(|m| m.section), Some(0));
        assert_eq!(map.find(0x40), None);
        assert_eq!(map.find(0xf), None);
    }

    #[test]
    fn only_names_of_lines_and_inlines_have_a_place() {
        let mut sections = DwarfSections::default();
        for name in ["abbrev", "info", "line", "str_offsets", "str_offs", "tu_index"] {
            assert!(slot(&mut sections, name.as_bytes()).is_some(), "{name}");
        }
        for name in ["", "loc", "aranges", "info.dwo", "line_"] {
            assert!(slot(&mut sections, name.as_bytes()).is_none(), "{name}");
        }
    }
}
