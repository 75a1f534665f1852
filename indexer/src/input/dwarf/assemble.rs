//! Putting one unit together: its DIEs, its line program and the names.
//!
//! In: a unit that is entered. Out: [`UnitLines`] with only what is used, part
//! by part. What is in the parts is not decided here.

use super::files::{FileTable, Files, Program};
use super::flatten::{self, Flat, Flattening, Order};
use super::limits::Allowance;
use super::names::{self, Space};
use super::rows::{self, Addresses};
use super::table::LineTable;
use super::tree::{Tree, Walk};
use super::unit::Unit;
use super::{count32, index};
use crate::model::Report;
use crate::model::lines::{Function, NONE, Node, Piece, Row, SourceFile, UnitLines};

/// What a unit is put together from.
pub(super) struct Parts<'a, 'data> {
    /// What addresses mean.
    pub(super) addresses: Addresses<'a>,
    /// The file that the DIEs are in.
    pub(super) own: Space<'a, 'data>,
    /// The supplementary file (dwz).
    pub(super) supplementary: Option<Space<'a, 'data>>,
    /// The unit that the DIEs are in.
    pub(super) unit: &'a Unit<'data>,
    /// Its line program and the file table of that.
    pub(super) lines: Option<(&'a Program<'data>, FileTable<'data>)>,
    /// The file table that DIEs mean, when it is another one.
    pub(super) calls: Option<FileTable<'data>>,
    /// Rows outside every function are put out.
    pub(super) owns_lines: bool,
    /// What reading it may cost.
    pub(super) allowance: &'a Allowance,
}

/// Memory of a part while it is put together, as a multiple of its DIEs.
const DIE_MEMORY: u64 = 7;

/// What the numbers in the parts of a unit mean.
#[derive(Debug, Default)]
pub(crate) struct Names<'data> {
    /// Functions, each once; files by number.
    pub(crate) functions: Vec<Function<'data>>,
    /// Files, each once.
    pub(crate) files: Vec<SourceFile<'data>>,
    /// Numbers of all files, in an order that does not depend on the parts.
    pub(crate) order: Vec<u32>,
    /// Bytes of memory that were taken at once, about.
    pub(crate) held: u64,
}

/// How a unit is taken to pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    /// Bytes of DIEs in a part; `None` for all of them at once.
    pub(super) dies: Option<u64>,
    /// Rows outside of functions at a time.
    pub(super) rows: usize,
}

impl<'data> Parts<'_, 'data> {
    /// Reads the line program and the DIEs and puts them together. Each part goes
    /// to `take`: nodes, pieces and rows, with numbers of their own; functions and
    /// files have those of the names, which come at the end. The same for all `steps`.
    pub(super) fn assemble(
        &self,
        steps: Steps,
        report: &mut Report,
        take: &mut dyn FnMut(&UnitLines<'data>, &mut Report),
    ) -> Names<'data> {
        let mut files = Files::default();
        let map = self.addresses.map;
        let (lines, mut table) = match &self.lines {
            Some((program, table)) => {
                let mut table = table.clone();
                (
                    rows::read(program, &mut table, self.addresses, steps.dies.is_some(), report),
                    Some(table),
                )
            }
            None => (LineTable::empty(map), None),
        };
        let mut calls = self.calls.clone().or_else(|| table.clone());
        let mut names = names::Names::new(
            self.own,
            self.supplementary,
            self.unit,
            calls.clone(),
            self.allowance,
        );
        let bytes = steps.dies.unwrap_or(u64::MAX).max(1);
        let mut walk = Walk::new(self.own.dwarf, self.unit, map, self.allowance);
        // What is inlined outside its function reaches to the next one, which may
        // be of any part: so these are looked for first.
        let whole = if steps.dies.is_none() { Some(walk.part(bytes, report)) } else { None };
        let starts = match whole {
            Some(tree) => flatten::starts(tree).collect(),
            None => self.starts(bytes),
        };
        let mut flat = Flattening::new(&lines, map, self.owns_lines, starts);
        let mut row_file = |index: u32, at: Order, files: &mut Files<'data>| match &mut table {
            Some(table) if index != NONE => {
                let number = table.number(u64::from(index), files);
                files.named(number, at);
                number
            }
            _ => NONE,
        };
        let mut first = steps.dies.is_none();
        loop {
            let tree = match std::mem::take(&mut first) {
                true => walk.tree(),
                false if walk.is_done() => break,
                false => walk.part(bytes, report),
            };
            let found = flat.part(tree, &mut |index, at| row_file(index, at, &mut files), report);
            let part = put_together(tree, found, &mut names, &mut calls, &mut files);
            take(&part, report);
        }
        let held = walk.largest().saturating_mul(DIE_MEMORY).saturating_add(lines.bytes());
        drop(walk);
        flat.outside(
            steps.rows,
            &mut |index, at| row_file(index, at, &mut files),
            report,
            |(pieces, rows), report| {
                take(&UnitLines { pieces, rows, ..UnitLines::default() }, report)
            },
        );
        report.skip_many("references beyond what their unit can hold", self.allowance.refused());
        report.skip_many("source files with paths of more than 4,096 bytes", files.too_long);
        let order = files.order();
        Names { functions: names.list, files: files.list, order, held }
    }

    /// Where the functions of all parts start.
    fn starts(&self, bytes: u64) -> Vec<u64> {
        let allowance = self.allowance.again();
        let mut walk = Walk::new(self.own.dwarf, self.unit, self.addresses.map, &allowance);
        let mut found = Vec::new();
        while !walk.is_done() {
            found.extend(flatten::starts(walk.part(bytes, &mut Report::default())));
        }
        found
    }
}

/// A part with the nodes that are used; names are read for no others.
fn put_together<'data>(
    tree: &Tree,
    (mut pieces, mut rows): Flat,
    names: &mut names::Names<'_, 'data>,
    calls: &mut Option<FileTable<'data>>,
    files: &mut Files<'data>,
) -> UnitLines<'data> {
    let used = rows.iter().map(|row| row.node).chain(pieces.iter().map(|piece| piece.root));
    let numbers = numbers(tree, used);
    let mut nodes: Vec<Node> = Vec::new();
    for (node, number) in tree.nodes.iter().zip(&numbers) {
        if *number == NONE {
            continue;
        }
        let function = node.declared.map_or(NONE, |declared| names.number(declared, files));
        let call_file = match calls {
            Some(table) if node.call_file != NONE => table.number(u64::from(node.call_file), files),
            _ => NONE,
        };
        nodes.push(Node {
            function,
            parent: renumbered(&numbers, node.parent),
            call_file,
            call_line: node.call_line,
            call_column: node.call_column,
        });
    }
    rows.iter_mut().for_each(|row| row.node = renumbered(&numbers, row.node));
    pieces.iter_mut().for_each(|piece| piece.root = renumbered(&numbers, piece.root));
    UnitLines { nodes, pieces, rows, ..UnitLines::default() }
}

/// All parts of a unit as one.
#[derive(Default)]
pub(super) struct Whole<'data> {
    unit: UnitLines<'data>,
}

impl<'data> Whole<'data> {
    /// Adds a part.
    pub(super) fn add(&mut self, part: &UnitLines<'data>) {
        let unit = &mut self.unit;
        let (nodes, rows) = (count32(unit.nodes.len()), count32(unit.rows.len()));
        let node = |node: u32| if node == NONE { NONE } else { node.saturating_add(nodes) };
        unit.nodes.extend(part.nodes.iter().map(|old| Node { parent: node(old.parent), ..*old }));
        unit.rows.extend(part.rows.iter().map(|old| Row { node: node(old.node), ..*old }));
        unit.pieces.extend(part.pieces.iter().map(|old| Piece {
            root: node(old.root),
            rows: old.rows.start.saturating_add(rows)..old.rows.end.saturating_add(rows),
            ..*old
        }));
    }

    /// The unit, with its names.
    pub(super) fn finish(self, names: Names<'data>) -> UnitLines<'data> {
        let mut unit = self.unit;
        let mut places = vec![NONE; names.files.len()];
        for (place, number) in names.order.iter().enumerate() {
            if let Some(slot) = index(*number).and_then(|number| places.get_mut(number)) {
                *slot = count32(place);
            }
        }
        let place = |number: u32| renumbered(&places, number);
        let file = |number: &u32| index(*number).and_then(|at| names.files.get(at)).copied();
        unit.files = names.order.iter().filter_map(file).collect();
        unit.functions = names.functions;
        unit.functions.iter_mut().for_each(|function| function.file = place(function.file));
        unit.nodes.iter_mut().for_each(|node| node.call_file = place(node.call_file));
        unit.rows.iter_mut().for_each(|row| row.file = place(row.file));
        flatten::in_order(&mut unit.pieces);
        unit
    }
}

/// New numbers for the nodes that are used, or are above one that is; `NONE`
/// for the others. Parents stay before their children.
fn numbers(tree: &Tree, used: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut numbers = vec![NONE; tree.nodes.len()];
    let mark = |numbers: &mut Vec<u32>, node| {
        if let Some(number) = index(node).and_then(|node| numbers.get_mut(node)) {
            *number = 0;
        }
    };
    used.for_each(|node| mark(&mut numbers, node));
    for (place, node) in tree.nodes.iter().enumerate().rev() {
        if numbers.get(place).is_some_and(|&number| number != NONE) {
            mark(&mut numbers, node.parent);
        }
    }
    let used = numbers.iter_mut().filter(|number| **number != NONE);
    used.enumerate().for_each(|(place, number)| *number = count32(place));
    numbers
}

/// The new number of a node.
fn renumbered(numbers: &[u32], node: u32) -> u32 {
    index(node).and_then(|node| numbers.get(node)).copied().unwrap_or(NONE)
}
