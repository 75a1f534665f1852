//! In: every allocation of this process. Out: how many bytes and calls a piece of code made.
//! Counts only between `start` and `stop`, so that timed code pays one relaxed load.
//! Never: frees, reuses or aligns anything itself; the system allocator does all the work.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

static ON: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicUsize = AtomicUsize::new(0);
static FREED: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// The global allocator: the system's, with a counter beside it.
pub struct Counting;

/// Heap traffic of one piece of code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes asked for, freed again or not.
    pub bytes: usize,
    /// Bytes asked for and still held at the end.
    pub held: usize,
    /// Calls of `alloc` and `realloc`.
    pub calls: usize,
}

/// Runs `f` and returns its result with the heap traffic it caused.
pub fn count<T>(f: impl FnOnce() -> T) -> (T, Traffic) {
    for counter in [&BYTES, &FREED, &CALLS] {
        counter.store(0, Relaxed);
    }
    ON.store(true, Relaxed);
    let value = f();
    ON.store(false, Relaxed);
    let bytes = BYTES.load(Relaxed);
    let held = bytes.saturating_sub(FREED.load(Relaxed));
    (value, Traffic { bytes, held, calls: CALLS.load(Relaxed) })
}

fn grew(bytes: usize) {
    if ON.load(Relaxed) {
        BYTES.fetch_add(bytes, Relaxed);
        CALLS.fetch_add(1, Relaxed);
    }
}

fn shrank(bytes: usize) {
    if ON.load(Relaxed) {
        FREED.fetch_add(bytes, Relaxed);
    }
}

// SAFETY: every call is passed on to `System` unchanged; the counters touch no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grew(layout.size());
        // SAFETY: the caller's promises are passed on as they are.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grew(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        shrank(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        grew(new_size);
        shrank(layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}
