//! Processes: this one and others, with indexes that are built here.
#![cfg(target_os = "linux")]
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use symidx::process::{Missing, ModuleKind, Modules, Resolver, Store, Unknown};
use symidx_indexer::input::kallsyms::running::kernel_build_id;
use symidx_indexer::store::{self, FileState};
use symidx_indexer::{BuildOptions, build_file};

/// The file and symbol that the loader has for an address.
fn dladdr(address: u64) -> (PathBuf, Option<String>) {
    // SAFETY: an all-zero record is one; the call fills it in.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let pointer = std::ptr::with_exposed_provenance(usize::try_from(address).unwrap());
    // SAFETY: any address may be asked for.
    assert_ne!(unsafe { libc::dladdr(pointer, &raw mut info) }, 0);
    let text = |pointer: *const libc::c_char| {
        // SAFETY: the loader's strings stay while the library does.
        (!pointer.is_null())
            .then(|| unsafe { CStr::from_ptr(pointer) }.to_str().unwrap().to_owned())
    };
    (text(info.dli_fname).unwrap().into(), text(info.dli_sname))
}

/// A function of libc, by its run-time address.
fn in_libc(name: &CStr) -> u64 {
    // SAFETY: the name ends in NUL.
    let pointer = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    assert!(!pointer.is_null());
    u64::try_from(pointer.addr()).unwrap()
}

fn libc_path() -> PathBuf {
    dladdr(in_libc(c"qsort")).0
}

fn build(input: &Path, output: &Path) {
    let options = BuildOptions { names_only: true, ..BuildOptions::default() };
    build_file(input, output, &options).unwrap();
}

fn empty() -> Store {
    Store::read().without_default_places()
}

/// `DIR/.build-id/xx/yyyy.symidx` for libc.
fn publish_libc(directory: &Path) {
    let modules = Modules::capture();
    let libc = modules.find(in_libc(c"qsort")).unwrap().module();
    let id = libc.id().unwrap().to_string();
    let place = directory.join(".build-id").join(&id[..2]);
    std::fs::create_dir_all(&place).unwrap();
    build(libc.path(), &place.join(format!("{}.symidx", &id[2..])));
}

#[test]
fn addresses_of_this_process_have_the_names_the_loader_has() {
    let directory = tempfile::tempdir().unwrap();
    publish_libc(directory.path());
    let store = Arc::new(empty().with_directory(directory.path()));
    let addresses: Vec<u64> =
        [c"qsort", c"malloc", c"printf", c"strtol"].map(in_libc).into_iter().collect();
    let pid = std::process::id();
    let first = Resolver::new(Modules::capture(), store.clone());
    assert_eq!(first.lookup(addresses[0]).err(), Some(Unknown::NotOpened));
    for modules in [Modules::capture(), Modules::from_pid(pid).unwrap()] {
        let mut resolver = Resolver::new(modules, store.clone());
        assert_eq!(resolver.open_for(&addresses), 1);
        for &address in &addresses {
            for into in [0, 1] {
                let found = resolver.lookup(address + into).unwrap();
                assert_eq!(found.symbol().offset(), into);
                assert!(found.module().unwrap().path().ends_with("libc.so.6"));
            }
            let (_, name) = dladdr(address);
            let symbol = resolver.lookup(address).unwrap().symbol();
            let names: Vec<String> = std::iter::once(symbol.name().to_string())
                .chain(symbol.aliases().map(|alias| alias.unwrap().name().to_string()))
                .collect();
            assert!(names.contains(&name.unwrap()), "{names:?}");
            let frames = resolver.frames(address).unwrap().frames();
            assert_eq!(frames.count(), 1);
        }
    }
    assert_eq!(store.open_count(), 1);
}

#[test]
fn each_reason_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let mut resolver =
        Resolver::new(Modules::capture(), Arc::new(empty().with_directory(directory.path())));
    let qsort = in_libc(c"qsort");
    let local = 0u8;
    let stack = u64::try_from((&raw const local).addr()).unwrap();
    resolver.open_all();
    assert_eq!(resolver.lookup(qsort).err(), Some(Unknown::NoIndex));
    assert_eq!(resolver.lookup(1).err(), Some(Unknown::NoModule));
    assert_eq!(resolver.lookup(stack).err(), Some(Unknown::NoModule));
    // Remembered, until it is forgotten.
    publish_libc(directory.path());
    resolver.open_all();
    assert_eq!(resolver.lookup(qsort).err(), Some(Unknown::NoIndex));
    resolver.store().forget_missing();
    resolver.open_all();
    assert!(resolver.lookup(qsort).is_ok());
    let mut other = Resolver::new(
        Modules::from_pid(std::process::id()).unwrap(),
        Arc::new(empty().with_directory(directory.path()).with_max_bytes(100)),
    );
    other.open_all();
    assert_eq!(other.lookup(qsort).err(), Some(Unknown::OverBudget));
    assert_eq!(other.lookup(stack).err(), Some(Unknown::Anonymous));
    let statistics = other.batch([1, qsort, qsort + 1, stack], |_, _| {});
    assert_eq!(statistics.to_string(), "0 of 4 resolved; no module 1, anonymous 1, over budget 2");
}

#[test]
fn an_index_of_another_build_is_refused_wherever_it_is() {
    let directory = tempfile::tempdir().unwrap();
    // A copy of libc with an index of something else beside it, and with a build-id of its
    // own: the user's cache may well have one of libc.
    let copy = directory.path().join("libc-copy.so");
    let modules = Modules::capture();
    let id = modules.find(in_libc(c"qsort")).unwrap().module().id().unwrap().as_bytes().to_vec();
    let mut bytes = std::fs::read(libc_path()).unwrap();
    let at = bytes.windows(id.len()).position(|window| window == id).unwrap();
    bytes[at] ^= 0xff;
    std::fs::write(&copy, bytes).unwrap();
    build(&std::env::current_exe().unwrap(), &directory.path().join("libc-copy.so.symidx"));
    let text = format!("10000-20000 r-xp 00000000 00:00 0 {}\n", copy.display());
    let mut resolver =
        Resolver::new(Modules::from_maps(text.as_bytes()).unwrap(), Arc::new(Store::read()));
    resolver.open_all();
    assert_eq!(resolver.lookup(0x10010).err(), Some(Unknown::StaleIndex));
    assert!(matches!(resolver.missing(0), Some(Missing::Stale { .. })));
    // Its own is taken.
    build(&copy, &directory.path().join("libc-copy.so.symidx"));
    resolver.store().forget_missing();
    assert_eq!(resolver.open_all(), 1);
}

#[test]
fn a_file_without_an_id_is_matched_by_content_or_by_its_link() {
    let directory = tempfile::tempdir().unwrap();
    let binary = directory.path().join("app");
    std::fs::write(directory.path().join("app.c"), "int main(void) { return 0; }").unwrap();
    let done = std::process::Command::new("cc")
        .args(["-Wl,--build-id=none", "-o"])
        .args([&binary, &directory.path().join("app.c")])
        .status();
    assert!(done.unwrap().success());
    let index = directory.path().join("app.symidx");
    build(&binary, &index);
    let text = format!("10000-20000 r-xp 00000000 00:00 0 {}\n", binary.display());
    let open = |store: Store| {
        let modules = Modules::from_maps(text.as_bytes()).unwrap();
        let mut resolver = Resolver::new(modules, Arc::new(store));
        resolver.open_all();
        resolver.missing(0)
    };
    assert_eq!(open(Store::read()), None, "beside, by its content");
    // The same size, another content.
    let mut bytes = std::fs::read(&binary).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&binary, &bytes).unwrap();
    assert!(matches!(open(Store::read()), Some(Missing::Stale { .. })));
    // By the link that whoever builds makes: both sides have to name it alike, also
    // for a file from before 1970.
    let elsewhere = directory.path().join("elsewhere.symidx");
    build(&binary, &elsewhere);
    for date in ["now", "1969-12-31 23:59:58.5"] {
        let touched = std::process::Command::new("touch").arg("-d").arg(date).arg(&binary).status();
        assert!(touched.unwrap().success());
        let store = empty().with_directory(directory.path());
        assert_eq!(open(store), Some(Missing::NotFound), "no link yet");
        let state = FileState::of(&binary.metadata().unwrap()).unwrap();
        state.publish(directory.path(), &elsewhere).unwrap();
        let store = empty().with_directory(directory.path());
        assert_eq!(open(store), None, "by its link, {date}");
    }
    std::fs::write(&binary, b"another file").unwrap();
    let store = empty().with_directory(directory.path());
    assert_eq!(open(store), Some(Missing::NotFound), "the link is that of the old file");
}

#[test]
fn an_index_in_a_section_of_the_binary_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let (index, app) = (directory.path().join("x.symidx"), directory.path().join("libc.so"));
    build(&libc_path(), &index);
    let done = std::process::Command::new("objcopy")
        .arg(format!("--add-section=.symidx={}", index.display()))
        .args([&libc_path(), &app])
        .status();
    match done {
        Ok(status) if status.success() => {}
        _ => {
            eprintln!("SKIPPED: objcopy is missing (package binutils); embedded indexes untested");
            return;
        }
    }
    let text = format!("10000-300000 r-xp 00000000 00:00 0 {}\n", app.display());
    let modules = Modules::from_maps(text.as_bytes()).unwrap();
    // SAFETY: nobody changes the files of this test.
    let mut resolver = Resolver::new(modules, Arc::new(unsafe { Store::mapped() }));
    assert_eq!(resolver.open_all(), 1);
    let symbols = resolver.index(0).unwrap().symbol_count();
    assert!(symbols > 1000, "{symbols}");
}

#[test]
fn modules_of_this_process_are_the_same_from_inside_and_outside() {
    let inside = Modules::capture();
    let outside = Modules::from_pid(std::process::id()).unwrap();
    let mut compared = 0;
    for module in &inside {
        let address = module.range().start + 8;
        let (Some(a), Some(b)) = (inside.find(address), outside.find(address)) else {
            continue;
        };
        assert_eq!(a.module().id(), b.module().id(), "{}", module.path().display());
        assert_eq!(a.svma(), b.svma(), "{}", module.path().display());
        if a.module().kind() == ModuleKind::File {
            assert_eq!(a.file_offset(), b.file_offset());
            let path = a.module().path().canonicalize().unwrap();
            assert_eq!(path, b.module().path());
        }
        compared += 1;
    }
    assert!(compared >= 4, "{compared}");
    assert!(inside.iter().any(|module| module.kind() == ModuleKind::Vdso && module.id().is_some()));
    assert!(!inside.changed().unwrap());
    assert!(!outside.changed().unwrap());
}

/// The place of a kernel's index by its build-id was written to, and looked into by
/// the command alone.
#[test]
fn the_running_kernel_is_found_by_its_build_id() {
    let kallsyms = Path::new("/proc/kallsyms");
    let first = std::fs::read_to_string(kallsyms).unwrap_or_default();
    let first = first.lines().next().and_then(|line| line.split_once(' '));
    let address = first.and_then(|(address, _)| u64::from_str_radix(address, 16).ok());
    let (Some(id), Some(address)) = (kernel_build_id(), address.filter(|&address| address != 0))
    else {
        eprintln!("SKIPPED: the kernel hides its build-id or its addresses");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let place = store::place(directory.path(), &id, store::Kind::Kallsyms);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    let store = Arc::new(empty().with_directory(directory.path()));
    let mut resolver = Resolver::new(Modules::capture(), store.clone());
    assert_eq!(resolver.open_kernel(), Err(Missing::NotFound));
    assert_eq!(resolver.lookup(address).err(), Some(Unknown::NoModule));
    build(kallsyms, &place);
    let before = resolver.budget().anonymous_bytes;
    for _ in 0..2 {
        assert_eq!(resolver.open_kernel(), Ok(()));
        let found = resolver.lookup(address).unwrap();
        assert_eq!(found.symbol().start().0, address);
        let more = resolver.budget().anonymous_bytes - before;
        let size = place.metadata().unwrap().len();
        assert!((size..size + 8192).contains(&more), "{more} bytes for an index of {size}");
    }
    assert_eq!(resolver.lookup(1 << 62).err(), Some(Unknown::NoModule));
    // The same build as it ran before the last boot: other addresses under the same id.
    let text = std::fs::read_to_string(kallsyms).unwrap();
    let old: String = text.lines().skip(1).map(|line| format!("{line}\n")).collect();
    let old_text = directory.path().join("kallsyms");
    std::fs::write(&old_text, old).unwrap();
    build(&old_text, &place);
    let stale = store.find_kernel().err();
    assert!(matches!(stale, Some(Missing::Stale { .. })), "{stale:?}");
}
