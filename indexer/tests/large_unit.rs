//! One unit of debug information that is larger than the bound on memory: the
//! build stays below the bound, and the index is the same.
//!
//! The heap is counted, so this is a process of its own with one test at a time.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unsafe_code
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use symidx_indexer::{BuildOptions, BuildReport, build_file};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grown(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came; the counters
// allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() {
            grown(size - layout.size());
        } else {
            HELD.fetch_sub(layout.size() - size, Ordering::Relaxed);
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The peak is the process's.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Where the code is.
const CODE: u64 = 0x40_0000;

/// What a unit is made of.
#[derive(Clone, Copy)]
struct Shape {
    functions: u64,
    /// Functions inlined into each, the next one into the one before in fours.
    inlined: u64,
    /// Rows of each function.
    rows: u64,
}

impl Shape {
    /// Bytes of code of each function.
    fn size(self) -> u64 {
        self.rows.max(self.inlined * 2) * 4
    }
}

#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn uint(&mut self, value: u64, size: usize) -> &mut Self {
        self.0.extend(&value.to_le_bytes()[..size]);
        self
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }

    fn leb(&mut self, mut value: u64) -> &mut Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    fn patch(&mut self, at: usize, value: u64, size: usize) {
        self.0[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

/// Tags, children, and attributes with forms: unit, function, inlined function,
/// and function that is only inlined.
const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 1, 0x03, 0x08, 0x10, 0x17, 0x11, 0x01, 0, 0, //
    2, 0x2e, 1, 0x03, 0x08, 0x3a, 0x0b, 0x3b, 0x05, 0x11, 0x01, 0x12, 0x06, 0, 0, //
    3, 0x1d, 1, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0x58, 0x0b, 0x59, 0x05, 0, 0, //
    4, 0x2e, 0, 0x03, 0x08, 0x3a, 0x0b, 0x3b, 0x05, 0, 0, //
    0,
];

/// DWARF 4 of one unit.
fn info(shape: Shape) -> Vec<u8> {
    let mut b = Bytes::default();
    b.uint(0, 4).uint(4, 2).uint(0, 4).uint(8, 1);
    b.leb(1).raw(b"unit.c\0").uint(0, 4).uint(0, 8);
    let mut origins = Vec::new();
    for origin in 0..1000_u64 {
        origins.push(b.0.len() as u64);
        b.leb(4).raw(format!("inlined_{origin}\0").as_bytes()).uint(1, 1).uint(origin + 1, 2);
    }
    for function in 0..shape.functions {
        let start = CODE + function * shape.size();
        b.leb(2).raw(format!("function_number_{function}\0").as_bytes());
        b.uint(1, 1).uint(function % 60_000, 2).uint(start, 8).uint(shape.size(), 4);
        let mut open = 0;
        for call in 0..shape.inlined {
            let origin = origins[(function * 7 + call) as usize % origins.len()];
            let left = 4 - call % 4;
            b.leb(3).uint(origin, 4).uint(start + call * 8, 8).uint(left * 8, 4);
            b.uint(1, 1).uint(call % 60_000, 2);
            open += 1;
            if left == 1 {
                (0..open).for_each(|_| b.0.push(0));
                open = 0;
            }
        }
        (0..=open).for_each(|_| b.0.push(0));
    }
    b.0.push(0);
    let length = b.0.len() as u64 - 4;
    b.patch(0, length, 4);
    b.0
}

/// One sequence for all of the code.
fn line(shape: Shape) -> Vec<u8> {
    let mut b = Bytes::default();
    b.uint(0, 4).uint(4, 2).uint(0, 4);
    let header = b.0.len();
    b.raw(&[1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]);
    b.raw(b"\0unit.c\0\0\0\0\0");
    let length = (b.0.len() - header) as u64;
    b.patch(header - 4, length, 4);
    b.raw(&[0, 9, 2]).uint(CODE, 8);
    for row in 0..shape.functions * shape.rows {
        // Column, line and address; and a row.
        b.raw(&[5]).leb(row * 13 % 120).raw(&[3]).leb(row % 60).raw(&[1]);
        let step = shape.size() / shape.rows;
        b.raw(&[2]).leb(step);
        if row % 50 == 49 {
            // Lines do not grow without end.
            b.raw(&[3, 0x80 | (0x7f & (-1400_i64) as u8), 0x75]);
        }
    }
    b.raw(&[0, 1, 1]);
    let length = b.0.len() as u64 - 4;
    b.patch(0, length, 4);
    b.0
}

/// An ELF file with code that takes no room, and one unit; returns the bytes of
/// its debug information.
fn write_elf(path: &Path, shape: Shape) -> usize {
    let names = b"\0.text\0.debug_abbrev\0.debug_info\0.debug_line\0.shstrtab\0";
    let name = |wanted: &str| {
        names.windows(wanted.len()).position(|name| name == wanted.as_bytes()).unwrap() as u64
    };
    let (info, line) = (info(shape), line(shape));
    let size = info.len() + line.len();
    let code = shape.functions * shape.size();
    let parts: [(&str, u64, u64, u64, &[u8]); 4] = [
        (".debug_abbrev", 1, 0, 0, ABBREVIATIONS),
        (".debug_info", 1, 0, 0, &info),
        (".debug_line", 1, 0, 0, &line),
        (".shstrtab", 3, 0, 0, names),
    ];
    let mut b = Bytes::default();
    b.raw(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0").uint(2, 2).uint(62, 2).uint(1, 4);
    b.uint(CODE, 8).uint(0, 8).uint(0, 8).uint(0, 4).uint(64, 2).uint(56, 2).uint(0, 2);
    b.uint(64, 2).uint(6, 2).uint(5, 2);
    let mut headers = Bytes::default();
    headers.raw(&[0; 64]);
    let mut header = |name: u64, kind: u64, flags: u64, address: u64, offset: u64, size: u64| {
        headers.uint(name, 4).uint(kind, 4).uint(flags, 8).uint(address, 8);
        headers.uint(offset, 8).uint(size, 8).uint(0, 4).uint(0, 4).uint(1, 8).uint(0, 8);
    };
    header(name(".text"), 8, 6, CODE, 64, code);
    for (section, kind, flags, address, bytes) in parts {
        header(name(section), kind, flags, address, b.0.len() as u64, bytes.len() as u64);
        b.raw(bytes);
    }
    let at = b.0.len() as u64;
    b.patch(40, at, 8);
    b.raw(&headers.0);
    std::fs::write(path, &b.0).unwrap();
    size
}

/// An index, its report, and the most heap that the build of it held.
fn build(input: &Path, max_memory: Option<u64>, threads: usize) -> (Vec<u8>, BuildReport, u64) {
    let threads = std::num::NonZeroUsize::new(threads);
    let options = BuildOptions { max_memory, threads, ..BuildOptions::default() };
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let output = input.with_extension("symidx");
    let report = build_file(input, &output, &BuildOptions { force: true, ..options }).unwrap();
    let peak = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    (std::fs::read(output).unwrap(), report, peak as u64)
}

/// A unit of 30 MB took 150 MB: it was read whole.
#[test]
fn a_unit_larger_than_the_bound_stays_below_it() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("large");
    let size = write_elf(&input, Shape { functions: 13_000, inlined: 72, rows: 144 });
    assert!(size > 30 << 20, "{size}");
    let (whole, report, most) = build(&input, None, 1);
    assert_eq!(report.warnings, [""; 0]);
    assert!(report.inlined_functions >= 13_000 * 72, "{report:?}");
    assert!(report.line_rows > 1_000_000, "{report:?}");
    let bound = 64 << 20;
    let (bytes, report, peak) = build(&input, Some(bound), 2);
    assert!(bytes == whole, "bytes differ under {bound}");
    assert!(peak < bound, "{peak} bytes under {bound}; {most} without");
    assert_eq!(report.warnings, [""; 0]);
}

/// A bound of 10 MB silently took 24: what symbols and lines take anyhow is
/// known, and said when the bound is below it.
#[test]
fn a_bound_that_cannot_hold_is_told_of_with_what_it_takes() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("large");
    write_elf(&input, Shape { functions: 6000, inlined: 24, rows: 48 });
    let (whole, ..) = build(&input, None, 1);
    let (bytes, report, peak) = build(&input, Some(1 << 20), 1);
    assert!(bytes == whole);
    let [told] = report.warnings.as_slice() else { panic!("{:?}", report.warnings) };
    let rest = told.split("about ").nth(1).unwrap();
    let needed: u64 = rest.split(' ').next().unwrap().parse().unwrap();
    assert!(told.contains(" 1048576 bytes"), "{told}");
    assert!(peak < needed + needed / 4 && needed < peak * 2, "told {needed}, took {peak}");
    // What is told is enough.
    let (bytes, report, peak) = build(&input, Some(needed + needed / 2), 1);
    assert!(bytes == whole && peak < needed + needed / 2, "{peak}");
    assert_eq!(report.warnings, [""; 0]);
}

/// One function is read whole. It takes what is told, and no time without end.
#[test]
fn a_function_without_end_takes_what_is_told() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("large");
    write_elf(&input, Shape { functions: 1, inlined: 300_000, rows: 600_000 });
    let started = std::time::Instant::now();
    let (bytes, report, peak) = build(&input, Some(1 << 20), 1);
    let took = started.elapsed();
    assert!(took < std::time::Duration::from_secs(60), "{took:?}");
    assert!(bytes == build(&input, None, 2).0);
    let told = report.warnings[0].split("about ").nth(1).unwrap();
    let needed: u64 = told.split(' ').next().unwrap().parse().unwrap();
    assert!(peak < needed + needed / 4, "told {needed}, took {peak}");
}

/// All files below a directory.
fn files_below(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort_unstable();
    for path in entries {
        if path.is_dir() { files_below(&path, found) } else { found.push(path) }
    }
}

/// The bound decides how much is read at once, never what: of every input that is
/// here (split and dwz, both byte orders, relocatable, Mach-O).
#[test]
fn any_bound_and_any_threads_build_the_same_bytes() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata"));
    let mut inputs = Vec::new();
    ["elf", "golden", "macho"].iter().for_each(|part| files_below(&root.join(part), &mut inputs));
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("index");
    let mut with_lines = 0;
    for input in &inputs {
        let index = |max_memory, threads| {
            let threads = std::num::NonZeroUsize::new(threads);
            let options =
                BuildOptions { max_memory, threads, force: true, ..BuildOptions::default() };
            let report = build_file(input, &output, &options).ok()?;
            Some((std::fs::read(&output).unwrap(), report.line_rows))
        };
        let whole = index(None, 1);
        with_lines += usize::from(whole.as_ref().is_some_and(|(_, rows)| *rows > 0));
        for (bound, threads) in [(1, 1), (3 << 10, 3), (20 << 10, 2)] {
            let name = input.display();
            assert!(index(Some(bound), threads) == whole, "{name}: bytes differ under {bound}");
        }
    }
    assert!(with_lines >= 8, "{with_lines} of {}", inputs.len());
}
