//! The main job on a real binary, with what it costs: index it, open the
//! index, look addresses up.
//!
//! `cargo run --release --example tour [BINARY]`; without a binary, this
//! program's own executable.

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use symidx::{Index, Kind, Svma};
use symidx_indexer::{BuildOptions, build_file};

fn main() -> Result<(), Box<dyn Error>> {
    let binary = match std::env::args_os().nth(1) {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe()?,
    };
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("tour.symidx");

    println!("binary   {}", binary.display());
    let start = Instant::now();
    let report = build_file(&binary, &path, &BuildOptions::default())?;
    println!("build    {:.0?}", start.elapsed());
    println!(
        "index    {} symbols, {} aliases, {} names without an address",
        report.symbols, report.aliases, report.names_only
    );
    println!(
        "         {} line rows, {} inlined functions",
        report.line_rows, report.inlined_functions
    );
    println!("         {} bytes of index for {} of binary", report.bytes, report.input_bytes);

    // SAFETY: the file is this process's own and is not written again.
    #[allow(unsafe_code)]
    let open = || unsafe { Index::map(&path) };
    open()?;
    let start = Instant::now();
    let index = open()?;
    println!("open     {:.1?}, no heap, whatever the size", start.elapsed());

    // Every symbol's middle, in an order that no cache can guess.
    let mut addresses = Vec::new();
    for symbol in index.symbols() {
        let symbol = symbol?;
        addresses.push(Svma(symbol.start().0.saturating_add(symbol.size() / 2)));
    }
    let count = addresses.len().max(1);
    let mut at = 0usize;
    for i in 0..addresses.len() {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        addresses.swap(i, at.checked_rem(count).unwrap_or(0));
    }
    let rounds = 1_000_000usize.div_ceil(count);
    let start = Instant::now();
    let mut found = 0usize;
    for _ in 0..rounds {
        for &address in &addresses {
            found = found.saturating_add(usize::from(index.lookup(black_box(address))?.is_some()));
        }
    }
    let lookups = rounds.saturating_mul(addresses.len());
    let each = start.elapsed().as_nanos().checked_div(u128::try_from(lookups)?).unwrap_or(0);
    println!("lookup   {each} ns each, {found} of {lookups} found");
    let start = Instant::now();
    let mut frames = 0usize;
    for &address in &addresses {
        frames = frames.saturating_add(index.frames(black_box(address))?.flatten().count());
    }
    let each = start.elapsed().as_nanos().checked_div(u128::try_from(count)?).unwrap_or(0);
    println!("frames   {each} ns each, {frames} frames of {count} addresses\n");

    let mut shown = 0u32;
    for &address in &addresses {
        let Some(symbol) = index.lookup(address)? else { continue };
        if symbol.kind() != Kind::Function || shown == 4 {
            continue;
        }
        println!("{address}  {}+{:#x}", symbol.name().demangle(), symbol.offset());
        for frame in index.frames(address)? {
            let frame = frame?;
            if let (Some(function), Some(file)) = (frame.function(), frame.file()) {
                let line = frame.line().unwrap_or(0);
                println!("           {} at {file}:{line}", function.demangle());
            }
        }
        shown = shown.saturating_add(1);
    }
    match index.lookup(Svma(1))? {
        Some(symbol) => println!("0x1  {}", symbol.name()),
        None => println!("0x1  no symbol covers it"),
    }
    Ok(())
}
