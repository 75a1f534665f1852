//! Damage: it costs the damaged part, never the file, the process or the time.

use std::time::{Duration, Instant};

use super::builder::{Builder, LE64, Sec, Sym};
use super::{names, read, testdata};
use crate::input::InputError;
use crate::model::{Source, Store};

fn function(section: u64, value: u64) -> Sym {
    Sym { info: 0x12, section, value, size: 4, ..Sym::default() }
}

fn one_function() -> Builder {
    let mut b = Builder::new(LE64);
    let text = b.text();
    b.symbols(&[("f", function(text, 0x1000))]);
    b
}

#[test]
fn unusable_headers_are_errors_with_advice() {
    let store = Store::new();
    let whole = one_function().build();
    let broken = |at: usize, byte: u8| {
        let mut data = whole.clone();
        data[at] = byte;
        data
    };
    let cases = [
        (broken(4, 9), "class"),
        (broken(5, 9), "byte order"),
        (whole[..20].to_vec(), "whole ELF header"),
        (broken(16, 4), "core dump"),
        (whole[..64].to_vec(), "neither"),
    ];
    for (data, text) in &cases {
        let store = Store::new();
        match read(data, &store) {
            Err(error @ InputError::Malformed { .. }) => {
                let error = error.to_string();
                assert!(error.contains(text), "{error}");
                assert!(!error.contains('\n'));
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    assert!(read(&whole, &store).is_ok());
}

#[test]
fn a_damaged_name_table_costs_only_section_names() {
    let mut data = one_function().build();
    data[62..64].copy_from_slice(&[0x77, 0]);
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    assert_eq!(names(&image, Source::Symtab), ["f"]);
    assert_eq!(image.sections[0].name, b"");
    assert_eq!(image.report.warnings.len(), 1);
}

/// `e_shoff` that points into the code: what is there is not a section table.
#[test]
fn a_wrong_table_offset_leaves_the_segments() {
    let mut data = std::fs::read(testdata("plt-ifunc/plt.so")).unwrap();
    data[40..48].copy_from_slice(&0x1010u64.to_le_bytes());
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    assert_eq!(names(&image, Source::Dynsym).len(), 3);
    assert_eq!(image.sections.len(), image.segments.len());
    assert!(!image.report.warnings.is_empty());
}

#[test]
fn a_damaged_section_costs_only_itself() {
    // A compressed section of nonsense and one far outside the file.
    let mut b = one_function();
    b.section(Sec {
        name: ".debug_info",
        kind: 1,
        flags: 0x800,
        data: vec![7; 9],
        ..Sec::default()
    });
    b.section(Sec { name: ".debug_line", kind: 1, size: Some(1 << 60), ..Sec::default() });
    b.section(Sec { name: ".bad", kind: 2, size: Some(1 << 60), link: 99, ..Sec::default() });
    let data = b.build();
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    assert_eq!(names(&image, Source::Symtab), ["f"]);
}

#[test]
fn a_symbol_table_without_names_is_counted() {
    let mut b = one_function();
    b.sections[2].link = 99;
    let data = b.build();
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    assert!(image.symbols.is_empty());
    assert_eq!(image.report.skipped["symbol without a name table"], 2);
    assert_eq!(image.report.warnings.len(), 1);
}

#[test]
fn a_wrong_entry_size_is_a_warning() {
    let mut b = one_function();
    b.sections[2].entry_size = 3;
    let data = b.build();
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    assert_eq!(names(&image, Source::Symtab), ["f"]);
    assert_eq!(image.report.warnings.len(), 1);
}

/// 20,000 headers that claim one table, and a string table of one endless
/// name: quadratic work would take minutes.
#[test]
fn work_is_linear_in_the_bytes_of_the_file() {
    let mut b = Builder::new(LE64);
    let text = b.text();
    let symbols: Vec<_> = (0..100_000).map(|_| ("", function(text, 0x1000))).collect();
    let table = b.symbols(&symbols) as usize - 1;
    // Every name starts one byte later in the same run without an end.
    let bytes = b.sections[table].data.clone();
    for (index, record) in bytes.chunks_exact(24).enumerate() {
        let at = index * 24;
        b.sections[table].data[at..at + 4].copy_from_slice(&(index as u32).to_le_bytes());
        assert_eq!(record.len(), 24);
    }
    b.sections[table - 1].data = vec![b'x'; 4 << 20];
    for _ in 0..20_000 {
        b.section(Sec { kind: 2, size: Some(1 << 20), link: 2, ..Sec::default() });
    }
    let data = b.build();
    let start = Instant::now();
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(image.symbols.is_empty());
}

/// The invariant of the fuzz target, on the nearest bytes to real files.
#[test]
fn no_cut_and_no_wrong_byte_panics() {
    for name in [
        "arm-mapping/rv.exe",
        "arm-mapping/a64.o",
        "plt/i386.so",
        "plt/arm.so",
        "plt/aarch64-bti.so",
        "alias-choice/al.o",
        "relocatable/fake.ko",
    ] {
        let data = std::fs::read(testdata(name)).unwrap();
        for length in 0..data.len() {
            let _ = read(&data[..length], &Store::new());
        }
        let mut data = data;
        for at in 0..data.len() {
            let right = data[at];
            for wrong in [0, 0xff, right ^ 1, right ^ 0x80, right.wrapping_add(1)] {
                data[at] = wrong;
                let _ = read(&data, &Store::new());
            }
            data[at] = right;
        }
    }
}

/// Larger files, where most bytes are padding: every cut, and damage only
/// where there is something.
#[test]
fn no_cut_and_no_wrong_byte_panics_in_larger_files() {
    for name in ["plt-ifunc/ibt.so", "alias-choice/libal.so", "gnu-debugdata/m.exe"] {
        let data = std::fs::read(testdata(name)).unwrap();
        for length in (0..data.len()).step_by(3) {
            let _ = read(&data[..length], &Store::new());
        }
        let mut data = data;
        for at in 0..data.len() {
            let right = data[at];
            if right == 0 && at % 16 != 0 {
                continue;
            }
            for wrong in [!right, right ^ 4] {
                data[at] = wrong;
                let _ = read(&data, &Store::new());
            }
            data[at] = right;
        }
    }
}
