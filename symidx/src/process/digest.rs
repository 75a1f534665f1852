//! Digests of bytes that only this process compares: FNV-1a, 64 bits.
//!
//! In: bytes. Out: a number. Never stored, never trusted against anybody who
//! chooses the bytes.

/// The digest of the bytes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest(pub(super) u64);

impl Default for Digest {
    /// Of no bytes.
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// With these bytes behind those before.
    pub(super) fn of(self, bytes: &[u8]) -> Self {
        let next =
            |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        Self(bytes.iter().fold(self.0, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_that_fnv_states() {
        assert_eq!(Digest::default().of(b"").0, 0xcbf2_9ce4_8422_2325);
        assert_eq!(Digest::default().of(b"a").0, 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Digest::default().of(b"foobar").0, 0x8594_4171_f739_67e8);
        assert_eq!(Digest::default().of(b"foo").of(b"bar"), Digest::default().of(b"foobar"));
    }
}
