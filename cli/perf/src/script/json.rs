//! Samples as JSON lines.
//!
//! In: bytes of names. Out: JSON text. A byte that is no UTF-8, or a control character,
//! is written `\xNN`, a backslash `\\`, as in the other verbs.

use std::io::Write as _;

/// Appends a symbol's name, and in hexadecimal where the string alone does not tell it.
pub(super) fn symbol(out: &mut Vec<u8>, name: &[u8]) {
    out.extend_from_slice(b",\"symbol\":");
    if json_string(out, name) {
        out.extend_from_slice(b",\"name_hex\":\"");
        for byte in name {
            // Writing to memory cannot fail.
            let _ = write!(out, "{byte:02x}");
        }
        out.push(b'"');
    }
}

/// Appends bytes as a JSON string. Bytes that are not UTF-8 and control characters become the
/// text `\xNN`, and a backslash the text `\\`; true when any did, as the bytes cannot be told
/// from the string alone then.
///
/// ```
/// let mut out = Vec::new();
/// assert!(!symidx_perf::json_string(&mut out, b"operator==")); // the string says it all
/// assert!(symidx_perf::json_string(&mut out, b"\x1b[2J"));
/// assert_eq!(out, br#""operator==""\\x1b[2J""#);
/// ```
pub fn json_string(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let mut escape = false;
    out.push(b'"');
    if is_plain(bytes) {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return false;
    }
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let mut room = [0; 4];
            let utf8 = character.encode_utf8(&mut room);
            match character {
                '"' => out.extend_from_slice(b"\\\""),
                // JSON needs one escape, the text itself another.
                '\\' => {
                    escape = true;
                    out.extend_from_slice(b"\\\\\\\\");
                }
                control if control.is_control() => {
                    escape = true;
                    utf8.bytes().for_each(|byte| escaped(out, byte));
                }
                _ => out.extend_from_slice(utf8.as_bytes()),
            }
        }
        chunk.invalid().iter().for_each(|&byte| escaped(out, byte));
        escape |= !chunk.invalid().is_empty();
    }
    out.push(b'"');
    escape
}

/// True for printable ASCII without quotes and backslashes. Looks at whole blocks before it
/// decides, which the compiler turns into vector instructions: names are long.
fn is_plain(bytes: &[u8]) -> bool {
    const BLOCK: usize = 64;
    let odd = |byte: u8| {
        (byte.wrapping_sub(b' ') > b'~'.wrapping_sub(b' ')) | (byte == b'"') | (byte == b'\\')
    };
    !bytes.chunks(BLOCK).any(|block| block.iter().fold(false, |any, &byte| any | odd(byte)))
}

fn escaped(out: &mut Vec<u8>, byte: u8) {
    // Writing to memory cannot fail.
    let _ = write!(out, "\\\\x{byte:02x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_make_a_string() {
        for (bytes, expected, escaped) in [
            (b"main".as_slice(), r#""main""#, false),
            (b"a\"b", r#""a\"b""#, false),
            (b"b\\c", r#""b\\\\c""#, true),
            (b"\x01\xff", r#""\\x01\\xff""#, true),
            ("é\u{85}".as_bytes(), "\"é\\\\xc2\\\\x85\"", true),
        ] {
            let mut out = Vec::new();
            assert_eq!(json_string(&mut out, bytes), escaped);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
        // U+009B starts a terminal command as ESC [ does.
        let mut out = Vec::new();
        assert!(json_string(&mut out, "\u{9b}".as_bytes()));
        assert_eq!(out, br#""\\xc2\\x9b""#);
        let mut out = Vec::new();
        symbol(&mut out, b"f\xff");
        assert_eq!(out, br#","symbol":"f\\xff","name_hex":"66ff""#);
    }
}
