//! Load commands: the bytes of one image in; segments, sections and the places
//! of the tables out. Never follows a place itself, and a damaged command costs
//! only itself (only a damaged *length* hides the commands behind it).

use object::Endianness;
use object::macho::{
    self, DyldInfoCommand, DysymtabCommand, FilesetEntryCommand, LinkeditDataCommand, LoadCommand,
    SectionType, SymtabCommand, UuidCommand,
};
use object::read::macho::{MachHeader, Segment as _};

use super::bytes;
use crate::model::{self, Report};

/// A place in the image as a load command claims it: offset from the start of
/// the slice, and a count of records or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) count: u64,
}

/// One section header.
#[derive(Clone, Debug)]
pub(super) struct Sect<'data> {
    pub(super) section: model::Section<'data>,
    /// Loaded at run time: not DWARF, not for the linker alone.
    pub(super) loaded: bool,
    pub(super) kind: SectionType,
    /// First entry in the indirect symbol table (`reserved1`), for stubs.
    pub(super) first_indirect: u32,
    /// Bytes of one stub (`reserved2`).
    pub(super) stub_size: u32,
    /// The segment it says it is in; an object has one segment for all of them.
    pub(super) segment: &'data [u8],
    /// Where its bytes are, and how many the file says there are.
    pub(super) contents: Place,
    /// Its relocation records.
    pub(super) relocations: Place,
}

/// One segment, with what only this format needs.
#[derive(Clone, Debug)]
pub(super) struct Seg<'data> {
    pub(super) name: &'data [u8],
    pub(super) segment: model::Segment,
}

/// What the load commands say.
#[derive(Debug, Default)]
pub(super) struct Commands<'data> {
    pub(super) segments: Vec<Seg<'data>>,
    /// In the order of their ordinals, the first being section 1.
    pub(super) sections: Vec<Sect<'data>>,
    pub(super) uuid: Option<[u8; 16]>,
    pub(super) symbols: Option<Place>,
    pub(super) strings: Place,
    pub(super) indirect: Option<Place>,
    pub(super) function_starts: Option<Place>,
    /// The export trie.
    pub(super) exports: Option<Place>,
    /// The images in a kernel collection.
    pub(super) members: Vec<&'data [u8]>,
}

/// The load commands of an image, one by one, as (index, offset, header, bytes).
/// Ends at the first whose length cannot be believed, and says why in `broken`.
struct Walk<'data> {
    table: &'data [u8],
    offset: u64,
    endian: Endianness,
    left: u32,
    index: u32,
    broken: Option<String>,
}

struct Command<'data> {
    index: u32,
    kind: macho::LoadCommandType,
    bytes: &'data [u8],
}

impl<'data> Walk<'data> {
    fn new<M: MachHeader<Endian = Endianness>>(
        slice: &'data [u8],
        header: &M,
        endian: Endianness,
    ) -> Self {
        let header_size = u64::try_from(size_of::<M>()).unwrap_or(32);
        let table = bytes::at_most(slice, header_size, header.sizeofcmds(endian).into());
        Self { table, offset: 0, endian, left: header.ncmds(endian), index: 0, broken: None }
    }
}

impl<'data> Iterator for Walk<'data> {
    type Item = Command<'data>;

    fn next(&mut self) -> Option<Command<'data>> {
        self.left = self.left.checked_sub(1)?;
        let index = self.index;
        self.index = self.index.saturating_add(1);
        let mut stop = |found: String| {
            self.left = 0;
            self.broken = Some(format!(
                "load command {index}: expected one that fits its table, found {found}; \
                 kept the commands before it"
            ));
            None
        };
        let Some(header) = bytes::read_at::<LoadCommand<Endianness>>(self.table, self.offset)
        else {
            return stop("the end of the table".to_owned());
        };
        let size = u64::from(header.cmdsize.get(self.endian));
        // A header is 8 bytes: anything shorter would make the walk stand still.
        let command = bytes::at(self.table, self.offset, size).filter(|_| size >= 8);
        let Some(command) = command else {
            return stop(format!("a length of {size:#x}"));
        };
        self.offset = self.offset.saturating_add(size);
        Some(Command { index, kind: header.cmd.get(self.endian), bytes: command })
    }
}

/// The `LC_UUID` of an image.
pub(super) fn uuid<M: MachHeader<Endian = Endianness>>(
    slice: &[u8],
    header: &M,
    endian: Endianness,
) -> Option<[u8; 16]> {
    Walk::new(slice, header, endian)
        .filter(|command| command.kind == macho::LC_UUID)
        .find_map(|command| bytes::read_at::<UuidCommand<Endianness>>(command.bytes, 0))
        .map(|command| command.uuid)
}

/// Reads all load commands. The first of each kind counts.
pub(super) fn walk<'data, M: MachHeader<Endian = Endianness>>(
    slice: &'data [u8],
    header: &M,
    endian: Endianness,
    report: &mut Report,
) -> Commands<'data> {
    let mut commands = Commands::default();
    let (own_segment, other_segment) = if header.is_type_64() {
        (macho::LC_SEGMENT_64, macho::LC_SEGMENT)
    } else {
        (macho::LC_SEGMENT, macho::LC_SEGMENT_64)
    };
    let mut walk = Walk::new(slice, header, endian);
    for command in walk.by_ref() {
        let read = match command.kind {
            kind if kind == own_segment => segment::<M>(command.bytes, endian, &mut commands),
            kind if kind == other_segment => Err("a segment of the other address width".to_owned()),
            macho::LC_UUID => uuid_command(command.bytes, &mut commands),
            macho::LC_SYMTAB => symtab(command.bytes, endian, &mut commands),
            macho::LC_DYSYMTAB => dysymtab(command.bytes, endian, &mut commands),
            macho::LC_FUNCTION_STARTS => {
                linkedit(command.bytes, endian, &mut commands.function_starts)
            }
            macho::LC_DYLD_EXPORTS_TRIE => linkedit(command.bytes, endian, &mut commands.exports),
            macho::LC_DYLD_INFO | macho::LC_DYLD_INFO_ONLY => {
                dyld_info(command.bytes, endian, &mut commands)
            }
            macho::LC_FILESET_ENTRY => member(command.bytes, endian, &mut commands),
            _ => Ok(()),
        };
        if let Err(found) = read {
            report.skip("damaged load command");
            report.warn(format!(
                "load command {}: expected a whole one, found {found}; kept the others",
                command.index
            ));
        }
    }
    if let Some(broken) = walk.broken {
        report.skip("damaged load command");
        report.warn(broken);
    }
    commands
}

fn short(bytes: &[u8]) -> String {
    format!("{} bytes", bytes.len())
}

fn uuid_command(bytes: &[u8], commands: &mut Commands<'_>) -> Result<(), String> {
    let command =
        bytes::read_at::<UuidCommand<Endianness>>(bytes, 0).ok_or_else(|| short(bytes))?;
    commands.uuid.get_or_insert(command.uuid);
    Ok(())
}

fn symtab(bytes: &[u8], endian: Endianness, commands: &mut Commands<'_>) -> Result<(), String> {
    let command =
        bytes::read_at::<SymtabCommand<Endianness>>(bytes, 0).ok_or_else(|| short(bytes))?;
    if commands.symbols.is_some() {
        return Err("a second symbol table".to_owned());
    }
    let place = |offset: u32, count: u32| Place { offset: offset.into(), count: count.into() };
    commands.symbols = Some(place(command.symoff.get(endian), command.nsyms.get(endian)));
    commands.strings = place(command.stroff.get(endian), command.strsize.get(endian));
    Ok(())
}

fn dysymtab(bytes: &[u8], endian: Endianness, commands: &mut Commands<'_>) -> Result<(), String> {
    let command =
        bytes::read_at::<DysymtabCommand<Endianness>>(bytes, 0).ok_or_else(|| short(bytes))?;
    commands.indirect.get_or_insert(Place {
        offset: command.indirectsymoff.get(endian).into(),
        count: command.nindirectsyms.get(endian).into(),
    });
    Ok(())
}

fn linkedit(bytes: &[u8], endian: Endianness, place: &mut Option<Place>) -> Result<(), String> {
    let command =
        bytes::read_at::<LinkeditDataCommand<Endianness>>(bytes, 0).ok_or_else(|| short(bytes))?;
    place.get_or_insert(Place {
        offset: command.dataoff.get(endian).into(),
        count: command.datasize.get(endian).into(),
    });
    Ok(())
}

fn dyld_info(bytes: &[u8], endian: Endianness, commands: &mut Commands<'_>) -> Result<(), String> {
    let command =
        bytes::read_at::<DyldInfoCommand<Endianness>>(bytes, 0).ok_or_else(|| short(bytes))?;
    let count: u64 = command.export_size.get(endian).into();
    // Where both commands are, the one that has a trie counts.
    if count > 0 {
        let offset = command.export_off.get(endian).into();
        commands.exports.get_or_insert(Place { offset, count });
    }
    Ok(())
}

/// The name of a member of a kernel collection.
fn member<'data>(
    bytes: &'data [u8],
    endian: Endianness,
    commands: &mut Commands<'data>,
) -> Result<(), String> {
    let command =
        bytes::read_at::<FilesetEntryCommand<Endianness>>(bytes, 0).ok_or_else(|| short(bytes))?;
    let name = bytes::from(bytes, command.entry_id.offset.get(endian).into()).unwrap_or_default();
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    commands.members.push(name);
    Ok(())
}

fn segment<'data, M: MachHeader<Endian = Endianness>>(
    command: &'data [u8],
    endian: Endianness,
    commands: &mut Commands<'data>,
) -> Result<(), String> {
    let header = bytes::read_at::<M::Segment>(command, 0).ok_or_else(|| short(command))?;
    let protection = header.initprot(endian);
    let segment = model::Segment {
        address: header.vmaddr(endian).into(),
        memory_size: header.vmsize(endian).into(),
        file_offset: header.fileoff(endian).into(),
        file_size: header.filesize(endian).into(),
        read: protection.contains(macho::VM_PROT_READ),
        write: protection.contains(macho::VM_PROT_WRITE),
        execute: protection.contains(macho::VM_PROT_EXECUTE),
    };
    commands.segments.push(Seg { name: header.name(), segment });
    let claimed = header.nsects(endian);
    let table = command.get(size_of::<M::Segment>()..).unwrap_or_default();
    let records = bytes::records::<M::Section>(table, claimed.into());
    for record in records {
        let number = u32::try_from(commands.sections.len()).unwrap_or(u32::MAX).saturating_add(1);
        commands.sections.push(sect(record, endian, number, segment.write));
    }
    if bytes::length(command) > 0 && u32::try_from(records.len()).ok() != Some(claimed) {
        return Err(format!("{claimed} sections in room for {}", records.len()));
    }
    Ok(())
}

fn sect<S: object::read::macho::Section<Endian = Endianness>>(
    record: &S,
    endian: Endianness,
    number: u32,
    write: bool,
) -> Sect<'_> {
    let flags = record.flags(endian);
    let kind = flags.typ();
    let address: u64 = record.addr(endian).into();
    let size: u64 = record.size(endian).into();
    Sect {
        section: model::Section {
            name: record.name(),
            address,
            // A section that wraps around ends at the end of the address space.
            size: size.min(u64::MAX.saturating_sub(address)),
            number,
            module: None,
            execute: is_code(flags, record.name()),
            write,
            tls: is_tls_template(kind),
        },
        loaded: is_loaded(record.segment_name(), flags),
        kind,
        first_indirect: record.reserved1(endian),
        stub_size: record.reserved2(endian),
        segment: record.segment_name(),
        contents: Place { offset: record.offset(endian).into(), count: size },
        relocations: Place {
            offset: record.reloff(endian).into(),
            count: record.nreloc(endian).into(),
        },
    }
}

/// Code: a section with instructions. `__text` is code even without the
/// attribute, as in files of old or hand-written tools.
fn is_code(flags: macho::SectionFlags, name: &[u8]) -> bool {
    flags.intersects(macho::S_ATTR_PURE_INSTRUCTIONS | macho::S_ATTR_SOME_INSTRUCTIONS)
        || name == b"__text"
}

/// The initial values of thread-local variables: nobody runs at their addresses.
/// The variables' descriptors (`__thread_vars`) are ordinary data.
fn is_tls_template(kind: SectionType) -> bool {
    matches!(kind, macho::S_THREAD_LOCAL_REGULAR | macho::S_THREAD_LOCAL_ZEROFILL)
}

/// Loaded at run time: not DWARF, and not a section that only the linker reads
/// (`__LD,__compact_unwind` of an object).
fn is_loaded(segment: &[u8], flags: macho::SectionFlags) -> bool {
    !flags.contains(macho::S_ATTR_DEBUG) && !never_loaded(segment)
}

/// Segments that hold no symbols' bytes.
pub(super) fn never_loaded(segment: &[u8]) -> bool {
    matches!(segment, b"__PAGEZERO" | b"__LINKEDIT" | b"__DWARF" | b"__LLVM")
}
