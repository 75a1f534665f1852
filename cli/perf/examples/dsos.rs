//! The DSOs of a profile: `cargo run -p symidx-perf --example dsos -- perf.data`.

use std::io::Write as _;

use symidx_perf::{Inventory, Reader, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: dsos PERF.DATA|-")?;
    let reader = match path == "-" {
        true => Reader::from_stream(std::io::stdin())?,
        false => Reader::open(path.as_ref())?,
    };
    let mut session = Session::new(reader);
    let mut inventory = Inventory::read(&mut session, usize::MAX)?;
    inventory.dsos.sort_by_key(|used| std::cmp::Reverse(used.frames));
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:>9} {:>9}  {:40}  name", "samples", "frames", "build-id")?;
    for used in &inventory.dsos {
        let id = used.dso.build_id.map(|id| id.to_string()).unwrap_or_default();
        writeln!(out, "{:9} {:9}  {id:40}  {}", used.samples, used.frames, used.name())?;
    }
    writeln!(
        out,
        "{} samples, {} frames, {} of them in no mapping",
        inventory.counts.samples, inventory.frames, inventory.unmapped
    )?;
    for line in inventory.damage.lines() {
        writeln!(out, "damage: {line}")?;
    }
    Ok(())
}
