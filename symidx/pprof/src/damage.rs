//! What was wrong with a profile that could be read all the same.
//!
//! Each kind says what was lost; the rest of the profile is kept.

use std::collections::BTreeMap;
use std::fmt;

/// Something wrong, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fault {
    /// The compressed stream ended early or was broken; what came before is kept.
    Gzip,
    /// Bytes at the end that start no field; left out.
    Tail,
    /// A message inside the profile that cannot be decoded; left out.
    Message,
    /// A known field that holds something else; left out.
    FieldType,
    /// A text that is not UTF-8; its bad bytes are U+FFFD.
    Utf8,
    /// No empty text at the beginning of the string table; made empty.
    FirstString,
    /// A string that is not in the table; taken as not set.
    String,
    /// A mapping, location or function without an id; left out.
    NoId,
    /// A mapping, location or function with the id of an earlier one; left out.
    DuplicateId,
    /// A mapping that ends before it begins; holds no address.
    Range,
    /// A location in a mapping that is not there; its mapping is not known.
    NoMapping,
    /// A line of a function that is not there; left out.
    NoFunction,
    /// A frame whose location is not there; left out of its stack.
    NoLocation,
    /// A sample with more or fewer values than there are types; left out.
    Values,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip stream broken, its rest lost",
            Self::Tail => "bytes after the last field, left out",
            Self::Message => "messages that cannot be decoded, left out",
            Self::FieldType => "fields of another type, left out",
            Self::Utf8 => "texts that are not UTF-8, bad bytes replaced",
            Self::FirstString => "string table without an empty first text, made empty",
            Self::String => "strings that are not in the table, taken as not set",
            Self::NoId => "entries without an id, left out",
            Self::DuplicateId => "entries with an id that is taken, left out",
            Self::Range => "mappings that end before they begin",
            Self::NoMapping => "locations in mappings that are not there",
            Self::NoFunction => "lines of functions that are not there, left out",
            Self::NoLocation => "frames at locations that are not there, left out",
            Self::Values => "samples with too many or too few values, left out",
        })
    }
}

/// How often each fault was met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    counts: BTreeMap<Fault, u64>,
}

impl Damage {
    pub(crate) fn note(&mut self, fault: Fault) {
        let count = self.counts.entry(fault).or_insert(0);
        *count = count.saturating_add(1);
    }

    /// True for a profile without any fault.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.counts.is_empty()
    }

    /// How often a fault was met.
    #[must_use]
    pub fn count(&self, fault: Fault) -> u64 {
        self.counts.get(&fault).copied().unwrap_or(0)
    }

    /// Every fault that was met, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (Fault, u64)> {
        self.counts.iter().map(|(fault, count)| (*fault, *count))
    }
}
