//! One index of a store: not looked for yet, open, or missing with its reason.
//!
//! [`Slot::index`] is one atomic load. Opening takes the slot's own lock.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::index::Index;
use crate::process::id::Id;
use crate::process::store::Missing;

/// How much a store holds open.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) open: AtomicUsize,
    pub(crate) bytes: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Slot {
    id: Option<Id>,
    index: OnceLock<Index<'static>>,
    /// Why there is none, and for which file that was found out.
    missing: Mutex<Option<(Missing, u64)>>,
    counters: Arc<Counters>,
}

impl Slot {
    pub(crate) fn new(id: Option<Id>, counters: Arc<Counters>) -> Self {
        Self { id, index: OnceLock::new(), missing: Mutex::default(), counters }
    }

    /// The build it is for; `None`: the file has no id.
    pub(crate) fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// The index, if it is open. No lock.
    #[inline]
    pub(crate) fn index(&self) -> Option<&Index<'static>> {
        self.index.get()
    }

    /// Opens it with `search`, once; what is missing is searched again only for
    /// another file of the same build, which may have an index beside it.
    pub(crate) fn open(
        &self,
        file: &Path,
        search: impl FnOnce() -> Result<Index<'static>, Missing>,
    ) -> Result<(), Missing> {
        if self.index().is_some() {
            return Ok(());
        }
        let mut missing = self.lock();
        let file = digest(file);
        match *missing {
            _ if self.index().is_some() => return Ok(()),
            Some((reason, of)) if of == file => return Err(reason),
            _ => {}
        }
        match search() {
            Ok(index) => {
                self.counters.open.fetch_add(1, Relaxed);
                self.counters.bytes.fetch_add(size_of_index(&index), Relaxed);
                *missing = None;
                // The lock is held, so nobody else has set it.
                let _ = self.index.set(index);
                Ok(())
            }
            Err(reason) => {
                *missing = Some((reason, file));
                Err(reason)
            }
        }
    }

    /// Lets it be searched again.
    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Missing, u64)>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(index) = self.index() {
            self.counters.open.fetch_sub(1, Relaxed);
            self.counters.bytes.fetch_sub(size_of_index(index), Relaxed);
        }
    }
}

pub(crate) fn size_of_index(index: &Index<'_>) -> u64 {
    u64::try_from(index.as_bytes().len()).unwrap_or(u64::MAX)
}

/// FNV-1a of a path: a path is remembered without room for it.
fn digest(path: &Path) -> u64 {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, &byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
