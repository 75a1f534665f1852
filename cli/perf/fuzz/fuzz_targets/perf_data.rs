//! Invariant: whatever the bytes, reading them ends, never panics, and hands out samples
//! only as many as records fit in them; writing the same bytes as text, JSON or stacks counts
//! the same samples, frames and damage, and a report counts the same samples.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use symidx_perf::{
    Binaries, Format, Inventory, NameOptions, Names, Reader, ReportOptions, ScriptOptions, Session,
};

fn session(data: &[u8]) -> Option<Session> {
    Reader::from_stream(Cursor::new(data.to_vec())).ok().map(Session::new)
}

fuzz_target!(|data: &[u8]| {
    let Some(mut first) = session(data) else { return };
    let Ok(inventory) = Inventory::read(&mut first, 127) else { return };
    // A compressed record may hold more than there are bytes.
    let compressed =
        data.windows(4).any(|word| matches!(word, [81 | 83, 0, 0, 0] | [0, 0, 0, 81 | 83]));
    if !compressed {
        assert!(inventory.counts.samples <= data.len() as u64 / 8);
    }
    let _ = inventory.damage.lines();

    let mut second = session(data).expect("it could be opened before");
    let nowhere = || NameOptions { binaries: Binaries::nowhere_else(), ..NameOptions::default() };
    let mut names = Names::new(nowhere());
    let mut options = ScriptOptions::default();
    options.format = match data.len() % 4 {
        0 => Format::Json,
        1 => Format::Folded,
        _ => Format::Text,
    };
    (options.fields.ip, options.fields.sym, options.fields.dso) = (true, true, true);
    let mut text = Vec::new();
    let summary = symidx_perf::script(&mut second, &mut names, &options, &mut text, |_| ());
    let summary = summary.expect("it could be read before");
    assert_eq!(summary.counts, inventory.counts);
    assert_eq!(summary.frames, inventory.frames);
    assert_eq!(summary.damage, inventory.damage);
    if options.format == Format::Json {
        assert!(std::str::from_utf8(&text).is_ok(), "JSON is text");
    }

    let mut third = session(data).expect("it could be opened before");
    let mut names = Names::new(nowhere());
    let options = ReportOptions::default();
    let report = symidx_perf::report(&mut third, &mut names, &options, 20, |_| ());
    let report = report.expect("it could be read before");
    assert_eq!(report.counts, inventory.counts);
    assert_eq!(report.total.samples, inventory.counts.samples);
});
