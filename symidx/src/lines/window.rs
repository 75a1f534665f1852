//! Windows: the bytes of one in, its rows out.
//!
//! Reading is arithmetic with few branches: which of its forms a window takes
//! differs from one to the next, and a wrong guess costs more than a sum.
//! Every byte is looked up with its bounds checked, whatever the sums come to.
//! What a lookup calls is always inlined: passing a window or a row through
//! memory costs as much as reading it.

use core::hint::select_unpredictable;

use super::{OF_FUNCTION, Place, Row, mask_if};
use crate::format::lines::{
    LONG_COLUMN, LONG_LINE, MANY_ENTRIES, NARROW_GAP, WIDE_GAP, WINDOW_COLUMNS, WINDOW_ENTRIES,
    WINDOW_FILES, WINDOW_LONG, WINDOW_WIDE,
};

/// A window, its columns by where they start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    /// Its bytes, and whatever follows them.
    bytes: &'a [u8],
    /// How many are its own.
    len: usize,
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

/// Most rows behind the first that are searched at once; few windows have more.
const BLOCK: usize = 32;

/// 1 for true.
fn bit(on: bool) -> usize {
    usize::from(on)
}

/// The low byte.
fn low(value: u64) -> usize {
    usize::try_from(value & 0xff).unwrap_or(0)
}

fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|chunk| u16::from_le_bytes(*chunk))
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
}

/// The first eight bytes; zeros where there are fewer.
#[inline(always)]
fn head(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => short_head(bytes),
    }
}

#[cold]
fn short_head(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |head, &byte| (head << 8) | u64::from(byte))
}

/// How many starts are at or before `offset`.
#[inline(never)]
fn many_at_or_before(starts: &[u8], offset: u8) -> usize {
    starts.partition_point(|&start| start <= offset)
}

/// How many of the first `among` starts are at or before `offset`: all at once,
/// as a number of steps that differs from one window to the next is guessed wrong.
#[inline(always)]
fn count_at_or_before(starts: &[u8; BLOCK], offset: u8, among: u8) -> u8 {
    // 1 where neither is above its bound: sums of bytes, without a choice.
    let counted = |(number, &start): (u8, &u8)| {
        1u8.saturating_sub(start.saturating_sub(offset) | number.saturating_sub(among))
    };
    (1u8..).zip(starts).map(counted).fold(0, u8::wrapping_add)
}

impl<'a> Window<'a> {
    /// The window that is the first `len` of the bytes; `None` when its columns
    /// do not fit into them. Those behind it are read where that saves a choice,
    /// and never mean anything.
    #[inline(always)]
    pub(crate) fn parse(bytes: &'a [u8], len: usize) -> Option<Self> {
        let head = head(bytes);
        let rows = low(head).wrapping_add(1);
        let (flags, head) = (low(head >> 8), head >> 16);
        let has = |flag: u8| bit(flags & usize::from(flag) != 0);
        let few = flags & usize::from(WINDOW_ENTRIES);
        let many = few == usize::from(MANY_ENTRIES);
        let entries = if many { low(head) } else { few }.wrapping_add(1);
        let head = if many { head >> 8 } else { head };
        let with_files = has(WINDOW_FILES);
        let files = low(head).wrapping_add(1).wrapping_mul(with_files);
        let head = if with_files == 0 { head } else { head >> 8 };
        let base = u32::try_from(head & u64::from(u32::MAX)).unwrap_or(0);
        // None of these sums passes a few KiB.
        let nodes_at = bit(many).wrapping_add(with_files).wrapping_add(6);
        let node_size = 2usize << has(WINDOW_WIDE);
        let files_at = entries.wrapping_sub(1).wrapping_mul(node_size).wrapping_add(nodes_at);
        let starts_at = files.wrapping_mul(4).wrapping_add(files_at);
        let picks_at = starts_at.wrapping_add(rows).wrapping_sub(1);
        // None for one entry, half bytes up to 16, else bytes.
        let picks = rows.wrapping_add(bit(entries <= 16)) >> bit(entries <= 16);
        let lines_at = picks.wrapping_mul(bit(entries > 1)).wrapping_add(picks_at);
        let columns_at = lines_at.wrapping_add(rows);
        let long_at = rows.wrapping_mul(has(WINDOW_COLUMNS)).wrapping_add(columns_at);
        let whole = (long_at <= len) & (len <= bytes.len()) & (files <= entries);
        whole.then_some(Self {
            bytes,
            len,
            flags: u8::try_from(flags).unwrap_or(0),
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
        let among = self.rows.wrapping_sub(1);
        // Of two blocks the one that the offset is in.
        let last = self.byte(self.starts_at, BLOCK - 1).unwrap_or(u8::MAX);
        let skip = select_unpredictable((last <= offset) & (among > BLOCK), BLOCK, 0);
        let among = among.wrapping_sub(skip);
        let block = self.bytes.get(self.starts_at.wrapping_add(skip)..);
        match block.and_then(|bytes| bytes.first_chunk()) {
            Some(block) if self.rows <= 2 * BLOCK + 1 => {
                let among = u8::try_from(among).unwrap_or(u8::MAX);
                usize::from(count_at_or_before(block, offset, among)).wrapping_add(skip)
            }
            _ => many_at_or_before(self.starts(), offset),
        }
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
        let shift = if halves { (row & 1) << 2 } else { 0 };
        let mask = if halves { 0x0f } else { 0xff };
        let mask = if self.entries == 1 { 0 } else { mask };
        Some((usize::from(byte) >> shift) & mask)
    }

    /// The node of an entry: `Some(None)` for a gap, `None` when there is no such entry.
    #[inline(always)]
    pub(crate) fn node(&self, entry: usize) -> Option<Option<u32>> {
        if entry >= self.entries {
            return None;
        }
        // For entry 0 this is a part of its base, and not used.
        let at = |size: usize| entry.wrapping_sub(1).wrapping_mul(size).wrapping_add(self.nodes_at);
        if self.has(WINDOW_WIDE) {
            let node = read_u32(self.bytes, at(4))?;
            let node = select_unpredictable(entry == 0, self.base, node);
            return Some((node != WIDE_GAP || entry == 0).then_some(node));
        }
        let distance = read_u16(self.bytes, at(2))?;
        let distance = select_unpredictable(entry == 0, 0, distance);
        let step = i32::from(distance.cast_signed());
        Some((distance != NARROW_GAP).then_some(self.base.wrapping_add_signed(step)))
    }

    /// The entry's own file: `None` when it is that of its function.
    #[inline(always)]
    fn file(&self, entry: usize) -> Option<u32> {
        let own = entry.checked_sub(self.entries.wrapping_sub(self.files))?;
        read_u32(self.bytes, own.wrapping_mul(4).wrapping_add(self.files_at))
    }

    /// The line of a row, and which part of its function's it counts from.
    #[inline(always)]
    fn line(&self, row: usize) -> Option<(u32, u32)> {
        match self.byte(self.lines_at, row)? {
            LONG_LINE => self.long_line(row).map(|line| (line, 0)),
            // 0, which is no line, must stay 0.
            line => Some((u32::from(line.saturating_sub(1)), mask_if(line != 0))),
        }
    }

    /// The column of a row; 0 = unknown.
    #[inline(always)]
    fn column(&self, row: usize) -> Option<u32> {
        // Without columns this is a line, or a byte behind it, and not used.
        let at = if self.has(WINDOW_COLUMNS) { self.columns_at } else { self.lines_at };
        let mask = if self.has(WINDOW_COLUMNS) { u8::MAX } else { 0 };
        match self.byte(at, row)? & mask {
            LONG_COLUMN => self.long_column(row),
            column => Some(column.into()),
        }
    }

    fn long_line(&self, row: usize) -> Option<u32> {
        let before = self.lines().get(..row)?;
        long_value(self.long_values()?, self.flags, [before, &[]])
    }

    fn long_column(&self, row: usize) -> Option<u32> {
        let before = self.columns().get(..row)?;
        long_value(self.long_values()?, self.flags, [self.lines(), before])
    }

    /// All that is left of it.
    fn long_values(&self) -> Option<&'a [u8]> {
        self.bytes.get(self.long_at..self.len)
    }

    /// What a row says: `Some(None)` in a gap, `None` when it is damaged.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> Option<Option<Row>> {
        let entry = self.pick(row)?;
        let Some(node) = self.node(entry)? else { return Some(None) };
        let file = self.file(entry).unwrap_or(OF_FUNCTION);
        let (line, base_mask) = self.line(row)?;
        let place = Place { file, column: self.column(row)?, line, base_mask };
        Some(Some(Row { node, place }))
    }

    /// True when it ends with as many long values as its lines and columns ask for.
    pub(crate) fn has_all_long_values(&self) -> bool {
        let wanted = count_of(self.lines(), LONG_LINE);
        let wanted = wanted.wrapping_add(count_of(self.columns(), LONG_COLUMN));
        let size = 2usize << bit(self.has(WINDOW_LONG));
        self.long_at.checked_add(wanted.wrapping_mul(size)) == Some(self.len)
    }
}

/// The long value of a row behind these lines and columns.
#[cold]
fn long_value(values: &[u8], flags: u8, [lines, columns]: [&[u8]; 2]) -> Option<u32> {
    let number = count_of(lines, LONG_LINE).wrapping_add(count_of(columns, LONG_COLUMN));
    match flags & WINDOW_LONG != 0 {
        true => read_u32(values, number.wrapping_mul(4)),
        false => read_u16(values, number.wrapping_mul(2)).map(u32::from),
    }
}

/// How many of the bytes are `wanted`.
fn count_of(bytes: &[u8], wanted: u8) -> usize {
    bytes.iter().filter(|&&byte| byte == wanted).count()
}
