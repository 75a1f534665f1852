//! A process to inputs: the binaries that it has mapped, by paths that reach them
//! from here, and its vDSO.

use std::io;
use std::path::{Path, PathBuf};

use symidx::process::{ModuleKind, Modules};

use super::walk;
use crate::failure::Failure;
use crate::vdso;

/// What a process has mapped.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// The binaries, in the order of its addresses; an error stands where one could
    /// not be read.
    pub(super) files: Vec<(PathBuf, Option<io::Error>)>,
    /// The vDSO's image, or why it cannot be read.
    pub(super) vdso: Option<Result<Vec<u8>, String>>,
    /// What is there besides and has no place in a store: how much, what.
    pub(super) others: Vec<(usize, &'static str)>,
}

/// Looks at a process.
pub(super) fn look(pid: u32) -> Result<Mapped, Failure> {
    let modules = Modules::from_pid(pid).map_err(|error| Failure::new(error.to_string()))?;
    let mut found = Mapped::default();
    let mut no_binaries = 0usize;
    for module in &modules {
        match module.kind() {
            ModuleKind::File => {}
            ModuleKind::Vdso => {
                found.vdso = Some(vdso::memory(pid, module));
                continue;
            }
            _ => continue,
        }
        let (path, file) = (module.path(), module.file());
        // Opening a pipe would wait.
        let kind = file.metadata().map(|metadata| metadata.is_file());
        match kind.and_then(|is_file| Ok(is_file && walk::is_binary(file)?)) {
            Ok(true) if is_same(path, file) => found.files.push((path.to_owned(), None)),
            Ok(true) => found.files.push((file.to_owned(), None)),
            Ok(false) => no_binaries = no_binaries.saturating_add(1),
            Err(error) => found.files.push((path.to_owned(), Some(error))),
        }
    }
    // Names in brackets are the kernel's.
    let is_jit = |module: &symidx::process::Module| {
        module.kind() == ModuleKind::Anonymous && module.path().as_os_str().is_empty()
    };
    let made = modules.spans().filter(|span| span.is_executable() && is_jit(span.module())).count();
    found.others = vec![
        (no_binaries, "mapped files that are no binaries"),
        (
            made,
            "stretches of code made at run time, which `lookup --pid` asks its compiler's files about",
        ),
    ];
    Ok(found)
}

/// True when the process's path leads to the same file from here: it reads better.
fn is_same(path: &Path, file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let key = |path: &Path| path.metadata().map(|metadata| (metadata.dev(), metadata.ino()));
    matches!((key(path), key(file)), (Ok(a), Ok(b)) if a == b)
}
