//! One index: opening it, and what it is of.

use core::ffi::c_char;

use symidx::{Index, OpenError};

use super::memory::{self, Buffer, Place, Structs};
use super::{fail, settle, some, symidx_index};
use crate::status::symidx_status::{self, *};
use crate::types::symidx_identity;

/// Opens an index file by mapping it: a few microseconds, and only what lookups
/// touch is ever read. `path` ends in NUL. `message` takes the details of a
/// failure and may be NULL.
///
/// While the index is open, no process may change or truncate the file: a page
/// that is gone ends the process with SIGBUS. `symidx build` keeps that promise:
/// it replaces files by rename. Where others may write the file, use
/// symidx_open_read.
///
/// ```c
/// symidx_index *index;
/// char message[256];
/// if (symidx_open_map("app.symidx", &index, message, sizeof message) != SYMIDX_OK)
///     fprintf(stderr, "%s\n", message);
/// ```
///
/// Threads: any. Signals: no.
///
/// # Safety
/// `index` points to a variable, `message` to `message_capacity` bytes; the file
/// does not change while the index is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_open_map(
    path: *const c_char,
    index: *mut *mut symidx_index,
    message: *mut c_char,
    message_capacity: usize,
) -> symidx_status {
    // SAFETY: the caller's path, as the contract says.
    let path = unsafe { memory::path(path) };
    // SAFETY: the caller's variable and buffer, as the contract says.
    unsafe {
        open(index, message, message_capacity, || {
            let path = path?;
            // The caller promises that the file does not change.
            Ok(Index::map(path))
        })
    }
}

/// Opens an index file by reading it into memory: no hazard from files that
/// change, at the price of one copy. As symidx_open_map otherwise.
///
/// ```c
/// symidx_index *index; // a file that others may write to
/// if (symidx_open_read("app.symidx", &index, NULL, 0) == SYMIDX_OK)
///     symidx_close(index);
/// ```
///
/// Threads: any. Signals: no.
///
/// # Safety
/// `index` points to a variable, `message` to `message_capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_open_read(
    path: *const c_char,
    index: *mut *mut symidx_index,
    message: *mut c_char,
    message_capacity: usize,
) -> symidx_status {
    // SAFETY: the caller's path, as the contract says.
    let path = unsafe { memory::path(path) };
    // SAFETY: the caller's variable and buffer, as the contract says.
    unsafe { open(index, message, message_capacity, || Ok(Index::read(path?))) }
}

/// Opens an index in memory, without a copy.
///
/// ```c
/// static const uint8_t bytes[] = "not an index"; // one that is linked in, say
/// symidx_index *index;
/// int32_t status = symidx_open_memory(bytes, sizeof bytes, &index, NULL, 0);
/// printf("%s\n", symidx_strerror(status)); // prints expected a .symidx file, found something else
/// ```
///
/// Threads: any. Signals: no (one small allocation). Lifetime: the bytes must
/// stay where they are, unchanged, until the index is closed.
///
/// # Safety
/// `bytes` points to `length` bytes that stay; `index` points to a variable,
/// `message` to `message_capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_open_memory(
    bytes: *const u8,
    length: usize,
    index: *mut *mut symidx_index,
    message: *mut c_char,
    message_capacity: usize,
) -> symidx_status {
    // SAFETY: the caller's bytes, which outlive the index, as the contract says.
    let bytes = unsafe { memory::some_bytes(bytes.cast(), length) };
    // SAFETY: the caller's variable and buffer, as the contract says.
    unsafe { open(index, message, message_capacity, || Ok(Index::from_bytes(bytes?))) }
}

/// # Safety
/// As [`Place::new`] and [`Buffer::message`].
unsafe fn open(
    index: *mut *mut symidx_index,
    message: *mut c_char,
    message_capacity: usize,
    open: impl FnOnce() -> Result<Result<Index<'static>, OpenError>, symidx_status>,
) -> symidx_status {
    // SAFETY: passed on.
    let (place, message) =
        unsafe { (Place::new(index), Buffer::message(message, message_capacity)) };
    settle(|| {
        let (mut place, mut message) = (place?, message?);
        place.set(core::ptr::null_mut());
        match open()? {
            Ok(index) => {
                place.set(Box::into_raw(Box::new(symidx_index(index))));
                Ok(SYMIDX_OK)
            }
            Err(error) => Err(fail(&mut message, (&error).into(), &error)),
        }
    })
}

/// Closes an index; NULL is fine.
///
/// ```c
/// symidx_index *index;
/// symidx_open_read("app.symidx", &index, NULL, 0);
/// symidx_close(index);
/// symidx_close(NULL); // nothing to close
/// ```
///
/// Threads: when no other call uses the index. Signals: no. Lifetime: every text
/// from the index ends.
///
/// # Safety
/// The index is one that this library opened and nobody closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_close(index: Option<Box<symidx_index>>) {
    drop(index);
}

/// Checks every promise of the format, hashes included: linear in the file's
/// size. SYMIDX_ERROR_BROKEN, and in `message` (may be NULL) which one is broken where.
///
/// ```c
/// char message[256]; // after a transfer, before a rollout
/// if (symidx_verify(index, message, sizeof message) != SYMIDX_OK)
///     fprintf(stderr, "%s\n", message);
/// ```
///
/// Threads: any. Signals: no (slow, but no heap, no lock).
///
/// # Safety
/// The index is open; `message` points to `message_capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_verify(
    index: Option<&symidx_index>,
    message: *mut c_char,
    message_capacity: usize,
) -> symidx_status {
    // SAFETY: the caller's buffer, as the contract says.
    let message = unsafe { Buffer::message(message, message_capacity) };
    settle(|| {
        let mut message = message?;
        match some(index)?.0.verify() {
            Ok(()) => Ok(SYMIDX_OK),
            Err(violation) => Err(fail(&mut message, SYMIDX_ERROR_BROKEN, &violation)),
        }
    })
}

/// Which file the index is of: build-id or UUID, hash, sizes.
///
/// ```c
/// symidx_identity of = {.size = sizeof of};
/// symidx_identify(index, &of);
/// for (uint32_t i = 0; i < of.id_length; i++)
///     printf("%02x", of.id[i]);
/// printf(", %u symbols\n", of.symbols); // prints 1122334455667788, 6 symbols
/// ```
///
/// Threads: any. Signals: yes. Lifetime: a copy.
///
/// # Safety
/// The index is open; `identity` points to a struct whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_identify(
    index: Option<&symidx_index>,
    identity: *mut symidx_identity,
) -> symidx_status {
    // SAFETY: the caller's struct, as the contract says.
    let identity = unsafe { Structs::one(identity) };
    settle(|| {
        let index = some(index)?;
        identity?.write(0, &symidx_identity::of(&index.0));
        Ok(SYMIDX_OK)
    })
}
