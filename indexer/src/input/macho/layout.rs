//! The layout of an image: its segment and section headers in, the model's
//! segments and sections out, and the way from a symbol to its section. Never
//! reads bytes of the file.

use object::macho::{self, FileType};

use super::commands::{Commands, Seg, never_loaded};
use crate::model;

/// Sections and segments as the model wants them, and how a symbol finds its section.
pub(super) struct Layout<'data> {
    pub(super) segments: Vec<model::Segment>,
    pub(super) sections: Vec<model::Section<'data>>,
    /// Section ordinal − 1 → index into `sections`, `None` for one that is not loaded.
    ordinals: Vec<Option<u32>>,
    /// Indexes into `sections`, sorted by address.
    by_address: Vec<u32>,
    /// Where offsets in `LC_FUNCTION_STARTS` count from.
    pub(super) text_address: Option<u64>,
}

impl<'data> Layout<'data> {
    pub(super) fn new(commands: &Commands<'data>, file_type: FileType) -> Self {
        let mut sections = Vec::new();
        let mut ordinals = Vec::new();
        for sect in &commands.sections {
            ordinals.push(sect.loaded.then(|| index_of(sections.len())));
            if sect.loaded {
                sections.push(sect.section.clone());
            }
        }
        if sections.is_empty() {
            sections.extend(sections_of_segments(&commands.segments));
        }
        let mut by_address: Vec<u32> = (0..index_of(sections.len())).collect();
        by_address.sort_by_key(|&index| section(&sections, index).map(|s| (s.address, s.size)));
        let text = commands.segments.iter().find(|segment| segment.name == b"__TEXT");
        Self {
            segments: segments(&commands.segments, file_type),
            ordinals,
            by_address,
            text_address: text.map(|text| text.segment.address),
            sections,
        }
    }

    /// The section with that ordinal; `Err` when it is not loaded, `Ok(None)` when there is none.
    pub(super) fn ordinal(&self, ordinal: u8) -> Result<Option<u32>, ()> {
        let place = usize::from(ordinal).checked_sub(1);
        match place.and_then(|place| self.ordinals.get(place)) {
            Some(Some(index)) => Ok(Some(*index)),
            Some(None) => Err(()),
            None => Ok(None),
        }
    }

    /// The section with that index into `sections`.
    pub(super) fn section(&self, index: u32) -> Option<&model::Section<'data>> {
        section(&self.sections, index)
    }

    /// The loaded section that holds an address.
    pub(super) fn holding(&self, address: u64) -> Option<u32> {
        let starts_after =
            |&index: &u32| self.section(index).is_some_and(|section| section.address <= address);
        let place = self.by_address.partition_point(starts_after).checked_sub(1)?;
        let index = *self.by_address.get(place)?;
        self.section(index).filter(|section| holds(section, address)).map(|_| index)
    }
}

fn index_of(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn section<'a, 'data>(
    sections: &'a [model::Section<'data>],
    index: u32,
) -> Option<&'a model::Section<'data>> {
    sections.get(usize::try_from(index).ok()?)
}

/// True when the address is one of the section's bytes.
pub(super) fn holds(section: &model::Section<'_>, address: u64) -> bool {
    address.checked_sub(section.address).is_some_and(|offset| offset < section.size)
}

/// The loadable segments. A dSYM repeats the addresses of the program's segments
/// but none of their bytes, so its file offsets would convert to nonsense.
fn segments(segments: &[Seg<'_>], file_type: FileType) -> Vec<model::Segment> {
    segments
        .iter()
        .filter(|segment| !matches!(segment.name, b"__PAGEZERO" | b"__DWARF"))
        .filter(|segment| segment.segment.memory_size > 0)
        .map(|segment| match file_type {
            macho::MH_DSYM => model::Segment { file_offset: 0, file_size: 0, ..segment.segment },
            _ => segment.segment,
        })
        .collect()
}

/// Where there is not one section, each segment stands for one.
fn sections_of_segments<'data>(
    segments: &[Seg<'data>],
) -> impl Iterator<Item = model::Section<'data>> {
    segments.iter().filter(|segment| !never_loaded(segment.name)).map(|Seg { name, segment }| {
        model::Section {
            name,
            address: segment.address,
            size: segment.memory_size.min(u64::MAX.saturating_sub(segment.address)),
            number: 0,
            module: None,
            execute: segment.execute,
            write: segment.write,
            tls: false,
        }
    })
}
