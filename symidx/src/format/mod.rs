//! The one home of every byte on disk: records, numbers and flags of a `.symidx` file.
//!
//! Reader and writer both use these definitions; `FORMAT.md` explains them and
//! a test compares its byte tables with these types. This module never reads
//! or writes anything.
//!
//! Everything is little-endian and unaligned-safe: the integers are zerocopy's
//! byte-order types, so a file can be used at any address of any host.
//!
//! ```
//! # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
//! use symidx::format::{Header, MAGIC, VERSION};
//! use zerocopy::FromBytes;
//!
//! let (header, _) = Header::ref_from_prefix(index.as_bytes()).unwrap();
//! assert_eq!((header.magic, header.version.get()), (MAGIC, VERSION));
//! assert_eq!(header.file_size.get(), index.as_bytes().len() as u64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

mod attrs;
mod display;
pub mod lines;
mod name_hash;
mod packed;

pub use attrs::{Attrs, Binding, Extent, Kind};
pub use display::{Display, DisplayPiece, MAX_PIECES, display_bucket_of};
pub(crate) use name_hash::name_hash_of;
pub use name_hash::{bucket_of, fingerprint, name_hash, split_version};
pub use packed::{
    CODE_HEX, CODE_LITERAL, ENCODING_PACKED, HEX_DIGITS, MAX_PHRASES, ONE_BYTE_CODES, PackedHead,
    Phrase,
};

/// First bytes of every file. The high bit and the line feed catch transfers
/// that strip or translate bytes.
pub const MAGIC: [u8; 8] = *b"\x89SYMIDX\n";

/// The only version this release reads and writes. An index is derived data:
/// the cure for another version is to build it again.
pub const VERSION: u32 = 1;

/// Every section starts at a multiple of this many bytes; the bytes between are zero.
pub const SECTION_ALIGN: u64 = 64;

/// At most this many sections in a file.
pub const MAX_SECTIONS: u32 = 64;

/// "None" in a `u32` index field.
pub const NONE: u32 = u32::MAX;

/// A `size` of this value is too large for the field: look in [`SectionId::LARGE`].
pub const LARGE_SIZE: u32 = u32::MAX;

/// A `name_len` of this value is too large for the field: the length is the
/// `u32` in front of the name's bytes.
pub const LONG_NAME: u16 = u16::MAX;

/// Bytes of identity kept inline.
pub const MAX_ID: usize = 64;

/// Value of [`Header::addresses`]: keys are svmas.
pub const ADDRESSES_SVMA: u32 = 0;
/// Value of [`Header::addresses`]: keys are (image section, offset).
pub const ADDRESSES_SECTION: u32 = 1;

/// Value of [`Identity::id_kind`]: no identity but the content hash.
pub const ID_NONE: u32 = 0;
/// Value of [`Identity::id_kind`]: GNU build-id.
pub const ID_BUILD_ID: u32 = 1;
/// Value of [`Identity::id_kind`]: Mach-O UUID.
pub const ID_UUID: u32 = 2;

/// Value of [`Identity::container`]: ELF.
pub const CONTAINER_ELF: u8 = 1;
/// Value of [`Identity::container`]: Mach-O.
pub const CONTAINER_MACHO: u8 = 2;
/// Value of [`Identity::container`]: kallsyms text.
pub const CONTAINER_KALLSYMS: u8 = 3;
/// Value of [`Identity::container`]: the text of a perf map.
pub const CONTAINER_PERF_MAP: u8 = 4;
/// Value of [`Identity::container`]: a jitdump file.
pub const CONTAINER_JITDUMP: u8 = 5;

/// Bit of [`Identity::image_flags`]: 64-bit image.
pub const IMAGE_64: u8 = 1;
/// Bit of [`Identity::image_flags`]: big-endian image.
pub const IMAGE_BIG_ENDIAN: u8 = 2;

/// Bit of [`Region::flags`]: holds code.
pub const REGION_CODE: u16 = 1;

/// Bit of [`ImageSection::flags`]: executable.
pub const SECTION_EXECUTE: u16 = 1;
/// Bit of [`ImageSection::flags`]: writable.
pub const SECTION_WRITE: u16 = 2;
/// Bit of [`ImageSection::flags`]: thread-local template.
pub const SECTION_TLS: u16 = 4;

/// Bit of [`Segment::flags`]: readable.
pub const SEGMENT_READ: u32 = 1;
/// Bit of [`Segment::flags`]: writable.
pub const SEGMENT_WRITE: u32 = 2;
/// Bit of [`Segment::flags`]: executable.
pub const SEGMENT_EXECUTE: u32 = 4;

/// Bit of [`SectionEntry::flags`]: a reader that does not know this section's
/// id or encoding must refuse the file. Without it, it must skip the section.
pub const ENTRY_REQUIRED: u32 = 1;

/// The number of a file section.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::format::SectionId;
///
/// // A reader skips what it does not know, unless it is required.
/// let unknown = index.file_sections().filter(|section| section.id.name().is_none());
/// assert_eq!(unknown.count(), 0);
/// assert_eq!(SectionId::RECORDS.name(), Some("records"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionId(pub u32);

macro_rules! section_ids {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal, $entry:expr;)*) => {
        impl SectionId {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// Every id of this version, in file order, reserved ones included.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The section's name as printed, `None` for an unknown id.
            ///
            /// ```
            /// use symidx::format::SectionId;
            ///
            /// assert_eq!(SectionId::LINE_SPANS.name(), Some("line-spans"));
            /// assert_eq!(SectionId(1000).name(), None);
            /// ```
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 { $($number => Some($text),)* _ => None }
            }

            /// Bytes of one entry of a table section, 1 for plain bytes,
            /// `None` for an unknown or reserved id.
            ///
            /// ```
            /// use symidx::format::SectionId;
            ///
            /// assert_eq!(SectionId::RECORDS.entry_size(), Some(16));
            /// assert_eq!(SectionId::NAMES.entry_size(), Some(1)); // plain bytes
            /// ```
            #[must_use]
            pub const fn entry_size(self) -> Option<u32> {
                match self.0 { $($number => $entry,)* _ => None }
            }
        }
    };
}

section_ids! {
    /// Who the input was ([`Identity`]).
    IDENTITY = 1, "identity", Some(192);
    /// Address regions ([`Region`]), in key order.
    REGIONS = 2, "regions", Some(48);
    /// Loadable segments ([`Segment`]).
    SEGMENTS = 3, "segments", Some(40);
    /// Sections of the input ([`ImageSection`]).
    IMAGE_SECTIONS = 4, "image-sections", Some(32);
    /// Bucket tables of the regions (`u32`): first record of each bucket, and the end.
    BUCKETS = 5, "buckets", Some(4);
    /// What each stretch of addresses answers ([`Record`]), sorted by start in each region.
    RECORDS = 6, "records", Some(16);
    /// Sizes that do not fit a record ([`Large`]).
    LARGE = 7, "large", Some(16);
    /// Further names ([`Alias`]), by owner.
    ALIASES = 8, "aliases", Some(16);
    /// Names that answer no address ([`NameOnly`]).
    NAMES_ONLY = 9, "names-only", Some(24);
    /// First position in [`SectionId::NAME_ORDER`] of each hash bucket (`u32`), and the end.
    NAME_BUCKETS = 10, "name-buckets", Some(4);
    /// Name ids in hash order (`u32`).
    NAME_ORDER = 11, "name-order", Some(4);
    /// One byte of hash per name id, in the same order.
    NAME_TAGS = 12, "name-tags", Some(1);
    /// Provenance, rkyv-archived.
    METADATA = 13, "metadata", Some(1);
    /// The names' bytes.
    NAMES = 14, "names", Some(1);
    /// Windows of line rows, end to end.
    LINES = 32, "lines", Some(1);
    /// Nodes: which function was inlined into which, and where it was called.
    INLINES = 33, "inlines", Some(1);
    /// Source files ([`lines::FileEntry`]).
    FILES = 34, "files", Some(12);
    /// Reserved: packed names.
    PACKED_NAMES = 35, "packed-names", None;
    /// What is shown for names ([`Display`]), by name.
    DISPLAY = 36, "display-names", Some(16);
    /// The texts of the display names.
    DISPLAY_TEXT = 37, "display-text", Some(1);
    /// Functions of rows and nodes ([`lines::FunctionEntry`]).
    FUNCTIONS = 38, "functions", Some(12);
    /// Where each window starts, counted from its span's (`u32`), and the end of the last.
    LINE_WINDOWS = 40, "line-windows", Some(4);
    /// First entry of [`SectionId::DISPLAY`] of each bucket (`u32`), and the end.
    DISPLAY_BUCKETS = 41, "display-buckets", Some(4);
    /// Stretches of address space with lines ([`lines::LineSpan`]), in key order.
    LINE_SPANS = 42, "line-spans", Some(40);
}

impl SectionId {
    /// True for the sections that a reader must know to answer with symbols:
    /// all but metadata and what lines and display names are made of.
    ///
    /// ```
    /// use symidx::format::SectionId;
    ///
    /// assert!(SectionId::RECORDS.is_required());
    /// assert!(!SectionId::LINES.is_required()); // names are right without lines
    /// ```
    #[must_use]
    pub const fn is_required(self) -> bool {
        self.0 < Self::LINES.0 && self.0 != Self::METADATA.0
    }
}

/// Encoding 0 of every section: as described for its id.
pub const ENCODING_PLAIN: u32 = 0;

/// The first 128 bytes of the file.
///
/// ```
/// use symidx::format::Header;
/// use zerocopy::FromBytes;
///
/// let file = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx"));
/// let (header, _) = Header::ref_from_prefix(file).unwrap(); // in place, at any address
/// assert_eq!((header.section_count.get(), header.file_size.get()), (18, 3213));
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: U32,
    /// Must be zero: a set bit means something this reader cannot know.
    pub required_flags: U32,
    /// May be anything; readers ignore it, writers of this version write zero.
    pub ignored_flags: U32,
    /// Entries in the section table that follows the header.
    pub section_count: U32,
    /// Bytes of the whole file.
    pub file_size: U64,
    /// [`ADDRESSES_SVMA`] or [`ADDRESSES_SECTION`].
    pub addresses: U32,
    /// Index of the region with code that has the most records, or [`NONE`].
    pub hot_region: U32,
    /// Names start at `name << name_shift` in the names section.
    pub name_shift: U32,
    /// Must be zero.
    pub reserved: [u8; 52],
    /// BLAKE3 of header and section table with this field zero. The table
    /// holds each section's own hash, so this is the hash of the whole file.
    pub hash: [u8; 32],
}

/// One entry of the section table, 64 bytes. Entries are sorted by offset.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::format::{Header, SectionEntry, SectionId};
/// use zerocopy::FromBytes;
///
/// let table = &index.as_bytes()[size_of::<Header>()..];
/// let (first, _) = SectionEntry::ref_from_prefix(table).unwrap();
/// assert_eq!((first.id.get(), first.size.get()), (SectionId::IDENTITY.0, 192));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SectionEntry {
    /// [`SectionId`].
    pub id: U32,
    /// [`ENTRY_REQUIRED`]; all other bits must be zero.
    pub flags: U32,
    /// How the bytes are encoded: [`ENCODING_PLAIN`], or [`ENCODING_PACKED`] for names.
    pub encoding: U32,
    /// Bytes of one entry, as [`SectionId::entry_size`].
    pub entry_size: U32,
    /// File offset of the first byte, a multiple of [`SECTION_ALIGN`].
    pub offset: U64,
    /// Bytes, a multiple of `entry_size`.
    pub size: U64,
    /// BLAKE3 of the section's bytes.
    pub hash: [u8; 32],
}

/// Who the input was, 192 bytes.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::format::{CONTAINER_ELF, ID_BUILD_ID};
///
/// let identity: &symidx::format::Identity = index.identity();
/// assert_eq!((identity.container, identity.machine.get()), (CONTAINER_ELF, 62)); // x86-64
/// assert_eq!((identity.id_kind.get(), identity.id_len.get()), (ID_BUILD_ID, 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Identity {
    /// [`ID_NONE`], [`ID_BUILD_ID`] or [`ID_UUID`].
    pub id_kind: U32,
    /// Bytes used of `id`.
    pub id_len: U32,
    /// Build-id or UUID, zero-padded.
    pub id: [u8; MAX_ID],
    /// Bytes of the input file.
    pub input_size: U64,
    /// BLAKE3 of the input file.
    pub input_hash: [u8; 32],
    /// BLAKE3 over the build options and the hashes of every file read: equal
    /// digest, equal index.
    pub inputs_digest: [u8; 32],
    /// One of the `CONTAINER_…` values, such as [`CONTAINER_ELF`].
    pub container: u8,
    /// [`IMAGE_64`], [`IMAGE_BIG_ENDIAN`]; all other bits must be zero.
    pub image_flags: u8,
    /// Must be zero.
    pub reserved: [u8; 2],
    /// ELF `e_machine` or Mach-O `cputype`.
    pub machine: U32,
    /// Mach-O `cpusubtype` without capability bits.
    pub subtype: U32,
    /// Must be zero.
    pub reserved2: [u8; 4],
    /// Offset of the slice in a fat input; 0 otherwise.
    pub slice_offset: U64,
    /// Bytes of the slice; the input's size otherwise.
    pub slice_size: U64,
    /// Must be zero.
    pub reserved3: [u8; 16],
}

/// A stretch of the address space whose records are searched together, 48 bytes.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/kallsyms.symidx")))?;
/// use symidx::format::{Region, SectionId};
///
/// // The kernel has one for its text, one for its data, one per part of a module.
/// let regions = index.file_sections().find(|section| section.id == SectionId::REGIONS).unwrap();
/// assert_eq!(regions.size, 5 * size_of::<Region>() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Region {
    /// First address: an svma; in a relocatable file an offset in the section.
    pub base: U64,
    /// Bytes covered, 1 to 2^32.
    pub size: U64,
    /// First of its records.
    pub first: U32,
    /// Number of its records, at least 1.
    pub count: U32,
    /// First of its entries in the buckets section.
    pub bucket_first: U32,
    /// Number of its buckets; one more entry, the end, follows them.
    pub bucket_count: U32,
    /// log2 of the bytes of address space per bucket, at most 31.
    pub shift: U32,
    /// Index of the image section (relocatable files), else [`NONE`].
    pub section: U32,
    /// Kernel module's name: offset in the names section (shifted as usual).
    pub module: U32,
    /// Bytes of the module's name; 0 = no module.
    pub module_len: U16,
    /// [`REGION_CODE`]; all other bits must be zero.
    pub flags: U16,
}

/// A loadable segment, 40 bytes.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::format::SEGMENT_EXECUTE;
///
/// let code: &symidx::format::Segment =
///     index.segments().iter().find(|s| s.flags.get() & SEGMENT_EXECUTE != 0).unwrap();
/// assert_eq!((code.address.get(), code.file_offset.get()), (0x400170, 0x170));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Segment {
    /// First svma.
    pub address: U64,
    /// Bytes in memory.
    pub memory_size: U64,
    /// First file offset.
    pub file_offset: U64,
    /// Bytes in the file.
    pub file_size: U64,
    /// [`SEGMENT_READ`], [`SEGMENT_WRITE`], [`SEGMENT_EXECUTE`].
    pub flags: U32,
    /// Must be zero.
    pub reserved: U32,
}

/// An allocated section of the input, 32 bytes.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::format::{ImageSection, SECTION_WRITE, SectionId};
/// use zerocopy::FromBytes;
///
/// let file = index.file_sections().find(|section| section.id == SectionId::IMAGE_SECTIONS).unwrap();
/// let bytes = &index.as_bytes()[file.offset as usize..][..file.size as usize];
/// let sections = <[ImageSection]>::ref_from_bytes(bytes).unwrap();
/// assert!(sections.last().unwrap().flags.get() & SECTION_WRITE != 0); // .bss
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ImageSection {
    /// First svma; 0 in a relocatable file.
    pub address: U64,
    /// Bytes in memory.
    pub size: U64,
    /// Its name in the names section.
    pub name: U32,
    /// Bytes of its name.
    pub name_len: U16,
    /// [`SECTION_EXECUTE`], [`SECTION_WRITE`], [`SECTION_TLS`].
    pub flags: U16,
    /// Number in the input's own section table.
    pub number: U32,
    /// First region of a relocatable file's section, else [`NONE`].
    pub region: U32,
}

/// What the addresses from `start` on answer, 16 bytes: four to a cache line.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::format::{Record, SectionId};
/// use zerocopy::FromBytes;
///
/// let file = index.file_sections().find(|section| section.id == SectionId::RECORDS).unwrap();
/// let bytes = &index.as_bytes()[file.offset as usize..][..file.size as usize];
/// let records = <[Record]>::ref_from_bytes(bytes).unwrap();
/// assert!(records.is_sorted_by_key(|record| record.start.get())); // ready for binary search
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Record {
    /// First address, from the region's base. Sorted; of several records
    /// with one start the last is found by address, and the others are there
    /// for the records that resume them.
    pub start: U32,
    /// Bytes the symbol reaches over from its start, or [`LARGE_SIZE`].
    pub size: U32,
    /// Its name in the names section; for [`Kind::Resume`] the record whose
    /// symbol goes on here, an earlier one.
    pub name: U32,
    /// Bytes of its name, or [`LONG_NAME`].
    pub name_len: U16,
    /// [`Attrs`].
    pub attrs: U16,
}

/// A size too large for a record, 16 bytes; sorted by `record`.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/rich.symidx")))?;
/// use symidx::format::{LARGE_SIZE, Large, SectionId};
/// use zerocopy::FromBytes;
///
/// let file = index.file_sections().find(|section| section.id == SectionId::LARGE).unwrap();
/// let (huge, _) = Large::ref_from_prefix(&index.as_bytes()[file.offset as usize..]).unwrap();
/// assert!(huge.size.get() == 5 << 30 && huge.size.get() > u64::from(LARGE_SIZE));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Large {
    /// Index of the record.
    pub record: U32,
    /// Must be zero.
    pub reserved: U32,
    /// The size, at least [`LARGE_SIZE`].
    pub size: U64,
}

/// A further name of a record, 16 bytes; sorted by `owner`, then by table order.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::format::{Alias, SectionId};
/// use zerocopy::FromBytes;
///
/// let file = index.file_sections().find(|section| section.id == SectionId::ALIASES).unwrap();
/// let (first, _) = Alias::ref_from_prefix(&index.as_bytes()[file.offset as usize..]).unwrap();
/// assert_eq!(first.owner.get(), 5); // `__bss_start`, of the last record, `sink`
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Alias {
    /// Index of the record it names.
    pub owner: U32,
    /// Size as its table stated it (0 = unknown; [`LARGE_SIZE`] = that or more).
    pub size: U32,
    /// Its name in the names section.
    pub name: U32,
    /// Bytes of its name, or [`LONG_NAME`].
    pub name_len: U16,
    /// [`Attrs`].
    pub attrs: U16,
}

/// A name that answers no address, 24 bytes; sorted by `value`.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::format::{NameOnly, SectionId};
/// use zerocopy::FromBytes;
///
/// let file = index.file_sections().find(|section| section.id == SectionId::NAMES_ONLY).unwrap();
/// let (end, _) = NameOnly::ref_from_prefix(&index.as_bytes()[file.offset as usize..]).unwrap();
/// assert_eq!(end.value.get(), 0x400278); // `_end`, behind the last byte of all
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct NameOnly {
    /// Its address, offset or absolute value.
    pub value: U64,
    /// Size as its table stated it (0 = unknown; [`LARGE_SIZE`] = that or more).
    pub size: U32,
    /// Index of the image section, or [`NONE`].
    pub section: U32,
    /// Its name in the names section.
    pub name: U32,
    /// Bytes of its name, or [`LONG_NAME`].
    pub name_len: U16,
    /// [`Attrs`].
    pub attrs: U16,
}
