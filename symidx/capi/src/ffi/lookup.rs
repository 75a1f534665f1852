//! One index: symbols by address, and by name.

use core::ffi::c_char;

use symidx::{Corrupt, FileOffset, Index, Svma, Symbol};

use super::memory::{self, Place, Structs};
use super::{Outcome, settle, some, symidx_index};
use crate::status::symidx_status::{self, *};
use crate::types::{symidx_match, symidx_symbol};

/// The symbol that covers an svma (the address as in the symbol table), the
/// innermost one where symbols nest; SYMIDX_GAP when none does.
///
/// ```c
/// symidx_symbol symbol = {.size = sizeof symbol};
/// if (symidx_lookup(index, 0x4001a8, &symbol) == SYMIDX_OK)
///     printf("%.*s+%u\n", SYMIDX_PRINT(symbol.name), (unsigned)symbol.offset); // prints outer+8
/// ```
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
/// ```c
/// // The call is the last instruction of its function: what follows is nobody's.
/// symidx_symbol symbol = {.size = sizeof symbol};
/// if (symidx_lookup_return(index, 0x400191, &symbol) == SYMIDX_OK)
///     printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints _start.cold
/// ```
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
/// ```c
/// // A sample at ip in a mapping of the file: from /proc/PID/maps, or PERF_RECORD_MMAP.
/// uint64_t ip = 0x7f12345601a8, start = 0x7f1234560000, pgoff = 0;
/// symidx_symbol symbol = {.size = sizeof symbol};
/// if (symidx_lookup_offset(index, ip - start + pgoff, &symbol) == SYMIDX_OK)
///     printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints outer
/// ```
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
/// ```c
/// symidx_index *object; // of a .o: two functions at offset 0, each of its section
/// symidx_symbol symbol = {.size = sizeof symbol};
/// symidx_open_read("object.symidx", &object, NULL, 0);
/// symidx_lookup_section(object, ".text.two", strlen(".text.two"), 0, &symbol);
/// printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints two
/// ```
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

/// Every definition of a name: `f` finds `f`, `f@@V2` and `f@V1` (the default
/// version first), `f@V1` just that one. Exact bytes, no demangling. SYMIDX_NONE
/// when there is none, SYMIDX_CUT when there are more than `capacity`.
///
/// `count` (may be NULL) takes how many there are; `capacity` of them are written.
///
/// ```c
/// // Where to set a breakpoint.
/// symidx_match found = {.size = sizeof found};
/// if (symidx_find(index, "outer", strlen("outer"), &found, 1, NULL) == SYMIDX_OK)
///     printf("0x%llx\n", (unsigned long long)found.address); // prints 0x4001a0
/// ```
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
