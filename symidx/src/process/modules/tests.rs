//! Spans that overlap, and what the first and last addresses are.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]
use super::*;
use proptest::prelude::*;

fn span(start: u64, end: u64, module: u32) -> Span {
    Span { start, end, module, bias: None, file_offset: Some(start), executable: false }
}

proptest! {
    #[test]
    fn the_last_span_that_covers_an_address_wins(
        ranges in proptest::collection::vec((0u64..40, 0u64..20), 0..12)
    ) {
        let spans: Vec<Span> = (0u32..).zip(&ranges)
            .map(|(module, &(start, size))| span(start, start + size, module)).collect();
        let settled = settle(spans.clone());
        prop_assert!(settled.iter().zip(settled.iter().skip(1)).all(|(a, b)| a.end <= b.start));
        for address in 0..64 {
            let slow = spans.iter().rev().find(|s| (s.start..s.end).contains(&address));
            let fast = settled.iter().find(|s| (s.start..s.end).contains(&address));
            prop_assert_eq!(slow.map(|s| s.module), fast.map(|s| s.module));
            let offset = fast.map(|s| s.file_offset.unwrap() + (address - s.start));
            prop_assert_eq!(offset, fast.map(|_| address));
        }
    }
}

#[test]
fn the_first_and_the_last_address_are_answered() {
    let text = b"0-1000 r-xp 00000000 08:01 5 /first\n\
        ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n\
        fffffffffffff000-ffffffffffffffff rw-p 00000000 08:01 5 /last\n";
    let modules = Modules::from_maps(text).unwrap();
    assert!(modules.find(0).is_some() && modules.find(0xfff).is_some());
    assert!(modules.find(0x1000).is_none());
    let vsyscall = modules.find(0xffff_ffff_ff60_0000).unwrap();
    assert_eq!(vsyscall.module().kind(), ModuleKind::Anonymous);
    assert!(modules.find(u64::MAX - 1).is_some());
    assert!(modules.find(u64::MAX).is_none(), "the end is not in it");
    assert_eq!(modules.find(0).unwrap().file_offset(), Some(FileOffset(0)));
    assert_eq!(modules.get(u32::MAX).map(Module::kind), None);
    assert!(Modules::from_maps(b"").unwrap().find(u64::MAX).is_none());
}

/// Memory behind the file's bytes had offsets past the file's end.
#[test]
fn memory_behind_the_files_bytes_has_no_offset() {
    let whole = Span { end: 0x3000, ..span(0x1000, 0, 0) };
    let [file, memory] = file_and_memory(whole, 0x800);
    assert_eq!((file.start, file.end, file.file_offset), (0x1000, 0x1800, Some(0x1000)));
    assert_eq!((memory.start, memory.end, memory.file_offset), (0x1800, 0x3000, None));
    let [file, memory] = file_and_memory(whole, u64::MAX);
    assert_eq!((file.end, memory.start, memory.end), (0x3000, 0x3000, 0x3000));
}
