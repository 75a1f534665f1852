//! DWARF as slices: what the readers of containers find and the DWARF reader parses.
//!
//! In: nothing but plain data built by `input`. This module never parses; it
//! says where the bytes are, and what the addresses in them mean.

use super::Machine;

/// The sections of one file that line and inline information is in. Empty
/// where the file has none. Decompressed, relocations applied.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// let sections: symidx_indexer::model::DwarfSections<'_> = image.debug[0].sections;
/// assert!(!sections.info.is_empty() && sections.types.is_empty()); // DWARF 5 has no `.debug_types`
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct DwarfSections<'data> {
    /// `.debug_abbrev`.
    pub abbrev: &'data [u8],
    /// `.debug_addr`.
    pub addr: &'data [u8],
    /// `.debug_info`.
    pub info: &'data [u8],
    /// `.debug_line`.
    pub line: &'data [u8],
    /// `.debug_line_str`.
    pub line_str: &'data [u8],
    /// `.debug_ranges`.
    pub ranges: &'data [u8],
    /// `.debug_rnglists`.
    pub rnglists: &'data [u8],
    /// `.debug_str`.
    pub str: &'data [u8],
    /// `.debug_str_offsets`.
    pub str_offsets: &'data [u8],
    /// `.debug_types` (DWARF 4).
    pub types: &'data [u8],
    /// `.debug_cu_index` of a package.
    pub cu_index: &'data [u8],
    /// `.debug_tu_index` of a package.
    pub tu_index: &'data [u8],
}

/// A split unit's file (`.dwo`), accepted by its id.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// // `.dwo` files are taken by this id, whatever their names are.
/// let ids: Vec<u64> = image.debug[0]
///     .split
///     .iter()
///     .map(|unit: &symidx_indexer::model::SplitUnit<'_>| unit.id)
///     .collect();
/// assert!(ids.is_empty() && ids.is_sorted()); // not built with -gsplit-dwarf
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SplitUnit<'data> {
    /// `DW_AT_GNU_dwo_id` or the unit header's id, of both files.
    pub id: u64,
    /// Its `.dwo` sections under their plain names.
    pub sections: DwarfSections<'data>,
}

/// One stretch of the addresses that DWARF states, and where it lies in the image.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// let text: &symidx_indexer::model::Mapping = &image.debug[0].addresses.mappings[0];
/// assert_eq!(text.start, text.target); // linked: addresses mean themselves
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address as DWARF states it.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Index into [`super::Image::sections`].
    pub section: u32,
    /// Where `start` lies: an svma, or an offset in the section of a relocatable image.
    pub target: u64,
}

impl Mapping {
    /// True when `address` lies in it.
    pub(crate) fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.size
    }
}

/// What the addresses of one file's DWARF mean: only addresses inside a
/// mapping are code of the image; everything else is a tombstone (dead code
/// that a linker dropped).
///
/// In a linked image each executable section maps onto itself. In a
/// relocatable file the reader of the container lays the sections out one
/// after the other from a made-up address on, applies the relocations for
/// these addresses, and maps them back to (section, offset). In a Mach-O debug
/// map each function of an object maps to its place in the linked image.
///
/// ```
/// use symidx_indexer::model::{AddressMap, Mapping};
///
/// let code = Mapping { start: 0x1000, size: 0x20, section: 1, target: 0x401000 };
/// let map = AddressMap { mappings: vec![code] };
/// assert!(map.find(0).is_none()); // a tombstone: code that the linker dropped
/// assert_eq!(map.find(0x1010), Some(&code));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressMap {
    /// Sorted by `start`, not overlapping, none empty.
    pub mappings: Vec<Mapping>,
}

impl AddressMap {
    /// The mapping that holds `address`.
    ///
    /// ```
    /// use symidx_indexer::model::{AddressMap, Mapping};
    ///
    /// let map = AddressMap { mappings: vec![Mapping { start: 0, size: 4, section: 3, target: 0 }] };
    /// assert_eq!(map.find(3).unwrap().section, 3); // in a `.o`, a function truly is at 0
    /// assert!(map.find(4).is_none());
    /// ```
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        let after = self.mappings.partition_point(|mapping| mapping.start <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        (address.wrapping_sub(mapping.start) < mapping.size).then_some(mapping)
    }
}

/// One file's DWARF, not parsed yet.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// let info: &symidx_indexer::model::DebugInfo<'_> = &image.debug[0];
/// assert!(info.label.is_empty() && !info.sections.line.is_empty()); // the input's own
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DebugInfo<'data> {
    /// For messages: `""` for the input itself, else `"debug file /usr/…: "`.
    pub label: String,
    /// Its sections.
    pub sections: DwarfSections<'data>,
    /// The sections of the file that `.gnu_debugaltlink` names (dwz), matched by build-id.
    pub supplementary: Option<DwarfSections<'data>>,
    /// Split units, sorted by id.
    pub split: Vec<SplitUnit<'data>>,
    /// A package of split units (`.dwp`), matched unit by unit.
    pub package: Option<DwarfSections<'data>>,
    /// What its addresses mean.
    pub addresses: AddressMap,
    /// Byte order and machine of the file.
    pub machine: Machine,
}
