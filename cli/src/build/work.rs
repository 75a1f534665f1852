//! Running jobs side by side, within what the machine and the user allow.
//!
//! Workers take jobs in order; outcomes are reported in order, by one thread.
//! A job starts when its estimated memory fits under `--max-memory` beside the
//! running ones (one job alone always may), and, under a make jobserver, when
//! there is a token for it. Threads and memory inside a job are its share of both.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use jobserver::Client;
use symidx_indexer::parallel::{Budget, allowed, estimate, memory_each, threads_each};
use symidx_indexer::publish::publish;
use symidx_indexer::store::{self, FileState};
use symidx_indexer::{BuildOptions, BuildReport, Status, build_file, build_from_bytes};

use super::BuildArgs;
use super::anonymous::Sampler;
use super::plan::Job;
use super::report::{Fault, Outcome, Report};
use crate::failure::Failure;
use crate::progress::{Bar, PATIENCE, TICK};
use crate::ui::Ui;

/// Runs every job.
pub(super) fn run(jobs: &[Job], args: &BuildArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let allowed = allowed(args.jobs.map(usize::from));
    let workers = allowed.min(jobs.len()).max(1);
    // SAFETY: the environment's descriptors are make's; nothing has opened
    // files under their numbers, since this is the first thing the verb does
    // with any that stay open.
    #[allow(unsafe_code)]
    let client = unsafe { Client::from_env() };
    let shared = Shared {
        jobs,
        next: AtomicUsize::new(0),
        budget: Budget::new(args.max_memory),
        sampler: args.json.then(|| Sampler::start(workers)),
        threads: threads_of_a_job(args.jobs.map(|_| allowed), workers, client.is_some()),
        memory: args.max_memory.map(|limit| memory_each(limit, workers)),
        client,
        ui: report.ui(),
    };
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for worker in 0..workers {
            let (shared, sender) = (&shared, sender.clone());
            let thread = std::thread::Builder::new();
            match thread.spawn_scoped(scope, move || shared.work(worker, &sender)) {
                Ok(_) => {}
                Err(error) if worker == 0 => {
                    return Err(Failure::new(format!("build: cannot start a thread: {error}")));
                }
                // Those that run do all the work.
                Err(_) => break,
            }
        }
        drop(sender);
        let result = collect(jobs, &receiver, report);
        if result.is_err() {
            // Nobody reads the outcomes: begin no further job.
            shared.next.store(jobs.len(), Ordering::Relaxed);
        }
        result
    })
}

/// Reports outcomes in the order of the jobs, and draws the bar.
fn collect(
    jobs: &[Job],
    receiver: &mpsc::Receiver<(usize, Outcome)>,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let start = Instant::now();
    let mut waiting = BTreeMap::new();
    let shared: BTreeSet<usize> = jobs.iter().filter_map(|job| job.same_as).collect();
    let mut firsts: BTreeMap<usize, (&Job, Result<BuildReport, Fault>)> = BTreeMap::new();
    let mut next = 0;
    let mut done = 0u64;
    let mut bar: Option<ProgressBar> = None;
    loop {
        match receiver.recv_timeout(TICK) {
            Ok((at, outcome)) => {
                done = done.saturating_add(1);
                waiting.insert(at, outcome);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        while let Some(mut outcome) = waiting.remove(&next) {
            if let Some(job) = jobs.get(next) {
                if let Some((first, result)) = job.same_as.and_then(|first| firsts.get(&first)) {
                    outcome.result = again(job, first, result);
                }
                if shared.contains(&next) {
                    firsts.insert(next, (job, outcome.result.clone()));
                }
                match &bar {
                    Some(bar) => bar.suspend(|| report.add(job, &outcome))?,
                    None => report.add(job, &outcome)?,
                }
            }
            next = next.saturating_add(1);
        }
        // A single build has a bar of its own.
        if jobs.len() > 1 && report.ui().may_draw() && start.elapsed() > PATIENCE {
            let bar = bar.get_or_insert_with(|| new_bar(jobs.len()));
            bar.set_position(done);
            bar.tick();
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(())
}

/// The outcome of an input that has the bytes of an earlier one: one index for both.
fn again(
    job: &Job,
    first: &Job,
    result: &Result<BuildReport, Fault>,
) -> Result<BuildReport, Fault> {
    let mut report = result.clone()?;
    report.status = Status::Fresh;
    report.warnings =
        vec![format!("the same bytes as {}; one index for both", first.input.display())];
    if let Some(own) = report.inputs.first_mut() {
        own.clone_from(&job.input);
    }
    link(job, &mut report);
    Ok(report)
}

fn new_bar(jobs: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(jobs).unwrap_or(u64::MAX));
    match ProgressStyle::with_template("{bar:40} {pos}/{len} built, {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

struct Shared<'a> {
    jobs: &'a [Job],
    next: AtomicUsize,
    budget: Budget,
    sampler: Option<Sampler>,
    threads: Option<NonZeroUsize>,
    memory: Option<u64>,
    client: Option<Client>,
    ui: Ui,
}

impl Shared<'_> {
    fn work(&self, worker: usize, sender: &Sender<(usize, Outcome)>) {
        loop {
            // The first worker runs on the token that this process was started with.
            let token = match &self.client {
                Some(client) if worker > 0 => match self.token(client) {
                    Some(token) => Some(token),
                    None => return,
                },
                _ => None,
            };
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(at) else { return };
            let estimate = estimate(job.input_bytes, job.options.names_only);
            self.budget.take(estimate);
            if let Some(sampler) = &self.sampler {
                sampler.begin(worker);
            }
            let start = Instant::now();
            let result = self.run(job);
            let seconds = start.elapsed().as_secs_f64();
            let peak = self.sampler.as_ref().map_or(0, |sampler| sampler.end(worker));
            self.budget.give(estimate);
            drop(token);
            if sender.send((at, Outcome { result, seconds, peak })).is_err() {
                return;
            }
        }
    }

    /// Runs a job; when it is the only one, with a bar that tells its steps.
    fn run(&self, job: &Job) -> Result<BuildReport, Fault> {
        let (threads, max_memory) = (self.threads, self.memory);
        let options = BuildOptions { threads, max_memory, ..job.options.clone() };
        if self.jobs.len() > 1 {
            return run_job(job, &options);
        }
        let bar = Bar::new(self.ui);
        run_job(job, &BuildOptions { progress: bar.listener(), ..options })
    }

    /// Waits for a token, but not longer than there are jobs to take.
    fn token(&self, client: &Client) -> Option<jobserver::Acquired> {
        while self.next.load(Ordering::Relaxed) < self.jobs.len() {
            match client.try_acquire() {
                Ok(Some(token)) => return Some(token),
                Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                // A jobserver that cannot be asked gives no further tokens.
                Err(_) => return None,
            }
        }
        None
    }
}

fn run_job(job: &Job, options: &BuildOptions) -> Result<BuildReport, Fault> {
    if let Some(why) = &job.refused {
        return Err(Fault::new(why.clone()));
    }
    if job.same_as.is_some() {
        // Replaced when it is reported: by then the first one is done.
        return Err(Fault::new(String::new()));
    }
    let places = std::iter::once(&job.output).chain(&job.copy);
    for directory in
        places.filter(|place| store::is_place(place)).filter_map(|place| place.parent())
    {
        std::fs::create_dir_all(directory).map_err(|error| {
            Fault::new(format!("{}: cannot create: {error}", directory.display()))
        })?;
    }
    if let Some(image) = &job.memory {
        return from_memory(job, image, options);
    }
    let mut report = build_file(&job.input, &job.output, options)?;
    if let Some(copy) = &job.copy {
        publish_copy(&job.output, copy)?;
    }
    link(job, &mut report);
    Ok(report)
}

/// A file without an id gets a link to its index in the store, unless it was
/// changed since the job was planned.
fn link(job: &Job, report: &mut BuildReport) {
    let now = std::fs::metadata(&job.input).ok().as_ref().and_then(FileState::of);
    let (Some(store), Some(file)) = (&job.store, &job.state) else { return };
    let has_id = !report.id.starts_with("blake3:");
    if has_id || now.as_ref() != Some(file) {
        return;
    }
    if let Err(error) = file.publish(store, job.copy.as_ref().unwrap_or(&job.output)) {
        report.warnings.push(format!(
            "cannot make the link {}: {error}; the index will be found by hashing the file",
            file.link(store).display()
        ));
    }
}

/// The index of an input that no file has. It is small: built to see whether it is there.
fn from_memory(job: &Job, image: &[u8], options: &BuildOptions) -> Result<BuildReport, Fault> {
    let (bytes, mut report) = build_from_bytes(&job.input, image, options)?;
    report.inputs.clear();
    report.status = match publish_bytes(&job.output, &bytes)? {
        true => Status::Built,
        false => Status::Fresh,
    };
    Ok(report)
}

fn publish_copy(output: &Path, copy: &Path) -> Result<(), Fault> {
    let read = |error| Fault::new(format!("{}: cannot read: {error}", output.display()));
    let bytes = std::fs::read(output).map_err(read)?;
    publish_bytes(copy, &bytes).map(|_| ())
}

/// Publishes an index unless it is there; false when it was.
fn publish_bytes(path: &Path, bytes: &[u8]) -> Result<bool, Fault> {
    if std::fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(false);
    }
    publish(path, |file| {
        std::io::Write::write_all(file, bytes)?;
        Ok(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
    })
    .map_err(|error| Fault::new(error.to_string()))?;
    Ok(true)
}

/// Threads inside a job: what `-j` leaves for each worker, the one that its
/// token stands for under a jobserver; `None`: whatever the machine has.
fn threads_of_a_job(jobs: Option<usize>, workers: usize, jobserver: bool) -> Option<NonZeroUsize> {
    if jobserver { Some(NonZeroUsize::MIN) } else { threads_each(jobs, workers) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_shared_by_the_workers() {
        let threads = |jobs, workers, jobserver| {
            threads_of_a_job(jobs, workers, jobserver).map(NonZeroUsize::get)
        };
        assert_eq!(threads(Some(1), 1, false), Some(1));
        assert_eq!(threads(Some(8), 3, false), Some(2));
        assert_eq!(threads(None, 1, false), None);
        // A token is one thread, whatever -j says.
        assert_eq!(threads(Some(8), 1, true), Some(1));
        assert_eq!(threads(None, 1, true), Some(1));
    }
}
