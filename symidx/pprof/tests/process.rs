//! A profile of this very process: its own modules, an index of its own binary.
#![cfg(target_os = "linux")]
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use symidx::process::{Modules, Resolver, Store};
use symidx_indexer::{BuildOptions, build_file};
use symidx_pprof::{Leaf, Limits, Profile, Symbolizer, Writer, write_profile};

/// The system's allocator, counted.
struct Counted;

static HELD: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

// SAFETY: every call is handed on as it is.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size() as i64, Relaxed) + layout.size() as i64;
        PEAK.fetch_max(held, Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

#[inline(never)]
fn allocates(n: u64) -> u64 {
    black_box(n) + 1
}

#[inline(never)]
fn calls_it(n: u64) -> u64 {
    allocates(n) * 2
}

/// A store with an index of this binary: found by its build-id, or by the link
/// that is named by the file where the linker gave it none.
fn store(directory: &Path) -> Store {
    let binary = std::env::current_exe().unwrap();
    let stamp = binary.metadata().unwrap();
    let nanoseconds = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
    let name = format!(
        "{:x}-{:x}-{:x}-{:x}-{:x}",
        stamp.dev(),
        stamp.ino(),
        stamp.size(),
        nanoseconds(stamp.mtime(), stamp.mtime_nsec()),
        nanoseconds(stamp.ctime(), stamp.ctime_nsec()),
    );
    let by_file = directory.join(".by-file");
    std::fs::create_dir(&by_file).unwrap();
    // Lines of a debug build take long, and are tested elsewhere.
    let options = BuildOptions { names_only: true, ..BuildOptions::default() };
    let report = build_file(&binary, &by_file.join(&name), &options).unwrap();
    if !report.id.starts_with("blake3:") {
        let (first, rest) = report.id.split_at(2);
        let to = directory.join(".build-id").join(first);
        std::fs::create_dir_all(&to).unwrap();
        std::fs::rename(by_file.join(name), to.join(format!("{rest}.symidx"))).unwrap();
    }
    Store::read().without_default_places().with_directory(directory)
}

fn address(function: fn(u64) -> u64) -> u64 {
    function as usize as u64
}

#[test]
fn stacks_of_this_process_become_a_symbolized_profile() {
    let directory = tempfile::tempdir().unwrap();
    let mut resolver = Resolver::new(Modules::capture(), Arc::new(store(directory.path())));
    // The address after the first byte stands for the one after a call.
    let (inner, outer) = (address(allocates) + 1, address(calls_it) + 1);
    resolver.open_for(&[inner]);
    let stacks = [(vec![inner, outer, 0x11], [3, 4096]), (vec![outer], [1, 64])];
    let types = [("inuse_objects", "count"), ("inuse_space", "bytes")];
    let mut bytes = Vec::new();
    let statistics = write_profile(&resolver, types, Leaf::Return, stacks, &mut bytes).unwrap();
    assert_eq!((statistics.addresses(), statistics.resolved()), (3, 2));
    assert_eq!(statistics.unknown().collect::<Vec<_>>(), [("no module", 1)]);

    let (profile, damage) = Profile::read(bytes.as_slice(), Limits::default()).unwrap();
    assert!(damage.is_none(), "{damage:?}");
    let folded: Vec<_> = profile.folded(1, |_| false).into_iter().collect();
    let expected = [
        ("[unknown];process::calls_it;process::allocates".to_owned(), 4096),
        ("process::calls_it".to_owned(), 64),
    ];
    assert_eq!(folded, expected);
    let linkage: Vec<_> = profile.functions.iter().map(|f| profile.text(f.system_name)).collect();
    assert!(linkage.iter().all(|name| name.starts_with("_R") || name.starts_with("_ZN")));
    // The program comes first, has the code at the addresses, and all that a flag says.
    let program = profile.mappings[0];
    let binary = std::env::current_exe().unwrap().canonicalize().unwrap();
    assert_eq!(Path::new(profile.text(program.filename)), binary);
    assert!((program.memory_start..program.memory_limit).contains(&inner));
    assert!(program.has_functions && !program.has_filenames && !program.has_inline_frames);
    assert!(profile.mappings[1..].iter().all(|mapping| !mapping.has_functions));
    let libc = profile.mappings.iter().find(|m| profile.text(m.filename).contains("libc.so"));
    assert!(libc.is_some_and(|libc| profile.text(libc.build_id).len() >= 32));

    // Whoever symbolizes the same addresses later, from the mappings alone, finds the same.
    let mut writer = Writer::new(types);
    writer.modules(resolver.modules()).sample(&[inner, outer, 0x11], Leaf::Return, [3, 4096]);
    writer.sample(&[outer], Leaf::Return, [1, 64]);
    let mut raw = writer.finish();
    let store = resolver.store().clone();
    Symbolizer::new().run(&mut raw, |mapping| {
        store.find(mapping.filename.as_ref(), None).map_err(|missing| missing.to_string())
    });
    assert_eq!(raw, profile);

    // What it takes: 1,000 addresses in 200 stacks.
    let addresses: Vec<u64> = (0..1000).map(|n| address(store_like) + 1 + n % 40).collect();
    let stacks: Vec<Vec<u64>> = (0..200u64)
        .map(|n| addresses.iter().skip(n as usize * 5).take(5).map(|a| a + (n << 32)).collect())
        .collect();
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let samples = stacks.iter().map(|stack| (stack, [1, 1]));
    write_profile(&resolver, types, Leaf::Return, samples, std::io::sink()).unwrap();
    let peak = PEAK.load(Relaxed) - before;
    assert_eq!(HELD.load(Relaxed), before);
    eprintln!("{peak} bytes at most for 1,000 addresses");
    assert!(peak < 1 << 20, "{peak}");
}

#[inline(never)]
fn store_like(n: u64) -> u64 {
    (0..black_box(n)).map(|x| x ^ calls_it(x)).sum()
}
