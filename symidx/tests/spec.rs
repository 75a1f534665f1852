//! `FORMAT.md` against the code: every byte table, number and promise in it,
//! read from the page itself, so that neither can change alone.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::collections::BTreeMap;
use std::mem::offset_of;

use symidx::format::lines::{self, FileEntry, FunctionEntry, LineSpan};
use symidx::format::{
    Alias, Attrs, Binding, Display, DisplayPiece, Extent, Header, Identity, ImageSection, Kind,
    Large, NameOnly, PackedHead, Phrase, Record, Region, SectionEntry, SectionId, Segment,
    name_hash,
};
use symidx::{Invariant, format};
use zerocopy::FromBytes;

const PAGE: &str = include_str!("../FORMAT.md");

/// Cells of every table row under a heading, the head rows left out.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let at = PAGE.find(heading).unwrap_or_else(|| panic!("FORMAT.md has no {heading:?}"));
    PAGE[at + heading.len()..]
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>())
        .skip(2)
        .collect()
}

/// Name, offset and size of each field, from the type itself.
type Fields = Vec<(&'static str, usize, usize)>;

macro_rules! fields {
    ($type:ident: $($field:ident),*) => {{
        fn size<T, F>(_: impl Fn(&T) -> &F) -> usize {
            size_of::<F>()
        }
        // Without `..`: a field that is not named here does not compile.
        #[allow(unused_variables)]
        let all = |whole: &$type| { let $type { $($field),* } = whole; };
        let fields: Fields = vec![$((
            stringify!($field),
            offset_of!($type, $field),
            size::<$type, _>(|whole| &whole.$field),
        )),*];
        (stringify!($type), size_of::<$type>(), fields)
    }};
}

fn types() -> Vec<(&'static str, usize, Fields)> {
    vec![
        fields!(Header: magic, version, required_flags, ignored_flags, section_count, file_size,
            addresses, hot_region, name_shift, reserved, hash),
        fields!(SectionEntry: id, flags, encoding, entry_size, offset, size, hash),
        fields!(Identity: id_kind, id_len, id, input_size, input_hash, inputs_digest, container,
            image_flags, reserved, machine, subtype, reserved2, slice_offset, slice_size,
            reserved3),
        fields!(Region: base, size, first, count, bucket_first, bucket_count, shift, section,
            module, module_len, flags),
        fields!(Record: start, size, name, name_len, attrs),
        fields!(Large: record, reserved, size),
        fields!(Alias: owner, size, name, name_len, attrs),
        fields!(NameOnly: value, size, section, name, name_len, attrs),
        fields!(Display: name, text, full_len, short_start, short_len, pieces),
        fields!(DisplayPiece: at, len),
        fields!(PackedHead: phrases, text, plain),
        fields!(Phrase: at, len),
        fields!(ImageSection: address, size, name, name_len, flags, number, region),
        fields!(LineSpan: base, size, lines, window_first, section, shift, reserved),
        fields!(FunctionEntry: name, name_len, file, line),
        fields!(FileEntry: directory, name, directory_len, name_len),
        fields!(Segment: address, memory_size, file_offset, file_size, flags, reserved),
    ]
}

#[test]
fn every_byte_table_is_its_type() {
    let types = types();
    for (name, size, fields) in &types {
        let rows = rows(&format!("### `{name}` ({size} bytes)\n"));
        let written: Fields = rows
            .iter()
            .map(|row| (row[2], row[0].parse().unwrap(), row[1].parse().unwrap()))
            .collect();
        assert_eq!(&written, fields, "table of {name}");
        let mut at = 0;
        for (field, offset, bytes) in fields {
            assert_eq!(*offset, at, "bytes before {name}.{field}");
            at += bytes;
        }
        assert_eq!(at, *size, "bytes behind the last field of {name}");
    }
    let tables = PAGE.lines().filter(|line| line.starts_with("### `")).count();
    assert_eq!(tables, types.len(), "a table of FORMAT.md that no type is compared with");
}

#[test]
fn the_section_table_is_section_id_all() {
    let ids = PAGE.split("| id | name | entry bytes | contents |").nth(1).unwrap();
    let written: Vec<(u32, &str, Option<u32>)> = ids
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            (cells[0].parse().unwrap(), cells[1], cells[2].parse().ok())
        })
        .collect();
    let known: Vec<_> = SectionId::ALL
        .iter()
        .map(|id| (id.0, id.name().expect("a name"), id.entry_size()))
        .collect();
    assert_eq!(written, known);
    let sizes: BTreeMap<_, _> =
        types().into_iter().map(|(name, size, _)| (name, size as u32)).collect();
    for (id, name) in [
        (SectionId::IDENTITY, "Identity"),
        (SectionId::REGIONS, "Region"),
        (SectionId::SEGMENTS, "Segment"),
        (SectionId::IMAGE_SECTIONS, "ImageSection"),
        (SectionId::RECORDS, "Record"),
        (SectionId::LARGE, "Large"),
        (SectionId::ALIASES, "Alias"),
        (SectionId::NAMES_ONLY, "NameOnly"),
        (SectionId::LINE_SPANS, "LineSpan"),
        (SectionId::FUNCTIONS, "FunctionEntry"),
        (SectionId::FILES, "FileEntry"),
        (SectionId::DISPLAY, "Display"),
    ] {
        assert_eq!(id.entry_size(), Some(sizes[name]), "{name}");
    }
    assert_eq!(SectionId(99).name(), None);
    assert_eq!(SectionId(99).entry_size(), None);
}

#[test]
fn the_invariants_are_those_of_the_code() {
    let written: Vec<_> =
        rows("## Invariants\n").iter().map(|row| (row[0], row[1], row[2])).collect();
    let known: Vec<_> =
        Invariant::ALL.iter().map(|invariant| (invariant.number(), invariant.text())).collect();
    let promised: Vec<_> = written.iter().map(|&(number, text, _)| (number, text)).collect();
    assert_eq!(promised, known);
    for (i, (number, _, checked)) in written.iter().enumerate() {
        assert_eq!(*number, format!("I{}", i + 1));
        let by_open = i < 8 || i == 11 || i == 34;
        assert_eq!(checked.starts_with("open"), by_open, "{number}: {checked}");
        assert_eq!(checked.contains("verify"), !by_open || i == 7, "{number}: {checked}");
    }
}

#[test]
fn the_attribute_bits_are_those_of_the_code() {
    let rows = rows("### Attributes\n");
    let bits = |row: &Vec<&str>| {
        let (first, last) = row[0].split_once('–').unwrap_or((row[0], row[0]));
        let (first, last): (u32, u32) = (first.parse().unwrap(), last.parse().unwrap());
        (first..=last).fold(0u16, |mask, bit| mask | 1 << bit)
    };
    // Every bit once.
    let (mut all, mut sum) = (0u16, 0u32);
    for row in &rows {
        all |= bits(row);
        sum += bits(row).count_ones();
    }
    assert_eq!((all, sum), (u16::MAX, 16));
    let masks: Vec<_> = rows.iter().skip(3).map(bits).collect();
    assert_eq!(
        masks,
        [
            Attrs::HAS_ALIASES,
            Attrs::VERSIONED,
            Attrs::PART,
            Attrs::FOLDED,
            Attrs::BEFORE_PRIMARY,
            Attrs::DWARF,
            Attrs::SHARED,
            Attrs::RESERVED,
        ]
    );
    // "kind: 0 function, 1 indirect function, …": every code is written there.
    let codes = |row: &Vec<&'static str>| {
        let text = row[1].split_once(": ").unwrap().1;
        let words = text.split(", ").filter_map(|part| part.split_once(' '));
        words.filter_map(|(code, word)| Some((code.parse::<u8>().ok()?, word))).collect::<Vec<_>>()
    };
    let kinds = [
        (Kind::Function, "function"),
        (Kind::Ifunc, "indirect function"),
        (Kind::Object, "object"),
        (Kind::Label, "label"),
        (Kind::Tls, "thread-local"),
        (Kind::Absolute, "absolute"),
        (Kind::Unnamed, "unnamed"),
        (Kind::Resume, "resume"),
    ];
    assert_eq!(codes(&rows[0]), kinds.map(|(kind, word)| (kind.code(), word)));
    let bindings =
        [(Binding::Global, "global"), (Binding::Weak, "weak"), (Binding::Local, "local")];
    assert_eq!(codes(&rows[1]), bindings.map(|(binding, word)| (binding.code(), word)));
    let extents: Vec<_> = codes(&rows[2])
        .into_iter()
        .map(|(code, word)| (code, word.split(' ').next().unwrap()))
        .collect();
    assert_eq!(
        extents,
        [Extent::Exact, Extent::Inferred, Extent::Synthesized].map(|e| (e.code(), e.as_str()))
    );
    for (mask, row) in [7u16, 3 << 3, 3 << 5].into_iter().zip(&rows) {
        assert_eq!(bits(row), mask);
    }
    assert_eq!(Attrs::new(Kind::Resume, Binding::Local, Extent::Synthesized, 0).0, 0x57);
}

#[test]
fn the_numbers_in_the_text_are_those_of_the_code() {
    let magic = rows("### `Header` (128 bytes)\n")[0][3];
    let hex: Vec<u8> = magic
        .trim_start_matches('`')
        .split('`')
        .next()
        .unwrap()
        .split(' ')
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    assert_eq!(hex, format::MAGIC);
    for (words, number) in [
        ("`.symidx` format, version 1\n", u64::from(format::VERSION) == 1),
        ("each aligned to 64 bytes", format::SECTION_ALIGN == 64),
        ("entries in the section table, at most 64", format::MAX_SECTIONS == 64),
        ("`NONE` is `0xffff_ffff`", format::NONE == 0xffff_ffff),
        ("`0xffff_ffff`: see large", format::LARGE_SIZE == 0xffff_ffff),
        ("`0xffff`: long", format::LONG_NAME == 0xffff),
        ("1 to 64 for a build-id", format::MAX_ID == 64),
        ("0: none, 1: GNU build-id, 2: Mach-O UUID", {
            (format::ID_NONE, format::ID_BUILD_ID, format::ID_UUID) == (0, 1, 2)
        }),
        ("1: ELF, 2: Mach-O, 3: kallsyms, 4: perf map, 5: jitdump", {
            let binaries = (format::CONTAINER_ELF, format::CONTAINER_MACHO);
            let jit = (format::CONTAINER_PERF_MAP, format::CONTAINER_JITDUMP);
            (binaries, format::CONTAINER_KALLSYMS, jit) == ((1, 2), 3, (4, 5))
        }),
        ("bit 0: 64-bit, bit 1: big-endian", {
            (format::IMAGE_64, format::IMAGE_BIG_ENDIAN) == (1, 2)
        }),
        ("bit 0: holds code", format::REGION_CODE == 1),
        ("bit 0: executable, bit 1: writable, bit 2: thread-local", {
            (format::SECTION_EXECUTE, format::SECTION_WRITE, format::SECTION_TLS) == (1, 2, 4)
        }),
        ("bit 0: readable, bit 1: writable, bit 2: executable", {
            (format::SEGMENT_READ, format::SEGMENT_WRITE, format::SEGMENT_EXECUTE) == (1, 2, 4)
        }),
        ("pieces of the run, 1 to 8", format::MAX_PIECES == 8),
        ("No chain is longer than 512 frames", lines::MAX_FRAMES == 512),
        ("linked to a root by at most 511 steps", lines::MAX_FRAMES == 512),
        ("Of a root: 1 if its function's name is that of every symbol", {
            lines::ROOT_IS_SYMBOL == 1
        }),
        ("bytes of address space per window, at most 32; above 8 each window has one row", {
            (lines::MAX_WINDOW_SHIFT, lines::ROW_SHIFT) == (32, 8)
        }),
        (
            "bits 0–3: e − 1, or 15 if that is more; bit 4 wide, bit 5 columns, bit 6 files, bit 7 long",
            {
                (lines::WINDOW_ENTRIES, lines::MANY_ENTRIES) == (0x0f, 15)
                    && [
                        lines::WINDOW_WIDE,
                        lines::WINDOW_COLUMNS,
                        lines::WINDOW_FILES,
                        lines::WINDOW_LONG,
                    ] == [1 << 4, 1 << 5, 1 << 6, 1 << 7]
            },
        ),
        ("from base; `0x8000`: nothing is known", lines::NARROW_GAP == 0x8000),
        ("themselves; `0xffff_ffff`: nothing is known", lines::WIDE_GAP == 0xffff_ffff),
        ("lines: 0 unknown, 255 long", lines::LONG_LINE == 255),
        ("columns: 0 unknown, 255 long", lines::LONG_COLUMN == 255),
        ("Else bit 0: the call has a file of its own", lines::LINK_FILE == 1),
        (
            "index in files, below `0x7f_ffff`; bit 23: only that of its rows; `0xff_ffff`: unknown",
            lines::NO_FILE == 0xff_ffff
                && lines::FILE_OF_ROWS == 1 << 23
                && lines::MAX_FUNCTION_FILE == 0x7f_fffe,
        ),
        ("bit 23: it was declared there", {
            (lines::LINE_DECLARED, lines::MAX_FUNCTION_LINE) == (1 << 23, (1 << 23) - 1)
        }),
        ("bit 0: required", format::ENTRY_REQUIRED == 1),
        ("0: as described for the id; 1: packed", {
            (format::ENCODING_PLAIN, format::ENCODING_PACKED) == (0, 1)
        }),
        ("at most 32,384 phrases", format::MAX_PHRASES == 128 + 126 * 256),
        ("| 0 to 127 |", format::ONE_BYTE_CODES == 128),
        ("| 128 to 253 |", format::CODE_HEX == 254),
        ("| 254 |", format::HEX_DIGITS == 16),
        ("| 255 |", format::CODE_LITERAL == 255),
        ("0: keys are svmas; 1: keys are (image section, offset)", {
            (format::ADDRESSES_SVMA, format::ADDRESSES_SECTION) == (0, 1)
        }),
    ] {
        assert!(PAGE.contains(words), "FORMAT.md no longer says {words:?}");
        assert!(number, "the code no longer does what FORMAT.md says: {words:?}");
    }
}

/// The hash as the page tells it, written down again from the words alone.
fn hash_from_the_page(name: &[u8]) -> u32 {
    const K: u128 = 0x9e37_79b9_7f4a_7c15;
    let modulo = |n: u128| n & u128::from(u64::MAX);
    let mut h = modulo(name.len() as u128 * K);
    let whole = name.len() / 8 * 8;
    for group in name[..whole].chunks(8) {
        let w = group.iter().rev().fold(0u128, |w, &byte| w << 8 | u128::from(byte));
        h = modulo((h ^ w) * K);
        h ^= h >> 32;
    }
    let w = name[whole..].iter().rev().fold(0u128, |w, &byte| w << 8 | u128::from(byte));
    h = modulo((h ^ w) * K);
    h ^= h >> 29;
    h = modulo(h * K);
    (h >> 32) as u32
}

#[test]
fn the_hash_is_the_one_of_the_page() {
    assert!(PAGE.contains("with `K = 0x9e3779b97f4a7c15`"));
    let mut bytes = Vec::new();
    let mut state = 1u64;
    for length in 0..300 {
        assert_eq!(name_hash(&bytes), hash_from_the_page(&bytes), "{length} bytes");
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.push((state >> 56) as u8);
    }
    for length in 0..40 {
        for byte in [0, 0xff] {
            let same = vec![byte; length];
            assert_eq!(name_hash(&same), hash_from_the_page(&same), "{length} times {byte}");
        }
    }
}

/// Written down once. A change here is a change of every index in the world.
#[test]
fn known_hashes_never_change() {
    for (name, hash) in [
        ("", 0x0000_0000),
        ("a", 0xae1d_e9e7),
        ("main", 0xbf71_31ed),
        ("helper", 0xc4d9_c904),
        ("_start", 0x723f_a1ef),
        ("12345678", 0x23aa_e1ef),
        ("123456789", 0x3560_1c10),
        ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", 0x8ac8_f92c),
    ] {
        assert_eq!(
            name_hash(name.as_bytes()),
            hash,
            "{name}: {:#010x}",
            name_hash(name.as_bytes())
        );
    }
}

const GOLDEN: &[u8] = include_bytes!("../../testdata/golden/example.symidx");

/// What stands between the fences of the page's last chapter.
fn dump_on_the_page() -> &'static str {
    let chapter = PAGE.split("## A whole file").nth(1).expect("the chapter");
    let dump = chapter.split("```").nth(1).expect("the dump");
    dump.strip_prefix("text\n").expect("a text block")
}

/// The page's annotated dump is the golden file, byte for byte.
#[test]
fn the_hex_dump_is_the_golden_file() {
    let mut bytes = vec![0u8; GOLDEN.len()];
    let (mut next, mut lines) = (0, 0);
    for line in dump_on_the_page().lines() {
        // `000000  89 53 59 …  words`; other lines are words alone.
        let Some((offset, rest)) = line.split_once("  ") else { continue };
        let Ok(offset) = usize::from_str_radix(offset, 16) else { continue };
        assert!(offset >= next, "lines in order at {offset:#x}");
        next = offset;
        lines += 1;
        for byte in rest.split("  ").next().unwrap_or("").split(' ') {
            bytes[next] = u8::from_str_radix(byte, 16).expect("two hex digits");
            next += 1;
        }
    }
    let wrong = bytes.iter().zip(GOLDEN).position(|(a, b)| a != b);
    assert_eq!(wrong, None, "first wrong byte of the dump");
    assert!(lines > 20 && next + 64 > GOLDEN.len(), "the dump ends at {next:#x}");
}

/// The dump with its words, as this test would write it. `SYMIDX_BLESS=1`
/// puts it into the page; the golden file itself is never written.
#[test]
fn the_words_of_the_dump_are_right() {
    let expected = annotated(GOLDEN);
    let found = dump_on_the_page();
    if std::env::var_os("SYMIDX_BLESS").is_some() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/FORMAT.md");
        std::fs::write(page, PAGE.replacen(found, &expected, 1)).unwrap();
    } else {
        assert!(found == expected, "expected this dump:\n{expected}");
    }
}

fn annotated(bytes: &[u8]) -> String {
    let header = Header::read_from_prefix(bytes).unwrap().0;
    let count = header.section_count.get() as usize;
    let table = &bytes[size_of::<Header>()..];
    let (table, _) = <[SectionEntry]>::ref_from_prefix_with_elems(table, count).unwrap();
    let names = table.iter().find(|entry| entry.id.get() == SectionId::NAMES.0).unwrap();
    let names = &bytes[names.offset.get() as usize..];
    let name = |at: u32, len: u16| {
        String::from_utf8_lossy(&names[at as usize..][..len.into()]).into_owned()
    };
    let mut text = format!(
        "header: version {}, {count} sections, {} bytes, hot region {}\n",
        header.version,
        header.file_size,
        header.hot_region.get()
    );
    hex_lines(&mut text, bytes, 0, 128, 16, |at| match at {
        0 => "magic, version, required flags".to_owned(),
        0x10 => "ignored flags, sections, file size".to_owned(),
        0x20 => "addresses, hot region, name shift".to_owned(),
        0x60 => "hash".to_owned(),
        _ => String::new(),
    });
    for (i, entry) in table.iter().enumerate() {
        let (at, id) = (128 + i * 64, SectionId(entry.id.get()));
        let title = format!("section table: {}", id.name().unwrap());
        text += &title;
        text.push('\n');
        let place = format!("offset {:#x}, {} bytes", entry.offset, entry.size);
        hex_lines(&mut text, bytes, at, at + 64, 16, |line| match line - at {
            0 => "id, flags, encoding, entry size".to_owned(),
            16 => place.clone(),
            32 => "hash".to_owned(),
            _ => String::new(),
        });
    }
    for entry in table {
        let id = SectionId(entry.id.get());
        let start = entry.offset.get() as usize;
        let end = start + entry.size.get() as usize;
        text += id.name().unwrap();
        text.push('\n');
        let own = &bytes[start..end];
        hex_lines(&mut text, bytes, start, end, 16, |line| {
            let at = line - start;
            match id {
                SectionId::IDENTITY => match at {
                    0 => "kind of id, its length, the id".to_owned(),
                    0x40 => "input size".to_owned(),
                    0x50 => "input hash".to_owned(),
                    0x70 => "inputs digest".to_owned(),
                    0x90 => "container, flags, machine, subtype".to_owned(),
                    0xa0 => "slice".to_owned(),
                    _ => String::new(),
                },
                SectionId::REGIONS => match at % 48 {
                    0 => "base, size".to_owned(),
                    16 => "records, buckets".to_owned(),
                    _ => "shift, section, module, flags".to_owned(),
                },
                SectionId::RECORDS => {
                    let record = Record::read_from_bytes(&own[at..at + 16]).unwrap();
                    let start = record.start.get();
                    match Attrs(record.attrs.get()).kind() {
                        Kind::Resume => {
                            format!("#{} {start:#04x} resume #{}", at / 16, record.name)
                        }
                        _ => {
                            let name = name(record.name.get(), record.name_len.get());
                            format!("#{} {start:#04x} size {} {name}", at / 16, record.size)
                        }
                    }
                }
                SectionId::IMAGE_SECTIONS if at.is_multiple_of(32) => "address, size".to_owned(),
                SectionId::IMAGE_SECTIONS => {
                    let entry = &own[at / 32 * 32..][..32];
                    let section = ImageSection::read_from_bytes(entry).unwrap();
                    let name = name(section.name.get(), section.name_len.get());
                    format!("name ({name}), flags, number, region")
                }
                SectionId::METADATA | SectionId::NAMES => own[at..own.len().min(at + 16)]
                    .iter()
                    .map(|&byte| if byte.is_ascii_graphic() { byte as char } else { '.' })
                    .collect(),
                _ => String::new(),
            }
        });
    }
    text
}

/// Lines of hex from `start` to `end` with words behind them; lines of zeros
/// without words are left out.
fn hex_lines(
    text: &mut String,
    bytes: &[u8],
    start: usize,
    end: usize,
    width: usize,
    words: impl Fn(usize) -> String,
) {
    for at in (start..end).step_by(width) {
        let line = &bytes[at..end.min(at + width)];
        let words = words(at);
        if words.is_empty() && line.iter().all(|&byte| byte == 0) {
            continue;
        }
        let hex: Vec<_> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let line = format!("{at:06x}  {:<47}  {words}", hex.join(" "));
        text.push_str(line.trim_end());
        text.push('\n');
    }
}
