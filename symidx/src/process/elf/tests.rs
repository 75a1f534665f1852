//! Headers of every shape, cut at every length, with numbers that lie.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use super::*;
use proptest::prelude::*;
use small_elf::SmallElf;
use std::cell::Cell;
use std::string::ToString as _;
use std::vec::Vec;

#[path = "../../../tests/support/small_elf.rs"]
mod small_elf;

/// More calls than any file may cause: two windows for each header, one for
/// each note.
const MAX_CALLS: usize = 4 * 4096 + (64 << 10) / 12 + 16;

/// Counts how often it is asked.
struct Counted<'b>(&'b [u8], Cell<usize>);

impl ReadAt for Counted<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> usize {
        self.1.set(self.1.get() + 1);
        ReadAt::read_at(&self.0, buffer, offset)
    }
}

#[derive(Debug, PartialEq)]
struct Read {
    id: Option<Id>,
    loads: Vec<LoadHeader>,
    embedded: Option<(u64, u64)>,
}

/// Everything that can be asked, and with how many calls.
fn read(bytes: &[u8]) -> (Option<Read>, usize) {
    let counted = Counted(bytes, Cell::new(0));
    let read = Elf::open(&counted).map(|mut elf| {
        let mut loads = Vec::new();
        elf.loads(|load| loads.push(load));
        Read { id: elf.build_id(), loads, embedded: elf.embedded() }
    });
    (read, counted.1.get())
}

fn shapes() -> impl Iterator<Item = SmallElf> {
    (0..32).map(|bits| SmallElf {
        is_64: bits & 1 != 0,
        big: bits & 2 != 0,
        note_align: if bits & 4 != 0 { 8 } else { 4 },
        extended: bits & 8 != 0,
        embedded: (bits & 16 != 0).then(|| std::vec![7; 100]),
        ..SmallElf::default()
    })
}

#[test]
fn both_widths_orders_and_numberings_read_the_same() {
    for shape in shapes() {
        let bytes = shape.bytes();
        let (found, calls) = read(&bytes);
        let found = found.unwrap();
        assert_eq!(found.id.unwrap().as_bytes(), shape.id, "{shape:?}");
        let load = |[file_offset, svma, file_size, memory_size, flags]: [u64; 5]| LoadHeader {
            file_offset,
            svma,
            file_size,
            memory_size,
            execute: flags & 1 != 0,
        };
        let expected: Vec<_> = shape.loads.iter().copied().map(load).collect();
        assert_eq!(found.loads, expected, "{shape:?}");
        match (&shape.embedded, found.embedded) {
            (Some(content), Some((offset, size))) => {
                let at = usize::try_from(offset).unwrap();
                let size = usize::try_from(size).unwrap();
                assert_eq!(&bytes[at..at + size], content);
            }
            (None, Some((_, 0)) | None) => {}
            other => assert!(other.0.is_none(), "{other:?}"),
        }
        assert!(calls <= 8, "{calls}");
    }
}

#[test]
fn every_truncation_is_borne() {
    for shape in shapes() {
        let bytes = shape.bytes();
        let whole = read(&bytes).0.unwrap();
        for length in 0..bytes.len() {
            let (cut, calls) = read(&bytes[..length]);
            assert!(calls < 64, "{calls}");
            // What is left is right, or missing.
            if let Some(cut) = cut {
                assert!(cut.id.is_none() || cut.id == whole.id);
                assert!(whole.loads.starts_with(&cut.loads));
                assert!(cut.embedded.is_none() || cut.embedded == whole.embedded);
            }
        }
    }
}

#[test]
fn ids_of_any_length_that_fits_are_read() {
    for length in [1, 2, 16, 20, 63, 64] {
        let id: Vec<u8> = (0..length).collect();
        let found = read(&SmallElf::with_id(&id).bytes()).0.unwrap().id;
        assert_eq!(found.unwrap().as_bytes(), id);
    }
    assert_eq!(read(&SmallElf::with_id(&[]).bytes()).0.unwrap().id, None);
    assert_eq!(read(&SmallElf::with_id(&[1; 65]).bytes()).0.unwrap().id, None);
    let notes = [4u32, 2, 3].iter().flat_map(|field| field.to_ne_bytes());
    let notes: Vec<u8> = notes.chain(*b"GNU\0\x93\xac\0\0").collect();
    assert_eq!(build_id_in_notes(&notes).unwrap().to_string(), "93ac");
    assert_eq!(build_id_in_notes(&notes[..16]), None);
}

/// Sizes of a note, offsets and sizes of tables at the end of all numbers.
#[test]
fn numbers_that_wrap_are_borne() {
    for shape in shapes() {
        let bytes = shape.bytes();
        for at in 0..bytes.len().saturating_sub(8) {
            for value in [0u64, 1, u64::MAX, u64::MAX - 7, 1 << 63, 0xffff_ffff] {
                for width in [2, 4, 8] {
                    let mut wrong = bytes.clone();
                    let field = if shape.big { value.to_be_bytes() } else { value.to_le_bytes() };
                    let field = if shape.big { &field[8 - width..] } else { &field[..width] };
                    wrong[at..at + width].copy_from_slice(field);
                    let (_, calls) = read(&wrong);
                    assert!(calls <= MAX_CALLS, "{calls} at {at} {value:#x} {shape:?}");
                }
            }
        }
    }
}

/// A file of nothing but program headers, each with notes: every header paid
/// for 64 KiB of them, 340 million steps in all.
#[test]
fn notes_of_all_headers_together_are_bounded() {
    let count = 60_000usize;
    let mut bytes = SmallElf::default().bytes();
    bytes[56..58].copy_from_slice(&u16::try_from(count).unwrap().to_le_bytes());
    bytes.truncate(64);
    for _ in 0..count {
        let mut header = [0u8; 56];
        header[0] = 4;
        // All of them have the same notes, which say nothing.
        header[8..16].copy_from_slice(&u64::try_from(64 + count * 56).unwrap().to_le_bytes());
        header[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        bytes.extend(header);
    }
    bytes.resize(bytes.len() + (128 << 10), 0);
    let (found, calls) = read(&bytes);
    assert_eq!(found.unwrap().id, None);
    // The headers twice, for segments and for notes, and the notes once.
    assert!((64..1000).contains(&calls), "{calls}");
    // Notes of no content, as many as there are.
    let zeros = std::vec![0; 1 << 20];
    assert_eq!(build_id_in_notes(&zeros), None);
}

/// 65535 program headers are those of section header 0; an image in memory
/// has no section headers, and then the number itself counts.
#[test]
fn a_number_of_headers_without_its_section_is_the_number() {
    let shape = SmallElf { extended: true, ..SmallElf::default() };
    let mut bytes = shape.bytes();
    assert_eq!(read(&bytes).0.unwrap().loads.len(), 2);
    let sections = u64::from_le_bytes(bytes[40..48].try_into().unwrap());
    bytes.truncate(usize::try_from(sections).unwrap());
    let found = read(&bytes).0.unwrap();
    assert_eq!(found.loads.len(), 2);
    assert_eq!(found.id.unwrap().as_bytes(), shape.id);
}

/// Finding a section costs a few calls of the system, not two for each section.
#[test]
fn tables_and_names_are_read_through_windows_of_their_own() {
    let shape = SmallElf { embedded: Some(std::vec![1; 5000]), ..SmallElf::default() };
    let bytes = shape.bytes();
    let counted = Counted(&bytes, Cell::new(0));
    let mut elf = Elf::open(&counted).unwrap();
    assert_eq!(counted.1.get(), 1);
    assert_eq!(elf.embedded().unwrap().1, 5000);
    assert!(counted.1.get() <= 4, "{}", counted.1.get());
}

proptest! {
    #[test]
    fn any_bytes_cause_few_calls_and_no_panic(
        shape in 0usize..32,
        changes in proptest::collection::vec((0usize..700, any::<u8>()), 0..24),
    ) {
        let mut bytes = shapes().nth(shape).unwrap().bytes();
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        let (_, calls) = read(&bytes);
        prop_assert!(calls <= MAX_CALLS, "{}", calls);
    }

    #[test]
    fn any_bytes_may_be_notes(notes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = build_id_in_notes(&notes);
    }
}
