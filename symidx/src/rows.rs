//! What the lines say of all addresses, in order, and the name that debug
//! information has for the function of one.
//!
//! In: the line sections. Out: ranges of addresses, ascending, neighbours of
//! which the same is known joined. Ends, whatever the bytes say.

use crate::address::{ImageSectionId, Svma};
use crate::error::Corrupt;
use crate::format::lines::{MAX_FRAMES, ROW_SHIFT};
use crate::format::{NONE, SectionId};
use crate::index::Index;
use crate::lines::Row;
use crate::names::Name;
use crate::open::View;

/// A stretch of code of which the lines say one thing: all its addresses have
/// the same frames, but for the symbol that names the outermost one.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// // How much code the lines know of.
/// let rows: Vec<symidx::LineRow> = index.line_rows().collect::<Result<_, _>>()?;
/// assert!(rows.iter().all(|row| row.section.is_none() && row.size > 0));
/// let known: u64 = rows.iter().map(|row| row.size).sum();
/// assert!(known > 0x80);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineRow {
    /// In a relocatable file: the section that `start` is an offset in.
    pub section: Option<ImageSectionId>,
    /// Its first byte: an svma, or an offset in the section.
    pub start: u64,
    /// How many bytes; at least 1.
    pub size: u64,
}

/// Every row of an index in order of section and address; see [`Index::line_rows`].
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// let mut rows: symidx::LineRows<'_> = index.line_rows();
/// let (first, second) = (rows.next().unwrap()?, rows.next().unwrap()?);
/// assert!(first.start + first.size <= second.start);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LineRows<'a> {
    view: &'a View<'a>,
    span: usize,
    /// In the span.
    offset: u64,
    /// Sound spans share no windows.
    windows_left: usize,
    open: Option<(LineRow, Row)>,
}

impl Index<'_> {
    /// Every stretch of code of which the lines say something, in order of
    /// section and address. Some 20 ns for each byte of code.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let mut bytes = 0; // of code from line 6
    /// for row in index.line_rows() {
    ///     let row = row?;
    ///     let frame = index.frames(symidx::Svma(row.start))?.next().unwrap()?;
    ///     bytes += if frame.line() == Some(6) { row.size } else { 0 };
    /// }
    /// assert!(bytes > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn line_rows(&self) -> LineRows<'_> {
        let windows_left = self.view.line_windows.len();
        LineRows { view: &self.view, span: 0, offset: 0, windows_left, open: None }
    }

    /// The name that debug information gives the function at an address, not
    /// counting inlined ones: `f` where the symbol is `f.cold`. `None` where no
    /// line is known, or no name.
    ///
    /// # Errors
    /// As [`Index::frames`].
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Inlined there are `leaf` and `middle`.
    /// let name = index.stated_function(symidx::Svma(0x4001a8))?;
    /// assert_eq!(name.unwrap(), "outer");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stated_function(&self, address: Svma) -> Result<Option<Name<'_>>, Corrupt> {
        self.view.stated_function(NONE, address.0)
    }

    /// The same for an offset in a section of a relocatable file.
    ///
    /// # Errors
    /// As [`Index::frames`].
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// use symidx::ImageSectionId;
    ///
    /// // Only relocatable files have such addresses.
    /// assert_eq!(index.stated_function_in(ImageSectionId(1), 0)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stated_function_in(
        &self,
        section: ImageSectionId,
        offset: u64,
    ) -> Result<Option<Name<'_>>, Corrupt> {
        self.view.stated_function(section.0, offset)
    }
}

impl<'a> View<'a> {
    fn stated_function(&self, section: u32, address: u64) -> Result<Option<Name<'a>>, Corrupt> {
        let Some(row) = self.row_at(section, address)? else { return Ok(None) };
        let mut at = row.node;
        for _ in 0..MAX_FRAMES {
            let node = self.node(at)?;
            match node.parent {
                Some((parent, _)) => at = parent,
                None => {
                    let name = self.function(node.stated)?.name;
                    return Ok((!name.is_empty()).then_some(name));
                }
            }
        }
        Err(Corrupt { section: SectionId::INLINES, offset: at.into() })
    }
}

impl Iterator for LineRows<'_> {
    type Item = Result<LineRow, Corrupt>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(span) = self.view.line_spans.get(self.span) else {
                return self.open.take().map(|(row, _)| Ok(row));
            };
            let size = span.size.get().min(1 << 32);
            if self.offset >= size {
                self.span = self.span.saturating_add(1);
                self.offset = 0;
                continue;
            }
            let shift = span.shift.get() & 63;
            let window = 1u64.wrapping_shl(shift);
            let inside = self.offset & window.wrapping_sub(1);
            if inside == 0 {
                let Some(left) = self.windows_left.checked_sub(1) else {
                    let span = u32::try_from(self.span).unwrap_or(u32::MAX);
                    self.span = usize::MAX;
                    self.open = None;
                    return Some(Err(Corrupt::entry(SectionId::LINE_SPANS, span)));
                };
                self.windows_left = left;
            }
            let rest = window.saturating_sub(inside);
            let start = span.base.get().wrapping_add(self.offset);
            let found = self.view.row_at(span.section.get(), start);
            // A large window has one row.
            let step = if shift > ROW_SHIFT || found.is_err() { rest } else { 1 };
            let step = step.min(size.saturating_sub(self.offset));
            self.offset = self.offset.saturating_add(step);
            let row = match found {
                Ok(row) => row,
                Err(corrupt) => return Some(Err(corrupt)),
            };
            let section = span.section.get();
            let section = (section != NONE).then_some(ImageSectionId(section));
            if let Some((open, known)) = &mut self.open
                && row == Some(*known)
                && open.section == section
                && open.start.wrapping_add(open.size) == start
            {
                open.size = open.size.saturating_add(step);
                continue;
            }
            let ended = self.open.take();
            self.open = row.map(|row| (LineRow { section, start, size: step }, row));
            if let Some((ended, _)) = ended {
                return Some(Ok(ended));
            }
        }
    }
}
