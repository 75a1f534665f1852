//! Samples as text: the loop of `perf script`.
//!
//! In: a [`Session`] and [`Names`]. Out: text, JSON lines or folded stacks through one
//! buffer, and a [`Summary`]. Memory does not depend on the profile.

mod cache;
mod fields;
mod folded;
mod json;
mod late;
mod lines;
mod shape;
mod summary;
mod tails;
mod text;

use std::io::{self, Write};

use crate::dsos::DsoId;
use crate::error::Error;
use crate::names::{Answer, Names, Reason, Spelling};
use crate::session::{Located, Place, Session, Step};

use cache::{Cache, Key};
pub use fields::Fields;
use folded::Folded;
pub use json::json_string;
use late::Late;
use shape::{Shape, folded_name};
pub use summary::{DsoReport, Summary};
use summary::{Tally, outcome};
use tails::Tails;

/// Written once the buffer holds so many bytes; text is kept longer, until names for many
/// frames can be looked up together.
const FULL: usize = 256 * 1024;
const FULL_TEXT: usize = 1408 * 1024;
/// The memory is looked at, and the caller told, every so many samples.
const SAMPLES: u64 = 1024;

/// Anonymous memory above which the job takes less for itself: a recording may need the
/// rest, up to [`crate::ANONYMOUS_BYTES`], for its processes before it is looked at again.
const NEAR: u64 = 6784 << 10;

/// How samples are written.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// use symidx_perf::{Format, ScriptOptions, script};
///
/// let mut options = ScriptOptions::default();
/// options.format = Format::Folded; // for flame graphs
/// let mut text = Vec::new();
/// script(&mut session, &mut names, &options, &mut text, |_| {})?;
/// assert_eq!(String::from_utf8(text)?, "worker;_start;outer;middle;leaf 1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// As `perf script`.
    Text,
    /// One JSON object a line.
    Json,
    /// `comm;outer;inner COUNT`.
    Folded,
}

/// What is written.
///
/// ```
/// use symidx_perf::{Fields, ScriptOptions};
///
/// let mut options = ScriptOptions::default();
/// options.fields = Fields::parse("comm,tid,time,ip,sym,dso")?;
/// options.inline = false; // as perf without debug information
/// assert_eq!(options.max_stack, 127); // perf's own limit
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ScriptOptions {
    /// The form.
    pub format: Format,
    /// The columns of the text.
    pub fields: Fields,
    /// Addresses of each chain.
    pub max_stack: usize,
    /// Inlined functions too.
    pub inline: bool,
    /// Names as people wrote them.
    pub demangle: bool,
}

impl Default for ScriptOptions {
    fn default() -> Self {
        Self {
            format: Format::Text,
            fields: Fields::default(),
            max_stack: 127,
            inline: true,
            demangle: true,
        }
    }
}

/// Why a run ended early.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// use symidx_perf::{ScriptError, ScriptOptions, script};
///
/// // Whoever reads the text has gone: `| head`.
/// let mut full = std::io::Cursor::new([0u8; 8]);
/// let error = script(&mut session, &mut names, &ScriptOptions::default(), &mut full, |_| {});
/// assert!(matches!(error, Err(ScriptError::Write(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ScriptError {
    /// The profile.
    Profile(Error),
    /// Whoever takes the text.
    Write(io::Error),
    /// A column was asked for that samples of an event do not have.
    Field {
        /// The column.
        field: &'static str,
        /// The event.
        event: String,
    },
}

impl From<Error> for ScriptError {
    fn from(error: Error) -> Self {
        Self::Profile(error)
    }
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Profile(error) => error.fmt(f),
            Self::Write(error) => write!(f, "cannot write: {error}"),
            Self::Field { field, event } => write!(
                f,
                "expected samples of {} with the field {field}, found none that have it; leave it out of the fields",
                event.escape_debug()
            ),
        }
    }
}

impl std::error::Error for ScriptError {}

/// Writes every sample of a profile. `watch` is called now and then.
///
/// # Errors
/// [`ScriptError`]: the profile cannot be read on, or nobody takes the text.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// use symidx_perf::{Fields, ScriptOptions, script};
///
/// let mut options = ScriptOptions::default();
/// (options.fields, options.inline) = (Fields::parse("comm,ip,sym")?, false);
/// let mut text = Vec::new(); // or standard output
/// script(&mut session, &mut names, &options, &mut text, |_| {})?;
/// let text = String::from_utf8(text)?;
/// assert!(text.starts_with("worker \n") && text.contains("1a8 outer\n"), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn script(
    session: &mut Session,
    names: &mut Names,
    options: &ScriptOptions,
    out: &mut dyn Write,
    mut watch: impl FnMut(&Session),
) -> Result<Summary, ScriptError> {
    let is_text = options.format == Format::Text;
    let full = if is_text { FULL_TEXT } else { FULL };
    let mut writer = Writer {
        options: *options,
        spelling: Spelling::new(options.demangle),
        names,
        cache: Cache::new(14, 20),
        // In the order of their addresses most of a symbol come one after another.
        symbols: if is_text { Cache::new(12, 18) } else { Cache::new(14, 20) },
        tally: Tally::default(),
        buffer: Vec::with_capacity(full.saturating_add(FULL >> 2)),
        full,
        late: Late::default(),
        tails: Tails::default(),
        frame: Vec::new(),
        stack: Vec::new(),
        ends: Vec::new(),
        folded: Folded::default(),
        named: 0,
    };
    let mut number = 0u64;
    loop {
        let step = session.advance()?;
        if step == Step::End {
            break;
        }
        if step == Step::Pause || number.is_multiple_of(SAMPLES) {
            if writer.tally.look() > NEAR {
                writer.save_memory(session, out).map_err(ScriptError::Write)?;
            }
            watch(session);
            // In a pipe the names of events come late.
            let events = &session.reader().header().events;
            writer.named = events.iter().map(|event| event.name.len()).max().unwrap_or(0);
        }
        if step == Step::Pause {
            continue;
        }
        let Some(located) = session.sample() else { continue };
        if number == 0 && options.format == Format::Text {
            // In a pipe all events stand before the first sample.
            check_fields(&options.fields, &session.reader().header().events)?;
        }
        number = number.saturating_add(1);
        writer.sample(&located, session, out).map_err(ScriptError::Write)?;
    }
    if number == 0 && is_text {
        check_fields(&options.fields, &session.reader().header().events)?;
    }
    writer.folded.finish(out).map_err(ScriptError::Write)?;
    writer.write(session, out).and_then(|()| out.flush()).map_err(ScriptError::Write)?;
    watch(session);
    Ok(writer.tally.finish(session, writer.names))
}

/// Refuses columns that were asked for and that an event does not have, as perf does.
fn check_fields(fields: &Fields, events: &[crate::Event]) -> Result<(), ScriptError> {
    for event in events {
        if let Some(field) = fields.missing(event) {
            return Err(ScriptError::Field { field, event: event.name.clone() });
        }
    }
    Ok(())
}

struct Writer<'n> {
    options: ScriptOptions,
    spelling: Spelling,
    names: &'n mut Names,
    /// Texts of addresses.
    cache: Cache,
    /// Names of symbols.
    symbols: Cache,
    tally: Tally,
    buffer: Vec<u8>,
    /// Written once it holds so many bytes.
    full: usize,
    /// Frames of it whose texts are not made yet.
    late: Late,
    /// The ends of lines of text.
    tails: Tails,
    /// The text of one frame.
    frame: Vec<u8>,
    /// The texts of one stack, and where each ends.
    stack: Vec<u8>,
    ends: Vec<usize>,
    folded: Folded,
    /// Bytes of the longest event name.
    named: usize,
}

impl Writer<'_> {
    fn sample(
        &mut self,
        located: &Located<'_>,
        session: &Session,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.tally.sample();
        match self.options.format {
            Format::Text => self.text(located, session, out)?,
            Format::Json => self.json(located, session),
            Format::Folded => self.folded(located, session, out)?,
        }
        if self.buffer.len() >= self.full {
            self.write(session, out)?;
        }
        Ok(())
    }

    fn json(&mut self, located: &Located<'_>, session: &Session) {
        let sample = &located.sample;
        self.buffer.extend_from_slice(b"{\"comm\":");
        match located.comm() {
            Some(comm) => {
                json_string(&mut self.buffer, comm);
            }
            None => self.buffer.extend_from_slice(b"null"),
        }
        let buffer = &mut self.buffer;
        // Writing to memory cannot fail.
        let _ = write!(buffer, ",\"pid\":{},\"tid\":{}", sample.pid, sample.tid);
        if let Some(cpu) = sample.cpu {
            let _ = write!(buffer, ",\"cpu\":{cpu}");
        }
        if let Some(time) = sample.time {
            let _ = write!(buffer, ",\"time_ns\":{time}");
        }
        let _ = write!(buffer, ",\"period\":{},\"event\":", sample.period);
        json_string(buffer, located.event().map_or(b"", |event| event.name.as_bytes()));
        buffer.extend_from_slice(b",\"frames\":[");
        let before = self.buffer.len();
        for (ip, place) in located.frames(self.options.max_stack) {
            self.append(ip, place, false, session);
        }
        // Each frame ends in a comma.
        if self.buffer.len() > before {
            self.buffer.pop();
        }
        self.buffer.extend_from_slice(b"]}\n");
    }

    fn folded(
        &mut self,
        located: &Located<'_>,
        session: &Session,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        // Frames come innermost first and go out the other way round.
        let whole = std::mem::take(&mut self.buffer);
        self.ends.clear();
        for (ip, place) in located.frames(self.options.max_stack) {
            self.append(ip, place, false, session);
            self.ends.push(self.buffer.len());
        }
        let frames = std::mem::replace(&mut self.buffer, whole);
        self.stack.clear();
        match located.comm() {
            Some(comm) => folded_name(&mut self.stack, comm),
            None => {
                let _ = write!(self.stack, ":{}", located.sample.tid);
            }
        }
        let mut ends = self.ends.iter().rev().copied().peekable();
        while let Some(end) = ends.next() {
            let start = ends.peek().copied().unwrap_or(0);
            self.stack.push(b';');
            self.stack.extend_from_slice(frames.get(start..end).unwrap_or(&[]));
        }
        self.folded.add(&self.stack, out)
    }

    /// Appends the text of one address, from the cache if it is there.
    #[inline]
    fn append(&mut self, ip: u64, place: Option<Place>, alone: bool, session: &Session) {
        let key = key_of(ip, place, alone);
        let dso = place.map(|place| place.dso);
        if let Some((text, outcome)) = self.cache.find(key) {
            self.buffer.extend_from_slice(text);
            self.tally.frame(dso, outcome);
            return;
        }
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        let reason = self.frame(&mut frame, ip, place, alone, false, session);
        let outcome = outcome(reason);
        self.cache.keep(key, &frame, outcome);
        self.buffer.extend_from_slice(&frame);
        self.tally.frame(dso, outcome);
        self.frame = frame;
    }

    /// Writes the text of one address, or only what is `bare` of address and DSO; says why it
    /// has no name.
    #[cold]
    fn frame(
        &mut self,
        out: &mut Vec<u8>,
        ip: u64,
        place: Option<Place>,
        alone: bool,
        bare: bool,
        session: &Session,
    ) -> Option<Reason> {
        let dso = place.and_then(|place| session.dsos().get(place.dso.number()));
        let answer = match (place, dso) {
            (Some(place), Some(dso)) => self.names.find(place, dso, session),
            _ => Answer::Unknown(Reason::Unmapped),
        };
        let mut shape = Shape {
            out,
            options: &self.options,
            spelling: &mut self.spelling,
            alone,
            bare,
            address: shown(ip, place, dso, alone),
            ip,
            place,
            dso: dso.map_or(b"[unknown]", |dso| &dso.name),
        };
        match answer {
            Answer::Symbol(symbol, index, svma, versions) => {
                let inlined = match self.options.inline && !alone {
                    true => shape.inlined_names(index, svma),
                    false => Vec::new(),
                };
                let key =
                    Key { address: symbol.id().into(), owner: key_of(ip, place, false).owner };
                if let Some((name, _)) = self.symbols.find(key) {
                    shape.function(name, symbol.offset(), &inlined);
                    self.symbols.hit();
                } else {
                    let mut name = Vec::new();
                    shape.spelling.symbol(&symbol, index, versions, &mut name);
                    shape.function(&name, symbol.offset(), &inlined);
                    if self.symbols.is_worth_it() {
                        self.symbols.keep(key, &name, 0);
                    }
                }
                None
            }
            Answer::Whole(address) => {
                let start = session.kernel_start(ip).unwrap_or(address);
                let name: &[u8] = dso.map_or(&[], |dso| &dso.name);
                shape.function(name, address.wrapping_sub(start), &[]);
                None
            }
            Answer::Unknown(reason) => {
                shape.unknown(reason);
                Some(reason)
            }
        }
    }
}

/// The address that is shown: perf shows where in the file an address of a file is.
fn shown(ip: u64, place: Option<Place>, dso: Option<&crate::Dso>, alone: bool) -> u64 {
    match (place, dso) {
        (Some(place), Some(dso)) if !alone && is_of_user(dso) => place.address,
        _ => ip,
    }
}

fn is_of_user(dso: &crate::Dso) -> bool {
    use crate::DsoKind;
    !matches!(dso.kind, DsoKind::Kernel | DsoKind::Module | DsoKind::Ksymbol)
}

#[inline]
fn key_of(ip: u64, place: Option<Place>, alone: bool) -> Key {
    // Bit 32: alone; above it nothing, as a DSO's number has 14 bits.
    let alone = u64::from(alone).wrapping_shl(63);
    match place {
        Some(place) => {
            let dso = u64::try_from(place.dso.number()).unwrap_or(0).wrapping_add(1);
            // Only run-time code differs by process; alone, the address differs by mapping.
            let whose = match place.dso == DsoId::JIT {
                true => u64::from(place.pid.cast_unsigned()),
                false => 0,
            };
            let address = if alone == 0 { place.address } else { ip };
            Key { address, owner: alone | dso.wrapping_shl(32) | whose }
        }
        None => Key { address: ip, owner: alone },
    }
}
