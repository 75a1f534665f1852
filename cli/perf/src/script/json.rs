//! Samples as JSON lines.
//!
//! In: bytes of names. Out: JSON text. A byte that is no UTF-8, or a control character,
//! is written `\xNN`, a backslash `\\`, as in the other verbs.

use std::io::Write as _;

/// Appends a quoted string.
pub(super) fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => out.extend_from_slice(b"\\\""),
                // JSON needs one escape, the text itself another.
                '\\' => out.extend_from_slice(b"\\\\\\\\"),
                control if control.is_control() => {
                    let mut utf8 = [0; 4];
                    control.encode_utf8(&mut utf8).bytes().for_each(|byte| escaped(out, byte));
                }
                other => {
                    let mut utf8 = [0; 4];
                    out.extend_from_slice(other.encode_utf8(&mut utf8).as_bytes());
                }
            }
        }
        chunk.invalid().iter().for_each(|&byte| escaped(out, byte));
    }
    out.push(b'"');
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
        for (bytes, expected) in [
            (b"main".as_slice(), r#""main""#),
            (b"a\"b\\c", r#""a\"b\\\\c""#),
            (b"\x01\xff", r#""\\x01\\xff""#),
            ("é\u{85}".as_bytes(), "\"é\\\\xc2\\\\x85\""),
        ] {
            let mut out = Vec::new();
            string(&mut out, bytes);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }
}
