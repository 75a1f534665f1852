//! No heap: opening what addresses need, whatever comes of it, and every
//! lookup by run-time address.

use std::path::PathBuf;
use std::sync::Arc;

use symidx::process::{Id, Missing, Modules, Resolver, Statistics, Store, Unknown};

use crate::small_elf::SmallElf;
use crate::world::{World, by_id, first, index_of, index_of_content, modules, publish, store};
use crate::{LIVE, allocations, none, text};

const ID: [u8; 20] = [0xab; 20];

/// A world whose paths are longer than what the standard library builds
/// without heap.
fn deep() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.directory.path().join(long())).unwrap();
    world
}

fn long() -> String {
    format!("{}/{}/{}", "a".repeat(200), "b".repeat(200), "c".repeat(200))
}

/// A resolver, and the first address of each module.
fn ready(world: &World, files: &[PathBuf]) -> (Resolver, Vec<u64>) {
    let store = store(true).with_directory(world.path("d")).with_directory(world.path(&long()));
    let count = u64::try_from(files.len()).unwrap();
    (Resolver::new(modules(files), Arc::new(store)), (0..count).map(first).collect())
}

#[test]
fn opening_allocates_nothing_whatever_comes_of_it() {
    let world = deep();
    let place = |name: &str| format!("{}/{name}", long());
    let right = index_of(&ID, 1);
    let files: Vec<PathBuf> =
        ["found", "embedded", "stale", "broken", "directory", "nothing", "content"]
            .map(|name| {
                let mut id = ID;
                // A build each.
                id[19] = name.as_bytes()[0];
                id[18] = name.as_bytes()[1];
                let id = if name == "content" { &[][..] } else { &id };
                let embedded = (name == "embedded").then(|| index_of(id, 2));
                let elf = SmallElf { embedded, ..SmallElf::with_id(id) };
                let path = world.path(&place(name));
                std::fs::write(&path, elf.bytes()).unwrap();
                let beside = world.path(&place(&format!("{name}.symidx")));
                match name {
                    "found" => publish(&beside, &index_of(id, 1)),
                    "stale" => publish(&beside, &index_of(&[1; 20], 1)),
                    "broken" => publish(&beside, &right[..right.len() / 2]),
                    "directory" => std::fs::create_dir(&beside).unwrap(),
                    "content" => publish(&beside, &index_of_content(&elf.bytes())),
                    _ => {}
                }
                path
            })
            .to_vec();
    let (mut resolver, addresses) = ready(&world, &files);
    assert_eq!(none("open_for", || resolver.open_for(&addresses)), 3);
    let reasons: Vec<_> = (0..7).map(|number| resolver.missing(number)).collect();
    assert!(reasons[0].is_none() && reasons[1].is_none() && reasons[6].is_none(), "{reasons:?}");
    assert!(matches!(reasons[2], Some(Missing::Stale { .. })));
    assert!(matches!(reasons[3], Some(Missing::Unusable { .. })));
    assert!(matches!(reasons[4], Some(Missing::Unusable { .. })));
    assert_eq!(reasons[5], Some(Missing::NotFound));
    none("asked again", || assert_eq!(resolver.open_all(), 3));
    resolver.store().forget_missing();
    none("looked for again", || assert_eq!(resolver.open_all(), 3));
    none("reasons in words", || {
        for reason in reasons.iter().flatten() {
            assert!(text(reason).used > 10);
        }
    });
    // The whole first time, with every index closed before.
    let (mut resolver, addresses) = ready(&world, &files);
    none("open_all", || assert_eq!(resolver.open_all(), 3));
    none("and then the lookups", || {
        assert!(addresses.iter().filter(|&&address| resolver.lookup(address).is_ok()).count() == 3);
    });
    let found = &files[..1];
    let small = Arc::new(store(true).with_max_bytes(1));
    let mut over = Resolver::new(modules(found), small);
    none("over budget", || assert_eq!(over.open_all(), 0));
    assert!(matches!(over.missing(0), Some(Missing::OverBudget { .. })));
    // A store that reads needs a piece for each index, and no more.
    let mut read = Resolver::new(modules(found), Arc::new(Store::read()));
    assert_eq!(allocations(|| read.open_all()), (1, 1));
}

/// Room for a second index is made by closing the first.
#[test]
fn making_room_allocates_nothing() {
    let world = World::new();
    let files = [[1; 20], [2; 20]].map(|id| {
        publish(&by_id(&world.path("d"), &id, ".symidx"), &index_of(&id, id[0].into()));
        world.binary(&format!("app{}", id[0]), &id)
    });
    let store = store(true).without_default_places().with_directory(world.path("d"));
    let store = Arc::new(store.with_max_open(1));
    let [mut one, mut two] = files.map(|file| Some(Resolver::new(modules(&[file]), store.clone())));
    none("the first", || assert_eq!(one.as_mut().unwrap().open_all(), 1));
    none("no room", || assert_eq!(two.as_mut().unwrap().open_all(), 0));
    none("closed", || drop(one.take()));
    none("room is made", || assert_eq!(two.as_mut().unwrap().open_all(), 1));
    assert_eq!(store.open_count(), 1);
    drop(two);
    none("evicted", || assert!(store.evict(&Id::new(&[2; 20]).unwrap())));
    assert_eq!(store.open_count(), 0);
}

#[test]
fn lookups_by_run_time_address_allocate_nothing() {
    let world = World::new();
    publish(&by_id(&world.path("d"), &ID, ".symidx"), &index_of(&ID, 1));
    let files = [world.binary("app", &ID), world.binary("other", &[1; 20])];
    let (mut resolver, _) = ready(&world, &files);
    resolver.open_all();
    resolver.add_index(1..=9, 0, symidx::Index::from_vec(index_of(&ID, 3)).unwrap());
    let addresses: Vec<u64> =
        (0..0x400).chain(0x0f_fff0..0x10_0400).chain(0x20_0000..0x20_0010).collect();
    let statistics = none("lookups", || {
        let mut statistics = Statistics::default();
        for &address in &addresses {
            let found = resolver.lookup(address);
            statistics.count(&found);
            if let Ok(found) = found {
                assert!(text(found.symbol().name()).used > 0);
                assert!(found.module().is_some_and(|module| module.id().is_none()));
            }
            let _ = (resolver.lookup_return(address).is_ok(), resolver.missing(1));
            match resolver.frames(address) {
                Ok(found) => assert!(found.frames().count() > 0),
                Err(reason) => assert!(text(reason).used > 0 && !reason.name().is_empty()),
            }
            let _ = resolver.frames_return(address).is_ok();
        }
        statistics
    });
    assert!(statistics.resolved() > 200, "{statistics}");
    let batch = none("batch", || resolver.batch(addresses.iter().copied(), |_, _| {}));
    assert_eq!(batch, statistics);
    none("statistics in words", || assert!(text(statistics).used > 20));
    none("modules", || {
        let located = resolver.modules().find(first(0)).unwrap();
        assert!(located.svma().is_none() && located.file_offset().is_some());
        assert!(resolver.modules().iter().count() == 2 && resolver.modules().get(1).is_some());
    });
    assert_eq!(resolver.lookup(first(1)).err(), Some(Unknown::NoIndex));
}

#[test]
fn asking_for_changes_allocates_nothing() {
    let modules = Modules::capture();
    none("changed", || assert!(!modules.changed().unwrap()));
    let mut resolver = Resolver::new(modules, Arc::new(Store::read()));
    none("update", || assert!(!resolver.update().unwrap()));
}

/// What the budget says of anonymous memory is what the heap holds, or more.
#[test]
fn the_budget_covers_what_the_heap_holds() {
    let world = World::new();
    let files: Vec<PathBuf> = (0..50u8)
        .map(|number| {
            let id = [number + 1; 20];
            if number % 3 != 0 {
                publish(&by_id(&world.path("d"), &id, ".symidx"), &index_of(&id, 1));
            }
            world.binary(&format!("app{number}"), if number % 3 == 2 { &[] } else { &id })
        })
        .collect();
    for mapped in [true, false] {
        let before = LIVE.get();
        let store = Arc::new(store(mapped).with_directory(world.path("d")));
        let mut resolver = Resolver::new(modules(&files), store);
        // From here on nothing may grow.
        let told = i64::try_from(resolver.budget().anonymous_bytes).unwrap();
        for number in 0..50 {
            let _ = resolver.lookup(first(number));
        }
        let held = LIVE.get() - before;
        assert!(held <= told, "{held} of {told}, mapped {mapped}");
        assert!(held * 3 >= told, "the bound is far off: {held} of {told}, mapped {mapped}");
    }
}
