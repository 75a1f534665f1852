//! The bytes of a profile: a file or a pipe in, one record after another out.
//!
//! One buffer of fixed size; a record is at most 64 KiB, so it always fits. What the
//! header claims decides only where to stop.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};

use linux_perf_event_reader::Endianness;

/// Bytes read at once.
const BUFFER: usize = 256 * 1024;

/// Bytes of a record's header.
pub(crate) const HEADER: usize = 8;

/// Where a profile comes from.
pub(crate) enum Source {
    /// A file that can be read from any place.
    File(File),
    /// Anything else.
    Stream(Box<dyn Read + Send>),
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Stream(stream) => stream.read(buffer),
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::File(_) => "file",
            Self::Stream(_) => "stream",
        })
    }
}

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: u32,
    pub(crate) misc: u16,
    /// Bytes of the record, header included.
    pub(crate) size: u16,
}

impl Head {
    pub(crate) fn parse(bytes: [u8; HEADER], endian: Endianness) -> Self {
        let [a, b, c, d, e, f, g, h] = bytes;
        match endian {
            Endianness::LittleEndian => Self {
                kind: u32::from_le_bytes([a, b, c, d]),
                misc: u16::from_le_bytes([e, f]),
                size: u16::from_le_bytes([g, h]),
            },
            Endianness::BigEndian => Self {
                kind: u32::from_be_bytes([a, b, c, d]),
                misc: u16::from_be_bytes([e, f]),
                size: u16::from_be_bytes([g, h]),
            },
        }
    }
}

/// What comes next in the data.
#[derive(Debug)]
pub(crate) enum Next<'a> {
    /// A record, its header included.
    Record(Head, &'a [u8]),
    /// Nothing: the data ends where it should.
    End,
    /// Nothing: the last record is cut short.
    Cut,
    /// A header with a size below its own: what follows cannot be found.
    Lost,
}

/// The data of a profile, read from front to back.
#[derive(Debug)]
pub(crate) struct Input {
    source: Source,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes of the source before `start`.
    position: u64,
    /// Where the data ends; `None`: where the source does.
    stop: Option<u64>,
}

impl Input {
    pub(crate) fn new(source: Source) -> Self {
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Self { source, buffer, start: 0, end: 0, position: 0, stop: None }
    }

    pub(crate) fn file(&mut self) -> Option<&mut File> {
        match &mut self.source {
            Source::File(file) => Some(file),
            Source::Stream(_) => None,
        }
    }

    /// Bytes of the source that have been taken.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Where the data ends, if that is known.
    pub(crate) fn stop(&self) -> Option<u64> {
        self.stop
    }

    /// Goes on at `start` of the file, as far as `stop`.
    pub(crate) fn restart(&mut self, start: u64, stop: Option<u64>) -> io::Result<()> {
        if let Source::File(file) = &mut self.source {
            file.seek(SeekFrom::Start(start))?;
        }
        (self.start, self.end) = (0, 0);
        (self.position, self.stop) = (start, stop);
        Ok(())
    }

    /// Makes `count` bytes available, fewer only where the data ends; `count` is
    /// never more than the buffer holds.
    fn fill(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.end.saturating_sub(self.start) < count {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end.saturating_sub(self.start));
            while self.end < count {
                let Some(free) = self.buffer.get_mut(self.end..) else { break };
                match self.source.read(free) {
                    Ok(0) => break,
                    Ok(read) => self.end = self.end.saturating_add(read),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let left = self.stop.map(|stop| stop.saturating_sub(self.position));
        let left = left.and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX);
        let end = self.end.min(self.start.saturating_add(count.min(left)));
        Ok(self.buffer.get(self.start..end).unwrap_or(&[]))
    }

    fn consume(&mut self, count: usize) {
        self.start = self.start.saturating_add(count).min(self.end);
        self.position = self.position.saturating_add(u64::try_from(count).unwrap_or(0));
    }

    /// The next bytes, as a header of the whole file or of a pipe.
    pub(crate) fn exactly<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        let bytes = self.fill(N)?.first_chunk().copied();
        if bytes.is_some() {
            self.consume(N);
        }
        Ok(bytes)
    }

    /// The next record.
    #[inline]
    pub(crate) fn record(&mut self, endian: Endianness) -> io::Result<Next<'_>> {
        let head = match self.fill(HEADER)? {
            [] => return Ok(Next::End),
            bytes => bytes.first_chunk().map(|head| Head::parse(*head, endian)),
        };
        let Some(head) = head else { return Ok(Next::Cut) };
        let size = usize::from(head.size);
        if size < HEADER {
            return Ok(Next::Lost);
        }
        if self.fill(size)?.len() < size {
            return Ok(Next::Cut);
        }
        let start = self.start;
        self.consume(size);
        let bytes = self.buffer.get(start..self.start).unwrap_or(&[]);
        Ok(Next::Record(head, bytes))
    }

    /// Copies everything that is left.
    pub(crate) fn copy_to(&mut self, to: &mut File) -> io::Result<()> {
        loop {
            let bytes = self.fill(BUFFER)?;
            if bytes.is_empty() {
                return Ok(());
            }
            to.write_all(bytes)?;
            let count = bytes.len();
            self.consume(count);
        }
    }

    /// Passes over `count` bytes; false when there are not so many.
    pub(crate) fn skip(&mut self, count: u64) -> io::Result<bool> {
        let end = self.position.saturating_add(count);
        if self.stop.is_some_and(|stop| end > stop) {
            return Ok(false);
        }
        let mut left = count;
        while left != 0 {
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(BUFFER);
            let have = self.fill(step)?.len();
            if have == 0 {
                return Ok(false);
            }
            self.consume(have);
            left = left.saturating_sub(u64::try_from(have).unwrap_or(left));
        }
        Ok(true)
    }
}
