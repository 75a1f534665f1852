//! Hand-made files: the rules of [`super`], one by one, in both byte orders.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::*;
use crate::model::Store;
use crate::model::lines::{NONE, UnitLines};

/// Writes a file field by field.
struct Writer {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl Writer {
    fn new(big_endian: bool, reserved: u32) -> Self {
        let mut writer = Self { bytes: Vec::new(), big_endian };
        writer.u32(0x4a69_5444);
        for value in [1, 40, 62, reserved, 4711] {
            writer.u32(value);
        }
        writer.u64(1).u64(0);
        writer
    }

    fn put(&mut self, mut bytes: Vec<u8>) -> &mut Self {
        if self.big_endian {
            bytes.reverse();
        }
        self.bytes.extend(bytes);
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.put(value.to_le_bytes().to_vec())
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.put(value.to_le_bytes().to_vec())
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    /// A record whose size is that of what `body` writes.
    fn record(&mut self, id: u32, body: impl Fn(&mut Self)) -> &mut Self {
        let mut inner = Self { bytes: Vec::new(), big_endian: self.big_endian };
        body(&mut inner);
        let size = u32::try_from(inner.bytes.len() + 16).unwrap();
        self.u32(id).u32(size).u64(7).raw(&inner.bytes)
    }

    fn load(&mut self, address: u64, code: &[u8], name: &str) -> &mut Self {
        self.record(0, |body| {
            body.u32(4711).u32(4712).u64(address).u64(address);
            body.u64(code.len().try_into().unwrap())
                .u64(1)
                .raw(name.as_bytes())
                .raw(b"\0")
                .raw(code);
        })
    }

    fn relocate(&mut self, old: u64, new: u64) -> &mut Self {
        self.record(1, |body| {
            body.u32(4711).u32(4712).u64(new).u64(old).u64(new).u64(16).u64(1);
        })
    }

    fn debug(&mut self, address: u64, entries: &[(u64, u32, u32, &[u8])]) -> &mut Self {
        self.record(2, |body| {
            body.u64(address).u64(entries.len().try_into().unwrap());
            for &(address, line, column, name) in entries {
                body.u64(address).u32(line).u32(column).raw(name).raw(b"\0");
            }
            while body.bytes.len() % 8 != 0 {
                body.raw(b"\0");
            }
        })
    }
}

fn with<T>(bytes: &[u8], with: impl FnOnce(&Image<'_>) -> T) -> T {
    let store = Store::new();
    with(&read(Path::new("jit-4711.dump"), store.keep(bytes.to_vec())).unwrap())
}

/// (address, size, name) of each symbol.
fn symbols(bytes: &[u8]) -> Vec<(u64, u64, String)> {
    let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    with(bytes, |image| image.symbols.iter().map(|s| (s.address, s.size, name(s.name))).collect())
}

/// (offset, file, line, column) of the rows of each unit.
fn rows(bytes: &[u8]) -> Vec<Vec<(u32, String, u32, u32)>> {
    fn file(unit: &UnitLines<'_>, file: u32) -> String {
        if file == NONE {
            return "none".to_owned();
        }
        String::from_utf8_lossy(unit.files[usize::try_from(file).unwrap()].name).into_owned()
    }
    let rows = |unit: &UnitLines<'_>| {
        unit.rows.iter().map(|r| (r.offset, file(unit, r.file), r.line, r.column)).collect()
    };
    with(bytes, |image| image.lines.iter().map(rows).collect())
}

fn skipped(bytes: &[u8]) -> Vec<(&'static str, u64)> {
    with(bytes, |image| image.report.skipped.clone().into_iter().collect())
}

fn found(address: u64, size: u64, name: &str) -> (u64, u64, String) {
    (address, size, name.to_owned())
}

fn row(offset: u32, file: &str, line: u32, column: u32) -> (u32, String, u32, u32) {
    (offset, file.to_owned(), line, column)
}

/// Everything a file can hold.
fn full(big_endian: bool) -> Vec<u8> {
    let mut writer = Writer::new(big_endian, 0);
    writer
        .record(4, |body| {
            body.u64(20).u64(20).u64(0).raw(&[0; 20]);
        })
        .debug(0x7f_1000, &[(0x7f_1004, 3, 1, b"/a.js"), (0x7f_1000, 2, 0, b"\xff")])
        .load(0x7f_1000, &[0x90; 16], "first f")
        .load(0x7f_2000, &[0x90; 32], "second")
        .relocate(0x7f_2000, 0x7f_3000)
        .record(3, |_| ());
    writer.bytes.clone()
}

#[test]
fn both_byte_orders_are_read() {
    for big_endian in [false, true] {
        let bytes = full(big_endian);
        assert!(is_jitdump(&bytes));
        let all = [found(0x7f_1000, 16, "first f"), found(0x7f_3000, 32, "second")];
        assert_eq!(symbols(&bytes), all);
        assert_eq!(rows(&bytes), [[row(0, "/a.js", 2, 0), row(4, "/a.js", 3, 1)]]);
        assert_eq!(skipped(&bytes), []);
        with(&bytes, |image| {
            assert_eq!((image.machine.name, image.machine.big_endian), ("x86_64", big_endian));
        });
    }
}

#[test]
fn code_replaces_what_it_overlaps() {
    let mut writer = Writer::new(false, 0);
    writer
        .load(0x1000, &[0; 32], "old")
        .load(0x1010, &[0; 32], "new")
        .load(0x2000, &[0; 8], "moved");
    assert_eq!(symbols(&writer.bytes), [found(0x1010, 32, "new"), found(0x2000, 8, "moved")]);
    writer.relocate(0x2000, 0x1020).relocate(0x9000, 0x1000);
    assert_eq!(symbols(&writer.bytes), [found(0x1020, 8, "moved")]);
    let counts = [("move of code that is not there", 1), ("replaced by later code", 2)];
    assert_eq!(skipped(&writer.bytes), counts);
}

#[test]
fn lines_move_with_their_code() {
    let mut writer = Writer::new(false, 0);
    writer
        .debug(0x1000, &[(0x1008, 5, 0, b"a.c")])
        .load(0x1000, &[0; 16], "f")
        .relocate(0x1000, 0x5000);
    assert_eq!(rows(&writer.bytes), [[row(0, "none", 0, 0), row(8, "a.c", 5, 0)]]);
    with(&writer.bytes, |image| assert_eq!(image.lines[0].pieces[0].start, 0x5000));
}

#[test]
fn debug_information_waits_for_the_code_it_names() {
    let mut writer = Writer::new(false, 0);
    writer
        .debug(0x1000, &[(0x1000, 1, 0, b"lost.c")])
        .debug(0x2000, &[(0x2000, 2, 0, b"other.c")])
        .load(0x1000, &[0; 16], "f")
        .load(0x2000, &[0; 16], "g");
    assert_eq!(rows(&writer.bytes), Vec::<Vec<_>>::new());
    assert_eq!(skipped(&writer.bytes), [("debug information of no code", 2)]);
}

#[test]
fn of_several_lines_at_one_address_the_last_wins() {
    let mut writer = Writer::new(false, 0);
    writer
        .debug(0x1000, &[(0x1000, 1, 0, b"a"), (0x1000, 2, 0, b"b"), (0x1000, 3, 0, b"")])
        .load(0x1000, &[0; 16], "f");
    assert_eq!(rows(&writer.bytes), [[row(0, "none", 3, 0)]]);
}

/// Node.js 20 wrote entries whose names were other bytes than their length
/// said: NULs among them end the name early, and what follows is no entry.
#[test]
fn damaged_debug_information_is_left_out_whole() {
    let mut writer = Writer::new(false, 0);
    writer
        .debug(0x1000, &[(0x1000, 1, 26, b"\xf2*\x02\0\0\0\0\0\0w.js"), (0x1002, 1, 39, b"w.js")])
        .load(0x1000, &[0; 16], "f")
        .debug(0x2000, &[(0x2000, 1, 0, b"a"), (0x2010, 1, 0, b"a")])
        .load(0x2000, &[0; 16], "g");
    assert_eq!(rows(&writer.bytes), Vec::<Vec<_>>::new());
    assert_eq!(symbols(&writer.bytes).len(), 2);
    let counts = [("broken record", 1), ("debug information outside of its code", 1)];
    assert_eq!(skipped(&writer.bytes), counts);
}

#[test]
fn addresses_of_v8_are_behind_an_elf_header() {
    let mut writer = Writer::new(false, V8_MARK);
    writer.debug(0x1000, &[(0x1044, 7, 1, b"a.js")]).load(0x1000, &[0; 16], "f");
    assert_eq!(rows(&writer.bytes), [[row(0, "none", 0, 0), row(4, "a.js", 7, 1)]]);
}

#[test]
fn damaged_records_cost_themselves() {
    let mut writer = Writer::new(false, 0);
    writer
        .record(99, |body| {
            body.u64(0);
        })
        .load(0x1000, &[0; 16], "")
        .record(0, |body| {
            body.u32(1);
        })
        .record(0, |body| {
            // Claims more code than the record has.
            body.u32(1).u32(1).u64(0x1000).u64(0x1000).u64(u64::MAX).u64(1).raw(b"x\0");
        })
        .record(2, |body| {
            body.u64(0x1000).u64(u64::MAX);
        })
        .load(0x2000, &[0; 16], "good");
    assert_eq!(symbols(&writer.bytes), [found(0x2000, 16, "good")]);
    assert_eq!(skipped(&writer.bytes), [("broken record", 4), ("unknown record", 1)]);
    with(&writer.bytes, |image| {
        let offset = 40 + 24;
        assert_eq!(
            image.report.warnings,
            [format!(
                "jitdump record at offset {offset:#x}: expected a whole record, found code without a name; skipped it"
            )]
        );
    });
    writer.u32(0).u32(15).u64(0).load(0x3000, &[0; 16], "behind");
    assert_eq!(symbols(&writer.bytes), [found(0x2000, 16, "good")]);
}

#[test]
fn headers_that_are_none_are_told() {
    let text = |bytes: &[u8]| read(Path::new("jit-1.dump"), bytes).unwrap_err().to_string();
    assert!(text(b"DTiJ").contains("expected a jitdump header of 40 bytes, found 4 bytes of one"));
    let mut bytes = full(false);
    bytes[4] = 2;
    assert!(text(&bytes).contains("found version 2 with 40 bytes"));
    // A longer header is skipped.
    let mut bytes = full(false);
    bytes[8] = 48;
    bytes.splice(40..40, [0; 8]);
    assert_eq!(symbols(&bytes).len(), 2);
}

#[test]
fn every_truncation_keeps_what_is_whole() {
    let bytes = full(false);
    let mut counts = Vec::new();
    for end in 40..=bytes.len() {
        counts.push(symbols(&bytes[..end]).len());
    }
    assert!(counts.is_sorted());
    assert_eq!((counts[0], counts.last()), (0, Some(&2)));
    assert_eq!(skipped(&bytes[..bytes.len() - 1]), [("record cut short", 1)]);
    for end in 0..40 {
        assert!(read(Path::new("jit-1.dump"), &bytes[..end]).is_err());
    }
}

#[test]
fn no_damaged_byte_panics() {
    let store = Store::new();
    for big_endian in [false, true] {
        let bytes = full(big_endian);
        for place in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[place] = value;
                let _ = read(Path::new("jit-1.dump"), store.keep(damaged));
            }
        }
    }
}
