//! Opening: bytes in, a [`View`] of typed slices out.
//!
//! Walks the section table and looks at identity and one region, so its cost
//! does not depend on the number of symbols. Promises made per entry (I9 and on) are bounded
//! where they are used and checked by `verify`; this module never reads them.

use core::fmt;

use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use crate::error::{Invariant, OpenError, Violation};
use crate::format::lines::{FileEntry, FunctionEntry, LineSpan};
use crate::format::{
    ADDRESSES_SECTION, ADDRESSES_SVMA, Alias, Display, ENCODING_PACKED, ENCODING_PLAIN,
    ENTRY_REQUIRED, Header, Identity, ImageSection, Large, MAGIC, MAX_SECTIONS, NONE, NameOnly,
    REGION_CODE, Record, Region, SECTION_ALIGN, SectionEntry, SectionId, Segment, VERSION,
};
use crate::lines::SpanLines;
use crate::packed::Dictionary;

/// A `u32` of the file as an index; on hosts where it does not fit, an index
/// that no slice has.
pub(crate) fn index(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn index64(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// The region most code lookups fall into, sliced once at open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area<'a> {
    /// First address.
    pub(crate) base: u64,
    /// Bytes; 0 = there is none.
    pub(crate) size: u64,
    /// Its records.
    pub(crate) records: &'a [Record],
    /// Its bucket table with the end entry; empty = search the records alone.
    pub(crate) buckets: &'a [U32],
    /// log2 of bytes per bucket.
    pub(crate) shift: u32,
    /// Index of its first record.
    pub(crate) first: u32,
    /// Index of the region.
    pub(crate) region: u32,
}

/// The file's sections as typed slices. All empty where the file has none.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) header: &'a Header,
    pub(crate) table: &'a [SectionEntry],
    pub(crate) identity: &'a Identity,
    pub(crate) regions: &'a [Region],
    pub(crate) segments: &'a [Segment],
    pub(crate) sections: &'a [ImageSection],
    pub(crate) buckets: &'a [U32],
    pub(crate) records: &'a [Record],
    pub(crate) large: &'a [Large],
    pub(crate) aliases: &'a [Alias],
    pub(crate) names_only: &'a [NameOnly],
    pub(crate) name_buckets: &'a [U32],
    pub(crate) name_order: &'a [U32],
    pub(crate) name_tags: &'a [u8],
    pub(crate) metadata: &'a [u8],
    pub(crate) names: &'a [u8],
    pub(crate) lines: &'a [u8],
    pub(crate) inlines: &'a [u8],
    pub(crate) files: &'a [FileEntry],
    pub(crate) functions: &'a [FunctionEntry],
    pub(crate) line_spans: &'a [LineSpan],
    pub(crate) line_windows: &'a [U32],
    pub(crate) display_buckets: &'a [U32],
    pub(crate) display: &'a [Display],
    pub(crate) display_text: &'a [u8],
    pub(crate) name_shift: u32,
    /// The names section has encoding [`ENCODING_PACKED`].
    pub(crate) packed: bool,
    pub(crate) hot: Area<'a>,
    pub(crate) hot_lines: SpanLines<'a>,
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View({} bytes)", self.bytes.len())
    }
}

impl<'a> View<'a> {
    /// The view of `bytes`; checks I1 to I8, I35 and I12, in this order.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, OpenError> {
        let (header, after) = open_header(bytes)?;
        let table = open_table(header, after, bytes.len())?;
        let slice = |id: SectionId| section_bytes(bytes, table, id);
        let identity = open_identity(slice(SectionId::IDENTITY))?;
        let mut view = View {
            bytes,
            header,
            table,
            identity,
            regions: typed(slice(SectionId::REGIONS)),
            segments: typed(slice(SectionId::SEGMENTS)),
            sections: typed(slice(SectionId::IMAGE_SECTIONS)),
            buckets: typed(slice(SectionId::BUCKETS)),
            records: typed(slice(SectionId::RECORDS)),
            large: typed(slice(SectionId::LARGE)),
            aliases: typed(slice(SectionId::ALIASES)),
            names_only: typed(slice(SectionId::NAMES_ONLY)),
            name_buckets: typed(slice(SectionId::NAME_BUCKETS)),
            name_order: typed(slice(SectionId::NAME_ORDER)),
            name_tags: slice(SectionId::NAME_TAGS),
            metadata: slice(SectionId::METADATA),
            names: slice(SectionId::NAMES),
            lines: slice(SectionId::LINES),
            inlines: slice(SectionId::INLINES),
            files: typed(slice(SectionId::FILES)),
            functions: typed(slice(SectionId::FUNCTIONS)),
            line_spans: typed(slice(SectionId::LINE_SPANS)),
            line_windows: typed(slice(SectionId::LINE_WINDOWS)),
            display_buckets: typed(slice(SectionId::DISPLAY_BUCKETS)),
            display: typed(slice(SectionId::DISPLAY)),
            display_text: slice(SectionId::DISPLAY_TEXT),
            name_shift: header.name_shift.get(),
            packed: open_packed(header, table, slice(SectionId::NAMES))?,
            hot: Area {
                base: 0,
                size: 0,
                records: &[],
                buckets: &[],
                shift: 0,
                first: 0,
                region: NONE,
            },
            hot_lines: SpanLines::EMPTY,
        };
        view.hot = view.open_hot(header.hot_region.get())?;
        view.hot_lines = view.largest_lines();
        Ok(view)
    }

    /// The region's slices; `None` when they do not lie in their sections (I11).
    pub(crate) fn area(&self, region: u32) -> Option<Area<'a>> {
        let entry = self.regions.get(index(region))?;
        let first = entry.first.get();
        let records = slice_of(self.records, first, entry.count.get())?;
        let buckets = match entry.bucket_count.get() {
            0 => &[][..],
            count => slice_of(self.buckets, entry.bucket_first.get(), count.checked_add(1)?)?,
        };
        Some(Area {
            base: entry.base.get(),
            size: entry.size.get().min(1 << 32),
            records,
            buckets,
            shift: entry.shift.get() & 31,
            first,
            region,
        })
    }

    fn open_hot(&self, region: u32) -> Result<Area<'a>, Violation> {
        if region == NONE {
            return Ok(self.hot);
        }
        let wrong = || Violation::header(Invariant::HotRegion, 44);
        let area = self.area(region).ok_or_else(wrong)?;
        let code = self
            .regions
            .get(index(region))
            .is_some_and(|entry| entry.flags.get() & REGION_CODE != 0);
        if !code || self.header.addresses.get() != ADDRESSES_SVMA {
            return Err(wrong());
        }
        Ok(area)
    }
}

fn slice_of<T>(all: &[T], first: u32, count: u32) -> Option<&[T]> {
    let first = index(first);
    all.get(first..first.checked_add(index(count))?)
}

/// Refuses what is no index of `file_size` bytes, by its first bytes alone.
#[cfg(all(feature = "process", unix))]
pub(crate) fn check_header(first: &[u8], file_size: u64) -> Result<(), OpenError> {
    open_header_of(first, file_size).map(|_| ())
}

fn open_header(bytes: &[u8]) -> Result<(&Header, &[u8]), OpenError> {
    open_header_of(bytes, length(bytes))
}

fn open_header_of(bytes: &[u8], file_size: u64) -> Result<(&Header, &[u8]), OpenError> {
    let (header, after) = match Header::ref_from_prefix(bytes) {
        Ok(split) => split,
        Err(_) => {
            return Err(match bytes.first_chunk::<8>() {
                Some(magic) if *magic == MAGIC => {
                    Violation::header(Invariant::HeaderComplete, length(bytes)).into()
                }
                _ => {
                    let mut found = [0; 8];
                    for (to, from) in found.iter_mut().zip(bytes) {
                        *to = *from;
                    }
                    OpenError::NotAnIndex { found }
                }
            });
        }
    };
    if header.magic != MAGIC {
        return Err(OpenError::NotAnIndex { found: header.magic });
    }
    if header.version.get() != VERSION {
        return Err(OpenError::Version { found: header.version.get() });
    }
    let addresses = header.addresses.get();
    if header.required_flags.get() != 0
        || header.reserved.iter().any(|&b| b != 0)
        || header.name_shift.get() > 8
        || (addresses != ADDRESSES_SVMA && addresses != ADDRESSES_SECTION)
    {
        return Err(Violation::header(Invariant::FlagsKnown, 12).into());
    }
    if header.file_size.get() != file_size {
        let numbers = Some((header.file_size.get(), file_size));
        return Err(Violation { numbers, ..Violation::header(Invariant::FileSize, 24) }.into());
    }
    Ok((header, after))
}

fn open_table<'a>(
    header: &Header,
    after: &'a [u8],
    file_size: usize,
) -> Result<&'a [SectionEntry], Violation> {
    let count = header.section_count.get();
    let table = Some(count)
        .filter(|&count| count <= MAX_SECTIONS)
        .and_then(|count| <[SectionEntry]>::ref_from_prefix_with_elems(after, index(count)).ok())
        .map(|(table, _)| table)
        .ok_or(Violation::header(Invariant::TableComplete, 20))?;
    let header_end = size_of::<Header>().saturating_add(size_of_val(table));
    let mut end = u64::try_from(header_end).unwrap_or(u64::MAX);
    let limit = u64::try_from(file_size).unwrap_or(u64::MAX);
    for (i, entry) in table.iter().enumerate() {
        let at = u64::try_from(i).unwrap_or(0).saturating_mul(64).saturating_add(128);
        let (offset, size) = (entry.offset.get(), entry.size.get());
        let stop = offset.checked_add(size).filter(|&stop| stop <= limit);
        let (true, Some(stop)) = (offset >= end && offset % SECTION_ALIGN == 0, stop) else {
            return Err(Violation::header(Invariant::SectionPlaced, at));
        };
        end = stop;
        let id = SectionId(entry.id.get());
        let required = entry.flags.get() & ENTRY_REQUIRED != 0;
        let known = id.entry_size().is_some() && is_known(id, entry.encoding.get());
        if (required && !known) || entry.flags.get() & !ENTRY_REQUIRED != 0 {
            return Err(Violation::header(Invariant::SectionKnown, at));
        }
        if table.iter().take(i).any(|earlier| earlier.id == entry.id) {
            return Err(Violation::header(Invariant::SectionKnown, at));
        }
        if known {
            let wanted = id.entry_size().unwrap_or(1).max(1);
            if entry.entry_size.get() != wanted || size.checked_rem(u64::from(wanted)) != Some(0) {
                return Err(Violation::header(Invariant::SectionShape, at));
            }
        }
    }
    Ok(table)
}

fn open_identity(bytes: &[u8]) -> Result<&Identity, Violation> {
    let wrong = Violation::entry(Invariant::IdentityShape, SectionId::IDENTITY, 0);
    let identity = Identity::ref_from_bytes(bytes).map_err(|_| wrong)?;
    let fits = match (identity.id_kind.get(), index(identity.id_len.get())) {
        (crate::format::ID_NONE, len) => len == 0,
        (crate::format::ID_BUILD_ID, len) => (1..=crate::format::MAX_ID).contains(&len),
        (crate::format::ID_UUID, len) => len == 16,
        _ => false,
    };
    if fits { Ok(identity) } else { Err(wrong) }
}

/// True when names are packed; checks I35.
fn open_packed(header: &Header, table: &[SectionEntry], names: &[u8]) -> Result<bool, Violation> {
    let is_names = |entry: &&SectionEntry| entry.id.get() == SectionId::NAMES.0;
    match table.iter().find(is_names).map(|entry| entry.encoding.get()) {
        Some(ENCODING_PACKED) => {}
        _ => return Ok(false),
    }
    let whole = Dictionary::read(names).is_some();
    match whole && header.name_shift.get() == 0 {
        true => Ok(true),
        false => Err(Violation::entry(Invariant::DictionaryWhole, SectionId::NAMES, 0)),
    }
}

/// True for the encodings of this version.
fn is_known(id: SectionId, encoding: u32) -> bool {
    encoding == ENCODING_PLAIN || (id == SectionId::NAMES && encoding == ENCODING_PACKED)
}

/// The bytes of a section with a known encoding; empty when there is none.
fn section_bytes<'a>(bytes: &'a [u8], table: &[SectionEntry], id: SectionId) -> &'a [u8] {
    table
        .iter()
        .find(|entry| entry.id.get() == id.0 && is_known(id, entry.encoding.get()))
        .and_then(|entry| {
            let start = index64(entry.offset.get());
            bytes.get(start..start.checked_add(index64(entry.size.get()))?)
        })
        .unwrap_or(&[])
}

/// The bytes as entries. I6 makes the length fit; anything else reads as empty.
fn typed<T>(bytes: &[u8]) -> &[T]
where
    T: FromBytes + zerocopy::Immutable + zerocopy::KnownLayout + zerocopy::Unaligned,
{
    <[T]>::ref_from_bytes(bytes).unwrap_or(&[])
}

pub(crate) fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
