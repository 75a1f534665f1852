//! Indexes of the DSOs of a profile: those that are missing are built into a store.
//!
//! In: an [`Inventory`], [`Binaries`], and where indexes go. Out: what became of each
//! DSO, the one with the most frames first. Builds run side by side within the bounds
//! given; an index that is there already is looked at, not built again.

mod plan;
#[cfg(all(test, unix))]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should stop"
)]
mod tests;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use symidx_indexer::input::ReadOptions;
use symidx_indexer::parallel::{Budget, allowed, estimate, memory_each, threads_each};
use symidx_indexer::publish::publish;
use symidx_indexer::store::FileState;
use symidx_indexer::{BuildOptions, BuildReport, build_file, build_from_bytes};

use crate::binaries::{Binaries, NotHere};
use crate::inventory::{DsoUse, Inventory};

use plan::{Job, Plan};

/// How indexes are built, and where they go.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IndexOptions {
    /// The store.
    pub store: PathBuf,
    /// Symbols only: no lines, no inlined functions.
    pub names_only: bool,
    /// Store what people read in place of mangled names too: a third to a half larger for
    /// C++, a fifth for Rust, and names are shown several times as fast.
    pub demangle: bool,
    /// Build what is there already, too.
    pub force: bool,
    /// DSOs without frames in the profile, too.
    pub unused: bool,
    /// Builds at the same time, and threads in all; `None`: one per processor.
    pub jobs: Option<NonZeroUsize>,
    /// Bound on anonymous memory.
    pub max_memory: Option<u64>,
    /// Directories with debug files.
    pub debug_dirs: Vec<PathBuf>,
    /// When the profile was recorded: a file that was changed since and that nothing
    /// but its path vouches for is worth a warning.
    pub recorded: Option<std::time::SystemTime>,
}

impl IndexOptions {
    /// Lines, inlined functions and readable names too, for every DSO with frames.
    #[must_use]
    pub fn new(store: impl Into<PathBuf>) -> Self {
        Self {
            store: store.into(),
            names_only: false,
            demangle: true,
            force: false,
            unused: false,
            jobs: None,
            max_memory: None,
            debug_dirs: Vec::new(),
            recorded: None,
        }
    }
}

/// What became of a DSO.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Indexed {
    /// The DSO.
    pub used: DsoUse,
    /// The file that has its code.
    pub binary: Option<PathBuf>,
    /// Where its index is.
    pub index: Option<PathBuf>,
    /// What was done.
    pub outcome: Outcome,
    /// How long that took.
    pub seconds: f64,
    /// One line each.
    pub warnings: Vec<String>,
}

/// What was done about a DSO.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// Its index is there: so many bytes.
    Present(u64),
    /// Its index was built.
    Built(Box<BuildReport>),
    /// There is no file to index.
    NotHere(NotHere),
    /// There is a file that could not be indexed: one line.
    Failed(String),
}

/// Builds the indexes that a profile needs and that are not there, and tells what
/// became of each DSO, in order.
///
/// ```no_run
/// use symidx_perf::{Binaries, IndexOptions, Inventory, Session, index};
///
/// let inventory = Inventory::read(&mut Session::open("perf.data".as_ref())?, 127)?;
/// let options = IndexOptions::new("/var/cache/symidx");
/// index(&inventory, &Binaries::of_this_machine(), &options, |indexed, done, all| {
///     println!("{done}/{all} {}: {:?}", indexed.used.name(), indexed.index);
/// });
/// # Ok::<(), symidx_perf::Error>(())
/// ```
pub fn index(
    inventory: &Inventory,
    binaries: &Binaries,
    options: &IndexOptions,
    mut see: impl FnMut(&Indexed, usize, usize),
) {
    let Plan { rows, jobs } = plan::plan(inventory, binaries, options);
    let allowed = allowed(options.jobs.map(NonZeroUsize::get));
    let workers = allowed.min(jobs.len()).max(1);
    let shared = Shared {
        jobs: &jobs,
        next: AtomicUsize::new(0),
        budget: Budget::new(options.max_memory),
        threads: threads_each(options.jobs.map(|_| allowed), workers),
        memory: options.max_memory.map(|limit| memory_each(limit, workers)),
        options,
    };
    let all = rows.len();
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..workers {
            let (shared, sender) = (&shared, sender.clone());
            scope.spawn(move || shared.work(&sender));
        }
        drop(sender);
        let mut done: BTreeMap<usize, Built> = BTreeMap::new();
        for (number, mut indexed) in (1usize..).zip(rows) {
            if let plan::Row { job: Some(job), .. } = &indexed {
                while !done.contains_key(job) {
                    // The senders go only when every job is done.
                    let Ok((at, built)) = receiver.recv() else { break };
                    done.insert(at, built);
                }
                indexed.take(done.get(job));
            }
            see(&indexed.indexed, number, all);
        }
    });
}

/// What a worker has made of a job.
#[derive(Clone, Debug)]
struct Built {
    result: Result<BuildReport, String>,
    seconds: f64,
}

impl plan::Row {
    /// Puts in what its job has come to.
    fn take(&mut self, built: Option<&Built>) {
        let Some(built) = built else { return };
        self.indexed.seconds = built.seconds;
        self.indexed.outcome = match &built.result {
            Ok(report) => {
                self.indexed.warnings.extend(report.warnings.iter().cloned());
                Outcome::Built(Box::new(report.clone()))
            }
            Err(why) => {
                self.indexed.index = None;
                Outcome::Failed(why.clone())
            }
        };
    }
}

struct Shared<'a> {
    jobs: &'a [Job],
    next: AtomicUsize,
    budget: Budget,
    threads: Option<NonZeroUsize>,
    memory: Option<u64>,
    options: &'a IndexOptions,
}

impl Shared<'_> {
    fn work(&self, sender: &mpsc::Sender<(usize, Built)>) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(at) else { return };
            let bytes = estimate(job.input_bytes, self.options.names_only);
            self.budget.take(bytes);
            let start = Instant::now();
            let result = self.build(job);
            let seconds = start.elapsed().as_secs_f64();
            self.budget.give(bytes);
            if sender.send((at, Built { result, seconds })).is_err() {
                return;
            }
        }
    }

    fn build(&self, job: &Job) -> Result<BuildReport, String> {
        let options = BuildOptions {
            read: ReadOptions {
                auto_debug: true,
                debug_dirs: self.options.debug_dirs.clone(),
                ..ReadOptions::default()
            },
            names_only: self.options.names_only,
            demangle: self.options.demangle,
            threads: self.threads,
            max_memory: self.memory,
            force: self.options.force,
            // A file without a symbol is known to have none, from then on.
            allow_empty: true,
            keep_richer: true,
            // A profile touches all of them, and has little memory.
            small_pieces: true,
            ..BuildOptions::default()
        };
        let directory = job.output.parent().unwrap_or(&self.options.store);
        std::fs::create_dir_all(directory)
            .map_err(|error| format!("{}: cannot create: {error}", directory.display()))?;
        if let Some(bytes) = &job.bytes {
            let (index, report) =
                build_from_bytes(&job.input, bytes, &options).map_err(|error| error.to_string())?;
            publish(&job.output, |file| {
                std::io::Write::write_all(file, &index)?;
                Ok(u64::try_from(index.len()).unwrap_or(u64::MAX))
            })
            .map_err(|error| error.to_string())?;
            return Ok(report);
        }
        let mut report =
            build_file(&job.input, &job.output, &options).map_err(|error| error.to_string())?;
        if let Some(state) = &job.state
            && state_of(&job.input).as_ref() == Some(state)
            && let Err(error) = state.publish(&self.options.store, &job.output)
        {
            report.warnings.push(format!(
                "cannot make the link {}: {error}; the index will be found by hashing the file",
                state.link(&self.options.store).display()
            ));
        }
        Ok(report)
    }
}

/// The state of a file, for its link.
fn state_of(path: &std::path::Path) -> Option<FileState> {
    FileState::of(&std::fs::metadata(path).ok()?)
}
