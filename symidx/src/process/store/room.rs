//! How much a store may hold open, and what of that is taken.
//!
//! Room is taken before an index is opened and given back when it is closed,
//! so the bounds hold at every moment, whatever threads do.

use std::sync::{Arc, Mutex, PoisonError};

/// What is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) indexes: usize,
    pub(super) bytes: u64,
}

/// The bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) indexes: usize,
    pub(super) bytes: u64,
}

impl Bounds {
    /// How many bytes one more index may have; none where there are enough indexes.
    pub(super) fn left(&self, taken: Taken) -> u64 {
        match taken.indexes < self.indexes {
            true => self.bytes.saturating_sub(taken.bytes),
            false => 0,
        }
    }

    /// True when one more index of this size fits.
    pub(super) fn fits(&self, taken: Taken, bytes: u64) -> bool {
        taken.indexes < self.indexes && bytes <= self.left(taken)
    }
}

/// Counts what is taken.
#[derive(Debug, Default)]
pub(super) struct Counter(Mutex<Taken>);

impl Counter {
    pub(super) fn taken(&self) -> Taken {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room that is taken by one index, until it is dropped.
#[derive(Debug)]
pub(super) struct Room {
    counter: Arc<Counter>,
    bytes: u64,
}

impl Room {
    /// Takes room for an index.
    ///
    /// # Errors
    /// How many bytes are left, when those are too few.
    pub(super) fn take(counter: &Arc<Counter>, bounds: Bounds, bytes: u64) -> Result<Self, u64> {
        let mut taken = counter.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !bounds.fits(*taken, bytes) {
            return Err(bounds.left(*taken));
        }
        taken.indexes = taken.indexes.saturating_add(1);
        taken.bytes = taken.bytes.saturating_add(bytes);
        drop(taken);
        Ok(Self { counter: counter.clone(), bytes })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut taken = self.counter.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.indexes = taken.indexes.saturating_sub(1);
        taken.bytes = taken.bytes.saturating_sub(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bounds_are_exact_and_room_comes_back() {
        let counter = Arc::new(Counter::default());
        let bounds = Bounds { indexes: 2, bytes: 100 };
        assert_eq!(Room::take(&counter, bounds, 101).unwrap_err(), 100);
        let whole = Room::take(&counter, bounds, 100).unwrap();
        assert_eq!(Room::take(&counter, bounds, 1).unwrap_err(), 0);
        let empty = Room::take(&counter, bounds, 0).unwrap();
        assert_eq!(Room::take(&counter, bounds, 0).unwrap_err(), 0, "two indexes");
        drop((whole, empty));
        assert_eq!(counter.taken(), Taken::default());
    }

    /// Counting came after opening: two threads went past the bound together.
    #[test]
    fn threads_never_take_more_than_there_is() {
        let counter = Arc::new(Counter::default());
        let bounds = Bounds { indexes: 3, bytes: 100 };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let room = Room::take(&counter, bounds, 40);
                        let taken = counter.taken();
                        assert!(taken.indexes <= 3 && taken.bytes <= 100, "{taken:?}");
                        drop(room);
                    }
                });
            }
        });
        assert_eq!(counter.taken(), Taken::default());
    }
}
