//! The waist of the indexer: what every input format is turned into.
//!
//! In: nothing but plain data built by `input`. Out: the same data, read by
//! `normalise`. This module never reads bytes of a file format and never
//! decides which symbol wins.
//!
//! ```
//! # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
//! // What every format is turned into.
//! let outer = image.symbols.iter().find(|symbol| symbol.name == b"outer").unwrap();
//! assert_eq!((outer.address, outer.size), (0x4001a0, 0x71));
//! assert_eq!(image.sections[outer.section as usize].name, b".text");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

mod debug;
pub mod lines;

pub use debug::{AddressMap, DebugInfo, DwarfSections, Mapping, SplitUnit};

/// Owns the bytes that an [`Image`] borrows: maps of the input and of its
/// companion files, and buffers made on the way (decompressed tables,
/// synthesized names). Append-only, so a borrow lives as long as the store.
///
/// ```
/// use symidx_indexer::model::Store;
///
/// let store = Store::new();
/// let name = store.keep(b"made@plt".to_vec());
/// store.keep(vec![0; 1 << 16]); // moves nothing that was kept before
/// assert_eq!(name, b"made@plt");
/// ```
#[derive(Default)]
pub struct Store {
    files: elsa::FrozenVec<Box<std::fs::File>>,
    maps: elsa::FrozenVec<Box<memmap2::Mmap>>,
    buffers: elsa::FrozenVec<Vec<u8>>,
}

impl Store {
    /// An empty store.
    ///
    /// ```
    /// let store = symidx_indexer::model::Store::new(); // lives as long as the image
    /// assert!(store.keep(Vec::new()).is_empty());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a map and returns its bytes.
    pub(crate) fn keep_map(&self, map: memmap2::Mmap) -> &[u8] {
        self.maps.push_get(Box::new(map))
    }

    /// Keeps an open file and returns it.
    pub(crate) fn keep_file(&self, file: std::fs::File) -> &std::fs::File {
        self.files.push_get(Box::new(file))
    }

    /// Keeps a buffer and returns its bytes. Put many small names in one
    /// buffer and slice it: one call per table, not one per name.
    ///
    /// ```
    /// let store = symidx_indexer::model::Store::new();
    /// let table = store.keep(b"first second".to_vec()); // one call for many names
    /// let (first, second) = (&table[..5], &table[6..]);
    /// assert_eq!((first, second), (&b"first"[..], &b"second"[..]));
    /// ```
    pub fn keep(&self, buffer: Vec<u8>) -> &[u8] {
        self.buffers.push_get(buffer)
    }

    /// Bytes of all buffers.
    pub(crate) fn kept(&self) -> u64 {
        let length = |buffer: &[u8]| u64::try_from(buffer.len()).unwrap_or(u64::MAX);
        self.buffers.iter().fold(0, |sum, buffer| length(buffer).saturating_add(sum))
    }
}

/// The container format of the input.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// use symidx_indexer::model::Format;
///
/// assert_eq!(image.format, Format::Elf);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ELF, 32 or 64 bit, either byte order.
    Elf,
    /// Mach-O, one slice.
    MachO,
    /// `/proc/kallsyms` text.
    Kallsyms,
    /// `/tmp/perf-PID.map` text.
    PerfMap,
    /// A jitdump file.
    JitDump,
}

/// How addresses of the image are to be read.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// use symidx_indexer::model::AddressKind;
///
/// assert_eq!(image.addresses, AddressKind::Svma); // a `.o` has AddressKind::SectionOffset
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// One address space of svmas (executables, shared objects, kernels).
    Svma,
    /// Relocatable file: the key is (section, offset in the section).
    SectionOffset,
}

/// The machine an image is for, as its file format numbers it.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// let machine: &symidx_indexer::model::Machine = &image.machine;
/// assert_eq!((machine.number, machine.name, machine.big_endian), (62, "x86_64", false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// ELF `e_machine`, or Mach-O `cputype`; 0 when unknown.
    pub number: u32,
    /// Mach-O `cpusubtype` without its capability bits; 0 in ELF.
    pub subtype: u32,
    /// Usual name, such as `x86_64`, `aarch64`, `arm64e`, `riscv64`; `unknown`.
    pub name: &'static str,
    /// True for 64-bit images.
    pub is_64: bool,
    /// True for big-endian images.
    pub big_endian: bool,
}

/// One loadable segment: the conversion between svma and file offset.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// let code: &symidx_indexer::model::Segment =
///     image.segments.iter().find(|segment| segment.execute).unwrap();
/// assert_eq!((code.address, code.file_offset), (0x400170, 0x170));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First svma.
    pub address: u64,
    /// Bytes in memory.
    pub memory_size: u64,
    /// First file offset (of the *runtime* file; for a fat Mach-O relative to its slice).
    pub file_offset: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Readable.
    pub read: bool,
    /// Writable.
    pub write: bool,
    /// Executable.
    pub execute: bool,
}

/// One allocated range of the image that can own symbols: an ELF or Mach-O
/// section, a `PT_LOAD` segment where there are no sections, or, for kallsyms,
/// a run of neighbouring symbols of one module.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// let text: &symidx_indexer::model::Section<'_> =
///     image.sections.iter().find(|section| section.name == b".text").unwrap();
/// assert!(text.execute && !text.write && text.size == 248);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'data> {
    /// Name as in the input; empty when there is none.
    pub name: &'data [u8],
    /// First svma; 0 in a relocatable file.
    pub address: u64,
    /// Bytes in memory.
    pub size: u64,
    /// Its number in the input's own section table.
    pub number: u32,
    /// Index into [`Image::modules`], for kernel modules.
    pub module: Option<u32>,
    /// Executable code.
    pub execute: bool,
    /// Writable.
    pub write: bool,
    /// Thread-local template (`SHF_TLS`): its symbols are by name only.
    pub tls: bool,
}

/// What a symbol names.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// use symidx_indexer::model::Kind;
///
/// let sink = image.symbols.iter().find(|symbol| symbol.name == b"sink").unwrap();
/// assert_eq!(sink.kind, Kind::Object);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A function (`STT_FUNC`; a Mach-O or kallsyms symbol in code).
    Function = 0,
    /// An indirect function's resolver (`STT_GNU_IFUNC`).
    Ifunc = 1,
    /// A data object (`STT_OBJECT`; a Mach-O or kallsyms symbol in data).
    Object = 2,
    /// An untyped label (`STT_NOTYPE`).
    Label = 3,
    /// Thread-local (`STT_TLS`): reachable by name, never an address.
    Tls = 4,
    /// Absolute (`SHN_ABS`, `N_ABS`, percpu): reachable by name, never an address.
    Absolute = 5,
}

/// Binding, strongest first.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// use symidx_indexer::model::Binding;
///
/// let never = image.symbols.iter().find(|symbol| symbol.name == b"never").unwrap();
/// assert_eq!(never.binding, Binding::Local);
/// assert!(Binding::Global < Binding::Weak); // strongest first
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Binding {
    /// Global (also `STB_GNU_UNIQUE`, Mach-O external).
    Global = 0,
    /// Weak.
    Weak = 1,
    /// Local.
    Local = 2,
}

/// The table a symbol was read from. Order = order of trust for ties.
///
/// ```
/// use symidx_indexer::model::Source;
///
/// // Of two tables that say the same, the better one answers.
/// assert!(Source::Symtab < Source::Dynsym && Source::Dynsym < Source::Dwarf);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Source {
    /// `.symtab`, `LC_SYMTAB`, kallsyms.
    Symtab = 0,
    /// `.dynsym`.
    Dynsym = 1,
    /// `.gnu_debugdata`.
    DebugData = 2,
    /// A separate debug file.
    DebugFile = 3,
    /// Synthesized from PLT relocations.
    Plt = 4,
    /// A function that only DWARF knows.
    Dwarf = 5,
}

/// A section index that means "in no section".
pub const NO_SECTION: u32 = u32::MAX;
/// A version index that means "no version".
pub const NO_VERSION: u32 = u32::MAX;

/// One defined symbol as its input table states it (48 bytes; there may be a
/// million). Inputs drop what is never a definition (UND, COMMON, FILE,
/// SECTION, stabs) and what the rules in `normalise::rules` name as noise on
/// that machine, counting each in [`Image::report`].
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// let outer: &symidx_indexer::model::Symbol<'_> =
///     image.symbols.iter().find(|symbol| symbol.name == b"outer").unwrap();
/// assert_eq!((outer.address, outer.size, outer.version), (0x4001a0, 0x71, u32::MAX));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'data> {
    /// Linkage name. Mach-O: without the one underscore that the format adds.
    /// ELF `.symtab` names may still carry `@VERSION`; `normalise` splits it.
    pub name: &'data [u8],
    /// svma with the Thumb bit cleared; offset in the section for relocatable
    /// files; the raw value for [`Kind::Tls`] and [`Kind::Absolute`].
    pub address: u64,
    /// Size as stated; 0 = unknown. Not yet clamped.
    pub size: u64,
    /// Index into [`Image::sections`] as claimed by the table, or
    /// [`NO_SECTION`]; may be stale, `normalise` checks it against the address.
    pub section: u32,
    /// Position in its table (perf's last tie-break), 0-based.
    pub order: u32,
    /// Index into [`Image::versions`], or [`NO_VERSION`].
    pub version: u32,
    /// What it names.
    pub kind: Kind,
    /// Binding.
    pub binding: Binding,
    /// Where it was read.
    pub source: Source,
    /// The version is the default one (`f@@V`, not hidden in `.gnu.version`).
    pub default_version: bool,
}

/// What was dropped, by reason, and what could not be read.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// let report: &symidx_indexer::model::Report = &image.report;
/// assert_eq!(report.skipped.get("file symbol"), Some(&1));
/// assert!(report.warnings.is_empty()); // nothing was damaged
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Reason → how many. Reasons are short fixed phrases: `"undefined"`,
    /// `"mapping symbol"`, `"address in no section"`.
    pub skipped: BTreeMap<&'static str, u64>,
    /// One clear line each: what was expected, what was found, where, and what was kept.
    pub warnings: Vec<String>,
}

/// At most this many warnings are kept word for word; the rest are counted.
pub const MAX_WARNINGS: usize = 64;

impl Report {
    /// Counts one dropped thing.
    pub(crate) fn skip(&mut self, reason: &'static str) {
        self.skip_many(reason, 1);
    }

    /// Counts several dropped things.
    pub(crate) fn skip_many(&mut self, reason: &'static str, count: u64) {
        if count > 0 {
            let entry = self.skipped.entry(reason).or_default();
            *entry = entry.saturating_add(count);
        }
    }

    /// Takes over what another report says.
    pub(crate) fn absorb(&mut self, other: Self) {
        for (reason, count) in other.skipped {
            self.skip_many(reason, count);
        }
        for warning in other.warnings {
            self.warn(warning);
        }
    }

    /// Keeps a warning, or counts it once there are [`MAX_WARNINGS`].
    pub(crate) fn warn(&mut self, warning: impl Into<Cow<'static, str>>) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(warning.into().into_owned());
        } else {
            self.skip("further warnings");
        }
    }
}

/// A further file that was read for an image.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// // Every further file that was read counts for the index's identity.
/// for companion in &image.companions {
///     let symidx_indexer::model::Companion { role, path, .. } = companion;
///     println!("{role} {}", path.display());
/// }
/// assert!(image.companions.is_empty()); // this one has its debug information itself
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Companion<'data> {
    /// Where it is.
    pub path: PathBuf,
    /// What it was read for: `"debug file"`, `"split debug file"`, `"split package"`,
    /// `"dwz file"`, `"object file"`, `"modules file"`.
    pub role: &'static str,
    /// The bytes that were read: its hash is of these, not of what the path
    /// names by then.
    pub data: &'data [u8],
}

/// One image as its input files state it.
///
/// ```
/// # let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
/// let image: symidx_indexer::model::Image<'_> = image;
/// assert_eq!(symidx_indexer::hex(&image.build_id.unwrap()), "1122334455667788");
/// assert_eq!((image.segments.len(), image.sections.len()), (3, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Image<'data> {
    /// Container format.
    pub format: Format,
    /// How addresses are keyed.
    pub addresses: AddressKind,
    /// The machine.
    pub machine: Machine,
    /// GNU build-id, whole, when the file has one.
    pub build_id: Option<Vec<u8>>,
    /// Mach-O `LC_UUID`.
    pub uuid: Option<[u8; 16]>,
    /// The slice of a fat file: (offset, size) in the file; `None` = the whole file.
    pub slice: Option<(u64, u64)>,
    /// Loadable segments in file order.
    pub segments: Vec<Segment>,
    /// Allocated sections in file order.
    pub sections: Vec<Section<'data>>,
    /// Kernel module names (kallsyms).
    pub modules: Vec<&'data [u8]>,
    /// Version names (`.gnu.version_d`, `.gnu.version_r`).
    pub versions: Vec<&'data [u8]>,
    /// Symbols in table order, tables in the order of [`Source`].
    pub symbols: Vec<Symbol<'data>>,
    /// Function starts stated without a name (`LC_FUNCTION_STARTS`): each ends
    /// the function before it. Unsorted is fine.
    pub function_starts: Vec<u64>,
    /// Address ranges `(start, size)` that are nobody's even if a symbol of
    /// unknown size would reach over them (PLT0).
    pub holes: Vec<(u64, u64)>,
    /// DWARF of the input and of its companions, not parsed yet.
    pub debug: Vec<DebugInfo<'data>>,
    /// Lines that the input states in a form of its own; only without DWARF.
    pub lines: Vec<lines::UnitLines<'data>>,
    /// Companion files that were used, in the order they were read.
    pub companions: Vec<Companion<'data>>,
    /// What was dropped and why.
    pub report: Report,
}
