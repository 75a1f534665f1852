//! A directory for indexes of one run, where the user's cache cannot be written.
//!
//! In: nothing. Out: a directory that goes away with its [`Temporary`]; those of runs that
//! were killed go away at the next start. Never touches what another user or a run
//! owns, or what no run has made.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::{Builder, TempDir};

/// Begins the name of each.
const PREFIX: &str = "symidx-perf-";
/// A file in each that its run holds locked: the system lets go of it when the run ends,
/// however it does.
const LOCK: &str = "lock";
/// Begins the name of a lock that is not held yet.
const BEGINNING: &str = ".tmp";
/// A directory so old in which nothing was locked yet was left by a run that was killed.
const BEGUN: Duration = Duration::from_secs(3600);

/// A directory that is there as long as this is.
#[derive(Debug)]
pub(crate) struct Temporary {
    directory: TempDir,
    /// Locked.
    _lock: File,
}

impl Temporary {
    /// A new one among the system's temporary files; those that killed runs of this user left
    /// are removed.
    pub(crate) fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> io::Result<Self> {
        let directory = Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // Locked before it has its name: nobody else can have locked it then.
        let lock = Builder::new().prefix(BEGINNING).tempfile_in(directory.path())?;
        lock.as_file().lock()?;
        let lock = lock.persist(directory.path().join(LOCK))?;
        sweep(parent, directory.path());
        Ok(Self { directory, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories of runs that have ended; what cannot be removed stays.
fn sweep(parent: &Path, own: &Path) {
    let (Ok(entries), Ok(mine)) = (fs::read_dir(parent), fs::symlink_metadata(own)) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        if is_ours && path != own && is_left(&path, &mine) {
            // Follows no link in it.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// True for a directory of the same user whose run has ended.
fn is_left(directory: &Path, mine: &fs::Metadata) -> bool {
    let Ok(found) = fs::symlink_metadata(directory) else { return false };
    if !found.is_dir() || owner(&found) != owner(mine) {
        return false;
    }
    let lock = directory.join(LOCK);
    match fs::symlink_metadata(&lock) {
        Ok(file) if file.is_file() => {
            let Ok(file) = File::open(&lock) else { return false };
            match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
            }
        }
        Ok(_) => false,
        // It is being made, or its run was killed meanwhile.
        Err(_) => {
            let age = found.modified().ok().and_then(|t| SystemTime::now().duration_since(t).ok());
            age.is_some_and(|age| age > BEGUN) && has_only_begun(directory)
        }
    }
}

/// True for a directory with nothing in it but what is to become a lock: others may be called
/// the same and hold what somebody keeps.
fn has_only_begun(directory: &Path) -> bool {
    let begun = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            entry.file_name().as_encoded_bytes().starts_with(BEGINNING.as_bytes())
        })
    };
    fs::read_dir(directory).is_ok_and(|mut entries| entries.all(begun))
}

#[cfg(unix)]
fn owner(of: &fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(of)
}

/// Elsewhere each user has a directory of temporary files.
#[cfg(not(unix))]
fn owner(_: &fs::Metadata) -> u32 {
    0
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test that goes wrong should stop")]
mod tests {
    use super::*;

    /// A run that was killed left its indexes for ever.
    #[test]
    fn what_a_killed_run_left_goes_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let running = Temporary::new_in(parent.path()).unwrap();
        // Its lock is held by nobody.
        let killed = make("symidx-perf-killed");
        fs::write(killed.join(LOCK), "").unwrap();
        fs::create_dir(killed.join(".build-id")).unwrap();
        let outside = make("outside");
        fs::write(outside.join("kept"), "").unwrap();
        std::os::unix::fs::symlink(&outside, killed.join("link")).unwrap();
        // Not locked yet, and too long ago to be.
        let begun = make("symidx-perf-begun");
        let old = make("symidx-perf-old");
        let long_ago = SystemTime::now() - 2 * BEGUN;
        File::open(&old).unwrap().set_modified(long_ago).unwrap();
        // Somebody else's trick: a link, and a lock that is one.
        let link = parent.path().join("symidx-perf-link");
        let target = make("target");
        fs::write(target.join(LOCK), "").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let tricky = make("symidx-perf-tricky");
        std::os::unix::fs::symlink(target.join(LOCK), tricky.join(LOCK)).unwrap();
        let other = make("something");
        fs::write(other.join(LOCK), "").unwrap();

        let next = Temporary::new_in(parent.path()).unwrap();
        assert!(!killed.exists() && !old.exists());
        for kept in [running.path(), next.path(), &begun, &link, &target, &tricky, &other] {
            assert!(kept.exists(), "{}", kept.display());
        }
        assert!(outside.join("kept").exists() && target.join(LOCK).exists());
        let gone = next.path().to_owned();
        drop(next);
        assert!(!gone.exists());
    }

    /// An old directory of measurements, called `symidx-perf-results`, was removed with all
    /// that was in it. What a run that was killed before it held its lock left is still removed.
    #[test]
    fn what_people_keep_under_such_a_name_stays() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str, file: &str| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join(file), "").unwrap();
            let long_ago = SystemTime::now() - 2 * BEGUN;
            File::open(&path).unwrap().set_modified(long_ago).unwrap();
            path
        };
        let kept = make("symidx-perf-results", "table.md");
        let half = make("symidx-perf-half", ".tmpAbCdEf");
        let _next = Temporary::new_in(parent.path()).unwrap();
        assert!(kept.join("table.md").exists());
        assert!(!half.exists());
    }

    #[test]
    fn a_directory_of_another_user_stays() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("symidx-perf-other");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(LOCK), "").unwrap();
        let mine = fs::symlink_metadata(parent.path()).unwrap();
        assert!(is_left(&directory, &mine));
        // Only root can give a directory away.
        if std::os::unix::fs::chown(&directory, Some(owner(&mine).wrapping_add(1)), None).is_ok() {
            assert!(!is_left(&directory, &mine));
        }
    }
}
