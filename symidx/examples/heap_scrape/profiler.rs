//! A sampling heap profiler: an allocator that passes every call on, and
//! remembers the stacks of some.
//!
//! Every thread counts down bytes; where the count passes zero, the allocation
//! is sampled, and the next one comes after a random number of bytes whose mean
//! is the rate (exponential, as Go and jemalloc do). Each sample stands for
//! `1 / (1 - e^(-size / rate))` allocations of its size, so that sums are right
//! on average whatever the sizes.
//!
//! All tables have fixed sizes. An allocation that is not sampled costs a
//! subtraction; a free, one cache line of the table of sampled pointers.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Addresses kept of a stack, and stacks that differ.
const DEPTH: usize = 64;
const STACKS: usize = 4096;
/// Sampled pointers that are alive: sets of eight, a cache line each.
const SETS: usize = 8192;
const WAYS: usize = 8;
/// A place in the table that is being filled.
const RESERVED: usize = 1;

/// Sums of one stack.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) allocated_objects: f64,
    pub(crate) allocated_bytes: f64,
    pub(crate) live_objects: f64,
    pub(crate) live_bytes: f64,
}

#[derive(Clone, Copy)]
struct Stack {
    hash: u64,
    depth: usize,
    addresses: [u64; DEPTH],
    sums: Sums,
}

/// A stack as the profile has it: return addresses, the innermost first.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    pub(crate) addresses: Vec<u64>,
    pub(crate) sums: Sums,
}

/// The allocator. One of a program, as its global allocator.
pub(crate) struct Profiler {
    rate: AtomicU64,
    /// Held for a few hundred instructions, never while anything allocates.
    lock: AtomicBool,
    stacks: UnsafeCell<[Stack; STACKS]>,
    pointers: [[AtomicUsize; WAYS]; SETS],
    /// Beside `pointers`: whose stack, and how many bytes.
    owners: [[AtomicU32; WAYS]; SETS],
    sizes: [[AtomicUsize; WAYS]; SETS],
    dropped: AtomicU64,
}

// SAFETY: `stacks` is touched under `lock` only; all else is atomic.
unsafe impl Sync for Profiler {}

thread_local! {
    /// Bytes until the next sample; `None` before a thread's first allocation.
    static LEFT: Cell<Option<i64>> = const { Cell::new(None) };
    static RANDOM: Cell<u64> = const { Cell::new(0) };
    /// Walking a stack may allocate: that is not sampled.
    static BUSY: Cell<bool> = const { Cell::new(false) };
    static HEAP: Cell<u64> = const { Cell::new(0) };
}

/// Bytes that this thread has ever allocated.
pub(crate) fn allocated_here() -> u64 {
    HEAP.get()
}

impl Profiler {
    /// Off until [`Profiler::start`].
    pub(crate) const fn new() -> Self {
        let sums = Sums {
            allocated_objects: 0.0,
            allocated_bytes: 0.0,
            live_objects: 0.0,
            live_bytes: 0.0,
        };
        let empty = Stack { hash: 0, depth: 0, addresses: [0; DEPTH], sums };
        Self {
            rate: AtomicU64::new(0),
            lock: AtomicBool::new(false),
            stacks: UnsafeCell::new([empty; STACKS]),
            pointers: [const { [const { AtomicUsize::new(0) }; WAYS] }; SETS],
            owners: [const { [const { AtomicU32::new(0) }; WAYS] }; SETS],
            sizes: [const { [const { AtomicUsize::new(0) }; WAYS] }; SETS],
            dropped: AtomicU64::new(0),
        }
    }

    /// Samples once in so many bytes from here on.
    pub(crate) fn start(&self, rate: u64) {
        self.rate.store(rate.max(1), Ordering::Relaxed);
    }

    /// The mean number of bytes between samples.
    pub(crate) fn rate(&self) -> u64 {
        self.rate.load(Ordering::Relaxed)
    }

    /// Samples for which a table had no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Every stack that was sampled, with its sums up to now.
    pub(crate) fn snapshot(&self) -> Vec<Sampled> {
        let mut sampled = Vec::new();
        for at in 0..STACKS {
            let copied = self.locked(|stacks| stacks.get(at).copied());
            if let Some(stack) = copied.filter(|stack| stack.depth > 0) {
                let addresses = stack.addresses.iter().take(stack.depth).copied().collect();
                sampled.push(Sampled { addresses, sums: stack.sums });
            }
        }
        sampled
    }

    fn locked<R>(&self, run: impl FnOnce(&mut [Stack; STACKS]) -> R) -> R {
        while self.lock.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        // SAFETY: the lock is held, so this is the only reference.
        let result = run(unsafe { &mut *self.stacks.get() });
        self.lock.store(false, Ordering::Release);
        result
    }

    /// Called for each allocation.
    #[inline]
    fn allocated(&self, pointer: *mut u8, size: usize) {
        let bytes = i64::try_from(size).unwrap_or(i64::MAX);
        // A thread that ends has no counters any more.
        let Ok(left) = LEFT.try_with(Cell::get) else { return };
        HEAP.set(HEAP.get().saturating_add(bytes.unsigned_abs()));
        match left {
            Some(left) if left > bytes => LEFT.set(Some(left - bytes)),
            _ => self.passed(pointer, size, left, bytes),
        }
    }

    /// The count passes zero, or was never begun.
    #[cold]
    #[inline(never)]
    fn passed(&self, pointer: *mut u8, size: usize, left: Option<i64>, bytes: i64) {
        let rate = self.rate();
        if rate == 0 || pointer.is_null() || BUSY.replace(true) {
            return;
        }
        let left = left.unwrap_or_else(|| interval(rate));
        if left > bytes {
            LEFT.set(Some(left - bytes));
        } else {
            self.sample(pointer, size, rate);
            LEFT.set(Some(interval(rate)));
        }
        BUSY.set(false);
    }

    #[inline(never)]
    fn sample(&self, pointer: *mut u8, size: usize, rate: u64) {
        let (mut addresses, mut depth) = ([0u64; DEPTH], 0);
        // Ends where the program's stack does, or the room.
        let mut record = |frame: &backtrace::Frame| {
            // The profiler's own functions are nobody's business.
            if is_own(frame.symbol_address()) {
                depth = 0;
            } else if let Some(room) = addresses.get_mut(depth)
                // Below the program's first function lies nothing.
                && !frame.ip().is_null()
            {
                *room = u64::try_from(frame.ip().addr()).unwrap_or(0);
                depth += 1;
            }
            depth < DEPTH
        };
        // SAFETY: with glibc, the unwinder needs no synchronization but its own.
        unsafe { backtrace::trace_unsynchronized(&mut record) };
        let stack = addresses.get(..depth).unwrap_or(&[]);
        if depth == 0 {
            return;
        }
        let weight = weight(size, rate);
        let owner = self.locked(|stacks| {
            let (number, found) = entry(stacks, stack)?;
            found.sums.allocated_objects += weight;
            found.sums.allocated_bytes += weight * float(size);
            Some(number)
        });
        match owner.filter(|&owner| self.remember(pointer.addr(), owner, size)) {
            Some(owner) => self.live(owner, size, weight),
            None => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn live(&self, owner: u32, size: usize, weight: f64) {
        self.locked(|stacks| {
            if let Some(stack) = stacks.get_mut(usize::try_from(owner).unwrap_or(STACKS)) {
                stack.sums.live_objects += weight;
                stack.sums.live_bytes += weight * float(size);
            }
        });
    }

    /// Notes whose a pointer is; false when its set is full.
    fn remember(&self, pointer: usize, owner: u32, size: usize) -> bool {
        let set = set_of(pointer);
        for way in 0..WAYS {
            let (Some(slot), Some(owners), Some(sizes)) = (
                at(&self.pointers, set, way),
                at(&self.owners, set, way),
                at(&self.sizes, set, way),
            ) else {
                return false;
            };
            if slot.compare_exchange(0, RESERVED, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                owners.store(owner, Ordering::Relaxed);
                sizes.store(size, Ordering::Relaxed);
                slot.store(pointer, Ordering::Release);
                return true;
            }
        }
        false
    }

    /// Called for each pointer that is freed, before it is.
    #[inline]
    fn freed(&self, pointer: *mut u8) {
        let pointer = pointer.addr();
        let set = set_of(pointer);
        let Some(slots) = self.pointers.get(set) else { return };
        if let Some(way) = slots.iter().position(|slot| slot.load(Ordering::Relaxed) == pointer) {
            self.forget(set, way);
        }
    }

    #[cold]
    #[inline(never)]
    fn forget(&self, set: usize, way: usize) {
        let (Some(slot), Some(owner), Some(size)) =
            (at(&self.pointers, set, way), at(&self.owners, set, way), at(&self.sizes, set, way))
        else {
            return;
        };
        // Whoever frees a pointer is the only one that has it.
        let (owner, size) = (owner.load(Ordering::Acquire), size.load(Ordering::Acquire));
        slot.store(0, Ordering::Release);
        self.live(owner, size, -weight(size, self.rate()));
    }
}

fn at<T>(table: &[[T; WAYS]; SETS], set: usize, way: usize) -> Option<&T> {
    table.get(set)?.get(way)
}

fn set_of(pointer: usize) -> usize {
    let hash = u64::try_from(pointer).unwrap_or(0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(hash >> 32).unwrap_or(0) % SETS
}

/// The entry of a stack, made if need be; none when the table is full.
fn entry<'s>(stacks: &'s mut [Stack; STACKS], stack: &[u64]) -> Option<(u32, &'s mut Stack)> {
    let hash = stack.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &address| {
        (hash ^ address).wrapping_mul(0x100_0000_01b3).rotate_left(23)
    });
    let first = usize::try_from(hash % 4096).ok()?;
    let number = (0..STACKS).map(|step| (first + step) % STACKS).find(|&number| {
        stacks.get(number).is_some_and(|found| {
            found.depth == 0
                || (found.hash == hash && found.addresses.get(..found.depth) == Some(stack))
        })
    })?;
    let found = stacks.get_mut(number)?;
    if found.depth == 0 {
        found.hash = hash;
        found.depth = stack.len();
        found.addresses.get_mut(..stack.len())?.copy_from_slice(stack);
    }
    Some((u32::try_from(number).ok()?, found))
}

/// True for the functions between the allocator's entry and the unwinder.
fn is_own(function: *mut c_void) -> bool {
    let own = [Profiler::sample as *const c_void, Profiler::passed as *const c_void];
    own.contains(&function.cast_const())
}

/// How many allocations of its size a sampled one stands for.
fn weight(size: usize, rate: u64) -> f64 {
    let chance = -(-float(size.max(1)) / float(usize::try_from(rate).unwrap_or(1))).exp_m1();
    1.0 / chance
}

/// Bytes until the next sample: exponential, with the rate as mean.
fn interval(rate: u64) -> i64 {
    let mut state = RANDOM.get();
    if state == 0 {
        // Differs between threads: each has its own place for it.
        let place = RANDOM.with(|place| std::ptr::from_ref(place).addr());
        state = u64::try_from(place).unwrap_or(1) | 1;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    RANDOM.set(state);
    // In (0, 1]: 53 bits.
    let uniform = ((state >> 11) + 1) as f64 / (1u64 << 53) as f64;
    (-uniform.ln() * rate as f64) as i64 + 1
}

fn float(size: usize) -> f64 {
    size as f64
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Profiler {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, passed on.
        let pointer = unsafe { System.alloc(layout) };
        self.allocated(pointer, layout.size());
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, passed on.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        self.allocated(pointer, layout.size());
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.freed(pointer);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Before somebody else can get the same address.
        self.freed(pointer);
        // SAFETY: the caller's promise, passed on.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        if !moved.is_null() {
            self.allocated(moved, size);
        }
        moved
    }
}
