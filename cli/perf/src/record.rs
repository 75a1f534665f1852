//! Records: the bytes of one in, its fields out, borrowed.
//!
//! A record that is shorter than its kind asks for is `None`. Nothing is looked up
//! or remembered here.

use linux_perf_event_reader::{CpuMode, Endianness, RecordType, SampleFormat};

use crate::attr::Event;
use crate::build_id::BuildId;
use crate::bytes::{Cursor, text};

/// `header.misc`: the `COMM` is of an exec.
const COMM_EXEC: u16 = 1 << 13;
/// `header.misc`: perf wrote the `FORK` itself, for a process that ran already.
const FORK_EXEC: u16 = 1 << 13;
/// `header.misc`: the mapping is data.
const MMAP_DATA: u16 = 1 << 13;
/// `header.misc`: the `MMAP2` has a build-id in place of device and inode.
const MMAP_BUILD_ID: u16 = 1 << 14;
/// `PROT_EXEC`.
const EXECUTE: u32 = 4;
/// `MAP_HUGETLB`.
const HUGE: u32 = 0x4_0000;

/// `read_format`.
mod read {
    pub(super) const ENABLED: u64 = 1;
    pub(super) const RUNNING: u64 = 2;
    pub(super) const ID: u64 = 4;
    pub(super) const GROUP: u64 = 8;
    pub(super) const LOST: u64 = 16;
}

/// One record.
///
/// ```
/// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
/// use symidx_perf::{Reader, Record};
///
/// let mut reader = Reader::from_stream(std::io::Cursor::new(bytes))?;
/// while let Some(record) = reader.next_record()? {
///     if let Record::Comm(thread) = record {
///         println!("{} is called {}", thread.tid, thread.name.escape_ascii());
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Record<'a> {
    /// An event happened.
    Sample(Sample<'a>),
    /// Memory was mapped.
    Mmap(Mmap<'a>),
    /// A thread was named.
    Comm(Comm<'a>),
    /// A thread began.
    Fork(Task),
    /// A thread ended.
    Exit(Task),
    /// The kernel took up or gave up code that it made itself.
    Ksymbol(Ksymbol<'a>),
    /// So many records were lost.
    Lost(u64),
    /// A kind that says nothing about addresses, by its number.
    Other(u32),
}

/// An event, and where the processor was.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// session.next_sample()?;
/// let sample: symidx_perf::Sample<'_> = session.sample().unwrap().sample;
/// assert_eq!((sample.tid, sample.time, sample.period), (7, Some(2_000), 4_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Which of [`crate::Header::events`].
    pub event: usize,
    /// The instruction, a run-time address.
    pub ip: u64,
    /// The process; -1 = none.
    pub pid: i32,
    /// The thread; -1 = none.
    pub tid: i32,
    /// Nanoseconds of the recording's clock.
    pub time: Option<u64>,
    /// The processor.
    pub cpu: Option<u32>,
    /// How many events it stands for.
    pub period: u64,
    /// Where [`Sample::ip`] lies.
    pub mode: CpuMode,
    /// The call chain, if the event has one; it may be empty.
    pub chain: Option<Chain<'a>>,
}

/// A call chain, innermost first: addresses and `PERF_CONTEXT_` marks.
///
/// ```
/// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
/// use symidx_perf::{Reader, Record};
///
/// let mut reader = Reader::from_stream(std::io::Cursor::new(bytes))?;
/// while let Some(record) = reader.next_record()? {
///     if let Record::Sample(sample) = record {
///         let chain: symidx_perf::Chain<'_> = sample.chain.unwrap();
///         assert_eq!(chain.len(), 3); // one mark and two addresses
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Chain<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl<'a> Chain<'a> {
    /// Its entries, marks included.
    ///
    /// ```
    /// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
    /// use symidx_perf::{Reader, Record};
    ///
    /// let mut reader = Reader::from_stream(std::io::Cursor::new(bytes))?;
    /// while let Some(record) = reader.next_record()? {
    ///     if let Record::Sample(sample) = record {
    ///         let innermost = sample.chain.unwrap().entries().find(|&entry| entry < u64::MAX - 4095);
    ///         assert_eq!(innermost, Some(sample.ip));
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn entries(&self) -> impl Iterator<Item = u64> + use<'a> {
        let big = self.big;
        let (words, _) = self.bytes.as_chunks::<8>();
        words.iter().map(move |word| match big {
            false => u64::from_le_bytes(*word),
            true => u64::from_be_bytes(*word),
        })
    }

    /// How many entries there are, marks included.
    ///
    /// ```
    /// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
    /// use symidx_perf::{Reader, Record};
    ///
    /// let mut reader = Reader::from_stream(std::io::Cursor::new(bytes))?;
    /// while let Some(record) = reader.next_record()? {
    ///     if let Record::Sample(sample) = record {
    ///         assert_eq!(sample.chain.map(|chain| chain.len()), Some(3));
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() >> 3
    }

    /// True without entries.
    ///
    /// ```
    /// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
    /// use symidx_perf::{Reader, Record};
    ///
    /// let mut reader = Reader::from_stream(std::io::Cursor::new(bytes))?;
    /// while let Some(record) = reader.next_record()? {
    ///     if let Record::Sample(sample) = record {
    ///         assert!(!sample.chain.unwrap().is_empty());
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// A mapping.
///
/// ```
/// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
/// use symidx_perf::{Reader, Record};
///
/// let mut reader = Reader::from_stream(std::io::Cursor::new(bytes))?;
/// while let Some(record) = reader.next_record()? {
///     if let Record::Mmap(mapping) = record {
///         let symidx_perf::Mmap { start, length, offset, .. } = mapping;
///         assert_eq!((start, length, offset), (0x5555_0000_0000, 0x1000, 0));
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Mmap<'a> {
    /// The process; -1 for the kernel.
    pub pid: i32,
    /// The thread that mapped.
    pub tid: i32,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Offset in the file of the first byte; for the kernel itself the address of
    /// the symbol in its name.
    pub offset: u64,
    /// Path, or a name in brackets.
    pub name: &'a [u8],
    /// The file's build-id, where the kernel recorded it.
    pub build_id: Option<BuildId>,
    /// Whose memory it is.
    pub mode: CpuMode,
    /// May be executed.
    pub execute: bool,
    /// Huge pages, which perf takes for anonymous memory.
    pub huge: bool,
}

/// A thread's name.
///
/// ```
/// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
/// use symidx_perf::{Reader, Record};
///
/// let mut reader = Reader::from_stream(std::io::Cursor::new(bytes))?;
/// while let Some(record) = reader.next_record()? {
///     if let Record::Comm(thread) = record {
///         let symidx_perf::Comm { tid, name, exec, .. } = thread;
///         assert_eq!((tid, name, exec), (7, &b"worker"[..], false));
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Comm<'a> {
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// Its new name.
    pub name: &'a [u8],
    /// Another program took the process over.
    pub exec: bool,
}

/// A thread that begins or ends.
///
/// ```
/// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
/// use symidx_perf::{Reader, Record, Task};
///
/// let mut reader = Reader::from_stream(std::io::Cursor::new(bytes))?;
/// let mut begun = 0;
/// while let Some(record) = reader.next_record()? {
///     begun += usize::from(matches!(record, Record::Fork(Task { made_up: false, .. })));
/// }
/// assert_eq!(begun, 0); // its process ran before the recording
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// The parent's process.
    pub parent_pid: i32,
    /// The parent.
    pub parent_tid: i32,
    /// perf wrote it for a process that ran already: it has its own mappings.
    pub made_up: bool,
}

/// Code that the kernel made: a BPF program, a trampoline.
///
/// ```
/// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
/// use symidx_perf::{Ksymbol, Reader, Record};
///
/// let mut reader = Reader::from_stream(std::io::Cursor::new(bytes))?;
/// while let Some(record) = reader.next_record()? {
///     if let Record::Ksymbol(Ksymbol { start, length, name, .. }) = record {
///         println!("{start:#x} {length} {}", name.escape_ascii());
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ksymbol<'a> {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u32,
    /// Gone, not come.
    pub removed: bool,
    /// Its name.
    pub name: &'a [u8],
}

/// What a record is read with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<'e> {
    pub(crate) event: &'e Event,
    pub(crate) number: usize,
    pub(crate) endian: Endianness,
}

impl<'a> Record<'a> {
    /// The record in `body`, which has no header any more.
    #[inline]
    pub(crate) fn parse(kind: u32, misc: u16, body: &'a [u8], with: Layout<'_>) -> Option<Self> {
        let cursor = Cursor::new(body, with.endian);
        Some(match RecordType(kind) {
            RecordType::SAMPLE => Self::Sample(sample(cursor, misc, with)?),
            RecordType::MMAP => Self::Mmap(mmap(cursor, misc, false)?),
            RecordType::MMAP2 => Self::Mmap(mmap(cursor, misc, true)?),
            RecordType::COMM => Self::Comm(comm(cursor, misc)?),
            RecordType::FORK => Self::Fork(task(cursor, misc)?),
            RecordType::EXIT => Self::Exit(task(cursor, misc)?),
            RecordType::KSYMBOL => Self::Ksymbol(ksymbol(cursor)?),
            RecordType::LOST => Self::Lost(lost(cursor)?),
            _ => Self::Other(kind),
        })
    }
}

fn sample<'a>(mut c: Cursor<'a>, misc: u16, with: Layout<'_>) -> Option<Sample<'a>> {
    let fields = with.event.fields;
    let has = |field: SampleFormat| fields.contains(field);
    let mut sample = Sample {
        event: with.number,
        ip: 0,
        pid: -1,
        tid: -1,
        time: None,
        cpu: None,
        period: with.event.period,
        mode: CpuMode::from_misc(misc),
        chain: None,
    };
    if has(SampleFormat::IDENTIFIER) {
        c.skip(8)?;
    }
    if has(SampleFormat::IP) {
        sample.ip = c.u64()?;
    }
    if has(SampleFormat::TID) {
        (sample.pid, sample.tid) = (c.i32()?, c.i32()?);
    }
    if has(SampleFormat::TIME) {
        sample.time = Some(c.u64()?);
    }
    for unused in [SampleFormat::ADDR, SampleFormat::ID, SampleFormat::STREAM_ID] {
        if has(unused) {
            c.skip(8)?;
        }
    }
    if has(SampleFormat::CPU) {
        sample.cpu = Some(c.u32()?);
        c.skip(4)?;
    }
    if has(SampleFormat::PERIOD) {
        sample.period = c.u64()?;
    }
    if has(SampleFormat::READ) {
        skip_values(&mut c, with.event.read)?;
    }
    if has(SampleFormat::CALLCHAIN) {
        let bytes = c.u64()?.checked_mul(8)?;
        let big = with.endian == Endianness::BigEndian;
        sample.chain = Some(Chain { bytes: c.take(bytes)?, big });
    }
    Some(sample)
}

/// Counter values, of one event or of a group.
fn skip_values(c: &mut Cursor<'_>, format: u64) -> Option<()> {
    let on = |bit: u64| u64::from(format & bit != 0);
    let (ids, times) = (on(read::ID), on(read::ENABLED).wrapping_add(on(read::RUNNING)));
    let each = ids.wrapping_add(on(read::LOST)).wrapping_add(1);
    let values = if format & read::GROUP != 0 { c.u64()? } else { 1 };
    let words = values.checked_mul(each)?.checked_add(times)?;
    c.skip(words.checked_mul(8)?)
}

fn mmap<'a>(mut c: Cursor<'a>, misc: u16, second: bool) -> Option<Mmap<'a>> {
    let (pid, tid) = (c.i32()?, c.i32()?);
    let (start, length, offset) = (c.u64()?, c.u64()?, c.u64()?);
    let mut build_id = None;
    let (mut execute, mut huge) = (misc & MMAP_DATA == 0, false);
    if second {
        let id = c.take(24)?;
        if misc & MMAP_BUILD_ID != 0 {
            let (&length, rest) = id.split_first()?;
            build_id = BuildId::stored(rest.get(3..)?.first_chunk()?, Some(length));
        }
        execute = c.u32()? & EXECUTE != 0;
        huge = c.u32()? & HUGE != 0;
    }
    let mode = CpuMode::from_misc(misc);
    Some(Mmap {
        pid,
        tid,
        start,
        length,
        offset,
        name: text(c.rest()),
        build_id,
        mode,
        execute,
        huge,
    })
}

fn comm<'a>(mut c: Cursor<'a>, misc: u16) -> Option<Comm<'a>> {
    let (pid, tid) = (c.i32()?, c.i32()?);
    Some(Comm { pid, tid, name: text(c.rest()), exec: misc & COMM_EXEC != 0 })
}

fn task(mut c: Cursor<'_>, misc: u16) -> Option<Task> {
    let (pid, parent_pid) = (c.i32()?, c.i32()?);
    let (tid, parent_tid) = (c.i32()?, c.i32()?);
    Some(Task { pid, tid, parent_pid, parent_tid, made_up: misc & FORK_EXEC != 0 })
}

fn ksymbol<'a>(mut c: Cursor<'a>) -> Option<Ksymbol<'a>> {
    let (start, length) = (c.u64()?, c.u32()?);
    let (_kind, flags) = (c.u16()?, c.u16()?);
    Some(Ksymbol { start, length, removed: flags & 1 != 0, name: text(c.rest()) })
}

fn lost(mut c: Cursor<'_>) -> Option<u64> {
    c.skip(8)?;
    c.u64()
}
