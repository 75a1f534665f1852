//! No lock, no system call: lookups inside a signal handler that interrupts
//! the allocator, and lookups in a process that may make no system call.

#![cfg(all(target_os = "linux", feature = "std"))]
#![allow(
    unsafe_code,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

#[cfg(feature = "process")]
#[path = "no_syscalls/process.rs"]
mod process;
#[cfg(feature = "process")]
#[path = "support/small_elf.rs"]
mod small_elf;
#[cfg(feature = "process")]
mod support;
#[cfg(feature = "process")]
#[path = "support/world.rs"]
mod world;

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use symidx::{Index, Svma};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/rich.symidx");

fn open() -> Index<'static> {
    // SAFETY: nobody edits the golden files.
    #[cfg(feature = "mmap")]
    let index = unsafe { Index::map(PATH) };
    #[cfg(not(feature = "mmap"))]
    let index = Index::from_vec(std::fs::read(PATH).expect("the golden file"));
    index.expect("the golden file")
}

/// An index with lines, in the program itself: opening it is part of the test.
fn lines() -> Index<'static> {
    Index::from_bytes(include_bytes!("../../testdata/golden/lines.symidx")).expect("a golden file")
}

/// How many of `rounds` rounds answer everything right.
fn right_answers(index: &Index<'_>, rounds: u64) -> u64 {
    let mut right = 0;
    for round in 0..rounds {
        let address = 0x401000 + round % 0x180;
        let number = (address - 0x401000) / 16;
        let Ok(Some(symbol)) = index.lookup(Svma(address)) else { continue };
        let digits = symbol.name().as_bytes().and_then(|name| name.strip_prefix(b"function_"));
        let named = digits.and_then(|digits| {
            digits
                .iter()
                .try_fold(0u64, |n, digit| Some(n * 10 + u64::from(digit.checked_sub(b'0')?)))
        });
        let miss = matches!(index.lookup(Svma(round)), Ok(None));
        let found = index.find(b"aliased").all(|found| found.is_ok());
        let frames = lines().frames(Svma(0x4001a0 + round % 0xc0)).is_ok_and(|mut frames| {
            frames.all(|frame| {
                frame.is_ok_and(|frame| frame.file().is_some() || frame.line().is_none())
            })
        });
        let batch = index.lookup_sorted([Svma(address), Svma(address + 1)]).all(|a| a.is_ok());
        if named == Some(number) && miss && found && frames && batch {
            right += 1;
        }
    }
    right
}

static INDEX: AtomicPtr<Index<'static>> = AtomicPtr::new(ptr::null_mut());
static SIGNALS: AtomicU64 = AtomicU64::new(0);
static RIGHT: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_signal(_: libc::c_int) {
    // SAFETY: set once before the first signal, to an index that is never freed.
    if let Some(index) = unsafe { INDEX.load(Ordering::Relaxed).as_ref() } {
        SIGNALS.fetch_add(1, Ordering::Relaxed);
        RIGHT.fetch_add(right_answers(index, 10), Ordering::Relaxed);
    }
}

#[test]
fn lookups_work_in_a_signal_handler() {
    INDEX.store(Box::into_raw(Box::new(open())), Ordering::Relaxed);
    let handler: extern "C" fn(libc::c_int) = on_signal;
    // SAFETY: the handler only reads an index and counts, which is safe in a
    // signal handler: that is what this test is about.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGPROF, &action, ptr::null_mut()), 0);
        let every = libc::timeval { tv_sec: 0, tv_usec: 1000 };
        let timer = libc::itimerval { it_interval: every, it_value: every };
        assert_eq!(libc::setitimer(libc::ITIMER_PROF, &timer, ptr::null_mut()), 0);
    }
    // Mostly inside the allocator, where a handler that allocates deadlocks.
    let start = std::time::Instant::now();
    let mut sum = 0;
    while SIGNALS.load(Ordering::Relaxed) < 50 && start.elapsed().as_secs() < 60 {
        let blocks: Vec<Vec<u8>> = (1..64).map(|i| vec![1; i * 37]).collect();
        sum += blocks.iter().map(Vec::len).sum::<usize>();
    }
    // SAFETY: stops the timer; no pointer is kept.
    unsafe {
        let never: libc::itimerval = std::mem::zeroed();
        assert_eq!(libc::setitimer(libc::ITIMER_PROF, &never, ptr::null_mut()), 0);
    }
    let signals = SIGNALS.load(Ordering::Relaxed);
    assert!(signals >= 50, "{signals} signals, {sum} bytes");
    assert_eq!(RIGHT.load(Ordering::Relaxed), signals * 10);
}

/// After `SECCOMP_MODE_STRICT` every system call but read, write, exit and
/// sigreturn ends the process: the child lives only if lookups make none.
/// Its pages of the index are not even read in when it starts.
#[test]
fn lookups_make_no_system_call() {
    const ROUNDS: u64 = 10_000;
    let index = open();
    without_system_calls(|| right_answers(&index, ROUNDS) == ROUNDS);
}

/// Runs in a child that may make no system call, and wants `true`.
fn without_system_calls(run: impl FnOnce() -> bool) {
    const NO_SECCOMP: i32 = 77;
    // SAFETY: between fork and exit the child calls prctl, exit and queries,
    // none of which needs a lock that another thread could have held.
    let status = unsafe {
        let child = libc::fork();
        if child == 0 {
            let code = match libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) {
                0 => i32::from(!run()),
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
        code => assert_eq!(code, 0, "a wrong answer"),
    }
}

/// The guard itself: a child that does make a call is killed.
#[test]
fn a_system_call_would_be_noticed() {
    // SAFETY: as above.
    let status = unsafe {
        let child = libc::fork();
        if child == 0 {
            if libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) == 0 {
                libc::syscall(libc::SYS_getppid);
            }
            libc::syscall(libc::SYS_exit, 77);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        status
    };
    let skipped = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 77;
    assert!(skipped || (libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL));
}
