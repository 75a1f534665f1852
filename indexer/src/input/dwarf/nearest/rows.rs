//! Line rows as binutils keep them: every row of every sequence, with its
//! discriminator.
//!
//! In: a line program. Out: the row that answers for an address. Dead code is
//! not told from living code here: binutils do not.

use std::cmp::Reverse;

use gimli::LineInstruction;

use super::super::files::Program;
use super::super::rows::Registers;
use super::paths::Paths;

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Where it begins.
    pub(super) address: u64,
    /// Number of its file.
    pub(super) file: u32,
    /// 0 for none.
    pub(super) line: u32,
    /// 0 for none.
    pub(super) discriminator: u32,
}

/// Rows that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sequence {
    low: u64,
    end: u64,
    /// Its rows.
    first: usize,
    after: usize,
}

/// The rows of one line program.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    /// By address, not overlapping.
    sequences: Vec<Sequence>,
}

impl Rows {
    /// Runs a line program. Its own file definitions go to `paths`.
    pub(super) fn run<'data>(program: &Program<'data>, paths: &mut Paths<'data>) -> Self {
        let header = program.header();
        let mut building = Building::default();
        let start = || {
            let mut registers = Registers::new(header.address_size());
            registers.file = first_file(header.version());
            registers
        };
        let mut registers = start();
        let mut discriminator = 0;
        let mut instructions = header.instructions();
        let most = most_rows(header.raw_program_buf().slice().len());
        while building.rows.len() <= most
            && let Ok(Some(instruction)) = instructions.next_instruction(header)
        {
            match instruction {
                LineInstruction::EndSequence => {
                    building.end(registers.address);
                    registers = start();
                    discriminator = 0;
                }
                LineInstruction::SetDiscriminator(number) => {
                    discriminator = u32::try_from(number).unwrap_or(u32::MAX);
                }
                LineInstruction::DefineFile(file) => {
                    if let gimli::AttributeValue::String(name) = file.path_name() {
                        paths.define(file.directory_index(), name.slice());
                    }
                }
                instruction => {
                    if registers.execute(&instruction, program) {
                        building.row(Row {
                            address: registers.address,
                            file: u32::try_from(registers.file).unwrap_or(u32::MAX),
                            line: registers.line,
                            discriminator,
                        });
                        discriminator = 0;
                    }
                }
            }
        }
        building.finish()
    }

    /// The row that holds an address.
    pub(super) fn find(&self, address: u64) -> Option<&Row> {
        let after = self.sequences.partition_point(|sequence| sequence.low <= address);
        let sequence = self.sequences.get(after.checked_sub(1)?)?;
        if address >= sequence.end {
            return None;
        }
        let rows = self.rows.get(sequence.first..sequence.after)?;
        let after = rows.partition_point(|row| row.address <= address);
        rows.get(after.checked_sub(1)?)
    }
}

/// The most rows that a program of so many bytes has: compilers take three bytes
/// for one, and what comes after more is damage.
fn most_rows(bytes: usize) -> usize {
    bytes.checked_div(2).unwrap_or(0).saturating_add(1 << 20)
}

/// The file that a sequence begins in: the table's first, which DWARF 5 counts as
/// 0 and means as 1.
fn first_file(version: u16) -> u64 {
    if version >= 5 { 0 } else { 1 }
}

/// Rows as they come.
#[derive(Default)]
struct Building {
    rows: Vec<Row>,
    sequences: Vec<Sequence>,
    /// First row of the open sequence.
    first: usize,
    /// The open sequence has rows that are not in order.
    disordered: bool,
    /// The greatest address in the open sequence, and where its row is.
    greatest: Option<(u64, usize)>,
}

impl Building {
    /// Takes a row. Of rows at the address that was the greatest so far the
    /// last one counts.
    fn row(&mut self, row: Row) {
        match self.greatest {
            Some((address, place)) if address == row.address => {
                if let Some(slot) = self.rows.get_mut(place) {
                    *slot = row;
                }
                return;
            }
            Some((address, _)) if address > row.address => self.disordered = true,
            _ => self.greatest = Some((row.address, self.rows.len())),
        }
        self.rows.push(row);
    }

    fn end(&mut self, end: u64) {
        let rows = self.rows.get_mut(self.first..).unwrap_or(&mut []);
        if self.disordered {
            // Of equal ones, the first that came stands last, and counts.
            rows.reverse();
            rows.sort_by_key(|row| row.address);
        }
        let low = rows.first().map(|row| row.address);
        let (first, after) = (self.first, self.rows.len());
        self.sequences.extend(low.map(|low| Sequence { low, end, first, after }));
        self.first = self.rows.len();
        self.disordered = false;
        self.greatest = None;
    }

    fn finish(mut self) -> Rows {
        // Rows without an end answer for nothing.
        self.rows.truncate(self.first);
        // The last of equal sequences stands first.
        self.sequences.reverse();
        self.sequences.sort_by_key(|sequence| (sequence.low, Reverse(sequence.end)));
        self.rows.shrink_to_fit();
        Rows { rows: self.rows, sequences: disjoint(self.sequences) }
    }
}

/// Sorted sequences without those that lie in the ones before them; what
/// reaches out of one begins where that ends.
fn disjoint(sequences: Vec<Sequence>) -> Vec<Sequence> {
    let mut kept: Vec<Sequence> = Vec::with_capacity(sequences.len());
    for mut sequence in sequences {
        let end = kept.last().map_or(0, |last| last.end);
        if sequence.low < end {
            if sequence.end <= end {
                continue;
            }
            sequence.low = end;
        }
        kept.push(sequence);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(address: u64, line: u32) -> Row {
        Row { address, file: 1, line, discriminator: 0 }
    }

    fn lines(sequences: &[(&[(u64, u32)], u64)], addresses: &[u64]) -> Vec<u32> {
        let mut building = Building::default();
        for (rows, end) in sequences {
            rows.iter().for_each(|&(address, line)| building.row(row(address, line)));
            building.end(*end);
        }
        let rows = building.finish();
        addresses.iter().map(|&address| rows.find(address).map_or(0, |row| row.line)).collect()
    }

    #[test]
    fn the_last_row_of_an_address_counts() {
        let rows: &[(u64, u32)] = &[(0, 1), (4, 2), (4, 3), (8, 4)];
        assert_eq!(lines(&[(rows, 12)], &[0, 3, 4, 7, 8, 11, 12]), [1, 1, 3, 3, 4, 4, 0]);
    }

    /// A row that comes too late stands in front of one that is there.
    #[test]
    fn rows_out_of_order_are_put_in_order() {
        let rows: &[(u64, u32)] = &[(0, 1), (8, 4), (4, 2), (4, 3), (12, 5)];
        assert_eq!(lines(&[(rows, 16)], &[0, 4, 8, 12]), [1, 2, 4, 5]);
    }

    #[test]
    fn a_sequence_inside_another_is_left_out_and_the_last_of_equal_ones_counts() {
        let outer: &[(u64, u32)] = &[(0, 1)];
        let inner: &[(u64, u32)] = &[(4, 2)];
        assert_eq!(lines(&[(inner, 8), (outer, 16)], &[0, 4, 12]), [1, 1, 1]);
        assert_eq!(lines(&[(outer, 6), (inner, 8)], &[0, 5, 6, 7, 8]), [1, 1, 2, 2, 0]);
        assert_eq!(lines(&[(&[(0, 1)], 4), (&[(0, 2)], 4)], &[0]), [2]);
    }
}
