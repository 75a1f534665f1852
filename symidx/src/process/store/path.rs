//! Paths built on the stack: looking for an index allocates nothing.

use core::fmt::{self, Write as _};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::process::id::Id;
use crate::stamp::Stamp;
use crate::sys::open::MAX_PATH;

/// A path in the making.
pub(super) struct Buffer {
    bytes: [u8; MAX_PATH],
    length: usize,
    cut: bool,
}

impl Buffer {
    pub(super) fn new() -> Self {
        Self { bytes: [0; MAX_PATH], length: 0, cut: false }
    }

    /// The path, unless it was too long.
    pub(super) fn path(&self) -> Option<&Path> {
        let bytes = self.bytes.get(..self.length).filter(|_| !self.cut)?;
        Some(Path::new(OsStr::from_bytes(bytes)))
    }

    fn push(&mut self, bytes: &[u8]) {
        let end = self.length.saturating_add(bytes.len());
        match self.bytes.get_mut(self.length..end) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.length = end;
            }
            None => self.cut = true,
        }
    }

    /// `FILE.symidx`
    pub(super) fn beside(file: &Path) -> Self {
        let mut path = Self::new();
        path.push(file.as_os_str().as_bytes());
        path.push(b".symidx");
        path
    }

    /// `DIR/.build-id/xx/yyyy` and a suffix; `None` for an id of one byte,
    /// which has no file name left.
    pub(super) fn by_id(directory: &Path, id: &Id, suffix: &str) -> Option<Self> {
        let (first, rest) = id.as_bytes().split_first()?;
        if rest.is_empty() {
            return None;
        }
        let mut path = Self::new();
        path.push(directory.as_os_str().as_bytes());
        let _ = write!(path, "/.build-id/{first:02x}/");
        let _ = rest.iter().try_for_each(|byte| write!(path, "{byte:02x}"));
        path.push(suffix.as_bytes());
        Some(path)
    }

    /// `DIR/.by-file/` and the state of a file.
    pub(super) fn by_file(directory: &Path, file: &Stamp) -> Self {
        let mut path = Self::new();
        path.push(directory.as_os_str().as_bytes());
        let _ = write!(path, "/.by-file/{file}");
        path
    }
}

impl fmt::Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}
