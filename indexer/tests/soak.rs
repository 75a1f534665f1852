//! Soak: threads resolve addresses while libraries come and go and indexes are
//! replaced by rename. Ten seconds, or as many as `SYMIDX_SOAK_SECONDS` says:
//!
//! ```sh
//! SYMIDX_SOAK_SECONDS=600 cargo test -p symidx-indexer --test soak -- --nocapture
//! ```
#![cfg(target_os = "linux")]
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod live;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use live::{Held, Library};
use symidx::process::{Modules, Resolver, Store, Unknown};

const LIBRARIES: u64 = 6;
const VARIANTS: u64 = 2;
const THREADS: u64 = 8;
/// Of those, how many share one resolver.
const SHARING: u64 = 3;

/// Small, and the same everywhere (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// The files of the test: libraries in two variants, their indexes, and the
/// places where both are looked for.
struct Files {
    directory: PathBuf,
    store: PathBuf,
    ids: Vec<String>,
}

impl Files {
    fn new(directory: &Path) -> Self {
        let store = directory.join("store");
        let mut files = Self { directory: directory.to_owned(), store, ids: Vec::new() };
        for library in 0..LIBRARIES {
            for variant in 0..VARIANTS {
                let original = files.original(library, variant);
                live::compile(&format!("soak_{library}"), variant, &original);
                live::build(&original, &files.index(library, variant));
                files.ids.push(live::id_of(&files.index(library, variant)));
                files.restore(library, variant);
            }
            live::replace(&files.original(library, 0), &files.loaded(library));
        }
        files
    }

    fn original(&self, library: u64, variant: u64) -> PathBuf {
        self.directory.join(format!("original_{library}_{variant}.so"))
    }

    fn index(&self, library: u64, variant: u64) -> PathBuf {
        self.directory.join(format!("index_{library}_{variant}.symidx"))
    }

    /// What threads load.
    fn loaded(&self, library: u64) -> PathBuf {
        self.directory.join(format!("libsoak_{library}.so"))
    }

    fn place(&self, library: u64, variant: u64) -> PathBuf {
        let number = usize::try_from(library * VARIANTS + variant).unwrap();
        live::place(&self.store, &self.ids[number])
    }

    fn restore(&self, library: u64, variant: u64) {
        live::replace(&self.index(library, variant), &self.place(library, variant));
    }

    /// Replaces something by something else, always by rename.
    fn disturb(&self, random: &mut Random) {
        let (library, variant) = (random.below(LIBRARIES), random.below(VARIANTS));
        let beside = self.directory.join(format!("libsoak_{library}.so.symidx"));
        match random.below(8) {
            // The same index anew, in each place.
            0 | 1 => self.restore(library, variant),
            2 => live::replace(&self.index(library, variant), &beside),
            // One of another library: stale.
            3 => live::replace(
                &self.index((library + 1) % LIBRARIES, variant),
                &self.place(library, variant),
            ),
            // No index at all, and half of one.
            4 => live::replace(&self.original(library, 0), &self.place(library, variant)),
            5 => {
                let bytes = std::fs::read(self.index(library, variant)).unwrap();
                let half = self.directory.join("half");
                std::fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
                live::replace(&half, &self.place(library, variant));
            }
            6 => {
                let _ = std::fs::remove_file(self.place(library, variant));
                let _ = std::fs::remove_file(beside);
            }
            // The library itself.
            _ => live::replace(&self.original(library, variant), &self.loaded(library)),
        }
    }
}

#[derive(Default)]
struct Counts {
    rounds: AtomicU64,
    resolved: AtomicU64,
    unknown: AtomicU64,
    updates: AtomicU64,
    disturbed: AtomicU64,
}

/// Some addresses in a library, and what the loader calls them.
fn questions(library: u64, loaded: &Library, random: &mut Random) -> Vec<(u64, String, u64)> {
    (0..8)
        .map(|_| {
            let name = format!("soak_{library}_{}", random.below(live::FUNCTIONS));
            let address = loaded.address(&name) + random.below(8);
            let (told, start) = live::dladdr(address);
            assert_eq!(told, name);
            (address, told, start)
        })
        .collect()
}

/// Asks everything, in every way; an answer is right, or a reason that there
/// can be: indexes are taken away, libraries never are while they are held.
fn check(resolver: &Resolver, asked: &[(u64, String, u64)], counts: &Counts) {
    for (address, name, start) in asked {
        match resolver.lookup(*address) {
            Ok(found) => {
                let symbol = found.symbol();
                assert_eq!(symbol.name().to_string(), *name, "{address:#x}");
                assert_eq!(symbol.offset(), address - start, "{name}");
                counts.resolved.fetch_add(1, Relaxed);
            }
            Err(Unknown::NoIndex | Unknown::StaleIndex | Unknown::UnusableIndex) => {
                counts.unknown.fetch_add(1, Relaxed);
            }
            Err(reason) => panic!("{name} at {address:#x}: {reason}"),
        }
        if let Ok(frames) = resolver.frames(*address) {
            let frames: Vec<_> = frames.frames().map(Result::unwrap).collect();
            assert_eq!(frames.last().unwrap().function().unwrap().to_string(), *name);
            assert!(frames[0].line().is_some());
        }
    }
    let mut sorted: Vec<_> = asked.iter().collect();
    sorted.sort();
    let mut expected = sorted.iter();
    resolver.batch(sorted.iter().map(|asked| asked.0), |address, answer| {
        let (asked, name, _) = expected.next().unwrap();
        assert_eq!(address, *asked);
        if let Ok(found) = answer {
            assert_eq!(found.symbol().name().to_string(), *name);
        }
    });
}

fn addresses(asked: &[(u64, String, u64)]) -> Vec<u64> {
    asked.iter().map(|asked| asked.0).collect()
}

/// One library held, eight addresses asked, with a resolver of the thread's own.
fn alone(resolver: &mut Resolver, files: &Files, random: &mut Random, counts: &Counts) {
    let library = random.below(LIBRARIES);
    let loaded = Library::open(&files.loaded(library));
    let asked = questions(library, &loaded, random);
    counts.updates.fetch_add(u64::from(resolver.update().unwrap()), Relaxed);
    resolver.open_for(&addresses(&asked));
    check(resolver, &asked, counts);
}

/// The same with a resolver that threads share: whoever sees a change updates it.
fn shared(resolver: &RwLock<Resolver>, files: &Files, random: &mut Random, counts: &Counts) {
    let library = random.below(LIBRARIES);
    let loaded = Library::open(&files.loaded(library));
    let asked = questions(library, &loaded, random);
    {
        let held = resolver.read().unwrap();
        let opened =
            asked.iter().all(|asked| !matches!(held.lookup(asked.0), Err(Unknown::NotOpened)));
        if opened && !held.modules().changed().unwrap() {
            return check(&held, &asked, counts);
        }
    }
    // Captured after this thread loaded its library, whatever others do now.
    let mut held = resolver.write().unwrap();
    counts.updates.fetch_add(u64::from(held.update().unwrap()), Relaxed);
    held.open_for(&addresses(&asked));
    check(&held, &asked, counts);
}

#[test]
fn answers_stay_right_while_libraries_and_indexes_come_and_go() {
    let seconds = live::seconds("SYMIDX_SOAK_SECONDS", 10);
    let directory = tempfile::tempdir().unwrap();
    let files = Files::new(directory.path());
    // SAFETY: indexes are replaced by rename only.
    let store = unsafe { Store::mapped() }.with_directory(&files.store);
    let store = Arc::new(store);
    let sharing = RwLock::new(Resolver::new(Modules::capture(), store.clone()));
    let (counts, stop) = (Counts::default(), AtomicBool::new(false));
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (files, counts, stop, store, sharing) = (&files, &counts, &stop, &store, &sharing);
            scope.spawn(move || {
                // Whatever ends a thread ends the test.
                let _guard = StopOnPanic(stop);
                let mut random = Random(thread * 7919 + 1);
                let mut own = Resolver::new(Modules::capture(), store.clone());
                while !stop.load(Relaxed) {
                    match thread < SHARING {
                        true => shared(sharing, files, &mut random, counts),
                        false => alone(&mut own, files, &mut random, counts),
                    }
                    counts.rounds.fetch_add(1, Relaxed);
                }
            });
        }
        scope.spawn(|| {
            let _guard = StopOnPanic(&stop);
            let mut random = Random(4711);
            while !stop.load(Relaxed) {
                files.disturb(&mut random);
                counts.disturbed.fetch_add(1, Relaxed);
                match random.below(4) {
                    0 => store.forget_missing(),
                    1 => drop(store.evict_unused()),
                    _ => {}
                }
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        let start = Instant::now();
        let tenth = Duration::from_millis(seconds * 10);
        while !stop.load(Relaxed) && start.elapsed() < Duration::from_secs(seconds) {
            std::thread::sleep(tenth);
            seen.push(Held::now());
        }
        stop.store(true, Relaxed);
    });
    let (resolved, unknown) = (counts.resolved.load(Relaxed), counts.unknown.load(Relaxed));
    println!(
        "{seconds} s: {} rounds, {resolved} addresses resolved, {unknown} without an index, \
         {} updates, {} files replaced",
        counts.rounds.load(Relaxed),
        counts.updates.load(Relaxed),
        counts.disturbed.load(Relaxed),
    );
    assert!(resolved > 1000 && unknown < resolved * 4, "{resolved} {unknown}");
    no_growth(&seen);
    drop(sharing);
    everything_resolves(&files, &store);
}

struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

/// The last third of the time needs no more than the second did.
fn no_growth(seen: &[Held]) {
    let peak = |held: &[Held]| held.iter().copied().fold(Held::default(), Held::max);
    let third = seen.len() / 3;
    let (before, after) = (peak(&seen[third..2 * third]), peak(&seen[2 * third..]));
    println!("second third, at most: {before:?}\nlast third, at most:   {after:?}");
    // Threads that happen to hold more at once, not more with time.
    assert!(after.descriptors <= before.descriptors + THREADS, "{before:?} {after:?}");
    assert!(after.mappings <= before.mappings + before.mappings / 4, "{before:?} {after:?}");
    let room = 2048 + before.anonymous_kib / 10;
    assert!(after.anonymous_kib <= before.anonymous_kib + room, "{before:?} {after:?}");
}

/// Once the files are as they should be, nothing is unknown.
fn everything_resolves(files: &Files, store: &Arc<Store>) {
    for library in 0..LIBRARIES {
        for variant in 0..VARIANTS {
            files.restore(library, variant);
        }
    }
    store.forget_missing();
    let counts = Counts::default();
    let mut resolver = Resolver::new(Modules::capture(), store.clone());
    let mut random = Random(1);
    for _ in 0..100 {
        alone(&mut resolver, files, &mut random, &counts);
    }
    assert_eq!((counts.resolved.load(Relaxed), counts.unknown.load(Relaxed)), (800, 0));
    drop(resolver);
    store.evict_unused();
    assert_eq!((store.open_count(), store.open_bytes()), (0, 0));
}
