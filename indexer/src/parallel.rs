//! Builds side by side: what each may take of the threads and of the memory.
//!
//! In: what the user allows, and sizes of inputs. Out: shares of it, and a gate that
//! lets builds begin while they fit. Starts no thread and builds nothing.

use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, PoisonError};

/// More threads than this are never started, whatever anybody asks for: tens of
/// thousands take minutes to begin and end, or cannot be had at all.
pub const MAX_THREADS: usize = 512;

/// How many threads work side by side: as many as the user wants, else one per
/// processor; at most [`MAX_THREADS`].
///
/// ```
/// use symidx_indexer::parallel::{MAX_THREADS, allowed};
/// assert_eq!(allowed(Some(3)), 3);
/// assert_eq!(allowed(Some(60_000)), MAX_THREADS);
/// assert!(allowed(None) >= 1);
/// ```
#[must_use]
pub fn allowed(wanted: Option<usize>) -> usize {
    let own = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    wanted.unwrap_or_else(own).clamp(1, MAX_THREADS)
}

/// Threads inside a build: what `jobs` leaves for each of the workers; `None`:
/// whatever the machine has.
///
/// ```
/// use symidx_indexer::parallel::threads_each;
/// assert_eq!(threads_each(Some(8), 3).map(|threads| threads.get()), Some(2));
/// assert_eq!(threads_each(None, 3), None);
/// ```
#[must_use]
pub fn threads_each(jobs: Option<usize>, workers: usize) -> Option<NonZeroUsize> {
    let each = jobs?.checked_div(workers)?;
    Some(NonZeroUsize::new(each).unwrap_or(NonZeroUsize::MIN))
}

/// What a build may take of the bound on memory.
#[must_use]
pub fn memory_each(limit: u64, workers: usize) -> u64 {
    let workers = u64::try_from(workers).unwrap_or(u64::MAX);
    limit.checked_div(workers).unwrap_or(limit)
}

/// Anonymous memory that a build is expected to need. Symbols are a small part
/// of a file; debug information takes a fifth to a half of its bytes, and when
/// it is packed a little more than them.
#[must_use]
pub fn estimate(input_bytes: u64, names_only: bool) -> u64 {
    const LEAST: u64 = 4 << 20;
    const WITH_LINES: u64 = 16 << 20;
    match names_only {
        true => (input_bytes / 4).saturating_add(LEAST),
        false => input_bytes.saturating_add(WITH_LINES),
    }
}

/// Memory handed out to builds. One build alone may always begin.
///
/// ```
/// use symidx_indexer::parallel::Budget;
/// let budget = Budget::new(Some(100));
/// budget.take(70);
/// // A second one of 70 would wait here.
/// budget.give(70);
/// ```
#[derive(Debug)]
pub struct Budget {
    limit: Option<u64>,
    used: Mutex<u64>,
    freed: Condvar,
}

impl Budget {
    /// So many bytes; `None`: no end of them.
    #[must_use]
    pub fn new(limit: Option<u64>) -> Self {
        Self { limit, used: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits until so many bytes are free, or all of them, and takes them.
    pub fn take(&self, bytes: u64) {
        let Some(limit) = self.limit else { return };
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let too_much = |used: &mut u64| *used > 0 && used.saturating_add(bytes) > limit;
        let mut used =
            self.freed.wait_while(used, too_much).unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_add(bytes);
    }

    /// Gives back what was taken.
    pub fn give(&self, bytes: u64) {
        if self.limit.is_some() {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            *used = used.saturating_sub(bytes);
            self.freed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn threads_and_memory_are_shared_by_the_workers() {
        let threads = |jobs, workers| threads_each(jobs, workers).map(NonZeroUsize::get);
        assert_eq!(threads(Some(1), 1), Some(1));
        assert_eq!(threads(Some(8), 1), Some(8));
        assert_eq!(threads(Some(8), 3), Some(2));
        assert_eq!(threads(Some(4), 4), Some(1));
        assert_eq!(threads(Some(2), 4), Some(1));
        assert_eq!(threads(None, 1), None);
        assert_eq!(memory_each(256 << 20, 1), 256 << 20);
        assert_eq!(memory_each(256 << 20, 4), 64 << 20);
    }

    #[test]
    fn what_runs_side_by_side_fits_the_bound() {
        let (budget, running, most) =
            (Budget::new(Some(100)), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for bytes in [60, 30, 50, 250, 10, 90, 40] {
                let (budget, running, most) = (&budget, &running, &most);
                scope.spawn(move || {
                    budget.take(bytes);
                    let now = running.fetch_add(bytes, Ordering::SeqCst).saturating_add(bytes);
                    most.fetch_max(now, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    running.fetch_sub(bytes, Ordering::SeqCst);
                    budget.give(bytes);
                });
            }
        });
        // The one that is larger than the bound ran alone.
        assert_eq!(most.load(Ordering::SeqCst), 250);
    }
}
