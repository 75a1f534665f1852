//! Stores: where indexes are found, what is skipped, what is bounded.
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

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use small_elf::SmallElf;
use symidx::process::{Missing, Resolver, Store, Unknown, Unusable, Where};
use world::{World, by_id, first, id, index_of, index_of_content, publish, resolver, store};

const ID: [u8; 20] = [0xab; 20];

fn only(directory: &Path) -> Store {
    store(true).without_default_places().with_directory(directory)
}

/// The tag of the index that a module's addresses are answered from.
fn tag(resolver: &Resolver) -> Option<u64> {
    resolver.index(0).map(|index| index.input_size())
}

/// Runs one test of this binary in a process of its own, with an environment.
fn in_child(test: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env_remove("SYMIDX_PATH").env_remove("XDG_CACHE_HOME").env_remove("HOME");
    let done = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    text
}

/// The other half of the test below.
#[test]
fn child_finds_by_the_environment() {
    let Some(file) = std::env::var_os("SYMIDX_TEST_FILE") else { return };
    let added = PathBuf::from(std::env::var_os("SYMIDX_TEST_ADDED").unwrap());
    let store = Arc::new(store(true).with_directory(added));
    let mut resolver = resolver(&[PathBuf::from(file)], &store);
    resolver.open_all();
    println!("\nTAG {:?}", tag(&resolver));
}

#[test]
fn places_are_searched_in_the_documented_order() {
    let world = World::new();
    let app = world.path("app");
    let elf = SmallElf { embedded: Some(index_of(&ID, 2)), ..SmallElf::with_id(&ID) };
    std::fs::write(&app, elf.bytes()).unwrap();
    let places = [
        (1, world.path("app.symidx")),
        (3, by_id(&world.path("added"), &ID, ".symidx")),
        (4, by_id(&world.path("one"), &ID, ".symidx")),
        (5, by_id(&world.path("two"), &ID, ".symidx")),
        (6, by_id(&world.path("cache/symidx"), &ID, ".symidx")),
        (7, by_id(&world.path("home/.debug"), &ID, "/symidx")),
    ];
    for (tag, path) in &places {
        publish(path, &index_of(&ID, *tag));
    }
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let found = || {
        let path = format!(":{}::{}:", text(world.path("one")), text(world.path("two")));
        let output = in_child(
            "child_finds_by_the_environment",
            &[
                ("SYMIDX_TEST_FILE", &text(app.clone())),
                ("SYMIDX_TEST_ADDED", &text(world.path("added"))),
                ("SYMIDX_PATH", &path),
                ("XDG_CACHE_HOME", &text(world.path("cache"))),
                ("HOME", &text(world.path("home"))),
            ],
        );
        output.lines().find_map(|line| line.strip_prefix("TAG ").map(str::to_owned)).unwrap()
    };
    let mut order = Vec::new();
    for _ in 0..8 {
        let tag = found();
        order.push(tag.clone());
        // What was found is taken away.
        if tag == "Some(2)" {
            // The same file, so that it stays the module's.
            std::fs::write(&app, SmallElf::with_id(&ID).bytes()).unwrap();
            continue;
        }
        let place = places.iter().find(|(number, _)| format!("Some({number})") == tag);
        let Some((_, path)) = place else { break };
        std::fs::remove_file(path).unwrap();
    }
    let expected = ["Some(1)", "Some(2)", "Some(3)", "Some(4)", "Some(5)", "Some(6)", "Some(7)"];
    assert_eq!(order[..7], expected);
    assert_eq!(order[7], "None");
}

/// A fallback home is used only without `$XDG_CACHE_HOME`.
#[test]
fn the_cache_in_the_home_directory_is_found() {
    let world = World::new();
    let app = world.binary("app", &ID);
    publish(&by_id(&world.path(".cache/symidx"), &ID, ".symidx"), &index_of(&ID, 9));
    let home = world.directory.path().to_str().unwrap();
    let file = app.to_str().unwrap();
    let common = [("SYMIDX_TEST_FILE", file), ("SYMIDX_TEST_ADDED", "/nowhere")];
    let child = "child_finds_by_the_environment";
    let [a, b] = common;
    assert!(in_child(child, &[a, b, ("HOME", home)]).contains("TAG Some(9)"));
    assert!(
        in_child(child, &[a, b, ("HOME", home), ("XDG_CACHE_HOME", "/x")]).contains("TAG None")
    );
    assert!(in_child(child, &[a, b]).contains("TAG None"));
}

#[test]
fn ids_of_every_length_are_found() {
    let world = World::new();
    for length in [1usize, 2, 16, 20, 64] {
        let bytes: Vec<u8> = (0..length).map(|i| u8::try_from(i).unwrap() + 7).collect();
        let app = world.binary(&format!("app{length}"), &bytes);
        let directory = world.path("d");
        if length > 1 {
            publish(&by_id(&directory, &bytes, ".symidx"), &index_of(&bytes, 5));
        }
        let mut resolver = resolver(std::slice::from_ref(&app), &Arc::new(only(&directory)));
        // One byte leaves no file name: beside the binary it is found.
        assert_eq!(resolver.open_all(), usize::from(length > 1), "{length}");
        publish(&world.path(&format!("app{length}.symidx")), &index_of(&bytes, 6));
        let mut resolver = world::resolver(&[app], &Arc::new(store(true)));
        assert_eq!(resolver.open_all(), 1, "{length}");
        assert!(resolver.lookup(first(0)).is_ok());
        assert_eq!(resolver.modules().get(0).unwrap().id(), None, "text tells no id");
    }
}

/// Each of these waited, was taken, or was passed over without a word.
#[test]
fn what_is_no_index_is_skipped_with_its_reason() {
    let world = World::new();
    let app = world.binary("app", &ID);
    let beside = world.path("app.symidx");
    let good = index_of(&ID, 1);
    let reason = |mapped: bool| {
        let mut resolver = resolver(std::slice::from_ref(&app), &Arc::new(store(mapped)));
        resolver.open_all();
        resolver.missing(0)
    };
    let unusable = |why: Unusable| Some(Missing::Unusable { place: Where::Beside, why });
    for mapped in [true, false] {
        assert_eq!(reason(mapped), Some(Missing::NotFound));
        for content in [&b""[..], b"x", &[0; 4096], &good[..100]] {
            std::fs::write(&beside, content).unwrap();
            assert!(
                matches!(reason(mapped), Some(Missing::Unusable { place: Where::Beside, .. })),
                "{:?}",
                reason(mapped)
            );
        }
        let mut later = good.clone();
        later[8] = 99;
        std::fs::write(&beside, &later).unwrap();
        assert_eq!(reason(mapped), unusable(Unusable::Version(99)));
        std::fs::write(&beside, index_of(&[1; 20], 1)).unwrap();
        let stale = reason(mapped).unwrap();
        assert!(
            matches!(stale, Missing::Stale { place: Where::Beside, expected: Some(_), found } if found == Some(id(&[1; 20]))),
            "{stale}"
        );
        // Both ids are told.
        let Missing::Stale { expected: Some(expected), .. } = stale else { panic!("{stale}") };
        let text = stale.to_string();
        assert!(
            text.contains("found 0101010101") && text.contains(&expected.to_string()),
            "{text}"
        );
        // Larger than any disk, and nothing of it is there.
        let sparse = std::fs::File::create(&beside).unwrap();
        sparse.set_len(1 << 42).unwrap();
        assert_eq!(reason(mapped), unusable(Unusable::NotAnIndex));
        std::fs::remove_file(&beside).unwrap();

        assert!(Command::new("mkfifo").arg(&beside).status().unwrap().success());
        assert_eq!(reason(mapped), unusable(Unusable::NotAFile));
        std::fs::remove_file(&beside).unwrap();
        std::fs::create_dir(&beside).unwrap();
        assert_eq!(reason(mapped), unusable(Unusable::NotAFile));
        std::fs::remove_dir(&beside).unwrap();
        symlink("/dev/zero", &beside).unwrap();
        assert_eq!(reason(mapped), unusable(Unusable::NotAFile));
        std::fs::remove_file(&beside).unwrap();
        symlink("app.symidx", &beside).unwrap();
        let found = reason(mapped);
        assert!(matches!(found, Some(Missing::Unusable { why: Unusable::Io(_), .. })), "{found:?}");
        std::fs::remove_file(&beside).unwrap();
        symlink("nowhere", &beside).unwrap();
        assert_eq!(reason(mapped), Some(Missing::NotFound), "as good as absent");
        std::fs::remove_file(&beside).unwrap();
        std::fs::write(&beside, &good).unwrap();
        assert_eq!(reason(mapped), None);
        std::fs::remove_file(&beside).unwrap();
    }
}

/// What does not fit in one place does not hide what fits in a later one.
#[test]
fn a_stale_index_does_not_hide_a_right_one() {
    let world = World::new();
    let app = world.binary("app", &ID);
    publish(&world.path("app.symidx"), &index_of(&[1; 20], 1));
    publish(&by_id(&world.path("d"), &ID, ".symidx"), &index_of(&ID, 4));
    let store = Arc::new(store(true).with_directory(world.path("d")));
    let mut resolver = resolver(&[app], &store);
    assert_eq!(resolver.open_all(), 1);
    assert_eq!(tag(&resolver), Some(4));
}

/// Files that may not be read: told, not passed over.
#[test]
fn a_file_that_may_not_be_read_is_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let app = world.binary("app", &ID);
    let beside = world.path("app.symidx");
    std::fs::write(&beside, index_of(&ID, 1)).unwrap();
    std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o0)).unwrap();
    if std::fs::File::open(&beside).is_ok() {
        // The user may read everything: that of another one is taken on, for
        // this thread alone.
        std::fs::set_permissions(world.directory.path(), std::fs::Permissions::from_mode(0o755))
            .unwrap();
        // SAFETY: changes no memory.
        let done = unsafe { libc::syscall(libc::SYS_setresuid, -1, 65534, -1) };
        if done != 0 {
            eprintln!("SKIPPED: another user cannot be taken on; unreadable indexes untested");
            return;
        }
    }
    let mut resolver = resolver(&[app], &Arc::new(store(true)));
    resolver.open_all();
    let why = Unusable::Io(std::io::ErrorKind::PermissionDenied);
    assert_eq!(resolver.missing(0), Some(Missing::Unusable { place: Where::Beside, why }));
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_setresuid, -1, 0, -1) };
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// `n` binaries with an index each in a directory.
fn many(world: &World, count: u32) -> Vec<PathBuf> {
    (0..count)
        .map(|number| {
            let bytes = [&number.to_be_bytes()[..], &[7; 4]].concat();
            publish(&by_id(&world.path("d"), &bytes, ".symidx"), &index_of(&bytes, number.into()));
            world.binary(&format!("app{number}"), &bytes)
        })
        .collect()
}

#[test]
fn a_thousand_open_indexes_hold_no_file_open() {
    let world = World::new();
    let files = many(&world, 1000);
    for mapped in [true, false] {
        let store = store(mapped).without_default_places().with_directory(world.path("d"));
        let store = Arc::new(store);
        let before = open_files();
        let mut resolver = resolver(&files, &store);
        assert_eq!(resolver.open_all(), 1000);
        // Other tests may run in this process, each with a few files.
        assert!(open_files() < before + 100, "{}", open_files());
        assert_eq!(store.open_count(), 1000);
        for number in [0, 500, 999] {
            assert_eq!(resolver.lookup(first(number)).unwrap().index().input_size(), number);
        }
        drop(resolver);
        assert_eq!(store.evict_unused(), 1000);
        assert_eq!((store.open_count(), store.open_bytes()), (0, 0));
    }
}

#[test]
fn bounds_hold_and_what_is_unused_makes_way() {
    let world = World::new();
    let files = many(&world, 4);
    let page = 4096u64;
    let store = Arc::new(only(&world.path("d")).with_max_open(2));
    let mut one = resolver(&files[..2], &store);
    assert_eq!(one.open_all(), 2);
    assert_eq!(store.open_bytes() % page, 0, "whole pages");
    // Both are in use: nothing makes way.
    let mut other = resolver(&files[2..], &store);
    assert_eq!(other.open_all(), 0);
    assert_eq!(other.lookup(first(0)).err(), Some(Unknown::OverBudget));
    assert!(one.lookup(first(0)).is_ok() && one.lookup(first(1)).is_ok());
    // Now they are not: only as many as needed go, the oldest first.
    drop(one);
    assert_eq!(other.open_for(&[first(0)]), 1);
    assert_eq!(store.open_count(), 2);
    let mut again = resolver(&files[1..2], &store);
    assert_eq!(again.open_all(), 1, "the younger one stayed open");
    assert_eq!(store.open_count(), 2);
    assert_eq!(other.open_all(), 1);
    // Room that comes back later is noticed without being told.
    drop(again);
    assert_eq!(other.open_all(), 2);
    assert_eq!(store.open_count(), 2);
}

/// An index that can never fit evicted everything, again and again.
#[test]
fn an_index_that_can_never_fit_evicts_nothing() {
    let world = World::new();
    let files = many(&world, 1);
    let large = world.binary("large", &[9; 20]);
    let mut bytes = index_of(&[9; 20], 1);
    bytes.resize(bytes.len() + 20_000, 0);
    publish(&by_id(&world.path("d"), &[9; 20], ".symidx"), &bytes);
    let store = Arc::new(only(&world.path("d")).with_max_bytes(8192));
    assert_eq!(resolver(&files, &store).open_all(), 1);
    let mut wants_more = resolver(&[large], &store);
    for _ in 0..3 {
        assert_eq!(wants_more.open_all(), 0);
        assert_eq!(store.open_count(), 1);
    }
    // Its size is wrong, so it is no index: room would not help.
    assert_eq!(wants_more.lookup(first(0)).err(), Some(Unknown::UnusableIndex));
    // One that is of another build needs no room either.
    let small = Arc::new(only(&world.path("d")).with_max_bytes(1));
    publish(&by_id(&world.path("d"), &[8; 20], ".symidx"), &index_of(&[7; 20], 1));
    let mut stale = resolver(&[world.binary("stale", &[8; 20])], &small);
    stale.open_all();
    assert_eq!(stale.lookup(first(0)).err(), Some(Unknown::StaleIndex));
    let mut over = resolver(&files, &small);
    over.open_all();
    assert_eq!(over.missing(0), Some(Missing::OverBudget { bytes: 4096, left: 1 }));
}

#[test]
fn two_threads_that_open_at_once_stay_within_the_bounds() {
    let world = World::new();
    let files = many(&world, 24);
    for mapped in [true, false] {
        let store = store(mapped).without_default_places().with_directory(world.path("d"));
        let store = Arc::new(store.with_max_open(3).with_max_bytes(5 * 4096));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let (open, bytes) = (store.open_count(), store.open_bytes());
                    assert!(open <= 3 && bytes <= 5 * 4096, "{open} {bytes}");
                }
            });
            let threads: Vec<_> = (0..4usize)
                .map(|thread| {
                    let (files, store) = (&files, &store);
                    scope.spawn(move || {
                        for round in 0..40 {
                            let at = (thread * 5 + round) % 20;
                            let mut resolver = resolver(&files[at..at + 4], store);
                            let open = resolver.open_all();
                            assert!(open <= 3, "{open}");
                            for number in 0..4u64 {
                                let tag = u64::try_from(at).unwrap() + number;
                                match resolver.lookup(first(number)) {
                                    Ok(found) => assert_eq!(found.index().input_size(), tag),
                                    Err(reason) => assert_eq!(reason, Unknown::OverBudget),
                                }
                            }
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            stop.store(true, Ordering::Relaxed);
            watch.join().unwrap();
        });
        assert!(store.open_count() <= 3);
        store.evict_unused();
        assert_eq!((store.open_count(), store.open_bytes()), (0, 0));
    }
}

#[test]
fn eviction_closes_only_what_nobody_uses_and_then_takes_the_new_file() {
    let world = World::new();
    let app = world.binary("app", &ID);
    let place = by_id(&world.path("d"), &ID, ".symidx");
    publish(&place, &index_of(&ID, 1));
    let store = Arc::new(only(&world.path("d")));
    let mut old = resolver(std::slice::from_ref(&app), &store);
    assert_eq!(old.open_all(), 1);
    // Replaced by rename: the open one stays as it was.
    publish(&place, &index_of(&ID, 2));
    let mut same = resolver(std::slice::from_ref(&app), &store);
    assert_eq!(same.open_all(), 1);
    assert_eq!((tag(&old), tag(&same)), (Some(1), Some(1)));
    assert_eq!(store.evict_unused(), 0, "it is used");
    drop(same);
    assert!(store.evict(&id(&ID)));
    assert!(!store.evict(&id(&ID)), "it is not known any more");
    let mut new = resolver(std::slice::from_ref(&app), &store);
    assert_eq!(new.open_all(), 1);
    assert_eq!((tag(&old), tag(&new)), (Some(1), Some(2)));
    assert!(old.lookup(first(0)).is_ok());
    assert_eq!(store.open_count(), 2);
    drop(old);
    assert_eq!(store.open_count(), 1, "the old one closes with its last user");
    drop(new);
    assert_eq!(store.open_count(), 1, "kept for the next one");
    assert_eq!(store.evict_unused(), 1);
    std::fs::remove_file(&place).unwrap();
    let mut gone = resolver(&[app], &store);
    assert_eq!(gone.open_all(), 0);
    assert_eq!(gone.missing(0), Some(Missing::NotFound));
}

/// Counts how often a file is opened, as the system sees it.
#[cfg(target_os = "linux")]
struct Opens {
    watch: std::fs::File,
}

#[cfg(target_os = "linux")]
impl Opens {
    fn of(path: &Path) -> Self {
        use std::os::fd::FromRawFd as _;
        use std::os::unix::ffi::OsStrExt as _;
        let text = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the text ends in NUL; the descriptor is nobody else's.
        unsafe {
            let watch = libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC);
            assert!(watch >= 0);
            assert!(libc::inotify_add_watch(watch, text.as_ptr(), libc::IN_OPEN) >= 0);
            Self { watch: std::fs::File::from_raw_fd(watch) }
        }
    }

    fn count(&mut self) -> usize {
        use std::io::Read as _;
        let mut buffer = [0; 4096];
        // Events without a name have 16 bytes; equal ones in a row are merged,
        // so it is asked after each step.
        self.watch.read(&mut buffer).map_or(0, |bytes| bytes / 16)
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_missing_is_looked_for_once() {
    let world = World::new();
    let stale = by_id(&world.path("d"), &ID, ".symidx");
    publish(&stale, &index_of(&[1; 20], 1));
    let store = Arc::new(only(&world.path("d")));
    // Two files of one build take turns: each looked again after the other.
    let files = [world.binary("one", &ID), world.binary("two", &ID)];
    let mut opens = Opens::of(&stale);
    let mut resolvers = files.each_ref().map(|file| resolver(std::slice::from_ref(file), &store));
    for round in 0..5 {
        for resolver in &mut resolvers {
            assert_eq!(resolver.open_all(), 0);
            assert_eq!(resolver.lookup(first(0)).err(), Some(Unknown::StaleIndex));
            assert_eq!(opens.count(), usize::from(round == 0), "{round}");
        }
    }
    // Another resolver of the same store knows too.
    assert_eq!(resolver(&files[..1], &store).open_all(), 0);
    assert_eq!(opens.count(), 0);
    publish(&stale, &index_of(&ID, 3));
    let mut opens = Opens::of(&stale);
    assert_eq!(resolvers[0].open_all(), 0);
    assert_eq!(opens.count(), 0, "still remembered");
    store.forget_missing();
    assert_eq!(resolvers[0].open_all(), 1);
    assert_eq!(opens.count(), 1);
    // One build, one index: nobody opens it again.
    assert_eq!(resolvers[1].open_all(), 1);
    assert_eq!(opens.count(), 0);
    assert_eq!(store.open_count(), 1);
}

/// A file without an id whose path holds another file by now was answered from
/// the new file's index.
#[test]
fn a_file_that_was_replaced_is_not_answered_from_the_new_ones_index() {
    let world = World::new();
    let app = world.binary("app", &[]);
    let old = modules_of(&app);
    let store = Arc::new(store(true));
    let mut before = Resolver::new(old.clone(), store.clone());
    let elf = SmallElf { loads: vec![[0; 5]; 3], ..SmallElf::with_id(&[]) };
    // The old file stays, so that the new one has another inode.
    std::fs::rename(&app, world.path("old")).unwrap();
    publish(&app, &elf.bytes());
    publish(&world.path("app.symidx"), &index_of_content(&elf.bytes()));
    assert_eq!(before.open_all(), 0, "the file changed between capture and opening");
    assert_eq!(before.missing(0), Some(Missing::NotFound));
    let mut late = Resolver::new(old, store.clone());
    assert_eq!(late.open_all(), 0, "the file changed before");
    let mut new = Resolver::new(modules_of(&app), store);
    assert_eq!(new.open_all(), 1);
}

fn modules_of(file: &Path) -> symidx::process::Modules {
    world::modules(&[file.to_owned()])
}

/// An index that was open for a file without an id answered for the next file
/// that got the same path and inode.
#[test]
fn a_file_without_an_id_is_another_one_once_it_is_written_again() {
    let world = World::new();
    let app = world.binary("app", &[]);
    let content = std::fs::read(&app).unwrap();
    publish(&world.path("app.symidx"), &index_of_content(&content));
    let store = Arc::new(store(true));
    let mut first_one = Resolver::new(modules_of(&app), store.clone());
    assert_eq!(first_one.open_all(), 1);
    // In place: the same inode.
    let mut changed = content.clone();
    *changed.last_mut().unwrap() ^= 1;
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(&app, &changed).unwrap();
    let mut second = Resolver::new(modules_of(&app), store);
    assert_eq!(second.open_all(), 0);
    assert_eq!(second.lookup(first(0)).err(), Some(Unknown::StaleIndex));
}

#[test]
fn threads_that_look_evict_and_forget_get_right_answers() {
    let world = World::new();
    let files = many(&world, 6);
    let store = Arc::new(only(&world.path("d")));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let disturb = scope.spawn(|| {
            let mut round = 0u32;
            while !stop.load(Ordering::Relaxed) {
                round = round.wrapping_add(1);
                store.forget_missing();
                store.evict_unused();
                let bytes = [&(round % 6).to_be_bytes()[..], &[7; 4]].concat();
                store.evict(&id(&bytes));
                publish(
                    &by_id(&world.path("d"), &bytes, ".symidx"),
                    &index_of(&bytes, (round % 6).into()),
                );
            }
        });
        let threads: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..60 {
                        let mut resolver = resolver(&files, &store);
                        assert_eq!(resolver.open_all(), 6);
                        for number in 0..6 {
                            let found = resolver.lookup(first(number)).unwrap();
                            assert_eq!(found.index().input_size(), number);
                            assert_eq!(found.symbol().name(), *b"function_0");
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        disturb.join().unwrap();
    });
    store.evict_unused();
    assert_eq!((store.open_count(), store.open_bytes()), (0, 0));
}
