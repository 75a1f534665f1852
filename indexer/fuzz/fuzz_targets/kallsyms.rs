//! Invariant: for any bytes that claim to be kallsyms text, building ends
//! in an error of one line or in an index that opens, verifies and answers as
//! the slow lookup does; no panic, no hang, bounded memory.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod build_and_check;

fuzz_target!(|data: &[u8]| {
    if symidx_indexer::input::kallsyms::is_kallsyms(data) {
        build_and_check::build_and_check(data);
    }
});
