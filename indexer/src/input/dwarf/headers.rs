//! The headers of a file's units.
//!
//! In: `.debug_info`. Out: where each unit is. A damaged header costs its unit,
//! or, when it does not say where it ends, those after it.

use gimli::Reader as _;
use gimli::read::Section as _;

use super::unit::{Dwarf, Header, Slice};
use crate::model::Report;

/// After this many damaged headers the rest is not worth looking at.
const MOST_DAMAGED: usize = 1000;

/// The units of one section, by offset.
pub(super) struct Headers<'data> {
    /// Sorted by offset.
    pub(super) list: Vec<Header<'data>>,
}

impl<'data> Headers<'data> {
    /// Reads the headers of all units.
    pub(super) fn read(dwarf: &Dwarf<'data>, label: &str, report: &mut Report) -> Self {
        let mut list = Vec::new();
        let section = *dwarf.debug_info.reader();
        let mut offset = 0_usize;
        let mut damaged = 0_usize;
        while offset < section.slice().len() {
            match dwarf.debug_info.header_from_offset(gimli::DebugInfoOffset(offset)) {
                Ok(header) => {
                    offset = offset.saturating_add(header.length_including_self());
                    list.push(header);
                }
                Err(error) => {
                    let next = end_of(section, offset);
                    let kept = if next.is_some() { "the others" } else { "those before it" };
                    report.warn(format!(
                        "{label}.debug_info: at {offset:#x}: expected the header of a unit, found damage ({error}); kept {kept}"
                    ));
                    damaged = damaged.saturating_add(1);
                    match next {
                        Some(next) if damaged < MOST_DAMAGED => offset = next,
                        _ => break,
                    }
                }
            }
        }
        Self { list }
    }

    /// The unit that starts at `offset`.
    pub(super) fn at(&self, offset: usize) -> Option<&Header<'data>> {
        let place = self.list.binary_search_by_key(&offset, offset_of).ok()?;
        self.list.get(place)
    }

    /// The offset of the unit that holds `offset`.
    pub(super) fn holding(&self, offset: usize) -> Option<usize> {
        let after = self.list.partition_point(|header| offset_of(header) <= offset);
        let header = self.list.get(after.checked_sub(1)?)?;
        let start = offset_of(header);
        (offset.checked_sub(start)? < header.length_including_self()).then_some(start)
    }
}

/// The offset of a unit in `.debug_info`.
pub(super) fn offset_of(header: &Header<'_>) -> usize {
    header.debug_info_offset().map_or(0, |offset| offset.0)
}

/// Where the unit at `offset` says that it ends, when that is in the section.
fn end_of(mut section: Slice<'_>, offset: usize) -> Option<usize> {
    let size = section.len();
    section.skip(offset).ok()?;
    let (length, _) = section.read_initial_length().ok()?;
    section.skip(length).ok()?;
    size.checked_sub(section.len()).filter(|&end| end > offset)
}
