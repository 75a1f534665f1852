//! Packing: what a unit says, in about five bytes a row.
//!
//! In: [`UnitLines`]. Out: the same, as bytes that are kept until all units
//! are read; so the memory of a build grows with the index, not with the DWARF.
//! Numbers are those of the unit; [`super::Lines`] knows what they mean in all.

use crate::model::lines::{NONE, Node, Piece, Row, UnitLines};

/// Appends a number: seven bits a byte, the low ones first.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(low(value) | 0x80);
        value >>= 7;
    }
    out.push(low(value));
}

fn low(value: u64) -> u8 {
    u8::try_from(value & 0x7f).unwrap_or(0)
}

/// A signed number as one that is small for small amounts of either sign.
pub(super) fn zigzag(value: i64) -> u64 {
    let sign = if value < 0 { u64::MAX } else { 0 };
    (value.cast_unsigned() << 1) ^ sign
}

fn unzigzag(value: u64) -> i64 {
    let half = (value >> 1).cast_signed();
    if value & 1 == 0 { half } else { !half }
}

/// An index or none as a number.
fn optional(index: u32) -> u64 {
    u64::from(index.wrapping_add(1))
}

/// Reads what [`put`] wrote. These bytes are the indexer's own; past their end
/// everything is 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers<'a> {
    rest: &'a [u8],
}

impl<'a> Numbers<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    fn next(&mut self) -> u64 {
        let mut value = 0u64;
        let mut shift = 0u32;
        while let Some((&byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            value |= u64::from(byte & 0x7f).wrapping_shl(shift);
            shift = shift.saturating_add(7);
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    fn next32(&mut self) -> u32 {
        u32::try_from(self.next()).unwrap_or(NONE)
    }

    fn next_optional(&mut self) -> u32 {
        match self.next() {
            0 => NONE,
            index => u32::try_from(index.wrapping_sub(1)).unwrap_or(NONE),
        }
    }

    /// The nodes of the piece at the front: parents are indexes into the same list.
    pub(super) fn nodes(&mut self, out: &mut Vec<Node>) {
        out.clear();
        for _ in 0..self.next() {
            let node = Node {
                function: self.next_optional(),
                parent: self.next_optional(),
                call_file: self.next_optional(),
                call_line: self.next32(),
                call_column: self.next32(),
            };
            out.push(node);
        }
    }

    /// The rows behind the nodes, one after the other.
    pub(super) fn rows(mut self) -> Rows<'a> {
        let left = self.next();
        Rows { numbers: self, left, offset: 0, line: 0 }
    }
}

/// The rows of a packed piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a> {
    numbers: Numbers<'a>,
    left: u64,
    offset: u32,
    line: i64,
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        self.left = self.left.checked_sub(1)?;
        self.offset = self.offset.wrapping_add(self.numbers.next32());
        let node = self.numbers.next_optional();
        let file = self.numbers.next_optional();
        self.line = self.line.wrapping_add(unzigzag(self.numbers.next()));
        let column = self.numbers.next32();
        let line = u32::try_from(self.line).unwrap_or(0);
        Some(Row { offset: self.offset, node, file, line, column })
    }
}

/// Nodes that a unit's pieces may have, times the unit's own nodes and rows. Each
/// piece of a function repeats the chains that its rows are in: many pieces of
/// one deep function would be quadratic.
const MOST_REPEATED: usize = 64;

/// Packs the pieces of one unit after the other.
#[derive(Debug, Default)]
pub(super) struct Packer {
    /// Nodes that the unit's pieces have so far.
    placed: usize,
    /// For each node of the unit its number in the piece at hand, plus one.
    local: Vec<u32>,
    /// The nodes of the piece at hand, parents first.
    used: Vec<u32>,
    chain: Vec<u32>,
}

impl Packer {
    /// Appends a piece; counts in `uses` how often each function has a node.
    /// False when its inlined functions are left out, since there are too many.
    pub(super) fn piece(
        &mut self,
        unit: &UnitLines<'_>,
        piece: &Piece,
        uses: &mut [u32],
        out: &mut Vec<u8>,
    ) -> bool {
        let rows = rows_of(unit, piece);
        let own = unit.nodes.len().saturating_add(unit.rows.len()).saturating_add(MOST_REPEATED);
        let whole = self.placed <= own.saturating_mul(MOST_REPEATED);
        // Without them all its rows are the function's own.
        let node_of_row = |row: &Row| if whole { row.node } else { piece.root };
        self.local.resize(unit.nodes.len(), 0);
        for row in rows {
            self.use_node(&unit.nodes, node_of_row(row));
        }
        self.placed = self.placed.saturating_add(self.used.len());
        put(out, u64::try_from(self.used.len()).unwrap_or(0));
        for &number in &self.used {
            let Some(node) = node_of(&unit.nodes, number) else { continue };
            let function = usize::try_from(node.function).unwrap_or(usize::MAX);
            if let Some(uses) = uses.get_mut(function) {
                *uses = uses.saturating_add(1);
            }
            put(out, optional(node.function));
            // A parent that is not before its child would be a loop.
            let parent = if node.parent < number { self.local_of(node.parent) } else { 0 };
            put(out, parent.into());
            put(out, optional(node.call_file));
            put(out, node.call_line.into());
            put(out, node.call_column.into());
        }
        put(out, u64::try_from(rows.len()).unwrap_or(0));
        let (mut offset, mut line) = (0u32, 0i64);
        for row in rows {
            put(out, row.offset.wrapping_sub(offset).into());
            put(out, u64::from(self.local_of(node_of_row(row))));
            put(out, optional(row.file));
            let row_line = i64::from(row.line);
            put(out, zigzag(row_line.wrapping_sub(line)));
            put(out, row.column.into());
            (offset, line) = (row.offset, row_line);
        }
        for number in self.used.drain(..) {
            if let Some(slot) = self.local.get_mut(usize::try_from(number).unwrap_or(usize::MAX)) {
                *slot = 0;
            }
        }
        whole
    }

    /// For the next unit, whose nodes are others.
    pub(super) fn end_unit(&mut self) {
        self.local.clear();
        self.placed = 0;
    }

    /// The node's number in the piece, plus one; 0 for none.
    fn local_of(&self, node: u32) -> u32 {
        usize::try_from(node).ok().and_then(|node| self.local.get(node)).copied().unwrap_or(0)
    }

    /// Numbers a node and what it was inlined into, the outermost first.
    fn use_node(&mut self, nodes: &[Node], node: u32) {
        let mut at = node;
        while at != NONE && self.local_of(at) == 0 {
            let Some(node) = node_of(nodes, at) else { break };
            self.chain.push(at);
            at = if node.parent < at { node.parent } else { NONE };
        }
        while let Some(at) = self.chain.pop() {
            self.used.push(at);
            let number = u32::try_from(self.used.len()).unwrap_or(0);
            if let Some(slot) = usize::try_from(at).ok().and_then(|at| self.local.get_mut(at)) {
                *slot = number;
            }
        }
    }
}

fn node_of(nodes: &[Node], number: u32) -> Option<&Node> {
    nodes.get(usize::try_from(number).ok()?)
}

fn rows_of<'a>(unit: &'a UnitLines<'_>, piece: &Piece) -> &'a [Row] {
    let place = |row: u32| usize::try_from(row).unwrap_or(usize::MAX);
    unit.rows.get(place(piece.rows.start)..place(piece.rows.end)).unwrap_or(&[])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let values = [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX];
        let mut bytes = Vec::new();
        for value in values {
            put(&mut bytes, value);
        }
        let mut numbers = Numbers::new(&bytes);
        assert_eq!(values.map(|_| numbers.next()), values);
        assert_eq!(numbers.next(), 0, "past the end");
        for value in [0, 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }

    #[test]
    fn a_piece_comes_back_with_the_nodes_it_uses() {
        let node = |function, parent, call_line| Node {
            function,
            parent,
            call_file: NONE,
            call_line,
            call_column: 300,
        };
        let row = |offset, node, line| Row { offset, node, file: 7, line, column: 0 };
        let unit = UnitLines {
            // Node 1 is not used by this piece; node 3 is in a loop with itself.
            nodes: vec![node(5, NONE, 0), node(6, 0, 1), node(NONE, 0, 70_000), node(4, 3, 1)],
            rows: vec![row(0, 0, 100_000), row(3, 2, 1), row(9, NONE, 0), row(12, 3, 2)],
            ..UnitLines::default()
        };
        let piece = Piece { section: 0, start: 0, size: 20, root: 0, entry: true, rows: 0..4 };
        let (mut bytes, mut uses) = (Vec::new(), vec![0; 8]);
        Packer::default().piece(&unit, &piece, &mut uses, &mut bytes);
        let mut numbers = Numbers::new(&bytes);
        let mut nodes = Vec::new();
        numbers.nodes(&mut nodes);
        assert_eq!(nodes, [node(5, NONE, 0), node(NONE, 0, 70_000), node(4, NONE, 1)]);
        let rows: Vec<Row> = numbers.rows().collect();
        let expected = [row(0, 0, 100_000), row(3, 1, 1), row(9, NONE, 0), row(12, 2, 2)];
        assert_eq!(rows, expected);
        assert_eq!(uses, [0, 0, 0, 0, 1, 1, 0, 0]);
    }

    /// A function in thousands of ranges, every one under the same deep chain:
    /// 150 KB of DWARF made gigabytes of nodes.
    #[test]
    fn many_pieces_of_one_deep_function_stay_linear() {
        let count = 2000u32;
        let nodes: Vec<Node> = (0..count)
            .map(|number| Node {
                function: 0,
                parent: number.checked_sub(1).unwrap_or(NONE),
                call_file: NONE,
                call_line: 1,
                call_column: 0,
            })
            .collect();
        let row = Row { offset: 0, node: count - 1, file: NONE, line: 1, column: 0 };
        let unit = UnitLines { nodes, rows: vec![row; 2000], ..UnitLines::default() };
        let (mut bytes, mut uses) = (Vec::new(), vec![0; 1]);
        let mut packer = Packer::default();
        let whole: Vec<bool> = (0..count)
            .map(|number| Piece {
                section: 0,
                start: number.into(),
                size: 1,
                root: 0,
                entry: false,
                rows: number..number + 1,
            })
            .map(|piece| packer.piece(&unit, &piece, &mut uses, &mut bytes))
            .collect();
        assert!(whole[0] && !whole[1999], "honest counts are kept whole");
        assert!(bytes.len() < 3_000_000, "{}", bytes.len());
        packer.end_unit();
        let piece = Piece { section: 0, start: 0, size: 1, root: 0, entry: false, rows: 0..1 };
        assert!(packer.piece(&unit, &piece, &mut uses, &mut bytes), "a new unit has its own");
    }
}
