//! The kernel that runs: its build-id in, the index of its symbols at run time out.
//!
//! Such an index is of one boot, and of the modules that were loaded then: its name
//! says the build, and what it was made from has to be what the kernel says now.
//! Never taken by its build-id alone.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::vec::Vec;

use crate::index::Index;
use crate::kernel::{KALLSYMS, NOTES};
use crate::process::id::Id;
use crate::process::store::search::id_of;
use crate::process::store::{Missing, Store, Where};

/// Notes are a few hundred bytes; nothing reads more of them.
const MAX_NOTES: u64 = 1 << 16;
/// The symbols of the largest kernels are some 20 MB.
const MAX_KALLSYMS: u64 = 1 << 30;

impl Store {
    /// The index of the running kernel at its run-time addresses, as
    /// `symidx build --store DIR /proc/kallsyms` puts it into a directory:
    /// `.build-id/xx/yyyy.kallsyms.symidx`. It is of this boot and of the modules
    /// that are loaded now, or it is not taken: `/proc/kallsyms` is read and hashed
    /// for that, some 50 ms. The index is the caller's own, as of [`Store::find`], and
    /// counts neither as open nor among the bytes that the store may map.
    ///
    /// # Errors
    /// [`Missing`]: why there is none.
    ///
    /// ```
    /// use symidx::process::{Missing, Store};
    /// let store = Store::read().without_default_places();
    /// assert_eq!(store.find_kernel().err(), Some(Missing::NotFound));
    /// ```
    pub fn find_kernel(&self) -> Result<Index<'static>, Missing> {
        self.find_kernel_of(Path::new(NOTES), Path::new(KALLSYMS))
    }

    /// The same by a kernel's notes and symbols.
    pub(super) fn find_kernel_of(
        &self,
        notes: &Path,
        kallsyms: &Path,
    ) -> Result<Index<'static>, Missing> {
        let id = build_id_of(notes).ok_or(Missing::NotFound)?;
        let mut now = None;
        let mut reason = Missing::NotFound;
        for way in &self.places {
            let found = match way.kernel(&id) {
                Ok(Some(found)) => self.access.open(&found.file, found.offset, found.size),
                Ok(None) => continue,
                Err(why) => {
                    reason = first(reason, Missing::Unusable { place: way.name(), why });
                    continue;
                }
            };
            let index = match found {
                Ok(index) => index,
                Err(error) => {
                    let why = error.into();
                    reason = first(reason, Missing::Unusable { place: way.name(), why });
                    continue;
                }
            };
            let place = Where::Directory;
            let stated = id_of(index.identity());
            if stated != Some(id) {
                let stale = Missing::Stale { place, expected: Some(id), found: stated };
                reason = first(reason, stale);
                continue;
            }
            let now = now.get_or_insert_with(|| content_of(kallsyms));
            if *now == Some((index.input_size(), *index.input_hash())) {
                return Ok(index);
            }
            reason = first(reason, Missing::Stale { place, expected: None, found: None });
        }
        Err(reason)
    }
}

/// The reason of the place that comes first.
fn first(before: Missing, now: Missing) -> Missing {
    if before == Missing::NotFound { now } else { before }
}

#[cfg(not(target_vendor = "apple"))]
fn build_id_of(notes: &Path) -> Option<Id> {
    let mut bytes = Vec::new();
    File::open(notes).ok()?.take(MAX_NOTES).read_to_end(&mut bytes).ok()?;
    crate::process::elf::build_id_in_notes(&bytes)
}

#[cfg(target_vendor = "apple")]
fn build_id_of(_: &Path) -> Option<Id> {
    None
}

/// Size and BLAKE3 of a text that says beforehand how long it is to nobody.
fn content_of(path: &Path) -> Option<(u64, [u8; 32])> {
    let mut file = File::open(path).ok()?.take(MAX_KALLSYMS);
    let mut hasher = blake3::Hasher::new();
    let mut buffer = [0; 16 << 10];
    let mut size = 0u64;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Some((size, *hasher.finalize().as_bytes())),
            Ok(read) => {
                hasher.update(buffer.get(..read).unwrap_or(&[]));
                size = size.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
