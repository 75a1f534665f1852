//! What GNU's answers may cost: files that were made to make them dear.

use std::rc::Rc;

use gimli::constants::*;

use super::builder::{Builder, V4, Value, Value::*};
use super::{CODE, info_of};
use crate::input::dwarf::nearest::{Frame, Nearest};
use crate::model::DwarfSections;

const LOW: (DwAt, Value) = (DW_AT_low_pc, Address(0x1000));
const LOW2: (DwAt, Value) = (DW_AT_low_pc, Address(0x1100));
const HIGH: (DwAt, Value) = (DW_AT_high_pc, Number(0x100));

/// `depth` functions inlined in each other, called in file 1 of a table whose
/// directory is `directory`.
fn nested(depth: usize, directory: &'static str) -> Builder {
    let mut b = Builder::new(V4);
    let offset = b.lines();
    b.row(0x1000, 1, 1, 0);
    b.end_sequence(0x1100);
    b.end_lines();
    b.unit(&[(DW_AT_stmt_list, Section(offset)), (DW_AT_comp_dir, Text(directory))]);
    b.open("", DW_TAG_subprogram, &[(DW_AT_name, Text("outer")), LOW, HIGH]);
    for _ in 0..depth {
        b.open("", DW_TAG_inlined_subroutine, &[(DW_AT_call_file, Number(1)), LOW, HIGH]);
    }
    (0..depth).for_each(|_| b.close());
    b.close();
    b.end_unit();
    b
}

fn callers(builder: Builder) -> Vec<Frame<'static>> {
    let info = info_of(builder.build(), false, &CODE);
    let mut nearest = Nearest::open(&info);
    let function = nearest.find(0x1000, true).unwrap().function.unwrap();
    nearest.callers(function)
}

/// 400,000 frames with a path of 500 kB each asked for 200 GB.
#[test]
fn callers_share_their_paths_and_have_an_end() {
    let frames = callers(nested(100, "/src"));
    assert_eq!(frames.len(), 100);
    let path = frames[0].file.as_ref().unwrap();
    assert!(frames.iter().all(|frame| Rc::ptr_eq(frame.file.as_ref().unwrap(), path)));
    assert_eq!(frames[99].function, Some(&b"outer"[..]));
    assert_eq!(callers(nested(5000, "/src")).len(), 4096);
    let long: &'static str = "/".repeat(1 << 20).leak();
    assert_eq!(callers(nested(100, long)).len(), 16);
}

/// Each function inlined in another named a DIE that named a hundred more, each
/// in a unit with a table of its own: a thousand of them entered 100,000 units.
#[test]
fn names_in_many_units_are_paid_for() {
    const LABELS: [&str; 20] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r",
        "s", "t",
    ];
    let mut b = Builder::new(V4);
    for label in LABELS {
        b.unit(&[]);
        b.leaf(label, DW_TAG_subprogram, &[(DW_AT_name, Text(label))]);
        b.end_unit();
    }
    let offset = b.lines();
    b.row(0x1000, 1, 1, 0);
    b.end_sequence(0x1100);
    b.end_lines();
    b.unit(&[(DW_AT_stmt_list, Section(offset))]);
    let all = LABELS.map(|label| (DW_AT_specification, Far(label)));
    b.leaf("all", DW_TAG_subprogram, &all);
    b.open("", DW_TAG_subprogram, &[(DW_AT_name, Text("outer")), LOW, HIGH]);
    for _ in 0..1000 {
        b.open("", DW_TAG_inlined_subroutine, &[(DW_AT_abstract_origin, Here("all")), LOW, HIGH]);
    }
    (0..1001).for_each(|_| b.close());
    b.end_unit();
    let sections = own_tables(b.build(), 60_000);
    let info = info_of(sections, false, &CODE);
    let mut nearest = Nearest::open(&info);
    for _ in 0..2 {
        // The innermost ones have names, until all is spent; every answer starts anew.
        let function = nearest.find(0x1000, true).unwrap().function.unwrap();
        assert_eq!(function.name, Some(&b"t"[..]));
        let frames = nearest.callers(function);
        assert_eq!(frames.len(), 1000);
        let named = frames.iter().filter(|frame| frame.function.is_some()).count();
        assert!(named < 10, "{named}");
        assert!(nearest.entered() < 150, "{}", nearest.entered());
    }
}

/// Gives each unit a copy of the table of abbreviations, `size` bytes long.
fn own_tables(mut sections: DwarfSections<'static>, size: usize) -> DwarfSections<'static> {
    let mut table = sections.abbrev.strip_suffix(&[0]).unwrap().to_vec();
    let mut code = 1000_u32;
    while table.len() < size {
        // A code of three bytes, a tag, no children, no attributes.
        let bytes = [code as u8 | 0x80, (code >> 7) as u8 | 0x80, (code >> 14) as u8];
        table.extend(bytes.into_iter().chain([0x34, 0, 0, 0]));
        code += 1;
    }
    table.push(0);
    let (mut info, mut at, mut units) = (sections.info.to_vec(), 0, 0);
    while at < info.len() {
        let length = u32::from_le_bytes(info[at..at + 4].try_into().unwrap()) as usize;
        let offset = (units * table.len()) as u32;
        info[at + 6..at + 10].copy_from_slice(&offset.to_le_bytes());
        (at, units) = (at + 4 + length, units + 1);
    }
    sections.abbrev = table.repeat(units).leak();
    sections.info = info.leak();
    sections
}

/// Every variable was kept, 200 bytes for a DIE of one byte, for those that are
/// declared elsewhere.
#[test]
fn only_declarations_that_are_named_are_kept() {
    let mut b = Builder::new(V4);
    let offset = b.lines();
    b.end_lines();
    b.unit(&[(DW_AT_stmt_list, Section(offset))]);
    let declared =
        [(DW_AT_name, Text("v")), (DW_AT_decl_file, Number(1)), (DW_AT_decl_line, Number(7))];
    b.leaf("v", DW_TAG_variable, &declared);
    (0..10_000).for_each(|_| b.leaf("", DW_TAG_variable, &[(DW_AT_decl_line, Number(1))]));
    // A block of nine bytes: one fixed address.
    let place = [
        (DW_AT_specification, Here("v")),
        (DW_AT_location, Block(&[3, 0, 0x30, 0, 0, 0, 0, 0, 0])),
    ];
    b.leaf("", DW_TAG_variable, &place);
    b.end_unit();
    let info = info_of(b.build(), false, &CODE);
    let mut nearest = Nearest::open(&info);
    assert_eq!(nearest.kept_variables(), Some((1, 1)));
    let frame = nearest.variable(0x3000, b"v").unwrap().frame;
    assert_eq!((frame.file.as_deref(), frame.line), (Some(&b"main.c"[..]), 7));
    assert_eq!(nearest.variable(0x3001, b"v"), None);
}

/// Functions of one byte without addresses cost 32 each. Those around a function
/// are kept, with addresses or not; so is what comes after them.
#[test]
fn functions_without_addresses_are_not_kept() {
    let mut b = Builder::new(V4);
    let offset = b.lines();
    b.end_lines();
    b.unit(&[(DW_AT_stmt_list, Section(offset))]);
    (0..10_000).for_each(|_| b.leaf("", DW_TAG_subprogram, &[]));
    b.open("", DW_TAG_subprogram, &[(DW_AT_name, Text("outer"))]);
    b.leaf("", DW_TAG_inlined_subroutine, &[]);
    b.open("", DW_TAG_inlined_subroutine, &[(DW_AT_name, Text("middle"))]);
    b.open("", DW_TAG_lexical_block, &[]);
    b.leaf("", DW_TAG_inlined_subroutine, &[(DW_AT_name, Text("inner")), LOW, HIGH]);
    b.close();
    b.close();
    let last = [LOW2, (DW_AT_high_pc, Number(0x100)), (DW_AT_name, Text("second"))];
    b.leaf("", DW_TAG_inlined_subroutine, &last);
    b.close();
    b.end_unit();
    let info = info_of(b.build(), false, &CODE);
    let mut nearest = Nearest::open(&info);
    let mut names = |address| {
        let function = nearest.find(address, true).unwrap().function.unwrap();
        let callers = nearest.callers(function).into_iter().map(|frame| frame.function);
        let names: Vec<_> = [function.name].into_iter().chain(callers).flatten().collect();
        String::from_utf8(names.join(&b' ')).unwrap()
    };
    assert_eq!(names(0x1010), "inner middle outer");
    assert_eq!(names(0x1110), "second outer");
    assert_eq!(nearest.kept_functions(), Some(4));
}

/// A byte of a line program costs 24 in memory: a program of nothing but rows
/// is cut, and what did not end by then has none.
#[test]
fn rows_beyond_what_programs_hold_are_not_kept() {
    for (rows, found) in [(1 << 20, true), (3 << 20, false)] {
        let mut b = Builder::new(V4);
        let offset = b.lines();
        b.row(0x1000, 1, 1, 0);
        // Special opcodes: one byte further each.
        b.line.bytes.extend(std::iter::repeat_n(0x1c, rows));
        b.end_sequence(0x1000_0000);
        b.end_lines();
        b.unit(&[(DW_AT_stmt_list, Section(offset))]);
        b.end_unit();
        let info = info_of(b.build(), false, &CODE);
        assert_eq!(Nearest::open(&info).find(0x1000, true).is_some(), found, "{rows}");
    }
}
