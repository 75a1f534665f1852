//! In: addresses. Out: what one pass over them costs: heap, time, page faults.
//! A pass names every address: each function's linkage name, file and line are read; nothing is kept.
//! Never: collects answers while it measures (`compare` does, apart).

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use symidx::process::{Resolver, Unknown};

use crate::alloc::{Traffic, count};

/// The cost of a pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub time: Duration,
    pub heap: Traffic,
    pub faults: i64,
    /// Addresses with a name.
    pub named: usize,
    /// Functions, inlined ones too.
    pub functions: usize,
    /// The part of `time` and `faults` that finding and opening indexes took.
    pub opening: Duration,
    pub opening_faults: i64,
    /// Indexes that were open afterwards.
    pub open: usize,
}

/// Runs and measures one pass.
pub fn measure(pass: impl FnOnce(&mut Cost)) -> Cost {
    let mut cost = Cost::default();
    let before = faults();
    let ((), heap) = count(|| {
        let start = Instant::now();
        pass(&mut cost);
        cost.time = start.elapsed();
    });
    cost.faults = faults() - before;
    cost.heap = heap;
    cost
}

fn faults() -> i64 {
    // SAFETY: an all-zero record is one; the call fills it in.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the record is writable.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage.ru_minflt + usage.ru_majflt
}

/// Room for one line; what does not fit is cut.
pub struct Line {
    bytes: [u8; 4096],
    used: usize,
}

impl Line {
    pub fn new() -> Self {
        Self { bytes: [0; 4096], used: 0 }
    }
}

impl std::fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.len() - self.used;
        let text = text.as_bytes().get(..room.min(text.len())).unwrap_or(&[]);
        if let Some(to) = self.bytes.get_mut(self.used..self.used + text.len()) {
            to.copy_from_slice(text);
        }
        self.used += text.len();
        Ok(())
    }
}

fn opened(resolver: &mut Resolver, addresses: &[u64], cost: &mut Cost) -> usize {
    let (start, before) = (Instant::now(), faults());
    let open = resolver.open_for(addresses);
    cost.opening = start.elapsed();
    cost.opening_faults = faults() - before;
    open
}

/// symidx: sorts the addresses, opens what they need, then gives every function, file and line.
pub fn symidx_frames(resolver: &mut Resolver, addresses: &mut [u64], cost: &mut Cost) {
    addresses.sort_unstable();
    cost.open = opened(resolver, addresses, cost);
    let mut line = Line::new();
    for &address in &*addresses {
        let Ok(found) = resolver.frames_return(address) else {
            continue;
        };
        cost.named += 1;
        for frame in found.frames().flatten() {
            line.used = frame.function().map_or(0, |name| name.copy_to(&mut line.bytes));
            if let Some(file) = frame.file() {
                let room = line.bytes.get_mut(line.used..).unwrap_or_default();
                line.used += file.copy_to(room);
                black_box(frame.line());
            }
            cost.functions += 1;
            black_box(&line.bytes);
        }
    }
}

/// symidx: names only, in a sorted batch.
pub fn symidx_names(resolver: &mut Resolver, addresses: &mut [u64], cost: &mut Cost) {
    addresses.sort_unstable();
    cost.open = opened(resolver, addresses, cost);
    let mut line = Line::new();
    let inside = addresses.iter().map(|address| address - 1);
    let statistics = resolver.batch(inside, |_, answer| match answer {
        Ok(found) => {
            line.used = found.symbol().name().copy_to(&mut line.bytes);
            black_box(&line.bytes);
        }
        Err(reason) => {
            black_box::<Unknown>(reason);
        }
    });
    cost.named = usize::try_from(statistics.resolved()).unwrap_or(usize::MAX);
    cost.functions = cost.named;
}

/// `backtrace`: its only call, with all that its answers hold.
pub fn backtrace(addresses: &[u64], cost: &mut Cost) {
    let mut line = Line::new();
    for &address in addresses {
        let mut named = false;
        backtrace::resolve(pointer(address), |symbol| {
            line.used = 0;
            if let Some(name) = symbol.name() {
                named = true;
                let _ = write!(line, "{}", name.as_str().unwrap_or(""));
            }
            if let Some(file) = symbol.filename() {
                let _ = write!(line, " {}:{:?}", file.display(), symbol.lineno());
            }
            cost.functions += 1;
            black_box(&line.bytes);
        });
        cost.named += usize::from(named);
    }
}

pub fn pointer(address: u64) -> *mut std::ffi::c_void {
    std::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
}
