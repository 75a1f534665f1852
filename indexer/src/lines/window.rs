//! Windows: rows in address order in, spans, windows and their bytes out.
//!
//! The only writer of the lines section; its shape is in `FORMAT.md`.

use symidx::format::NONE;
use symidx::format::lines::{
    LONG_COLUMN, LONG_LINE, LineSpan, MANY_ENTRIES, MAX_WINDOW_SHIFT, NARROW_GAP, ROW_SHIFT,
    WIDE_GAP, WINDOW_COLUMNS, WINDOW_FILES, WINDOW_LONG, WINDOW_WIDE,
};

/// Every window covers this many bytes of address space, as a power of two.
const SHIFT: u32 = ROW_SHIFT;
const WINDOW: u64 = 1 << SHIFT;
/// A row that takes this many whole windows has a span of its own.
const LONG: u64 = 8;
/// A gap of this many windows ends a span: more index entries than a span is worth.
const MAX_EMPTY: u64 = 64;

/// Where a stretch of code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// Offset of the innermost function's node.
    pub(super) node: u32,
    /// Its file where that is not its function's; [`NONE`]: unknown.
    pub(super) file: Option<u32>,
    /// 0: unknown.
    pub(super) line: u32,
    /// The line that the function's rows count from.
    pub(super) base: u32,
    /// 0: unknown.
    pub(super) column: u32,
}

/// What is written.
#[derive(Debug, Default)]
pub(super) struct Windows {
    pub(super) spans: Vec<LineSpan>,
    pub(super) windows: Vec<u32>,
    pub(super) lines: Vec<u8>,
    /// Rows written, a row that goes on in the next window counted once.
    pub(super) rows: u64,
    open: Option<Open>,
    /// Section, end and origin of what was added last.
    last: Option<(u32, u64, Origin)>,
    pending: Vec<(u8, Option<Origin>)>,
    entries: Vec<(u32, Option<u32>)>,
}

/// The span at hand.
#[derive(Clone, Copy, Debug)]
struct Open {
    section: u32,
    base: u64,
    /// First address of the window at hand.
    window: u64,
    /// Everything before this address is written or pending.
    at: u64,
    window_first: u32,
    lines: u64,
}

impl Windows {
    /// Adds a stretch of code: `[start, end)`, behind all that was added to its
    /// section before, and sections in order.
    pub(super) fn push(&mut self, section: u32, start: u64, end: u64, origin: Origin) {
        let joined = self.last == Some((section, start, origin));
        self.rows = self.rows.saturating_add(u64::from(!joined));
        self.last = Some((section, end, origin));
        let reaches = |open: &Open| {
            let gap = start.checked_sub(open.at);
            open.section == section && gap.is_some_and(|gap| gap < MAX_EMPTY.saturating_mul(WINDOW))
        };
        let open = match self.open.filter(reaches) {
            Some(open) => open,
            None => {
                self.close();
                self.begin(section, start)
            }
        };
        let mut open = self.advance(open, start);
        if open.at < start {
            self.row(&open, open.at, None);
        }
        // A row of its own, also where it goes on from the last window.
        if !joined || self.pending.is_empty() {
            self.row(&open, start, Some(origin));
        }
        while end > open.window.saturating_add(WINDOW) {
            let next = open.window.saturating_add(WINDOW);
            let whole = (end & !WINDOW.saturating_sub(1)).saturating_sub(next);
            if whole >= LONG.saturating_mul(WINDOW) {
                self.open = Some(Open { at: next, ..open });
                self.close();
                self.long_row(section, next, whole, origin);
                let rest = next.saturating_add(whole);
                if rest == end {
                    return;
                }
                open = self.begin(section, rest);
            } else {
                open = self.next_window(open);
            }
            self.row(&open, open.window, Some(origin));
        }
        self.open = Some(Open { at: end, ..open });
    }

    fn begin(&mut self, section: u32, start: u64) -> Open {
        let base = start & !WINDOW.saturating_sub(1);
        Open {
            section,
            base,
            window: base,
            at: base,
            window_first: u32::try_from(self.windows.len()).unwrap_or(NONE),
            lines: u64::try_from(self.lines.len()).unwrap_or(u64::MAX),
        }
    }

    /// Spans of one window with one row: code of one place that takes many
    /// windows costs no more than a row elsewhere.
    fn long_row(&mut self, section: u32, start: u64, size: u64, origin: Origin) {
        let mut at = start;
        let end = start.saturating_add(size);
        while at < end {
            let size = end.saturating_sub(at).min(1 << MAX_WINDOW_SHIFT);
            let open = self.begin(section, at);
            self.row(&open, at, Some(origin));
            self.write_window(&open);
            let shift = size.next_power_of_two().trailing_zeros();
            self.end_span(&open, size, shift);
            at = at.saturating_add(size);
        }
    }

    /// Ends windows until the one at hand holds `address`.
    fn advance(&mut self, mut open: Open, address: u64) -> Open {
        if address.saturating_sub(open.window) >= WINDOW {
            if open.at.saturating_sub(open.window) < WINDOW {
                self.row(&open, open.at, None);
            }
            while address.saturating_sub(open.window) >= WINDOW {
                open = self.next_window(open);
            }
            open.at = open.at.max(open.window);
        }
        open
    }

    fn row(&mut self, open: &Open, address: u64, origin: Option<Origin>) {
        let offset = address.saturating_sub(open.window);
        // An offset outside the window is none: the row before goes on to its end.
        if let Ok(offset) = u8::try_from(offset)
            && (origin.is_some() || !self.pending.is_empty() || offset == 0)
        {
            self.pending.push((offset, origin));
        }
    }

    fn next_window(&mut self, open: Open) -> Open {
        self.write_window(&open);
        let window = open.window.saturating_add(WINDOW);
        let lines = u64::try_from(self.lines.len()).unwrap_or(u64::MAX);
        // Offsets of 32 bits reach twice as far: a window has a few KiB at most.
        let far = lines.saturating_sub(open.lines).max(window.saturating_sub(open.base));
        if far < 1 << 31 {
            return Open { window, ..open };
        }
        self.end_span(&open, window.saturating_sub(open.base), SHIFT);
        Open { at: open.at.max(window), ..self.begin(open.section, window) }
    }

    /// Ends the span at hand.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if open.at.saturating_sub(open.window) < WINDOW {
            self.row(&open, open.at, None);
        }
        self.write_window(&open);
        let size = open.window.saturating_add(WINDOW).saturating_sub(open.base);
        let size = size.min(u64::MAX.saturating_sub(open.base).saturating_add(1));
        self.end_span(&open, size, SHIFT);
    }

    fn end_span(&mut self, open: &Open, size: u64, shift: u32) {
        self.windows.push(self.offset(open));
        self.spans.push(LineSpan {
            base: open.base.into(),
            size: size.into(),
            lines: open.lines.into(),
            window_first: open.window_first.into(),
            section: open.section.into(),
            shift: shift.into(),
            reserved: 0.into(),
        });
    }

    /// Ends everything.
    pub(super) fn finish(&mut self) {
        self.close();
    }

    fn offset(&self, open: &Open) -> u32 {
        let lines = u64::try_from(self.lines.len()).unwrap_or(u64::MAX);
        u32::try_from(lines.saturating_sub(open.lines)).unwrap_or(NONE)
    }

    /// Writes the pending rows as a window; nothing when they say nothing.
    fn write_window(&mut self, open: &Open) {
        self.windows.push(self.offset(open));
        if self.pending.iter().all(|(_, origin)| origin.is_none()) {
            self.pending.clear();
            return;
        }
        let own_file = |file: &Option<u32>| file.is_some();
        self.entries.clear();
        for (_, origin) in &self.pending {
            if let Some(origin) = origin {
                let entry = (origin.node, origin.file);
                // Few: a scan is fastest.
                if !self.entries.contains(&entry) {
                    self.entries.push(entry);
                }
            }
        }
        // Entries with a file of their own come last.
        self.entries.sort_by_key(|(_, file)| own_file(file));
        let plain = self.entries.iter().filter(|(_, file)| !own_file(file)).count();
        let gap = self.pending.iter().any(|(_, origin)| origin.is_none());
        // The first entry is a node. A gap behind entries with files has one too.
        let gap_at = gap.then_some(if plain > 0 { plain } else { self.entries.len() });
        if let Some(gap_at) = gap_at {
            self.entries.insert(gap_at, (WIDE_GAP, (plain == 0).then_some(NONE)));
        }
        let base = self.entries.first().map_or(0, |(node, _)| *node);
        let near = |node: u32| {
            let distance = i64::from(node).saturating_sub(base.into());
            i16::try_from(distance).ok().filter(|&distance| distance != i16::MIN)
        };
        let is_gap = |at: usize| gap_at == Some(at);
        let wide = self
            .entries
            .iter()
            .enumerate()
            .any(|(at, (node, _))| !is_gap(at) && near(*node).is_none());
        let columns =
            self.pending.iter().any(|(_, origin)| origin.is_some_and(|origin| origin.column != 0));
        let files = self.entries.iter().filter(|(_, file)| own_file(file)).count();
        let long = self.pending.iter().filter_map(|(_, origin)| *origin).any(|origin| {
            let line = short_line(&origin) == LONG_LINE && origin.line > u16::MAX.into();
            line || origin.column > u16::MAX.into()
        });
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        let out = &mut self.lines;
        out.push(less_one(self.pending.len()));
        let further = less_one(self.entries.len());
        out.push(
            further.min(MANY_ENTRIES)
                | flag(wide, WINDOW_WIDE)
                | flag(columns, WINDOW_COLUMNS)
                | flag(files > 0, WINDOW_FILES)
                | flag(long, WINDOW_LONG),
        );
        if further >= MANY_ENTRIES {
            out.push(further);
        }
        if files > 0 {
            out.push(less_one(files));
        }
        out.extend_from_slice(&base.to_le_bytes());
        for (at, &(node, _)) in self.entries.iter().enumerate().skip(1) {
            match wide {
                true => out.extend_from_slice(&node.to_le_bytes()),
                false if is_gap(at) => out.extend_from_slice(&NARROW_GAP.to_le_bytes()),
                false => out.extend_from_slice(&near(node).unwrap_or(0).to_le_bytes()),
            }
        }
        for file in self.entries.iter().filter_map(|(_, file)| *file) {
            out.extend_from_slice(&file.to_le_bytes());
        }
        out.extend(self.pending.iter().skip(1).map(|(start, _)| *start));
        let entries = &self.entries;
        let pick = |origin: &Option<Origin>| {
            let at = match origin {
                Some(origin) => {
                    let wanted = (origin.node, origin.file);
                    entries
                        .iter()
                        .enumerate()
                        .position(|(at, e)| *e == wanted && gap_at != Some(at))
                }
                None => gap_at,
            };
            u8::try_from(at.unwrap_or(0)).unwrap_or(0)
        };
        let picks = self.pending.iter().map(|(_, origin)| pick(origin));
        match entries.len() {
            1 => {}
            2..=16 => {
                let mut low = None;
                for pick in picks {
                    match low.take() {
                        None => low = Some(pick),
                        Some(low) => out.push(low | (pick << 4)),
                    }
                }
                out.extend(low);
            }
            _ => out.extend(picks),
        }
        let lines = self
            .pending
            .iter()
            .map(|(_, origin)| origin.map_or((0, 0), |origin| (short_line(&origin), origin.line)));
        out.extend(lines.clone().map(|(short, _)| short));
        let values = self.pending.iter().map(|(_, origin)| {
            let column = origin.map_or(0, |origin| origin.column);
            (u8::try_from(column).unwrap_or(LONG_COLUMN), column)
        });
        if columns {
            out.extend(values.clone().map(|(short, _)| short));
        }
        let long_lines = lines.filter(|(short, _)| *short == LONG_LINE);
        let long_columns = values.filter(|(short, _)| *short == LONG_COLUMN);
        for (_, value) in long_lines.chain(long_columns) {
            match u16::try_from(value) {
                Ok(value) if !long => out.extend_from_slice(&value.to_le_bytes()),
                _ => out.extend_from_slice(&value.to_le_bytes()),
            }
        }
        self.pending.clear();
    }
}

fn less_one(count: usize) -> u8 {
    u8::try_from(count.saturating_sub(1)).unwrap_or(u8::MAX)
}

/// True for a line that a byte cannot tell from where its function's rows count.
pub(super) fn is_far(line: u32, base: u32) -> bool {
    let behind = line.checked_sub(base).and_then(|behind| behind.checked_add(1));
    line != 0 && behind.is_none_or(|behind| behind >= LONG_LINE.into())
}

/// The line as a byte: 0 unknown, else from its function's, or [`LONG_LINE`].
fn short_line(origin: &Origin) -> u8 {
    if origin.line == 0 {
        return 0;
    }
    if is_far(origin.line, origin.base) {
        return LONG_LINE;
    }
    let behind = origin.line.saturating_sub(origin.base).saturating_add(1);
    u8::try_from(behind).unwrap_or(LONG_LINE)
}
