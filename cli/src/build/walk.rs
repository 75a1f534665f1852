//! Directories to inputs: sorted, without following links, binaries only.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use symidx_indexer::input::{elf, macho, packed};

/// Directories nested deeper than this are not walked.
const MAX_DEPTH: u32 = 256;

/// True for a Mach-O debug bundle, which is one input.
pub(super) fn is_bundle(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "dSYM")
        && path.join("Contents/Resources/DWARF").is_dir()
}

/// Appends the binaries below a directory, in order of their names; an error
/// stands where a directory or file could not be read.
pub(super) fn walk(directory: &Path, found: &mut Vec<(PathBuf, Option<io::Error>)>) {
    descend(directory, MAX_DEPTH, found);
}

fn descend(directory: &Path, depth: u32, found: &mut Vec<(PathBuf, Option<io::Error>)>) {
    let Some(depth) = depth.checked_sub(1) else {
        let error = io::Error::other("expected directories nested at most 256 deep");
        found.push((directory.to_owned(), Some(error)));
        return;
    };
    let entries = std::fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => {
            found.push((directory.to_owned(), Some(error)));
            return;
        }
    };
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if is_bundle(&path) {
                found.push((path, None));
            } else {
                descend(&path, depth, found);
            }
        } else if kind.is_file() {
            match is_binary(&path) {
                Ok(true) => found.push((path, None)),
                Ok(false) => {}
                Err(error) => found.push((path, Some(error))),
            }
        }
    }
}

/// Told by the first bytes: core dumps and Java classes are none, and packed files
/// only when they are named like kernel modules.
pub(super) fn is_binary(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(64).read_to_end(&mut start)?;
    if packed::is_packed(&start) {
        let stem = path.file_stem().map(Path::new);
        return Ok(stem.is_some_and(|stem| stem.extension().is_some_and(|ko| ko == "ko")));
    }
    if elf::is_elf(&start) {
        const CORE: u8 = 4;
        let kind = match start.get(5) {
            Some(2) => start.get(17),
            _ => start.get(16),
        };
        return Ok(kind != Some(&CORE));
    }
    // A Java class starts like a fat file; its version stands where the
    // number of slices would, and is at least 45.
    let java = start.starts_with(&[0xca, 0xfe, 0xba, 0xbe])
        && start.get(4..8).is_none_or(|count| count >= &[0, 0, 0, 45][..]);
    Ok(macho::is_macho(&start) && !java)
}
