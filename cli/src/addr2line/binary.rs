//! What GNU addr2line finds at an address of a binary.
//!
//! In: an ELF file, and addresses or symbols. Out: frames, innermost first, with
//! GNU's own choices; none where it has nothing to say. No index is asked.

use std::collections::HashMap;

use symidx_indexer::input::nearest::{Binary, NearestFrame};

use super::find::may_be_demangled;
use crate::shown::Shown;

/// Finds frames and symbols.
pub(super) struct InBinary<'s> {
    binary: Binary<'s>,
    section: Section,
    /// Addresses by name, of the first symbol of that name: made when the first
    /// one is asked for.
    names: Option<HashMap<&'s [u8], u64>>,
}

/// What addresses count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// The image.
    Whole,
    /// A section: they are offsets in it.
    Number(u32),
}

impl<'s> InBinary<'s> {
    /// Addresses are offsets in the section if one is named; `None` when there is
    /// no such section.
    pub(super) fn new(binary: Binary<'s>, section: Option<&[u8]>) -> Option<Self> {
        let section = match section {
            None => Section::Whole,
            Some(name) => Section::Number(binary.section(name)?),
        };
        Some(Self { binary, section, names: None })
    }

    /// Addresses have 64 bits.
    pub(super) fn is_64(&self) -> bool {
        self.binary.is_64()
    }

    /// The frames of an address.
    pub(super) fn frames(&mut self, address: u64) -> Vec<NearestFrame<'s>> {
        match self.section {
            Section::Whole => self.binary.frames(address),
            Section::Number(section) => self.binary.frames_in(section, address),
        }
    }

    /// A symbol's address and so many bytes on; 0 when nobody knows it.
    pub(super) fn symbol(&mut self, name: &[u8], offset: u64) -> u64 {
        let binary = &self.binary;
        let names = self.names.get_or_insert_with(|| {
            let mut names = HashMap::new();
            for (name, address) in binary.symbols() {
                names.entry(name).or_insert(address);
            }
            names
        });
        if let Some(address) = names.get(name) {
            return address.wrapping_add(offset);
        }
        // perf asks for the symbol `,` after each address: what cannot be a
        // demangled name must not cost a walk over all names.
        if !may_be_demangled(name) {
            return 0;
        }
        let mut shown = Shown::new(true);
        let found = binary.symbols().find(|(symbol, _)| shown.full(symbol, None) == name);
        found.map_or(0, |(_, address)| address.wrapping_add(offset))
    }
}
