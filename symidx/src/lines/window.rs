//! Windows: the bytes of one in, its rows out.
//!
//! Reading is arithmetic with few branches: which of its forms a window takes
//! differs from one to the next, and a wrong guess costs more than a sum.
//! Every byte is looked up with its bounds checked, whatever the sums come to.
//! What a lookup calls is always inlined: passing a window or a row through
//! memory costs as much as reading it.

use super::{OF_FUNCTION, Place, Row};
use crate::format::lines::{
    LONG_COLUMN, LONG_LINE, MANY_ENTRIES, NARROW_GAP, WIDE_GAP, WINDOW_COLUMNS, WINDOW_ENTRIES,
    WINDOW_FILES, WINDOW_LONG, WINDOW_WIDE,
};

/// A window, its columns by where they start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    bytes: &'a [u8],
    flags: u8,
    /// The node of entry 0.
    base: u32,
    rows: usize,
    entries: usize,
    files: usize,
    /// The nodes of the other entries.
    nodes_at: usize,
    files_at: usize,
    /// Starts of all rows but the first.
    starts_at: usize,
    picks_at: usize,
    lines_at: usize,
    /// Only there with [`WINDOW_COLUMNS`].
    columns_at: usize,
    /// Lines, then columns that did not fit.
    long_at: usize,
}

/// 1 for true.
fn bit(on: bool) -> usize {
    usize::from(on)
}

fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|chunk| u16::from_le_bytes(*chunk))
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
}

impl<'a> Window<'a> {
    /// The window; `None` when its columns do not fit into its bytes.
    #[inline(always)]
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let &[rows, flags, more] = bytes.first_chunk::<3>()?;
        let has = |flag: u8| flags & flag != 0;
        let few = flags & WINDOW_ENTRIES;
        let many = few == MANY_ENTRIES;
        let entries = usize::from(if many { more } else { few }).wrapping_add(1);
        let rows = usize::from(rows).wrapping_add(1);
        let files_count_at = bit(many).wrapping_add(2);
        let files = usize::from(*bytes.get(files_count_at)?).wrapping_add(1);
        let files = files.wrapping_mul(bit(has(WINDOW_FILES)));
        let base_at = files_count_at.wrapping_add(bit(has(WINDOW_FILES)));
        let base = read_u32(bytes, base_at)?;
        // None of these sums passes a few KiB.
        let nodes_at = base_at.wrapping_add(4);
        let node_size = 2usize << bit(has(WINDOW_WIDE));
        let files_at = entries.wrapping_sub(1).wrapping_mul(node_size).wrapping_add(nodes_at);
        let starts_at = files.wrapping_mul(4).wrapping_add(files_at);
        let picks_at = starts_at.wrapping_add(rows).wrapping_sub(1);
        let picks = match entries {
            1 => 0,
            2..=16 => rows.div_ceil(2),
            _ => rows,
        };
        let lines_at = picks_at.wrapping_add(picks);
        let columns_at = lines_at.wrapping_add(rows);
        let long_at = rows.wrapping_mul(bit(has(WINDOW_COLUMNS))).wrapping_add(columns_at);
        let whole = long_at <= bytes.len() && files <= entries;
        whole.then_some(Self {
            bytes,
            flags,
            base,
            rows,
            entries,
            files,
            nodes_at,
            files_at,
            starts_at,
            picks_at,
            lines_at,
            columns_at,
            long_at,
        })
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline(always)]
    fn byte(&self, at: usize, index: usize) -> Option<u8> {
        self.bytes.get(at.wrapping_add(index)).copied()
    }

    /// How many rows it has, at least 1.
    pub(crate) fn row_count(&self) -> usize {
        self.rows
    }

    /// How many entries it has, at least 1.
    pub(crate) fn entry_count(&self) -> usize {
        self.entries
    }

    /// Starts of all rows but the first, which starts with the window.
    pub(crate) fn starts(&self) -> &'a [u8] {
        self.bytes.get(self.starts_at..self.picks_at).unwrap_or(&[])
    }

    fn lines(&self) -> &'a [u8] {
        self.bytes.get(self.lines_at..self.columns_at).unwrap_or(&[])
    }

    fn columns(&self) -> &'a [u8] {
        self.bytes.get(self.columns_at..self.long_at).unwrap_or(&[])
    }

    /// The files of the last entries.
    pub(crate) fn files(&self) -> impl Iterator<Item = u32> {
        let bytes = self.bytes.get(self.files_at..self.starts_at).unwrap_or(&[]);
        bytes.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk))
    }

    /// The last row that starts at or before `offset`.
    #[inline(always)]
    pub(crate) fn position(&self, offset: u8) -> usize {
        self.starts().partition_point(|&start| start <= offset)
    }

    /// The entry that a row picks; `None` when there is no such row.
    #[inline(always)]
    pub(crate) fn pick(&self, row: usize) -> Option<usize> {
        if row >= self.rows {
            return None;
        }
        let halves = self.entries <= 16;
        // With one entry there are no picks; the byte read instead is not used.
        let byte = self.byte(self.picks_at, row >> bit(halves))?;
        let shift = u32::from(row & 1 != 0 && halves).wrapping_mul(4);
        let mask = if halves { 0x0f } else { 0xff };
        let pick = usize::from(byte.wrapping_shr(shift) & mask);
        Some(if self.entries == 1 { 0 } else { pick })
    }

    /// The node of an entry: `Some(None)` for a gap, `None` when there is no such entry.
    #[inline(always)]
    pub(crate) fn node(&self, entry: usize) -> Option<Option<u32>> {
        if entry >= self.entries {
            return None;
        }
        let Some(further) = entry.checked_sub(1) else { return Some(Some(self.base)) };
        if self.has(WINDOW_WIDE) {
            let node = read_u32(self.bytes, further.wrapping_mul(4).wrapping_add(self.nodes_at))?;
            return Some((node != WIDE_GAP).then_some(node));
        }
        let distance = read_u16(self.bytes, further.wrapping_mul(2).wrapping_add(self.nodes_at))?;
        let step = i32::from(distance.cast_signed());
        Some((distance != NARROW_GAP).then(|| self.base.wrapping_add_signed(step)))
    }

    /// The entry's own file: `None` when it is that of its function.
    #[inline(always)]
    fn file(&self, entry: usize) -> Option<u32> {
        let own = entry.checked_sub(self.entries.wrapping_sub(self.files))?;
        read_u32(self.bytes, own.wrapping_mul(4).wrapping_add(self.files_at))
    }

    /// The line of a row, and whether it counts from its function's.
    #[inline(always)]
    fn line(&self, row: usize) -> Option<(i64, bool)> {
        match self.byte(self.lines_at, row)? {
            LONG_LINE => self.long_line(row).map(|line| (line.into(), false)),
            // 0, which is no line, must stay 0.
            line => Some((i64::from(line.saturating_sub(1)), line != 0)),
        }
    }

    /// The column of a row; 0 = unknown.
    #[inline(always)]
    fn column(&self, row: usize) -> Option<u32> {
        if !self.has(WINDOW_COLUMNS) {
            return Some(0);
        }
        match self.byte(self.columns_at, row)? {
            LONG_COLUMN => self.long_column(row),
            column => Some(column.into()),
        }
    }

    #[cold]
    fn long_line(&self, row: usize) -> Option<u32> {
        self.long_value(count_of(self.lines().get(..row)?, LONG_LINE))
    }

    #[cold]
    fn long_column(&self, row: usize) -> Option<u32> {
        let before = count_of(self.columns().get(..row)?, LONG_COLUMN);
        self.long_value(before.wrapping_add(count_of(self.lines(), LONG_LINE)))
    }

    fn long_value(&self, n: usize) -> Option<u32> {
        match self.has(WINDOW_LONG) {
            true => read_u32(self.bytes, n.wrapping_mul(4).wrapping_add(self.long_at)),
            false => {
                read_u16(self.bytes, n.wrapping_mul(2).wrapping_add(self.long_at)).map(u32::from)
            }
        }
    }

    /// What a row says: `Some(None)` in a gap, `None` when it is damaged.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> Option<Option<Row>> {
        let entry = self.pick(row)?;
        let Some(node) = self.node(entry)? else { return Some(None) };
        let file = self.file(entry).unwrap_or(OF_FUNCTION);
        let (line, from_function) = self.line(row)?;
        let place = Place { file, column: self.column(row)?, line, from_function };
        Some(Some(Row { node, place }))
    }

    /// True when it ends with as many long values as its lines and columns ask for.
    pub(crate) fn has_all_long_values(&self) -> bool {
        let wanted = count_of(self.lines(), LONG_LINE);
        let wanted = wanted.wrapping_add(count_of(self.columns(), LONG_COLUMN));
        let size = 2usize << bit(self.has(WINDOW_LONG));
        self.long_at.checked_add(wanted.wrapping_mul(size)) == Some(self.bytes.len())
    }
}

/// How many of the bytes are `wanted`.
fn count_of(bytes: &[u8], wanted: u8) -> usize {
    bytes.iter().filter(|&&byte| byte == wanted).count()
}
