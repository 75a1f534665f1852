//! Numbers and texts of a record, in the byte order of the machine that wrote it.
//!
//! In: a slice. Out: `None` where it ends too early. Never allocates.

use linux_perf_event_reader::Endianness;

/// A position in a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    endian: Endianness,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], endian: Endianness) -> Self {
        Self { bytes, endian }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        let (head, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(match self.endian {
            Endianness::LittleEndian => u16::from_le_bytes(*head),
            Endianness::BigEndian => u16::from_be_bytes(*head),
        })
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (head, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(match self.endian {
            Endianness::LittleEndian => u32::from_le_bytes(*head),
            Endianness::BigEndian => u32::from_be_bytes(*head),
        })
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (head, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(match self.endian {
            Endianness::LittleEndian => u64::from_le_bytes(*head),
            Endianness::BigEndian => u64::from_be_bytes(*head),
        })
    }

    pub(crate) fn i32(&mut self) -> Option<i32> {
        self.u32().map(u32::cast_signed)
    }

    /// The next `count` bytes.
    #[inline]
    pub(crate) fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (head, rest) = self.bytes.split_at_checked(usize::try_from(count).ok()?)?;
        self.bytes = rest;
        Some(head)
    }

    pub(crate) fn skip(&mut self, count: u64) -> Option<()> {
        self.take(count).map(|_| ())
    }
}

/// The bytes before the first NUL; all of them where there is none.
pub(crate) fn text(bytes: &[u8]) -> &[u8] {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_the_order_of_the_file() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let mut little = Cursor::new(&bytes, Endianness::LittleEndian);
        assert_eq!(little.u16(), Some(0x0201));
        assert_eq!(little.u32(), Some(0x0605_0403));
        assert_eq!(little.u64(), None);
        assert_eq!(little.rest(), [7, 8, 9]);
        let mut big = Cursor::new(&bytes, Endianness::BigEndian);
        assert_eq!(big.u64(), Some(0x0102_0304_0506_0708));
        assert_eq!(big.take(2), None);
        assert_eq!(big.take(u64::MAX), None);
        assert_eq!(big.take(1), Some([9].as_slice()));
    }

    #[test]
    fn a_text_ends_at_nul_or_where_the_record_does() {
        assert_eq!(text(b"sh\0\0\0"), b"sh");
        assert_eq!(text(b"sh"), b"sh");
        assert_eq!(text(b""), b"");
    }
}
