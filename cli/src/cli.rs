//! The command line as a whole: global options and the verbs.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{
    ArgMatches, Args as _, ColorChoice, Command, CommandFactory as _, FromArgMatches, Parser,
    Subcommand,
};

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

/// The verbs, each with its options and the line that lists it. The options of
/// a verb are made when it is the one that was called: those of all take half
/// a megabyte, a tenth of a short run.
macro_rules! verbs {
    ($($variant:ident($args:ty) $name:literal: $about:literal,)*) => {
        /// What to do.
        #[derive(Debug)]
        pub(crate) enum Verb {
            $(#[doc = $about] $variant($args),)*
        }

        /// Name, line and options of each verb.
        const VERBS: &[(&str, &str, fn(Command) -> Command)] = &[$(
            ($name, $about, |verb| <$args>::augment_args(verb).about($about).long_about(None)),
        )*];

        impl Subcommand for Verb {
            fn augment_subcommands(command: Command) -> Command {
                VERBS.iter().fold(
                    command.subcommand_required(true).arg_required_else_help(true),
                    |command, &(name, about, options)| {
                        command.subcommand(Command::new(name).about(about).defer(options))
                    },
                )
            }

            fn augment_subcommands_for_update(command: Command) -> Command {
                Self::augment_subcommands(command)
            }

            fn has_subcommand(name: &str) -> bool {
                [$($name),*].contains(&name)
            }
        }

        impl FromArgMatches for Verb {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                match matches.subcommand() {
                    $(Some(($name, matches)) => {
                        <$args>::from_arg_matches(matches).map(Self::$variant)
                    })*
                    _ => Err(clap::Error::new(ErrorKind::MissingSubcommand)),
                }
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                Self::from_arg_matches(matches).map(|verb| *self = verb)
            }
        }
    };
}

verbs! {
    Build(build::BuildArgs) "build": "Compile binaries into indexes",
    Lookup(Box<lookup::LookupArgs>) "lookup": "Addresses to symbols",
    Find(find::FindArgs) "find": "Names to addresses",
    Info(info::InfoArgs) "info": "What an index holds, where it came from and what was left out",
    Dump(dump::DumpArgs) "dump": "Every symbol and name of an index, in a stable order",
    Perf(Box<perf::PerfArgs>) "perf": "Recordings of perf: every sample named, in bounded memory",
    Verify(verify::VerifyArgs) "verify": "Check every promise of an index",
    Pprof(Box<pprof::PprofArgs>) "pprof": "Symbolize a pprof profile; draw its flame graph",
    Completions(completions::CompletionsArgs) "completions": "Print a completion script for a shell",
    Man(man::ManArgs) "man": "Print the manual page",
}

/// The verbs in the order of the help.
const HELP_ORDER: [&str; 11] = [
    "build",
    "lookup",
    "addr2line",
    "find",
    "info",
    "dump",
    "perf",
    "verify",
    "pprof",
    "completions",
    "man",
];

/// With the verb that has a parser of its own, all in the order of the help.
fn with_addr2line(command: Command) -> Command {
    let command = command.subcommand(addr2line::command());
    HELP_ORDER.iter().zip(0..).fold(command, |command, (name, order)| {
        command.mut_subcommand(name, |verb| verb.display_order(order))
    })
}

/// The whole command line, with the options of every verb: what a completion
/// script and a manual page tell of.
pub(crate) fn command() -> Command {
    with_addr2line(VERBS.iter().fold(Cli::command(), |command, &(name, _, options)| {
        command.mut_subcommand(name, |_| options(Command::new(name)))
    }))
    .mut_subcommand("man", |man| man.mut_arg("verb", |verb| verb.value_parser(HELP_ORDER)))
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
    let matches = with_addr2line(Cli::command()).color(color).try_get_matches_from(arguments)?;
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
    fn a_verb_has_the_same_options_called_or_told_of() {
        let (mut called, mut told) = (with_addr2line(Cli::command()), command());
        called.build();
        told.build();
        for (name, ..) in VERBS {
            let options = |command: &Command| {
                let arguments = command.find_subcommand(name).into_iter();
                let arguments = arguments.flat_map(Command::get_arguments);
                let mut ids: Vec<_> = arguments.map(|argument| argument.get_id().clone()).collect();
                ids.sort();
                ids
            };
            assert!(options(&called).len() > 3, "{name}");
            assert_eq!(options(&called), options(&told), "{name}");
        }
    }

    #[test]
    fn every_verb_has_examples() {
        for verb in command().get_subcommands_mut() {
            let help = verb.render_long_help().to_string();
            assert!(help.contains("EXAMPLES"), "{} has none", verb.get_name());
        }
    }
}
