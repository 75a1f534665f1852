use std::collections::HashMap;

use super::*;

fn site(symbol: u64) -> Site {
    Site { dso: DsoId::JIT, pid: 7, symbol: Symbol::At(symbol) }
}

fn key(symbol: u64) -> Key {
    Key { comm: 0, site: site(symbol) }
}

/// Numbers that look random, small ones often.
fn skewed(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let bits = (*state >> 59).min(9);
    (*state >> 33) & ((2u64 << bits).wrapping_sub(1))
}

#[test]
fn a_table_that_is_too_small_says_by_how_much_its_rows_are_short() {
    for most in [2, 16, 100, 5_000] {
        let mut table = Table::new(most);
        let mut truth: HashMap<Key, (u64, u64)> = HashMap::new();
        let mut state = 1;
        let samples = 20_000;
        for sample in 1..=samples {
            let weight = Weight { samples: 1, period: 10 };
            let chain = [skewed(&mut state), skewed(&mut state), skewed(&mut state)];
            for (depth, symbol) in chain.into_iter().enumerate() {
                let key = key(symbol);
                let entry = table.entry(key, symbol);
                let counted = truth.entry(key).or_default();
                if depth == 0 {
                    entry.own.add(weight);
                    counted.0 += 1;
                }
                entry.seen(sample, weight);
                if !chain[..depth].contains(&symbol) {
                    counted.1 += 1;
                }
            }
        }
        let (rows, other, error) = table.finish();
        assert!(rows.len() <= most);
        let own = rows.iter().fold(0, |sum, (_, row)| sum + row.own.samples);
        assert_eq!(own + other.samples, samples, "{most} rows");
        for (key, row) in &rows {
            let (own, children) = truth[key];
            assert_eq!(row.children.period, row.children.samples * 10);
            assert!(row.own.samples <= own && own <= row.own.samples + error.samples);
            assert!(
                row.children.samples <= children
                    && children <= row.children.samples + error.samples,
                "{most} rows: {key:?} {row:?}, {children} in truth, {error:?}"
            );
        }
        if most > truth.len() {
            assert_eq!((rows.len(), other, error), (truth.len(), Weight::default(), error));
            assert_eq!(error, Weight::default());
        }
    }
}

#[test]
fn a_table_keeps_what_is_heavy() {
    let mut table = Table::new(64);
    let weight = Weight { samples: 1, period: 1 };
    for sample in 0..10_000u64 {
        // One sample in four is in one symbol, the others are all over the place.
        let symbol = if sample % 4 == 0 { 1 } else { 1_000 + sample };
        let entry = table.entry(key(symbol), symbol);
        entry.own.add(weight);
        entry.seen(sample + 1, weight);
    }
    let (rows, _, _) = table.finish();
    let heavy = rows.iter().find(|(row, _)| *row == key(1)).unwrap();
    assert_eq!(heavy.1.own.samples, 2_500);
}

#[test]
fn a_smaller_table_keeps_the_heavy_rows_and_counts_the_rest() {
    let mut table = Table::new(4096);
    let weight = Weight { samples: 1, period: 1 };
    for sample in 0..8_000u64 {
        let symbol = if sample % 4 == 0 { 1 } else { 1_000 + sample % 3_000 };
        let entry = table.entry(key(symbol), symbol);
        entry.own.add(weight);
        entry.seen(sample + 1, weight);
    }
    for _ in 0..5 {
        table.shrink();
    }
    let (rows, other, _) = table.finish();
    // A quarter of a quarter would be less than it may be.
    assert!((200..=448).contains(&rows.len()), "{}", rows.len());
    let own = rows.iter().fold(0, |sum, (_, row)| sum + row.own.samples);
    assert_eq!(own + other.samples, 8_000);
    let heavy = rows.iter().find(|(row, _)| *row == key(1)).unwrap();
    assert_eq!(heavy.1.own.samples, 2_000);
}

#[test]
fn a_site_is_remembered_for_its_place_alone() {
    let mut sites = Sites::new();
    let place = |dso, address, pid| Place { dso, address, pid };
    let (jit, file) = (DsoId::JIT, DsoId::REST);
    for address in 0..100_000u64 {
        sites.keep(place(file, address, 1), site(address));
        assert_eq!(sites.find(place(file, address, 2)), Some(site(address)));
        for earlier in [address >> 1, address.saturating_sub(5)] {
            let found = sites.find(place(file, earlier, 1));
            assert!(found.is_none_or(|found| found == site(earlier)));
        }
    }
    // Code made at run time is another in every process.
    sites.keep(place(jit, 5, 1), site(5));
    assert_eq!(sites.find(place(jit, 5, 1)), Some(site(5)));
    assert_eq!(sites.find(place(jit, 5, 2)), None);
    assert_eq!(sites.find(place(DsoId::at(9), 5, 1)), None);
}

#[test]
fn names_of_threads_are_numbered_and_bounded() {
    let mut comms = Comms::default();
    let first = comms.number(Some(b"a"));
    assert_eq!(comms.number(Some(b"a")), first);
    assert_ne!(comms.number(None), first);
    for number in 0..10_000u32 {
        comms.number(Some(&number.to_le_bytes()));
    }
    assert_eq!(comms.name(first), b"a");
    let more = comms.number(Some(b"one too many"));
    assert_eq!(comms.name(more), b"[other]");
}
