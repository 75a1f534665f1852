//! Which indexes are opened when not all of them fit a bound.
//!
//! In: a profile and a number of bytes. Out: the DSOs that are left out. The order is
//! fixed, so that the same profile loses the same names every time.

use crate::dsos::DsoId;
use crate::error::Error;
use crate::inventory::Inventory;
use crate::session::Session;

use super::{Names, Opened, State};

impl Names {
    /// Leaves out the indexes that `bound` bytes have no room for. Those that name most
    /// frames per byte go in first: so each byte is worth most, and one large index of
    /// few frames does not keep many small ones out. Reads the profile once.
    ///
    /// # Errors
    /// As [`Session::next_sample`].
    pub fn choose(&mut self, session: &mut Session, most: usize, bound: u64) -> Result<(), Error> {
        let inventory = Inventory::read(session, most)?;
        let unbounded = self.options.max_bytes.take();
        let mut sizes: Vec<(u64, u64, DsoId)> = Vec::new();
        // The kernel and its modules share one index.
        let mut kernel = (0u64, 0u64, Vec::new());
        for used in inventory.dsos.iter().filter(|used| used.frames != 0) {
            self.open(used.id, &used.dso, used.pid, session);
            let Opened::Index(bytes) = self.opened(used.id) else { continue };
            match self.states.get(used.id.number()) {
                Some(State::Kernel) => {
                    kernel.0 = kernel.0.saturating_add(used.frames);
                    kernel.1 = bytes;
                    kernel.2.push(used.id);
                }
                _ => sizes.push((used.frames, bytes, used.id)),
            }
        }
        sizes.extend(kernel.2.first().map(|&id| (kernel.0, kernel.1, id)));
        let fits = most_frames_per_byte(&mut sizes, bound);
        self.close_all();
        self.options.max_bytes = unbounded;
        for &(_, _, id) in sizes.get(fits..).unwrap_or(&[]) {
            match kernel.2.first() == Some(&id) {
                true => kernel.2.iter().for_each(|&id| self.exclude(id)),
                false => self.exclude(id),
            }
        }
        Ok(())
    }
}

/// Sorts DSOs (frames, bytes) by frames per byte, the fitting ones in front; how many
/// fit. One that does not fit is passed over: a smaller one behind it may.
fn most_frames_per_byte(sizes: &mut Vec<(u64, u64, DsoId)>, bound: u64) -> usize {
    let worth = |&(frames, bytes, id): &(u64, u64, DsoId), other: &(u64, u64, DsoId)| {
        let left = u128::from(frames).saturating_mul(other.1.into());
        let right = u128::from(other.0).saturating_mul(bytes.into());
        right.cmp(&left).then(id.cmp(&other.2))
    };
    sizes.sort_by(worth);
    let mut left = bound;
    let (fitting, rest): (Vec<_>, Vec<_>) = sizes.drain(..).partition(|&(_, bytes, _)| {
        let fits = bytes <= left;
        left = left.saturating_sub(if fits { bytes } else { 0 });
        fits
    });
    let count = fitting.len();
    sizes.extend(fitting);
    sizes.extend(rest);
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frames_per_byte_go_in_first_and_smaller_ones_fill_up() {
        let id = DsoId::at;
        let mut sizes = vec![
            (100, 1000, id(5)),
            (90, 10, id(6)),
            (10, 100, id(7)),
            (1, 0, id(8)),
            (10, 100, id(4)),
        ];
        let fits = most_frames_per_byte(&mut sizes, 215);
        let order: Vec<usize> = sizes.iter().map(|(_, _, id)| id.number()).collect();
        // 8 costs nothing, 6 is worth nine frames a byte, 4, 5 and 7 a tenth: by number, and 5 does
        // not fit beside 4.
        assert_eq!((fits, order), (4, vec![8, 6, 4, 7, 5]));
        assert_eq!(most_frames_per_byte(&mut sizes, 0), 1);
    }
}
