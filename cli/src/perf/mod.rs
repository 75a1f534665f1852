//! `symidx perf`: what to do with a `perf.data` file.
//!
//! In: the recording. Out: by verb. The engine is in the crate `symidx-perf`; here are
//! the options, and what is printed.

mod index;
mod profile;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::ui::Ui;

/// Profiles of Linux perf.
#[derive(Args, Debug)]
#[command(
    after_help = "Where FILE is not given it is ./perf.data, as for perf; `-i -` reads a pipe.\n\n\
                        EXAMPLES:\n  \
                        perf record -a -g -- sleep 10         record\n  \
                        symidx perf index                     index every file that has samples\n  \
                        symidx perf index --help              more, verb by verb"
)]
pub(crate) struct PerfArgs {
    #[command(subcommand)]
    job: Job,
}

/// What to do with the recording.
#[derive(Debug, Subcommand)]
enum Job {
    /// Build the indexes that a profile needs.
    Index(index::IndexArgs),
}

/// Does it.
pub(crate) fn run(args: &PerfArgs, ui: Ui) -> Result<u8, Failure> {
    match &args.job {
        Job::Index(args) => index::run(args, ui),
    }
}
