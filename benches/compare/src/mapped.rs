//! In: a path. Out: its bytes, mapped read-only, and values that borrow from the map and travel with it.
//! The files of a run are private to it and the binaries are not written meanwhile.
//! Never: maps a file for writing.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::Result;

/// Maps `path` read-only.
pub fn map(path: &Path) -> Result<Mmap> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // SAFETY: artifacts are written before they are opened and then left alone; the README says the same of the binaries.
    Ok(unsafe { Mmap::map(&file)? })
}

/// A value that borrows from a map, kept beside it. The value is dropped first.
pub struct Parsed<T> {
    value: T,
    _map: Mmap,
}

impl<T> Parsed<T> {
    /// Maps `path` and parses it with `parse`.
    pub fn open(path: &Path, parse: impl FnOnce(&'static [u8]) -> Result<T>) -> Result<Self> {
        let map = map(path)?;
        // SAFETY: the mapping does not move when `Mmap` does, and it outlives `value`: fields are dropped in order,
        // and `T` leaves this struct only as a borrow of it. Callers copy nothing `'static` out.
        let bytes: &'static [u8] = unsafe { std::slice::from_raw_parts(map.as_ptr(), map.len()) };
        Ok(Self {
            value: parse(bytes)?,
            _map: map,
        })
    }
}

impl<T> Deref for Parsed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
