//! Flattening: one row per stretch of code that has one place and one innermost
//! function.
//!
//! In: the parts of a [`Tree`] and the lines of its unit. Out: pieces and rows
//! of [`crate::model::lines`], with nodes of the part; the same whatever the
//! parts are. Work is near linear: all is sorted once and walked side by side.

use super::table::LineTable;
use super::tree::{Code, Inlined, Tree, is_code};
use super::{count32, wide};
use crate::model::lines::{NONE, Piece, Row};
use crate::model::{AddressMap, Report};

/// From `start` on, up to the next one, this node is the innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    start: u64,
    node: u32,
}

/// The innermost nodes of all functions that something was inlined into.
#[derive(Debug, Default)]
struct Segments {
    list: Vec<Segment>,
    /// (root, range in `list`), sorted by root.
    roots: Vec<(u32, std::ops::Range<usize>)>,
}

impl Segments {
    /// Where ranges overlap, the one that starts last wins; of equal starts,
    /// that of the later DIE. So a child wins over its parent, and of two
    /// siblings the later one.
    fn of(inlined: &mut [Inlined]) -> Self {
        inlined.sort_unstable();
        let mut segments = Self::default();
        let mut open: Vec<Inlined> = Vec::new();
        for group in inlined.chunk_by(|a, b| a.root == b.root) {
            let Some(root) = group.first().map(|first| first.root) else { continue };
            let from = segments.list.len();
            for next in group {
                segments.close(&mut open, root, next.start, from);
                open.push(*next);
                segments.put(next.start, next.node, from);
            }
            segments.close(&mut open, root, u64::MAX, from);
            open.clear();
            segments.roots.push((root, from..segments.list.len()));
        }
        segments
    }

    /// Ends what ends up to `until`, and shows what is below it again.
    fn close(&mut self, open: &mut Vec<Inlined>, root: u32, until: u64, from: usize) {
        while let Some(end) = open.last().map(|top| top.end).filter(|&end| end <= until) {
            while open.last().is_some_and(|top| top.end <= end) {
                open.pop();
            }
            self.put(end, open.last().map_or(root, |top| top.node), from);
        }
    }

    fn put(&mut self, start: u64, node: u32, from: usize) {
        let length = self.list.len();
        match self.list.last_mut() {
            Some(last) if length > from && last.start == start => last.node = node,
            _ => self.list.push(Segment { start, node }),
        }
    }

    /// The segments of a function, sorted by start; empty when nothing was inlined.
    fn of_root(&self, root: u32) -> &[Segment] {
        let place = self.roots.binary_search_by_key(&root, |&(root, _)| root);
        place
            .ok()
            .and_then(|place| self.roots.get(place))
            .and_then(|(_, range)| self.list.get(range.clone()))
            .unwrap_or(&[])
    }
}

/// A piece before its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stretch {
    root: u32,
    section: u32,
    target: u64,
    size: u64,
    start: u64,
    entry: bool,
}

impl Stretch {
    /// What comes first in the order of addresses.
    fn order(&self, offset: u32, base: u32) -> Order {
        let root = if self.root == NONE { NONE } else { base.saturating_add(self.root) };
        (self.section, self.target, self.size, root, self.start, self.entry, offset)
    }
}

/// Where a row is in the order of the unit's pieces: section, address and size
/// of its piece, root, address as DWARF states it, entry; offset of the row.
pub(super) type Order = (u32, u64, u64, u32, u64, bool, u32);

/// Tells the number of a file put out from its index in the unit's table, and
/// where a row names it.
pub(super) trait RowFiles {
    /// The number of index `file`.
    fn number(&mut self, file: u32, at: Order) -> u32;
}

impl<F: FnMut(u32, Order) -> u32> RowFiles for F {
    fn number(&mut self, file: u32, at: Order) -> u32 {
        self(file, at)
    }
}

/// Pieces and their rows.
pub(super) type Flat = (Vec<Piece>, Vec<Row>);

/// One unit on its way.
pub(super) struct Flattening<'a> {
    lines: &'a LineTable<'a>,
    addresses: &'a AddressMap,
    /// Code of functions, when lines outside of it are put out.
    covered: Option<Vec<(u64, u64)>>,
    /// Where functions start, of all parts; sorted.
    starts: Vec<u64>,
    /// What was given: lines, inlined functions, functions.
    given: u64,
    /// Rows put out.
    written: u64,
    /// Nodes of the parts before.
    base: u32,
}

impl<'a> Flattening<'a> {
    /// Of a unit with these lines; those `outside` every function are put out too.
    /// `starts` are those of [`starts`], of all parts.
    pub(super) fn new(
        lines: &'a LineTable<'a>,
        addresses: &'a AddressMap,
        outside: bool,
        mut starts: Vec<u64>,
    ) -> Self {
        starts.sort_unstable();
        let given = wide(lines.len()).saturating_add(1024);
        let covered = outside.then(Vec::new);
        Self { lines, addresses, covered, starts, given, written: 0, base: 0 }
    }

    /// The pieces of a part and their rows. Rows name nodes of its tree.
    pub(super) fn part(
        &mut self,
        tree: &mut Tree,
        files: &mut impl RowFiles,
        report: &mut Report,
    ) -> Flat {
        let segments = Segments::of(&mut tree.inlined);
        let mut stretches = Stretches { addresses: self.addresses, list: Vec::new() };
        separate(tree);
        let strays = strays(tree, &self.starts, self.addresses);
        for code in strays.iter().chain(&tree.code) {
            stretches.add(code.start, code.end, code.root, code.entry);
            if let Some(covered) = &mut self.covered {
                covered.push((code.start, code.end));
            }
        }
        drop(strays);
        // Its segments are all that is needed of what was inlined.
        tree.inlined = Vec::new();
        let mut stretches = stretches.list;
        stretches.sort_unstable();
        let mut out = (Vec::with_capacity(stretches.len()), Vec::new());
        for own in stretches.chunk_by(|a, b| a.root == b.root) {
            let segments = own.first().map_or(&[][..], |first| segments.of_root(first.root));
            self.give(own.len().saturating_add(segments.len()));
            own.iter().for_each(|stretch| self.write(stretch, segments, files, &mut out, report));
        }
        self.base = self.base.saturating_add(count32(tree.nodes.len()));
        in_order(&mut out.0);
        out
    }

    /// The pieces outside every function, after all parts: about `most` rows at
    /// a time go to `take`.
    pub(super) fn outside(
        &mut self,
        most: usize,
        files: &mut impl RowFiles,
        report: &mut Report,
        mut take: impl FnMut(Flat, &mut Report),
    ) {
        let Some(covered) = self.covered.take() else { return };
        let mut stretches = Stretches { addresses: self.addresses, list: Vec::new() };
        outside(covered, self.lines, &mut stretches);
        let mut stretches = stretches.list;
        stretches.sort_unstable();
        self.give(stretches.len());
        let mut out = (Vec::new(), Vec::new());
        for stretch in &stretches {
            self.write(stretch, &[], files, &mut out, report);
            if out.1.len() >= most {
                take(std::mem::take(&mut out), report);
            }
        }
        if !out.0.is_empty() {
            take(out, report);
        }
    }

    fn give(&mut self, count: usize) {
        self.given = self.given.saturating_add(wide(count));
    }

    /// Puts out one piece.
    fn write(
        &mut self,
        stretch: &Stretch,
        segments: &[Segment],
        files: &mut impl RowFiles,
        (pieces, rows): &mut Flat,
        report: &mut Report,
    ) {
        let before = rows.len();
        if self.written > self.given.saturating_mul(4) {
            report.skip("functions over functions without end");
            rows.push(Row { offset: 0, node: stretch.root, file: NONE, line: 0, column: 0 });
        } else {
            emit(stretch, self.lines, segments, self.base, files, rows);
        }
        self.written = self.written.saturating_add(wide(rows.len().saturating_sub(before)));
        pieces.push(Piece {
            section: stretch.section,
            start: stretch.target,
            size: stretch.size,
            root: stretch.root,
            entry: stretch.entry,
            rows: count32(before)..count32(rows.len()),
        });
    }
}

/// Puts pieces in their order. Those of equal place stay in the order of their
/// roots, which they come in.
pub(super) fn in_order(pieces: &mut [Piece]) {
    pieces.sort_by_key(|piece| (piece.section, piece.start, piece.size));
}

/// Where the functions of a part start.
pub(super) fn starts(tree: &mut Tree) -> impl Iterator<Item = u64> {
    separate(tree);
    tree.code.iter().map(|code| code.start)
}

/// Makes the ranges of one function disjoint: what two of them cover belongs
/// to the one that starts first.
pub(super) fn separate(tree: &mut Tree) {
    for group in tree.code.chunk_by_mut(|a, b| a.root == b.root) {
        if group.len() < 2 {
            continue;
        }
        group.sort_by_key(|code| code.start);
        let mut end = 0;
        for code in group {
            if code.start < end {
                code.start = end.min(code.end);
                code.entry = false;
            }
            end = end.max(code.end);
        }
    }
    tree.code.retain(|code| code.start < code.end);
}

/// Inlined code outside its function's ranges, up to where the next function
/// starts: code of that function too. (A DIE of DWARF 2 cannot say that its
/// function has a second part; what was inlined there still does.)
fn strays(tree: &Tree, starts: &[u64], addresses: &AddressMap) -> Vec<Code> {
    let mut found: Vec<Code> = Vec::new();
    let mut functions = tree.code.chunk_by(|a, b| a.root == b.root).peekable();
    for group in tree.inlined.chunk_by(|a, b| a.root == b.root) {
        let Some(root) = group.first().map(|first| first.root) else { continue };
        let before = |codes: &&[Code]| codes.first().is_some_and(|code| code.root < root);
        while functions.next_if(before).is_some() {}
        let own = functions.peek().filter(|own| own.first().is_some_and(|own| own.root == root));
        let own = own.copied().unwrap_or(&[]);
        // Sorted by start, so that what touches or overlaps comes next to each other.
        let mut open: Option<Code> = None;
        for inlined in group {
            let (start, end) = (inlined.start, inlined.end);
            let next = starts.get(starts.partition_point(|&next| next <= start)).copied();
            let holder = own.partition_point(|code| code.start <= start).checked_sub(1);
            let held = holder.and_then(|place| own.get(place)).map_or(0, |code| code.end);
            let from = start.max(held);
            let until = next.unwrap_or(u64::MAX).min(end);
            if from >= until || !is_code(addresses, start, end) {
                continue;
            }
            match &mut open {
                Some(last) if from <= last.end => last.end = last.end.max(until),
                _ => {
                    found.extend(open.replace(Code { start: from, end: until, root, entry: false }))
                }
            }
        }
        found.extend(open);
    }
    found
}

/// Adds the addresses that lines are known for but no function.
fn outside(mut covered: Vec<(u64, u64)>, lines: &LineTable<'_>, stretches: &mut Stretches<'_>) {
    covered.sort_unstable();
    let mut covered = covered.into_iter().peekable();
    // Functions cover everything from `over.0` up to `over.1`.
    let mut over = (0_u64, 0_u64);
    let mut open: Option<(u64, u64)> = None;
    for span in lines.from(0) {
        let mut start = span.start;
        while start < span.end {
            while let Some((from, to)) = covered.next_if(|next| next.0 <= start) {
                over = if from <= over.1 { (over.0, over.1.max(to)) } else { (from, to) };
            }
            if start < over.1 {
                start = over.1;
                continue;
            }
            let end = covered.peek().map_or(span.end, |next| next.0.min(span.end));
            match &mut open {
                Some((_, until)) if *until == start => *until = end,
                _ => {
                    if let Some((from, to)) = open.replace((start, end)) {
                        stretches.add(from, to, NONE, false);
                    }
                }
            }
            start = end;
        }
    }
    if let Some((from, to)) = open {
        stretches.add(from, to, NONE, false);
    }
}

struct Stretches<'a> {
    addresses: &'a AddressMap,
    list: Vec<Stretch>,
}

impl Stretches<'_> {
    /// Adds `[start, end)`: cut where mappings end, and where 32 bits do.
    fn add(&mut self, mut start: u64, end: u64, root: u32, mut entry: bool) {
        while start < end {
            let Some(mapping) = self.addresses.find(start) else { return };
            let inside = start.wrapping_sub(mapping.start);
            let room = mapping.size.wrapping_sub(inside).min(u64::from(u32::MAX));
            let size = end.wrapping_sub(start).min(room);
            let target = mapping.target.wrapping_add(inside);
            self.list.push(Stretch { section: mapping.section, target, size, root, start, entry });
            start = start.saturating_add(size);
            entry = false;
        }
    }
}

/// Writes the rows of one piece.
fn emit(
    stretch: &Stretch,
    lines: &LineTable<'_>,
    segments: &[Segment],
    base: u32,
    files: &mut impl RowFiles,
    rows: &mut Vec<Row>,
) {
    let end = stretch.start.saturating_add(stretch.size);
    let first = rows.len();
    let mut position = stretch.start;
    let mut spans = lines.from(position).peekable();
    // The file of the row before, whose first row in the piece is an earlier one.
    let mut named: Option<(u32, u32)> = None;
    let after = segments.partition_point(|segment| segment.start <= position);
    let mut node = after
        .checked_sub(1)
        .and_then(|before| segments.get(before))
        .map_or(stretch.root, |segment| segment.node);
    let mut segments = segments.get(after..).unwrap_or(&[]).iter().peekable();
    while position < end {
        while let Some(segment) = segments.next_if(|segment| segment.start <= position) {
            node = segment.node;
        }
        while spans.next_if(|span| span.end <= position).is_some() {}
        let offset = u32::try_from(position.wrapping_sub(stretch.start)).unwrap_or(u32::MAX);
        let (place, until) = match spans.peek() {
            Some(span) if span.start <= position => {
                let file = match named {
                    Some((index, number)) if index == span.file => number,
                    _ => files.number(span.file, stretch.order(offset, base)),
                };
                named = Some((span.file, file));
                ((file, span.line, span.column), span.end)
            }
            Some(span) => ((NONE, 0, 0), span.start),
            None => ((NONE, 0, 0), end),
        };
        let (file, line, column) = place;
        let row = Row { offset, node, file, line, column };
        let same = rows.last().filter(|_| rows.len() > first).is_some_and(|last| {
            (last.node, last.file, last.line, last.column) == (node, file, line, column)
        });
        if !same {
            rows.push(row);
        }
        position = segments.peek().map_or(end, |segment| segment.start).min(until).min(end);
    }
}
