//! Packed names: encoding 1 of the names section, its head, phrases and codes.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Encoding of a names section that begins with a dictionary of phrases and
/// stores names as codes of them.
pub const ENCODING_PACKED: u32 = 1;

/// Codes below this stand for a phrase and take one byte; from here on to
/// [`CODE_HEX`] they are the first of two.
pub const ONE_BYTE_CODES: u8 = 128;
/// This code stands for [`HEX_DIGITS`] lower-case hexadecimal digits, packed
/// in the bytes behind it, the first digit in the high half.
pub const CODE_HEX: u8 = 254;
/// This code is followed by a number of bytes, and the bytes.
pub const CODE_LITERAL: u8 = 255;
/// Digits that one [`CODE_HEX`] stands for: the hash at the end of a Rust name.
pub const HEX_DIGITS: usize = 16;

/// At most this many phrases: 128 with codes of one byte, 126 · 256 of two.
pub const MAX_PHRASES: u32 = 32_384;

/// The start of a packed names section, 16 bytes: phrases, then their text,
/// then names follow.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/packed.symidx")))?;
/// use symidx::format::{PackedHead, SectionId};
/// use zerocopy::FromBytes;
///
/// let names = index.file_sections().find(|section| section.id == SectionId::NAMES).unwrap();
/// let bytes = &index.as_bytes()[names.offset as usize..];
/// let (head, _) = PackedHead::ref_from_prefix(bytes).unwrap();
/// assert!(head.phrases.get() > 0 && head.text.get() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct PackedHead {
    /// Entries of the phrase table that follows, at most [`MAX_PHRASES`].
    pub phrases: U32,
    /// Bytes of the text behind the table.
    pub text: U32,
    /// Bytes of the section if it were plain: for people, nothing depends on it.
    pub plain: U64,
}

/// A phrase: bytes of the dictionary's text that one code stands for.
///
/// ```
/// use symidx::format::Phrase;
///
/// let phrase = Phrase::new(0x12345, 7).unwrap();
/// assert_eq!((phrase.at(), phrase.len), (0x12345, 7));
/// assert!(Phrase::new(1 << 24, 7).is_none()); // 16 MiB of text at most
/// ```
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Phrase {
    /// Offset in the text.
    pub at: [u8; 3],
    /// Bytes, at least 1.
    pub len: u8,
}

impl Phrase {
    /// `None` when the offset does not fit.
    ///
    /// ```
    /// assert!(symidx::format::Phrase::new(0xff_ffff, 1).is_some());
    /// assert!(symidx::format::Phrase::new(0x100_0000, 1).is_none()); // 24 bits
    /// ```
    #[must_use]
    pub fn new(at: u32, len: u8) -> Option<Self> {
        match at.to_le_bytes() {
            [a, b, c, 0] => Some(Self { at: [a, b, c], len }),
            _ => None,
        }
    }

    /// Offset in the text.
    ///
    /// ```
    /// let phrase = symidx::format::Phrase { at: [0x45, 0x23, 0x01], len: 7 };
    /// assert_eq!(phrase.at(), 0x12345); // little-endian, as stored
    /// ```
    #[must_use]
    #[inline]
    pub fn at(&self) -> u32 {
        let [a, b, c] = self.at;
        u32::from_le_bytes([a, b, c, 0])
    }
}
