//! `.dSYM` bundles: the path of the directory in, the path of the binary with
//! the debug information out. Never opens the binary: what it is, its UUID says.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::input::InputError;

/// True for a directory whose name ends in `.dSYM`.
#[must_use]
pub(in crate::input) fn is_dsym(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "dSYM") && path.is_dir()
}

/// The binary inside a `.dSYM` bundle: the only file of `Contents/Resources/DWARF`, or
/// the one that is named like the bundle (`app.dSYM` → `app`, `Kit.framework.dSYM` → `Kit`).
///
/// # Errors
/// [`InputError::Io`] when the directory cannot be read; [`InputError::Malformed`]
/// when it holds no file, or several and none has the bundle's name.
pub(crate) fn dsym_binary(path: &Path) -> Result<PathBuf, InputError> {
    let directory = path.join("Contents").join("Resources").join("DWARF");
    let io = |source| InputError::Io { path: directory.clone(), action: "read", source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&directory).map_err(io)? {
        let file = entry.map_err(io)?.path();
        // Finder and archivers leave `.DS_Store` and `._name` files behind.
        let hidden = file.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        if file.is_file() && !hidden {
            files.push(file);
        }
    }
    files.sort();
    if let [only] = files.as_slice() {
        return Ok(only.clone());
    }
    let whole = path.file_stem();
    let without_suffix = whole.map(Path::new).and_then(Path::file_stem);
    for wanted in [whole, without_suffix].into_iter().flatten() {
        if let Some(file) = files.iter().find(|file| file.file_name() == Some(wanted)) {
            return Ok(file.clone());
        }
    }
    let names: Vec<_> =
        files.iter().filter_map(|file| file.file_name()).map(OsStr::to_string_lossy).collect();
    Err(InputError::Malformed {
        path: directory,
        offset: None,
        expected: "one binary, or one with the bundle's name".to_owned(),
        found: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
        advice: "give the binary inside the bundle",
    })
}
