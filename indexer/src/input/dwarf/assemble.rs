//! Putting one unit together: its DIEs, its line program and the names.
//!
//! In: a unit that is entered. Out: [`UnitLines`] with only what is used. What
//! is in the parts is not decided here.

use super::files::{FileTable, Files, Program};
use super::limits::Allowance;
use super::names::{Names, Space};
use super::rows::{self, Addresses};
use super::tree::{self, Tree};
use super::unit::Unit;
use super::{count32, flatten, index};
use crate::model::Report;
use crate::model::lines::{NONE, Node, UnitLines};

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

impl<'data> Parts<'_, 'data> {
    /// Reads the DIEs and the line program and puts them together.
    pub(super) fn assemble(self, report: &mut Report) -> UnitLines<'data> {
        let mut files = Files::default();
        let (spans, mut table) = match self.lines {
            Some((program, mut table)) => {
                (rows::spans(program, &mut table, self.addresses, report), Some(table))
            }
            None => (Vec::new(), None),
        };
        let mut tree =
            tree::walk(self.own.dwarf, self.unit, self.addresses.map, self.allowance, report);
        let file = |index| match &mut table {
            Some(table) if index != NONE => table.number(u64::from(index), &mut files),
            _ => NONE,
        };
        let lines = flatten::Lines { spans: &spans, outside: self.owns_lines };
        let (mut pieces, mut rows) =
            flatten::flatten(&mut tree, lines, self.addresses.map, file, report);
        drop(spans);
        let mut calls = self.calls.or(table);
        let mut names =
            Names::new(self.own, self.supplementary, self.unit, calls.clone(), self.allowance);

        let used = rows.iter().map(|row| row.node).chain(pieces.iter().map(|piece| piece.root));
        let numbers = numbers(&tree, used);
        let mut nodes: Vec<Node> = Vec::new();
        for (node, number) in tree.nodes.iter().zip(&numbers) {
            if *number == NONE {
                continue;
            }
            let function =
                node.declared.map_or(NONE, |declared| names.number(declared, &mut files));
            let call_file = match &mut calls {
                Some(table) if node.call_file != NONE => {
                    table.number(u64::from(node.call_file), &mut files)
                }
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
        report.skip_many("references beyond what their unit can hold", self.allowance.refused());
        report.skip_many("source files with paths of more than 4,096 bytes", files.too_long);
        rows.iter_mut().for_each(|row| row.node = renumbered(&numbers, row.node));
        pieces.iter_mut().for_each(|piece| piece.root = renumbered(&numbers, piece.root));
        UnitLines { files: files.list, functions: names.list, nodes, pieces, rows }
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
