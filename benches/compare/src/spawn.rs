//! In: what a child shall do. Out: what it printed, its wall time and its peak memory.
//! Peaks: `ru_maxrss` from wait4, and RssAnon sampled every 2 ms from /proc.
//! Never: runs two children at once.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::Result;

/// Cost of one build in a process of its own.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    pub seconds: f64,
    /// Peak resident set, bytes. At least the parent's own at the time, so the parent must be small.
    pub rss: f64,
    /// Peak RssAnon seen, bytes.
    pub anon: f64,
}

fn this() -> Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}

/// Builds `out` from `binary` in a child.
pub fn build(name: &str, binary: &Path, out: &Path) -> Result<Build> {
    let mut command = this()?;
    command.arg("__build").arg(name).arg(binary).arg(out);
    measured(command, out)
}

/// Builds the file with lines of the contender `name` in a child, with so many threads.
pub fn build_frames(name: &str, binary: &Path, out: &Path, threads: usize) -> Result<Build> {
    let mut command = this()?;
    command.arg("__build_frames").arg(name).arg(binary).arg(out).arg(threads.to_string());
    // What the libraries' thread pool goes by.
    command.env("RAYON_NUM_THREADS", threads.to_string());
    measured(command, out)
}

fn measured(mut command: Command, out: &Path) -> Result<Build> {
    let begin = Instant::now();
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let done = AtomicBool::new(false);
    let (waited, seconds, anon) = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut peak = 0_u64;
            while !done.load(Relaxed) {
                peak = peak.max(rss_anon(&status));
                std::thread::sleep(Duration::from_millis(2));
            }
            peak
        });
        let waited = wait(child);
        let seconds = begin.elapsed().as_secs_f64();
        done.store(true, Relaxed);
        (waited, seconds, sampler.join().unwrap_or(0))
    });
    let rss = waited.inspect_err(|_| drop(std::fs::remove_file(out)))?;
    Ok(Build {
        seconds,
        rss: kilobytes(rss),
        anon: kilobytes(anon),
    })
}

fn kilobytes(count: u64) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from) * 1024.0
}

/// RssAnon in kB; 0 once the process is gone.
fn rss_anon(status: &str) -> u64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|rest| rest.split_whitespace().next())
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}

/// Waits for `child` and returns its peak resident set in kB. Its error text becomes the error.
fn wait(mut child: Child) -> Result<u64> {
    let mut errors = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        std::io::Read::read_to_string(&mut stderr, &mut errors)?;
    }
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let mut status = 0;
    let pid = libc::pid_t::try_from(child.id())?;
    // SAFETY: both pointers are valid for writes of their types; an all-zero `rusage` is initialized.
    let (waited, usage) = unsafe {
        (
            libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()),
            usage.assume_init(),
        )
    };
    if waited != pid {
        return Err(std::io::Error::last_os_error().into());
    }
    if status != 0 {
        let last = errors
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or("no message");
        return Err(format!("build failed: {last}").into());
    }
    Ok(u64::try_from(usage.ru_maxrss)?)
}

/// Runs a child that prints `key value` lines and returns the pairs.
pub fn numbers(args: &[&str]) -> Result<Vec<(String, f64)>> {
    let output = this()?.args(args).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(text
            .lines()
            .last()
            .unwrap_or("no message")
            .to_owned()
            .into());
    }
    let text = String::from_utf8(output.stdout)?;
    text.lines()
        .map(|line| {
            let (key, value) = line
                .split_once(' ')
                .ok_or("a child printed no `key value` line")?;
            Ok((key.to_owned(), value.parse()?))
        })
        .collect()
}
