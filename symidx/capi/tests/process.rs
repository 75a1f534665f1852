//! Modules, stores and resolvers answer as the library does for this process.
#![cfg(target_os = "linux")]
#![allow(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "calls as C makes them; a test that goes wrong should stop"
)]

mod common;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use common::Installed;
use symidx::process::{Modules, Resolver, Store};
use symidx_capi::ffi::index::*;
use symidx_capi::ffi::modules::*;
use symidx_capi::ffi::resolve::*;
use symidx_capi::ffi::resolver::*;
use symidx_capi::ffi::store::*;
use symidx_capi::ffi::{symidx_modules, symidx_resolver, symidx_store};
use symidx_capi::status::symidx_status as S;
use symidx_capi::types::*;

fn fresh<T>() -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    unsafe {
        value.as_mut_ptr().cast::<u32>().write(u32::try_from(size_of::<T>()).unwrap());
        value.assume_init()
    }
}

fn bytes_of<'a>(text: symidx_text) -> &'a [u8] {
    match text.data.is_null() {
        true => &[],
        false => unsafe { std::slice::from_raw_parts(text.data.cast(), text.length) },
    }
}

/// A store, modules and a resolver, freed in the end.
struct Handles {
    store: *mut symidx_store,
    modules: *mut symidx_modules,
    resolver: *mut symidx_resolver,
}

impl Handles {
    fn new(directory: &Path, set_up: impl FnOnce(Option<&mut symidx_store>)) -> Self {
        let mut handles = Self { store: null_mut(), modules: null_mut(), resolver: null_mut() };
        let directory = CString::new(directory.as_os_str().as_bytes()).unwrap();
        unsafe {
            let status = symidx_store_new(SYMIDX_STORE_ONLY_ADDED, &mut handles.store);
            assert_eq!(status, S::SYMIDX_OK);
            let status = symidx_store_add_directory(handles.store.as_mut(), directory.as_ptr());
            assert_eq!(status, S::SYMIDX_OK);
            set_up(handles.store.as_mut());
            assert_eq!(symidx_modules_capture(&mut handles.modules), S::SYMIDX_OK);
            let (modules, store) = (handles.modules.as_ref(), handles.store.as_ref());
            let status = symidx_resolver_new(modules, store, &mut handles.resolver);
            assert_eq!(status, S::SYMIDX_OK);
        }
        handles
    }

    fn shared(&self) -> Option<&symidx_resolver> {
        unsafe { self.resolver.as_ref() }
    }

    fn alone(&mut self) -> Option<&mut symidx_resolver> {
        unsafe { self.resolver.as_mut() }
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        unsafe {
            symidx_modules_free(Some(Box::from_raw(self.modules)));
            symidx_store_free(Some(Box::from_raw(self.store)));
            symidx_resolver_free(Some(Box::from_raw(self.resolver)));
        }
    }
}

/// Addresses all over libc, and some that are in no code.
fn addresses() -> Vec<u64> {
    let modules = Modules::capture();
    let libc = modules.iter().find(|module| module.path().ends_with("libc.so.6")).unwrap();
    let range = libc.range();
    let mut addresses: Vec<u64> = range.step_by(997).collect();
    let local = 0u8;
    addresses.extend([0, 1, 4096, u64::MAX, (&raw const local).addr() as u64]);
    addresses.push(self::addresses as fn() -> Vec<u64> as usize as u64);
    addresses.sort_unstable();
    addresses
}

fn reference(directory: &Path) -> Resolver {
    let store = Store::read().without_default_places().with_directory(directory);
    let mut resolver = Resolver::new(Modules::capture(), Arc::new(store));
    resolver.open_all();
    resolver
}

#[test]
fn resolvers_answer_as_the_library() {
    let installed = Installed::nothing();
    let directory = installed.store_with_libc();
    let reference = reference(&directory);
    let mut handles = Handles::new(&directory, |_| ());
    let addresses = addresses();
    let mut symbol: symidx_symbol = fresh();
    let libc = *addresses.iter().find(|&&address| reference.lookup(address).is_ok()).unwrap();
    unsafe {
        let status = symidx_resolver_lookup(handles.shared(), libc, &mut symbol);
        assert_eq!(status, S::SYMIDX_NOT_OPENED);
        let mut open = 0;
        let (first, count) = (addresses.as_ptr(), addresses.len());
        let status = symidx_resolver_open_for(handles.alone(), first, count, &mut open);
        assert_eq!((status, open), (S::SYMIDX_OK, 1));
        let status = symidx_resolver_open_all(handles.alone(), &mut open);
        assert_eq!((status, open), (S::SYMIDX_OK, 1));
    }
    let mut batch: Vec<symidx_symbol> = addresses.iter().map(|_| fresh()).collect();
    let mut statistics: symidx_statistics = fresh();
    let status = unsafe {
        let (first, count) = (addresses.as_ptr(), addresses.len());
        symidx_resolver_batch(handles.shared(), first, count, batch.as_mut_ptr(), &mut statistics)
    };
    assert_eq!(status, S::SYMIDX_OK);
    let mut resolved = 0;
    for (&address, batched) in addresses.iter().zip(&batch) {
        for back in [0, 1] {
            let (status, expected) = match back {
                0 => unsafe {
                    let status = symidx_resolver_lookup(handles.shared(), address, &mut symbol);
                    (status, reference.lookup(address))
                },
                _ => unsafe {
                    let status =
                        symidx_resolver_lookup_return(handles.shared(), address, &mut symbol);
                    (status, reference.lookup_return(address))
                },
            };
            let located = reference.modules().find(address.saturating_sub(back));
            let number = located.map_or(SYMIDX_NO_NUMBER, |located| located.number());
            assert_eq!((symbol.status, symbol.module), (status, number), "{address:#x}");
            match expected {
                Ok(expected) => {
                    assert_eq!(status, S::SYMIDX_OK);
                    assert_eq!(bytes_of(symbol.name), expected.symbol().name().as_bytes().unwrap());
                    assert_eq!(symbol.address, expected.svma().0);
                    assert_eq!(symbol.start, expected.symbol().start().0);
                    resolved += 1 - back;
                }
                Err(reason) => assert_eq!(status, S::from(reason)),
            }
            if back == 0 {
                assert_eq!(batched.status, status);
                assert_eq!(bytes_of(batched.name), bytes_of(symbol.name));
                assert_eq!((batched.module, batched.address), (symbol.module, symbol.address));
            }
        }
        let mut frames: [symidx_frame; 8] = std::array::from_fn(|_| fresh());
        let mut count = 99;
        let status = unsafe {
            let first = frames.as_mut_ptr();
            symidx_resolver_frames(handles.shared(), address, &mut symbol, first, 8, &mut count)
        };
        match reference.frames(address) {
            Ok(expected) => {
                assert_eq!((status, count), (S::SYMIDX_OK, expected.frames().count()));
                let function = expected.frames().next().unwrap().unwrap().function().unwrap();
                assert_eq!(bytes_of(frames[0].function), function.as_bytes().unwrap());
                assert_eq!(bytes_of(symbol.name), bytes_of(frames[count - 1].function));
            }
            Err(reason) => assert_eq!((status, count), (S::from(reason), 0)),
        }
    }
    assert!(resolved > 100, "{resolved} addresses have names");
    assert_eq!(statistics.resolved, resolved);
    assert_eq!(statistics.addresses, addresses.len() as u64);
    assert!(statistics.no_module > 0 && statistics.no_index > 0 && statistics.gap > 0);
    let rest = statistics.no_module + statistics.no_index + statistics.gap + statistics.anonymous;
    assert_eq!(statistics.resolved + rest, statistics.addresses);
    // Counted on top, not anew.
    unsafe {
        let first = batch.as_mut_ptr();
        symidx_resolver_batch(handles.shared(), &libc, 1, first, &mut statistics);
    }
    assert_eq!(statistics.resolved, resolved + 1);
}

#[test]
fn modules_are_those_of_the_library() {
    let expected = Modules::capture();
    let (mut own, mut of_pid, mut of_text) = (null_mut(), null_mut(), null_mut());
    let text = std::fs::read("/proc/self/maps").unwrap();
    unsafe {
        assert_eq!(symidx_modules_capture(&mut own), S::SYMIDX_OK);
        let status = symidx_modules_from_pid(std::process::id(), &mut of_pid, null_mut(), 0);
        assert_eq!(status, S::SYMIDX_OK);
        let (first, length) = (text.as_ptr().cast(), text.len());
        let status = symidx_modules_from_maps(first, length, &mut of_text, null_mut(), 0);
        assert_eq!(status, S::SYMIDX_OK);
        assert_eq!(symidx_modules_count(own.as_ref()) as usize, expected.len());
        for (number, expected) in (0..).zip(&expected) {
            let mut module: symidx_module = fresh();
            assert_eq!(symidx_modules_get(own.as_ref(), number, &mut module), S::SYMIDX_OK);
            assert_eq!(bytes_of(module.path), expected.path().as_os_str().as_bytes());
            assert_eq!(bytes_of(module.file), expected.file().as_os_str().as_bytes());
            assert_eq!(module.start..module.end, expected.range());
            assert_eq!(module.inode, expected.inode().unwrap_or(0));
            match expected.id() {
                Some(id) => {
                    let bytes = std::slice::from_raw_parts(module.id, module.id_length);
                    assert_eq!(bytes, id.as_bytes());
                }
                None => assert!(module.id.is_null() && module.id_length == 0),
            }
        }
        for address in addresses() {
            let mut location: symidx_location = fresh();
            let status = symidx_modules_find(own.as_ref(), address, &mut location);
            let Some(found) = expected.find(address) else {
                assert_eq!(status, S::SYMIDX_NO_MODULE);
                continue;
            };
            assert_eq!((status, location.module), (S::SYMIDX_OK, found.number()));
            assert_eq!(location.svma, found.svma().map_or(0, |svma| svma.0));
            let offset = found.file_offset().map_or(0, |offset| offset.0);
            assert_eq!(location.file_offset, offset);
            let executable = location.flags & SYMIDX_LOCATION_EXECUTABLE != 0;
            assert_eq!(executable, found.is_executable());
            // The three sources tell the same offset in the same file. (Zeroed memory
            // behind a file's data counts on from it for the loader only.)
            for other in [of_pid, of_text].into_iter().filter(|_| executable) {
                let mut also: symidx_location = fresh();
                let status = symidx_modules_find(other.as_ref(), address, &mut also);
                assert_eq!((status, also.file_offset), (S::SYMIDX_OK, offset), "{address:#x}");
            }
        }
        let mut changed = true;
        assert_eq!(symidx_modules_changed(own.as_ref(), &mut changed), S::SYMIDX_OK);
        assert!(!changed);
        for modules in [own, of_pid, of_text] {
            symidx_modules_free(Some(Box::from_raw(modules)));
        }
    }
}

#[test]
fn bounds_reasons_and_budgets_are_told() {
    let installed = Installed::nothing();
    let directory = installed.store_with_libc();
    let reference = reference(&directory);
    let libc = reference.modules().iter().position(|m| m.path().ends_with("libc.so.6")).unwrap();
    let libc = u32::try_from(libc).unwrap();
    // Mapped, an index takes whole pages.
    let mapped = unsafe { Store::mapped() }.without_default_places().with_directory(&directory);
    let mut mapped = Resolver::new(Modules::capture(), Arc::new(mapped));
    let bytes = mapped.budget().mapped_bytes;
    assert!(bytes >= reference.index(libc).unwrap().as_bytes().len() as u64);
    let id = *reference.modules().get(libc).unwrap().id().unwrap();
    let mut message = [0u8; 200];
    let room = message.as_mut_ptr().cast();

    let mut small = Handles::new(&directory, |store| unsafe {
        assert_eq!(symidx_store_set_bounds(store, 10, bytes - 1), S::SYMIDX_OK);
    });
    let mut budget: symidx_budget = fresh();
    unsafe {
        let shared = small.shared();
        assert_eq!(symidx_resolver_missing(shared, libc, room, 200), S::SYMIDX_NOT_OPENED);
        assert_eq!(symidx_resolver_budget(small.alone(), &mut budget), S::SYMIDX_OK);
        assert_eq!((budget.indexed, budget.mapped_bytes), (0, 0));
        let status = symidx_resolver_missing(small.shared(), libc, room, 200);
        assert_eq!(status, S::SYMIDX_OVER_BUDGET);
        let text = CStr::from_ptr(room).to_str().unwrap();
        assert!(text.starts_with(&format!("over budget: its index needs {bytes} bytes")), "{text}");
        assert!(symidx_resolver_index(small.shared(), libc).is_null());
    }

    let mut enough = Handles::new(&directory, |store| unsafe {
        assert_eq!(symidx_store_set_bounds(store, u64::MAX, bytes), S::SYMIDX_OK);
    });
    unsafe {
        assert_eq!(symidx_resolver_budget(enough.alone(), &mut budget), S::SYMIDX_OK);
        assert_eq!((budget.indexed, budget.mapped_bytes), (1, bytes));
        // The same but for the spare room of lists, which copies have not.
        let expected = mapped.budget().anonymous_bytes;
        let close = expected / 2..expected * 2;
        assert!(close.contains(&budget.anonymous_bytes), "{budget:?} {expected}");
        let modules = symidx_resolver_modules(enough.shared());
        assert_eq!(symidx_modules_count(modules.as_ref()), budget.modules);
        let status = symidx_resolver_missing(enough.shared(), libc, room, 200);
        assert_eq!((status, message[0]), (S::SYMIDX_OK, 0));
        let index = symidx_resolver_index(enough.shared(), libc);
        let mut identity: symidx_identity = fresh();
        assert_eq!(symidx_identify(index.as_ref(), &mut identity), S::SYMIDX_OK);
        assert_eq!(&identity.id[..identity.id_length as usize], id.as_bytes());
        // Nothing changed, so nothing is captured again.
        let mut changed = true;
        let status = symidx_resolver_update(enough.alone(), &mut changed, null_mut(), 0);
        assert_eq!((status, changed), (S::SYMIDX_OK, false));
    }

    let (mut open, mut used, mut closed) = (0, 0, 9);
    unsafe {
        let store = enough.store.as_ref();
        assert_eq!(symidx_store_usage(store, &mut open, &mut used), S::SYMIDX_OK);
        assert_eq!((open, used), (1, bytes));
        assert_eq!(symidx_store_evict_unused(store, &mut closed), S::SYMIDX_OK);
        assert_eq!(closed, 0, "a resolver has it");
        let (first, length) = (id.as_bytes().as_ptr(), id.as_bytes().len());
        assert_eq!(symidx_store_evict(store, first, length), S::SYMIDX_OK);
        assert_eq!(symidx_store_evict(store, first, length), S::SYMIDX_NONE);
        assert_eq!(symidx_store_usage(store, &mut open, null_mut()), S::SYMIDX_OK);
        assert_eq!(open, 1, "closed once the resolver goes");
    }
}

#[test]
fn what_was_missing_is_found_when_it_is_forgotten() {
    let installed = Installed::nothing();
    let later = installed.path("store");
    let mut handles = Handles::new(&later, |_| ());
    let mut open = 9;
    unsafe {
        assert_eq!(symidx_resolver_open_all(handles.alone(), &mut open), S::SYMIDX_OK);
        assert_eq!(open, 0);
    }
    assert_eq!(installed.store_with_libc(), later);
    unsafe {
        assert_eq!(symidx_resolver_open_all(handles.alone(), &mut open), S::SYMIDX_OK);
        assert_eq!(open, 0, "remembered");
        assert_eq!(symidx_store_forget_missing(handles.store.as_ref()), S::SYMIDX_OK);
        assert_eq!(symidx_resolver_open_all(handles.alone(), &mut open), S::SYMIDX_OK);
        assert_eq!(open, 1);
    }
}

#[test]
fn the_index_of_a_file_in_a_profile_is_found() {
    let installed = Installed::nothing();
    let directory = installed.store_with_libc();
    let handles = Handles::new(&directory, |_| ());
    let modules = Modules::capture();
    let libc = modules.iter().find(|module| module.path().ends_with("libc.so.6")).unwrap();
    let id = libc.id().unwrap().as_bytes();
    let path = CString::new(libc.path().as_os_str().as_bytes()).unwrap();
    let mut message = [0u8; 200];
    let room = message.as_mut_ptr().cast();
    let other = [7u8; 20];
    for (path, id, expected) in [
        (&*path, id, S::SYMIDX_OK),
        (&*path, &[][..], S::SYMIDX_OK),
        (c"/no/such/file", id, S::SYMIDX_OK),
        (c"/no/such/file", &[][..], S::SYMIDX_NO_INDEX),
        (&*path, &other, S::SYMIDX_NO_INDEX),
        (&*path, &[1u8; 65], S::SYMIDX_ERROR_ARGUMENT),
        (c"", id, S::SYMIDX_ERROR_ARGUMENT),
    ] {
        let mut index = std::ptr::dangling_mut();
        let (first, length) = (id.as_ptr(), id.len());
        let store = unsafe { handles.store.as_ref() };
        let status = unsafe {
            symidx_store_find(store, path.as_ptr(), first, length, &mut index, room, 200)
        };
        assert_eq!(status, expected, "{path:?} {id:x?}");
        assert_eq!(index.is_null(), status != S::SYMIDX_OK);
        assert_eq!(message[0] != 0, status == S::SYMIDX_NO_INDEX);
        if status == S::SYMIDX_OK {
            let mut identity: symidx_identity = fresh();
            unsafe {
                assert_eq!(symidx_identify(index.as_ref(), &mut identity), S::SYMIDX_OK);
                symidx_close(Some(Box::from_raw(index)));
            }
            assert_eq!(&identity.id[..20], libc.id().unwrap().as_bytes());
        }
    }
    let (mut index, path) = (null_mut(), path.as_ptr());
    unsafe {
        let status = symidx_store_find(None, path, null(), 0, &mut index, null_mut(), 0);
        assert_eq!(status, S::SYMIDX_ERROR_NULL);
        let store = handles.store.as_ref();
        let status = symidx_store_find(store, path, null(), 0, null_mut(), null_mut(), 0);
        assert_eq!(status, S::SYMIDX_ERROR_NULL);
        let status = symidx_store_find(store, path, null(), 3, &mut index, null_mut(), 0);
        assert_eq!(status, S::SYMIDX_ERROR_NULL);
    }
}

#[test]
fn an_index_that_is_added_answers_where_no_file_does() {
    let installed = Installed::nothing();
    let mut handles = Handles::new(&installed.path("none"), |_| ());
    let golden = common::crate_file("../../testdata/golden/lines.symidx");
    let path = CString::new(golden.as_os_str().as_bytes()).unwrap();
    let reference = symidx::Index::read(&golden).unwrap();
    let known = reference.symbols().next().unwrap().unwrap();
    let (bias, last) = (0x1000, 0xffff_ffff);
    let address = known.start().0 + bias;
    let mut symbol: symidx_symbol = fresh();
    unsafe {
        let lookup = |handles: &Handles, symbol: &mut symidx_symbol| {
            symidx_resolver_lookup(handles.shared(), address, symbol)
        };
        assert_eq!(lookup(&handles, &mut symbol), S::SYMIDX_NO_MODULE);
        let mut index = null_mut();
        assert_eq!(symidx_open_map(path.as_ptr(), &mut index, null_mut(), 0), S::SYMIDX_OK);
        // Refused, it stays the caller's.
        let status = symidx_resolver_add_index(handles.alone(), 2, 1, 0, index);
        assert_eq!(status, S::SYMIDX_ERROR_ARGUMENT);
        let status = symidx_resolver_add_index(handles.alone(), 0, last, bias, index);
        assert_eq!(status, S::SYMIDX_OK);
        assert_eq!(lookup(&handles, &mut symbol), S::SYMIDX_OK);
        assert_eq!(bytes_of(symbol.name), known.name().as_bytes().unwrap());
        assert_eq!((symbol.module, symbol.address), (SYMIDX_NO_NUMBER, known.start().0));
        // What an answer points to stays where it is when more are added.
        for _ in 0..9 {
            assert_eq!(symidx_open_map(path.as_ptr(), &mut index, null_mut(), 0), S::SYMIDX_OK);
            let status = symidx_resolver_add_index(handles.alone(), 1, 1, 0, index);
            assert_eq!(status, S::SYMIDX_OK);
        }
        let mut again: symidx_symbol = fresh();
        assert_eq!(lookup(&handles, &mut again), S::SYMIDX_OK);
        assert_eq!(again.index, symbol.index);
        assert_eq!(symidx_resolver_clear_added(handles.alone()), S::SYMIDX_OK);
        assert_eq!(lookup(&handles, &mut symbol), S::SYMIDX_NO_MODULE);
    }
}

unsafe extern "C" {
    fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
}

/// Libraries that come and go are noticed, and named from their own index.
#[test]
fn libraries_that_are_loaded_later_are_noticed() {
    if !common::there("cc") {
        return;
    }
    let installed = Installed::nothing();
    let source = installed.path("added.c");
    std::fs::write(&source, "int added(int x) { return x + 42; }\n").unwrap();
    let library = installed.path("libadded.so");
    common::succeed(
        Command::new("cc").args(["-g", "-shared", "-fPIC"]).arg(&source).arg("-o").arg(&library),
    );
    common::index(&library);
    let path = CString::new(library.as_os_str().as_bytes()).unwrap();
    let (mut store, mut modules, mut resolver) = (null_mut(), null_mut(), null_mut());
    let mut symbol: symidx_symbol = fresh();
    let mut changed = false;
    unsafe {
        assert_eq!(symidx_store_new(0, &mut store), S::SYMIDX_OK);
        assert_eq!(symidx_modules_capture(&mut modules), S::SYMIDX_OK);
        let status = symidx_resolver_new(modules.as_ref(), store.as_ref(), &mut resolver);
        assert_eq!(status, S::SYMIDX_OK);
        let handle = dlopen(path.as_ptr(), 2);
        assert!(!handle.is_null());
        let address = dlsym(handle, c"added".as_ptr()).addr() as u64;
        let status = symidx_resolver_lookup(resolver.as_ref(), address, &mut symbol);
        assert_eq!(status, S::SYMIDX_NO_MODULE);
        assert_eq!(symidx_modules_changed(modules.as_ref(), &mut changed), S::SYMIDX_OK);
        assert!(changed);
        changed = false;
        let status = symidx_resolver_update(resolver.as_mut(), &mut changed, null_mut(), 0);
        assert_eq!((status, changed), (S::SYMIDX_OK, true));
        symidx_resolver_open_for(resolver.as_mut(), &address, 1, null_mut());
        let status = symidx_resolver_lookup(resolver.as_ref(), address, &mut symbol);
        assert_eq!((status, bytes_of(symbol.name)), (S::SYMIDX_OK, &b"added"[..]));
        let mut frame: symidx_frame = fresh();
        let resolved = resolver.as_ref();
        symidx_resolver_frames(resolved, address, null_mut(), &mut frame, 1, null_mut());
        assert_eq!((bytes_of(frame.file), frame.line), (&b"added.c"[..], 1));
        assert_eq!(dlclose(handle), 0);
        let status = symidx_resolver_update(resolver.as_mut(), &mut changed, null_mut(), 0);
        assert_eq!((status, changed), (S::SYMIDX_OK, true));
        let status = symidx_resolver_lookup(resolver.as_ref(), address, &mut symbol);
        assert_eq!(status, S::SYMIDX_NO_MODULE);
        symidx_resolver_free(Some(Box::from_raw(resolver)));
        symidx_store_free(Some(Box::from_raw(store)));
        symidx_modules_free(Some(Box::from_raw(modules)));
    }
}
