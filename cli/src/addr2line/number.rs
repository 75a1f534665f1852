//! Addresses as GNU addr2line reads them: hex, or a symbol and an offset.
//!
//! In: any bytes. Out: always something to look up; what is no number is a
//! symbol, and a symbol that nobody knows is address 0.

/// What a text asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked<'t> {
    /// An address.
    Address(u64),
    /// A symbol's address and so many bytes on.
    Symbol(&'t [u8], u64),
}

/// Reads a text. A digit begins a number; so does a letter from a to f unless
/// a plus follows somewhere; everything else is a symbol, up to white space or
/// a plus. What follows is of no interest.
pub(super) fn asked(text: &[u8]) -> Asked<'_> {
    let end = memchr::memchr(0, text).unwrap_or(text.len());
    let text = skip_space(text.get(..end).unwrap_or(text));
    match text.first() {
        None => return Asked::Address(0),
        Some(byte) if byte.is_ascii_digit() => return Asked::Address(hex(text)),
        Some(byte) if byte.is_ascii_hexdigit() && memchr::memchr(b'+', text).is_none() => {
            return Asked::Address(hex(text));
        }
        Some(_) => {}
    }
    let end = text.iter().position(|&byte| byte == b'+' || is_space(byte)).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end).unwrap_or((text, &[]));
    let offset = skip_space(rest).strip_prefix(b"+").map_or(0, offset);
    Asked::Symbol(name, offset)
}

/// White space as C's `isspace` has it: with the vertical tab.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn skip_space(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| !is_space(byte)).unwrap_or(text.len());
    text.get(start..).unwrap_or(&[])
}

/// The hex digits at the front, with or without `0x`; too many are the
/// greatest address.
fn hex(text: &[u8]) -> u64 {
    let digits = match text {
        [b'0', b'x' | b'X', digits @ ..] if digits.first().is_some_and(u8::is_ascii_hexdigit) => {
            digits
        }
        digits => digits,
    };
    number(digits, 16)
}

/// A number of any base, as C's `strtoul` reads it: a minus sign wraps it around,
/// and too many digits are the greatest number, whatever their sign.
fn offset(text: &[u8]) -> u64 {
    let text = skip_space(text);
    let (negative, text) = match text {
        [b'-', text @ ..] => (true, text),
        [b'+', text @ ..] => (false, text),
        text => (false, text),
    };
    let value = match text {
        [b'0', b'x' | b'X', ..] => hex(text),
        [b'0', ..] => number(text, 8),
        _ => number(text, 10),
    };
    match negative {
        true if value < u64::MAX => value.wrapping_neg(),
        _ => value,
    }
}

fn number(digits: &[u8], base: u32) -> u64 {
    digits.iter().map_while(|&byte| char::from(byte).to_digit(base)).fold(0u64, |value, digit| {
        // Once too big, always too big: both steps saturate.
        value.saturating_mul(base.into()).saturating_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_hex_whatever_follows_them() {
        for (text, value) in [
            ("1170", 0x1170),
            ("0x1170", 0x1170),
            ("0X1F", 0x1f),
            ("  1170", 0x1170),
            ("\x0b12", 0x12),
            ("1170 junk", 0x1170),
            ("10zz", 0x10),
            ("0x", 0),
            ("0xg", 0),
            ("0x 1170", 0),
            ("0x-1", 0),
            ("0b1", 0xb1),
            ("1_0", 1),
            ("deadbeef", 0xdead_beef),
            ("abort", 0xab),
            ("ffffffffffffffff", u64::MAX),
            ("10000000000000000", u64::MAX),
            ("1ffffffffffffffffff", u64::MAX),
            ("", 0),
            (" \t\r\n", 0),
            ("11\0 70", 0x11),
        ] {
            assert_eq!(asked(text.as_bytes()), Asked::Address(value), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_number_is_a_symbol() {
        for (text, name, offset) in [
            ("main", "main", 0),
            (" main junk", "main", 0),
            ("main+4", "main", 4),
            ("main  +  4", "main", 4),
            ("main+0x4", "main", 4),
            ("main+010", "main", 8),
            ("main++4", "main", 4),
            ("main+-1", "main", u64::MAX),
            ("main+zz", "main", 0),
            ("main+0x", "main", 0),
            ("a+1", "a", 1),
            ("+1170", "", 1170),
            ("-1", "-1", 0),
            ("zz", "zz", 0),
            (",", ",", 0),
            ("main+9223372036854775808", "main", 0x8000_0000_0000_0000),
            ("main+-9223372036854775809", "main", 0x7fff_ffff_ffff_ffff),
            ("main+99999999999999999999", "main", u64::MAX),
            ("main+-99999999999999999999", "main", u64::MAX),
        ] {
            assert_eq!(asked(text.as_bytes()), Asked::Symbol(name.as_bytes(), offset), "{text:?}");
        }
    }
}
