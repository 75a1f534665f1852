//! Stores: where the index of a module is looked for, and which ones are open.
//!
//! In: a module. Out: its index, opened once and shared, or why there is none,
//! remembered too. No file stays open: an index is mapped (or read) and its
//! descriptor closed. Finding and opening builds paths on the stack and takes
//! locks of its own; nothing here runs during a lookup.

mod kernel;
mod missing;
mod path;
mod place;
mod room;
mod search;
mod slot;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::vec::Vec;

use crate::process::id::Id;
use crate::process::modules::{Module, ModuleKind};
use crate::sys::Access;

pub use missing::{Missing, Unusable, Where};
use place::Place;
pub use place::user_cache;
use room::{Bounds, Counter, Taken};
pub(crate) use slot::Slot;
use slot::Wanted;

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
/// What was not found is remembered: see [`Store::forget_missing`]. An index
/// that is open stays the one it is, also when its file is replaced (by rename:
/// nothing may edit it): to take the new file, [`Store::evict`] its build and
/// make the resolvers anew. A store that maps ends the process with SIGBUS
/// when somebody truncates an open index, and may give wrong names when
/// somebody writes into one; a store that reads has copies, and does neither.
///
/// | task | call |
/// |---|---|
/// | indexes mapped, or copied into memory | [`Store::mapped`], [`Store::read`] |
/// | more places, or only own ones | [`Store::with_directory`], [`Store::without_default_places`] |
/// | bounds | [`Store::with_max_open`], [`Store::with_max_bytes`] |
/// | how much is open | [`Store::open_count`], [`Store::open_bytes`] |
/// | close | [`Store::evict`], [`Store::evict_unused`] |
/// | look again | [`Store::forget_missing`] |
/// | one file, at once | [`Store::find`] |
/// | the running kernel | [`Store::find_kernel`] |
///
/// ```
/// use std::sync::Arc;
/// use symidx::process::{Modules, Resolver, Store};
///
/// // SAFETY: indexes are replaced by rename only.
/// let store = unsafe { Store::mapped() }.with_directory("/var/lib/symidx");
/// let mut resolver = Resolver::new(Modules::capture(), Arc::new(store));
/// let open = resolver.open_all();
/// println!("{open} of {} modules have an index", resolver.modules().len());
/// # assert!(open <= resolver.modules().len());
/// ```
#[derive(Debug)]
pub struct Store {
    access: Access,
    places: Vec<Place>,
    bounds: Bounds,
    taken: Arc<Counter>,
    /// Counts up when what is missing is to be forgotten.
    epoch: AtomicU64,
    slots: Mutex<Slots>,
}

/// What one index serves: a build, or a file without an id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Build(Id),
    File(PathBuf, Wanted),
}

/// Every slot that some module asked for.
#[derive(Debug, Default)]
struct Slots {
    map: HashMap<Key, Arc<Slot>>,
    made: u64,
    /// Unused ones are dropped when there are this many.
    prune_at: usize,
}

/// How many indexes are open unless [`Store::with_max_open`] says otherwise.
const MAX_OPEN: usize = 4096;

/// Bytes that a store reads into memory at most, unless [`Store::with_max_bytes`] says
/// otherwise: a file can claim any size without having it.
pub const MAX_READ: u64 = 4 << 30;

impl Store {
    pub(crate) fn new(access: Access) -> Self {
        Self {
            access,
            places: Place::defaults(|name| std::env::var_os(name)),
            bounds: Bounds {
                indexes: MAX_OPEN,
                bytes: if access.is_read() { MAX_READ } else { u64::MAX },
            },
            taken: Arc::default(),
            epoch: AtomicU64::new(0),
            slots: Mutex::default(),
        }
    }

    /// A store that reads indexes into memory: nobody can change them then, at
    /// the price of one copy of each. [`Store::mapped`] maps them. At most 4 GiB
    /// together, unless [`Store::with_max_bytes`] says otherwise.
    ///
    /// ```
    /// let store = symidx::process::Store::read().without_default_places();
    /// assert_eq!(store.open_count(), 0);
    /// ```
    #[must_use]
    pub fn read() -> Self {
        Self::new(Access::read())
    }

    /// Looks in this directory too, before those of the environment; in the one
    /// that was added first, first.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let place = directory.path().join(".build-id/11");
    /// # std::fs::create_dir_all(&place)?;
    /// # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx");
    /// # std::fs::copy(golden, place.join("22334455667788.symidx"))?;
    /// use symidx::process::{Id, Store};
    ///
    /// // `directory` holds .build-id/11/22334455667788.symidx
    /// let store = Store::read().with_directory(directory.path());
    /// let id = Id::new(&[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]).unwrap();
    /// assert_eq!(store.find("/gone/app".as_ref(), Some(&id))?.symbol_count(), 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// use symidx::process::{Missing, Store};
    ///
    /// // For answers that do not depend on who asks: no `$SYMIDX_PATH`, no cache.
    /// let store = Store::read().without_default_places().with_directory("/var/lib/nothing");
    /// assert_eq!(store.find("/bin/sh".as_ref(), None).unwrap_err(), Missing::NotFound);
    /// ```
    #[must_use]
    pub fn without_default_places(mut self) -> Self {
        self.places.clear();
        self
    }

    /// Keeps at most this many indexes open, 4096 unless said otherwise; those
    /// that no resolver uses make way for others, and an index that finds no
    /// room is [`Missing::OverBudget`] until there is some. The bound holds at
    /// every moment, whatever threads do.
    ///
    /// ```
    /// # let (directory, store) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/store.rs"));
    /// # let modules = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/modules.rs"));
    /// let store = std::sync::Arc::new(store.with_max_open(0)); // 100, say
    /// let mut resolver = symidx::process::Resolver::new(modules, store);
    /// resolver.open_all();
    /// // What finds no room is unknown with that reason; nothing fails.
    /// assert_eq!(resolver.lookup(0x5555_0000_01a8).unwrap_err().name(), "over budget");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_max_open(mut self, indexes: usize) -> Self {
        self.bounds.indexes = indexes;
        self
    }

    /// Opens at most this many bytes of indexes: mapped, in whole pages, or
    /// read into memory. As [`Store::with_max_open`].
    ///
    /// ```
    /// # let (directory, store) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/store.rs"));
    /// # let modules = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/modules.rs"));
    /// let store = std::sync::Arc::new(store.with_max_bytes(3000)); // 64 << 20, say
    /// let mut resolver = symidx::process::Resolver::new(modules, store);
    /// assert_eq!(resolver.open_all(), 0); // its index has 3213
    /// assert_eq!(resolver.lookup(0x5555_0000_01a8).unwrap_err().name(), "over budget");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.bounds.bytes = bytes;
        self
    }

    /// How many indexes are open now.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// assert_eq!(resolver.store().open_count(), 1); // each index once, however many resolvers use it
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.taken.taken().indexes
    }

    /// Bytes of all indexes that are open, mapped ones in whole pages: what can
    /// be resident of them at most.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// assert_eq!(resolver.store().open_bytes(), 3213); // to be shown beside other caches
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn open_bytes(&self) -> u64 {
        self.taken.taken().bytes
    }

    /// True when open indexes are copies in memory, not maps.
    ///
    /// ```
    /// assert!(symidx::process::Store::read().is_read()); // nothing that is done to files matters
    /// ```
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.access.is_read()
    }

    /// Lets go of the index of a build: it closes once no resolver uses it any
    /// more, and resolvers that are made from now on look for it anew. True
    /// when the store knew the build.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// let store = resolver.store().clone();
    /// let id = symidx::process::Id::new(&[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]).unwrap();
    /// // A new index of the build was published: `Resolver::new(modules, store)` takes it.
    /// assert!(store.evict(&id));
    /// assert!(!store.evict(&id)); // not known any more
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn evict(&self, id: &Id) -> bool {
        self.lock().map.remove(&Key::Build(*id)).is_some()
    }

    /// Closes every index that no resolver uses; returns how many.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// let store = resolver.store().clone();
    /// resolver.open_all();
    /// assert_eq!(store.evict_unused(), 0); // in use
    /// drop(resolver); // the process has ended
    /// assert_eq!((store.evict_unused(), store.open_count()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn evict_unused(&self) -> usize {
        let mut closed = 0usize;
        self.lock().map.retain(|_, slot| {
            let close = is_unused(slot);
            closed = closed.saturating_add(usize::from(close));
            !close
        });
        closed
    }

    /// Forgets what was not found, so that it is looked for again: when
    /// indexes were added.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// let index = directory.path().join(".build-id/11/22334455667788.symidx");
    /// std::fs::rename(&index, index.with_extension("new"))?;
    /// assert_eq!(resolver.open_all(), 0); // not built yet: remembered
    /// std::fs::rename(index.with_extension("new"), &index)?; // as `symidx build --store` does
    /// assert_eq!(resolver.open_all(), 0);
    /// resolver.store().forget_missing();
    /// assert_eq!(resolver.open_all(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forget_missing(&self) {
        self.epoch.fetch_add(1, Relaxed);
    }

    /// The slot of a module, made if need be. Allocates; opens nothing.
    pub(crate) fn slot(&self, module: &Module) -> Option<Arc<Slot>> {
        if module.kind == ModuleKind::Anonymous {
            return None;
        }
        let wanted = place::wanted(module);
        let key = match wanted {
            Wanted::Build(id) => Key::Build(id),
            other => Key::File(module.file.clone(), other),
        };
        let mut slots = self.lock();
        if let Some(slot) = slots.map.get(&key) {
            return Some(slot.clone());
        }
        // Modules come and go: what no resolver uses and is not open is dropped.
        if slots.map.len() >= slots.prune_at {
            slots.map.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.index().is_some());
            slots.prune_at = slots.map.len().max(MAX_OPEN).saturating_mul(2);
        }
        slots.made = slots.made.saturating_add(1);
        let slot = Arc::new(Slot::new(wanted, slots.made));
        slots.map.insert(key, slot.clone());
        Some(slot)
    }

    /// Opens the slot's index for a module, unless it is open or known to be
    /// missing.
    pub(crate) fn open(&self, slot: &Slot, module: &Module) -> Result<(), Missing> {
        let epoch = self.epoch.load(Relaxed);
        let (file, place) = (&module.file, module.place());
        let search = || self.search(slot.wanted(), file, place, &self.taken, self.bounds);
        match slot.open(place, epoch, search) {
            Err(Missing::OverBudget { bytes, .. }) if self.make_room(bytes) => {
                slot.forget(place);
                slot.open(place, epoch, search)
            }
            other => other,
        }
    }

    /// Closes indexes that no resolver uses, the oldest first, until one more of
    /// this size fits; none when that would not be enough. True when it fits,
    /// unless another thread is faster. No heap.
    fn make_room(&self, bytes: u64) -> bool {
        if bytes > self.bounds.bytes || self.bounds.indexes == 0 {
            return false;
        }
        let mut slots = self.lock();
        let unused = slots.map.values().filter(|slot| is_unused(slot)).fold(
            Taken::default(),
            |sum, slot| Taken {
                indexes: sum.indexes.saturating_add(1),
                bytes: sum.bytes.saturating_add(slot.bytes()),
            },
        );
        let taken = self.taken.taken();
        let rest = Taken {
            indexes: taken.indexes.saturating_sub(unused.indexes),
            bytes: taken.bytes.saturating_sub(unused.bytes),
        };
        if !self.bounds.fits(rest, bytes) {
            return false;
        }
        while !self.bounds.fits(self.taken.taken(), bytes) {
            let oldest =
                slots.map.values().filter(|slot| is_unused(slot)).map(|slot| slot.number()).min();
            let Some(oldest) = oldest else { return false };
            slots.map.retain(|_, slot| slot.number() != oldest);
        }
        true
    }

    /// Bytes of heap that the store itself holds, all slots included.
    pub(crate) fn own_bytes(&self) -> usize {
        let slots = self.lock();
        let each = size_of::<Slot>().saturating_add(super::budget::ALLOCATION);
        let paths = slots.map.keys().fold(0usize, |sum, key| match key {
            Key::Build(_) => sum,
            Key::File(path, _) => {
                sum.saturating_add(path.capacity()).saturating_add(super::budget::ALLOCATION)
            }
        });
        // A table has a byte of its own per place, and is at most 7/8 full.
        let table = size_of::<(Key, Arc<Slot>)>().saturating_add(1);
        let places = slots.map.capacity().saturating_mul(2);
        paths
            .saturating_add(slots.map.len().saturating_mul(each))
            .saturating_add(places.saturating_mul(table))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Slots> {
        // A panic elsewhere leaves the map whole: it is changed in single steps.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True for an index that is open and that no resolver uses. Nobody can begin
/// to while the map is locked.
fn is_unused(slot: &Arc<Slot>) -> bool {
    slot.index().is_some() && Arc::strong_count(slot) == 1
}

#[cfg(test)]
mod tests;
