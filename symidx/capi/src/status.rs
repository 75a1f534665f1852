//! Codes: what every call returns.
//!
//! In: reasons and errors of the library. Out: a stable number and its text.
//! Numbers are never used twice.

use core::ffi::CStr;

use symidx::process::{Missing, Unknown};
use symidx::{Corrupt, OpenError};

/// What a call came to. 0: done; above: there is no answer, or not all of it,
/// and why; below: the call was wrong or the system refused.
///
/// ```c
/// symidx_symbol symbol = {.size = sizeof symbol};
/// int32_t status = symidx_lookup(index, 0x400211, &symbol);
/// assert(status >= 0);            // below 0 the call was wrong
/// assert(status == SYMIDX_GAP);   // above 0 there is no answer, and why
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::upper_case_acronyms, missing_docs, reason = "constants of C")]
#[repr(i32)]
pub enum symidx_status {
    /// Done.
    SYMIDX_OK = 0,
    /// No symbol covers the address.
    SYMIDX_GAP = 1,
    /// No module holds the address.
    SYMIDX_NO_MODULE = 2,
    /// The address lies in memory without a file: heap, stack, code made at run time.
    SYMIDX_ANONYMOUS = 3,
    /// The module's index was not opened yet: symidx_resolver_open_for.
    SYMIDX_NOT_OPENED = 4,
    /// No index of the module was found.
    SYMIDX_NO_INDEX = 5,
    /// The index that was found is of another build.
    SYMIDX_STALE_INDEX = 6,
    /// The index that was found cannot be opened.
    SYMIDX_UNUSABLE_INDEX = 7,
    /// Opening the index would go past the store's bounds.
    SYMIDX_OVER_BUDGET = 8,
    /// The index is damaged there. What came before the damage is answered.
    SYMIDX_CORRUPT = 9,
    /// There is none: no such name, module, section, file or id.
    SYMIDX_NONE = 10,
    /// There is more than the caller's memory takes: the first part is there,
    /// and the number or length of all of it.
    SYMIDX_CUT = 11,
    /// The index is of a relocatable file (`.o`, `.ko`), whose sections get their
    /// addresses when it is loaded: symidx_lookup_section.
    SYMIDX_NOT_PLACED = 12,
    /// A pointer is NULL that must not be.
    SYMIDX_ERROR_NULL = -1,
    /// A pointer is not aligned to its type.
    SYMIDX_ERROR_ALIGNMENT = -2,
    /// A struct's size is none: not set by the caller?
    SYMIDX_ERROR_SIZE = -3,
    /// A number or flag is out of its range, or a path is empty.
    SYMIDX_ERROR_ARGUMENT = -4,
    /// The store is in use by a resolver: set it up before.
    SYMIDX_ERROR_IN_USE = -5,
    /// The system refused.
    SYMIDX_ERROR_IO = -6,
    /// The file is no index.
    SYMIDX_ERROR_NOT_AN_INDEX = -7,
    /// The index is of another format version: build it again.
    SYMIDX_ERROR_VERSION = -8,
    /// The index is damaged: build it again.
    SYMIDX_ERROR_BROKEN = -9,
    /// The text is not one of /proc/PID/maps.
    SYMIDX_ERROR_MAPS = -10,
}

use symidx_status as S;

/// How far below 0 the numbers go.
const LOWEST: i32 = 10;

/// Every code, in the order of their numbers.
static CODES: [(S, &CStr); 23] = [
    (S::SYMIDX_ERROR_MAPS, c"expected the text of /proc/PID/maps, found something else"),
    (S::SYMIDX_ERROR_BROKEN, c"the index is damaged; build it again: symidx build"),
    (S::SYMIDX_ERROR_VERSION, c"the index is of another format version; build it again"),
    (S::SYMIDX_ERROR_NOT_AN_INDEX, c"expected a .symidx file, found something else"),
    (S::SYMIDX_ERROR_IO, c"the system refused to open, read or map the file"),
    (S::SYMIDX_ERROR_IN_USE, c"the store is in use by a resolver; set it up before"),
    (S::SYMIDX_ERROR_ARGUMENT, c"a number or flag is out of its range, or a path is empty"),
    (S::SYMIDX_ERROR_SIZE, c"expected a struct whose size is set to its sizeof; set it"),
    (S::SYMIDX_ERROR_ALIGNMENT, c"a pointer is not aligned to its type"),
    (S::SYMIDX_ERROR_NULL, c"a pointer is NULL that must not be"),
    (S::SYMIDX_OK, c"done"),
    (S::SYMIDX_GAP, c"no symbol covers this address"),
    (S::SYMIDX_NO_MODULE, c"no module holds the address"),
    (S::SYMIDX_ANONYMOUS, c"memory without a file"),
    (S::SYMIDX_NOT_OPENED, c"the module's index was not opened"),
    (S::SYMIDX_NO_INDEX, c"no index of the module was found; build one: symidx build"),
    (S::SYMIDX_STALE_INDEX, c"the module's index is of another build; build it again"),
    (S::SYMIDX_UNUSABLE_INDEX, c"the module's index cannot be opened"),
    (S::SYMIDX_OVER_BUDGET, c"the module's index would go past the memory bound"),
    (S::SYMIDX_CORRUPT, c"the index is damaged there; build it again"),
    (S::SYMIDX_NONE, c"there is none"),
    (S::SYMIDX_CUT, c"there is more than the memory given takes"),
    (S::SYMIDX_NOT_PLACED, c"the index is of a relocatable file; look up by section"),
];

impl symidx_status {
    /// The status with a number, if it is one.
    pub(crate) fn of_code(code: i32) -> Option<Self> {
        entry(code).map(|(status, _)| *status)
    }

    /// The text of a number, any number.
    #[must_use]
    pub(crate) fn text_of(code: i32) -> &'static CStr {
        entry(code).map_or(c"no status of this library", |(_, text)| *text)
    }
}

fn entry(code: i32) -> Option<&'static (S, &'static CStr)> {
    CODES.get(usize::try_from(code.checked_add(LOWEST)?).ok()?)
}

/// The reason in one code; `Corrupt` keeps its place to itself.
impl From<Unknown> for symidx_status {
    fn from(reason: Unknown) -> Self {
        match reason {
            Unknown::NoModule => S::SYMIDX_NO_MODULE,
            Unknown::Anonymous => S::SYMIDX_ANONYMOUS,
            Unknown::NotOpened => S::SYMIDX_NOT_OPENED,
            Unknown::NoIndex => S::SYMIDX_NO_INDEX,
            Unknown::StaleIndex => S::SYMIDX_STALE_INDEX,
            Unknown::UnusableIndex => S::SYMIDX_UNUSABLE_INDEX,
            Unknown::OverBudget => S::SYMIDX_OVER_BUDGET,
            Unknown::NotPlaced => S::SYMIDX_NOT_PLACED,
            Unknown::Corrupt(_) => S::SYMIDX_CORRUPT,
            // A reason that is newer than the interface: there is no symbol.
            _ => S::SYMIDX_GAP,
        }
    }
}

impl From<Missing> for symidx_status {
    fn from(missing: Missing) -> Self {
        Unknown::from(missing).into()
    }
}

impl From<Corrupt> for symidx_status {
    fn from(_: Corrupt) -> Self {
        S::SYMIDX_CORRUPT
    }
}

impl From<&OpenError> for symidx_status {
    fn from(error: &OpenError) -> Self {
        match error {
            OpenError::Io(_) => S::SYMIDX_ERROR_IO,
            OpenError::NotAnIndex { .. } => S::SYMIDX_ERROR_NOT_AN_INDEX,
            OpenError::Version { .. } => S::SYMIDX_ERROR_VERSION,
            // What else is wrong with an index is in it.
            _ => S::SYMIDX_ERROR_BROKEN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_said_as_everywhere() {
        let text = CODES.iter().find(|(code, _)| *code == S::SYMIDX_GAP).map(|(_, text)| text);
        assert_eq!(text.map(|text| text.to_bytes()), Some(symidx::UNCOVERED.as_bytes()));
    }
}
