//! Line rows: an address in, the place it was compiled from out.
//!
//! One span, one window (its place follows from the address: no search), a
//! scan of at most 255 bytes for the row. Never reads a name, never allocates,
//! never looks outside its window, whatever the bytes say.

use zerocopy::FromBytes;
use zerocopy::little_endian::{U16, U32};

use crate::error::Corrupt;
use crate::format::SectionId;
use crate::format::lines::{
    FileEntry, FunctionEntry, LINE_DECLARED, LINK_FILE, LONG_COLUMN, LONG_LINE, LineSpan,
    MANY_ENTRIES, MAX_FUNCTION_LINE, NARROW_GAP, NO_FILE, WIDE_GAP, WINDOW_COLUMNS, WINDOW_ENTRIES,
    WINDOW_FILES, WINDOW_LONG, WINDOW_WIDE, from_u24,
};
use crate::names::Name;
use crate::open::{View, index};

/// Which file a row or a call is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileRef {
    /// That of the function it is in.
    OfFunction,
    /// This one.
    File(u32),
    /// Not known.
    Unknown,
}

/// Which line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineRef {
    /// Not known.
    Unknown,
    /// This many lines behind the one its function counts from.
    FromFunction(i64),
    /// This one.
    Line(u32),
}

/// A place in a function's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: FileRef,
    pub(crate) line: LineRef,
    pub(crate) column: u32,
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
    /// Index of its file, if it is known.
    pub(crate) file: Option<u32>,
    /// The line its rows count from.
    pub(crate) base: u32,
    /// True when that is where it was declared.
    pub(crate) declared: bool,
}

/// A window's columns. Only [`Window::parse`] makes one, so that they lie in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    /// Starts of all rows but the first, which starts with the window.
    pub(crate) starts: &'a [u8],
    pub(crate) base: u32,
    entries: Entries<'a>,
    /// Files of the last entries.
    pub(crate) files: &'a [U32],
    picks: Picks<'a>,
    pub(crate) lines: &'a [u8],
    /// Empty when no row has one.
    pub(crate) columns: &'a [u8],
    /// Lines, then columns that did not fit.
    long: Long<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Long<'a> {
    Short(&'a [U16]),
    Wide(&'a [U32]),
}

#[derive(Clone, Copy, Debug)]
enum Entries<'a> {
    Narrow(&'a [U16]),
    Wide(&'a [U32]),
}

#[derive(Clone, Copy, Debug)]
enum Picks<'a> {
    /// One entry for all rows.
    One,
    /// Two rows a byte, the low half first.
    Halves(&'a [u8]),
    Bytes(&'a [u8]),
}

/// Cuts the first `count` bytes off.
fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn take_u32s<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [U32]> {
    <[U32]>::ref_from_bytes(take(bytes, count.checked_mul(4)?)?).ok()
}

impl<'a> Window<'a> {
    /// The window's columns; `None` when they do not fit into its bytes.
    #[inline]
    pub(crate) fn parse(mut bytes: &'a [u8]) -> Option<Self> {
        let &[rows, flags] = take(&mut bytes, 2)?.first_chunk::<2>()?;
        let rows = usize::from(rows).saturating_add(1);
        let entries = match flags & WINDOW_ENTRIES {
            MANY_ENTRIES => *take(&mut bytes, 1)?.first()?,
            few => few,
        };
        let entries = usize::from(entries).saturating_add(1);
        let files = match flags & WINDOW_FILES {
            0 => 0,
            _ => usize::from(*take(&mut bytes, 1)?.first()?).saturating_add(1),
        };
        let base = u32::from_le_bytes(*take(&mut bytes, 4)?.first_chunk::<4>()?);
        // The first entry is the base itself.
        let further = entries.saturating_sub(1);
        let entry_table = match flags & WINDOW_WIDE {
            0 => {
                let bytes = take(&mut bytes, further.checked_mul(2)?)?;
                Entries::Narrow(<[U16]>::ref_from_bytes(bytes).ok()?)
            }
            _ => Entries::Wide(take_u32s(&mut bytes, further)?),
        };
        let files = take_u32s(&mut bytes, files)?;
        let starts = take(&mut bytes, rows.saturating_sub(1))?;
        let picks = match entries {
            1 => Picks::One,
            2..=16 => Picks::Halves(take(&mut bytes, rows.div_ceil(2))?),
            _ => Picks::Bytes(take(&mut bytes, rows)?),
        };
        let lines = take(&mut bytes, rows)?;
        let columns = match flags & WINDOW_COLUMNS {
            0 => &[][..],
            _ => take(&mut bytes, rows)?,
        };
        let long = match flags & WINDOW_LONG {
            0 => Long::Short(<[U16]>::ref_from_bytes(bytes).ok()?),
            _ => Long::Wide(<[U32]>::ref_from_bytes(bytes).ok()?),
        };
        (files.len() <= entries).then_some(Self {
            starts,
            base,
            entries: entry_table,
            files,
            picks,
            lines,
            columns,
            long,
        })
    }

    /// How many rows it has, at least 1.
    pub(crate) fn row_count(&self) -> usize {
        self.lines.len()
    }

    /// How many entries it has, at least 1.
    pub(crate) fn entry_count(&self) -> usize {
        match self.entries {
            Entries::Narrow(entries) => entries.len().saturating_add(1),
            Entries::Wide(entries) => entries.len().saturating_add(1),
        }
    }

    /// The last row that starts at or before `offset`.
    #[inline]
    fn position(&self, offset: u8) -> usize {
        // At most 255 starts: the sum fits, and this is a handful of vector steps.
        let count = |sum: u8, &start: &u8| sum.wrapping_add(u8::from(start <= offset));
        usize::from(self.starts.iter().fold(0u8, count))
    }

    /// The entry that a row picks.
    #[inline]
    pub(crate) fn pick(&self, row: usize) -> usize {
        let byte = |bytes: &[u8], at: usize| bytes.get(at).copied().unwrap_or(u8::MAX);
        usize::from(match self.picks {
            Picks::One => 0,
            Picks::Halves(bytes) => match row % 2 {
                0 => byte(bytes, row / 2) & 15,
                _ => byte(bytes, row / 2) >> 4,
            },
            Picks::Bytes(bytes) => byte(bytes, row),
        })
    }

    /// The node of an entry: `Some(None)` for a gap, `None` when there is no such entry.
    #[inline]
    pub(crate) fn node(&self, entry: usize) -> Option<Option<u32>> {
        let Some(further) = entry.checked_sub(1) else { return Some(Some(self.base)) };
        match self.entries {
            Entries::Narrow(entries) => {
                let distance = entries.get(further)?.get();
                let step = i32::from(i16::from_le_bytes(distance.to_le_bytes()));
                Some((distance != NARROW_GAP).then(|| self.base.wrapping_add_signed(step)))
            }
            Entries::Wide(entries) => {
                let node = entries.get(further)?.get();
                Some((node != WIDE_GAP).then_some(node))
            }
        }
    }

    /// The entry's own file: `None` when it is that of its function.
    #[inline]
    pub(crate) fn file(&self, entry: usize) -> Option<u32> {
        let first = self.entry_count().saturating_sub(self.files.len());
        self.files.get(entry.checked_sub(first)?).map(|file| file.get())
    }

    /// A line or column that did not fit: the `n`th of the long ones.
    #[cold]
    fn long_value(&self, n: usize) -> Option<u32> {
        match self.long {
            Long::Short(values) => values.get(n).map(|value| value.get().into()),
            Long::Wide(values) => values.get(n).map(|value| value.get()),
        }
    }

    #[cold]
    fn long_line(&self, row: usize) -> Option<u32> {
        self.long_value(count_of(self.lines.get(..row)?, LONG_LINE))
    }

    #[cold]
    fn long_column(&self, row: usize) -> Option<u32> {
        let before = count_of(self.lines, LONG_LINE);
        self.long_value(before.saturating_add(count_of(self.columns.get(..row)?, LONG_COLUMN)))
    }

    /// The line of a row.
    #[inline]
    pub(crate) fn line(&self, row: usize) -> Option<LineRef> {
        Some(match *self.lines.get(row)? {
            0 => LineRef::Unknown,
            LONG_LINE => LineRef::Line(self.long_line(row)?),
            line => LineRef::FromFunction(i64::from(line).wrapping_sub(1)),
        })
    }

    /// The column of a row; 0 = unknown.
    #[inline]
    pub(crate) fn column(&self, row: usize) -> Option<u32> {
        match self.columns.get(row) {
            None => Some(0),
            Some(&LONG_COLUMN) => self.long_column(row),
            Some(&column) => Some(column.into()),
        }
    }

    /// What a row says: `Some(None)` in a gap, `None` when it is damaged.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> Option<Option<Row>> {
        let entry = self.pick(row);
        let Some(node) = self.node(entry)? else { return Some(None) };
        let file = match self.file(entry) {
            None => FileRef::OfFunction,
            Some(u32::MAX) => FileRef::Unknown,
            Some(file) => FileRef::File(file),
        };
        let place = Place { file, line: self.line(row)?, column: self.column(row)? };
        Some(Some(Row { node, place }))
    }

    /// True when it has as many long values as its lines and columns ask for.
    pub(crate) fn has_all_long_values(&self) -> bool {
        let wanted = count_of(self.lines, LONG_LINE);
        let wanted = wanted.saturating_add(count_of(self.columns, LONG_COLUMN));
        wanted
            == match self.long {
                Long::Short(values) => values.len(),
                Long::Wide(values) => values.len(),
            }
    }
}

/// How many of the bytes are `wanted`.
fn count_of(bytes: &[u8], wanted: u8) -> usize {
    bytes.iter().filter(|&&byte| byte == wanted).count()
}

/// The next number of a node: seven bits a byte, the low ones first.
#[inline]
fn number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    // 42 bits hold every number that a writer makes.
    for shift in [0u32, 7, 14, 21, 28, 35] {
        let byte = *bytes.get(*at)?;
        *at = at.wrapping_add(1);
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// A signed number from its zigzag form.
fn signed(value: u64) -> i64 {
    let half = i64::try_from(value >> 1).unwrap_or(0);
    if value & 1 == 0 { half } else { !half }
}

/// How much the line sections hold; see [`crate::Index::line_counts`].
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
    /// Counts by walking; damaged parts count as nothing.
    pub(crate) fn line_counts(&self) -> LineCounts {
        let mut counts = LineCounts {
            functions: u64::try_from(self.functions.len()).unwrap_or(u64::MAX),
            files: u64::try_from(self.files.len()).unwrap_or(u64::MAX),
            ..LineCounts::default()
        };
        let (mut last, mut end) = (None, None);
        // Spans share no window; damaged ones may claim all of them, each one.
        let mut left = u64::try_from(self.line_windows.len()).unwrap_or(u64::MAX);
        for span in self.line_spans {
            let start = (span.section.get(), span.base.get());
            if end != Some(start) {
                last = None;
            }
            end = Some((start.0, start.1.wrapping_add(span.size.get())));
            let window = 1u64.wrapping_shl(span.shift.get() & 63).max(1);
            let windows = span.size.get().min(1 << 32).div_ceil(window).min(left);
            left = left.saturating_sub(windows);
            for number in 0..windows {
                let Some(bytes) = self.window_bytes(span, number) else { break };
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
    #[inline]
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
    #[inline]
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
    #[inline]
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
    #[inline]
    pub(crate) fn node(&self, at: u32) -> Result<Node, Corrupt> {
        let wrong = || Corrupt { section: SectionId::INLINES, offset: at.into() };
        self.node_there(at).ok_or_else(wrong)
    }

    #[inline]
    fn node_there(&self, at: u32) -> Option<Node> {
        let bytes = self.inlines;
        let mut next = index(at);
        let function = u32::try_from(number(bytes, &mut next)?).ok()?;
        let link = number(bytes, &mut next)?;
        if link == 0 {
            return Some(Node { function, parent: None, end: next });
        }
        // The distance is at least 1: parents lie before their children.
        let distance = u32::try_from(link >> 1).ok().filter(|&distance| distance > 0)?;
        let parent = at.checked_sub(distance)?;
        let line = match number(bytes, &mut next)? {
            0 => LineRef::Unknown,
            line => LineRef::FromFunction(signed(line.wrapping_sub(1))),
        };
        let column = u32::try_from(number(bytes, &mut next)?).ok()?;
        let file = match link & LINK_FILE {
            0 => FileRef::OfFunction,
            _ => match number(bytes, &mut next)? {
                0 => FileRef::Unknown,
                file => FileRef::File(u32::try_from(file.wrapping_sub(1)).ok()?),
            },
        };
        Some(Node { function, parent: Some((parent, Place { file, line, column })), end: next })
    }

    /// A function of the functions section.
    #[inline]
    pub(crate) fn function(&self, function: u32) -> Result<Function<'a>, Corrupt> {
        let there = || {
            let FunctionEntry { name, name_len, file, line } =
                self.functions.get(index(function))?;
            let (file, line) = (from_u24(*file), from_u24(*line));
            Some(Function {
                name: Name::plain(self.stored_name(name.get(), name_len.get())?),
                file: (file != NO_FILE).then_some(file),
                base: line & MAX_FUNCTION_LINE,
                declared: line & LINE_DECLARED != 0,
            })
        };
        there().ok_or_else(|| Corrupt::entry(SectionId::FUNCTIONS, function))
    }

    /// Directory and name of a file of the files section.
    #[inline]
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
