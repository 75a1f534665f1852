//! In: hidden subcommands of this same program. Out: `key value` lines on stdout for the parent.
//! A child does one thing, so that its memory and its page faults are that thing's alone.
//! Never: prints a table or knows of more than one contender.

use std::fs::File;
use std::hint::black_box;
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::contenders::{self, Rival};
use crate::{Result, mapped};

/// Runs `__build`, `__rss` or `__cold`.
pub fn run(verb: &str, args: &[String]) -> Result<()> {
    match (verb, args) {
        ("__build", [name, binary, out]) => find(name)?.build(Path::new(binary), Path::new(out)),
        ("__build_frames", [name, binary, out, threads]) => {
            crate::frames::find(name)?.build(Path::new(binary), Path::new(out), threads.parse()?)
        }
        ("__rss", [name, artifact, base, list]) => rss(
            &*find(name)?,
            Path::new(artifact),
            base.parse()?,
            Path::new(list),
        ),
        ("__cold", [name, artifact, base, addr]) => cold(
            &*find(name)?,
            Path::new(artifact),
            base.parse()?,
            addr.parse()?,
        ),
        _ => Err(format!("{verb}: hidden, for this program's own use").into()),
    }
}

/// The contender of that name.
pub fn find(name: &str) -> Result<Box<dyn Rival>> {
    contenders::all()
        .into_iter()
        .find(|rival| rival.name() == name)
        .ok_or_else(|| format!("no contender `{name}`").into())
}

/// A number in `/proc/self/FILE` after `key:`.
fn proc_number(file: &str, key: &str) -> Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/{file}"))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    Ok(line
        .and_then(|rest| rest.split_whitespace().next())
        .ok_or(format!("no {key} in /proc/self/{file}"))?
        .parse()?)
}

fn memory() -> Result<[u64; 2]> {
    Ok([
        proc_number("status", "RssAnon")?,
        proc_number("status", "RssFile")?,
    ])
}

/// Growth of RssAnon and RssFile by open, and by open plus every lookup of the list.
fn rss(rival: &dyn Rival, artifact: &Path, base: u64, list: &Path) -> Result<()> {
    let bytes = std::fs::read(list)?;
    let addrs: Vec<u64> = bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|&chunk| u64::from_le_bytes(chunk))
        .collect();
    drop(bytes);
    let before = memory()?;
    let mut session = rival.session(artifact, base)?;
    let opened = memory()?;
    black_box(session.names(&addrs));
    let after = memory()?;
    for (key, [anon, file]) in [("open", opened), ("after", after)] {
        let [anon_before, file_before] = before;
        println!(
            "{key}_anon {}",
            anon.saturating_sub(anon_before).saturating_mul(1024)
        );
        println!(
            "{key}_file {}",
            file.saturating_sub(file_before).saturating_mul(1024)
        );
    }
    Ok(())
}

/// Major faults and bytes read from disk by open and by one lookup with its name, the file evicted before.
fn cold(rival: &dyn Rival, artifact: &Path, base: u64, addr: u64) -> Result<()> {
    // Read-ahead that an earlier child started may still be under way; its pages cannot be dropped yet.
    for _ in 0..20 {
        evict(artifact)?;
        if resident(artifact)? == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    println!("resident {}", resident(artifact)?);
    let before = io()?;
    let mut session = rival.session(artifact, base)?;
    let opened = io()?;
    let answer = session.names(&[addr]);
    let after = io()?;
    black_box(answer);
    let delta = |from: (u64, u64), to: (u64, u64)| {
        (to.0.saturating_sub(from.0), to.1.saturating_sub(from.1))
    };
    for (key, (faults, read)) in [
        ("open", delta(before, opened)),
        ("lookup", delta(opened, after)),
    ] {
        println!("{key}_faults {faults}");
        println!("{key}_read {read}");
    }
    Ok(())
}

/// Writes `path` back and asks the kernel to drop its pages.
fn evict(path: &Path) -> Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    // SAFETY: a call on an open descriptor with no memory involved.
    let status = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if status == 0 {
        Ok(())
    } else {
        Err(std::io::Error::from_raw_os_error(status).into())
    }
}

/// Pages of `path` in the page cache: not 0 when someone maps it or the file system keeps it in memory.
fn resident(path: &Path) -> Result<usize> {
    let map = mapped::map(path)?;
    let mut pages = vec![0_u8; map.len().div_ceil(page_size()?)];
    // SAFETY: the range is a live mapping and the vector has a byte for each of its pages; nothing is written to the map.
    let status = unsafe {
        libc::mincore(
            map.as_ptr().cast_mut().cast(),
            map.len(),
            pages.as_mut_ptr(),
        )
    };
    if status != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(pages.iter().filter(|&&page| page & 1 != 0).count())
}

fn page_size() -> Result<usize> {
    // SAFETY: no memory involved.
    Ok(usize::try_from(unsafe {
        libc::sysconf(libc::_SC_PAGESIZE)
    })?)
}

/// Major faults and bytes read from storage so far.
fn io() -> Result<(u64, u64)> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for a `rusage`, which all-zero bytes already are.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    Ok((
        u64::try_from(usage.ru_majflt)?,
        proc_number("io", "read_bytes")?,
    ))
}
