//! Memory does not depend on how large a recording is, nor on what it claims.

#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop; an allocator is unsafe code"
)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Read;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::*;
use symidx_perf::{
    ANONYMOUS_BYTES, Format, NameOptions, Names, Reader, ReportOptions, ScriptOptions, Session,
    anonymous_bytes, report, script,
};

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: hands every call on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    // Zeroes that were never written take no memory.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let now = NOW.fetch_add(size, Relaxed) + size - layout.size();
        NOW.fetch_sub(layout.size(), Relaxed);
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Chunks of a recording, made one after another while it is read.
struct Chunks<F> {
    more: F,
    made: Vec<u8>,
    used: usize,
}

impl<F: FnMut(&mut Recording) -> bool> Chunks<F> {
    /// `more` adds records until there are no more.
    fn new(more: F) -> Self {
        Self { more, made: Recording::new(IP_TID_TIME | CALLCHAIN).pipe(), used: 0 }
    }
}

impl<F: FnMut(&mut Recording) -> bool> Read for Chunks<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.used == self.made.len() {
            let mut recording = Recording::new(IP_TID_TIME | CALLCHAIN);
            if !(self.more)(&mut recording) {
                return Ok(0);
            }
            self.made = recording.records.concat();
            self.used = 0;
        }
        let rest = self.made.get(self.used..).unwrap();
        let count = rest.len().min(buffer.len());
        buffer.get_mut(..count).unwrap().copy_from_slice(rest.get(..count).unwrap());
        self.used += count;
        Ok(count)
    }
}

/// Processes come and go, every address is another one, stacks are 30 deep.
fn endless(samples: u64, rounds: bool) -> impl Read + Send {
    let mut sample = 0u64;
    Chunks::new(move |recording| {
        let time = sample * 1000 + 1;
        let pid = 100 + u32::try_from(sample / 50).unwrap();
        if sample.is_multiple_of(50) {
            recording.task(FORK, pid, 1, time);
            recording.comm(pid, time, "short-lived", true);
            for map in 0..20u64 {
                let name = format!("/lib/lib{}.so", map + sample / 5000 % 50);
                recording.mmap(pid, time, 0x7f00_0000_0000 + map * 0x10_0000, 0x10_0000, 0, &name);
            }
            recording.task(EXIT, pid - 10, 1, time);
        }
        let chain: Vec<u64> = (0..30)
            .map(|depth| 0x7f00_0000_0000 + (sample * 7919 + depth * 104_729) % 0x140_0000)
            .collect();
        recording.sample(USER, pid, time, 0, &chain);
        if rounds && sample.is_multiple_of(500) {
            recording.round();
        }
        sample += 1;
        sample <= samples
    })
}

/// Processes without end, each with names and mappings of its own, and now and then a
/// sample with a stack of many files.
fn flood(processes: u32) -> impl Read + Send {
    let mut pid = 10;
    Chunks::new(move |recording| {
        for _ in 0..100 {
            let time = u64::from(pid);
            recording.comm(pid, time, &format!("process{pid}"), true);
            recording.mmap(pid, time, 0x10_0000, 0x1000, 0, "/bin/one");
            recording.task(FORK, pid + 1, pid, time);
            pid += 1;
        }
        let chain: Vec<u64> = (0..100).map(|depth| 0x10_0000 + depth * 64).collect();
        recording.sample(USER, pid - 1, u64::from(pid), 0, &chain);
        if pid.is_multiple_of(1000) {
            recording.round();
        }
        pid <= processes + 10
    })
}

/// A recording of a kind of excess, and its samples.
fn excess(kind: &str) -> (Box<dyn Read + Send>, u64) {
    let mut number = 0u32;
    match kind {
        "processes" => (Box::new(flood(200_000)), 2000),
        // Files that are not there, a sample in each.
        "files" => {
            let files = Chunks::new(move |recording| {
                let name = format!("/no/such/file{number:0>51}");
                recording.mmap(7, number.into(), 0x40_0000, 0x1000, 0, &name);
                recording.sample(USER, 7, number.into(), 0x40_0010, &[]);
                number += 1;
                number <= 17_000
            });
            (Box::new(files), 17_000)
        }
        // The same of a kernel's modules.
        "modules" => {
            let modules = Chunks::new(move |recording| {
                let start = 0xffff_ffff_c000_0000 + u64::from(number) * 0x1000;
                if number == 0 {
                    recording.kernel(0, 0xffff_ffff_b000_0000, 0, "[kernel.kallsyms]_text");
                }
                recording.kernel(start, 0x1000, 0, &format!("[m{number}]"));
                recording.sample(KERNEL, 7, number.into(), start + 16, &[]);
                number += 1;
                number <= 20_000
            });
            (Box::new(modules), 20_000)
        }
        // Mappings of one process, scattered over its memory.
        "scattered" => {
            let maps = Chunks::new(move |recording| {
                let at = u64::from(number.wrapping_mul(2_654_435_761));
                recording.mmap(7, number.into(), at << 12, 0x1000, 0, "/bin/one");
                if number.is_multiple_of(100) {
                    recording.sample(USER, 7, number.into(), at << 12, &[]);
                }
                number += 1;
                number <= 100_000
            });
            (Box::new(maps), 1_000)
        }
        // Names of threads, and mappings of each process.
        _ => {
            let maps = Chunks::new(move |recording| {
                let (pid, time) = (number + 10, number.into());
                recording.task(FORK, pid, 1, time);
                recording.comm(pid, time, "fifteen-letters", true);
                for map in 0..20 {
                    recording.mmap(pid, time, 0x40_0000 + map * 0x2000, 0x1000, 0, "/bin/bash");
                }
                recording.sample(USER, pid, time, 0x40_0010, &[]);
                number += 1;
                number <= 16_000
            });
            (Box::new(maps), 16_000)
        }
    }
}

/// Does every job with a recording of one kind of excess. One process a job: what an
/// allocator keeps of one is no matter of the next.
fn stays_within_the_bound(kind: &str) {
    for job in ["Text", "Json", "Folded", "report", "budget"] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "one_flood", "--nocapture"]);
        child.env("SYMIDX_FLOOD", job).env("SYMIDX_FLOOD_OF", kind);
        let output = child.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_bounded = output.status.success() && said.contains("bytes at most");
        assert!(is_bounded, "{job} of {kind}: {said}");
    }
}

/// A million processes took 8.3 MiB: more than the bound, though all that grew had one.
#[test]
fn a_flood_of_processes_stays_within_the_bound() {
    stays_within_the_bound("processes");
}

/// A sentence for each, with its path, took 13 MiB and more.
#[test]
fn files_without_an_index_stay_within_the_bound() {
    stays_within_the_bound("files");
}

#[test]
fn modules_without_an_index_stay_within_the_bound() {
    stays_within_the_bound("modules");
}

/// Lists of mappings had room for twice as many.
#[test]
fn mappings_of_many_processes_stay_within_the_bound() {
    stays_within_the_bound("maps");
}

#[test]
fn mappings_all_over_one_process_stay_within_the_bound() {
    stays_within_the_bound("scattered");
}

/// The job that a test above asks for; of its own accord none.
#[test]
fn one_flood() {
    let Ok(job) = std::env::var("SYMIDX_FLOOD") else { return };
    let (stream, made) = excess(&std::env::var("SYMIDX_FLOOD_OF").unwrap());
    let mut session = Session::new(Reader::from_stream(stream).unwrap());
    let mut names = Names::new(NameOptions::default());
    let (samples, peak) = if job == "report" {
        let options = ReportOptions::default();
        let found = report(&mut session, &mut names, &options, 20, |_| ()).unwrap();
        (found.total.samples, found.peak_anonymous.max(anonymous_bytes()))
    } else if job == "budget" {
        let budget = names.budget(&mut session, 127, None).unwrap();
        (budget.inventory.counts.samples, anonymous_bytes())
    } else {
        let mut options = ScriptOptions::default();
        options.format = match job.as_str() {
            "Json" => Format::Json,
            "Folded" => Format::Folded,
            _ => Format::Text,
        };
        let out = &mut std::io::sink();
        let summary = script(&mut session, &mut names, &options, out, |_| ()).unwrap();
        (summary.counts.samples, summary.peak_anonymous.max(anonymous_bytes()))
    };
    assert_eq!(samples, made);
    let counts = session.counts();
    assert!(counts.forgotten > 0 || counts.refused_files > 0);
    assert!(peak < ANONYMOUS_BYTES, "{peak} bytes");
    eprintln!("{peak} bytes at most");
}

fn peak(samples: u64, rounds: bool) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let mut session = Session::new(Reader::from_stream(endless(samples, rounds)).unwrap());
    let mut names = Names::new(NameOptions::default());
    let options = ScriptOptions::default();
    let summary = script(&mut session, &mut names, &options, &mut std::io::sink(), |_| ()).unwrap();
    assert_eq!((summary.counts.samples, summary.frames), (samples, samples * 30));
    PEAK.load(Relaxed) - before
}

// The allocator counts for the whole process, in which no other test does much.
#[test]
fn ten_times_the_recording_takes_the_same_memory() {
    let small = peak(2_500, true);
    let large = peak(25_000, true);
    assert!(large < 8 << 20, "{large} bytes");
    assert!(large < small + (2 << 20), "{small} bytes, then {large}");
    // Without round marks it goes through files.
    let unsorted = peak(25_000, false);
    assert!(unsorted < 8 << 20, "{unsorted} bytes");
}
