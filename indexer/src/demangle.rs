//! Linkage names to the names that people wrote.
//!
//! In: the bytes of a name. Out: text in a buffer that is used again, or the
//! name itself where there is nothing to demangle. Bounded: no name, however
//! made, costs more than some 50 milliseconds or [`MAX_TEXT`] bytes.

use std::fmt;

use symidx::demangle::{MAX_NAME, MAX_TEXT, RustName};

mod cpp;
mod path;

/// What stands behind the name of a stub.
const STUB: &str = "@plt";

/// What is shown for a mangled name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts<'t> {
    /// The whole name.
    pub full: &'t [u8],
    /// Without return type and parameter list, and without the name of a
    /// clone: what fits a graph. A part of the full text but for stubs. For
    /// Rust the full text.
    pub short: &'t [u8],
}

impl Texts<'_> {
    /// True for the ways to write the name: whole, short, and without
    /// parameters but with a return type.
    #[must_use]
    pub fn include(&self, name: &[u8]) -> bool {
        name == self.full
            || name == self.short
            || (self.full.starts_with(name) && name.ends_with(self.short))
    }

    /// True for the short name without the arguments of templates, as debuggers take
    /// it for each of them: `ns::C::f` for `ns::C<int>::f<char>`.
    ///
    /// ```
    /// use symidx_indexer::demangle::Demangler;
    /// let mut demangler = Demangler::new(true);
    /// let mut buffer = Vec::new();
    /// assert!(demangler.texts(b"_ZN2ns1gIiEEvT_").is_some_and(|texts| texts.is_bare(b"ns::g", &mut buffer)));
    /// ```
    #[must_use]
    pub fn is_bare(&self, name: &[u8], buffer: &mut Vec<u8>) -> bool {
        // Most names do not even begin like it.
        let first = name.iter().position(|&byte| byte == b':').unwrap_or(name.len());
        let begins = name.get(..first).is_some_and(|start| self.short.starts_with(start));
        if !begins || !self.short.contains(&b'<') {
            return false;
        }
        path::bare(self.short, buffer);
        *buffer == name
    }
}

/// Demangles one name after the other.
#[derive(Clone, Debug)]
pub struct Demangler {
    enabled: bool,
    spelling: Spelling,
    buffer: Bounded,
    stub: Bounded,
}

impl Demangler {
    /// One that demangles, or returns every name as it is.
    #[must_use]
    pub fn new(enabled: bool) -> Self {
        Self::spelling(enabled, Spelling::Gnu)
    }

    /// The same, with the spelling of another tool.
    #[must_use]
    pub fn spelling(enabled: bool, spelling: Spelling) -> Self {
        Self { enabled, spelling, buffer: Bounded::default(), stub: Bounded::default() }
    }

    /// The demangled name; the name itself when there is nothing to demangle.
    pub fn full<'n>(&'n mut self, name: &'n [u8]) -> &'n [u8] {
        match self.demangle(name) {
            Some(_) => self.buffer.text.as_bytes(),
            None => name,
        }
    }

    /// The whole demangled name, `None` when it is not mangled.
    pub fn whole(&mut self, name: &[u8]) -> Option<&[u8]> {
        self.demangle(name)?;
        let full = self.buffer.text.as_bytes();
        (!full.is_empty()).then_some(full)
    }

    /// The texts shown for a name, `None` when it is not mangled.
    pub fn texts(&mut self, name: &[u8]) -> Option<Texts<'_>> {
        let language = self.demangle(name)?;
        let full = self.buffer.text.as_bytes();
        let short = match language {
            Language::Rust => full,
            Language::Cpp => {
                let short = full.get(path::path(full)).unwrap_or(full);
                match short.len() < full.len() && full.ends_with(STUB.as_bytes()) {
                    // A stub is not the function that it leads to.
                    true => {
                        self.stub.clear();
                        self.stub.text.push_str(std::str::from_utf8(short).unwrap_or_default());
                        self.stub.text.push_str(STUB);
                        self.stub.text.as_bytes()
                    }
                    false => short,
                }
            }
        };
        (!full.is_empty() && !short.is_empty()).then_some(Texts { full, short })
    }

    /// Leaves the demangled name in the buffer.
    fn demangle(&mut self, name: &[u8]) -> Option<Language> {
        if !self.enabled || !may_be_mangled(name) || name.len() > MAX_NAME {
            return None;
        }
        self.buffer.clear();
        match RustName::parse(name) {
            Some(rust) => rust.write_to(&mut self.buffer).ok().map(|()| Language::Rust),
            None => cpp::write(name, self.spelling, &mut self.buffer).map(|()| Language::Cpp),
        }
    }
}

/// Whose spelling of C++ names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// As GNU addr2line, nm and `c++filt -i`.
    Gnu,
    /// As llvm-symbolizer and llvm-cxxfilt.
    Llvm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Rust,
    Cpp,
}

/// True for names that look mangled: the cheap test that most names fail. With
/// or without the underscore that Mach-O adds.
#[must_use]
pub fn may_be_mangled(name: &[u8]) -> bool {
    matches!(name, [b'_', b'Z' | b'R', ..] | [b'_', b'_', b'Z' | b'R', ..])
}

/// Text of at most [`MAX_TEXT`] bytes.
#[derive(Clone, Debug, Default)]
struct Bounded {
    text: String,
}

impl Bounded {
    fn clear(&mut self) {
        self.text.clear();
    }
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.text.len().saturating_add(text.len()) > MAX_TEXT {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(name: &str) -> String {
        String::from_utf8_lossy(Demangler::new(true).full(name.as_bytes())).into_owned()
    }

    #[test]
    fn names_are_demangled_by_their_own_scheme() {
        assert_eq!(full("main"), "main");
        assert_eq!(full("_ZN5space6methodEv"), "space::method()");
        assert_eq!(full("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
        assert_eq!(full("_RNvC7mycrate3foo"), "mycrate::foo");
        assert_eq!(full("_Z1fv.cold"), "f() [clone .cold]");
        assert_eq!(full("_Z1fv@plt"), "f()@plt");
        assert_eq!(full("_ZTVN1a1bE"), "vtable for a::b");
        assert_eq!(full("__ZTTN1a1bE"), "VTT for a::b");
        assert_eq!(full("_ZThn16_N1a1fEi"), "non-virtual thunk to a::f(int)");
        assert_eq!(full("_ZTv0_n24_N1a1fEv"), "virtual thunk to a::f()");
        assert_eq!(full("_ZTch0_h16_N1a1fEv"), "covariant return thunk to a::f()");
        assert_eq!(full("_ZTIN1a1bE"), "typeinfo for a::b");
        assert_eq!(full("_Znot a name"), "_Znot a name");
        assert_eq!(full("_R"), "_R");
    }

    #[test]
    fn short_texts_are_paths() {
        let mut demangler = Demangler::new(true);
        let mut texts = |name: &str| {
            let texts = demangler.texts(name.as_bytes())?;
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            Some((text(texts.full), text(texts.short)))
        };
        for (name, full, short) in [
            ("_Z1fIiEiT_", "int f<int>(int)", "f<int>"),
            ("_Z1fv.cold", "f() [clone .cold]", "f"),
            ("_Z1fv@plt", "f()@plt", "f@plt"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", "core::fmt::write"),
            ("_RNvXs_C1aNtB4_1BNtB4_1T1f", "<a::B as a::T>::f", "<a::B as a::T>::f"),
        ] {
            assert_eq!(texts(name), Some((full.to_owned(), short.to_owned())));
        }
        assert_eq!(texts("f"), None);
        assert_eq!(texts("_Znot a name"), None);
    }

    #[test]
    fn a_name_is_known_in_every_form() {
        let mut demangler = Demangler::new(true);
        let texts = demangler.texts(b"_Z1fIiEiT_");
        for (name, known) in [
            ("int f<int>(int)", true),
            ("int f<int>", true),
            ("f<int>", true),
            ("int f", false),
            ("f", false),
            ("int f<int>(int", false),
            ("", false),
        ] {
            assert_eq!(texts.is_some_and(|texts| texts.include(name.as_bytes())), known, "{name}");
        }
    }

    #[test]
    fn a_name_that_explodes_is_left_as_it_is_quickly() {
        // Each template argument repeats the one before twice.
        let mut name = String::from("_Z1fI1A");
        for level in 0..40 {
            let back = |n: usize| match n {
                0 => "S_".to_owned(),
                n => format!("S{}_", n - 1),
            };
            name.push_str(&format!("1BI{0}{0}E", back(level)));
        }
        name.push_str("Evv");
        quickly(|| assert_eq!(full(&name), name));
        let rust = format!("_RMC0{}", "TR".repeat(200));
        quickly(|| assert_eq!(full(&rust), rust));
        let deep = format!("_Z1f{}v", "P".repeat(10_000));
        quickly(|| assert_eq!(full(&deep), deep));
    }

    /// What may take 50 ms, with a factor for debug builds and busy machines.
    fn quickly(run: impl FnOnce()) {
        let start = std::time::Instant::now();
        run();
        assert!(start.elapsed() < std::time::Duration::from_millis(50 * 20));
    }

    /// The parser tries some arguments twice, so those nested in them four
    /// times, and so on: where 96 levels were allowed, names like these took
    /// up to 0.7 s.
    #[test]
    fn what_only_looks_like_a_name_is_given_up_quickly() {
        for (start, part) in [
            ("_ZNK2at6Tensor2toEN3c1013TensorOptions", "EbbSt8optionalIyFormas"),
            ("_ZN2at4meta4metaERKNS_6TensorE", "lbSt8optionalIN3c101t4metaERKNS_6TensorE"),
            ("_ZN2at4_ops4callERKNS_6TensorEd", "StnalIlEbSt17basic_string_viewIcSt11charoptio"),
        ] {
            for length in [300, 640, 2048, 4096, 16_000] {
                let name = [start, &part.repeat(length / part.len())].concat();
                quickly(|| assert_eq!(full(&name), name));
            }
        }
    }

    #[test]
    fn the_longer_a_name_the_less_it_may_nest() {
        let deepest = |length: usize| {
            let nested = |depth: &usize| {
                let name = format!("_Z{length}{}{}i", "x".repeat(length), "P".repeat(*depth));
                full(&name) != name
            };
            (1..96).take_while(nested).last().unwrap_or(0)
        };
        let found = [deepest(10), deepest(1000), deepest(3000), deepest(5000)];
        assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
        assert_eq!(found.last(), Some(&0));
    }

    #[test]
    fn names_and_texts_end_somewhere() {
        let name = |length: usize| format!("_Z{length}{}v", "x".repeat(length));
        assert_eq!(full(&name(4000)), format!("{}()", "x".repeat(4000)));
        assert_eq!(full(&name(5000)), name(5000));
        // Each parameter is longer than what stands for it: 16 KiB, and too much.
        let many = |times| format!("_Z1f200{}{}", "x".repeat(200), "S_".repeat(times));
        assert_eq!(full(&many(50)).len(), 2 + 1 + 51 * 200 + 50 * 2);
        assert_eq!(full(&many(100)), many(100));
    }
}
