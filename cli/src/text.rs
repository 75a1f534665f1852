//! Bytes to text: JSON strings, hex, and names that are safe on a terminal.
//!
//! Everything appends to a `Vec<u8>`; the caller decides when it is written.
//! Output is always valid UTF-8, whatever the bytes were.

use std::borrow::Cow;
use std::ops::Range;

use symidx_perf::json_string;

/// The value of a JSON key.
pub(crate) trait Value {
    /// Appends the value.
    fn write(&self, out: &mut Vec<u8>);
}

/// A name: see [`json_string`].
impl Value for &[u8] {
    fn write(&self, out: &mut Vec<u8>) {
        json_string(out, self);
    }
}

impl Value for Cow<'_, [u8]> {
    fn write(&self, out: &mut Vec<u8>) {
        json_string(out, self);
    }
}

/// Text of ours or of the user's, as any JSON writer escapes it.
impl Value for &str {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        for c in self.chars() {
            match c {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                c if c.is_control() => {
                    out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
                }
                c => push_char(out, c),
            }
        }
        out.push(b'"');
    }
}

impl Value for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        decimal(out, *self);
    }
}

impl Value for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl<T: Value> Value for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

impl<T: Value> Value for [T] {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (i, value) in self.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            value.write(out);
        }
        out.push(b']');
    }
}

/// An address or other number as the string `"0x10"`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hex(pub(crate) u64);

impl Value for Hex {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        hex(out, self.0);
        out.push(b'"');
    }
}

/// A JSON object under construction.
pub(crate) struct Object<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
}

impl<'o> Object<'o> {
    /// Opens an object.
    pub(crate) fn new(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, first: true }
    }

    /// Appends a key; the caller appends its value.
    #[inline]
    pub(crate) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        // One reservation for what is mostly a few bytes.
        self.out.reserve(key.len().saturating_add(48));
        let before: &[u8] = if self.first { b"\"" } else { b",\"" };
        self.first = false;
        self.out.extend_from_slice(before);
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Appends a key and its value.
    #[inline]
    pub(crate) fn field(&mut self, key: &str, value: impl Value) -> &mut Self {
        value.write(self.key(key));
        self
    }

    /// Appends a key and a list.
    pub(crate) fn list<T: Value>(&mut self, key: &str, values: &[T]) -> &mut Self {
        values.write(self.key(key));
        self
    }

    /// Appends a key and a string; returns where the string is.
    pub(crate) fn string(&mut self, key: &str, bytes: &[u8]) -> Range<usize> {
        let out = self.key(key);
        let start = out.len();
        json_string(out, bytes);
        start..out.len()
    }

    /// Appends a name, and its bytes in hex where they had to be escaped;
    /// returns where the name is.
    pub(crate) fn name(&mut self, key: &str, bytes: &[u8]) -> Range<usize> {
        let out = self.key(key);
        let start = out.len();
        let escaped = json_string(out, bytes);
        let range = start..out.len();
        if escaped {
            let out = self.key("name_hex");
            out.push(b'"');
            for byte in bytes {
                hex_byte(out, *byte);
            }
            out.push(b'"');
        }
        range
    }

    /// Closes the object and its line.
    pub(crate) fn end_line(self) {
        self.out.extend_from_slice(b"}\n");
    }

    /// Closes the object.
    pub(crate) fn end(self) {
        self.out.push(b'}');
    }
}

/// Appends bytes as text for a terminal or a line of output: control
/// characters and bytes that are not UTF-8 become `\xNN`.
pub(crate) fn plain(out: &mut Vec<u8>, bytes: &[u8]) {
    if none(bytes, unprintable) {
        out.extend_from_slice(bytes);
        return;
    }
    let escape = |out: &mut Vec<u8>, byte: u8| {
        out.extend_from_slice(b"\\x");
        hex_byte(out, byte);
    };
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut room = [0; 4];
            let utf8 = c.encode_utf8(&mut room);
            match c.is_control() {
                true => utf8.bytes().for_each(|byte| escape(out, byte)),
                false => out.extend_from_slice(utf8.as_bytes()),
            }
        }
        chunk.invalid().iter().for_each(|&byte| escape(out, byte));
    }
}

/// What is printed for a function that has no name.
pub(crate) const UNKNOWN: Cow<'static, [u8]> = Cow::Borrowed(b"??");

/// Bytes of a command line or of a file as a path or word.
#[cfg(unix)]
pub(crate) fn os_str(bytes: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

/// Bytes of a command line or of a file as a path or word.
#[cfg(not(unix))]
pub(crate) fn os_str(bytes: &[u8]) -> &std::ffi::OsStr {
    std::ffi::OsStr::new(std::str::from_utf8(bytes).unwrap_or(""))
}

/// A message without control characters.
pub(crate) fn printable(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    plain(&mut out, text.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// True for bytes outside printable ASCII.
fn unprintable(byte: u8) -> bool {
    byte.wrapping_sub(b' ') > b'~'.wrapping_sub(b' ')
}

/// True when no byte is `odd`. Looks at whole blocks before it decides, which
/// the compiler turns into vector instructions: names are long.
fn none(bytes: &[u8], odd: impl Fn(u8) -> bool) -> bool {
    const BLOCK: usize = 64;
    !bytes.chunks(BLOCK).any(|block| block.iter().fold(false, |any, &byte| any | odd(byte)))
}

fn push_char(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn digit(nibble: u8) -> u8 {
    match nibble & 15 {
        low @ 0..=9 => b'0'.wrapping_add(low),
        high => b'a'.wrapping_add(high.wrapping_sub(10)),
    }
}

fn hex_byte(out: &mut Vec<u8>, byte: u8) {
    out.extend_from_slice(&[digit(byte >> 4), digit(byte)]);
}

/// Appends a number as `0x1f`.
pub(crate) fn hex(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(b"0x");
    let digits = value.checked_ilog2().map_or(0, |bits| bits / 4);
    for place in (0..=digits).rev() {
        let [low, ..] = (value >> (place.wrapping_mul(4) & 63)).to_le_bytes();
        out.push(digit(low));
    }
}

/// Appends a number in decimal.
pub(crate) fn decimal(out: &mut Vec<u8>, mut value: u64) {
    let start = out.len();
    loop {
        let [low, ..] = (value % 10).to_le_bytes();
        out.push(b'0'.wrapping_add(low));
        value /= 10;
        if value == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(start..) {
        digits.reverse();
    }
}

/// A number and what it counts: `1 sample`, `12,345 samples`.
pub(crate) fn counted(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(value), if value == 1 { one } else { many })
}

/// A number for people: `12,345`.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && digits.len().wrapping_sub(i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

/// Bytes for people: `1.3 MB`, in powers of 1000, rounded to the nearest tenth.
pub(crate) fn bytes(value: u64) -> String {
    let (half_a_tenth, unit): (u64, _) = match value {
        0..=999 => return format!("{value} B"),
        1_000..=999_949 => (50, "kB"),
        999_950..=999_949_999 => (50_000, "MB"),
        999_950_000..=999_949_999_999 => (50_000_000, "GB"),
        _ => (50_000_000_000, "TB"),
    };
    let tenths = value.checked_div(half_a_tenth).unwrap_or(0).saturating_add(1) / 2;
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        for value in [0, 1, 9, 10, 15, 16, 255, 256, 12345, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(text(|out| hex(out, value)), format!("{value:#x}"));
            assert_eq!(text(|out| decimal(out, value)), value.to_string());
        }
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123), "123");
        for (value, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (1049, "1.0 kB"),
            (1050, "1.1 kB"),
            (1_990_000, "2.0 MB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (1_250_000, "1.3 MB"),
            (999_999_999_999, "1.0 TB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(bytes(value), expected, "{value}");
        }
    }

    #[test]
    fn strings_escape_what_json_and_terminals_cannot_hold() {
        assert_eq!(text(|out| assert!(!json_string(out, b"plain"))), r#""plain""#);
        assert_eq!(text(|out| assert!(!json_string(out, b"a\"b"))), r#""a\"b""#);
        assert_eq!(text(|out| assert!(!json_string(out, "é".as_bytes()))), "\"é\"");
        assert_eq!(text(|out| assert!(json_string(out, b"a\\b"))), r#""a\\\\b""#);
        assert_eq!(text(|out| assert!(json_string(out, b"\xff\n"))), r#""\\xff\\x0a""#);
        // U+009B starts a terminal command as ESC [ does.
        assert_eq!(text(|out| assert!(json_string(out, "\u{9b}".as_bytes()))), r#""\\xc2\\x9b""#);
        assert_eq!(text(|out| plain(out, b"a\\\x1b[0m")), r"a\\x1b[0m");
    }

    #[test]
    fn a_name_that_is_escaped_comes_with_its_bytes() {
        let object = |bytes: &[u8]| {
            text(|out| {
                let mut object = Object::new(out);
                object.name("name", bytes);
                object.field("size", 3u64);
                object.end();
            })
        };
        assert_eq!(object(b"f"), r#"{"name":"f","size":3}"#);
        assert_eq!(object(b"f\x01"), r#"{"name":"f\\x01","name_hex":"6601","size":3}"#);
    }
}
