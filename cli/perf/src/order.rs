//! Time order: records in as the file has them, out by time; equal times stay as they came.
//!
//! perf's rule: what is up to the newest time of the round before the last can go
//! out when a round ends. What does not fit in memory until then lies in temporary
//! files, sorted, and is merged on the way out.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _};

/// Bytes of records and of their index held in memory.
const MEMORY: usize = 2 * 1024 * 1024;
/// So many runs of one size become one of the next.
const FAN_IN: usize = 16;
/// Bytes read at once of each run.
const RUN_BUFFER: usize = 8 * 1024;

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: u64,
    /// Where its bytes start: also the order in which records came.
    at: u32,
    length: u32,
}

/// A sorted run in a temporary file.
#[derive(Debug)]
struct Run {
    file: BufReader<File>,
    /// How often its records were merged.
    level: u32,
    /// Time and bytes of the record that comes next.
    next: Option<(u64, u32)>,
}

impl Run {
    /// Time and length of the next record; what the file holds was written here, so
    /// an end inside a record is an error of the system.
    fn advance(&mut self) -> io::Result<()> {
        let mut head = [0; 12];
        self.next = match self.file.read(&mut head)? {
            0 => None,
            read => {
                self.file.read_exact(head.get_mut(read..).unwrap_or_default())?;
                let [a, b, c, d, e, f, g, h, i, j, k, l] = head;
                let time = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
                Some((time, u32::from_le_bytes([i, j, k, l])))
            }
        };
        Ok(())
    }

    fn read(&mut self, length: u32, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        into.resize(usize::try_from(length).unwrap_or(0), 0);
        self.file.read_exact(into)?;
        self.advance()
    }
}

/// Records on their way into order.
#[derive(Debug)]
pub(crate) struct Order {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Entries before this one have gone out; sorted as far as `ready`.
    out: usize,
    ready: usize,
    runs: Vec<Run>,
    /// What may go out: everything up to this time.
    limit: Option<u64>,
    /// The newest time so far: the next round's limit.
    newest: Option<u64>,
    /// The limit that the end of the running round sets.
    next_limit: Option<u64>,
    record: Vec<u8>,
    memory: usize,
    spilled: u64,
}

/// Where the next record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Run(usize),
    Memory,
}

impl Order {
    pub(crate) fn new() -> Self {
        Self::with_memory(MEMORY)
    }

    pub(crate) fn with_memory(memory: usize) -> Self {
        Self {
            // Grown in steps it would at times be held twice.
            bytes: Vec::with_capacity(memory),
            entries: Vec::new(),
            out: 0,
            ready: 0,
            runs: Vec::new(),
            limit: None,
            newest: None,
            next_limit: None,
            record: Vec::new(),
            memory,
            spilled: 0,
        }
    }

    /// Bytes that went through temporary files.
    pub(crate) fn spilled(&self) -> u64 {
        self.spilled
    }

    /// Takes a record in. Only when everything ready has gone out.
    #[inline]
    pub(crate) fn push(&mut self, time: u64, record: &[u8]) -> io::Result<()> {
        self.forget();
        let index = self.entries.len().saturating_mul(size_of::<Entry>());
        let held = self.bytes.len().saturating_add(index).saturating_add(record.len());
        if held > self.memory {
            self.spill()?;
        }
        let at = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(record);
        self.entries.push(Entry { time, at, length });
        self.newest = self.newest.max(Some(time));
        Ok(())
    }

    /// A round has ended.
    pub(crate) fn round(&mut self) {
        self.release(self.next_limit);
        self.next_limit = self.newest;
    }

    /// No more records come.
    pub(crate) fn finish(&mut self) {
        self.release(Some(u64::MAX));
    }

    fn release(&mut self, limit: Option<u64>) {
        self.forget();
        self.limit = limit;
        self.entries.sort_unstable_by_key(|entry| (entry.time, entry.at));
        self.ready = self.entries.partition_point(|entry| Some(entry.time) <= limit);
    }

    /// Drops what has gone out and moves the rest to the front, in the order it came.
    fn forget(&mut self) {
        if self.out == 0 {
            return;
        }
        self.entries.drain(..self.out);
        self.entries.sort_unstable_by_key(|entry| entry.at);
        let mut end = 0usize;
        for entry in &mut self.entries {
            let start = usize::try_from(entry.at).unwrap_or(usize::MAX);
            let length = usize::try_from(entry.length).unwrap_or(0);
            self.bytes.copy_within(start..start.saturating_add(length), end);
            entry.at = u32::try_from(end).unwrap_or(u32::MAX);
            end = end.saturating_add(length);
        }
        self.bytes.truncate(end);
        (self.out, self.ready) = (0, 0);
    }

    /// True when [`Order::pop`] has a record.
    pub(crate) fn is_ready(&self) -> bool {
        self.next_place().is_some()
    }

    /// The next record that is ready.
    #[inline]
    pub(crate) fn pop(&mut self) -> io::Result<Option<&[u8]>> {
        match self.next_place() {
            Some(Place::Memory) => {
                let entry = self.entries.get(self.out).copied();
                self.out = self.out.saturating_add(1);
                Ok(entry.and_then(|entry| bytes_of(&self.bytes, entry)))
            }
            Some(Place::Run(number)) => {
                let run = self.runs.get_mut(number);
                if let Some(run) = run
                    && let Some((_, length)) = run.next
                {
                    run.read(length, &mut self.record)?;
                    if run.next.is_none() {
                        self.runs.remove(number);
                    }
                    return Ok(Some(&self.record));
                }
                Ok(None)
            }
            None => {
                if self.limit == Some(u64::MAX) {
                    // What is made of it all needs memory too.
                    (self.bytes, self.entries) = (Vec::new(), Vec::new());
                    (self.out, self.ready) = (0, 0);
                }
                Ok(None)
            }
        }
    }

    /// Runs hold what came before the memory's records, each before the next one's:
    /// so the first of equal times comes first.
    #[inline]
    fn next_place(&self) -> Option<Place> {
        let memory = self.entries.get(self.out).filter(|_| self.out < self.ready);
        let mut best = None;
        for (number, run) in self.runs.iter().enumerate() {
            if let Some((time, _)) = run.next
                && Some(time) <= self.limit
                && best.is_none_or(|(earliest, _)| time < earliest)
            {
                best = Some((time, Place::Run(number)));
            }
        }
        match (best, memory) {
            (Some((time, place)), Some(entry)) if time <= entry.time => Some(place),
            (_, Some(_)) => Some(Place::Memory),
            (Some((_, place)), None) => Some(place),
            (None, None) => None,
        }
    }

    /// Moves everything in memory to a run.
    fn spill(&mut self) -> io::Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        self.entries.sort_unstable_by_key(|entry| (entry.time, entry.at));
        let mut file = BufWriter::new(tempfile::tempfile()?);
        for &entry in &self.entries {
            let bytes = bytes_of(&self.bytes, entry).unwrap_or(&[]);
            write_record(&mut file, entry.time, bytes)?;
            self.spilled = self.spilled.saturating_add(u64::from(entry.length));
        }
        self.entries.clear();
        self.bytes.clear();
        self.add_run(file, 0)?;
        while let Some(level) = self.full_level() {
            self.merge(level)?;
        }
        Ok(())
    }

    fn add_run(&mut self, file: BufWriter<File>, level: u32) -> io::Result<()> {
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        let mut run = Run { file: BufReader::with_capacity(RUN_BUFFER, file), level, next: None };
        run.advance()?;
        self.runs.push(run);
        Ok(())
    }

    /// The level of the newest runs when there are enough of them to merge.
    fn full_level(&self) -> Option<u32> {
        let level = self.runs.last()?.level;
        let same = self.runs.iter().rev().take_while(|run| run.level == level).count();
        (same >= FAN_IN).then_some(level)
    }

    /// Merges the newest runs, all of one level, into one of the next.
    fn merge(&mut self, level: u32) -> io::Result<()> {
        let first = self.runs.len().saturating_sub(FAN_IN);
        let mut file = BufWriter::new(tempfile::tempfile()?);
        loop {
            let times = self.runs.iter().enumerate().skip(first);
            let next =
                times.filter_map(|(at, run)| run.next.map(|(time, length)| (time, at, length)));
            let Some((time, at, length)) = next.min_by_key(|&(time, at, _)| (time, at)) else {
                break;
            };
            if let Some(run) = self.runs.get_mut(at) {
                run.read(length, &mut self.record)?;
            }
            write_record(&mut file, time, &self.record)?;
        }
        self.runs.truncate(first);
        self.add_run(file, level.saturating_add(1))
    }
}

fn bytes_of(bytes: &[u8], entry: Entry) -> Option<&[u8]> {
    let start = usize::try_from(entry.at).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(entry.length).ok()?)?)
}

fn write_record(file: &mut impl io::Write, time: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all(&time.to_le_bytes())?;
    file.write_all(&u32::try_from(bytes.len()).unwrap_or(0).to_le_bytes())?;
    file.write_all(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn drain(order: &mut Order, to: &mut Vec<(u64, u32)>) {
        while let Some(record) = order.pop().unwrap() {
            let time = u64::from_le_bytes(*record.first_chunk().unwrap());
            to.push((time, u32::from_le_bytes(*record.last_chunk().unwrap())));
        }
    }

    fn push(order: &mut Order, time: u64, number: u32) {
        let mut record = time.to_le_bytes().to_vec();
        record.extend(number.to_le_bytes());
        order.push(time, &record).unwrap();
    }

    #[test]
    fn a_round_lets_out_what_the_round_before_it_had() {
        let mut order = Order::new();
        let mut out = Vec::new();
        let mut round = |times: &[u64]| {
            times.iter().for_each(|&time| push(&mut order, time, 0));
            order.round();
            drain(&mut order, &mut out);
            std::mem::take(&mut out).iter().map(|(time, _)| *time).collect::<Vec<_>>()
        };
        // The example in perf's own description of round marks.
        assert_eq!(round(&[1, 2, 2, 3, 4]), [0u64; 0]);
        assert_eq!(round(&[3, 4, 5, 5, 6, 7]), [1, 2, 2, 3, 3, 4, 4]);
        assert_eq!(round(&[6, 7, 8, 8, 9, 10]), [5, 5, 6, 6, 7, 7]);
        order.finish();
        drain(&mut order, &mut out);
        assert_eq!(out.len(), 4);
    }

    #[test]
    fn what_does_not_fit_is_in_order_all_the_same() {
        // The reference is a stable sort of everything at once.
        for memory in [1, 40, 200, 1_000, 100_000] {
            for rounds in [0, 7, 1000] {
                let mut state = 12345u64;
                let mut expected = Vec::new();
                let mut out = Vec::new();
                let mut order = Order::with_memory(memory);
                for number in 0..5_000u32 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // Times move on slowly, so that rounds keep their promise.
                    let time = u64::from(number >> 6).wrapping_mul(8).wrapping_add(state >> 61);
                    expected.push((time, number));
                    push(&mut order, time, number);
                    if rounds != 0 && number % rounds == 0 {
                        order.round();
                        drain(&mut order, &mut out);
                    }
                }
                order.finish();
                drain(&mut order, &mut out);
                if rounds == 0 || rounds == 1000 {
                    expected.sort_by_key(|(time, _)| *time);
                    assert_eq!(out, expected, "{memory} bytes, round of {rounds}");
                }
                out.sort_unstable();
                expected.sort_unstable();
                assert_eq!(out, expected, "{memory} bytes, round of {rounds}: all come out");
            }
        }
    }

    #[test]
    fn what_is_at_its_end_holds_no_memory() {
        let mut order = Order::new();
        (0..10).for_each(|number| push(&mut order, 1, number));
        order.round();
        assert!(order.pop().unwrap().is_none() && order.bytes.capacity() >= MEMORY);
        order.finish();
        let mut out = Vec::new();
        drain(&mut order, &mut out);
        assert_eq!((out.len(), order.bytes.capacity(), order.entries.capacity()), (10, 0, 0));
    }

    #[test]
    fn memory_stays_within_its_bound_without_rounds() {
        let mut order = Order::with_memory(10_000);
        for number in 0..20_000 {
            push(&mut order, u64::from(number % 97), number);
            let index = order.entries.len().saturating_mul(size_of::<Entry>());
            assert!(order.bytes.len().saturating_add(index) <= 10_000);
        }
        assert!(order.runs.len() <= FAN_IN.saturating_mul(3));
    }
}
