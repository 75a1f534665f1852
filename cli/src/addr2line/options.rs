//! GNU addr2line's command line: its options, their order and its complaints.
//!
//! In: words. Out: what to do, or the one line to complain with. One table
//! serves the parser, the help, the manual page and the completions.

use std::ffi::{OsStr, OsString};

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};

use crate::text::os_str;

/// What the words ask for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Answer addresses.
    Answer(Options),
    /// Say how to use the command.
    Help,
    /// Say which version this is.
    Version,
}

/// What is wrong with the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Complaint {
    /// There is no such style of names: GNU says no more than that.
    Style(String),
    /// An option is wrong: how to use the command is said, too.
    Usage(String),
}

impl From<String> for Complaint {
    fn from(text: String) -> Self {
        Self::Usage(text)
    }
}

/// How to answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// `-e`; without it `a.out`.
    pub(super) file: Option<OsString>,
    /// `-j`.
    pub(super) section: Option<OsString>,
    /// `-a`.
    pub(super) addresses: bool,
    /// `-f`.
    pub(super) functions: bool,
    /// `-i`.
    pub(super) inlines: bool,
    /// `-p`.
    pub(super) pretty: bool,
    /// `-s`.
    pub(super) basenames: bool,
    /// `-C`.
    pub(super) demangle: bool,
    /// `-b`.
    pub(super) target: Option<OsString>,
    /// What is no option.
    pub(super) asked: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Addresses,
    Target,
    Demangle,
    Exe,
    Functions,
    Inlines,
    Section,
    Pretty,
    Basenames,
    Limit,
    NoLimit,
    Help,
    Version,
}

/// What stands behind an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value(&'static str),
    /// Only as `--option=VALUE`.
    MaybeValue(&'static str),
}

struct Spec {
    key: Key,
    short: &'static [u8],
    long: &'static [&'static str],
    takes: Takes,
    help: &'static str,
}

const fn spec(
    key: Key,
    short: &'static [u8],
    long: &'static [&'static str],
    takes: Takes,
    help: &'static str,
) -> Spec {
    Spec { key, short, long, takes, help }
}

const SPECS: &[Spec] = &[
    spec(
        Key::Exe,
        b"e",
        &["exe"],
        Takes::Value("FILE"),
        "The binary, or its .symidx; a.out without it",
    ),
    spec(
        Key::Addresses,
        b"a",
        &["addresses"],
        Takes::Nothing,
        "Print each address before its answer",
    ),
    spec(Key::Functions, b"f", &["functions"], Takes::Nothing, "Print function names"),
    spec(
        Key::Inlines,
        b"i",
        &["inlines"],
        Takes::Nothing,
        "Print the callers of inlined functions too",
    ),
    spec(Key::Pretty, b"p", &["pretty-print"], Takes::Nothing, "One line for function and place"),
    spec(Key::Basenames, b"s", &["basenames"], Takes::Nothing, "File names without directories"),
    spec(
        Key::Demangle,
        b"C",
        &["demangle"],
        Takes::MaybeValue("STYLE"),
        "Demangle function names; of the styles only `none` differs from the others",
    ),
    spec(
        Key::Section,
        b"j",
        &["section"],
        Takes::Value("NAME"),
        "Addresses are offsets in this section",
    ),
    spec(
        Key::Target,
        b"b",
        &["target"],
        Takes::Value("BFDNAME"),
        "Checked against the formats of GNU binutils; the file says which it is",
    ),
    spec(
        Key::Limit,
        b"R",
        &["recurse-limit", "recursion-limit"],
        Takes::Nothing,
        "Accepted; demangling is always bounded",
    ),
    spec(
        Key::NoLimit,
        b"r",
        &["no-recurse-limit", "no-recursion-limit"],
        Takes::Nothing,
        "Accepted; see -R",
    ),
    spec(Key::Help, b"hH", &["help"], Takes::Nothing, "Print this"),
    spec(Key::Version, b"vV", &["version"], Takes::Nothing, "Print the version"),
];

/// Styles of GNU's -C.
const STYLES: &[&str] = &["none", "auto", "gnu-v3", "java", "gnat", "dlang", "rust"];

/// Formats that binutils know, on one machine or another: which of them a build
/// of GNU addr2line takes differs, and those of its own machine are always among them.
const TARGETS: &[&str] = &[
    "default",
    "plugin",
    "binary",
    "srec",
    "symbolsrec",
    "verilog",
    "tekhex",
    "ihex",
    "pdb",
    "elf64-little",
    "elf64-big",
    "elf32-little",
    "elf32-big",
    "elf64-x86-64",
    "elf32-x86-64",
    "elf32-i386",
    "elf32-iamcu",
    "pe-i386",
    "pei-i386",
    "pe-x86-64",
    "pei-x86-64",
    "pe-bigobj-x86-64",
    "elf64-littleaarch64",
    "elf64-bigaarch64",
    "elf32-littleaarch64",
    "elf32-bigaarch64",
    "pe-aarch64-little",
    "pei-aarch64-little",
    "elf32-littlearm",
    "elf32-bigarm",
    "elf32-littlearm-fdpic",
    "elf32-bigarm-fdpic",
    "elf64-littleriscv",
    "elf64-bigriscv",
    "elf32-littleriscv",
    "elf32-bigriscv",
    "elf64-powerpc",
    "elf64-powerpcle",
    "elf32-powerpc",
    "elf32-powerpcle",
    "elf64-s390",
    "elf32-s390",
    "elf64-loongarch",
    "elf32-loongarch",
    "elf64-tradlittlemips",
    "elf64-tradbigmips",
    "elf32-tradlittlemips",
    "elf32-tradbigmips",
    "elf32-ntradlittlemips",
    "elf32-ntradbigmips",
    "elf64-sparc",
    "elf32-sparc",
    "mach-o-x86-64",
    "mach-o-i386",
    "mach-o-arm64",
    "mach-o-arm",
    "mach-o-be",
    "mach-o-le",
    "mach-o-fat",
];

/// True for the name of a format that binutils know.
pub(super) fn is_target(name: &OsStr) -> bool {
    TARGETS.iter().any(|known| name == *known)
}

/// Follows the words, as C's `getopt_long` would: options may stand behind
/// addresses, short ones together, long ones shortened.
///
/// # Errors
/// The complaint, without the program's name.
pub(super) fn parse(words: Vec<OsString>) -> Result<Request, Complaint> {
    let mut options = Options::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let bytes = word.as_encoded_bytes();
        match bytes {
            b"--" => break,
            [b'-', b'-', long @ ..] => {
                let (spec, value) = find_long(long)?;
                let value = match spec.takes {
                    Takes::Value(_) => {
                        let own = value.map(|value| os_str(value).to_owned());
                        Some(own.or_else(|| words.next()).ok_or_else(|| {
                            format!("option '--{}' requires an argument", spec.name(long))
                        })?)
                    }
                    _ => value.map(|value| os_str(value).to_owned()),
                };
                if let Some(request) = options.take(spec, value)? {
                    return Ok(request);
                }
            }
            [b'-', rest @ ..] if !rest.is_empty() => {
                let mut rest = rest;
                while let [letter, after @ ..] = rest {
                    rest = after;
                    let spec = find_short(*letter)?;
                    let value = match spec.takes {
                        Takes::Value(_) if rest.is_empty() => {
                            Some(words.next().ok_or_else(|| {
                                format!("option requires an argument -- '{}'", char::from(*letter))
                            })?)
                        }
                        Takes::Value(_) => Some(os_str(std::mem::take(&mut rest)).to_owned()),
                        _ => None,
                    };
                    if let Some(request) = options.take(spec, value)? {
                        return Ok(request);
                    }
                }
            }
            _ => options.asked.push(word),
        }
    }
    options.asked.extend(words);
    Ok(Request::Answer(options))
}

impl Options {
    /// Takes an option; some end the command.
    fn take(&mut self, spec: &Spec, value: Option<OsString>) -> Result<Option<Request>, Complaint> {
        match spec.key {
            Key::Addresses => self.addresses = true,
            Key::Functions => self.functions = true,
            Key::Inlines => self.inlines = true,
            Key::Pretty => self.pretty = true,
            Key::Basenames => self.basenames = true,
            Key::Exe => self.file = value,
            Key::Section => self.section = value,
            Key::Demangle => {
                let style = value.as_deref().unwrap_or(OsStr::new("auto"));
                if !STYLES.iter().any(|known| style == *known) {
                    let text = format!("unknown demangling style `{}'", style.display());
                    return Err(Complaint::Style(text));
                }
                self.demangle = style != "none";
            }
            Key::Target => self.target = value,
            Key::Limit | Key::NoLimit => {}
            Key::Help => return Ok(Some(Request::Help)),
            Key::Version => return Ok(Some(Request::Version)),
        }
        Ok(None)
    }
}

impl Spec {
    /// The long name that a beginning stands for.
    fn name(&self, beginning: &[u8]) -> &'static str {
        let end = memchr::memchr(b'=', beginning).unwrap_or(beginning.len());
        let beginning = beginning.get(..end).unwrap_or(beginning);
        let begins = |name: &&&str| name.as_bytes().starts_with(beginning);
        self.long.iter().find(begins).copied().unwrap_or("")
    }
}

/// A long option, by its name or a beginning of it. No two options of the
/// table have a beginning in common, so none is ambiguous.
fn find_long(word: &[u8]) -> Result<(&'static Spec, Option<&[u8]>), String> {
    let (name, value) = match memchr::memchr(b'=', word) {
        Some(sign) => (word.get(..sign).unwrap_or(word), word.get(sign.saturating_add(1)..)),
        None => (word, None),
    };
    let begins = |long: &&str| !name.is_empty() && long.as_bytes().starts_with(name);
    let Some(spec) = SPECS.iter().find(|spec| spec.long.iter().any(begins)) else {
        return Err(format!("unrecognized option '--{}'", String::from_utf8_lossy(word)));
    };
    if spec.takes == Takes::Nothing && value.is_some() {
        return Err(format!("option '--{}' doesn't allow an argument", spec.name(word)));
    }
    Ok((spec, value))
}

fn find_short(letter: u8) -> Result<&'static Spec, String> {
    let unknown = || format!("invalid option -- '{}'", char::from(letter));
    SPECS.iter().find(|spec| spec.short.contains(&letter)).ok_or_else(unknown)
}

/// The verb as the help, the manual page and the completions show it.
pub(super) fn command() -> Command {
    let mut command = Command::new("addr2line")
        .about("Addresses to file and line, with the options and the output of GNU addr2line")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .after_help(EXAMPLES)
        .arg(
            Arg::new("ADDR")
                .help("Addresses in hex, or SYMBOL+OFFSET; without any they are read from standard input, one a line")
                .num_args(0..),
        );
    // The other verbs' global options are none of GNU's: these stand in their place.
    for global in ["quiet", "color"] {
        command = command.arg(Arg::new(global).long(global).hide(true).action(ArgAction::SetTrue));
    }
    for spec in SPECS {
        let mut arg = Arg::new(spec.long.first().copied().unwrap_or("")).help(spec.help);
        for (i, letter) in spec.short.iter().map(|&letter| char::from(letter)).enumerate() {
            arg = if i == 0 { arg.short(letter) } else { arg.visible_short_alias(letter) };
        }
        for (i, name) in spec.long.iter().enumerate() {
            arg = if i == 0 { arg.long(*name) } else { arg.alias(*name) };
        }
        command = command.arg(match spec.takes {
            Takes::Nothing => arg.action(ArgAction::SetTrue),
            Takes::Value(name) => arg.value_name(name),
            Takes::MaybeValue(name) => arg.value_name(name).num_args(0..=1).require_equals(true),
        });
    }
    command
}

/// The help's text.
pub(super) fn help(program: &str) -> StyledStr {
    command().bin_name(program.to_owned()).render_help()
}

const EXAMPLES: &str = "\
Output, exit codes and the reading of addresses are GNU addr2line's, also when the program is called \
by that name (a symbolic link `addr2line`, or one that ends in `-addr2line`). Where FILE is a .symidx \
index, there is no `(discriminator N)`, and a function without lines is at `??:?` and not `FILE.c:?`.

EXAMPLES:
  symidx addr2line -e app 0x401136
  symidx addr2line -afCip -e app 401136 main+0x10
  symidx addr2line -e module.o -j .text.unlikely 0x10
  perf report --addr2line=/usr/local/bin/symidx-addr2line";

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Request, String> {
        parse(words.iter().map(OsString::from).collect()).map_err(|complaint| match complaint {
            Complaint::Style(text) | Complaint::Usage(text) => text,
        })
    }

    fn answer(words: &[&str]) -> Options {
        match parsed(words) {
            Ok(Request::Answer(options)) => options,
            other => Options { asked: vec![format!("{other:?}").into()], ..Options::default() },
        }
    }

    #[test]
    fn options_stand_anywhere_together_and_shortened() {
        let all = Options {
            file: Some("p".into()),
            functions: true,
            inlines: true,
            asked: vec!["1170".into(), "-1".into()],
            ..Options::default()
        };
        for words in [
            &["-fie", "p", "1170", "--", "-1"][..],
            &["-fiep", "1170", "--", "-1"],
            &["1170", "-f", "--inl", "--exe=p", "--", "-1"],
            &["1170", "--fun", "--ex", "p", "-i", "-R", "--no-rec", "--", "-1"],
        ] {
            assert_eq!(answer(words), all, "{words:?}");
        }
        assert_eq!(answer(&["-", ""]).asked, ["-", ""]);
        assert!(answer(&["-C"]).demangle);
        assert!(answer(&["--demangle=gnu-v3"]).demangle);
        assert!(!answer(&["--dem=none"]).demangle);
        assert_eq!(answer(&["-C", "none"]).asked, ["none"]);
    }

    #[test]
    fn formats_are_those_of_binutils() {
        for known in ["elf64-x86-64", "elf32-littlearm", "mach-o-arm64", "default", "binary"] {
            assert!(is_target(OsStr::new(known)), "{known}");
        }
        for unknown in ["nonsense", "", "elf64-x86-65", "ELF64-x86-64"] {
            assert!(!is_target(OsStr::new(unknown)), "{unknown}");
        }
    }

    #[test]
    fn complaints_are_those_of_the_c_library() {
        for (words, text) in [
            (&["-z"][..], "invalid option -- 'z'"),
            (&["-Cgnu"], "invalid option -- 'g'"),
            (&["-e"], "option requires an argument -- 'e'"),
            (&["--exe"], "option '--exe' requires an argument"),
            (&["--ex"], "option '--exe' requires an argument"),
            (&["--fun=3"], "option '--functions' doesn't allow an argument"),
            (&["--zz=1"], "unrecognized option '--zz=1'"),
            (&["--functionss"], "unrecognized option '--functionss'"),
            (&["--=x"], "unrecognized option '--=x'"),
            (&["--demangle=foo"], "unknown demangling style `foo'"),
        ] {
            assert_eq!(parsed(words), Err(text.to_owned()), "{words:?}");
        }
        assert_eq!(parsed(&["-f", "-h", "-z"]), Ok(Request::Help));
        assert_eq!(parsed(&["-V"]), Ok(Request::Version));
    }

    #[test]
    fn no_beginning_is_ambiguous() {
        for (i, one) in SPECS.iter().enumerate() {
            for other in SPECS.iter().skip(i.saturating_add(1)) {
                let first = |spec: &Spec| spec.long.first().and_then(|long| long.chars().next());
                assert_ne!(first(one), first(other));
            }
        }
        command().debug_assert();
    }
}
