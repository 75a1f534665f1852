//! Display names: what people read in place of linkage names.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The texts shown for one name, 16 bytes; sorted by `name`.
///
/// Both texts are ranges of one run of bytes: the full one starts it, the
/// short one lies inside it or behind it.
///
/// ```
/// use symidx::format::Display;
///
/// // "f(int)" and its short text "f" in one run of bytes, which is in one piece.
/// let entry = Display {
///     name: 0x40.into(),
///     text: 0.into(),
///     full_len: 6.into(),
///     short_start: 0.into(),
///     short_len: 1.into(),
///     pieces: 1.into(),
/// };
/// assert_eq!((entry.run_len(), size_of::<Display>()), (6, 16));
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Display {
    /// Where the name starts in the names section, in that section's unit.
    pub name: U32,
    /// Offset in the display texts: of the run itself when it is in one piece,
    /// else of its list of [`DisplayPiece`].
    pub text: U32,
    /// Bytes of the full text, at least 1.
    pub full_len: U16,
    /// Where the short text starts in the run.
    pub short_start: U16,
    /// Bytes of the short text, at least 1.
    pub short_len: U16,
    /// Pieces of the run, 1 to [`MAX_PIECES`].
    pub pieces: U16,
}

impl Display {
    /// Bytes of the run that holds both texts.
    ///
    /// ```
    /// use symidx::format::Display;
    /// use zerocopy::FromZeros;
    ///
    /// // A short text that is no part of the full one stands behind it.
    /// let mut entry = Display::new_zeroed();
    /// (entry.full_len, entry.short_start, entry.short_len) = (10.into(), 10.into(), 4.into());
    /// assert_eq!(entry.run_len(), 14);
    /// ```
    #[must_use]
    pub fn run_len(&self) -> usize {
        let short_end =
            usize::from(self.short_start.get()).saturating_add(usize::from(self.short_len.get()));
        usize::from(self.full_len.get()).max(short_end)
    }
}

/// A piece of a run, 6 bytes.
///
/// ```
/// use symidx::format::DisplayPiece;
///
/// let texts = b"space::method(int)";
/// let piece = DisplayPiece { at: 7.into(), len: 6.into() };
/// let start = piece.at.get() as usize;
/// assert_eq!(&texts[start..start + usize::from(piece.len.get())], b"method");
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct DisplayPiece {
    /// Offset in the display texts.
    pub at: U32,
    /// Bytes, at least 1.
    pub len: U16,
}

/// A run is made of at most this many pieces.
pub const MAX_PIECES: u16 = 8;

/// The bucket, of `buckets`, of a name that starts at `name` of `end` units of
/// the names section.
///
/// ```
/// use symidx::format::display_bucket_of;
///
/// // 4 buckets over 1000 units of names: a search looks at a quarter of the entries.
/// assert_eq!(display_bucket_of(0, 1000, 4), 0);
/// assert_eq!(display_bucket_of(600, 1000, 4), 2);
/// ```
#[must_use]
pub fn display_bucket_of(name: u32, end: u64, buckets: u32) -> u32 {
    let bucket = u64::from(name).saturating_mul(u64::from(buckets)).checked_div(end).unwrap_or(0);
    // A name outside the section belongs to no bucket; any will do.
    u32::try_from(bucket).unwrap_or(u32::MAX).min(buckets.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_the_section_evenly_and_in_order() {
        let mut before = 0;
        let mut counts = [0u32; 7];
        for name in 0..700 {
            let bucket = display_bucket_of(name, 700, 7);
            assert!(bucket >= before);
            before = bucket;
            if let Some(count) = usize::try_from(bucket).ok().and_then(|b| counts.get_mut(b)) {
                *count = count.saturating_add(1);
            }
        }
        assert_eq!(counts, [100; 7]);
        assert_eq!(display_bucket_of(u32::MAX, 1 << 32, 1 << 20), (1 << 20) - 1);
        assert_eq!(display_bucket_of(9, 3, 4), 3);
        assert_eq!(display_bucket_of(9, 0, 0), 0);
    }
}
