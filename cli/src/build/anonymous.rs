//! The peak of this process's anonymous memory, sampled.
//!
//! The kernel keeps a high-water mark of all resident memory, maps of files
//! included, but none of the anonymous part: it has to be looked at. Peaks
//! shorter than the interval can be missed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use symidx_perf::anonymous_bytes;

const INTERVAL: Duration = Duration::from_millis(5);

/// Looks at the memory until dropped.
pub(crate) struct Sampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    /// One per worker: the highest value since its job began.
    peaks: Vec<AtomicU64>,
}

impl Shared {
    fn sample(&self) {
        let now = anonymous_bytes();
        for peak in &self.peaks {
            peak.fetch_max(now, Ordering::Relaxed);
        }
    }
}

impl Sampler {
    /// Starts looking, for that many workers.
    pub(crate) fn start(workers: usize) -> Self {
        let peaks = std::iter::repeat_with(AtomicU64::default).take(workers).collect();
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), peaks });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || {
            while !of_thread.stop.load(Ordering::Relaxed) {
                of_thread.sample();
                std::thread::park_timeout(INTERVAL);
            }
        });
        // Without the thread only the ends of jobs are looked at.
        Self { shared, thread: thread.ok() }
    }

    /// A worker's job begins.
    pub(crate) fn begin(&self, worker: usize) {
        if let Some(peak) = self.shared.peaks.get(worker) {
            peak.store(anonymous_bytes(), Ordering::Relaxed);
        }
    }

    /// A worker's job has ended: the peak since it began, in bytes.
    pub(crate) fn end(&self, worker: usize) -> u64 {
        self.shared.sample();
        self.shared.peaks.get(worker).map_or(0, |peak| peak.load(Ordering::Relaxed))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
