//! Where runs end, what owns nothing, the fixtures, and damage.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::panic
)]

use super::*;
use crate::model::{Binding, Section};

fn read_with<T>(text: &[u8], modules: Option<&[u8]>, with: impl FnOnce(Image<'_>) -> T) -> T {
    let store = Store::new();
    let data = store.keep(text.to_vec());
    let mut options = ReadOptions::default();
    let directory = tempfile::tempdir().unwrap();
    if let Some(modules) = modules {
        let path = directory.path().join("modules");
        std::fs::write(&path, modules).unwrap();
        options.modules = Some(path);
    }
    with(read(Path::new("kallsyms"), data, &store, &options).unwrap())
}

/// (start, end, code, module) of each section.
fn runs(text: &str, modules: Option<&str>) -> Vec<(u64, u64, bool, String)> {
    read_with(text.as_bytes(), modules.map(str::as_bytes), |image| {
        image.sections.iter().map(|section| run(&image, section)).collect()
    })
}

fn run(image: &Image<'_>, section: &Section<'_>) -> (u64, u64, bool, String) {
    let module = section.module.map_or(&b""[..], |module| image.modules[module as usize]);
    let module = String::from_utf8(module.to_vec()).unwrap();
    (section.address, section.address + section.size, section.execute, module)
}

fn named<'a>(image: &Image<'a>, name: &str) -> Symbol<'a> {
    *image.symbols.iter().find(|symbol| symbol.name == name.as_bytes()).unwrap()
}

fn core(start: u64, end: u64, code: bool) -> (u64, u64, bool, String) {
    (start, end, code, String::new())
}

fn fixture(name: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/kallsyms");
    std::fs::read(root.join(name)).unwrap()
}

#[test]
fn the_last_symbol_reaches_to_the_end_of_its_page() {
    assert_eq!(runs("c0008000 T a\nc0008123 T b\n", None), [core(0xc000_8000, 0xc000_9000, true)]);
    assert_eq!(runs("ffffffffffffffff T a", None), [core(u64::MAX, u64::MAX, true)]);
}

#[test]
fn a_run_ends_where_the_class_changes() {
    let text = "c0008000 T a\nc0020000 D b\nc0020010 R c\nc0020020 t d\n";
    assert_eq!(
        runs(text, None),
        [
            core(0xc000_8000, 0xc002_0000, true),
            core(0xc002_0000, 0xc002_0020, false),
            core(0xc002_0020, 0xc002_1000, true),
        ]
    );
}

#[test]
fn read_only_data_is_not_writable() {
    read_with(b"c0008000 R a\nc0008010 r b\nc0009000 T t\nc000a000 D d", None, |image| {
        let writable: Vec<_> = image.sections.iter().map(|section| section.write).collect();
        assert_eq!(writable, [false, false, true]);
    });
}

#[test]
fn a_run_ends_at_the_next_module() {
    let text = "c0100000 t a\t[one]\nc0100800 t b\t[two]\nc0200000 t c\t[one]\n";
    assert_eq!(
        runs(text, None),
        [
            (0xc010_0000, 0xc010_0800, true, "one".to_owned()),
            (0xc010_0800, 0xc010_1000, true, "two".to_owned()),
            (0xc020_0000, 0xc020_1000, true, "one".to_owned()),
        ]
    );
}

#[test]
fn a_modules_file_tells_where_modules_end() {
    let text = "c0100000 t a\t[one]\nc0200000 t b\t[two]\n";
    let modules = "two 8192 0 - Live 0xc0200000\none 20480 1 two, Live 0xc0100000 (OE)\n";
    assert_eq!(
        runs(text, Some(modules)),
        [
            (0xc010_0000, 0xc010_5000, true, "one".to_owned()),
            (0xc020_0000, 0xc020_2000, true, "two".to_owned()),
        ]
    );
}

// A module's claimed end must not hide its neighbour's first symbols, and the part of a
// module that lies elsewhere (its init section) has no known end.
#[test]
fn a_modules_end_never_reaches_over_the_next_symbol() {
    let text = "c0100000 t a\t[one]\nc0102000 t b\t[two]\nc0300010 t init\t[one]\n";
    let modules = "one 2097152 0 - Live 0xc0100000\n";
    assert_eq!(
        runs(text, Some(modules)),
        [
            (0xc010_0000, 0xc010_2000, true, "one".to_owned()),
            (0xc010_2000, 0xc010_3000, true, "two".to_owned()),
            (0xc030_0010, 0xc030_1000, true, "one".to_owned()),
        ]
    );
}

#[test]
fn inside_and_outside_of_a_module_are_two_runs() {
    let text = "c0100000 t a\t[one]\nc0110000 t init\t[one]\n";
    assert_eq!(
        runs(text, Some("one 8192 0 - Live 0xc0100000\n")),
        [
            (0xc010_0000, 0xc010_2000, true, "one".to_owned()),
            (0xc011_0000, 0xc011_1000, true, "one".to_owned()),
        ]
    );
}

#[test]
fn a_symbol_at_its_modules_end_owns_nothing() {
    let text = "c0100000 t a\t[one]\nc0102000 d end\t[one]\nc0102000 t b\t[two]\n";
    read_with(text.as_bytes(), Some(b"one 8192 0 - Live 0xc0100000\n"), |image| {
        let end = named(&image, "end");
        assert_eq!((end.kind, end.section), (Kind::Label, 0));
        assert_eq!(named(&image, "b").section, 1);
    });
}

#[test]
fn a_gap_in_the_kernel_itself_ends_a_run() {
    assert_eq!(
        runs("c0008010 T a\nc0308000 T b\n", None),
        [core(0xc000_8010, 0xc000_9000, true), core(0xc030_8000, 0xc030_9000, true),]
    );
    // Data may be as big as 16 MiB.
    assert_eq!(runs("c0008010 D a\nc0308000 D b\n", None), [core(0xc000_8010, 0xc030_9000, false)]);
}

#[test]
fn an_end_marker_is_a_label_at_the_end_of_its_run() {
    let text =
        "c0008000 T a\nc0009000 T _etext\nc0009000 T b\nc0009100 B _end\nc0f00000 t m\t[m]\n";
    read_with(text.as_bytes(), None, |image| {
        let all: Vec<_> = image.sections.iter().map(|s| run(&image, s)).collect();
        assert_eq!(
            all[..2],
            [core(0xc000_8000, 0xc000_9000, true), core(0xc000_9000, 0xc000_9100, true)]
        );
        let marker = named(&image, "_etext");
        assert_eq!((marker.kind, marker.section), (Kind::Label, 0));
        assert_eq!(named(&image, "b").section, 1);
        assert_eq!((named(&image, "_end").kind, named(&image, "_end").section), (Kind::Label, 1));
    });
}

#[test]
fn an_end_marker_without_a_run_is_by_name_only() {
    let text = "c0008000 T a\nc0009000 T _etext\nc000a000 D __end_rodata\nc000b000 T b\n";
    read_with(text.as_bytes(), None, |image| {
        let marker = named(&image, "__end_rodata");
        assert_eq!((marker.kind, marker.section), (Kind::Absolute, NO_SECTION));
        assert_eq!(image.sections.len(), 2);
    });
}

// `__kprobes_text_start` of a kernel without kprobes would else own the gap behind it.
#[test]
fn an_empty_sections_start_marker_owns_nothing() {
    let text = "c0008000 T a\nc0009000 T __kprobes_text_start\nc0009000 T __kprobes_text_end\n\
                c000a000 T b\n";
    read_with(text.as_bytes(), None, |image| {
        assert_eq!(named(&image, "__kprobes_text_start").kind, Kind::Label);
        let all: Vec<_> = image.sections.iter().map(|s| run(&image, s)).collect();
        assert_eq!(
            all,
            [core(0xc000_8000, 0xc000_9000, true), core(0xc000_a000, 0xc000_b000, true)]
        );
    });
    // The start marker of the next section does own what follows it.
    let text =
        "c0008000 R a\nc0009000 R __stop_notes\nc0009000 R __start_BTF\nc000a000 R __stop_BTF";
    assert_eq!(
        runs(text, None),
        [core(0xc000_8000, 0xc000_9000, false), core(0xc000_9000, 0xc000_a000, false)]
    );
}

#[test]
fn functions_are_preferred_to_markers_and_padding() {
    let text = "c0008000 T _text\nc0008000 T startup\nc0008010 t __pfx_f\nc0008020 t f\n";
    read_with(text.as_bytes(), None, |image| {
        let kinds: Vec<_> = image.symbols.iter().map(|symbol| symbol.kind).collect();
        assert_eq!(kinds, [Kind::Label, Kind::Function, Kind::Label, Kind::Function]);
        // Padding still owns its own bytes: it stands in the run.
        assert!(image.symbols.iter().all(|symbol| symbol.section == 0));
    });
}

#[test]
fn code_decides_the_class_of_an_address() {
    let text = "c0008000 D __init_begin\nc0008000 T _sinittext\nc0008010 T f\n";
    assert_eq!(runs(text, None), [core(0xc000_8000, 0xc000_9000, true)]);
}

/// The border that profilers get wrong: aa's last label lies where bb begins,
/// and bb's first function was once answered as one of aa.
#[test]
fn what_the_open_module_has_where_another_begins_is_its_end() {
    let text = "ffffffffc0000000 t a1\t[aa]\nffffffffc0000100 t x_last\t[aa]\nffffffffc0000100 t b1\t[bb]\n";
    let all = runs(text, None);
    assert_eq!(all[0], (0xffff_ffff_c000_0000, 0xffff_ffff_c000_0100, true, "aa".to_owned()));
    assert_eq!(all[1].3, "bb");
    read_with(text.as_bytes(), None, |image| {
        assert_eq!(named(&image, "x_last").section, 0);
        assert_eq!(named(&image, "b1").section, 1);
    });
}

#[test]
fn two_modules_at_one_address_stand_together() {
    let text = "c0100000 t a\t[one]\nc0100000 t b\t[two]\n";
    read_with(text.as_bytes(), None, |image| {
        assert_eq!(image.sections.len(), 1);
        assert!(image.symbols.iter().all(|symbol| symbol.section == 0));
        assert_eq!(image.report.skipped["same address in another module"], 1);
    });
}

#[test]
fn per_cpu_offsets_and_absolutes_are_by_name_only() {
    let text = "0000000000000000 D __per_cpu_start\n0000000000001000 d counter\n\
                ffffffff81000000 T f\nffffffff81000010 A value\nffffffff81000020 a other\n";
    read_with(text.as_bytes(), None, |image| {
        for name in ["__per_cpu_start", "counter", "value", "other"] {
            assert_eq!(named(&image, name).kind, Kind::Absolute, "{name}");
        }
        assert_eq!(named(&image, "f").kind, Kind::Function);
        assert_eq!(image.sections.len(), 1);
    });
    // A kernel in the lower half (s390) has no such border.
    assert_eq!(runs("0000000000100000 T f\n", None), [core(0x10_0000, 0x10_1000, true)]);
    // 32 bits: nothing is mapped in the first 64 KiB.
    assert_eq!(
        runs("00001004 t vector\nc0008000 T f\n", None),
        [core(0xc000_8000, 0xc000_9000, true)]
    );
}

#[test]
fn hidden_addresses_are_an_error() {
    let store = Store::new();
    let data = store.keep(fixture("kallsyms-hidden"));
    assert!(is_kallsyms(data));
    let error = read(Path::new("kallsyms"), data, &store, &ReadOptions::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("addresses are all zero (kptr_restrict)"), "{text}");
    assert!(text.contains("root"), "{text}");
}

#[test]
fn modules_are_told_apart_and_named_once() {
    read_with(&fixture("kallsyms"), None, |image| {
        assert_eq!(image.modules, [&b"mod_a"[..], b"mod_b", b"bpf"]);
        let helpers: Vec<_> = image.symbols.iter().filter(|s| s.name == b"helper").collect();
        let modules: Vec<_> =
            helpers.iter().map(|s| image.sections[s.section as usize].module).collect();
        assert_eq!(modules, [None, None, Some(0)]);
        assert_eq!(named(&image, "weak_hook").binding, Binding::Weak);
        assert!(image.machine.is_64);
    });
    read_with(&fixture("kallsyms-32bit"), None, |image| {
        assert!(!image.machine.is_64);
        assert_eq!(run(&image, &image.sections[1]), core(0xffff_1004, 0xffff_2000, true));
    });
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let facts = |text: &[u8]| {
        read_with(text, Some(&fixture("modules")), |image| {
            let mut symbols: Vec<_> = image
                .symbols
                .iter()
                .map(|s| (s.address, s.name.to_vec(), s.section, s.kind, s.binding))
                .collect();
            symbols.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
            let sections: Vec<_> = image.sections.iter().map(|s| run(&image, s)).collect();
            (symbols, sections)
        })
    };
    assert_eq!(facts(&fixture("kallsyms")), facts(&fixture("kallsyms-unsorted")));
}

#[test]
fn broken_lines_are_counted_and_the_first_is_shown() {
    read_with(&fixture("kallsyms-broken"), None, |image| {
        let names: Vec<_> = image.symbols.iter().map(|symbol| symbol.name).collect();
        assert_eq!(names, [&b"good"[..], b"leading", b"crlf", b"noeol"]);
        assert_eq!(image.report.skipped["broken line"], 4);
        assert_eq!(image.report.warnings.len(), 1);
        assert!(image.report.warnings[0].starts_with("kallsyms line 3: expected an address"));
    });
}

#[test]
fn what_is_kallsyms() {
    for name in ["kallsyms", "kallsyms-32bit", "kallsyms-broken", "kallsyms-unsorted"] {
        assert!(is_kallsyms(&fixture(name)), "{name}");
    }
    assert!(is_kallsyms(b"\r\n  ffffffff81000000 T f\r\n"));
    for text in
        ["", "\n\n", "7f1000 20 jitted name\n", "int main() {}\n", "\x7fELF", "00000000 ? x"]
    {
        assert!(!is_kallsyms(text.as_bytes()), "{text}");
    }
}

/// What must hold for any text: sections ascend without overlap, and a symbol is
/// inside of its section or a label at its end.
fn holds(image: &Image<'_>) {
    for pair in image.sections.windows(2) {
        assert!(pair[0].address.checked_add(pair[0].size).unwrap() <= pair[1].address);
    }
    for symbol in &image.symbols {
        let Some(section) = image.sections.get(symbol.section as usize) else {
            assert_eq!((symbol.kind, symbol.section), (Kind::Absolute, NO_SECTION));
            continue;
        };
        let end = section.address + section.size;
        let inside = section.address <= symbol.address && symbol.address < end;
        let at_end = symbol.kind == Kind::Label && symbol.address == end;
        // The very last byte of the address space cannot be part of a section.
        assert!(inside || at_end || symbol.address == u64::MAX, "{symbol:x?} {section:x?}");
    }
}

fn survives(text: &[u8]) {
    let store = Store::new();
    let data = store.keep(text.to_vec());
    let _ = is_kallsyms(data);
    if let Ok(image) = read(Path::new("kallsyms"), data, &store, &ReadOptions::default()) {
        holds(&image);
    }
}

#[test]
fn no_truncation_or_damaged_byte_panics() {
    let text = fixture("kallsyms");
    for end in 0..text.len() {
        survives(&text[..end]);
    }
    let mut text = text;
    for place in 0..text.len() {
        let byte = text[place];
        for value in [0, b'\n', b'\t', b' ', b'f', b'0', b'[', 0xff] {
            text[place] = value;
            survives(&text);
        }
        text[place] = byte;
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn runs_never_overlap(lines in proptest::collection::vec(
        (0_u64..64, 0_usize..9, 0_usize..6, 0_usize..4), 1..80
    )) {
        let mut text = String::new();
        for (place, letter, name, module) in lines {
            let address = 0xffff_ffff_8100_0000_u64 + place * 0x333;
            let letter = ["T", "t", "D", "b", "R", "W", "V", "A", "d"][letter];
            let name = ["f", "_etext", "__pfx_f", "__lock_text_start", "__lock_text_end", "__init_end"][name];
            let module = ["", "", "\t[one]", "\t[two]"][module];
            text.push_str(&format!("{address:x} {letter} {name}{module}\n"));
        }
        let modules = b"one 4096 0 - Live 0xffffffff81000333\n";
        read_with(text.as_bytes(), Some(modules), |image| holds(&image));
    }
}
