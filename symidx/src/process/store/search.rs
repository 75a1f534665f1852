//! The search for the index of a module: places in, the first index that is of
//! the module's build out, or what did not fit.
//!
//! An index is taken by what it states of itself, never by its name alone.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use zerocopy::{FromZeros as _, IntoBytes as _};

use crate::error::OpenError;
use crate::format::{
    Header, ID_BUILD_ID, ID_UUID, Identity, MAX_SECTIONS, SectionEntry, SectionId,
};
use crate::index::Index;
use crate::process::elf::ReadAt;
use crate::process::id::Id;
use crate::process::store::missing::Unusable;
use crate::process::store::place::{Candidate, wanted_for};
use crate::process::store::room::{Bounds, Counter, Room};
use crate::process::store::slot::{Open, Wanted};
use crate::process::store::{Missing, Store, Where};
use crate::stamp::Stamp;
use crate::sys::open::open_regular;

/// Files larger than this are matched by their links alone: hashing one would
/// take longer than anybody waits, and a file may seem larger than any disk.
const MAX_HASHED: u64 = 8 << 30;

/// The file of a module without a build-id, and its hash once it is needed.
struct Binary {
    file: File,
    size: u64,
    hash: Option<[u8; 32]>,
}

impl Binary {
    /// The file, if it is still as it was when its module was seen.
    fn open(path: &Path, stamp: &Stamp) -> Option<Self> {
        let file = open_regular(path).ok()?;
        let same = file.metadata().is_ok_and(|found| Stamp::of(&found) == *stamp);
        same.then_some(Self { file, size: stamp.size(), hash: None })
    }

    fn has(&mut self, hash: &[u8; 32]) -> bool {
        self.size <= MAX_HASHED
            && self.hash.get_or_insert_with(|| hash_of(&self.file, self.size)) == hash
    }
}

impl Store {
    /// The index of a file that no module of a running process stands for: as a
    /// profile names it, `id` being what the profile says it is; without one,
    /// the file is asked. With one, the file need not be there. The index is the
    /// caller's own: it counts for no bound, and nothing is remembered.
    ///
    /// # Errors
    /// [`Missing`]: why there is none.
    ///
    /// ```no_run
    /// // SAFETY: indexes are replaced by rename only.
    /// let store = unsafe { symidx::process::Store::mapped() };
    /// let index = store.find("/usr/bin/bash".as_ref(), None)?;
    /// # Ok::<(), symidx::process::Missing>(())
    /// ```
    pub fn find(&self, file: &Path, id: Option<&Id>) -> Result<Index<'static>, Missing> {
        let file = std::path::absolute(file).map_err(|_| Missing::NotFound)?;
        let wanted = match id {
            Some(id) => Wanted::Build(*id),
            None => open_regular(&file).map_or(Wanted::Nothing, wanted_for),
        };
        let no_bounds = Bounds { indexes: usize::MAX, bytes: u64::MAX };
        Ok(self.search(&wanted, &file, &file, &Arc::default(), no_bounds)?.index)
    }

    /// Looks everywhere for an index; the first one that fits is opened, in
    /// room that is taken from a counter within bounds. What did not fit is
    /// told if none does. The file lies, or lay, at its place.
    pub(super) fn search(
        &self,
        wanted: &Wanted,
        file: &Path,
        place: &Path,
        taken: &Arc<Counter>,
        bounds: Bounds,
    ) -> Result<Open, Missing> {
        let mut binary = match wanted {
            Wanted::Build(_) => None,
            Wanted::File(stamp) => Some(Binary::open(file, stamp).ok_or(Missing::NotFound)?),
            Wanted::Nothing => return Err(Missing::NotFound),
        };
        let mut reason = Missing::NotFound;
        for way in &self.places {
            let name = way.name();
            let found = match way.candidate(wanted, file, place) {
                Ok(Some(found)) => {
                    let bytes = self.access.room(found.offset, found.size);
                    let room = Room::take(taken, bounds, bytes);
                    self.take(&found, room, wanted, binary.as_mut(), name)
                }
                Ok(None) => continue,
                Err(why) => Err(Missing::Unusable { place: name, why }),
            };
            match found {
                Ok(open) => return Ok(open),
                // One that only needs room comes before all others: room can be
                // made. Else the first reason is that of the place that comes first.
                Err(over @ Missing::OverBudget { .. }) => {
                    if !matches!(reason, Missing::OverBudget { .. }) {
                        reason = over;
                    }
                }
                Err(other) if reason == Missing::NotFound => reason = other,
                Err(_) => {}
            }
        }
        Err(reason)
    }

    /// Opens what was found if it is of the right build and there is room.
    fn take(
        &self,
        found: &Candidate,
        room: Result<Room, u64>,
        wanted: &Wanted,
        binary: Option<&mut Binary>,
        place: Where,
    ) -> Result<Open, Missing> {
        let room = match room {
            Ok(room) => room,
            Err(left) => {
                // Room is only worth making for an index that fits.
                let identity = peek(found).map_err(|why| Missing::Unusable { place, why })?;
                matches(&identity, wanted, binary, place)?;
                let bytes = self.access.room(found.offset, found.size);
                return Err(Missing::OverBudget { bytes, left });
            }
        };
        let opened = self.access.open(&found.file, found.offset, found.size);
        let index = opened.map_err(|error| Missing::Unusable { place, why: error.into() })?;
        matches(index.identity(), wanted, binary, place)?;
        Ok(Open { index, room })
    }
}

impl From<OpenError> for Unusable {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Io(error) => Self::Io(error.kind()),
            OpenError::NotAnIndex { .. } => Self::NotAnIndex,
            OpenError::Version { found } => Self::Version(found),
            OpenError::Broken(violation) => Self::Broken(violation),
        }
    }
}

/// The identity that an index states, without opening it.
fn peek(found: &Candidate) -> Result<Identity, Unusable> {
    let read = |into: &mut [u8], at: u64| {
        let at = found.offset.saturating_add(at);
        found.file.read_exact_at(into, at).map_err(|error| Unusable::Io(error.kind()))
    };
    let mut header = Header::new_zeroed();
    read(header.as_mut_bytes(), 0)?;
    crate::open::check_header(header.as_bytes(), found.size).map_err(Unusable::from)?;
    let tables = header.section_count.get().min(MAX_SECTIONS);
    let first = u64::try_from(size_of::<Header>()).unwrap_or(u64::MAX);
    let stride = u64::try_from(size_of::<SectionEntry>()).unwrap_or(u64::MAX);
    for number in 0..u64::from(tables) {
        let mut entry = SectionEntry::new_zeroed();
        read(entry.as_mut_bytes(), first.saturating_add(stride.saturating_mul(number)))?;
        if entry.id.get() == SectionId::IDENTITY.0 {
            let mut identity = Identity::new_zeroed();
            read(identity.as_mut_bytes(), entry.offset.get())?;
            return Ok(identity);
        }
    }
    Err(Unusable::NotAnIndex)
}

/// An index states the module's build, or size and BLAKE3 of its file; else it
/// is of another build. In directories of a store, the name of the link stands
/// for the BLAKE3, which then need not be computed.
fn matches(
    identity: &Identity,
    wanted: &Wanted,
    binary: Option<&mut Binary>,
    place: Where,
) -> Result<(), Missing> {
    match (wanted, binary) {
        (Wanted::Build(expected), _) => match id_of(identity) {
            Some(found) if found == *expected => Ok(()),
            found => Err(Missing::Stale { place, expected: Some(*expected), found }),
        },
        (Wanted::File(_), Some(binary)) if identity.input_size.get() == binary.size => {
            let linked = place == Where::Directory;
            match linked || binary.has(&identity.input_hash) {
                true => Ok(()),
                false => Err(Missing::Stale { place, expected: None, found: None }),
            }
        }
        _ => Err(Missing::Stale { place, expected: None, found: None }),
    }
}

pub(super) fn id_of(identity: &Identity) -> Option<Id> {
    let length = usize::try_from(identity.id_len.get()).ok()?;
    match identity.id_kind.get() {
        ID_BUILD_ID | ID_UUID => Id::new(identity.id.get(..length)?),
        _ => None,
    }
}

/// BLAKE3 of a file's first `size` bytes, through a buffer on the stack.
fn hash_of(file: &File, size: u64) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = [0; 16 << 10];
    let mut at = 0u64;
    while at < size {
        let read = ReadAt::read_at(file, &mut buffer, at);
        if read == 0 {
            break;
        }
        hasher.update(buffer.get(..read).unwrap_or(&[]));
        at = at.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
    }
    *hasher.finalize().as_bytes()
}
