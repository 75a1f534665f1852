//! Display names: from a name to the texts that the indexer stored for people.
//!
//! In: a [`Name`] that this index handed out. Out: its full and its short
//! text, in pieces, borrowed. Never allocates, never demangles, and nothing
//! else pays for it: without the sections every answer is "none stored".

use core::fmt;
use core::ops::Range;

use zerocopy::FromBytes;

use crate::answer::Symbol;
use crate::error::{Corrupt, Invariant, Violation};
use crate::format::{Display, DisplayPiece, MAX_PIECES, SectionId, display_bucket_of};
use crate::index::{Index, Match};
use crate::names::Name;
use crate::open::{View, index};

/// What is shown for a name in place of its linkage name.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
/// let symbol = index.lookup(symidx::Svma(0x401010))?.unwrap();
/// assert_eq!(symbol.name(), "_ZN5space6Longer5Names6methodEi");
/// let shown = symbol.display_name()?.unwrap();
/// assert_eq!(shown.full(), "space::Longer::Names::method(int)");
/// assert_eq!(shown.short(), "space::Longer::Names::method");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DisplayName<'a> {
    run: Run<'a>,
    full_len: usize,
    short: (usize, usize),
}

impl<'a> DisplayName<'a> {
    /// The demangled name, whole.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// // With its parameters: overloads stay apart.
    /// let shown = index.lookup(symidx::Svma(0x401020))?.unwrap().display_name()?.unwrap();
    /// assert_eq!(shown.full(), "space::Longer::Names::method(int, char const*)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn full(&self) -> DisplayText<'a> {
        DisplayText { run: self.run, start: 0, len: self.full_len }
    }

    /// The same without parameter list and return type: what fits a graph.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// let shown = index.lookup(symidx::Svma(0x401060))?.unwrap().display_name()?.unwrap();
    /// assert_eq!(shown.short(), "space::template<int>"); // in full: int space::template<int>(int)
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn short(&self) -> DisplayText<'a> {
        DisplayText { run: self.run, start: self.short.0, len: self.short.1 }
    }
}

/// A text for people, stored in one or a few pieces. Usually UTF-8.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
/// let shown = index.lookup(symidx::Svma(0x4010f0))?.unwrap().display_name()?.unwrap();
/// assert_eq!(shown.short().to_string(), "mycrate::gödel");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct DisplayText<'a> {
    run: Run<'a>,
    start: usize,
    len: usize,
}

impl<'a> DisplayText<'a> {
    /// The text's bytes, piece by piece.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// let shown = index.lookup(symidx::Svma(0x401020))?.unwrap().display_name()?.unwrap();
    /// let mut text = Vec::new();
    /// for piece in shown.full().pieces() {
    ///     text.extend_from_slice(piece); // or `write_all` into a file
    /// }
    /// assert_eq!(text, b"space::Longer::Names::method(int, char const*)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pieces(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (mut skip, mut left) = (self.start, self.len);
        self.run.pieces().filter_map(move |piece| {
            let from = skip.min(piece.len());
            skip = skip.saturating_sub(from);
            let piece = piece.get(from..)?;
            let piece = piece.get(..left).unwrap_or(piece);
            left = left.saturating_sub(piece.len());
            (!piece.is_empty()).then_some(piece)
        })
    }

    /// The text's bytes where they are stored in one piece.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// let shown = index.lookup(symidx::Svma(0x4010f0))?.unwrap().display_name()?.unwrap();
    /// // Borrowed where it is in one piece; `copy_to` and `write_to` work for all.
    /// assert!(shown.full().as_bytes().is_none_or(|bytes| bytes == "mycrate::gödel".as_bytes()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        let mut pieces = self.pieces();
        pieces.next().filter(|piece| piece.len() == self.len)
    }

    /// Bytes of the text.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// let shown = index.lookup(symidx::Svma(0x4010f0))?.unwrap().display_name()?.unwrap();
    /// assert_eq!(shown.short().len(), "mycrate::gödel".len()); // bytes, not letters
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never true: every display name shows something.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// let shown = index.lookup(symidx::Svma(0x401010))?.unwrap().display_name()?.unwrap();
    /// assert!(!shown.short().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies as much of the text as fits; returns how many bytes the whole
    /// text has, so a result above `buffer.len()` means it was cut.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// let shown = index.lookup(symidx::Svma(0x401010))?.unwrap().display_name()?.unwrap();
    /// let mut buffer = [0; 16]; // no heap: usable in a signal handler
    /// let whole = shown.short().copy_to(&mut buffer);
    /// assert_eq!(&buffer[..whole.min(16)], b"space::Longer::N");
    /// assert!(whole > buffer.len()); // it was cut
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_to(&self, buffer: &mut [u8]) -> usize {
        for (to, from) in buffer.iter_mut().zip(self.pieces().flatten()) {
            *to = *from;
        }
        self.len
    }

    /// Writes the text; bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// The writer's.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// let shown = index.lookup(symidx::Svma(0x401010))?.unwrap().display_name()?.unwrap();
    /// let mut line = String::from("0x401010 ");
    /// shown.short().write_to(&mut line)?;
    /// assert_eq!(line, "0x401010 space::Longer::Names::method");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_to(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.pieces().try_for_each(|piece| Name::plain(piece).write_to(out))
    }
}

impl PartialEq for DisplayName<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.full() == other.full() && self.short() == other.short()
    }
}

impl Eq for DisplayName<'_> {}

impl PartialEq for DisplayText<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.pieces().flatten().eq(other.pieces().flatten())
    }
}

impl Eq for DisplayText<'_> {}

impl fmt::Display for DisplayText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

impl fmt::Debug for DisplayText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DisplayText({self})")
    }
}

impl PartialEq<[u8]> for DisplayText<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        let mut rest = Some(other);
        for piece in self.pieces() {
            rest = rest.and_then(|rest| rest.strip_prefix(piece));
        }
        rest.is_some_and(<[u8]>::is_empty)
    }
}

impl PartialEq<str> for DisplayText<'_> {
    fn eq(&self, other: &str) -> bool {
        *self == *other.as_bytes()
    }
}

impl PartialEq<&str> for DisplayText<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == *other.as_bytes()
    }
}

/// The bytes that both texts of a name are ranges of.
#[derive(Clone, Copy, Debug)]
struct Run<'a> {
    /// The run itself where the list is empty, else what its pieces lie in.
    bytes: &'a [u8],
    list: &'a [DisplayPiece],
}

impl<'a> Run<'a> {
    fn pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let bytes = self.bytes;
        let whole = self.list.is_empty().then_some(bytes);
        whole.into_iter().chain(self.list.iter().filter_map(move |piece| part(bytes, *piece)))
    }
}

fn part(bytes: &[u8], piece: DisplayPiece) -> Option<&[u8]> {
    let at = index(piece.at.get());
    bytes.get(at..at.checked_add(usize::from(piece.len.get()))?)
}

impl Index<'_> {
    /// What is shown for a name that this index handed out; `None` for names
    /// that are shown as they are and in indexes built without display names.
    /// The name's version, if any, is not part of it.
    ///
    /// # Errors
    /// [`Corrupt`] when the stored texts are damaged.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// // For names of symbols, matches, aliases and frames alike.
    /// let name = index.find("_RNvNtCs1234_7mycrate6module3foo").next().unwrap()?.name();
    /// assert_eq!(index.display_name(name)?.unwrap().full(), "mycrate::module::foo");
    /// let main = index.lookup(symidx::Svma(0x401000))?.unwrap().name();
    /// assert_eq!(index.display_name(main)?, None); // shown as it is
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn display_name(&self, name: Name<'_>) -> Result<Option<DisplayName<'_>>, Corrupt> {
        self.view.display_of(name)
    }

    /// How many names have a display name stored.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// assert_eq!(index.display_name_count(), 18); // 0: built without `--demangle`
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn display_name_count(&self) -> u32 {
        u32::try_from(self.view.display.len()).unwrap_or(u32::MAX)
    }
}

impl<'a> Symbol<'a> {
    /// What is shown for the symbol's name: see [`Index::display_name`].
    ///
    /// # Errors
    /// As [`Index::display_name`].
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x401030))?.unwrap();
    /// let shown = symbol.display_name()?;
    /// let text = shown.map_or(symbol.name().to_string(), |shown| shown.short().to_string());
    /// assert_eq!(text, "space::Longer::Names::method");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn display_name(&self) -> Result<Option<DisplayName<'a>>, Corrupt> {
        self.view.display_of(self.stored)
    }
}

impl<'a> Match<'a> {
    /// What is shown for the name: see [`Index::display_name`].
    ///
    /// # Errors
    /// As [`Index::display_name`].
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// let found = index.find("_ZTVN5space6Longer5NamesE").next().unwrap()?;
    /// assert_eq!(found.display_name()?.unwrap().full(), "vtable for space::Longer::Names");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn display_name(&self) -> Result<Option<DisplayName<'a>>, Corrupt> {
        self.view.display_of(self.stored)
    }
}

impl<'a> View<'a> {
    /// The display name of a name that lies in the names section.
    pub(crate) fn display_of(&self, name: Name<'_>) -> Result<Option<DisplayName<'a>>, Corrupt> {
        let Some(key) = self.display_key(name) else { return Ok(None) };
        let Some(at) = self.find_display(key) else { return Ok(None) };
        let Some(entry) = self.display.get(at) else { return Ok(None) };
        let wrong = || Corrupt::entry(SectionId::DISPLAY, u32::try_from(at).unwrap_or(u32::MAX));
        self.display_name(entry).map(Some).ok_or_else(wrong)
    }

    /// Where a name starts, in the unit of the names section; `None` for
    /// bytes that are not in it.
    fn display_key(&self, name: Name<'_>) -> Option<u32> {
        if self.display.is_empty() || name.is_empty() {
            return None;
        }
        if let Some(packed) = name.packed() {
            let whole = packed.skip == 0 && packed.section.as_ptr() == self.names.as_ptr();
            return whole.then_some(packed.at);
        }
        let start = name.as_bytes()?.as_ptr().addr();
        let offset = start.checked_sub(self.names.as_ptr().addr())?;
        if offset >= self.names.len() {
            return None;
        }
        let key = u32::try_from(offset.checked_shr(self.name_shift)?).ok()?;
        (index(key).checked_shl(self.name_shift)? == offset).then_some(key)
    }

    /// The position of a name's entry.
    fn find_display(&self, key: u32) -> Option<usize> {
        let range = self.display_bucket(key);
        let start = range.start;
        let at = self.display.get(range)?.binary_search_by_key(&key, |entry| entry.name.get());
        at.ok()?.checked_add(start)
    }

    /// Positions of the entries that may be a name's (I33).
    fn display_bucket(&self, key: u32) -> Range<usize> {
        let buckets = u32::try_from(self.display_buckets.len().saturating_sub(1)).unwrap_or(0);
        let bucket = index(display_bucket_of(key, self.name_units(), buckets));
        match (self.display_buckets.get(bucket), self.display_buckets.get(bucket.wrapping_add(1))) {
            (Some(first), Some(end)) => {
                let end = index(end.get()).min(self.display.len());
                index(first.get()).min(end)..end
            }
            _ => 0..0,
        }
    }

    /// The names section in units, the last one perhaps not whole.
    fn name_units(&self) -> u64 {
        let unit = 1u64.checked_shl(self.name_shift).unwrap_or(1);
        u64::try_from(self.names.len()).unwrap_or(u64::MAX).div_ceil(unit)
    }

    /// The texts of an entry; `None` when they do not lie in their section (I34).
    fn display_name(&self, entry: &Display) -> Option<DisplayName<'a>> {
        let (at, length) = (index(entry.text.get()), entry.run_len());
        let run = match entry.pieces.get() {
            1 => {
                let bytes = self.display_text.get(at..at.checked_add(length)?)?;
                Run { bytes, list: &[] }
            }
            count @ 2..=MAX_PIECES => {
                let lists = self.display_text.get(at..)?;
                let (list, _) =
                    <[DisplayPiece]>::ref_from_prefix_with_elems(lists, usize::from(count)).ok()?;
                let mut sum = 0usize;
                for piece in list {
                    sum = sum.checked_add(part(self.display_text, *piece)?.len())?;
                }
                (sum == length).then_some(Run { bytes: self.display_text, list })?
            }
            _ => return None,
        };
        let short = (usize::from(entry.short_start.get()), usize::from(entry.short_len.get()));
        let full_len = usize::from(entry.full_len.get());
        (full_len > 0 && short.1 > 0).then_some(DisplayName { run, full_len, short })
    }

    /// I33, I34.
    pub(crate) fn verify_display(&self) -> Result<(), Violation> {
        let wrong = |i| Violation::entry(Invariant::DisplayOrder, SectionId::DISPLAY_BUCKETS, i);
        let mut before = 0u32;
        for (i, first) in self.display_buckets.iter().enumerate() {
            if first.get() < before || (i == 0 && first.get() != 0) {
                return Err(wrong(i));
            }
            before = first.get();
        }
        if index(before) != self.display.len() {
            return Err(wrong(self.display_buckets.len()));
        }
        let mut before: Option<u32> = None;
        for (i, entry) in self.display.iter().enumerate() {
            let wrong = |invariant| Violation::entry(invariant, SectionId::DISPLAY, i);
            let name = entry.name.get();
            if before.is_some_and(|before| before >= name)
                || u64::from(name) >= self.name_units()
                || !self.display_bucket(name).contains(&i)
            {
                return Err(wrong(Invariant::DisplayOrder));
            }
            before = Some(name);
            let texts = self.display_name(entry);
            if texts.is_none_or(|texts| texts.run.pieces().any(<[u8]>::is_empty)) {
                return Err(wrong(Invariant::DisplayTexts));
            }
        }
        Ok(())
    }
}
