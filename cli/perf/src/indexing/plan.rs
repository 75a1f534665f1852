//! From DSOs to builds: which files are indexed, to which places, and what is there.
//!
//! In: the inventory and where binaries are. Out: one row a DSO, one job an index: two
//! DSOs of one build share it. Builds nothing; reads headers, and files without an id.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use symidx::Index;
use symidx_indexer::input::{self, kallsyms::running::KALLSYMS};
use symidx_indexer::model::Store;
use symidx_indexer::store::{self, FileState, Kind};

use super::{IndexOptions, Indexed, Outcome, state_of};
use crate::binaries::{Binaries, Binary, Proof};
use crate::build_id::BuildId;
use crate::dsos::DsoKind;
use crate::inventory::{DsoUse, Inventory};

/// One index to build.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// The binary.
    pub(super) input: PathBuf,
    /// Its bytes, when it is no file.
    pub(super) bytes: Option<Vec<u8>>,
    /// Where the index goes.
    pub(super) output: PathBuf,
    /// For the link of a file that states no id.
    pub(super) state: Option<FileState>,
    /// Bytes of the input.
    pub(super) input_bytes: u64,
}

/// A DSO, and the job that makes its index.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) indexed: Indexed,
    pub(super) job: Option<usize>,
}

/// What there is to do.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) rows: Vec<Row>,
    pub(super) jobs: Vec<Job>,
}

/// A row for each DSO, those with the most frames first.
pub(super) fn plan(inventory: &Inventory, binaries: &Binaries, options: &IndexOptions) -> Plan {
    let wanted = inventory.dsos.iter().filter(|used| options.unused || used.frames != 0);
    let (jit, mut used): (Vec<_>, Vec<_>) =
        wanted.cloned().partition(|used| used.dso.kind == DsoKind::Jit);
    used.extend(jit.iter().flat_map(|used| inventory.processes(used)));
    used.sort_by_key(|used| Reverse(used.frames));
    let mut plan = Plan::default();
    let mut taken: HashMap<PathBuf, usize> = HashMap::new();
    for used in &used {
        let row = plan.row(used, binaries, options, &mut taken);
        plan.rows.push(row);
    }
    plan
}

impl Plan {
    fn row(
        &mut self,
        used: &DsoUse,
        binaries: &Binaries,
        options: &IndexOptions,
        taken: &mut HashMap<PathBuf, usize>,
    ) -> Row {
        let mut indexed = Indexed {
            used: used.clone(),
            binary: None,
            index: None,
            outcome: Outcome::Failed(String::new()),
            seconds: 0.0,
            warnings: Vec::new(),
        };
        // What is in the store by its recorded id needs no binary any more.
        if let Some(id) = &used.dso.build_id
            && !options.force
            && let Some((path, bytes)) = by_recorded_id(&options.store, id, used.dso.kind)
        {
            (indexed.index, indexed.outcome) = (Some(path), Outcome::Present(bytes));
            return Row { indexed, job: None };
        }
        let binary = match binaries.find(used) {
            Ok(binary) => binary,
            Err(why) => {
                indexed.outcome = Outcome::NotHere(why);
                return Row { indexed, job: None };
            }
        };
        indexed.binary = Some(binary.path.clone());
        indexed.warnings.extend(caution(&binary, options.recorded));
        let place = match place(&binary, used, options) {
            Ok(place) => place,
            Err(why) => {
                indexed.outcome = Outcome::Failed(why);
                return Row { indexed, job: None };
            }
        };
        let (output, state) = match place {
            Place::There(path, bytes) => {
                (indexed.index, indexed.outcome) = (Some(path), Outcome::Present(bytes));
                return Row { indexed, job: None };
            }
            Place::Output(output, state) => (output, state),
        };
        indexed.index = Some(output.clone());
        let next = self.jobs.len();
        let job = *taken.entry(output.clone()).or_insert(next);
        if job == next {
            let metadata = std::fs::metadata(&binary.path);
            let input_bytes = metadata.map_or(0, |metadata| metadata.len());
            let Binary { path: input, bytes, .. } = binary;
            self.jobs.push(Job { input, bytes, output, state, input_bytes });
        }
        Row { indexed, job: Some(job) }
    }
}

/// Where a binary's index is or will be.
enum Place {
    There(PathBuf, u64),
    Output(PathBuf, Option<FileState>),
}

fn place(binary: &Binary, used: &DsoUse, options: &IndexOptions) -> Result<Place, String> {
    let store = &options.store;
    // What the running kernel says is no file that could be told from another; a copy
    // of it is one like any other without an id, and has a link.
    if binary.path == Path::new(KALLSYMS)
        && let Some(id) = &used.dso.build_id
    {
        return Ok(Place::Output(store::place(store, id.as_bytes(), Kind::Kallsyms), None));
    }
    if let Some(id) = binary.id.as_ref().filter(|id| id.len() > 1) {
        let output = store::place(store, id, Kind::File);
        // Recorded without an id, or with a part of it.
        let there = if options.force { None } else { index_of(&output, Some(id)) };
        return Ok(match there {
            Some(bytes) => Place::There(output, bytes),
            None => Place::Output(output, None),
        });
    }
    let state = state_of(&binary.path);
    if let Some(state) = state.as_ref().filter(|_| !options.force)
        && let Ok(index) = state.link(store).canonicalize()
        && let Some(bytes) = index_of(&index, None)
    {
        return Ok(Place::There(index, bytes));
    }
    let kept = Store::new();
    let data = input::map_file(&binary.path, &kept).map_err(|error| error.to_string())?;
    let hash = blake3::hash(data);
    Ok(Place::Output(store::place(store, hash.as_bytes(), Kind::File), state))
}

/// The index of a recorded id, and its bytes.
fn by_recorded_id(directory: &Path, id: &BuildId, kind: DsoKind) -> Option<(PathBuf, u64)> {
    if !matches!(kind, DsoKind::File | DsoKind::Vdso) {
        return None;
    }
    let path = store::place(directory, id.as_bytes(), Kind::File);
    index_of(&path, Some(id.as_bytes())).map(|bytes| (path, bytes))
}

/// The bytes of the index at a path, when it can be opened and states this id.
fn index_of(path: &Path, id: Option<&[u8]>) -> Option<u64> {
    if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return None;
    }
    // SAFETY: indexes are replaced by rename, never edited; this one is looked at once.
    #[allow(unsafe_code)]
    let index = unsafe { Index::map(path) }.ok()?;
    if id.is_some() && index.build_id() != id {
        return None;
    }
    u64::try_from(index.as_bytes().len()).ok()
}

/// A word of caution about a file that nothing but its path vouches for.
fn caution(binary: &Binary, recorded: Option<std::time::SystemTime>) -> Option<String> {
    if binary.proof != Proof::Path || binary.bytes.is_some() {
        return None;
    }
    let changed = std::fs::metadata(&binary.path).ok()?.modified().ok()?;
    (changed > recorded?).then(|| {
        format!(
            "{} was changed after the profile was recorded, and the profile has no build-id to compare; names may be of another build",
            binary.path.display()
        )
    })
}
