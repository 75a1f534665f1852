//! Who answers which address where owners overlap.
//!
//! In: owners sorted by address, bigger first at one start. Out: pieces, each
//! up to the next one with one answer, and the spaces they are searched in.
//! This module never looks at names.

use super::sections::{Place, Sections};
use super::{Normalised, Owner, Piece, Space};

/// Cuts owners into pieces: the innermost covering owner (latest start, then
/// smallest) answers; after it ends the enclosing one does again, at any depth.
///
/// `first` is the index of the first of `owners`. Each owner enters and leaves
/// the stack once, so the work is linear and pieces are at most twice the owners.
pub(super) fn cut_pieces(owners: &[Owner], first: u32, pieces: &mut Vec<Piece>) {
    // (end, owner) of those that are not over yet, innermost last.
    let mut open: Vec<(u64, u32)> = Vec::new();
    for (owner, index) in owners.iter().zip(first..) {
        close_until(Some(owner.address), &mut open, pieces);
        pieces.push(Piece { start: owner.address, owner: index });
        open.push((owner.end(), index));
    }
    close_until(None, &mut open, pieces);
}

/// Closes the owners that end at or before `limit`, and resumes what encloses
/// them in the bytes left before it.
fn close_until(limit: Option<u64>, open: &mut Vec<(u64, u32)>, pieces: &mut Vec<Piece>) {
    while let Some((end, _)) = open.pop_if(|(end, _)| limit.is_none_or(|limit| *end <= limit)) {
        while open.pop_if(|(outer, _)| *outer <= end).is_some() {}
        if let Some((_, owner)) = open.last()
            && limit.is_none_or(|limit| end < limit)
        {
            pieces.push(Piece { start: end, owner: *owner });
        }
    }
}

/// Fills `spaces` and `pieces` from the owners: a space is a maximal run of
/// neighbouring sections of one class and one module, or one section of a
/// relocatable file. Sections without owners give none.
pub(super) fn build_spaces(normalised: &mut Normalised<'_>, sections: &Sections<'_, '_>) {
    let class = |place: &Place| {
        let section = sections.get(place.section);
        section.map(|section| (section.execute, section.module))
    };
    let joins = |a: &Place, b: &Place| !sections.by_offset() && class(a) == class(b);
    let bound = normalised.owners.len().saturating_mul(2);
    let mut pieces = Vec::with_capacity(bound);
    let mut rest = normalised.owners.as_slice();
    let mut first_owner = 0_u32;
    for run in sections.places().chunk_by(joins) {
        let Some(last) = run.last() else { continue };
        let end = sections.key(last.section, last.end);
        let in_run = |owner: &Owner| sections.key(owner.section, owner.address) < end;
        let Some((owners, others)) = rest.split_at_checked(rest.partition_point(in_run)) else {
            break;
        };
        rest = others;
        let (Some(first), Some(last)) = (owners.first(), owners.last()) else { continue };
        let Some((code, module)) = sections.get(first.section).map(|s| (s.execute, s.module))
        else {
            continue;
        };
        let next_owner = first_owner.saturating_add(length(owners));
        let first_piece = length(&pieces);
        cut_pieces(owners, first_owner, &mut pieces);
        let start = sections.range(first.section).0;
        normalised.spaces.push(Space {
            start,
            size: sections.range(last.section).1.saturating_sub(start),
            section: sections.by_offset().then_some(first.section),
            module,
            code,
            owners: first_owner..next_owner,
            pieces: first_piece..length(&pieces),
        });
        first_owner = next_owner;
    }
    pieces.shrink_to_fit();
    normalised.pieces = pieces;
}

fn length<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}
