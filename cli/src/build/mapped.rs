//! A process to inputs: the binaries that it has mapped, by paths that reach them
//! from here.

use std::io;
use std::path::{Path, PathBuf};

use symidx::process::{ModuleKind, Modules};

use super::walk;
use crate::failure::Failure;

/// The binaries that a process has mapped, in the order of its addresses; an error
/// stands where one could not be read. What is no binary is passed over.
pub(super) fn files(pid: u32) -> Result<Vec<(PathBuf, Option<io::Error>)>, Failure> {
    let modules = Modules::from_pid(pid).map_err(|error| Failure::new(error.to_string()))?;
    let mut found = Vec::new();
    for module in modules.iter().filter(|module| module.kind() == ModuleKind::File) {
        let (path, file) = (module.path(), module.file());
        // Opening a pipe would wait.
        let kind = file.metadata().map(|metadata| metadata.is_file());
        match kind.and_then(|is_file| Ok(is_file && walk::is_binary(file)?)) {
            Ok(true) if is_same(path, file) => found.push((path.to_owned(), None)),
            Ok(true) => found.push((file.to_owned(), None)),
            Ok(false) => {}
            Err(error) => found.push((path.to_owned(), Some(error))),
        }
    }
    Ok(found)
}

/// True when the process's path leads to the same file from here: it reads better.
fn is_same(path: &Path, file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let key = |path: &Path| path.metadata().map(|metadata| (metadata.dev(), metadata.ino()));
    matches!((key(path), key(file)), (Ok(a), Ok(b)) if a == b)
}
