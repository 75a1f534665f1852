//! Records and numbers of the line and inline sections.
//!
//! ```
//! use symidx::format::lines::{LINE_DECLARED, from_u24, to_u24};
//!
//! // A function that is declared in line 14, as its entry stores it.
//! let stored = to_u24(14 | LINE_DECLARED);
//! assert_eq!(stored, [14, 0, 0x80]);
//! assert_eq!(from_u24(stored) & !LINE_DECLARED, 14);
//! ```

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Most frames of one address: no chain of inlined functions is longer. Bounds
/// every walk, on any bytes.
pub const MAX_FRAMES: u32 = 512;

/// Largest [`LineSpan::shift`].
pub const MAX_WINDOW_SHIFT: u32 = 32;
/// Largest [`LineSpan::shift`] of windows with several rows: a row's start is one byte.
pub const ROW_SHIFT: u32 = 8;

/// The low half of a window's second byte: further entries, up to
/// [`MANY_ENTRIES`]; the high half are the `WINDOW_` flags.
pub const WINDOW_ENTRIES: u8 = 0x0f;
/// This many further entries or more: their number follows as a byte.
pub const MANY_ENTRIES: u8 = 15;
/// Flag of a window: entries are `u32` node offsets, not `u16` distances.
pub const WINDOW_WIDE: u8 = 0x10;
/// Flag of a window: it has a column of columns.
pub const WINDOW_COLUMNS: u8 = 0x20;
/// Flag of a window: some entries have a file of their own.
pub const WINDOW_FILES: u8 = 0x40;
/// Flag of a window: long values are `u32`, not `u16`.
pub const WINDOW_LONG: u8 = 0x80;

/// A narrow entry of this value: nothing is known here.
pub const NARROW_GAP: u16 = 0x8000;
/// A wide entry of this value: nothing is known here.
pub const WIDE_GAP: u32 = u32::MAX;

/// A row's line of this value is among the window's long lines.
pub const LONG_LINE: u8 = u8::MAX;
/// A row's column of this value is among the window's long columns.
pub const LONG_COLUMN: u8 = u8::MAX;

/// Bit of a node's link: its call is in another file than its caller's function.
pub const LINK_FILE: u32 = 1;
/// A root's line of this value: the symbols that cover its rows have its
/// function's name, so that no reader has to look them up for it.
pub const ROOT_IS_SYMBOL: u32 = 1;
/// Most bytes of a node's fields between its head and its file; the inlines
/// section ends with as many zeros.
pub const NODE_FIELDS: usize = 16;

/// Bit of [`FunctionEntry::line`]: the line is where the function was declared,
/// not only what its rows count from.
pub const LINE_DECLARED: u32 = 1 << 23;
/// Largest line of a [`FunctionEntry`].
pub const MAX_FUNCTION_LINE: u32 = LINE_DECLARED - 1;
/// Bit of [`FunctionEntry::file`]: the file is that of the function's rows, and
/// where it was declared is unknown.
pub const FILE_OF_ROWS: u32 = 1 << 23;
/// Largest index of a file in a [`FunctionEntry`].
pub const MAX_FUNCTION_FILE: u32 = FILE_OF_ROWS - 2;
/// A [`FunctionEntry::file`] of this value: unknown.
pub const NO_FILE: u32 = (1 << 24) - 1;

/// A stretch of the address space with lines, cut into windows of equal size, 40 bytes.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::format::{SectionId, lines::LineSpan};
/// use zerocopy::FromBytes;
///
/// let file = index.file_sections().find(|section| section.id == SectionId::LINE_SPANS).unwrap();
/// let (span, _) = LineSpan::read_from_prefix(&index.as_bytes()[file.offset as usize..]).unwrap();
/// assert_eq!((span.base.get(), span.size.get()), (0x400100, 512)); // whole windows, .text inside
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct LineSpan {
    /// First address: an svma; in a relocatable file an offset in the section.
    pub base: U64,
    /// Bytes covered, 1 to 2^32.
    pub size: U64,
    /// Where its first window starts in the lines section.
    pub lines: U64,
    /// First of its entries in the windows section; one more than it has windows.
    pub window_first: U32,
    /// Index of the image section (relocatable files), else `NONE`.
    pub section: U32,
    /// log2 of the bytes of address space per window, at most [`MAX_WINDOW_SHIFT`].
    pub shift: U32,
    /// Must be zero.
    pub reserved: U32,
}

/// A function that rows or inlined calls belong to, 12 bytes.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::format::{SectionId, lines::{FunctionEntry, LINE_DECLARED, from_u24}};
/// use zerocopy::FromBytes;
///
/// let file = index.file_sections().find(|section| section.id == SectionId::FUNCTIONS).unwrap();
/// let bytes = &index.as_bytes()[file.offset as usize..];
/// let (first, _) = FunctionEntry::read_from_prefix(bytes).unwrap();
/// let line = from_u24(first.line);
/// assert_eq!((line & LINE_DECLARED != 0, line & !LINE_DECLARED), (true, 6)); // `leaf`
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct FunctionEntry {
    /// Its name in the names section.
    pub name: U32,
    /// Bytes of its name, or `LONG_NAME`; 0: none.
    pub name_len: U16,
    /// Little-endian index of its file with [`FILE_OF_ROWS`], or [`NO_FILE`].
    pub file: [u8; 3],
    /// Little-endian line that its rows count from, with [`LINE_DECLARED`].
    pub line: [u8; 3],
}

/// Three little-endian bytes as a number.
///
/// ```
/// assert_eq!(symidx::format::lines::from_u24([0x56, 0x34, 0x12]), 0x123456);
/// ```
#[must_use]
pub const fn from_u24(bytes: [u8; 3]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])
}

/// The low 24 bits of a number.
///
/// ```
/// assert_eq!(symidx::format::lines::to_u24(0x123456), [0x56, 0x34, 0x12]);
/// ```
#[must_use]
pub const fn to_u24(value: u32) -> [u8; 3] {
    let [a, b, c, _] = value.to_le_bytes();
    [a, b, c]
}

/// A source file, 12 bytes.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::format::{SectionId, lines::FileEntry};
///
/// // 12 bytes a source file: two names by place and length.
/// let files = index.file_sections().find(|section| section.id == SectionId::FILES).unwrap();
/// assert_eq!(files.size, 4 * size_of::<FileEntry>() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct FileEntry {
    /// Its directory in the names section.
    pub directory: U32,
    /// Its name in the names section.
    pub name: U32,
    /// Bytes of the directory, or `LONG_NAME`; 0: none.
    pub directory_len: U16,
    /// Bytes of the name, or `LONG_NAME`.
    pub name_len: U16,
}
