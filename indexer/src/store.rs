//! Stores: directories of indexes by identity. An input's identity in, the
//! place of its index out. Never builds and never looks into an index.
//!
//! ```text
//! DIR/.build-id/93/ac01….symidx            by build-id or UUID, else by BLAKE3 of the input
//! DIR/.build-id/93/ac01….kallsyms.symidx   of a kernel as it runs: other addresses than its vmlinux
//! DIR/.by-file/801-2a4b-…  →  ../.build-id/5d/07….symidx
//! ```
//!
//! A file that states no id would have to be hashed to find its index. The link
//! spares that: its name says which file it was, and which state of it.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use crate::hex;

/// The directory that indexes lie in.
const BY_ID: &str = ".build-id";
/// The directory of links by file.
const BY_FILE: &str = ".by-file";

/// What an index is of, as far as its place goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file with addresses of its own.
    File,
    /// A kernel at its run-time addresses.
    Kallsyms,
}

/// Where the index of this identity goes: a build-id or UUID, or where there is
/// none of two bytes at least, the BLAKE3 of the input.
///
/// ```
/// use std::path::Path;
/// use symidx_indexer::store::{Kind, place};
/// let path = place(Path::new("store"), &[0x93, 0xac, 0x01], Kind::File);
/// assert_eq!(path, Path::new("store/.build-id/93/ac01.symidx"));
/// ```
#[must_use]
pub fn place(directory: &Path, id: &[u8], kind: Kind) -> PathBuf {
    let id = hex(id);
    let (first, rest) = id.split_at_checked(2).unwrap_or((&id, ""));
    let kind = match kind {
        Kind::File => "",
        Kind::Kallsyms => ".kallsyms",
    };
    directory.join(BY_ID).join(first).join(format!("{rest}{kind}.symidx"))
}

/// True for a path inside of a store.
#[must_use]
pub fn is_place(path: &Path) -> bool {
    path.components().any(|component| component.as_os_str() == BY_ID)
}

/// A file and its state, as the name of a link: see [`symidx::Stamp`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState(String);

impl FileState {
    /// Of a regular file; nothing for others, and where files have no such numbers.
    #[cfg(unix)]
    #[must_use]
    pub fn of(metadata: &Metadata) -> Option<Self> {
        metadata.is_file().then(|| Self(symidx::Stamp::of(metadata).to_string()))
    }

    /// Of a regular file; nothing for others, and where files have no such numbers.
    #[cfg(not(unix))]
    #[must_use]
    pub fn of(_: &Metadata) -> Option<Self> {
        None
    }

    /// The path of its link.
    #[must_use]
    pub fn link(&self, directory: &Path) -> PathBuf {
        directory.join(BY_FILE).join(&self.0)
    }

    /// Makes the link to an index in the same store, whole or not at all; one that
    /// is there is replaced.
    ///
    /// # Errors
    /// Those of the file system; an index that is not in the store.
    pub fn publish(&self, directory: &Path, index: &Path) -> io::Result<()> {
        let inside = index.strip_prefix(directory).map_err(|_| {
            io::Error::other(format!(
                "expected an index in the store {}, found {}",
                directory.display(),
                index.display()
            ))
        })?;
        let link = self.link(directory);
        let target = Path::new("..").join(inside);
        if std::fs::read_link(&link).is_ok_and(|there| there == target) {
            return Ok(());
        }
        let by_file = directory.join(BY_FILE);
        std::fs::create_dir_all(&by_file)?;
        let mut builder = tempfile::Builder::new();
        let made =
            builder.prefix(".symidx-link.").make_in(&by_file, |path| symlink(&target, path))?;
        made.into_temp_path().persist(link).map_err(|error| error.error)
    }
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_as_it_runs_has_a_place_of_its_own() {
        let place = |kind| place(Path::new("/s"), &[0xab, 0xcd, 0xef], kind);
        assert_eq!(place(Kind::File), Path::new("/s/.build-id/ab/cdef.symidx"));
        assert_eq!(place(Kind::Kallsyms), Path::new("/s/.build-id/ab/cdef.kallsyms.symidx"));
        assert!(is_place(&place(Kind::File)) && !is_place(Path::new("/s/x.symidx")));
    }

    #[test]
    fn a_link_names_a_file_in_one_state_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("app");
        std::fs::write(&file, "one").unwrap();
        let state = |path: &Path| FileState::of(&std::fs::metadata(path).unwrap());
        let first = state(&file).unwrap();
        assert_eq!(first.0.split('-').nth(2), Some("3"));
        assert!(first.0.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-')));
        let stored = place(directory.path(), &[1, 2, 3], Kind::File);
        first.publish(directory.path(), &stored).unwrap();
        first.publish(directory.path(), &stored).unwrap();
        let link = std::fs::read_link(first.link(directory.path())).unwrap();
        assert_eq!(link, Path::new("../.build-id/01/0203.symidx"));
        // Replaced by one to another index; nothing else is left behind.
        let other = place(directory.path(), &[4, 5, 6], Kind::File);
        first.publish(directory.path(), &other).unwrap();
        let link = std::fs::read_link(first.link(directory.path())).unwrap();
        assert_eq!(link, Path::new("../.build-id/04/0506.symidx"));
        assert_eq!(std::fs::read_dir(directory.path().join(BY_FILE)).unwrap().count(), 1);
        assert!(first.publish(directory.path(), Path::new("/elsewhere")).is_err());
        // A file that is written again is another state.
        std::fs::write(&file, "other").unwrap();
        assert_ne!(state(&file), Some(first));
        assert_eq!(state(directory.path()), None);
    }
}
