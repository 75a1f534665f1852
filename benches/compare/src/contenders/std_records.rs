//! In: a binary. Out: symbols by `partition_point` over 24-byte records in one sorted vector.
//! The plain thing one would write by hand, overlaps settled when it is built; the reference for speed and for answers.
//! Never: copies a name; records point into the mapped binary.

use std::path::Path;

use memmap2::Mmap;

use super::{Artifact, Contender, Lookup};
use crate::truth::Truth;
use crate::{Result, mapped};

pub struct StdRecords;

/// One stretch of addresses with one answer: from `begin` to the next record's.
struct Record {
    begin: u64,
    /// Start of the owner: before `begin` where a nested symbol ended.
    owner: u64,
    /// Name in the mapped file; `NOBODY` marks a gap.
    name: u32,
    len: u32,
}

const NOBODY: u32 = u32::MAX;
const _: () = assert!(size_of::<Record>() == 24);

pub struct Opened {
    records: Vec<Record>,
    map: Mmap,
}

impl Contender for StdRecords {
    const NAME: &'static str = "std";
    const PACKAGE: &'static str = "";
    const ARTIFACT: Artifact = Artifact::Binary;
    type Opened = Opened;

    fn open(artifact: &Path, _base: u64) -> Result<Opened> {
        let map = mapped::map(artifact)?;
        let records = records(&map)?;
        Ok(Opened { records, map })
    }
}

/// The records so far, and the symbols that cover the place the sweep has reached, outermost first.
#[derive(Default)]
struct Sweep {
    records: Vec<Record>,
    open: Vec<Covering>,
}

#[derive(Clone, Copy)]
struct Covering {
    start: u64,
    end: u64,
    name: u32,
    len: u32,
}

impl Sweep {
    /// From `begin` on, the innermost open symbol is the answer.
    fn answer_from(&mut self, begin: u64) {
        let nobody = Covering {
            start: 0,
            end: 0,
            name: NOBODY,
            len: 0,
        };
        let Covering {
            start: owner,
            name,
            len,
            ..
        } = self.open.last().copied().unwrap_or(nobody);
        self.records.pop_if(|last| last.begin == begin);
        if self
            .records
            .last()
            .is_none_or(|last| (last.owner, last.name) != (owner, name))
        {
            self.records.push(Record {
                begin,
                owner,
                name,
                len,
            });
        }
    }

    /// Ends the symbols that end at or before `until`, in order.
    fn close(&mut self, until: u64) {
        while let Some(end) = self
            .open
            .iter()
            .map(|symbol| symbol.end)
            .min()
            .filter(|&end| end <= until)
        {
            self.open.retain(|symbol| symbol.end > end);
            self.answer_from(end);
        }
    }
}

/// Flattens nested and overlapping symbols into stretches that each have one answer.
fn records(file: &[u8]) -> Result<Vec<Record>> {
    let truth = Truth::parse(file)?;
    let mut sweep = Sweep::default();
    for symbol in truth.symbols() {
        sweep.close(symbol.start);
        if symbol.end <= symbol.start
            || sweep
                .open
                .last()
                .is_some_and(|last| last.start == symbol.start)
        {
            continue;
        }
        let name = u32::try_from(
            symbol
                .name
                .as_ptr()
                .addr()
                .wrapping_sub(file.as_ptr().addr()),
        )?;
        let len = u32::try_from(symbol.name.len())?;
        sweep.open.push(Covering {
            start: symbol.start,
            end: symbol.end,
            name,
            len,
        });
        sweep.answer_from(symbol.start);
    }
    sweep.close(u64::MAX);
    sweep.records.shrink_to_fit();
    Ok(sweep.records)
}

impl Opened {
    fn record(&self, addr: u64) -> Option<&Record> {
        let after = self.records.partition_point(|record| record.begin <= addr);
        self.records
            .get(after.checked_sub(1)?)
            .filter(|record| record.name != NOBODY)
    }
}

impl Lookup for Opened {
    fn start(&mut self, addr: u64) -> Option<u64> {
        self.record(addr).map(|record| record.owner)
    }

    fn named<R>(&mut self, addr: u64, f: impl FnOnce(&[u8], u64) -> R) -> Option<R> {
        let record = self.record(addr)?;
        let begin = usize::try_from(record.name).ok()?;
        let end = begin.checked_add(usize::try_from(record.len).ok()?)?;
        self.map.get(begin..end).map(|name| f(name, record.owner))
    }
}
