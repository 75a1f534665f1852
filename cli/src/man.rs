//! `symidx man`: the manual page.

use clap::Args;

use crate::cli;
use crate::failure::{Failure, exit};
use crate::output::Output;

/// Print the manual page of the command, or of one verb.
#[derive(Args, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    symidx man | man -l -\n  \
    symidx man lookup > symidx-lookup.1\n  \
    symidx man perf report | man -l -")]
pub(crate) struct ManArgs {
    /// The verb; without one, the page of the whole command.
    verb: Vec<String>,
}

/// Prints the page.
pub(crate) fn run(args: &ManArgs) -> Result<u8, Failure> {
    let mut command = cli::command();
    command.build();
    let mut title = "symidx".to_owned();
    // As pages are called, too: `perf-report`.
    for verb in args.verb.iter().flat_map(|words| words.split('-')) {
        let Some(found) = command.find_subcommand(verb) else {
            return Err(Failure::usage(format!(
                "man: expected a verb, found `{verb}`; see symidx --help for the verbs"
            )));
        };
        command = found.clone();
        title = format!("{title}-{verb}");
    }
    let mut output = Output::default();
    // Writing to a buffer cannot fail.
    let _ = clap_mangen::Man::new(command).title(title).render(output.buffer());
    output.flush()?;
    Ok(exit::OK)
}
