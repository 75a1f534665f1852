//! Debug sections: where they are found, unpacked and what they map.

use std::io::Write as _;

use super::builder::{ALL, Builder, LE64, Layout, Sec, Sym};
use super::{names, read};
use crate::input::ReadOptions;
use crate::model::{Image, Mapping, Source, Store};

const COMPRESSED: u64 = 0x800;

pub(super) fn zlib(data: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(data).unwrap();
    packer.finish().unwrap()
}

fn zstd(data: &[u8]) -> Vec<u8> {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    compress_to_vec(data, CompressionLevel::Fastest)
}

/// A section with a compression header that says `kind` and `size`.
fn packed(l: Layout, name: &'static str, kind: u64, size: u64, data: &[u8]) -> Sec {
    let mut header = l.u32(kind);
    if l.is_64 {
        header.extend(l.u32(0));
    }
    header.extend(l.word(size));
    header.extend(l.word(1));
    header.extend(data);
    Sec { name, kind: 1, flags: COMPRESSED, data: header, ..Sec::default() }
}

pub(super) fn plain(name: &'static str, data: &[u8]) -> Sec {
    Sec { name, kind: 1, data: data.to_vec(), ..Sec::default() }
}

fn program(l: Layout) -> Builder {
    let mut b = Builder::new(l);
    let text = b.text();
    b.symbols(&[(
        "f",
        Sym { info: 0x12, section: text, value: 0x1000, size: 4, ..Sym::default() },
    )]);
    b
}

fn one_warning<'a>(image: &'a Image<'_>) -> &'a str {
    assert_eq!(image.report.warnings.len(), 1, "{:?}", image.report.warnings);
    &image.report.warnings[0]
}

#[test]
fn sections_are_found_however_they_are_packed() {
    for l in ALL {
        let mut b = program(l);
        b.section(plain(".debug_info", b"the units"));
        b.section(packed(l, ".debug_abbrev", 1, 3, &zlib(b"abc")));
        b.section(packed(l, ".debug_line", 2, 5, &zstd(b"lines")));
        let old = [b"ZLIB\0\0\0\0\0\0\0\x04", &zlib(b"text")[..]].concat();
        b.section(plain(".zdebug_str", &old));
        b.section(plain(".debug_frame", b"not wanted"));
        let data = b.build();
        let store = Store::new();
        let image = read(&data, &store).unwrap();
        assert_eq!(image.report.warnings, [""; 0]);
        let debug = &image.debug[0];
        assert_eq!(image.debug.len(), 1);
        assert_eq!(debug.label, "");
        assert_eq!(debug.sections.info, b"the units");
        assert_eq!(debug.sections.abbrev, b"abc");
        assert_eq!(debug.sections.line, b"lines");
        assert_eq!(debug.sections.str, b"text");
        assert_eq!(debug.machine, image.machine);
        let whole = Mapping { start: 0x1000, size: 0x100, section: 0, target: 0x1000 };
        assert_eq!(debug.addresses.mappings, [whole]);
        // Borrowed from the file: no copy is made of what is not packed.
        assert!(data.as_ptr_range().contains(&debug.sections.info.as_ptr()));
    }
}

#[test]
fn names_only_looks_at_no_debug_section() {
    let mut b = program(LE64);
    b.section(plain(".debug_info", b"units"));
    b.section(packed(LE64, ".debug_abbrev", 7, 1 << 60, b"damaged"));
    let data = b.build();
    let store = Store::new();
    let options = ReadOptions { names_only: true, ..ReadOptions::default() };
    let image = super::super::read("x".as_ref(), &data, &store, &options).unwrap();
    assert!(image.debug.is_empty());
    assert_eq!(image.report.warnings, [""; 0]);
}

/// Other readers refuse the whole file then.
#[test]
fn a_damaged_section_costs_lines_and_never_names() {
    let l = LE64;
    let text = b"some text that is packed".to_vec();
    let good = zlib(&text);
    let wrong_sum = {
        let mut data = good.clone();
        *data.last_mut().unwrap() ^= 1;
        data
    };
    let size = text.len() as u64;
    let cases = [
        (packed(l, ".debug_line", 7, size, &good), "compression type 7"),
        (packed(l, ".debug_line", 1, 1 << 60, &good), "a claim of 0x1000000000000000 bytes"),
        (packed(l, ".debug_line", 1, size - 1, &good), "more bytes than"),
        (packed(l, ".debug_line", 1, size, &good[..10]), "ends after"),
        (packed(l, ".debug_line", 1, size, &wrong_sum), "damaged zlib"),
        (packed(l, ".debug_line", 2, size, &good), "damaged zstd"),
        (Sec { data: vec![1; 9], ..packed(l, ".debug_line", 1, 0, b"") }, "too few"),
        (plain(".zdebug_line", b"ZLIX1234"), "no ZLIB header"),
        (Sec { size: Some(1 << 40), ..plain(".debug_line", b"x") }, "before the end"),
    ];
    for (section, found) in cases {
        let name = section.name;
        let mut b = program(l);
        b.section(plain(".debug_info", b"units"));
        b.section(section);
        let data = b.build();
        let store = Store::new();
        let image = read(&data, &store).unwrap();
        assert_eq!(names(&image, Source::Symtab), ["f"]);
        let warning = one_warning(&image);
        assert!(warning.starts_with(name), "{warning}");
        assert!(warning.contains(found), "{found}: {warning}");
        assert_eq!(image.debug[0].sections.line, b"");
        assert_eq!(image.debug[0].sections.info, b"units");
    }
}

#[test]
fn truncated_files_keep_what_is_whole() {
    let mut b = program(LE64);
    b.section(plain(".debug_info", b"units"));
    b.section(packed(LE64, ".debug_line", 1, 200, &zlib(&[7; 200])));
    let data = b.build();
    for end in 0..data.len() {
        let store = Store::new();
        if let Ok(image) = read(&data[..end], &store) {
            for debug in &image.debug {
                assert!([&b""[..], &[7; 200]].contains(&debug.sections.line));
            }
        }
    }
}

/// A thousand headers that claim the same bytes must not cost a thousand copies.
#[test]
fn bytes_are_joined_once() {
    let mut b = program(LE64);
    b.section(plain(".debug_info", &[7; 100_000]));
    let data = b.build();
    let at = u64::from_le_bytes(data[40..48].try_into().unwrap()) as usize;
    let mut many = data.clone();
    let record = data[at + 64 * 4..at + 64 * 5].to_vec();
    many.splice(at + 64 * 5..at + 64 * 5, std::iter::repeat_n(record, 1000).flatten());
    many[60..62].copy_from_slice(&1006u16.to_le_bytes());
    many[62..64].copy_from_slice(&1005u16.to_le_bytes());
    let store = Store::new();
    let image = read(&many, &store).unwrap();
    assert!(!image.debug.is_empty());
    assert!(image.debug[0].sections.info.len() <= 2 * many.len());
    assert!(!image.report.warnings.is_empty());
}

/// A stripped program and its debug file: lines come from the debug file, whose
/// own sections have no bytes, and mean the program's sections.
#[test]
fn a_debug_file_brings_lines_also_to_a_file_with_symbols() {
    let directory = tempfile::tempdir().unwrap();
    let (main, debug_file) = (directory.path().join("app"), directory.path().join("app.debug"));
    let mut b = program(LE64);
    std::fs::write(&main, b.build()).unwrap();
    b.section(plain(".debug_info", b"units"));
    std::fs::write(&debug_file, b.build()).unwrap();
    let options = ReadOptions { debug_files: vec![debug_file.clone()], ..ReadOptions::default() };
    let store = Store::new();
    let image = crate::input::read(&main, &store, &options).unwrap();
    assert_eq!(image.report.warnings, [""; 0]);
    let debug = &image.debug[0];
    assert_eq!(debug.sections.info, b"units");
    assert_eq!(debug.label, format!("debug file {}: ", debug_file.display()));
    assert_eq!(debug.addresses.mappings.len(), 1);
    assert_eq!(image.companions.len(), 1);
    // Its own comes first, then no other is read.
    let image = crate::input::read(&debug_file, &store, &options).unwrap();
    assert_eq!(image.debug.len(), 1);
    assert_eq!(image.debug[0].label, "");
    let names_only = ReadOptions { names_only: true, ..options };
    let image = crate::input::read(&main, &store, &names_only).unwrap();
    assert!(image.debug.is_empty());
}
