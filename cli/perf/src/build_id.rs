//! Build-ids as profiles hold them: at most 20 bytes.
//!
//! In: 20 bytes and perhaps a length. Out: the id. Never allocates.

use std::fmt;

/// A build-id of 1 to 20 bytes.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// let inventory = symidx_perf::Inventory::read(&mut session, 127)?;
/// let id: symidx_perf::BuildId = inventory.dsos[0].dso.build_id.unwrap();
/// assert_eq!(id.to_string(), "1122334455667788");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BuildId {
    bytes: [u8; 20],
    length: u8,
}

impl BuildId {
    /// An id of 1 to 20 bytes; `None` for anything else.
    #[must_use]
    pub(crate) fn new(id: &[u8]) -> Option<Self> {
        let mut bytes = [0; 20];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        let length = u8::try_from(id.len()).ok().filter(|&length| length != 0)?;
        Some(Self { bytes, length })
    }

    /// From 20 bytes as stored. perf before 5.10 stored no length: then groups of
    /// four zero bytes at the end do not count, as build-ids are hashes.
    pub(crate) fn stored(stored: &[u8; 20], length: Option<u8>) -> Option<Self> {
        let length = match length {
            Some(length) => usize::from(length).min(stored.len()),
            None => {
                let used = stored.iter().rposition(|&byte| byte != 0);
                used.map_or(0, |last| last.saturating_add(1).next_multiple_of(4))
            }
        };
        // An id that is all zero is one that was never read.
        let id = stored.get(..length)?;
        if id.iter().all(|&byte| byte == 0) {
            return None;
        }
        Self::new(id)
    }

    /// Its bytes: 1 to 20, or as many as perf kept.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// session.next_sample()?;
    /// let file = &session.reader().header().build_ids[0];
    /// assert!(file.build_id.as_bytes().starts_with(&[0x11, 0x22, 0x33]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&self.bytes)
    }

    /// True when a file with the build-id `other` is the one meant: perf keeps no
    /// more than 20 bytes of an id.
    #[must_use]
    pub(crate) fn is_of(&self, other: &[u8]) -> bool {
        let kept = other.get(..other.len().min(20)).unwrap_or(other);
        self.as_bytes() == kept
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_length_zero_words_at_the_end_do_not_count() {
        let mut stored = [0; 20];
        assert_eq!(BuildId::stored(&stored, None), None);
        assert_eq!(BuildId::stored(&stored, Some(20)), None);
        for (byte, value) in stored.iter_mut().zip([0xab, 0xcd, 0, 0, 1]) {
            *byte = value;
        }
        let text = |length| BuildId::stored(&stored, length).map(|id| id.to_string());
        assert_eq!(text(None).as_deref(), Some("abcd000001000000"));
        assert_eq!(text(Some(5)).as_deref(), Some("abcd000001"));
        assert_eq!(text(Some(255)).map(|text| text.len()), Some(40));
    }

    #[test]
    fn a_longer_id_is_compared_as_far_as_perf_keeps_it() {
        let long = [7; 32];
        let kept = BuildId::new(&[7; 20]);
        assert!(kept.is_some_and(|id| id.is_of(&long)));
        assert!(kept.is_some_and(|id| !id.is_of(&[7; 19])));
        assert_eq!(BuildId::new(&long), None);
        assert_eq!(BuildId::new(&[]), None);
    }
}
