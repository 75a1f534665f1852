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
