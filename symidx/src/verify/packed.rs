//! Verifying packed names: the dictionary, then every name by its codes.
//!
//! In: a view whose names are packed. Out: nothing, or the first broken
//! invariant. Linear in the file's size; plain names pass at once.

use crate::error::{Invariant, Violation};
use crate::format::SectionId;
use crate::open::{View, index};
use crate::packed::Dictionary;

impl View<'_> {
    /// The most bytes that distinct names which do not overlap can have.
    pub(super) fn most_name_bytes(&self) -> usize {
        // No code stands for more than 255 bytes, or for none.
        self.names.len().saturating_mul(if self.packed { 255 } else { 1 })
    }

    /// I36.
    pub(super) fn verify_dictionary(&self) -> Result<(), Violation> {
        let Some((_, dictionary, _)) = Dictionary::read(self.names).filter(|_| self.packed) else {
            return Ok(());
        };
        match (0..dictionary.phrases.len()).find(|&number| dictionary.phrase(number).is_none()) {
            None => Ok(()),
            Some(number) => {
                let at = number.saturating_mul(4).saturating_add(16);
                Err(Violation::entry(Invariant::PhraseShape, SectionId::NAMES, at))
            }
        }
    }

    /// I37. Names that tables repeat are read again, but not without end: what
    /// is left then is bounded where it is used.
    pub(super) fn verify_packed_names(&self) -> Result<(), Violation> {
        let Some((.., names)) = Dictionary::read(self.names).filter(|_| self.packed) else {
            return Ok(());
        };
        let first = self.names.len().saturating_sub(names.len());
        let records = self.records.iter().filter(|record| record.name_len.get() != 0);
        let parts = self
            .files
            .iter()
            .flat_map(|file| [(file.directory, file.directory_len), (file.name, file.name_len)]);
        let all = records
            .map(|record| (record.name, record.name_len))
            .chain(self.aliases.iter().map(|alias| (alias.name, alias.name_len)))
            .chain(self.names_only.iter().map(|only| (only.name, only.name_len)))
            .chain(self.functions.iter().map(|function| (function.name, function.name_len)))
            .chain(self.sections.iter().map(|section| (section.name, section.name_len)))
            .chain(self.regions.iter().map(|region| (region.module, region.module_len)))
            .chain(parts);
        let mut patience = self.names.len().saturating_mul(16);
        for (name, len) in all {
            let at = index(name.get());
            let wrong = || Violation::entry(Invariant::PackedName, SectionId::NAMES, at);
            let stored = self.stored_name(name.get(), len.get()).ok_or_else(wrong)?;
            if stored.is_empty() {
                continue;
            }
            if at < first {
                return Err(wrong());
            }
            let Some(mut pieces) = stored.packed().map(|packed| packed.pieces()) else { continue };
            let steps = pieces.by_ref().count();
            if !pieces.is_readable() {
                return Err(wrong());
            }
            patience = patience.saturating_add(64).saturating_sub(steps);
            if patience == 0 {
                break;
            }
        }
        Ok(())
    }
}
