//! Files that must open forever, and what they answer. The `.symidx` files
//! are never written here; `SYMIDX_BLESS=1` writes the texts beside them.

#![cfg(feature = "verify")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::fmt::Write as _;
use std::path::Path;

use symidx::format::SectionId;
use symidx::format::lines::LineSpan;
use symidx::{ImageSectionId, Index, Svma};

mod support;

const NAMES: [&str; 9] =
    ["example", "rich", "libal", "relocatable", "macho", "kallsyms", "lines", "display", "packed"];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Everything the index says, as text.
fn dump(index: &Index<'_>) -> String {
    let mut text = String::new();
    let out = &mut text;
    let identity = index.identity();
    writeln!(out, "container {}, machine {}", identity.container, identity.machine).unwrap();
    writeln!(out, "64-bit {}, big-endian {}", index.is_64(), index.is_big_endian()).unwrap();
    writeln!(out, "build-id {:?}", index.build_id().map(hex)).unwrap();
    writeln!(out, "uuid {:?}", index.uuid().map(|uuid| hex(&uuid))).unwrap();
    writeln!(out, "input {} bytes, {}", index.input_size(), hex(index.input_hash())).unwrap();
    writeln!(out, "relocatable {}", index.is_relocatable()).unwrap();
    writeln!(out, "\nsegments").unwrap();
    for s in index.segments() {
        let (address, memory) = (s.address.get(), s.memory_size.get());
        let (offset, file) = (s.file_offset.get(), s.file_size.get());
        writeln!(out, "  {address:#x} {memory:#x} at {offset:#x} {file:#x} {}", s.flags).unwrap();
    }
    writeln!(out, "\nsections").unwrap();
    for section in index.sections() {
        let s = section.unwrap();
        let flag = |on, letter| if on { letter } else { '-' };
        let flags = [(s.is_executable(), 'x'), (s.is_writable(), 'w'), (s.is_tls(), 't')];
        let flags: String = flags.map(|(on, letter)| flag(on, letter)).iter().collect();
        writeln!(out, "  {} {:#x} {flags} {:?}", s.address(), s.size(), s.name()).unwrap();
    }
    writeln!(out, "\nsymbols").unwrap();
    for symbol in index.symbols() {
        let s = symbol.unwrap();
        let words = [s.kind().as_str(), s.binding().as_str(), s.extent().as_str()].join(" ");
        write!(out, "  {} {:#x} {words} {:?}", s.start(), s.size(), s.stored_name()).unwrap();
        write!(out, "{}", if s.is_part() { " part" } else { "" }).unwrap();
        write!(out, "{}", if s.is_folded() { " folded" } else { "" }).unwrap();
        if let Some(section) = s.section().unwrap() {
            write!(out, " in {}", section.name()).unwrap();
        }
        if let Some(module) = s.module().unwrap() {
            write!(out, " of {module}").unwrap();
        }
        for alias in s.aliases() {
            let alias = alias.unwrap();
            write!(out, " = {:?} {}", alias.stored_name(), alias.binding().as_str()).unwrap();
        }
        writeln!(out).unwrap();
    }
    writeln!(out, "\nnames by which each is found").unwrap();
    for found in index.names() {
        let m = found.unwrap();
        let count = index.find(&support::bytes_of(m.name())).count();
        let kind = m.kind().as_str();
        write!(out, "  {:?} {:#x} {:#x} {kind}", m.stored_name(), m.address(), m.size()).unwrap();
        writeln!(out, "{} 1 of {count}", if m.is_alias() { " alias" } else { "" }).unwrap();
    }
    if index.display_name_count() > 0 {
        writeln!(out, "\n{} display names", index.display_name_count()).unwrap();
        for found in index.names() {
            let m = found.unwrap();
            if let Some(display) = m.display_name().unwrap() {
                writeln!(out, "  {}: {} = {}", m.name(), display.short(), display.full()).unwrap();
            }
        }
    }
    writeln!(out, "\nanswers on both sides of every border").unwrap();
    let mut addresses = support::borders(index, usize::MAX);
    addresses.sort_unstable();
    addresses.dedup();
    let sections: Vec<Option<ImageSectionId>> = match index.is_relocatable() {
        true => index.sections().map(|section| Some(section.unwrap().id())).collect(),
        false => vec![None],
    };
    for section in sections {
        for &address in &addresses {
            let found = match section {
                Some(section) => index.lookup_in(section, address),
                None => index.lookup(Svma(address)),
            };
            let place = section.map_or(String::new(), |section| format!("{}:", section.0));
            match found.unwrap() {
                Some(s) => writeln!(out, "  {place}{address:#x} {}+{:#x}", s.name(), s.offset()),
                None => match index.unnamed_function(Svma(address)).unwrap() {
                    Some(start) => writeln!(out, "  {place}{address:#x} unnamed {start}"),
                    None => writeln!(out, "  {place}{address:#x} -"),
                },
            }
            .unwrap();
        }
    }
    if index.has_lines() {
        writeln!(out, "\nframes where they change").unwrap();
        dump_frames(index, out);
    }
    text
}

/// The frames of every address of the spans with lines, where they are others
/// than those of the address before.
fn dump_frames(index: &Index<'_>, out: &mut String) {
    let mut before = String::new();
    let spans: &[LineSpan] = support::table(index, SectionId::LINE_SPANS);
    for address in spans.iter().flat_map(|s| s.base.get()..s.base.get() + s.size.get()) {
        let mut text = String::new();
        for frame in index.frames(Svma(address)).unwrap() {
            let frame = frame.unwrap();
            let function = frame.function().map(|name| name.to_string());
            let file = frame.file().map(|file| file.to_string());
            write!(text, "\n    {function:?} {file:?} {:?}:{:?}", frame.line(), frame.column())
                .unwrap();
            let (declared_in, declared) = frame.declared().unwrap();
            if let Some(file) = declared_in {
                write!(text, " of {file}:{declared:?}").unwrap();
            }
            write!(text, "{}", if frame.is_inlined() { " inlined" } else { "" }).unwrap();
        }
        if text != before {
            writeln!(out, "  {address:#x}{text}").unwrap();
        }
        before = text;
    }
}

#[test]
fn golden_files_open_and_answer_as_ever() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden");
    for name in NAMES {
        let bytes = std::fs::read(golden.join(name).with_extension("symidx")).unwrap();
        let index = Index::from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        index.verify().unwrap_or_else(|violation| panic!("{name}: {violation}"));
        support::compare_with_slow(&index, &support::borders(&index, usize::MAX));
        support::compare_find(&index, usize::MAX);
        support::compare_display(&index, usize::MAX);
        let found = dump(&index);
        let text = golden.join(name).with_extension("txt");
        if std::env::var_os("SYMIDX_BLESS").is_some() {
            std::fs::write(&text, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&text).unwrap();
        for (i, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
            assert_eq!(found, expected, "{}:{}", text.display(), i + 1);
        }
        assert_eq!(found, expected, "{}", text.display());
    }
}

/// The page's example, told in its own numbers.
#[test]
fn the_example_of_the_page_answers_as_the_page_says() {
    let index = Index::from_bytes(include_bytes!("../../testdata/golden/example.symidx")).unwrap();
    let answer = |address| {
        let symbol = index.lookup(Svma(address)).unwrap();
        symbol.map(|symbol| format!("{}+{:#x}", symbol.name(), symbol.offset()))
    };
    assert_eq!(answer(0x1014).as_deref(), Some("main+0x14"));
    assert_eq!(answer(0x1031), None);
    assert_eq!(answer(0x100f).as_deref(), Some("inner+0x7"));
    assert_eq!(answer(0x1010).as_deref(), Some("main+0x10"));
    assert_eq!(answer(0x1020).as_deref(), Some("helper+0x0"));
    assert_eq!(answer(0x0fff), None);
}

/// `.tbss` takes no room, so its addresses are those of the section behind it:
/// an offset in it was answered with that section's symbols.
#[test]
fn an_offset_in_a_thread_local_section_is_a_miss() {
    let index = Index::from_bytes(include_bytes!("../../testdata/golden/rich.symidx")).unwrap();
    let section = |name: &[u8]| index.section_by_name(name).unwrap().unwrap();
    let (tbss, data) = (section(b".tbss"), section(b".data"));
    assert!(tbss.is_tls() && tbss.address() == data.address());
    assert!(index.lookup_in(tbss.id(), 0).unwrap().is_none());
    assert_eq!(index.lookup_in(data.id(), 0).unwrap().unwrap().name(), "table");
    assert!(index.lookup_in(data.id(), data.size()).unwrap().is_none());
}

/// Every spelling of one address gives one answer, and offsets that no segment
/// holds give none.
#[test]
fn the_address_spaces_meet() {
    for name in NAMES {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden");
        let bytes = std::fs::read(golden.join(name).with_extension("symidx")).unwrap();
        let index = Index::from_bytes(&bytes).unwrap();
        for address in support::borders(&index, 4096) {
            let id = |found: Option<symidx::Symbol<'_>>| found.map(|s| (s.id(), s.offset()));
            let direct = id(index.lookup(Svma(address)).unwrap());
            if let Some(offset) = index.file_offset_of(Svma(address)) {
                let again = index.svma_of(offset).unwrap();
                assert_eq!(id(index.lookup_offset(offset).unwrap()), direct, "{name} {address:#x}");
                assert_eq!(again, Svma(address), "{name}");
            }
            if let Some(next) = address.checked_add(1) {
                let found = index.lookup_return(Svma(next)).unwrap();
                assert_eq!(id(found), direct, "{name} {address:#x}");
            }
        }
        assert!(index.lookup_return(Svma(0)).unwrap().is_none());
        assert!(index.lookup_offset(symidx::FileOffset(u64::MAX)).unwrap().is_none());
    }
}

/// What was let go is mapped again by whoever reads next, with the same bytes.
#[test]
#[cfg(all(feature = "mmap", unix))]
fn released_pages_come_back() {
    for name in NAMES {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden");
        let path = golden.join(name).with_extension("symidx");
        // SAFETY: nobody writes these files.
        let mapped = unsafe { Index::map(&path) }.unwrap();
        let read = Index::read(&path).unwrap();
        let before = dump(&read);
        for index in [&mapped, &read] {
            assert_eq!(dump(index), before);
            index.release();
            assert_eq!(dump(index), before);
        }
    }
}

/// Nodes were written another way before they had a head byte, under the same
/// section ids: their lines came out wrong. Names of such an index are right,
/// it has no lines, and `verify` sends it back to be built again.
#[test]
fn an_index_with_older_nodes_has_names_and_no_lines() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden");
    let older = std::fs::read(golden.join("../older/lines.symidx")).unwrap();
    let today = std::fs::read(golden.join("lines.symidx")).unwrap();
    let (older, today) = (Index::from_bytes(&older).unwrap(), Index::from_bytes(&today).unwrap());
    let mut named = 0;
    for address in support::borders(&today, 4096) {
        let name = |index: &Index<'_>| {
            let symbol = index.lookup(Svma(address)).unwrap();
            symbol.map(|symbol| (symbol.name().to_string(), symbol.offset()))
        };
        assert_eq!(name(&older), name(&today), "{address:#x}");
        for frame in older.frames(Svma(address)).unwrap() {
            named += 1;
            assert_eq!(frame.unwrap().line(), None, "{address:#x}");
        }
    }
    assert!(named > 0 && today.has_lines() && !older.has_lines());
    assert!(older.verify().is_err());
}

/// Roots that do not say that their function has the symbol's name: the symbol
/// is looked up, and every answer is the one of today.
#[test]
fn an_index_whose_roots_do_not_name_the_symbol_answers_as_today() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden");
    let older = std::fs::read(golden.join("../older/roots.symidx")).unwrap();
    let older = Index::from_bytes(&older).unwrap();
    older.verify().unwrap();
    let today = std::fs::read_to_string(golden.join("lines.txt")).unwrap();
    assert_eq!(dump(&older), today);
    let today = std::fs::read(golden.join("lines.symidx")).unwrap();
    let today = Index::from_bytes(&today).unwrap();
    for address in support::borders(&today, 4096).into_iter().map(Svma) {
        let stated = |index: &Index<'_>| {
            let name = index.stated_function(address).unwrap();
            name.map(|name| name.to_string())
        };
        assert_eq!(stated(&older), stated(&today), "{address}");
    }
    // Where the symbol is another, debug information's name is still told.
    let cold = today.stated_function(Svma(0x40018c)).unwrap().unwrap();
    assert_eq!(cold, "_start");
    assert_eq!(today.lookup(Svma(0x40018c)).unwrap().unwrap().name(), "_start.cold");
}
