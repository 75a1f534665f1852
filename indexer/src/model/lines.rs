//! Lines and inlined functions of one unit, flattened: what the DWARF reader
//! hands to `lines`.
//!
//! Indexes are into the vectors of the same [`UnitLines`]; `NONE` means none.
//!
//! ```
//! # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
//! use symidx_indexer::model::lines::NONE;
//!
//! // From a row up the tree: which functions its code was inlined into.
//! let row = unit.rows.iter().rev().find(|row| row.node != NONE).unwrap();
//! let mut node = unit.nodes[row.node as usize];
//! while node.parent != NONE {
//!     node = unit.nodes[node.parent as usize];
//! }
//! assert!(!unit.functions[node.function as usize].name.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// "None" in an index.
pub const NONE: u32 = u32::MAX;

/// A source file in the parts that DWARF states. Its path is `name` when that
/// is absolute; else `directory/name` when `directory` is absolute; else
/// `base/directory/name`; empty parts are left out.
///
/// ```
/// use symidx_indexer::model::lines::SourceFile;
///
/// let file = SourceFile { base: b"/src", directory: b"lib", name: b"a.c" }; // /src/lib/a.c
/// assert_eq!(file.len(), 10);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceFile<'data> {
    /// The unit's compilation directory.
    pub base: &'data [u8],
    /// The directory of the file table's entry.
    pub directory: &'data [u8],
    /// The name of the file table's entry.
    pub name: &'data [u8],
}

impl SourceFile<'_> {
    /// Bytes of all parts.
    ///
    /// ```
    /// use symidx_indexer::model::lines::SourceFile;
    ///
    /// let file = SourceFile { base: b"/src", directory: b"", name: b"a.c" };
    /// assert_eq!(file.len(), 7); // without the slashes between
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.base.len().saturating_add(self.directory.len()).saturating_add(self.name.len())
    }

    /// True when all parts are empty.
    ///
    /// ```
    /// assert!(symidx_indexer::model::lines::SourceFile::default().is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// True for a path that no directory is put before: from the root, or from a drive.
#[must_use]
pub(crate) fn is_absolute(path: &[u8]) -> bool {
    match path {
        [b'/' | b'\\', ..] => true,
        [drive, b':', b'/' | b'\\', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

/// A function as its declaration states it.
///
/// ```
/// # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
/// let leaf: &symidx_indexer::model::lines::Function<'_> =
///     unit.functions.iter().find(|function| function.name == b"leaf").unwrap();
/// assert_eq!(leaf.line, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function<'data> {
    /// Linkage name, else plain name; empty when there is neither.
    pub name: &'data [u8],
    /// Declaring file.
    pub file: u32,
    /// Declaring line; 0 = unknown.
    pub line: u32,
}

/// One function at one place of the inline tree.
///
/// ```
/// # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
/// use symidx_indexer::model::lines::{NONE, Node};
///
/// let inlined = |node: &&Node| node.parent != NONE;
/// assert!(unit.nodes.iter().filter(inlined).all(|node| node.call_line != 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// Which function; `NONE` when its DIE cannot be found.
    pub function: u32,
    /// What it was inlined into: a smaller index; `NONE` for the function that
    /// holds the code.
    pub parent: u32,
    /// File of the call; `NONE` unknown.
    pub call_file: u32,
    /// Line of the call; 0 unknown.
    pub call_line: u32,
    /// Column of the call; 0 unknown.
    pub call_column: u32,
}

/// A contiguous stretch of code: one range of one function, or line rows outside
/// every function.
///
/// ```
/// # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
/// let piece: &symidx_indexer::model::lines::Piece = &unit.pieces[0];
/// let rows = &unit.rows[piece.rows.start as usize..piece.rows.end as usize];
/// assert_eq!(rows[0].offset, 0); // the first one starts where the piece does
/// assert!(rows.is_sorted_by_key(|row| row.offset));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index into [`crate::model::Image::sections`].
    pub section: u32,
    /// First address: an svma, or an offset in the section of a relocatable image.
    pub start: u64,
    /// Bytes, at least 1.
    pub size: u64,
    /// The function's node (its parent is `NONE`); `NONE` outside every function.
    pub root: u32,
    /// True when the function starts here (its `DW_AT_low_pc`, or the first of its ranges).
    pub entry: bool,
    /// Its rows: a range of [`UnitLines::rows`], sorted by offset, the first at offset 0.
    pub rows: std::ops::Range<u32>,
}

/// From `offset` up to the next row of the piece, the code came from this place.
///
/// ```
/// # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
/// let row: symidx_indexer::model::lines::Row = unit.rows[0];
/// assert_eq!(unit.files[row.file as usize].name, b"lines.c");
/// assert!(row.line > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Bytes from the piece's start.
    pub offset: u32,
    /// The innermost function; `NONE` outside every function.
    pub node: u32,
    /// File; `NONE` unknown.
    pub file: u32,
    /// Line; 0 unknown.
    pub line: u32,
    /// Column; 0 unknown.
    pub column: u32,
}

/// What one unit says.
///
/// ```
/// # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
/// let unit: symidx_indexer::model::lines::UnitLines<'_> = unit;
/// assert!(unit.pieces.is_sorted_by_key(|piece| (piece.section, piece.start, piece.size)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitLines<'data> {
    /// Files, each once.
    pub files: Vec<SourceFile<'data>>,
    /// Functions, each once.
    pub functions: Vec<Function<'data>>,
    /// Inline trees; every parent before its children.
    pub nodes: Vec<Node>,
    /// Pieces, sorted by (section, start, size); those of different functions may
    /// overlap (folded code, nested functions, inlined code that was moved out of
    /// its function). Of these the one that starts last is the innermost; of
    /// equal starts and sizes the later DIE, which has the greater root.
    pub pieces: Vec<Piece>,
    /// Rows of all pieces.
    pub rows: Vec<Row>,
}
