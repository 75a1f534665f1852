//! The export trie (`LC_DYLD_EXPORTS_TRIE`, `LC_DYLD_INFO`): what a library offers to
//! others, and all that a stripped one has of names. Trie in, symbols out.
//!
//! Never visits a node twice, never more nodes and edges than there are bytes, and never
//! makes more bytes of names than such a trie can honestly hold.

use std::ops::Range;

use object::macho;

use super::bytes;
use super::commands::Commands;
use super::layout::Layout;
use super::symbols::{Style, kind_in, without_thumb_bit, without_underscore};
use crate::model::{Binding, Kind, NO_SECTION, NO_VERSION, Report, Source, Store, Symbol};

/// No name is longer; the longest known real ones are some 100 KiB of C++.
const LONGEST_NAME: usize = 1 << 20;
/// Bytes of names for each byte of the trie: names share their beginnings in it.
const NAME_SHARING: usize = 64;

/// One name of a trie.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Export {
    /// Its bytes in the names of all.
    name: Range<usize>,
    flags: u64,
    /// An offset from the image's base; an address by itself if it is absolute.
    value: u64,
}

/// What a walk comes to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Exports {
    names: Vec<u8>,
    all: Vec<Export>,
    /// Exports of what is defined in other libraries.
    elsewhere: u64,
    /// Where the first node is that makes no sense, and what was expected there.
    broken: Option<(u64, &'static str)>,
}

/// The exported symbols of an image, in the order of the trie. One that the symbol
/// table has as well is the same symbol, as one of `.dynsym` is.
pub(super) fn read<'data>(
    slice: &'data [u8],
    commands: &Commands<'_>,
    layout: &Layout<'_>,
    style: Style,
    store: &'data Store,
    report: &mut Report,
) -> Vec<Symbol<'data>> {
    let (Some(place), Some(base)) = (commands.exports, layout.text_address) else {
        return Vec::new();
    };
    let trie = bytes::at_most(slice, place.offset, place.count);
    if bytes::length(trie) < place.count {
        report.warn(format!(
            "export trie at offset {:#x}: expected {} bytes, found {}; kept the names in those",
            place.offset,
            place.count,
            trie.len()
        ));
    }
    let Exports { names, all, elsewhere, broken } = walk(trie);
    if let Some((at, expected)) = broken {
        report.skip("damaged export");
        report.warn(format!(
            "export trie at offset {:#x}: expected {expected}, found something else; kept the other names",
            place.offset.saturating_add(at)
        ));
    }
    report.skip_many("exported from another library", elsewhere);
    let names = store.keep(names);
    let mut symbols = Vec::with_capacity(all.len());
    for (order, export) in (0_u32..).zip(&all) {
        let name = names.get(export.name.clone()).unwrap_or_default();
        if name.is_empty() {
            report.skip("no name");
            continue;
        }
        let (address, section, kind) = place_of(export, base, layout, style.thumb);
        let weak = export.flags & macho::EXPORT_SYMBOL_FLAGS_WEAK_DEFINITION.0 != 0;
        symbols.push(Symbol {
            name: without_underscore(name),
            address,
            size: 0,
            section,
            order,
            version: NO_VERSION,
            kind,
            binding: if weak { Binding::Weak } else { Binding::Global },
            source: Source::Dynsym,
            default_version: false,
        });
    }
    symbols
}

/// Address, section and kind of an export; one that no section holds (the header's)
/// is by name only.
fn place_of(export: &Export, base: u64, layout: &Layout<'_>, thumb: bool) -> (u64, u32, Kind) {
    let absolute = u64::from(macho::EXPORT_SYMBOL_FLAGS_KIND_ABSOLUTE.0);
    if export.flags & macho::EXPORT_SYMBOL_FLAGS_KIND_MASK == absolute {
        return (export.value, NO_SECTION, Kind::Absolute);
    }
    let address = base.wrapping_add(export.value);
    match layout.holding(address).and_then(|index| Some((index, layout.section(index)?))) {
        Some((index, section)) => {
            let kind = kind_in(section);
            (without_thumb_bit(address, kind, thumb), index, kind)
        }
        None => (address, NO_SECTION, Kind::Absolute),
    }
}

/// A node that is still to be visited: where it is, and the bytes of its name.
type Waiting = (usize, Range<usize>);

/// What a walk may still make: bytes of names, and edges. Nodes that lie across each other
/// have 255 edges each.
struct Room {
    names: usize,
    edges: usize,
}

/// Every export of a trie, depth first, in the order of its edges.
fn walk(trie: &[u8]) -> Exports {
    let mut found = Exports::default();
    let mut visited = vec![false; trie.len()];
    let mut room = Room {
        names: trie.len().saturating_mul(NAME_SHARING).saturating_add(LONGEST_NAME),
        // One takes at least its end and an offset.
        edges: trie.len() >> 1,
    };
    let mut waiting: Vec<Waiting> = Vec::new();
    if !trie.is_empty() {
        waiting.push((0, 0..0));
    }
    let mut children: Vec<Waiting> = Vec::new();
    while let Some((at, name)) = waiting.pop() {
        // Two ways to one node are no trie.
        let expected = match visited.get_mut(at) {
            Some(seen) if !*seen => {
                *seen = true;
                node(trie, at, &name, &mut found, &mut children, &mut room).err()
            }
            Some(_) => Some("a node that no other leads to"),
            None => Some("an offset in the trie"),
        };
        if let Some(expected) = expected {
            let at = u64::try_from(at).unwrap_or(u64::MAX);
            found.broken.get_or_insert((at, expected));
        }
        waiting.extend(children.drain(..).rev());
    }
    found
}

/// Reads a node: its export, if it has one, and the nodes below it. What was read
/// before an error counts.
fn node(
    trie: &[u8],
    at: usize,
    name: &Range<usize>,
    found: &mut Exports,
    children: &mut Vec<Waiting>,
    room: &mut Room,
) -> Result<(), &'static str> {
    const WHOLE: &str = "a whole node";
    let mut rest = trie.get(at..).ok_or(WHOLE)?;
    let size = number(&mut rest).and_then(|size| usize::try_from(size).ok()).ok_or(WHOLE)?;
    let (mut export, mut below) = rest.split_at_checked(size).ok_or(WHOLE)?;
    if size > 0 {
        match entry(&mut export) {
            Some(Some((flags, value))) => {
                found.all.push(Export { name: name.clone(), flags, value });
            }
            Some(None) => found.elsewhere = found.elsewhere.saturating_add(1),
            None => return Err(WHOLE),
        }
    }
    let (&count, edges) = below.split_first().ok_or(WHOLE)?;
    below = edges;
    for _ in 0..count {
        let end = memchr::memchr(0, below).ok_or("an edge with an end")?;
        let (edge, after) = below.split_at_checked(end).ok_or(WHOLE)?;
        below = after.get(1..).ok_or(WHOLE)?;
        let child = number(&mut below).and_then(|child| usize::try_from(child).ok());
        let child = child.ok_or(WHOLE)?;
        let length = name.len().saturating_add(edge.len());
        if length > LONGEST_NAME {
            return Err("names of at most 1 MiB");
        }
        room.names =
            room.names.checked_sub(length).ok_or("names that share less of their bytes")?;
        room.edges = room.edges.checked_sub(1).ok_or("nodes that do not lie across each other")?;
        let start = found.names.len();
        found.names.extend_from_within(name.clone());
        found.names.extend_from_slice(edge);
        children.push((child, start..found.names.len()));
    }
    Ok(())
}

/// Flags and value of an export; `Some(None)` when it is defined elsewhere.
fn entry(bytes: &mut &[u8]) -> Option<Option<(u64, u64)>> {
    let flags = number(bytes)?;
    if flags & macho::EXPORT_SYMBOL_FLAGS_REEXPORT.0 != 0 {
        return Some(None);
    }
    // With a resolver it is the stub that others call.
    let value = number(bytes)?;
    Some(Some((flags, value)))
}

/// One ULEB128 number, taken from the front.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (value, rest) = bytes::uleb(bytes)?;
    *bytes = rest;
    Some(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use std::path::Path;

    use super::super::read as read_input;
    use super::*;
    use crate::input::{InputError, ReadOptions};
    use crate::model::Image;

    /// Name, flags and value of each.
    fn exports(trie: &[u8]) -> Vec<(String, u64, u64)> {
        let found = walk(trie);
        let name = |e: &Export| String::from_utf8_lossy(&found.names[e.name.clone()]).into_owned();
        found.all.iter().map(|e| (name(e), e.flags, e.value)).collect()
    }

    fn owned(name: &str, flags: u64, value: u64) -> (String, u64, u64) {
        (name.to_owned(), flags, value)
    }

    /// `_f` at 0x80, `_foo` at 0x90 below it, `_weak` and one of another library.
    const TRIE: &[u8] = &[
        0, 3, b'_', b'f', 0, 19, b'_', b'w', 0, 32, b'_', b'x', 0, 38, // 0: the root
        0, 0, 0, 0, 0, // 14: nothing leads here
        3, 0, 0x80, 1, 1, b'o', b'o', 0, 28, // 19: _f
        2, 0, 0x50, 0, // 28: _foo
        2, 4, 0x60, 0, 0, 0, // 32: _w
        4, 8, 1, b'y', 0, 0, // 38: _x
    ];

    #[test]
    fn names_are_the_edges_on_the_way() {
        let expected = [owned("_f", 0, 0x80), owned("_foo", 0, 0x50), owned("_w", 4, 0x60)];
        assert_eq!(exports(TRIE), expected);
        let found = walk(TRIE);
        assert_eq!((found.elsewhere, found.broken), (1, None));
        assert_eq!(walk(&[]), Exports::default());
    }

    #[test]
    fn a_broken_node_costs_only_itself() {
        // `_foo` leads back to the root, and outside.
        for (child, what) in [(0, "a node that no other leads to"), (100, "an offset in the trie")]
        {
            let mut trie = TRIE.to_vec();
            trie[27] = child;
            assert_eq!(exports(&trie), [owned("_f", 0, 0x80), owned("_w", 4, 0x60)]);
            assert_eq!(walk(&trie).broken, Some((u64::from(child), what)));
        }
        // Cut short anywhere, changed anywhere: no more nodes than bytes.
        for end in 0..TRIE.len() {
            assert!(walk(&TRIE[..end]).all.len() <= 3);
        }
        for place in 0..TRIE.len() {
            for value in 0..=255 {
                let mut trie = TRIE.to_vec();
                trie[place] = value;
                assert!(walk(&trie).all.len() <= TRIE.len());
            }
        }
    }

    /// A chain of nodes, each with an edge to the next: as many names as nodes, and as
    /// many bytes as the square of them.
    #[test]
    fn names_are_bounded_together() {
        let mut trie = Vec::new();
        for _ in 0..30_000_u32 {
            // Size 2, flags 0, value 1, one edge "aaaaaaaaaa", offset of 4 bytes.
            let next = trie.len() + 4 + 11 + 4;
            trie.extend([2, 0, 1, 1]);
            trie.extend([b'a'; 10]);
            trie.push(0);
            let low = |shift: u32| u8::try_from((next >> shift) & 0x7f).unwrap();
            trie.extend([low(0) | 0x80, low(7) | 0x80, low(14) | 0x80, low(21)]);
        }
        trie.extend([2, 0, 1, 0]);
        let found = walk(&trie);
        assert!(found.names.len() <= trie.len() * NAME_SHARING + LONGEST_NAME);
        assert!(found.all.len() > 1000 && found.all.len() < 30_000);
        assert_eq!(found.broken.unwrap().1, "names that share less of their bytes");
    }

    /// Nodes that lie across each other, each with 128 edges or more without bytes: 2 MB
    /// of them kept 2 GB of nodes waiting.
    #[test]
    fn edges_are_bounded_together() {
        let far = |at: usize| {
            let low = |shift: u32| u8::try_from((at >> shift) & 0x7f).unwrap();
            [low(0) | 0x80, low(7) | 0x80, low(14)]
        };
        // The root, then nodes whose offsets take three bytes.
        let first = 1 << 14;
        let mut trie = [[0, 1, 0].as_slice(), &far(first)].concat();
        trie.resize(first, 0);
        for number in 0..10_000_usize {
            // Size 0 and a count for who starts here; the end of an edge and the node
            // before for who started earlier.
            trie.push(0);
            trie.extend(far(first + number.saturating_sub(1) * 4));
        }
        assert_eq!(walk(&trie).all, []);
        let mut room = Room { names: usize::MAX, edges: 100 };
        let mut children = Vec::new();
        let read = node(&trie, first, &(0..0), &mut Exports::default(), &mut children, &mut room);
        assert_eq!(read, Err("nodes that do not lie across each other"));
        assert_eq!((children.len(), room.edges), (100, 0));
    }

    fn fixture(name: &str) -> Vec<u8> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/macho/exports");
        std::fs::read(root.join(name)).unwrap()
    }

    fn image<'s>(data: &[u8], store: &'s Store) -> Result<Image<'s>, InputError> {
        let data = store.keep(data.to_vec());
        read_input(Path::new("x.dylib"), data, store, &ReadOptions::default())
    }

    /// As llvm-objdump reads them; a library that was stripped had no names at all.
    #[test]
    fn a_stripped_library_has_the_names_it_offers() {
        let expected = String::from_utf8(fixture("expect.txt")).unwrap();
        let mut expected = expected.lines();
        for name in ["exports-trie.dylib", "dyld-info.dylib"] {
            assert_eq!(expected.next(), Some(format!("{name}:").as_str()));
            let mut lines: Vec<_> = expected.by_ref().skip(2).take(6).collect();
            lines.sort_unstable();
            let store = Store::new();
            let image = image(&fixture(name), &store).unwrap();
            let mut found: Vec<_> = image
                .symbols
                .iter()
                .map(|symbol| {
                    let name = String::from_utf8_lossy(symbol.name);
                    let mark = match (symbol.binding, symbol.name) {
                        (Binding::Weak, _) => " [weak_def]",
                        (_, b"each") => " [per-thread]",
                        _ => "",
                    };
                    format!("0x{:08X} _{name}{mark}", symbol.address)
                })
                .collect();
            found.sort_unstable();
            assert_eq!(found, lines);
            let kinds = image.symbols.iter().map(|symbol| symbol.kind);
            let code = kinds.filter(|&kind| kind == Kind::Function).count();
            assert_eq!((code, image.report.skipped.len()), (4, 0), "{:?}", image.report);
            assert!(image.symbols.iter().all(|symbol| symbol.section != NO_SECTION));
        }
    }

    #[test]
    fn a_trie_that_is_cut_costs_its_rest() {
        let data = fixture("exports-trie.dylib");
        let store = Store::new();
        let whole = image(&data, &store).unwrap().symbols.len();
        // Nothing of the file is behind the trie but tables that may be missing.
        let cut = image(&data[..data.len() - data.len() % 4096], &store).unwrap();
        assert!(cut.symbols.len() < whole);
        assert!(cut.report.warnings.iter().any(|warning| warning.contains("export trie")));
    }

    #[test]
    fn a_kernel_collection_is_refused_by_its_members() {
        let mut data = fixture("exports-trie.dylib");
        let option = [0x2d, 0, 0, 0, 32, 0, 0, 0];
        let at = data.windows(8).position(|bytes| bytes == option).unwrap();
        data[at..at + 4].copy_from_slice(&0x8000_0035_u32.to_le_bytes());
        data[at + 8..at + 24].copy_from_slice(b"com.apple.kernel");
        data[at + 24..at + 32].copy_from_slice(&[8, 0, 0, 0, 0, 0, 0, 0]);
        let error = image(&data, &Store::new()).unwrap_err().to_string();
        assert!(error.contains("found a kernel collection of 1 (com.apple.kernel"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}
