//! C++ names as GNU's and LLVM's demanglers spell them.
//!
//! In: a mangled name. Out: text in a bounded buffer. The parser is
//! `cpp_demangle`; what it says otherwise is put right here, in its events
//! (`events`) and in the text (`spelling`). Never parses types of its own.

use std::borrow::Cow;
use std::fmt::Write as _;

use cpp_demangle::{BorrowedSymbol, DemangleOptions, ParseOptions};

use self::events::{Printer, ReturnType};
use super::{Bounded, STUB, Spelling, path};

mod events;
mod lambdas;
mod packs;
mod spelling;
#[cfg(test)]
mod tests;

/// Nesting of a C++ name of at most so many bytes before giving up. A name
/// that is none is tried in more ways the deeper it nests and the longer it
/// is; of the 447,370 C++ names of libtorch_cpu, up to 1,467 bytes long, these
/// limits leave 58 more as they are than 96 levels would, and 18 more since
/// references are marked, which makes a name longer.
const MAX_DEPTH: [(usize, u32); 3] = [(640, 64), (2048, 56), (4096, 48)];
/// What stands in front of the name of a clone.
const CLONE: &str = " [clone ";
/// Nesting of what is written; the stack stays small.
const MAX_PRINTED_DEPTH: u32 = 96;

/// Writes a demangled C++ name.
pub(super) fn write(name: &[u8], spelling: Spelling, out: &mut Bounded) -> Option<()> {
    let (base, stub) = match name.strip_suffix(STUB.as_bytes()) {
        Some(base) => (base, STUB),
        None => (name, ""),
    };
    match temporary(base) {
        Some((number, variable)) => {
            match spelling {
                Spelling::Gnu => write!(out, "reference temporary #{number} for ").ok()?,
                Spelling::Llvm => out.write_str("reference temporary for ").ok()?,
            }
            write_name(&variable, spelling, out)?;
        }
        None => write_name(base, spelling, out)?,
    }
    out.write_str(stub).ok()
}

/// The number of a temporary that a reference keeps alive, and the mangled name
/// of the reference.
fn temporary(name: &[u8]) -> Option<(u64, Vec<u8>)> {
    let numbered = name.strip_prefix(b"_ZGR")?.strip_suffix(b"_")?;
    let digits = numbered.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (variable, number) = numbered.split_at_checked(numbered.len().checked_sub(digits)?)?;
    let number = match number {
        [] => 0,
        number => std::str::from_utf8(number).ok()?.parse::<u64>().ok()?.checked_add(1)?,
    };
    Some((number, [b"_Z", variable].concat()))
}

/// Writes what is no stub and no temporary: asks the parser, for GNU without
/// the return types that local names would have, and puts its text right.
fn write_name(base: &[u8], spelling: Spelling, out: &mut Bounded) -> Option<()> {
    if spelling == Spelling::Llvm && special(base) == b"_ZGT" {
        return None;
    }
    let (plain, qualifier) = without_qualifier(base);
    let constructor = packs::constructor(&plain);
    let complete = constructor.as_deref().unwrap_or(&plain);
    let marked = packs::mark(complete);
    let complete = marked.as_deref().unwrap_or(complete);
    let (_, depth) = MAX_DEPTH.into_iter().find(|&(length, _)| complete.len() <= length)?;
    let parse = ParseOptions::default().recursion_limit(depth);
    let symbol = BorrowedSymbol::new_with_options(complete, &parse).ok()?;
    let printer = |room| Printer::new(marked.is_some(), room);
    let options = DemangleOptions::default().recursion_limit(MAX_PRINTED_DEPTH);
    let shown = match spelling {
        Spelling::Llvm => options,
        Spelling::Gnu => options.no_return_type(),
    };
    // Names are about twice as long as they are mangled.
    let mut whole = printer(base.len().saturating_mul(3));
    symbol.structured_demangle(&mut whole, &shown).ok()?;
    let mut text = whole.finish()?;
    if spelling == Spelling::Gnu && may_have_return_type(base, text.as_bytes()) {
        let mut found = ReturnType::new(printer(0));
        // It ends with an error where the return type does.
        let _ = symbol.structured_demangle(&mut found, &options);
        if let Some(returned) = found.finish() {
            text.insert(0, ' ');
            text.insert_str(0, &returned);
        }
    }
    let clones = match qualifier {
        "" => text.len(),
        _ => text.find(CLONE).unwrap_or(text.len()),
    };
    text.insert_str(clones, qualifier);
    lambdas::reunite(&mut text);
    name_as_others_do(base, &mut text);
    short_streams(base, &mut text);
    spelling::write(&text, spelling, out)
}

/// False for what has no return type of its own: data, special names, what is
/// no template. A local name may have one in its scope.
fn may_have_return_type(mangled: &[u8], text: &[u8]) -> bool {
    let mangled = mangled.get(usize::from(mangled.starts_with(b"__"))..).unwrap_or(mangled);
    match mangled.get(2) {
        Some(b'T' | b'G') => false,
        Some(b'Z') => text
            .get(path::path(text))
            .is_some_and(|path| path.len() < text.len() && ends_with_arguments(path)),
        // Where the path can be told and is no template's, there is none either.
        _ => {
            text.contains(&b'<')
                && text
                    .get(path::path(text))
                    .is_none_or(|path| path.len() == text.len() || path.ends_with(b">"))
        }
    }
}

/// True for the name of a template.
fn ends_with_arguments(path: &[u8]) -> bool {
    path.ends_with(b">")
        && !["operator>", "operator>>", "operator->", "operator<=>"]
            .iter()
            .any(|operator| path.ends_with(operator.as_bytes()))
}

/// The name without the qualifier of a member function, and what it is: the
/// parser would write the whole name again in front of it.
fn without_qualifier(name: &[u8]) -> (Cow<'_, [u8]>, &'static str) {
    let start = 2usize.saturating_add(usize::from(name.starts_with(b"__")));
    let nested = name.get(start..).unwrap_or(&[]);
    if let Some(inside) = nested.strip_prefix(b"N") {
        let cv = inside.iter().take_while(|byte| matches!(byte, b'r' | b'V' | b'K')).count();
        let qualifier = match inside.get(cv) {
            Some(b'R') => " &",
            Some(b'O') => " &&",
            _ => return (Cow::Borrowed(name), ""),
        };
        let mut plain = name.to_vec();
        plain.remove(start.saturating_add(1).saturating_add(cv));
        return (Cow::Owned(plain), qualifier);
    }
    (Cow::Borrowed(name), "")
}

/// The first four bytes of a mangled name, where Mach-O's underscore is not
/// one of them.
fn special(mangled: &[u8]) -> &[u8] {
    let mangled = mangled.get(usize::from(mangled.starts_with(b"__"))..).unwrap_or(mangled);
    mangled.get(..4).unwrap_or(mangled)
}

/// The short names of streams where the mangled name has the short ones, but
/// not in front of a constructor.
fn short_streams(mangled: &[u8], text: &mut String) {
    if memchr::memmem::find(text.as_bytes(), b"stream<char, std::char_traits<char> >").is_none() {
        return;
    }
    for stream in ["istream", "ostream", "iostream"] {
        let own = ["basic_", stream].concat();
        let long = ["std::", &own, "<char, std::char_traits<char> >"].concat();
        if !text.contains(&long) || memchr::memmem::find(mangled, own.as_bytes()).is_some() {
            continue;
        }
        let mut parts = text.split(&long);
        let mut short = parts.next().unwrap_or("").to_owned();
        for part in parts {
            let member = part.strip_prefix("::").unwrap_or("");
            match member.strip_prefix('~').unwrap_or(member).starts_with(&own) {
                true => short.push_str(&long),
                false => short.extend(["std::", stream]),
            }
            short.push_str(part);
        }
        *text = short;
    }
}

/// Tables and thunks in the words that GNU's and LLVM's demanglers have for
/// them: the parser's own are in braces, with the numbers of a thunk.
fn name_as_others_do(mangled: &[u8], text: &mut String) {
    let (opening, offsets, words) = match special(mangled) {
        b"_ZTV" => ("{vtable(", 0, "vtable for "),
        b"_ZTT" => ("{vtt(", 0, "VTT for "),
        b"_ZTh" => ("{virtual override thunk(", 1, "non-virtual thunk to "),
        b"_ZTv" => ("{virtual override thunk(", 1, "virtual thunk to "),
        b"_ZTc" => ("{virtual override thunk(", 2, "covariant return thunk to "),
        b"_ZTC" => {
            // The parser has them the other way around.
            if let Some((first, second)) = text
                .strip_prefix("construction vtable for ")
                .and_then(|tables| tables.split_once("-in-"))
            {
                *text = ["construction vtable for ", second, "-in-", first].concat();
            }
            return;
        }
        _ => return,
    };
    let (thunk, clones) =
        text.split_at_checked(text.find(CLONE).unwrap_or(text.len())).unwrap_or_default();
    let inside = thunk.strip_prefix(opening).and_then(|text| text.strip_suffix(")}"));
    let target = (0..offsets).try_fold(inside, |rest, _| {
        rest.and_then(|rest| rest.split_once(")}, ")).map(|(_, rest)| Some(rest))
    });
    if let Some(Some(target)) = target {
        *text = [words, target, clones].concat();
    }
}
