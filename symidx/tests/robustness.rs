//! Damage of every place: a small real file cut at every length, and with
//! every single bit flipped. Every query comes back; `verify` sees every flip.

#![cfg(feature = "verify")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::time::{Duration, Instant};

use symidx::Index;

mod support;

const FILES: [(&str, &[u8]); 9] = [
    ("example", include_bytes!("../../testdata/golden/example.symidx")),
    ("rich", include_bytes!("../../testdata/golden/rich.symidx")),
    ("libal", include_bytes!("../../testdata/golden/libal.symidx")),
    ("relocatable", include_bytes!("../../testdata/golden/relocatable.symidx")),
    ("macho", include_bytes!("../../testdata/golden/macho.symidx")),
    ("kallsyms", include_bytes!("../../testdata/golden/kallsyms.symidx")),
    ("lines", include_bytes!("../../testdata/golden/lines.symidx")),
    ("display", include_bytes!("../../testdata/golden/display.symidx")),
    ("packed", include_bytes!("../../testdata/golden/packed.symidx")),
];

/// One damaged file may take this long in the slowest build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

fn ask(name: &str, what: &str, bytes: &[u8], addresses: &[u64]) {
    let start = Instant::now();
    if let Ok(index) = Index::from_bytes(bytes) {
        support::ask_everything(&index, addresses, 256);
        let _ = (index.verify_structure(), index.verify());
    }
    assert!(start.elapsed() < PATIENCE, "{name}, {what}: {:?}", start.elapsed());
}

/// The borders of the whole file, thinned out.
fn addresses(bytes: &[u8], count: usize) -> Vec<u64> {
    let all = support::borders(&Index::from_bytes(bytes).unwrap(), usize::MAX);
    all.iter().copied().step_by(all.len() / count + 1).collect()
}

#[test]
fn cut_at_every_length() {
    for (name, bytes) in FILES {
        for length in 0..bytes.len() {
            // The size is in the header: no cut file opens.
            assert!(Index::from_bytes(&bytes[..length]).is_err(), "{name} cut at {length}");
        }
    }
}

/// The same, with the stated size made to fit: now the section table decides.
#[test]
fn cut_at_every_length_and_size_made_to_fit() {
    for (name, bytes) in FILES {
        let addresses = addresses(bytes, 8);
        for length in 128..bytes.len() {
            let mut cut = bytes[..length].to_vec();
            cut[24..32].copy_from_slice(&(length as u64).to_le_bytes());
            ask(name, &format!("cut at {length}"), &cut, &addresses);
            let sections = Index::from_bytes(&cut).map(|index| index.file_sections().count());
            assert!(sections.is_err(), "{name} cut at {length}: the last section does not fit");
        }
    }
}

#[test]
fn every_bit_flipped_is_seen_by_verify() {
    for (name, bytes) in FILES {
        let mut flipped = bytes.to_vec();
        for bit in 0..bytes.len() * 8 {
            flipped[bit / 8] ^= 1 << (bit % 8);
            let seen = Index::from_bytes(&flipped).map_or(true, |index| index.verify().is_err());
            assert!(seen, "{name}: bit {} of byte {:#x}", bit % 8, bit / 8);
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn every_bit_flipped_is_borne_by_every_query() {
    for (name, bytes) in FILES {
        let addresses = addresses(bytes, 10);
        let mut flipped = bytes.to_vec();
        for bit in 0..bytes.len() * 8 {
            flipped[bit / 8] ^= 1 << (bit % 8);
            ask(name, &format!("bit {} of byte {:#x}", bit % 8, bit / 8), &flipped, &addresses);
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Flips that the hashes do not tell about, since they are made to fit: what
/// `verify` then accepts answers as the slow lookup does.
#[test]
fn every_bit_flipped_and_sealed_is_refused_or_harmless() {
    for (name, bytes) in FILES {
        let mut accepted = 0;
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            support::reseal(&mut flipped);
            let Ok(index) = Index::from_bytes(&flipped) else { continue };
            if index.verify().is_err() {
                continue;
            }
            accepted += 1;
            // Names and ids are most of what is accepted; no need to ask all.
            if bit % 8 == 0 || accepted % 16 == 0 {
                let addresses = addresses(&flipped, 24);
                let tally = support::ask_everything(&index, &addresses, 64);
                assert_eq!(tally.corrupt, None, "{name}: bit {} of byte {:#x}", bit % 8, bit / 8);
                support::compare_with_slow(&index, &addresses);
                support::compare_display(&index, 64);
            }
        }
        assert!(accepted > 0, "{name}: input hash and names may be anything");
    }
}
