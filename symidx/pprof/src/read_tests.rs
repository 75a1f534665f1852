use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::*;
use crate::wire::{put_length, put_number};

/// A profile with one of everything.
fn whole() -> Profile {
    let mut profile = Profile::default();
    let mut text = |text: &str| profile.strings.intern(text);
    let (space, bytes, file, id) = (text("space"), text("bytes"), text("/bin/a"), text("abcd"));
    let (main, source, note) = (text("main"), text("a.c"), text("ü;\0"));
    profile.sample_types =
        vec![ValueType { r#type: space, unit: bytes }, ValueType { r#type: note, unit: 0 }];
    profile.samples = vec![
        Sample {
            location_id: vec![2, 1],
            value: vec![-5, i64::MAX],
            label: vec![Label { key: note, str: main, num: -1, num_unit: bytes }],
        },
        Sample { location_id: Vec::new(), value: vec![0, i64::MIN], label: Vec::new() },
    ];
    profile.mappings = vec![Mapping {
        id: 7,
        memory_start: 0x1000,
        memory_limit: u64::MAX,
        file_offset: 0x10,
        filename: file,
        build_id: id,
        has_functions: true,
        has_filenames: false,
        has_line_numbers: true,
        has_inline_frames: true,
    }];
    profile.locations = vec![
        Location {
            id: 1,
            mapping_id: 7,
            address: 0x1234,
            line: vec![
                Line { function_id: 9, line: 3, column: 4 },
                Line { function_id: 9, line: -1, column: 0 },
            ],
            is_folded: true,
        },
        Location { id: 2, ..Location::default() },
    ];
    profile.functions =
        vec![Function { id: 9, name: main, system_name: main, filename: source, start_line: 2 }];
    profile.drop_frames = main;
    profile.keep_frames = source;
    profile.time_nanos = 1;
    profile.duration_nanos = -2;
    profile.period_type = Some(ValueType { r#type: space, unit: bytes });
    profile.period = 524_288;
    profile.comments = vec![note, 0, main];
    profile.default_sample_type = space;
    profile.doc_url = note;
    profile
}

fn plain(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert!(profile.write_plain(&mut bytes).is_ok());
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    assert!(encoder.write_all(bytes).is_ok());
    encoder.finish().unwrap_or_default()
}

fn read(bytes: &[u8]) -> Result<(Profile, Damage), ReadError> {
    Profile::read(bytes, Limits::default())
}

/// The profile and what was wrong with it, of bytes that are one.
fn kept(bytes: &[u8]) -> (Profile, Vec<(Fault, u64)>) {
    let found = read(bytes).map(|(profile, damage)| (profile, damage.iter().collect()));
    assert!(found.is_ok(), "{found:?}");
    found.unwrap_or_default()
}

#[test]
fn what_is_written_is_read_again() {
    let profile = whole();
    let bytes = plain(&profile);
    assert_eq!(kept(&bytes), (profile.clone(), vec![]));
    let mut packed = Vec::new();
    assert!(profile.write(&mut packed).is_ok());
    assert!(packed.starts_with(&[0x1f, 0x8b]));
    assert_eq!(kept(&packed), (profile.clone(), vec![]));
    // Two members, as `cat` of two parts gives them.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    assert_eq!(kept(&[gzip(first), gzip(second)].concat()), (profile, vec![]));
}

#[test]
fn unknown_fields_are_kept() {
    let mut bytes = plain(&whole());
    put_number(&mut bytes, 99, 5);
    put_length(&mut bytes, 100, 3);
    bytes.extend_from_slice(b"abc");
    let (profile, damage) = kept(&bytes);
    assert_eq!((plain(&profile), damage), (bytes, vec![]));
}

#[test]
fn packed_comments_are_read() {
    let mut bytes = plain(&Profile { comments: Vec::new(), ..whole() });
    put_length(&mut bytes, 13, 2);
    bytes.extend_from_slice(&[3, 4]);
    assert_eq!(kept(&bytes).0.comments, [3, 4]);
}

/// A profile with these bytes behind it.
fn with(change: impl FnOnce(&mut Vec<u8>)) -> (Profile, Vec<(Fault, u64)>) {
    let mut bytes = plain(&whole());
    change(&mut bytes);
    kept(&bytes)
}

fn put<M: Message>(bytes: &mut Vec<u8>, number: u64, message: &M) {
    put_length(bytes, number, message.encoded_len());
    bytes.extend_from_slice(&message.encode_to_vec());
}

#[test]
fn a_damaged_message_costs_only_itself() {
    for (number, fault) in [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (11, 1)] {
        let (profile, damage) = with(|bytes| {
            put_length(bytes, number, 2);
            bytes.extend_from_slice(&[0x0a, 0x7f]);
        });
        assert_eq!((profile, damage), (whole(), vec![(Fault::Message, fault)]), "{number}");
    }
    let (profile, damage) = with(|bytes| {
        // A sample that is a number, a period that is text, and a text that is none.
        put_number(bytes, 2, 5);
        put_length(bytes, 12, 1);
        bytes.push(b'x');
        put_length(bytes, 6, 2);
        bytes.extend_from_slice(b"a\xff");
    });
    assert_eq!(damage, [(Fault::FieldType, 2), (Fault::Utf8, 1)]);
    assert_eq!(profile.strings.iter().last(), Some("a\u{fffd}"));
    assert_eq!(Profile { strings: whole().strings, ..profile }, whole());
    let (profile, damage) = with(|bytes| bytes.extend_from_slice(&[0x0b, 1, 2]));
    assert_eq!((profile, damage), (whole(), vec![(Fault::Tail, 1)]));
}

#[test]
fn what_refers_to_nothing_is_left_out_and_counted() {
    let (profile, damage) = with(|bytes| {
        for id in [0, 7, 8] {
            put(bytes, 3, &Mapping { id, memory_start: 9, memory_limit: 8, ..Mapping::default() });
        }
        for id in [0, 9] {
            put(bytes, 5, &Function { id, ..Function::default() });
        }
        for id in [0, 1] {
            put(bytes, 4, &Location { id, ..Location::default() });
        }
        let line = |function_id| Line { function_id, line: 1, column: 0 };
        let line = vec![line(0), line(9), line(10)];
        put(bytes, 4, &Location { id: 3, mapping_id: 9, line, ..Location::default() });
        let value = vec![1, 2];
        let location_id = vec![1, 4, 2, 0];
        put(bytes, 2, &Sample { location_id, value, ..Sample::default() });
        put(bytes, 2, &Sample { value: vec![1], ..Sample::default() });
        put(bytes, 2, &Sample { value: vec![1; 3], ..Sample::default() });
        put(bytes, 11, &ValueType { r#type: -1, unit: 8 });
    });
    let counts = [
        (Fault::String, 2),
        (Fault::NoId, 3),
        (Fault::DuplicateId, 3),
        (Fault::Range, 1),
        (Fault::NoMapping, 1),
        (Fault::NoFunction, 2),
        (Fault::NoLocation, 2),
        (Fault::Values, 2),
    ];
    assert_eq!(damage, counts);
    let good = whole();
    assert_eq!((profile.mappings.len(), &profile.functions), (2, &good.functions));
    assert_eq!(profile.locations.get(..2), Some(good.locations.as_slice()));
    let third = profile.locations.get(2).map(|l| (l.mapping_id, l.line.len()));
    assert_eq!(third, Some((0, 1)));
    assert_eq!(profile.samples.get(..2), Some(good.samples.as_slice()));
    assert_eq!(profile.samples.get(2).map(|s| s.location_id.clone()), Some(vec![1, 2]));
    assert_eq!(profile.period_type, Some(ValueType::default()));
    // What was repaired is whole.
    assert_eq!(kept(&plain(&profile)).1, [(Fault::Range, 1)]);
}

#[test]
fn every_string_is_checked() {
    let profile = Profile { strings: Strings::default(), ..whole() };
    let (profile, damage) = kept(&plain(&profile));
    // Two types, a label, a mapping, a function, two comments, and five fields of the profile.
    assert_eq!(damage, [(Fault::String, 3 + 3 + 2 + 3 + 2 + 6)]);
    assert!(profile.comments.iter().all(|comment| *comment == 0));
    let mut without_first = Vec::new();
    put(&mut without_first, 1, &ValueType { r#type: 1, unit: 0 });
    let (profile, damage) = kept(&without_first);
    assert_eq!(damage, [(Fault::FirstString, 1), (Fault::String, 1)]);
    assert_eq!(profile.strings, Strings::default());
}

#[test]
fn a_stream_that_ends_early_keeps_what_came_before() {
    // Large enough for several blocks, so that much comes out before the cut.
    let mut profile = whole();
    for number in 0..20_000u64 {
        let address = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        profile.locations.push(Location { id: number + 10, address, ..Location::default() });
    }
    let packed = gzip(&plain(&profile));
    let (cut, damage) = kept(packed.get(..packed.len() / 2).unwrap_or_default());
    assert_eq!(cut.samples.len(), 2);
    assert!(cut.locations.len() > 1000 && cut.locations.len() < profile.locations.len());
    let faults: Vec<_> = damage.iter().map(|(fault, _)| *fault).collect();
    assert!(faults.starts_with(&[Fault::Gzip]), "{damage:?}");
    // Bytes behind the stream, and a checksum that is wrong.
    let packed = gzip(&plain(&whole()));
    assert_eq!(kept(&[packed.as_slice(), b"more"].concat()), (whole(), vec![(Fault::Gzip, 1)]));
    let mut wrong = packed;
    let checksum = wrong.len() - 5;
    wrong.iter_mut().skip(checksum).take(1).for_each(|byte| *byte ^= 1);
    assert_eq!(kept(&wrong), (whole(), vec![(Fault::Gzip, 1)]));
}

#[test]
fn no_byte_and_no_cut_makes_reading_fail_badly() {
    let bytes = plain(&whole());
    for cut in 0..=bytes.len() {
        let _ = read(bytes.get(..cut).unwrap_or_default());
    }
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = value);
            if let Ok((profile, _)) = read(&bytes) {
                let again = kept(&plain(&profile));
                assert_eq!(again.0, profile);
                assert!(again.1.iter().all(|(fault, _)| *fault == Fault::Range), "{again:?}");
            }
        }
    }
}

#[test]
fn memory_is_bounded_whatever_comes_out_of_the_stream() {
    let too_large = |bytes: &[u8], limit| {
        matches!(Profile::read(bytes, Limits { bytes: limit }), Err(ReadError::TooLarge { .. }))
    };
    // 8 MiB of nothing in some 8 KiB.
    let bomb = gzip(&vec![0; 8 << 20]);
    assert!(bomb.len() < 16 << 10);
    assert!(too_large(&bomb, 1 << 20));
    // Each of these grows when it is decoded: labels of no byte, lines, numbers, texts.
    let many = |number: u64, field: &[u8], times: usize| {
        let mut bytes = plain(&whole());
        for _ in 0..200 {
            put_length(&mut bytes, number, field.len() * times);
            bytes.extend_from_slice(&field.repeat(times));
        }
        bytes
    };
    for bytes in [
        many(2, &[0x1a, 0], 1000),
        many(4, &[0x22, 0], 1000),
        many(13, &[], 0),
        many(2, &[0x0a, 1, 1], 1000),
        many(3, &[0x08, 1], 1000),
    ] {
        assert!(read(&bytes).is_ok());
    }
    let labels = many(2, &[0x1a, 0], 1000);
    assert!(too_large(&labels, u64::try_from(labels.len()).unwrap_or(0) * 10));
    assert!(too_large(&many(4, &[0x22, 0], 1000), 4 << 20));
    assert!(too_large(&many(6, b"", 1), 2000));
    // One message that would grow beyond the limit is not decoded at all.
    let mut one = Vec::new();
    put_length(&mut one, 2, 1 << 20);
    one.extend_from_slice(&[0x1a, 0].repeat(1 << 19));
    assert!(too_large(&one, 16 << 20));
    let text = ReadError::TooLarge { limit: 5 }.to_string();
    assert!(text.contains("at most 5 bytes"), "{text}");
}

/// Three megabytes took two gigabytes of memory before they were refused.
#[test]
fn a_stream_that_unpacks_out_of_all_proportion_is_refused() {
    let unpacked = |zeros, free| {
        let (bomb, mut bytes) = (gzip(&vec![0; zeros]), Vec::new());
        let read = unpack(bomb.as_slice(), u64::MAX, free, &mut bytes);
        read.map(|read| (read.is_ok(), bytes.len())).map_err(|error| (error, bytes.len()))
    };
    assert!(matches!(unpacked(1 << 20, 1 << 20), Ok((true, 1_048_576))));
    let read = unpacked(6 << 20, 1 << 20);
    let early = |length| length <= 3 << 20;
    let refused =
        matches!(&read, Err((ReadError::Inflated { times: 128 }, length)) if early(*length));
    assert!(refused, "{read:?}");
    assert!(ReadError::Inflated { times: 128 }.to_string().contains("gunzip"));
    // The same bytes, unpacked by somebody who trusts them, are only no profile.
    let read = Profile::read([0; 1 << 20].as_slice(), Limits::default());
    assert!(matches!(read, Err(ReadError::NotAProfile { .. })), "{read:?}");
}

#[test]
fn other_files_are_named() {
    for (bytes, found) in [
        (b"".as_slice(), "nothing"),
        (b"heap profile: 1: 2 [3: 4] @ heapprofile", "heap profile of gperftools"),
        (b"heap_v2/524288\n  t*: 1: 2 [0: 0]", "jemalloc"),
        (b"--- contention ---\n", "a format of gperftools"),
        (b"\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "CPU profile of gperftools"),
        (b"\x7fELF\x02\x01\x01", "ELF"),
        (b"PERFILE2h\0\0\0", "perf.data"),
        (b"main;work 5\n", "text"),
        (b"\x1f\x8bgarbage", "gzip stream that is broken"),
        (b"\x0a\x05\x01\x02\xff", "something else"),
    ] {
        let error = read(bytes).map(|_| ()).map_err(|error| error.to_string());
        let text = error.err().unwrap_or_default();
        assert!(text.contains(found) && text.contains("expected a pprof profile"), "{text}");
        assert!(!text.contains('\n'));
    }
    // Bytes that happen to be fields of something else.
    assert!(read(&[0x38, 1]).is_err());
}
