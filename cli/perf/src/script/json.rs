//! Samples as JSON lines.
//!
//! In: bytes of names. Out: JSON text. A byte that is no UTF-8, or a control character,
//! is written `\xNN`, a backslash `\\`, as in the other verbs.

use std::io::Write as _;

/// Appends bytes as a quoted string; true when any had to be written `\xNN` or a backslash
/// was among them, so that the bytes cannot be told from the string alone.
///
/// ```
/// use symidx_perf::{JsonString, ScriptOptions};
///
/// // The one of those who have none of their own.
/// let string: JsonString = ScriptOptions::default().json_string;
/// let mut out = Vec::new();
/// assert!(!string(&mut out, b"operator==")); // the string says it all
/// assert_eq!(out, b"\"operator==\"");
/// ```
pub type JsonString = fn(&mut Vec<u8>, &[u8]) -> bool;

/// Appends a symbol's name, and in hexadecimal where the string alone does not tell it.
pub(super) fn symbol(out: &mut Vec<u8>, name: &[u8], string: JsonString) {
    out.extend_from_slice(b",\"symbol\":");
    if string(out, name) {
        out.extend_from_slice(b",\"name_hex\":\"");
        for byte in name {
            // Writing to memory cannot fail.
            let _ = write!(out, "{byte:02x}");
        }
        out.push(b'"');
    }
}

/// The writer of those who have none of their own.
pub(super) fn string(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let mut escape = false;
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => out.extend_from_slice(b"\\\""),
                // JSON needs one escape, the text itself another.
                '\\' => {
                    escape = true;
                    out.extend_from_slice(b"\\\\\\\\");
                }
                control if control.is_control() => {
                    escape = true;
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
        escape |= !chunk.invalid().is_empty();
    }
    out.push(b'"');
    escape
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
            assert_eq!(string(&mut out, bytes), escaped);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
        let mut out = Vec::new();
        symbol(&mut out, b"f\xff", string);
        assert_eq!(out, br#","symbol":"f\\xff","name_hex":"66ff""#);
    }
}
