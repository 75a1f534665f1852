//! Publishing: a finished file appears at its path whole, or not at all.
//!
//! Temporary file in the same directory, verify, fsync, rename. Readers that
//! hold a map of the old file keep the old file.
//!
//! ```
//! # let index = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx"))?;
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("app.symidx");
//! use std::io::Write as _;
//!
//! symidx_indexer::publish::publish(&path, |file| {
//!     file.write_all(&index)?;
//!     Ok(index.len() as u64)
//! })?;
//! assert_eq!(std::fs::read(&path)?, index);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use symidx::Index;

/// Why nothing was published. The path is as it was before.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.symidx");
/// use symidx_indexer::publish::{PublishError, publish};
///
/// // What does not verify never gets the name: here, a file without a byte.
/// let error = publish(&path, |_| Ok(0)).unwrap_err();
/// assert!(matches!(error, PublishError::Io { .. } | PublishError::Unsound { .. }) && !path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum PublishError {
    /// The operating system refused.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was being done: `"create a temporary file in"`, `"write"`, …
        action: &'static str,
        /// Its error.
        source: io::Error,
    },
    /// What was written does not verify: a fault of this program or of the disk.
    Unsound {
        /// The path that was not replaced.
        path: PathBuf,
        /// What does not hold.
        source: symidx::OpenError,
    },
}

impl std::fmt::Display for PublishError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io { path, action, source } => {
                write!(f, "{}: cannot {action}: {source}; nothing was published", path.display())
            }
            Self::Unsound { path, source } => write!(
                f,
                "{}: the index written does not verify and was not published: {source}",
                path.display()
            ),
        }
    }
}

impl std::error::Error for PublishError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Unsound { source, .. } => Some(source),
        }
    }
}

/// Where a file really goes: what a symbolic link leads to, since a rename
/// would replace the link (`/dev/stdout` is one); a path that leads nowhere
/// is the place itself. So is a link that somebody else made: in a store that
/// others write to it could lead to any file of this user.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use symidx_indexer::publish::target;
///
/// let (link, file) = (folder.path().join("link"), folder.path().join("app.symidx"));
/// std::fs::write(&file, "")?;
/// std::os::unix::fs::symlink(&file, &link)?;
/// assert_eq!(target(&link), file.canonicalize()?); // a rename would replace the link
/// assert_eq!(target(&file), file);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn target(path: &Path) -> PathBuf {
    let link = path
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_symlink() && is_own_or_roots(&metadata));
    let target = if link { path.canonicalize().ok() } else { None };
    target.unwrap_or_else(|| path.to_path_buf())
}

#[cfg(unix)]
fn is_own_or_roots(link: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    // Where the system does not tell who runs this, links are followed.
    let own = std::fs::metadata("/proc/self").map(|own| own.uid());
    link.uid() == 0 || own.map_or(true, |own| own == link.uid())
}

#[cfg(not(unix))]
fn is_own_or_roots(_: &std::fs::Metadata) -> bool {
    true
}

/// Publishes what `write` writes at `path`; returns the number of bytes.
/// `write` must start at the file's beginning.
///
/// # Errors
/// [`PublishError`]; then `path` is untouched and the temporary file removed.
///
/// ```
/// # let index = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx"))?;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.symidx");
/// use std::io::Write as _;
///
/// let bytes = symidx_indexer::publish::publish(&path, |file| {
///     file.write_all(&index)?;
///     Ok(index.len() as u64)
/// })?;
/// assert_eq!(bytes, path.metadata()?.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn publish(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<u64>,
) -> Result<u64, PublishError> {
    let failed = |path: &Path, action: &'static str| {
        let path = path.to_path_buf();
        move |source| PublishError::Io { path, action, source }
    };
    let path = &*target(path);
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if path.is_dir() {
        let source = io::Error::from(io::ErrorKind::IsADirectory);
        return Err(failed(path, "replace")(source));
    }
    // Part of the name, so that a left-over says whose it is and a long name
    // still fits.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix: String = [".", &name.chars().take(40).collect::<String>(), "."].concat();
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        // As any program's output: readable as the umask allows.
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut temporary =
        builder.tempfile_in(directory).map_err(failed(directory, "create a temporary file in"))?;
    let bytes = write(temporary.as_file_mut()).map_err(failed(path, "write"))?;
    // The disk writes while the processor verifies; both must succeed.
    let file = temporary.as_file();
    let (synced, verified) = std::thread::scope(|scope| {
        let sync = scope.spawn(|| file.sync_all());
        let verified = verify(file);
        let lost = |_| Err(io::Error::other("the thread that writes to disk ended early"));
        (sync.join().unwrap_or_else(lost), verified)
    });
    synced.map_err(failed(path, "write to disk"))?;
    verified.map_err(|source| PublishError::Unsound { path: path.to_path_buf(), source })?;
    temporary.persist(path).map_err(|error| failed(path, "rename to")(error.error))?;
    // The rename itself reaches the disk with its directory. Where
    // directories cannot be opened or synced, the file is whole all the same.
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
    Ok(bytes)
}

/// Checks what was written, read back through the file.
fn verify(file: &File) -> Result<(), symidx::OpenError> {
    // SAFETY: the file was just created under a name of its own and is
    // written by nobody else.
    #[allow(unsafe_code)]
    let map = unsafe { memmap2::Mmap::map(file) }?;
    let index = Index::from_bytes(&map)?;
    index.verify_structure()?;
    Ok(())
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Whoever could write to a store could have any file of its user overwritten: by a
    /// link of the name that the next index gets.
    #[test]
    fn links_of_others_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        std::fs::write(&file, "mine").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(target(&link), file.canonicalize().unwrap());
        // Only root can give a link away.
        if std::os::unix::fs::lchown(&link, Some(12_345), None).is_ok() {
            assert_eq!(target(&link), link);
        }
    }
}
