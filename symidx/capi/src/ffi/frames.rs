//! One index: the frames of an address.

use symidx::{FileOffset, Frames, Index, Svma};

use super::memory::{Place, Structs};
use super::{Outcome, settle, some, symidx_index};
use crate::status::symidx_status::{self, *};
use crate::types::{SYMIDX_NO_NUMBER, symidx_frame, symidx_symbol};

use symidx_status as S;

/// The frames of an svma, innermost first: the functions inlined there, then the
/// one that holds the code. SYMIDX_GAP when there are none, SYMIDX_CUT when there
/// are more than `capacity`.
///
/// `count` (may be NULL) takes how many there are: at most 512, and `capacity` of
/// them are written; 0 when the call fails. `symbol` (may be NULL) takes what symidx_lookup answers;
/// where only lines are known, its status is SYMIDX_GAP.
///
/// ```c
/// symidx_frame frames[16] = {{.size = sizeof frames[0]}};
/// size_t count, i;
/// symidx_frames(index, 0x4001a8, NULL, frames, 16, &count);
/// for (i = 0; i < count && i < 16; i++)
///     printf("%.*s:%u ", SYMIDX_PRINT(frames[i].function), frames[i].line);
/// printf("\n"); // prints leaf:6 middle:10 outer:17
/// ```
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
/// ```c
/// // Of a stack entry that is not the innermost: the line of the call.
/// symidx_frame frame = {.size = sizeof frame};
/// if (symidx_frames_return(index, 0x400191, NULL, &frame, 1, NULL) == SYMIDX_OK)
///     printf("line %u\n", frame.line); // prints line 26
/// ```
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
/// ```c
/// // As a profile's mappings count: from the start of the file. Room for the innermost.
/// symidx_frame frame = {.size = sizeof frame};
/// if (symidx_frames_offset(index, 0x1a8, NULL, &frame, 1, NULL) == SYMIDX_CUT)
///     printf("%.*s\n", SYMIDX_PRINT(frame.function)); // prints leaf
/// ```
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
            Ok(found) => match found.symbol() {
                Ok(symbol) => (symbol, Some(found), SYMIDX_GAP),
                Err(corrupt) => (None, None, corrupt.into()),
            },
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
