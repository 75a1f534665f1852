//! In: addresses. Out: what each of the two calls them, and where they differ.
//! Never: measures.

use std::collections::BTreeMap;

use symidx::process::Resolver;

use crate::passes::pointer;
use crate::pick::{Class, Frame};

/// How two answers stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// The same functions, from the innermost to the outermost.
    Same,
    /// The same function under another of its names.
    Alias,
    /// The same functions, but that the outermost one's name in the symbol table ends in `.llvm.` and a number.
    Suffix,
    /// No name from either.
    Neither,
    /// Only symidx has a name.
    OnlySymidx,
    /// Only `backtrace` has a name: that of the function that ends right before the byte.
    FirstByteAfter,
    /// Only `backtrace` has a name.
    OnlyBacktrace,
    /// Both have names, and they differ.
    Other,
}

/// How often each relation came up, by class, with one example.
pub type Table = BTreeMap<(Class, Relation), (usize, String)>;

pub fn compare(resolver: &Resolver, frames: &[Frame], late: &dyn Fn(&Frame) -> bool) -> Table {
    let mut table = Table::new();
    for frame in frames {
        let ours = symidx(resolver, frame.address);
        let theirs = backtrace(frame.address);
        let relation = match (ours.as_slice(), theirs.as_slice()) {
            ([], []) => Relation::Neither,
            (_, []) => Relation::OnlySymidx,
            ([], _) if is_after_end(resolver, frame.address) => Relation::FirstByteAfter,
            ([], _) => Relation::OnlyBacktrace,
            (a, b) if a == b => Relation::Same,
            (a, b) if a.iter().map(|name| plain(name)).eq(b.iter().map(|name| plain(name))) => {
                Relation::Suffix
            }
            ([_], [other]) if is_alias(resolver, frame.address, other) => Relation::Alias,
            _ => Relation::Other,
        };
        let module = resolver.modules().get(frame.module);
        let name = module.and_then(|module| module.path().file_name()).unwrap_or_default();
        let entry = table.entry((frame.class, relation)).or_insert_with(|| (0, String::new()));
        entry.0 += 1;
        if entry.1.is_empty() {
            let late = if late(frame) { " (loaded after the first pass)" } else { "" };
            entry.1 = format!("{}{late}: symidx {ours:?}, backtrace {theirs:?}", name.display());
        }
    }
    table
}

fn symidx(resolver: &Resolver, address: u64) -> Vec<String> {
    let Ok(found) = resolver.frames_return(address) else {
        return Vec::new();
    };
    let frames = found.frames().flatten();
    frames.filter_map(|frame| Some(frame.function()?.to_string())).collect()
}

fn backtrace(address: u64) -> Vec<String> {
    let mut names = Vec::new();
    backtrace::resolve(pointer(address), |symbol| {
        names.extend(symbol.name().and_then(|name| Some(name.as_str()?.to_owned())));
    });
    names
}

/// A name without what the compiler appended to make it unique.
fn plain(name: &str) -> &str {
    name.split_once(".llvm.").map_or(name, |(name, _)| name)
}

/// True when the byte before a return address is the first one after a function.
fn is_after_end(resolver: &Resolver, address: u64) -> bool {
    let before = resolver.lookup(address - 2);
    before.is_ok_and(|found| found.svma().0 + 1 == found.symbol().start().0 + found.symbol().size())
}

fn is_alias(resolver: &Resolver, address: u64, name: &str) -> bool {
    let Ok(found) = resolver.lookup_return(address) else {
        return false;
    };
    let symbol = found.symbol();
    let mut aliases = symbol.aliases().flatten();
    // `f@@V2` is `f` in the symbol table.
    let plain = |text: String| text.split('@').next().unwrap_or("").to_owned();
    plain(symbol.name().to_string()) == name
        || aliases.any(|alias| plain(alias.name().to_string()) == name)
}
