//! Packed names: from codes back to bytes, piece by piece.
//!
//! In: a names section of encoding 1 and a place in it. Out: slices of the
//! section, end to end the name. Never allocates, never recurses (phrases are
//! flat text), and takes at most one step per byte of the name.

use core::fmt;

use zerocopy::FromBytes;

use crate::format::{
    CODE_HEX, CODE_LITERAL, HEX_DIGITS, MAX_PHRASES, ONE_BYTE_CODES, PackedHead, Phrase,
};
use crate::open::index;

/// Bytes of text that are looked at together.
const BLOCK: usize = 256;
/// What a byte that cannot be read stands as: no text has it.
const UNREADABLE: &[u8] = &[0xff; 64];
/// Both digits of each byte, end to end.
const DIGITS: &[u8; 512] = b"\
    000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\
    202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f\
    404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f\
    606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f\
    808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f\
    a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf\
    c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf\
    e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff\
    ";

/// The dictionary at the head of a packed names section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dictionary<'a> {
    pub(crate) phrases: &'a [Phrase],
    pub(crate) text: &'a [u8],
}

impl<'a> Dictionary<'a> {
    /// `None` where head, phrases or text are not whole (I35).
    #[inline]
    pub(crate) fn read(section: &'a [u8]) -> Option<(&'a PackedHead, Self, &'a [u8])> {
        let (head, rest) = PackedHead::ref_from_prefix(section).ok()?;
        let count = Some(head.phrases.get()).filter(|&count| count <= MAX_PHRASES)?;
        let (phrases, rest) = <[Phrase]>::ref_from_prefix_with_elems(rest, index(count)).ok()?;
        let (text, names) = rest.split_at_checked(index(head.text.get()))?;
        Some((head, Self { phrases, text }, names))
    }

    /// The bytes of a phrase; `None` where there is none, or an empty one (I36).
    #[inline]
    pub(crate) fn phrase(&self, number: usize) -> Option<&'a [u8]> {
        let phrase = self.phrases.get(number)?;
        let at = index(phrase.at());
        let bytes = self.text.get(at..at.wrapping_add(usize::from(phrase.len)))?;
        (!bytes.is_empty()).then_some(bytes)
    }
}

/// A packed name, or a part of one: where its codes start, how many of its
/// bytes come before the part, and how many it has.
#[derive(Clone, Copy)]
pub(crate) struct PackedName<'a> {
    pub(crate) section: &'a [u8],
    pub(crate) at: u32,
    pub(crate) skip: u16,
    pub(crate) len: u16,
}

impl<'a> PackedName<'a> {
    /// The name's bytes in pieces: [`PackedName::len`] bytes, those that cannot
    /// be read as `\xff`.
    pub(crate) fn pieces(&self) -> PackedPieces<'a> {
        let codes = self.section.get(index(self.at)..).unwrap_or(&[]);
        let (dictionary, codes) = match Dictionary::read(self.section) {
            Some((_, dictionary, _)) => (dictionary, codes),
            None => (Dictionary { phrases: &[], text: &[] }, &[][..]),
        };
        PackedPieces {
            dictionary,
            codes,
            digits: 0,
            skip: self.skip.into(),
            left: self.len.into(),
            readable: true,
        }
    }

    /// Copies as much as fits.
    #[inline(never)]
    pub(crate) fn copy_to(&self, buffer: &mut [u8]) {
        let mut rest = buffer;
        for piece in self.pieces() {
            rest = copy_piece(piece, rest);
            if rest.is_empty() {
                break;
            }
        }
    }

    /// Writes the name as text; bytes that are not UTF-8 become U+FFFD.
    #[inline(never)]
    pub(crate) fn write_to(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        texts(self.pieces(), |valid, invalid| {
            out.write_str(valid)?;
            match invalid {
                [] => Ok(()),
                _ => out.write_char(char::REPLACEMENT_CHARACTER),
            }
        })
    }

    /// Bytes `skip..skip + len` of this name.
    pub(crate) fn part(&self, skip: u16, len: u16) -> Self {
        let skip = skip.min(self.len);
        Self {
            skip: self.skip.saturating_add(skip),
            len: len.min(self.len.saturating_sub(skip)),
            ..*self
        }
    }

    /// True for the same bytes in the same place.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        (self.section.as_ptr(), self.at, self.skip, self.len)
            == (other.section.as_ptr(), other.at, other.skip, other.len)
    }
}

/// Copies what fits; returns the room behind it.
#[inline]
fn copy_piece<'b>(piece: &[u8], buffer: &'b mut [u8]) -> &'b mut [u8] {
    let fits = piece.len().min(buffer.len());
    match (buffer.split_at_mut_checked(fits), piece.get(..fits)) {
        (Some((to, rest)), Some(from)) => {
            to.copy_from_slice(from);
            rest
        }
        _ => &mut [],
    }
}

/// The pieces of a packed name. None is empty.
#[derive(Clone, Debug)]
pub(crate) struct PackedPieces<'a> {
    dictionary: Dictionary<'a>,
    codes: &'a [u8],
    /// Bytes of digits that are still to come.
    digits: usize,
    skip: usize,
    left: usize,
    readable: bool,
}

impl<'a> PackedPieces<'a> {
    /// False after something that could not be read.
    pub(crate) fn is_readable(&self) -> bool {
        self.readable
    }

    /// What the next code stands for; never empty.
    #[inline]
    fn step(&mut self) -> Option<&'a [u8]> {
        let (&code, rest) = self.codes.split_first()?;
        if self.digits > 0 {
            self.digits = self.digits.saturating_sub(1);
            self.codes = rest;
            let at = usize::from(code).wrapping_mul(2);
            return DIGITS.get(at..at.wrapping_add(2));
        }
        if code < ONE_BYTE_CODES {
            self.codes = rest;
            return self.dictionary.phrase(code.into());
        }
        let (&second, after) = rest.split_first()?;
        match code {
            CODE_LITERAL => {
                let (bytes, after) = after.split_at_checked(second.into())?;
                self.codes = after;
                (!bytes.is_empty()).then_some(bytes)
            }
            CODE_HEX => {
                self.digits = HEX_DIGITS / 2;
                self.codes = rest;
                self.step_digit()
            }
            _ => {
                self.codes = after;
                let high = usize::from(code.wrapping_sub(ONE_BYTE_CODES)).wrapping_mul(256);
                let number = high.wrapping_add(second.into());
                self.dictionary.phrase(number.wrapping_add(ONE_BYTE_CODES.into()))
            }
        }
    }

    fn step_digit(&mut self) -> Option<&'a [u8]> {
        let (&byte, rest) = self.codes.split_first()?;
        self.digits = self.digits.saturating_sub(1);
        self.codes = rest;
        let at = usize::from(byte).wrapping_mul(2);
        DIGITS.get(at..at.wrapping_add(2))
    }
}

impl<'a> Iterator for PackedPieces<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        while self.left > 0 {
            let piece = self.step().unwrap_or_else(|| {
                (self.codes, self.digits, self.readable) = (&[], 0, false);
                UNREADABLE
            });
            let Some(piece) = piece.get(self.skip..).filter(|piece| !piece.is_empty()) else {
                self.skip = self.skip.saturating_sub(piece.len());
                continue;
            };
            self.skip = 0;
            let piece = piece.get(..self.left).unwrap_or(piece);
            self.left = self.left.saturating_sub(piece.len());
            return Some(piece);
        }
        None
    }
}

/// Plain name, version and whether that is the default one, as
/// [`crate::format::split_version`] has them.
pub(crate) fn split_version(name: PackedName<'_>) -> (PackedName<'_>, PackedName<'_>, bool) {
    let mut last: Option<(u16, bool)> = None;
    let (mut at, mut before) = (0u16, 0u8);
    for &byte in name.pieces().flatten() {
        if byte == b'@' {
            last = Some((at, before == b'@'));
        }
        at = at.saturating_add(1);
        before = byte;
    }
    let Some((at, default)) = last else { return (name, name.part(name.len, 0), false) };
    let plain = name.part(0, at.saturating_sub(default.into()));
    (plain, name.part(at.saturating_add(1), u16::MAX), default)
}

/// Passes on what is UTF-8 in the pieces, and the bytes behind it that are not,
/// just as `utf8_chunks` does for bytes that lie end to end: a character may
/// begin in one piece and end in another.
pub(crate) fn texts<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    mut take: impl FnMut(&str, &[u8]) -> fmt::Result,
) -> fmt::Result {
    let mut block = [0; BLOCK];
    let mut filled = 0usize;
    for piece in pieces {
        let mut piece = piece;
        while !piece.is_empty() {
            let fits = piece.len().min(BLOCK.saturating_sub(filled));
            let Some((from, rest)) = piece.split_at_checked(fits) else { break };
            if let Some(to) = block.get_mut(filled..filled.saturating_add(fits)) {
                to.copy_from_slice(from);
            }
            piece = rest;
            filled = filled.saturating_add(fits);
            if filled == BLOCK {
                let whole = whole_characters(&block);
                pass_on(block.get(..whole).unwrap_or(&[]), &mut take)?;
                block.copy_within(whole.., 0);
                filled = BLOCK.saturating_sub(whole);
            }
        }
    }
    pass_on(block.get(..filled).unwrap_or(&[]), &mut take)
}

fn pass_on(bytes: &[u8], take: &mut impl FnMut(&str, &[u8]) -> fmt::Result) -> fmt::Result {
    bytes.utf8_chunks().try_for_each(|chunk| take(chunk.valid(), chunk.invalid()))
}

/// How many bytes come before a character that is not whole yet.
fn whole_characters(block: &[u8]) -> usize {
    let Some(last) = block.utf8_chunks().last().map(|chunk| chunk.invalid()) else {
        return block.len();
    };
    let unfinished = core::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    block.len().saturating_sub(if unfinished { last.len() } else { 0 })
}

#[cfg(test)]
#[path = "packed/tests.rs"]
mod tests;
