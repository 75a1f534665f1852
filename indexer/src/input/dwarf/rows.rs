//! Line programs: from opcodes to stretches of addresses that came from a line.
//!
//! In: one line program. Out: a [`LineTable`] of [`Span`]s. Dead code and
//! damaged rows are counted, never shown.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use gimli::LineInstruction;

use super::files::{FileTable, Program};
use super::table::{LineTable, Part, Run, Store};
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineRow {
    /// First address.
    pub(super) address: u64,
    /// Index in the unit's file table; `NONE` when it does not fit.
    pub(super) file: u32,
    /// Line; 0 unknown.
    pub(super) line: u32,
    /// Column; 0 unknown.
    pub(super) column: u32,
}

impl LineRow {
    /// At an address, and nothing known.
    pub(super) fn first(address: u64) -> Self {
        Self { address, ..Self::default() }
    }
}

/// Rows from the first address up to an end.
#[derive(Clone, Debug)]
struct Sequence {
    start: u64,
    end: u64,
    rows: Run,
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

/// Runs a line program. Its own file definitions go to `table`. Its rows are
/// `packed`, or they are not.
pub(super) fn read<'a, 'data>(
    program: &Program<'data>,
    table: &mut FileTable<'data>,
    addresses: Addresses<'a>,
    packed: bool,
    report: &mut Report,
) -> LineTable<'a> {
    let header = program.header();
    let mut reader = Rows::new(addresses, packed, report);
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
    reader.table()
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
struct Rows<'a, 'report> {
    addresses: &'a AddressMap,
    report: &'report mut Report,
    linked: bool,
    /// The mapping of the last row.
    mapping: Option<Mapping>,
    /// Rows, those of the open sequence last.
    rows: Store,
    /// First address of the open sequence.
    start: u64,
    /// Rows of the open sequence outside every mapping.
    dead: u64,
    in_order: bool,
    sequences: Vec<Sequence>,
}

impl<'a, 'report> Rows<'a, 'report> {
    fn new(addresses: Addresses<'a>, packed: bool, report: &'report mut Report) -> Self {
        Self {
            addresses: addresses.map,
            report,
            linked: addresses.linked,
            mapping: None,
            rows: Store::new(packed),
            start: 0,
            dead: 0,
            in_order: true,
            sequences: Vec::new(),
        }
    }

    /// Takes a row; one outside every mapping is a tombstone.
    fn push(&mut self, registers: &Registers) {
        let address = registers.address;
        if !self.mapping.is_some_and(|mapping| mapping.holds(address)) {
            match self.addresses.find(address) {
                Some(mapping) => self.mapping = Some(*mapping),
                None => {
                    self.dead = self.dead.saturating_add(1);
                    return;
                }
            }
        }
        match self.rows.open().len {
            0 => self.start = address,
            _ => self.in_order &= self.rows.last().address <= address,
        }
        self.rows.push(LineRow {
            address,
            file: u32::try_from(registers.file).unwrap_or(NONE),
            line: registers.line,
            column: u32::try_from(registers.column).unwrap_or(0),
        });
    }

    /// Drops what is out of order in the open sequence.
    fn put_in_order(&mut self) {
        let all = self.rows.take_open();
        let addresses: Vec<u64> = all.rows(all.open()).map(|row| row.address).collect();
        let kept = longest_in_order(&addresses);
        drop(addresses);
        let mut dropped = 0_u64;
        for (row, is_kept) in all.rows(all.open()).zip(kept) {
            match is_kept {
                true if self.rows.open().len == 0 => {
                    self.start = row.address;
                    self.rows.push(row);
                }
                true => self.rows.push(row),
                false => dropped = dropped.saturating_add(1),
            }
        }
        self.report.skip_many("line rows out of order", dropped);
    }

    /// Ends the open sequence at `end`, or at its last row when it has no end.
    fn finish(&mut self, end: Option<u64>) {
        if !self.in_order {
            self.put_in_order();
        }
        let rows = self.rows.open();
        if rows.len > 0 {
            let (start, last) = (self.start, self.rows.last().address);
            let end = match end {
                Some(end) if end >= last => end,
                // The end is in the midst of them: those past it are wrong.
                Some(end) if end > start => end,
                _ => {
                    self.report.skip("unfinished line sequences");
                    last
                }
            };
            if self.linked && self.reaches_out(start, end) {
                self.dead = self.dead.saturating_add(super::wide(rows.len));
                self.rows.clear_open();
            } else if start < end {
                self.sequences.push(Sequence { start, end, rows });
            } else {
                self.rows.clear_open();
            }
        }
        self.report.skip_many("line rows of dead code", self.dead);
        self.dead = 0;
        self.in_order = true;
        self.rows.close();
    }

    /// True when a sequence starts in a mapping and ends beyond it: dead code
    /// whose made-up address happens to fall on living code.
    fn reaches_out(&self, start: u64, end: u64) -> bool {
        let Some(mapping) = self.addresses.find(start) else { return true };
        end.wrapping_sub(mapping.start) > mapping.size && self.addresses.find(end).is_none()
    }

    /// The lines of all sequences. Where sequences overlap, the one that ends
    /// first wins; of equal ends, the first in the program.
    fn table(mut self) -> LineTable<'a> {
        self.sequences.sort_by_key(|sequence| sequence.start);
        LineTable::new(self.addresses, self.rows, winners(&self.sequences))
    }
}

/// Which rows to keep so that the most of them are in order of their
/// addresses; the others are damage.
fn longest_in_order(addresses: &[u64]) -> Vec<bool> {
    const NOTHING: usize = usize::MAX;
    // `ends[n]`: the row with the least address that ends a run of n + 1 rows.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<usize> = Vec::with_capacity(addresses.len());
    let address = |place: usize| addresses.get(place).copied().unwrap_or(u64::MAX);
    for (place, &at) in addresses.iter().enumerate() {
        let length = ends.partition_point(|&end| address(end) <= at);
        let last = length.checked_sub(1).and_then(|n| ends.get(n)).copied();
        before.push(last.unwrap_or(NOTHING));
        match ends.get_mut(length) {
            Some(end) => *end = place,
            None => ends.push(place),
        }
    }
    let mut kept = vec![false; addresses.len()];
    let mut next = ends.last().copied().unwrap_or(NOTHING);
    while let Some(slot) = kept.get_mut(next) {
        *slot = true;
        next = before.get(next).copied().unwrap_or(NOTHING);
    }
    kept
}

/// Which sequence holds which addresses, in order of address. `sequences` are
/// sorted by start.
fn winners(sequences: &[Sequence]) -> Vec<Part> {
    let mut found: Vec<Part> = Vec::with_capacity(sequences.len());
    let mut open: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut coming = sequences.iter().enumerate().peekable();
    let mut position = 0;
    loop {
        while open.peek().is_some_and(|Reverse((end, _))| *end <= position) {
            open.pop();
        }
        if open.is_empty() {
            let Some((_, next)) = coming.peek() else { return found };
            position = next.start;
        }
        while let Some((number, next)) = coming.next_if(|(_, next)| next.start <= position) {
            open.push(Reverse((next.end, number)));
        }
        let Some(&Reverse((end, winner))) = open.peek() else { return found };
        let end = coming.peek().map_or(end, |(_, next)| end.min(next.start));
        if let Some(&Sequence { rows, .. }) = sequences.get(winner) {
            match found.last_mut() {
                // No two sequences have the same rows.
                Some(last) if last.rows == rows && last.end == position => last.end = end,
                _ => found.push(Part { start: position, end, rows }),
            }
        }
        position = end;
    }
}
