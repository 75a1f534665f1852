//! Writing: a plan in, the bytes of a `.symidx` file out.
//!
//! Two phases: every section's place is known before the first byte is
//! written; bytes and hashes follow in file order. This module never decides
//! anything about symbols.
//!
//! ```
//! # let plan = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/plan.rs"));
//! use symidx_indexer::write::{Contents, write};
//! use zerocopy::FromZeros as _;
//!
//! let identity = symidx::format::Identity::new_zeroed();
//! let contents = Contents { plan: &plan, identity, relocatable: false, metadata: &[] };
//! let mut bytes = Vec::new();
//! write(&contents, std::io::Cursor::new(&mut bytes))?;
//! let index = symidx::Index::from_bytes(&bytes)?;
//! assert_eq!(index.lookup(symidx::Svma(0x4001a8))?.unwrap().name(), "outer");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocks;
pub(crate) mod pieces;

use std::io::{self, Seek, SeekFrom, Write};

use symidx::format::{
    self, ENCODING_PACKED, ENCODING_PLAIN, ENTRY_REQUIRED, Header, Identity, MAGIC, SECTION_ALIGN,
    SectionEntry, SectionId, VERSION,
};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use crate::layout::{NamePool, Plan};
use blocks::Blocks;

/// Everything a file holds besides the plan.
///
/// ```
/// # let plan = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/plan.rs"));
/// use symidx_indexer::write::{Contents, write};
/// use zerocopy::FromZeros as _;
///
/// let mut identity = symidx::format::Identity::new_zeroed();
/// identity.input_size = 4784.into();
/// let contents = Contents { plan: &plan, identity, relocatable: false, metadata: &[] };
/// let mut bytes = Vec::new();
/// write(&contents, std::io::Cursor::new(&mut bytes))?;
/// assert_eq!(symidx::Index::from_bytes(&bytes)?.input_size(), 4784);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Contents<'a, 'data> {
    /// The tables and names.
    pub plan: &'a Plan<'data>,
    /// Who the input was.
    pub identity: Identity,
    /// Keys are (section, offset).
    pub relocatable: bool,
    /// Archived metadata; may be empty.
    pub metadata: &'a [u8],
}

/// Sections are written in this order: what a lookup touches first, names last.
const FILE_ORDER: [SectionId; 23] = [
    SectionId::IDENTITY,
    SectionId::REGIONS,
    SectionId::SEGMENTS,
    SectionId::IMAGE_SECTIONS,
    SectionId::BUCKETS,
    SectionId::RECORDS,
    SectionId::LARGE,
    SectionId::LINE_SPANS,
    SectionId::LINE_WINDOWS,
    SectionId::LINES,
    SectionId::INLINES,
    SectionId::FUNCTIONS,
    SectionId::FILES,
    SectionId::ALIASES,
    SectionId::NAMES_ONLY,
    SectionId::NAME_BUCKETS,
    SectionId::NAME_ORDER,
    SectionId::NAME_TAGS,
    SectionId::METADATA,
    SectionId::NAMES,
    SectionId::DISPLAY_BUCKETS,
    SectionId::DISPLAY,
    SectionId::DISPLAY_TEXT,
];

/// Writes the file from the start of `out`; returns its size in bytes. Empty
/// sections are left out.
///
/// # Errors
/// The writer's.
///
/// ```
/// # let plan = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/plan.rs"));
/// use symidx_indexer::write::{Contents, write};
/// use zerocopy::FromZeros as _;
///
/// let identity = symidx::format::Identity::new_zeroed();
/// let contents = Contents { plan: &plan, identity, relocatable: false, metadata: &[] };
/// let mut bytes = Vec::new(); // or a file
/// let size = write(&contents, std::io::Cursor::new(&mut bytes))?;
/// assert_eq!(size, bytes.len() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write<W: Write + Seek>(contents: &Contents<'_, '_>, out: W) -> io::Result<u64> {
    let plan = contents.plan;
    let placed = place(contents);
    let mut table: Vec<SectionEntry> = placed
        .iter()
        .map(|&(id, offset, size)| SectionEntry {
            id: id.0.into(),
            flags: if id.is_required() { ENTRY_REQUIRED } else { 0 }.into(),
            encoding: encoding(id, plan).into(),
            entry_size: id.entry_size().unwrap_or(1).into(),
            offset: offset.into(),
            size: size.into(),
            hash: [0; 32],
        })
        .collect();
    let file_size = placed.last().map_or(0, |&(_, offset, size)| offset.saturating_add(size));
    let mut out = Blocks::new(out, file_size);
    let mut header = Header {
        magic: MAGIC,
        version: VERSION.into(),
        required_flags: 0.into(),
        ignored_flags: 0.into(),
        section_count: u32::try_from(table.len()).unwrap_or(0).into(),
        file_size: file_size.into(),
        addresses: match contents.relocatable {
            true => format::ADDRESSES_SECTION,
            false => format::ADDRESSES_SVMA,
        }
        .into(),
        hot_region: plan.hot_region.into(),
        name_shift: plan.names.shift.into(),
        reserved: [0; 52],
        hash: [0; 32],
    };
    // Place holders: the hashes are known at the end.
    out.write_all(header.as_bytes())?;
    out.write_all(table.as_bytes())?;
    let mut at = length(header.as_bytes()).saturating_add(length(table.as_bytes()));
    for entry in &mut table {
        let padding = entry.offset.get().saturating_sub(at);
        for _ in 0..padding {
            out.write_all(&[0])?;
        }
        let mut section = Hashing { out: &mut out, hasher: blake3::Hasher::new(), written: 0 };
        write_section(SectionId(entry.id.get()), contents, &mut section)?;
        if section.written != entry.size.get() {
            return Err(io::Error::other("a section came out at another size than planned"));
        }
        entry.hash = *section.hasher.finalize().as_bytes();
        at = entry.offset.get().saturating_add(entry.size.get());
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(header.as_bytes());
    hasher.update(table.as_bytes());
    header.hash = *hasher.finalize().as_bytes();
    out.seek(SeekFrom::Start(0))?;
    out.write_all(header.as_bytes())?;
    out.write_all(table.as_bytes())?;
    out.flush()?;
    Ok(file_size)
}

/// Id, offset and size of every section with bytes.
fn place(contents: &Contents<'_, '_>) -> Vec<(SectionId, u64, u64)> {
    let sizes: Vec<(SectionId, u64)> =
        FILE_ORDER.iter().map(|&id| (id, section_size(id, contents))).collect();
    let present: Vec<_> = sizes.into_iter().filter(|&(_, size)| size > 0).collect();
    let table = present.len().saturating_mul(size_of::<SectionEntry>());
    let mut at = u64::try_from(size_of::<Header>().saturating_add(table)).unwrap_or(u64::MAX);
    let mut placed = Vec::new();
    for (id, size) in present {
        let offset = at.next_multiple_of(SECTION_ALIGN);
        placed.push((id, offset, size));
        at = offset.saturating_add(size);
    }
    placed
}

fn encoding(id: SectionId, plan: &Plan<'_>) -> u32 {
    match id == SectionId::NAMES && plan.is_packed() {
        true => ENCODING_PACKED,
        false => ENCODING_PLAIN,
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn u32s(values: &[u32]) -> u64 {
    u64::try_from(values.len()).unwrap_or(u64::MAX).saturating_mul(4)
}

fn section_size(id: SectionId, contents: &Contents<'_, '_>) -> u64 {
    let plan = contents.plan;
    match id {
        SectionId::IDENTITY => length(contents.identity.as_bytes()),
        SectionId::REGIONS => length(plan.regions.as_bytes()),
        SectionId::SEGMENTS => length(plan.segments.as_bytes()),
        SectionId::IMAGE_SECTIONS => length(plan.sections.as_bytes()),
        SectionId::BUCKETS => u32s(&plan.buckets),
        SectionId::RECORDS => length(plan.records.as_bytes()),
        SectionId::LARGE => length(plan.large.as_bytes()),
        SectionId::ALIASES => length(plan.aliases.as_bytes()),
        SectionId::NAMES_ONLY => length(plan.names_only.as_bytes()),
        SectionId::NAME_BUCKETS => u32s(&plan.name_buckets),
        SectionId::NAME_ORDER => u32s(&plan.name_order),
        SectionId::NAME_TAGS => length(&plan.name_tags),
        SectionId::METADATA => length(contents.metadata),
        SectionId::NAMES => plan.names.size,
        SectionId::LINE_SPANS => length(plan.lines.spans.as_bytes()),
        SectionId::LINE_WINDOWS => u32s(&plan.lines.windows),
        SectionId::LINES => length(&plan.lines.lines),
        SectionId::INLINES => length(&plan.lines.inlines),
        SectionId::FUNCTIONS => length(plan.lines.functions.as_bytes()),
        SectionId::FILES => length(plan.lines.files.as_bytes()),
        SectionId::DISPLAY_BUCKETS => u32s(&plan.display_buckets),
        SectionId::DISPLAY => length(plan.display.as_bytes()),
        SectionId::DISPLAY_TEXT => length(&plan.display_text),
        _ => 0,
    }
}

fn write_section(
    id: SectionId,
    contents: &Contents<'_, '_>,
    out: &mut impl Write,
) -> io::Result<()> {
    let plan = contents.plan;
    match id {
        SectionId::IDENTITY => out.write_all(contents.identity.as_bytes()),
        SectionId::REGIONS => out.write_all(plan.regions.as_bytes()),
        SectionId::SEGMENTS => out.write_all(plan.segments.as_bytes()),
        SectionId::IMAGE_SECTIONS => out.write_all(plan.sections.as_bytes()),
        SectionId::BUCKETS => write_u32s(&plan.buckets, out),
        SectionId::RECORDS => out.write_all(plan.records.as_bytes()),
        SectionId::LARGE => out.write_all(plan.large.as_bytes()),
        SectionId::ALIASES => out.write_all(plan.aliases.as_bytes()),
        SectionId::NAMES_ONLY => out.write_all(plan.names_only.as_bytes()),
        SectionId::NAME_BUCKETS => write_u32s(&plan.name_buckets, out),
        SectionId::NAME_ORDER => write_u32s(&plan.name_order, out),
        SectionId::NAME_TAGS => out.write_all(&plan.name_tags),
        SectionId::METADATA => out.write_all(contents.metadata),
        SectionId::NAMES => write_names(&plan.names, out),
        SectionId::LINE_SPANS => out.write_all(plan.lines.spans.as_bytes()),
        SectionId::LINE_WINDOWS => write_u32s(&plan.lines.windows, out),
        SectionId::LINES => out.write_all(&plan.lines.lines),
        SectionId::INLINES => out.write_all(&plan.lines.inlines),
        SectionId::FUNCTIONS => out.write_all(plan.lines.functions.as_bytes()),
        SectionId::FILES => out.write_all(plan.lines.files.as_bytes()),
        SectionId::DISPLAY_BUCKETS => write_u32s(&plan.display_buckets, out),
        SectionId::DISPLAY => out.write_all(plan.display.as_bytes()),
        SectionId::DISPLAY_TEXT => out.write_all(&plan.display_text),
        _ => Ok(()),
    }
}

fn write_u32s(values: &[u32], out: &mut impl Write) -> io::Result<()> {
    let mut buffer = [U32::ZERO; 1024];
    for chunk in values.chunks(buffer.len()) {
        for (to, &from) in buffer.iter_mut().zip(chunk) {
            *to = from.into();
        }
        out.write_all(buffer.get(..chunk.len()).unwrap_or(&[]).as_bytes())?;
    }
    Ok(())
}

fn write_names(pool: &NamePool<'_>, out: &mut impl Write) -> io::Result<()> {
    if let Some(section) = &pool.packed {
        return out.write_all(section);
    }
    let unit = 1u64 << pool.shift;
    let mut at = 0u64;
    // Small writes are gathered: the hasher is fastest on long runs.
    let mut buffer: Vec<u8> = Vec::with_capacity(1 << 17);
    for name in pool.iter() {
        while !at.is_multiple_of(unit) {
            buffer.push(0);
            at = at.saturating_add(1);
        }
        let before = buffer.len();
        if name.is_long() {
            let length = u32::try_from(name.len())
                .map_err(|_| io::Error::other("a name of 4 GiB or more"))?;
            buffer.extend_from_slice(&length.to_le_bytes());
        }
        name.append_to(&mut buffer);
        let added = buffer.len().saturating_sub(before);
        at = at.saturating_add(u64::try_from(added).unwrap_or(u64::MAX));
        if buffer.len() >= 1 << 16 {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)
}

/// Counts and hashes what passes through.
struct Hashing<'w, W> {
    out: &'w mut W,
    hasher: blake3::Hasher,
    written: u64,
}

impl<W: Write> Write for Hashing<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        self.hasher.update(bytes);
        self.written = self.written.saturating_add(length(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
