//! Functions and what was inlined into them.

use gimli::constants::*;

use super::builder::Value::*;
use super::builder::{BE32, Builder, Shape, V2, V4, V5, every_shape};
use super::*;

const FUNCTION: gimli::DwTag = DW_TAG_subprogram;
const INLINED: gimli::DwTag = DW_TAG_inlined_subroutine;

/// A unit with a line program: main.c:10 at 0x1000, head.h:20 at 0x1010,
/// main.c:30 from 0x1020 up to 0x1040.
fn with_lines(shape: Shape) -> Builder {
    let mut b = Builder::new(shape);
    let first = if shape.version >= 5 { 0 } else { 1 };
    let offset = b.lines();
    b.row(0x1000, first, 10, 1);
    b.row(0x1010, first + 1, 20, 2);
    b.row(0x1020, first, 30, 3);
    b.end_sequence(0x1040);
    b.end_lines();
    b.unit(&[(DW_AT_comp_dir, Text("/comp")), (DW_AT_stmt_list, Section(offset))]);
    b
}

/// The same unit in every shape: one function, one function inlined into it by
/// an abstract origin, called from main.c (version 5 counts files from 0).
#[test]
fn every_version_order_and_size() {
    for shape in every_shape() {
        let mut b = with_lines(shape);
        let first = if shape.version >= 5 { 0 } else { 1 };
        b.leaf(
            "inner",
            FUNCTION,
            &[
                (DW_AT_name, Text("inner")),
                (DW_AT_decl_file, Number(first + 1)),
                (DW_AT_decl_line, Number(19)),
            ],
        );
        b.open(
            "outer",
            FUNCTION,
            &[
                (DW_AT_name, Text("outer")),
                (DW_AT_linkage_name, Text("_outer")),
                (DW_AT_low_pc, Address(0x1000)),
                (DW_AT_high_pc, if shape.version < 4 { Address(0x1040) } else { Number(0x40) }),
            ],
        );
        b.leaf(
            "",
            INLINED,
            &[
                (DW_AT_abstract_origin, Here("inner")),
                (DW_AT_low_pc, Address(0x1010)),
                (DW_AT_high_pc, Address(0x1018)),
                (DW_AT_call_file, Number(first)),
                (DW_AT_call_line, Number(11)),
                (DW_AT_call_column, Number(7)),
            ],
        );
        b.close();
        b.end_unit();
        let (lines, report) = read_one(b);
        assert_eq!(report, Report::default(), "{shape:?}");
        assert_eq!(at(&lines, 0x1000), ["_outer@/comp/main.c:10:1"], "{shape:?}");
        let inlined = ["inner@/comp/inc/head.h:20:2", "_outer@/comp/main.c:11:7"];
        assert_eq!(at(&lines, 0x1010), inlined, "{shape:?}");
        assert_eq!(at(&lines, 0x1017), inlined);
        assert_eq!(at(&lines, 0x1018), ["_outer@/comp/inc/head.h:20:2"]);
        assert_eq!(at(&lines, 0x1020), ["_outer@/comp/main.c:30:3"]);
        assert!(at(&lines, 0x1040).is_empty());
        let inner = lines.functions.iter().find(|function| function.name == b"inner").unwrap();
        assert_eq!(path(&lines.files[inner.file as usize]), "/comp/inc/head.h");
        assert_eq!(inner.line, 19);
        assert!(lines.pieces[0].entry);
    }
}

/// Ranges of a function, of the unit (base address) and of an inlined function,
/// out of `.debug_ranges` or `.debug_rnglists`; the first range is the entry.
#[test]
fn ranges_and_base_addresses() {
    for shape in [V4, V5, BE32] {
        let mut b = with_lines(shape);
        let function = b.range_list(&[(0x1020, 0x1040), (0x1000, 0x1010), (0x3000, 0x3008)]);
        let inlined = b.range_list(&[(0x1004, 0x1008), (0x1024, 0x1028)]);
        b.open("", FUNCTION, &[(DW_AT_name, Text("f")), (DW_AT_ranges, Section(function))]);
        b.leaf("", INLINED, &[(DW_AT_name, Text("i")), (DW_AT_ranges, Section(inlined))]);
        b.close();
        b.end_unit();
        let (lines, _) = read_one(b);
        let starts: Vec<_> =
            lines.pieces.iter().map(|p| (p.section, p.start, p.entry, p.root != NONE)).collect();
        assert_eq!(
            starts,
            [
                (0, 0x1000, false, true),
                (0, 0x1010, false, false),
                (0, 0x1020, true, true),
                (1, 0x3000, false, true),
            ]
        );
        assert_eq!(at(&lines, 0x1004)[0], "i@/comp/main.c:10:1");
        assert_eq!(at(&lines, 0x1027).len(), 2);
        assert_eq!(at(&lines, 0x1028).len(), 1);
        assert_eq!(at(&lines, 0x3004), ["f@-:0:0"], "no line row covers it");
        assert_eq!(at(&lines, 0x1010), ["-@/comp/inc/head.h:20:2"], "outside every function");
    }
    // A unit's low address is the base of its lists, until an entry sets another.
    let mut b = Builder::new(V4);
    b.ranges.address(0x10).address(0x20);
    b.ranges.address(u64::MAX).address(0x3000);
    b.ranges.address(0x10).address(0x20).address(0).address(0);
    b.unit(&[(DW_AT_low_pc, Address(0x1000))]);
    b.leaf("", FUNCTION, &[(DW_AT_name, Text("f")), (DW_AT_ranges, Section(0))]);
    b.end_unit();
    let (lines, _) = read_one(b);
    let starts: Vec<_> = lines.pieces.iter().map(|piece| piece.start).collect();
    assert_eq!(starts, [0x1010, 0x3010]);
}

/// `DW_FORM_addrx` and `DW_FORM_rnglistx` count from bases that the root DIE
/// states, even after an attribute that needs them.
#[test]
fn indexed_addresses_and_lists() {
    let mut b = Builder::new(V5);
    b.addr.uint(0, 8).address(0x1000).address(0x1100);
    b.rnglists.bytes.extend([0; 12]);
    b.rnglists.uint(4, 4);
    b.rnglists.u8(DW_RLE_startx_length.0).uleb(1).uleb(0x10);
    b.rnglists.u8(DW_RLE_offset_pair.0).uleb(0x40).uleb(0x50).u8(0);
    b.unit(&[
        (DW_AT_low_pc, Index(DW_FORM_addrx, 0)),
        (DW_AT_addr_base, Section(8)),
        (DW_AT_rnglists_base, Section(12)),
    ]);
    b.leaf(
        "",
        FUNCTION,
        &[
            (DW_AT_name, Text("low")),
            (DW_AT_low_pc, Index(DW_FORM_addrx, 0)),
            (DW_AT_high_pc, Number(4)),
        ],
    );
    b.leaf("", FUNCTION, &[(DW_AT_name, Text("list")), (DW_AT_ranges, Index(DW_FORM_rnglistx, 0))]);
    b.end_unit();
    let (lines, report) = read_one(b);
    assert_eq!(report, Report::default());
    assert_eq!(at(&lines, 0x1003), ["low@-:0:0"]);
    assert_eq!(at(&lines, 0x1104), ["list@-:0:0"]);
    assert_eq!(at(&lines, 0x104f), ["list@-:0:0"]);
}

/// Functions below namespaces, classes, blocks and other functions are their
/// own; an inlined function belongs to the nearest function that has code.
#[test]
fn nested_functions_are_their_own() {
    let mut b = with_lines(V5);
    b.open("", DW_TAG_namespace, &[]);
    b.open("", DW_TAG_structure_type, &[]);
    b.open(
        "",
        FUNCTION,
        &[
            (DW_AT_name, Text("outer")),
            (DW_AT_low_pc, Address(0x1000)),
            (DW_AT_high_pc, Number(0x40)),
        ],
    );
    b.open("", DW_TAG_lexical_block, &[]);
    b.open(
        "",
        FUNCTION,
        &[
            (DW_AT_name, Text("nested")),
            (DW_AT_low_pc, Address(0x1010)),
            (DW_AT_high_pc, Number(0x10)),
        ],
    );
    b.leaf(
        "",
        INLINED,
        &[(DW_AT_name, Text("i")), (DW_AT_low_pc, Address(0x1018)), (DW_AT_high_pc, Number(0x8))],
    );
    b.close();
    b.open("", FUNCTION, &[(DW_AT_name, Text("declared"))]);
    b.leaf(
        "",
        INLINED,
        &[
            (DW_AT_name, Text("nobody")),
            (DW_AT_low_pc, Address(0x1030)),
            (DW_AT_high_pc, Number(0x8)),
        ],
    );
    b.close();
    b.leaf("", DW_TAG_call_site, &[]);
    b.close();
    b.close();
    b.close();
    b.close();
    b.end_unit();
    let (lines, _) = read_one(b);
    assert_eq!(at(&lines, 0x100f), ["outer@/comp/main.c:10:1"]);
    assert_eq!(at(&lines, 0x1010), ["nested@/comp/inc/head.h:20:2"]);
    assert_eq!(at(&lines, 0x1018).len(), 2);
    assert_eq!(at(&lines, 0x1018)[1], "nested@-:0:0");
    assert_eq!(at(&lines, 0x1020), ["outer@/comp/main.c:30:3"]);
    assert_eq!(at(&lines, 0x1030), ["outer@/comp/main.c:30:3"], "not of a function without code");
}

/// Of siblings that overlap, the one that starts last wins, and of equal starts
/// the later one, as llvm-symbolizer has it; what is below comes back after it.
#[test]
fn of_overlapping_siblings_the_last_start_wins() {
    let mut b = with_lines(V5);
    b.open(
        "",
        FUNCTION,
        &[(DW_AT_name, Text("f")), (DW_AT_low_pc, Address(0x1000)), (DW_AT_high_pc, Number(0x40))],
    );
    for (name, start, end) in [("a", 0x1000, 0x1020), ("b", 0x1008, 0x1010), ("c", 0x1000, 0x1004)]
    {
        b.leaf(
            "",
            INLINED,
            &[
                (DW_AT_name, Text(name)),
                (DW_AT_low_pc, Address(start)),
                (DW_AT_high_pc, Address(end)),
            ],
        );
    }
    b.close();
    b.end_unit();
    let (lines, _) = read_one(b);
    let innermost = |address| at(&lines, address)[0][..1].to_owned();
    let found: Vec<_> =
        [0x1000, 0x1003, 0x1004, 0x1008, 0x100f, 0x1010, 0x1020].map(innermost).into();
    assert_eq!(found, ["c", "c", "a", "b", "b", "a", "f"]);
}

/// GCC under `-gdwarf-2 -gstrict-dwarf`: the cold part of a function is a DIE of
/// its own, but what was inlined there is still below the function's.
#[test]
fn inlined_code_outside_its_function_is_kept() {
    let mut b = with_lines(V2);
    let code = |name, start, end| {
        [(DW_AT_name, Text(name)), (DW_AT_low_pc, Address(start)), (DW_AT_high_pc, Address(end))]
    };
    b.leaf("", FUNCTION, &code("cold", 0x1000, 0x1020));
    b.open("", FUNCTION, &code("f", 0x1020, 0x1040));
    b.leaf("", INLINED, &code("i", 0x1004, 0x1008));
    b.leaf("", INLINED, &code("j", 0x1018, 0x1024));
    b.leaf("", INLINED, &code("dead", 0, 8));
    b.close();
    b.end_unit();
    let (lines, _) = read_one(b);
    assert_eq!(at(&lines, 0x1003), ["cold@/comp/main.c:10:1"]);
    assert_eq!(at(&lines, 0x1004), ["i@/comp/main.c:10:1", "f@-:0:0"]);
    assert_eq!(at(&lines, 0x1008), ["cold@/comp/main.c:10:1"]);
    assert_eq!(at(&lines, 0x1018)[0], "j@/comp/inc/head.h:20:2");
    assert_eq!(at(&lines, 0x1023).len(), 2);
    assert_eq!(at(&lines, 0x1024), ["f@/comp/main.c:30:3"]);
}

/// Chains of 300 inlined functions come out whole.
#[test]
fn three_hundred_deep() {
    let mut b = with_lines(V5);
    b.open(
        "",
        FUNCTION,
        &[(DW_AT_name, Text("f")), (DW_AT_low_pc, Address(0x1000)), (DW_AT_high_pc, Number(0x40))],
    );
    for depth in 1..=300 {
        b.open(
            "",
            INLINED,
            &[
                (DW_AT_name, Text("i")),
                (DW_AT_low_pc, Address(0x1000)),
                (DW_AT_high_pc, Number(0x20)),
                (DW_AT_call_line, Number(depth)),
            ],
        );
    }
    (0..301).for_each(|_| b.close());
    b.end_unit();
    let (lines, _) = read_one(b);
    let frames = at(&lines, 0x1004);
    assert_eq!(frames.len(), 301);
    assert_eq!(frames[1], "i@-:300:0");
    assert_eq!(frames[300], "f@-:1:0");
    assert_eq!(at(&lines, 0x1020).len(), 1);
}

/// Addresses of dead code are no function: 0, −1, −2, and a range that starts
/// in code and ends outside. A function that truly is at 0 stays.
#[test]
fn tombstones_are_counted() {
    let build = || {
        let mut b = Builder::new(V5);
        b.unit(&[]);
        let ranges =
            [(0, 0x10), (u64::MAX, 0x10), (u64::MAX - 1, 0x10), (0x1ff8, 0x10), (0x1ff0, 0x10)];
        for (start, size) in ranges {
            b.leaf(
                "",
                FUNCTION,
                &[
                    (DW_AT_name, Text("f")),
                    (DW_AT_low_pc, Address(start)),
                    (DW_AT_high_pc, Number(size)),
                ],
            );
        }
        b.end_unit();
        b.build()
    };
    let (lines, report) = read(&info_of(build(), false, &CODE));
    assert_eq!(lines[0].pieces.len(), 1);
    assert_eq!(lines[0].pieces[0].start, 0x1ff0);
    assert_eq!(report.skipped["functions of dead code"], 4);
    let (lines, report) = read(&info_of(build(), false, &[(0, 0x100, 0)]));
    assert_eq!(lines[0].pieces[0].start, 0);
    assert_eq!(report.skipped["functions of dead code"], 4);
}

/// Addresses are translated piece by piece; touching mappings never share one.
#[test]
fn addresses_are_translated() {
    let mut b = with_lines(V2);
    b.leaf(
        "",
        FUNCTION,
        &[
            (DW_AT_name, Text("f")),
            (DW_AT_low_pc, Address(0x1008)),
            (DW_AT_high_pc, Address(0x1010)),
        ],
    );
    b.end_unit();
    let info = info_of(b.build(), false, &[(0x1000, 0x10, 0x70), (0x1010, 0x20, 0)]);
    let (lines, _) = read(&info);
    let found: Vec<_> =
        lines[0].pieces.iter().map(|p| (p.section, p.start, p.size, p.root != NONE)).collect();
    assert_eq!(found, [(0, 0x70, 8, false), (0, 0x78, 8, true), (1, 0, 0x20, false)]);
}

/// A tree of 20,000 DIEs, each in the last, neither overflows a stack nor
/// loses what comes after it.
#[test]
fn twenty_thousand_deep() {
    for tag in [DW_TAG_lexical_block, FUNCTION, INLINED] {
        let mut b = with_lines(V5);
        b.open(
            "",
            FUNCTION,
            &[
                (DW_AT_name, Text("f")),
                (DW_AT_low_pc, Address(0x1000)),
                (DW_AT_high_pc, Number(0x20)),
            ],
        );
        (0..20_000).for_each(|_| b.open("", tag, &[]));
        b.leaf(
            "",
            INLINED,
            &[
                (DW_AT_name, Text("i")),
                (DW_AT_low_pc, Address(0x1000)),
                (DW_AT_high_pc, Number(0x10)),
            ],
        );
        (0..20_001).for_each(|_| b.close());
        b.leaf(
            "",
            FUNCTION,
            &[
                (DW_AT_name, Text("g")),
                (DW_AT_low_pc, Address(0x1020)),
                (DW_AT_high_pc, Number(0x20)),
            ],
        );
        b.end_unit();
        let (lines, _) = read_one(b);
        assert_eq!(at(&lines, 0x1020), ["g@/comp/main.c:30:3"]);
        if tag == DW_TAG_lexical_block {
            assert_eq!(at(&lines, 0x1000).len(), 2);
        }
    }
}
