//! From a DSO of a profile to the file of this machine that has its code.
//!
//! In: DSOs as a profile names them. Out: a file of the recorded build, or why there
//! is none. Opens nothing but regular files, asks no network, indexes nothing.

mod missing;
mod own;
mod places;
#[cfg(all(test, unix))]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should stop"
)]
pub(crate) mod tests;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use symidx_indexer::input::kallsyms::running::{KALLSYMS, kernel_build_id};
use symidx_indexer::input::{self, ReadOptions};
use symidx_indexer::model::Store;

use crate::build_id::BuildId;
use crate::dsos::{Dso, DsoKind};
use crate::inventory::DsoUse;
use crate::names::is_trusted;

use missing::MOST_MAP;
pub use missing::NotHere;
use places::Places;

/// How perf marks a file that was deleted while it ran.
const DELETED: &[u8] = b" (deleted)";

/// A file with the code of a DSO.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Binary {
    /// Where it is; for the vDSO of this machine a name that is no path.
    pub(crate) path: PathBuf,
    /// Its bytes, where no file has them.
    pub(crate) bytes: Option<Vec<u8>>,
    /// The build-id or UUID that it states, whole.
    pub(crate) id: Option<Vec<u8>>,
    /// How it is known to be the build that ran.
    pub(crate) proof: Proof,
}

/// How a file is known to be the build that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum Proof {
    /// Its build-id is the recorded one.
    BuildId,
    /// Only by its path: the profile has no build-id of it, or perf cached it under
    /// the recorded one.
    Path,
}

/// Where binaries are looked for.
///
/// In this order, each taken only when its build-id is the recorded one: the recorded
/// path (also in the mount namespace of a process that still runs), perf's cache
/// (`~/.debug/.build-id/xx/yyyy…/elf`), `.build-id` trees (those given, then the
/// system's), the cache of debuginfod's client. Without a recorded build-id: the path.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let root = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/root.rs"));
/// use symidx_perf::{Binaries, IndexOptions, Inventory, index};
///
/// // A recording of another machine, and a copy of that one's files.
/// let binaries = Binaries::nowhere_else().with_root(root.path());
/// let store = tempfile::tempdir()?;
/// let inventory = Inventory::read(&mut session, 127)?;
/// index(&inventory, &binaries, &IndexOptions::new(store.path()), |indexed, _, _| {
///     assert_eq!(indexed.binary, Some(root.path().join("bin/app")));
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Binaries {
    places: Places,
    kallsyms: Option<PathBuf>,
    /// Take what this machine itself runs: its kernel, its vDSO, live processes.
    running: bool,
}

impl Binaries {
    /// Everywhere that the environment names.
    ///
    /// ```
    /// let mut names = symidx_perf::NameOptions::default();
    /// names.binaries = symidx_perf::Binaries::of_this_machine(); // of a recording made here
    /// ```
    #[must_use]
    pub fn of_this_machine() -> Self {
        let places = Places::of_this_machine(|name| std::env::var_os(name));
        Self { places, kallsyms: None, running: true }
    }

    /// Only where [`Binaries::with_tree`] and [`Binaries::with_root`] say.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// use symidx_perf::{Binaries, IndexOptions, Inventory, Outcome, index};
    ///
    /// // Nothing of this machine may be taken for what the recording is of.
    /// let inventory = Inventory::read(&mut session, 127)?;
    /// let store = tempfile::tempdir()?;
    /// index(&inventory, &Binaries::nowhere_else(), &IndexOptions::new(store.path()), |indexed, _, _| {
    ///     assert!(matches!(indexed.outcome, Outcome::NotHere(_)));
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn nowhere_else() -> Self {
        Self::default()
    }

    /// Looks in `DIR/.build-id/xx/yyyy` first.
    ///
    /// ```
    /// let mut names = symidx_perf::NameOptions::default();
    /// // Where a build server keeps what it shipped: /srv/debug/.build-id/xx/yyyy
    /// names.binaries = symidx_perf::Binaries::of_this_machine().with_tree("/srv/debug");
    /// ```
    #[must_use]
    pub fn with_tree(mut self, directory: impl Into<PathBuf>) -> Self {
        self.places.trees.insert(0, directory.into());
        self
    }

    /// Takes recorded paths to be below this directory: a copy of the recording
    /// machine's files. Nothing of this machine itself is taken then.
    ///
    /// ```
    /// # let root = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/root.rs"));
    /// let mut names = symidx_perf::NameOptions::default();
    /// // /bin/app of the recording is root/bin/app here.
    /// names.binaries = symidx_perf::Binaries::of_this_machine().with_root(root.path());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_root(mut self, directory: impl Into<PathBuf>) -> Self {
        self.places.root = Some(directory.into());
        self.running = false;
        self
    }

    /// The recorded kernel's symbols: a copy of its `/proc/kallsyms`.
    ///
    /// ```
    /// let mut names = symidx_perf::NameOptions::default();
    /// // Copied on the recording machine, by root, before it booted again.
    /// names.binaries = symidx_perf::Binaries::of_this_machine().with_kallsyms("kallsyms.txt");
    /// ```
    #[must_use]
    pub fn with_kallsyms(mut self, file: impl Into<PathBuf>) -> Self {
        self.kallsyms = Some(file.into());
        self
    }

    /// The file with a DSO's code.
    ///
    /// # Errors
    /// [`NotHere`] says why there is none.
    pub(crate) fn find(&self, used: &DsoUse) -> Result<Binary, NotHere> {
        let dso = &used.dso;
        match dso.kind {
            DsoKind::File => self.file(dso, used.pid),
            DsoKind::Kernel => self.kernel(dso),
            DsoKind::Module => Err(NotHere::WithTheKernel),
            DsoKind::Vdso => self.vdso(dso),
            DsoKind::Jit => self.map(used.pid),
            DsoKind::Ksymbol => Err(NotHere::NamesItself),
            DsoKind::Memory => Err(NotHere::Memory),
            DsoKind::Rest => Err(NotHere::TooMany),
        }
    }

    fn file(&self, dso: &Dso, pid: i32) -> Result<Binary, NotHere> {
        let (name, deleted) = match dso.name.strip_suffix(DELETED) {
            Some(name) => (name, true),
            None => (&*dso.name, false),
        };
        // `/memfd:…` and `anon_inode:…` were never in a file system.
        if !name.starts_with(b"/") || name.starts_with(b"/memfd:") {
            return Err(NotHere::Memory);
        }
        let path = self.places.recorded(path_of(name));
        let Some(id) = &dso.build_id else {
            if deleted {
                return Err(NotHere::Deleted { path });
            }
            return match stated_id(&path) {
                Some(id) => Ok(Binary { path, bytes: None, id, proof: Proof::Path }),
                None => Err(NotHere::NoFile { path }),
            };
        };
        let mut other = None;
        let mut places = vec![path.clone()];
        if self.running && pid > 0 {
            places.push(places::in_namespace(pid, name));
        }
        places.extend(self.places.by_id(id, "elf"));
        for place in places {
            match verified(&place, id) {
                Some(Ok(binary)) => return Ok(binary),
                // Only what is at the path itself tells what happened to it.
                Some(Err(found)) if place == path => other = Some(found),
                _ => {}
            }
        }
        let debug = self.places.debug_files(id).into_iter().find(|file| file.is_file());
        Err(match (debug, other) {
            (Some(debug), _) => NotHere::OnlyDebugFile { id: *id, debug },
            (None, Some(found)) => NotHere::OtherBuild { path, id: *id, found },
            (None, None) if deleted => NotHere::Deleted { path },
            (None, None) => NotHere::NoSuchBuild { path, id: *id },
        })
    }

    /// The map that a process left of the code that it made at run time.
    pub(crate) fn map(&self, pid: i32) -> Result<Binary, NotHere> {
        let map = self.places.recorded(PathBuf::from(format!("/tmp/perf-{pid}.map")));
        if !is_trusted(&map) {
            return Err(NotHere::Jit { map });
        }
        match map.metadata().map(|metadata| metadata.len()) {
            Ok(bytes) if bytes > MOST_MAP => Err(NotHere::LongMap { map, bytes }),
            _ => Ok(Binary { path: map, bytes: None, id: None, proof: Proof::Path }),
        }
    }

    fn vdso(&self, dso: &Dso) -> Result<Binary, NotHere> {
        let Some(id) = &dso.build_id else { return Err(NotHere::Vdso { id: None }) };
        let cached = self.places.by_id(id, "vdso");
        if let Some(binary) = cached.iter().find_map(|place| verified(place, id)?.ok()) {
            return Ok(binary);
        }
        if self.running
            && let Some(bytes) = own::vdso()
            && let Some(own) = id_of(Path::new("[vdso]"), &bytes)
            && own.as_ref().is_some_and(|own| id.is_of(own))
        {
            let path = PathBuf::from("[vdso]");
            return Ok(Binary { path, bytes: Some(bytes), id: own, proof: Proof::BuildId });
        }
        Err(NotHere::Vdso { id: Some(*id) })
    }

    /// The kernel's symbols: the file given, perf's copy, or this machine's own.
    fn kernel(&self, dso: &Dso) -> Result<Binary, NotHere> {
        let text = |path: PathBuf, proof| Binary { path, bytes: None, id: None, proof };
        if let Some(file) = &self.kallsyms {
            return match file.is_file() {
                true => Ok(text(file.clone(), Proof::Path)),
                false => Err(NotHere::NoFile { path: file.clone() }),
            };
        }
        let Some(id) = &dso.build_id else { return Err(NotHere::Kernel { id: None }) };
        if let Some(copy) = self.places.by_id(id, "kallsyms").into_iter().find(|f| f.is_file()) {
            return Ok(text(copy, Proof::Path));
        }
        if self.running && kernel_build_id().is_some_and(|own| id.is_of(&own)) {
            return Ok(text(PathBuf::from(KALLSYMS), Proof::BuildId));
        }
        Err(NotHere::Kernel { id: Some(*id) })
    }
}

/// A candidate: `None` when it is not there or no binary, the other id when it is
/// another build.
fn verified(path: &Path, wanted: &BuildId) -> Option<Result<Binary, Option<Vec<u8>>>> {
    let id = stated_id(path)?;
    Some(match &id {
        Some(found) if wanted.is_of(found) => {
            Ok(Binary { path: path.to_owned(), bytes: None, id, proof: Proof::BuildId })
        }
        _ => Err(id),
    })
}

/// The id that a file states; `None` when there is no binary at the path.
fn stated_id(path: &Path) -> Option<Option<Vec<u8>>> {
    // A pipe with the right name would wait for a writer that never comes; files of the
    // kernel, which say that they are empty, may wait too (`/proc/kmsg`).
    if !path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() != 0) {
        return None;
    }
    let store = Store::new();
    id_of(path, input::map_file(path, &store).ok()?)
}

fn id_of(path: &Path, data: &[u8]) -> Option<Option<Vec<u8>>> {
    if !input::elf::is_elf(data) {
        return None;
    }
    let identified = input::identify(path, data, &ReadOptions::default()).ok()?;
    Some(identified.build_id.filter(|id| !id.is_empty()))
}

#[cfg(unix)]
pub(crate) fn path_of(name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(OsStr::from_bytes(name))
}

#[cfg(not(unix))]
pub(crate) fn path_of(name: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(name).into_owned())
}
