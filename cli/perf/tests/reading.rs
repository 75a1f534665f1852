//! Every way a recording can be stored, and what is read of damaged ones.

#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should stop"
)]

mod common;

use common::*;
use symidx_perf::Inventory;

/// Two processes, the kernel, rounds, times out of order within them.
fn recording(big: bool) -> Recording {
    let mut recording = Recording { big, ..Recording::new(IP_TID_TIME | PERIOD | CALLCHAIN) };
    recording.kernel(
        0xffff_ffff_8100_0000,
        0x100_0000,
        0xffff_ffff_8100_0000,
        "[kernel.kallsyms]_text",
    );
    recording.kernel(0xffff_ffff_c000_0000, 0x1000, 0, "[nf_tables]");
    recording.comm(10, 0, "first", false);
    recording.mmap(10, 0, 0x40_0000, 0x1000, 0x2000, "/bin/first");
    recording.sample(USER, 10, 105, 0x40_0010, &[CONTEXT_USER, 0x40_0010, 0x40_0020]);
    recording.sample(
        KERNEL,
        10,
        101,
        0xffff_ffff_8100_0010,
        &[CONTEXT_KERNEL, 0xffff_ffff_8100_0010, CONTEXT_USER, 0x40_0030],
    );
    recording.round();
    recording.task(FORK, 11, 10, 110);
    recording.comm(11, 112, "second", true);
    recording.mmap(11, 113, 0x40_0800, 0x800, 0, "/bin/second");
    recording.sample(USER, 11, 111, 0x40_0900, &[0x40_0900]);
    recording.sample(USER, 11, 114, 0x40_0900, &[0x40_0900, 0x40_0100, 0x9]);
    recording.round();
    recording.sample(
        KERNEL,
        12,
        103,
        0xffff_ffff_c000_0004,
        &[CONTEXT_KERNEL, 0xffff_ffff_c000_0004],
    );
    recording.task(EXIT, 11, 10, 120);
    recording.sample(USER, 11, 121, 0x40_0900, &[0x40_0900]);
    recording
}

fn expected() -> Vec<String> {
    [
        "first 10 101 ffffffff81000010=[kernel.kallsyms]+ffffffff81000010 400030=/bin/first+2030",
        "first 10 105 400010=/bin/first+2010 400020=/bin/first+2020",
        // A late one, as no rule of rounds allows: where it came.
        ":12 12 103 ffffffffc0000004=[nf_tables]+ffffffffc0000004",
        "first 11 111 400900=/bin/first+2900",
        "second 11 114 400900=/bin/second+100 400100=/bin/first+2100 9=?",
        // A thread is known for a while after its end.
        "second 11 121 400900=/bin/second+100",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn a_file_a_pipe_and_either_byte_order_say_the_same() {
    for big in [false, true] {
        let recording = recording(big);
        assert_eq!(lines(&recording.file()), expected(), "file, big-endian {big}");
        assert_eq!(lines(&recording.pipe()), expected(), "pipe, big-endian {big}");
    }
}

#[test]
fn compressed_records_say_the_same_however_they_are_cut() {
    let mut plain = recording(false);
    // Rounds are marks of the file, never compressed: in one stream there are none.
    plain.records.retain(|record| record[0] != 68);
    let mut sorted = expected();
    sorted.sort_by_key(|line| line.split(' ').nth(2).map(str::to_owned));
    assert_eq!(lines(&plain.file()), sorted);
    for piece in [1, 7, 64, 60_000] {
        let packed = plain.compressed(piece);
        assert_eq!(lines(&packed.file()), sorted, "pieces of {piece} bytes");
        assert_eq!(lines(&packed.pipe()), sorted, "pieces of {piece} bytes");
    }
}

#[test]
fn a_damaged_stream_costs_what_is_behind_the_damage() {
    let packed = recording(false).compressed(40);
    let whole = lines(&packed.file()).len();
    let mut damaged = packed.clone();
    // The middle of the second piece.
    damaged.records[1][20] ^= 0xff;
    let mut session = session(&damaged.file()).unwrap();
    let read = lines_of(&mut session).len();
    assert!(read < whole, "{read} of {whole}");
    assert!(session.reader().damage().compressed > 0 || session.reader().damage().cut);
}

#[test]
fn equal_times_stay_in_the_order_of_the_file() {
    let mut recording = Recording::new(IP_TID_TIME);
    for ip in 0..50 {
        recording.sample(USER, 1, 7, ip, &[]);
    }
    let ips: Vec<String> = lines(&recording.file());
    let expected: Vec<String> = (0..50).map(|ip| format!(":1 1 7 {ip:x}=?")).collect();
    assert_eq!(ips, expected);
}

#[test]
fn cut_at_every_length_it_gives_a_part_of_the_samples_and_says_so() {
    let recording = recording(false);
    for whole in [recording.file(), recording.pipe()] {
        let all = lines(&whole);
        let mut most = 0;
        for length in 0..whole.len() {
            let Some(mut session) = session(&whole[..length]) else { continue };
            let read = lines_of(&mut session);
            assert!(read.iter().all(|line| line.contains(' ')) && read.len() <= all.len());
            assert!(read.len() >= most, "{length}: more bytes, fewer samples");
            most = read.len();
            let file = whole.starts_with(b"PERFILE2\x68");
            if file && length > 200 {
                assert!(session.reader().damage().cut, "{length}");
            }
        }
        assert!(most >= all.len() - 1);
    }
}

#[test]
fn no_bytes_at_all_do_harm() {
    let recording = recording(false);
    let mut state = 1u64;
    let mut next = |bound: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    for whole in [recording.file(), recording.pipe(), recording.compressed(50).file()] {
        for round in 0..3_000 {
            let mut bytes = whole.clone();
            for _ in 0..=round % 4 {
                let at = next(bytes.len());
                bytes[at] = match next(4) {
                    0 => 0,
                    1 => 0xff,
                    _ => u8::try_from(next(256)).unwrap(),
                };
            }
            if let Some(mut session) = session(&bytes) {
                let _ = Inventory::read(&mut session, 127);
                let _ = session.reader().damage().lines();
            }
        }
    }
}

#[test]
fn claims_of_huge_counts_are_not_believed() {
    let recording = recording(false);
    let file = recording.file();
    let huge = u64::MAX.to_le_bytes();
    // Every word of the header: sizes, offsets, the bits of features.
    for at in (8..104).step_by(8) {
        for value in [huge, (u64::MAX >> 1).to_le_bytes(), (1u64 << 40).to_le_bytes(), [0; 8]] {
            let mut bytes = file.clone();
            bytes[at..at + 8].copy_from_slice(&value);
            if let Some(mut session) = session(&bytes) {
                let _ = Inventory::read(&mut session, 127);
            }
        }
    }
    // A chain longer than memory, one whose bytes do not fit 64 bits, an AUX area of all there is.
    let mut claims = Recording::new(IP_TID_TIME | CALLCHAIN);
    for count in [u64::MAX, u64::MAX / 8 + 1, 1 << 40, 3] {
        let body = [claims.u64(1), claims.u64(1), claims.u64(1), claims.u64(count), claims.u64(5)];
        claims.add(SAMPLE, USER, &body.concat());
    }
    claims.sample(USER, 1, 5, 0x10, &[0x10]);
    let mut session = session(&claims.file()).unwrap();
    assert_eq!(lines_of(&mut session), [":1 1 5 10=?"]);
    assert_eq!(session.reader().damage().short_records, 4);
    let aux = claims.u64(u64::MAX);
    claims.add(71, 0, &aux);
    claims.sample(USER, 1, 6, 0x20, &[0x20]);
    let mut session = common::session(&claims.file()).unwrap();
    assert_eq!(lines_of(&mut session).len(), 1);
    assert!(session.reader().damage().cut);
}

#[test]
fn what_is_no_profile_is_refused_with_what_was_found() {
    for (bytes, expected) in [
        (
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".as_slice(),
            "expected a perf.data file (PERFILE2), found `\\x7fELF\\x02\\x01\\x01\\x00`",
        ),
        (b"short", "found less than 16 bytes"),
        (b"PERFILE2\x68\0\0\0\0\0\0\0", "expected a header of 104 bytes"),
    ] {
        let error = symidx_perf::Reader::from_stream(bytes).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_record_without_a_size_ends_the_reading_with_its_place() {
    let mut recording = Recording::new(IP_TID_TIME);
    recording.sample(USER, 1, 5, 0x10, &[]);
    recording.records.push(vec![9, 0, 0, 0, 2, 0, 0, 0]);
    recording.sample(USER, 1, 6, 0x20, &[]);
    let mut session = session(&recording.file()).unwrap();
    assert_eq!(lines_of(&mut session).len(), 1);
    let damage = session.reader().damage();
    assert_eq!(damage.lost_from, Some(104 + 80 + 8 + 32));
    assert_eq!(damage.lines().len(), 1);
}

#[test]
fn guests_are_left_out_and_unknown_marks_empty_a_chain() {
    let mut recording = Recording::new(IP_TID_TIME | CALLCHAIN);
    recording.mmap(1, 0, 0, 0x1000, 0, "/bin/a");
    for (guest, time) in [(GUEST, 1), (GUEST_USER, 2), (GUEST_USER, 2)] {
        recording.sample(guest, 1, time, 0x10, &[0x10]);
    }
    // What a guest maps is not in the host's memory.
    recording.guest_mmap(1, 2, 0, 0x1000, "/bin/of-the-guest");
    recording.sample(USER, 1, 2, 0x10, &[0x10, u64::MAX - 2047, 0x20]);
    recording.sample(USER, 1, 3, 0x10, &[]);
    let mut session = session(&recording.file()).unwrap();
    assert_eq!(lines_of(&mut session), [":1 1 2", ":1 1 3"]);
    assert_eq!(session.counts().guest_samples, 3);
    assert_eq!(session.counts().samples, 2);
    assert!(session.dsos().iter().all(|dso| &*dso.name != b"/bin/of-the-guest"));
    assert_eq!(session.counts().lines(), [(3, "samples of guests, left out")]);
}

/// What the kernel says of a BPF program besides its name: it was passed over without a word.
#[test]
fn records_of_bpf_programs_are_counted() {
    let mut recording = Recording::new(IP_TID_TIME);
    let tag = [recording.u16(1), recording.u16(0), recording.u32(7), vec![9; 8]].concat();
    for time in [1, 3] {
        let who = [recording.u32(0), recording.u32(0), recording.u64(time)].concat();
        recording.add(18, 0, &[tag.clone(), who].concat());
        recording.sample(USER, 1, time, 0x10, &[]);
        recording.add(18, 0, &[tag.clone(), vec![0; 16]].concat());
    }
    let mut session = session(&recording.file()).unwrap();
    while session.next_sample().unwrap() {}
    let counts = session.counts();
    assert_eq!((counts.samples, counts.bpf_records, counts.kernel_code), (2, 4, 0));
    assert_eq!(counts.lines(), [(4, "records that say more of BPF programs, left out")]);
    assert_eq!(session.reader().damage(), Default::default());
}

/// Past the bound they were damage of the header in a pipe, and nothing at all in a file.
#[test]
fn build_ids_past_the_bound_are_counted() {
    const MORE: usize = 17_000;
    let mut recording = Recording::new(IP_TID_TIME);
    for number in 0..MORE {
        recording.ids.push((USER, format!("/lib/{number}").into_bytes(), [7; 20]));
    }
    recording.sample(USER, 1, 1, 0x10, &[]);
    for bytes in [recording.file(), recording.pipe()] {
        let mut session = session(&bytes).unwrap();
        assert_eq!(lines_of(&mut session).len(), 1);
        let kept = session.reader().header().build_ids.len();
        let refused = usize::try_from(session.counts().refused_build_ids).unwrap();
        assert_eq!((kept + refused, kept < MORE), (MORE, true));
        assert_eq!(session.reader().damage(), Default::default());
        let lines = session.counts().lines();
        assert_eq!(lines.first().map(|line| line.1), Some("build-ids of more files than are kept"));
    }
    // One too long for all the room there is.
    let mut one = Recording::new(IP_TID_TIME);
    for letter in 0..40u8 {
        one.ids.push((USER, vec![b'a' + letter % 26; 30_000], [7; 20]));
    }
    one.sample(USER, 1, 1, 0x10, &[]);
    let session = session(&one.file()).unwrap();
    assert_eq!(session.counts().refused_build_ids, 6);
}

#[test]
fn build_ids_of_the_header_belong_to_mappings_without_one() {
    let mut recording = Recording::new(IP_TID_TIME);
    recording.ids.push((USER, b"/bin/a".to_vec(), [7; 20]));
    recording.mmap(1, 0, 0x1000, 0x1000, 0, "/bin/a");
    recording.mmap(1, 0, 0x2000, 0x1000, 0, "/bin/b");
    recording.mmap(1, 0, 0x3000, 0x1000, 0, "//anon");
    recording.mmap(1, 0, 0x4000, 0x1000, 0x7000, "[vdso]");
    recording.mmap(1, 0, 0x5000, 0x1000, 0, "[heap]");
    for ip in [0x1004, 0x2004, 0x3004, 0x4004, 0x5004] {
        recording.sample(USER, 1, 5, ip, &[]);
    }
    for bytes in [recording.file(), recording.pipe()] {
        let mut session = session(&bytes).unwrap();
        let inventory = Inventory::read(&mut session, 127).unwrap();
        let ids: Vec<(String, bool, u64)> = inventory
            .dsos
            .iter()
            .map(|used| (used.name(), used.dso.build_id.is_some(), used.frames))
            .collect();
        let expected =
            [("[jit]", false, 2), ("/bin/a", true, 1), ("/bin/b", false, 1), ("[vdso]", false, 1)];
        let expected = expected.map(|(name, id, frames)| (name.to_owned(), id, frames));
        assert_eq!(ids, expected);
        assert_eq!(inventory.jit, [(1, 2)]);
        // The vDSO is its own file, from its first byte.
        assert_eq!(inventory.unmapped, 0);
    }
    assert!(lines(&recording.file()).contains(&":1 1 5 4004=[vdso]+4".to_owned()));
}

#[test]
fn a_large_recording_without_rounds_is_in_order() {
    let mut recording = Recording::new(IP_TID_TIME | CALLCHAIN);
    let chain = [0x40u64; 100];
    for time in 0..6_000u64 {
        // Five megabytes, the newest first.
        recording.sample(USER, 1, 10_000 - time, time, &chain);
    }
    let mut session = session(&recording.file()).unwrap();
    let mut last = 0;
    let mut count = 0;
    while session.next_sample().unwrap() {
        let time = session.sample().unwrap().sample.time.unwrap();
        assert!(last < time);
        (last, count) = (time, count + 1);
    }
    assert_eq!(count, 6_000);
    assert!(session.reader().spilled() > 1 << 20);
}

/// A stream may list build-ids and rename events as often as it likes, 64 KiB each time:
/// 60 MB of either were kept.
#[test]
fn names_in_a_stream_are_kept_within_a_bound() {
    let mut recording = Recording::new(IP_TID_TIME);
    for number in 0..100u8 {
        recording.ids.push((USER, [b"/".to_vec(), vec![b'a'; 60_000]].concat(), [number; 20]));
    }
    let update = [recording.u64(2), recording.u64(0), padded(&[b'n'; 60_000])].concat();
    recording.add(78, 0, &update);
    recording.sample(USER, 1, 5, 0x10, &[]);
    let mut session = session(&recording.pipe()).unwrap();
    assert_eq!(lines_of(&mut session).len(), 1);
    let header = session.reader().header();
    assert!(header.build_ids.iter().map(|file| file.path.len()).sum::<usize>() <= 1 << 20);
    assert_eq!(header.build_ids.len(), 17);
    // One is all zeros: none.
    assert_eq!((session.reader().damage().header, session.counts().refused_build_ids), (1, 82));
    assert_eq!(header.events[0].name.len(), 1024);
}

/// Each record without a time in a compressed one had all those that waited put in order
/// anew: a file of 100 kB took minutes.
#[test]
fn records_without_a_time_do_not_touch_those_that_wait() {
    let mut recording = Recording::new(IP_TID_TIME);
    for time in 0..30_000u64 {
        recording.sample(USER, 1, 1_000_000 - time * 7 % 30_000, 0x10, &[]);
    }
    let mut all = recording.clone();
    let untimed = |pid| {
        let mut one = Recording::new(IP_TID_TIME);
        one.sample(USER, pid, 0, 0x20, &[]);
        one.compressed(1 << 15).records
    };
    for pid in 1..=3_000 {
        all.records.extend(untimed(pid));
    }
    let lines = lines(&all.file());
    assert_eq!(lines.len(), 33_000);
    // They go out first, as they came.
    for (line, pid) in lines.iter().zip(1..=3_000) {
        assert!(line.starts_with(&format!(":{pid} {pid} 0 ")), "{line}");
    }
    assert_eq!(lines[3_000..], self::lines(&recording.file()));
}
