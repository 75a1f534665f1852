//! Indexes that are missing: built when an address first needs one, or why not.
//!
//! In: a DSO. Out: the path of its index. When the profile is a file, the first DSO that
//! needs a build has all of them built, side by side; in a pipe each is built by itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use symidx_indexer::store::{FileState, Kind, place};
use symidx_indexer::{BuildOptions, build_file};

use crate::binaries::Binaries;
use crate::dsos::DsoId;
use crate::indexing::{IndexOptions, Indexed, Outcome, index};
use crate::inventory::{DsoUse, Inventory};
use crate::session::Session;

use super::{Reason, Room, Why};

/// Why a file has no index when none is built.
pub const NOT_BUILT: &str = "it has no index, and none was to be built";

/// Where indexes are built, and of what.
///
/// ```
/// use symidx_perf::{BuildMissing, IndexOptions, NameOptions};
///
/// let mut names = NameOptions::default();
/// let mut build = BuildMissing::new(IndexOptions::new("/var/cache/symidx"));
/// build.profile = Some("perf.data".into()); // all of its DSOs at once, side by side
/// names.build = Some(build);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BuildMissing {
    /// How, and into which store.
    pub options: IndexOptions,
    /// The profile, when it is a file: then all its DSOs are built together.
    pub profile: Option<PathBuf>,
    /// Addresses of each chain that count there.
    pub max_stack: usize,
}

impl BuildMissing {
    /// One DSO at a time.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// # let root = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/root.rs"));
    /// use symidx_perf::{Binaries, BuildMissing, Fields, IndexOptions, NameOptions, Names, ScriptOptions};
    ///
    /// let store = tempfile::tempdir()?;
    /// let mut options = NameOptions::default();
    /// options.binaries = Binaries::nowhere_else().with_root(root.path());
    /// options.build = Some(BuildMissing::new(IndexOptions::new(store.path())));
    /// let mut names = Names::new(options);
    /// symidx_perf::script(&mut session, &mut names, &ScriptOptions::default(), &mut Vec::new(), |_| {})?;
    /// assert_eq!(names.built(), 1); // on the way, when the first address needed it
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(options: IndexOptions) -> Self {
        Self { options, profile: None, max_stack: usize::MAX }
    }
}

/// What was built, and what could not be.
#[derive(Debug, Default)]
pub(super) struct Builder {
    build: Option<BuildMissing>,
    results: HashMap<DsoId, Result<PathBuf, Why>>,
    /// For the sentences in `results`.
    room: Room,
    all_done: bool,
    pub(super) built: u64,
}

impl Builder {
    pub(super) fn new(build: Option<BuildMissing>) -> Self {
        Self { build, ..Self::default() }
    }

    /// The index of a DSO, or why there is none.
    pub(super) fn index(&mut self, used: DsoUse, binaries: &Binaries) -> Result<PathBuf, Why> {
        // What nobody could index is no reason to go through the profile.
        binaries.find(&used).map_err(|why| Why::from(why.to_string()))?;
        let Some(build) = self.build.clone() else {
            return Err(NOT_BUILT.into());
        };
        if !std::mem::replace(&mut self.all_done, true)
            && let Some(profile) = &build.profile
            && let Ok(mut session) = Session::open(profile)
            && let Ok(inventory) = Inventory::read(&mut session, build.max_stack)
        {
            self.run(&inventory, binaries, &build.options);
        }
        if !self.results.contains_key(&used.id) {
            let mut inventory = Inventory::default();
            inventory.dsos.push(used.clone());
            let mut options = build.options;
            options.unused = true;
            self.run(&inventory, binaries, &options);
        }
        let nothing = || Err("nothing came of building it".into());
        self.results.get(&used.id).cloned().unwrap_or_else(nothing)
    }

    fn run(&mut self, inventory: &Inventory, binaries: &Binaries, options: &IndexOptions) {
        index(inventory, binaries, options, |indexed, _, _| {
            self.built =
                self.built.saturating_add(u64::from(matches!(indexed.outcome, Outcome::Built(_))));
            let result = result(indexed).map_err(|why| self.room.keep(why, Reason::NoIndex));
            self.results.insert(indexed.used.id, result);
        });
    }

    /// The index of a text or file that is no DSO of the profile: a map of run-time code, a
    /// vmlinux that was named.
    pub(super) fn file(&mut self, file: &Path) -> Result<PathBuf, Why> {
        let Some(build) = &self.build else {
            return Err(NOT_BUILT.into());
        };
        let store = &build.options.store;
        let cannot = |error| Why::from(format!("{}: cannot read: {error}", file.display()));
        let state = || std::fs::metadata(file).ok().and_then(|found| FileState::of(&found));
        let before = state();
        if let Some(there) = before.as_ref().and_then(|state| state.link(store).canonicalize().ok())
        {
            return Ok(there);
        }
        let mut hasher = blake3::Hasher::new();
        let mut opened = std::fs::File::open(file).map_err(cannot)?;
        std::io::copy(&mut opened, &mut hasher).map_err(cannot)?;
        let output = place(store, hasher.finalize().as_bytes(), Kind::File);
        if let Some(parent) = output.parent() {
            std::fs::create_dir_all(parent).map_err(|error| {
                Why::from(format!("{}: cannot create: {error}", parent.display()))
            })?;
        }
        let mut options = BuildOptions::default();
        options.read.auto_debug = true;
        options.names_only = build.options.names_only;
        build_file(file, &output, &options).map_err(|error| Why::from(error.to_string()))?;
        self.built = self.built.saturating_add(1);
        // A link that cannot be made costs time only.
        if let (Some(before), Some(after)) = (before, state())
            && before == after
        {
            let _ = after.publish(store, &output);
        }
        Ok(output)
    }
}

fn result(indexed: &Indexed) -> Result<PathBuf, Why> {
    match (&indexed.outcome, &indexed.index) {
        (Outcome::Built(_) | Outcome::Present(_), Some(path)) => Ok(path.clone()),
        (Outcome::NotHere(why), _) => Err(why.to_string().into()),
        (Outcome::Failed(why), _) => Err(why.clone().into()),
        _ => Err("nothing came of building it".into()),
    }
}
