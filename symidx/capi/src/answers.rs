//! From answers of the library to the structs of the interface.
//!
//! In: symbols, frames, modules. Out: the same for C, their texts pointing to
//! where they are stored. Never copies a text, never allocates.

use core::ptr;

use symidx::process::{Located, Module, ModuleKind};
use symidx::{Binding, Corrupt, Extent, Frame, Index, Kind, Match, Name, SourceFile, Symbol};

use crate::SYMIDX_MAX_ID;
use crate::ffi::symidx_index;
use crate::status::symidx_status;
#[allow(clippy::wildcard_imports, reason = "every struct of the interface is filled here")]
use crate::types::*;

/// No text at all.
pub(crate) const NO_TEXT: symidx_text = symidx_text { data: ptr::null(), length: 0 };

/// The bytes, where they are.
pub(crate) fn text(bytes: &[u8]) -> symidx_text {
    symidx_text { data: bytes.as_ptr().cast(), length: bytes.len() }
}

fn name(name: Name<'_>) -> symidx_text {
    name.as_bytes().map_or(NO_TEXT, text)
}

fn optional(of: Option<Name<'_>>) -> symidx_text {
    of.map_or(NO_TEXT, name)
}

/// No packed name.
const NOT_PACKED: symidx_packed = symidx_packed { at: 0, skip: 0, length: 0 };

/// The place of a name that has no bytes to point to.
fn packed(of: Option<Name<'_>>) -> symidx_packed {
    of.and_then(|name| name.packed_place()).map_or(NOT_PACKED, |place| symidx_packed {
        at: place.at,
        skip: place.skip,
        length: place.len,
    })
}

fn flag(is: bool, flag: u32) -> u32 {
    if is { flag } else { 0 }
}

impl From<Kind> for symidx_kind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Function => Self::SYMIDX_KIND_FUNCTION,
            Kind::Ifunc => Self::SYMIDX_KIND_IFUNC,
            Kind::Object => Self::SYMIDX_KIND_OBJECT,
            Kind::Label => Self::SYMIDX_KIND_LABEL,
            Kind::Tls => Self::SYMIDX_KIND_TLS,
            Kind::Absolute => Self::SYMIDX_KIND_ABSOLUTE,
            _ => Self::SYMIDX_KIND_OTHER,
        }
    }
}

impl From<Binding> for symidx_binding {
    fn from(binding: Binding) -> Self {
        match binding {
            Binding::Weak => Self::SYMIDX_BINDING_WEAK,
            Binding::Local => Self::SYMIDX_BINDING_LOCAL,
            _ => Self::SYMIDX_BINDING_GLOBAL,
        }
    }
}

impl From<Extent> for symidx_extent {
    fn from(extent: Extent) -> Self {
        match extent {
            Extent::Inferred => Self::SYMIDX_EXTENT_INFERRED,
            Extent::Synthesized => Self::SYMIDX_EXTENT_SYNTHESIZED,
            _ => Self::SYMIDX_EXTENT_EXACT,
        }
    }
}

impl symidx_symbol {
    /// No symbol, and why.
    pub(crate) fn none(status: symidx_status, address: u64) -> Self {
        Self {
            size: 0,
            status,
            flags: 0,
            kind: symidx_kind::SYMIDX_KIND_OTHER,
            binding: symidx_binding::SYMIDX_BINDING_GLOBAL,
            extent: symidx_extent::SYMIDX_EXTENT_EXACT,
            id: u32::MAX,
            module: SYMIDX_NO_NUMBER,
            address,
            start: 0,
            length: 0,
            offset: 0,
            name: NO_TEXT,
            version: NO_TEXT,
            kernel_module: NO_TEXT,
            index: ptr::null(),
            packed_name: NOT_PACKED,
            packed_version: NOT_PACKED,
            packed_kernel_module: NOT_PACKED,
        }
    }

    pub(crate) fn of(symbol: &Symbol<'_>, address: u64, index: &Index<'static>) -> Self {
        // A damaged name of a kernel module costs only that name.
        let kernel_module = symbol.module().ok().flatten();
        Self {
            status: symidx_status::SYMIDX_OK,
            flags: flag(symbol.is_part(), SYMIDX_SYMBOL_PART)
                | flag(symbol.is_folded(), SYMIDX_SYMBOL_FOLDED)
                | flag(symbol.is_dwarf(), SYMIDX_SYMBOL_DWARF),
            kind: symbol.kind().into(),
            binding: symbol.binding().into(),
            extent: symbol.extent().into(),
            id: symbol.id(),
            start: symbol.start().0,
            length: symbol.size(),
            offset: symbol.offset(),
            name: name(symbol.name()),
            version: optional(symbol.version()),
            kernel_module: optional(kernel_module),
            index: symidx_index::of(index),
            packed_name: packed(Some(symbol.name())),
            packed_version: packed(symbol.version()),
            packed_kernel_module: packed(kernel_module),
            ..Self::none(symidx_status::SYMIDX_OK, address)
        }
    }
}

fn file(of: Option<SourceFile<'_>>) -> (symidx_text, symidx_text) {
    of.map_or((NO_TEXT, NO_TEXT), |file| (name(file.directory()), name(file.name())))
}

impl symidx_frame {
    pub(crate) fn of(frame: &Frame<'_>, index: &Index<'static>) -> Self {
        let (directory, source) = file(frame.file());
        // Damage there costs only the declaration.
        let (declared, declared_line) = frame.declared().unwrap_or((None, None));
        let (declared_directory, declared_file) = file(declared);
        let directory_of = |file: Option<SourceFile<'_>>| packed(file.map(|file| file.directory()));
        let file_of = |file: Option<SourceFile<'_>>| packed(file.map(|file| file.name()));
        Self {
            size: 0,
            flags: flag(frame.is_inlined(), SYMIDX_FRAME_INLINED),
            line: frame.line().unwrap_or(0),
            column: frame.column().unwrap_or(0),
            function: optional(frame.function()),
            directory,
            file: source,
            declared_directory,
            declared_file,
            declared_line: declared_line.unwrap_or(0),
            reserved: 0,
            index: symidx_index::of(index),
            packed_function: packed(frame.function()),
            packed_directory: directory_of(frame.file()),
            packed_file: file_of(frame.file()),
            packed_declared_directory: directory_of(declared),
            packed_declared_file: file_of(declared),
        }
    }
}

impl symidx_match {
    pub(crate) fn of(found: &Match<'_>) -> Result<Self, Corrupt> {
        let version = found.version();
        let section = found.section()?.map(|section| section.name());
        let kernel_module = found.module()?;
        Ok(Self {
            size: 0,
            flags: flag(found.is_part(), SYMIDX_SYMBOL_PART)
                | flag(found.is_alias(), SYMIDX_SYMBOL_ALIAS)
                | flag(found.is_name_only(), SYMIDX_SYMBOL_NAME_ONLY)
                | flag(version.is_some_and(|(_, is)| is), SYMIDX_SYMBOL_DEFAULT_VERSION),
            kind: found.kind().into(),
            binding: found.binding().into(),
            address: found.address(),
            length: found.size(),
            name: name(found.name()),
            version: optional(version.map(|(version, _)| version)),
            section: optional(section),
            kernel_module: optional(kernel_module),
            packed_name: packed(Some(found.name())),
            packed_version: packed(version.map(|(version, _)| version)),
            packed_section: packed(section),
            packed_kernel_module: packed(kernel_module),
        })
    }
}

impl symidx_identity {
    pub(crate) fn of(index: &Index<'static>) -> Self {
        let uuid = index.uuid();
        let (id_kind, bytes) = match (index.build_id(), &uuid) {
            (Some(id), _) => (symidx_id_kind::SYMIDX_ID_BUILD_ID, id),
            (None, Some(uuid)) => (symidx_id_kind::SYMIDX_ID_UUID, &uuid[..]),
            (None, None) => (symidx_id_kind::SYMIDX_ID_NONE, &[][..]),
        };
        let mut id = [0; SYMIDX_MAX_ID];
        for (to, from) in id.iter_mut().zip(bytes) {
            *to = *from;
        }
        Self {
            size: 0,
            flags: flag(index.is_64(), SYMIDX_IMAGE_64)
                | flag(index.is_big_endian(), SYMIDX_IMAGE_BIG_ENDIAN)
                | flag(index.is_relocatable(), SYMIDX_IMAGE_RELOCATABLE)
                | flag(index.has_lines(), SYMIDX_IMAGE_LINES),
            id_kind,
            id_length: u32::try_from(bytes.len().min(SYMIDX_MAX_ID)).unwrap_or(0),
            id,
            input_hash: *index.input_hash(),
            input_bytes: index.input_size(),
            index_bytes: u64::try_from(index.as_bytes().len()).unwrap_or(u64::MAX),
            symbols: index.symbol_count(),
            aliases: index.alias_count(),
        }
    }
}

impl symidx_module {
    pub(crate) fn of(module: &Module) -> Self {
        let id = module.id().map_or(&[][..], |id| id.as_bytes());
        let range = module.range();
        Self {
            size: 0,
            kind: match module.kind() {
                ModuleKind::File => symidx_module_kind::SYMIDX_MODULE_FILE,
                ModuleKind::Vdso => symidx_module_kind::SYMIDX_MODULE_VDSO,
                ModuleKind::Anonymous => symidx_module_kind::SYMIDX_MODULE_ANONYMOUS,
                _ => symidx_module_kind::SYMIDX_MODULE_OTHER,
            },
            start: range.start,
            end: range.end,
            inode: module.inode().unwrap_or(0),
            path: text(module.path().as_os_str().as_encoded_bytes()),
            file: text(module.file().as_os_str().as_encoded_bytes()),
            id: if id.is_empty() { ptr::null() } else { id.as_ptr() },
            id_length: id.len(),
        }
    }
}

impl symidx_location {
    pub(crate) fn of(located: &Located<'_>) -> Self {
        let (svma, offset) = (located.svma(), located.file_offset());
        Self {
            size: 0,
            flags: flag(located.is_executable(), SYMIDX_LOCATION_EXECUTABLE)
                | flag(svma.is_some(), SYMIDX_LOCATION_SVMA)
                | flag(offset.is_some(), SYMIDX_LOCATION_FILE_OFFSET),
            module: located.number(),
            reserved: 0,
            svma: svma.map_or(0, |svma| svma.0),
            file_offset: offset.map_or(0, |offset| offset.0),
        }
    }
}

impl symidx_statistics {
    /// Counts an answer; what is no answer about an address is not counted.
    pub(crate) fn count(&mut self, status: symidx_status) -> bool {
        use symidx_status as S;
        let counter = match status {
            S::SYMIDX_OK => &mut self.resolved,
            S::SYMIDX_GAP => &mut self.gap,
            S::SYMIDX_NO_MODULE => &mut self.no_module,
            S::SYMIDX_ANONYMOUS => &mut self.anonymous,
            S::SYMIDX_NOT_OPENED => &mut self.not_opened,
            S::SYMIDX_NO_INDEX => &mut self.no_index,
            S::SYMIDX_STALE_INDEX => &mut self.stale_index,
            S::SYMIDX_UNUSABLE_INDEX => &mut self.unusable_index,
            S::SYMIDX_OVER_BUDGET => &mut self.over_budget,
            S::SYMIDX_CORRUPT => &mut self.corrupt,
            S::SYMIDX_NOT_PLACED => &mut self.not_placed,
            _ => return false,
        };
        *counter = counter.saturating_add(1);
        self.addresses = self.addresses.saturating_add(1);
        true
    }
}
