//! The loop over a profile: records in time order, whatever way they were stored.
//!
//! In: a file, or a stream. Out: one borrowed [`Record`] after another. Holds two
//! rounds at most, in a buffer of fixed size.

use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};
use std::path::Path;

use linux_perf_event_reader::{Endianness, RecordType};

use crate::bytes::Cursor;
use crate::decompress::{Broken, Decompressor, MAX_WINDOW};
use crate::error::Error;
use crate::features;
use crate::header::{self, Header, PIPE_HEADER};
use crate::input::{HEADER, Head, Input, Next, Source};
use crate::order::Order;
use crate::record::{Layout, Record};

/// Records that perf itself writes.
mod user {
    pub(super) const FIRST: u32 = 64;
    pub(super) const HEADER_ATTR: u32 = 64;
    pub(super) const TRACING_DATA: u32 = 66;
    pub(super) const BUILD_ID: u32 = 67;
    pub(super) const FINISHED_ROUND: u32 = 68;
    pub(super) const AUXTRACE: u32 = 71;
    pub(super) const EVENT_UPDATE: u32 = 78;
    pub(super) const HEADER_FEATURE: u32 = 80;
    pub(super) const COMPRESSED: u32 = 81;
    pub(super) const COMPRESSED2: u32 = 83;
}

/// Bytes held in memory of records without a time.
const UNTIMED: usize = 256 * 1024;

/// `EVENT_UPDATE`: the event's name follows.
const UPDATE_NAME: u64 = 2;

/// What was not read, and why.
///
/// ```
/// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
/// use symidx_perf::{Reader, Session};
///
/// let cut = bytes[..bytes.len() - 8].to_vec(); // a disk that was full
/// let mut session = Session::new(Reader::from_stream(std::io::Cursor::new(cut))?);
/// while session.next_sample()? {}
/// assert!(session.reader().damage().cut);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The last record is cut short: a copy of a part, or a disk that was full.
    pub cut: bool,
    /// perf was ended before it wrote how much data there is; all there is was read.
    pub unfinished: bool,
    /// A record without a size at this byte of the file: what is behind it is lost.
    pub lost_from: Option<u64>,
    /// Records shorter than their kind asks for.
    pub short_records: u64,
    /// Records of an event that the header does not describe.
    pub unknown_events: u64,
    /// Compressed records that could not be read.
    pub compressed: u64,
    /// They need a larger window than is held.
    pub window: bool,
    /// Parts of the header that could not be read.
    pub header: u64,
}

impl Damage {
    /// One line for each kind of damage; none for a whole profile.
    ///
    /// ```
    /// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
    /// use symidx_perf::{Reader, Session};
    ///
    /// let cut = bytes[..bytes.len() - 8].to_vec();
    /// let mut session = Session::new(Reader::from_stream(std::io::Cursor::new(cut))?);
    /// while session.next_sample()? {}
    /// let lines = session.reader().damage().lines();
    /// assert_eq!(lines, ["the last record is cut short; is the file complete?"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut count = |count: u64, one: &str, many: &str| match count {
            0 => {}
            1 => lines.push(format!("1 {one}")),
            count => lines.push(format!("{count} {many}")),
        };
        count(
            self.short_records,
            "record is shorter than its kind, left out",
            "records are shorter than their kind, left out",
        );
        count(
            self.unknown_events,
            "record is of an event that the header does not describe, left out",
            "records are of an event that the header does not describe, left out",
        );
        match self.window {
            true => {
                let why = "a larger window of memory than allowed, left out (perf record -z17 and above need up to 128 MiB: --max-window 128M)";
                count(
                    self.compressed,
                    &format!("compressed record needs {why}"),
                    &format!("compressed records need {why}"),
                );
            }
            false => count(
                self.compressed,
                "compressed record is damaged, left out with all behind it",
                "compressed records are damaged, left out with all behind them",
            ),
        }
        count(
            self.header,
            "part of the header is damaged, left out",
            "parts of the header are damaged, left out",
        );
        if let Some(offset) = self.lost_from {
            lines.push(format!(
                "expected a record at byte {offset:#x}, found one without a size; what follows is left out"
            ));
        }
        if self.cut {
            lines.push("the last record is cut short; is the file complete?".to_owned());
        }
        if self.unfinished {
            lines.push(
                "perf was ended before it had written how much data there is; all there is was read"
                    .to_owned(),
            );
        }
        lines
    }
}

/// A profile, read from front to back, for a [`crate::Session`].
///
/// ```
/// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
/// use symidx_perf::{Reader, Session};
///
/// let reader = Reader::from_stream(std::io::Cursor::new(bytes))?; // or `Reader::open("perf.data")`
/// let mut session = Session::new(reader);
/// assert!(session.next_sample()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    input: Input,
    header: Header,
    state: State,
    /// The record that was handed out last, its header included.
    current: Vec<u8>,
    /// Which event that record is of.
    number: usize,
    ended: bool,
}

/// What reading a record changes besides the input.
#[derive(Debug)]
struct State {
    order: Order,
    decompressor: Option<Decompressor>,
    /// Bytes of its window at most.
    max_window: u64,
    /// The compressed stream is damaged.
    broken: bool,
    damage: Damage,
    /// Records without a time that came out of a compressed one: they go out before
    /// all others, in the order they came.
    untimed: Option<Order>,
}

impl Reader {
    /// A file by its path; a pipe may stand there too.
    ///
    /// # Errors
    /// [`Error`] when there is no profile, or its list of events is damaged.
    ///
    /// ```
    /// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
    /// # let file = tempfile::NamedTempFile::new()?;
    /// # std::fs::write(file.path(), bytes)?;
    /// let path = file.path(); // perf.data
    /// let mut session = symidx_perf::Session::new(symidx_perf::Reader::open(path)?);
    /// assert!(session.next_sample()? && !session.next_sample()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io("open the recording"))?;
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        match is_file {
            true => Self::new(Source::File(file)),
            false => Self::new(Source::Stream(Box::new(file))),
        }
    }

    /// What comes through a pipe: mostly the format for pipes; the other one is put
    /// in a temporary file first.
    ///
    /// # Errors
    /// As [`Reader::open`].
    ///
    /// ```
    /// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
    /// // `perf record -o - … | symidx perf script -i -`: standard input, say.
    /// let reader = symidx_perf::Reader::from_stream(std::io::Cursor::new(bytes))?;
    /// assert!(reader.header().is_pipe);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_stream(stream: impl Read + Send + 'static) -> Result<Self, Error> {
        Self::new(Source::Stream(Box::new(stream)))
    }

    /// Allows compressed records a window of so many bytes, rounded down to a power of two,
    /// in place of 4 MiB: as much of the stream is held in memory. Recordings of
    /// `perf record -z17` and above need up to 128 MiB.
    ///
    /// ```
    /// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
    /// use symidx_perf::{Reader, Session};
    ///
    /// let reader = Reader::from_stream(std::io::Cursor::new(bytes))?.with_max_window(128 << 20);
    /// assert!(Session::new(reader).next_sample()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_max_window(mut self, bytes: u64) -> Self {
        self.state.max_window = bytes;
        self
    }

    fn new(source: Source) -> Result<Self, Error> {
        let read = Error::io("read the recording");
        let mut input = Input::new(source);
        let start = input.exactly::<16>().map_err(&read)?;
        let Some(start) = start else {
            return Err(Error::Damaged {
                expected: "a perf.data file",
                found: "less than 16 bytes".to_owned(),
                offset: 0,
            });
        };
        let (endian, size) = header::start(start)?;
        let mut damage = Damage::default();
        let header = if size == PIPE_HEADER {
            Header::new(endian, true)
        } else {
            if input.file().is_none() {
                input = Input::new(Source::File(spool(&start, input)?));
            }
            let Some(file) = input.file() else { return Err(Error::NoEvents) };
            let (header, data) = Header::of_file(file, endian)?;
            damage.unfinished = data.size == 0;
            let stop = (data.size != 0).then(|| data.offset.saturating_add(data.size));
            input.restart(data.offset, stop).map_err(&read)?;
            header
        };
        let state = State {
            order: Order::new(),
            decompressor: None,
            max_window: MAX_WINDOW,
            broken: false,
            damage,
            untimed: None,
        };
        Ok(Self { input, header, state, current: Vec::new(), number: 0, ended: false })
    }

    /// What the profile says about itself. In a pipe this grows until the first event.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// session.next_sample()?;
    /// assert_eq!(session.reader().header().events[0].name, "cpu-clock");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What could not be read so far.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// while session.next_sample()? {}
    /// assert_eq!(session.reader().damage(), symidx_perf::Damage::default()); // none
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn damage(&self) -> Damage {
        self.state.damage
    }

    /// Bytes of the profile read so far, and of all if that is known.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// while session.next_sample()? {}
    /// let (read, all) = session.reader().progress(); // for a progress bar
    /// assert!(read > 0 && all.is_none()); // a pipe has no known end
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.input.position(), self.input.stop())
    }

    /// Bytes that went through temporary files to be sorted.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// while session.next_sample()? {}
    /// assert_eq!(session.reader().spilled(), 0); // it fitted into memory
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn spilled(&self) -> u64 {
        self.state.order.spilled()
    }

    /// The next record by time; `None` at the end. Damage costs its record and is
    /// counted in [`Reader::damage`].
    ///
    /// # Errors
    /// [`Error::Io`] when the profile or a temporary file cannot be read.
    ///
    /// ```
    /// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
    /// let mut reader = symidx_perf::Reader::from_stream(std::io::Cursor::new(bytes))?;
    /// let mut records = 0;
    /// while reader.next_record()?.is_some() {
    ///     records += 1;
    /// }
    /// assert_eq!(records, 3); // a name, a mapping, a sample
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, Error> {
        Ok(if self.step()? { self.record() } else { None })
    }

    /// Goes to the next whole record; false at the end.
    pub(crate) fn step(&mut self) -> Result<bool, Error> {
        while self.advance()? {
            let endian = self.header.endian;
            let Some((head, body)) = split(&self.current, endian) else { continue };
            self.number = match event_of(&self.header, head.kind, body) {
                Some(number) => number,
                None => {
                    let count = &mut self.state.damage.unknown_events;
                    *count = count.saturating_add(1);
                    continue;
                }
            };
            if self.record().is_some() {
                return Ok(true);
            }
            let count = &mut self.state.damage.short_records;
            *count = count.saturating_add(1);
        }
        Ok(false)
    }

    /// The record that [`Reader::step`] went to.
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        let endian = self.header.endian;
        let (head, body) = split(&self.current, endian)?;
        let event = self.header.events.get(self.number)?;
        Record::parse(head.kind, head.misc, body, Layout { event, number: self.number, endian })
    }

    /// Puts the next event in order into `current`; false at the end.
    fn advance(&mut self) -> Result<bool, Error> {
        let sort = Error::io("sort the profile in a temporary file");
        loop {
            if let Some(record) = self.state.pop().map_err(&sort)? {
                self.current.clear();
                self.current.extend_from_slice(record);
                return Ok(true);
            }
            if self.ended {
                return Ok(false);
            }
            let endian = self.header.endian;
            let next = self.input.record(endian).map_err(Error::io("read the recording"))?;
            let (head, bytes) = match next {
                Next::Record(head, bytes) => (head, bytes),
                end => {
                    let place = match end {
                        Next::Cut => {
                            self.state.damage.cut = true;
                            None
                        }
                        Next::Lost => Some(self.input.position()),
                        _ => None,
                    };
                    self.state.damage.lost_from = place;
                    self.finish();
                    continue;
                }
            };
            let body = bytes.get(HEADER..).unwrap_or(&[]);
            if head.kind < user::FIRST {
                match time_of(&self.header, head.kind, body) {
                    Some(time) => self.state.order.push(time, bytes).map_err(&sort)?,
                    // perf hands out at once what has no time.
                    None => {
                        self.current.clear();
                        self.current.extend_from_slice(bytes);
                        return Ok(true);
                    }
                }
                continue;
            }
            let skip = self.state.user_record(head, body, &mut self.header).map_err(&sort)?;
            if skip != 0 {
                let whole = self.input.skip(skip).map_err(Error::io("read the recording"))?;
                if !whole {
                    // All that is left belongs to this record.
                    self.state.damage.cut = true;
                    self.finish();
                }
            }
        }
    }

    fn finish(&mut self) {
        self.ended = true;
        // In a file that ends early, sizes said more.
        if let Some(stop) = self.input.stop()
            && self.input.position() < stop
            && self.state.damage.lost_from.is_none()
        {
            self.state.damage.cut = true;
        }
        let cut = self.state.decompressor.as_ref().is_some_and(Decompressor::is_cut);
        self.state.damage.cut |= cut;
        self.state.order.finish();
    }
}

impl State {
    /// The next record that is ready.
    #[inline]
    fn pop(&mut self) -> io::Result<Option<&[u8]>> {
        if let Some(untimed) = &mut self.untimed
            && untimed.is_ready()
        {
            return untimed.pop();
        }
        self.order.pop()
    }

    /// Takes a record of perf's own in; says how many bytes behind it are no records.
    fn user_record(&mut self, head: Head, body: &[u8], header: &mut Header) -> io::Result<u64> {
        let mut cursor = Cursor::new(body, header.endian);
        match head.kind {
            user::FINISHED_ROUND => self.order.round(),
            user::COMPRESSED => self.compressed(body, header)?,
            user::COMPRESSED2 => {
                // The size first, as the record is padded.
                let piece = cursor.u64().and_then(|size| cursor.take(size));
                match piece {
                    Some(piece) => self.compressed(piece, header)?,
                    None => self.damage.compressed = self.damage.compressed.saturating_add(1),
                }
            }
            user::HEADER_ATTR => {
                let taken = !header.is_pipe || header.add_attr(body);
                let lost = u64::from(!taken);
                self.damage.header = self.damage.header.saturating_add(lost);
            }
            user::EVENT_UPDATE => update(body, header),
            user::HEADER_FEATURE if header.is_pipe => {
                if let Some(number) = cursor.u64() {
                    let number = u32::try_from(number).unwrap_or(u32::MAX);
                    features::set(number, cursor.rest(), header);
                }
            }
            user::BUILD_ID => match features::build_id(head.misc, body, header.endian) {
                Some(file) => header.add_build_id(file),
                None => self.damage.header = self.damage.header.saturating_add(1),
            },
            user::TRACING_DATA => {
                return Ok(cursor.u32().map_or(0, |size| u64::from(size).next_multiple_of(8)));
            }
            user::AUXTRACE => return Ok(cursor.u64().unwrap_or(0)),
            _ => {}
        }
        Ok(0)
    }

    fn compressed(&mut self, piece: &[u8], header: &Header) -> io::Result<()> {
        let lost = &mut self.damage.compressed;
        if self.broken {
            *lost = lost.saturating_add(1);
            return Ok(());
        }
        if self.decompressor.is_none() {
            self.decompressor = Decompressor::new(self.max_window);
        }
        let Some(decompressor) = &mut self.decompressor else {
            return Err(io::Error::other("no memory for the zstd decoder"));
        };
        let (order, untimed) = (&mut self.order, &mut self.untimed);
        let result = decompressor.records(piece, header.endian, |head, bytes| {
            let body = bytes.get(HEADER..).unwrap_or(&[]);
            match time_of(header, head.kind, body) {
                _ if head.kind == user::FINISHED_ROUND || head.kind >= user::FIRST => Ok(()),
                Some(time) => order.push(time, bytes),
                // Not among the others: to put them all in order for each of these
                // would take for ever.
                None => untimed.get_or_insert_with(|| Order::with_memory(UNTIMED)).push(0, bytes),
            }
        })?;
        if let Some(untimed) = untimed {
            untimed.finish();
        }
        if let Err(why) = result {
            self.broken = true;
            *lost = lost.saturating_add(1);
            self.damage.window = why == Broken::Window;
        }
        Ok(())
    }
}

/// The name of an event, in a pipe.
fn update(body: &[u8], header: &mut Header) {
    let mut cursor = Cursor::new(body, header.endian);
    if let (Some(UPDATE_NAME), Some(id)) = (cursor.u64(), cursor.u64())
        && let Some(number) = header.ids.event(id)
    {
        header.name_event(number, crate::bytes::text(cursor.rest()));
    }
}

fn split(record: &[u8], endian: Endianness) -> Option<(Head, &[u8])> {
    let (head, body) = record.split_first_chunk::<HEADER>()?;
    Some((Head::parse(*head, endian), body))
}

/// Which event a record is of: the only one; else by the id, whose place is that of
/// the first event in all records, as in perf. Records that perf made up have the id 0.
#[inline]
fn event_of(header: &Header, kind: u32, body: &[u8]) -> Option<usize> {
    let first = header.events.first()?;
    if header.events.len() == 1 {
        return Some(0);
    }
    let sample = RecordType(kind) == RecordType::SAMPLE;
    let at = match sample {
        true => first.id_in_sample.map(usize::from),
        false => first.id_from_end.and_then(|back| body.len().checked_sub(back.into())),
    };
    let Some(at) = at else { return Some(0) };
    let id = Cursor::new(body.get(at..)?, header.endian).u64()?;
    match id {
        0 => Some(0),
        id => header.ids.event(id),
    }
}

/// The time of a record; `None` where it has none or 0.
#[inline]
fn time_of(header: &Header, kind: u32, body: &[u8]) -> Option<u64> {
    let event = header.events.get(event_of(header, kind, body)?)?;
    let at = match RecordType(kind) == RecordType::SAMPLE {
        true => usize::from(event.time_in_sample?),
        false => body.len().checked_sub(event.time_from_end?.into())?,
    };
    let time = Cursor::new(body.get(at..)?, header.endian).u64()?;
    (time != 0 && time != u64::MAX).then_some(time)
}

/// A stream that holds a file's format, in a temporary file.
fn spool(start: &[u8], mut rest: Input) -> Result<File, Error> {
    let copy = Error::io("copy the profile to a temporary file");
    let mut file = tempfile::tempfile().map_err(&copy)?;
    file.write_all(start).map_err(&copy)?;
    rest.copy_to(&mut file).map_err(&copy)?;
    file.rewind().map_err(&copy)?;
    Ok(file)
}
