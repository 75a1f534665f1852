//! Lines of `/proc/PID/maps`, and what is none.

#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn a_line_is_read_whole() {
    let line = b"7f0000015000-7f0000025000 r-xp 00002000 08:01 42     /a dir/b\\012c.so (deleted)";
    let mapping = Mapping::parse(line).unwrap();
    assert_eq!((mapping.start, mapping.end), (0x7f00_0001_5000, 0x7f00_0002_5000));
    assert!(mapping.executable);
    assert_eq!((mapping.file_offset, mapping.device, mapping.inode), (0x2000, 8 << 32 | 1, 42));
    assert_eq!(mapping.path(), (&b"/a dir/b\\012c.so"[..], true));
    assert_eq!(unescape(mapping.path().0), b"/a dir/b\nc.so");
    assert_eq!(mapping.content(), Content::File);
}

#[test]
fn what_holds_no_file_is_told_apart() {
    for (name, content) in [
        ("[vdso]", Content::Vdso),
        ("[heap]", Content::Anonymous),
        ("", Content::Anonymous),
        ("//anon", Content::Anonymous),
        ("/dev/zero (deleted)", Content::Anonymous),
        ("/SYSV00000000 (deleted)", Content::Anonymous),
        ("/lib/x.so", Content::File),
    ] {
        let line = std::format!("10-20 r-xp 0 00:00 7    {name}");
        assert_eq!(Mapping::parse(line.as_bytes()).unwrap().content(), content, "{name}");
    }
}

#[test]
fn other_text_is_refused_with_its_line() {
    let text = b"10-20 r-xp 0 00:00 0 \n\n20-30 r-xp zz 00:00 0\n";
    let all: std::vec::Vec<_> = mappings(text).collect();
    assert_eq!(all.len(), 2);
    assert_eq!(all.get(1).copied().unwrap(), Err(MapsError { line: 3 }));
    for line in [
        "",
        "10",
        "10-20",
        "+10-20 r 0 0:0 0",
        "10-20 r 0 0:0 -1",
        "10-1ffffffffffffffff0 r 0 0:0 0",
    ] {
        assert!(Mapping::parse(line.as_bytes()).is_none(), "{line}");
    }
}

#[test]
fn permissions_and_what_may_hold_a_segments_end_are_told() {
    let parse = |line: &'static str| Mapping::parse(line.as_bytes()).unwrap();
    let mapping = parse("10-20 --xp 0 00:00 0");
    assert_eq!((mapping.readable, mapping.writable, mapping.executable), (false, false, true));
    assert!(parse("10-20 ---p 0 00:00 0 /a").is_closed() && !mapping.is_closed());
    for (name, free) in [
        ("", true),
        ("[heap]", true),
        ("[anon:.bss]", true),
        ("[stack]", false),
        ("[vsyscall]", false),
        ("[vvar]", false),
        ("/a", false),
    ] {
        let line = std::format!("10-20 rw-p 0 00:00 0  {name}");
        assert_eq!(Mapping::parse(line.as_bytes()).unwrap().may_be_segment(), free, "{name}");
    }
    assert!(!parse("10-20 rw-s 0 00:01 7 ").may_be_segment(), "shared memory has an inode");
}

/// Lines of a 32-bit kernel, of the highest addresses, without a name, with
/// names of odd bytes.
#[test]
fn lines_of_every_width_are_read() {
    let parse = |line: &'static [u8]| Mapping::parse(line).unwrap();
    let mapping = parse(b"b7ef2000-b7ef4000 r-xp 00000000 08:03 1966082    /lib/ld-2.31.so");
    assert_eq!((mapping.start, mapping.name), (0xb7ef_2000, &b"/lib/ld-2.31.so"[..]));
    let mapping = parse(b"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0     [vsyscall]");
    assert_eq!((mapping.end, mapping.content()), (0xffff_ffff_ff60_1000, Content::Anonymous));
    let mapping = parse(b"10-20 r-xp 0 103:0005 18446744073709551615 /nvme");
    assert_eq!((mapping.device, mapping.inode), (0x103 << 32 | 5, u64::MAX));
    let mapping = parse(b"10-20 r-xp 0 08:01 7    /a  b\xff\xfe c");
    assert_eq!(mapping.name, b"/a  b\xff\xfe c");
    assert_eq!(parse(b"10-20 r-xp 0 00:01 9 /memfd:code (deleted)").content(), Content::File);
    assert_eq!(parse(b"10-20 r-xp 0 08:01 9 /a\\012\\012b").path().0, b"/a\\012\\012b");
    assert_eq!(unescape(b"/a\\012\\012b\\01"), b"/a\n\nb\\01");
    assert_eq!(unescape(b""), b"");
}

/// `/dev/shm` holds files like any other: code may be mapped from there.
#[test]
fn code_in_shared_memory_is_a_files() {
    let code = b"10-20 r-xp 0 00:17 7 /dev/shm/plugin.so";
    assert_eq!(Mapping::parse(code).unwrap().content(), Content::File);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        for mapping in mappings(&text).flatten() {
            let _ = (mapping.path(), mapping.content(), unescape(mapping.name));
        }
        let _ = crate::process::Modules::from_maps(&text);
    }

    #[test]
    fn a_line_written_as_the_kernel_does_comes_back(
        start in 0u64..u64::MAX, end: u64, offset: u64, major in 0u64..4096, minor in 0u64..1 << 20,
        inode: u64, name in "(/[a-z \\\\]{0,12}[a-z])?",
    ) {
        let line = std::format!(
            "{start:08x}-{end:08x} r-xp {offset:08x} {major:02x}:{minor:02x} {inode}                 {name}"
        );
        let mapping = Mapping::parse(line.as_bytes()).unwrap();
        proptest::prop_assert_eq!(
            (mapping.start, mapping.end, mapping.file_offset, mapping.device, mapping.inode),
            (start, end, offset, major << 32 | minor, inode)
        );
        proptest::prop_assert_eq!(mapping.name, name.as_bytes());
    }
}
