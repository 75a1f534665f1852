//! `symidx completions`: a script that completes this command in a shell.

use clap::Args;
use clap_complete::Shell;

use crate::cli;
use crate::failure::{Failure, exit};
use crate::output::Output;

/// Print a completion script for a shell.
#[derive(Args, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    symidx completions bash > /etc/bash_completion.d/symidx\n  \
    symidx completions zsh > ~/.zfunc/_symidx")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut output = Output::default();
    clap_complete::generate(args.shell, &mut cli::command(), "symidx", output.buffer());
    output.flush()?;
    Ok(exit::OK)
}
