//! The GNU build-id.
//!
//! In: note sections and segments. Out: the id's bytes. Other notes are
//! stepped over; a damaged note ends its list.

use object::{Endianness, elf};

use super::bytes::{self, Budget};
use super::header::File;
use crate::model::Report;

/// An id longer than this is cut: nothing writes one.
const MAX_ID: usize = 64;

/// The build-id of a file, if it has one.
pub(super) fn build_id(file: &File<'_>, report: &mut Report) -> Option<Vec<u8>> {
    let sections = file
        .sections
        .iter()
        .filter(|section| section.kind == elf::SHT_NOTE)
        .map(|section| (file.section_data_there(section), 0));
    let use_segments = !file.is_debug_only();
    let segments =
        file.programs.iter().filter(|program| program.kind == elf::PT_NOTE && use_segments).map(
            |program| {
                (bytes::part_there(file.data, program.offset, program.file_size), program.align)
            },
        );
    let mut budget = Budget::for_file(file.data, 2);
    for (notes, align) in sections.chain(segments) {
        if !budget.take(bytes::length(notes)) {
            report.warn("notes: many headers claim the same bytes; stopped looking for a build-id");
            return None;
        }
        if let Some(id) = build_id_in(file.endian, notes, align) {
            if id.len() > MAX_ID {
                report.warn(format!(
                    "build-id: expected at most {MAX_ID} bytes, found {}; kept the first {MAX_ID}",
                    id.len()
                ));
            }
            return Some(id.get(..MAX_ID).unwrap_or(id).to_vec());
        }
    }
    None
}

/// The build-id among notes that the running kernel shows, in this machine's byte order.
pub(in crate::input) fn build_id_in_notes(notes: &[u8]) -> Option<Vec<u8>> {
    let id = build_id_in(Endianness::default(), notes, 4)?;
    Some(id.get(..MAX_ID).unwrap_or(id).to_vec())
}

fn build_id_in(endian: Endianness, notes: &[u8], align: u64) -> Option<&[u8]> {
    const HEADER: u64 = 12;
    // Only property notes are aligned to 8, and only in segments that say so.
    let align = if align == 8 { 8 } else { 4 };
    let mut offset = 0u64;
    loop {
        let name_size = u64::from(bytes::u32_at(notes, offset, endian)?);
        let field = |skip| bytes::u32_at(notes, offset.checked_add(skip)?, endian);
        let size = u64::from(field(4)?);
        let kind = field(8)?;
        let name_at = offset.checked_add(HEADER)?;
        let name = bytes::part(notes, name_at, name_size)?;
        let content_at = name_at.checked_add(name_size)?.checked_next_multiple_of(align)?;
        let content = bytes::part(notes, content_at, size)?;
        if kind == elf::NT_GNU_BUILD_ID.0 && name.starts_with(b"GNU") && !content.is_empty() {
            return Some(content);
        }
        offset = content_at.checked_add(size)?.checked_next_multiple_of(align)?;
    }
}
