//! Bytes that are broken on purpose: nothing panics, hangs, or takes more than
//! its own part with it.

use std::time::{Duration, Instant};

use gimli::constants::*;

use super::builder::Value::*;
use super::builder::{Builder, V4, V5, every_shape};
use super::*;

/// A unit with a bit of everything.
fn everything(shape: builder::Shape) -> Builder {
    let mut b = Builder::new(shape);
    for unit in 0..2 {
        let base = 0x1000 + unit * 0x100;
        let offset = b.lines();
        for row in 0..8 {
            b.row(base + row * 4, row % 3, row as i64, row);
        }
        b.end_sequence(base + 0x40);
        b.end_lines();
        let list = b.range_list(&[(base, base + 0x10), (base + 0x18, base + 0x20)]);
        b.unit(&[(DW_AT_comp_dir, Text("/comp")), (DW_AT_stmt_list, Section(offset))]);
        let label = if unit == 0 { "first" } else { "second" };
        b.leaf(
            label,
            DW_TAG_subprogram,
            &[
                (DW_AT_name, Text("inner")),
                (DW_AT_decl_file, Number(1)),
                (DW_AT_decl_line, Number(3)),
            ],
        );
        b.open("", DW_TAG_subprogram, &[(DW_AT_name, Text("f")), (DW_AT_ranges, Section(list))]);
        for call in 0..3 {
            b.open(
                "",
                DW_TAG_inlined_subroutine,
                &[
                    (DW_AT_abstract_origin, if call == 1 { Far("first") } else { Here(label) }),
                    (DW_AT_low_pc, Address(base + call)),
                    (DW_AT_high_pc, Address(base + 0xc)),
                    (DW_AT_call_file, Number(call)),
                    (DW_AT_call_line, Number(call)),
                ],
            );
        }
        (0..4).for_each(|_| b.close());
        b.end_unit();
    }
    b
}

/// Bits flipped and bytes replaced, thousands of times: every answer keeps its
/// promises.
#[test]
fn damage_anywhere() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    for shape in every_shape() {
        let sound = everything(shape).build();
        let (lines, report) = read(&info_of(sound, shape.big, &CODE));
        assert_eq!(report, Report::default(), "{shape:?}");
        assert!(lines.iter().all(|unit| unit.nodes.len() == 4), "{shape:?} {lines:?}");
        for _ in 0..400 {
            let mut parts = [sound.info, sound.abbrev, sound.line, sound.ranges, sound.rnglists]
                .map(<[u8]>::to_vec);
            for _ in 0..=random(3) {
                let part = &mut parts[random(5)];
                if part.is_empty() {
                    continue;
                }
                let place = random(part.len());
                match random(3) {
                    0 => part[place] ^= 1 << random(8),
                    1 => part[place] = [0, 1, 0x7f, 0x80, 0xff][random(5)],
                    _ => part.truncate(place),
                }
            }
            let [info, abbrev, line, ranges, rnglists] = &parts;
            // The sections outlive the borrow only in the type.
            let hold = |bytes: &Vec<u8>| -> &'static [u8] { bytes.clone().leak() };
            let sections = DwarfSections {
                info: hold(info),
                abbrev: hold(abbrev),
                line: hold(line),
                ranges: hold(ranges),
                rnglists: hold(rnglists),
                ..sound
            };
            read(&info_of(sections, shape.big, &CODE));
        }
    }
}

/// The order of reading changes nothing, nor does reading twice.
#[test]
fn reading_is_repeatable() {
    let info = info_of(everything(V5).build(), false, &CODE);
    let units = Units::open(&info, &mut Report::default());
    let forwards: Vec<_> = (0..2).map(|unit| units.read(unit, &mut Report::default())).collect();
    let threads = std::thread::scope(|scope| {
        let read = |unit| {
            scope.spawn({
                let units = &units;
                move || units.read(unit, &mut Report::default())
            })
        };
        [0, 1].map(read).map(|thread| thread.join().unwrap())
    });
    assert_eq!(forwards, threads);
    let backwards: Vec<_> =
        (0..2).rev().map(|unit| units.read(unit, &mut Report::default())).collect();
    assert_eq!(forwards, backwards.into_iter().rev().collect::<Vec<_>>());
    assert!((0..2).all(|unit| units.weight(unit) > 100));
    assert_eq!((units.weight(2), units.read(2, &mut Report::default())), (0, UnitLines::default()));
}

/// A damaged header that says where it ends costs its unit only; one that does
/// not costs those after it.
#[test]
fn damaged_headers() {
    let sections = everything(V4).build();
    let mut bytes = sections.info.to_vec();
    bytes[4] = 9;
    let mut damaged = DwarfSections { info: bytes.clone().leak(), ..sections };
    let (units, report) = read(&info_of(damaged, false, &CODE));
    assert_eq!(units.len(), 1);
    assert!(report.warnings[0].contains(".debug_info: at 0x0: "), "{report:?}");
    bytes[..4].copy_from_slice(&[0xf0; 4]);
    damaged.info = bytes.leak();
    let (units, report) = read(&info_of(damaged, false, &CODE));
    assert_eq!((units.len(), report.warnings.len()), (0, 1));
}

/// Nothing that many refer to is read as often as they do.
fn is_quick(builder: Builder, reason: &str) {
    let started = Instant::now();
    let (_, report) = read_one(builder);
    assert!(started.elapsed() < Duration::from_secs(20), "took {:?}", started.elapsed());
    assert!(report.skipped.contains_key(reason), "{report:?}");
}

/// Many DIEs claim one long range list.
#[test]
fn one_list_for_many() {
    let mut b = Builder::new(V5);
    let ranges: Vec<_> = (0..50_000).map(|_| (0x1000, 0x1001)).collect();
    let list = b.range_list(&ranges);
    b.unit(&[]);
    for _ in 0..50_000 {
        b.leaf("", DW_TAG_subprogram, &[(DW_AT_ranges, Section(list))]);
    }
    b.end_unit();
    is_quick(b, "address ranges beyond what their unit can hold");
}

/// Many functions claim one range with many rows.
#[test]
fn one_range_for_many() {
    let mut b = Builder::new(V5);
    let offset = b.lines();
    for row in 0..4000 {
        b.row(0x1000 + row, row % 2, 1, 0);
    }
    b.end_sequence(0x2000);
    b.end_lines();
    b.unit(&[(DW_AT_stmt_list, Section(offset))]);
    for _ in 0..50_000 {
        b.leaf(
            "",
            DW_TAG_subprogram,
            &[(DW_AT_low_pc, Address(0x1000)), (DW_AT_high_pc, Number(0x1000))],
        );
    }
    b.end_unit();
    is_quick(b, "functions over functions without end");
}

/// DIEs of one byte cannot make a node each.
#[test]
fn more_inlined_functions_than_bytes() {
    let mut b = Builder::new(V5);
    b.unit(&[]);
    b.open(
        "",
        DW_TAG_subprogram,
        &[(DW_AT_low_pc, Address(0x1000)), (DW_AT_high_pc, Number(0x1000))],
    );
    (0..100_000).for_each(|_| b.leaf("", DW_TAG_inlined_subroutine, &[]));
    b.close();
    b.end_unit();
    is_quick(b, "inlined functions beyond what their unit can hold");
}

/// Attributes that take no bytes make a DIE of one byte cost thousands: such a
/// table is refused. So is one that is longer than any.
#[test]
fn abbreviations_without_end() {
    for (attributes, tables) in [(10_000, 1), (1, 600_000)] {
        let mut b = Builder::new(V5);
        for code in 1..=tables {
            b.abbrev.uleb(code).uleb(DW_TAG_compile_unit.0.into()).u8(0);
            for _ in 0..attributes {
                b.abbrev.uleb(DW_AT_external.0.into()).uleb(DW_FORM_flag_present.0.into());
            }
            b.abbrev.u8(0).u8(0);
        }
        let start = b.info.begin();
        b.info.u16(5).u8(DW_UT_compile.0).u8(8).offset(0).uleb(1);
        b.info.end(start);
        let (units, report) = read(&info_of(b.build(), false, &CODE));
        assert_eq!(units, [UnitLines::default()]);
        assert!(report.warnings[0].contains("expected a root DIE"), "{report:?}");
    }
}

/// Many units name one long line program.
#[test]
fn one_program_for_many() {
    let mut b = Builder::new(V5);
    let offset = b.lines();
    for row in 0..20_000 {
        b.row(0x1000 + row / 8, 0, row as i64, 0);
    }
    b.end_sequence(0x2000);
    b.end_lines();
    for _ in 0..5000 {
        b.unit(&[(DW_AT_stmt_list, Section(offset))]);
        b.end_unit();
    }
    let started = Instant::now();
    let (_, report) = read(&info_of(b.build(), false, &CODE));
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(report.skipped["line programs that too many units share"] > 4000);
}

/// A range or a row that claims more than any function has is damage, even
/// where the file claims that much code.
#[test]
fn code_without_end() {
    let mut b = Builder::new(V5);
    let offset = b.lines();
    b.row(0x1000, 0, 1, 0);
    b.row(1 << 50, 0, 2, 0);
    b.end_sequence(1 << 60);
    b.end_lines();
    b.unit(&[(DW_AT_stmt_list, Section(offset))]);
    for high in [1 << 50, 1 << 33] {
        b.leaf(
            "",
            DW_TAG_subprogram,
            &[
                (DW_AT_name, Text("f")),
                (DW_AT_low_pc, Address(0x1000)),
                (DW_AT_high_pc, Number(high)),
            ],
        );
    }
    b.end_unit();
    let (units, report) = read(&info_of(b.build(), false, &[(0, 1 << 62, 0)]));
    assert_eq!(report.skipped["functions of dead code"], 1);
    let pieces: Vec<_> = units[0].pieces.iter().map(|piece| (piece.start, piece.size)).collect();
    assert_eq!(pieces.iter().map(|piece| piece.1).sum::<u64>(), 1 << 33);
    assert_eq!(pieces.len(), 3, "pieces are split at 32 bits");
    assert!(units[0].pieces[0].entry && !units[0].pieces[1].entry);
}

/// Thousands of DIEs whose name is one long string in place: looking for its end
/// and telling it from others for each made 2 MB of DWARF take minutes.
#[test]
fn one_long_name_is_not_read_without_end() {
    let name: &'static str = "N".repeat(100_000).leak();
    let mut b = Builder::new(V4);
    b.unit(&[]);
    b.leaf("long", DW_TAG_subprogram, &[(DW_AT_name, Text(name))]);
    b.open(
        "",
        DW_TAG_subprogram,
        &[
            (DW_AT_name, Text("f")),
            (DW_AT_low_pc, Address(0x1000)),
            (DW_AT_high_pc, Address(0x2000)),
        ],
    );
    for call in 0..2000 {
        b.leaf(
            "",
            DW_TAG_inlined_subroutine,
            &[
                (DW_AT_specification, Here("long")),
                (DW_AT_low_pc, Address(0x1000 + call)),
                (DW_AT_high_pc, Address(0x1001 + call)),
            ],
        );
    }
    b.close();
    b.end_unit();
    let (lines, report) = read_one(b);
    let named = |node: &&crate::model::lines::Node| node.function != NONE;
    let named = lines.nodes.iter().filter(named).count();
    assert!((2..200).contains(&named), "{named} of {}", lines.nodes.len());
    assert!(report.skipped.contains_key("references beyond what their unit can hold"));
}

/// Every unit of a few bytes was allowed a thousand ranges: 50 KB of units that
/// share one list took 300 MB.
#[test]
fn small_units_have_few_ranges() {
    let mut b = Builder::new(V4);
    let ranges: Vec<(u64, u64)> = (0..2000).map(|n| (0x1000 + n * 2, 0x1001 + n * 2)).collect();
    let list = b.range_list(&ranges);
    b.unit(&[]);
    b.leaf("", DW_TAG_subprogram, &[(DW_AT_name, Text("f")), (DW_AT_ranges, Section(list))]);
    b.end_unit();
    let (lines, report) = read_one(b);
    assert!((1..200).contains(&lines.pieces.len()), "{}", lines.pieces.len());
    assert!(report.skipped.contains_key("address ranges beyond what their unit can hold"));
}
