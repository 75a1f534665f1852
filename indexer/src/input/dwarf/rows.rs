//! Line programs: from opcodes to stretches of addresses that came from a line.
//!
//! In: one line program. Out: [`Span`]s, sorted and disjoint, each inside one
//! mapping. Dead code and damaged rows are counted, never shown.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use gimli::LineInstruction;

use super::files::{FileTable, Program};
use super::unit::Slice;
use crate::model::lines::NONE;
use crate::model::{AddressMap, Mapping, Report};

/// Addresses that came from one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// First address.
    pub(super) start: u64,
    /// First address after it.
    pub(super) end: u64,
    /// Index in the unit's file table; `NONE` when it does not fit.
    pub(super) file: u32,
    /// Line; 0 unknown.
    pub(super) line: u32,
    /// Column; 0 unknown.
    pub(super) column: u32,
}

/// One row as the program makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineRow {
    address: u64,
    file: u32,
    line: u32,
    column: u32,
}

/// Rows from the first address up to an end.
#[derive(Clone, Debug)]
struct Sequence {
    start: u64,
    end: u64,
    rows: Range<usize>,
}

/// What addresses mean, and whether all mean themselves: then no sequence spans
/// two mappings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses<'a> {
    /// Where they lie.
    pub(super) map: &'a AddressMap,
    /// The file is linked.
    pub(super) linked: bool,
}

/// Runs a line program. Its own file definitions go to `table`.
pub(super) fn spans<'data>(
    program: &Program<'data>,
    table: &mut FileTable<'data>,
    addresses: Addresses<'_>,
    report: &mut Report,
) -> Vec<Span> {
    let header = program.header();
    let mut reader = Rows::new(addresses, report);
    let mut registers = Registers::new(header.address_size());
    let mut instructions = header.instructions();
    loop {
        match instructions.next_instruction(header) {
            Ok(Some(LineInstruction::EndSequence)) => {
                reader.finish(Some(registers.address));
                registers = Registers::new(header.address_size());
            }
            Ok(Some(LineInstruction::DefineFile(file))) => {
                if let gimli::AttributeValue::String(name) = file.path_name() {
                    table.define(file.directory_index(), name.slice());
                }
            }
            Ok(Some(instruction)) => {
                if registers.execute(&instruction, program) {
                    reader.push(&registers);
                }
            }
            Ok(None) => break,
            Err(_) => {
                reader.report.skip("damaged line programs");
                break;
            }
        }
    }
    reader.finish(None);
    reader.spans()
}

/// The registers of the line machine that matter here.
pub(super) struct Registers {
    pub(super) address: u64,
    op_index: u64,
    pub(super) file: u64,
    pub(super) line: u32,
    column: u64,
    mask: u64,
}

impl Registers {
    pub(super) fn new(address_size: u8) -> Self {
        Self {
            address: 0,
            op_index: 0,
            file: 1,
            line: 1,
            column: 0,
            mask: super::address_mask(address_size),
        }
    }

    /// Executes one instruction; true when it makes a row.
    pub(super) fn execute(
        &mut self,
        instruction: &LineInstruction<Slice<'_>>,
        program: &Program<'_>,
    ) -> bool {
        let header = program.header();
        match *instruction {
            LineInstruction::Special(opcode) => {
                let adjusted = opcode.wrapping_sub(header.opcode_base());
                let range = header.line_range();
                let line = i64::from(adjusted.checked_rem(range).unwrap_or(0));
                self.advance_line(line.wrapping_add(i64::from(header.line_base())));
                self.advance(u64::from(adjusted.checked_div(range).unwrap_or(0)), program);
                return true;
            }
            LineInstruction::Copy => return true,
            LineInstruction::AdvancePc(operations) => self.advance(operations, program),
            LineInstruction::AdvanceLine(lines) => self.advance_line(lines),
            LineInstruction::SetFile(file) => self.file = file,
            LineInstruction::SetColumn(column) => self.column = column,
            LineInstruction::ConstAddPc => {
                let adjusted = u8::MAX.wrapping_sub(header.opcode_base());
                let operations = adjusted.checked_div(header.line_range()).unwrap_or(0);
                self.advance(u64::from(operations), program);
            }
            LineInstruction::FixedAddPc(bytes) => {
                self.address = self.address.wrapping_add(u64::from(bytes)) & self.mask;
                self.op_index = 0;
            }
            LineInstruction::SetAddress(address) => {
                self.address = address;
                self.op_index = 0;
            }
            _ => {}
        }
        false
    }

    /// Lines are 32 bits and wrap, as in other readers.
    fn advance_line(&mut self, lines: i64) {
        let [a, b, c, d, ..] = lines.to_le_bytes();
        self.line = self.line.wrapping_add(u32::from_le_bytes([a, b, c, d]));
    }

    fn advance(&mut self, operations: u64, program: &Program<'_>) {
        let header = program.header();
        let length = u64::from(header.minimum_instruction_length());
        let slots = u64::from(header.maximum_operations_per_instruction()).max(1);
        let operations = self.op_index.wrapping_add(operations);
        let words = operations.checked_div(slots).unwrap_or(0);
        self.op_index = operations.checked_rem(slots).unwrap_or(0);
        self.address = self.address.wrapping_add(length.wrapping_mul(words)) & self.mask;
    }
}

/// The rows of a program as they come.
struct Rows<'a> {
    addresses: &'a AddressMap,
    report: &'a mut Report,
    linked: bool,
    /// The mapping of the last row.
    mapping: Option<Mapping>,
    rows: Vec<LineRow>,
    /// First row of the open sequence.
    first: usize,
    /// Rows of the open sequence outside every mapping.
    dead: u64,
    in_order: bool,
    sequences: Vec<Sequence>,
}

impl<'a> Rows<'a> {
    fn new(addresses: Addresses<'a>, report: &'a mut Report) -> Self {
        Self {
            addresses: addresses.map,
            report,
            linked: addresses.linked,
            mapping: None,
            rows: Vec::new(),
            first: 0,
            dead: 0,
            in_order: true,
            sequences: Vec::new(),
        }
    }

    /// Takes a row; one outside every mapping is a tombstone.
    fn push(&mut self, registers: &Registers) {
        let address = registers.address;
        if !self.mapping.is_some_and(|mapping| holds(&mapping, address)) {
            match self.addresses.find(address) {
                Some(mapping) => self.mapping = Some(*mapping),
                None => {
                    self.dead = self.dead.saturating_add(1);
                    return;
                }
            }
        }
        if self.rows.len() > self.first {
            self.in_order &= self.rows.last().is_none_or(|last| last.address <= address);
        }
        self.rows.push(LineRow {
            address,
            file: u32::try_from(registers.file).unwrap_or(NONE),
            line: registers.line,
            column: u32::try_from(registers.column).unwrap_or(0),
        });
    }

    /// Ends the open sequence at `end`, or at its last row when it has no end.
    fn finish(&mut self, end: Option<u64>) {
        if self.rows.len() > self.first && !self.in_order {
            let kept = longest_in_order(self.rows.get(self.first..).unwrap_or(&[]));
            let before = self.rows.len();
            self.rows.truncate(self.first);
            self.rows.extend(kept);
            let dropped = before.saturating_sub(self.rows.len());
            self.report.skip_many("line rows out of order", super::wide(dropped));
        }
        let rows = self.rows.get(self.first..).unwrap_or(&[]);
        if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
            let start = first.address;
            let end = match end {
                Some(end) if end >= last.address => end,
                // The end is in the midst of them: those past it are wrong.
                Some(end) if end > start => end,
                _ => {
                    self.report.skip("unfinished line sequences");
                    last.address
                }
            };
            if self.linked && self.reaches_out(start, end) {
                self.dead = self.dead.saturating_add(super::wide(rows.len()));
                self.rows.truncate(self.first);
            } else if start < end {
                let rows = self.first..self.rows.len();
                self.sequences.push(Sequence { start, end, rows });
            }
        }
        self.report.skip_many("line rows of dead code", self.dead);
        self.dead = 0;
        self.in_order = true;
        self.first = self.rows.len();
    }

    /// True when a sequence starts in a mapping and ends beyond it: dead code
    /// whose made-up address happens to fall on living code.
    fn reaches_out(&self, start: u64, end: u64) -> bool {
        let Some(mapping) = self.addresses.find(start) else { return true };
        end.wrapping_sub(mapping.start) > mapping.size && self.addresses.find(end).is_none()
    }

    /// The spans of all sequences. Where sequences overlap, the one that ends
    /// first wins; of equal ends, the first in the program.
    fn spans(mut self) -> Vec<Span> {
        self.sequences.sort_by_key(|sequence| sequence.start);
        let mut spans = Spans { addresses: self.addresses, mapping: None, list: Vec::new() };
        spans.list.reserve(self.rows.len());
        for (sequence, start, end) in winners(&self.sequences) {
            let rows = self.rows.get(sequence.rows.clone()).unwrap_or(&[]);
            let after = rows.partition_point(|row| row.address <= start);
            let rows = rows.get(after.saturating_sub(1)..).unwrap_or(&[]);
            for (place, row) in rows.iter().enumerate() {
                if row.address >= end {
                    break;
                }
                let next = rows.get(place.saturating_add(1)).map_or(end, |next| next.address);
                spans.push(row, row.address.max(start), next.min(end));
            }
        }
        spans.list
    }
}

/// Spans as they come, by address.
struct Spans<'a> {
    addresses: &'a AddressMap,
    mapping: Option<Mapping>,
    list: Vec<Span>,
}

impl Spans<'_> {
    /// Adds a span, cut at the end of its mapping; one too long to be code is damage.
    fn push(&mut self, row: &LineRow, start: u64, end: u64) {
        if start >= end || end.wrapping_sub(start) > super::LONGEST {
            return;
        }
        if !self.mapping.is_some_and(|mapping| holds(&mapping, start)) {
            self.mapping = self.addresses.find(start).copied();
        }
        let Some(mapping) = self.mapping else { return };
        let room = mapping.size.wrapping_sub(start.wrapping_sub(mapping.start));
        let end = end.min(start.saturating_add(room));
        let &LineRow { file, line, column, .. } = row;
        if let Some(last) = self.list.last_mut() {
            let same = (last.file, last.line, last.column) == (file, line, column);
            if same && last.end == start && start != mapping.start {
                last.end = end;
                return;
            }
        }
        self.list.push(Span { start, end, file, line, column });
    }
}

/// True when `address` lies in the mapping.
fn holds(mapping: &Mapping, address: u64) -> bool {
    address.wrapping_sub(mapping.start) < mapping.size
}

/// The most rows that are in order of their addresses; the others are damage.
fn longest_in_order(rows: &[LineRow]) -> Vec<LineRow> {
    // `ends[n]`: the row with the least address that ends a run of n + 1 rows.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(rows.len());
    let address = |place: usize| rows.get(place).map_or(u64::MAX, |row| row.address);
    for (place, row) in rows.iter().enumerate() {
        let length = ends.partition_point(|&end| address(end) <= row.address);
        before.push(length.checked_sub(1).and_then(|n| ends.get(n)).copied());
        match ends.get_mut(length) {
            Some(end) => *end = place,
            None => ends.push(place),
        }
    }
    let mut kept = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(place) = next {
        kept.extend(rows.get(place).copied());
        next = before.get(place).copied().flatten();
    }
    kept.reverse();
    kept
}

/// Which sequence holds which addresses, in order of address. `sequences` are
/// sorted by start.
fn winners(sequences: &[Sequence]) -> Vec<(&Sequence, u64, u64)> {
    let mut found: Vec<(&Sequence, u64, u64)> = Vec::with_capacity(sequences.len());
    let mut open: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut coming = sequences.iter().peekable();
    let mut position = 0;
    let mut number = 0_usize;
    let mut by_number: Vec<&Sequence> = Vec::with_capacity(sequences.len());
    loop {
        while open.peek().is_some_and(|Reverse((end, _))| *end <= position) {
            open.pop();
        }
        if open.is_empty() {
            let Some(next) = coming.peek() else { return found };
            position = next.start;
        }
        while let Some(next) = coming.next_if(|next| next.start <= position) {
            open.push(Reverse((next.end, number)));
            by_number.push(next);
            number = number.saturating_add(1);
        }
        let Some(&Reverse((end, winner))) = open.peek() else { return found };
        let end = coming.peek().map_or(end, |next| end.min(next.start));
        if let Some(&sequence) = by_number.get(winner) {
            match found.last_mut() {
                Some((last, _, until)) if std::ptr::eq(*last, sequence) && *until == position => {
                    *until = end;
                }
                _ => found.push((sequence, position, end)),
            }
        }
        position = end;
    }
}
