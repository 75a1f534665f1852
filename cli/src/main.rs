//! The `symidx` command: one verb per module, each an argument struct and a `run`.
//!
//! Results go to standard output, everything else to standard error; the exit
//! codes are in [`failure::exit`]. Nothing here knows a file format.
#![deny(unsafe_code)]

mod addr2line;
mod build;
mod cli;
mod completions;
mod dump;
mod failure;
mod find;
mod flame;
mod frames;
mod info;
mod lookup;
mod man;
mod options;
mod output;
mod perf;
mod pprof;
mod progress;
mod publish;
mod shown;
mod signals;
mod source;
mod text;
mod ui;
mod vdso;
mod verify;

use std::process::ExitCode;

use cli::{Cli, Verb};
use failure::{Failure, exit};
use ui::Ui;

fn main() -> ExitCode {
    signals::ignore_file_size_limit();
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(call) = addr2line::called(&arguments) {
        return addr2line::main(call);
    }
    let cli = match cli::parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are results, the rest are errors; a closed
            // pipe ends either quietly.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::OK });
        }
    };
    let ui = Ui::new(cli.quiet, cli.color);
    match run(cli, ui) {
        Ok(code) => ExitCode::from(code),
        Err(Failure::Closed) => ExitCode::from(exit::OK),
        Err(Failure::Line { code, text }) => {
            ui.error(text);
            ExitCode::from(code)
        }
    }
}

fn run(cli: Cli, ui: Ui) -> Result<u8, Failure> {
    match cli.verb {
        Verb::Build(args) => build::run(&args, ui),
        Verb::Lookup(args) => lookup::run(*args, ui),
        Verb::Find(args) => find::run(&args, ui),
        Verb::Info(args) => info::run(&args, ui),
        Verb::Dump(args) => dump::run(&args, ui),
        Verb::Perf(args) => perf::run(*args, ui),
        Verb::Verify(args) => verify::run(&args, ui),
        Verb::Pprof(args) => pprof::run(&args, ui),
        Verb::Completions(args) => completions::run(&args),
        Verb::Man(args) => man::run(&args),
    }
}
