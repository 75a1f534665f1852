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
