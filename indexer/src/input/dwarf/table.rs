//! Line rows, kept short where a unit has many: then about as many bytes as
//! their line program.
//!
//! In: the rows of sequences, in order of address. Out: [`Span`]s from any
//! address on, sorted and disjoint, each inside one mapping. Which sequence
//! holds which addresses is not decided here.

use super::rows::{LineRow, Span};
use crate::model::{AddressMap, Mapping};
use crate::varint::{Numbers, put, unzigzag, zigzag};

/// Rows of one block: what may have to be read for the one that is looked for.
const BLOCK: usize = 32;

/// Where a block begins.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Address of its first row.
    address: u64,
    /// Its first byte.
    at: usize,
}

/// Rows of one sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    /// Its first block, or its first row when rows are not packed.
    first: usize,
    /// Its rows.
    pub(super) len: usize,
}

/// Rows of runs. The open run is the last one.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// Rows are packed: that takes a sixth of the memory, and some time.
    packed: bool,
    /// Those that are not.
    plain: Vec<LineRow>,
    bytes: Vec<u8>,
    blocks: Vec<Block>,
    /// Rows of all runs before the open one.
    closed: usize,
    open: Run,
    last: LineRow,
}

impl Store {
    /// Of rows that are packed or not: what comes out is the same.
    pub(super) fn new(packed: bool) -> Self {
        Self { packed, ..Self::default() }
    }

    /// Adds a row to the open run.
    #[inline]
    pub(super) fn push(&mut self, row: LineRow) {
        if self.packed {
            self.pack(row);
        } else {
            self.plain.push(row);
        }
        self.open.len = self.open.len.saturating_add(1);
        self.last = row;
    }

    fn pack(&mut self, row: LineRow) {
        if self.open.len.is_multiple_of(BLOCK) {
            self.blocks.push(Block { address: row.address, at: self.bytes.len() });
            self.last = LineRow::first(row.address);
        }
        let last = &self.last;
        let (file, column) = (row.file != last.file, row.column != last.column);
        let line = zigzag(i64::from(row.line).wrapping_sub(i64::from(last.line)));
        put(&mut self.bytes, row.address.wrapping_sub(last.address));
        put(&mut self.bytes, (line << 2) | (u64::from(file) << 1) | u64::from(column));
        if file {
            put(&mut self.bytes, row.file.into());
        }
        if column {
            put(&mut self.bytes, row.column.into());
        }
    }

    /// The open run, so far.
    pub(super) fn open(&self) -> Run {
        self.open
    }

    /// The last row of the open run; that of no meaning when it is empty.
    pub(super) fn last(&self) -> &LineRow {
        &self.last
    }

    /// Begins another run; the open one is kept.
    pub(super) fn close(&mut self) {
        self.closed = self.closed.saturating_add(self.open.len);
        let first = if self.packed { self.blocks.len() } else { self.plain.len() };
        self.open = Run { first, len: 0 };
    }

    /// Takes the rows of the open run out: it is empty then.
    pub(super) fn take_open(&mut self) -> Self {
        let open = Run { first: 0, len: self.open.len };
        self.open.len = 0;
        if !self.packed {
            let plain = self.plain.split_off(self.open.first);
            return Self { plain, open, last: self.last, ..Self::default() };
        }
        let base = self.blocks.get(self.open.first).map_or(self.bytes.len(), |first| first.at);
        let bytes = self.bytes.split_off(base);
        let mut blocks = self.blocks.split_off(self.open.first);
        blocks.iter_mut().for_each(|block| block.at = block.at.saturating_sub(base));
        Self { packed: true, bytes, blocks, open, last: self.last, ..Self::default() }
    }

    /// Drops the rows of the open run.
    pub(super) fn clear_open(&mut self) {
        self.open.len = 0;
        if !self.packed {
            self.plain.truncate(self.open.first);
            return;
        }
        if let Some(first) = self.blocks.get(self.open.first) {
            self.bytes.truncate(first.at);
        }
        self.blocks.truncate(self.open.first);
    }

    fn plain(&self, run: Run) -> &[LineRow] {
        let end = run.first.saturating_add(run.len);
        self.plain.get(run.first..end).unwrap_or(&[])
    }

    /// Rows of a run, all of them.
    pub(super) fn rows(&self, run: Run) -> RowsOf<'_> {
        if !self.packed {
            return RowsOf::Plain(self.plain(run).iter());
        }
        RowsOf::Packed(Packed { left: run.len, block: run.first, ..Packed::none(self) })
    }

    /// Rows of a run from the last one on that is at `address` or before it.
    fn rows_from(&self, run: Run, address: u64) -> RowsOf<'_> {
        if !self.packed {
            let rows = self.plain(run);
            let after = rows.partition_point(|row| row.address <= address);
            return RowsOf::Plain(rows.get(after.saturating_sub(1)..).unwrap_or(&[]).iter());
        }
        let end = run.first.saturating_add(run.len.div_ceil(BLOCK));
        let blocks = self.blocks.get(run.first..end).unwrap_or(&[]);
        let after = blocks.partition_point(|block| block.address <= address);
        let skipped = after.saturating_sub(1);
        let mut rows = Packed {
            left: run.len.saturating_sub(skipped.saturating_mul(BLOCK)),
            block: run.first.saturating_add(skipped),
            ..Packed::none(self)
        };
        let mut behind = rows;
        behind.next();
        loop {
            let here = behind;
            match behind.next() {
                Some(next) if next.address <= address => rows = here,
                _ => return RowsOf::Packed(rows),
            }
        }
    }
}

/// The rows of a run, one after the other.
#[derive(Clone, Debug)]
pub(super) enum RowsOf<'a> {
    /// As they are.
    Plain(std::slice::Iter<'a, LineRow>),
    /// Read from their bytes.
    Packed(Packed<'a>),
}

impl Iterator for RowsOf<'_> {
    type Item = LineRow;

    #[inline]
    fn next(&mut self) -> Option<LineRow> {
        match self {
            Self::Plain(rows) => rows.next().copied(),
            Self::Packed(rows) => rows.next(),
        }
    }
}

/// The rows of a run that is packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed<'a> {
    store: &'a Store,
    numbers: Numbers<'a>,
    /// Rows to come.
    left: usize,
    /// The next block.
    block: usize,
    /// Rows left in the one at hand.
    inside: usize,
    last: LineRow,
}

impl<'a> Packed<'a> {
    fn none(store: &'a Store) -> Self {
        let (numbers, last) = (Numbers::new(&[]), LineRow::first(0));
        Self { store, numbers, left: 0, block: 0, inside: 0, last }
    }
}

impl Iterator for Packed<'_> {
    type Item = LineRow;

    fn next(&mut self) -> Option<LineRow> {
        self.left = self.left.checked_sub(1)?;
        if self.inside == 0 {
            let block = self.store.blocks.get(self.block)?;
            self.numbers = Numbers::new(self.store.bytes.get(block.at..)?);
            self.last = LineRow::first(block.address);
            self.block = self.block.saturating_add(1);
            self.inside = BLOCK;
        }
        self.inside = self.inside.saturating_sub(1);
        let address = self.last.address.wrapping_add(self.numbers.next());
        let head = self.numbers.next();
        let line = i64::from(self.last.line).wrapping_add(unzigzag(head >> 2));
        let mut changed = |bit: u64, last: u32| match head & bit {
            0 => last,
            _ => u32::try_from(self.numbers.next()).unwrap_or(0),
        };
        let (file, column) = (changed(2, self.last.file), changed(1, self.last.column));
        self.last = LineRow { address, file, line: u32::try_from(line).unwrap_or(0), column };
        Some(self.last)
    }
}

/// A part of a run that tells the lines of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// First address.
    pub(super) start: u64,
    /// First address after it.
    pub(super) end: u64,
    /// The rows; some may lie outside the part.
    pub(super) rows: Run,
}

/// The lines of a unit.
#[derive(Debug)]
pub(super) struct LineTable<'a> {
    addresses: &'a AddressMap,
    store: Store,
    /// Sorted and disjoint.
    parts: Vec<Part>,
}

impl<'a> LineTable<'a> {
    /// Of rows and the parts of their runs that count.
    pub(super) fn new(addresses: &'a AddressMap, mut store: Store, parts: Vec<Part>) -> Self {
        store.bytes.shrink_to_fit();
        Self { addresses, store, parts }
    }

    /// Of a unit without lines.
    pub(super) fn empty(addresses: &'a AddressMap) -> Self {
        Self::new(addresses, Store::default(), Vec::new())
    }

    /// Rows: about as many as there are spans, more where they repeat a place, fewer
    /// where sequences cut others.
    pub(super) fn len(&self) -> usize {
        self.store.closed
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> u64 {
        let blocks = std::mem::size_of_val(self.store.blocks.as_slice());
        let parts = std::mem::size_of_val(self.parts.as_slice());
        let rows = std::mem::size_of_val(self.store.plain.as_slice());
        let all = [self.store.bytes.len(), blocks, parts, rows];
        all.iter().fold(0, |sum, part| super::wide(*part).saturating_add(sum))
    }

    /// The spans that end after `address`; the first one may be cut before it.
    pub(super) fn from(&self, address: u64) -> Spans<'_> {
        let part = self.parts.partition_point(|part| part.end <= address);
        let coming = self.parts.get(part..).unwrap_or(&[]);
        let mut spans = Spans {
            table: self,
            coming,
            rows: RowsOf::Plain([].iter()),
            row: None,
            part: None,
            mapping: None,
        };
        spans.enter(address);
        spans
    }
}

/// Spans from an address on.
#[derive(Clone, Debug)]
pub(super) struct Spans<'a> {
    table: &'a LineTable<'a>,
    coming: &'a [Part],
    part: Option<Part>,
    row: Option<LineRow>,
    rows: RowsOf<'a>,
    mapping: Option<Mapping>,
}

impl Spans<'_> {
    /// Goes on to the next part, to where it tells of `address`.
    fn enter(&mut self, address: u64) {
        let Some((part, coming)) = self.coming.split_first() else {
            self.part = None;
            return;
        };
        self.coming = coming;
        self.rows = self.table.store.rows_from(part.rows, part.start.max(address));
        self.row = self.rows.next();
        self.part = Some(*part);
    }

    /// The span of a row, cut at the end of its mapping; one too long to be
    /// code is damage.
    fn span(&mut self, row: LineRow, start: u64, end: u64) -> Option<Span> {
        if start >= end || end.wrapping_sub(start) > super::LONGEST {
            return None;
        }
        if !self.mapping.is_some_and(|mapping| mapping.holds(start)) {
            self.mapping = self.table.addresses.find(start).copied();
        }
        let mapping = self.mapping?;
        let room = mapping.size.wrapping_sub(start.wrapping_sub(mapping.start));
        let end = end.min(start.saturating_add(room));
        let LineRow { file, line, column, .. } = row;
        Some(Span { start, end, file, line, column })
    }
}

impl Iterator for Spans<'_> {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        loop {
            let part = self.part?;
            match self.row.filter(|row| row.address < part.end) {
                Some(row) => {
                    self.row = self.rows.next();
                    let next = self.row.map_or(part.end, |next| next.address);
                    let span = self.span(row, row.address.max(part.start), next.min(part.end));
                    if span.is_some() {
                        return span;
                    }
                }
                None => self.enter(0),
            }
        }
    }
}
