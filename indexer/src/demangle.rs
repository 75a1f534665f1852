//! Linkage names to the names that people wrote.
//!
//! In: the bytes of a name. Out: text in a buffer that is used again, or the
//! name itself where there is nothing to demangle. Bounded: no name, however
//! made, costs more than a few milliseconds or [`MAX_TEXT`] bytes.

use std::fmt::{self, Write as _};

use cpp_demangle::{
    BorrowedSymbol, DemangleNodeType, DemangleOptions, DemangleWrite, ParseOptions,
};
use symidx::demangle::{MAX_NAME, MAX_TEXT, RustName};

/// Parts of a C++ name visited before giving up.
const MAX_NODES: u32 = 20_000;
/// Nesting of a C++ name before giving up; the stack stays small.
const MAX_DEPTH: u32 = 96;

/// How much of a C++ name to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// With parameters and return type, as usual.
    Full,
    /// Without the parameter list.
    NoParameters,
    /// Without the parameter list and the return type.
    Bare,
}

/// Demangles one name after the other.
#[derive(Clone, Debug)]
pub struct Demangler {
    enabled: bool,
    buffer: Bounded,
}

impl Demangler {
    /// One that demangles, or returns every name as it is.
    #[must_use]
    pub fn new(enabled: bool) -> Self {
        Self { enabled, buffer: Bounded::default() }
    }

    /// The demangled name; the name itself when there is nothing to demangle.
    pub fn full<'n>(&'n mut self, name: &'n [u8]) -> &'n [u8] {
        self.form(name, Form::Full).unwrap_or(name)
    }

    /// The demangled name in a certain form, `None` when it is not mangled.
    pub fn form(&mut self, name: &[u8], form: Form) -> Option<&[u8]> {
        if !self.enabled || !may_be_mangled(name) || name.len() > MAX_NAME {
            return None;
        }
        self.buffer.clear();
        let done = match RustName::parse(name) {
            Some(rust) => rust.write_to(&mut self.buffer).is_ok() || self.buffer.fail(),
            None => cpp(name, form, &mut self.buffer),
        };
        done.then_some(self.buffer.text.as_bytes())
    }
}

/// The cheap test that most names fail. With or without the underscore that
/// Mach-O adds.
fn may_be_mangled(name: &[u8]) -> bool {
    matches!(name, [b'_', b'Z' | b'R', ..] | [b'_', b'_', b'Z' | b'R', ..])
}

/// Writes a demangled C++ name.
fn cpp(name: &[u8], form: Form, out: &mut Bounded) -> bool {
    let (name, stub) = match name.strip_suffix(b"@plt") {
        Some(base) => (base, "@plt"),
        None => (name, ""),
    };
    let parse = ParseOptions::default().recursion_limit(MAX_DEPTH);
    let Ok(symbol) = BorrowedSymbol::new_with_options(name, &parse) else { return false };
    let options = DemangleOptions::default().recursion_limit(MAX_DEPTH);
    let options = match form {
        Form::Full => options,
        Form::NoParameters => options.no_params(),
        Form::Bare => options.no_params().no_return_type(),
    };
    let mut writer = Cpp { out, nodes: 0 };
    let done = symbol.structured_demangle(&mut writer, &options).is_ok();
    (done && out.write_str(stub).is_ok()) || out.fail()
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

    /// Drops what was written before a failure.
    fn fail(&mut self) -> bool {
        self.clear();
        false
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

/// Bounds the work on a C++ name as well: a part may write nothing.
struct Cpp<'o> {
    out: &'o mut Bounded,
    nodes: u32,
}

impl DemangleWrite for Cpp<'_> {
    fn push_demangle_node(&mut self, _: DemangleNodeType) {
        self.nodes = self.nodes.saturating_add(1);
    }

    fn write_string(&mut self, text: &str) -> fmt::Result {
        self.nodes = self.nodes.saturating_add(1);
        match self.nodes > MAX_NODES {
            true => Err(fmt::Error),
            false => self.out.write_str(text),
        }
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
        assert_eq!(full("_Znot a name"), "_Znot a name");
        assert_eq!(full("_R"), "_R");
    }

    #[test]
    fn shorter_forms_drop_parameters_and_return_type() {
        let mut demangler = Demangler::new(true);
        let mut form = |name: &str, form| {
            demangler
                .form(name.as_bytes(), form)
                .map(|text| String::from_utf8_lossy(text).into_owned())
        };
        assert_eq!(form("_Z1fIiEiT_", Form::Full).as_deref(), Some("int f<int>(int)"));
        assert_eq!(form("_Z1fIiEiT_", Form::NoParameters).as_deref(), Some("int f<int>"));
        assert_eq!(form("_Z1fIiEiT_", Form::Bare).as_deref(), Some("f<int>"));
        assert_eq!(form("f", Form::Full), None);
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
        let start = std::time::Instant::now();
        let _ = full(&name);
        let rust = format!("_RMC0{}", "TR".repeat(200));
        let _ = full(&rust);
        let deep = format!("_Z1f{}v", "P".repeat(10_000));
        assert_eq!(full(&deep), deep);
        assert!(start.elapsed() < std::time::Duration::from_millis(500));
    }
}
