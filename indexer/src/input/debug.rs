//! DWARF sections by name: what is common to the readers of containers.
//!
//! In: section names and executable sections. Out: where a section belongs in
//! [`DwarfSections`], and the map of an image's addresses onto themselves. Never
//! looks at a section's bytes.

use std::path::{Path, PathBuf};

use crate::model::{AddressMap, DwarfSections, Mapping, Section};

/// At most this many files of parts of one image's debug information are
/// opened: each is a map of its own, and a process has no more than about 65,000.
pub(super) const MAX_PARTS: usize = 60_000;

/// How many of many files are of no use, and an example.
#[derive(Debug, Default)]
pub(super) struct Count {
    /// How many.
    pub(super) count: usize,
    /// The first, in words.
    pub(super) example: String,
}

impl Count {
    /// Counts one; it is described only when it is the first.
    pub(super) fn add(&mut self, example: impl FnOnce() -> String) {
        if self.count == 0 {
            self.example = example();
        }
        self.count = self.count.saturating_add(1);
    }
}

/// A path as the file system spells it.
#[cfg(unix)]
pub(super) fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

/// A path as the file system spells it.
#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// The directory of a file as it was named, and the one it is really in.
pub(super) fn own_directories(path: &Path) -> Vec<PathBuf> {
    let named = path.parent().map(|parent| {
        if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_path_buf() }
    });
    let real = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    let mut directories: Vec<_> = named.into_iter().chain(real).collect();
    directories.dedup();
    directories
}

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
