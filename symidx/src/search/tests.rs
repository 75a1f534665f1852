//! The fast search against the slow one, on valid and on hostile tables.

#![allow(clippy::arithmetic_side_effects, clippy::as_conversions, clippy::indexing_slicing)]

use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::format::NONE;

fn records(starts: &[u32]) -> Vec<Record> {
    let record = |&start: &u32| Record {
        start: start.into(),
        size: 1.into(),
        name: 0.into(),
        name_len: 0.into(),
        attrs: 0.into(),
    };
    starts.iter().map(record).collect()
}

/// Buckets as `FORMAT.md` words it: for each the first record at or after its
/// first address, and the number of records at the end.
fn buckets(starts: &[u32], size: u64, shift: u32) -> Vec<U32> {
    let count = ((size - 1) >> shift) + 1;
    let first = |bucket: u64| {
        starts.iter().position(|&start| u64::from(start) >= bucket << shift).unwrap_or(starts.len())
    };
    (0..count).map(first).chain([starts.len()]).map(|at| U32::new(at as u32)).collect()
}

fn area<'a>(records: &'a [Record], buckets: &'a [U32], shift: u32) -> Area<'a> {
    Area { base: 0, size: 1 << 32, records, buckets, shift, first: 0, region: NONE }
}

fn cases() -> ProptestConfig {
    // The interpreter that looks for undefined behaviour is slow.
    let cases = if cfg!(miri) { 8 } else { 4000 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Starts with runs of equal ones, in a region of `size` bytes.
fn starts() -> impl Strategy<Value = (Vec<u32>, u64)> {
    let spread = prop_oneof![Just(8u32), Just(300), Just(1 << 16), Just(u32::MAX)];
    spread.prop_flat_map(|spread| {
        (prop::collection::vec(0..=spread, 1..60), 0..1000u64).prop_map(|(mut starts, more)| {
            starts.sort_unstable();
            let last = u64::from(starts[starts.len() - 1]);
            (starts, (last + 1 + more).min(1 << 32))
        })
    })
}

/// Offsets where the answer changes, and a few elsewhere.
fn offsets(starts: &[u32], more: &[u32]) -> Vec<u32> {
    let around = |&start: &u32| [start.wrapping_sub(1), start, start.wrapping_add(1)];
    starts.iter().flat_map(around).chain(more.iter().copied()).chain([0, u32::MAX]).collect()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn fast_equals_slow(
        (starts, size) in starts(),
        shift in 0..32u32,
        more in prop::collection::vec(any::<u32>(), 8),
    ) {
        let records = records(&starts);
        // At most a few hundred buckets; the writer never makes more than records.
        let least = 64u32.saturating_sub((size - 1).leading_zeros()).saturating_sub(8);
        let shift = shift.max(least).min(31);
        let table = buckets(&starts, size, shift);
        for offset in offsets(&starts, &more) {
            if u64::from(offset) >= size {
                continue;
            }
            let slow = last_at_or_before_slow(&records, offset);
            prop_assert_eq!(last_at_or_before(&area(&records, &table, shift), offset), slow);
            prop_assert_eq!(last_at_or_before(&area(&records, &[], 0), offset), slow);
        }
    }

    #[test]
    fn galloping_from_anywhere_before_equals_slow(
        (starts, _) in starts(),
        more in prop::collection::vec(any::<u32>(), 8),
    ) {
        let records = records(&starts);
        for offset in offsets(&starts, &more) {
            let Some(slow) = last_at_or_before_slow(&records, offset) else { continue };
            for from in 0..=slow {
                prop_assert_eq!(gallop(&records, from, offset), slow, "from {}", from);
            }
        }
    }

    /// Any bytes: some position inside the records, or none.
    #[test]
    fn hostile_tables_stay_in_bounds(
        starts in prop::collection::vec(any::<u32>(), 0..40),
        table in prop::collection::vec(any::<u32>(), 0..40),
        small in any::<bool>(),
        shift in 0..32u32,
        offset in any::<u32>(),
        from in any::<usize>(),
    ) {
        let records = records(&starts);
        let entry = |&entry: &u32| U32::new(if small { entry % 64 } else { entry });
        let table: Vec<U32> = table.iter().map(entry).collect();
        let found = last_at_or_before(&area(&records, &table, shift), offset);
        prop_assert!(found.is_none_or(|position| position < records.len()));
        let from = from % (records.len() + 1);
        let found = gallop(&records, from, offset);
        prop_assert!(found <= records.len());
    }
}

#[test]
fn borders_of_small_tables() {
    assert_eq!(last_at_or_before(&area(&[], &[], 0), 5), None);
    let one = records(&[7]);
    let found = |offset| last_at_or_before(&area(&one, &[], 0), offset);
    assert_eq!([found(0), found(6), found(7), found(u32::MAX)], [None, None, Some(0), Some(0)]);
    // Of several with one start the last is found.
    let same = records(&[3, 3, 3, 9]);
    assert_eq!(last_at_or_before(&area(&same, &[], 0), 3), Some(2));
    assert_eq!(gallop(&same, 0, 8), 2);
}
