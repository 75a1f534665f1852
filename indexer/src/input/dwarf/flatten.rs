//! Flattening: one row per stretch of code that has one place and one innermost
//! function.
//!
//! In: a [`Tree`] and the [`Span`]s of its unit. Out: pieces and rows of
//! [`crate::model::lines`], with nodes of the tree. Work is near linear: all is
//! sorted once and walked side by side.

use super::rows::Span;
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
    section: u32,
    target: u64,
    size: u64,
    root: u32,
    start: u64,
    entry: bool,
}

/// The lines of a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'a> {
    /// Sorted and disjoint.
    pub(super) spans: &'a [Span],
    /// Those outside every function are put out too.
    pub(super) outside: bool,
}

/// The pieces of a unit and their rows. Rows name nodes of the tree, and files
/// by what `file` makes of the index in the unit's table.
pub(super) fn flatten(
    tree: &mut Tree,
    lines: Lines<'_>,
    addresses: &AddressMap,
    mut file: impl FnMut(u32) -> u32,
    report: &mut Report,
) -> (Vec<Piece>, Vec<Row>) {
    let segments = Segments::of(&mut tree.inlined);
    let mut stretches = Stretches { addresses, list: Vec::new() };
    separate(tree);
    let strays = strays(tree, addresses);
    for code in strays.iter().chain(&tree.code) {
        stretches.add(code.start, code.end, code.root, code.entry);
    }
    tree.code.extend(strays);
    let spans = lines.spans;
    if lines.outside {
        outside(tree, spans, &mut stretches);
    }
    let mut stretches = stretches.list;
    stretches.sort_unstable();

    let given = [spans.len(), segments.list.len(), stretches.len(), 1024].map(wide);
    let most = given.iter().fold(0_u64, |sum, part| sum.saturating_add(*part)).saturating_mul(4);
    let mut pieces = Vec::with_capacity(stretches.len());
    let mut rows: Vec<Row> = Vec::new();
    for stretch in stretches {
        let first = count32(rows.len());
        if wide(rows.len()) > most {
            report.skip("functions over functions without end");
            rows.push(Row { offset: 0, node: stretch.root, file: NONE, line: 0, column: 0 });
        } else {
            emit(&stretch, spans, segments.of_root(stretch.root), &mut file, &mut rows);
        }
        pieces.push(Piece {
            section: stretch.section,
            start: stretch.target,
            size: stretch.size,
            root: stretch.root,
            entry: stretch.entry,
            rows: first..count32(rows.len()),
        });
    }
    (pieces, rows)
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
fn strays(tree: &Tree, addresses: &AddressMap) -> Vec<Code> {
    let mut starts: Vec<u64> = tree.code.iter().map(|code| code.start).collect();
    starts.sort_unstable();
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
fn outside(tree: &Tree, spans: &[Span], stretches: &mut Stretches<'_>) {
    let mut covered: Vec<(u64, u64)> =
        tree.code.iter().map(|code| (code.start, code.end)).collect();
    covered.sort_unstable();
    let mut covered = covered.into_iter().peekable();
    // Functions cover everything from `over.0` up to `over.1`.
    let mut over = (0_u64, 0_u64);
    let mut open: Option<(u64, u64)> = None;
    for span in spans {
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
    spans: &[Span],
    segments: &[Segment],
    file: &mut impl FnMut(u32) -> u32,
    rows: &mut Vec<Row>,
) {
    let end = stretch.start.saturating_add(stretch.size);
    let first = rows.len();
    let mut position = stretch.start;
    let after = spans.partition_point(|span| span.end <= position);
    let mut spans = spans.get(after..).unwrap_or(&[]).iter().peekable();
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
        let (place, until) = match spans.peek() {
            Some(span) if span.start <= position => {
                ((file(span.file), span.line, span.column), span.end)
            }
            Some(span) => ((NONE, 0, 0), span.start),
            None => ((NONE, 0, 0), end),
        };
        let offset = u32::try_from(position.wrapping_sub(stretch.start)).unwrap_or(u32::MAX);
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
