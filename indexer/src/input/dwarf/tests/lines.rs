//! Line programs and file tables.

use gimli::constants::*;

use super::builder::Value::*;
use super::builder::{Builder, Shape, V3, V4, V5, every_shape};
use super::*;

/// A unit of nothing but a line program that `rows` writes.
fn unit(shape: Shape, rows: impl FnOnce(&mut Builder)) -> Builder {
    let mut b = Builder::new(shape);
    let offset = b.lines();
    rows(&mut b);
    b.end_lines();
    b.unit(&[(DW_AT_comp_dir, Text("/comp")), (DW_AT_stmt_list, Section(offset))]);
    b.end_unit();
    b
}

/// The line at each address; `None` where no row is.
fn lines_at(lines: &UnitLines<'_>, addresses: &[u64]) -> Vec<Option<u32>> {
    let line = |address: &u64| {
        let frames = at(lines, *address);
        Some(frames.first()?.split(':').nth(1)?.parse().unwrap())
    };
    addresses.iter().map(line).collect()
}

#[test]
fn the_last_of_several_rows_at_one_address_wins() {
    let (lines, report) = read_one(unit(V4, |b| {
        b.row(0x1000, 1, 1, 0);
        b.row(0x1008, 1, 2, 0);
        b.row(0x1008, 1, 3, 0);
        b.row(0x1008, 2, 4, 9);
        b.row(0x1010, 1, 5, 0);
        b.end_sequence(0x1010);
    }));
    assert_eq!(at(&lines, 0x1008), ["-@/comp/inc/head.h:4:9"]);
    assert_eq!(lines_at(&lines, &[0x1007, 0x100f, 0x1010]), [Some(1), Some(4), None]);
    assert_eq!(report, Report::default());
}

/// Line 0 means that the compiler names none: the file stays.
#[test]
fn line_zero_is_a_row() {
    let (lines, _) = read_one(unit(V5, |b| {
        b.row(0x1000, 0, 1, 0);
        b.row(0x1008, 0, 0, 0);
        b.end_sequence(0x1010);
    }));
    assert_eq!(at(&lines, 0x1008), ["-@/comp/main.c:0:0"]);
}

/// Lines and columns are 32 bits, from any shape of program.
#[test]
fn lines_and_columns_past_sixteen_bits() {
    for shape in every_shape() {
        let (lines, _) = read_one(unit(shape, |b| {
            b.row(0x1000, 1, 70_000, 80_000);
            b.row(0x1004, 1, 4_000_000_000, u64::from(u32::MAX));
            b.row(0x1008, 1, 5, 1 << 40);
            b.end_sequence(0x1010);
        }));
        assert!(at(&lines, 0x1000)[0].ends_with(":70000:80000"), "{shape:?}");
        assert!(at(&lines, 0x1004)[0].ends_with(":4000000000:4294967295"));
        assert!(at(&lines, 0x1008)[0].ends_with(":5:0"), "a column that does not fit is unknown");
    }
}

/// Without an end the last row covers nothing; those before it are kept.
#[test]
fn unfinished_sequences_end_at_their_last_row() {
    let (lines, report) = read_one(unit(V5, |b| {
        b.row(0x1000, 0, 1, 0);
        b.row(0x1008, 0, 2, 0);
    }));
    assert_eq!(lines_at(&lines, &[0x1007, 0x1008]), [Some(1), None]);
    assert_eq!(report.skipped["unfinished line sequences"], 1);
}

/// A sequence survives a bad row, wherever the row is: in no mapping (a
/// tombstone amid living code), too high, or too low.
#[test]
fn a_sequence_survives_a_bad_row() {
    for bad in [4, u64::MAX, 0x1f00, 0x1001] {
        let (lines, report) = read_one(unit(V4, |b| {
            b.row(0x1000, 1, 1, 0);
            b.row(0x1008, 1, 2, 0);
            b.row(0x1010, 1, 3, 0);
            b.row(bad, 1, 99, 0);
            b.row(0x1018, 1, 4, 0);
            b.row(0x1020, 1, 5, 0);
            b.end_sequence(0x1028);
        }));
        let found = lines_at(&lines, &[0x1000, 0x100f, 0x1014, 0x1018, 0x1027, 0x1028]);
        assert_eq!(found, [Some(1), Some(2), Some(3), Some(4), Some(5), None], "{bad:#x}");
        assert_eq!(report.skipped.values().sum::<u64>(), 1, "{bad:#x}");
    }
}

/// Sequences of dead code are counted, also one that starts where living code
/// is but reaches out of it. One at 0 lives when code is there.
#[test]
fn sequences_of_dead_code_are_counted() {
    let build = |code: &[(u64, u64, u64)]| {
        let b = unit(V4, |b| {
            for (line, start) in [(1, 0), (10, u64::MAX - 0x10), (20, 0x1ff8)] {
                b.row(start, 1, line, 0);
                b.row(start + 4, 1, line + 1, 0);
                b.end_sequence(start.wrapping_add(0x10));
            }
        });
        let (mut lines, report) = read(&info_of(b.build(), false, code));
        (lines.remove(0), report.skipped["line rows of dead code"])
    };
    let (lines, dead) = build(&CODE);
    assert_eq!((lines.pieces.len(), dead), (0, 6));
    let (lines, dead) = build(&[(0, 0x40, 0)]);
    assert_eq!(lines_at(&lines, &[0, 4, 0xf, 0x10]), [Some(1), Some(2), Some(2), None]);
    assert_eq!(dead, 4);
}

/// In a debug map functions are moved one by one: one sequence covers several.
#[test]
fn a_sequence_may_cover_functions_that_were_moved_apart() {
    let b = unit(V4, |b| {
        b.row(0x10, 1, 1, 0);
        b.row(0x18, 1, 2, 0);
        b.row(0x20, 1, 3, 0);
        b.end_sequence(0x30);
    });
    let info = info_of(b.build(), false, &[(0x10, 8, 0x900), (0x20, 8, 0x700)]);
    let (lines, report) = read(&info);
    assert_eq!(lines_at(&lines[0], &[0x900, 0x907, 0x908]), [Some(1), Some(1), None]);
    assert_eq!(lines_at(&lines[0], &[0x700, 0x707, 0x708]), [Some(3), Some(3), None]);
    assert_eq!(report.skipped["line rows of dead code"], 1);
}

/// Of sequences that overlap, the one that ends first wins, as llvm-symbolizer
/// has it; after it, the other is there again.
#[test]
fn of_overlapping_sequences_the_first_end_wins() {
    let (lines, _) = read_one(unit(V4, |b| {
        b.row(0x1000, 1, 1, 0);
        b.end_sequence(0x1030);
        b.row(0x1010, 1, 2, 0);
        b.row(0x1018, 1, 3, 0);
        b.end_sequence(0x1020);
        b.row(0x1028, 1, 4, 0);
        b.end_sequence(0x1040);
    }));
    let found = lines_at(&lines, &[0x1000, 0x1010, 0x101f, 0x1020, 0x102f, 0x1030, 0x103f]);
    assert_eq!(found, [1, 2, 3, 1, 1, 4, 4].map(Some));
}

/// A file index that is not in the table is no file; line and column stay.
#[test]
fn file_indexes_count_from_zero_or_one() {
    for (shape, none, first) in [(V3, [0, 3], 1), (V4, [0, 3], 1), (V5, [2, 9], 0)] {
        let (lines, _) = read_one(unit(shape, |b| {
            b.row(0x1000, first, 1, 0);
            b.row(0x1001, first + 1, 2, 0);
            b.row(0x1002, none[0], 3, 4);
            b.row(0x1003, none[1], 5, 0);
            b.row(0x1004, u64::MAX, 6, 0);
            b.end_sequence(0x1005);
        }));
        let found: Vec<_> = (0x1000..0x1005).flat_map(|address| at(&lines, address)).collect();
        let wanted = ["/comp/main.c:1:0", "/comp/inc/head.h:2:0", "-:3:4", "-:5:0", "-:6:0"];
        assert_eq!(found, wanted.map(|place| format!("-@{place}")));
    }
}

/// The parts of a path: an absolute directory or name makes those before it
/// meaningless, and the program may define files of its own.
#[test]
fn files_in_parts() {
    let (lines, _) = read_one(unit(V4, |b| {
        for (name, directory) in [("/abs/a.c", 1), ("x.c", 7)] {
            let length = 1 + name.len() as u64 + 1 + 3;
            b.line.u8(0).uleb(length).u8(DW_LNE_define_file.0);
            b.line.text(name).uleb(directory).uleb(0).uleb(0);
        }
        b.row(0x1000, 3, 1, 0);
        b.row(0x1001, 4, 2, 0);
        b.end_sequence(0x1002);
    }));
    assert_eq!(lines.files[0], SourceFile { name: b"/abs/a.c", ..SourceFile::default() });
    assert_eq!(lines.files[1], SourceFile { base: b"/comp", directory: b"", name: b"x.c" });
}

/// A program that breaks off keeps the rows before; a header that cannot be
/// read costs the lines, not the functions.
#[test]
fn damaged_programs() {
    let (lines, report) = read_one(unit(V4, |b| {
        b.row(0x1000, 1, 1, 0);
        b.row(0x1008, 1, 2, 0);
        b.line.u8(0).uleb(200).u8(DW_LNE_set_address.0);
    }));
    assert_eq!(lines_at(&lines, &[0x1000, 0x1008]), [Some(1), None]);
    assert_eq!(report.skipped["damaged line programs"], 1);

    let mut b = Builder::new(V4);
    b.unit(&[(DW_AT_stmt_list, Section(0x100))]);
    b.leaf(
        "",
        DW_TAG_subprogram,
        &[
            (DW_AT_name, Text("f")),
            (DW_AT_low_pc, Address(0x1000)),
            (DW_AT_high_pc, Number(0x10)),
            (DW_AT_decl_file, Number(1)),
            (DW_AT_decl_line, Number(8)),
        ],
    );
    b.end_unit();
    let (lines, report) = read_one(b);
    assert_eq!(at(&lines, 0x1000), ["f@-:0:0"]);
    assert_eq!((lines.functions[0].file, lines.functions[0].line), (NONE, 8));
    assert!(report.warnings[0].contains("expected a line program"), "{report:?}");
}

/// Two units that name one program both have its lines in their functions; the
/// rows outside are the first one's.
#[test]
fn a_shared_program_has_one_owner() {
    let mut b = Builder::new(V4);
    let offset = b.lines();
    b.row(0x1000, 1, 1, 0);
    b.end_sequence(0x1030);
    b.end_lines();
    for start in [0x1000, 0x1010] {
        b.unit(&[(DW_AT_stmt_list, Section(offset))]);
        b.leaf(
            "",
            DW_TAG_subprogram,
            &[(DW_AT_name, Text("f")), (DW_AT_low_pc, Address(start)), (DW_AT_high_pc, Number(8))],
        );
        b.end_unit();
    }
    let (units, _) = read(&info_of(b.build(), false, &CODE));
    assert_eq!(at(&units[1], 0x1010), ["f@main.c:1:0"]);
    assert_eq!((units[0].pieces.len(), units[1].pieces.len()), (2, 1));
}

/// No system opens such a path, and thousands of files may share it.
#[test]
fn a_path_longer_than_any_is_not_known() {
    for (length, known) in [(4000, true), (5000, false)] {
        let mut b = Builder::new(V4);
        let offset = b.lines();
        b.row(0x1000, 1, 7, 0);
        b.end_sequence(0x1010);
        b.end_lines();
        let directory: &'static str = format!("/{}", "d".repeat(length)).leak();
        b.unit(&[(DW_AT_comp_dir, Text(directory)), (DW_AT_stmt_list, Section(offset))]);
        b.end_unit();
        let (lines, report) = read_one(b);
        assert_eq!(lines.files.len(), usize::from(known));
        assert_eq!(lines.rows[0].line, 7);
        assert_eq!(lines.rows[0].file == NONE, !known);
        let reason = "source files with paths of more than 4,096 bytes";
        assert_eq!(report.skipped.contains_key(reason), !known, "{report:?}");
    }
}
