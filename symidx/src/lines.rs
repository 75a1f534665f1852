//! Line rows: an address in, the place it was compiled from out.
//!
//! One span, one window (its place follows from the address: no search), the
//! starts of its rows compared all at once. Never reads a name, never allocates;
//! what lies outside a window never means anything, whatever the bytes say.

use zerocopy::IntoBytes as _;
use zerocopy::little_endian::U32;

use crate::error::Corrupt;
use crate::format::lines::{
    FILE_OF_ROWS, FileEntry, LINE_DECLARED, LINK_FILE, LineSpan, MAX_FUNCTION_LINE, NO_FILE,
    NODE_FIELDS, ROOT_IS_SYMBOL,
};
use crate::format::{NONE, SectionId};
use crate::names::Name;
use crate::open::{View, index};

mod node;
mod window;

use node::{numbers, unzigzag};
pub(crate) use window::Window;

/// A [`Place::file`] that is the file of the function it is in.
pub(crate) const OF_FUNCTION: u32 = u32::MAX - 1;

/// Opening looks at no more spans.
const MAX_LARGEST: usize = 16;

/// A place in a function's source, in numbers that are settled without branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index of its file, [`OF_FUNCTION`], or `NONE`: not known.
    pub(crate) file: u32,
    /// 0: not known.
    pub(crate) column: u32,
    /// With `base_mask` the distance from the function's line, modulo 2^32; 0
    /// without it: not known.
    pub(crate) line: u32,
    /// All ones or zero.
    pub(crate) base_mask: u32,
}

impl Place {
    /// The line, in a function that counts from `base`; 0 when it is not known.
    #[inline(always)]
    pub(crate) fn line_in(&self, base: u32) -> u32 {
        self.line.wrapping_add(base & self.base_mask)
    }
}

/// What is known of one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Offset of its innermost function's node.
    pub(crate) node: u32,
    pub(crate) place: Place,
}

/// A function of the inline tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Index of its function.
    pub(crate) function: u32,
    /// What it was inlined into, and where it was called there.
    pub(crate) parent: Option<(u32, Place)>,
    /// A root whose function has the name of the symbols that cover its rows.
    pub(crate) is_symbol: bool,
    /// Index of its function as debug information names it.
    pub(crate) stated: u32,
    /// Offset of the first byte behind it.
    pub(crate) end: usize,
}

/// The function of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: Name<'a>,
    /// Index of its file, or `NONE`.
    pub(crate) file: u32,
    /// The line its rows count from.
    pub(crate) base: u32,
    /// True when that is where it was declared.
    pub(crate) declared: bool,
    /// True when only the file of its rows is known.
    pub(crate) file_of_rows: bool,
}

/// All ones for true.
#[inline(always)]
fn mask_if(on: bool) -> u32 {
    0u32.wrapping_sub(u32::from(on))
}

/// How much the line sections hold; see [`crate::Index::line_counts`].
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/rich.symidx")))?;
/// // No lines at all: `symidx info` says `lines none`.
/// assert_eq!(index.line_counts(), symidx::LineCounts::default());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineCounts {
    /// Stretches of code with a source line; neighbours of one place are one.
    pub rows: u64,
    /// Functions inlined somewhere, each place counted.
    pub inlined: u64,
    /// Distinct functions of rows and inlined calls.
    pub functions: u64,
    /// Source files.
    pub files: u64,
}

/// Where the windows of a span lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanLines<'a> {
    /// First address.
    base: u64,
    /// Bytes; 0 = there is none.
    size: u64,
    /// log2 of the bytes of address space per window.
    shift: u32,
    /// From its first entry on.
    windows: &'a [U32],
    /// From its first window on.
    lines: &'a [u8],
}

impl<'a> SpanLines<'a> {
    pub(crate) const EMPTY: Self = Self { base: 0, size: 0, shift: 0, windows: &[], lines: &[] };

    /// The bytes from a window on, and how many are its own.
    #[inline(always)]
    fn window(&self, window: u64) -> Option<(&'a [u8], usize)> {
        let [start, end] = self.windows.get(usize::try_from(window).ok()?..)?.first_chunk::<2>()?;
        let len = index(end.get().checked_sub(start.get())?);
        let bytes = self.lines.get(index(start.get())..)?;
        (len <= bytes.len()).then_some((bytes, len))
    }

    /// What is known of one of its addresses: `None` when that is damaged.
    #[inline(always)]
    fn row(&self, address: u64) -> Option<Option<Row>> {
        let offset = address.wrapping_sub(self.base);
        let inside = offset & !u64::MAX.wrapping_shl(self.shift);
        let (bytes, len) = self.window(offset.wrapping_shr(self.shift))?;
        if len == 0 {
            return Some(None);
        }
        let window = Window::parse(bytes, len)?;
        // In a larger window there is one row.
        window.row(window.position(u8::try_from(inside).unwrap_or(u8::MAX)))
    }
}

impl<'a> View<'a> {
    /// The largest of the first spans: most code lookups fall into it.
    pub(crate) fn largest_lines(&self) -> SpanLines<'a> {
        let plain = |span: &&LineSpan| span.section.get() == NONE;
        let spans = self.line_spans.iter().take(MAX_LARGEST).filter(plain);
        let largest = spans.max_by_key(|span| span.size.get());
        largest.and_then(|span| self.lines_of(span)).unwrap_or(SpanLines::EMPTY)
    }

    /// Counts by walking, each byte at most once; damaged parts count as nothing.
    pub(crate) fn line_counts(&self) -> LineCounts {
        let mut counts = LineCounts {
            functions: u64::try_from(self.functions.len()).unwrap_or(u64::MAX),
            files: u64::try_from(self.files.len()).unwrap_or(u64::MAX),
            ..LineCounts::default()
        };
        let (mut last, mut end) = (None, None);
        // Windows and their bytes are one span's each: broken spans may share
        // them, and then the walk ends with what there is.
        let (mut windows_left, mut bytes_left) = (self.line_windows.len(), self.lines.len());
        'spans: for span in self.line_spans {
            let start = (span.section.get(), span.base.get());
            if end != Some(start) {
                last = None;
            }
            end = Some((start.0, start.1.wrapping_add(span.size.get())));
            let window = 1u64.wrapping_shl(span.shift.get() & 63).max(1);
            let windows = span.size.get().min(1 << 32).div_ceil(window);
            for number in 0..windows {
                let Some((bytes, len)) = self.window_bytes(span, number) else { break };
                let left = (windows_left.checked_sub(1), bytes_left.checked_sub(len));
                let (Some(windows), Some(more)) = left else { break 'spans };
                (windows_left, bytes_left) = (windows, more);
                let window = Window::parse(bytes, len);
                if window.is_none() {
                    last = None;
                }
                for row in window.iter().flat_map(|w| (0..w.row_count()).map(move |row| w.row(row)))
                {
                    let row = row.flatten();
                    counts.rows =
                        counts.rows.saturating_add(u64::from(row.is_some() && row != last));
                    last = row;
                }
            }
        }
        let mut at = 0u32;
        while let Ok(node) = self.node(at) {
            counts.inlined = counts.inlined.saturating_add(u64::from(node.parent.is_some()));
            match u32::try_from(node.end) {
                Ok(end) => at = end,
                Err(_) => break,
            }
        }
        counts
    }

    /// The span that holds an address: of a section in a relocatable file,
    /// with `section` `NONE` otherwise.
    #[inline(always)]
    fn span_at(&self, section: u32, address: u64) -> Option<(usize, &'a LineSpan)> {
        let key = |span: &LineSpan| (span.section.get(), span.base.get());
        let after = self.line_spans.partition_point(|span| key(span) <= (section, address));
        let at = after.checked_sub(1)?;
        let span = self.line_spans.get(at)?;
        let inside = span.section.get() == section
            && address.wrapping_sub(span.base.get()) < span.size.get();
        inside.then_some((at, span))
    }

    /// Where a span's windows lie; `None` where that is outside their sections.
    pub(crate) fn lines_of(&self, span: &LineSpan) -> Option<SpanLines<'a>> {
        Some(SpanLines {
            base: span.base.get(),
            size: span.size.get(),
            shift: span.shift.get() & 63,
            windows: self.line_windows.get(index(span.window_first.get())..)?,
            lines: self.lines.get(usize::try_from(span.lines.get()).ok()?..)?,
        })
    }

    /// The bytes from a span's window on, and how many are its own: none where
    /// nothing is known.
    pub(crate) fn window_bytes(&self, span: &LineSpan, window: u64) -> Option<(&'a [u8], usize)> {
        self.lines_of(span)?.window(window)
    }

    /// What is known of an address; `None` where no row covers it.
    #[inline(always)]
    pub(crate) fn row_at(&self, section: u32, address: u64) -> Result<Option<Row>, Corrupt> {
        let hot = &self.hot_lines;
        if section == NONE && address.wrapping_sub(hot.base) < hot.size {
            return hot.row(address).ok_or_else(|| self.no_row(section, address));
        }
        self.row_elsewhere(section, address)
    }

    #[inline(never)]
    fn row_elsewhere(&self, section: u32, address: u64) -> Result<Option<Row>, Corrupt> {
        match self.span_at(section, address) {
            Some((_, span)) => self
                .lines_of(span)
                .and_then(|lines| lines.row(address))
                .ok_or_else(|| self.no_row(section, address)),
            None => Ok(None),
        }
    }

    /// The span of an address is damaged, or a window of it.
    #[cold]
    fn no_row(&self, section: u32, address: u64) -> Corrupt {
        let span = self.span_at(section, address).map(|(span, _)| span);
        let number = span.and_then(|span| u32::try_from(span).ok());
        Corrupt::entry(SectionId::LINE_SPANS, number.unwrap_or(u32::MAX))
    }

    /// The node at an offset of the inlines section.
    #[inline(always)]
    pub(crate) fn node(&self, at: u32) -> Result<Node, Corrupt> {
        let wrong = || Corrupt { section: SectionId::INLINES, offset: at.into() };
        self.node_there(at).ok_or_else(wrong)
    }

    #[inline(always)]
    fn node_there(&self, at: u32) -> Option<Node> {
        let (head, fields) = self.inlines.get(index(at)..)?.split_first()?;
        // The section ends with as many zeros, so that every node has them.
        let ([function, link, line, column], used) =
            numbers(*head, fields.first_chunk::<NODE_FIELDS>()?);
        let mut end = index(at).checked_add(used)?.checked_add(1)?;
        if link == 0 {
            let is_symbol = line == ROOT_IS_SYMBOL;
            // Then a column is the other name's function, counted from 1.
            let other = if is_symbol { column.checked_sub(1) } else { None };
            let stated = other.unwrap_or(function);
            return Some(Node { function, parent: None, is_symbol, stated, end });
        }
        let file = match link & LINK_FILE {
            0 => OF_FUNCTION,
            _ => {
                let file = self.inlines.get(end..)?.first_chunk::<4>()?;
                end = end.checked_add(4)?;
                // A file that only a link without one can mean.
                Some(u32::from_le_bytes(*file)).filter(|&file| file != OF_FUNCTION)?
            }
        };
        // The distance is at least 1: parents lie before their children.
        let distance = Some(link >> 1).filter(|&distance| distance > 0)?;
        let parent = at.checked_sub(distance)?;
        let base_mask = mask_if(line != 0);
        let line = unzigzag(line.saturating_sub(1));
        let call = Place { file, column, line, base_mask };
        let parent = Some((parent, call));
        Some(Node { function, parent, is_symbol: false, stated: function, end })
    }

    /// A function of the functions section.
    #[inline(always)]
    pub(crate) fn function(&self, function: u32) -> Result<Function<'a>, Corrupt> {
        let there = || {
            let entry = self.functions.get(index(function))?;
            // Length, file and line in one read: they are eight bytes.
            let packed = u64::from_le_bytes(*entry.as_bytes().last_chunk::<8>()?);
            let bits = |shift: u32| u32::try_from(packed.wrapping_shr(shift) & 0xff_ffff);
            let name_len = u16::try_from(packed & 0xffff).ok()?;
            let (file, line) = (bits(16).ok()?, bits(40).ok()?);
            Some(Function {
                name: self.stored_name(entry.name.get(), name_len)?,
                file: if file == NO_FILE { NONE } else { file & !FILE_OF_ROWS },
                base: line & MAX_FUNCTION_LINE,
                declared: line & LINE_DECLARED != 0,
                file_of_rows: file & FILE_OF_ROWS != 0,
            })
        };
        there().ok_or_else(|| Corrupt::entry(SectionId::FUNCTIONS, function))
    }

    /// Directory and name of a file of the files section.
    #[inline(always)]
    pub(crate) fn file(&self, file: u32) -> Result<(Name<'a>, Name<'a>), Corrupt> {
        let there = || {
            let FileEntry { directory, name, directory_len, name_len } =
                self.files.get(index(file))?;
            let directory = self.stored_name(directory.get(), directory_len.get())?;
            let name = self.stored_name(name.get(), name_len.get())?;
            Some((directory, name))
        };
        there().ok_or_else(|| Corrupt::entry(SectionId::FILES, file))
    }
}

#[cfg(test)]
#[path = "lines/tests.rs"]
mod tests;
