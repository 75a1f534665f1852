//! Files that appear whole or not at all, for results that are no indexes.
//!
//! Temporary file in the same directory, fsync, rename; `symidx_indexer::publish`
//! does the same for indexes and verifies them.

use std::fs::File;
use std::io;
use std::path::Path;

use symidx_indexer::publish::target;

use crate::failure::Failure;

/// Publishes what `write` writes. On failure the path is as it was.
pub(crate) fn publish(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Failure> {
    let path = &*target(path);
    let cannot = |what: &str, error: io::Error| {
        Failure::file(path, format_args!("cannot {what}: {error}; nothing was written"))
    };
    // A pipe or a device is written to: there is nothing to replace.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut file =
            File::options().write(true).open(path).map_err(|error| cannot("open", error))?;
        return write(&mut file).map_err(|error| cannot("write", error));
    }
    if path.is_dir() {
        return Err(cannot("replace", io::ErrorKind::IsADirectory.into()));
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".symidx.").suffix(".tmp");
    #[cfg(unix)]
    {
        // As any program's output: readable as the umask allows.
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut temporary = builder
        .tempfile_in(directory)
        .map_err(|error| cannot("create a temporary file beside it", error))?;
    write(temporary.as_file_mut()).map_err(|error| cannot("write", error))?;
    temporary.as_file().sync_all().map_err(|error| cannot("write to disk", error))?;
    temporary.persist(path).map_err(|error| cannot("rename to", error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_could_not_be_written_leaves_the_file_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        publish(&path, |file| file.write_all(b"one")).unwrap();
        let error = publish(&path, |file| {
            file.write_all(b"two")?;
            Err(io::Error::other("no more"))
        });
        assert!(error.unwrap_err().to_string().contains("no more"));
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        let error = publish(directory.path(), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("cannot replace"), "{error}");
    }
}
