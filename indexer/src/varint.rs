//! Numbers of any size, small ones in one byte: seven bits a byte, the low ones first.
//!
//! In and out: bytes that only the indexer itself keeps, while it builds. No
//! part of a file's format.

/// Appends a number.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(low(value) | 0x80);
        value >>= 7;
    }
    out.push(low(value));
}

fn low(value: u64) -> u8 {
    u8::try_from(value & 0x7f).unwrap_or(0)
}

/// A signed number as one that is small for small amounts of either sign.
pub(crate) fn zigzag(value: i64) -> u64 {
    let sign = if value < 0 { u64::MAX } else { 0 };
    (value.cast_unsigned() << 1) ^ sign
}

/// The number that [`zigzag`] was given.
pub(crate) fn unzigzag(value: u64) -> i64 {
    let half = (value >> 1).cast_signed();
    if value & 1 == 0 { half } else { !half }
}

/// Reads what [`put`] wrote. These bytes are the indexer's own; past their end
/// everything is 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers<'a> {
    rest: &'a [u8],
}

impl<'a> Numbers<'a> {
    /// From the first of these bytes on.
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// The number at the front.
    pub(crate) fn next(&mut self) -> u64 {
        let mut value = 0u64;
        let mut shift = 0u32;
        while let Some((&byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            value |= u64::from(byte & 0x7f).wrapping_shl(shift);
            shift = shift.saturating_add(7);
            if byte < 0x80 {
                break;
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let values = [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX];
        let mut bytes = Vec::new();
        for value in values {
            put(&mut bytes, value);
        }
        let mut numbers = Numbers::new(&bytes);
        assert_eq!(values.map(|_| numbers.next()), values);
        assert_eq!(numbers.next(), 0, "past the end");
        for value in [0, 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
