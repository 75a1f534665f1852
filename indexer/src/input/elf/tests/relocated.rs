//! Relocatable files: what their debug sections say once they are relocated.

use super::builder::{Builder, LE32, LE64, Sec};
use super::debug::plain;
use super::{read, read_file};
use crate::input::ReadOptions;
use crate::input::rows::rows;
use crate::model::{AddressKind, Store};

const FUNCTIONS: [(&str, u64); 4] =
    [(".text.one", 2), (".text.two", 6), (".init.text", 10), (".exit.text", 14)];

/// The same source for each machine: every function starts at offset 0 of its own
/// section, on the line of its opening brace.
#[test]
fn each_machine_s_relocations_are_applied() {
    for machine in [
        "aarch64",
        "aarch64_be",
        "armv7",
        "i386",
        "mips",
        "mips64",
        "mips64el",
        "mipsel",
        "powerpc",
        "powerpc64",
        "powerpc64le",
        "riscv32",
        "riscv64",
        "riscv64-relax",
        "s390x",
        "sparc64",
        "x86_64",
        "x86_64-zlib",
    ] {
        let store = Store::new();
        let file = format!("relocations/{machine}.o");
        let image = read_file(&file, &store, &ReadOptions::default());
        assert_eq!(image.addresses, AddressKind::SectionOffset);
        assert_eq!(image.report.warnings, [""; 0], "{machine}");
        let odd: Vec<_> =
            image.report.skipped.keys().filter(|reason| reason.contains("relocation")).collect();
        assert!(odd.is_empty(), "{machine}: {odd:?}");
        let lines = rows(&image, &image.debug[0]);
        for (section, line) in FUNCTIONS {
            let first = (section.to_owned(), 0, "r.c".to_owned(), line);
            assert!(lines.contains(&first), "{machine} {section}: {lines:#?}");
        }
    }
}

/// A real compiler's object, and a kernel module linked from one.
#[test]
fn objects_and_modules_map_to_section_and_offset() {
    for (file, sections) in [
        ("relocatable/r.o", [".text.one", ".text.two", ".init.text", ".exit.text"]),
        ("relocatable/fake.ko", [".text", ".text", ".init.text", ".exit.text"]),
    ] {
        let store = Store::new();
        let image = read_file(file, &store, &ReadOptions::default());
        let lines = rows(&image, &image.debug[0]);
        for section in sections {
            assert!(lines.iter().any(|(name, at, ..)| name == section && *at == 0), "{file}");
        }
    }
}

fn relocatable() -> Builder {
    let mut b = Builder::new(LE64);
    b.kind = 1;
    b
}

/// Symbols 1 = `.text`, 2 = undefined, 3 = `.debug_str`; records are (offset, symbol, type, addend).
fn with_relocations(records: &[(u64, u64, u64, u64)], info: &[u8]) -> Vec<u8> {
    use super::builder::Sym;
    let mut b = relocatable();
    let text = b.text();
    let section = b.section(plain(".debug_info", info));
    let strings = b.section(plain(".debug_str", b"ab"));
    let more = b.section(plain(".debug_str", b"cd"));
    let of = |section| Sym { info: 3, section, ..Sym::default() };
    let symbols =
        b.symbols(&[("", of(text)), ("", Sym::default()), ("", of(strings)), ("", of(more))]);
    let l = b.layout;
    let data = records
        .iter()
        .flat_map(|&(offset, symbol, kind, addend)| {
            [l.word(offset), l.word((symbol << 32) | kind), l.word(addend)].concat()
        })
        .collect();
    b.section(Sec {
        name: ".rela.debug_info",
        kind: 4,
        link: symbols,
        info: section,
        data,
        ..Sec::default()
    });
    b.build()
}

#[test]
fn values_of_relocations() {
    let records = [
        (0, 1, 1, 0x20),
        (8, 2, 1, 0x20),
        (16, 3, 10, 1),
        (20, 4, 10, 1),
        (24, 1, 77, 1),
        (25, 1, 1, 1),
        (32, 77, 1, 5),
    ];
    let data = with_relocations(&records, &[9; 40]);
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    let info = image.debug[0].sections.info;
    assert_eq!(info[..8], 0x1_0020u64.to_le_bytes());
    // Undefined: nobody's address, whatever the addend.
    assert_eq!(info[8..16], [0; 8]);
    // Sections of one name are one section; offsets are in that.
    assert_eq!(info[16..20], 1u32.to_le_bytes());
    assert_eq!(info[20..24], 3u32.to_le_bytes());
    assert_eq!(image.debug[0].sections.str, b"abcd");
    // An unknown type leaves the bytes.
    assert_eq!(info[24], 9);
    assert_eq!(info[25..33][..7], 0x1_0001u64.to_le_bytes()[..7]);
    assert_eq!(info[32..40], [0; 8]);
    assert_eq!(image.report.skipped["relocation of an unknown type in debug information"], 1);
    let mapping = image.debug[0].addresses.mappings[0];
    assert_eq!(
        (mapping.start, mapping.size, mapping.section, mapping.target),
        (0x1_0000, 0x100, 0, 0)
    );
}

#[test]
fn places_outside_are_counted() {
    let data = with_relocations(&[(33, 1, 1, 0), (u64::MAX, 1, 1, 0), (0, 1, 1, 0)], &[9; 40]);
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    assert_eq!(image.report.skipped["relocation outside its debug section"], 2);
    assert_eq!(image.debug[0].sections.info[8..], [9; 32]);
}

#[test]
fn linked_files_are_not_relocated() {
    let mut data = with_relocations(&[(0, 1, 1, 0x20)], &[9; 40]);
    data[16] = 3;
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    assert_eq!(image.debug[0].sections.info, [9; 40]);
}

/// A section that claims the whole address space must not push the others out.
#[test]
fn sections_are_laid_out_as_far_as_there_is_room() {
    let code = |size| Sec { name: ".text", kind: 8, flags: 6, size: Some(size), ..Sec::default() };
    let mut b = Builder::new(LE32);
    b.kind = 1;
    for size in [0xffff_f000, 0x10, 0x1000, 0, 1] {
        b.section(code(size));
    }
    b.section(plain(".debug_info", b"units"));
    let data = b.build();
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    let found: Vec<_> =
        image.debug[0].addresses.mappings.iter().map(|m| (m.start, m.size, m.section)).collect();
    assert_eq!(found, [(0x1_0000, 0x10, 1), (0x1_2000, 0x1000, 2), (0x1_5000, 1, 4)]);
}

#[test]
fn every_truncation_of_an_object_is_read() {
    let data = std::fs::read(super::testdata("relocations/x86_64-zlib.o")).unwrap();
    for end in 0..data.len() {
        let store = Store::new();
        let _ = read(&data[..end], &store);
    }
}

/// Every byte changed once: what comes out may be wrong, never a panic or a hang.
#[test]
fn any_changed_byte_of_an_object_is_read() {
    for file in ["x86_64-zlib", "riscv64-relax", "mips64el"] {
        let whole = std::fs::read(super::testdata(&format!("relocations/{file}.o"))).unwrap();
        let start = std::time::Instant::now();
        for at in 0..whole.len() {
            for mask in [0xff, 0x01] {
                let mut data = whole.clone();
                data[at] ^= mask;
                let store = Store::new();
                if let Ok(image) = read(&data, &store) {
                    let mapped = image.debug.iter().flat_map(|debug| &debug.addresses.mappings);
                    assert!(
                        mapped.into_iter().all(|m| (m.section as usize) < image.sections.len())
                    );
                }
            }
        }
        assert!(start.elapsed() < std::time::Duration::from_secs(60), "{file}");
    }
}

/// Thousands of sections of one name, each with relocations: looking for tables
/// beside each would be quadratic.
#[test]
fn many_small_debug_sections_are_read_in_linear_time() {
    let mut b = relocatable();
    let symbols = b.symbols(&[]);
    for _ in 0..20_000 {
        let section = b.section(plain(".debug_info", b"x"));
        b.section(Sec {
            name: ".rela.debug_info",
            kind: 4,
            link: symbols,
            info: section,
            data: vec![0; 24],
            ..Sec::default()
        });
    }
    b.extended = true;
    let data = b.build();
    let start = std::time::Instant::now();
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    assert_eq!(image.debug[0].sections.info.len(), 20_000);
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}
