//! Sections and segments of the image.
//!
//! In: the header tables. Out: [`model::Section`]s, [`Segment`]s, and which
//! file section became which of them. Ranges that wrap are clamped here; no
//! symbol is read.

use std::collections::HashMap;

use object::elf;

use super::header::File;
use super::rules;
use crate::model::{self, NO_SECTION, Report, Segment};

/// What became of a section of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Index into the image's sections.
    Section(u32),
    /// The same, of a template whose addresses are no addresses (per-CPU).
    Template(u32),
    /// Not in memory at run time: its symbols are no addresses.
    NotAllocated,
    /// Damaged, or not matched in the main file.
    Unknown,
}

/// The image's sections, and where each file section went, by number.
pub(super) struct Layout<'data> {
    /// Allocated sections in file order, or one per `PT_LOAD`.
    pub(super) sections: Vec<model::Section<'data>>,
    /// By section number.
    pub(super) places: Vec<Place>,
}

/// The highest address plus one of this class, minus one so that it fits.
fn address_limit(file: &File<'_>) -> u64 {
    if file.is_64 { u64::MAX } else { u64::from(u32::MAX) }
}

/// `size`, cut so that `address + size` does not wrap.
fn clamp(file: &File<'_>, address: u64, size: u64) -> u64 {
    size.min(address_limit(file).saturating_sub(address).saturating_add(1))
        .min(u64::MAX.saturating_sub(address))
}

/// Lays out a file by its section headers, or by its segments when it has no
/// allocated section.
pub(super) fn layout<'data>(file: &File<'data>, report: &mut Report) -> Layout<'data> {
    let kernel = rules::is_kernel_file(file);
    let mut sections = Vec::new();
    let mut places = Vec::with_capacity(file.sections.len());
    for (number, section) in file.sections.iter().enumerate() {
        if !section.is_allocated() {
            places.push(Place::NotAllocated);
            continue;
        }
        let address = if file.is_relocatable() { 0 } else { section.address };
        let size = clamp(file, address, section.size);
        if size != section.size {
            report.warn(format!(
                "section {number} ({}): its {:#x} bytes at {address:#x} run past the address space; kept {size:#x}",
                String::from_utf8_lossy(section.name),
                section.size,
            ));
        }
        let index = u32::try_from(sections.len()).unwrap_or(NO_SECTION);
        let template = kernel && rules::is_percpu_section(section.name);
        places.push(if template { Place::Template(index) } else { Place::Section(index) });
        sections.push(model::Section {
            name: section.name,
            address,
            size,
            number: u32::try_from(number).unwrap_or(NO_SECTION),
            module: None,
            execute: section.has(elf::SHF_EXECINSTR),
            write: section.has(elf::SHF_WRITE),
            tls: section.has(elf::SHF_TLS) || template,
        });
    }
    if sections.is_empty() && !file.is_relocatable() {
        sections = sections_from_segments(file);
        places.clear();
    }
    Layout { sections, places }
}

/// One section per `PT_LOAD`, without a name.
fn sections_from_segments<'data>(file: &File<'data>) -> Vec<model::Section<'data>> {
    (0u32..)
        .zip(file.programs.iter().filter(|program| program.kind == elf::PT_LOAD))
        .map(|(number, program)| model::Section {
            name: &[],
            address: program.address,
            size: clamp(file, program.address, program.memory_size),
            number,
            module: None,
            execute: program.flags & elf::PF_X.0 != 0,
            write: program.flags & elf::PF_W.0 != 0,
            tls: false,
        })
        .collect()
}

/// The loadable segments.
pub(super) fn segments(file: &File<'_>, report: &mut Report) -> Vec<Segment> {
    let loads = file.programs.iter().filter(|program| program.kind == elf::PT_LOAD);
    if file.is_debug_only() {
        let count = loads.count();
        report.skip_many(
            "segment of a separate debug file",
            u64::try_from(count).unwrap_or(u64::MAX),
        );
        return Vec::new();
    }
    let mut segments = Vec::new();
    for program in loads {
        let memory_size = clamp(file, program.address, program.memory_size);
        let file_size =
            program.file_size.min(memory_size).min(u64::MAX.saturating_sub(program.offset));
        if memory_size != program.memory_size || file_size != program.file_size {
            report.warn(format!(
                "segment at {:#x}: its sizes ({:#x} in memory, {:#x} in the file) do not fit; kept {memory_size:#x} and {file_size:#x}",
                program.address, program.memory_size, program.file_size,
            ));
        }
        segments.push(Segment {
            address: program.address,
            memory_size,
            file_offset: program.offset,
            file_size,
            read: program.flags & elf::PF_R.0 != 0,
            write: program.flags & elf::PF_W.0 != 0,
            execute: program.flags & elf::PF_X.0 != 0,
        });
    }
    segments
}

/// Where the sections of a companion lie in the main file: the section of the
/// same number if it has the same name and address, else any such section.
/// `Unknown` leaves it to `normalise` to find the section by address.
pub(super) fn match_sections(
    main: &Layout<'_>,
    main_file: &File<'_>,
    companion: &File<'_>,
) -> Vec<Place> {
    let address_of = |section: &super::header::Section<'_>| {
        if main_file.is_relocatable() { 0 } else { section.address }
    };
    let mut by_name: HashMap<(&[u8], u64), Place> = HashMap::new();
    for (section, &place) in main_file.sections.iter().zip(&main.places) {
        if place != Place::NotAllocated {
            by_name.entry((section.name, address_of(section))).or_insert(place);
        }
    }
    let mut places = Vec::with_capacity(companion.sections.len());
    for (number, section) in companion.sections.iter().enumerate() {
        if !section.is_allocated() {
            places.push(Place::NotAllocated);
            continue;
        }
        let key = (section.name, address_of(section));
        let same_number = main_file.sections.get(number).zip(main.places.get(number));
        if let Some((_, &place)) = same_number.filter(|(other, place)| {
            (other.name, address_of(other)) == key && **place != Place::NotAllocated
        }) {
            places.push(place);
            continue;
        }
        places.push(by_name.get(&key).copied().unwrap_or(Place::Unknown));
    }
    places
}
