//! One test for each rule about names and tables.

use super::super::rules::*;
use super::*;

#[test]
fn split_version_takes_the_default_mark() {
    assert_eq!(split_version(b"f@@V_1.2"), Some((&b"f"[..], &b"V_1.2"[..], true)));
    assert_eq!(split_version(b"f@V1"), Some((&b"f"[..], &b"V1"[..], false)));
    for whole in
        ["f", "", "@V", "@@V", "f@", "f@@", "f@@@V", "f@V@W", "f@plt", "?f@@YAXXZ", "a@b c"]
    {
        assert_eq!(split_version(whole.as_bytes()), None, "{whole}");
    }
}

#[test]
fn base_name_strips_compiler_suffixes_only() {
    for (name, base, part) in [
        ("work.cold", "work", true),
        ("work.cold.3", "work", true),
        ("work.part.0", "work", true),
        ("cloned.constprop.0.isra.0", "cloned", true),
        ("f.llvm.1234567", "f", true),
        ("f.__uniq.12.llvm.3", "f", true),
        ("f.localalias", "f", false),
        ("f.lto_priv.0", "f", false),
        ("counter.0", "counter.0", false),
        ("main.main", "main.main", false),
        ("a.colder", "a.colder", false),
        (".cold", ".cold", false),
        (".part.0", ".part.0", false),
        ("x.cold.y", "x.cold.y", false),
        ("", "", false),
        (".", ".", false),
        ("5.5", "5.5", false),
    ] {
        assert_eq!(text(base_name(name.as_bytes())), base);
        assert_eq!(is_part(name.as_bytes()), part, "{name}");
    }
}

/// Each pair differs in one rank of the order, and everything after it
/// speaks for the loser.
#[test]
fn compare_primary_ranks_in_the_documented_order() {
    let weak = |s: Symbol<'static>| Symbol { binding: Binding::Weak, ..s };
    let local = |s: Symbol<'static>| Symbol { binding: Binding::Local, ..s };
    let plt = |s: Symbol<'static>| Symbol { source: Source::Plt, ..s };
    let version = |s: Symbol<'static>, default_version| Symbol { version: 0, default_version, ..s };
    for (better, worse) in [
        (local(label("__zz", 0)), func("__pfx_a", 0, 9)),
        (label("__zz", 0), plt(func("a", 0, 9))),
        (local(func("__zz", 0, 0)), object("a", 0, 9)),
        (Symbol { kind: Kind::Ifunc, ..local(func("__zz", 0, 0)) }, object("a", 0, 9)),
        (local(object("__zz", 0, 0)), Symbol { binding: Binding::Global, ..label("a", 0) }),
        (local(func("__zz", 0, 9)), func("a", 0, 0)),
        (func("__zz", 0, 9), weak(func("a", 0, 9))),
        (weak(func("__zz", 0, 9)), local(func("a", 0, 9))),
        (version(func("_zz", 0, 9), false), version(func("__a", 0, 9), true)),
        (version(func("zz", 0, 9), true), func("a", 0, 9)),
        (func("zz", 0, 9), version(func("a", 0, 9), false)),
        (func("z", 0, 9), func("aa", 0, 9)),
        (func("aa", 0, 9), func("ab", 0, 9)),
        (func("a", 0, 9), Symbol { source: Source::Dynsym, ..func("a", 0, 9) }),
        (func("a", 0, 9), Symbol { order: 1, ..func("a", 0, 9) }),
    ] {
        assert!(compare_primary(&better, &worse).is_lt(), "{better:?} {worse:?}");
        assert!(compare_primary(&worse, &better).is_gt());
    }
}

#[test]
fn same_function_knows_spellings_and_constructor_variants() {
    for (a, b, same) in [
        ("strdup", "__strdup", true),
        ("__GI_strdup", "strdup", true),
        ("__GI___strdup", "_strdup", true),
        ("f.localalias", "f", true),
        ("_ZN1AC1Ev", "_ZN1AC2Ev", true),
        ("_ZN1AD0Ev", "_ZN1AD2Ev", true),
        ("_ZN1AC1Ev", "_ZN1BC1Ev", false),
        ("_ZN1a1fEv", "_ZN1a2fEv", false),
        ("get_x", "get_y", false),
        ("C1", "C2", false),
    ] {
        assert_eq!(same_function(a.as_bytes(), b.as_bytes()), same, "{a} {b}");
    }
}

#[test]
fn is_folded_wants_two_sized_functions_of_one_strength() {
    let weak = |s: Symbol<'static>| Symbol { binding: Binding::Weak, ..s };
    let (a, b) = (func("get_x", 0, 9), func("get_y", 0, 9));
    assert!(is_folded(&[a, b]));
    assert!(is_folded(&[weak(a), weak(b)]));
    assert!(is_folded(&[a, Symbol { binding: Binding::Local, ..b }]));
    assert!(!is_folded(&[a]));
    assert!(!is_folded(&[a, weak(b)]));
    assert!(!is_folded(&[a, func("get_y", 0, 0)]));
    assert!(!is_folded(&[a, object("get_y", 0, 9)]));
    assert!(!is_folded(&[a, Symbol { source: Source::Plt, ..b }]));
    assert!(!is_folded(&[func("f", 0, 9), func("__f", 0, 9)]));
    assert!(!is_folded(&[func("malloc", 0, 9), func("__libc_malloc", 0, 9)]));
}

#[test]
fn tables_that_repeat_a_symbol_give_one_name() {
    let dynsym = |s: Symbol<'static>| Symbol { source: Source::Dynsym, ..s };
    let mut image = image(vec![section(".text", 0x1000, 0x100)]);
    image.versions = vec![b"V9", b"V2", b"V2"];
    let two = dynsym(Symbol { version: 2, default_version: true, ..func("f", 0x1000, 32) });
    let weak = Symbol { binding: Binding::Weak, ..func("f", 0x1000, 0) };
    let debug = Symbol { source: Source::DebugData, ..func("f", 0x1000, 32) };
    let other = dynsym(Symbol { version: 1, ..func("g", 0x1040, 8) });
    let n = run(&mut image, &[weak, two, debug, other, func("g@V2", 0x1040, 4)]);
    assert_eq!(n.versions, [&b"V2"[..], b"V9"]);
    assert_eq!(n.names.len(), 2);
    // symtab's binding, the size and the version that only .dynsym knows.
    let f = n.names[0];
    assert_eq!((f.source, f.binding, f.size), (Source::Symtab, Binding::Weak, 32));
    assert_eq!((n.version(&f), f.default_version), (&b"V2"[..], true));
    assert_eq!((n.names[1].size, n.version(&n.names[1])), (4, &b"V2"[..]));
    assert!(image.report.skipped.is_empty());
}

#[test]
fn versions_of_one_name_at_one_address_stay_apart() {
    let mut image = image(vec![section(".text", 0x1000, 0x100)]);
    let plain = Symbol { source: Source::Dynsym, ..func("f", 0x1000, 8) };
    let n = run(&mut image, &[func("f@V1", 0x1000, 8), func("f@@V2", 0x1000, 8), plain]);
    let owner = &n.owners[0];
    assert_eq!(n.version(n.primary(owner).unwrap()), b"V2");
    assert_eq!(n.own_aliases(owner).len(), 1);
    assert_eq!(n.version(&n.own_aliases(owner)[0]), b"V1");
    assert!(!owner.folded);
}

/// Two static functions of one name and start but of two sizes are two.
#[test]
fn one_table_with_two_sizes_is_not_merged() {
    let mut image = image(vec![section(".text", 0x1000, 0x100)]);
    let n = run(&mut image, &[func("f", 0x1000, 8), func("f", 0x1000, 16), func("f", 0x1000, 8)]);
    assert_eq!((n.owners.len(), n.names.len()), (2, 2));
}

#[test]
fn version_marks_are_read_in_elf_tables_only() {
    let mut image = image(vec![section(".text", 0x1000, 0x100)]);
    image.format = Format::MachO;
    let n = run(&mut image, &[func("f@V", 0x1000, 0)]);
    assert_eq!(n.names[0].name, b"f@V");
    image.format = Format::Elf;
    let stub = Symbol { source: Source::Plt, ..func("f@V", 0x1000, 16) };
    assert_eq!(run(&mut image, &[stub]).names[0].name, b"f@V");
}
