//! Resolvers: making them, opening what they need, and what they hold.

use core::ffi::c_char;
use core::fmt::Write as _;

use symidx::process::{Resolver, Unknown};

use super::memory::{self, Buffer, Place, Structs};
use super::{fail, settle, some};
use super::{symidx_index, symidx_modules, symidx_resolver, symidx_store};
use crate::status::symidx_status::{self, *};
use crate::types::symidx_budget;

/// Makes a resolver for modules, with the indexes of a store; opens none yet.
/// Both are shared or copied: the caller keeps the handles and may free them.
///
/// ```c
/// symidx_resolver *resolver;
/// symidx_resolver_new(modules, store, &resolver);
/// symidx_resolver_open_all(resolver, NULL); // or symidx_resolver_open_for
/// symidx_resolver_free(resolver);
/// ```
///
/// Threads: any. Signals: no.
///
/// # Safety
/// Modules and store are this library's; `resolver` points to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_new(
    modules: Option<&symidx_modules>,
    store: Option<&symidx_store>,
    resolver: *mut *mut symidx_resolver,
) -> symidx_status {
    // SAFETY: the caller's variable, as the contract says.
    let place = unsafe { Place::new(resolver) };
    settle(|| {
        let mut place = place?;
        place.set(core::ptr::null_mut());
        let made = Resolver::new(some(modules)?.0.clone(), some(store)?.0.clone());
        place.set(Box::into_raw(Box::new(symidx_resolver(made))));
        Ok(SYMIDX_OK)
    })
}

/// Frees a resolver; NULL is fine.
///
/// ```c
/// symidx_resolver *resolver;
/// symidx_resolver_new(modules, store, &resolver);
/// symidx_resolver_free(resolver); // the store keeps what others use
/// ```
///
/// Threads: when no other call uses it. Signals: no; block or stop those whose
/// handlers use it before. Lifetime: every text from it ends.
///
/// # Safety
/// The resolver is one that this library made and nobody freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_free(resolver: Option<Box<symidx_resolver>>) {
    drop(resolver);
}

/// Captures the modules again if libraries were loaded or unloaded since;
/// `changed` (may be NULL) tells. Indexes that are open stay open, those of new
/// modules are not yet.
///
/// ```c
/// bool changed; // before each profile
/// symidx_resolver_update(resolver, &changed, NULL, 0);
/// if (changed)
///     symidx_resolver_open_all(resolver, NULL);
/// ```
///
/// Threads: when no other call uses the resolver. Signals: no, and none that use
/// the resolver may come meanwhile. Lifetime: where modules changed, every text
/// from the resolver ends.
///
/// # Safety
/// The resolver is this library's; `changed` points to a variable, `message` (may
/// be NULL) to `message_capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_update(
    resolver: Option<&mut symidx_resolver>,
    changed: *mut bool,
    message: *mut c_char,
    message_capacity: usize,
) -> symidx_status {
    // SAFETY: the caller's variable and buffer, as the contract says.
    let (changed, message) =
        unsafe { (Place::optional(changed), Buffer::message(message, message_capacity)) };
    settle(|| {
        let (resolver, mut changed, mut message) = (some(resolver)?, changed?, message?);
        match resolver.0.update() {
            Ok(is) => changed.set(is),
            Err(error) => return Err(fail(&mut message, SYMIDX_ERROR_IO, &error)),
        }
        Ok(SYMIDX_OK)
    })
}

/// Opens the indexes that these addresses need, those with most addresses first,
/// so that a bound on memory costs least. `open` (may be NULL) takes how many of
/// them are open then; symidx_resolver_missing tells why others are not.
///
/// ```c
/// const uint64_t stack[] = {0x5555000001a8, 0x555500000225}; // all stacks' addresses
/// size_t open;
/// symidx_resolver_open_for(resolver, stack, 2, &open);
/// assert(open == 1); // one module has them all
/// ```
///
/// Threads: when no other call uses the resolver. Signals: no, and none that use
/// the resolver may come meanwhile. A store that maps needs no heap.
///
/// # Safety
/// The resolver is this library's; `addresses` points to `count` addresses, `open`
/// to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_open_for(
    resolver: Option<&mut symidx_resolver>,
    addresses: *const u64,
    count: usize,
    open: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let (addresses, open) = unsafe { (memory::list(addresses, count), Place::optional(open)) };
    settle(|| {
        let (resolver, addresses, mut open) = (some(resolver)?, addresses?, open?);
        open.set(resolver.0.open_for(addresses));
        Ok(SYMIDX_OK)
    })
}

/// Opens the index of every module that has one. As symidx_resolver_open_for.
///
/// ```c
/// size_t open;
/// symidx_resolver_open_all(resolver, &open);
/// printf("%zu of %u\n", open, symidx_modules_count(modules)); // prints 1 of 1
/// ```
///
/// Threads: when no other call uses the resolver. Signals: no, and none that use
/// the resolver may come meanwhile.
///
/// # Safety
/// The resolver is this library's; `open` points to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_open_all(
    resolver: Option<&mut symidx_resolver>,
    open: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's variable, as the contract says.
    let open = unsafe { Place::optional(open) };
    settle(|| {
        let (resolver, mut open) = (some(resolver)?, open?);
        open.set(resolver.0.open_all());
        Ok(SYMIDX_OK)
    })
}

/// Adds an index for the run-time addresses `first` to `last`, moved by `bias`
/// (run-time address - svma): code made at run time, the kernel. It answers where
/// no file does.
///
/// ```c
/// symidx_index *kernel; // of /proc/kallsyms, which has run-time addresses: bias 0
/// symidx_symbol symbol = {.size = sizeof symbol};
/// symidx_open_read("kallsyms.symidx", &kernel, NULL, 0);
/// symidx_resolver_add_index(resolver, 1ULL << 63, UINT64_MAX, 0, kernel);
/// assert(symidx_resolver_lookup(resolver, 0xffffffff81001010, &symbol) == SYMIDX_OK);
/// ```
///
/// Threads: when no other call uses the resolver. Signals: no, and none that use
/// the resolver may come meanwhile. Lifetime: on SYMIDX_OK the index is the
/// resolver's, and the caller's handle ends; texts from it stay.
///
/// # Safety
/// The resolver is this library's; the index is one that it opened and nobody
/// closed or gave away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_add_index(
    resolver: Option<&mut symidx_resolver>,
    first: u64,
    last: u64,
    bias: u64,
    index: *mut symidx_index,
) -> symidx_status {
    settle(|| {
        let resolver = some(resolver)?;
        if index.is_null() {
            return Err(SYMIDX_ERROR_NULL);
        }
        if first > last {
            return Err(SYMIDX_ERROR_ARGUMENT);
        }
        // SAFETY: an open index came from `Box::into_raw`, and the caller gives it away.
        let index = unsafe { Box::from_raw(index) };
        resolver.0.add_index(first..=last, bias, index.0);
        Ok(SYMIDX_OK)
    })
}

/// Takes away the indexes that symidx_resolver_add_index added, and closes them.
///
/// ```c
/// symidx_index *jit; // of /tmp/perf-PID.map, which has grown since
/// symidx_open_read("jit.symidx", &jit, NULL, 0);
/// symidx_resolver_clear_added(resolver);
/// symidx_resolver_add_index(resolver, 0, UINT64_MAX, 0, jit);
/// ```
///
/// Threads: when no other call uses the resolver. Signals: no, and none that use
/// the resolver may come meanwhile. Lifetime: texts from those indexes, and
/// pointers to them in answers, end.
///
/// # Safety
/// The resolver is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_clear_added(
    resolver: Option<&mut symidx_resolver>,
) -> symidx_status {
    settle(|| {
        some(resolver)?.0.clear_added();
        Ok(SYMIDX_OK)
    })
}

/// The modules of the resolver; NULL for NULL.
///
/// ```c
/// const symidx_modules *modules = symidx_resolver_modules(resolver);
/// symidx_location location = {.size = sizeof location};
/// assert(symidx_modules_find(modules, 0x5555000001a8, &location) == SYMIDX_OK);
/// ```
///
/// Threads: any. Signals: yes. Lifetime: until the resolver is updated or freed;
/// not to be freed.
///
/// # Safety
/// The resolver is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_modules(
    resolver: Option<&symidx_resolver>,
) -> *const symidx_modules {
    resolver.map_or(core::ptr::null(), |resolver| symidx_modules::of(resolver.0.modules()))
}

/// The open index of a module; NULL when there is none.
///
/// ```c
/// const symidx_index *index = symidx_resolver_index(resolver, 0);
/// assert(index == NULL); // not opened yet
/// symidx_resolver_open_all(resolver, NULL);
/// assert(symidx_verify(symidx_resolver_index(resolver, 0), NULL, 0) == SYMIDX_OK);
/// ```
///
/// Threads: any. Signals: yes. Lifetime: until the resolver is updated or freed;
/// not to be closed.
///
/// # Safety
/// The resolver is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_index(
    resolver: Option<&symidx_resolver>,
    module: u32,
) -> *const symidx_index {
    let index = resolver.and_then(|resolver| resolver.0.index(module));
    index.map_or(core::ptr::null(), symidx_index::of)
}

/// Why a module has no open index: SYMIDX_OK when it has one, SYMIDX_NOT_OPENED
/// when it was not looked for, SYMIDX_NONE when there is no such module, else the
/// reason, in full in `message` (may be NULL).
///
/// ```c
/// char message[256];
/// symidx_resolver_open_all(resolver, NULL);
/// for (uint32_t i = 0; i < symidx_modules_count(modules); i++)
///     if (symidx_resolver_missing(resolver, i, message, sizeof message) != SYMIDX_OK)
///         fprintf(stderr, "%s\n", message);
/// ```
///
/// Threads: any. Signals: yes without a message.
///
/// # Safety
/// The resolver is this library's; `message` points to `message_capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_missing(
    resolver: Option<&symidx_resolver>,
    module: u32,
    message: *mut c_char,
    message_capacity: usize,
) -> symidx_status {
    // SAFETY: the caller's buffer, as the contract says.
    let message = unsafe { Buffer::message(message, message_capacity) };
    settle(|| {
        let (resolver, mut message) = (&some(resolver)?.0, message?);
        if resolver.modules().get(module).is_none() {
            return Ok(SYMIDX_NONE);
        }
        Ok(match resolver.missing(module) {
            Some(missing) => {
                let _ = write!(message, "{missing}");
                message.end();
                missing.into()
            }
            None if resolver.index(module).is_some() => SYMIDX_OK,
            None => Unknown::NotOpened.into(),
        })
    })
}

/// The bound on memory before any lookup: opens every index that the bounds of
/// the store allow (which reads no page of them), and adds up what can become
/// resident.
///
/// ```c
/// symidx_budget budget = {.size = sizeof budget};
/// symidx_resolver_budget(resolver, &budget); // before a job starts
/// printf("%u of %u modules\n", budget.indexed, budget.modules); // prints 1 of 1 modules
/// ```
///
/// Threads: when no other call uses the resolver. Signals: no, and none that use
/// the resolver may come meanwhile.
///
/// # Safety
/// The resolver is this library's; `budget` points to a struct whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_budget(
    resolver: Option<&mut symidx_resolver>,
    budget: *mut symidx_budget,
) -> symidx_status {
    // SAFETY: the caller's struct, as the contract says.
    let budget = unsafe { Structs::one(budget) };
    settle(|| {
        let (resolver, mut budget) = (some(resolver)?, budget?);
        let found = resolver.0.budget();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let indexed = found.modules.iter().filter(|module| module.index.is_ok()).count();
        budget.write(
            0,
            &symidx_budget {
                size: 0,
                modules: count(found.modules.len()),
                indexed: count(indexed),
                reserved: 0,
                anonymous_bytes: found.anonymous_bytes,
                mapped_bytes: found.mapped_bytes,
            },
        );
        Ok(SYMIDX_OK)
    })
}
