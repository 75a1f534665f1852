//! What was wrong with a profile that could be read all the same.
//!
//! Each kind says what was lost; the rest of the profile is kept.

use std::collections::BTreeMap;
use std::fmt;

/// Something wrong, and what became of it.
///
/// ```
/// use symidx_pprof::{Fault, Limits, Profile};
///
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/pprof/cpu.pb.gz");
/// let mut file = std::fs::read(path)?;
/// file.truncate(file.len() - 4); // a download that was cut
/// let (_, damage) = Profile::read(file.as_slice(), Limits::default())?;
/// assert_eq!(damage.count(Fault::Gzip), 1); // all that came before is there
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
///
/// ```
/// use symidx_pprof::{Limits, Profile};
///
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/pprof/cpu.pb.gz");
/// let (profile, damage) = Profile::read(std::fs::File::open(path)?, Limits::default())?;
/// for (fault, count) in damage.iter() {
///     eprintln!("{count} {fault}");
/// }
/// assert!(damage.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    ///
    /// ```
    /// use symidx_pprof::{Limits, Profile};
    ///
    /// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/pprof/go.pb.gz");
    /// let (_, damage) = Profile::read(std::fs::File::open(path)?, Limits::default())?;
    /// assert!(damage.is_none()); // nothing was left out or repaired
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.counts.is_empty()
    }

    /// How often a fault was met.
    ///
    /// ```
    /// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    /// use symidx_pprof::{Fault, Limits, Profile};
    ///
    /// profile.samples[0].location_id.push(7); // a location that is not there
    /// let mut bytes = Vec::new();
    /// profile.write_plain(&mut bytes)?;
    /// let (read, damage) = Profile::read(bytes.as_slice(), Limits::default())?;
    /// assert_eq!(damage.count(Fault::NoLocation), 1);
    /// assert_eq!(read.samples[0].location_id, [1, 2]); // the rest of the stack is kept
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn count(&self, fault: Fault) -> u64 {
        self.counts.get(&fault).copied().unwrap_or(0)
    }

    /// Every fault that was met, and how often.
    ///
    /// ```
    /// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    /// use symidx_pprof::{Fault, Limits, Profile};
    ///
    /// profile.samples[0].value.pop();
    /// let mut bytes = Vec::new();
    /// profile.write_plain(&mut bytes)?;
    /// let (_, damage) = Profile::read(bytes.as_slice(), Limits::default())?;
    /// assert_eq!(damage.iter().collect::<Vec<_>>(), [(Fault::Values, 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (Fault, u64)> {
        self.counts.iter().map(|(fault, count)| (*fault, *count))
    }
}
