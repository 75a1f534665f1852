//! The spelling of one tool from the parser's own.
//!
//! In: the text of a whole name. Out: text with that tool's literals, empty
//! packs, lambdas, clones and brackets. One walk; never looks at the mangled
//! name, and what it does not know it copies.

use std::fmt::Write as _;

use super::super::{Bounded, Spelling, path};
use super::CLONE;

const ANONYMOUS: &str = "(anonymous namespace)";
const LAMBDA: &str = "{lambda(";
const UNNAMED: &str = "{unnamed type#";
/// Types of literals, and what stands behind a number instead.
const LITERALS: [(&str, &str); 5] = [
    ("(unsigned int)", "u"),
    ("(long)", "l"),
    ("(unsigned long)", "ul"),
    ("(long long)", "ll"),
    ("(unsigned long long)", "ull"),
];
/// Short names of what is written in full before its own members of that name.
const STREAMS: [(&str, &str, &str); 4] = [
    (
        "std::string::",
        "string",
        "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::",
    ),
    ("std::istream::", "istream", "std::basic_istream<char, std::char_traits<char> >::"),
    ("std::ostream::", "ostream", "std::basic_ostream<char, std::char_traits<char> >::"),
    ("std::iostream::", "iostream", "std::basic_iostream<char, std::char_traits<char> >::"),
];

/// Writes the name.
pub(super) fn write(text: &str, spelling: Spelling, out: &mut Bounded) -> Option<()> {
    let walk =
        Walk { text, at: 0, open: Vec::new(), out: String::with_capacity(text.len()), spelling };
    let spelled = walk.run()?;
    out.write_str(&spelled).ok()
}

/// A bracket that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    byte: u8,
    /// Where what it holds starts in what is written.
    start: usize,
    /// Where the argument of a template starts there, when it is the address
    /// of something.
    address: Option<usize>,
    lambda: bool,
}

struct Walk<'t> {
    text: &'t str,
    at: usize,
    open: Vec<Open>,
    out: String,
    spelling: Spelling,
}

impl Walk<'_> {
    fn run(mut self) -> Option<String> {
        loop {
            self.copy(self.plain())?;
            if self.rest().is_empty() {
                break;
            }
            if let Some(length) = path::operator(self.before().as_bytes(), self.rest().as_bytes()) {
                self.copy(length)?;
                // `operator< <int>`: LLVM writes no space there.
                if self.llvm() && self.rest().starts_with(" <") && self.out.ends_with('<') {
                    self.at = self.at.saturating_add(1);
                }
                continue;
            }
            if self.llvm() && self.rest().starts_with(CLONE) {
                self.clones()?;
                continue;
            }
            if self.word()? {
                continue;
            }
            self.byte()?;
        }
        Some(self.out)
    }

    fn llvm(&self) -> bool {
        self.spelling == Spelling::Llvm
    }

    /// Bytes that are copied whatever stands around them: most of a name.
    fn plain(&self) -> usize {
        let rest = self.rest().as_bytes();
        let llvm = self.llvm();
        let special = |(at, &byte): (usize, &u8)| match byte {
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b',' => true,
            b' ' | b'a' => llvm,
            b's' => rest.get(at..).is_some_and(|rest| rest.starts_with(b"std::")),
            b'o' => rest.get(at..).is_some_and(|rest| rest.starts_with(path::OPERATOR)),
            _ => false,
        };
        rest.iter().enumerate().position(special).unwrap_or(rest.len())
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn before(&self) -> &str {
        self.text.get(..self.at).unwrap_or("")
    }

    fn copy(&mut self, length: usize) -> Option<()> {
        let end = self.at.saturating_add(length);
        self.out.push_str(self.text.get(self.at..end)?);
        self.at = end;
        Some(())
    }

    fn skip(&mut self, length: usize) {
        self.at = self.at.saturating_add(length);
    }

    /// What is more than a byte and spelled otherwise; false when nothing is.
    fn word(&mut self) -> Option<bool> {
        let rest = self.text.get(self.at..)?;
        let first = *rest.as_bytes().first()?;
        match first {
            b'(' => {
                if rest.starts_with(ANONYMOUS) {
                    self.copy(ANONYMOUS.len())?;
                    return Some(true);
                }
                for (cast, suffix) in LITERALS {
                    let Some(number) = rest.strip_prefix(cast) else { continue };
                    let sign = usize::from(number.starts_with('-'));
                    let digits = number.get(sign..)?.bytes().take_while(u8::is_ascii_digit).count();
                    if digits > 0 {
                        self.skip(cast.len());
                        self.copy(sign.saturating_add(digits))?;
                        self.out.push_str(suffix);
                        return Some(true);
                    }
                }
                if self.stripped()? {
                    return Some(true);
                }
                if self.parameters()? {
                    self.out.push(' ');
                }
            }
            // Nothing behind a comma: an empty pack.
            b',' => {
                let after = rest.strip_prefix(", ")?;
                let empty = after.starts_with(['>', ')'])
                    || after.starts_with(", ")
                    || (after.starts_with(" >") && !self.llvm());
                if empty {
                    self.skip(2);
                    return Some(true);
                }
                self.copy(2)?;
                self.argument();
                return Some(true);
            }
            b'{' if self.llvm() => {
                if rest.starts_with(LAMBDA) {
                    self.skip(LAMBDA.len());
                    self.out.push_str("'lambda'");
                    self.push(b'(', true);
                    self.out.push('(');
                    return Some(true);
                }
                if let Some(number) = rest.strip_prefix(UNNAMED) {
                    let end = number.find('}')?;
                    self.skip(UNNAMED.len().saturating_add(end).saturating_add(1));
                    self.out.extend(["'unnamed", &later(number.get(..end)?), "'"]);
                    return Some(true);
                }
            }
            b'a' if self.llvm() && self.open.iter().any(|open| open.lambda) => {
                if let Some(number) = rest.strip_prefix("auto:") {
                    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
                    self.out.push_str("auto");
                    self.skip("auto:".len().saturating_add(digits));
                    return Some(true);
                }
            }
            b's' => {
                if !self.llvm() && rest.starts_with("std::nullptr_t") {
                    self.skip("std::nullptr_t".len());
                    self.out.push_str("decltype(nullptr)");
                    return Some(true);
                }
                for (short, own, full) in STREAMS {
                    let Some(member) = rest.strip_prefix(short) else { continue };
                    let (tilde, member) = match member.strip_prefix('~') {
                        Some(member) => ("~", member),
                        None => ("", member),
                    };
                    if member
                        .strip_prefix(own)
                        .is_some_and(|after| after.starts_with(['(', '<', '[']))
                    {
                        self.skip(
                            short.len().saturating_add(tilde.len()).saturating_add(own.len()),
                        );
                        match self.llvm() {
                            true => self.out.push_str(&full.replace("> >", ">>")),
                            false => self.out.push_str(full),
                        }
                        self.out.extend([tilde, "basic_", own]);
                        return Some(true);
                    }
                }
            }
            _ => {}
        }
        Some(false)
    }

    fn push(&mut self, byte: u8, lambda: bool) {
        let start = self.out.len();
        self.open.push(Open { byte, start, address: None, lambda });
    }

    /// An argument of a template starts here.
    fn argument(&mut self) {
        let address = self.rest().starts_with('&').then_some(self.out.len());
        if let Some(open) = self.open.last_mut() {
            open.address = address.filter(|_| open.byte == b'<');
        }
    }

    /// True for the parameters of a function type whose return type is a class:
    /// the parser writes no space between the two.
    fn parameters(&self) -> Option<bool> {
        let type_stands_here = match self.open.last() {
            Some(open) => open.byte == b'<' && open.address.is_none(),
            None => self.text.starts_with("typeinfo "),
        };
        let named = self.out.ends_with(|last: char| {
            last.is_ascii_alphanumeric() || matches!(last, '_' | '>' | '}' | ']')
        });
        if !type_stands_here
            || !named
            || ["decltype", "noexcept", "sizeof"].iter().any(|word| self.out.ends_with(word))
        {
            return Some(false);
        }
        let Some(length) = path::closing(self.rest().get(1..)?.as_bytes()) else {
            return Some(false);
        };
        let length = length.saturating_add(2);
        let after = self.rest().get(length..)?;
        let after = after.strip_prefix(" const").unwrap_or(after);
        let after = after.strip_prefix(" noexcept").unwrap_or(after);
        Some(after.is_empty() || after.starts_with([',', '>']) || after.starts_with(" >"))
    }

    /// GNU writes no parameters where the address of a member of a class or a
    /// namespace is a template's argument.
    fn stripped(&mut self) -> Option<bool> {
        let (Spelling::Gnu, Some(Open { address: Some(address), .. })) =
            (self.spelling, self.open.last())
        else {
            return Some(false);
        };
        let name = self.out.get(*address..)?;
        if !name.contains("::") || (name.ends_with('>') && !name.contains("operator")) {
            return Some(false);
        }
        let Some(length) = path::closing(self.rest().get(1..)?.as_bytes()) else {
            return Some(false);
        };
        let length = length.saturating_add(2);
        let after = self.rest().get(length..)?;
        if !after.starts_with(", ") && !after.starts_with('>') && !after.starts_with(" >") {
            return Some(false);
        }
        self.skip(length);
        Some(true)
    }

    fn byte(&mut self) -> Option<()> {
        let first = self.rest().chars().next()?;
        match first {
            '(' | '[' | '{' => self.push(first.try_into().ok()?, false),
            '<' => {
                self.push(b'<', false);
                self.copy(1)?;
                self.argument();
                return Some(());
            }
            ')' => return self.close(b'('),
            ']' => return self.close(b'['),
            '}' => return self.close(b'{'),
            '>' if !self.before().ends_with('-')
                && self.open.last().is_some_and(|open| open.byte == b'<') =>
            {
                self.open.pop();
            }
            ' ' if self.llvm()
                && self.rest().starts_with(" >")
                && self.out.ends_with(['>', '<'])
                && self.open.last().is_some_and(|open| open.byte == b'<') =>
            {
                self.skip(1);
                return Some(());
            }
            _ => {}
        }
        self.copy(first.len_utf8())
    }

    fn close(&mut self, byte: u8) -> Option<()> {
        self.copy(1)?;
        while let Some(open) = self.open.pop() {
            if open.lambda
                && let Some(number) = self.rest().strip_prefix('#')
                && let Some(end) = number.find('}')
            {
                let number = later(number.get(..end)?);
                self.out.insert_str(open.start.checked_sub(1)?, &number);
                self.skip(end.saturating_add(2));
            }
            // What compares in an expression was not a bracket.
            if open.byte == byte || open.byte != b'<' {
                break;
            }
        }
        Some(())
    }

    /// ` (.part.0.cold)` for ` [clone .part.0] [clone .cold]`.
    fn clones(&mut self) -> Option<()> {
        self.out.push_str(" (");
        while let Some(clone) = self.rest().strip_prefix(CLONE) {
            let end = clone.find(']')?;
            self.skip(CLONE.len());
            self.copy(end)?;
            self.skip(1);
        }
        self.out.push(')');
        Some(())
    }
}

/// LLVM's number for GNU's: none for 1, 0 for 2.
fn later(number: &str) -> String {
    let number = number.parse::<u64>().ok().and_then(|number| number.checked_sub(2));
    number.map_or_else(String::new, |number| number.to_string())
}
