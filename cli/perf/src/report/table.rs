//! Rows under construction: a table that never holds more than so many.
//!
//! In: keys, as samples come. Out: weights. When it is full the lighter half is given
//! up, which costs the other half nothing; what was given up may come back and is then
//! short by at most the heaviest that was given up.

use std::collections::HashMap;

use crate::report::sites::Site;

/// Rows kept at a time: seven eighths of a power of two, as many as a hash table has room
/// for before it grows; 2.7 MB.
pub const MOST_ROWS: usize = 28_672;
/// Names of threads that are told apart.
const MOST_COMMS: usize = 4096;
/// Rows kept when memory is short.
const FEWEST_ROWS: usize = 448;

/// How much was counted.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// use symidx_perf::{ReportOptions, Weight, report};
///
/// let report = report(&mut session, &mut names, &ReportOptions::default(), 20, |_| {})?;
/// assert_eq!(report.rows[0].own, Weight { samples: 1, period: 4_000 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight {
    /// Samples.
    pub samples: u64,
    /// What they stand for: the sum of their periods.
    pub period: u64,
}

impl Weight {
    pub(crate) fn add(&mut self, other: Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.period = self.period.saturating_add(other.period);
    }

    fn max(self, other: Self) -> Self {
        Self { samples: self.samples.max(other.samples), period: self.period.max(other.period) }
    }
}

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) comm: u16,
    pub(super) site: Site,
}

/// What a row counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub(super) own: Weight,
    pub(super) children: Weight,
    /// The last sample that had it in its chain.
    last: u64,
    /// An address in it, as [`crate::Place::address`].
    pub(super) address: u64,
}

impl Entry {
    /// It is in the chain of a sample; a function that calls itself counts once.
    pub(super) fn seen(&mut self, sample: u64, weight: Weight) {
        if self.last != sample {
            self.last = sample;
            self.children.add(weight);
        }
    }
}

/// Rows by key.
#[derive(Debug)]
pub(super) struct Table {
    rows: HashMap<Key, Entry>,
    most: usize,
    other: Weight,
    error: Weight,
}

impl Table {
    pub(super) fn new(most: usize) -> Self {
        let rows = HashMap::with_capacity(most);
        Self { rows, most, other: Weight::default(), error: Weight::default() }
    }

    /// The row of a key, new if there is none.
    pub(super) fn entry(&mut self, key: Key, address: u64) -> &mut Entry {
        if self.rows.len() >= self.most && !self.rows.contains_key(&key) {
            self.give_up_half();
        }
        self.rows.entry(key).or_insert(Entry { address, ..Entry::default() })
    }

    /// Holds a quarter as many rows from now on, down to some hundred; the lighter ones are
    /// given up.
    pub(super) fn shrink(&mut self) {
        if self.most <= FEWEST_ROWS {
            return;
        }
        self.most = (self.most >> 2).max(FEWEST_ROWS);
        while self.rows.len() > self.most {
            self.give_up_half();
        }
        let rows: Vec<(Key, Entry)> = self.rows.drain().collect();
        // The old table goes before the new one comes.
        self.rows = HashMap::new();
        self.rows = HashMap::with_capacity(self.most);
        self.rows.extend(rows);
    }

    /// Gives up the lighter half, by samples in which a row was seen at all.
    fn give_up_half(&mut self) {
        let mut weights: Vec<u64> = self.rows.values().map(|row| row.children.samples).collect();
        let middle = weights.len() / 2;
        let (_, &mut median, _) = match weights.len() {
            0 => return,
            _ => weights.select_nth_unstable(middle),
        };
        let mut left = middle.saturating_add(1);
        let (mut other, mut lost) = (Weight::default(), Weight::default());
        // In the order of keys, so that the same profile gives the same report.
        let mut light: Vec<Key> = self
            .rows
            .iter()
            .filter(|(_, row)| row.children.samples <= median)
            .map(|(key, _)| *key)
            .collect();
        light.sort_unstable_by_key(|key| {
            (self.rows.get(key).map_or(0, |row| row.children.samples), *key)
        });
        for key in light {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(1);
            if let Some(row) = self.rows.remove(&key) {
                other.add(row.own);
                lost = lost.max(row.children);
            }
        }
        self.other.add(other);
        self.error.add(lost);
    }

    /// The rows, what was given up for good or for a time, and by how much a row can be
    /// short.
    pub(super) fn finish(&mut self) -> (Vec<(Key, Entry)>, Weight, Weight) {
        (self.rows.drain().collect(), self.other, self.error)
    }
}

/// Names of threads by number; 0 is all those that there was no room for.
#[derive(Debug, Default)]
pub(super) struct Comms {
    numbers: HashMap<Box<[u8]>, u16>,
    names: Vec<Box<[u8]>>,
}

impl Comms {
    pub(super) fn number(&mut self, name: Option<&[u8]>) -> u16 {
        let name = name.unwrap_or(b"[unnamed]");
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        if self.names.len() >= MOST_COMMS {
            return 0;
        }
        self.names.push(name.into());
        let number = u16::try_from(self.names.len()).unwrap_or(0);
        self.numbers.insert(name.into(), number);
        number
    }

    pub(super) fn name(&self, number: u16) -> Vec<u8> {
        let at = usize::from(number).checked_sub(1);
        at.and_then(|at| self.names.get(at)).map_or(b"[other]".as_slice(), |name| name).to_vec()
    }
}
