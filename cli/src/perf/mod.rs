//! `symidx perf`: recordings of perf, in bounded memory.
//!
//! One verb per file; what they do is in the crate `symidx-perf`.

mod budget;
mod index;
mod pprof;
mod profile;
mod report;
mod script;
mod temporary;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::ui::Ui;

/// Recordings of perf.
#[derive(Args, Debug)]
#[command(
    after_help = "Where -i is not given the recording is ./perf.data, as for perf; `-i -` reads a pipe.\n\n\
                        EXAMPLES:\n  \
                        perf record -a -g -- sleep 10\n  \
                        symidx perf index                     index every file that has samples\n  \
                        symidx perf budget                    the memory that naming it takes\n  \
                        symidx perf report                    its heaviest symbols\n  \
                        symidx perf script -i perf.data -F comm,tid,time,ip,sym,dso\n  \
                        symidx perf script --folded > stacks"
)]
pub(crate) struct PerfArgs {
    #[command(subcommand)]
    verb: PerfVerb,
}

/// What to do with a recording.
#[derive(Debug, Subcommand)]
enum PerfVerb {
    /// Build an index for every file of a recording.
    Index(Box<index::IndexArgs>),
    /// What naming a recording takes in memory, before it is done.
    Budget(Box<budget::BudgetArgs>),
    /// The heaviest symbols of a recording.
    Report(Box<report::ReportArgs>),
    /// Every sample of a recording, as `perf script` prints it.
    Script(Box<script::ScriptArgs>),
}

/// Runs the verb.
pub(crate) fn run(args: PerfArgs, ui: Ui) -> Result<u8, Failure> {
    match args.verb {
        PerfVerb::Index(args) => index::run(&args, ui),
        PerfVerb::Budget(args) => budget::run(&args, ui),
        PerfVerb::Report(args) => report::run(&args, ui),
        PerfVerb::Script(args) => script::run(&args, ui),
    }
}
