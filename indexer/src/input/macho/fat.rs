//! Fat files: the bytes of a file and a wish in, the bytes of one slice out.
//! Never guesses: without a wish, a file with several slices is an error that
//! lists them. What a slice is, its own header says, not the fat header.

use std::path::Path;

use object::BigEndian;
use object::Endianness;
use object::macho::{self, CpuSubtype, CpuType, FatArch32, FatArch64, FatHeader};
use object::read::macho::MachHeader;

use super::{arch, bytes, commands, header_of, is_thin};
use crate::input::{InputError, ReadOptions, Slice};

/// A count this big or bigger in a 32-bit fat header is the version of a Java
/// class file (the first was 45). The `file` command draws the line there too.
const FIRST_JAVA_VERSION: u32 = 45;
/// No Java version is this big yet; a bigger "count" is just damage.
const LAST_JAVA_VERSION: u32 = 255;

/// A fat header with more entries is damaged: tables of thousands of slices,
/// all of the same bytes, would cost as many builds.
const MAX_SLICES: u32 = 256;

/// The bytes that were chosen.
pub(super) struct Chosen<'data> {
    pub(super) bytes: &'data [u8],
    /// Offset in the file.
    pub(super) offset: u64,
    /// They are a slice of a fat file.
    pub(super) is_slice: bool,
}

/// One entry of a fat header, and why its slice cannot be used, if so.
struct Entry<'data> {
    slice: Slice,
    bytes: Result<&'data [u8], String>,
}

/// True when the bytes start with a fat magic number (also that of Java class files).
pub(super) fn is_fat(data: &[u8]) -> bool {
    matches!(magic(data), Some(macho::FAT_MAGIC | macho::FAT_MAGIC_64))
}

fn magic(data: &[u8]) -> Option<u32> {
    bytes::read_at::<object::U32<BigEndian>>(data, 0).map(|magic| magic.get(BigEndian))
}

/// The slices of a fat file, in file order, also those that are damaged; `None`
/// when it is not a fat file or its header cannot be believed. For
/// `--all-archs`: [`super::read`] each by its arch name or UUID.
///
/// ```
/// let fat = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/macho/fat/fat3.macho"));
/// for slice in symidx_indexer::input::macho::slices(fat).unwrap() {
///     println!("{} at {:#x}, {} bytes", slice.arch, slice.offset, slice.size);
/// }
/// assert!(symidx_indexer::input::macho::slices(b"thin").is_none());
/// ```
#[must_use]
pub fn slices(data: &[u8]) -> Option<Vec<Slice>> {
    if !is_fat(data) {
        return None;
    }
    let entries = entries(data).ok()?;
    Some(entries.into_iter().map(|entry| entry.slice).collect())
}

/// True when a fat magic number and this count are the start of a Java class file.
fn is_java_class(magic: u32, count: u32) -> bool {
    // The count's place holds the minor version (high half) and the major version.
    let major = count & 0xffff;
    magic == macho::FAT_MAGIC
        && count >= FIRST_JAVA_VERSION
        && (FIRST_JAVA_VERSION..=LAST_JAVA_VERSION).contains(&major)
}

/// The entries of a fat header, or (expected, found, advice).
fn entries(data: &[u8]) -> Result<Vec<Entry<'_>>, (String, String, &'static str)> {
    let cut = "the file is cut off; copy it again";
    let Some(header) = bytes::read_at::<FatHeader>(data, 0) else {
        return Err(("a whole fat header".to_owned(), format!("{} bytes", data.len()), cut));
    };
    let count = header.nfat_arch.get(BigEndian);
    let magic = header.magic.get(BigEndian);
    if is_java_class(magic, count) {
        return Err((
            "Mach-O".to_owned(),
            "a Java class file".to_owned(),
            "give the binary itself; JVM code has no symbols to index",
        ));
    }
    let table = data.get(size_of::<FatHeader>()..).unwrap_or_default();
    let wide = magic == macho::FAT_MAGIC_64;
    let entry_size = if wide { size_of::<FatArch64>() } else { size_of::<FatArch32>() };
    let room = table.len().checked_div(entry_size).unwrap_or_default();
    if count == 0 || usize::try_from(count).map_or(true, |count| count > room) {
        return Err((
            "a fat header whose architectures fit the file".to_owned(),
            format!("{count} architectures and room for {room}"),
            cut,
        ));
    }
    if count > MAX_SLICES {
        return Err((
            format!("a fat header of at most {MAX_SLICES} architectures"),
            format!("{count} architectures"),
            "the header is damaged; copy the file again",
        ));
    }
    let entry_size = u64::try_from(entry_size).unwrap_or(u64::MAX);
    let headers = u64::from(count).saturating_mul(entry_size).saturating_add(8);
    let entries = if wide {
        bytes::records::<FatArch64>(table, count.into())
            .iter()
            .map(|a| {
                let (offset, size) = (a.offset.get(BigEndian), a.size.get(BigEndian));
                let id = (a.cputype.get(BigEndian), a.cpusubtype.get(BigEndian));
                entry(data, headers, id, offset, size)
            })
            .collect()
    } else {
        bytes::records::<FatArch32>(table, count.into())
            .iter()
            .map(|a| {
                let (offset, size) = (a.offset.get(BigEndian), a.size.get(BigEndian));
                let id = (a.cputype.get(BigEndian), a.cpusubtype.get(BigEndian));
                entry(data, headers, id, offset.into(), size.into())
            })
            .collect()
    };
    Ok(entries)
}

/// One entry: the slice as its own header names it, or as the fat header does
/// when the slice cannot be read.
fn entry(
    data: &[u8],
    headers: u64,
    (cpu, subtype): (CpuType, CpuSubtype),
    offset: u64,
    size: u64,
) -> Entry<'_> {
    let bytes = slice_bytes(data, headers, offset, size);
    let own = bytes.as_ref().ok().and_then(|bytes| identity(bytes));
    let (arch, uuid) = own.unwrap_or_else(|| (arch::name(cpu, subtype), None));
    Entry { slice: Slice { arch, uuid, offset, size }, bytes }
}

/// The bytes of a slice: inside the file, behind the fat header, and thin.
fn slice_bytes(data: &[u8], headers: u64, offset: u64, size: u64) -> Result<&[u8], String> {
    if offset < headers {
        return Err("the fat file itself again".to_owned());
    }
    let Some(bytes) = bytes::at(data, offset, size) else {
        return Err(format!("{size:#x} bytes claimed in a file of {:#x} bytes", data.len()));
    };
    if is_fat(bytes) {
        return Err("a fat file inside a fat file".to_owned());
    }
    if bytes.starts_with(b"!<arch>\n") {
        return Err("a static archive".to_owned());
    }
    if !is_thin(bytes) {
        return Err(crate::input::describe_start(bytes));
    }
    Ok(bytes)
}

/// Architecture name and UUID as a thin image states them.
pub(super) fn identity(bytes: &[u8]) -> Option<(&'static str, Option<[u8; 16]>)> {
    fn of<M: MachHeader<Endian = Endianness>>(
        bytes: &[u8],
        header: &M,
    ) -> (&'static str, Option<[u8; 16]>) {
        let endian = if header.is_big_endian() { Endianness::Big } else { Endianness::Little };
        let name = arch::name(header.cputype(endian), header.cpusubtype(endian));
        (name, commands::uuid(bytes, header, endian))
    }
    if let Some(header) = header_of::<macho::MachHeader64<Endianness>>(bytes) {
        Some(of(bytes, header))
    } else {
        header_of::<macho::MachHeader32<Endianness>>(bytes).map(|header| of(bytes, header))
    }
}

/// True when a slice is what the options ask for (anything, if they ask for nothing).
fn fits(slice: &Slice, options: &ReadOptions) -> bool {
    options.arch.as_deref().is_none_or(|wanted| arch::matches(wanted, slice.arch))
        && options.uuid.is_none_or(|wanted| slice.uuid == Some(wanted))
}

/// A UUID as it is usually written.
pub(super) fn uuid_text(uuid: &[u8; 16]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for (place, byte) in uuid.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

/// The usable images of a thin or fat file, with what they are.
pub(super) fn images(data: &[u8]) -> Vec<(Slice, &[u8])> {
    if is_fat(data) {
        let entries = entries(data).unwrap_or_default().into_iter();
        return entries.filter_map(|entry| Some((entry.slice, entry.bytes.ok()?))).collect();
    }
    let Some((arch, uuid)) = identity(data) else { return Vec::new() };
    vec![(Slice { arch, uuid, offset: 0, size: bytes::length(data) }, data)]
}

/// What the options ask for, in words.
fn wish(options: &ReadOptions) -> Option<String> {
    let mut words = options.arch.clone().unwrap_or_default();
    if let Some(uuid) = options.uuid {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str("with UUID ");
        words.push_str(&uuid_text(&uuid));
    }
    (!words.is_empty()).then_some(words)
}

/// Chooses the bytes to read: the one slice that fits the options.
pub(super) fn choose<'data>(
    path: &Path,
    data: &'data [u8],
    options: &ReadOptions,
) -> Result<Chosen<'data>, InputError> {
    let choice = |slices| InputError::ChooseSlice {
        path: path.to_path_buf(),
        wanted: wish(options),
        slices,
    };
    if !is_fat(data) {
        let Some((arch, uuid)) = identity(data) else {
            // Too short for a header: the reader says so.
            return Ok(Chosen { bytes: data, offset: 0, is_slice: false });
        };
        let slice = Slice { arch, uuid, offset: 0, size: bytes::length(data) };
        return if fits(&slice, options) {
            Ok(Chosen { bytes: data, offset: 0, is_slice: false })
        } else {
            Err(choice(vec![slice]))
        };
    }
    let entries = entries(data).map_err(|(expected, found, advice)| InputError::Malformed {
        path: path.to_path_buf(),
        offset: Some(0),
        expected,
        found,
        advice,
    })?;
    // A damaged slice stands back where a usable one fits as well.
    let fitting = |usable: bool| {
        let mut fitting =
            entries.iter().filter(|e| fits(&e.slice, options) && (!usable || e.bytes.is_ok()));
        (fitting.next(), fitting.next().is_some())
    };
    let asked = options.arch.is_some() || options.uuid.is_some();
    let (mut first, mut more) = fitting(asked);
    if first.is_none() {
        (first, more) = fitting(false);
    }
    match (first, more) {
        (Some(entry), false) => match &entry.bytes {
            Ok(bytes) => Ok(Chosen { bytes, offset: entry.slice.offset, is_slice: true }),
            Err(found) => Err(InputError::Malformed {
                path: path.to_path_buf(),
                offset: Some(entry.slice.offset),
                expected: format!("the Mach-O slice {}", entry.slice.arch),
                found: found.clone(),
                advice: "take another slice with --arch, or copy the file again",
            }),
        },
        _ => Err(choice(entries.into_iter().map(|entry| entry.slice).collect())),
    }
}
