//! Bounded reads: an offset and a size as the file claims them in, bytes that
//! are really there out. Never allocates, never panics.

use object::pod::{Pod, from_bytes};

/// The number of bytes as the file counts them.
pub(super) fn length(data: &[u8]) -> u64 {
    u64::try_from(data.len()).unwrap_or(u64::MAX)
}

/// The bytes from `offset` on, or `None` past the end.
pub(super) fn from(data: &[u8], offset: u64) -> Option<&[u8]> {
    data.get(usize::try_from(offset).ok()?..)
}

/// Exactly `size` bytes at `offset`.
pub(super) fn at(data: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    from(data, offset)?.get(..usize::try_from(size).ok()?)
}

/// As many of `size` bytes at `offset` as there are; none past the end.
pub(super) fn at_most(data: &[u8], offset: u64, size: u64) -> &[u8] {
    let rest = from(data, offset).unwrap_or_default();
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
    rest.get(..size).unwrap_or_default()
}

/// One record at `offset`. All records of the format are made of bytes, so
/// their alignment in the file does not matter.
pub(super) fn read_at<T: Pod>(data: &[u8], offset: u64) -> Option<&T> {
    from_bytes::<T>(from(data, offset)?).ok().map(|(record, _)| record)
}

/// As many of `count` records as `data` has room for.
pub(super) fn records<T: Pod>(data: &[u8], count: u64) -> &[T] {
    let room = data.len().checked_div(size_of::<T>()).unwrap_or_default();
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(room);
    object::pod::slice_from_bytes(data, count).map(|(records, _)| records).unwrap_or_default()
}

/// One ULEB128 number and the bytes after it; `None` when it does not end or
/// does not fit 64 bits.
pub(super) fn uleb(data: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    let mut shift = 0_u32;
    let mut rest = data;
    loop {
        let (byte, after) = rest.split_first()?;
        let bits = u64::from(byte & 0x7f);
        let shifted = bits.checked_shl(shift)?;
        if shifted.checked_shr(shift) != Some(bits) {
            return None;
        }
        value |= shifted;
        if byte & 0x80 == 0 {
            return Some((value, after));
        }
        shift = shift.checked_add(7)?;
        rest = after;
    }
}
