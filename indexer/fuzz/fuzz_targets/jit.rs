//! Invariant: for any bytes that claim to be a perf map or a jitdump file,
//! building ends in an error of one line or in an index that opens, verifies and
//! answers as the slow lookup does; no panic, no hang, bounded memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symidx_indexer::input::{jitdump, perf_map};

mod build_and_check;

fuzz_target!(|data: &[u8]| {
    if jitdump::is_jitdump(data) || perf_map::is_perf_map(data) {
        build_and_check::build_and_check(data);
    }
});
