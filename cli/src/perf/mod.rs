//! `symidx perf`: recordings of perf, in bounded memory.
//!
//! One verb per file; what they do is in the crate `symidx-perf`.

mod script;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::ui::Ui;

/// Recordings of perf.
#[derive(Args, Debug)]
#[command(after_help = "EXAMPLES:\n  \
                        perf record -a -g sleep 10\n  \
                        symidx perf script -i perf.data -F comm,tid,time,ip,sym,dso\n  \
                        symidx perf script --folded --flamegraph out.svg")]
pub(crate) struct PerfArgs {
    #[command(subcommand)]
    verb: PerfVerb,
}

/// What to do with a recording.
#[derive(Debug, Subcommand)]
enum PerfVerb {
    /// Every sample, as `perf script` prints it.
    Script(Box<script::ScriptArgs>),
}

/// Runs the verb.
pub(crate) fn run(args: PerfArgs, ui: Ui) -> Result<u8, Failure> {
    match args.verb {
        PerfVerb::Script(args) => script::run(&args, ui),
    }
}
