//! Mach-O input: one slice of a file and its companions in, one [`Image`] out.
//!
//! In: the bytes of a thin or fat file (or of the binary in a `.dSYM` bundle).
//! Out: its symbols without the underscore that the format adds, its sections,
//! its segments, its function starts and its debug information. This module never
//! decides which symbol wins, never parses DWARF, and never trusts a count or an
//! offset of the file.
//!
//! Choices made here, each a function with its own test:
//! - `__mh_execute_header` and any other symbol that lies in no section is kept
//!   by name only; a symbol exactly at the end of its section is a label there.
//! - `ltmpN` labels are dropped everywhere, `L…` labels (which the assembler
//!   means to throw away) in object files only; `l_…` names are kept.
//! - Anything with `N_EXT` is global (weak with `N_WEAK_DEF`), everything else local;
//!   a private external symbol is global in an object and local once linked,
//!   because the linker clears its `N_EXT`.
//! - Symbols have no sizes in Mach-O, so all sizes are 0 (unknown). Stubs in
//!   `__stubs` have one, and are named `name@plt` like an ELF PLT entry.
//! - The export trie is a second table, as `.dynsym` is: what it has beside the symbol
//!   table is a symbol too, and in a stripped library it is all there is.
//! - A kernel collection (`MH_FILESET`) is many images, none of which is the file's.
//! - Object files (`MH_OBJECT`) already give each section its own addresses in one
//!   space, so they are [`AddressKind::Svma`] like every other Mach-O file.

use std::path::Path;

use object::Endianness;
use object::macho;
use object::read::macho::MachHeader;

use self::commands::Commands;
use self::debug_info::Search;
use self::layout::Layout;
use super::{Identified, InputError, ReadOptions};
use crate::model::{AddressKind, DwarfSections, Format, Image, Machine, Report, Store};

mod arch;
mod archive;
mod bytes;
mod commands;
mod debug_file;
mod debug_info;
mod debug_map;
mod debug_sections;
#[cfg(test)]
mod debug_tests;
mod dsym;
mod exports;
mod fat;
mod layout;
mod starts;
mod stubs;
mod symbols;
#[cfg(test)]
mod tests;

pub use dsym::dsym_binary;
pub(super) use dsym::is_dsym;
pub use fat::slices;

/// True when the bytes start like Mach-O, thin or fat, of either byte order. A
/// Java class file starts like a fat one and is told apart by [`read`].
#[must_use]
pub fn is_macho(data: &[u8]) -> bool {
    fat::is_fat(data) || is_thin(data)
}

/// True when the bytes start with one of the four magic numbers of a thin file.
fn is_thin(data: &[u8]) -> bool {
    let magic = bytes::read_at::<object::U32<object::BigEndian>>(data, 0);
    magic.is_some_and(|magic| {
        matches!(
            magic.get(object::BigEndian),
            macho::MH_MAGIC | macho::MH_CIGAM | macho::MH_MAGIC_64 | macho::MH_CIGAM_64
        )
    })
}

/// Reads Mach-O bytes: the slice that the options choose, or the whole of a thin file.
///
/// # Errors
/// [`InputError::ChooseSlice`] for a fat file without a (fitting) choice and for a
/// thin file that is not what was asked for; [`InputError::Malformed`] when nothing can be read.
pub fn read<'store>(
    path: &Path,
    data: &'store [u8],
    store: &'store Store,
    options: &ReadOptions,
) -> Result<Image<'store>, InputError> {
    let chosen = fat::choose(path, data, options)?;
    let search = Search { path, options, store };
    let mut image = read_thin(chosen.bytes, chosen.offset, &search)?;
    image.slice = chosen.is_slice.then_some((chosen.offset, bytes::length(chosen.bytes)));
    Ok(image)
}

/// The UUID and place of the slice that the options choose, without reading its symbols.
///
/// # Errors
/// As [`read`].
pub(super) fn identify(
    path: &Path,
    data: &[u8],
    options: &ReadOptions,
) -> Result<Identified, InputError> {
    let chosen = fat::choose(path, data, options)?;
    let uuid = fat::identity(chosen.bytes).and_then(|(_, uuid)| uuid);
    let slice = chosen.is_slice.then_some((chosen.offset, bytes::length(chosen.bytes)));
    Ok(Identified { build_id: None, uuid, slice, at_run_time: false })
}

/// Reads one thin image; `offset` is where it lies in the file, for messages.
fn read_thin<'store>(
    slice: &'store [u8],
    offset: u64,
    search: &Search<'_, 'store>,
) -> Result<Image<'store>, InputError> {
    if let Some(header) = header_of::<macho::MachHeader64<Endianness>>(slice) {
        read_with(slice, header, offset, search)
    } else if let Some(header) = header_of::<macho::MachHeader32<Endianness>>(slice) {
        read_with(slice, header, offset, search)
    } else {
        Err(InputError::Malformed {
            path: search.path.to_path_buf(),
            offset: Some(offset),
            expected: "a whole Mach-O header".to_owned(),
            found: format!("{} bytes", slice.len()),
            advice: "the file is cut off; copy it again",
        })
    }
}

/// The header, when it is whole and has that width's magic number.
fn header_of<M: MachHeader>(slice: &[u8]) -> Option<&M> {
    bytes::read_at::<M>(slice, 0).filter(|header| header.is_supported())
}

/// One image taken apart.
struct Thin<'data, M: MachHeader> {
    slice: &'data [u8],
    endian: Endianness,
    cpu: macho::CpuType,
    subtype: macho::CpuSubtype,
    commands: Commands<'data>,
    layout: Layout<'data>,
    style: symbols::Style,
    table: symbols::Table<'data, M::Nlist>,
}

impl<'data, M: MachHeader<Endian = Endianness>> Thin<'data, M> {
    fn read(slice: &'data [u8], header: &M, report: &mut Report) -> Self {
        let endian = if header.is_big_endian() { Endianness::Big } else { Endianness::Little };
        let file_type = header.filetype(endian);
        let commands = commands::walk(slice, header, endian, report);
        let cpu = header.cputype(endian);
        let style = symbols::Style {
            thumb: cpu == macho::CPU_TYPE_ARM,
            object: file_type == macho::MH_OBJECT,
        };
        Self {
            slice,
            endian,
            cpu,
            subtype: header.cpusubtype(endian),
            layout: Layout::new(&commands, file_type),
            table: symbols::Table::new(slice, endian, &commands, report),
            style,
            commands,
        }
    }

    /// Its debug sections; `label` goes before each warning.
    fn debug_sections(
        &self,
        label: &str,
        store: &'data Store,
        report: &mut Report,
    ) -> DwarfSections<'data> {
        let value = |index| self.table.value(index);
        let source = debug_sections::Source {
            slice: self.slice,
            sections: &self.commands.sections,
            endian: self.endian,
            values: if self.style.object { Some(&value) } else { None },
            label,
        };
        debug_sections::load(&source, store, report)
    }
}

/// Reads an image whose width is known.
fn read_with<'store, M: MachHeader<Endian = Endianness>>(
    slice: &'store [u8],
    header: &'store M,
    offset: u64,
    search: &Search<'_, 'store>,
) -> Result<Image<'store>, InputError> {
    let endian = if header.is_big_endian() { Endianness::Big } else { Endianness::Little };
    if header.filetype(endian) == macho::MH_CORE {
        return Err(InputError::Malformed {
            path: search.path.to_path_buf(),
            offset: Some(offset),
            expected: "a Mach-O executable, library, bundle or object".to_owned(),
            found: "a core file".to_owned(),
            advice: "index the program that dumped it instead",
        });
    }
    let mut report = Report::default();
    let thin = Thin::read(slice, header, &mut report);
    if !thin.commands.members.is_empty() {
        return Err(InputError::Malformed {
            path: search.path.to_path_buf(),
            offset: Some(offset),
            expected: "one Mach-O image".to_owned(),
            found: collection(&thin.commands.members),
            advice: "extract the member that is wanted and index that",
        });
    }
    let machine = Machine {
        number: thin.cpu.0,
        subtype: thin.subtype.id().0,
        name: arch::name(thin.cpu, thin.subtype),
        is_64: header.is_type_64(),
        big_endian: header.is_big_endian(),
    };
    let mut symbols = thin.table.symbols(&thin.layout, thin.style, &mut report);
    symbols.extend(exports::read(
        slice,
        &thin.commands,
        &thin.layout,
        thin.style,
        search.store,
        &mut report,
    ));
    let added = debug_info::read(&thin, &machine, &symbols, search, &mut report);
    symbols.extend(added.symbols);
    let Thin { commands, layout, table, .. } = &thin;
    stubs::add(slice, endian, commands, layout, table, search.store, &mut symbols, &mut report);
    let function_starts = starts::read(slice, commands, layout, thin.style.thumb, &mut report);
    Ok(Image {
        format: Format::MachO,
        addresses: AddressKind::Svma,
        machine,
        build_id: None,
        uuid: thin.commands.uuid,
        slice: None,
        segments: thin.layout.segments,
        sections: thin.layout.sections,
        modules: Vec::new(),
        versions: Vec::new(),
        symbols,
        function_starts,
        holes: Vec::new(),
        debug: added.debug,
        lines: Vec::new(),
        companions: added.companions,
        report,
    })
}

/// A kernel collection in words: how many images it holds, and the first of them.
fn collection(members: &[&[u8]]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<_> =
        members.iter().take(SHOWN).map(|name| String::from_utf8_lossy(name)).collect();
    let more = if members.len() > SHOWN { ", …" } else { "" };
    format!("a kernel collection of {} ({}{more})", members.len(), names.join(", "))
}
