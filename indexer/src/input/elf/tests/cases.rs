//! Files of real tools: tables without section headers, versions, mapping
//! symbols, sections and segments.

use super::{names, read, read_file, symbol, testdata};
use crate::input::ReadOptions;
use crate::model::{AddressKind, Image, Kind, NO_VERSION, Source, Store, Symbol};

fn plain() -> ReadOptions {
    ReadOptions::default()
}

/// What must stay the same when the section headers go.
fn essence(image: &Image<'_>) -> Vec<(String, u64, u64, Kind, String, bool)> {
    let dynamic = image.symbols.iter().filter(|symbol| symbol.source == Source::Dynsym);
    dynamic
        .map(|s| {
            let name = String::from_utf8_lossy(s.name).into_owned();
            (name, s.address, s.size, s.kind, version(image, s), s.default_version)
        })
        .collect()
}

fn version(image: &Image<'_>, symbol: &Symbol<'_>) -> String {
    let name = image.versions.get(symbol.version as usize).copied().unwrap_or(b"");
    String::from_utf8_lossy(name).into_owned()
}

#[test]
fn without_section_headers_the_dynamic_segment_counts() {
    for file in ["alias-choice/libal-stripped.so", "plt/i386.so", "plt/arm.so", "plt-ifunc/plt.so"]
    {
        let path = testdata(file);
        let whole = std::fs::read(&path).unwrap();
        let is_64 = whole[4] == 2;
        let store = Store::new();
        let wanted = read(&whole, &store).unwrap();
        let mut cut = whole.clone();
        cut[if is_64 { 40..48 } else { 32..36 }].fill(0);
        let image = read(&cut, &store).unwrap();
        assert_eq!(essence(&image), essence(&wanted), "{file}");
        assert!(image.sections.iter().all(|section| section.name.is_empty()));
        assert_eq!(image.sections.len(), image.segments.len());
        // Each hash table alone, then neither.
        let mut both = cut.clone();
        for (tag, broken) in [(0x6fff_fef5_u32, 1), (4, 0)] {
            hide_tag(&mut both, is_64, tag);
            let image = read(&both, &store).unwrap();
            let warnings = image.report.warnings.len();
            if broken == 0 {
                assert_eq!(warnings, 1, "{file}: {:?}", image.report.warnings);
            }
            assert_eq!(essence(&image), essence(&wanted), "{file}");
        }
    }
}

/// Replaces a tag in the dynamic segment by one that nobody knows.
fn hide_tag(data: &mut [u8], is_64: bool, tag: u32) {
    let number = |at: usize, size: usize| {
        data[at..at + size].iter().rev().fold(0usize, |n, &b| n << 8 | usize::from(b))
    };
    let (programs, step, count) =
        if is_64 { (number(32, 8), 56, number(56, 2)) } else { (number(28, 4), 32, number(44, 2)) };
    let at = (0..count).map(|i| programs + i * step).find(|&at| number(at, 4) == 2).unwrap();
    let (offset, size, entry) = if is_64 {
        (number(at + 8, 8), number(at + 32, 8), 16)
    } else {
        (number(at + 4, 4), number(at + 16, 4), 8)
    };
    for at in (offset..offset + size).step_by(entry) {
        if data[at..at + 4] == tag.to_le_bytes() {
            data[at..at + 4].copy_from_slice(&0x6abc_def0_u32.to_le_bytes());
        }
    }
}

#[test]
fn versions_come_with_the_dynamic_table() {
    let store = Store::new();
    let image = read_file("alias-choice/libal-stripped.so", &store, &plain());
    let of_name = |name: &str| -> Vec<_> {
        let found = image.symbols.iter().filter(|s| s.name == name.as_bytes());
        let mut found: Vec<_> =
            found.map(|s| (s.address, version(&image, s), s.default_version)).collect();
        found.sort();
        found
    };
    assert_eq!(
        of_name("verfn"),
        [(0x1030, "V1".to_owned(), false), (0x1040, "V2".to_owned(), true)]
    );
    // In the symbol table the version is part of the name; `normalise` splits it.
    let image = read_file("alias-choice/libal.so", &store, &plain());
    assert!(names(&image, Source::Symtab).contains(&"verfn@@V2".to_owned()));
    assert_eq!(symbol(&image, "verfn@@V2").version, NO_VERSION);
}

#[test]
fn mapping_symbols_are_counted_not_kept() {
    let store = Store::new();
    for (file, kept, mapping) in [
        ("arm-mapping/a64.exe", &["alpha", "beta"][..], 4),
        ("arm-mapping/rv.exe", &["gamma", "delta"], 3),
        ("arm-mapping/a64.o", &["first", "second", "third"], 4),
    ] {
        let image = read_file(file, &store, &plain());
        assert_eq!(names(&image, Source::Symtab), kept, "{file}");
        assert_eq!(image.report.skipped["mapping symbol"], mapping, "{file}");
    }
}

#[test]
fn relocatable_symbols_know_their_sections() {
    let store = Store::new();
    for file in ["relocatable/r.o", "relocatable/fake.ko"] {
        let image = read_file(file, &store, &plain());
        assert_eq!(image.addresses, AddressKind::SectionOffset);
        for (name, section) in [("mod_init", ".init.text"), ("mod_exit", ".exit.text")] {
            let found = symbol(&image, name);
            assert_eq!(found.address, 0);
            assert_eq!(image.sections[found.section as usize].name, section.as_bytes());
        }
    }
}

#[test]
fn segments_keep_their_own_bias() {
    let store = Store::new();
    let image = read_file("load-bias/bias.so", &store, &plain());
    let code = image.segments.iter().find(|segment| segment.execute).unwrap();
    assert_eq!((code.address, code.file_offset), (0x21_5040, 0x2040));
}

#[test]
fn sizes_are_passed_on_as_stated() {
    let store = Store::new();
    let image = read_file("zero-size/z.exe", &store, &plain());
    assert_eq!(symbol(&image, "asm_func").size, 0);
    assert_eq!(symbol(&image, "asm_label").kind, Kind::Label);
    assert_eq!(symbol(&image, "sized").address, 0x40_1040);
    let image = read_file("nested-overlap/n.exe", &store, &plain());
    assert!(image.symbols.len() > 10);
}

#[test]
fn ifuncs_are_definitions() {
    let store = Store::new();
    let image = read_file("plt-ifunc/plt.so", &store, &plain());
    assert_eq!(symbol(&image, "picked").kind, Kind::Ifunc);
    assert!(!image.symbols.iter().any(|symbol| symbol.name == b"ext_one"));
}
