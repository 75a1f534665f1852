//! Resolvers: run-time addresses to symbols and frames.

use symidx::process::{Module, Resolved, ResolvedFrames, Resolver, Unknown};

use super::frames::Room;
use super::memory::{self, Structs};
use super::{Outcome, settle, some, symidx_resolver};
use crate::status::symidx_status::{self, *};
use crate::types::{SYMIDX_NO_NUMBER, symidx_frame, symidx_statistics, symidx_symbol};

/// The symbol that covers a run-time address; else the status says why there is none.
///
/// ```c
/// symidx_symbol symbol = {.size = sizeof symbol};
/// symidx_resolver_open_all(resolver, NULL); // once
/// if (symidx_resolver_lookup(resolver, 0x5555000001a8, &symbol) == SYMIDX_OK)
///     printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints outer
/// ```
///
/// Threads: any. Signals: yes: no heap, no lock, no system call. Lifetime: texts
/// until the resolver is updated or freed.
///
/// # Safety
/// The resolver is this library's; `symbol` points to a struct whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_lookup(
    resolver: Option<&symidx_resolver>,
    address: u64,
    symbol: *mut symidx_symbol,
) -> symidx_status {
    // SAFETY: the caller's struct, as the contract says.
    let symbol = unsafe { Structs::one(symbol) };
    settle(|| {
        let (resolver, mut symbol) = (&some(resolver)?.0, symbol?);
        Ok(write(&mut symbol, 0, resolver, address, resolver.lookup(address)))
    })
}

/// The symbol of the call before a return address: every stack entry but the
/// innermost is a return address. As symidx_resolver_lookup.
///
/// ```c
/// symidx_symbol symbol = {.size = sizeof symbol};
/// symidx_resolver_open_all(resolver, NULL);
/// symidx_resolver_lookup_return(resolver, 0x555500000191, &symbol); // of a stack's entry
/// printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints _start.cold
/// ```
///
/// Threads: any. Signals: yes. Lifetime: texts until the resolver is updated or
/// freed.
///
/// # Safety
/// As symidx_resolver_lookup.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_lookup_return(
    resolver: Option<&symidx_resolver>,
    address: u64,
    symbol: *mut symidx_symbol,
) -> symidx_status {
    // SAFETY: the caller's struct, as the contract says.
    let symbol = unsafe { Structs::one(symbol) };
    settle(|| {
        let (resolver, mut symbol) = (&some(resolver)?.0, symbol?);
        let call = address.saturating_sub(1);
        Ok(write(&mut symbol, 0, resolver, call, resolver.lookup_return(address)))
    })
}

/// The frames of a run-time address, innermost first; else the status says why
/// there are none. `symbol`, `frames`, `capacity` and `count` as in symidx_frames.
///
/// ```c
/// symidx_frame frames[16] = {{.size = sizeof frames[0]}};
/// size_t count;
/// symidx_resolver_open_all(resolver, NULL);
/// symidx_resolver_frames(resolver, 0x5555000001a8, NULL, frames, 16, &count);
/// printf("%.*s\n", SYMIDX_PRINT(frames[count - 1].function)); // prints outer
/// ```
///
/// Threads: any. Signals: yes: no heap, no lock, no system call. Lifetime: texts
/// until the resolver is updated or freed.
///
/// # Safety
/// The resolver is this library's; the rest as symidx_frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_frames(
    resolver: Option<&symidx_resolver>,
    address: u64,
    symbol: *mut symidx_symbol,
    frames: *mut symidx_frame,
    capacity: usize,
    count: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let room = unsafe { Room::new(symbol, frames, capacity, count) };
    settle(|| {
        let resolver = &some(resolver)?.0;
        fill(room?, resolver, address, resolver.frames(address))
    })
}

/// The frames of the call before a return address. As symidx_resolver_frames.
///
/// ```c
/// symidx_frame frame = {.size = sizeof frame};
/// int32_t status = symidx_resolver_frames_return(resolver, 0x555500000191, NULL, &frame, 1, NULL);
/// printf("%s\n", symidx_strerror(status)); // prints the module's index was not opened
/// ```
///
/// Threads: any. Signals: yes. Lifetime: texts until the resolver is updated or
/// freed.
///
/// # Safety
/// As symidx_resolver_frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_frames_return(
    resolver: Option<&symidx_resolver>,
    address: u64,
    symbol: *mut symidx_symbol,
    frames: *mut symidx_frame,
    capacity: usize,
    count: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let room = unsafe { Room::new(symbol, frames, capacity, count) };
    settle(|| {
        let resolver = &some(resolver)?.0;
        fill(room?, resolver, address.saturating_sub(1), resolver.frames_return(address))
    })
}

/// Answers many addresses at once: symbol `i` of `symbols` is that of address `i`,
/// its `status` as symidx_resolver_lookup returns it. Sorted ascending they are
/// answered faster than one by one, unsorted ones right, slower. Give return
/// addresses less one. `statistics` (may be NULL) is added to.
///
/// ```c
/// const uint64_t addresses[] = {0x1000, 0x5555000001a8}; // sorted
/// symidx_symbol symbols[2] = {{.size = sizeof symbols[0]}};
/// symidx_statistics statistics = {.size = sizeof statistics};
/// symidx_resolver_open_all(resolver, NULL);
/// symidx_resolver_batch(resolver, addresses, 2, symbols, &statistics);
/// assert(statistics.resolved == 1 && symbols[0].status == SYMIDX_NO_MODULE);
/// ```
///
/// Threads: any. Signals: yes. Lifetime: texts until the resolver is updated or
/// freed.
///
/// # Safety
/// The resolver is this library's; `addresses` points to `count` addresses,
/// `symbols` to as many structs with the size of the first one set, `statistics`
/// to a struct whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_resolver_batch(
    resolver: Option<&symidx_resolver>,
    addresses: *const u64,
    count: usize,
    symbols: *mut symidx_symbol,
    statistics: *mut symidx_statistics,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let (addresses, symbols, statistics) = unsafe {
        (
            memory::list(addresses, count),
            Structs::new(symbols, count),
            Structs::optional(statistics),
        )
    };
    settle(|| {
        let (resolver, addresses) = (&some(resolver)?.0, addresses?);
        let (mut symbols, mut statistics) = (symbols?, statistics?);
        let mut counts = statistics.read();
        let mut at = 0usize;
        resolver.batch(addresses.iter().copied(), |address, answer| {
            let status = write(&mut symbols, at, resolver, address, answer);
            at = at.saturating_add(1);
            if let Some(counts) = &mut counts {
                counts.count(status);
            }
        });
        if let Some(counts) = counts {
            statistics.write(0, &counts);
        }
        Ok(SYMIDX_OK)
    })
}

/// Counts the status of a lookup; what is no answer about an address
/// (SYMIDX_ERROR_*, SYMIDX_NONE) is SYMIDX_ERROR_ARGUMENT and not counted.
/// SYMIDX_CUT counts as an answer.
///
/// ```c
/// symidx_statistics statistics = {.size = sizeof statistics};
/// symidx_symbol symbol = {.size = sizeof symbol};
/// symidx_statistics_count(&statistics, symidx_resolver_lookup(resolver, 0x1000, &symbol));
/// assert(statistics.addresses == 1 && statistics.no_module == 1);
/// ```
///
/// Threads: when no other call uses the struct. Signals: yes.
///
/// # Safety
/// `statistics` points to a struct whose size is set, and the rest zeroed at first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_statistics_count(
    statistics: *mut symidx_statistics,
    status: i32,
) -> symidx_status {
    // SAFETY: the caller's struct, as the contract says.
    let statistics = unsafe { Structs::one(statistics) };
    settle(|| {
        let mut statistics = statistics?;
        let mut counts = statistics.read().ok_or(SYMIDX_ERROR_NULL)?;
        let status = match symidx_status::of_code(status) {
            Some(SYMIDX_CUT) => SYMIDX_OK,
            Some(status) => status,
            None => return Err(SYMIDX_ERROR_ARGUMENT),
        };
        if !counts.count(status) {
            return Err(SYMIDX_ERROR_ARGUMENT);
        }
        statistics.write(0, &counts);
        Ok(SYMIDX_OK)
    })
}

/// Writes what a lookup found.
fn write(
    symbols: &mut Structs<'_, symidx_symbol>,
    at: usize,
    resolver: &Resolver,
    address: u64,
    answer: Result<Resolved<'_>, Unknown>,
) -> symidx_status {
    let value = match answer {
        Ok(found) => symidx_symbol {
            module: number(resolver, address, found.module()),
            ..symidx_symbol::of(&found.symbol(), found.svma().0, found.index())
        },
        Err(reason) => unknown(resolver, address, reason),
    };
    symbols.write(at, &value);
    value.status
}

/// Writes the frames that were found.
fn fill(
    room: Room<'_>,
    resolver: &Resolver,
    address: u64,
    found: Result<ResolvedFrames<'_>, Unknown>,
) -> Outcome {
    match found {
        Ok(found) => {
            let module = number(resolver, address, found.module());
            room.fill(found.index(), found.svma().0, module, Ok(found.frames()))
        }
        Err(reason) => room.refuse(&unknown(resolver, address, reason)),
    }
}

/// What is known of an address that has no symbol: its module, and where in it.
fn unknown(resolver: &Resolver, address: u64, reason: Unknown) -> symidx_symbol {
    let located = resolver.modules().find(address);
    let svma = located.as_ref().and_then(|located| located.svma());
    symidx_symbol {
        module: located.map_or(SYMIDX_NO_NUMBER, |located| located.number()),
        ..symidx_symbol::none(reason.into(), svma.map_or(0, |svma| svma.0))
    }
}

/// The number of the module that answered.
fn number(resolver: &Resolver, address: u64, module: Option<&Module>) -> u32 {
    let located = module.and_then(|_| resolver.modules().find(address));
    located.map_or(SYMIDX_NO_NUMBER, |located| located.number())
}
