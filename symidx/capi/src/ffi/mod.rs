//! The exported functions: pointers from C in, a status and answers out.
//!
//! The only module with `unsafe`. Functions turn pointers into checked access
//! (`memory`), call the library, and write what it answers; they decide nothing.
//! No path panics, and memory of the caller is never kept.
#![allow(unsafe_code, reason = "pointers from C")]

mod memory;

// In the order of the header; blank lines keep it.
pub mod index;

pub mod lookup;

pub mod frames;

pub mod store;

pub mod modules;

pub mod resolver;

pub mod resolve;

pub mod text;

use core::fmt::{Display, Write as _};

use crate::status::symidx_status;
use memory::Buffer;

/// An open index: what symidx_open_map and its kin give, symidx_close takes.
///
/// ```c
/// symidx_index *index = NULL;
/// if (symidx_open_map("app.symidx", &index, NULL, 0) == SYMIDX_OK)
///     symidx_verify(index, NULL, 0);
/// symidx_close(index);
/// ```
// The attribute is written so that the header's generator does not see it, and
// leaves the type opaque.
#[derive(Debug)]
#[cfg_attr(all(), repr(transparent))]
pub struct symidx_index(symidx::Index<'static>);

/// Where indexes are found, and those that are open.
///
/// ```c
/// symidx_store *store;
/// symidx_store_new(SYMIDX_STORE_ONLY_ADDED, &store);
/// symidx_store_add_directory(store, "/var/lib/symidx");
/// symidx_store_free(store);
/// ```
#[derive(Debug)]
pub struct symidx_store(std::sync::Arc<symidx::process::Store>);

/// The modules of a process at one moment.
///
/// ```c
/// symidx_modules *modules;
/// symidx_modules_capture(&modules); // where every file is mapped in this process
/// assert(symidx_modules_count(modules) > 0);
/// symidx_modules_free(modules);
/// ```
#[derive(Debug)]
#[cfg_attr(all(), repr(transparent))]
pub struct symidx_modules(symidx::process::Modules);

/// Run-time addresses to symbols and frames: modules and the indexes open for them.
///
/// ```c
/// symidx_resolver *resolver;
/// symidx_resolver_new(modules, store, &resolver);
/// symidx_resolver_open_all(resolver, NULL);
/// symidx_resolver_free(resolver);
/// ```
#[derive(Debug)]
pub struct symidx_resolver(symidx::process::Resolver);

impl symidx_index {
    /// The handle of an index that somebody else holds.
    pub(crate) fn of(index: &symidx::Index<'static>) -> *const Self {
        // The same layout: the wrapper is transparent.
        core::ptr::from_ref(index).cast()
    }
}

impl symidx_modules {
    fn of(modules: &symidx::process::Modules) -> *const Self {
        core::ptr::from_ref(modules).cast()
    }
}

/// What a function came to, whichever way.
type Outcome = Result<symidx_status, symidx_status>;

fn settle(run: impl FnOnce() -> Outcome) -> symidx_status {
    match run() {
        Ok(status) | Err(status) => status,
    }
}

/// A handle that must be there.
fn some<T>(handle: Option<T>) -> Result<T, symidx_status> {
    handle.ok_or(symidx_status::SYMIDX_ERROR_NULL)
}

/// Tells the details of a failure.
fn fail(message: &mut Buffer<'_>, status: symidx_status, details: &dyn Display) -> symidx_status {
    message.clear();
    // The buffer takes any text.
    let _ = write!(message, "{details}");
    message.end();
    status
}

/// The promise of "Threads: any": the compiler checks it here, since C does not.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<symidx_index>();
    shared::<symidx_store>();
    shared::<symidx_modules>();
    shared::<symidx_resolver>();
};
