//! Which symbol answers which address: every rule of symbol choice.
//!
//! In: an [`Image`] as its tables state it. Out: [`Normalised`], where every
//! address has at most one answer and every name is kept. This module never
//! reads a file format and never knows bytes on disk.

use crate::model::{Binding, Image, Kind, Source};

pub mod rules;

/// What to keep.
#[derive(Clone, Copy, Debug, Default)]
pub struct NormaliseOptions {
    /// Functions and code labels only, no data objects.
    pub code_only: bool,
}

/// How the size of a symbol is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Extent {
    /// Stated by the input (and clamped to its section if it ran past it).
    Exact = 0,
    /// Size 0 in the input: up to the next symbol or the end of its section.
    Inferred = 1,
    /// Made by the indexer (PLT stubs).
    Synthesized = 2,
}

/// A name as it will be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'data> {
    /// Plain linkage name without a version.
    pub name: &'data [u8],
    /// Symbol version, without `@`; empty = none.
    pub version: &'data [u8],
    /// The version is the default one (`name@@version`).
    pub default_version: bool,
    /// What it names.
    pub kind: Kind,
    /// Binding.
    pub binding: Binding,
    /// Where it was read.
    pub source: Source,
    /// Position in its table.
    pub order: u32,
    /// Size as the table stated it (0 = unknown), unclamped.
    pub stated_size: u64,
}

/// One symbol that owns addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner<'data> {
    /// The primary name; empty for a function start that has no name.
    pub named: Named<'data>,
    /// First address (svma, or offset in the section).
    pub address: u64,
    /// Bytes it reaches over, at least 1: `[address, address + size)` lies in its section.
    pub size: u64,
    /// How `size` is known.
    pub extent: Extent,
    /// Index into [`Image::sections`]: the section that really holds it.
    pub section: u32,
    /// `.cold`, `.part`, … piece of another function, as named.
    pub part: bool,
    /// Two or more *global functions* of different source identity share these bytes (ICF).
    pub folded: bool,
    /// A function start without a name.
    pub unnamed: bool,
    /// Its further names: a range of [`Normalised::aliases`], in table order
    /// ((source, order) ascending).
    pub aliases: std::ops::Range<u32>,
}

/// From `start` up to the next piece of the space (or the end of its owner),
/// the answer is `owner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First address.
    pub start: u64,
    /// Index into [`Normalised::owners`].
    pub owner: u32,
}

/// A stretch of address space whose pieces are searched together: the
/// neighbouring sections of one class (code or data) and one module, or one
/// section of a relocatable file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// First address covered by its sections.
    pub start: u64,
    /// Bytes up to the end of its last section.
    pub size: u64,
    /// The section of a relocatable file.
    pub section: Option<u32>,
    /// Index into [`Image::modules`].
    pub module: Option<u32>,
    /// Code or data.
    pub code: bool,
    /// A range of [`Normalised::pieces`], sorted by `start`. Each owner's first
    /// piece starts at its `address`. An owner whose first byte belongs to a
    /// smaller owner at the same start comes *before* it, with the same
    /// `start`: a search for the last piece at or before an address never ends
    /// on it. A later piece of an owner has `start > owner.address`.
    pub pieces: std::ops::Range<u32>,
}

/// A name that answers no address: thread-local, absolute, a label inside a
/// sized symbol, a marker at a section's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameOnly<'data> {
    /// The name.
    pub named: Named<'data>,
    /// Its address or value.
    pub address: u64,
    /// The section it was defined in, if any.
    pub section: Option<u32>,
}

/// The image with every question of choice settled.
#[derive(Clone, Debug, Default)]
pub struct Normalised<'data> {
    /// Address spaces sorted by `start` (by section number in relocatable files); they do not overlap.
    pub spaces: Vec<Space>,
    /// Pieces of all spaces.
    pub pieces: Vec<Piece>,
    /// Symbols that own addresses, sorted by (space, address, then bigger first).
    pub owners: Vec<Owner<'data>>,
    /// Further names of the owners.
    pub aliases: Vec<Named<'data>>,
    /// Names without an address to answer, sorted by (address, name).
    pub names_only: Vec<NameOnly<'data>>,
}

/// Settles every question of choice. Takes the symbols out of the image
/// (`image.symbols` is empty afterwards) and adds to its report.
pub fn normalise<'data>(image: &mut Image<'data>, options: NormaliseOptions) -> Normalised<'data> {
    let _ = (image, options);
    Normalised::default()
}
