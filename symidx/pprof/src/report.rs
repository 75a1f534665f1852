//! What symbolizing came to: counts for each mapping, and the reasons of every unknown.

use std::collections::BTreeMap;
use std::fmt;

/// Why a location has no names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Unknown {
    /// The location states no address.
    NoAddress,
    /// No mapping holds the address.
    NoMapping,
    /// Several mappings hold the address, and the location names none.
    SeveralMappings,
    /// The address is not in the mapping that the location names.
    OutsideMapping,
    /// The mapping's file has no index: see [`MappingReport::error`].
    NoIndex,
    /// How far the kernel, or its module, was moved cannot be told.
    NotPlaced,
    /// The mapped part of the file is no segment that its index knows.
    NoSegment,
    /// A function that begins there has no name.
    Unnamed,
    /// No symbol covers the address.
    Gap,
    /// The index is damaged there.
    Corrupt,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAddress => "no address stated",
            Self::NoMapping => "no mapping holds the address",
            Self::SeveralMappings => "several mappings hold the address",
            Self::OutsideMapping => "address outside its mapping",
            Self::NoIndex => "no index",
            Self::NotPlaced => "load address of the kernel or module not known",
            Self::NoSegment => "no segment holds the file offset",
            Self::Unnamed => "function without a name",
            Self::Gap => symidx::UNCOVERED,
            Self::Corrupt => "index damaged",
        })
    }
}

/// What became of the locations of one mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingReport {
    /// Its id; `None` for locations without a mapping.
    pub mapping: Option<u64>,
    /// Its file, as the profile names it.
    pub filename: String,
    /// Its build-id, as the profile states it.
    pub build_id: String,
    /// How many locations are in it.
    pub locations: u64,
    /// How many got names now.
    pub symbolized: u64,
    /// How many had names before and kept them.
    pub kept: u64,
    /// Why the others have none.
    pub unknown: BTreeMap<Unknown, u64>,
    /// Why there is no index.
    pub error: Option<String>,
}

/// What became of all locations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// One for each mapping that has locations, in the profile's order; then
    /// one for locations without a mapping.
    pub mappings: Vec<MappingReport>,
}

impl Report {
    fn sum(&self, count: impl Fn(&MappingReport) -> u64) -> u64 {
        self.mappings.iter().map(count).fold(0, u64::saturating_add)
    }

    /// How many locations there are.
    #[must_use]
    pub fn locations(&self) -> u64 {
        self.sum(|mapping| mapping.locations)
    }

    /// How many got names now.
    #[must_use]
    pub fn symbolized(&self) -> u64 {
        self.sum(|mapping| mapping.symbolized)
    }

    /// How many had names before.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.sum(|mapping| mapping.kept)
    }
}
