//! One index: opening it, and asking it.

use core::ffi::c_char;

use symidx::{Corrupt, FileOffset, Frames, Index, OpenError, Svma, Symbol};

use super::memory::{self, Buffer, Place, Structs};
use super::{Outcome, fail, settle, some, symidx_index};
use crate::status::symidx_status::{self, *};
use crate::types::SYMIDX_NO_NUMBER;
use crate::types::{symidx_frame, symidx_identity, symidx_match, symidx_symbol};

use symidx_status as S;

/// Opens an index file by mapping it: a few microseconds, and only what lookups
/// touch is ever read. `path` ends in NUL. `message` takes the details of a
/// failure and may be NULL.
///
/// While the index is open, no process may change or truncate the file: a page
/// that is gone ends the process with SIGBUS. `symidx build` keeps that promise:
/// it replaces files by rename. Where others may write the file, use
/// symidx_open_read.
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

/// The symbol that covers an svma (the address as in the symbol table), the
/// innermost one where symbols nest; SYMIDX_GAP when none does.
///
/// Threads: any. Signals: yes. Lifetime: texts as long as the index.
///
/// # Safety
/// The index is open; `symbol` points to a struct whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_lookup(
    index: Option<&symidx_index>,
    address: u64,
    symbol: *mut symidx_symbol,
) -> symidx_status {
    // SAFETY: the caller's struct, as the contract says.
    let symbol = unsafe { Structs::one(symbol) };
    settle(|| answer(some(index)?, address, symbol?, |index| index.lookup(Svma(address))))
}

/// The symbol of the call before a return address: looks up the byte in front of
/// it, and counts `offset` to that byte. Every stack entry but the innermost is a
/// return address.
///
/// Threads: any. Signals: yes. Lifetime: texts as long as the index.
///
/// # Safety
/// As symidx_lookup.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_lookup_return(
    index: Option<&symidx_index>,
    address: u64,
    symbol: *mut symidx_symbol,
) -> symidx_status {
    // SAFETY: the caller's struct, as the contract says.
    let symbol = unsafe { Structs::one(symbol) };
    let call = address.saturating_sub(1);
    settle(|| answer(some(index)?, call, symbol?, |index| index.lookup_return(Svma(address))))
}

/// The symbol at an offset of the binary's file, as profilers record it:
/// ip - start + pgoff of the mapping that holds ip.
///
/// Threads: any. Signals: yes. Lifetime: texts as long as the index.
///
/// # Safety
/// As symidx_lookup.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_lookup_offset(
    index: Option<&symidx_index>,
    file_offset: u64,
    symbol: *mut symidx_symbol,
) -> symidx_status {
    // SAFETY: the caller's struct, as the contract says.
    let symbol = unsafe { Structs::one(symbol) };
    settle(|| {
        let (index, symbol) = (some(index)?, symbol?);
        let svma = index.0.svma_of(FileOffset(file_offset));
        let address = svma.map_or(0, |svma| svma.0);
        answer(index, address, symbol, |index| svma.map_or(Ok(None), |svma| index.lookup(svma)))
    })
}

/// The symbol at an offset of a section of a relocatable file (`.o`, `.ko`);
/// `section` of NULL and 0: `.text`, else the first that is code. SYMIDX_NONE
/// when there is no such section.
///
/// Threads: any. Signals: yes. Lifetime: texts as long as the index.
///
/// # Safety
/// As symidx_lookup; `section` points to `section_length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_lookup_section(
    index: Option<&symidx_index>,
    section: *const c_char,
    section_length: usize,
    offset: u64,
    symbol: *mut symidx_symbol,
) -> symidx_status {
    // SAFETY: the caller's struct and name, as the contract says.
    let (symbol, name) =
        unsafe { (Structs::one(symbol), memory::list(section.cast::<u8>(), section_length)) };
    settle(|| {
        let (index, name, symbol) = (some(index)?, name?, symbol?);
        let section = match name {
            [] => index.0.default_section(),
            name => index.0.section_by_name(name),
        };
        let id = section?.ok_or(SYMIDX_NONE)?.id();
        answer(index, offset, symbol, |index| index.lookup_in(id, offset))
    })
}

fn answer<'i>(
    index: &'i symidx_index,
    address: u64,
    mut symbol: Structs<'_, symidx_symbol>,
    lookup: impl FnOnce(&'i Index<'static>) -> Result<Option<Symbol<'i>>, Corrupt>,
) -> Outcome {
    let value = match lookup(&index.0) {
        Ok(Some(symbol)) => symidx_symbol::of(&symbol, address, &index.0),
        Ok(None) => symidx_symbol::none(SYMIDX_GAP, address),
        Err(corrupt) => symidx_symbol::none(corrupt.into(), address),
    };
    symbol.write(0, &value);
    Ok(value.status)
}

/// The frames of an svma, innermost first: the functions inlined there, then the
/// one that holds the code. SYMIDX_GAP when there are none, SYMIDX_CUT when there
/// are more than `capacity`.
///
/// `count` (may be NULL) takes how many there are: at most 512, and `capacity` of
/// them are written; 0 when the call fails. `symbol` (may be NULL) takes what symidx_lookup answers;
/// where only lines are known, its status is SYMIDX_GAP.
///
/// Threads: any. Signals: yes. Lifetime: texts as long as the index.
///
/// # Safety
/// The index is open; `frames` points to `capacity` structs, `symbol` to one,
/// with their sizes set; `count` points to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_frames(
    index: Option<&symidx_index>,
    address: u64,
    symbol: *mut symidx_symbol,
    frames: *mut symidx_frame,
    capacity: usize,
    count: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let room = unsafe { Room::new(symbol, frames, capacity, count) };
    settle(|| {
        let index = &some(index)?.0;
        room?.fill(index, address, SYMIDX_NO_NUMBER, index.frames(Svma(address)).map_err(S::from))
    })
}

/// The frames of the call before a return address. As symidx_frames.
///
/// Threads: any. Signals: yes. Lifetime: texts as long as the index.
///
/// # Safety
/// As symidx_frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_frames_return(
    index: Option<&symidx_index>,
    address: u64,
    symbol: *mut symidx_symbol,
    frames: *mut symidx_frame,
    capacity: usize,
    count: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let room = unsafe { Room::new(symbol, frames, capacity, count) };
    settle(|| {
        let index = &some(index)?.0;
        let found = index.frames_return(Svma(address)).map_err(S::from);
        room?.fill(index, address.saturating_sub(1), SYMIDX_NO_NUMBER, found)
    })
}

/// The frames at an offset of the binary's file. As symidx_frames.
///
/// Threads: any. Signals: yes. Lifetime: texts as long as the index.
///
/// # Safety
/// As symidx_frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_frames_offset(
    index: Option<&symidx_index>,
    file_offset: u64,
    symbol: *mut symidx_symbol,
    frames: *mut symidx_frame,
    capacity: usize,
    count: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let room = unsafe { Room::new(symbol, frames, capacity, count) };
    settle(|| {
        let index = &some(index)?.0;
        let address = index.svma_of(FileOffset(file_offset)).map_or(0, |svma| svma.0);
        let found = index.frames_offset(FileOffset(file_offset)).map_err(S::from);
        room?.fill(index, address, SYMIDX_NO_NUMBER, found)
    })
}

/// Where the frames of an address go.
pub(super) struct Room<'c> {
    symbol: Structs<'c, symidx_symbol>,
    frames: Structs<'c, symidx_frame>,
    count: Place<'c, usize>,
}

impl Room<'_> {
    /// # Safety
    /// As [`Structs::new`] and [`Place::optional`].
    pub(super) unsafe fn new(
        symbol: *mut symidx_symbol,
        frames: *mut symidx_frame,
        capacity: usize,
        count: *mut usize,
    ) -> Result<Self, symidx_status> {
        // SAFETY: passed on.
        unsafe {
            // Whatever is wrong with the rest, there are no frames then.
            let mut count = Place::optional(count)?;
            count.set(0);
            let (symbol, frames) = (Structs::optional(symbol)?, Structs::new(frames, capacity)?);
            Ok(Self { symbol, frames, count })
        }
    }

    /// Writes what was found. Frames before a damaged one are kept.
    pub(super) fn fill(
        mut self,
        index: &Index<'static>,
        address: u64,
        module: u32,
        found: Result<Frames<'_>, symidx_status>,
    ) -> Outcome {
        let (symbol, frames, status) = match found {
            Ok(found) => (found.symbol(), Some(found), SYMIDX_GAP),
            Err(status) => (None, None, status),
        };
        let value = match symbol {
            Some(symbol) => symidx_symbol::of(&symbol, address, index),
            None => symidx_symbol::none(status, address),
        };
        self.symbol.write(0, &symidx_symbol { module, ..value });
        let mut count = 0usize;
        let mut status = status;
        for frame in frames.into_iter().flatten() {
            match frame {
                Ok(frame) => {
                    let written = self.frames.write(count, &symidx_frame::of(&frame, index));
                    status = if written { SYMIDX_OK } else { SYMIDX_CUT };
                    count = count.saturating_add(1);
                }
                Err(corrupt) => status = corrupt.into(),
            }
        }
        self.count.set(count);
        Ok(status)
    }

    /// Writes why there are no frames.
    pub(super) fn refuse(mut self, why: &symidx_symbol) -> Outcome {
        self.symbol.write(0, why);
        Ok(why.status)
    }
}

/// Every definition of a name: `f` finds `f`, `f@@V2` and `f@V1` (the default
/// version first), `f@V1` just that one. Exact bytes, no demangling. SYMIDX_NONE
/// when there is none, SYMIDX_CUT when there are more than `capacity`.
///
/// `count` (may be NULL) takes how many there are; `capacity` of them are written.
///
/// Threads: any. Signals: yes. Lifetime: texts as long as the index.
///
/// # Safety
/// The index is open; `name` points to `name_length` bytes, `matches` to
/// `capacity` structs with the size of the first one set; `count` points to a
/// variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_find(
    index: Option<&symidx_index>,
    name: *const c_char,
    name_length: usize,
    matches: *mut symidx_match,
    capacity: usize,
    count: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let (name, matches, count) = unsafe {
        (
            memory::some_bytes(name, name_length),
            Structs::new(matches, capacity),
            Place::optional(count),
        )
    };
    settle(|| {
        let index = some(index)?;
        let (name, mut matches, mut count) = (name?, matches?, count?);
        let mut found = 0usize;
        let mut status = SYMIDX_NONE;
        for each in index.0.find(name) {
            match each.and_then(|each| symidx_match::of(&each)) {
                Ok(value) => {
                    let written = matches.write(found, &value);
                    found = found.saturating_add(1);
                    if status != SYMIDX_CORRUPT {
                        status = if written { SYMIDX_OK } else { SYMIDX_CUT };
                    }
                }
                Err(corrupt) => status = corrupt.into(),
            }
        }
        count.set(found);
        Ok(status)
    })
}
