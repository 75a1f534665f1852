//! Function descriptors of 64-bit `PowerPC`, ELF version 1.
//!
//! In: the `.opd` section. Out: the code address behind a descriptor. Where
//! the section has no bytes (a separate debug file), nothing is guessed.

use object::endian::Endianness;

use super::bytes;
use super::header::File;
use super::rules;

/// The `.opd` section of the main file, if functions go through it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptors<'data> {
    range: Option<(u64, u64)>,
    data: &'data [u8],
    endian: Endianness,
    relocatable: bool,
    section: Option<u32>,
}

impl<'data> Descriptors<'data> {
    /// Finds `.opd`; `index_of` gives the image's section for a file section number.
    pub(super) fn find(file: &File<'data>, index_of: impl Fn(usize) -> Option<u32>) -> Self {
        let mut found = Self {
            range: None,
            data: &[],
            endian: file.endian,
            relocatable: file.is_relocatable(),
            section: None,
        };
        if !rules::has_function_descriptors(file) {
            return found;
        }
        let opd = file.sections.iter().enumerate().find(|(_, section)| section.name == b".opd");
        if let Some((number, section)) = opd {
            found.range = Some((section.address, section.size));
            found.data = file.section_data_there(section);
            found.section = index_of(number);
        }
        found
    }

    /// True when the function symbol at `address` names a descriptor.
    pub(super) fn hold(&self, address: u64, section: Option<u32>) -> bool {
        match self.range {
            // Relocatable: the section number says so; the entry address is
            // in a relocation.
            Some(_) if self.relocatable => section.is_some() && section == self.section,
            Some((start, size)) => address.checked_sub(start).is_some_and(|skip| skip < size),
            None => false,
        }
    }

    /// The code address in the descriptor at `address`.
    pub(super) fn entry(&self, address: u64) -> Option<u64> {
        if self.relocatable {
            return None;
        }
        let (start, _) = self.range?;
        bytes::u64_at(self.data, address.checked_sub(start)?, self.endian)
    }
}
