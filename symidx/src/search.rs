//! The search: an offset in, the last record at or before it out.
//!
//! One bucket, then a binary search among the few records that start in it:
//! about two cache lines and two pages. Never reads a name and never loops
//! more than 32 times, whatever the bytes say.

use zerocopy::little_endian::U32;

use crate::format::Record;
use crate::open::{Area, index};

/// Position in `area.records` of the last record with `start <= offset`;
/// `None` when the first record starts later.
///
/// On a valid index equal to [`last_at_or_before_slow`]; on a corrupt one any
/// position inside the records, or `None`.
#[inline]
pub(crate) fn last_at_or_before(area: &Area<'_>, offset: u32) -> Option<usize> {
    let (low, high) = bucket_bounds(area.buckets, area.shift, offset, area.records.len());
    let records = area.records.get(low..high)?;
    low.checked_add(count_at_or_before(records, offset))?.checked_sub(1)
}

/// The records among which the first one after `offset` lies: `low..high`.
#[inline]
fn bucket_bounds(buckets: &[U32], shift: u32, offset: u32, count: usize) -> (usize, usize) {
    let bucket = index(offset.wrapping_shr(shift));
    match (buckets.get(bucket), buckets.get(bucket.wrapping_add(1))) {
        (Some(low), Some(high)) => {
            let high = index(high.get()).min(count);
            (index(low.get()).min(high), high)
        }
        // Past the last bucket, or no bucket table: all records.
        _ => (0, count),
    }
}

/// How many of the sorted records start at or before `offset`. The standard
/// binary search chooses without branching, which matters here: half of all
/// choices would be mispredicted.
#[inline]
fn count_at_or_before(records: &[Record], offset: u32) -> usize {
    records.partition_point(|record| record.start.get() <= offset)
}

/// The slow, obviously right version: the test's reference.
#[cfg(test)]
pub(crate) fn last_at_or_before_slow(records: &[Record], offset: u32) -> Option<usize> {
    records.iter().rposition(|record| record.start.get() <= offset)
}

/// From `from` on, the last record with `start <= offset`, by doubling steps:
/// for the next address of a sorted batch. The record at `from` must start at
/// or before `offset`.
#[inline]
pub(crate) fn gallop(records: &[Record], from: usize, offset: u32) -> usize {
    let starts_by =
        |position: usize| records.get(position).is_some_and(|record| record.start.get() <= offset);
    let mut low = from;
    let mut step = 1usize;
    // Doubling ends after at most 64 rounds: positions past the end are `false`.
    while starts_by(low.saturating_add(step)) {
        low = low.saturating_add(step);
        step = step.saturating_mul(2);
    }
    let high = low.saturating_add(step).min(records.len());
    match records.get(low..high) {
        Some(rest) => low.saturating_add(count_at_or_before(rest, offset).saturating_sub(1)),
        None => from,
    }
}

#[cfg(test)]
#[path = "search/tests.rs"]
mod tests;
