//! Hand-made files: what each field of each table means.

use super::builder::{ALL, ALLOC, BE64, Builder, CODE, LE32, LE64, Layout, Sec, Sym, TLS};
use super::{names, read, symbol};
use crate::model::{AddressKind, Binding, Kind, NO_SECTION, Source, Store};

fn sym(info: u8, section: u64, value: u64, size: u64) -> Sym {
    Sym { info, section, value, size, ..Sym::default() }
}

#[test]
fn which_symbols_are_definitions() {
    for layout in ALL {
        let mut b = Builder::new(layout);
        let text = b.text();
        let tls = b.section(Sec {
            name: ".tbss",
            kind: 8,
            flags: TLS,
            address: 0x1100,
            size: Some(0x40),
            ..Sec::default()
        });
        let comment = b.section(Sec { name: ".comment", kind: 1, ..Sec::default() });
        b.symbols(&[
            ("local_function", sym(0x02, text, 0x1000, 4)),
            ("global_ifunc", sym(0x1a, text, 0x1010, 4)),
            ("weak_object", sym(0x21, text, 0x1020, 4)),
            ("unique_object", sym(0xa1, text, 0x1028, 4)),
            ("label", sym(0x10, text, 0x1030, 0)),
            ("thread_local", sym(0x16, tls, 0x8, 4)),
            ("absolute", sym(0x10, 0xfff1, 0x7777, 0)),
            ("placed_common", sym(0x15, text, 0x1038, 0)),
            ("stale", sym(0x12, 99, 0x1040, 1)),
            ("undefined", sym(0x12, 0, 0x1050, 0)),
            ("common", sym(0x11, 0xfff2, 8, 4)),
            ("file.c", sym(0x04, 0xfff1, 0, 0)),
            ("", sym(0x03, text, 0x1000, 0)),
            ("not_allocated", sym(0x11, comment, 0, 0)),
            ("", sym(0x12, text, 0x1060, 0)),
            ("odd_type", sym(0x1b, text, 0x1060, 0)),
            ("odd_section", sym(0x12, 0xff20, 0x1060, 0)),
        ]);
        let data = b.build();
        let store = Store::new();
        let image = read(&data, &store).unwrap();
        assert_eq!(image.addresses, AddressKind::Svma);
        assert_eq!(
            (image.machine.is_64, image.machine.big_endian),
            (layout.is_64, layout.big),
            "{layout:?}"
        );
        let kept: Vec<_> = image
            .symbols
            .iter()
            .map(|s| {
                (std::str::from_utf8(s.name).unwrap(), s.kind, s.binding, s.address, s.section)
            })
            .collect();
        assert_eq!(
            kept,
            [
                ("local_function", Kind::Function, Binding::Local, 0x1000, 0),
                ("global_ifunc", Kind::Ifunc, Binding::Global, 0x1010, 0),
                ("weak_object", Kind::Object, Binding::Weak, 0x1020, 0),
                ("unique_object", Kind::Object, Binding::Global, 0x1028, 0),
                ("label", Kind::Label, Binding::Global, 0x1030, 0),
                ("thread_local", Kind::Tls, Binding::Global, 0x8, 1),
                ("absolute", Kind::Absolute, Binding::Global, 0x7777, NO_SECTION),
                ("placed_common", Kind::Object, Binding::Global, 0x1038, 0),
                ("stale", Kind::Function, Binding::Global, 0x1040, NO_SECTION),
            ],
            "{layout:?}"
        );
        assert_eq!(image.symbols[8].order, 9);
        let skipped: Vec<_> = image.report.skipped.iter().map(|(&r, &n)| (r, n)).collect();
        assert_eq!(
            skipped,
            [
                ("common symbol", 1),
                ("file symbol", 1),
                ("in a reserved section number", 1),
                ("in a section that is not in memory", 1),
                ("no name", 1),
                ("section symbol", 1),
                ("symbol of an unknown type", 1),
                ("undefined", 1),
            ]
        );
        assert_eq!(image.report.warnings, [""; 0]);
        let sections: Vec<_> =
            image.sections.iter().map(|s| (s.name, s.number, s.execute, s.tls)).collect();
        assert_eq!(sections, [(&b".text"[..], 1, true, false), (&b".tbss"[..], 2, false, true)]);
    }
}

#[test]
fn thumb_bit_is_cleared_for_functions_only() {
    let mut b = Builder::new(LE32);
    b.machine = 40;
    let text = b.text();
    b.symbols(&[
        ("thumb", sym(0x12, text, 0x1001, 4)),
        ("object", sym(0x11, text, 0x1011, 4)),
        ("$t", sym(0x00, text, 0x1000, 0)),
        ("$d.1", sym(0x00, text, 0x1010, 0)),
        ("$t", sym(0x02, text, 0x1021, 0)),
    ]);
    let data = b.build();
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    let kept: Vec<_> = image.symbols.iter().map(|s| (s.name, s.address)).collect();
    // The last is a function that only looks like a mapping symbol.
    assert_eq!(kept, [(&b"thumb"[..], 0x1000), (b"object", 0x1011), (b"$t", 0x1020)]);
    assert_eq!(image.report.skipped["mapping symbol"], 2);
}

#[test]
fn extended_section_numbering() {
    for layout in ALL {
        let mut b = Builder::new(layout);
        b.extended = true;
        let text = b.text();
        let table = b.symbols(&[("far", sym(0x12, 0xffff, 0x1010, 4))]);
        b.section(Sec {
            name: ".symtab_shndx",
            kind: 18,
            data: [layout.u32(0), layout.u32(text)].concat(),
            link: table,
            ..Sec::default()
        });
        let data = b.build();
        let store = Store::new();
        let image = read(&data, &store).unwrap();
        assert_eq!(symbol(&image, "far").section, 0);
        assert_eq!(image.sections[0].name, b".text");
        assert_eq!(image.report.warnings, [""; 0]);
    }
}

/// A function symbol of 64-bit PowerPC (ELF version 1) names a descriptor; a
/// tool that takes its value for code finds data.
#[test]
fn function_descriptors_lead_to_code() {
    let build = |opd_kind, kind, flags| {
        let mut b = Builder::new(BE64);
        (b.machine, b.kind, b.flags) = (21, kind, flags);
        b.text();
        let opd = b.section(Sec {
            name: ".opd",
            kind: opd_kind,
            flags: ALLOC,
            address: 0x2000,
            data: [BE64.word(0x1010), BE64.word(0), BE64.word(0)].concat(),
            ..Sec::default()
        });
        b.symbols(&[("f", sym(0x12, opd, if kind == 1 { 0 } else { 0x2000 }, 0x20))]);
        b.build()
    };
    let place = |data: &[u8]| {
        let store = Store::new();
        let image = read(data, &store).unwrap();
        let f = symbol(&image, "f");
        let kept_as_data = image.report.skipped.contains_key("function descriptor kept as data");
        assert_eq!(kept_as_data, f.kind == Kind::Object);
        (f.kind, f.address, f.section)
    };
    assert_eq!(place(&build(1, 3, 1)), (Kind::Function, 0x1010, NO_SECTION));
    // ELF version 2 has no descriptors, whatever the section is called.
    assert_eq!(place(&build(1, 3, 2)), (Kind::Function, 0x2000, 1));
    // Without its bytes, or with them still in a relocation, it is only data.
    assert_eq!(place(&build(8, 3, 1)), (Kind::Object, 0x2000, 1));
    assert_eq!(place(&build(1, 1, 1)), (Kind::Object, 0, 1));
}

#[test]
fn relocatable_files_are_keyed_by_section() {
    let mut b = Builder::new(LE64);
    b.kind = 1;
    // Some tools leave addresses in relocatable sections; they mean nothing.
    let text = b.text();
    b.symbols(&[("f", sym(0x12, text, 4, 4)), ("lost", sym(0x12, 77, 4, 4))]);
    let data = b.build();
    let store = Store::new();
    let image = read(&data, &store).unwrap();
    assert_eq!(image.addresses, AddressKind::SectionOffset);
    assert_eq!((image.sections[0].address, image.sections[0].size), (0, 0x100));
    assert_eq!(names(&image, Source::Symtab), ["f"]);
    assert_eq!(image.report.skipped["in an unknown section of a relocatable file"], 1);
}

#[test]
fn kernel_files_have_their_own_noise() {
    let build = |kernel: bool| {
        let mut b = Builder::new(LE64);
        let text = b.text();
        let percpu = b.section(Sec {
            name: ".data..percpu",
            kind: 1,
            flags: ALLOC,
            data: vec![0; 64],
            ..Sec::default()
        });
        if kernel {
            b.section(Sec { name: "__ksymtab", kind: 1, flags: ALLOC, ..Sec::default() });
        }
        b.symbols(&[
            (".Llabel", sym(0x00, text, 0x1000, 0)),
            ("__pfx_f", sym(0x02, text, 0x1010, 0)),
            ("cpu_number", sym(0x11, percpu, 0x10, 4)),
        ]);
        b.build()
    };
    let store = Store::new();
    let (kernel, other) = (build(true), build(false));
    let image = read(&kernel, &store).unwrap();
    assert_eq!(names(&image, Source::Symtab), ["__pfx_f", "cpu_number"]);
    assert_eq!(symbol(&image, "cpu_number").kind, Kind::Absolute);
    assert!(image.sections[1].tls);
    let image = read(&other, &store).unwrap();
    assert_eq!(names(&image, Source::Symtab).len(), 3);
    assert_eq!(symbol(&image, "cpu_number").kind, Kind::Object);
}

#[test]
fn build_id_of_any_length_in_section_or_segment() {
    let note = |layout: Layout, id: &[u8]| {
        // First a note of another owner, with a name that needs padding.
        let mut data = [layout.u32(2), layout.u32(3), layout.u32(3)].concat();
        data.extend(b"X\0\0\0\x01\x02\x03\0");
        data.extend([layout.u32(4), layout.u32(id.len() as u64), layout.u32(3)].concat());
        data.extend(b"GNU\0");
        data.extend(id);
        data.resize(data.len().next_multiple_of(4), 0);
        data
    };
    let long: Vec<u8> = (0..80).collect();
    for layout in ALL {
        for id in [&[1u8][..], &[1, 2, 3, 4, 5], &[9; 20], &long] {
            let mut b = Builder::new(layout);
            b.text();
            b.section(Sec { kind: 7, flags: ALLOC, data: note(layout, id), ..Sec::default() });
            let data = b.build();
            let store = Store::new();
            let image = read(&data, &store).unwrap();
            assert_eq!(image.build_id.as_deref(), Some(&id[..id.len().min(64)]));
            assert_eq!(image.report.warnings.len(), usize::from(id.len() > 64));
            // The same bytes by a segment instead.
            let at = data.windows(4).position(|w| w == b"X\0\0\0").unwrap() as u64 - 12;
            b.sections[1].kind = 1;
            let programs = if layout.is_64 { 56 } else { 32 };
            b.programs.push([4, 4, at + programs, 0, b.sections[1].data.len() as u64, 0]);
            let data = b.build();
            let store = Store::new();
            let image = read(&data, &store).unwrap();
            assert_eq!(image.build_id.as_deref(), Some(&id[..id.len().min(64)]), "{layout:?}");
        }
    }
}

#[test]
fn ranges_that_wrap_are_clamped() {
    for layout in ALL {
        let top: u64 = if layout.is_64 { u64::MAX } else { u64::from(u32::MAX) };
        let mut b = Builder::new(layout);
        b.section(Sec {
            name: ".text",
            kind: 8,
            flags: CODE,
            address: top - 0xff,
            size: Some(top),
            ..Sec::default()
        });
        b.programs.push([1, 5, 0, top - 0xff, top, top]);
        let data = b.build();
        let store = Store::new();
        let image = read(&data, &store).unwrap();
        let section = &image.sections[0];
        assert!(section.address.checked_add(section.size).is_some());
        assert!(section.size >= 0xff);
        assert_eq!(image.report.warnings.len(), 1, "{:?}", image.report.warnings);
    }
}

#[test]
fn segments_stand_in_for_missing_sections() {
    for layout in ALL {
        let mut b = Builder::new(layout);
        b.programs.push([1, 5, 0, 0x1000, 0x80, 0x100]);
        b.programs.push([1, 6, 0x80, 0x3000, 0x10, 0x40]);
        let mut data = b.build();
        let table = if layout.is_64 { 40..48 } else { 32..36 };
        data[table].fill(0);
        let store = Store::new();
        let image = read(&data, &store).unwrap();
        let sections: Vec<_> =
            image.sections.iter().map(|s| (s.address, s.size, s.execute, s.write)).collect();
        assert_eq!(sections, [(0x1000, 0x100, true, false), (0x3000, 0x40, false, true)]);
        assert_eq!(image.segments[1].file_offset, 0x80);
        assert_eq!((image.segments[1].read, image.segments[1].write), (true, true));
    }
}
