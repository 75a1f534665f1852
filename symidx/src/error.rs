//! What can be wrong with an index, and where.

use core::fmt;

use crate::format::SectionId;

/// Why an index has no answer for an address that is its own: the one wording of it.
pub const UNCOVERED: &str = "no symbol covers this address";

/// The file breaks a promise that a query relied on. Building the index again
/// is the cure; nothing else in the process is affected.
///
/// ```
/// use symidx::{Corrupt, format::SectionId};
///
/// let error = Corrupt { section: SectionId::NAMES, offset: 0x40 };
/// assert_eq!(
///     error.to_string(),
///     "corrupt index: section names is wrong at its offset 0x40; build the index again"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt {
    /// The section whose bytes are wrong.
    pub section: SectionId,
    /// Offset of the offending entry or byte in that section.
    pub offset: u64,
}

impl Corrupt {
    /// The `index`th entry of a table section.
    #[cold]
    pub(crate) fn entry(section: SectionId, index: u32) -> Self {
        let size = section.entry_size().unwrap_or(1);
        Self { section, offset: u64::from(index).saturating_mul(u64::from(size)) }
    }
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "corrupt index: section {} is wrong at its offset {:#x}; build the index again",
            self.section.name().unwrap_or("?"),
            self.offset
        )
    }
}

impl core::error::Error for Corrupt {}

/// Why an index cannot be opened.
///
/// ```
/// use symidx::{Index, OpenError};
///
/// // Each has its own cure: no index, an index of another release, a damaged one.
/// let error = Index::from_bytes(b"\x7fELF and so on").unwrap_err();
/// assert!(matches!(error, OpenError::NotAnIndex { found } if found.starts_with(b"\x7fELF")));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The operating system refused to open, read or map the file.
    #[cfg(feature = "std")]
    Io(std::io::Error),
    /// The bytes do not start with [`crate::format::MAGIC`].
    NotAnIndex {
        /// The first bytes, zero-padded.
        found: [u8; 8],
    },
    /// Another version of the format, or a feature this version cannot know.
    Version {
        /// The version found.
        found: u32,
    },
    /// An invariant that `open` checks does not hold.
    Broken(Violation),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "std")]
            Self::Io(error) => write!(f, "cannot open: {error}"),
            Self::NotAnIndex { found } => {
                write!(f, "expected a .symidx file (89 53 59 4d 49 44 58 0a), found")?;
                for byte in found {
                    write!(f, " {byte:02x}")?;
                }
                write!(f, "; build an index of this file first")
            }
            Self::Version { found } => write!(
                f,
                "expected format version {}, found {found}; build the index again with this release",
                crate::format::VERSION
            ),
            Self::Broken(violation) => violation.fmt(f),
        }
    }
}

impl core::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            #[cfg(feature = "std")]
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(feature = "std")]
impl From<std::io::Error> for OpenError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Violation> for OpenError {
    fn from(violation: Violation) -> Self {
        Self::Broken(violation)
    }
}

/// An invariant of the format that does not hold, and where.
///
/// ```
/// use symidx::{Index, Invariant, OpenError};
///
/// let file = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx"));
/// // A file that was cut short: which promise is broken, and by how much.
/// let Err(OpenError::Broken(violation)) = Index::from_bytes(&file[..1000]) else { panic!() };
/// assert_eq!(violation.invariant, Invariant::FileSize);
/// assert_eq!(violation.numbers, Some((3213, 1000)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which promise is broken.
    pub invariant: Invariant,
    /// The section it was found in; `None` for header and section table.
    pub section: Option<SectionId>,
    /// Offset in that section, or in the file.
    pub offset: u64,
    /// The number expected there and the one found, where it is a number.
    pub numbers: Option<(u64, u64)>,
}

impl Violation {
    #[cold]
    pub(crate) fn header(invariant: Invariant, offset: u64) -> Self {
        Self { invariant, section: None, offset, numbers: None }
    }

    /// The `index`th entry of a table section.
    #[cold]
    pub(crate) fn entry(invariant: Invariant, section: SectionId, index: usize) -> Self {
        let size = u64::from(section.entry_size().unwrap_or(1));
        let index = u64::try_from(index).unwrap_or(u64::MAX);
        let offset = index.saturating_mul(size);
        Self { invariant, section: Some(section), offset, numbers: None }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invariant {} does not hold: expected ", self.invariant.number())?;
        f.write_str(self.invariant.text())?;
        if let Some((expected, found)) = self.numbers {
            return write!(f, ", {expected}, found {found}; build the index again");
        }
        match self.section.and_then(SectionId::name) {
            Some(name) => write!(f, ", found otherwise in section {name} at {:#x}", self.offset)?,
            None => write!(f, ", found otherwise at file offset {:#x}", self.offset)?,
        }
        f.write_str("; build the index again")
    }
}

impl core::error::Error for Violation {}

macro_rules! invariants {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        /// The numbered invariants of `FORMAT.md`.
        ///
        /// ```
        /// use symidx::Invariant;
        ///
        /// // What `verify` checks, as a list for people.
        /// for invariant in Invariant::ALL {
        ///     println!("{} {}", invariant.number(), invariant.text());
        /// }
        /// assert_eq!(Invariant::ALL.first(), Some(&Invariant::HeaderComplete));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Invariant {
            $(#[doc = concat!("I", $number, ": ", $text, ".")] $name,)*
        }

        impl Invariant {
            /// All of them, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The number it has in `FORMAT.md`, with its letter: `I7`.
            ///
            /// ```
            /// assert_eq!(symidx::Invariant::SectionKnown.number(), "I7");
            /// ```
            #[must_use]
            pub const fn number(self) -> &'static str {
                match self { $(Self::$name => concat!("I", $number),)* }
            }

            /// What is promised, in words: what was expected of the file.
            ///
            /// ```
            /// assert_eq!(symidx::Invariant::HeaderComplete.text(), "a whole 128-byte header");
            /// ```
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

invariants! {
    HeaderComplete = 1, "a whole 128-byte header";
    FlagsKnown = 2, "no required flag, no reserved bit and a known address kind";
    FileSize = 3, "the file size stated in the header";
    TableComplete = 4, "a whole section table of at most 64 entries";
    SectionPlaced = 5, "every section inside the file, aligned to 64 bytes, in file order and not overlapping";
    SectionShape = 6, "a size that is a whole number of entries, and entries of the size of this version";
    SectionKnown = 7, "required sections present once, and no unknown required section or encoding";
    IdentityShape = 8, "one identity entry whose id fits its kind";
    RegionShape = 9, "regions of 1 to 2^32 bytes that lie in the address space, with at least one record";
    RegionOrder = 10, "regions in key order that do not overlap";
    RegionTables = 11, "each region's records and buckets inside their sections";
    HotRegion = 12, "a hot region that exists, or none";
    RecordOrder = 13, "records sorted by start inside their region, the first at or after its base";
    RecordShape = 14, "a record with known attributes and a size that stays in the address space";
    BucketsRight = 15, "each bucket naming the first record at or after its first address";
    ResumeRight = 16, "a resume record that names an earlier record, not itself a resume, whose symbol reaches it";
    NameInside = 17, "every name inside the names section";
    AliasOrder = 18, "aliases sorted by an existing owner that says it has aliases";
    NameOnlyOrder = 19, "names without address sorted by value";
    NameIndex = 20, "every name once in the name order, in the bucket of its hash and with its tag";
    LargeOrder = 21, "large sizes sorted by record, each for a record that points to it";
    ImageSectionShape = 22, "image sections that lie in the address space, sorted by address unless relocatable, with their regions";
    SegmentShape = 23, "segments that lie in the address space, no larger in the file than in memory";
    PaddingZero = 24, "zero bytes between the sections";
    SectionHash = 25, "each section's BLAKE3 as in the section table";
    FileHash = 26, "the BLAKE3 of header and section table as in the header";
    MetadataShape = 27, "metadata that validates";
    LineSpanShape = 28, "line spans in key order that do not overlap, with their windows and lines inside their sections";
    WindowOrder = 29, "windows of a span end to end in the lines section";
    WindowShape = 30, "a window that is whole: ascending starts, rows that pick its entries, all long values";
    NodeShape = 31, "a node of an existing function and file, linked to a root by at most 511 steps, that names the symbol if it says so";
    FunctionShape = 32, "functions of an existing file";
    DisplayOrder = 33, "display names sorted by name, each in the bucket of its name";
    DisplayTexts = 34, "display texts of 1 to 8 pieces inside their section";
    DictionaryWhole = 35, "packed names that begin with a whole dictionary and count in single bytes";
    PhraseShape = 36, "phrases of at least one byte inside the dictionary's text";
    PackedName = 37, "packed names of phrases, digits and bytes that lie behind the dictionary";
}
