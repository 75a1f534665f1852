//! `JIT_CODE_DEBUG_INFO`: one record's body in, the lines of one piece of code
//! out. A record is taken whole or not at all: where one entry is wrong, the
//! length of its name is, and so is everything behind it.

use super::bytes::Body;
use crate::model::lines::{Function, NONE, Node, Piece, Row, SourceFile, UnitLines};

/// A name in place of which the one before counts.
const SAME_NAME: &[u8] = b"\xff";

/// Records end at a multiple of this.
const ALIGN: usize = 8;

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry<'data> {
    address: u64,
    line: u32,
    column: u32,
    file: &'data [u8],
}

/// The lines of the code that is loaded next.
#[derive(Clone, Debug)]
pub(super) struct DebugInfo<'data> {
    /// The code's address as the record states it.
    pub(super) code: u64,
    entries: Vec<Entry<'data>>,
}

impl<'data> DebugInfo<'data> {
    /// Reads a record: every entry that it claims, and no more than padding behind
    /// the last. What stands in its way, else.
    pub(super) fn read(mut body: Body<'data>) -> Result<Self, &'static str> {
        const SHORT: &str = "debug information that is cut short";
        let code = body.u64().ok_or(SHORT)?;
        let claimed = body.u64().ok_or(SHORT)?;
        // No room is made by the claim: an entry takes 17 bytes at least.
        let mut entries: Vec<Entry<'data>> = Vec::new();
        for _ in 0..claimed {
            let address = body.u64().ok_or(SHORT)?;
            let line = body.u32().ok_or(SHORT)?;
            let column = body.u32().ok_or(SHORT)?;
            let name = body.name().ok_or(SHORT)?;
            let before = entries.last().map_or(&[][..], |entry| entry.file);
            let file = if name == SAME_NAME { before } else { name };
            entries.push(Entry { address, line, column, file });
        }
        match body.rest().len() < ALIGN {
            true => Ok(Self { code, entries }),
            false => Err("debug information with something behind its last entry"),
        }
    }

    /// The lines of code that has `size` bytes, its addresses counted from
    /// `code + skew`; nothing when an entry lies outside of it.
    pub(super) fn lines(&self, size: u64, skew: u64) -> Option<Lines<'data>> {
        let base = self.code.checked_add(skew)?;
        let mut rows = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            let offset = entry.address.checked_sub(base).filter(|&offset| offset < size)?;
            rows.push((u32::try_from(offset).ok()?, *entry));
        }
        // Of several entries at one address the last wins.
        rows.sort_by_key(|&(offset, _)| offset);
        rows.reverse();
        rows.dedup_by_key(|&mut (offset, _)| offset);
        rows.reverse();
        Some(Lines { rows })
    }
}

/// The lines of one piece of code, by offset in it.
#[derive(Clone, Debug)]
pub(super) struct Lines<'data> {
    rows: Vec<(u32, Entry<'data>)>,
}

impl<'data> Lines<'data> {
    /// The same for the indexer: one function at its place, without inlined ones.
    pub(super) fn unit(
        &self,
        name: &'data [u8],
        section: u32,
        start: u64,
        size: u64,
    ) -> Option<UnitLines<'data>> {
        let mut unit = UnitLines::default();
        let mut rows = Vec::with_capacity(self.rows.len().saturating_add(1));
        if self.rows.first().is_none_or(|&(offset, _)| offset > 0) {
            rows.push(Row { offset: 0, node: 0, file: NONE, line: 0, column: 0 });
        }
        let mut numbers = std::collections::HashMap::new();
        for &(offset, entry) in &self.rows {
            let file = match entry.file {
                [] => NONE,
                name => *numbers.entry(name).or_insert_with(|| {
                    unit.files.push(SourceFile { base: b"", directory: b"", name });
                    u32::try_from(unit.files.len().saturating_sub(1)).unwrap_or(NONE)
                }),
            };
            rows.push(Row { offset, node: 0, file, line: entry.line, column: entry.column });
        }
        unit.functions.push(Function { name, file: NONE, line: 0 });
        unit.nodes.push(Node {
            function: 0,
            parent: NONE,
            call_file: NONE,
            call_line: 0,
            call_column: 0,
        });
        let end = u32::try_from(rows.len()).ok()?;
        unit.pieces.push(Piece { section, start, size, root: 0, entry: true, rows: 0..end });
        unit.rows = rows;
        (size > 0 && !self.rows.is_empty()).then_some(unit)
    }
}
