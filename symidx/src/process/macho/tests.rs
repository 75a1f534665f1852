//! Headers of real and of damaged files, read as if they were in memory.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use super::*;
use std::string::ToString as _;
use std::vec::Vec;

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../../../testdata/macho/", $name)).as_slice()
    };
}

/// Each file, with its segments as `otool -l` has them: svma, size, offset,
/// bytes in the file, executable.
const FILES: [(&[u8], bool); 4] = [
    (file!("symbols/sym.macho"), true),
    (file!("symbols/armv7.macho"), false),
    (file!("debug-map/arm64/app"), true),
    (file!("debug-map/x86_64/app"), true),
];

fn segments(bytes: &[u8]) -> Vec<Segment> {
    MachO::open(bytes).map(|read| read.segments().collect()).unwrap_or_default()
}

#[test]
fn files_of_both_widths_have_their_segments() {
    for (bytes, is_64) in FILES {
        let read = MachO::open(bytes).unwrap();
        assert_eq!(read.is_64, is_64);
        let segments = segments(bytes);
        let code: Vec<_> = segments.iter().filter(|segment| segment.execute).collect();
        assert_eq!(code.len(), 1, "{segments:?}");
        assert!(segments.iter().all(|segment| segment.memory_size < 1 << 20), "{segments:?}");
    }
}

/// As `llvm-objdump --macho --private-headers` prints them.
#[test]
fn the_values_are_those_of_the_file() {
    let code = |bytes: &'static [u8]| {
        let found = segments(bytes).into_iter().find(|segment| segment.execute).unwrap();
        let uuid = MachO::open(bytes).unwrap().uuid().unwrap().to_string();
        (found.svma, found.memory_size, found.file_offset, found.file_size, uuid)
    };
    let app = code(file!("debug-map/arm64/app"));
    assert_eq!(app, (0, 0x4000, 0, 0x4000, "4c4c446d55553144a1684414f5065917".into()));
    let app = code(file!("symbols/sym.macho"));
    let uuid = "000102030405060708090a0b0c0d0e0f";
    assert_eq!(app, (0x1_0000_0000, 0x1000, 0, 0x1000, uuid.into()));
    assert_eq!(code(file!("symbols/armv7.macho")), (0x4000, 0x1000, 0, 0x1000, uuid.into()));
    // The same UUID as its `.dSYM` has.
    let dsym = MachO::open(file!("debug-map/arm64/app.dSYM/Contents/Resources/DWARF/app")).unwrap();
    assert_eq!(dsym.uuid().unwrap().to_string(), "4c4c446d55553144a1684414f5065917");
}

/// A header written by hand, in both widths and both orders.
#[test]
fn hand_made_headers_of_both_orders_read_the_same() {
    for bits in 0..4u8 {
        let (is_64, big) = (bits & 1 != 0, bits & 2 != 0);
        let bytes = hand_made(is_64, big);
        let read = MachO::open(&bytes).unwrap();
        assert_eq!(read.uuid().unwrap().as_bytes(), [9; 16]);
        let segments: Vec<_> = read.segments().collect();
        let expected = Segment {
            svma: 0x4000,
            memory_size: 0x3000,
            file_offset: 0x1000,
            file_size: 0x2000,
            execute: true,
        };
        assert_eq!(segments, [expected], "the zero page and the tables are left out");
        for length in 0..bytes.len() {
            assert!(MachO::open(&bytes[..length]).is_none(), "{length}");
        }
        // A byte past the commands is never looked at.
        let size = MachO::size(bytes.first_chunk().unwrap()).unwrap();
        assert_eq!(size, bytes.len());
    }
}

pub(crate) fn hand_made(is_64: bool, big: bool) -> Vec<u8> {
    let put = |to: &mut Vec<u8>, value: u64, width: usize| {
        let bytes = value.to_be_bytes();
        let mut bytes = bytes[8 - width..].to_vec();
        if !big {
            bytes.reverse();
        }
        to.extend(bytes);
    };
    let word = if is_64 { 8 } else { 4 };
    let mut commands = Vec::new();
    for (name, values, protection) in [
        (b"__PAGEZERO\0\0\0\0\0\0", [0, 0x4000, 0, 0], 0),
        (b"__TEXT\0\0\0\0\0\0\0\0\0\0", [0x4000, 0x3000, 0x1000, 0x2000], 5),
        (b"__LINKEDIT\0\0\0\0\0\0", [0x8000, 0x1000, 0x3000, 0x1000], 1),
    ] {
        put(&mut commands, if is_64 { 0x19 } else { 1 }, 4);
        put(&mut commands, if is_64 { 72 } else { 56 }, 4);
        commands.extend(name);
        for value in values {
            put(&mut commands, value, word);
        }
        for value in [7, protection, 0, 0] {
            put(&mut commands, value, 4);
        }
    }
    put(&mut commands, 0x1b, 4);
    put(&mut commands, 24, 4);
    commands.extend([9; 16]);
    let mut bytes = Vec::new();
    put(&mut bytes, if is_64 { 0xfeed_facf } else { 0xfeed_face }, 4);
    let size = u64::try_from(commands.len()).unwrap();
    for value in [0x0100_000c, 0, 2, 4, size, 0] {
        put(&mut bytes, value, 4);
    }
    if is_64 {
        put(&mut bytes, 0, 4);
    }
    bytes.extend(commands);
    bytes
}

#[test]
fn every_changed_byte_and_length_is_borne() {
    for (bytes, _) in FILES {
        let size = MachO::size(bytes.first_chunk().unwrap()).unwrap();
        let header = &bytes[..size];
        for length in 0..size {
            assert!(segments(&header[..length]).is_empty());
        }
        for at in 0..size {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut wrong = header.to_vec();
                wrong[at] = value;
                if let Some(read) = MachO::open(&wrong) {
                    let _ = read.uuid();
                    // Each command has eight bytes at least.
                    assert!(read.segments().count() <= size / 8);
                }
            }
        }
    }
}

#[test]
fn sizes_that_lie_read_no_further_than_they_say() {
    let mut bytes = hand_made(true, false);
    // As many commands as there are numbers, none of them complete.
    bytes[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(segments(&bytes).len(), 1);
    // A command of no size would come again and again.
    bytes[36..40].copy_from_slice(&0u32.to_le_bytes());
    assert_eq!(segments(&bytes).len(), 0);
    // More commands than any image has.
    bytes[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(MachO::size(bytes.first_chunk().unwrap()), Some((1 << 20) + 32));
    assert!(MachO::open(&bytes).is_none());
    for other in [&b"\x7fELF0000000000000000000000000000"[..], &[0; 64], &[0xca; 64]] {
        assert!(MachO::open(other).is_none());
    }
}
