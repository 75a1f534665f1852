//! Packing: what a unit says, in about five bytes a row.
//!
//! In: [`UnitLines`]. Out: the same, as bytes that are kept until all units
//! are read; so the memory of a build grows with the index, not with the DWARF.
//! Numbers are those of the unit; [`super::Lines`] knows what they mean in all.

use std::collections::HashMap;

use crate::model::lines::{NONE, Node, Piece, Row, UnitLines};
use crate::varint::{Numbers, put, unzigzag, zigzag};

/// An index or none as a number.
fn optional(index: u32) -> u64 {
    u64::from(index.wrapping_add(1))
}

impl<'a> Numbers<'a> {
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

/// The nodes of a function may be packed this many times over, as nodes of
/// several pieces: those of real functions are in one or two.
const NODE_COPIES: usize = 16;
/// And this many more.
const FREE_NODES: usize = 4096;

/// Packs the pieces of one unit after the other.
#[derive(Debug, Default)]
pub(super) struct Packer {
    /// The function of the piece before, and how many nodes it may still have.
    left: Option<(u32, usize)>,
    /// Pieces of each function that has many, and its nodes.
    many: HashMap<u32, usize>,
    /// For each node of the part its number in the piece at hand, plus one.
    local: Vec<u32>,
    /// The nodes of the piece at hand, parents first.
    used: Vec<u32>,
    chain: Vec<u32>,
}

impl Packer {
    /// For the next part of a unit, whose nodes are others.
    pub(super) fn begin(&mut self, part: &UnitLines<'_>) {
        self.local.clear();
        self.local.resize(part.nodes.len(), 0);
        self.left = None;
        self.many.clear();
        let mut roots: Vec<u32> = part.pieces.iter().map(|piece| piece.root).collect();
        roots.sort_unstable();
        for own in roots.chunk_by(|a, b| a == b) {
            if let Some(&root) =
                own.first().filter(|&&root| root != NONE && own.len() > NODE_COPIES)
            {
                self.many.insert(root, own.len());
            }
        }
        if self.many.is_empty() {
            return;
        }
        let mut root_of: Vec<u32> = Vec::with_capacity(part.nodes.len());
        for (number, node) in (0u32..).zip(&part.nodes) {
            let above = usize::try_from(node.parent).ok().and_then(|at| root_of.get(at)).copied();
            let root = above.unwrap_or(number);
            root_of.push(root);
            if let Some(count) = self.many.get_mut(&root) {
                *count = count.saturating_add(1);
            }
        }
    }

    /// The nodes that a piece may have: in a function of few pieces all.
    fn most(&mut self, root: u32) -> usize {
        match self.left {
            Some((of, left)) if of == root => left,
            _ => {
                let given = self.many.get(&root).map_or(usize::MAX, |count| {
                    count.saturating_mul(NODE_COPIES).saturating_add(FREE_NODES)
                });
                self.left = Some((root, given));
                given
            }
        }
    }

    /// Appends a piece; counts in `uses` how often each function has a node.
    /// False when the nodes of the piece's function are used up: then all rows
    /// are the function's own. (A function in many parts, all of them inside many
    /// inlined ones, would make the work quadratic.) Pieces of one function come
    /// one after the other.
    pub(super) fn piece(
        &mut self,
        unit: &UnitLines<'_>,
        piece: &Piece,
        uses: &mut Vec<u32>,
        out: &mut Vec<u8>,
    ) -> bool {
        let rows = rows_of(unit, piece);
        // The function itself is always there.
        let most = self.most(piece.root).max(1);
        let whole = rows.iter().all(|row| self.use_node(&unit.nodes, row.node, most));
        if !whole {
            self.forget();
            self.use_node(&unit.nodes, piece.root, 1);
        }
        let node_of_row = |row: &Row| if whole { row.node } else { piece.root };
        if let Some((_, left)) = &mut self.left {
            *left = left.saturating_sub(self.used.len());
        }
        put(out, u64::try_from(self.used.len()).unwrap_or(0));
        for &number in &self.used {
            let Some(node) = node_of(&unit.nodes, number) else { continue };
            if let Some(function) =
                usize::try_from(node.function).ok().filter(|_| node.function != NONE)
            {
                if uses.len() <= function {
                    uses.resize(function.saturating_add(1), 0);
                }
                if let Some(uses) = uses.get_mut(function) {
                    *uses = uses.saturating_add(1);
                }
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
        self.forget();
        whole
    }

    /// For the next piece, which numbers its nodes anew.
    fn forget(&mut self) {
        for number in self.used.drain(..) {
            if let Some(slot) = self.local.get_mut(usize::try_from(number).unwrap_or(usize::MAX)) {
                *slot = 0;
            }
        }
    }

    /// The node's number in the piece, plus one; 0 for none.
    fn local_of(&self, node: u32) -> u32 {
        usize::try_from(node).ok().and_then(|node| self.local.get(node)).copied().unwrap_or(0)
    }

    /// Numbers a node and what it was inlined into, the outermost first; false,
    /// and nothing is numbered, when there would be more than `most`.
    fn use_node(&mut self, nodes: &[Node], node: u32, most: usize) -> bool {
        let mut at = node;
        while at != NONE && self.local_of(at) == 0 {
            let Some(node) = node_of(nodes, at) else { break };
            if self.used.len().saturating_add(self.chain.len()) >= most {
                self.chain.clear();
                return false;
            }
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
        true
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
        let mut packer = Packer::default();
        packer.begin(&unit);
        assert!(packer.piece(&unit, &piece, &mut uses, &mut bytes));
        let mut numbers = Numbers::new(&bytes);
        let mut nodes = Vec::new();
        numbers.nodes(&mut nodes);
        assert_eq!(nodes, [node(5, NONE, 0), node(NONE, 0, 70_000), node(4, NONE, 1)]);
        let rows: Vec<Row> = numbers.rows().collect();
        let expected = [row(0, 0, 100_000), row(3, 1, 1), row(9, NONE, 0), row(12, 2, 2)];
        assert_eq!(rows, expected);
        assert_eq!(uses, [0, 0, 0, 0, 1, 1, 0, 0]);
    }

    /// 3,000 parts of one function, each in the innermost of 3,000 inlined
    /// ones: 9 million nodes, where the DWARF has 3,000.
    #[test]
    fn parts_under_deep_chains_are_packed_in_linear_space() {
        const MANY: u32 = 3000;
        let node =
            |parent| Node { function: 0, parent, call_file: NONE, call_line: 1, call_column: 0 };
        let row = Row { offset: 0, node: MANY - 1, file: 7, line: 1, column: 0 };
        let unit = UnitLines {
            nodes: (0..MANY).map(|number| node(number.checked_sub(1).unwrap_or(NONE))).collect(),
            rows: vec![row; usize::try_from(MANY).unwrap()],
            pieces: (0..MANY)
                .map(|part| Piece {
                    section: 0,
                    start: u64::from(part) * 8,
                    size: 1,
                    root: 0,
                    entry: part == 0,
                    rows: part..part + 1,
                })
                .collect(),
            ..UnitLines::default()
        };
        let (mut bytes, mut uses, mut packer) = (Vec::new(), vec![0], Packer::default());
        packer.begin(&unit);
        let whole: Vec<bool> = unit
            .pieces
            .iter()
            .map(|piece| packer.piece(&unit, piece, &mut uses, &mut bytes))
            .collect();
        assert!(whole[0] && whole[1] && !whole[2999], "{:?}", whole.iter().position(|w| !w));
        assert!(uses[0] < 2 * 16 * MANY + 4096 + MANY, "{uses:?}");
        assert!(bytes.len() < 1 << 20, "{}", bytes.len());
        // The last part is the function's own, at its line.
        let mut last = Vec::new();
        packer.piece(&unit, &unit.pieces[2999], &mut uses, &mut last);
        let mut numbers = Numbers::new(&last);
        let mut nodes = Vec::new();
        numbers.nodes(&mut nodes);
        assert_eq!(nodes, [node(NONE)]);
        assert_eq!(numbers.rows().collect::<Vec<_>>(), [Row { node: 0, ..row }]);
    }
}
