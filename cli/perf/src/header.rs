//! The header: which events were recorded, and where the data is.
//!
//! In: the first bytes of a file or pipe. Out: [`Header`] and the place of the data.
//! Allocates by what is there, never by what is claimed.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use linux_perf_event_reader::{CpuMode, Endianness};

use crate::attr::Event;
use crate::build_id::BuildId;
use crate::bytes::Cursor;
use crate::error::Error;
use crate::features;

/// Bytes of the header of a file, and of a pipe.
const FILE_HEADER: u64 = 104;
pub(crate) const PIPE_HEADER: u64 = 16;
/// Bytes behind an attribute: where its ids are.
const IDS: u64 = 16;
/// An attribute larger than this is not one.
const LARGEST_ATTR: u64 = 4096;
/// More events or ids than this are not kept: a machine with 4096 processors has
/// 4096 ids an event.
const MOST_EVENTS: usize = 1024;
const MOST_IDS: usize = 1 << 18;
/// Build-ids kept, and bytes of their paths.
const MOST_FILES: usize = 1 << 14;
const MOST_PATHS: usize = 1 << 20;
/// An event's name is cut here; the longest real ones have some hundred bytes.
const LONGEST_NAME: usize = 1024;

/// What a profile says about itself.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// session.next_sample()?; // in a pipe, the header comes in pieces
/// let header: &symidx_perf::Header = session.reader().header();
/// assert_eq!((header.events.len(), header.is_pipe), (1, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Header {
    /// The byte order of the machine that recorded.
    pub(crate) endian: Endianness,
    /// The recorded events.
    pub events: Vec<Event>,
    /// `uname -m` there.
    pub arch: Option<String>,
    /// `uname -r` there.
    pub os_release: Option<String>,
    /// Its name.
    pub hostname: Option<String>,
    /// Build-ids of the files that had samples, as perf found them when it ended.
    pub build_ids: Vec<FileId>,
    /// True for the format that goes through pipes.
    pub is_pipe: bool,
    pub(crate) ids: Ids,
    /// Build-ids that there was no room for.
    pub(crate) refused_build_ids: u64,
    /// Bytes of the paths of [`Header::build_ids`].
    paths: usize,
}

/// One line of the build-id table.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// session.next_sample()?;
/// let file: &symidx_perf::FileId = &session.reader().header().build_ids[0];
/// assert_eq!(format!("{} {}", file.build_id, file.path.escape_ascii()), "1122334455667788 /bin/app");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileId {
    /// Path, or a name in brackets.
    pub path: Vec<u8>,
    /// Its build-id.
    pub build_id: BuildId,
    /// Kernel or user.
    pub mode: CpuMode,
}

/// Which event an id is of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    sorted: Vec<(u64, usize)>,
}

impl Ids {
    fn extend(&mut self, ids: impl Iterator<Item = u64>, event: usize) {
        let room = MOST_IDS.saturating_sub(self.sorted.len());
        self.sorted.extend(ids.take(room).map(|id| (id, event)));
        self.sorted.sort_unstable();
    }

    #[inline]
    pub(crate) fn event(&self, id: u64) -> Option<usize> {
        let at = self.sorted.binary_search_by_key(&id, |&(other, _)| other).ok()?;
        self.sorted.get(at).map(|&(_, event)| event)
    }
}

/// Where something is in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl Section {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Option<Self> {
        Some(Self { offset: cursor.u64()?, size: cursor.u64()? })
    }
}

/// The first 16 bytes: byte order, and whether a file or a pipe follows.
pub(crate) fn start(bytes: [u8; 16]) -> Result<(Endianness, u64), Error> {
    let (magic, _) = bytes.split_at(8);
    let endian = match magic {
        b"PERFILE2" => Endianness::LittleEndian,
        b"2ELIFREP" => Endianness::BigEndian,
        _ => {
            let found = magic.first_chunk().copied().unwrap_or_default();
            return Err(Error::NotAProfile { found });
        }
    };
    let mut cursor = Cursor::new(bytes.get(8..).unwrap_or(&[]), endian);
    Ok((endian, cursor.u64().unwrap_or(0)))
}

impl Header {
    pub(crate) fn new(endian: Endianness, is_pipe: bool) -> Self {
        Self {
            endian,
            events: Vec::new(),
            arch: None,
            os_release: None,
            hostname: None,
            build_ids: Vec::new(),
            is_pipe,
            ids: Ids::default(),
            refused_build_ids: 0,
            paths: 0,
        }
    }

    /// The header of a file, and where its data is; a size of 0: up to the end,
    /// since perf was ended before it could write it.
    pub(crate) fn of_file(file: &mut File, endian: Endianness) -> Result<(Self, Section), Error> {
        let io = |error| Error::io("read the header")(error);
        let bytes = read_at(file, 0, FILE_HEADER).map_err(io)?;
        let mut cursor = Cursor::new(&bytes, endian);
        let parts = (|| {
            cursor.skip(16)?;
            let attr_size = cursor.u64()?;
            let attrs = Section::parse(&mut cursor)?;
            let data = Section::parse(&mut cursor)?;
            let _event_types = Section::parse(&mut cursor)?;
            let bits = [cursor.u64()?, cursor.u64()?, cursor.u64()?, cursor.u64()?];
            Some((attr_size, attrs, data, bits))
        })();
        let Some((attr_size, attrs, data, bits)) = parts else {
            return Err(Error::Damaged {
                expected: "a header of 104 bytes",
                found: format!("{} bytes", bytes.len()),
                offset: 0,
            });
        };
        let mut header = Self::new(endian, false);
        header.read_attrs(file, attr_size, attrs)?;
        if data.size != 0 {
            // What the file says beside its data: without it, the data still counts.
            let _ = features::read(file, data, bits, &mut header);
        }
        Ok((header, data))
    }

    fn read_attrs(&mut self, file: &mut File, each: u64, attrs: Section) -> Result<(), Error> {
        let io = |error| Error::io("read the events")(error);
        if !(IDS..=LARGEST_ATTR).contains(&each) {
            return Err(Error::Damaged {
                expected: "attributes of 80 to 4096 bytes",
                found: format!("a size of {each}"),
                offset: 16,
            });
        }
        let end = attrs.offset.saturating_add(attrs.size);
        let mut at = attrs.offset;
        while at.saturating_add(each) <= end && self.events.len() < MOST_EVENTS {
            let bytes = read_at(file, at, each).map_err(io)?;
            let (attr, ids) =
                bytes.split_at_checked(bytes.len().saturating_sub(16)).unwrap_or_default();
            let event = Event::parse(attr, self.endian);
            let ids = Section::parse(&mut Cursor::new(ids, self.endian));
            let (Some((event, _)), Some(ids)) = (event, ids) else {
                return Err(Error::Damaged {
                    expected: "the attribute of an event",
                    found: format!("{} bytes that are none", bytes.len()),
                    offset: at,
                });
            };
            let number = self.events.len();
            self.events.push(event);
            let most = u64::try_from(MOST_IDS).unwrap_or(0).saturating_mul(8);
            let bytes = read_at(file, ids.offset, ids.size.min(most)).map_err(io)?;
            self.ids.extend(numbers(&bytes, self.endian), number);
            at = at.saturating_add(each);
        }
        if self.events.is_empty() { Err(Error::NoEvents) } else { Ok(()) }
    }

    /// The build-id of a file with this name.
    pub(crate) fn build_id(&self, name: &[u8]) -> Option<BuildId> {
        self.build_ids.iter().find(|file| file.path == name).map(|file| file.build_id)
    }

    /// Takes a build-id in; counts it where there is no room for more.
    pub(crate) fn add_build_id(&mut self, file: FileId) {
        let paths = self.paths.saturating_add(file.path.len());
        if self.build_ids.len() >= MOST_FILES || paths > MOST_PATHS {
            self.refused_build_ids = self.refused_build_ids.saturating_add(1);
            return;
        }
        self.paths = paths;
        self.build_ids.push(file);
    }

    /// Names an event as the profile does.
    pub(crate) fn name_event(&mut self, number: usize, name: &[u8]) {
        if let Some(event) = self.events.get_mut(number) {
            let name = name.get(..LONGEST_NAME).unwrap_or(name);
            event.name = String::from_utf8_lossy(name).into_owned();
        }
    }

    /// Takes the attribute of a `HEADER_ATTR` record in; false when it is damaged.
    pub(crate) fn add_attr(&mut self, body: &[u8]) -> bool {
        let Some((event, size)) = Event::parse(body, self.endian) else { return false };
        let mut cursor = Cursor::new(body, self.endian);
        if cursor.skip(size).is_none() || self.events.len() >= MOST_EVENTS {
            return false;
        }
        let number = self.events.len();
        self.events.push(event);
        self.ids.extend(numbers(cursor.rest(), self.endian), number);
        true
    }
}

fn numbers(bytes: &[u8], endian: Endianness) -> impl Iterator<Item = u64> {
    let mut cursor = Cursor::new(bytes, endian);
    std::iter::from_fn(move || cursor.u64())
}

/// Up to `size` bytes from `offset`, fewer where the file ends.
pub(crate) fn read_at(file: &mut File, offset: u64, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}
