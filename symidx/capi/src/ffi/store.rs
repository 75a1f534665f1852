//! Stores: where the indexes of modules are found.

use core::ffi::c_char;
use std::sync::Arc;

use symidx::process::{Id, Store};

use super::memory::{self, Buffer, Place};
use super::{Outcome, fail, settle, some, symidx_index, symidx_store};
use crate::status::symidx_status::{self, *};

/// Read indexes into memory instead of mapping them: where others may write to
/// the places of the store.
pub const SYMIDX_STORE_READ: u32 = 1;
/// Look in added directories only: not beside or in binaries, not where the
/// environment says.
pub const SYMIDX_STORE_ONLY_ADDED: u32 = 2;

/// Makes a store. It takes an index only if it is of the same build as the module,
/// by build-id or UUID, or where a file has none by the hash of its content, and
/// looks in this order: beside the binary (`app.symidx`); in it (ELF section
/// `.symidx`); directories added by symidx_store_add_directory, then those of
/// `$SYMIDX_PATH`, as `.build-id/xx/yyyy.symidx`; the user's cache
/// (`$XDG_CACHE_HOME/symidx`, else `~/.cache/symidx`); perf's cache (`~/.debug`).
///
/// `flags`: SYMIDX_STORE_* or 0. Without SYMIDX_STORE_READ, indexes are mapped,
/// with the promise of symidx_open_map for every place of the store.
///
/// ```c
/// symidx_store *store; // for a service whose index files others may write to
/// if (symidx_store_new(SYMIDX_STORE_READ, &store) == SYMIDX_OK)
///     symidx_store_free(store);
/// ```
///
/// Threads: any. Signals: no.
///
/// # Safety
/// `store` points to a variable; files of mapped indexes do not change while
/// they are open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_store_new(
    flags: u32,
    store: *mut *mut symidx_store,
) -> symidx_status {
    // SAFETY: the caller's variable, as the contract says.
    let place = unsafe { Place::new(store) };
    settle(|| {
        let mut place = place?;
        place.set(core::ptr::null_mut());
        if flags & !(SYMIDX_STORE_READ | SYMIDX_STORE_ONLY_ADDED) != 0 {
            return Err(SYMIDX_ERROR_ARGUMENT);
        }
        let mut store = match flags & SYMIDX_STORE_READ {
            // SAFETY: the caller promises that files of indexes do not change.
            0 => unsafe { Store::mapped() },
            _ => Store::read(),
        };
        if flags & SYMIDX_STORE_ONLY_ADDED != 0 {
            store = store.without_default_places();
        }
        place.set(Box::into_raw(Box::new(symidx_store(Arc::new(store)))));
        Ok(SYMIDX_OK)
    })
}

/// Frees a store; NULL is fine. Resolvers that use it keep what they need.
///
/// ```c
/// symidx_store *store;
/// symidx_store_new(0, &store);
/// symidx_resolver_new(modules, store, &resolver); // holds the store, too
/// symidx_store_free(store);
/// ```
///
/// Threads: when no other call uses this handle. Signals: no.
///
/// # Safety
/// The store is one that this library made and nobody freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_store_free(store: Option<Box<symidx_store>>) {
    drop(store);
}

/// Looks in a directory too, before those of the environment. `path` ends in NUL.
/// SYMIDX_ERROR_IN_USE once a resolver has the store.
///
/// ```c
/// symidx_store *store; // what it holds: symidx build --store /var/lib/symidx
/// symidx_store_new(0, &store);
/// symidx_store_add_directory(store, "/var/lib/symidx");
/// ```
///
/// Threads: when no other call uses the store. Signals: no. Lifetime: a copy.
///
/// # Safety
/// The store is one of this library; `path` ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_store_add_directory(
    store: Option<&mut symidx_store>,
    path: *const c_char,
) -> symidx_status {
    // SAFETY: the caller's path, as the contract says.
    let path = unsafe { memory::path(path) };
    settle(|| change(store, path?, |store, path| store.with_directory(path)))
}

/// Keeps at most so many indexes open, of so many bytes in all (mapped ones in
/// whole pages); UINT64_MAX = no bound. Indexes past a bound are
/// SYMIDX_OVER_BUDGET. Without this call: 4096, and no bound on bytes.
/// SYMIDX_ERROR_IN_USE once a resolver has the store.
///
/// ```c
/// symidx_store *store;
/// symidx_store_new(0, &store);
/// symidx_store_set_bounds(store, 100, 64 << 20); // indexes, bytes
/// ```
///
/// Threads: when no other call uses the store. Signals: no.
///
/// # Safety
/// The store is one of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_store_set_bounds(
    store: Option<&mut symidx_store>,
    max_open: u64,
    max_bytes: u64,
) -> symidx_status {
    settle(|| {
        let max_open = usize::try_from(max_open).unwrap_or(usize::MAX);
        change(store, (), |store, ()| store.with_max_open(max_open).with_max_bytes(max_bytes))
    })
}

fn change<T>(
    store: Option<&mut symidx_store>,
    with: T,
    change: impl FnOnce(Store, T) -> Store,
) -> Outcome {
    let store = Arc::get_mut(&mut some(store)?.0).ok_or(SYMIDX_ERROR_IN_USE)?;
    let before = core::mem::replace(store, Store::read());
    *store = change(before, with);
    Ok(SYMIDX_OK)
}

/// Finds the index of a file that a profile names, and opens it for the caller
/// alone: close it with symidx_close; the store neither keeps nor counts it. The
/// file need not be there. `id` is what the profile says its build-id or UUID is;
/// NULL and 0: the file is asked. Why there is none is the status, and in full in
/// `message` (may be NULL).
///
/// ```c
/// symidx_index *index; // by the id that the file has
/// if (symidx_store_find(store, "app", NULL, 0, &index, NULL, 0) == SYMIDX_OK)
///     symidx_close(index);
/// ```
///
/// Threads: any. Signals: no. Lifetime: the index is the caller's.
///
/// # Safety
/// The store is one of this library; `path` ends in NUL, `id` points to `id_length`
/// bytes, `index` to a variable, `message` to `message_capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_store_find(
    store: Option<&symidx_store>,
    path: *const c_char,
    id: *const u8,
    id_length: usize,
    index: *mut *mut symidx_index,
    message: *mut c_char,
    message_capacity: usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let (path, id, place, message) = unsafe {
        (
            memory::path(path),
            memory::list(id, id_length),
            Place::new(index),
            Buffer::message(message, message_capacity),
        )
    };
    settle(|| {
        let (mut place, mut message) = (place?, message?);
        place.set(core::ptr::null_mut());
        let (store, path) = (some(store)?, path?);
        let id = match id? {
            [] => None,
            id => Some(Id::new(id).ok_or(SYMIDX_ERROR_ARGUMENT)?),
        };
        match store.0.find(path, id.as_ref()) {
            Ok(index) => {
                place.set(Box::into_raw(Box::new(symidx_index(index))));
                Ok(SYMIDX_OK)
            }
            Err(missing) => Ok(fail(&mut message, missing.into(), &missing)),
        }
    })
}

/// How many indexes are open, and their bytes, mapped ones in whole pages: what
/// can be resident of them at most. Either pointer may be NULL.
///
/// ```c
/// uint64_t open, bytes; // to be shown beside other caches
/// symidx_resolver_open_all(resolver, NULL);
/// symidx_store_usage(store, &open, &bytes);
/// assert(open == 1 && bytes >= 3213);
/// ```
///
/// Threads: any. Signals: no (takes a lock).
///
/// # Safety
/// The store is one of this library; the pointers point to variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_store_usage(
    store: Option<&symidx_store>,
    open: *mut u64,
    bytes: *mut u64,
) -> symidx_status {
    // SAFETY: the caller's variables, as the contract says.
    let (open, bytes) = unsafe { (Place::optional(open), Place::optional(bytes)) };
    settle(|| {
        let (store, mut open, mut bytes) = (&some(store)?.0, open?, bytes?);
        open.set(u64::try_from(store.open_count()).unwrap_or(u64::MAX));
        bytes.set(store.open_bytes());
        Ok(SYMIDX_OK)
    })
}

/// Lets go of the index of a build, by its build-id or UUID: it closes once no
/// resolver uses it any more, and resolvers made from now on look for it anew.
/// SYMIDX_NONE when the store does not know it.
///
/// ```c
/// // A new index of this build was published: new resolvers take it.
/// const uint8_t id[] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
/// assert(symidx_store_evict(store, id, sizeof id) == SYMIDX_OK);
/// ```
///
/// Threads: any. Signals: no (takes a lock).
///
/// # Safety
/// The store is one of this library; `id` points to `id_length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_store_evict(
    store: Option<&symidx_store>,
    id: *const u8,
    id_length: usize,
) -> symidx_status {
    // SAFETY: the caller's bytes, as the contract says.
    let id = unsafe { memory::some_bytes(id.cast(), id_length) };
    settle(|| {
        let store = some(store)?;
        let id = Id::new(id?).ok_or(SYMIDX_ERROR_ARGUMENT)?;
        Ok(if store.0.evict(&id) { SYMIDX_OK } else { SYMIDX_NONE })
    })
}

/// Closes every index that no resolver uses; `closed` (may be NULL) takes how many.
///
/// ```c
/// size_t closed;
/// symidx_resolver_open_all(resolver, NULL);
/// symidx_resolver_free(resolver); // its process has ended
/// symidx_store_evict_unused(store, &closed);
/// assert(closed == 1);
/// ```
///
/// Threads: any. Signals: no (takes a lock).
///
/// # Safety
/// The store is one of this library; `closed` points to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_store_evict_unused(
    store: Option<&symidx_store>,
    closed: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's variable, as the contract says.
    let closed = unsafe { Place::optional(closed) };
    settle(|| {
        let (store, mut closed) = (some(store)?, closed?);
        closed.set(store.0.evict_unused());
        Ok(SYMIDX_OK)
    })
}

/// Forgets what was not found, so that it is looked for again: when indexes
/// were added.
///
/// ```c
/// symidx_store_forget_missing(store); // after symidx build --store
/// symidx_resolver_open_all(resolver, NULL); // finds what was built since
/// ```
///
/// Threads: any. Signals: yes.
///
/// # Safety
/// The store is one of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_store_forget_missing(
    store: Option<&symidx_store>,
) -> symidx_status {
    settle(|| {
        some(store)?.0.forget_missing();
        Ok(SYMIDX_OK)
    })
}
