//! Resolvers where nothing may block: in a signal handler that interrupts the
//! allocator and the loader, and in a process that may make no system call.
//! Three seconds, or as many as `SYMIDX_SIGNAL_SECONDS` says:
//!
//! ```sh
//! SYMIDX_SIGNAL_SECONDS=60 cargo test -p symidx-indexer --test signals -- --nocapture
//! ```
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

mod live;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write as _;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use live::Library;
use symidx::process::{Modules, Resolver, Store, Unknown};

/// Counts the calls of each thread apart, and those inside a handler.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

static INSIDE_CALLS: AtomicU64 = AtomicU64::new(0);

fn count() {
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
    if INSIDE.try_with(Cell::get).unwrap_or(false) {
        INSIDE_CALLS.fetch_add(1, Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Text without heap.
#[derive(Clone, Copy)]
struct Text {
    bytes: [u8; 120],
    used: usize,
}

impl Text {
    const EMPTY: Self = Self { bytes: [0; 120], used: 0 };

    fn of(what: impl std::fmt::Display) -> Self {
        let mut text = Self::EMPTY;
        let _ = write!(text, "{what}");
        text
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

impl std::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for &byte in text.as_bytes() {
            *self.bytes.get_mut(self.used).ok_or(std::fmt::Error)? = byte;
            self.used += 1;
        }
        Ok(())
    }
}

/// Builds the indexes of everything that is loaded.
fn build_all(modules: &Modules, store: &Path) {
    for module in modules {
        if let (Some(id), true) = (module.id(), module.file().is_file()) {
            live::build(module.file(), &live::place(store, &id.to_string()));
        }
    }
}

/// What the handler asks, besides where it interrupted.
struct Asked {
    resolver: Resolver,
    /// An address, and the name that it must have.
    known: Vec<(u64, Text)>,
}

/// What a signal interrupted, and the symbol found for that.
#[derive(Clone, Copy)]
struct Interrupted {
    address: u64,
    start: u64,
    name: Text,
}

const KEPT: usize = 64;

static ASKED: AtomicPtr<Asked> = AtomicPtr::new(ptr::null_mut());
static TICKS: AtomicU64 = AtomicU64::new(0);
static RIGHT: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);
static NO_INDEX: AtomicU64 = AtomicU64::new(0);
static UNKNOWN: AtomicU64 = AtomicU64::new(0);
static FILLED: AtomicUsize = AtomicUsize::new(0);
/// Written by the handler, read by the thread that it interrupts.
static mut INTERRUPTED: [Interrupted; KEPT] =
    [Interrupted { address: 0, start: 0, name: Text::EMPTY }; KEPT];

fn interrupted_at(context: *mut libc::c_void) -> u64 {
    // SAFETY: the third argument of a handler with SA_SIGINFO.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    #[cfg(target_arch = "x86_64")]
    return context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64;
    #[cfg(target_arch = "aarch64")]
    return context.uc_mcontext.pc;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return 0;
}

extern "C" fn on_signal(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the interrupted thread sets it, and frees the former one later;
    // the signal goes to that thread alone.
    let Some(asked) = (unsafe { ASKED.load(Relaxed).as_ref() }) else { return };
    INSIDE.set(true);
    TICKS.fetch_add(1, Relaxed);
    for (address, name) in &asked.known {
        let symbol = asked.resolver.lookup(*address);
        let by_symbol =
            symbol.is_ok_and(|found| Text::of(found.symbol().name()).as_bytes() == name.as_bytes());
        let by_frames = asked.resolver.frames(*address).is_ok_and(|found| {
            let last = found.frames().flatten().last().and_then(|frame| frame.function());
            last.is_some_and(|function| Text::of(function).as_bytes() == name.as_bytes())
        });
        let counter = if by_symbol && by_frames { &RIGHT } else { &WRONG };
        counter.fetch_add(1, Relaxed);
    }
    let address = interrupted_at(context);
    match asked.resolver.lookup(address) {
        Ok(found) => {
            let at = FILLED.load(Relaxed);
            if at < KEPT {
                let symbol = found.symbol();
                let name = Text::of(symbol.name());
                let start = address - symbol.offset();
                // SAFETY: only this handler writes, and it does not interrupt itself.
                unsafe {
                    (&raw mut INTERRUPTED).cast::<Interrupted>().add(at).write(Interrupted {
                        address,
                        start,
                        name,
                    });
                }
                FILLED.store(at + 1, Relaxed);
            }
        }
        Err(reason) => {
            let counter = if reason == Unknown::NoIndex { &NO_INDEX } else { &UNKNOWN };
            counter.fetch_add(1, Relaxed);
        }
    }
    INSIDE.set(false);
}

/// A timer that signals this thread.
struct Timer(libc::timer_t);

impl Timer {
    fn every(microseconds: i64) -> Self {
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            on_signal;
        // SAFETY: plain records, filled in; the handler only reads what lives
        // as long as the timer.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(libc::SIGPROF, &action, ptr::null_mut()), 0);
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGPROF;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = std::mem::zeroed();
            assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer), 0);
            let every = libc::timespec { tv_sec: 0, tv_nsec: microseconds * 1000 };
            let spec = libc::itimerspec { it_interval: every, it_value: every };
            assert_eq!(libc::timer_settime(timer, 0, &spec, ptr::null_mut()), 0);
            Self(timer)
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: made once, deleted once.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// Compares what the handler found with the loader's word, where both mean the
/// same symbol; the loader knows exported ones only.
fn compare_interrupted() -> u64 {
    let filled = FILLED.load(Relaxed);
    let mut same = 0;
    for at in 0..filled {
        // SAFETY: the handler writes no further than `FILLED`, upwards.
        let found = unsafe { (&raw const INTERRUPTED).cast::<Interrupted>().add(at).read() };
        let Some((name, start)) = live::loader(found.address) else { continue };
        if start == found.start {
            let stored = String::from_utf8_lossy(found.name.as_bytes()).into_owned();
            same += u64::from(stored.split('@').next() == Some(&name));
        }
        assert!(found.start <= found.address);
    }
    FILLED.store(0, Relaxed);
    same
}

#[test]
fn a_handler_resolves_every_tick_while_its_thread_allocates_loads_and_captures() {
    let seconds = live::seconds("SYMIDX_SIGNAL_SECONDS", 3);
    let directory = tempfile::tempdir().unwrap();
    let libraries: Vec<_> = (0..3)
        .map(|number| {
            let path = directory.path().join(format!("libsignal_{number}.so"));
            live::compile(&format!("signal_{number}"), number, &path);
            path
        })
        .collect();
    let indexes = directory.path().join("store");
    build_all(&Modules::capture(), &indexes);
    for library in &libraries {
        let index = directory.path().join("index");
        live::build(library, &index);
        live::replace(&index, &live::place(&indexes, &live::id_of(&index)));
    }
    // SAFETY: indexes are replaced by rename only.
    let store = Arc::new(unsafe { Store::mapped() }.with_directory(&indexes));
    let in_libc: u64 = u64::try_from((libc::qsort as *const ()).addr()).unwrap();
    let (in_libc_name, _) = live::dladdr(in_libc);
    let (mut rounds, mut same, mut sum) = (0u64, 0, 0usize);
    let timer = Timer::every(250);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        let number = rounds % 3;
        let library = Library::open(&libraries[usize::try_from(number).unwrap()]);
        let function = format!("signal_{number}_{}", rounds % live::FUNCTIONS);
        let known = vec![
            (in_libc, Text::of(&in_libc_name)),
            (library.address(&function) + rounds % 8, Text::of(&function)),
        ];
        let mut resolver = Resolver::new(Modules::capture(), store.clone());
        resolver.open_all();
        // The handler asks the one before until now: its answers are those of
        // when it was made, though its library is closed.
        let next = Box::into_raw(Box::new(Asked { resolver, known }));
        let before = ASKED.swap(next, Relaxed);
        if !before.is_null() {
            // SAFETY: made by `Box::into_raw`; the handler, which runs on this
            // thread, cannot be using it.
            drop(unsafe { Box::from_raw(before) });
        }
        let until = Instant::now() + Duration::from_millis(5);
        while Instant::now() < until {
            let blocks: Vec<Vec<u8>> = (1..64).map(|i| vec![1; i * 37]).collect();
            sum += blocks.iter().map(Vec::len).sum::<usize>();
            drop(Library::open(&libraries[usize::try_from((number + 1) % 3).unwrap()]));
            drop(Modules::capture());
        }
        same += compare_interrupted();
        rounds += 1;
    }
    drop(timer);
    let last = ASKED.swap(ptr::null_mut(), Relaxed);
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(last) });
    let (ticks, right) = (TICKS.load(Relaxed), RIGHT.load(Relaxed));
    println!(
        "{seconds} s: {ticks} ticks, {right} right answers, {} wrong; interrupted code: {same} \
         as the loader has it, {} in files without an \
         index, {} without a symbol; {rounds} rounds, {sum} bytes",
        WRONG.load(Relaxed),
        NO_INDEX.load(Relaxed),
        UNKNOWN.load(Relaxed),
    );
    assert_eq!(INSIDE_CALLS.load(Relaxed), 0, "the handler allocates");
    assert_eq!((WRONG.load(Relaxed), right), (0, ticks * 2));
    assert!(ticks > seconds * 100 && same > seconds, "{ticks} {same}");
}

/// How many of some addresses of this process have answers, asked in every way.
fn ask(resolver: &Resolver, addresses: &[u64]) -> usize {
    let mut named = 0;
    let mut see = |name: Text| named += usize::from(name.used > 0);
    for &address in addresses {
        if let Ok(found) = resolver.lookup(address) {
            see(Text::of(found.symbol().name()));
        }
        if let Ok(found) = resolver.lookup_return(address + 1) {
            see(Text::of(found.symbol().name()));
        }
        for frames in [resolver.frames(address), resolver.frames_return(address + 1)] {
            for frame in frames.iter().flat_map(|found| found.frames()).flatten() {
                if let Some(file) = frame.file() {
                    see(Text::of(file));
                }
                see(Text::of(frame.function().unwrap()));
            }
        }
        if let Some(located) = resolver.modules().find(address) {
            see(Text::of(located.svma().unwrap()));
        }
        // A reason is an answer too.
        if let Err(reason) = resolver.lookup(1) {
            see(Text::of(reason));
        }
    }
    let statistics = resolver.batch(addresses.iter().copied(), |_, answer| {
        if let Ok(found) = answer {
            see(Text::of(found.symbol().name()));
        }
    });
    see(Text::of(statistics));
    named
}

/// Strict seccomp ends a process at every system call but read, write, exit
/// and sigreturn. Pages of the indexes are not even read in when it starts.
#[test]
fn lookups_after_opening_take_no_heap_and_no_system_call() {
    const NO_SECCOMP: i32 = 77;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("libquiet.so");
    live::compile("quiet", 1, &path);
    let library = Library::open(&path);
    let modules = Modules::capture();
    build_all(&modules, directory.path());
    // SAFETY: nobody changes the files of this test.
    let store = unsafe { Store::mapped() }.without_default_places();
    let store = Arc::new(store.with_directory(directory.path()));
    let mut resolver = Resolver::new(modules, store);
    let mut addresses = vec![u64::try_from((libc::qsort as *const ()).addr()).unwrap()];
    addresses.extend((0..live::FUNCTIONS).map(|n| library.address(&format!("quiet_{n}")) + 2));
    addresses.push(u64::try_from((ask as *const ()).addr()).unwrap());
    addresses.sort_unstable();
    // Opening maps, and takes no heap either.
    let before = CALLS.get();
    assert_eq!(resolver.open_for(&addresses), 3);
    assert_eq!(CALLS.get() - before, 0, "opening allocates");
    // SAFETY: between fork and exit the child calls prctl, exit and lookups,
    // none of which needs a lock that another thread could have held.
    let status = unsafe {
        let child = libc::fork();
        if child == 0 {
            let before = CALLS.get();
            let code = match libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) {
                0 if ask(&resolver, &addresses) <= addresses.len() * 7 => 1,
                0 if CALLS.get() != before => 2,
                0 => 0,
                _ => NO_SECCOMP,
            };
            // Not `_exit`: that is exit_group, which strict mode forbids.
            libc::syscall(libc::SYS_exit, code);
        }
        assert!(child > 0, "fork");
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        status
    };
    assert!(libc::WIFEXITED(status), "killed by signal {}", libc::WTERMSIG(status));
    match libc::WEXITSTATUS(status) {
        NO_SECCOMP => eprintln!("SKIPPED: this kernel has no strict seccomp"),
        code => assert_eq!(code, 0, "1: answers are missing, 2: the heap was used"),
    }
}
