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
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = clap_mangen::Man::new(command).title(title).render(&mut page);
    let mut output = Output::default();
    output.buffer().extend_from_slice(with_examples(&String::from_utf8_lossy(&page)).as_bytes());
    output.flush()?;
    Ok(exit::OK)
}

/// The page with a section of examples whose lines are not filled. clap_mangen puts the
/// whole text behind the options into one section `EXTRA` of plain paragraphs.
fn with_examples(page: &str) -> String {
    let Some((before, rest)) = page.split_once("\nEXAMPLES:\n") else { return page.to_owned() };
    let (examples, after) = rest.split_once("\n.SH ").unwrap_or((rest, ""));
    let before = before.trim_end();
    let before = match before.strip_suffix("\n.SH EXTRA") {
        Some(before) => before.to_owned(),
        None => before.replace("\n.SH EXTRA\n", "\n.SH NOTES\n"),
    };
    format!("{before}\n.SH EXAMPLES\n.nf\n{examples}\n.fi\n.SH {after}")
}
