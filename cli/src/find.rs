//! `symidx find`: names to addresses.
//!
//! In: an index or a binary, and names. Out: every definition of each name.
//! An exact linkage name costs one hash probe; demangled names, prefixes and
//! expressions cost a walk over all names.

use std::path::PathBuf;

use clap::Args;
use regex::bytes::Regex;
use symidx::{Corrupt, Index, Match, format};

use crate::failure::{Failure, exit};
use crate::options::ReadArgs;
use crate::output::Output;
use crate::shown::Shown;
use crate::source::{self, Source, Taken};
use crate::text::{Hex, Object, decimal, hex, plain};
use crate::ui::Ui;

/// Names to addresses.
#[derive(Args, Debug)]
#[command(after_help = "A name is a linkage name (`_ZN2ns1fEv`, `f`, `f@V1`), or a demangled one \
                        with or without its parameters (`ns::f()`, `ns::f`); where none is called just that, \
                        also one without the arguments of its templates (`ns::C::f` for `ns::C<int>::f()` and every \
                        other). --prefix and --regex see a demangled name \
                        from its return type on, where it has one: `void ns::g<int>(int)`. A function \
                        that was inlined everywhere has no symbol and is not found.\n\n\
                        EXAMPLES:\n  \
                        symidx find app main\n  \
                        symidx find --json app.symidx 'core::fmt::write'\n  \
                        symidx find --regex libc.so.6 '^str(n?cpy|dup)$'\n  \
                        symidx find --prefix vmlinux.symidx tcp_")]
pub(crate) struct FindArgs {
    /// The .symidx file or binary.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Names.
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Names are regular expressions, on linkage and demangled names.
    #[arg(long, conflicts_with = "prefix")]
    regex: bool,
    /// Names are beginnings of linkage or demangled names.
    #[arg(long)]
    prefix: bool,
    /// One JSON object per NAME.
    #[arg(long)]
    json: bool,
    /// Match linkage names only.
    #[arg(long)]
    no_demangle: bool,
    /// Also look for the binary's index in this store.
    #[arg(long, value_name = "DIR", help_heading = "Reading binaries")]
    store: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

/// Finds every name.
pub(crate) fn run(args: &FindArgs, ui: Ui) -> Result<u8, Failure> {
    let mut expressions = Vec::new();
    if args.regex {
        for name in &args.names {
            expressions.push(Some(Regex::new(name).map_err(|error| {
                let why = error.to_string();
                let why = why.lines().last().unwrap_or("it does not parse").trim().to_owned();
                Failure::usage(format!(
                    "find: expected a regular expression, found `{name}`: {why}; escape what is meant literally"
                ))
            })?));
        }
    } else {
        expressions.resize_with(args.names.len(), || None);
    }
    let source = Source {
        file: &args.file,
        read: &args.read,
        store: args.store.as_deref(),
        in_caches: false,
        taken: Taken::Sparse,
    };
    let index = source::open(source, ui)?;
    let mut output = Output::default();
    let mut shown = Shown::new(!args.no_demangle);
    for (name, expression) in args.names.iter().zip(&expressions) {
        let bytes = name.as_bytes();
        let found = match expression {
            Some(expression) => {
                scan(&index, |entry| matches(&mut shown, entry, |n| expression.is_match(n)))
            }
            None if args.prefix => {
                scan(&index, |entry| matches(&mut shown, entry, |n| n.starts_with(bytes)))
            }
            None => find(&index, bytes, &mut shown),
        };
        let found = found.map_err(|error| Failure::file(&args.file, error))?;
        let written = match args.json {
            true => json(&mut output, name, &found),
            false => lines(&mut output, &found),
        };
        written.map_err(|error| Failure::file(&args.file, error))?;
        if found.is_empty() && !args.json {
            ui.line(format_args!("symidx: {}: no symbol `{name}`", args.file.display()));
        }
        output.relieve()?;
    }
    output.flush()?;
    Ok(exit::OK)
}

/// Every definition of a name: by linkage name; for Mach-O also with the
/// underscore that the format adds; else by demangled name.
fn find<'i>(
    index: &'i Index<'_>,
    name: &[u8],
    shown: &mut Shown,
) -> Result<Vec<Match<'i>>, Corrupt> {
    let mut found: Vec<_> = index.find(name).collect::<Result<_, _>>()?;
    if found.is_empty()
        && index.identity().container == format::CONTAINER_MACHO
        && let Some(name) = name.strip_prefix(b"_")
    {
        found = index.find(name).collect::<Result<_, _>>()?;
    }
    if found.is_empty() {
        let must_hold = literal_part(name).map(memchr::memmem::Finder::new);
        let (mut bare, mut buffer) = (Vec::new(), Vec::new());
        found = scan(index, |entry| {
            let linkage = entry.name().to_bytes();
            if must_hold.as_ref().is_some_and(|part| part.find(&linkage).is_none()) {
                return Ok(false);
            }
            let Some(texts) = shown.texts(entry)? else { return Ok(false) };
            if texts.is_bare(name, &mut buffer) {
                bare.push(*entry);
            }
            Ok(texts.include(name))
        })?;
        // Whoever leaves the arguments of templates out means every one of them.
        if found.is_empty() {
            found = bare;
        }
    }
    // The default version before the others, entries before their cold parts;
    // otherwise as found.
    found.sort_by_key(|found| {
        let old = found.version().is_some_and(|(_, default)| !default);
        (found.is_part(), old)
    });
    Ok(found)
}

/// Every definition that is wanted.
pub(crate) fn scan<'i>(
    index: &'i Index<'_>,
    mut wanted: impl FnMut(&Match<'i>) -> Result<bool, Corrupt>,
) -> Result<Vec<Match<'i>>, Corrupt> {
    let mut found = Vec::new();
    for entry in index.names() {
        let entry = entry?;
        if wanted(&entry)? {
            found.push(entry);
        }
    }
    Ok(found)
}

fn matches(
    shown: &mut Shown,
    entry: &Match<'_>,
    wanted: impl Fn(&[u8]) -> bool,
) -> Result<bool, Corrupt> {
    Ok(wanted(&entry.name().to_bytes())
        || shown.texts(entry)?.is_some_and(|texts| wanted(texts.full)))
}

/// An identifier that every mangled form of a demangled name holds as it is;
/// `None` when there is none for sure.
pub(crate) fn literal_part(name: &[u8]) -> Option<&[u8]> {
    let unsure: &[&[u8]] = &[b"{", b"operator", b"decltype", b"[clone", b"'"];
    if !name.is_ascii() || unsure.iter().any(|part| memchr::memmem::find(name, part).is_some()) {
        return None;
    }
    let mut depth = 0u32;
    let mut part = None;
    let mut start = None;
    for (at, &byte) in name.iter().chain(b" ").enumerate() {
        let identifier = byte.is_ascii_alphanumeric() || byte == b'_';
        match (identifier, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                if depth == 0 {
                    part = name.get(from..at);
                }
                start = None;
            }
            _ => {}
        }
        match byte {
            b'<' => depth = depth.saturating_add(1),
            b'>' => depth = depth.saturating_sub(1),
            b'(' if depth == 0 => break,
            _ => {}
        }
    }
    // `string`, `ostream` and the like have abbreviations of their own, and a
    // constructor's name is not repeated.
    part.filter(|part| part.len() > 1 && !part.starts_with(b"basic_")).filter(|part| {
        !matches!(*part, b"string" | b"allocator" | b"istream" | b"ostream" | b"iostream" | b"std")
    })
}

fn json(output: &mut Output, name: &str, found: &[Match<'_>]) -> Result<(), Corrupt> {
    let mut object = Object::new(output.buffer());
    object.field("name", name);
    let out = object.key("matches");
    out.push(b'[');
    for (i, found) in found.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        let section = found.section()?.map(|section| section.name().to_bytes());
        let mut entry = Object::new(out);
        entry.name("name", &found.stored_name().to_bytes());
        entry
            .field("address", Hex(found.address()))
            .field("size", found.size())
            .field("section", section)
            .field("module", found.module()?.map(symidx::Name::to_bytes))
            .field("kind", found.kind().as_str());
        entry.end();
    }
    out.push(b']');
    object.end_line();
    Ok(())
}

/// `0x1040 16 func .text verfn@@V2`, and the module in brackets.
fn lines(output: &mut Output, found: &[Match<'_>]) -> Result<(), Corrupt> {
    for found in found {
        let out = output.buffer();
        hex(out, found.address());
        out.push(b' ');
        decimal(out, found.size());
        out.push(b' ');
        out.extend_from_slice(found.kind().as_str().as_bytes());
        out.push(b' ');
        match found.section()? {
            Some(section) if !section.name().is_empty() => plain(out, &section.name().to_bytes()),
            _ => out.push(b'-'),
        }
        out.push(b' ');
        plain(out, &found.stored_name().to_bytes());
        if let Some(module) = found.module()? {
            out.extend_from_slice(b" [");
            plain(out, &module.to_bytes());
            out.push(b']');
        }
        out.push(b'\n');
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_literal_part_is_in_every_mangled_form() {
        let part = |name: &'static str| {
            literal_part(name.as_bytes()).map(|part| String::from_utf8_lossy(part).into_owned())
        };
        assert_eq!(part("ns::f(int)"), None);
        assert_eq!(part("ns::method(int)").as_deref(), Some("method"));
        assert_eq!(part("int get<int>(int)").as_deref(), Some("get"));
        assert_eq!(part("<A as Trait>::method").as_deref(), Some("method"));
        assert_eq!(part("main::{{closure}}"), None);
        assert_eq!(part("ns::operator==(int)"), None);
    }
}
