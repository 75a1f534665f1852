//! What reading one unit may cost.
//!
//! In: how many bytes a unit has. Out: yes or no. Honest units stay far below;
//! many references to one long thing would make the work quadratic.

use std::cell::Cell;

/// What may still be read for one unit beyond its own bytes.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    ranges: Cell<u64>,
    text: Cell<u64>,
    far: Cell<u64>,
    nodes: Cell<u64>,
    refused: Cell<u64>,
}

/// A string up to this long is always read.
const TEXT_FREE: u64 = 1024;

impl Allowance {
    /// For a unit of `bytes`, its line program included.
    pub(super) fn of(bytes: u64) -> Self {
        let times =
            |factor: u64, base| Cell::new(bytes.saturating_mul(factor).saturating_add(base));
        Self {
            ranges: times(1, 1 << 6),
            text: times(16, 1 << 16),
            far: times(64, 1 << 14),
            nodes: Cell::new(bytes.checked_div(4).unwrap_or(0).saturating_add(16)),
            refused: Cell::new(0),
        }
    }

    /// What may be read when the DIEs are walked once more: the same as before.
    /// To be asked for before anything is taken by the walk.
    pub(super) fn again(&self) -> Self {
        let refused = Cell::new(0);
        let Self { ranges, text, far, nodes, .. } = self.clone();
        Self { ranges, text, far, nodes, refused }
    }

    /// One entry of a range list: an honest one costs its unit several bytes.
    pub(super) fn range(&self) -> bool {
        take(&self.ranges, 1)
    }

    /// The most bytes that the next string may have.
    pub(super) fn longest_text(&self) -> u64 {
        self.text.get().max(TEXT_FREE)
    }

    /// A string of `bytes` was looked at.
    pub(super) fn text(&self, bytes: u64) {
        let charged = bytes.saturating_sub(TEXT_FREE);
        self.text.set(self.text.get().saturating_sub(charged));
    }

    /// False when strings have cost all that they may: what may hold one that
    /// is read in place is not looked at any more.
    pub(super) fn has_text(&self) -> bool {
        let left = self.text.get() > 0;
        if !left {
            self.refused.set(self.refused.get().saturating_add(1));
        }
        left
    }

    /// `bytes` of abbreviations or of a file table of another unit.
    pub(super) fn far(&self, bytes: u64) -> bool {
        let taken = take(&self.far, bytes);
        if !taken {
            self.refused.set(self.refused.get().saturating_add(1));
        }
        taken
    }

    /// How often another unit was not looked at.
    pub(super) fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// One inlined function: an honest DIE of one has more than four bytes.
    pub(super) fn node(&self) -> bool {
        take(&self.nodes, 1)
    }
}

fn take(left: &Cell<u64>, amount: u64) -> bool {
    let rest = left.get().checked_sub(amount);
    rest.map(|rest| left.set(rest)).is_some()
}
