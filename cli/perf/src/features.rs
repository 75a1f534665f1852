//! What a profile says beside its data: build-ids, names of events, the machine.
//!
//! In: the list of sections behind the data. Out: fields of [`Header`]. Whatever is
//! missing or damaged costs only itself.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};

use linux_perf_event_reader::{CpuMode, Endianness};

use crate::build_id::BuildId;
use crate::bytes::{Cursor, text};
use crate::header::{FileId, Header, Section, read_at};
use crate::input::{HEADER, Head};

/// Numbers of the sections, as bits in the header.
pub(crate) mod number {
    pub(crate) const BUILD_ID: u32 = 2;
    pub(crate) const HOSTNAME: u32 = 3;
    pub(crate) const OS_RELEASE: u32 = 4;
    pub(crate) const ARCH: u32 = 6;
    pub(crate) const EVENT_DESC: u32 = 12;
}

/// `header.misc` of a build-id: its length follows.
const HAS_LENGTH: u16 = 1 << 15;
/// Texts and descriptions longer than this are damaged.
const LONGEST: u64 = 1 << 18;

/// Reads the sections that matter.
pub(crate) fn read(
    file: &mut File,
    data: Section,
    bits: [u64; 4],
    header: &mut Header,
) -> io::Result<()> {
    let table = data.offset.saturating_add(data.size);
    let present = (0..256u32).filter(|bit| {
        let word = usize::try_from(bit >> 6).ok().and_then(|word| bits.get(word));
        word.is_some_and(|word| word.wrapping_shr(bit & 63) & 1 != 0)
    });
    let bytes = read_at(file, table, 256 * 16)?;
    let mut cursor = Cursor::new(&bytes, header.endian);
    for number in present {
        let Some(section) = Section::parse(&mut cursor) else { break };
        match number {
            number::BUILD_ID => {
                file.seek(SeekFrom::Start(section.offset))?;
                build_ids(BufReader::new((&mut *file).take(section.size)), header)?;
            }
            number::HOSTNAME | number::OS_RELEASE | number::ARCH | number::EVENT_DESC => {
                let bytes = read_at(file, section.offset, section.size.min(LONGEST))?;
                set(number, &bytes, header);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Takes in one section, as it stands in a file or in a `HEADER_FEATURE` record.
pub(crate) fn set(number: u32, bytes: &[u8], header: &mut Header) {
    let string = |bytes| string(&mut Cursor::new(bytes, header.endian)).map(lossy);
    match number {
        number::HOSTNAME => header.hostname = string(bytes),
        number::OS_RELEASE => header.os_release = string(bytes),
        number::ARCH => header.arch = string(bytes),
        number::EVENT_DESC => event_names(bytes, header),
        number::BUILD_ID => {
            // A slice cannot fail to be read.
            let _ = build_ids(bytes, header);
        }
        _ => {}
    }
}

/// A length, then so many bytes with NULs at their end.
fn string<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let length = cursor.u32()?;
    cursor.take(length.into()).map(text)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Count, size of an attribute; then attribute, count of ids, name, ids of each.
fn event_names(bytes: &[u8], header: &mut Header) {
    let mut cursor = Cursor::new(bytes, header.endian);
    let (Some(_count), Some(each)) = (cursor.u32(), cursor.u32()) else { return };
    for number in 0..header.events.len() {
        let name = (|| {
            cursor.skip(each.into())?;
            let ids = cursor.u32()?;
            let name = string(&mut cursor)?;
            cursor.skip(u64::from(ids).checked_mul(8)?)?;
            Some(name)
        })();
        let Some(name) = name else { break };
        header.name_event(number, name);
    }
}

/// One `build_id_event` after another.
fn build_ids(mut from: impl Read, header: &mut Header) -> io::Result<()> {
    let mut head = [0; HEADER];
    let mut body = Vec::new();
    loop {
        match from.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            result => result?,
        }
        let parsed = Head::parse(head, header.endian);
        let Some(length) = usize::from(parsed.size).checked_sub(HEADER) else { break };
        body.resize(length, 0);
        match from.read_exact(&mut body) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            result => result?,
        }
        if let Some(file) = build_id(parsed.misc, &body, header.endian) {
            header.add_build_id(file);
        }
    }
    Ok(())
}

/// The body of one `build_id_event`, also of a `HEADER_BUILD_ID` record.
pub(crate) fn build_id(misc: u16, body: &[u8], endian: Endianness) -> Option<FileId> {
    let mut cursor = Cursor::new(body, endian);
    cursor.skip(4)?;
    let id = cursor.take(24)?;
    let length = id.get(20).copied().filter(|_| misc & HAS_LENGTH != 0);
    let build_id = BuildId::stored(id.first_chunk()?, length)?;
    let mode = CpuMode::from_misc(misc);
    Some(FileId { path: text(cursor.rest()).to_owned(), build_id, mode })
}
