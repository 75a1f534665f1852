//! Recordings made by hand, as files and for pipes, whole and compressed.

#[path = "../../../../cli/perf/tests/common/mod.rs"]
mod common;

use common::*;

/// Some of every kind of record, not in the order of their times, two rounds.
fn recording(fields: u64, big: bool) -> Recording {
    let mut made = Recording { big, ..Recording::new(fields) };
    made.ids.push((USER, b"/lib/libc.so.6".to_vec(), [7; 20]));
    made.ids.push((KERNEL, b"[kernel.kallsyms]".to_vec(), [9; 20]));
    made.kernel(0xffff_ffff_8100_0000, 0x100_0000, 0xffff_ffff_8100_0000, "[kernel.kallsyms]_text");
    made.comm(10, 3, "first", false);
    made.mmap(10, 4, 0x40_0000, 0x1000, 0, "/bin/first");
    made.sample(USER, 10, 9, 0x40_0010, &[CONTEXT_USER, 0x40_0010, 0x40_0020]);
    made.sample(KERNEL, 10, 7, 0xffff_ffff_8100_1000, &[CONTEXT_KERNEL, 0xffff_ffff_8100_1000]);
    made.round();
    made.task(FORK, 11, 10, 12);
    made.comm(11, 13, "second", true);
    made.mmap(11, 14, 0x7f00_0000_0000, 0x2000, 0x3000, "/lib/libc.so.6");
    made.sample(USER, 11, 15, 0x7f00_0000_0123, &[]);
    made.sample(USER, 10, 11, 0x40_0011, &[0x40_0011]);
    made.round();
    made.task(EXIT, 11, 10, 20);
    // Code that the kernel made, and what was lost.
    let ksymbol = [
        made.u64(0xffff_ffff_c000_0000),
        made.u32(64),
        made.u16(1),
        made.u16(0),
        padded(b"bpf_prog_1"),
        [made.u32(0), made.u32(0), made.u64(21)].concat(),
    ];
    made.add(17, 0, &ksymbol.concat());
    let lost = [made.u64(77), made.u64(5), [made.u32(0), made.u32(0), made.u64(22)].concat()];
    made.add(2, 0, &lost.concat());
    made
}

fn agree(bytes: &[u8], records: usize) {
    let found = records::compare(bytes).expect("both should read it");
    assert!(found.differences.is_empty(), "{:#?}", found.differences);
    assert_eq!(found.same, records);
}

#[test]
fn both_read_the_same_from_files_and_pipes() {
    for fields in [IP_TID_TIME, IP_TID_TIME | CALLCHAIN, IP_TID_TIME | CALLCHAIN | PERIOD] {
        let made = recording(fields, false);
        agree(&made.file(), 13);
        agree(&made.pipe(), 13);
        let found = records::compare(&made.file()).expect("both should read it");
        assert_eq!(found.build_ids, 2);
    }
}

#[test]
fn both_read_the_same_compressed_however_it_is_cut() {
    let mut made = recording(IP_TID_TIME | CALLCHAIN, false);
    // Rounds are marks of the file, never compressed.
    made.records.retain(|record| record[0] != 68);
    for piece in [9, 40, 1000] {
        agree(&made.compressed(piece).file(), 13);
    }
}

/// linux-perf-data 0.13 reads the flags of a big-endian attribute in the wrong order, so that
/// for it only samples have a time: they are the same, the rest has no order.
#[test]
fn samples_of_the_other_byte_order_are_the_same() {
    let bytes = recording(IP_TID_TIME | CALLCHAIN, true).file();
    let is_sample = |line: &String| line.starts_with("sample");
    let (ours, _) = records::ours(bytes.clone()).expect("symidx should read it");
    let (theirs, _) = records::theirs(&bytes).expect("linux-perf-data should read it");
    let ours: Vec<String> = ours.into_iter().filter(is_sample).collect();
    let theirs: Vec<String> = theirs.into_iter().map(|(_, line)| line).filter(is_sample).collect();
    assert_eq!(ours.len(), 4);
    assert_eq!(ours, theirs);
}

#[test]
fn a_difference_is_seen() {
    let one = recording(IP_TID_TIME, false);
    let mut other = one.clone();
    other.sample(USER, 10, 30, 0x99, &[]);
    let (ours, _) = records::ours(one.file()).expect("symidx should read it");
    let (more, _) = records::ours(other.file()).expect("symidx should read it");
    assert_ne!(ours, more);
    assert_eq!(more.last().map(|line| line.contains(" 99 ")), Some(true));
}
