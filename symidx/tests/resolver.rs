//! Resolvers: which module and index answer, and why there is no answer.
#![cfg(all(feature = "process", unix))]
#![allow(
    unsafe_code,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

#[path = "support/small_elf.rs"]
mod small_elf;
mod support;
#[path = "support/world.rs"]
mod world;

use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use symidx::process::{Modules, Resolver, Store, Unknown};
use symidx::{Index, Svma};
use world::{STEP, World, by_id, first, index_of, publish, resolver, store};

const ID: [u8; 20] = [0xab; 20];
const RELOCATABLE: &[u8] = include_bytes!("../../testdata/golden/relocatable.symidx");
/// Where `function_0` lies, and its bytes.
const FUNCTION_0: (u64, u64) = (0x40_1000, 16);

fn names(resolver: &Resolver, address: u64) -> Result<String, Unknown> {
    resolver.lookup(address).map(|found| found.symbol().name().to_string())
}

/// A world with `n` modules; those with an even number have an index.
fn half_indexed(count: u8) -> (World, Vec<PathBuf>) {
    let world = World::new();
    let files = (0..count)
        .map(|number| {
            let id = [number + 1; 20];
            if number % 2 == 0 {
                publish(&by_id(&world.path("d"), &id, ".symidx"), &index_of(&id, number.into()));
            }
            world.binary(&format!("app{number}"), &id)
        })
        .collect();
    (world, files)
}

fn only(world: &World) -> Arc<Store> {
    Arc::new(store(true).without_default_places().with_directory(world.path("d")))
}

#[test]
fn two_modules_of_one_build_share_their_index() {
    let world = World::new();
    publish(&by_id(&world.path("d"), &ID, ".symidx"), &index_of(&ID, 1));
    let files = [world.binary("one", &ID), world.binary("two", &ID)];
    let store = only(&world);
    let mut resolver = resolver(&files, &store);
    let budget = resolver.budget();
    assert_eq!(store.open_count(), 1);
    assert_eq!(budget.mapped_bytes, store.open_bytes(), "counted once");
    assert_eq!(budget.modules.len(), 2);
    assert_eq!(budget.modules[0].index, budget.modules[1].index);
    for number in [0, 1] {
        let found = resolver.lookup(first(number)).unwrap();
        assert_eq!(found.symbol().name(), *b"function_0");
        let name = found.module().unwrap().path().file_name().unwrap().to_owned();
        assert_eq!(name, ["one", "two"][usize::try_from(number).unwrap()]);
    }
}

/// A kernel module's sections are placed when it is loaded: an index of the
/// file alone had gaps wherever one looked.
#[test]
fn an_index_without_addresses_is_told_apart_from_a_gap() {
    let world = World::new();
    let app = world.binary("module.ko", &[]);
    // The index is of another file, so it is added, as the kernel's is.
    let mut resolver = resolver(&[app], &only(&world));
    resolver.add_index(
        0x9000_0000..=0x9000_ffff,
        0x9000_0000,
        Index::from_bytes(RELOCATABLE).unwrap(),
    );
    assert_eq!(names(&resolver, 0x9000_0000), Err(Unknown::NotPlaced));
    assert_eq!(resolver.frames(0x9000_0004).err(), Some(Unknown::NotPlaced));
    let statistics = resolver.batch([0x9000_0000], |_, answer| {
        assert_eq!(answer.err(), Some(Unknown::NotPlaced));
    });
    assert_eq!(statistics.to_string(), "0 of 1 resolved; not placed 1");
}

/// The file offset lies in no segment that the index records.
#[test]
fn an_offset_outside_the_indexs_segments_is_a_gap() {
    let world = World::new();
    publish(&by_id(&world.path("d"), &ID, ".symidx"), &index_of(&ID, 1));
    let mut resolver = resolver(&[world.binary("one", &ID)], &only(&world));
    resolver.open_all();
    for offset in [0, 0xef, 0x314, 0xfff] {
        assert_eq!(names(&resolver, STEP + offset), Err(Unknown::Gap), "{offset:#x}");
        let mut answer = None;
        resolver.batch([STEP + offset], |_, found| answer = found.err());
        assert_eq!(answer, Some(Unknown::Gap));
    }
}

/// The call is a module's last instruction: its return address is the next
/// module's first, or nobody's.
#[test]
fn return_addresses_at_a_modules_end_are_its_own() {
    let world = World::new();
    for id in [[1; 20], [2; 20]] {
        publish(&by_id(&world.path("d"), &id, ".symidx"), &index_of(&id, id[0].into()));
    }
    let (one, two) = (world.binary("one", &[1; 20]), world.binary("two", &[2; 20]));
    use std::os::unix::fs::MetadataExt as _;
    let inode = |path: &PathBuf| path.metadata().unwrap().ino();
    // Only the first function of each is mapped, and they are neighbours.
    let text = format!(
        "10000-10100 r-xp 00000000 08:01 {} {}\n10100-10200 r-xp 00000000 08:01 {} {}\n",
        inode(&one),
        one.display(),
        inode(&two),
        two.display()
    );
    let modules = Modules::from_maps(text.as_bytes()).unwrap();
    let path = |found: symidx::process::Resolved<'_>| found.module().unwrap().path().to_owned();
    let mut resolver = Resolver::new(modules.clone(), only(&world));
    assert_eq!(resolver.open_for(&[0x10100]), 2, "either may be meant");
    assert_eq!(path(resolver.lookup_return(0x10100).unwrap()), one);
    assert_eq!(resolver.lookup(0x10100).err(), Some(Unknown::Gap), "the other's header");
    // Behind the last one there is nobody.
    let mut resolver = Resolver::new(modules.clone(), only(&world));
    assert_eq!(resolver.open_for(&[0x10200]), 1);
    assert_eq!(path(resolver.lookup_return(0x10200).unwrap()), two);
    assert_eq!(resolver.frames_return(0x10200).unwrap().frames().count(), 1);
    assert_eq!(resolver.lookup(0x10200).err(), Some(Unknown::NoModule));
    // An address inside says nothing about its neighbour.
    let mut resolver = Resolver::new(modules, only(&world));
    assert_eq!(resolver.open_for(&[0x10101]), 1);
    assert_eq!(resolver.lookup_return(0x10100).err(), Some(Unknown::NotOpened));
}

#[test]
fn the_first_and_last_addresses_are_borne() {
    let world = World::new();
    let mut resolver = resolver(&[world.binary("one", &ID)], &only(&world));
    resolver.open_for(&[0, 1, u64::MAX]);
    for address in [0, u64::MAX] {
        assert_eq!(resolver.lookup(address).err(), Some(Unknown::NoModule));
        assert_eq!(resolver.lookup_return(address).err(), Some(Unknown::NoModule));
        assert_eq!(resolver.frames(address).err(), Some(Unknown::NoModule));
        assert_eq!(resolver.frames_return(address).err(), Some(Unknown::NoModule));
    }
    let bytes = index_of(&ID, 1);
    let index = Index::from_vec(bytes).unwrap();
    // All addresses, moved so that function_0 ends with the last of them.
    let bias = u64::MAX - (FUNCTION_0.0 + FUNCTION_0.1 - 1);
    resolver.add_index(0..=u64::MAX, bias, index);
    assert_eq!(names(&resolver, u64::MAX).unwrap(), "function_0");
    assert_eq!(names(&resolver, 0).unwrap(), "function_1", "addresses go round");
    assert_eq!(resolver.lookup_return(0).err(), Some(Unknown::NoModule), "no call is before it");
    assert_eq!(resolver.lookup_return(u64::MAX).unwrap().symbol().offset(), 14);
}

/// Indexes that were added answer where no file's index does; of two, the one
/// that came later.
#[test]
fn added_indexes_come_after_files_and_the_latest_first() {
    let (world, files) = half_indexed(2);
    let mut resolver = resolver(&files, &only(&world));
    let added = |tag| Index::from_vec(index_of(&[9; 20], tag)).unwrap();
    let tag = |resolver: &Resolver, address| resolver.lookup(address).unwrap().index().input_size();
    let all = STEP..=3 * STEP;
    let hidden = 2 * STEP - 0x800;
    resolver.open_all();
    assert_eq!(resolver.lookup(first(1)).err(), Some(Unknown::NoIndex));
    resolver.add_index(all.clone(), hidden.wrapping_sub(FUNCTION_0.0), added(100));
    assert_eq!(tag(&resolver, first(0)), 0, "the file's own");
    assert_eq!(tag(&resolver, hidden), 100, "no module");
    resolver.add_index(all.clone(), first(1).wrapping_sub(FUNCTION_0.0), added(101));
    assert_eq!(tag(&resolver, first(1)), 101, "a module without index");
    assert!(resolver.lookup(first(1)).unwrap().module().is_none());
    assert_eq!(resolver.lookup(hidden).err(), Some(Unknown::Gap), "the latest hides others");
    assert_eq!(resolver.lookup(3 * STEP + 1).err(), Some(Unknown::NoModule));
    let mut answers = Vec::new();
    let statistics = resolver.batch([first(0), first(1), hidden], |_, answer| {
        answers.push(answer.map(|found| found.index().input_size()));
    });
    assert_eq!(answers, [Ok(0), Ok(101), Err(Unknown::Gap)]);
    assert_eq!((statistics.resolved(), statistics.addresses()), (2, 3));
    resolver.clear_added();
    assert_eq!(resolver.lookup(first(1)).err(), Some(Unknown::NoIndex));
    #[allow(clippy::reversed_empty_ranges)]
    resolver.add_index(9..=8, 0, added(1));
    assert_eq!(resolver.lookup(8).err(), Some(Unknown::NoModule), "an empty range holds nothing");
}

/// A file that this process maps: its modules as from outside change.
#[cfg(target_os = "linux")]
#[test]
fn an_update_keeps_what_was_added_and_what_is_open() {
    let world = World::new();
    let store = only(&world);
    let mut resolver = Resolver::new(Modules::from_pid(std::process::id()).unwrap(), store.clone());
    resolver.add_index(1..=1 << 30, 1 << 20, Index::from_vec(index_of(&ID, 7)).unwrap());
    let address = FUNCTION_0.0 + (1 << 20);
    assert_eq!(names(&resolver, address).unwrap(), "function_0");
    assert!(!resolver.update().unwrap(), "a heap that grows is no change");
    let path = world.binary("one", &ID);
    publish(&by_id(&world.path("d"), &ID, ".symidx"), &index_of(&ID, 1));
    let file = std::fs::File::open(&path).unwrap();
    // SAFETY: a new mapping of a file that nobody changes, never read here.
    let mapped = unsafe {
        use std::os::fd::AsRawFd as _;
        let null = std::ptr::null_mut();
        libc::mmap(null, 4096, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
    };
    assert_ne!(mapped, libc::MAP_FAILED);
    assert!(resolver.update().unwrap());
    assert!(!resolver.update().unwrap());
    assert_eq!(names(&resolver, address).unwrap(), "function_0");
    let mapped_at = u64::try_from(mapped.addr()).unwrap();
    let module = resolver.modules().find(mapped_at).unwrap().module();
    assert_eq!(module.path(), path.canonicalize().unwrap());
    assert_eq!(module.id().unwrap().as_bytes(), ID);
    assert_eq!(resolver.open_for(&[mapped_at]), 1);
    assert!(resolver.update().is_ok());
}

/// When the process has ended, the modules and what was added stay.
#[cfg(target_os = "linux")]
#[test]
fn an_update_that_fails_changes_nothing() {
    let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let modules = Modules::from_pid(child.id()).unwrap();
    let count = modules.len();
    let mut resolver = Resolver::new(modules, Arc::new(Store::read()));
    resolver.add_index(1..=1 << 30, 0, Index::from_vec(index_of(&ID, 7)).unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    let error = resolver.update().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(error.to_string().contains("no such process"), "{error}");
    assert_eq!(resolver.modules().len(), count);
    assert_eq!(names(&resolver, FUNCTION_0.0).unwrap(), "function_0");
}

#[test]
fn a_budget_names_every_module_and_its_reason() {
    let (world, files) = half_indexed(5);
    for mapped in [true, false] {
        let store = store(mapped).without_default_places().with_directory(world.path("d"));
        let mut resolver = resolver(&files, &Arc::new(store));
        let budget = resolver.budget();
        let sizes = budget.modules.iter().filter_map(|module| module.index.ok());
        let sum: u64 = sizes.sum();
        assert_eq!(resolver.store().open_bytes(), sum);
        assert_eq!(budget.mapped_bytes, if mapped { sum } else { 0 });
        assert!(budget.anonymous_bytes >= if mapped { 1 } else { sum });
        let known = budget.modules.iter().map(|module| module.index.is_ok());
        assert_eq!(known.collect::<Vec<_>>(), [true, false, true, false, true]);
        assert_eq!(resolver.budget(), budget, "asked twice, the same");
    }
}

/// Everything of every index is touched: what is resident of them stays within
/// the bound that was told before.
#[cfg(target_os = "linux")]
#[test]
fn what_is_resident_stays_within_the_budget() {
    let (world, files) = half_indexed(40);
    let mut resolver = resolver(&files, &only(&world));
    let budget = resolver.budget();
    let mut touched = 0u64;
    for number in 0..40 {
        let Some(index) = resolver.index(number) else { continue };
        touched += index.as_bytes().iter().map(|&byte| u64::from(byte)).sum::<u64>();
        for address in FUNCTION_0.0..FUNCTION_0.0 + 0x200 {
            touched += u64::from(index.lookup(Svma(address)).unwrap().is_some());
        }
    }
    assert!(touched > 0);
    let (mut rss, mut ours) = (0u64, false);
    let directory = world.directory.path().to_str().unwrap().to_owned();
    for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        match line.strip_prefix("Rss:") {
            Some(size) if ours => {
                rss += 1024 * size.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
            }
            Some(_) => {}
            None if line.split_once(' ').is_some_and(|(range, _)| range.contains('-')) => {
                ours = line.contains(&directory) && line.ends_with(".symidx");
            }
            None => {}
        }
    }
    assert!(rss >= 20 * 3500, "all of it was touched: {rss}");
    assert!(rss <= budget.mapped_bytes, "{rss} of {}", budget.mapped_bytes);
}

/// Address, name and module, svma; or why there is none.
type Answer = (u64, Result<(String, u64), Unknown>);

fn batch(resolver: &Resolver, addresses: &[u64]) -> Vec<Answer> {
    let mut seen = Vec::new();
    resolver.batch(addresses.iter().copied(), |address, answer| {
        let answer = answer.map(|found| {
            (
                format!("{} {:?}", found.symbol().name(), found.module().map(|m| m.path())),
                found.svma().0,
            )
        });
        seen.push((address, answer));
    });
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_batch_answers_as_lookups_do(
        picks in proptest::collection::vec((0u64..8, 0u64..0x420), 0..60),
        sorted: bool,
        overlay in proptest::option::of((0u64..8, 0u64..8)),
        opened: bool,
    ) {
        // Built once: the files are small, but not that small.
        thread_local! {
            static WORLD: (World, Vec<PathBuf>) = half_indexed(6);
        }
        WORLD.with(|(world, files)| {
            let mut resolver = resolver(files, &only(world));
            if opened {
                resolver.open_all();
            }
            if let Some((from, to)) = overlay {
                let index = Index::from_vec(index_of(&ID, 99)).unwrap();
                let bias = (from * STEP).wrapping_sub(FUNCTION_0.0);
                resolver.add_index(from * STEP..=to * STEP + 0x800, bias, index);
            }
            let mut addresses: Vec<u64> =
                picks.iter().map(|(module, offset)| module * STEP + offset).collect();
            if sorted {
                addresses.sort_unstable();
            }
            let alone = addresses.iter().map(|&address| {
                let answer = resolver.lookup(address).map(|found| {
                    (format!("{} {:?}", found.symbol().name(), found.module().map(|m| m.path())), found.svma().0)
                });
                (address, answer)
            });
            let alone: Vec<_> = alone.collect();
            assert_eq!(batch(&resolver, &addresses), alone);
        });
    }
}
