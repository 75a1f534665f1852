//! What GNU's answers may cost: files that were made to make them dear.

use std::rc::Rc;

use gimli::constants::*;

use super::builder::{Builder, V4, Value, Value::*};
use super::{CODE, info_of};
use crate::input::dwarf::nearest::{Frame, Nearest};

const LOW: (DwAt, Value) = (DW_AT_low_pc, Address(0x1000));
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
