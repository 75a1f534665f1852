//! Rust linkage names to the names that people wrote, without heap.
//!
//! In: the bytes of a name. Out: text in any `fmt::Write`. Bounded: a name
//! that would grow beyond [`MAX_TEXT`] bytes is written as it is. C++ names
//! cannot be demangled without heap: see `Index::display_name`.
//!
//! ```
//! use symidx::demangle::RustName;
//!
//! let name = RustName::parse(b"_ZN4core3fmt5write17h0123456789abcdefE").unwrap();
//! let mut text = String::new();
//! name.write_to(&mut text)?;
//! assert_eq!(text, "core::fmt::write");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt::{self, Write};

use crate::names::Name;

/// A demangled name of more bytes than this is not written.
pub const MAX_TEXT: usize = 16 * 1024;
/// A linkage name of more bytes than this is not demangled.
pub const MAX_NAME: usize = 16 * 1024;
/// What the indexer puts behind the name of a stub.
const STUB: &str = "@plt";
/// Bytes on the stack for most packed names, and for any that is demangled.
const SHORT: usize = 512;
const LONG: usize = MAX_NAME + 16;
/// Hexadecimal digits at the end of a legacy name.
const HASH: usize = 16;

impl<'a> Name<'a> {
    /// The name as Rust source code has it; displays as itself where it is not
    /// a mangled Rust name. Nothing is allocated, now or when it is written.
    ///
    /// `{}` leaves out the hash at the end of a legacy name and the
    /// disambiguators of crates in a v0 name, `{:#}` shows them.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/display.symidx")))?;
    /// let name = index.lookup(symidx::Svma(0x4010a0))?.unwrap().name();
    /// assert_eq!(name.demangle().to_string(), "core::fmt::Formatter::write_fmt");
    /// let with_hash = format!("{:#}", name.demangle());
    /// assert_eq!(with_hash, "core::fmt::Formatter::write_fmt::h0123456789abcdef");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn demangle(&self) -> Demangled<'a> {
        let rust = match self.as_bytes() {
            Some(bytes) => RustName::parse(bytes).map(Rust::Parsed),
            None => self.with_bytes(|bytes| RustName::parse(bytes).map(|_| Rust::Packed)),
        };
        Demangled { name: *self, rust }
    }
}

impl Name<'_> {
    /// What `then` makes of the name's bytes, put together on the stack where
    /// they are packed; `None` where they are more than [`MAX_NAME`] and a stub's suffix.
    fn with_bytes<T>(&self, then: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        match (self.as_bytes(), self.len()) {
            (Some(bytes), _) => then(bytes),
            (None, ..=SHORT) => self.on_stack::<SHORT, T>(then),
            (None, _) => self.on_stack::<LONG, T>(then),
        }
    }

    #[inline(never)]
    fn on_stack<const N: usize, T>(&self, then: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        let mut buffer = [0; N];
        let len = self.copy_to(&mut buffer);
        then(buffer.get(..len)?)
    }
}

/// A name that displays demangled: what [`Name::demangle`] gives.
///
/// ```
/// let rust = symidx::Name::from(&b"_RNvC7mycrate3foo"[..]).demangle();
/// let c = symidx::Name::from(&b"malloc"[..]).demangle();
/// assert_eq!(format!("{rust} {c}"), "mycrate::foo malloc");
/// ```
pub struct Demangled<'a> {
    name: Name<'a>,
    rust: Option<Rust<'a>>,
}

/// A Rust name: parsed where its bytes lie, or one whose bytes must first be
/// put together, each time it is written.
enum Rust<'a> {
    Parsed(RustName<'a>),
    Packed,
}

impl Demangled<'_> {
    /// True when the name is a mangled Rust name.
    ///
    /// ```
    /// // What is no Rust name may still be one of C++.
    /// let name = symidx::Name::from(&b"_ZN5space6methodEi"[..]).demangle();
    /// assert!(!name.is_rust());
    /// ```
    #[must_use]
    pub fn is_rust(&self) -> bool {
        self.rust.is_some()
    }
}

impl fmt::Display for Demangled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = match &self.rust {
            Some(Rust::Parsed(rust)) => rust.write_whole(f),
            Some(Rust::Packed) => self
                .name
                .with_bytes(|bytes| RustName::parse(bytes).and_then(|rust| rust.write_whole(f))),
            None => None,
        };
        written.unwrap_or_else(|| self.name.write_to(f))
    }
}

impl fmt::Debug for Demangled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Demangled").field(&self.name).finish()
    }
}

/// A mangled Rust name, legacy or v0, parsed.
///
/// ```
/// use symidx::demangle::RustName;
///
/// // `Name::demangle` for bytes that come from elsewhere; C++ is left to others.
/// assert!(RustName::parse(b"_RNvC7mycrate3foo").is_some());
/// assert!(RustName::parse(b"_ZN5space6methodEi").is_none());
/// ```
pub struct RustName<'a> {
    parsed: rustc_demangle::Demangle<'a>,
    stub: &'static str,
    may_outgrow: bool,
}

impl<'a> RustName<'a> {
    /// `None` for what is no mangled Rust name. A legacy name is one with a
    /// hash at its end: without it, it is C++. Mach-O's underscore may stand
    /// in front, `@plt` behind it.
    ///
    /// ```
    /// use symidx::demangle::RustName;
    ///
    /// assert!(RustName::parse(b"_ZN4core3fmt5write17h0123456789abcdefE").is_some());
    /// assert!(RustName::parse(b"_ZN4core3fmt5writeE").is_none()); // no hash: C++
    /// ```
    #[must_use]
    pub fn parse(name: &'a [u8]) -> Option<Self> {
        let (base, stub) = match name.strip_suffix(STUB.as_bytes()) {
            Some(base) => (base, STUB),
            None => (name, ""),
        };
        let v0 = base.starts_with(b"_R") || base.starts_with(b"__R");
        if base.len() > MAX_NAME || !(v0 || is_legacy(base)) {
            return None;
        }
        let text = core::str::from_utf8(base).ok()?;
        let parsed = rustc_demangle::try_demangle(text).ok()?;
        // Only v0 repeats parts of a name; a legacy one grows by half at most.
        Some(Self { parsed, stub, may_outgrow: v0 || base.len() > MAX_TEXT / 2 })
    }

    /// Writes the name without its hash.
    ///
    /// # Errors
    /// The writer's, and when the text would outgrow [`MAX_TEXT`]; a part of
    /// it may then have been written.
    ///
    /// ```
    /// let name = symidx::demangle::RustName::parse(b"_RNvNtCs1234_7mycrate6module3foo").unwrap();
    /// let mut text = String::new(); // or a buffer on the stack: any `fmt::Write`
    /// name.write_to(&mut text)?;
    /// assert_eq!(text, "mycrate::module::foo");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_to(&self, out: &mut dyn Write) -> fmt::Result {
        self.write(out, false)
    }

    /// Writes the name if all of it fits; `None`: nothing was written.
    fn write_whole(&self, f: &mut fmt::Formatter<'_>) -> Option<fmt::Result> {
        let hashes = f.alternate();
        // What is written cannot be taken back: so it is measured first.
        let fits = !self.may_outgrow || self.write(&mut Nowhere, hashes).is_ok();
        fits.then(|| self.write(f, hashes))
    }

    fn write(&self, out: &mut dyn Write, hashes: bool) -> fmt::Result {
        let mut out = Limited { out, left: MAX_TEXT };
        let parsed = &self.parsed;
        // The parser's own convention is the reverse.
        match hashes {
            true => write!(out, "{parsed}")?,
            false => write!(out, "{parsed:#}")?,
        }
        out.write_str(self.stub)
    }
}

impl fmt::Debug for RustName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RustName").field(&self.parsed.as_str()).finish()
    }
}

/// True for `_ZN…17h0123456789abcdefE`, with or without a suffix of the linker's.
fn is_legacy(name: &[u8]) -> bool {
    if !(name.starts_with(b"_ZN") || name.starts_with(b"__ZN")) {
        return false;
    }
    let hashed = |name: &[u8]| {
        let hash = name.strip_suffix(b"E").and_then(|name| {
            name.split_at_checked(name.len().checked_sub(HASH)?)
                .filter(|(before, _)| before.ends_with(b"17h"))
        });
        hash.is_some_and(|(_, hash)| hash.iter().all(u8::is_ascii_hexdigit))
    };
    // Dots may stand in the name itself; a hash in front of one ends it.
    let dots = name.iter().enumerate().rev().filter(|&(_, &byte)| byte == b'.');
    hashed(name) || dots.map(|(at, _)| name.get(..at).unwrap_or(&[])).any(hashed)
}

/// Passes on text until there is too much of it.
struct Limited<'w> {
    out: &'w mut dyn Write,
    left: usize,
}

impl Write for Limited<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.left = self.left.checked_sub(text.len()).ok_or(fmt::Error)?;
        self.out.write_str(text)
    }
}

/// Takes all text and keeps none.
struct Nowhere;

impl Write for Nowhere {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::{String, ToString};

    use super::*;

    fn shown(name: &str) -> String {
        Name::plain(name.as_bytes()).demangle().to_string()
    }

    #[test]
    fn rust_names_are_demangled_and_others_stay() {
        for (name, text) in [
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("__ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_ZN4core3fmt5write17h0123456789abcdefE@plt", "core::fmt::write@plt"),
            ("_ZN4core3fmt5write17h0123456789abcdefE.llvm.123ABC", "core::fmt::write"),
            ("_ZN4core3fmt5write17h0123456789abcdefE.cold.1", "core::fmt::write.cold.1"),
            ("_ZN35_$LT$T$u20$as$u20$a..B$LT$C$GT$$GT$1f17h0123456789abcdefE", "<T as a::B<C>>::f"),
            ("_RNvC7mycrate3foo", "mycrate::foo"),
            ("_RNvC7mycrate3foo.llvm.123", "mycrate::foo"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            // C++, and what only looks like something.
            ("_ZN5space6methodEv", "_ZN5space6methodEv"),
            ("_ZN5space6memberE", "_ZN5space6memberE"),
            ("_ZN4core17h0123456789abcdeE", "_ZN4core17h0123456789abcdeE"),
            ("_R", "_R"),
            ("", ""),
            ("main", "main"),
        ] {
            assert_eq!(shown(name), text);
        }
        let bytes = Name::plain(b"_RNvC7mycrate3fo\xff");
        assert_eq!(bytes.demangle().to_string(), "_RNvC7mycrate3fo\u{fffd}");
    }

    #[test]
    fn hashes_are_shown_on_demand() {
        let legacy = Name::plain(b"_ZN4core3fmt5write17h0123456789abcdefE");
        assert_eq!(format!("{:#}", legacy.demangle()), "core::fmt::write::h0123456789abcdef");
        let v0 = Name::plain(b"_RNvCs1234_7mycrate3foo");
        assert_eq!(format!("{:#}", v0.demangle()), "mycrate[3c1c0]::foo");
    }

    /// Each pair repeats the one before twice: 345 bytes that stand for 2^80.
    fn exploding(levels: usize) -> String {
        let mut name = String::from("_RINvC1a1f");
        let mut before = None;
        for _ in 0..levels {
            let at = name.len().saturating_sub(2);
            match before {
                None => name.push_str("TllE"),
                Some(before) => {
                    let back = base62(before);
                    name.push_str(&format!("TB{back}B{back}E"));
                }
            }
            before = Some(at);
        }
        name.push('E');
        name
    }

    fn base62(value: usize) -> String {
        let digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".as_bytes();
        let Some(mut value) = value.checked_sub(1) else { return "_".to_string() };
        let mut text = String::from("_");
        loop {
            text.insert(0, char::from(digits.get(value % 62).copied().unwrap_or(0)));
            value /= 62;
            if value == 0 {
                return text;
            }
        }
    }

    /// A writer that counts the calls: time without a clock.
    struct Calls(usize);

    impl Write for Calls {
        fn write_str(&mut self, _: &str) -> fmt::Result {
            self.0 = self.0.saturating_add(1);
            Ok(())
        }
    }

    #[test]
    fn a_name_that_explodes_is_left_as_it_is_quickly() {
        assert_eq!(
            shown(&exploding(3)),
            "a::f::<(i32, i32), ((i32, i32), (i32, i32)), (((i32, i32), (i32, i32)), ((i32, i32), (i32, i32)))>"
        );
        let name = exploding(40);
        assert!((300..400).contains(&name.len()), "{}", name.len());
        let rust = RustName::parse(name.as_bytes());
        let mut calls = Calls(0);
        assert!(rust.is_some_and(|rust| rust.write(&mut calls, false).is_err()));
        // Each call writes something, so the limit of text is one of time too.
        assert!((1000..=MAX_TEXT).contains(&calls.0), "{}", calls.0);
        let start = std::time::Instant::now();
        assert_eq!(shown(&name), name);
        assert!(start.elapsed() < std::time::Duration::from_millis(50 * 10));
    }

    /// Back references to back references write nothing on their way.
    #[test]
    fn chains_of_references_end() {
        let mut name = String::from("_RINvC1a1f");
        let mut before = name.len().saturating_sub(2);
        name.push_str("TllE");
        for _ in 0..400 {
            let at = name.len().saturating_sub(2);
            name.push_str(&format!("B{}", base62(before)));
            before = at;
        }
        name.push('E');
        let start = std::time::Instant::now();
        let _ = shown(&name);
        assert!(start.elapsed() < std::time::Duration::from_millis(50 * 10));
    }

    #[test]
    fn long_and_deep_names_are_left_as_they_are() {
        let deep = format!("_RMC0{}", "TR".repeat(200));
        assert_eq!(shown(&deep), deep);
        let long = format!("_ZN20000{}17h0123456789abcdefE", "x".repeat(20_000));
        assert_eq!(shown(&long), long);
        // As long as a name may be, and it does not grow.
        let most = format!("_ZN16000{}17h0123456789abcdefE", "x".repeat(16_000));
        assert_eq!(shown(&most), "x".repeat(16_000));
    }
}
