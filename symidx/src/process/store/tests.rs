//! Slots of modules that come and go, and of those that no file stands for.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

use super::*;
use crate::process::{Modules, Resolver};
use std::fmt::Write as _;
use std::string::String;

/// Modules of files that are nowhere.
fn modules(names: core::ops::Range<u64>) -> Modules {
    let mut text = String::new();
    for name in names {
        let start = (name + 1) << 16;
        writeln!(text, "{start:x}-{:x} r-xp 0 08:01 7 /nowhere/{name}", start + 0x1000).unwrap();
    }
    Modules::from_maps(text.as_bytes()).unwrap()
}

fn slots(store: &Store) -> usize {
    store.lock().map.len()
}

/// Slots were kept for every module of every process that was ever looked at.
#[test]
fn slots_that_nobody_uses_do_not_pile_up() {
    let store = Arc::new(Store::read());
    for round in 0..6u64 {
        let mut resolver = Resolver::new(modules(round * 5000..(round + 1) * 5000), store.clone());
        assert_eq!(resolver.open_all(), 0);
        assert!(slots(&store) <= 2 * MAX_OPEN + 5000, "{}", slots(&store));
        // Those in use are kept, however many.
        assert!(slots(&store) >= 5000);
    }
    let own = store.own_bytes();
    assert!(own < 10 << 20, "{own}");
}

#[test]
fn a_module_is_asked_for_once_and_shares_its_slot() {
    let store = Store::read();
    let (one, two) = (modules(0..2), modules(1..3));
    let slot = |modules: &Modules, number| store.slot(modules.get(number).unwrap()).unwrap();
    assert!(Arc::ptr_eq(&slot(&one, 1), &slot(&two, 0)));
    assert!(!Arc::ptr_eq(&slot(&one, 0), &slot(&one, 1)));
    assert_eq!(*slot(&one, 0).wanted(), Wanted::Nothing);
    let stack = Modules::from_maps(b"10000-20000 rw-p 0 00:00 0 [stack]\n").unwrap();
    assert!(store.slot(stack.get(0).unwrap()).is_none());
}

/// The name of the vDSO, or an empty one, is no path in the working directory.
#[test]
fn names_that_are_no_paths_are_looked_for_nowhere() {
    let store = Arc::new(Store::read());
    let text = b"10000-20000 r-xp 0 00:00 0 [vdso]\n30000-40000 r-xp 0 08:01 7 Cargo.toml\n";
    let mut resolver = Resolver::new(Modules::from_maps(text).unwrap(), store);
    resolver.open_all();
    for number in [0, 1] {
        assert_eq!(resolver.missing(number), Some(Missing::NotFound));
    }
}

#[test]
fn one_file_is_found_by_its_path_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("app");
    std::fs::write(&file, "no binary at all").unwrap();
    let store = Store::read().with_max_open(0);
    assert_eq!(store.find(&file, None).err(), Some(Missing::NotFound));
    let golden = include_bytes!("../../../../testdata/golden/rich.symidx");
    std::fs::write(directory.path().join("app.symidx"), golden).unwrap();
    let id = crate::Index::from_bytes(golden).ok().and_then(|index| Id::of(&index)).unwrap();
    // By the id that a profile states, whatever the file is by now; without a bound.
    assert_eq!(store.find(&file, Some(&id)).unwrap().symbol_count(), 37);
    assert_eq!(store.open_count(), 0);
    assert!(matches!(store.find(&file, None), Err(Missing::Stale { found: None, .. })));
    assert_eq!(store.find("/nowhere".as_ref(), None).err(), Some(Missing::NotFound));
    assert_eq!(store.find("".as_ref(), None).err(), Some(Missing::NotFound));
}

/// The same build-id says nothing of where this boot put the kernel and its modules.
#[test]
fn a_kernel_is_of_this_boot_or_not_taken() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let golden = include_bytes!("../../../../testdata/golden/rich.symidx");
    let id = crate::Index::from_bytes(golden).ok().and_then(|index| Id::of(&index)).unwrap();
    let note = |id: &Id| {
        let length = u32::try_from(id.as_bytes().len()).unwrap();
        let fields = [4, length, 3].into_iter().flat_map(|field| field.to_ne_bytes());
        fields.chain(*b"GNU\0").chain(id.as_bytes().iter().copied()).collect::<Vec<u8>>()
    };
    std::fs::write(at("notes"), note(&id)).unwrap();
    std::fs::write(at("kallsyms"), "ffffffff81000000 T _text\n").unwrap();
    let store = Store::read().without_default_places().with_directory(directory.path());
    let find = || store.find_kernel_of(&at("notes"), &at("kallsyms")).err();
    assert_eq!(find(), Some(Missing::NotFound));
    let hex = std::format!("{id}");
    let (first, rest) = hex.split_at(2);
    let place = at(".build-id").join(first).join(std::format!("{rest}.kallsyms.symidx"));
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(&place, b"no index").unwrap();
    assert!(matches!(find(), Some(Missing::Unusable { .. })), "{:?}", find());
    std::fs::write(&place, golden).unwrap();
    let place = Where::Directory;
    assert_eq!(find(), Some(Missing::Stale { place, expected: None, found: None }));
    std::fs::write(at("notes"), b"no note").unwrap();
    assert_eq!(find(), Some(Missing::NotFound));
}
