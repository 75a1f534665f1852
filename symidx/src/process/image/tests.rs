//! Mappings of every kind of loader, and segments that share pages.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use super::*;
use crate::process::maps::mappings;

fn load(
    file_offset: u64,
    svma: u64,
    file_size: u64,
    memory_size: u64,
    execute: bool,
) -> LoadHeader {
    LoadHeader { file_offset, svma, file_size, memory_size, execute }
}

/// The biases of the text's mappings with a name; the spans of those without.
/// Start, end and bias.
type Memory = Vec<(u64, u64, u64)>;

fn place(text: &str, loads: &[LoadHeader]) -> (Vec<Option<u64>>, Memory) {
    let all: Vec<_> = mappings(text.as_bytes()).map(Result::unwrap).collect();
    let (free, held): (Vec<Mapping<'_>>, Vec<_>) =
        all.into_iter().partition(|mapping| mapping.may_be_segment());
    let found = biases(&held, loads);
    let spans = memory_spans(7, &held, &found, loads, &free, &mut 1000);
    let spans = spans.iter().map(|span| (span.start, span.end, span.bias.unwrap()));
    (found, spans.collect())
}

/// Read-only and writable data end and begin in one page of the file: by the
/// first segment that holds the offset, data was moved by a page too much.
#[test]
fn segments_that_share_a_page_are_told_apart_by_the_image() {
    let loads = [
        load(0, 0, 0x800, 0x800, false),
        load(0x800, 0x1800, 0x1000, 0x1000, true),
        load(0x1800, 0x3800, 0x700, 0x700, false),
        load(0x1f00, 0x4f00, 0x400, 0x2400, false),
    ];
    let text = "\
        10000-11000 r--p 00000000 08:01 5 /a.so\n\
        11000-13000 r-xp 00000000 08:01 5 /a.so\n\
        13000-14000 r--p 00001000 08:01 5 /a.so\n\
        14000-15000 r--p 00001000 08:01 5 /a.so\n\
        15000-16000 rw-p 00002000 08:01 5 /a.so\n\
        16000-18000 rw-p 00000000 00:00 0 \n";
    let (biases, memory) = place(text, &loads);
    assert_eq!(biases, [Some(0x10000); 5]);
    assert_eq!(memory, [(0x16000, 0x18000, 0x10000)]);
}

#[test]
fn a_program_that_may_not_move_has_no_bias() {
    let loads =
        [load(0, 0x40_0000, 0x1000, 0x1000, true), load(0x1000, 0x60_0000, 0x200, 0x4000, false)];
    let text = "\
        400000-401000 r-xp 00000000 08:01 5 /app\n\
        600000-601000 rw-p 00001000 08:01 5 /app\n\
        601000-604000 rw-p 00000000 00:00 0 \n\
        604000-700000 rw-p 00000000 00:00 0 [heap]\n";
    let (biases, memory) = place(text, &loads);
    assert_eq!(biases, [Some(0); 2]);
    assert_eq!(memory, [(0x60_1000, 0x60_4000, 0)], "the heap is nobody's");
}

/// Without address randomization the kernel merges the end of the program's
/// memory with the heap.
#[test]
fn the_heap_may_begin_in_the_mapping_where_the_program_ends() {
    let loads =
        [load(0, 0x40_0000, 0x1000, 0x1000, true), load(0x1000, 0x60_0000, 0x200, 0x2000, false)];
    let text = "\
        400000-401000 r-xp 00000000 08:01 5 /app\n\
        600000-601000 rw-p 00001000 08:01 5 /app\n\
        601000-700000 rw-p 00000000 00:00 0 [heap]\n";
    assert_eq!(place(text, &loads).1, [(0x60_1000, 0x60_2000, 0)]);
}

/// A library that was linked for one address and loaded at another, and one
/// whose first segment is not at its file's start.
#[test]
fn images_that_were_linked_elsewhere_are_moved_by_the_difference() {
    let loads = [load(0x1000, 0x7000_1000, 0x1000, 0x1000, true)];
    let text = "50001000-50002000 r-xp 00001000 08:01 5 /p.so\n";
    assert_eq!(place(text, &loads).0, [Some(0x5000_1000u64.wrapping_sub(0x7000_1000))]);
}

/// Segments aligned to 2 MiB: what lies between them is closed, and belongs to
/// nobody although it is mapped from the file.
#[test]
fn closed_memory_between_segments_is_nobodys() {
    let loads = [load(0, 0, 0x1000, 0x1000, true), load(0x1000, 0x20_1000, 0x1000, 0x1000, false)];
    let text = "\
        7f0000000000-7f0000001000 r-xp 00000000 08:01 5 /a.so\n\
        7f0000001000-7f0000201000 ---p 00001000 08:01 5 /a.so\n\
        7f0000201000-7f0000202000 rw-p 00001000 08:01 5 /a.so\n";
    let bias = Some(0x7f00_0000_0000);
    assert_eq!(place(text, &loads).0, [bias, None, bias]);
}

/// A program that moves its own code to large pages: it is memory without a
/// file then, amid the file's mappings.
#[test]
fn code_that_was_moved_to_large_pages_stays_the_files() {
    let loads = [load(0, 0x40_0000, 0x60_0000, 0x60_0000, true)];
    let text = "\
        400000-600000 r-xp 00000000 08:01 5 /app\n\
        600000-800000 r-xp 00000000 00:00 0 \n\
        800000-a00000 r-xp 00400000 08:01 5 /app\n";
    let (biases, memory) = place(text, &loads);
    assert_eq!(biases, [Some(0); 2]);
    assert_eq!(memory, [(0x60_0000, 0x80_0000, 0)]);
}

/// Whoever reads a library maps it too; memory behind that is not its data.
#[test]
fn a_file_that_is_mapped_to_be_read_claims_no_memory() {
    let loads = [load(0, 0, 0x1000, 0x1000, true), load(0x1000, 0x1000, 0x1000, 0x9000, false)];
    let text = "\
        10000-12000 r--p 00000000 08:01 5 /a.so\n\
        12000-19000 rw-p 00000000 00:00 0 \n";
    assert_eq!(place(text, &loads).1, []);
}

/// The same file loaded twice, in two namespaces of the loader.
#[test]
fn two_images_of_one_file_have_a_bias_each() {
    let loads = [load(0, 0, 0x1000, 0x1000, true), load(0x1000, 0x2000, 0x1000, 0x2000, false)];
    let text = "\
        10000-11000 r-xp 00000000 08:01 5 /a.so\n\
        12000-13000 rw-p 00001000 08:01 5 /a.so\n\
        13000-14000 rw-p 00000000 00:00 0 \n\
        80000-81000 r-xp 00000000 08:01 5 /a.so\n\
        82000-83000 rw-p 00001000 08:01 5 /a.so\n\
        83000-85000 rw-p 00000000 00:00 0 \n";
    let (biases, memory) = place(text, &loads);
    assert_eq!(biases, [0x10000, 0x10000, 0x80000, 0x80000].map(Some));
    assert_eq!(memory, [(0x13000, 0x14000, 0x10000), (0x83000, 0x84000, 0x80000)]);
}

/// Headers that claim all of memory, thousands of times.
#[test]
fn lying_headers_make_few_spans() {
    let loads: Vec<_> = (0..4096).map(|_| load(0, 0, u64::MAX, u64::MAX - 0x2000, true)).collect();
    let mut text = std::string::String::new();
    for number in 1..500u64 {
        let at = number * 0x2000;
        text += &std::format!("{at:x}-{:x} r-xp 00000000 08:01 5 /a.so\n", at + 0x1000);
        text += &std::format!("{:x}-{:x} rw-p 00000000 00:00 0 \n", at + 0x1000, at + 0x2000);
    }
    assert!(place(&text, &loads).1.len() <= 1000);
    let wild = [load(u64::MAX, u64::MAX, u64::MAX, u64::MAX, true), load(0, u64::MAX, 9, 9, true)];
    let _ =
        place("0-ffffffffffffffff rwxp ffffffffffffffff 0:0 1 /x\n10-5 rwxp 0 0:0 1 /x\n", &wild);
}
