//! `symidx addr2line`: GNU addr2line's command line, input and output.
//!
//! In: an index or a binary, and addresses as arguments or on standard input.
//! Out: per address what GNU addr2line prints, each answer before the next
//! question is waited for, so that perf can hold a conversation with it.

mod answer;
mod binary;
mod find;
mod number;
mod options;
mod response;

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::ColorChoice;
use symidx::{Index, Name};
use symidx_indexer::input::nearest::{Binary, NearestFrame};
use symidx_indexer::input::{self, elf};
use symidx_indexer::model::Store;

use crate::failure::{Failure, exit};
use crate::frames::{FrameText, PathText};
use crate::options::ReadArgs;
use crate::output::Output;
use crate::source::{self, Source, Taken};
use crate::ui::Ui;

use answer::Writer;
use binary::InBinary;
use find::Finder;
use number::{Asked, asked};
use options::{Complaint, Options, Request};

/// The name of the verb and of the program it stands in for.
const NAME: &str = "addr2line";
/// What GNU addr2line reads of a line at once; the rest is a line of its own.
const MAX_LINE: usize = 99;
/// Written once this many bytes have gathered, even if more lines are at hand.
const FULL: usize = 64 * 1024;

/// A call that is to be answered as addr2line answers it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    program: String,
    words: Vec<OsString>,
}

/// The verb for help, manual page and completions.
pub(crate) fn command() -> clap::Command {
    options::command()
}

/// The call that a command line makes: by the program's name, or as a verb
/// behind the global options. Its own options are not for clap to judge.
pub(crate) fn called(arguments: &[OsString]) -> Option<Call> {
    let (program, words) = arguments.split_first()?;
    let stem = Path::new(program).file_name().and_then(OsStr::to_str).unwrap_or("");
    let stem = stem.strip_suffix(".exe").unwrap_or(stem);
    if stem == NAME || stem.strip_suffix(NAME).is_some_and(|before| before.ends_with('-')) {
        let program = program.to_string_lossy().into_owned();
        return Some(Call { program, words: words.to_vec() });
    }
    let mut words = words;
    while let Some((word, rest)) = words.split_first() {
        words = match word.to_str() {
            Some("-q" | "--quiet") => rest,
            Some("--color") => rest.get(1..)?,
            Some(word) if word.starts_with("--color=") => rest,
            Some(NAME) => return Some(Call { program: NAME.to_owned(), words: rest.to_vec() }),
            _ => return None,
        };
    }
    None
}

/// Answers a call.
pub(crate) fn main(call: Call) -> ExitCode {
    let Call { program, words } = call;
    let done = response::expand(words).and_then(|words| match options::parse(words) {
        Ok(Request::Answer(options)) => run(&options),
        Ok(Request::Help) => print(&options::help(&program).to_string()),
        Ok(Request::Version) => print(&format!(
            "symidx {NAME} {} (options and output of GNU {NAME})\n",
            env!("CARGO_PKG_VERSION")
        )),
        Err(Complaint::Style(complaint)) => Err(complaint),
        Err(Complaint::Usage(complaint)) => Err(format!(
            "{complaint}\nUsage: {program} [option(s)] [addr(s)]; see {program} --help"
        )),
    });
    match done {
        Ok(()) => ExitCode::from(exit::OK),
        Err(complaint) => {
            complain(&program, &complaint);
            ExitCode::from(exit::SOME_FAILED)
        }
    }
}

fn complain(program: &str, complaint: &str) {
    // Nothing to say ends the program as silently as it ends GNU's.
    let mut lines = complaint.lines();
    let mut out = std::io::stderr().lock();
    if let Some(first) = lines.next() {
        let _ = writeln!(out, "{}", crate::text::printable(&format!("{program}: {first}")));
    }
    for line in lines {
        let _ = writeln!(out, "{}", crate::text::printable(line));
    }
}

fn print(text: &str) -> Result<(), String> {
    let mut output = Output::default();
    output.buffer().extend_from_slice(text.as_bytes());
    flush(&mut output)
}

/// A reader that has gone is no failure; what follows is for nobody.
fn flush(output: &mut Output) -> Result<(), String> {
    match output.flush() {
        Ok(()) => Ok(()),
        Err(Failure::Closed) => std::process::exit(exit::OK.into()),
        Err(failure) => Err(failure.to_string()),
    }
}

fn run(options: &Options) -> Result<(), String> {
    let file = Path::new(options.file.as_deref().unwrap_or(OsStr::new("a.out")));
    let target = options.target.as_deref();
    check(file, target)?;
    if target.is_some_and(|target| target == "binary") {
        return answer_all(Finding::Nothing, options);
    }
    let store = Store::new();
    let section = options.section.as_deref();
    let missing =
        |section: &OsStr| format!("{}: cannot find section {}", file.display(), section.display());
    // What is no index and no binary of GNU's is ours to judge.
    let opened = input::open(file, &store).ok().filter(|opened| elf::is_elf(opened.data));
    let Some(opened) = opened else {
        let taken = if options.asked.is_empty() { Taken::Mapped } else { Taken::Sparse };
        let index = open(file, taken)?;
        let section = match section {
            None => None,
            Some(name) => match index.section_by_name(name.as_encoded_bytes()) {
                Ok(Some(section)) => Some(section),
                Ok(None) => return Err(missing(name)),
                Err(corrupt) => return Err(format!("{}: {corrupt}", file.display())),
            },
        };
        return answer_all(Finding::Index(Finder::new(&index, section)), options);
    };
    let name = section.map(OsStr::as_encoded_bytes);
    let binary = Binary::open(&opened.path, opened.data, &store)
        .ok_or_else(|| format!("{}: file format not recognized", file.display()))?;
    let binary = if options.inlines { binary } else { binary.without_callers() };
    let binary = InBinary::new(binary, name);
    let binary = binary.ok_or_else(|| missing(section.unwrap_or_default()))?;
    answer_all(Finding::Binary(Box::new(binary)), options)
}

/// Answers what was asked, of an index or of a binary.
fn answer_all(finding: Finding<'_>, options: &Options) -> Result<(), String> {
    let file = Path::new(options.file.as_deref().unwrap_or(OsStr::new("a.out")));
    let careful = std::io::stdout().is_terminal();
    let is_64 = finding.is_64();
    let mut session = Session {
        finding,
        writer: Writer::new(options, is_64, careful),
        output: Output::default(),
        mask: if is_64 { u64::MAX } else { u32::MAX.into() },
    };
    match options.asked.is_empty() {
        true => session.converse()?,
        false => {
            for text in &options.asked {
                session.answer(text.as_encoded_bytes())?;
            }
        }
    }
    flush(&mut session.output)?;
    match session.finding {
        Finding::Index(finder) => match finder.damage() {
            Some(corrupt) => Err(format!("{}: answers are missing: {corrupt}", file.display())),
            None => Ok(()),
        },
        Finding::Binary(_) | Finding::Nothing => Ok(()),
    }
}

/// Refuses what GNU refuses before it looks inside, with its words.
fn check(file: &Path, target: Option<&OsStr>) -> Result<(), String> {
    let name = file.display();
    match file.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("'{name}': No such file"))
        }
        Err(error) => {
            let text = error.to_string();
            // The library for C does not say the number.
            let reason = text.split(" (os error").next().unwrap_or(&text);
            Err(format!("Warning: could not locate '{name}'.  reason: {reason}"))
        }
        Ok(metadata) if metadata.is_dir() => Err(format!("Warning: '{name}' is a directory")),
        Ok(metadata) if !metadata.is_file() => {
            Err(format!("Warning: '{name}' is not an ordinary file"))
        }
        Ok(metadata) if metadata.len() == 0 => Err(String::new()),
        Ok(_) if target.is_some_and(|target| !options::is_target(target)) => {
            Err(format!("{name}: invalid bfd target"))
        }
        Ok(_) => Ok(()),
    }
}

/// Opens the index of a file, with GNU's words when there is none to be had.
fn open(file: &Path, taken: Taken) -> Result<Index<'static>, String> {
    let name = file.display();
    let read = ReadArgs::default();
    let source = Source { file, read: &read, store: None, in_caches: false, taken };
    source::open(source, Ui::new(true, ColorChoice::Never)).map_err(|failure| {
        let mut start = [0; 8];
        let known = std::fs::File::open(file)
            .and_then(|mut file| std::io::Read::read(&mut file, &mut start))
            .is_ok();
        match start {
            _ if !known => failure.to_string(),
            [b'!', b'<', b'a' | b't', ..] => format!("{name}: cannot get addresses from archive"),
            [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..]
            | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..]
            | [0xca, 0xfe, 0xba, 0xbe | 0xbf, ..] => failure.to_string(),
            start if start == symidx::format::MAGIC => failure.to_string(),
            _ => format!("{name}: file format not recognized"),
        }
    })
}

/// Where answers come from.
enum Finding<'i> {
    Index(Finder<'i>),
    Binary(Box<InBinary<'i>>),
    /// A file that is to be taken for bytes without a meaning.
    Nothing,
}

impl Finding<'_> {
    fn is_64(&self) -> bool {
        match self {
            Self::Index(finder) => finder.is_64(),
            Self::Binary(binary) => binary.is_64(),
            Self::Nothing => false,
        }
    }

    fn symbol(&mut self, name: &[u8], offset: u64) -> u64 {
        match self {
            Self::Index(finder) => finder.symbol(name, offset),
            Self::Binary(binary) => binary.symbol(name, offset),
            Self::Nothing => 0,
        }
    }
}

/// One run.
struct Session<'i, 'o> {
    finding: Finding<'i>,
    writer: Writer<'o>,
    output: Output,
    /// The bits of an address.
    mask: u64,
}

impl Session<'_, '_> {
    fn answer(&mut self, text: &[u8]) -> Result<(), String> {
        let address = match asked(text) {
            Asked::Address(address) => address,
            Asked::Symbol(name, offset) => self.finding.symbol(name, offset),
        };
        let address = address & self.mask;
        let out = self.output.buffer();
        match &mut self.finding {
            Finding::Index(finder) => self.writer.write(out, address, &finder.frames(address), 0),
            Finding::Nothing => self.writer.write(out, address, &[], 0),
            Finding::Binary(binary) => {
                let frames = binary.frames(address);
                let discriminator = frames.first().map_or(0, |frame| frame.discriminator);
                let frames: Vec<FrameText<'_>> = frames.iter().map(text_of).collect();
                self.writer.write(out, address, &frames, discriminator);
            }
        }
        if self.output.buffer().len() < FULL { Ok(()) } else { flush(&mut self.output) }
    }

    /// Answers every line of standard input before it waits for the next.
    fn converse(&mut self) -> Result<(), String> {
        let mut input = BufReader::new(std::io::stdin().lock());
        let mut line = Vec::with_capacity(MAX_LINE);
        loop {
            line.clear();
            while line.len() < MAX_LINE && line.last() != Some(&b'\n') {
                if input.buffer().is_empty() {
                    flush(&mut self.output)?;
                }
                let at_hand = match input.fill_buf() {
                    Ok(at_hand) => at_hand,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(format!("standard input: cannot read: {error}")),
                };
                let room = MAX_LINE.saturating_sub(line.len());
                let at_hand = at_hand.get(..room).unwrap_or(at_hand);
                let end = memchr::memchr(b'\n', at_hand);
                let used = end.map_or(at_hand.len(), |end| end.saturating_add(1));
                if used == 0 {
                    break;
                }
                line.extend_from_slice(at_hand.get(..used).unwrap_or(&[]));
                input.consume(used);
            }
            if line.is_empty() {
                return Ok(());
            }
            self.answer(&line)?;
        }
    }
}

/// A frame of a binary as the printers know it.
fn text_of<'f>(frame: &'f NearestFrame<'_>) -> FrameText<'f> {
    FrameText {
        function: frame.function.map(Name::from),
        file: frame
            .file
            .as_deref()
            .map(|name| PathText { directory: Name::from(&b""[..]), name: Name::from(name) }),
        line: Some(frame.line).filter(|&line| line != 0),
        ..FrameText::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_or_the_verb_makes_the_call() {
        let call = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            called(&words).map(|call| (call.program, call.words.len()))
        };
        let some = |program: &str, words| Some((program.to_owned(), words));
        assert_eq!(call(&["/usr/bin/addr2line", "-e", "x"]), some("/usr/bin/addr2line", 2));
        assert_eq!(call(&["x86_64-linux-gnu-addr2line"]), some("x86_64-linux-gnu-addr2line", 0));
        assert_eq!(call(&["symidx", "addr2line", "-q"]), some("addr2line", 1));
        assert_eq!(call(&["symidx", "-q", "--color", "never", "addr2line"]), some("addr2line", 0));
        assert_eq!(call(&["symidx", "--color=never", "addr2line", "1"]), some("addr2line", 1));
        assert_eq!(call(&["symidx", "lookup", "addr2line"]), None);
        assert_eq!(call(&["myaddr2line", "1"]), None);
        assert_eq!(call(&[]), None);
    }
}
