//! The `.debug_*` sections of one file: read whole or unpacked, relocated where
//! the file is relocatable.
//!
//! In: section headers and bytes. Out: [`DwarfSections`], borrowed from the file
//! where they lie there plainly, else kept in the store. A damaged section costs
//! itself, with a warning; nothing in a section is parsed.

use std::borrow::Cow;

use object::elf;
use object::endian::Endianness;

use super::bytes::{self, Budget};
use super::header::{File, Section, with_class};
use super::relocate::{Spread, relocate};
use crate::input::compressed::{self, Method, Room};
use crate::input::debug::slot;
use crate::model::{DwarfSections, Report, Store};

/// Which of a file's debug sections are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// `.debug_info` and its like.
    Plain,
    /// `.debug_info.dwo` and its like, and a package's indexes.
    Split,
}

/// One section that is wanted.
pub(super) struct Piece<'data> {
    /// Its number.
    pub(super) number: u32,
    /// Its name after `.debug_`.
    pub(super) name: &'data [u8],
    /// Its contents.
    pub(super) bytes: Cow<'data, [u8]>,
}

/// True when the file has a `.debug_info` section with anything in it.
pub(super) fn has_info(file: &File<'_>, flavour: Flavour) -> bool {
    file.sections.iter().any(|section| {
        short_name(section.name, flavour) == Some(b"info")
            && section.kind != elf::SHT_NOBITS
            && section.size > 0
    })
}

/// The debug sections of a file; `label` goes before each warning.
pub(super) fn load<'data>(
    file: &File<'data>,
    flavour: Flavour,
    label: &str,
    store: &'data Store,
    report: &mut Report,
) -> DwarfSections<'data> {
    join(pieces(file, flavour, label, report), store)
}

/// The debug sections of a relocatable file, its sections being laid out so.
pub(super) fn load_relocated<'data>(
    file: &File<'data>,
    spread: &Spread,
    label: &str,
    store: &'data Store,
    report: &mut Report,
) -> DwarfSections<'data> {
    let mut pieces = pieces(file, Flavour::Plain, label, report);
    relocate(file, spread, &mut pieces, report);
    join(pieces, store)
}

/// The name after `.debug_` (or `.zdebug_`), when the section is of that flavour.
fn short_name(name: &[u8], flavour: Flavour) -> Option<&[u8]> {
    let name = name.strip_prefix(b".debug_").or_else(|| name.strip_prefix(b".zdebug_"))?;
    match (flavour, name) {
        (Flavour::Plain, _) | (Flavour::Split, b"cu_index" | b"tu_index") => Some(name),
        (Flavour::Split, _) => name.strip_suffix(b".dwo"),
    }
}

/// The wanted sections in file order, unpacked.
pub(super) fn pieces<'data>(
    file: &File<'data>,
    flavour: Flavour,
    label: &str,
    report: &mut Report,
) -> Vec<Piece<'data>> {
    let mut known = DwarfSections::default();
    let mut budget = Budget::for_file(file.data, 1);
    let mut room = Room::for_file(file.data);
    let mut pieces = Vec::new();
    for (number, section) in (0u32..).zip(&file.sections) {
        let name = short_name(section.name, flavour).filter(|n| slot(&mut known, n).is_some());
        let Some(name) = name.filter(|_| section.kind != elf::SHT_NOBITS) else { continue };
        let found = if budget.take(bytes::length(file.section_data_there(section))) {
            contents(file, section, &mut room)
        } else {
            Err("bytes that were read already as other sections".to_owned())
        };
        match found {
            Ok(bytes) if bytes.is_empty() => {}
            Ok(bytes) => pieces.push(Piece { number, name, bytes }),
            Err(found) => report.warn(format!(
                "{label}{}: expected {}, found {found}; went on without it",
                String::from_utf8_lossy(section.name),
                expected(section),
            )),
        }
    }
    pieces
}

fn is_packed(section: &Section<'_>) -> bool {
    section.has(elf::SHF_COMPRESSED) || section.name.starts_with(b".zdebug_")
}

fn expected(section: &Section<'_>) -> String {
    if is_packed(section) {
        "a compressed section".to_owned()
    } else {
        format!("{:#x} bytes at offset {:#x}", section.size, section.offset)
    }
}

/// The contents of a section, unpacked when they are packed.
fn contents<'data>(
    file: &File<'data>,
    section: &Section<'data>,
    room: &mut Room,
) -> Result<Cow<'data, [u8]>, String> {
    let data = file.section_data(section).ok_or_else(|| {
        format!("{:#x} before the end of the file", file.section_data_there(section).len())
    })?;
    if section.has(elf::SHF_COMPRESSED) {
        let (method, packed, claimed) = header(file, data)?;
        return compressed::unpack(method, packed, claimed, room).map(Cow::Owned);
    }
    if section.name.starts_with(b".zdebug_") {
        // Some tools leave small sections as they are under this name.
        let Some((packed, claimed)) = compressed::old_header(data) else {
            return Err("no ZLIB header".to_owned());
        };
        return compressed::unpack(Method::Zlib, packed, claimed, room).map(Cow::Owned);
    }
    Ok(Cow::Borrowed(data))
}

/// The bytes that a packed section claims to unpack to; `None` for any other.
pub(super) fn claimed_size(file: &File<'_>, section: &Section<'_>) -> Option<u64> {
    let data = file.section_data(section).filter(|_| is_packed(section))?;
    match section.has(elf::SHF_COMPRESSED) {
        true => header(file, data).ok().map(|(_, _, claimed)| claimed),
        false => compressed::old_header(data).map(|(_, claimed)| claimed),
    }
}

/// What the compression header of a section says, and the packed bytes behind it.
fn header<'data>(file: &File<'_>, data: &'data [u8]) -> Result<(Method, &'data [u8], u64), String> {
    let header = with_class!(file.is_64, Elf => read_header::<Elf>(data, file.endian));
    let Some((kind, claimed, packed)) = header else {
        return Err(format!("{:#x} bytes, too few for its header", data.len()));
    };
    let method = match elf::CompressionType(kind) {
        elf::ELFCOMPRESS_ZLIB => Method::Zlib,
        elf::ELFCOMPRESS_ZSTD => Method::Zstd,
        _ => return Err(format!("compression type {kind}, neither zlib nor zstd")),
    };
    Ok((method, packed, claimed))
}

fn read_header<Elf: object::read::elf::FileHeader<Endian = Endianness>>(
    data: &[u8],
    endian: Endianness,
) -> Option<(u32, u64, &[u8])> {
    use object::read::elf::CompressionHeader as _;
    let header = bytes::record::<Elf::CompressionHeader>(data)?;
    let packed = data.get(std::mem::size_of::<Elf::CompressionHeader>()..)?;
    Some((header.ch_type(endian).0, header.ch_size(endian).into(), packed))
}

/// A name and the contents under it.
type Parts<'data> = (&'data [u8], Vec<Cow<'data, [u8]>>);

/// Puts each piece into its place. Several of one name (type units in groups of
/// a relocatable file) become one section, in file order.
pub(super) fn join<'data>(pieces: Vec<Piece<'data>>, store: &'data Store) -> DwarfSections<'data> {
    let mut sections = DwarfSections::default();
    let mut by_name: Vec<Parts<'data>> = Vec::new();
    for piece in pieces {
        match by_name.iter_mut().find(|(name, _)| *name == piece.name) {
            Some((_, parts)) => parts.push(piece.bytes),
            None => by_name.push((piece.name, vec![piece.bytes])),
        }
    }
    for (name, mut parts) in by_name {
        let joined = match (parts.len(), parts.pop()) {
            (1, Some(Cow::Borrowed(bytes))) => bytes,
            (1, Some(Cow::Owned(bytes))) => store.keep(bytes),
            (_, last) => {
                let parts = parts.iter().chain(&last);
                store.keep(parts.map(|part| &part[..]).collect::<Vec<_>>().concat())
            }
        };
        if let Some(slot) = slot(&mut sections, name) {
            *slot = joined;
        }
    }
    sections
}
