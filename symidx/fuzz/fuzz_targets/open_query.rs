//! Invariant: on any bytes, opening, every query and `verify` come back, with
//! an answer or an error; nothing panics, hangs or reads out of bounds. What
//! `verify` accepts answers every query without `Corrupt`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symidx::Index;

#[path = "../../tests/support/mod.rs"]
mod support;

fuzz_target!(|data: &[u8]| {
    let Ok(index) = Index::from_bytes(data) else { return };
    let mut addresses = support::borders(&index, 256);
    addresses.extend(data.as_chunks::<8>().0.iter().rev().take(16).map(|c| u64::from_le_bytes(*c)));
    let tally = support::ask_everything(&index, &addresses, 256);
    let structure = index.verify_structure();
    let whole = index.verify();
    assert!(whole.is_err() || structure.is_ok());
    if structure.is_ok() {
        assert_eq!(tally.corrupt, None, "verify found nothing");
    }
});
