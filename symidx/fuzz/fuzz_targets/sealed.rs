//! Invariant: an index that `verify` accepts answers no query with `Corrupt`
//! (frames too), every lookup as the slow scan over its records, and every name
//! as a walk over all names; display names likewise. Damage is sealed (all hashes
//! recomputed), so that only the structural checks stand between it and the queries.
//!
//! Input: a whole file (its frame is repaired first), or a list of edits of
//! 8 bytes to a file that is known to be good: section, entry, byte, how, value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symidx::Index;
use symidx::format::{Header, MAGIC, SectionEntry, SectionId, VERSION};
use zerocopy::FromBytes;

#[path = "../../tests/support/mod.rs"]
mod support;

const GOLDEN: [&[u8]; 8] = [
    include_bytes!("../../../testdata/golden/example.symidx"),
    include_bytes!("../../../testdata/golden/libal.symidx"),
    include_bytes!("../../../testdata/golden/relocatable.symidx"),
    include_bytes!("../../../testdata/golden/macho.symidx"),
    include_bytes!("../../../testdata/golden/kallsyms.symidx"),
    include_bytes!("../../../testdata/golden/display.symidx"),
    include_bytes!("../../../testdata/golden/packed.symidx"),
    include_bytes!("../../../testdata/golden/lines.symidx"),
];

fuzz_target!(|data: &[u8]| {
    let mut bytes = match data.first_chunk::<4>() {
        Some(start) if start[..] == MAGIC[..4] => {
            let mut bytes = data.to_vec();
            repair_frame(&mut bytes);
            bytes
        }
        Some(start) => {
            let mut bytes = GOLDEN[usize::from(start[0]) % GOLDEN.len()].to_vec();
            for edit in data[1..].as_chunks::<8>().0.iter().take(32) {
                apply(&mut bytes, *edit);
            }
            bytes
        }
        None => return,
    };
    support::reseal(&mut bytes);
    let Ok(index) = Index::from_bytes(&bytes) else { return };
    let verified = index.verify();
    let addresses = support::borders(&index, 512);
    let tally = support::ask_everything(&index, &addresses, 256);
    if verified.is_ok() {
        assert_eq!(tally.corrupt, None, "verify found nothing");
        support::compare_with_slow(&index, &addresses);
        support::compare_find(&index, 64);
        support::compare_display(&index, 64);
    }
});

/// Magic, version and file size: nothing of interest hides behind them.
fn repair_frame(bytes: &mut [u8]) {
    if bytes.len() < size_of::<Header>() {
        return;
    }
    let size = (bytes.len() as u64).to_le_bytes();
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[24..32].copy_from_slice(&size);
}

/// One edit of the entry of a section: set, add to, or copy from its neighbour.
fn apply(bytes: &mut [u8], [section, entry, byte, how, value @ ..]: [u8; 8]) {
    let header = Header::read_from_prefix(bytes).expect("a golden file").0;
    let count = header.section_count.get() as usize;
    let at = match usize::from(section) % (count + 1) {
        // Only fields that open does not refuse at once: addresses, hot region, shift.
        0 => 32 + usize::from(entry) % 12,
        i => {
            let table = size_of::<Header>() + (i - 1) * size_of::<SectionEntry>();
            let found = SectionEntry::read_from_bytes(&bytes[table..table + 64]).expect("64");
            let start = found.offset.get() as usize;
            let size = found.size.get() as usize;
            let each = SectionId(found.id.get()).entry_size().unwrap_or(1) as usize;
            let entry = usize::from(entry) % (size / each).max(1);
            start + entry * each + usize::from(byte) % each
        }
    };
    let width = [1, 2, 4, 8][usize::from(how & 3)];
    let Some(field) = bytes.get_mut(at..at + width) else { return };
    let mut old = [0; 8];
    old[..width].copy_from_slice(field);
    let (old, value) = (u64::from_le_bytes(old), u32::from_le_bytes(value));
    let new = match how >> 2 & 3 {
        0 => value.into(),
        1 => old.wrapping_add_signed((value as i32).into()),
        2 => old ^ 1 << (value % 64),
        _ => u64::MAX - u64::from(value % 4),
    };
    field.copy_from_slice(&new.to_le_bytes()[..width]);
}
