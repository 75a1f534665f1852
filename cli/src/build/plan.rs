//! From the command line to jobs: which image of which file goes where.
//!
//! Decided before anything is built, so that two inputs never fight over one
//! path and the outcome does not depend on which thread is faster.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use symidx_indexer::BuildOptions;
use symidx_indexer::input::{self, ReadOptions, Slice, macho};
use symidx_indexer::model::Store;
use symidx_indexer::publish;
use symidx_indexer::store::FileState;

use super::{BuildArgs, mapped, walk};
use crate::failure::Failure;
use crate::options::Uuid;
use crate::source::{Binary, beside};
use crate::vdso;

/// One index to build.
#[derive(Debug)]
pub(super) struct Job {
    /// The input as given or found.
    pub(super) input: PathBuf,
    /// Where the index goes.
    pub(super) output: PathBuf,
    /// Where a copy of it goes.
    pub(super) copy: Option<PathBuf>,
    /// The store that one of them is in; a file without an id gets a link there.
    pub(super) store: Option<PathBuf>,
    /// The input before anything of it was read.
    pub(super) state: Option<FileState>,
    /// How to build it.
    pub(super) options: BuildOptions,
    /// Found in a directory: having no symbols, or the build-id of an earlier
    /// one, is worth a word but no failure.
    pub(super) walked: bool,
    /// An earlier job goes to the same place of a store: another file of the same build.
    pub(super) twin: bool,
    /// Why it cannot be built.
    pub(super) refused: Option<String>,
    /// The job that makes the same index at the same path.
    pub(super) same_as: Option<usize>,
    /// Bytes of the input.
    pub(super) input_bytes: u64,
    /// The input itself where no file has it: the vDSO's.
    pub(super) memory: Option<Vec<u8>>,
}

/// What is to be done.
#[derive(Debug)]
pub(super) struct Plan {
    /// Every job, in the order of the inputs.
    pub(super) jobs: Vec<Job>,
    /// What a process has that no job is for: how much, what.
    pub(super) others: Vec<(usize, &'static str)>,
}

/// Every job, in the order of the inputs.
pub(super) fn plan(args: &BuildArgs) -> Result<Plan, Failure> {
    let mut inputs = Vec::new();
    let mut walked: Vec<std::ops::Range<usize>> = Vec::new();
    for input in &args.inputs {
        if input.is_dir()
            && !walk::is_bundle(input)
            && input.extension().is_none_or(|e| e != "dSYM")
        {
            let first = inputs.len();
            walk::walk(input, &mut inputs);
            walked.push(first..inputs.len());
        } else {
            inputs.push((input.clone(), None));
        }
    }
    let mut process = match args.pid {
        Some(pid) => mapped::look(pid)?,
        None => mapped::Mapped::default(),
    };
    if args.pid.is_some() {
        inputs = std::mem::take(&mut process.files);
        walked.push(0..inputs.len());
    }
    let mut jobs = Vec::new();
    for (at, (input, error)) in inputs.into_iter().enumerate() {
        let before = jobs.len();
        match error {
            Some(error) => {
                let mut job = Job::new(args, input, None);
                job.refuse(format_args!("cannot read: {error}"));
                jobs.push(job);
            }
            None => add(args, input, &mut jobs),
        }
        let found = walked.iter().any(|range| range.contains(&at));
        for job in jobs.iter_mut().skip(before) {
            job.walked = found;
        }
    }
    if let (Some(image), Some(store)) = (process.vdso, &args.store) {
        jobs.push(Job::of_vdso(args, store, image));
    }
    if args.output.is_some() && jobs.len() != 1 {
        return Err(Failure::usage(format!(
            "build: expected one input with -o, found {}; leave -o out, or use --store DIR",
            jobs.len()
        )));
    }
    for job in &mut jobs {
        if job.refused.is_none() && job.memory.is_none() {
            job.place(args);
        }
    }
    settle_conflicts(&mut jobs);
    if let Some(depfile) = &args.depfile {
        refuse_depfile(depfile, &jobs)?;
    }
    Ok(Plan { jobs, others: process.others })
}

/// A depfile is written last: it must not replace what the others read or made.
fn refuse_depfile(depfile: &Path, jobs: &[Job]) -> Result<(), Failure> {
    let place = place_of(depfile);
    for job in jobs {
        let read = &job.options.read;
        let mut inputs = std::iter::once(&job.input).chain(&read.debug_files).chain(&read.modules);
        let mut outputs = std::iter::once(&job.output).chain(&job.copy);
        let what = if inputs.any(|file| is_same_file(file, depfile)) {
            "an input"
        } else if outputs.any(|file| place_of(file) == place) {
            "an index"
        } else {
            continue;
        };
        return Err(Failure::usage(format!(
            "build: the depfile would replace {what}; name another file"
        )));
    }
    Ok(())
}

/// Adds the job of an input, or one for each slice of it.
fn add(args: &BuildArgs, input: PathBuf, jobs: &mut Vec<Job>) {
    if args.all_archs {
        let store = Store::new();
        let slices = input::open(&input, &store).ok().and_then(|input| macho::slices(input.data));
        if let Some(slices) = slices {
            for slice in &slices {
                jobs.push(Job::new(args, input.clone(), Some(slice)));
            }
            return;
        }
    }
    jobs.push(Job::new(args, input, None));
}

impl Job {
    fn new(args: &BuildArgs, input: PathBuf, slice: Option<&Slice>) -> Self {
        let mut read = args.read.clone();
        if let Some(slice) = slice {
            read.arch = Some(slice.arch.to_owned());
            read.uuid = slice.uuid.map(Uuid);
        }
        let output = match (&args.output, slice) {
            (Some(output), _) => output.clone(),
            (None, slice) => beside(&input, slice.map(|slice| slice.arch)),
        };
        let metadata = std::fs::metadata(&input).ok();
        let input_bytes = metadata.as_ref().map_or(0, std::fs::Metadata::len);
        Self {
            input,
            output,
            copy: None,
            store: args.store.clone(),
            state: metadata.as_ref().and_then(FileState::of),
            options: BuildOptions {
                read: read.read_options(),
                code_only: args.code_only,
                names_only: args.names_only,
                demangle: args.demangle,
                pack_names: args.pack_names,
                no_columns: args.no_columns,
                force: args.force,
                allow_empty: args.allow_empty,
                keep_richer: args.store.is_some(),
                ..BuildOptions::default()
            },
            walked: false,
            twin: false,
            refused: None,
            same_as: None,
            input_bytes,
            memory: None,
        }
    }

    /// The vDSO's, which goes into a store by its build-id.
    fn of_vdso(args: &BuildArgs, store: &Path, image: Result<Vec<u8>, String>) -> Self {
        let path = Path::new(vdso::NAME);
        let mut job = Self::new(args, path.to_owned(), None);
        // A file may have the same name.
        job.state = None;
        job.walked = true;
        let read = &job.options.read;
        let placed = image.and_then(|image| {
            let found = input::identify(path, &image, read).map_err(|error| error.to_string())?;
            Ok((Binary::new(&image, found).store_path(store), image))
        });
        match placed {
            Ok((place, image)) => {
                job.input_bytes = u64::try_from(image.len()).unwrap_or(u64::MAX);
                job.output = place;
                job.memory = Some(image);
            }
            Err(why) => job.refused = Some(why),
        }
        job
    }

    /// Which slice is wanted.
    fn slice(&self) -> (Option<String>, Option<[u8; 16]>) {
        (self.options.read.arch.clone(), self.options.read.uuid)
    }

    fn refuse(&mut self, why: impl std::fmt::Display) {
        self.refused = Some(format!("{}: {why}", self.input.display()));
    }

    /// Finds the place in the store, and refuses outputs that would destroy something.
    fn place(&mut self, args: &BuildArgs) {
        if let Some(directory) = &args.store {
            match stored(&self.input, directory, &self.options.read) {
                Ok(path) if args.output.is_some() => self.copy = Some(path),
                Ok(path) => self.output = path,
                Err(failure) => {
                    self.refused = Some(failure.to_string());
                    return;
                }
            }
        }
        if self.copy.is_none() && is_pseudo(&self.output) {
            self.refuse("expected -o FILE or --store DIR, since nothing can be written beside this input; give one of them");
            return;
        }
        let read = &self.options.read;
        let files = std::iter::once(&self.input).chain(&read.debug_files).chain(&read.modules);
        if let Some(file) = files.clone().find(|file| is_same_file(file, &self.output)) {
            let file = file.display().to_string();
            self.refuse(format_args!(
                "expected an output beside the inputs, found the input {file} itself; give another -o"
            ));
            return;
        }
        // Renaming onto a device or a pipe would replace it.
        if let Ok(metadata) = std::fs::metadata(&self.output)
            && !metadata.is_file()
        {
            let output = self.output.display().to_string();
            self.refuse(format_args!(
                "expected a regular file or nothing at {output}, found something else; give another -o"
            ));
        }
    }
}

/// True for a path in a file system that the kernel makes up.
fn is_pseudo(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/sys")
}

/// The place of an input's index in the store.
fn stored(input: &Path, directory: &Path, read: &ReadOptions) -> Result<PathBuf, Failure> {
    let store = Store::new();
    let input::Input { path, data, .. } = input::open(input, &store)?;
    let identified = input::identify(&path, data, read)?;
    Ok(Binary::new(data, identified).store_path(directory))
}

/// The first input of a path keeps it. A second one is the same again when it
/// has the same bytes, else it is refused.
fn settle_conflicts(jobs: &mut [Job]) {
    let mut taken: HashMap<PathBuf, (usize, PathBuf)> = HashMap::new();
    let inputs: HashSet<PathBuf> = jobs.iter().map(|job| place_of(&job.input)).collect();
    let slices: Vec<_> = jobs.iter().map(Job::slice).collect();
    for (i, job) in jobs.iter_mut().enumerate() {
        if job.refused.is_some() {
            continue;
        }
        let place = place_of(&job.output);
        if inputs.contains(&place) {
            let what = format!(
                "expected an output of its own, found the input {}; give another -o",
                job.output.display()
            );
            job.refuse(what);
            continue;
        }
        match taken.get(&place) {
            Some((first, input))
                if slices.get(*first) == slices.get(i) && has_same_bytes(input, &job.input) =>
            {
                job.same_as = Some(*first);
            }
            Some((_, input)) => {
                let what = format!(
                    "expected an output of its own, found that {} goes to {} too; build them apart",
                    input.display(),
                    job.output.display()
                );
                job.twin = job.options.keep_richer;
                job.refuse(what);
            }
            None => {
                taken.insert(place, (i, job.input.clone()));
            }
        }
    }
}

/// A path that is equal for equal files, existing or not.
fn place_of(path: &Path) -> PathBuf {
    let path = &*publish::target(path);
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let parent = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
    match path.file_name() {
        Some(name) => parent.join(name),
        None => parent,
    }
}

fn has_same_bytes(a: &Path, b: &Path) -> bool {
    let store = Store::new();
    match (input::open(a, &store), input::open(b, &store)) {
        (Ok(a), Ok(b)) => a.data == b.data,
        _ => false,
    }
}

#[cfg(unix)]
fn is_same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
