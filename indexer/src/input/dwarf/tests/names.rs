//! Names, and where they are declared.

use gimli::constants::*;

use super::builder::Value::*;
use super::builder::{BE32, Builder, Shape, V2, V4, V5};
use super::*;

const FUNCTION: gimli::DwTag = DW_TAG_subprogram;

/// A function of 0x10 bytes.
fn function(b: &mut Builder, start: u64, attributes: &[(gimli::DwAt, builder::Value)]) {
    let high = if b.shape.version < 4 { Address(start + 0x10) } else { Number(0x10) };
    let code = [(DW_AT_low_pc, Address(start)), (DW_AT_high_pc, high)];
    b.leaf("", FUNCTION, &[&code, attributes].concat());
}

fn name_of(lines: &UnitLines<'_>, address: u64) -> String {
    at(lines, address)[0].split('@').next().unwrap().to_owned()
}

/// Any linkage name on the chain wins over any plain name; of plain names the
/// nearest; declaration file and line each from the nearest DIE that has one.
#[test]
fn the_nearest_linkage_name_wins() {
    let mut b = Builder::new(V4);
    let offset = b.lines();
    b.end_lines();
    b.unit(&[(DW_AT_comp_dir, Text("/comp")), (DW_AT_stmt_list, Section(offset))]);
    b.leaf(
        "declaration",
        FUNCTION,
        &[
            (DW_AT_name, Text("plain")),
            (DW_AT_MIPS_linkage_name, Text("_linkage")),
            (DW_AT_decl_file, Number(2)),
            (DW_AT_decl_line, Number(5)),
        ],
    );
    b.leaf(
        "abstract",
        FUNCTION,
        &[(DW_AT_specification, Here("declaration")), (DW_AT_decl_line, Number(9))],
    );
    b.leaf("unlinked", FUNCTION, &[(DW_AT_name, Text("far"))]);
    function(
        &mut b,
        0x1000,
        &[(DW_AT_name, Text("near")), (DW_AT_abstract_origin, Here("abstract"))],
    );
    function(
        &mut b,
        0x1010,
        &[(DW_AT_name, Text("near")), (DW_AT_abstract_origin, Here("unlinked"))],
    );
    function(&mut b, 0x1020, &[]);
    b.end_unit();
    let (lines, _) = read_one(b);
    assert_eq!(name_of(&lines, 0x1000), "_linkage");
    let found = lines.functions.iter().find(|f| f.name == b"_linkage").unwrap();
    assert_eq!(
        (path(&lines.files[found.file as usize]).as_str(), found.line),
        ("/comp/inc/head.h", 9)
    );
    assert_eq!(name_of(&lines, 0x1010), "near");
    assert_eq!(name_of(&lines, 0x1020), "", "a function without a name");
}

/// Origins in other units: the declaring file is one of the other unit's table
/// and its compilation directory.
#[test]
fn origins_in_other_units() {
    for shape in [V2, V4, V5, BE32, Shape { wide: true, ..V5 }] {
        let mut b = Builder::new(shape);
        let first = if shape.version >= 5 { 0 } else { 1 };
        let offset = b.lines();
        b.end_lines();
        b.unit(&[(DW_AT_comp_dir, Text("/one")), (DW_AT_stmt_list, Section(offset))]);
        function(&mut b, 0x1000, &[(DW_AT_abstract_origin, Far("far"))]);
        b.end_unit();
        b.unit(&[(DW_AT_comp_dir, Text("/two")), (DW_AT_stmt_list, Section(offset))]);
        b.leaf(
            "far",
            FUNCTION,
            &[
                (DW_AT_name, Text("far")),
                (DW_AT_decl_file, Number(first + 1)),
                (DW_AT_decl_line, Number(3)),
            ],
        );
        b.end_unit();
        let (units, report) = read(&info_of(b.build(), shape.big, &CODE));
        assert_eq!(report, Report::default());
        assert_eq!(name_of(&units[0], 0x1000), "far", "{shape:?}");
        assert_eq!(path(&units[0].files[0]), "/two/inc/head.h");
        assert_eq!(units[0].functions[0].line, 3);
        assert_eq!(units[1], UnitLines::default());
    }
}

/// A chain in a circle ends; one that is too long loses its far end; one that
/// leads nowhere leaves the function without a declaration.
#[test]
fn circles_and_dead_ends() {
    let mut b = Builder::new(V5);
    b.unit(&[]);
    b.leaf("a", FUNCTION, &[(DW_AT_abstract_origin, Here("b"))]);
    b.leaf("b", FUNCTION, &[(DW_AT_specification, Here("a")), (DW_AT_decl_line, Number(4))]);
    b.leaf("self", FUNCTION, &[(DW_AT_abstract_origin, Here("self"))]);
    const CHAIN: [&str; 20] = [
        "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
        "17", "18", "19",
    ];
    for pair in CHAIN.windows(2) {
        b.leaf(pair[0], FUNCTION, &[(DW_AT_abstract_origin, Here(pair[1]))]);
    }
    b.leaf("19", FUNCTION, &[(DW_AT_name, Text("end"))]);
    function(&mut b, 0x1000, &[(DW_AT_abstract_origin, Here("a"))]);
    function(&mut b, 0x1010, &[(DW_AT_abstract_origin, Here("self"))]);
    function(&mut b, 0x1020, &[(DW_AT_abstract_origin, Here("0"))]);
    function(&mut b, 0x1030, &[(DW_AT_abstract_origin, Here("5"))]);
    b.leaf(
        "fork",
        FUNCTION,
        &[(DW_AT_specification, Here("fork")), (DW_AT_abstract_origin, Here("19"))],
    );
    function(&mut b, 0x1060, &[(DW_AT_abstract_origin, Here("fork"))]);
    function(&mut b, 0x1040, &[(DW_AT_abstract_origin, Offset(DW_FORM_ref_addr, 0x7fff_ffff))]);
    b.open(
        "",
        FUNCTION,
        &[(DW_AT_name, Text("f")), (DW_AT_low_pc, Address(0x1050)), (DW_AT_high_pc, Number(0x10))],
    );
    b.leaf(
        "",
        DW_TAG_inlined_subroutine,
        &[
            (DW_AT_abstract_origin, Offset(DW_FORM_ref_addr, 0x7fff_ffff)),
            (DW_AT_low_pc, Address(0x1050)),
            (DW_AT_high_pc, Number(8)),
            (DW_AT_call_line, Number(6)),
        ],
    );
    b.close();
    b.end_unit();
    let (lines, _) = read_one(b);
    let names: Vec<_> =
        [0x1000, 0x1010, 0x1020, 0x1030, 0x1040].map(|address| name_of(&lines, address)).into();
    assert_eq!(names, ["", "", "", "end", ""]);
    assert_eq!(name_of(&lines, 0x1060), "end", "one branch in a circle does not hide the other");
    assert_eq!(lines.functions.iter().filter(|function| function.line == 4).count(), 1);
    assert_eq!(at(&lines, 0x1050), ["-@-:0:0", "f@-:6:0"], "the call is known, the callee is not");
}

/// DIEs and strings of a supplementary file (dwz); without it only they are
/// missing.
#[test]
fn supplementary_files() {
    let mut sup = Builder::new(V4);
    sup.unit(&[]);
    sup.leaf("far", FUNCTION, &[(DW_AT_name, Text("shared")), (DW_AT_decl_line, Number(7))]);
    sup.end_unit();
    let far = sup.offset_of("far");
    let mut sections = sup.build();
    sections.str = b"zero\0text\0";
    let mut b = Builder::new(V4);
    b.unit(&[]);
    function(&mut b, 0x1000, &[(DW_AT_abstract_origin, Offset(DW_FORM_GNU_ref_alt, far))]);
    function(&mut b, 0x1010, &[(DW_AT_name, Offset(DW_FORM_GNU_strp_alt, 5))]);
    function(&mut b, 0x1020, &[(DW_AT_name, Text("own"))]);
    b.end_unit();
    let mut info = info_of(b.build(), false, &CODE);
    let names = |lines: &UnitLines<'_>| [0x1000, 0x1010, 0x1020].map(|a| name_of(lines, a));
    let (missing, _) = read(&info);
    assert_eq!(names(&missing[0]), ["", "", "own"]);
    info.supplementary = Some(sections);
    let (found, _) = read(&info);
    assert_eq!(names(&found[0]), ["shared", "text", "own"]);
    assert_eq!(found[0].functions.iter().find(|f| f.name == b"shared").unwrap().line, 7);
}

/// Partial units and type units have no code; their DIEs can be origins.
#[test]
fn partial_units_are_only_referred_to() {
    let mut b = Builder::new(V4);
    b.unit_of(DW_UT_compile, None, DW_TAG_partial_unit, &[]);
    b.leaf("far", FUNCTION, &[(DW_AT_name, Text("partial"))]);
    b.end_unit();
    b.unit(&[]);
    function(&mut b, 0x1000, &[(DW_AT_abstract_origin, Far("far"))]);
    b.end_unit();
    let (lines, _) = read_one(b);
    assert_eq!(name_of(&lines, 0x1000), "partial");
}
