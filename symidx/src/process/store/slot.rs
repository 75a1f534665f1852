//! One index of a store: not looked for yet, open, or missing with its reason.
//!
//! [`Slot::index`] is one atomic load. Opening takes the slot's own lock.

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::index::Index;
use crate::process::digest::Digest;
use crate::process::id::Id;
use crate::process::store::Missing;
use crate::process::store::room::Room;
use crate::stamp::Stamp;

/// What an index must be of to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wanted {
    /// This build.
    Build(Id),
    /// This file's content: it states no build.
    File(Stamp),
    /// The file cannot be reached, so nothing can be of it.
    Nothing,
}

/// An index and the room that it takes.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) index: Index<'static>,
    pub(super) room: Room,
}

/// What was found out about a file whose index is missing.
#[derive(Clone, Copy, Debug)]
struct Known {
    file: u64,
    epoch: u64,
    reason: Missing,
}

/// As many files of one build are remembered apart: each may have an index
/// beside it.
const FILES: usize = 4;

#[derive(Debug)]
pub(crate) struct Slot {
    wanted: Wanted,
    /// Counts up, slot by slot.
    number: u64,
    open: OnceLock<Open>,
    missing: Mutex<[Option<Known>; FILES]>,
}

impl Slot {
    pub(super) fn new(wanted: Wanted, number: u64) -> Self {
        Self { wanted, number, open: OnceLock::new(), missing: Mutex::default() }
    }

    pub(super) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Lower than that of slots that were made later.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The index, if it is open. No lock.
    #[inline]
    pub(crate) fn index(&self) -> Option<&Index<'static>> {
        Some(&self.open.get()?.index)
    }

    /// Bytes of memory that its index can take; 0 when it is not open.
    pub(crate) fn bytes(&self) -> u64 {
        self.open.get().map_or(0, |open| open.room.bytes())
    }

    /// Opens it with `search`, once. What is missing is searched again only for
    /// another file of the same build, and in another epoch of the store.
    pub(super) fn open(
        &self,
        file: &Path,
        epoch: u64,
        search: impl FnOnce() -> Result<Open, Missing>,
    ) -> Result<(), Missing> {
        if self.index().is_some() {
            return Ok(());
        }
        let file = digest(file);
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever held the lock may have opened it.
        if self.index().is_some() {
            return Ok(());
        }
        let known = missing.iter().flatten().find(|known| known.file == file);
        if let Some(known) = known
            && known.epoch == epoch
        {
            return Err(known.reason);
        }
        match search() {
            Ok(open) => {
                *missing = [None; FILES];
                // The lock is held, so nobody else has set it.
                let _ = self.open.set(open);
                Ok(())
            }
            Err(reason) => {
                // The newest is first, the oldest falls out.
                let old = missing.iter().position(|known| known.is_some_and(|k| k.file == file));
                let upto = old.unwrap_or(FILES.saturating_sub(1));
                if let Some(moved) = missing.get_mut(..=upto) {
                    moved.rotate_right(1);
                }
                if let Some(first) = missing.first_mut() {
                    *first = Some(Known { file, epoch, reason });
                }
                Err(reason)
            }
        }
    }

    /// Lets it be searched again for this file.
    pub(super) fn forget(&self, file: &Path) {
        let file = digest(file);
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        for known in missing.iter_mut().filter(|known| known.is_some_and(|k| k.file == file)) {
            *known = None;
        }
    }
}

/// A path is remembered without room for it.
fn digest(path: &Path) -> u64 {
    Digest::default().of(path.as_os_str().as_encoded_bytes()).0
}
