//! One test for each rule about addresses, mostly in the shape of a real file
//! that some tool reads wrong.

use super::super::Extent;
use super::*;

/// Sizes that are not there: assembler code, labels, a section's end marker.
#[test]
fn size_zero_reaches_to_the_next_owner_or_the_sections_end() {
    let mut image =
        image(vec![section(".text", 0x401000, 0x68), section(".text2", 0x401068, 0x10)]);
    let symbols = [
        func("_start", 0x401000, 0x10),
        func("asm_func", 0x401010, 0),
        label("asm_label", 0x401030),
        func("sized", 0x401040, 0x20),
        label("mid_label", 0x401050),
        func("tail_func", 0x401060, 0),
        label("__text_end", 0x401068),
        in_section(1, func("next_sec", 0x401068, 0)),
    ];
    let n = run(&mut image, &symbols);
    for (address, expected) in [
        (0x400fff, "-"),
        (0x40100f, "_start+0xf"),
        (0x40102f, "asm_func+0x1f"),
        (0x401030, "asm_label+0x0"),
        (0x40103f, "asm_label+0xf"),
        (0x401058, "sized+0x18"),
        (0x401067, "tail_func+0x7"),
        (0x401068, "next_sec+0x0"),
        (0x401077, "next_sec+0xf"),
        (0x401078, "-"),
    ] {
        assert_eq!(at(&n, address), expected, "{address:#x}");
    }
    assert_eq!(names_only(&n), ["mid_label", "__text_end"]);
    assert!(aliases(&n, 0x401068).is_empty());
    assert_eq!(owner_at(&n, None, 0x401060).unwrap().extent, Extent::Inferred);
    assert_eq!(n.spaces.len(), 1, "two neighbouring code sections are searched together");
}

#[test]
fn aliases_are_listed_in_table_order_behind_the_primary() {
    let mut image = image(vec![section(".text", 0x1000, 0x100)]);
    let local = |s: Symbol<'static>| Symbol { binding: Binding::Local, ..s };
    let weak = |s: Symbol<'static>| Symbol { binding: Binding::Weak, ..s };
    let n = run(
        &mut image,
        &[
            local(func("__GI_strdup", 0x1010, 0x10)),
            weak(func("strdup", 0x1010, 0x10)),
            func("__strdup", 0x1010, 0x10),
            label("label_alias", 0x1020),
            local(func("real_fn", 0x1020, 8)),
        ],
    );
    assert_eq!(at(&n, 0x1014), "__strdup+0x4");
    assert_eq!(aliases(&n, 0x1014), ["__GI_strdup", "strdup"]);
    assert!(!n.owners[0].folded);
    assert_eq!(at(&n, 0x1022), "real_fn+0x2");
    assert_eq!(aliases(&n, 0x1022), ["label_alias"]);
}

#[test]
fn innermost_wins_and_the_enclosing_symbol_comes_back() {
    let mut image = image(vec![section(".text", 0x1000, 0x1000)]);
    let names: Vec<String> = (0..300).map(|i| format!("f{i}")).collect();
    let mut symbols = vec![
        func("outer", 0x1000, 0x60),
        func("inner1", 0x1010, 0x10),
        func("inner2", 0x1030, 0x20),
        func("innermost", 0x1038, 8),
        func("same_big", 0x1060, 0x20),
        func("same_small", 0x1060, 0x10),
        label("same_label", 0x1060),
        func("blob", 0x1100, 0xf00),
        func("left", 0x1090, 0x10),
        func("right", 0x1098, 0x10),
    ];
    symbols.extend(names.iter().zip(0..).map(|(name, i)| func(name, 0x1108 + i * 8, 4)));
    let n = run(&mut image, &symbols);
    for (address, expected) in [
        (0x1000, "outer+0x0"),
        (0x101f, "inner1+0xf"),
        (0x1020, "outer+0x20"),
        (0x1038, "innermost+0x0"),
        (0x1040, "inner2+0x10"),
        (0x1050, "outer+0x50"),
        (0x1060, "same_small+0x0"),
        (0x106f, "same_small+0xf"),
        (0x1070, "same_big+0x10"),
        (0x1080, "-"),
        (0x1097, "left+0x7"),
        (0x109f, "right+0x7"),
        (0x10a7, "right+0xf"),
        (0x10a8, "-"),
        (0x1108 + 299 * 8 + 2, "f299+0x2"),
        (0x1108 + 299 * 8 + 5, "blob+0x965"),
    ] {
        assert_eq!(at(&n, address), expected, "{address:#x}");
    }
    assert_eq!(aliases(&n, 0x1060), ["same_label", "same_big"]);
    assert!(aliases(&n, 0x1070).is_empty());
}

/// Every function of a `-ffunction-sections` object is at offset 0.
#[test]
fn relocatable_files_are_keyed_by_section() {
    let mut image = image(vec![
        section(".text.one", 0, 0x20),
        section(".data", 0, 0),
        section(".init.text", 0, 0x10),
    ]);
    image.addresses = AddressKind::SectionOffset;
    let n = run(
        &mut image,
        &[
            in_section(2, func("mod_init", 0, 0)),
            func("one", 0, 0x10),
            func("two", 0x10, 0x40),
            label("one_end", 0x20),
            func("beyond", 0x21, 4),
            in_section(9, func("nowhere", 0, 4)),
        ],
    );
    assert_eq!(at_offset(&n, 0, 0), "one+0x0");
    assert_eq!(at_offset(&n, 0, 0x1f), "two+0xf");
    assert_eq!(at_offset(&n, 2, 0xf), "mod_init+0xf");
    assert_eq!(at_offset(&n, 1, 0), "-");
    assert_eq!(names_only(&n), ["nowhere", "one_end", "beyond"]);
    assert_eq!(image.report.skipped["address in no section"], 2);
}

/// GNU ld puts cold parts below the hot ones; they are flagged, not renamed.
#[test]
fn cold_parts_keep_their_names_and_are_flagged() {
    let mut image = image(vec![section(".text", 0x1000, 0x100)]);
    let n = run(&mut image, &[func("work.cold", 0x1000, 5), func("work", 0x1040, 9)]);
    assert_eq!(at(&n, 0x1001), "work.cold+0x1");
    assert_eq!(n.owners.iter().map(|o| o.part).collect::<Vec<_>>(), [true, false]);
}

/// `foo` used to reach over the stripped function behind it.
#[test]
fn mach_o_function_starts_end_the_function_before() {
    let mut image = image(vec![section(".text", 0x10f00, 0x40), section(".data", 0x11000, 0x10)]);
    image.format = Format::MachO;
    image.function_starts = vec![0x10f38, 0x10f00, 0x10f18, 0x10f20, 0x10f18, 0x11004, 0x20000];
    let n = run(
        &mut image,
        &[
            func("foo", 0x10f00, 0),
            func("method", 0x10f20, 0),
            func("dunder", 0x10f30, 0),
            func("alt_entry", 0x10f3c, 0),
            in_section(1, object("counter", 0x11000, 0)),
            func("_mh_execute_header", 0x10000, 0),
        ],
    );
    for (address, expected) in [
        (0x10000, "-"),
        (0x10f17, "foo+0x17"),
        (0x10f18, "?+0x0"),
        (0x10f1f, "?+0x7"),
        (0x10f20, "method+0x0"),
        (0x10f37, "dunder+0x7"),
        (0x10f38, "?+0x0"),
        (0x10f3c, "alt_entry+0x0"),
        (0x10f40, "-"),
        (0x11008, "counter+0x8"),
    ] {
        assert_eq!(at(&n, address), expected, "{address:#x}");
    }
    assert_eq!(names_only(&n), ["_mh_execute_header"]);
}

#[test]
fn a_function_start_inside_a_sized_symbol_or_a_hole_is_none() {
    let mut image = image(vec![section(".text", 0x1000, 0x40)]);
    image.function_starts = vec![0x1008, 0x1010, 0x1020];
    image.holes = vec![(0x1020, 8)];
    let n = run(&mut image, &[func("sized", 0x1000, 0x10)]);
    assert_eq!(at(&n, 0x1008), "sized+0x8");
    assert_eq!(at(&n, 0x101f), "?+0xf");
    assert_eq!(at(&n, 0x1020), "-");
    assert_eq!(at(&n, 0x1028), "-");
}

/// `_init` (size 0) in front of the PLT was blamed for every stub.
#[test]
fn plt_stubs_and_the_hole_before_them() {
    let mut image = image(vec![section(".init", 0x1000, 0x1b), section(".plt", 0x1020, 0x40)]);
    image.holes = vec![(0x1020, 0x10)];
    let stub =
        |name, address| in_section(1, Symbol { source: Source::Plt, ..func(name, address, 0x10) });
    let n = run(
        &mut image,
        &[
            func("_init", 0x1000, 0),
            stub("one@plt", 0x1030),
            stub("two@plt", 0x1040),
            in_section(1, label("plt0", 0x1024)),
            in_section(1, func("real", 0x1040, 0)),
        ],
    );
    assert_eq!(at(&n, 0x101a), "_init+0x1a");
    assert_eq!(at(&n, 0x101b), "-");
    assert_eq!(at(&n, 0x1020), "-");
    assert_eq!(at(&n, 0x103f), "one@plt+0xf");
    assert_eq!(at(&n, 0x104f), "real+0xf");
    assert_eq!(at(&n, 0x1050), "-");
    assert_eq!(aliases(&n, 0x1040), ["two@plt"]);
    assert_eq!(owner_at(&n, None, 0x1040).unwrap().extent, Extent::Synthesized);
    assert_eq!(names_only(&n), ["plt0"]);
}

#[test]
fn a_real_size_beats_the_size_of_a_stub() {
    let mut image = image(vec![section(".plt", 0x1000, 0x40)]);
    let stub = Symbol { source: Source::Plt, ..func("f@plt", 0x1000, 0x10) };
    let n = run(&mut image, &[stub, func("f", 0x1000, 6), label("after", 0x1008)]);
    assert_eq!(at(&n, 0x1005), "f+0x5");
    assert_eq!(at(&n, 0x1006), "-");
    assert_eq!(at(&n, 0x1008), "after+0x0");
    assert_eq!(n.owners[0].extent, Extent::Exact);
}

/// BOLT: 30,638 functions of one library claim `.init` and lie elsewhere.
#[test]
fn a_stale_section_claim_gives_way_to_the_address() {
    let mut image = image(vec![section(".init", 0x1000, 0x10), section(".text", 0x2000, 0x100)]);
    let n = run(
        &mut image,
        &[func("moved", 0x2010, 0x10), func("unsized", 0x2040, 0), func("lost", 0x9000, 4)],
    );
    assert_eq!(at(&n, 0x201f), "moved+0xf");
    assert_eq!(at(&n, 0x20ff), "unsized+0xbf");
    assert_eq!(n.owners[0].section, 1);
    assert_eq!(names_only(&n), ["lost"]);
    assert_eq!(image.report.skipped["address in no section"], 1);
}

/// libLLVM's `_edata` and `__bss_start` claim `.tbss` and lie in `.bss`: they
/// answered nothing until a claim on a thread-local section could be stale too.
#[test]
fn a_stale_claim_on_a_thread_local_section_gives_way_too() {
    let mut image = image(vec![section(".tbss", 0x1000, 0x18), section(".bss", 0x2000, 0x100)]);
    let n = run(&mut image, &[label("__bss_start", 0x2000), label("in_template", 0x1008)]);
    assert_eq!(at(&n, 0x2010), "__bss_start+0x10");
    assert_eq!(names_only(&n), ["in_template"]);
}

#[test]
fn a_sized_function_at_the_end_of_its_claimed_section_moves_on() {
    let mut image = image(vec![section(".init", 0x1000, 0x10), section(".text", 0x1010, 0x10)]);
    let n = run(&mut image, &[func("moved", 0x1010, 4), label("init_end", 0x1010)]);
    assert_eq!(at(&n, 0x1013), "moved+0x3");
    assert!(aliases(&n, 0x1010).is_empty());
    assert_eq!(names_only(&n), ["init_end"]);
}

/// `.tbss` overlaps what follows it in memory and holds no addresses.
#[test]
fn thread_local_and_absolute_names_are_no_addresses() {
    let mut image = image(vec![section(".tbss", 0x1000, 0x100), section(".init", 0x1000, 0x40)]);
    let kind = |kind, s: Symbol<'static>| Symbol { kind, ..s };
    let n = run(
        &mut image,
        &[
            kind(Kind::Tls, func("errno", 0x10, 4)),
            kind(Kind::Absolute, func("abs", 0x1008, 4)),
            label("tbss_label", 0x1000),
            in_section(1, func("_init", 0x1000, 0)),
        ],
    );
    assert_eq!(at(&n, 0x103f), "_init+0x3f");
    assert_eq!(at(&n, 0x1040), "-");
    assert!(aliases(&n, 0x1008).is_empty());
    assert_eq!(names_only(&n), ["errno", "tbss_label", "abs"]);
    assert!(image.report.skipped.is_empty());
}

#[test]
fn sizes_are_clamped_to_their_section_and_hide_nobody() {
    let mut image = image(vec![section(".text", 0x1000, 0x40), section(".text2", 0x1040, 0x40)]);
    let n = run(
        &mut image,
        &[
            func("past", 0x1000, 0x1000),
            func("wraps", 0x1020, u64::MAX),
            in_section(1, func("next", 0x1050, 8)),
        ],
    );
    assert_eq!(at(&n, 0x101f), "past+0x1f");
    assert_eq!(at(&n, 0x103f), "wraps+0x1f");
    assert_eq!(at(&n, 0x1040), "-");
    assert_eq!(at(&n, 0x1050), "next+0x0");
    assert_eq!(n.names[0].size, 0x1000, "the stated size is kept");
}

#[test]
fn overlapping_sections_belong_to_the_first() {
    let mut image = image(vec![section(".data", 0x1010, 0x20), section(".text", 0x1000, 0x20)]);
    let n = run(&mut image, &[object("data", 0x1018, 0x10), object("tail", 0x1020, 0x10)]);
    assert_eq!(at(&n, 0x101f), "data+0x7");
    assert_eq!(at(&n, 0x1020), "tail+0x0");
    assert_eq!(n.owners.iter().map(|o| o.section).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(image.report.warnings.len(), 1);
}

#[test]
fn spaces_split_at_another_class_and_another_module() {
    let mut a = section(".text", 0x5000, 0x10);
    a.module = Some(0);
    let mut b = section(".text", 0x5010, 0x10);
    b.module = Some(1);
    let mut image = image(vec![
        section(".text", 0x1000, 0x10),
        section(".text1", 0x1010, 0x10),
        section(".data", 0x2000, 0x10),
        section(".text2", 0x3000, 0x10),
        section(".text3", 0x4000, 0x10),
        a,
        b,
    ]);
    let symbols: Vec<_> = [0x1000, 0x1018, 0x3000, 0x5000, 0x5018]
        .map(|address| Symbol { section: 99, ..func("f", address, 0) })
        .to_vec();
    let n = run(&mut image, &symbols);
    let spaces: Vec<_> = n.spaces.iter().map(|s| (s.start, s.size, s.module)).collect();
    assert_eq!(
        spaces,
        [
            (0x1000, 0x20, None),
            (0x3000, 0x10, None),
            (0x5000, 0x10, Some(0)),
            (0x5010, 0x10, Some(1)),
        ]
    );
    assert_eq!(at(&n, 0x500f), "f+0xf", "never into the next module");
}

/// Tables in the text section end the code before them in either mode.
#[test]
fn code_only_drops_data_and_keeps_its_borders() {
    let symbols = [
        func("asm", 0x1000, 0),
        object("table", 0x1010, 0x10),
        label("in_table", 0x1018),
        func("f", 0x1030, 0x10),
        object("pool", 0x1038, 4),
        label("code_label", 0x1048),
        in_section(1, object("data", 0x2000, 4)),
        in_section(1, label("data_label", 0x2008)),
        in_section(1, func("descriptor", 0x2010, 8)),
        Symbol { kind: Kind::Tls, ..func("tls", 0, 4) },
        Symbol { kind: Kind::Absolute, ..func("abs", 0, 4) },
    ];
    let mut image = image(vec![section(".text", 0x1000, 0x50), section(".data", 0x2000, 0x20)]);
    image.symbols = symbols.to_vec();
    let n = normalise(&mut image, NormaliseOptions { code_only: true });
    check(&image, &n);
    assert_eq!(at(&n, 0x100f), "asm+0xf");
    assert_eq!(at(&n, 0x1010), "-");
    assert_eq!(at(&n, 0x1018), "-");
    assert_eq!(at(&n, 0x1038), "f+0x8");
    assert_eq!(at(&n, 0x1048), "code_label+0x0");
    assert_eq!(at(&n, 0x2000), "-");
    assert_eq!(at(&n, 0x2010), "descriptor+0x0");
    assert_eq!(names_only(&n), ["in_table"]);
    let skipped: Vec<_> = image.report.skipped.into_iter().collect();
    assert_eq!(
        skipped,
        [
            ("absolute (--code-only)", 1),
            ("data label (--code-only)", 1),
            ("data object (--code-only)", 3),
            ("thread-local (--code-only)", 1),
        ]
    );
}

/// kallsyms: no sizes, one run of addresses for each module, end markers.
#[test]
fn kernel_symbols_end_with_their_module() {
    let mut module = section("", 0xffff_ffff_c010_0000, 0x5000);
    module.execute = true;
    module.module = Some(0);
    let mut image = image(vec![section(".text", 0xffff_ffff_8100_0000, 0x20_0000), module]);
    image.format = Format::Kallsyms;
    image.modules = vec![b"mod_a"];
    let n = run(
        &mut image,
        &[
            func("_text", 0xffff_ffff_8100_0000, 0),
            func("startup_64", 0xffff_ffff_8100_0000, 0),
            func("_stext", 0xffff_ffff_8100_0000, 0),
            func("__pfx_do_one", 0xffff_ffff_8100_1000, 0),
            func("do_one", 0xffff_ffff_8100_1010, 0),
            func("_etext", 0xffff_ffff_8120_0000, 0),
            in_section(1, func("mod_a_last", 0xffff_ffff_c010_00c0, 0)),
        ],
    );
    assert_eq!(at(&n, 0xffff_ffff_8100_0010), "startup_64+0x10");
    assert_eq!(aliases(&n, 0xffff_ffff_8100_0010), ["_text", "_stext"]);
    assert_eq!(at(&n, 0xffff_ffff_8100_1008), "__pfx_do_one+0x8");
    assert_eq!(at(&n, 0xffff_ffff_8120_0000), "-");
    assert_eq!(at(&n, 0xffff_ffff_c010_00d0), "mod_a_last+0x10");
    assert_eq!(at(&n, 0xffff_ffff_c010_5000), "-");
    assert_eq!(n.spaces.len(), 2);
}
