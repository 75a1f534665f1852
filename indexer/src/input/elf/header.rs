//! The ELF header, section headers and program headers, read tolerantly.
//!
//! In: the bytes of one file. Out: [`File`], the same tables in host integers.
//! A header that is out of bounds costs itself; this module never looks inside
//! a section.

use std::path::Path;

use object::elf;
use object::endian::{Endian as _, Endianness};
use object::read::elf::{FileHeader, ProgramHeader as _, SectionHeader as _};

use super::bytes::{self, Strings};
use crate::input::{InputError, describe_start};
use crate::model::Report;

/// One section header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'data> {
    /// Name; empty when the name table is damaged.
    pub(super) name: &'data [u8],
    /// `sh_type`.
    pub(super) kind: elf::SectionType,
    /// `sh_flags`.
    pub(super) flags: u64,
    /// `sh_addr`.
    pub(super) address: u64,
    /// `sh_offset`.
    pub(super) offset: u64,
    /// `sh_size`.
    pub(super) size: u64,
    /// `sh_link`.
    pub(super) link: u32,
    /// `sh_info`.
    pub(super) info: u32,
    /// `sh_entsize`.
    pub(super) entry_size: u64,
}

impl Section<'_> {
    /// True when the section takes up memory at run time.
    pub(super) fn is_allocated(&self) -> bool {
        // SHF_ALLOC alone is not enough: a header of zeros with a stray bit
        // set (damage) has type SHT_NULL.
        self.has(elf::SHF_ALLOC) && self.kind != elf::SHT_NULL
    }

    /// True when all bits of `flag` are set.
    pub(super) fn has(&self, flag: elf::SectionFlags) -> bool {
        self.flags & flag.0 == flag.0
    }
}

/// One program header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    /// `p_type`.
    pub(super) kind: elf::ProgramType,
    /// `p_flags`.
    pub(super) flags: u32,
    /// `p_offset`.
    pub(super) offset: u64,
    /// `p_vaddr`.
    pub(super) address: u64,
    /// `p_filesz`.
    pub(super) file_size: u64,
    /// `p_memsz`.
    pub(super) memory_size: u64,
    /// `p_align`.
    pub(super) align: u64,
}

/// One ELF file: its bytes and its two header tables.
#[derive(Clone, Debug)]
pub(super) struct File<'data> {
    /// The whole file.
    pub(super) data: &'data [u8],
    /// `ELFCLASS64`.
    pub(super) is_64: bool,
    /// Byte order.
    pub(super) endian: Endianness,
    /// `e_type`.
    pub(super) kind: elf::FileType,
    /// `e_machine`.
    pub(super) machine: elf::Machine,
    /// `e_flags`.
    pub(super) flags: u32,
    /// Section headers, number 0 included; empty when there are none.
    pub(super) sections: Vec<Section<'data>>,
    /// Program headers.
    pub(super) programs: Vec<Program>,
}

/// Runs `$body` with the type `$Elf` set to the header type of the file's class.
macro_rules! with_class {
    ($is_64:expr, $Elf:ident => $body:expr) => {
        if $is_64 {
            type $Elf = object::elf::FileHeader64<object::endian::Endianness>;
            $body
        } else {
            type $Elf = object::elf::FileHeader32<object::endian::Endianness>;
            $body
        }
    };
}
pub(super) use with_class;

impl<'data> File<'data> {
    /// Reads the header and both tables.
    ///
    /// # Errors
    /// [`InputError::Malformed`] when the ELF header itself is unusable.
    pub(super) fn parse(
        path: &Path,
        data: &'data [u8],
        report: &mut Report,
    ) -> Result<Self, InputError> {
        let malformed = |offset, expected: &str, found, advice| InputError::Malformed {
            path: path.to_path_buf(),
            offset: Some(offset),
            expected: expected.to_owned(),
            found,
            advice,
        };
        let (Some(class), Some(order), true) =
            (data.get(4), data.get(5), data.starts_with(&elf::ELFMAG))
        else {
            return Err(malformed(
                0,
                "an ELF header",
                describe_start(data),
                "give the ELF file itself",
            ));
        };
        let is_64 = match elf::FileClass(*class) {
            elf::ELFCLASS32 => false,
            elf::ELFCLASS64 => true,
            class => {
                return Err(malformed(
                    4,
                    "class 1 (32-bit) or 2 (64-bit)",
                    format!("class {class}"),
                    "the file is damaged; copy it again",
                ));
            }
        };
        let endian = match elf::DataEncoding(*order) {
            elf::ELFDATA2LSB => Endianness::Little,
            elf::ELFDATA2MSB => Endianness::Big,
            order => {
                return Err(malformed(
                    5,
                    "byte order 1 (little) or 2 (big)",
                    format!("byte order {order}"),
                    "the file is damaged; copy it again",
                ));
            }
        };
        with_class!(is_64, Elf => Self::parse_tables::<Elf>(data, endian, report)).ok_or_else(
            || {
                malformed(
                    0,
                    "a whole ELF header",
                    format!("only {} bytes", data.len()),
                    "the file is cut short; copy it again",
                )
            },
        )
    }

    fn parse_tables<Elf: FileHeader<Endian = Endianness>>(
        data: &'data [u8],
        endian: Endianness,
        report: &mut Report,
    ) -> Option<Self> {
        let header = bytes::record::<Elf>(data)?;
        let mut file = Self {
            data,
            is_64: Elf::is_type_64_sized(),
            endian,
            kind: header.e_type(endian),
            machine: header.e_machine(endian),
            flags: header.e_flags(endian).0,
            sections: Vec::new(),
            programs: Vec::new(),
        };
        let first = file.first_section::<Elf>(header);
        file.read_programs::<Elf>(header, first.as_ref(), report);
        file.read_sections::<Elf>(header, first.as_ref(), report);
        Some(file)
    }

    /// Section header 0, which holds the counts that do not fit the ELF header.
    fn first_section<Elf: FileHeader<Endian = Endianness>>(
        &self,
        header: &Elf,
    ) -> Option<Section<'data>> {
        let offset: u64 = header.e_shoff(self.endian).into();
        if offset == 0 {
            return None;
        }
        bytes::record_at::<Elf::SectionHeader>(self.data, offset)
            .map(|section| section_in_host_order::<Elf>(section, self.endian))
    }

    fn read_programs<Elf: FileHeader<Endian = Endianness>>(
        &mut self,
        header: &Elf,
        first: Option<&Section<'_>>,
        report: &mut Report,
    ) {
        let endian = self.endian;
        let mut count = u64::from(header.e_phnum(endian));
        // PN_XNUM: the real count is in sh_info of section 0.
        if count == 0xffff
            && let Some(first) = first
        {
            count = u64::from(first.info);
        }
        let offset = header.e_phoff(endian).into();
        let records = table::<Elf::ProgramHeader>(
            self.data,
            ("program", offset, count, header.e_phentsize(endian)),
            report,
        );
        self.programs = records
            .map(|program| Program {
                kind: program.p_type(endian),
                flags: program.p_flags(endian).0,
                offset: program.p_offset(endian).into(),
                address: program.p_vaddr(endian).into(),
                file_size: program.p_filesz(endian).into(),
                memory_size: program.p_memsz(endian).into(),
                align: program.p_align(endian).into(),
            })
            .collect();
    }

    fn read_sections<Elf: FileHeader<Endian = Endianness>>(
        &mut self,
        header: &Elf,
        first: Option<&Section<'_>>,
        report: &mut Report,
    ) {
        let endian = self.endian;
        let offset: u64 = header.e_shoff(endian).into();
        if offset == 0 {
            return;
        }
        let mut count = u64::from(header.e_shnum(endian));
        if count == 0 {
            // Extended numbering: the count is in sh_size of section 0.
            count = first.map_or(0, |first| first.size);
        }
        let records = table::<Elf::SectionHeader>(
            self.data,
            ("section", offset, count, header.e_shentsize(endian)),
            report,
        );
        self.sections =
            records.map(|section| section_in_host_order::<Elf>(section, endian)).collect();
        let mut names = u32::from(header.e_shstrndx(endian).0);
        if names == u32::from(elf::SHN_XINDEX.0) {
            names = first.map_or(0, |first| first.link);
        }
        let names_are_strings = self.section(names).is_some_and(|s| s.kind == elf::SHT_STRTAB);
        if !names_are_strings && first.is_some_and(|first| first.kind != elf::SHT_NULL) {
            report.warn(format!(
                "section headers: expected a null section and a name table at offset {offset:#x}, found neither; dropped them all"
            ));
            self.sections.clear();
            return;
        }
        self.name_sections::<Elf>(names, offset, header.e_shentsize(endian), report);
    }

    /// Fills in the section names; `table_at` and `stride` say where the
    /// headers with the name offsets are.
    fn name_sections<Elf: FileHeader<Endian = Endianness>>(
        &mut self,
        names: u32,
        table_at: u64,
        stride: u16,
        report: &mut Report,
    ) {
        if self.sections.len() < 2 || names == 0 {
            return;
        }
        let strings = self.section(names).and_then(|section| self.section_data(section));
        let Some(strings) = strings else {
            report.warn(format!(
                "section names: expected a string table in section {names}, found it missing or outside the file; kept the sections without names"
            ));
            return;
        };
        let mut strings =
            Strings::new(strings, u64::try_from(self.sections.len()).unwrap_or(u64::MAX));
        let records = table::<Elf::SectionHeader>(
            self.data,
            ("section", table_at, u64::MAX, stride),
            &mut Report::default(),
        );
        let mut bad = 0u64;
        for (section, record) in self.sections.iter_mut().zip(records) {
            match strings.get(u64::from(record.sh_name(self.endian))) {
                Ok(name) => section.name = name,
                Err(_) => bad = bad.saturating_add(1),
            }
        }
        if bad > 0 {
            report.warn(format!(
                "section names: {bad} of {} lie outside their string table; kept those sections without names",
                self.sections.len()
            ));
        }
    }

    /// The section with that number.
    pub(super) fn section(&self, number: u32) -> Option<&Section<'data>> {
        self.sections.get(usize::try_from(number).ok()?)
    }

    /// The first section with that name.
    pub(super) fn section_named(&self, name: &[u8]) -> Option<&Section<'data>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The bytes of a section, all of them; `None` for NOBITS and for a
    /// section that is not wholly in the file.
    pub(super) fn section_data(&self, section: &Section<'_>) -> Option<&'data [u8]> {
        if section.kind == elf::SHT_NOBITS {
            return None;
        }
        bytes::part(self.data, section.offset, section.size)
    }

    /// The bytes of a section that are in the file.
    pub(super) fn section_data_there(&self, section: &Section<'_>) -> &'data [u8] {
        if section.kind == elf::SHT_NOBITS {
            return &[];
        }
        bytes::part_there(self.data, section.offset, section.size)
    }

    /// The bytes at an svma up to the end of its segment in the file.
    pub(super) fn data_at(&self, address: u64) -> Option<&'data [u8]> {
        self.programs.iter().filter(|program| program.kind == elf::PT_LOAD).find_map(|program| {
            let skip = address.checked_sub(program.address)?;
            let size = program.file_size.checked_sub(skip).filter(|&size| size > 0)?;
            let bytes = bytes::part_there(self.data, program.offset.checked_add(skip)?, size);
            (!bytes.is_empty()).then_some(bytes)
        })
    }

    /// `ET_REL`: symbols are keyed by (section, offset).
    pub(super) fn is_relocatable(&self) -> bool {
        self.kind == elf::ET_REL
    }

    /// What `objcopy --only-keep-debug` and friends leave: allocated sections
    /// without bytes. Addresses are right, file offsets mean nothing.
    pub(super) fn is_debug_only(&self) -> bool {
        let mut code = false;
        for section in self.sections.iter().filter(|s| s.is_allocated() && s.size > 0) {
            match section.kind {
                elf::SHT_NOBITS => code |= section.has(elf::SHF_EXECINSTR),
                elf::SHT_NOTE => {}
                _ => return false,
            }
        }
        code && !self.is_relocatable()
    }

    /// Bytes in an address.
    pub(super) fn word_size(&self) -> u64 {
        if self.is_64 { 8 } else { 4 }
    }

    /// True for big-endian files.
    pub(super) fn is_big_endian(&self) -> bool {
        self.endian.is_big_endian()
    }
}

fn section_in_host_order<'data, Elf: FileHeader<Endian = Endianness>>(
    section: &Elf::SectionHeader,
    endian: Endianness,
) -> Section<'data> {
    Section {
        name: &[],
        kind: section.sh_type(endian),
        flags: section.sh_flags(endian).0,
        address: section.sh_addr(endian).into(),
        offset: section.sh_offset(endian).into(),
        size: section.sh_size(endian).into(),
        link: section.sh_link(endian),
        info: section.sh_info(endian),
        entry_size: section.sh_entsize(endian).into(),
    }
}

/// The records of a header table, as many as are in the file. `claim` is what
/// the table is, its file offset, count and record size.
fn table<'data, T: object::pod::Pod>(
    data: &'data [u8],
    claim: (&'static str, u64, u64, u16),
    report: &mut Report,
) -> impl Iterator<Item = &'data T> + use<'data, T> {
    let (what, offset, count, stride) = claim;
    let size = bytes::size_of::<T>();
    let mut stride = u64::from(stride);
    if count > 0 && stride < size {
        report.warn(format!(
            "{what} headers: expected entries of {size} bytes, found {stride}; read them as {size}"
        ));
    }
    stride = stride.max(size);
    let wanted = count.saturating_mul(stride);
    let there = bytes::part_there(data, offset, wanted);
    if bytes::length(there) < wanted {
        let found = bytes::length(there).checked_div(stride).unwrap_or(0);
        report.warn(format!(
            "{what} headers: expected {count} at offset {offset:#x}, found {found} before the end of the file; kept those"
        ));
    }
    there.chunks_exact(usize::try_from(stride).unwrap_or(usize::MAX)).filter_map(bytes::record)
}
