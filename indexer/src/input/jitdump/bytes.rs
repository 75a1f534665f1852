//! Numbers and names of a record's body, in the file's byte order. Every read
//! is checked; what is not there is `None`.

/// What is left of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'data> {
    rest: &'data [u8],
    big_endian: bool,
}

impl<'data> Body<'data> {
    pub(super) fn new(rest: &'data [u8], big_endian: bool) -> Self {
        Self { rest, big_endian }
    }

    /// The bytes that were not read yet.
    pub(super) fn rest(&self) -> &'data [u8] {
        self.rest
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(if self.big_endian { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) })
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(if self.big_endian { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) })
    }

    /// The bytes up to the next NUL, which is read too.
    pub(super) fn name(&mut self) -> Option<&'data [u8]> {
        let end = memchr::memchr(0, self.rest)?;
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest.get(1..)?;
        Some(name)
    }

    /// Exactly that many bytes.
    pub(super) fn take(&mut self, count: u64) -> Option<&'data [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(count).ok()?)?;
        self.rest = rest;
        Some(taken)
    }
}
