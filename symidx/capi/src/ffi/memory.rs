//! The caller's memory: pointers in, checked and typed access out.
//!
//! Every pointer that comes from C is checked here for NULL, alignment and
//! length before it is used, and nothing is written past what the caller said
//! it has. What cannot be checked (that the memory is there) is the contract
//! of each constructor.

use core::ffi::{CStr, c_char};
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::status::symidx_status::{self, *};
use crate::types::*;

/// No struct of the interface will be larger; a size above it was never set.
const MAX_SIZE: usize = 4096;

/// A struct that starts with its size.
///
/// # Safety
/// `repr(C)`, of integers, pointers and enums that hold 0, and its first field
/// is a `u32`: the size.
pub(crate) unsafe trait Versioned: Copy {}

// SAFETY: as each is declared in `types`; the tests pin their layout.
unsafe impl Versioned for symidx_symbol {}
// SAFETY: as above.
unsafe impl Versioned for symidx_frame {}
// SAFETY: as above.
unsafe impl Versioned for symidx_match {}
// SAFETY: as above.
unsafe impl Versioned for symidx_identity {}
// SAFETY: as above.
unsafe impl Versioned for symidx_module {}
// SAFETY: as above.
unsafe impl Versioned for symidx_location {}
// SAFETY: as above.
unsafe impl Versioned for symidx_budget {}
// SAFETY: as above.
unsafe impl Versioned for symidx_statistics {}

/// Structs of the caller's, one after the other, to be written to.
pub(crate) struct Structs<'c, T> {
    first: *mut T,
    /// Bytes of each, by the first one's word.
    size: u32,
    count: usize,
    caller: PhantomData<&'c mut T>,
}

impl<T: Versioned> Structs<'_, T> {
    /// `count` structs; none at all may be NULL.
    ///
    /// # Safety
    /// `first` is NULL, or points to `count` structs of the size that the first
    /// field of the first one states, which nobody else uses meanwhile.
    pub(crate) unsafe fn new(first: *mut T, count: usize) -> Result<Self, symidx_status> {
        let none = Self { first: ptr::null_mut(), size: 0, count: 0, caller: PhantomData };
        if count == 0 {
            return Ok(none);
        }
        check(first)?;
        // SAFETY: not NULL, aligned, and there by the caller's promise.
        let size = unsafe { first.cast::<u32>().read() };
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        let whole = bytes.checked_rem(align_of::<T>()) == Some(0);
        if bytes < align_of::<T>().max(8) || bytes > MAX_SIZE || !whole {
            return Err(SYMIDX_ERROR_SIZE);
        }
        fits(count, bytes)?;
        Ok(Self { first, size, count, caller: PhantomData })
    }

    /// One struct.
    ///
    /// # Safety
    /// As [`Structs::new`].
    pub(crate) unsafe fn one(struct_: *mut T) -> Result<Self, symidx_status> {
        // SAFETY: passed on.
        unsafe { Self::new(struct_, 1) }
    }

    /// One struct, or none where the pointer is NULL.
    ///
    /// # Safety
    /// As [`Structs::new`].
    pub(crate) unsafe fn optional(struct_: *mut T) -> Result<Self, symidx_status> {
        // SAFETY: passed on.
        unsafe { Self::new(struct_, usize::from(!struct_.is_null())) }
    }

    /// Writes a value, as much of it as its place takes, and zeroes the rest
    /// of a place that is larger. False when there is no such place.
    pub(crate) fn write(&mut self, at: usize, value: &T) -> bool {
        let bytes = usize::try_from(self.size).unwrap_or(0);
        let Some(offset) = at.checked_mul(bytes).filter(|_| at < self.count) else { return false };
        let known = bytes.min(size_of::<T>());
        if bytes == size_of::<T>() {
            // The usual case, without copies of unknown length.
            // SAFETY: place `at` is one of `count` of the size of a `T`, aligned,
            // and the caller's to give; the size stays the caller's.
            unsafe {
                let place = self.first.add(at);
                place.write(*value);
                place.cast::<u32>().write(self.size);
            }
            return true;
        }
        // SAFETY: place `at` is one of `count` of `bytes` each, the caller's to
        // give, and a value of the library is no place of the caller's. Bytes
        // are copied, whatever they are; the size stays the caller's.
        unsafe {
            let place = self.first.cast::<u8>().add(offset);
            ptr::copy_nonoverlapping(ptr::from_ref(value).cast::<u8>(), place, known);
            ptr::write_bytes(place.add(known), 0, bytes.saturating_sub(known));
            place.cast::<u32>().write(self.size);
        }
        true
    }

    /// The first one's value; what its size leaves out is zero.
    pub(crate) fn read(&self) -> Option<T>
    where
        T: Plain,
    {
        let mut value = MaybeUninit::<T>::zeroed();
        let known = usize::try_from(self.size).unwrap_or(0).min(size_of::<T>());
        if self.count == 0 {
            return None;
        }
        // SAFETY: the first place has `size` bytes, of which `known` are no
        // more than a `T` has; any bytes are a `T` that is plain.
        unsafe {
            ptr::copy_nonoverlapping(self.first.cast::<u8>(), value.as_mut_ptr().cast(), known);
            Some(value.assume_init())
        }
    }
}

/// A struct that is read from the caller: of numbers only.
///
/// # Safety
/// Any bytes are a value.
pub(crate) unsafe trait Plain: Versioned {}

// SAFETY: integers only.
unsafe impl Plain for symidx_statistics {}

/// A variable of the caller's, to be written to.
pub(crate) struct Place<'c, T> {
    place: *mut T,
    caller: PhantomData<&'c mut T>,
}

impl<T> Place<'_, T> {
    /// # Safety
    /// `place` is NULL, or points to a variable that nobody else uses meanwhile.
    pub(crate) unsafe fn new(place: *mut T) -> Result<Self, symidx_status> {
        check(place)?;
        Ok(Self { place, caller: PhantomData })
    }

    /// NULL where the caller does not want it.
    ///
    /// # Safety
    /// As [`Place::new`].
    pub(crate) unsafe fn optional(place: *mut T) -> Result<Self, symidx_status> {
        if place.is_null() || place.is_aligned() {
            return Ok(Self { place, caller: PhantomData });
        }
        Err(SYMIDX_ERROR_ALIGNMENT)
    }

    pub(crate) fn set(&mut self, value: T) {
        if !self.place.is_null() {
            // SAFETY: aligned, and there by the caller's promise; what was
            // there before is plain and needs no drop.
            unsafe { self.place.write(value) }
        }
    }
}

/// Room for a text of the caller's. Takes as much as fits, counts all of it,
/// and ends it with NUL.
pub(crate) struct Buffer<'c> {
    room: &'c mut [MaybeUninit<u8>],
    length: usize,
}

impl<'c> Buffer<'c> {
    /// NULL with capacity 0: only the length is wanted.
    ///
    /// # Safety
    /// `bytes` is NULL, or points to `capacity` bytes that nobody else uses
    /// while the buffer lives.
    pub(crate) unsafe fn new(bytes: *mut c_char, capacity: usize) -> Result<Self, symidx_status> {
        if capacity == 0 {
            return Ok(Self { room: &mut [], length: 0 });
        }
        check(bytes)?;
        fits(capacity, 1)?;
        // SAFETY: not NULL, and there by the caller's promise; bytes may be
        // uninitialised, as the type says.
        let room = unsafe { core::slice::from_raw_parts_mut(bytes.cast(), capacity) };
        Ok(Self { room, length: 0 })
    }

    /// A message that may be unwanted: NULL whatever the capacity.
    ///
    /// # Safety
    /// As [`Buffer::new`].
    pub(crate) unsafe fn message(
        bytes: *mut c_char,
        capacity: usize,
    ) -> Result<Self, symidx_status> {
        let capacity = if bytes.is_null() { 0 } else { capacity };
        // SAFETY: passed on.
        let mut buffer = unsafe { Self::new(bytes, capacity) }?;
        buffer.end();
        Ok(buffer)
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let rest = self.room.get_mut(self.length..).unwrap_or(&mut []);
        for (to, from) in rest.iter_mut().zip(bytes) {
            to.write(*from);
        }
        self.length = self.length.saturating_add(bytes.len());
    }

    /// Forgets what was written.
    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }

    /// Bytes of the whole text, without the NUL.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Puts the NUL behind the text, or over its last byte that fits.
    pub(crate) fn end(&mut self) -> symidx_status {
        let last = self.room.len().checked_sub(1);
        if let Some(byte) = last.and_then(|last| self.room.get_mut(self.length.min(last))) {
            byte.write(0);
        }
        match self.length < self.room.len() {
            true => SYMIDX_OK,
            false => SYMIDX_CUT,
        }
    }
}

impl fmt::Write for Buffer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

/// A list of the caller's; of no elements where it may be NULL.
///
/// # Safety
/// `first` is NULL, or points to `count` elements that stay as they are for as
/// long as the list is used.
pub(crate) unsafe fn list<'c, T: Copy>(
    first: *const T,
    count: usize,
) -> Result<&'c [T], symidx_status> {
    if count == 0 {
        return Ok(&[]);
    }
    check(first.cast_mut())?;
    fits(count, size_of::<T>())?;
    // SAFETY: not NULL, aligned, of a size that is possible, and there by the
    // caller's promise.
    Ok(unsafe { core::slice::from_raw_parts(first, count) })
}

/// Bytes of the caller's; NULL is refused, and so are none at all.
///
/// # Safety
/// As [`list`].
pub(crate) unsafe fn some_bytes<'c>(
    first: *const c_char,
    count: usize,
) -> Result<&'c [u8], symidx_status> {
    check(first.cast_mut())?;
    // SAFETY: passed on.
    match unsafe { list(first.cast::<u8>(), count) }? {
        [] => Err(SYMIDX_ERROR_ARGUMENT),
        bytes => Ok(bytes),
    }
}

/// A path that ends in NUL; an empty one is refused.
///
/// # Safety
/// `path` is NULL, or points to bytes with a NUL behind them, which stay as they
/// are for as long as the path is used.
pub(crate) unsafe fn path<'c>(path: *const c_char) -> Result<&'c Path, symidx_status> {
    check(path.cast_mut())?;
    // SAFETY: not NULL, and ended by NUL by the caller's promise.
    match unsafe { CStr::from_ptr(path) }.to_bytes() {
        [] => Err(SYMIDX_ERROR_ARGUMENT),
        bytes => Ok(Path::new(OsStr::from_bytes(bytes))),
    }
}

/// Neither NULL nor misaligned.
fn check<T>(pointer: *mut T) -> Result<(), symidx_status> {
    if pointer.is_null() {
        return Err(SYMIDX_ERROR_NULL);
    }
    match pointer.is_aligned() {
        true => Ok(()),
        false => Err(SYMIDX_ERROR_ALIGNMENT),
    }
}

/// As many elements as memory can hold.
fn fits(count: usize, size: usize) -> Result<(), symidx_status> {
    let bytes = count.checked_mul(size).and_then(|bytes| isize::try_from(bytes).ok());
    bytes.map(|_| ()).ok_or(SYMIDX_ERROR_ARGUMENT)
}
