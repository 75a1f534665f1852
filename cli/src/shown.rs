//! What is shown for a name: the text that its index stores, else what the
//! demangler makes of it.
//!
//! In: names of an index. Out: bytes in a buffer that is used again. Both
//! ways give the same bytes.

use symidx::{Corrupt, DisplayName, DisplayText, Match};
use symidx_indexer::demangle::{Demangler, Texts};

/// Shows names, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    enabled: bool,
    demangler: Demangler,
    text: Vec<u8>,
}

impl Shown {
    /// One that demangles, or shows every name as it is.
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, demangler: Demangler::new(enabled), text: Vec::new() }
    }

    /// What is shown for a name: what is stored for it, if anything is.
    pub(crate) fn full<'n>(
        &'n mut self,
        name: &'n [u8],
        stored: Option<DisplayName<'_>>,
    ) -> &'n [u8] {
        self.demangled(name, stored).unwrap_or(name)
    }

    /// The same, `None` for a name that is not mangled.
    pub(crate) fn demangled(
        &mut self,
        name: &[u8],
        stored: Option<DisplayName<'_>>,
    ) -> Option<&[u8]> {
        match stored.filter(|_| self.enabled) {
            Some(display) => Some(self.stored(display.full())),
            None => self.demangler.whole(name),
        }
    }

    /// The demangled name of a match, `None` when it is not mangled.
    pub(crate) fn texts(&mut self, found: &Match<'_>) -> Result<Option<Texts<'_>>, Corrupt> {
        let stored = if self.enabled { found.display_name()? } else { None };
        let Some(display) = stored else {
            return Ok(self.demangler.texts(&found.name().to_bytes()));
        };
        self.stored(display.full());
        let full = self.text.len();
        display.short().pieces().for_each(|piece| self.text.extend_from_slice(piece));
        let (full, short) = self.text.split_at_checked(full).unwrap_or_default();
        Ok(Some(Texts { full, short }))
    }

    fn stored(&mut self, text: DisplayText<'_>) -> &[u8] {
        self.text.clear();
        text.pieces().for_each(|piece| self.text.extend_from_slice(piece));
        &self.text
    }
}
