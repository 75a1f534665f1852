//! One line: its bytes in, address, type, name and module out. Never allocates.

use crate::model::Binding;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'data> {
    pub(super) address: u64,
    /// How many hex digits the address has.
    pub(super) digits: usize,
    /// The type, as `nm` gives it.
    pub(super) letter: u8,
    pub(super) name: &'data [u8],
    /// Without its brackets.
    pub(super) module: Option<&'data [u8]>,
}

/// Why a line is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// Nothing on it.
    Empty,
    /// What should have been there.
    Expected(&'static str),
}

/// What kind of place a symbol's type says it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Code.
    Code,
    /// Data, read-only or not.
    Data,
    /// A value, not an address.
    Absolute,
}

/// Reads a line, with or without `\r`. Blanks before the address and at the end are ignored.
pub(super) fn parse(line: &[u8]) -> Result<Line<'_>, Broken> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Err(Broken::Empty);
    }
    let (address, rest) = word(line);
    let value = hex(address).ok_or(Broken::Expected("an address of 1 to 16 hex digits"))?;
    let (letter, rest) = word(rest);
    let &[letter] = letter else { return Err(Broken::Expected("a type of one letter")) };
    let (name, rest) = word(rest);
    if name.is_empty() {
        return Err(Broken::Expected("a name"));
    }
    Ok(Line { address: value, digits: address.len(), letter, name, module: module(rest) })
}

/// The bytes up to the first blank, and those behind the blanks.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let end = text.iter().position(blank).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, &[]));
    (word, rest.trim_ascii_start())
}

/// A number of 1 to 16 hex digits.
pub(in crate::input) fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some(value.wrapping_shl(4) | u64::from(digit))
    })
}

/// The module's name between brackets; none for `[]` or anything else.
fn module(text: &[u8]) -> Option<&[u8]> {
    let inside = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
    (!inside.is_empty()).then_some(inside)
}

/// Code, data or absolute by the type letter, or why the line is no definition.
/// (`W` and `w` are weak functions; weak objects are `V` and `v`.)
pub(super) fn class(letter: u8) -> Result<Class, &'static str> {
    match letter {
        b'T' | b't' | b'W' | b'w' | b'i' => Ok(Class::Code),
        b'D' | b'd' | b'B' | b'b' | b'R' | b'r' | b'V' | b'v' | b'G' | b'g' | b'S' | b's'
        | b'n' | b'u' => Ok(Class::Data),
        b'A' | b'a' => Ok(Class::Absolute),
        b'U' => Err("undefined"),
        b'C' | b'c' => Err("common"),
        b'N' => Err("debugging symbol"),
        _ => Err("unknown symbol type"),
    }
}

/// Weak by `W`, `w`, `V`, `v`; else upper case is global, lower case local.
pub(super) fn binding(letter: u8) -> Binding {
    match letter {
        b'W' | b'w' | b'V' | b'v' => Binding::Weak,
        b'u' => Binding::Global,
        letter if letter.is_ascii_uppercase() => Binding::Global,
        _ => Binding::Local,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<(u64, char, &str, Option<&str>)> {
        let line = parse(text.as_bytes()).ok()?;
        let module = line.module.map(|m| std::str::from_utf8(m).unwrap());
        let name = std::str::from_utf8(line.name).unwrap();
        Some((line.address, char::from(line.letter), name, module))
    }

    #[test]
    fn a_tab_sets_the_module_off_from_the_name() {
        assert_eq!(
            line("c0100080 t helper\t[mod_a]"),
            Some((0xc010_0080, 't', "helper", Some("mod_a")))
        );
        assert_eq!(line("c0100080 t helper"), Some((0xc010_0080, 't', "helper", None)));
        assert_eq!(line("c0100080 t helper\t[]"), Some((0xc010_0080, 't', "helper", None)));
        assert_eq!(line("c0100080 t f [mod_a]\r"), Some((0xc010_0080, 't', "f", Some("mod_a"))));
    }

    #[test]
    fn blanks_and_carriage_returns_are_no_part_of_a_line() {
        assert_eq!(line("  c0 T leading"), Some((0xc0, 'T', "leading", None)));
        assert_eq!(line("c0 T crlf\r"), Some((0xc0, 'T', "crlf", None)));
        assert_eq!(parse(b" \r"), Err(Broken::Empty));
    }

    #[test]
    fn broken_lines_are_told() {
        for text in ["zzzz T bad", "ffffffff81000040", "ffffffff81000080 T ", "c0 TT x"] {
            assert_eq!(line(text), None, "{text}");
        }
        assert_eq!(line("fffffffff81000140 T toolong"), None);
        assert_eq!(hex(b"ffffffffffffffff"), Some(u64::MAX));
    }

    #[test]
    fn letters_give_class_and_binding() {
        for letter in *b"TtWwi" {
            assert_eq!(class(letter), Ok(Class::Code));
        }
        for letter in *b"DdBbRrVvnGgSsu" {
            assert_eq!(class(letter), Ok(Class::Data));
        }
        assert_eq!(class(b'A'), Ok(Class::Absolute));
        assert_eq!(class(b'U'), Err("undefined"));
        assert_eq!(class(b'?'), Err("unknown symbol type"));
        assert_eq!(binding(b'W'), Binding::Weak);
        assert_eq!(binding(b'v'), Binding::Weak);
        assert_eq!(binding(b'T'), Binding::Global);
        assert_eq!(binding(b't'), Binding::Local);
        assert_eq!(binding(b'u'), Binding::Global);
    }
}
