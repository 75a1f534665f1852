//! The places of a store, and what is taken from each.
//!
//! An index is opened, then compared with the module: by id, or, for a file
//! without one, by the link its builder left, or by the BLAKE3 of its content.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::vec::Vec;

use crate::error::OpenError;
use crate::index::Index;
use crate::process::elf::{Elf, ReadAt};
use crate::process::id::Id;
use crate::process::modules::Module;
use crate::process::store::missing::Unusable;
use crate::process::store::path::Buffer;
use crate::process::store::{Missing, Slot, Store, Where};
use crate::process::target::open_regular;

/// Where an index may be.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Beside,
    Embedded,
    Added(PathBuf),
    Directory(PathBuf),
    PerfCache(PathBuf),
}

impl Place {
    /// The documented order.
    pub(super) fn defaults() -> Vec<Self> {
        let mut places = std::vec![Self::Beside, Self::Embedded];
        if let Some(list) = std::env::var_os("SYMIDX_PATH") {
            places.extend(
                std::env::split_paths(&list)
                    .filter(|directory| !directory.as_os_str().is_empty())
                    .map(Self::Directory),
            );
        }
        places.extend(user_cache().map(Self::Directory));
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        places.extend(home.map(|home| Self::PerfCache(PathBuf::from(home).join(".debug"))));
        places
    }

    pub(super) fn is_before_directories(&self) -> bool {
        matches!(self, Self::Beside | Self::Embedded)
    }

    pub(super) fn is_added(&self) -> bool {
        matches!(self, Self::Added(_))
    }

    fn name(&self) -> Where {
        match self {
            Self::Beside => Where::Beside,
            Self::Embedded => Where::Embedded,
            Self::Added(_) | Self::Directory(_) => Where::Directory,
            Self::PerfCache(_) => Where::PerfCache,
        }
    }
}

/// The user's cache of indexes: `$XDG_CACHE_HOME/symidx`, else `~/.cache/symidx`;
/// `None` without a home.
///
/// ```
/// let cache = symidx::process::user_cache();
/// assert!(cache.is_none_or(|cache| cache.ends_with("symidx")));
/// ```
#[must_use]
pub fn user_cache() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    base.map(|base| base.join("symidx"))
}

/// The build-id in a module's file, where its image did not tell: recorded maps.
pub(super) fn id_of_file(module: &Module) -> Option<Id> {
    let file = open_regular(&module.file).filter(|file| is_mapped_file(file, module))?;
    Elf::open(&file)?.build_id()
}

/// The build-id in a file.
pub(super) fn id_of(file: &Path) -> Option<Id> {
    Elf::open(&open_regular(file)?)?.build_id()
}

fn is_mapped_file(file: &File, module: &Module) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let Some(inode) = module.inode else { return true };
    file.metadata().is_ok_and(|found| found.ino() == inode)
}

impl Store {
    /// Looks everywhere for the index of a slot; the first one that fits is
    /// opened. What did not fit is told if none does.
    pub(super) fn search(&self, slot: &Slot, file: &Path) -> Result<Index<'static>, Missing> {
        let mut reason = Missing::NotFound;
        let binary = if slot.id().is_none() { open_regular(file) } else { None };
        let stamp = binary.as_ref().and_then(|file| file.metadata().ok());
        let mut hash = None;
        for place in &self.places {
            let Some(found) = candidate(place, slot.id(), file, stamp.as_ref()) else { continue };
            let opened = self.open_candidate(&found, place.name()).and_then(|index| {
                let linked = !place.is_before_directories();
                match slot.id() {
                    Some(id) => matches_id(&index, id, place.name())?,
                    None => {
                        matches_content(&index, binary.as_ref(), linked, &mut hash, place.name())?
                    }
                }
                Ok(index)
            });
            match opened {
                Ok(index) => return Ok(index),
                // The first reason is that of the place that comes first.
                Err(other) if reason == Missing::NotFound => reason = other,
                Err(_) => {}
            }
        }
        Err(reason)
    }

    fn open_candidate(&self, found: &Candidate, place: Where) -> Result<Index<'static>, Missing> {
        let left = match self.counters.open.load(Relaxed) < self.max_open {
            true => self.max_bytes.saturating_sub(self.counters.bytes.load(Relaxed)),
            false => 0,
        };
        if found.size > left {
            return Err(Missing::OverBudget { bytes: found.size, left });
        }
        self.access.open(&found.file, found.offset, found.size).map_err(|error| Missing::Unusable {
            place,
            why: match error {
                OpenError::Io(error) => Unusable::Io(error.kind()),
                OpenError::NotAnIndex { .. } => Unusable::NotAnIndex,
                OpenError::Version { found } => Unusable::Version(found),
                OpenError::Broken(violation) => Unusable::Broken(violation),
            },
        })
    }
}

/// A file that may hold the index, and where in it.
struct Candidate {
    file: File,
    offset: u64,
    size: u64,
}

/// What a place has for a module, unopened.
fn candidate(
    place: &Place,
    id: Option<&Id>,
    file: &Path,
    stamp: Option<&Metadata>,
) -> Option<Candidate> {
    let path = match place {
        Place::Beside => Buffer::beside(file),
        Place::Embedded => {
            let file = open_regular(file)?;
            let (offset, size) = Elf::open(&file)?.embedded()?;
            return Some(Candidate { file, offset, size });
        }
        Place::Added(directory) | Place::Directory(directory) => match (id, stamp) {
            (Some(id), _) => Buffer::by_id(directory, id, ".symidx")?,
            (None, Some(stamp)) => Buffer::by_file(directory, stamp),
            (None, None) => return None,
        },
        Place::PerfCache(directory) => Buffer::by_id(directory, id?, "/symidx")?,
    };
    let file = open_regular(path.path()?)?;
    let size = file.metadata().ok()?.len();
    Some(Candidate { file, offset: 0, size })
}

/// An index states the module's id, or it is of another build.
fn matches_id(index: &Index<'_>, expected: &Id, place: Where) -> Result<(), Missing> {
    match Id::of(index) {
        Some(found) if found == *expected => Ok(()),
        found => Err(Missing::Stale { place, found }),
    }
}

/// An index records size and BLAKE3 of its input. A link that is named by the
/// file's device, inode, size and times stands for the BLAKE3, which then need
/// not be computed; elsewhere it is, once.
fn matches_content(
    index: &Index<'_>,
    binary: Option<&File>,
    linked: bool,
    hash: &mut Option<[u8; 32]>,
    place: Where,
) -> Result<(), Missing> {
    let stale = Missing::Stale { place, found: None };
    let binary = binary.ok_or(stale)?;
    let size = binary.metadata().map_err(|_| stale)?.len();
    if index.input_size() != size {
        return Err(stale);
    }
    if linked || *hash.get_or_insert_with(|| hash_of(binary)) == *index.input_hash() {
        return Ok(());
    }
    Err(stale)
}

/// BLAKE3 of a file, through a buffer on the stack.
fn hash_of(file: &File) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = [0; 64 << 10];
    let mut at = 0u64;
    loop {
        let read = ReadAt::read_at(file, &mut buffer, at);
        hasher.update(buffer.get(..read).unwrap_or(&[]));
        at = at.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        if read < buffer.len() {
            return *hasher.finalize().as_bytes();
        }
    }
}
