//! Stores: where the index of a module is looked for, and which ones are open.
//!
//! In: a module. Out: its index, opened once and shared, or why there is none,
//! remembered too. No file stays open: an index is mapped (or read) and its
//! descriptor closed. Finding and opening builds paths on the stack and takes a
//! lock of its own; nothing here runs during a lookup.

mod missing;
mod path;
mod place;
mod slot;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::vec::Vec;

use crate::index::Index;
use crate::process::id::Id;
use crate::process::modules::{Module, ModuleKind};
use crate::sys::Access;

pub use missing::{Missing, Unusable, Where};
use place::Place;
pub use place::user_cache;
use slot::Counters;
pub(crate) use slot::{Slot, size_of_index};

/// Where indexes are found, and those that are open. `Send + Sync`: share one
/// among threads and processes looked at, in an `Arc`.
///
/// An index is taken only if it is of the same build as the module: by
/// build-id or UUID, or, where a file has none, by the BLAKE3 of its content.
/// Places, in this order:
///
/// 1. beside the binary: `app.symidx`;
/// 2. in it: an ELF section `.symidx`;
/// 3. each directory added with [`Store::with_directory`], then of `$SYMIDX_PATH`
///    (separated by colons): `.build-id/xx/yyyy.symidx`;
/// 4. the user's cache, with the same layout: `$XDG_CACHE_HOME/symidx`, else
///    `~/.cache/symidx`;
/// 5. perf's cache: `~/.debug/.build-id/xx/yyyy/symidx`.
///
/// A file without an id is found in a directory through a link that
/// `symidx build --store` puts there, named by the file's device, inode, size
/// and times: `.by-file/DEV-INO-SIZE-MTIME-CTIME`.
///
/// What was not found is remembered: see [`Store::forget_missing`].
///
/// ```no_run
/// use std::sync::Arc;
/// use symidx::process::{Modules, Resolver, Store};
///
/// // SAFETY: indexes are replaced by rename only.
/// let store = unsafe { Store::mapped() }.with_directory("/var/lib/symidx");
/// let mut resolver = Resolver::new(Modules::capture(), Arc::new(store));
/// resolver.open_all();
/// ```
#[derive(Debug)]
pub struct Store {
    access: Access,
    places: Vec<Place>,
    max_open: usize,
    max_bytes: u64,
    counters: Arc<Counters>,
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
}

/// What one index serves: a build, or a file without an id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Build(Id),
    File(PathBuf, Option<u64>),
}

/// How many indexes are open unless [`Store::with_max_open`] says otherwise.
const MAX_OPEN: usize = 4096;

impl Store {
    pub(crate) fn new(access: Access) -> Self {
        Self {
            access,
            places: Place::defaults(),
            max_open: MAX_OPEN,
            max_bytes: u64::MAX,
            counters: Arc::default(),
            slots: Mutex::default(),
        }
    }

    /// A store that reads indexes into memory: nobody can change them then, at
    /// the price of one copy of each. [`Store::mapped`] maps them.
    ///
    /// ```
    /// let store = symidx::process::Store::read().without_default_places();
    /// assert_eq!(store.open_count(), 0);
    /// ```
    #[must_use]
    pub fn read() -> Self {
        Self::new(Access::read())
    }

    /// Looks in this directory too, before those of the environment.
    #[must_use]
    pub fn with_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        let own = self.places.iter().filter(|place| place.is_before_directories()).count();
        let added = self.places.iter().filter(|place| place.is_added()).count();
        let at = own.saturating_add(added);
        self.places.insert(at, Place::Added(directory.into()));
        self
    }

    /// Looks nowhere but in directories added after this call: not beside or
    /// in binaries, not where the environment says.
    #[must_use]
    pub fn without_default_places(mut self) -> Self {
        self.places.clear();
        self
    }

    /// Keeps at most this many indexes open; indexes past it are
    /// [`Missing::OverBudget`] until others are evicted.
    #[must_use]
    pub fn with_max_open(mut self, indexes: usize) -> Self {
        self.max_open = indexes;
        self
    }

    /// Opens at most this many bytes of indexes (mapped, or read into memory);
    /// indexes past it are [`Missing::OverBudget`] until others are evicted.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// How many indexes are open now.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.counters.open.load(Relaxed)
    }

    /// Bytes of all indexes that are open: what can be resident of them at most.
    #[must_use]
    pub fn open_bytes(&self) -> u64 {
        self.counters.bytes.load(Relaxed)
    }

    /// True when open indexes are copies in memory, not maps.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.access.is_read()
    }

    /// Closes the index of a build, once no resolver uses it any more. True
    /// when the store knew it.
    pub fn evict(&self, id: &Id) -> bool {
        self.lock().remove(&Key::Build(*id)).is_some()
    }

    /// Closes every index that no resolver uses; returns how many.
    pub fn evict_unused(&self) -> usize {
        let before = self.open_count();
        self.lock().retain(|_, slot| Arc::strong_count(slot) > 1);
        before.saturating_sub(self.open_count())
    }

    /// Forgets what was not found, so that it is looked for again: when
    /// indexes were added.
    pub fn forget_missing(&self) {
        for slot in self.lock().values() {
            slot.forget();
        }
    }

    /// Looks everywhere for the index of a file, and opens it for the caller
    /// alone: it counts for no bound, and nothing is remembered. `id` is what
    /// the file's id was when it was used, if that is known; else the file is
    /// asked.
    ///
    /// # Errors
    /// [`Missing`]: no place has one that fits.
    ///
    /// ```no_run
    /// // SAFETY: indexes are replaced by rename only.
    /// let store = unsafe { symidx::process::Store::mapped() };
    /// let index = store.find("/usr/bin/bash".as_ref(), None)?;
    /// # Ok::<(), symidx::process::Missing>(())
    /// ```
    pub fn find(&self, file: &Path, id: Option<&Id>) -> Result<Index<'static>, Missing> {
        let id = id.copied().or_else(|| place::id_of(file));
        self.search(&Slot::new(id, Arc::default()), file)
    }

    /// The slot of a module, made if need be. Allocates; opens nothing.
    pub(crate) fn slot(&self, module: &Module) -> Option<Arc<Slot>> {
        if module.kind == ModuleKind::Anonymous {
            return None;
        }
        let id = module.id.or_else(|| place::id_of_file(module));
        let key = match id {
            Some(id) => Key::Build(id),
            None => Key::File(module.file.clone(), module.inode),
        };
        let mut slots = self.lock();
        // Modules come and go: what no resolver uses and is not open is dropped.
        if slots.len() >= MAX_OPEN.max(self.max_open).saturating_mul(2) {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.index().is_some());
        }
        let counters = &self.counters;
        let slot = slots.entry(key).or_insert_with(|| Arc::new(Slot::new(id, counters.clone())));
        Some(slot.clone())
    }

    /// Opens the slot's index for a module, unless it is open or known to be missing.
    pub(crate) fn open(&self, slot: &Slot, file: &Path) -> Result<(), Missing> {
        let first = slot.open(file, || self.search(slot, file));
        match first {
            Err(Missing::OverBudget { .. }) if self.evict_unused() > 0 => {
                slot.forget();
                slot.open(file, || self.search(slot, file))
            }
            other => other,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Arc<Slot>>> {
        // A panic elsewhere leaves the map whole: it is changed in single steps.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
