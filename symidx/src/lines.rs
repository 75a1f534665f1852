//! Line rows: an address in, the place it was compiled from out.
//!
//! One span, one window (its place follows from the address: no search), a
//! binary search among at most 255 bytes for the row. Never reads a name, never allocates,
//! never looks outside its window, whatever the bytes say.

use zerocopy::IntoBytes as _;

use crate::error::Corrupt;
use crate::format::lines::{
    FileEntry, LINE_DECLARED, LINK_FILE, LineSpan, MAX_FUNCTION_LINE, NO_FILE, NODE_FIELDS,
};
use crate::format::{NONE, SectionId};
use crate::names::Name;
use crate::open::{View, index};

mod window;

pub(crate) use window::Window;

/// A [`Place::file`] that is the file of the function it is in.
pub(crate) const OF_FUNCTION: u32 = u32::MAX - 1;

/// A place in a function's source, in numbers that are settled without branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index of its file, [`OF_FUNCTION`], or `NONE`: not known.
    pub(crate) file: u32,
    /// 0: not known.
    pub(crate) column: u32,
    /// With `from_function` counted from the function's line; 0 without it: not known.
    pub(crate) line: i64,
    pub(crate) from_function: bool,
}

impl Place {
    /// The line, in a function that counts from `base`; 0 when it is not known
    /// or cannot be.
    #[inline(always)]
    pub(crate) fn line_in(&self, base: u32) -> u32 {
        let base = if self.from_function { i64::from(base) } else { 0 };
        u32::try_from(self.line.wrapping_add(base)).unwrap_or(0)
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
}

/// The four numbers of a node behind its head, and how many bytes they take.
///
/// Two at a time: a pair takes at most eight bytes, and the second pair is
/// read where the first one ends.
#[inline(always)]
fn numbers(head: u8, fields: &[u8; NODE_FIELDS]) -> ([u32; 4], usize) {
    let code = |pair: u32| usize::from(head.wrapping_shr(pair) & 3);
    let size = |code: usize| (1usize << code) >> 1;
    // Of 0, 1, 2 or 4 bytes.
    let mask = |code: usize| [0, 0xff, 0xffff, u32::MAX].get(code).copied().unwrap_or(0);
    let low = |value: u64, code: usize| u32::try_from(value & u64::from(mask(code))).unwrap_or(0);
    let pair = |at: usize, first: usize, second: usize| {
        let bytes = fields.get(at..).and_then(|rest| rest.first_chunk::<8>());
        let value = bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let bits = u32::try_from(size(first).wrapping_mul(8)).unwrap_or(0);
        (low(value, first), low(value.wrapping_shr(bits), second))
    };
    let (function_code, link_code, line_code, column_code) = (code(0), code(2), code(4), code(6));
    let (function, link) = pair(0, function_code, link_code);
    let behind = size(function_code).wrapping_add(size(link_code));
    let (line, column) = pair(behind, line_code, column_code);
    let used = behind.wrapping_add(size(line_code)).wrapping_add(size(column_code));
    ([function, link, line, column], used)
}

/// A signed number from its zigzag form.
fn signed(value: u64) -> i64 {
    let half = i64::try_from(value >> 1).unwrap_or(0);
    if value & 1 == 0 { half } else { !half }
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

impl<'a> View<'a> {
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
                let Some(bytes) = self.window_bytes(span, number) else { break };
                let left = (windows_left.checked_sub(1), bytes_left.checked_sub(bytes.len()));
                let (Some(windows), Some(more)) = left else { break 'spans };
                (windows_left, bytes_left) = (windows, more);
                let window = Window::parse(bytes);
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

    /// The bytes of a span's window; empty where nothing is known.
    #[inline(always)]
    pub(crate) fn window_bytes(&self, span: &LineSpan, window: u64) -> Option<&'a [u8]> {
        let first = u64::from(span.window_first.get());
        let at = usize::try_from(first.checked_add(window)?).ok()?;
        let start = self.line_windows.get(at)?.get();
        let end = self.line_windows.get(at.checked_add(1)?)?.get();
        let lines = usize::try_from(span.lines.get()).ok()?;
        let place = |offset: u32| lines.checked_add(index(offset));
        self.lines.get(place(start)?..place(end)?)
    }

    /// What is known of an address; `None` where no row covers it.
    #[inline(always)]
    pub(crate) fn row_at(&self, section: u32, address: u64) -> Result<Option<Row>, Corrupt> {
        let Some((number, span)) = self.span_at(section, address) else { return Ok(None) };
        let offset = address.wrapping_sub(span.base.get());
        let shift = span.shift.get() & 63;
        let window = offset.wrapping_shr(shift);
        let inside = offset & !u64::MAX.wrapping_shl(shift);
        let wrong =
            || Corrupt::entry(SectionId::LINE_SPANS, u32::try_from(number).unwrap_or(u32::MAX));
        let bytes = self.window_bytes(span, window).ok_or_else(wrong)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let row = || {
            let window = Window::parse(bytes)?;
            // In a larger window there is one row.
            window.row(window.position(u8::try_from(inside).unwrap_or(u8::MAX)))
        };
        row().ok_or_else(wrong)
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
            return Some(Node { function, parent: None, end });
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
        let from_function = line != 0;
        let line = signed(u64::from(line.saturating_sub(1)));
        let call = Place { file, column, line, from_function };
        Some(Node { function, parent: Some((parent, call)), end })
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
                name: Name::plain(self.stored_name(entry.name.get(), name_len)?),
                file: if file == NO_FILE { NONE } else { file },
                base: line & MAX_FUNCTION_LINE,
                declared: line & LINE_DECLARED != 0,
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
            Some((Name::plain(directory), Name::plain(name)))
        };
        there().ok_or_else(|| Corrupt::entry(SectionId::FILES, file))
    }
}

#[cfg(test)]
#[path = "lines/tests.rs"]
mod tests;
