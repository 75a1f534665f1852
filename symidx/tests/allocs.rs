//! No heap: opening and every query allocate 0 bytes. Its own test binary,
//! since it counts with a global allocator.

#![cfg(feature = "std")]
#![allow(
    unsafe_code,
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

#[cfg(all(feature = "process", unix))]
#[path = "allocs/process.rs"]
mod process;
#[cfg(all(feature = "process", unix))]
#[path = "support/small_elf.rs"]
mod small_elf;
#[cfg(all(feature = "process", unix))]
mod support;
#[cfg(all(feature = "process", unix))]
#[path = "support/world.rs"]
mod world;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write as _;
use std::hint::black_box;

use symidx::{FileOffset, ImageSectionId, Index, Svma};

/// Counts the calls of each thread apart: the test harness has threads too.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that are allocated now.
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

fn count() {
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

fn live(more: usize, less: usize) {
    let wide = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
    let _ = LIVE.try_with(|live| live.set(live.get() + wide(more) - wide(less)));
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        live(layout.size(), 0);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        live(0, layout.size());
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        live(layout.size(), 0);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        live(size, layout.size());
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations<R>(run: impl FnOnce() -> R) -> (u64, R) {
    let before = CALLS.get();
    let result = run();
    (CALLS.get() - before, result)
}

fn none<R>(what: &str, run: impl FnOnce() -> R) -> R {
    let (count, result) = allocations(run);
    assert_eq!(count, 0, "{what} allocates");
    result
}

/// A line of text without heap.
struct Line {
    bytes: [u8; 512],
    used: usize,
}

impl std::fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.get_mut(self.used..self.used + text.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.used += text.len();
        Ok(())
    }
}

fn text(what: impl std::fmt::Display) -> Line {
    let mut line = Line { bytes: [0; 512], used: 0 };
    write!(line, "{what}").unwrap();
    line
}

const BYTES: &[u8] = include_bytes!("../../testdata/golden/rich.symidx");
const SHOWN: &[u8] = include_bytes!("../../testdata/golden/display.symidx");
#[cfg(feature = "mmap")]
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/rich.symidx");

#[test]
fn the_counter_counts() {
    assert!(allocations(|| black_box(vec![1u8; 100])).0 > 0);
}

#[test]
fn opening_allocates_nothing() {
    none("from_bytes", || Index::from_bytes(BYTES).unwrap());
    #[cfg(feature = "mmap")]
    {
        // SAFETY: nobody edits the golden files.
        let index = none("map", || unsafe { Index::map(PATH) }.unwrap());
        none("a lookup in a mapped index", || {
            assert_eq!(index.lookup(Svma(0x401008)).unwrap().unwrap().name(), "function_0");
        });
        none("unmapping", || drop(index));
    }
    // The copy itself is the only thing an owned index needs.
    let (count, index) = allocations(|| Index::from_vec(BYTES.to_vec()).unwrap());
    assert_eq!(count, 1);
    none("dropping", || drop(index));
}

#[test]
fn failing_to_open_allocates_nothing() {
    for bytes in [&b""[..], b"\x7fELF", &BYTES[..127], &BYTES[..1000]] {
        none("a refusal", || text(Index::from_bytes(bytes).unwrap_err()).used);
    }
}

#[test]
fn queries_allocate_nothing() {
    let index = Index::from_bytes(BYTES).unwrap();
    none("hit", || {
        let symbol = index.lookup(Svma(0x401048)).unwrap().unwrap();
        assert_eq!(&text(symbol.name()).bytes[..10], b"function_4");
        assert_eq!(&text(symbol.section().unwrap().unwrap().name()).bytes[..5], b".text");
        assert!(symbol.module().unwrap().is_none());
        let mut buffer = [0; 4];
        assert_eq!(symbol.name().copy_to(&mut buffer), 10);
    });
    none("resumed hit", || {
        let symbol = index.lookup(Svma(0x4011a0)).unwrap().unwrap();
        assert_eq!(
            (symbol.name(), symbol.offset()),
            (index.find(b"outer").next().unwrap().unwrap().name(), 0x20)
        );
    });
    none("miss", || {
        assert!(index.lookup(Svma(0)).unwrap().is_none());
        assert!(index.lookup(Svma(u64::MAX)).unwrap().is_none());
        assert!(index.unnamed_function(Svma(0x401000)).unwrap().is_none());
    });
    none("other spaces", || {
        assert!(index.lookup_return(Svma(0x401010)).unwrap().is_some());
        let offset = index.file_offset_of(Svma(0x401010)).unwrap();
        assert!(index.lookup_offset(offset).unwrap().is_some());
        assert!(index.lookup_offset(FileOffset(u64::MAX)).unwrap().is_none());
        assert!(index.lookup_in(ImageSectionId(0), 0).unwrap().is_some());
    });
    none("a symbol above 4 GiB", || {
        let huge = index.find(b"huge").next().unwrap().unwrap();
        let last = huge.address() + huge.size() - 1;
        assert_eq!(index.lookup(Svma(last)).unwrap().unwrap().name(), "huge");
    });
    none("aliases", || {
        let symbol = index.find(b"aliased").next().unwrap().unwrap();
        let symbol = index.lookup(Svma(symbol.address())).unwrap().unwrap();
        let length: usize = symbol.aliases().map(|a| text(a.unwrap().name()).used).sum();
        assert!(length > 0);
    });
    none("find", || {
        assert_eq!(index.find(b"constant").count(), 1);
        assert_eq!(index.find(b"per_thread").count(), 1);
        assert_eq!(index.find(b"no such name").count(), 0);
        assert_eq!(index.find(b"f@@V2").count(), 0);
    });
    none("batch", || {
        let addresses = (0x400f00..0x401300).chain([0x401000, 0]).map(Svma);
        let hits = index.lookup_sorted(addresses).filter(|a| a.as_ref().unwrap().is_some()).count();
        assert!(hits > 0x200);
    });
    none("everything", || {
        assert!(index.symbols().map(Result::unwrap).count() > 24);
        assert!(index.names().map(Result::unwrap).count() > 24);
        assert_eq!(index.sections().map(Result::unwrap).count(), 5);
        assert!(index.section_by_name(b".bss").unwrap().is_some());
        assert!(index.default_section().unwrap().is_some());
        assert!(index.file_sections().count() > 10);
        assert!(index.build_id().is_some() && index.image_base().is_some());
        assert!(index.is_code(Svma(0x401000)));
    });
    none("display names", || {
        let index = Index::from_bytes(SHOWN).unwrap();
        let mut length = 0;
        for found in index.names() {
            let found = found.unwrap();
            if let Some(display) = index.display_name(found.name()).unwrap() {
                assert_eq!(text(display.full()).used, display.full().len());
                length += display.short().copy_to(&mut [0; 8]);
            }
        }
        assert!(length > 300);
        let symbol = index.lookup(Svma(0x401010)).unwrap().unwrap();
        let display = symbol.display_name().unwrap().unwrap();
        assert_eq!(display.short(), "space::Longer::Names::method");
        assert_eq!(display.full(), "space::Longer::Names::method(int)");
    });
    none("verify_structure", || index.verify_structure().unwrap());
    // The metadata is validated by unpacking it, which needs memory.
    #[cfg(not(feature = "metadata"))]
    none("verify", || index.verify().unwrap());
}

/// Damage is reported without heap too: a profiler may have none to give.
#[test]
fn corrupt_answers_allocate_nothing() {
    let mut bytes = BYTES.to_vec();
    let records = {
        let index = Index::from_bytes(&bytes).unwrap();
        let mut sections = index.file_sections();
        sections.find(|section| section.id == symidx::format::SectionId::RECORDS).unwrap().offset
    };
    let name = usize::try_from(records).unwrap() + 8;
    bytes[name..name + 4].fill(0xff);
    let index = Index::from_bytes(&bytes).unwrap();
    none("a corrupt answer", || {
        let corrupt = index.lookup(Svma(0x401000)).unwrap_err();
        assert!(text(corrupt).used > 0);
    });
    none("a violation", || assert!(text(index.verify_structure().unwrap_err()).used > 0));
}

/// Frames with everything that can be asked of them, the path written out.
#[test]
fn frames_allocate_nothing() {
    const LINES: &[u8] = include_bytes!("../../testdata/golden/lines.symidx");
    let index = Index::from_bytes(LINES).unwrap();
    let section = index.section_by_name(b".text").unwrap().unwrap();
    let start = section.address().0;
    let frames = none("frames", || {
        let mut frames = 0;
        for address in start..start + section.size() {
            for frame in index.frames(Svma(address)).unwrap() {
                let frame = frame.unwrap();
                if let (Some(function), Some(file)) = (frame.function(), frame.file()) {
                    let line = text(format_args!("{function} {file}:{:?}", frame.line()));
                    frames += usize::from(line.used > 0);
                }
            }
            let again = index.frames_in(section.id(), address - start).unwrap().count();
            assert_eq!(again, index.frames_return(Svma(address + 1)).unwrap().count());
        }
        assert_eq!(u64::try_from(index.line_rows().count()), Ok(index.line_counts().rows));
        assert!(index.stated_function(Svma(start)).unwrap().is_some());
        frames
    });
    assert!(frames > 200, "{frames}");
}

/// Rust names are demangled without heap, however they are made.
#[cfg(feature = "demangle")]
#[test]
fn demangling_allocates_nothing() {
    use symidx::demangle::RustName;

    let exploding: String = {
        let mut name = String::from("_RINvC1a1fTllE");
        // Each pair repeats the one before twice, by its place behind `_R`.
        for at in ["7_", "b_", "j_"] {
            name += &format!("TB{at}B{at}E");
        }
        name + "E"
    };
    for (name, expected) in [
        ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
        ("_RNvMCs1234_7mycrateNtB2_3Foo3new", "<mycrate::Foo>::new"),
        (&exploding, "a::f::<(i32, i32), ((i32, i32)"),
    ] {
        none(name, || {
            let rust = RustName::parse(name.as_bytes()).unwrap();
            let mut line = Line { bytes: [0; 512], used: 0 };
            let _ = rust.write_to(&mut line);
            assert_eq!(&line.bytes[..expected.len()], expected.as_bytes());
        });
    }
    let index = Index::from_bytes(BYTES).unwrap();
    none("a name of an index", || {
        let symbol = index.lookup(Svma(0x401048)).unwrap().unwrap();
        assert_eq!(&text(symbol.name().demangle()).bytes[..10], b"function_4");
    });
}
