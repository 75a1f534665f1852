//! The hash by which names are found. Part of the format: changing it changes files.

/// 32-bit hash of a plain name (no version).
///
/// Eight bytes at a time, little-endian, the last group zero-padded; the
/// length is mixed in first, so padding never makes two names equal. Not
/// keyed: a hostile file can make names collide, which costs `find` a longer
/// walk and nothing else.
///
/// ```
/// use symidx::format::name_hash;
///
/// // The same on every host; a version is no part of it.
/// assert_eq!(name_hash(b"main"), name_hash(&b"main@V1"[..4]));
/// assert_ne!(name_hash(b"main"), name_hash(b"main\0"));
/// ```
#[must_use]
pub fn name_hash(plain: &[u8]) -> u32 {
    let mut hash = begin(plain.len());
    let (groups, rest) = plain.as_chunks::<8>();
    for group in groups {
        hash = mix(hash, *group);
    }
    end(hash, rest)
}

/// The same for a name of `len` bytes in pieces.
pub(crate) fn name_hash_of<'a>(len: usize, pieces: impl Iterator<Item = &'a [u8]>) -> u32 {
    let mut hash = begin(len);
    let mut group = [0; 8];
    let mut filled = 0usize;
    for &byte in pieces.flatten() {
        if let Some(slot) = group.get_mut(filled) {
            *slot = byte;
        }
        filled = filled.wrapping_add(1);
        if filled == group.len() {
            hash = mix(hash, group);
            filled = 0;
        }
    }
    end(hash, group.get(..filled).unwrap_or(&[]))
}

const K: u64 = 0x9e37_79b9_7f4a_7c15;

fn begin(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(0).wrapping_mul(K)
}

fn mix(hash: u64, group: [u8; 8]) -> u64 {
    let hash = (hash ^ u64::from_le_bytes(group)).wrapping_mul(K);
    hash ^ (hash >> 32)
}

fn end(hash: u64, rest: &[u8]) -> u32 {
    let mut last = [0u8; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let mut hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(K);
    hash ^= hash >> 29;
    hash = hash.wrapping_mul(K);
    // The upper half is the best mixed one.
    u32::try_from(hash >> 32).unwrap_or(0)
}

/// The bucket of a hash among `buckets` (0 when there are none). Monotone in
/// the hash, so hash order is bucket order.
///
/// ```
/// use symidx::format::{bucket_of, name_hash};
///
/// // Where to look for `main` in an index with 37 buckets of names.
/// assert!(bucket_of(name_hash(b"main"), 37) < 37);
/// assert_eq!(bucket_of(u32::MAX, 37), 36);
/// ```
#[must_use]
pub fn bucket_of(hash: u32, buckets: u32) -> u32 {
    let scaled = u64::from(hash).wrapping_mul(u64::from(buckets)) >> 32;
    u32::try_from(scaled).unwrap_or(0)
}

/// The byte kept beside each name id: the low byte of the hash, which the
/// bucket number does not already say.
///
/// ```
/// // One byte tells most names of a bucket apart before any name is read.
/// assert_eq!(symidx::format::fingerprint(0x1234_5678), 0x78);
/// ```
#[must_use]
pub fn fingerprint(hash: u32) -> u8 {
    let [low, ..] = hash.to_le_bytes();
    low
}

/// Splits a stored versioned name at its last `@` or `@@`: (plain, version,
/// version is the default one). Without an `@`: everything is the plain name.
///
/// ```
/// use symidx::format::split_version;
///
/// assert_eq!(split_version(b"f@@V2"), (&b"f"[..], &b"V2"[..], true));
/// assert_eq!(split_version(b"f@V1"), (&b"f"[..], &b"V1"[..], false));
/// ```
#[must_use]
pub fn split_version(stored: &[u8]) -> (&[u8], &[u8], bool) {
    let Some(at) = stored.iter().rposition(|&b| b == b'@') else {
        return (stored, &[], false);
    };
    let (before, rest) = stored.split_at(at);
    let version = rest.get(1..).unwrap_or(&[]);
    match before.strip_suffix(b"@") {
        Some(plain) => (plain, version, true),
        None => (before, version, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hash_as_the_whole_does() {
        let name = b"_ZN5space6methodEi@plt";
        for len in 0..=name.len() {
            let name = name.get(..len).unwrap_or_default();
            for size in 1..12 {
                assert_eq!(name_hash_of(len, name.chunks(size)), name_hash(name));
            }
        }
    }

    #[test]
    fn padding_never_makes_two_names_equal() {
        assert_ne!(name_hash(b"a"), name_hash(b"a\0"));
        assert_ne!(name_hash(b""), name_hash(b"\0"));
        assert_ne!(name_hash(b"12345678"), name_hash(b"12345678\0"));
    }

    #[test]
    fn buckets_are_monotone_and_in_range() {
        let mut last = 0;
        for i in 0..1000u32 {
            let bucket = bucket_of(i << 22, 37);
            assert!(bucket < 37 && bucket >= last);
            last = bucket;
        }
        assert_eq!(bucket_of(u32::MAX, 37), 36);
        assert_eq!(bucket_of(u32::MAX, 0), 0);
    }

    #[test]
    fn versions_split_at_the_last_at() {
        assert_eq!(split_version(b"f@@V2"), (&b"f"[..], &b"V2"[..], true));
        assert_eq!(split_version(b"f@V1"), (&b"f"[..], &b"V1"[..], false));
        assert_eq!(split_version(b"f"), (&b"f"[..], &b""[..], false));
        assert_eq!(split_version(b"a@b@V"), (&b"a@b"[..], &b"V"[..], false));
    }
}
