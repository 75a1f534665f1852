//! Split DWARF: `.dwo` files and packages.

use gimli::constants::*;

use super::builder::Value::*;
use super::builder::{Builder, Bytes, V4, V5};
use super::*;
use crate::model::SplitUnit;

const ID: u64 = 0x1122_3344_5566_7788;

/// A skeleton with a line at 0x1000, and its `.dwo` with a function there; the
/// unit in the latter has the id `id`.
fn files(version: u16, id: u64) -> (DebugInfo<'static>, DwarfSections<'static>) {
    let shape = if version >= 5 { V5 } else { V4 };
    let first = if version >= 5 { 0 } else { 1 };
    let mut main = Builder::new(shape);
    let offset = main.lines();
    main.row(0x1000, first, 10, 0);
    main.end_sequence(0x1020);
    main.end_lines();
    main.addr.uint(0, 8).address(0x1000).address(0x1010);
    let mut dwo = Builder::new(shape);
    let code = |b: &mut Builder, form, ranges| {
        b.open(
            "",
            DW_TAG_subprogram,
            &[
                (DW_AT_name, Text("f")),
                (DW_AT_low_pc, Index(form, 0)),
                (DW_AT_high_pc, Number(0x10)),
                (DW_AT_decl_file, Number(first + 1)),
            ],
        );
        b.leaf(
            "",
            DW_TAG_inlined_subroutine,
            &[
                (DW_AT_name, Text("i")),
                (DW_AT_ranges, ranges),
                (DW_AT_call_file, Number(first)),
                (DW_AT_call_line, Number(5)),
            ],
        );
        b.close();
    };
    let lines = (DW_AT_stmt_list, Section(offset));
    if version >= 5 {
        main.unit_of(
            DW_UT_skeleton,
            Some(ID),
            DW_TAG_skeleton_unit,
            &[
                lines,
                (DW_AT_dwo_name, Text("a.dwo")),
                (DW_AT_comp_dir, Text("/comp")),
                (DW_AT_addr_base, Section(8)),
                (DW_AT_low_pc, Address(0x1000)),
            ],
        );
        dwo.rnglists.bytes.extend([0; 12]);
        dwo.rnglists.uint(4, 4).u8(DW_RLE_startx_length.0).uleb(0).uleb(8).u8(0);
        dwo.unit_of(DW_UT_split_compile, Some(id), DW_TAG_compile_unit, &[]);
        code(&mut dwo, DW_FORM_addrx, Index(DW_FORM_rnglistx, 0));
    } else {
        // Padding, so that the base matters.
        main.ranges.address(1).address(1);
        let list = main.range_list(&[(0x1000, 0x1008)]);
        main.unit(&[
            lines,
            (DW_AT_GNU_dwo_name, Text("a.dwo")),
            (DW_AT_comp_dir, Text("/comp")),
            (DW_AT_GNU_dwo_id, Number(ID)),
            (DW_AT_GNU_addr_base, Section(8)),
            (DW_AT_GNU_ranges_base, Section(list)),
        ]);
        dwo.unit(&[(DW_AT_GNU_dwo_id, Number(id))]);
        code(&mut dwo, DW_FORM_GNU_addr_index, Section(0));
    }
    dwo.end_unit();
    main.end_unit();
    (info_of(main.build(), false, &CODE), dwo.build())
}

fn check_found(lines: &UnitLines<'_>, report: &Report) {
    assert_eq!(*report, Report::default());
    assert_eq!(at(lines, 0x1000), ["i@/comp/main.c:10:0", "f@/comp/main.c:5:0"]);
    assert_eq!(at(lines, 0x1008), ["f@/comp/main.c:10:0"]);
    assert_eq!(at(lines, 0x1010), ["-@/comp/main.c:10:0"]);
    let f = lines.functions.iter().find(|function| function.name == b"f").unwrap();
    assert_eq!(path(&lines.files[f.file as usize]), "/comp/inc/head.h", "the skeleton's table");
}

/// DIEs come from the `.dwo`, addresses, ranges and lines from the skeleton.
#[test]
fn a_split_unit_is_read_through_its_skeleton() {
    for version in [4, 5] {
        let (mut info, sections) = files(version, ID);
        let other = SplitUnit { id: 1, sections: DwarfSections::default() };
        info.split = vec![other, SplitUnit { id: ID, sections }];
        let (units, report) = read(&info);
        check_found(&units[0], &report);
    }
}

/// Missing, or there with another id: the skeleton's lines remain.
#[test]
fn a_missing_or_foreign_split_unit_costs_only_itself() {
    for version in [4, 5] {
        let (mut info, _) = files(version, ID);
        let (units, report) = read(&info);
        assert_eq!(at(&units[0], 0x1000), ["-@/comp/main.c:10:0"]);
        assert_eq!(report.skipped["split units that are missing"], 1);

        let (_, foreign) = files(version, ID + 1);
        info.split = vec![SplitUnit { id: ID, sections: foreign }];
        let (units, report) = read(&info);
        assert_eq!(at(&units[0], 0x1000), ["-@/comp/main.c:10:0"]);
        assert_eq!(report.skipped["split units that are missing"], 1);
    }
}

/// Only one unit can be the skeleton of a split unit: the first.
#[test]
fn a_split_unit_has_one_skeleton() {
    let (mut info, sections) = files(5, ID);
    info.split = vec![SplitUnit { id: ID, sections }];
    info.sections.info = [info.sections.info, info.sections.info].concat().leak();
    let (units, report) = read(&info);
    assert_eq!((units[0].functions.len(), units[1].functions.len()), (2, 0));
    assert_eq!(report.skipped["split units that too many units share"], 1);
}

/// A package: the index says which parts of its sections are the unit's, also
/// parts of sections that are not read here and may be missing.
#[test]
fn packages() {
    for (version, sections) in [(4, [1, 3, 5, 8, 6]), (5, [1, 3, 5, 8, 6])] {
        let (mut info, dwo) = files(version, ID);
        let padded = |bytes: &[u8]| -> &'static [u8] { [&[0xff; 7], bytes].concat().leak() };
        let mut index = Bytes::new(V5);
        if version >= 5 {
            index.u16(5).u16(0);
        } else {
            index.uint(2, 4);
        }
        index.uint(5, 4).uint(1, 4).uint(2, 4);
        let slot = ID & 1;
        (0..2).for_each(|place| {
            index.uint(if place == slot { ID } else { 0 }, 8);
        });
        (0..2).for_each(|place| {
            index.uint(u64::from(place == slot), 4);
        });
        for section in sections {
            index.uint(section, 4);
        }
        // info, abbrev, location lists, range lists (5) or a macro part (4), strings
        let sizes = [dwo.info.len(), dwo.abbrev.len(), 99, dwo.rnglists.len(), 0];
        sizes.iter().for_each(|_| {
            index.uint(7, 4);
        });
        sizes.iter().for_each(|&size| {
            index.uint(size as u64, 4);
        });
        info.package = Some(DwarfSections {
            info: padded(dwo.info),
            abbrev: padded(dwo.abbrev),
            rnglists: padded(dwo.rnglists),
            cu_index: index.bytes.leak(),
            ..DwarfSections::default()
        });
        let (units, report) = read(&info);
        check_found(&units[0], &report);

        info.package = Some(DwarfSections { cu_index: b"damaged", ..DwarfSections::default() });
        let (units, report) = read(&info);
        assert_eq!(at(&units[0], 0x1000), ["-@/comp/main.c:10:0"]);
        assert!(report.warnings[0].contains("package"), "{report:?}");
    }
}
