//! A mapped file of which no more is resident than what is touched.
//!
//! A fault maps as much of a file as the page cache holds in one piece, up to
//! 2 MiB of an index just written, if the piece lies in one page table. Here the
//! mapping starts where no large piece does, so a fault maps 64 KiB at most.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::AsRawFd as _;
use std::ptr::{self, NonNull};

/// What one page table maps, with pages of 4 KiB. (With others this module
/// does no good, and no harm.)
const TABLE: usize = 2 << 20;
/// How far the file's start is from that of a page table.
const OFF: usize = 64 << 10;

/// A mapped file.
pub(crate) struct Sparse {
    /// Address space that was taken.
    taken: NonNull<u8>,
    room: usize,
    /// The file, inside it.
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: shared reads of plain bytes; unmapped only when it drops.
unsafe impl Send for Sparse {}
// SAFETY: as above.
unsafe impl Sync for Sparse {}

impl Sparse {
    /// Maps the whole file, to be read only.
    ///
    /// # Safety
    /// As for [`crate::Index::map`]: the file does not change while it is mapped.
    pub(crate) unsafe fn map(file: &File) -> Result<Self, Error> {
        let len = usize::try_from(file.metadata()?.len());
        let room = len.ok().and_then(|len| Some((len, len.checked_add(TABLE)?.checked_add(OFF)?)));
        let (len, room) = room.ok_or(ErrorKind::FileTooLarge)?;
        if len == 0 {
            return Ok(Self { taken: NonNull::dangling(), room: 0, at: NonNull::dangling(), len });
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: address space wherever there is some; nothing can be read there.
        let taken = unsafe { libc::mmap(ptr::null_mut(), room, libc::PROT_NONE, flags, -1, 0) };
        let taken = pointer(taken)?;
        let to_table = taken.addr().get().wrapping_neg() & TABLE.wrapping_sub(1);
        // SAFETY: less than a table and the distance from one: inside what was taken.
        let at = unsafe { taken.add(to_table).add(OFF) };
        // From here on dropping gives all of it back.
        let mut map = Self { taken, room, at, len: 0 };
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: replaces only what was taken above, which nothing else knows.
        let file = unsafe {
            libc::mmap(at.as_ptr().cast(), len, libc::PROT_READ, flags, file.as_raw_fd(), 0)
        };
        map.at = pointer(file)?;
        map.len = len;
        // SAFETY: advice on what was just mapped.
        unsafe { libc::madvise(at.as_ptr().cast(), len, libc::MADV_RANDOM) };
        Ok(map)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: that many bytes are mapped there, or none and the pointer is not
        // followed; who mapped the file promised that they do not change.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    /// Drops what is resident; it is read again when it is touched.
    pub(crate) fn release(&self) {
        // SAFETY: a shared mapping of a file: the same bytes come back.
        unsafe { libc::madvise(self.at.as_ptr().cast(), self.len, libc::MADV_DONTNEED) };
    }
}

fn pointer(mapped: *mut libc::c_void) -> Result<NonNull<u8>, Error> {
    let mapped = if mapped == libc::MAP_FAILED { None } else { NonNull::new(mapped.cast()) };
    mapped.ok_or_else(Error::last_os_error)
}

impl Drop for Sparse {
    fn drop(&mut self) {
        if self.room > 0 {
            // SAFETY: what `map` took, the file's part included; nothing borrows it any more.
            unsafe { libc::munmap(self.taken.as_ptr().cast(), self.room) };
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::io::Write as _;
    use std::string::{String, ToString as _};
    use std::vec;

    /// The line `Rss:` of the mapping that holds the address, in KiB.
    fn resident(address: usize) -> Option<u64> {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut inside = false;
        for line in maps.lines() {
            let range = line.split_whitespace().next().and_then(|range| range.split_once('-'));
            let number = |text: &str| usize::from_str_radix(text, 16).ok();
            if let Some((start, end)) = range.and_then(|(a, b)| Some((number(a)?, number(b)?))) {
                inside = (start..end).contains(&address);
            }
            if let Some(rss) = line.strip_prefix("Rss:").filter(|_| inside) {
                return rss.trim().trim_end_matches(" kB").parse().ok();
            }
        }
        None
    }

    /// A file written in pieces of 2 MiB was resident in such pieces: 12 MB for one name.
    #[test]
    fn what_is_not_touched_is_not_resident() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mut file = File::create(&path).unwrap();
        for piece in 0..4u8 {
            file.write_all(&vec![piece; 2 << 20]).unwrap();
        }
        let file = File::open(&path).unwrap();
        // SAFETY: nobody else has the file.
        let map = unsafe { Sparse::map(&file) }.unwrap();
        let bytes = map.bytes();
        assert_eq!(bytes.len(), 8 << 20);
        for piece in 0..4u8 {
            let middle = (usize::from(piece) << 21) + (1 << 20);
            assert_eq!(bytes.get(middle), Some(&piece));
        }
        let kib = resident(bytes.as_ptr().addr());
        assert!(kib.is_some_and(|kib| kib <= 4 * 64), "{kib:?} KiB for four bytes");
        map.release();
        assert_eq!(resident(bytes.as_ptr().addr()), Some(0));
        assert!(bytes.iter().enumerate().all(|(at, &byte)| usize::from(byte) == at >> 21));
    }

    #[test]
    fn a_mapping_ends_with_its_owner_and_an_empty_file_has_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a file of its own");
        let mapped = || -> String {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().filter(|line| line.contains("a file of its own")).collect()
        };
        std::fs::write(&path, "").unwrap();
        let open = || File::open(&path).unwrap();
        // SAFETY: nobody else has the file.
        assert_eq!(unsafe { Sparse::map(&open()) }.unwrap().bytes(), b"");
        std::fs::write(&path, "text").unwrap();
        // SAFETY: as above.
        let map = unsafe { Sparse::map(&open()) }.unwrap();
        let moved = std::thread::spawn(move || (map.bytes() == b"text").then_some(map));
        let map = moved.join().unwrap().unwrap();
        assert_ne!(mapped(), "");
        drop(map);
        assert_eq!(mapped(), "");
        let nothing = File::open(directory.path()).unwrap();
        // SAFETY: as above.
        let refused = unsafe { Sparse::map(&nothing) };
        assert!(refused.is_err_and(|error| !error.to_string().is_empty()));
    }
}
