use proptest::prelude::*;

use super::*;

fn claim(start: u64, end: u64, piece: u32, unit: u32) -> Claim {
    Claim { start, end, piece, rank: (true, unit, std::cmp::Reverse(piece)) }
}

fn answers(segments: &[Segment], address: u64) -> Option<u32> {
    segments.iter().find(|s| (s.start..s.end).contains(&address)).map(|s| s.piece)
}

#[test]
fn an_inner_function_answers_and_the_outer_one_goes_on() {
    let mut claims = vec![claim(0, 100, 0, 0), claim(20, 30, 1, 0), claim(25, 40, 2, 0)];
    let segments = settle(&mut claims);
    let segment = |start, end, piece| Segment { start, end, piece };
    let expected = [segment(0, 20, 0), segment(20, 25, 1), segment(25, 40, 2), segment(40, 100, 0)];
    assert_eq!(segments, expected);
}

#[test]
fn of_folded_functions_the_named_one_answers_then_the_first_unit() {
    let mut claims = [claim(0, 10, 0, 1), claim(0, 10, 1, 0), claim(0, 10, 2, 0)];
    let of = |piece| [Segment { start: 0, end: 10, piece }];
    assert_eq!(settle(&mut claims), of(2), "the first unit's, and there the last");
    let named = claims.iter_mut().find(|claim| claim.piece == 0);
    named.unwrap().rank.0 = false;
    assert_eq!(settle(&mut claims), of(0), "the one that a symbol names");
}

#[test]
fn rows_outside_functions_fill_what_is_left() {
    let settled = settle(&mut [claim(10, 20, 0, 0), claim(30, 40, 1, 0)]);
    let segments = fill(settled, &mut [claim(0, 35, 2, 0), claim(32, 50, 3, 0)]);
    let segment = |start, end, piece| Segment { start, end, piece };
    let expected = [
        segment(0, 10, 2),
        segment(10, 20, 0),
        segment(20, 30, 2),
        segment(30, 40, 1),
        segment(40, 50, 3),
    ];
    assert_eq!(segments, expected);
}

proptest! {
    /// Every address is answered as the slow rule says, and segments are in
    /// order, apart and few.
    #[test]
    fn settling_is_the_slow_rule(
        inner in prop::collection::vec((0u64..60, 1u64..30, 0u32..2), 0..12),
        outer in prop::collection::vec((0u64..60, 1u64..30), 0..6),
    ) {
        let mut claims: Vec<Claim> = (0u32..).zip(&inner)
            .map(|(i, &(start, size, rank))| claim(start, start + size, i, rank)).collect();
        let mut rest: Vec<Claim> = (100u32..).zip(&outer)
            .map(|(i, &(start, size))| claim(start, start + size, i, 0)).collect();
        let (all, all_rest) = (claims.clone(), rest.clone());
        let segments = fill(settle(&mut claims), &mut rest);
        for pair in segments.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start);
        }
        prop_assert!(segments.iter().all(|s| s.start < s.end));
        let pieces = all.len() + all_rest.len();
        prop_assert!(segments.len() <= 2 * pieces + all.len());
        for address in 0..100 {
            let holds = |c: &&Claim| (c.start..c.end).contains(&address);
            let best = all.iter().filter(holds).max_by_key(|c| {
                (c.start, std::cmp::Reverse(c.end), std::cmp::Reverse((c.rank, c.piece)))
            });
            let outside = all_rest.iter().filter(holds).min_by_key(|c| (c.start, c.piece));
            let expected = best.or(outside).map(|c| c.piece);
            prop_assert_eq!(answers(&segments, address), expected, "{}", address);
        }
    }
}
