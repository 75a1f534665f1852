//! `symidx perf`: recordings of perf, in bounded memory.
//!
//! One verb per file; what they do is in the crate `symidx-perf`.

mod index;
mod profile;
mod script;

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
    /// An index for every file of it.
    Index(Box<index::IndexArgs>),
    /// Every sample, as `perf script` prints it.
    Script(Box<script::ScriptArgs>),
}

/// Runs the verb.
pub(crate) fn run(args: PerfArgs, ui: Ui) -> Result<u8, Failure> {
    match args.verb {
        PerfVerb::Index(args) => index::run(&args, ui),
        PerfVerb::Script(args) => script::run(&args, ui),
    }
}
