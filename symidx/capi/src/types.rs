//! The structs of the interface: plain data, laid out as C lays it out.
//!
//! In: nothing. Out: definitions; `answers` fills them. Fields are only ever
//! added at the end of a struct.

use core::ffi::c_char;

use crate::SYMIDX_MAX_ID;
use crate::ffi::symidx_index;
use crate::status::symidx_status;

/// Bytes with a length, not ended by NUL; `data` is NULL where there are none.
///
/// ```c
/// symidx_symbol symbol = {.size = sizeof symbol};
/// symidx_lookup(index, 0x4001a8, &symbol);
/// symidx_text name = symbol.name; // no NUL at its end
/// assert(name.length == 5 && memcmp(name.data, "outer", name.length) == 0);
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct symidx_text {
    /// The first byte.
    pub data: *const c_char,
    /// How many there are.
    pub length: usize,
}

/// A name of an index whose names are packed (`symidx build --pack-names`): such a
/// name has no bytes to point to, so its symidx_text has no data, and
/// symidx_packed_name writes it. `length` is 0 where there is none.
///
/// ```c
/// symidx_index *packed;
/// symidx_symbol symbol = {.size = sizeof symbol};
/// symidx_open_read("packed.symidx", &packed, NULL, 0);
/// symidx_lookup(packed, 0x401000, &symbol);
/// assert(symbol.name.data == NULL && symbol.packed_name.length == strlen("main"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct symidx_packed {
    /// Where it is in the index.
    pub at: u32,
    /// Bytes of the stored name in front of it.
    pub skip: u16,
    /// Bytes of the name.
    pub length: u16,
}

/// What a symbol is.
///
/// ```c
/// symidx_symbol symbol = {.size = sizeof symbol};
/// symidx_lookup(index, 0x400270, &symbol);
/// assert(symbol.kind == SYMIDX_KIND_OBJECT); // data: no frame of a stack
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "constants of C")]
#[repr(u32)]
pub enum symidx_kind {
    /// A function.
    SYMIDX_KIND_FUNCTION = 0,
    /// An indirect function: the address is its resolver's.
    SYMIDX_KIND_IFUNC = 1,
    /// A data object.
    SYMIDX_KIND_OBJECT = 2,
    /// A label of unstated type.
    SYMIDX_KIND_LABEL = 3,
    /// Thread-local: found by name only.
    SYMIDX_KIND_TLS = 4,
    /// An absolute value: found by name only.
    SYMIDX_KIND_ABSOLUTE = 5,
    /// Of a kind that this version of the interface has no name for.
    SYMIDX_KIND_OTHER = 255,
}

/// How a name is bound.
///
/// ```c
/// symidx_symbol symbol = {.size = sizeof symbol};
/// symidx_lookup(index, 0x400170, &symbol);
/// assert(symbol.binding == SYMIDX_BINDING_LOCAL); // others may have its name, too
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "constants of C")]
#[repr(u32)]
pub enum symidx_binding {
    /// Global.
    SYMIDX_BINDING_GLOBAL = 0,
    /// Weak.
    SYMIDX_BINDING_WEAK = 1,
    /// Local.
    SYMIDX_BINDING_LOCAL = 2,
}

/// How a symbol's length is known.
///
/// ```c
/// symidx_symbol symbol = {.size = sizeof symbol};
/// symidx_lookup(index, 0x4001a8, &symbol);
/// assert(symbol.extent == SYMIDX_EXTENT_EXACT); // length as the compiler stated it
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "constants of C")]
#[repr(u32)]
pub enum symidx_extent {
    /// Stated by the binary.
    SYMIDX_EXTENT_EXACT = 0,
    /// Unstated: up to the next symbol or the end of its section.
    SYMIDX_EXTENT_INFERRED = 1,
    /// Made by the indexer: a stub of the PLT.
    SYMIDX_EXTENT_SYNTHESIZED = 2,
}

/// The symbol is a `.cold`, `.part`, ... piece of another function.
pub const SYMIDX_SYMBOL_PART: u32 = 1;
/// Several functions share the symbol's bytes: identical code was folded.
pub const SYMIDX_SYMBOL_FOLDED: u32 = 2;
/// Only DWARF knows the symbol.
pub const SYMIDX_SYMBOL_DWARF: u32 = 4;
/// An address never answers this name first.
pub const SYMIDX_SYMBOL_ALIAS: u32 = 8;
/// The name answers no address at all: thread-local, absolute, a marker.
pub const SYMIDX_SYMBOL_NAME_ONLY: u32 = 16;
/// The version is the default one: `f@@V2`.
pub const SYMIDX_SYMBOL_DEFAULT_VERSION: u32 = 32;

/// No module.
pub const SYMIDX_NO_NUMBER: u32 = u32::MAX;

/// A symbol, as the answer to an address.
///
/// ```c
/// symidx_symbol symbol = {.size = sizeof symbol};
/// symidx_lookup(index, 0x40018c, &symbol);
/// if (symbol.flags & SYMIDX_SYMBOL_PART)
///     printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints _start.cold
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct symidx_symbol {
    /// sizeof(symidx_symbol), set by the caller.
    pub size: u32,
    /// SYMIDX_OK, or why there is none: then `name` has no data, and what is
    /// known of the address is there all the same.
    pub status: symidx_status,
    /// SYMIDX_SYMBOL_*.
    pub flags: u32,
    /// What it is.
    pub kind: symidx_kind,
    /// How its name is bound.
    pub binding: symidx_binding,
    /// How its length is known.
    pub extent: symidx_extent,
    /// A number for the symbol, the same for every address it answers.
    pub id: u32,
    /// The number of the module, or SYMIDX_NO_NUMBER: answers of an index.
    pub module: u32,
    /// The address looked up, as in the symbol table (svma).
    pub address: u64,
    /// The symbol's first address, likewise.
    pub start: u64,
    /// Bytes it reaches over.
    pub length: u64,
    /// Bytes from its start to the address.
    pub offset: u64,
    /// The linkage name, without a version.
    pub name: symidx_text,
    /// The version: `V2` of `f@@V2`.
    pub version: symidx_text,
    /// The kernel module it belongs to.
    pub kernel_module: symidx_text,
    /// The index the texts point into.
    pub index: *const symidx_index,
    /// The name, where the index has packed ones.
    pub packed_name: symidx_packed,
    /// The version, likewise.
    pub packed_version: symidx_packed,
    /// The kernel module, likewise.
    pub packed_kernel_module: symidx_packed,
}

/// The function was inlined into that of the next frame.
pub const SYMIDX_FRAME_INLINED: u32 = 1;

/// One function at an address: the one the instruction was compiled from, or one
/// that it was inlined into.
///
/// ```c
/// symidx_frame frames[16] = {{.size = sizeof frames[0]}};
/// size_t count;
/// symidx_frames(index, 0x4001a8, NULL, frames, 16, &count);
/// assert(count == 3 && frames[0].flags & SYMIDX_FRAME_INLINED);
/// printf("%.*s\n", SYMIDX_PRINT(frames[0].file)); // prints lines.c
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct symidx_frame {
    /// sizeof(symidx_frame), set by the caller in the first element of an array.
    pub size: u32,
    /// SYMIDX_FRAME_*.
    pub flags: u32,
    /// The line of the instruction, or of the call into the frame before, from
    /// 1; 0 = not known.
    pub line: u32,
    /// The column, from 1; 0 = the line as a whole, or not known.
    pub column: u32,
    /// The function's linkage name; no data for a line outside every function.
    pub function: symidx_text,
    /// The directory of the source file, without a slash at its end; may be
    /// empty. symidx_path joins directory and file.
    pub directory: symidx_text,
    /// The source file in the directory; no data when it is not known.
    pub file: symidx_text,
    /// The directory of the file that declares the function.
    pub declared_directory: symidx_text,
    /// The file that declares the function.
    pub declared_file: symidx_text,
    /// The line that declares it, from 1; 0 = not known.
    pub declared_line: u32,
    /// 0.
    pub reserved: u32,
    /// The index the texts point into.
    pub index: *const symidx_index,
    /// The function, where the index has packed names.
    pub packed_function: symidx_packed,
    /// The directory, likewise.
    pub packed_directory: symidx_packed,
    /// The source file, likewise.
    pub packed_file: symidx_packed,
    /// The directory of the file that declares the function, likewise.
    pub packed_declared_directory: symidx_packed,
    /// The file that declares the function, likewise.
    pub packed_declared_file: symidx_packed,
}

/// One way a name is defined.
///
/// ```c
/// symidx_index *library; // two versions of a function, the default one first
/// symidx_match found[2] = {{.size = sizeof found[0]}};
/// symidx_open_read("library.symidx", &library, NULL, 0);
/// symidx_find(library, "verfn", strlen("verfn"), found, 2, NULL);
/// printf("%.*s\n", SYMIDX_PRINT(found[0].version)); // prints V2
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct symidx_match {
    /// sizeof(symidx_match), set by the caller in the first element of an array.
    pub size: u32,
    /// SYMIDX_SYMBOL_*.
    pub flags: u32,
    /// What it names.
    pub kind: symidx_kind,
    /// How it is bound.
    pub binding: symidx_binding,
    /// Its svma; in a relocatable file the offset in `section`; the value
    /// itself for absolute and thread-local symbols.
    pub address: u64,
    /// Bytes it reaches over; 0 = not known.
    pub length: u64,
    /// The linkage name, without a version.
    pub name: symidx_text,
    /// The version: `V2` of `f@@V2`.
    pub version: symidx_text,
    /// The section it is defined in.
    pub section: symidx_text,
    /// The kernel module it belongs to.
    pub kernel_module: symidx_text,
    /// The name, where the index has packed ones.
    pub packed_name: symidx_packed,
    /// The version, likewise.
    pub packed_version: symidx_packed,
    /// The section, likewise.
    pub packed_section: symidx_packed,
    /// The kernel module, likewise.
    pub packed_kernel_module: symidx_packed,
}

/// How a build is told from others.
///
/// ```c
/// symidx_identity of = {.size = sizeof of};
/// symidx_identify(index, &of);
/// assert(of.id_kind == SYMIDX_ID_BUILD_ID && of.id_length == 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "constants of C")]
#[repr(u32)]
pub enum symidx_id_kind {
    /// By the hash of its file only.
    SYMIDX_ID_NONE = 0,
    /// By its GNU build-id.
    SYMIDX_ID_BUILD_ID = 1,
    /// By its Mach-O UUID.
    SYMIDX_ID_UUID = 2,
}

/// The indexed file is a 64-bit one.
pub const SYMIDX_IMAGE_64: u32 = 1;
/// The indexed file is big-endian.
pub const SYMIDX_IMAGE_BIG_ENDIAN: u32 = 2;
/// The indexed file is relocatable: addresses are (section, offset).
pub const SYMIDX_IMAGE_RELOCATABLE: u32 = 4;
/// The index has source lines.
pub const SYMIDX_IMAGE_LINES: u32 = 8;

/// Which file an index is of.
///
/// ```c
/// symidx_identity of = {.size = sizeof of};
/// symidx_identify(index, &of);
/// assert(of.flags & SYMIDX_IMAGE_LINES); // else only names
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct symidx_identity {
    /// sizeof(symidx_identity), set by the caller.
    pub size: u32,
    /// SYMIDX_IMAGE_*.
    pub flags: u32,
    /// What `id` is.
    pub id_kind: symidx_id_kind,
    /// Bytes of `id` that count.
    pub id_length: u32,
    /// The build-id or UUID, zeroes behind it.
    pub id: [u8; SYMIDX_MAX_ID],
    /// BLAKE3 of the indexed file.
    pub input_hash: [u8; 32],
    /// Bytes of the indexed file.
    pub input_bytes: u64,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// Symbols, at most: one more than the largest `id` of one.
    pub symbols: u32,
    /// Further names of symbols.
    pub aliases: u32,
}

/// What a module is.
///
/// ```c
/// symidx_module module = {.size = sizeof module};
/// symidx_modules_get(modules, 0, &module);
/// assert(module.kind == SYMIDX_MODULE_FILE); // an index can be built of it
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "constants of C")]
#[repr(u32)]
pub enum symidx_module_kind {
    /// An executable, a shared object, any other mapped file.
    SYMIDX_MODULE_FILE = 0,
    /// The code that the kernel maps into every process.
    SYMIDX_MODULE_VDSO = 1,
    /// Memory without a file.
    SYMIDX_MODULE_ANONYMOUS = 2,
    /// Of a kind that this version of the interface has no name for.
    SYMIDX_MODULE_OTHER = 255,
}

/// One file that a process has mapped.
///
/// ```c
/// symidx_module module = {.size = sizeof module};
/// symidx_modules_get(modules, 0, &module);
/// printf("%u bytes\n", (unsigned)(module.end - module.start)); // prints 4096 bytes
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct symidx_module {
    /// sizeof(symidx_module), set by the caller.
    pub size: u32,
    /// What it is.
    pub kind: symidx_module_kind,
    /// First run-time address of its first mapping.
    pub start: u64,
    /// The address after its last mapping.
    pub end: u64,
    /// The inode of its file; 0 = not known.
    pub inode: u64,
    /// Its path as the process knows it.
    pub path: symidx_text,
    /// The path that reaches the same file from here: through /proc for a
    /// process in another mount namespace, or a file that was deleted.
    pub file: symidx_text,
    /// Its build-id or UUID; NULL when it has none.
    pub id: *const u8,
    /// Bytes of `id`.
    pub id_length: usize,
}

/// The address is in a mapping of code.
pub const SYMIDX_LOCATION_EXECUTABLE: u32 = 1;
/// `svma` is known.
pub const SYMIDX_LOCATION_SVMA: u32 = 2;
/// `file_offset` is known.
pub const SYMIDX_LOCATION_FILE_OFFSET: u32 = 4;

/// Where in which module a run-time address lies.
///
/// ```c
/// symidx_location location = {.size = sizeof location};
/// symidx_modules_find(modules, 0x5555000001a8, &location);
/// if (location.flags & SYMIDX_LOCATION_FILE_OFFSET) // not of /proc/PID/maps alone: no svma
///     printf("0x%llx\n", (unsigned long long)location.file_offset); // prints 0x1a8
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct symidx_location {
    /// sizeof(symidx_location), set by the caller.
    pub size: u32,
    /// SYMIDX_LOCATION_*.
    pub flags: u32,
    /// The module's number: symidx_modules_get.
    pub module: u32,
    /// 0.
    pub reserved: u32,
    /// The address as the module's symbol table counts.
    pub svma: u64,
    /// The offset in the module's file.
    pub file_offset: u64,
}

/// What a resolver can need in memory at most, whatever is asked of it.
///
/// ```c
/// symidx_budget budget = {.size = sizeof budget};
/// symidx_resolver_budget(resolver, &budget);
/// assert(budget.anonymous_bytes + budget.mapped_bytes < 64 << 20);
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct symidx_budget {
    /// sizeof(symidx_budget), set by the caller.
    pub size: u32,
    /// How many modules there are.
    pub modules: u32,
    /// How many of them have an index.
    pub indexed: u32,
    /// 0.
    pub reserved: u32,
    /// Anonymous bytes: they do not grow with the number of lookups.
    pub anonymous_bytes: u64,
    /// Bytes of mapped indexes: page cache, which the system takes back when it
    /// needs to.
    pub mapped_bytes: u64,
}

/// How many addresses have symbols, and why the others have none.
///
/// ```c
/// symidx_statistics statistics = {.size = sizeof statistics};
/// symidx_statistics_count(&statistics, SYMIDX_GAP);
/// symidx_statistics_count(&statistics, SYMIDX_OK);
/// assert(statistics.addresses == 2 && statistics.gap == 1 && statistics.resolved == 1);
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct symidx_statistics {
    /// sizeof(symidx_statistics), set by the caller.
    pub size: u32,
    /// 0.
    pub reserved: u32,
    /// Addresses asked for.
    pub addresses: u64,
    /// Those with a symbol.
    pub resolved: u64,
    /// SYMIDX_GAP.
    pub gap: u64,
    /// SYMIDX_NO_MODULE.
    pub no_module: u64,
    /// SYMIDX_ANONYMOUS.
    pub anonymous: u64,
    /// SYMIDX_NOT_OPENED.
    pub not_opened: u64,
    /// SYMIDX_NO_INDEX.
    pub no_index: u64,
    /// SYMIDX_STALE_INDEX.
    pub stale_index: u64,
    /// SYMIDX_UNUSABLE_INDEX.
    pub unusable_index: u64,
    /// SYMIDX_OVER_BUDGET.
    pub over_budget: u64,
    /// SYMIDX_CORRUPT.
    pub corrupt: u64,
    /// SYMIDX_NOT_PLACED.
    pub not_placed: u64,
}
