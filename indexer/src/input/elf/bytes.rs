//! Bounds-checked windows into untrusted bytes.
//!
//! In: bytes, and offsets and sizes claimed by a file. Out: what is really
//! there. Nothing here allocates, panics or believes a size.

use object::endian::{Endian as _, Endianness};
use object::pod::{self, Pod};

/// Length as the `u64` that file fields use.
pub(super) fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// `[offset, offset + size)`, or `None` when any of it is missing.
pub(super) fn part(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let end = usize::try_from(offset.checked_add(size)?).ok()?;
    bytes.get(usize::try_from(offset).ok()?..end)
}

/// Like [`part`], but shortened to what is there (possibly nothing).
pub(super) fn part_there(bytes: &[u8], offset: u64, size: u64) -> &[u8] {
    let rest = usize::try_from(offset).ok().and_then(|start| bytes.get(start..)).unwrap_or(&[]);
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
    rest.get(..size).unwrap_or(&[])
}

/// The fixed-size record at the start of `bytes`.
pub(super) fn record<T: Pod>(bytes: &[u8]) -> Option<&T> {
    pod::from_bytes(bytes).ok().map(|(record, _)| record)
}

/// The fixed-size record at `offset`.
pub(super) fn record_at<T: Pod>(bytes: &[u8], offset: u64) -> Option<&T> {
    record(bytes.get(usize::try_from(offset).ok()?..)?)
}

/// Bytes in a `T`.
pub(super) fn size_of<T>() -> u64 {
    u64::try_from(std::mem::size_of::<T>()).unwrap_or(u64::MAX)
}

/// The `u16` at `offset`.
pub(super) fn u16_at(bytes: &[u8], offset: u64, endian: Endianness) -> Option<u16> {
    part(bytes, offset, 2)?.try_into().ok().map(|b| endian.read_u16(b))
}

/// The `u32` at `offset`.
pub(super) fn u32_at(bytes: &[u8], offset: u64, endian: Endianness) -> Option<u32> {
    part(bytes, offset, 4)?.try_into().ok().map(|b| endian.read_u32(b))
}

/// The `u64` at `offset`.
pub(super) fn u64_at(bytes: &[u8], offset: u64, endian: Endianness) -> Option<u64> {
    part(bytes, offset, 8)?.try_into().ok().map(|b| endian.read_u64(b))
}

/// How much more may be read before a file is held to be reading the same
/// bytes over and over (many headers that claim one table). Work stays linear.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget(u64);

impl Budget {
    /// `times` the file, plus a little for small files.
    pub(super) fn for_file(data: &[u8], times: u64) -> Self {
        Self(length(data).saturating_mul(times).saturating_add(0x1_0000))
    }

    /// Takes `amount`; false (and nothing taken) when that is too much.
    pub(super) fn take(&mut self, amount: u64) -> bool {
        match self.0.checked_sub(amount) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

/// A string table: NUL-terminated names by offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strings<'data> {
    bytes: &'data [u8],
    budget: u64,
}

/// A name up to this long is always read, budget or not.
const NAME_FREE: u64 = 1024;

/// Why a name cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameFault {
    /// The offset lies past the table.
    Outside,
    /// No NUL before the end of the table.
    Unterminated,
    /// Many names share one very long tail; reading each would be quadratic.
    TooLong,
}

impl NameFault {
    /// The reason under which a symbol is counted.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Outside => "name outside its string table",
            Self::Unterminated => "name without an end",
            Self::TooLong => "name too long",
        }
    }
}

impl<'data> Strings<'data> {
    /// A table of `bytes` that `users` names will be read from.
    pub(super) fn new(bytes: &'data [u8], users: u64) -> Self {
        let budget = users.saturating_mul(NAME_FREE).saturating_add(length(bytes));
        Self { bytes, budget: budget.saturating_add(0x10_0000) }
    }

    /// The name at `offset`, without its NUL.
    pub(super) fn get(&mut self, offset: u64) -> Result<&'data [u8], NameFault> {
        let rest = usize::try_from(offset).ok().and_then(|start| self.bytes.get(start..));
        let Some(rest) = rest.filter(|rest| !rest.is_empty()) else {
            return Err(NameFault::Outside);
        };
        let window = part_there(rest, 0, self.budget.max(NAME_FREE));
        match memchr::memchr(0, window) {
            Some(end) => {
                let name = window.get(..end).unwrap_or(&[]);
                self.budget = self.budget.saturating_sub(length(name));
                Ok(name)
            }
            None => {
                self.budget = self.budget.saturating_sub(length(window));
                Err(if window.len() == rest.len() {
                    NameFault::Unterminated
                } else {
                    NameFault::TooLong
                })
            }
        }
    }
}
