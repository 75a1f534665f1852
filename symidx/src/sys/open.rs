//! Opening by path without heap.
//!
//! In: a path. Out: a regular file, or why there is none. Never waits for a
//! pipe's other end, never takes a terminal, never returns anything but a file.
#![allow(unsafe_code)]

use core::ffi::CStr;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// As many bytes as the system takes in a path, its NUL included.
pub(crate) const MAX_PATH: usize = 4096;

/// Why a file was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Nothing has that name.
    Absent,
    /// A directory, a pipe, a device, a socket.
    NotAFile,
    /// The system said no.
    Io(ErrorKind),
}

/// Opens a regular file to be read. No heap, however long the path.
pub(crate) fn open_regular(path: &Path) -> Result<File, Refused> {
    let mut bytes = [0u8; MAX_PATH];
    let name = path.as_os_str().as_bytes();
    // One byte is left for the NUL.
    let room = bytes.split_last_mut().and_then(|(_, room)| room.get_mut(..name.len()));
    room.ok_or(Refused::Io(ErrorKind::InvalidFilename))?.copy_from_slice(name);
    let text =
        CStr::from_bytes_until_nul(&bytes).ok().filter(|text| text.count_bytes() == name.len());
    let text = text.ok_or(Refused::Io(ErrorKind::InvalidFilename))?;
    // A pipe that nobody writes to would be waited for otherwise.
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = loop {
        // SAFETY: the text ends in NUL and outlives the call.
        let opened = unsafe { libc::open(text.as_ptr(), flags) };
        if opened >= 0 {
            break opened;
        }
        let error = Error::last_os_error();
        match error.kind() {
            ErrorKind::Interrupted => {}
            ErrorKind::NotFound | ErrorKind::NotADirectory => return Err(Refused::Absent),
            // Sockets, and devices without a driver.
            _ if error.raw_os_error() == Some(libc::ENXIO) => return Err(Refused::NotAFile),
            kind => return Err(Refused::Io(kind)),
        }
    };
    // SAFETY: `open` has just returned it; nobody else owns it.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(opened) });
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file),
        Ok(_) => Err(Refused::NotAFile),
        Err(error) => Err(Refused::Io(error.kind())),
    }
}

/// Bytes of a page.
pub(crate) fn page_size() -> u64 {
    // SAFETY: a question without arguments that point anywhere.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::ffi::OsStr;
    use std::string::String;

    /// A pipe without a writer was waited for; a directory was mapped.
    #[test]
    fn only_regular_files_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let open = |name: &str| open_regular(&at(name)).map(|_| ());
        std::fs::write(at("file"), "x").unwrap();
        assert_eq!(open("file"), Ok(()));
        assert_eq!(open("none"), Err(Refused::Absent));
        assert_eq!(open("file/below"), Err(Refused::Absent));
        std::fs::create_dir(at("directory")).unwrap();
        assert_eq!(open("directory"), Err(Refused::NotAFile));
        let fifo = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(fifo.success());
        assert_eq!(open("pipe"), Err(Refused::NotAFile));
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(open("socket"), Err(Refused::NotAFile));
        assert_eq!(open_regular(Path::new("/dev/null")).map(|_| ()), Err(Refused::NotAFile));
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        assert!(matches!(open("loop"), Err(Refused::Io(_))), "{:?}", open("loop"));
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        assert_eq!(open("link"), Ok(()));
    }

    #[test]
    fn names_that_no_file_has_are_refused() {
        let inside = Path::new(OsStr::from_bytes(b"/tmp/a\0b"));
        assert_eq!(open_regular(inside).map(|_| ()), Err(Refused::Io(ErrorKind::InvalidFilename)));
        for length in [MAX_PATH - 2, MAX_PATH - 1, MAX_PATH, 70_000] {
            let long = String::from("/") + &"x".repeat(length);
            assert!(matches!(open_regular(Path::new(&long)).map(|_| ()), Err(Refused::Io(_))));
        }
        assert_eq!(open_regular(Path::new("")).map(|_| ()), Err(Refused::Absent));
        assert!(page_size() >= 4096);
    }
}
