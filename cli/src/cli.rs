//! The command line as a whole: global options and the verbs.

use std::ffi::OsString;

use clap::{ColorChoice, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::{addr2line, build, completions, dump, find, info, lookup, man, perf, pprof, verify};

/// Compile symbols of ELF, Mach-O and kallsyms files into .symidx indexes and look things up in them.
#[derive(Debug, Parser)]
#[command(
    name = "symidx",
    version,
    about = "Symbol indexes: compile the symbols of binaries, look addresses and names up",
    max_term_width = 100,
    propagate_version = true,
    after_help = "Exit codes: 0 done (misses included); 1 some input failed or an address was malformed; \
                  2 usage; 3 no symbols at all; 4 stale or mismatched index.\n\n\
                  EXAMPLES:\n  \
                  symidx build app                      write app.symidx beside it\n  \
                  symidx lookup app 0x401136            address to symbol, with or without an index\n  \
                  symidx lookup --pid 4711 7f12a0b0c0d0 an address of a running process\n  \
                  symidx find app.symidx main           name to addresses"
)]
pub(crate) struct Cli {
    /// Say nothing but results and errors.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Colour messages and help.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Compile binaries into indexes.
    Build(build::BuildArgs),
    /// Addresses to symbols.
    Lookup(Box<lookup::LookupArgs>),
    /// Names to addresses.
    Find(find::FindArgs),
    /// What an index holds, where it came from and what was left out.
    Info(info::InfoArgs),
    /// Every symbol and name of an index, in a stable order.
    Dump(dump::DumpArgs),
    /// Recordings of perf: every sample named, in bounded memory.
    Perf(Box<perf::PerfArgs>),
    /// Check every promise of an index.
    Verify(verify::VerifyArgs),
    /// Symbolize a pprof profile; draw its flame graph.
    Pprof(Box<pprof::PprofArgs>),
    /// Print a completion script for a shell.
    Completions(completions::CompletionsArgs),
    /// Print the manual page.
    Man(man::ManArgs),
}

/// The whole command line, with the verb that has a parser of its own.
pub(crate) fn command() -> Command {
    // Listed behind `lookup`: options and verbs are counted together.
    Cli::command().subcommand(addr2line::command().display_order(4))
}

/// Parses the command line. Help comes back as an error.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    // Help is printed before the options are known, so its colour has to be.
    let mut color = ColorChoice::Auto;
    let mut previous = None;
    for argument in arguments {
        let text = argument.to_str().unwrap_or("");
        match (text.strip_prefix("--color="), previous) {
            (Some(value), _) => color = value.parse().unwrap_or(color),
            (None, Some("--color")) => color = text.parse().unwrap_or(color),
            _ => {}
        }
        previous = Some(text);
    }
    let matches = command().color(color).try_get_matches_from(arguments)?;
    Cli::from_arg_matches(&matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_verb_has_examples() {
        for verb in command().get_subcommands_mut() {
            let help = verb.render_long_help().to_string();
            assert!(help.contains("EXAMPLES"), "{} has none", verb.get_name());
        }
    }
}
