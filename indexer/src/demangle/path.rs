//! The path in a demangled C++ name: what is left of `int ns::f<int>(int) const`
//! without return type and parameters.
//!
//! In: a whole demangled name. Out: a range of it. A name whose brackets make
//! no sense is its own path. Never looks at the mangled name.

use std::ops::Range;

/// What stands behind a parameter list and belongs to it.
const QUALIFIERS: [&[u8]; 4] = [b" const", b" volatile", b" &", b" &&"];
/// Operators with brackets in their names, longer ones first.
const BRACKETED: [&[u8]; 13] =
    [b"()", b"[]", b"<=>", b"<<=", b">>=", b"<<", b">>", b"<=", b">=", b"->*", b"->", b"<", b">"];
/// What stands in front of a name and belongs to it.
const THUNK: &[u8] = b" thunk to ";
const ANONYMOUS: &[u8] = b"(anonymous namespace)";
pub(super) const OPERATOR: &[u8] = b"operator";

/// Where the path of a demangled name is.
pub(super) fn path(full: &[u8]) -> Range<usize> {
    Scan { full, at: 0, open: Vec::new(), start: 0, settled: false, end: None }
        .run()
        .filter(|path| path.start < path.end)
        .unwrap_or(0..full.len())
}

/// One walk over a name from left to right.
struct Scan<'n> {
    full: &'n [u8],
    at: usize,
    /// Brackets that are open.
    open: Vec<u8>,
    /// Where the path starts: behind the last space outside brackets.
    start: usize,
    /// No later space can be the one in front of the path.
    settled: bool,
    /// Where the last parameter list starts.
    end: Option<usize>,
}

impl Scan<'_> {
    fn run(mut self) -> Option<Range<usize>> {
        while let Some(&byte) = self.full.get(self.at) {
            if byte == b'o'
                && let Some(length) = operator(self.before(), self.rest())
            {
                self.settled |= self.open.is_empty();
                self.at = self.at.saturating_add(length);
                continue;
            }
            match byte {
                b'(' if self.rest().starts_with(ANONYMOUS) => {
                    self.at = self.at.saturating_add(ANONYMOUS.len());
                    continue;
                }
                b'(' if self.open.is_empty() => self.group()?,
                b'(' | b'[' | b'{' | b'<' => self.open.push(byte),
                b')' => self.close(b'(')?,
                b']' => self.close(b'[')?,
                b'}' => self.close(b'{')?,
                b'>' if !self.before().ends_with(b"-") => match self.open.last() {
                    Some(b'<') => drop(self.open.pop()),
                    // It compares in an expression, or nobody knows.
                    Some(_) => {}
                    None => return None,
                },
                b' ' if self.open.is_empty() && !self.settled => {
                    self.start = self.at.saturating_add(1);
                }
                _ => {}
            }
            self.at = self.at.saturating_add(1);
        }
        // Without parameters it is data, or something made for a function.
        let end = self.end.filter(|_| self.open.is_empty())?;
        // It is not the function that it leads to.
        let thunk = self.full.get(..self.start)?.ends_with(THUNK);
        Some(if thunk { 0 } else { self.start }..end)
    }

    fn rest(&self) -> &[u8] {
        self.full.get(self.at..).unwrap_or(&[])
    }

    fn before(&self) -> &[u8] {
        self.full.get(..self.at).unwrap_or(&[])
    }

    /// A parenthesis outside of all brackets: parameters, unless the name goes
    /// on behind them or they are a type's.
    fn group(&mut self) -> Option<()> {
        self.open.push(b'(');
        if self.before().ends_with(b"decltype") || self.before().ends_with(b"decltype ") {
            return Some(());
        }
        let inside = self.at.saturating_add(1);
        // A type that points to a function: `void (*)(int) f<int>(int)`.
        let declarator = matches!(self.full.get(inside), Some(b'*' | b'&'));
        if !self.settled && (declarator || self.before().ends_with(b")")) {
            return Some(());
        }
        self.settled = true;
        let length = closing(self.full.get(inside..)?)?;
        let mut after = self.full.get(inside.saturating_add(length).saturating_add(1)..)?;
        while let Some(rest) = QUALIFIERS.iter().find_map(|word| after.strip_prefix(*word)) {
            after = rest;
        }
        if !after.starts_with(b"::") {
            self.end = Some(self.at);
        }
        Some(())
    }

    /// Closes a bracket; what compares in an expression was not one.
    fn close(&mut self, bracket: u8) -> Option<()> {
        while let Some(open) = self.open.pop() {
            if open == bracket {
                return Some(());
            }
            if open != b'<' {
                return None;
            }
        }
        None
    }
}

/// A path without the arguments of its templates: `ns::C::f` of `ns::C<int>::f<A<B>>`,
/// `core::f` of `core::f::<u8>`. A bracket that nothing stands in front of is no
/// list of arguments: `<A<u8> as B>::f` is `<A as B>::f`.
pub(super) fn bare(path: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut depth = 0u32;
    let mut at = 0usize;
    while let Some(&byte) = path.get(at) {
        let (before, rest) = path.split_at_checked(at).unwrap_or_default();
        if let Some(length) = operator(before, rest) {
            if depth == 0 {
                out.extend_from_slice(rest.get(..length).unwrap_or(rest));
            }
            at = at.saturating_add(length);
            continue;
        }
        let named = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b']' | b'}');
        match byte {
            b'<' if depth > 0 => depth = depth.saturating_add(1),
            b'<' if before.ends_with(b"::") && before.len() > 2 => {
                out.truncate(out.len().saturating_sub(2));
                depth = 1;
            }
            b'<' if before.last().is_some_and(named) || after_operator(before) => depth = 1,
            b'>' if depth > 0 && !before.ends_with(b"-") => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(byte),
            _ => {}
        }
        at = at.saturating_add(1);
    }
    // The space that parts the brackets of `operator< <int>`.
    if out.last() == Some(&b' ') {
        out.pop();
    }
}

/// True behind an operator's name, whose arguments stand apart from it.
fn after_operator(before: &[u8]) -> bool {
    let name = before.strip_suffix(b" ").unwrap_or(before);
    (1..=3).any(|length| {
        let start = name.len().checked_sub(OPERATOR.len().saturating_add(length));
        let parts = start.and_then(|start| name.split_at_checked(start));
        parts.is_some_and(|(before, rest)| operator(before, rest) == Some(rest.len()))
    })
}

/// Bytes of `operator` and of brackets in its name, when it stands here.
pub(super) fn operator(before: &[u8], rest: &[u8]) -> Option<usize> {
    let after = rest.strip_prefix(OPERATOR)?;
    let joined = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if before.last().is_some_and(joined) || after.first().is_some_and(joined) {
        return None;
    }
    let name = BRACKETED.iter().find(|name| after.starts_with(name)).map_or(0, |n| n.len());
    Some(OPERATOR.len().saturating_add(name))
}

/// Bytes up to the parenthesis that closes.
pub(super) fn closing(text: &[u8]) -> Option<usize> {
    let mut depth = 0u32;
    text.iter().position(|&byte| {
        match byte {
            b'(' => depth = depth.saturating_add(1),
            b')' if depth == 0 => return true,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_neither_return_type_nor_parameters() {
        for (full, expected) in [
            ("f(int)", "f"),
            ("ns::A::f(int) const", "ns::A::f"),
            ("int f<int>(int)", "f<int>"),
            ("unsigned long ns::f<A<B>, 1>(A<B>&) const &", "ns::f<A<B>, 1>"),
            ("f(int) [clone .cold]", "f"),
            ("(anonymous namespace)::f()", "(anonymous namespace)::f"),
            ("void (anonymous namespace)::f<void (int)>()", "(anonymous namespace)::f<void (int)>"),
            ("decltype(auto) ns::f<int>(int)", "ns::f<int>"),
            ("decltype (a(b)) ns::f<int>(int)", "ns::f<int>"),
            (
                "f(int)::{lambda(int)#1}::operator()(int) const",
                "f(int)::{lambda(int)#1}::operator()",
            ),
            (
                "auto f() const::{lambda(auto:1)#2}::operator()<int>(int) const",
                "f() const::{lambda(auto:1)#2}::operator()<int>",
            ),
            ("A::operator()()", "A::operator()"),
            ("A::operator bool() const", "A::operator bool"),
            ("A::operator std::string() const", "A::operator std::string"),
            ("bool operator< <int>(A const&, B)", "operator< <int>"),
            ("std::ostream& operator<<(std::ostream&, int)", "operator<<"),
            ("A::operator->() const", "A::operator->"),
            ("A::operator[](unsigned long)", "A::operator[]"),
            ("A& A::operator=(A&&)", "A::operator="),
            ("void f<(1)>(2)>()", "void f<(1)>(2)>()"),
            ("void f<((1)>(2))>()", "f<((1)>(2))>"),
            ("void f<((1)<(2))>()", "f<((1)<(2))>"),
            ("int* f[abi:cxx11](int)", "f[abi:cxx11]"),
            ("my_operator(int)", "my_operator"),
            ("operators(int)", "operators"),
            ("non-virtual thunk to A::f(int)", "non-virtual thunk to A::f"),
            // Data, and what stands for something else.
            ("ns::member", "ns::member"),
            ("f(int)::local", "f(int)::local"),
            ("guard variable for f(int)::local", "guard variable for f(int)::local"),
            ("typeinfo for A<void (int)>", "typeinfo for A<void (int)>"),
            ("int (*)(char, A&) ns::f<int>(int)", "ns::f<int>"),
            ("int (&)() f<void (*)(int)>(void (*)(int))", "f<void (*)(int)>"),
            // What makes no sense is left alone.
            ("int (*f<int>(int))()", "int (*f<int>(int))()"),
            ("f(", "f("),
            ("f)(", "f)("),
            ("f<(>)", "f<(>)"),
            ("(", "("),
            ("", ""),
        ] {
            let path = path(full.as_bytes());
            assert_eq!(full.get(path), Some(expected), "{full}");
        }
    }

    #[test]
    fn a_bare_path_has_no_arguments_of_templates() {
        for (path, expected) in [
            ("ns::g<int>", "ns::g"),
            ("ns::C<A<B>, (1)>::f<void (int)>", "ns::C::f"),
            ("f", "f"),
            ("operator<", "operator<"),
            ("ns::operator<< <int>", "ns::operator<<"),
            ("ns::C<int>::operator()<int>", "ns::C::operator()"),
            ("C<&(A::operator<(B))>::f", "C::f"),
            ("C<int>::operator->", "C::operator->"),
            ("f[abi:cxx11]<int>", "f[abi:cxx11]"),
            ("<A<B> as C<D>>::f", "<A as C>::f"),
            ("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec::push"),
            ("core::ptr::drop_in_place::<u8>", "core::ptr::drop_in_place"),
            ("C<fn(u8) -> u8>::f", "C::f"),
            ("", ""),
            ("<", "<"),
            ("f<", "f"),
            ("f>", "f>"),
        ] {
            let mut out = b"before".to_vec();
            bare(path.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{path}");
        }
    }

    /// Linear in the name: each group looks for its end once.
    #[test]
    fn many_brackets_take_no_time() {
        for part in ["(", ")", "<", "f()", "(()", "operator("] {
            let full = part.repeat(16 * 1024 / part.len());
            assert!(path(full.as_bytes()).end <= full.len());
        }
    }
}
