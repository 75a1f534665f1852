//! Which symbol answers which address: every rule of symbol choice.
//!
//! In: an [`Image`] as its tables state it. Out: [`Normalised`], where every
//! address has at most one answer and every name is kept. This module never
//! reads a file format and never knows bytes on disk.
//!
//! ```
//! # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
//! use symidx_indexer::normalise::{NormaliseOptions, normalise};
//!
//! // `__bss_start` and `_edata` start where `sink` does: one answers, all are kept.
//! let normalised = normalise(&mut image, NormaliseOptions::default());
//! let owner = normalised.owners.last().unwrap();
//! assert_eq!(normalised.primary(owner).unwrap().name, b"sink");
//! assert_eq!(normalised.listed_aliases(owner).len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::Range;

use crate::model::{Image, NO_VERSION, Report, Symbol};
use reach::{Fate, Limits};
use sections::{Sections, Settled};

mod merge;
mod pieces;
mod reach;
#[cfg(test)]
mod reference;
pub(crate) mod rules;
mod sections;
#[cfg(test)]
mod tests;

/// What to keep.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// use symidx_indexer::normalise::{NormaliseOptions, normalise};
///
/// let normalised = normalise(&mut image, NormaliseOptions { code_only: true });
/// assert_eq!(normalised.owners.len(), 5); // without `sink`, which is data
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct NormaliseOptions {
    /// Functions and code labels only, no data objects.
    pub code_only: bool,
}

/// How the size of a symbol is known.
///
/// ```
/// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
/// use symidx_indexer::normalise::Extent;
///
/// assert!(normalised.owners.iter().all(|owner| owner.extent == Extent::Exact));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// One symbol that owns addresses (40 bytes). Its names are a range of
/// [`Normalised::names`]; read them with [`Normalised::primary`] and
/// [`Normalised::listed_aliases`].
///
/// ```
/// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
/// let outer: &symidx_indexer::normalise::Owner = &normalised.owners[2];
/// assert_eq!((outer.address, outer.size, outer.part), (0x4001a0, 0x71, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// First address (svma, or offset in the section).
    pub address: u64,
    /// Bytes it reaches over, at least 1: `[address, address + size)` lies in its section.
    pub size: u64,
    /// Index into [`Image::sections`]: the section that really holds it.
    pub section: u32,
    /// Index of its primary name in [`Normalised::names`].
    pub first_name: u32,
    /// How many names are its own, the primary included; 0 for a function
    /// start that has no name. Each name is the own name of exactly one owner.
    pub own_names: u32,
    /// How many names a lookup lists, from `first_name` on: its own, then
    /// at most 16 of the bigger owners with the same start. At least `own_names`.
    pub listed_names: u32,
    /// How `size` is known.
    pub extent: Extent,
    /// `.cold`, `.part`, … piece of another function, by its primary name.
    pub part: bool,
    /// Two or more different functions share these bytes (ICF), as far as
    /// names tell.
    pub folded: bool,
}

impl Owner {
    /// First address behind it; never wraps.
    ///
    /// ```
    /// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
    /// assert_eq!(normalised.owners[2].end(), 0x400211);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }

    /// True for a function start without a name.
    ///
    /// ```
    /// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
    /// assert!(!normalised.owners.iter().any(|owner| owner.is_unnamed())); // Mach-O has such
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_unnamed(&self) -> bool {
        self.own_names == 0
    }
}

/// From `start` up to the next piece of the space (or the end of its owner),
/// the answer is `owner`.
///
/// ```
/// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
/// let piece: &symidx_indexer::normalise::Piece = &normalised.pieces[2];
/// assert_eq!(normalised.owners[piece.owner as usize].address, piece.start);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First address.
    pub start: u64,
    /// Index into [`Normalised::owners`].
    pub owner: u32,
}

/// A stretch of address space whose pieces are searched together: the
/// neighbouring sections of one class (code or data) and one module, or one
/// section of a relocatable file. It has at least one owner.
///
/// ```
/// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
/// let code: &symidx_indexer::normalise::Space = &normalised.spaces[0];
/// assert!(code.code && code.section.is_none() && code.owners.contains(&0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// First address of its first section that has an owner.
    pub start: u64,
    /// Bytes up to the end of its last section that has an owner.
    pub size: u64,
    /// The section of a relocatable file: an index into [`Image::sections`].
    pub section: Option<u32>,
    /// Index into [`Image::modules`].
    pub module: Option<u32>,
    /// Code or data.
    pub code: bool,
    /// A range of [`Normalised::owners`], sorted by address, then bigger first.
    pub owners: Range<u32>,
    /// A range of [`Normalised::pieces`], sorted by `start`. Each owner's first
    /// piece starts at its `address`. An owner whose first byte belongs to a
    /// smaller owner at the same start comes *before* it, with the same
    /// `start`: a search for the last piece at or before an address never ends
    /// on it. A later piece of an owner has `start > owner.address`. There are
    /// at most twice as many pieces as owners.
    pub pieces: Range<u32>,
}

/// The image with every question of choice settled.
///
/// ```
/// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
/// let normalised: symidx_indexer::normalise::Normalised<'_> = normalised;
/// assert_eq!((normalised.owners.len(), normalised.names_only.len()), (6, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Normalised<'data> {
    /// Address spaces sorted by `start` (by section index in relocatable files); they do not overlap.
    pub spaces: Vec<Space>,
    /// Pieces of all spaces.
    pub pieces: Vec<Piece>,
    /// Symbols that own addresses, sorted by (space, address, then bigger first).
    pub owners: Vec<Owner>,
    /// Names of the owners, each owner's together: the primary one, then its
    /// aliases in table order ((source, order) ascending). Where several
    /// owners start at one address, the smallest owner's names come first.
    /// A symbol here has a plain `name` (no `@VERSION`), its settled
    /// `address` and `section`, a `version` that indexes
    /// [`versions`](Self::versions), and its `size` as the table stated it.
    pub names: Vec<Symbol<'data>>,
    /// Names that answer no address: thread-local, absolute, a label inside a
    /// sized symbol, a marker at a section's end. Sorted by (address, name).
    /// `section` is where it was defined, or [`crate::model::NO_SECTION`].
    pub names_only: Vec<Symbol<'data>>,
    /// Version names, sorted and distinct, without `@`. The image's own list
    /// is used up: only these indexes are valid afterwards.
    pub versions: Vec<&'data [u8]>,
}

impl<'data> Normalised<'data> {
    /// The primary name of an owner; `None` for a function start without a name.
    ///
    /// ```
    /// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
    /// let first = &normalised.owners[0];
    /// assert_eq!(normalised.primary(first).unwrap().name, b"never");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn primary(&self, owner: &Owner) -> Option<&Symbol<'data>> {
        self.name_range(owner, owner.own_names).first()
    }

    /// The one primary name of the symbols that answer for the addresses of
    /// `range`, and whether they answer for all of them; `None` when there are
    /// several names, or more than `MOST_PIECES` pieces of code to look at.
    /// Nothing covers anything: an empty name. `section` is that of a relocatable file,
    /// else `NONE`.
    #[must_use]
    pub(crate) fn name_of_range(
        &self,
        section: u32,
        range: Range<u64>,
    ) -> Option<(&'data [u8], bool)> {
        let place = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let key = |space: &Space| (space.section.unwrap_or(u32::MAX), space.start);
        let of_section = self.spaces.partition_point(|space| key(space).0 < section);
        let after = self.spaces.partition_point(|space| key(space) <= (section, range.start));
        let first = after.saturating_sub(1).max(of_section);
        let spaces = self.spaces.get(first..).unwrap_or(&[]).iter();
        let spaces = spaces.take_while(|space| key(space) < (section, range.end));
        let (mut name, mut covered): (Option<&[u8]>, u64) = (None, range.start);
        let mut left = MOST_PIECES;
        for space in spaces {
            let pieces = place(space.pieces.start)..place(space.pieces.end);
            let pieces = self.pieces.get(pieces).unwrap_or(&[]);
            let after = pieces.partition_point(|piece| piece.start <= range.start);
            let first = after.saturating_sub(1);
            let pieces = pieces.get(first..).unwrap_or(&[]);
            for (i, piece) in pieces.iter().take_while(|piece| piece.start < range.end).enumerate()
            {
                left = left.checked_sub(1)?;
                let next = pieces.get(i.saturating_add(1)).map_or(u64::MAX, |next| next.start);
                let Some(owner) = self.owners.get(place(piece.owner)) else { continue };
                let start = piece.start.max(range.start);
                let end = owner.end().min(next).min(range.end);
                let Some(symbol) = self.primary(owner).filter(|_| start < end) else { continue };
                if name.is_some_and(|name| name != symbol.name) {
                    return None;
                }
                name = Some(symbol.name);
                if covered == start {
                    covered = end;
                }
            }
        }
        Some((name.unwrap_or(&[]), covered == range.end))
    }

    /// The further names of this very owner, in table order.
    #[must_use]
    pub(crate) fn own_aliases(&self, owner: &Owner) -> &[Symbol<'data>] {
        self.name_range(owner, owner.own_names).get(1..).unwrap_or_default()
    }

    /// The further names that a lookup lists: those of this very owner in table order,
    /// then the first names of the bigger owners with the same start.
    ///
    /// ```
    /// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
    /// let sink = normalised.owners.last().unwrap();
    /// let names = normalised.listed_aliases(sink).iter().map(|symbol| symbol.name);
    /// assert_eq!(names.collect::<Vec<_>>(), [&b"__bss_start"[..], b"_edata"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn listed_aliases(&self, owner: &Owner) -> &[Symbol<'data>] {
        self.name_range(owner, owner.listed_names).get(1..).unwrap_or_default()
    }

    /// The version of a name, without `@`; empty when it has none.
    ///
    /// ```
    /// # let (mut image, normalised) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
    /// let name = normalised.primary(&normalised.owners[0]).unwrap();
    /// assert_eq!(normalised.version(name), b""); // `V2` of `f@@V2`
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(&self, symbol: &Symbol<'data>) -> &'data [u8] {
        if symbol.version == NO_VERSION {
            return &[];
        }
        usize::try_from(symbol.version)
            .ok()
            .and_then(|index| self.versions.get(index))
            .copied()
            .unwrap_or_default()
    }

    fn name_range(&self, owner: &Owner, count: u32) -> &[Symbol<'data>] {
        let first = usize::try_from(owner.first_name).unwrap_or(usize::MAX);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.names.get(first..).and_then(|names| names.get(..count)).unwrap_or_default()
    }
}

/// Pieces that are asked for one name: functions of debug information may overlap
/// without end, and each asks about all that it reaches over.
const MOST_PIECES: usize = 64;

/// More symbols than this are not read: indexes of names, owners and pieces
/// stay far from the end of `u32`.
const MAX_SYMBOLS: usize = 1 << 29;

/// Settles every question of choice. Takes symbols, versions, function starts
/// and holes out of the image (they are empty afterwards) and adds to its report.
///
/// The result does not depend on the order of `image.symbols`, only on what
/// each of them says about itself. Time is O(n log n) for any input; memory
/// beside the symbols, which are sorted in place, is 40 bytes an owner, 16 a
/// piece and 1 a symbol for a while.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// let normalised = symidx_indexer::normalise::normalise(&mut image, Default::default());
/// assert!(image.symbols.is_empty()); // they are in `normalised` now
/// // No two pieces start at one address unless the later one hides the earlier.
/// assert!(normalised.pieces.is_sorted_by_key(|piece| piece.start));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn normalise<'data>(image: &mut Image<'data>, options: NormaliseOptions) -> Normalised<'data> {
    let mut report = std::mem::take(&mut image.report);
    for (length, what) in
        [(image.symbols.len(), "symbols"), (image.function_starts.len(), "function starts")]
    {
        if length > MAX_SYMBOLS {
            report.warn(format!(
                "expected at most {MAX_SYMBOLS} {what}, found {length}; the first ones are kept"
            ));
        }
    }
    image.symbols.truncate(MAX_SYMBOLS);
    image.function_starts.truncate(MAX_SYMBOLS);
    let all = image.symbols.len();
    image.symbols.retain(|symbol| !symbol.name.is_empty());
    let nameless = all.saturating_sub(image.symbols.len());
    report.skip_many("symbol without a name", u64::try_from(nameless).unwrap_or(u64::MAX));

    let versions = merge::settle_versions(image);
    let mut symbols = std::mem::take(&mut image.symbols);
    let function_starts = std::mem::take(&mut image.function_starts);
    let holes = std::mem::take(&mut image.holes);
    let sections = Sections::new(image);
    if sections.overlaps() > 0 {
        report.warn(format!(
            "{} sections overlap others; addresses in both belong to the one that starts first",
            sections.overlaps()
        ));
    }

    let mut names_only = take_names_only(&mut symbols, options, &sections, &mut report);
    merge::merge_tables(&mut symbols, &sections);

    let mut limits = Limits::new(&holes, &sections);
    let fates = reach::settle_fates(
        &symbols,
        function_starts,
        options.code_only,
        &sections,
        &mut limits,
        &mut report,
    );
    let mut fates = fates.into_iter();
    symbols.retain(|symbol| {
        let fate = fates.next();
        if fate == Some(Fate::NameOnly) {
            names_only.push(*symbol);
        }
        fate == Some(Fate::Owns)
    });
    symbols.shrink_to_fit();
    merge::merge_tables(&mut names_only, &sections);
    if sections.by_offset() {
        names_only.sort_by(|a, b| (a.address, a.name).cmp(&(b.address, b.name)));
    }
    names_only.shrink_to_fit();

    let mut owners = reach::settle_owners(&mut symbols, &sections, &limits);
    owners.shrink_to_fit();
    let mut normalised =
        Normalised { owners, names: symbols, names_only, versions, ..Normalised::default() };
    pieces::build_spaces(&mut normalised, &sections);
    image.report = report;
    normalised
}

/// Settles the section of every symbol and takes out those that answer no
/// address whatever the others say.
fn take_names_only<'data>(
    symbols: &mut Vec<Symbol<'data>>,
    options: NormaliseOptions,
    sections: &Sections<'_, 'data>,
    report: &mut Report,
) -> Vec<Symbol<'data>> {
    let mut names_only = Vec::new();
    symbols.retain_mut(|symbol| {
        let settled = sections.settle_section(symbol);
        if let Settled::In(section) = settled {
            symbol.section = section;
            return true;
        }
        symbol.section = sections.checked(symbol.section);
        let section = sections.get(symbol.section);
        if options.code_only
            && let Some(reason) = rules::code_only_drops(symbol.kind, section)
        {
            report.skip(reason);
            return false;
        }
        if settled == Settled::Nowhere {
            report.skip("address in no section");
        }
        names_only.push(*symbol);
        false
    });
    names_only
}
