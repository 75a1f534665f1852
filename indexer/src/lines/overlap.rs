//! Overlaps: pieces of code in, segments with one answer each out.
//!
//! Folded functions share their bytes, nested ones lie inside each other, and
//! rows outside functions may lie anywhere. Everything is settled here, so
//! that neither the encoder nor a reader ever compares two pieces.

/// First the function that a symbol names there, then those of the first unit,
/// then in it the last one: nested functions come after those around them.
pub(super) type Rank = (bool, u32, std::cmp::Reverse<u32>);

/// A piece to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// First address.
    pub(super) start: u64,
    /// One past the last.
    pub(super) end: u64,
    /// Index of the piece.
    pub(super) piece: u32,
    /// Which of several that are the same stretch wins: the smallest.
    pub(super) rank: Rank,
}

/// From `start` to `end`, the answer is the piece's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// First address.
    pub(super) start: u64,
    /// One past the last.
    pub(super) end: u64,
    /// Index of the piece.
    pub(super) piece: u32,
}

/// Settles claims of one section: the one that starts last answers, and after
/// its end the one around it goes on. Of several that start together the
/// shortest answers first; of those that are equally long the one of the
/// smallest rank.
pub(super) fn settle(claims: &mut [Claim]) -> Vec<Segment> {
    // The winner comes last, since the last that starts is on top.
    claims.sort_by(|a, b| {
        let key =
            |c: &Claim| (c.start, std::cmp::Reverse(c.end), std::cmp::Reverse((c.rank, c.piece)));
        key(a).cmp(&key(b))
    });
    let mut segments: Vec<Segment> = Vec::with_capacity(claims.len());
    let mut open: Vec<Claim> = Vec::new();
    let mut at = 0u64;
    for claim in claims.iter() {
        answer_until(claim.start, &mut at, &mut open, &mut segments);
        at = claim.start;
        open.push(*claim);
    }
    answer_until(u64::MAX, &mut at, &mut open, &mut segments);
    segments
}

/// Lets the open claims answer from `at` to `limit`, the last one first.
fn answer_until(limit: u64, at: &mut u64, open: &mut Vec<Claim>, segments: &mut Vec<Segment>) {
    while let Some(top) = open.last() {
        let end = top.end.min(limit);
        if end > *at {
            match segments.last_mut() {
                Some(last) if last.piece == top.piece && last.end == *at => last.end = end,
                _ => segments.push(Segment { start: *at, end, piece: top.piece }),
            }
            *at = end;
        }
        if top.end > limit {
            return;
        }
        open.pop();
    }
}

/// Adds the parts of `claims` that no segment covers; the first claim wins.
pub(super) fn fill(segments: Vec<Segment>, claims: &mut [Claim]) -> Vec<Segment> {
    if claims.is_empty() {
        return segments;
    }
    claims.sort_by_key(|claim| (claim.start, claim.piece));
    let mut filled = Vec::with_capacity(segments.len().saturating_add(claims.len()));
    let mut taken = segments.into_iter().peekable();
    // Everything before this address is settled.
    let mut at = 0u64;
    for claim in claims.iter() {
        let mut start = claim.start.max(at);
        while start < claim.end {
            // Segments that end before the claim's rest are done with.
            while let Some(segment) = taken.next_if(|segment| segment.end <= start) {
                filled.push(segment);
            }
            match taken.peek() {
                Some(segment) if segment.start <= start => {
                    start = segment.end;
                }
                next => {
                    let end = next.map_or(claim.end, |next| next.start.min(claim.end));
                    filled.push(Segment { start, end, piece: claim.piece });
                    start = end;
                }
            }
        }
        at = at.max(start);
    }
    filled.extend(taken);
    filled
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::indexing_slicing)]
#[path = "overlap/tests.rs"]
mod tests;
