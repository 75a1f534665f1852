//! Windows and nodes from hand-written bytes, whole and cut.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

use std::vec;
use std::vec::Vec;

use super::*;

fn place(file: u32, (line, from_function): (u32, bool), column: u32) -> Place {
    Place { file, column, line, base_mask: mask_if(from_function) }
}

/// The window that is all of the bytes.
fn whole(bytes: &[u8]) -> Option<Window<'_>> {
    Window::parse(bytes, bytes.len())
}

/// Three rows, two entries and a gap, a file, columns, long values.
const SMALL: &[u8] = &[
    2,    // three rows
    0x62, // three entries, columns, files
    0,    // one file
    0x10, 0, 0, 0, // base: entry 0 is node 0x10
    0x00, 0x80, // entry 1: a gap
    0xfc, 0xff, // entry 2: node 0x10 - 4
    7, 0, 0, 0, // its file
    5, 9, // starts
    0x10, 0x02, // picks 0, 1, 2
    3, 0, 255, // lines
    1, 0, 255, // columns
    0x39, 0x05, // line 1337
    0x2c, 0x01, // column 300
];

#[test]
fn a_small_window_is_read_column_by_column() {
    let window = whole(SMALL).unwrap();
    assert_eq!((window.row_count(), window.entry_count()), (3, 3));
    assert!(window.has_all_long_values());
    let positions = [0, 4, 5, 8, 9, 255].map(|offset| window.position(offset));
    assert_eq!(positions, [0, 0, 1, 1, 2, 2]);
    let row = |node, place| Some(Some(Row { node, place }));
    let first = place(OF_FUNCTION, (2, true), 1);
    assert_eq!(window.row(0), row(0x10, first));
    assert_eq!(window.row(1), Some(None), "a gap");
    assert_eq!(window.row(2), row(0x0c, place(7, (1337, false), 300)));
    assert_eq!(window.row(3), None, "no such row");
}

#[test]
fn wide_windows_name_nodes_and_long_values_in_four_bytes() {
    let bytes = [
        1, 0xd1, 0, // two rows, two entries, wide, files, long, one file
        1, 0, 0, 0, // entry 0
        0x78, 0x56, 0x34, 0x12, // entry 1
        0xff, 0xff, 0xff, 0xff, // its file: unknown
        128,  // start
        0x10, // picks 0, 1
        0, 255, // lines
        0x70, 0x11, 0x01, 0x00, // line 70000
    ];
    let window = whole(&bytes).unwrap();
    let unknown = place(OF_FUNCTION, (0, false), 0);
    assert_eq!(window.row(0), Some(Some(Row { node: 1, place: unknown })));
    let far = place(NONE, (70_000, false), 0);
    assert_eq!(window.row(1), Some(Some(Row { node: 0x1234_5678, place: far })));
}

#[test]
fn one_entry_needs_no_picks_and_many_need_bytes() {
    let one = [1, 0x00, 9, 0, 0, 0, 4, 1, 2];
    let window = whole(&one).unwrap();
    assert_eq!((window.pick(0), window.pick(1), window.entry_count()), (Some(0), Some(0), 1));
    // 18 entries: their number no longer fits beside the flags.
    let mut many = vec![1, 0x0f, 17, 0, 1, 0, 0];
    many.extend((1..18u16).flat_map(|distance| distance.to_le_bytes()));
    many.extend([4, 0, 17, 1, 1]);
    let window = whole(&many).unwrap();
    assert_eq!(window.entry_count(), 18);
    assert_eq!(window.row(1).flatten().map(|row| row.node), Some(256 + 17));
}

#[test]
fn a_window_that_is_cut_or_picks_nothing_is_damaged_and_never_panics() {
    for length in 0..SMALL.len() {
        let cut = SMALL.get(..length).unwrap_or(&[]);
        // Without its last values it is a window, but not one with all of them.
        let sound = whole(cut).is_some_and(|window| window.has_all_long_values());
        assert!(!sound, "cut at {length}");
        if let Some(window) = whole(cut) {
            for row in 0..5 {
                let _ = window.row(row);
            }
        }
    }
    let mut wrong = SMALL.to_vec();
    wrong.splice(17..18, [0xf0]);
    assert_eq!(whole(&wrong).unwrap().row(1), None, "there is no entry 15");
    // More files than entries.
    assert!(whole(&[0, 0x40, 1, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5]).is_none());
}

#[test]
fn the_fields_of_a_node_are_as_long_as_its_head_says() {
    let mut bytes = std::vec![
        0x01,
        5,    // a root: function 5
        0x00, // a root: function 0
        0b01_10_01_11,
        1,
        2,
        3,
        4,
        6,
        0x10,
        0x27,
        7, // function, link, line, column
    ];
    bytes.extend([0; 16]);
    let fields = |at: usize| {
        let (head, rest) = bytes.get(at..).unwrap().split_first().unwrap();
        numbers(*head, rest.first_chunk::<16>().unwrap())
    };
    assert_eq!(fields(0), ([5, 0, 0, 0], 1));
    assert_eq!(fields(2), ([0, 0, 0, 0], 0));
    assert_eq!(fields(3), ([0x0403_0201, 6, 10_000, 7], 8));
    let distances = [0, 1, 2, 3, 4].map(|value| unzigzag(value).cast_signed());
    assert_eq!(distances, [0, -1, 1, -2, 2]);
}

#[test]
fn every_position_is_the_slow_one() {
    // Windows with 1 to 256 rows, and behind them the end of the file or others.
    for rows in 1..=256usize {
        let mut bytes = std::vec![u8::try_from(rows - 1).unwrap(), 0, 0, 0, 0, 0];
        let starts: Vec<u8> = (1..rows).map(|row| u8::try_from(row).unwrap()).collect();
        bytes.extend(&starts);
        bytes.extend((0..rows).map(|_| 1));
        let length = bytes.len();
        for behind in [0, 64] {
            bytes.resize(length + behind, 0);
            let window = Window::parse(&bytes, length).unwrap();
            for offset in 0..=255 {
                let slow = starts.iter().filter(|&&start| start <= offset).count();
                assert_eq!(window.position(offset), slow, "{rows} rows, {offset}, {behind} behind");
            }
        }
    }
}

#[test]
fn what_lies_behind_a_window_means_nothing() {
    let rows = |window: Window<'_>| [0, 1, 2, 3].map(|row| window.row(row));
    let expected = rows(whole(SMALL).unwrap());
    for filler in [0, 1, 0x80, 255] {
        let mut bytes = SMALL.to_vec();
        bytes.resize(SMALL.len() + 64, filler);
        assert_eq!(rows(Window::parse(&bytes, SMALL.len()).unwrap()), expected);
        // Long values that are not its own are none.
        let cut = Window::parse(&bytes, SMALL.len() - 1).unwrap();
        assert_eq!((cut.row(2), cut.has_all_long_values()), (None, false));
    }
    assert!(Window::parse(SMALL, SMALL.len() + 1).is_none(), "it reaches past the section");
}

/// All heads: the table against sums, with every number as long as it can be.
#[test]
fn every_head_shapes_its_numbers() {
    let fields: [u8; 16] = std::array::from_fn(|at| u8::try_from(0xf0 - at).unwrap());
    for head in 0..=255u8 {
        let mut rest = &fields[..];
        let slow = [0, 2, 4, 6].map(|shift| {
            let size = [0, 1, 2, 4].get(usize::from(head >> shift & 3)).copied().unwrap();
            let (number, behind) = rest.split_at(size);
            rest = behind;
            number.iter().rev().fold(0, |sum, &byte| (sum << 8) | u32::from(byte))
        });
        assert_eq!(numbers(head, &fields), (slow, 16 - rest.len()), "{head:#x}");
    }
}
