/* symidx: symbol indexes and run-time addresses to names.
 *
 * A pointer to a const handle is shared: any number of threads may be inside
 * such calls at once, and, where a function says so, signal handlers too. A
 * pointer to a handle that is not const needs it alone: no other call with the
 * same handle may run meanwhile, in a thread or in a signal handler.
 *
 * Structs start with their size. The caller sets it to sizeof(the struct) of
 * the header it was compiled with; for an array, in the first element. Fields
 * are only ever added at the end: nothing is written past the size, and what
 * the caller knows and the library does not is zeroed.
 *
 * Texts (symidx_text) are bytes with a length, not ended by NUL, usually but
 * not always UTF-8. They point into the index or the modules they are from and
 * are valid as long as those.
 *
 * Running out of memory ends the process, in the functions that allocate; the
 * functions marked "Signals: yes" never do.
 */
/* Made by cbindgen; do not edit. */

#ifndef SYMIDX_H
#define SYMIDX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Changes when a caller must be compiled again: never while the interface only grows.
 */
#define SYMIDX_ABI_VERSION 1

/**
 * The most bytes that an id has.
 */
#define SYMIDX_MAX_ID 64

/**
 * Read indexes into memory instead of mapping them: where others may write to
 * the places of the store.
 */
#define SYMIDX_STORE_READ 1

/**
 * Look in added directories only: not beside or in binaries, not where the
 * environment says.
 */
#define SYMIDX_STORE_ONLY_ADDED 2

/**
 * Without parameter list and return type, where the index stores that.
 */
#define SYMIDX_DISPLAY_SHORT 1

/**
 * The symbol is a `.cold`, `.part`, ... piece of another function.
 */
#define SYMIDX_SYMBOL_PART 1

/**
 * Several functions share the symbol's bytes: identical code was folded.
 */
#define SYMIDX_SYMBOL_FOLDED 2

/**
 * Only DWARF knows the symbol.
 */
#define SYMIDX_SYMBOL_DWARF 4

/**
 * An address never answers this name first.
 */
#define SYMIDX_SYMBOL_ALIAS 8

/**
 * The name answers no address at all: thread-local, absolute, a marker.
 */
#define SYMIDX_SYMBOL_NAME_ONLY 16

/**
 * The version is the default one: `f@@V2`.
 */
#define SYMIDX_SYMBOL_DEFAULT_VERSION 32

/**
 * No module.
 */
#define SYMIDX_NO_NUMBER UINT32_MAX

/**
 * The function was inlined into that of the next frame.
 */
#define SYMIDX_FRAME_INLINED 1

/**
 * The indexed file is a 64-bit one.
 */
#define SYMIDX_IMAGE_64 1

/**
 * The indexed file is big-endian.
 */
#define SYMIDX_IMAGE_BIG_ENDIAN 2

/**
 * The indexed file is relocatable: addresses are (section, offset).
 */
#define SYMIDX_IMAGE_RELOCATABLE 4

/**
 * The index has source lines.
 */
#define SYMIDX_IMAGE_LINES 8

/**
 * The address is in a mapping of code.
 */
#define SYMIDX_LOCATION_EXECUTABLE 1

/**
 * `svma` is known.
 */
#define SYMIDX_LOCATION_SVMA 2

/**
 * `file_offset` is known.
 */
#define SYMIDX_LOCATION_FILE_OFFSET 4

/**
 * What a call came to. 0: done; above: there is no answer, or not all of it,
 * and why; below: the call was wrong or the system refused.
 *
 * ```c
 * symidx_symbol symbol = {.size = sizeof symbol};
 * int32_t status = symidx_lookup(index, 0x400211, &symbol);
 * assert(status >= 0);            // below 0 the call was wrong
 * assert(status == SYMIDX_GAP);   // above 0 there is no answer, and why
 * ```
 */
enum symidx_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Done.
   */
  SYMIDX_OK = 0,
  /**
   * No symbol covers the address.
   */
  SYMIDX_GAP = 1,
  /**
   * No module holds the address.
   */
  SYMIDX_NO_MODULE = 2,
  /**
   * The address lies in memory without a file: heap, stack, code made at run time.
   */
  SYMIDX_ANONYMOUS = 3,
  /**
   * The module's index was not opened yet: symidx_resolver_open_for.
   */
  SYMIDX_NOT_OPENED = 4,
  /**
   * No index of the module was found.
   */
  SYMIDX_NO_INDEX = 5,
  /**
   * The index that was found is of another build.
   */
  SYMIDX_STALE_INDEX = 6,
  /**
   * The index that was found cannot be opened.
   */
  SYMIDX_UNUSABLE_INDEX = 7,
  /**
   * Opening the index would go past the store's bounds.
   */
  SYMIDX_OVER_BUDGET = 8,
  /**
   * The index is damaged there. What came before the damage is answered.
   */
  SYMIDX_CORRUPT = 9,
  /**
   * There is none: no such name, module, section, file or id.
   */
  SYMIDX_NONE = 10,
  /**
   * There is more than the caller's memory takes: the first part is there,
   * and the number or length of all of it.
   */
  SYMIDX_CUT = 11,
  /**
   * The index is of a relocatable file (`.o`, `.ko`), whose sections get their
   * addresses when it is loaded: symidx_lookup_section.
   */
  SYMIDX_NOT_PLACED = 12,
  /**
   * A pointer is NULL that must not be.
   */
  SYMIDX_ERROR_NULL = -1,
  /**
   * A pointer is not aligned to its type.
   */
  SYMIDX_ERROR_ALIGNMENT = -2,
  /**
   * A struct's size is none: not set by the caller?
   */
  SYMIDX_ERROR_SIZE = -3,
  /**
   * A number or flag is out of its range, or a path is empty.
   */
  SYMIDX_ERROR_ARGUMENT = -4,
  /**
   * The store is in use by a resolver: set it up before.
   */
  SYMIDX_ERROR_IN_USE = -5,
  /**
   * The system refused.
   */
  SYMIDX_ERROR_IO = -6,
  /**
   * The file is no index.
   */
  SYMIDX_ERROR_NOT_AN_INDEX = -7,
  /**
   * The index is of another format version: build it again.
   */
  SYMIDX_ERROR_VERSION = -8,
  /**
   * The index is damaged: build it again.
   */
  SYMIDX_ERROR_BROKEN = -9,
  /**
   * The text is not one of /proc/PID/maps.
   */
  SYMIDX_ERROR_MAPS = -10,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum symidx_status symidx_status;
#else
typedef int32_t symidx_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How a build is told from others.
 *
 * ```c
 * symidx_identity of = {.size = sizeof of};
 * symidx_identify(index, &of);
 * assert(of.id_kind == SYMIDX_ID_BUILD_ID && of.id_length == 8);
 * ```
 */
enum symidx_id_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * By the hash of its file only.
   */
  SYMIDX_ID_NONE = 0,
  /**
   * By its GNU build-id.
   */
  SYMIDX_ID_BUILD_ID = 1,
  /**
   * By its Mach-O UUID.
   */
  SYMIDX_ID_UUID = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum symidx_id_kind symidx_id_kind;
#else
typedef uint32_t symidx_id_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What a symbol is.
 *
 * ```c
 * symidx_symbol symbol = {.size = sizeof symbol};
 * symidx_lookup(index, 0x400270, &symbol);
 * assert(symbol.kind == SYMIDX_KIND_OBJECT); // data: no frame of a stack
 * ```
 */
enum symidx_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * A function.
   */
  SYMIDX_KIND_FUNCTION = 0,
  /**
   * An indirect function: the address is its resolver's.
   */
  SYMIDX_KIND_IFUNC = 1,
  /**
   * A data object.
   */
  SYMIDX_KIND_OBJECT = 2,
  /**
   * A label of unstated type.
   */
  SYMIDX_KIND_LABEL = 3,
  /**
   * Thread-local: found by name only.
   */
  SYMIDX_KIND_TLS = 4,
  /**
   * An absolute value: found by name only.
   */
  SYMIDX_KIND_ABSOLUTE = 5,
  /**
   * Of a kind that this version of the interface has no name for.
   */
  SYMIDX_KIND_OTHER = 255,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum symidx_kind symidx_kind;
#else
typedef uint32_t symidx_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How a name is bound.
 *
 * ```c
 * symidx_symbol symbol = {.size = sizeof symbol};
 * symidx_lookup(index, 0x400170, &symbol);
 * assert(symbol.binding == SYMIDX_BINDING_LOCAL); // others may have its name, too
 * ```
 */
enum symidx_binding
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Global.
   */
  SYMIDX_BINDING_GLOBAL = 0,
  /**
   * Weak.
   */
  SYMIDX_BINDING_WEAK = 1,
  /**
   * Local.
   */
  SYMIDX_BINDING_LOCAL = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum symidx_binding symidx_binding;
#else
typedef uint32_t symidx_binding;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How a symbol's length is known.
 *
 * ```c
 * symidx_symbol symbol = {.size = sizeof symbol};
 * symidx_lookup(index, 0x4001a8, &symbol);
 * assert(symbol.extent == SYMIDX_EXTENT_EXACT); // length as the compiler stated it
 * ```
 */
enum symidx_extent
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Stated by the binary.
   */
  SYMIDX_EXTENT_EXACT = 0,
  /**
   * Unstated: up to the next symbol or the end of its section.
   */
  SYMIDX_EXTENT_INFERRED = 1,
  /**
   * Made by the indexer: a stub of the PLT.
   */
  SYMIDX_EXTENT_SYNTHESIZED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum symidx_extent symidx_extent;
#else
typedef uint32_t symidx_extent;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What a module is.
 *
 * ```c
 * symidx_module module = {.size = sizeof module};
 * symidx_modules_get(modules, 0, &module);
 * assert(module.kind == SYMIDX_MODULE_FILE); // an index can be built of it
 * ```
 */
enum symidx_module_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * An executable, a shared object, any other mapped file.
   */
  SYMIDX_MODULE_FILE = 0,
  /**
   * The code that the kernel maps into every process.
   */
  SYMIDX_MODULE_VDSO = 1,
  /**
   * Memory without a file.
   */
  SYMIDX_MODULE_ANONYMOUS = 2,
  /**
   * Of a kind that this version of the interface has no name for.
   */
  SYMIDX_MODULE_OTHER = 255,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum symidx_module_kind symidx_module_kind;
#else
typedef uint32_t symidx_module_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * An open index: what symidx_open_map and its kin give, symidx_close takes.
 *
 * ```c
 * symidx_index *index = NULL;
 * if (symidx_open_map("app.symidx", &index, NULL, 0) == SYMIDX_OK)
 *     symidx_verify(index, NULL, 0);
 * symidx_close(index);
 * ```
 */
typedef struct symidx_index symidx_index;

/**
 * The modules of a process at one moment.
 *
 * ```c
 * symidx_modules *modules;
 * symidx_modules_capture(&modules); // where every file is mapped in this process
 * assert(symidx_modules_count(modules) > 0);
 * symidx_modules_free(modules);
 * ```
 */
typedef struct symidx_modules symidx_modules;

/**
 * Run-time addresses to symbols and frames: modules and the indexes open for them.
 *
 * ```c
 * symidx_resolver *resolver;
 * symidx_resolver_new(modules, store, &resolver);
 * symidx_resolver_open_all(resolver, NULL);
 * symidx_resolver_free(resolver);
 * ```
 */
typedef struct symidx_resolver symidx_resolver;

/**
 * Where indexes are found, and those that are open.
 *
 * ```c
 * symidx_store *store;
 * symidx_store_new(SYMIDX_STORE_ONLY_ADDED, &store);
 * symidx_store_add_directory(store, "/var/lib/symidx");
 * symidx_store_free(store);
 * ```
 */
typedef struct symidx_store symidx_store;

/**
 * Which file an index is of.
 *
 * ```c
 * symidx_identity of = {.size = sizeof of};
 * symidx_identify(index, &of);
 * assert(of.flags & SYMIDX_IMAGE_LINES); // else only names
 * ```
 */
typedef struct symidx_identity {
  /**
   * sizeof(symidx_identity), set by the caller.
   */
  uint32_t size;
  /**
   * SYMIDX_IMAGE_*.
   */
  uint32_t flags;
  /**
   * What `id` is.
   */
  symidx_id_kind id_kind;
  /**
   * Bytes of `id` that count.
   */
  uint32_t id_length;
  /**
   * The build-id or UUID, zeroes behind it.
   */
  uint8_t id[SYMIDX_MAX_ID];
  /**
   * BLAKE3 of the indexed file.
   */
  uint8_t input_hash[32];
  /**
   * Bytes of the indexed file.
   */
  uint64_t input_bytes;
  /**
   * Bytes of the index.
   */
  uint64_t index_bytes;
  /**
   * Symbols, at most: one more than the largest `id` of one.
   */
  uint32_t symbols;
  /**
   * Further names of symbols.
   */
  uint32_t aliases;
} symidx_identity;

/**
 * Bytes with a length, not ended by NUL; `data` is NULL where there are none.
 *
 * ```c
 * symidx_symbol symbol = {.size = sizeof symbol};
 * symidx_lookup(index, 0x4001a8, &symbol);
 * symidx_text name = symbol.name; // no NUL at its end
 * assert(name.length == 5 && memcmp(name.data, "outer", name.length) == 0);
 * ```
 */
typedef struct symidx_text {
  /**
   * The first byte.
   */
  const char *data;
  /**
   * How many there are.
   */
  size_t length;
} symidx_text;

/**
 * A name of an index whose names are packed (`symidx build --pack-names`): such a
 * name has no bytes to point to, so its symidx_text has no data, and
 * symidx_packed_name writes it. `length` is 0 where there is none.
 *
 * ```c
 * symidx_index *packed;
 * symidx_symbol symbol = {.size = sizeof symbol};
 * symidx_open_read("packed.symidx", &packed, NULL, 0);
 * symidx_lookup(packed, 0x401000, &symbol);
 * assert(symbol.name.data == NULL && symbol.packed_name.length == strlen("main"));
 * ```
 */
typedef struct symidx_packed {
  /**
   * Where it is in the index.
   */
  uint32_t at;
  /**
   * Bytes of the stored name in front of it.
   */
  uint16_t skip;
  /**
   * Bytes of the name.
   */
  uint16_t length;
} symidx_packed;

/**
 * A symbol, as the answer to an address.
 *
 * ```c
 * symidx_symbol symbol = {.size = sizeof symbol};
 * symidx_lookup(index, 0x40018c, &symbol);
 * if (symbol.flags & SYMIDX_SYMBOL_PART)
 *     printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints _start.cold
 * ```
 */
typedef struct symidx_symbol {
  /**
   * sizeof(symidx_symbol), set by the caller.
   */
  uint32_t size;
  /**
   * SYMIDX_OK, or why there is none: then `name` has no data, and what is
   * known of the address is there all the same.
   */
  symidx_status status;
  /**
   * SYMIDX_SYMBOL_*.
   */
  uint32_t flags;
  /**
   * What it is.
   */
  symidx_kind kind;
  /**
   * How its name is bound.
   */
  symidx_binding binding;
  /**
   * How its length is known.
   */
  symidx_extent extent;
  /**
   * A number for the symbol, the same for every address it answers.
   */
  uint32_t id;
  /**
   * The number of the module, or SYMIDX_NO_NUMBER: answers of an index.
   */
  uint32_t module;
  /**
   * The address looked up, as in the symbol table (svma).
   */
  uint64_t address;
  /**
   * The symbol's first address, likewise.
   */
  uint64_t start;
  /**
   * Bytes it reaches over.
   */
  uint64_t length;
  /**
   * Bytes from its start to the address.
   */
  uint64_t offset;
  /**
   * The linkage name, without a version.
   */
  struct symidx_text name;
  /**
   * The version: `V2` of `f@@V2`.
   */
  struct symidx_text version;
  /**
   * The kernel module it belongs to.
   */
  struct symidx_text kernel_module;
  /**
   * The index the texts point into.
   */
  const struct symidx_index *index;
  /**
   * The name, where the index has packed ones.
   */
  struct symidx_packed packed_name;
  /**
   * The version, likewise.
   */
  struct symidx_packed packed_version;
  /**
   * The kernel module, likewise.
   */
  struct symidx_packed packed_kernel_module;
} symidx_symbol;

/**
 * One way a name is defined.
 *
 * ```c
 * symidx_index *library; // two versions of a function, the default one first
 * symidx_match found[2] = {{.size = sizeof found[0]}};
 * symidx_open_read("library.symidx", &library, NULL, 0);
 * symidx_find(library, "verfn", strlen("verfn"), found, 2, NULL);
 * printf("%.*s\n", SYMIDX_PRINT(found[0].version)); // prints V2
 * ```
 */
typedef struct symidx_match {
  /**
   * sizeof(symidx_match), set by the caller in the first element of an array.
   */
  uint32_t size;
  /**
   * SYMIDX_SYMBOL_*.
   */
  uint32_t flags;
  /**
   * What it names.
   */
  symidx_kind kind;
  /**
   * How it is bound.
   */
  symidx_binding binding;
  /**
   * Its svma; in a relocatable file the offset in `section`; the value
   * itself for absolute and thread-local symbols.
   */
  uint64_t address;
  /**
   * Bytes it reaches over; 0 = not known.
   */
  uint64_t length;
  /**
   * The linkage name, without a version.
   */
  struct symidx_text name;
  /**
   * The version: `V2` of `f@@V2`.
   */
  struct symidx_text version;
  /**
   * The section it is defined in.
   */
  struct symidx_text section;
  /**
   * The kernel module it belongs to.
   */
  struct symidx_text kernel_module;
  /**
   * The name, where the index has packed ones.
   */
  struct symidx_packed packed_name;
  /**
   * The version, likewise.
   */
  struct symidx_packed packed_version;
  /**
   * The section, likewise.
   */
  struct symidx_packed packed_section;
  /**
   * The kernel module, likewise.
   */
  struct symidx_packed packed_kernel_module;
} symidx_match;

/**
 * One function at an address: the one the instruction was compiled from, or one
 * that it was inlined into.
 *
 * ```c
 * symidx_frame frames[16] = {{.size = sizeof frames[0]}};
 * size_t count;
 * symidx_frames(index, 0x4001a8, NULL, frames, 16, &count);
 * assert(count == 3 && frames[0].flags & SYMIDX_FRAME_INLINED);
 * printf("%.*s\n", SYMIDX_PRINT(frames[0].file)); // prints lines.c
 * ```
 */
typedef struct symidx_frame {
  /**
   * sizeof(symidx_frame), set by the caller in the first element of an array.
   */
  uint32_t size;
  /**
   * SYMIDX_FRAME_*.
   */
  uint32_t flags;
  /**
   * The line of the instruction, or of the call into the frame before, from
   * 1; 0 = not known.
   */
  uint32_t line;
  /**
   * The column, from 1; 0 = the line as a whole, or not known.
   */
  uint32_t column;
  /**
   * The function's linkage name; no data for a line outside every function.
   */
  struct symidx_text function;
  /**
   * The directory of the source file, without a slash at its end; may be
   * empty. symidx_path joins directory and file.
   */
  struct symidx_text directory;
  /**
   * The source file in the directory; no data when it is not known.
   */
  struct symidx_text file;
  /**
   * The directory of the file that declares the function.
   */
  struct symidx_text declared_directory;
  /**
   * The file that declares the function.
   */
  struct symidx_text declared_file;
  /**
   * The line that declares it, from 1; 0 = not known.
   */
  uint32_t declared_line;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * The index the texts point into.
   */
  const struct symidx_index *index;
  /**
   * The function, where the index has packed names.
   */
  struct symidx_packed packed_function;
  /**
   * The directory, likewise.
   */
  struct symidx_packed packed_directory;
  /**
   * The source file, likewise.
   */
  struct symidx_packed packed_file;
  /**
   * The directory of the file that declares the function, likewise.
   */
  struct symidx_packed packed_declared_directory;
  /**
   * The file that declares the function, likewise.
   */
  struct symidx_packed packed_declared_file;
} symidx_frame;

/**
 * One file that a process has mapped.
 *
 * ```c
 * symidx_module module = {.size = sizeof module};
 * symidx_modules_get(modules, 0, &module);
 * printf("%u bytes\n", (unsigned)(module.end - module.start)); // prints 4096 bytes
 * ```
 */
typedef struct symidx_module {
  /**
   * sizeof(symidx_module), set by the caller.
   */
  uint32_t size;
  /**
   * What it is.
   */
  symidx_module_kind kind;
  /**
   * First run-time address of its first mapping.
   */
  uint64_t start;
  /**
   * The address after its last mapping.
   */
  uint64_t end;
  /**
   * The inode of its file; 0 = not known.
   */
  uint64_t inode;
  /**
   * Its path as the process knows it.
   */
  struct symidx_text path;
  /**
   * The path that reaches the same file from here: through /proc for a
   * process in another mount namespace, or a file that was deleted.
   */
  struct symidx_text file;
  /**
   * Its build-id or UUID; NULL when it has none.
   */
  const uint8_t *id;
  /**
   * Bytes of `id`.
   */
  size_t id_length;
} symidx_module;

/**
 * Where in which module a run-time address lies.
 *
 * ```c
 * symidx_location location = {.size = sizeof location};
 * symidx_modules_find(modules, 0x5555000001a8, &location);
 * if (location.flags & SYMIDX_LOCATION_FILE_OFFSET) // not of /proc/PID/maps alone: no svma
 *     printf("0x%llx\n", (unsigned long long)location.file_offset); // prints 0x1a8
 * ```
 */
typedef struct symidx_location {
  /**
   * sizeof(symidx_location), set by the caller.
   */
  uint32_t size;
  /**
   * SYMIDX_LOCATION_*.
   */
  uint32_t flags;
  /**
   * The module's number: symidx_modules_get.
   */
  uint32_t module;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * The address as the module's symbol table counts.
   */
  uint64_t svma;
  /**
   * The offset in the module's file.
   */
  uint64_t file_offset;
} symidx_location;

/**
 * What a resolver can need in memory at most, whatever is asked of it.
 *
 * ```c
 * symidx_budget budget = {.size = sizeof budget};
 * symidx_resolver_budget(resolver, &budget);
 * assert(budget.anonymous_bytes + budget.mapped_bytes < 64 << 20);
 * ```
 */
typedef struct symidx_budget {
  /**
   * sizeof(symidx_budget), set by the caller.
   */
  uint32_t size;
  /**
   * How many modules there are.
   */
  uint32_t modules;
  /**
   * How many of them have an index.
   */
  uint32_t indexed;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * Anonymous bytes: they do not grow with the number of lookups.
   */
  uint64_t anonymous_bytes;
  /**
   * Bytes of mapped indexes: page cache, which the system takes back when it
   * needs to.
   */
  uint64_t mapped_bytes;
} symidx_budget;

/**
 * How many addresses have symbols, and why the others have none.
 *
 * ```c
 * symidx_statistics statistics = {.size = sizeof statistics};
 * symidx_statistics_count(&statistics, SYMIDX_GAP);
 * symidx_statistics_count(&statistics, SYMIDX_OK);
 * assert(statistics.addresses == 2 && statistics.gap == 1 && statistics.resolved == 1);
 * ```
 */
typedef struct symidx_statistics {
  /**
   * sizeof(symidx_statistics), set by the caller.
   */
  uint32_t size;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * Addresses asked for.
   */
  uint64_t addresses;
  /**
   * Those with a symbol.
   */
  uint64_t resolved;
  /**
   * SYMIDX_GAP.
   */
  uint64_t gap;
  /**
   * SYMIDX_NO_MODULE.
   */
  uint64_t no_module;
  /**
   * SYMIDX_ANONYMOUS.
   */
  uint64_t anonymous;
  /**
   * SYMIDX_NOT_OPENED.
   */
  uint64_t not_opened;
  /**
   * SYMIDX_NO_INDEX.
   */
  uint64_t no_index;
  /**
   * SYMIDX_STALE_INDEX.
   */
  uint64_t stale_index;
  /**
   * SYMIDX_UNUSABLE_INDEX.
   */
  uint64_t unusable_index;
  /**
   * SYMIDX_OVER_BUDGET.
   */
  uint64_t over_budget;
  /**
   * SYMIDX_CORRUPT.
   */
  uint64_t corrupt;
  /**
   * SYMIDX_NOT_PLACED.
   */
  uint64_t not_placed;
} symidx_statistics;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Opens an index file by mapping it: a few microseconds, and only what lookups
 * touch is ever read. `path` ends in NUL. `message` takes the details of a
 * failure and may be NULL.
 *
 * While the index is open, no process may change or truncate the file: a page
 * that is gone ends the process with SIGBUS. `symidx build` keeps that promise:
 * it replaces files by rename. Where others may write the file, use
 * symidx_open_read.
 *
 * ```c
 * symidx_index *index;
 * char message[256];
 * if (symidx_open_map("app.symidx", &index, message, sizeof message) != SYMIDX_OK)
 *     fprintf(stderr, "%s\n", message);
 * ```
 *
 * Threads: any. Signals: no.
 *
 * # Safety
 * `index` points to a variable, `message` to `message_capacity` bytes; the file
 * does not change while the index is open.
 */
symidx_status symidx_open_map(const char *path,
                              struct symidx_index **index,
                              char *message,
                              size_t message_capacity);

/**
 * Opens an index file by reading it into memory: no hazard from files that
 * change, at the price of one copy. As symidx_open_map otherwise.
 *
 * ```c
 * symidx_index *index; // a file that others may write to
 * if (symidx_open_read("app.symidx", &index, NULL, 0) == SYMIDX_OK)
 *     symidx_close(index);
 * ```
 *
 * Threads: any. Signals: no.
 *
 * # Safety
 * `index` points to a variable, `message` to `message_capacity` bytes.
 */
symidx_status symidx_open_read(const char *path,
                               struct symidx_index **index,
                               char *message,
                               size_t message_capacity);

/**
 * Opens an index in memory, without a copy.
 *
 * ```c
 * static const uint8_t bytes[] = "not an index"; // one that is linked in, say
 * symidx_index *index;
 * int32_t status = symidx_open_memory(bytes, sizeof bytes, &index, NULL, 0);
 * printf("%s\n", symidx_strerror(status)); // prints expected a .symidx file, found something else
 * ```
 *
 * Threads: any. Signals: no (one small allocation). Lifetime: the bytes must
 * stay where they are, unchanged, until the index is closed.
 *
 * # Safety
 * `bytes` points to `length` bytes that stay; `index` points to a variable,
 * `message` to `message_capacity` bytes.
 */
symidx_status symidx_open_memory(const uint8_t *bytes,
                                 size_t length,
                                 struct symidx_index **index,
                                 char *message,
                                 size_t message_capacity);

/**
 * Closes an index; NULL is fine.
 *
 * ```c
 * symidx_index *index;
 * symidx_open_read("app.symidx", &index, NULL, 0);
 * symidx_close(index);
 * symidx_close(NULL); // nothing to close
 * ```
 *
 * Threads: when no other call uses the index. Signals: no. Lifetime: every text
 * from the index ends.
 *
 * # Safety
 * The index is one that this library opened and nobody closed.
 */
void symidx_close(struct symidx_index *index);

/**
 * Checks every promise of the format, hashes included: linear in the file's
 * size. SYMIDX_ERROR_BROKEN, and in `message` (may be NULL) which one is broken where.
 *
 * ```c
 * char message[256]; // after a transfer, before a rollout
 * if (symidx_verify(index, message, sizeof message) != SYMIDX_OK)
 *     fprintf(stderr, "%s\n", message);
 * ```
 *
 * Threads: any. Signals: no (slow, but no heap, no lock).
 *
 * # Safety
 * The index is open; `message` points to `message_capacity` bytes.
 */
symidx_status symidx_verify(const struct symidx_index *index,
                            char *message,
                            size_t message_capacity);

/**
 * Which file the index is of: build-id or UUID, hash, sizes.
 *
 * ```c
 * symidx_identity of = {.size = sizeof of};
 * symidx_identify(index, &of);
 * for (uint32_t i = 0; i < of.id_length; i++)
 *     printf("%02x", of.id[i]);
 * printf(", %u symbols\n", of.symbols); // prints 1122334455667788, 6 symbols
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: a copy.
 *
 * # Safety
 * The index is open; `identity` points to a struct whose size is set.
 */
symidx_status symidx_identify(const struct symidx_index *index, struct symidx_identity *identity);

/**
 * The symbol that covers an svma (the address as in the symbol table), the
 * innermost one where symbols nest; SYMIDX_GAP when none does.
 *
 * ```c
 * symidx_symbol symbol = {.size = sizeof symbol};
 * if (symidx_lookup(index, 0x4001a8, &symbol) == SYMIDX_OK)
 *     printf("%.*s+%u\n", SYMIDX_PRINT(symbol.name), (unsigned)symbol.offset); // prints outer+8
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts as long as the index.
 *
 * # Safety
 * The index is open; `symbol` points to a struct whose size is set.
 */
symidx_status symidx_lookup(const struct symidx_index *index,
                            uint64_t address,
                            struct symidx_symbol *symbol);

/**
 * The symbol of the call before a return address: looks up the byte in front of
 * it, and counts `offset` to that byte. Every stack entry but the innermost is a
 * return address.
 *
 * ```c
 * // The call is the last instruction of its function: what follows is nobody's.
 * symidx_symbol symbol = {.size = sizeof symbol};
 * if (symidx_lookup_return(index, 0x400191, &symbol) == SYMIDX_OK)
 *     printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints _start.cold
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts as long as the index.
 *
 * # Safety
 * As symidx_lookup.
 */
symidx_status symidx_lookup_return(const struct symidx_index *index,
                                   uint64_t address,
                                   struct symidx_symbol *symbol);

/**
 * The symbol at an offset of the binary's file, as profilers record it:
 * ip - start + pgoff of the mapping that holds ip.
 *
 * ```c
 * // A sample at ip in a mapping of the file: from /proc/PID/maps, or PERF_RECORD_MMAP.
 * uint64_t ip = 0x7f12345601a8, start = 0x7f1234560000, pgoff = 0;
 * symidx_symbol symbol = {.size = sizeof symbol};
 * if (symidx_lookup_offset(index, ip - start + pgoff, &symbol) == SYMIDX_OK)
 *     printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints outer
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts as long as the index.
 *
 * # Safety
 * As symidx_lookup.
 */
symidx_status symidx_lookup_offset(const struct symidx_index *index,
                                   uint64_t file_offset,
                                   struct symidx_symbol *symbol);

/**
 * The symbol at an offset of a section of a relocatable file (`.o`, `.ko`);
 * `section` of NULL and 0: `.text`, else the first that is code. SYMIDX_NONE
 * when there is no such section.
 *
 * ```c
 * symidx_index *object; // of a .o: two functions at offset 0, each of its section
 * symidx_symbol symbol = {.size = sizeof symbol};
 * symidx_open_read("object.symidx", &object, NULL, 0);
 * symidx_lookup_section(object, ".text.two", strlen(".text.two"), 0, &symbol);
 * printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints two
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts as long as the index.
 *
 * # Safety
 * As symidx_lookup; `section` points to `section_length` bytes.
 */
symidx_status symidx_lookup_section(const struct symidx_index *index,
                                    const char *section,
                                    size_t section_length,
                                    uint64_t offset,
                                    struct symidx_symbol *symbol);

/**
 * Every definition of a name: `f` finds `f`, `f@@V2` and `f@V1` (the default
 * version first), `f@V1` just that one. Exact bytes, no demangling. SYMIDX_NONE
 * when there is none, SYMIDX_CUT when there are more than `capacity`.
 *
 * `count` (may be NULL) takes how many there are; `capacity` of them are written.
 *
 * ```c
 * // Where to set a breakpoint.
 * symidx_match found = {.size = sizeof found};
 * if (symidx_find(index, "outer", strlen("outer"), &found, 1, NULL) == SYMIDX_OK)
 *     printf("0x%llx\n", (unsigned long long)found.address); // prints 0x4001a0
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts as long as the index.
 *
 * # Safety
 * The index is open; `name` points to `name_length` bytes, `matches` to
 * `capacity` structs with the size of the first one set; `count` points to a
 * variable.
 */
symidx_status symidx_find(const struct symidx_index *index,
                          const char *name,
                          size_t name_length,
                          struct symidx_match *matches,
                          size_t capacity,
                          size_t *count);

/**
 * The frames of an svma, innermost first: the functions inlined there, then the
 * one that holds the code. SYMIDX_GAP when there are none, SYMIDX_CUT when there
 * are more than `capacity`.
 *
 * `count` (may be NULL) takes how many there are: at most 512, and `capacity` of
 * them are written; 0 when the call fails. `symbol` (may be NULL) takes what symidx_lookup answers;
 * where only lines are known, its status is SYMIDX_GAP.
 *
 * ```c
 * symidx_frame frames[16] = {{.size = sizeof frames[0]}};
 * size_t count, i;
 * symidx_frames(index, 0x4001a8, NULL, frames, 16, &count);
 * for (i = 0; i < count && i < 16; i++)
 *     printf("%.*s:%u ", SYMIDX_PRINT(frames[i].function), frames[i].line);
 * printf("\n"); // prints leaf:6 middle:10 outer:17
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts as long as the index.
 *
 * # Safety
 * The index is open; `frames` points to `capacity` structs, `symbol` to one,
 * with their sizes set; `count` points to a variable.
 */
symidx_status symidx_frames(const struct symidx_index *index,
                            uint64_t address,
                            struct symidx_symbol *symbol,
                            struct symidx_frame *frames,
                            size_t capacity,
                            size_t *count);

/**
 * The frames of the call before a return address. As symidx_frames.
 *
 * ```c
 * // Of a stack entry that is not the innermost: the line of the call.
 * symidx_frame frame = {.size = sizeof frame};
 * if (symidx_frames_return(index, 0x400191, NULL, &frame, 1, NULL) == SYMIDX_OK)
 *     printf("line %u\n", frame.line); // prints line 26
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts as long as the index.
 *
 * # Safety
 * As symidx_frames.
 */
symidx_status symidx_frames_return(const struct symidx_index *index,
                                   uint64_t address,
                                   struct symidx_symbol *symbol,
                                   struct symidx_frame *frames,
                                   size_t capacity,
                                   size_t *count);

/**
 * The frames at an offset of the binary's file. As symidx_frames.
 *
 * ```c
 * // As a profile's mappings count: from the start of the file. Room for the innermost.
 * symidx_frame frame = {.size = sizeof frame};
 * if (symidx_frames_offset(index, 0x1a8, NULL, &frame, 1, NULL) == SYMIDX_CUT)
 *     printf("%.*s\n", SYMIDX_PRINT(frame.function)); // prints leaf
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts as long as the index.
 *
 * # Safety
 * As symidx_frames.
 */
symidx_status symidx_frames_offset(const struct symidx_index *index,
                                   uint64_t file_offset,
                                   struct symidx_symbol *symbol,
                                   struct symidx_frame *frames,
                                   size_t capacity,
                                   size_t *count);

/**
 * Makes a store. It takes an index only if it is of the same build as the module,
 * by build-id or UUID, or where a file has none by the hash of its content, and
 * looks in this order: beside the binary (`app.symidx`); in it (ELF section
 * `.symidx`); directories added by symidx_store_add_directory, then those of
 * `$SYMIDX_PATH`, as `.build-id/xx/yyyy.symidx`; the user's cache
 * (`$XDG_CACHE_HOME/symidx`, else `~/.cache/symidx`); perf's cache (`~/.debug`).
 *
 * `flags`: SYMIDX_STORE_* or 0. Without SYMIDX_STORE_READ, indexes are mapped,
 * with the promise of symidx_open_map for every place of the store.
 *
 * ```c
 * symidx_store *store; // for a service whose index files others may write to
 * if (symidx_store_new(SYMIDX_STORE_READ, &store) == SYMIDX_OK)
 *     symidx_store_free(store);
 * ```
 *
 * Threads: any. Signals: no.
 *
 * # Safety
 * `store` points to a variable; files of mapped indexes do not change while
 * they are open.
 */
symidx_status symidx_store_new(uint32_t flags, struct symidx_store **store);

/**
 * Frees a store; NULL is fine. Resolvers that use it keep what they need.
 *
 * ```c
 * symidx_store *store;
 * symidx_store_new(0, &store);
 * symidx_resolver_new(modules, store, &resolver); // holds the store, too
 * symidx_store_free(store);
 * ```
 *
 * Threads: when no other call uses this handle. Signals: no.
 *
 * # Safety
 * The store is one that this library made and nobody freed.
 */
void symidx_store_free(struct symidx_store *store);

/**
 * Looks in a directory too, before those of the environment. `path` ends in NUL.
 * SYMIDX_ERROR_IN_USE once a resolver has the store.
 *
 * ```c
 * symidx_store *store; // what it holds: symidx build --store /var/lib/symidx
 * symidx_store_new(0, &store);
 * symidx_store_add_directory(store, "/var/lib/symidx");
 * ```
 *
 * Threads: when no other call uses the store. Signals: no. Lifetime: a copy.
 *
 * # Safety
 * The store is one of this library; `path` ends in NUL.
 */
symidx_status symidx_store_add_directory(struct symidx_store *store, const char *path);

/**
 * Keeps at most so many indexes open, of so many bytes in all (mapped ones in
 * whole pages); UINT64_MAX = no bound. Indexes past a bound are
 * SYMIDX_OVER_BUDGET. Without this call: 4096, and no bound on bytes.
 * SYMIDX_ERROR_IN_USE once a resolver has the store.
 *
 * ```c
 * symidx_store *store;
 * symidx_store_new(0, &store);
 * symidx_store_set_bounds(store, 100, 64 << 20); // indexes, bytes
 * ```
 *
 * Threads: when no other call uses the store. Signals: no.
 *
 * # Safety
 * The store is one of this library.
 */
symidx_status symidx_store_set_bounds(struct symidx_store *store,
                                      uint64_t max_open,
                                      uint64_t max_bytes);

/**
 * Finds the index of a file that a profile names, and opens it for the caller
 * alone: close it with symidx_close; the store neither keeps nor counts it. The
 * file need not be there. `id` is what the profile says its build-id or UUID is;
 * NULL and 0: the file is asked. Why there is none is the status, and in full in
 * `message` (may be NULL).
 *
 * ```c
 * symidx_index *index; // by the id that the file has
 * if (symidx_store_find(store, "app", NULL, 0, &index, NULL, 0) == SYMIDX_OK)
 *     symidx_close(index);
 * ```
 *
 * Threads: any. Signals: no. Lifetime: the index is the caller's.
 *
 * # Safety
 * The store is one of this library; `path` ends in NUL, `id` points to `id_length`
 * bytes, `index` to a variable, `message` to `message_capacity` bytes.
 */
symidx_status symidx_store_find(const struct symidx_store *store,
                                const char *path,
                                const uint8_t *id,
                                size_t id_length,
                                struct symidx_index **index,
                                char *message,
                                size_t message_capacity);

/**
 * How many indexes are open, and their bytes, mapped ones in whole pages: what
 * can be resident of them at most. Either pointer may be NULL.
 *
 * ```c
 * uint64_t open, bytes; // to be shown beside other caches
 * symidx_resolver_open_all(resolver, NULL);
 * symidx_store_usage(store, &open, &bytes);
 * assert(open == 1 && bytes >= 3213);
 * ```
 *
 * Threads: any. Signals: no (takes a lock).
 *
 * # Safety
 * The store is one of this library; the pointers point to variables.
 */
symidx_status symidx_store_usage(const struct symidx_store *store, uint64_t *open, uint64_t *bytes);

/**
 * Lets go of the index of a build, by its build-id or UUID: it closes once no
 * resolver uses it any more, and resolvers made from now on look for it anew.
 * SYMIDX_NONE when the store does not know it.
 *
 * ```c
 * // A new index of this build was published: new resolvers take it.
 * const uint8_t id[] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
 * assert(symidx_store_evict(store, id, sizeof id) == SYMIDX_OK);
 * ```
 *
 * Threads: any. Signals: no (takes a lock).
 *
 * # Safety
 * The store is one of this library; `id` points to `id_length` bytes.
 */
symidx_status symidx_store_evict(const struct symidx_store *store,
                                 const uint8_t *id,
                                 size_t id_length);

/**
 * Closes every index that no resolver uses; `closed` (may be NULL) takes how many.
 *
 * ```c
 * size_t closed;
 * symidx_resolver_open_all(resolver, NULL);
 * symidx_resolver_free(resolver); // its process has ended
 * symidx_store_evict_unused(store, &closed);
 * assert(closed == 1);
 * ```
 *
 * Threads: any. Signals: no (takes a lock).
 *
 * # Safety
 * The store is one of this library; `closed` points to a variable.
 */
symidx_status symidx_store_evict_unused(const struct symidx_store *store, size_t *closed);

/**
 * Forgets what was not found, so that it is looked for again: when indexes
 * were added.
 *
 * ```c
 * symidx_store_forget_missing(store); // after symidx build --store
 * symidx_resolver_open_all(resolver, NULL); // finds what was built since
 * ```
 *
 * Threads: any. Signals: yes.
 *
 * # Safety
 * The store is one of this library.
 */
symidx_status symidx_store_forget_missing(const struct symidx_store *store);

/**
 * The modules of this process: the program, its shared objects, the vDSO, each
 * with its build-id.
 *
 * ```c
 * symidx_modules *modules;
 * symidx_location location = {.size = sizeof location};
 * symidx_modules_capture(&modules);
 * assert(symidx_modules_find(modules, (uintptr_t)&printf, &location) == SYMIDX_OK);
 * symidx_modules_free(modules);
 * ```
 *
 * Threads: any. Signals: no (takes the loader's lock, allocates).
 *
 * # Safety
 * `modules` points to a variable.
 */
symidx_status symidx_modules_capture(struct symidx_modules **modules);

/**
 * The modules of another process, through `/proc/PID`: works for containers and
 * for files that were deleted. `message` takes the details of a failure and may
 * be NULL.
 *
 * ```c
 * symidx_modules *modules;
 * char message[256];
 * if (symidx_modules_from_pid((uint32_t)getpid(), &modules, message, sizeof message) != SYMIDX_OK)
 *     fprintf(stderr, "%s\n", message); // no such process, or somebody else's
 * ```
 *
 * Threads: any. Signals: no.
 *
 * # Safety
 * `modules` points to a variable, `message` to `message_capacity` bytes.
 */
symidx_status symidx_modules_from_pid(uint32_t pid,
                                      struct symidx_modules **modules,
                                      char *message,
                                      size_t message_capacity);

/**
 * The modules in a recorded text of `/proc/PID/maps`. Build-ids are read from the
 * files of those names when an index is looked for. `message` as in
 * symidx_modules_from_pid.
 *
 * ```c
 * static const char text[] = "400000-401000 r-xp 00000000 08:01 42 /bin/app\n";
 * symidx_modules *modules; // of a recording, where the process is gone
 * symidx_modules_from_maps(text, strlen(text), &modules, NULL, 0);
 * assert(symidx_modules_count(modules) == 1);
 * ```
 *
 * Threads: any. Signals: no. Lifetime: a copy.
 *
 * # Safety
 * `text` points to `length` bytes; `modules` points to a variable, `message` to
 * `message_capacity` bytes.
 */
symidx_status symidx_modules_from_maps(const char *text,
                                       size_t length,
                                       struct symidx_modules **modules,
                                       char *message,
                                       size_t message_capacity);

/**
 * Frees modules; NULL is fine.
 *
 * ```c
 * symidx_modules *modules;
 * symidx_modules_capture(&modules);
 * symidx_resolver_new(modules, store, &resolver); // has a copy
 * symidx_modules_free(modules);
 * ```
 *
 * Threads: when no other call uses them. Signals: no. Lifetime: every text from
 * them ends.
 *
 * # Safety
 * The modules are ones that this library gave, and nobody freed. Those that
 * symidx_resolver_modules gave are not to be freed.
 */
void symidx_modules_free(struct symidx_modules *modules);

/**
 * Whether libraries were loaded or unloaded since. For this process two counters
 * of the loader are compared.
 *
 * ```c
 * bool changed; // before each profile: a library that is gone must not lend its names
 * symidx_modules_changed(modules, &changed);
 * assert(!changed);
 * ```
 *
 * Threads: any. Signals: no (takes the loader's lock).
 *
 * # Safety
 * The modules are this library's; `changed` points to a variable.
 */
symidx_status symidx_modules_changed(const struct symidx_modules *modules, bool *changed);

/**
 * How many modules there are; 0 for NULL. Their numbers start at 0.
 *
 * ```c
 * symidx_module module = {.size = sizeof module};
 * for (uint32_t i = 0; i < symidx_modules_count(modules); i++)
 *     assert(symidx_modules_get(modules, i, &module) == SYMIDX_OK);
 * ```
 *
 * Threads: any. Signals: yes.
 *
 * # Safety
 * The modules are this library's.
 */
uint32_t symidx_modules_count(const struct symidx_modules *modules);

/**
 * The module with a number. SYMIDX_NONE when there is none.
 *
 * ```c
 * symidx_module module = {.size = sizeof module};
 * if (symidx_modules_get(modules, 0, &module) == SYMIDX_OK)
 *     printf("0x%llx\n", (unsigned long long)module.start); // prints 0x555500000000
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts and id as long as the modules.
 *
 * # Safety
 * The modules are this library's; `module` points to a struct whose size is set.
 */
symidx_status symidx_modules_get(const struct symidx_modules *modules,
                                 uint32_t number,
                                 struct symidx_module *module);

/**
 * Where a run-time address lies: its module, svma and file offset.
 * SYMIDX_NO_MODULE when no module holds it.
 *
 * ```c
 * // What is printed where there is no symbol: the file, and where in it.
 * symidx_location location = {.size = sizeof location};
 * if (symidx_modules_find(modules, 0x5555000001a8, &location) == SYMIDX_OK)
 *     printf("0x%llx\n", (unsigned long long)location.file_offset); // prints 0x1a8
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: a copy.
 *
 * # Safety
 * The modules are this library's; `location` points to a struct whose size is
 * set.
 */
symidx_status symidx_modules_find(const struct symidx_modules *modules,
                                  uint64_t address,
                                  struct symidx_location *location);

/**
 * Makes a resolver for modules, with the indexes of a store; opens none yet.
 * Both are shared or copied: the caller keeps the handles and may free them.
 *
 * ```c
 * symidx_resolver *resolver;
 * symidx_resolver_new(modules, store, &resolver);
 * symidx_resolver_open_all(resolver, NULL); // or symidx_resolver_open_for
 * symidx_resolver_free(resolver);
 * ```
 *
 * Threads: any. Signals: no.
 *
 * # Safety
 * Modules and store are this library's; `resolver` points to a variable.
 */
symidx_status symidx_resolver_new(const struct symidx_modules *modules,
                                  const struct symidx_store *store,
                                  struct symidx_resolver **resolver);

/**
 * Frees a resolver; NULL is fine.
 *
 * ```c
 * symidx_resolver *resolver;
 * symidx_resolver_new(modules, store, &resolver);
 * symidx_resolver_free(resolver); // the store keeps what others use
 * ```
 *
 * Threads: when no other call uses it. Signals: no; block or stop those whose
 * handlers use it before. Lifetime: every text from it ends.
 *
 * # Safety
 * The resolver is one that this library made and nobody freed.
 */
void symidx_resolver_free(struct symidx_resolver *resolver);

/**
 * Captures the modules again if libraries were loaded or unloaded since;
 * `changed` (may be NULL) tells. Indexes that are open stay open, those of new
 * modules are not yet.
 *
 * ```c
 * bool changed; // before each profile
 * symidx_resolver_update(resolver, &changed, NULL, 0);
 * if (changed)
 *     symidx_resolver_open_all(resolver, NULL);
 * ```
 *
 * Threads: when no other call uses the resolver. Signals: no, and none that use
 * the resolver may come meanwhile. Lifetime: where modules changed, every text
 * from the resolver ends.
 *
 * # Safety
 * The resolver is this library's; `changed` points to a variable, `message` (may
 * be NULL) to `message_capacity` bytes.
 */
symidx_status symidx_resolver_update(struct symidx_resolver *resolver,
                                     bool *changed,
                                     char *message,
                                     size_t message_capacity);

/**
 * Opens the indexes that these addresses need, those with most addresses first,
 * so that a bound on memory costs least. `open` (may be NULL) takes how many of
 * them are open then; symidx_resolver_missing tells why others are not.
 *
 * ```c
 * const uint64_t stack[] = {0x5555000001a8, 0x555500000225}; // all stacks' addresses
 * size_t open;
 * symidx_resolver_open_for(resolver, stack, 2, &open);
 * assert(open == 1); // one module has them all
 * ```
 *
 * Threads: when no other call uses the resolver. Signals: no, and none that use
 * the resolver may come meanwhile. A store that maps needs no heap.
 *
 * # Safety
 * The resolver is this library's; `addresses` points to `count` addresses, `open`
 * to a variable.
 */
symidx_status symidx_resolver_open_for(struct symidx_resolver *resolver,
                                       const uint64_t *addresses,
                                       size_t count,
                                       size_t *open);

/**
 * Opens the index of every module that has one. As symidx_resolver_open_for.
 *
 * ```c
 * size_t open;
 * symidx_resolver_open_all(resolver, &open);
 * printf("%zu of %u\n", open, symidx_modules_count(modules)); // prints 1 of 1
 * ```
 *
 * Threads: when no other call uses the resolver. Signals: no, and none that use
 * the resolver may come meanwhile.
 *
 * # Safety
 * The resolver is this library's; `open` points to a variable.
 */
symidx_status symidx_resolver_open_all(struct symidx_resolver *resolver, size_t *open);

/**
 * Adds an index for the run-time addresses `first` to `last`, moved by `bias`
 * (run-time address - svma): code made at run time, the kernel. It answers where
 * no file does.
 *
 * ```c
 * symidx_index *kernel; // of /proc/kallsyms, which has run-time addresses: bias 0
 * symidx_symbol symbol = {.size = sizeof symbol};
 * symidx_open_read("kallsyms.symidx", &kernel, NULL, 0);
 * symidx_resolver_add_index(resolver, 1ULL << 63, UINT64_MAX, 0, kernel);
 * assert(symidx_resolver_lookup(resolver, 0xffffffff81001010, &symbol) == SYMIDX_OK);
 * ```
 *
 * Threads: when no other call uses the resolver. Signals: no, and none that use
 * the resolver may come meanwhile. Lifetime: on SYMIDX_OK the index is the
 * resolver's, and the caller's handle ends; texts from it stay.
 *
 * # Safety
 * The resolver is this library's; the index is one that it opened and nobody
 * closed or gave away.
 */
symidx_status symidx_resolver_add_index(struct symidx_resolver *resolver,
                                        uint64_t first,
                                        uint64_t last,
                                        uint64_t bias,
                                        struct symidx_index *index);

/**
 * Takes away the indexes that symidx_resolver_add_index added, and closes them.
 *
 * ```c
 * symidx_index *jit; // of /tmp/perf-PID.map, which has grown since
 * symidx_open_read("jit.symidx", &jit, NULL, 0);
 * symidx_resolver_clear_added(resolver);
 * symidx_resolver_add_index(resolver, 0, UINT64_MAX, 0, jit);
 * ```
 *
 * Threads: when no other call uses the resolver. Signals: no, and none that use
 * the resolver may come meanwhile. Lifetime: texts from those indexes, and
 * pointers to them in answers, end.
 *
 * # Safety
 * The resolver is this library's.
 */
symidx_status symidx_resolver_clear_added(struct symidx_resolver *resolver);

/**
 * The modules of the resolver; NULL for NULL.
 *
 * ```c
 * const symidx_modules *modules = symidx_resolver_modules(resolver);
 * symidx_location location = {.size = sizeof location};
 * assert(symidx_modules_find(modules, 0x5555000001a8, &location) == SYMIDX_OK);
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: until the resolver is updated or freed;
 * not to be freed.
 *
 * # Safety
 * The resolver is this library's.
 */
const struct symidx_modules *symidx_resolver_modules(const struct symidx_resolver *resolver);

/**
 * The open index of a module; NULL when there is none.
 *
 * ```c
 * const symidx_index *index = symidx_resolver_index(resolver, 0);
 * assert(index == NULL); // not opened yet
 * symidx_resolver_open_all(resolver, NULL);
 * assert(symidx_verify(symidx_resolver_index(resolver, 0), NULL, 0) == SYMIDX_OK);
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: until the resolver is updated or freed;
 * not to be closed.
 *
 * # Safety
 * The resolver is this library's.
 */
const struct symidx_index *symidx_resolver_index(const struct symidx_resolver *resolver,
                                                 uint32_t module);

/**
 * Why a module has no open index: SYMIDX_OK when it has one, SYMIDX_NOT_OPENED
 * when it was not looked for, SYMIDX_NONE when there is no such module, else the
 * reason, in full in `message` (may be NULL).
 *
 * ```c
 * char message[256];
 * symidx_resolver_open_all(resolver, NULL);
 * for (uint32_t i = 0; i < symidx_modules_count(modules); i++)
 *     if (symidx_resolver_missing(resolver, i, message, sizeof message) != SYMIDX_OK)
 *         fprintf(stderr, "%s\n", message);
 * ```
 *
 * Threads: any. Signals: yes without a message.
 *
 * # Safety
 * The resolver is this library's; `message` points to `message_capacity` bytes.
 */
symidx_status symidx_resolver_missing(const struct symidx_resolver *resolver,
                                      uint32_t module,
                                      char *message,
                                      size_t message_capacity);

/**
 * The bound on memory before any lookup: opens every index that the bounds of
 * the store allow (which reads no page of them), and adds up what can become
 * resident.
 *
 * ```c
 * symidx_budget budget = {.size = sizeof budget};
 * symidx_resolver_budget(resolver, &budget); // before a job starts
 * printf("%u of %u modules\n", budget.indexed, budget.modules); // prints 1 of 1 modules
 * ```
 *
 * Threads: when no other call uses the resolver. Signals: no, and none that use
 * the resolver may come meanwhile.
 *
 * # Safety
 * The resolver is this library's; `budget` points to a struct whose size is set.
 */
symidx_status symidx_resolver_budget(struct symidx_resolver *resolver,
                                     struct symidx_budget *budget);

/**
 * The symbol that covers a run-time address; else the status says why there is none.
 *
 * ```c
 * symidx_symbol symbol = {.size = sizeof symbol};
 * symidx_resolver_open_all(resolver, NULL); // once
 * if (symidx_resolver_lookup(resolver, 0x5555000001a8, &symbol) == SYMIDX_OK)
 *     printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints outer
 * ```
 *
 * Threads: any. Signals: yes: no heap, no lock, no system call. Lifetime: texts
 * until the resolver is updated or freed.
 *
 * # Safety
 * The resolver is this library's; `symbol` points to a struct whose size is set.
 */
symidx_status symidx_resolver_lookup(const struct symidx_resolver *resolver,
                                     uint64_t address,
                                     struct symidx_symbol *symbol);

/**
 * The symbol of the call before a return address: every stack entry but the
 * innermost is a return address. As symidx_resolver_lookup.
 *
 * ```c
 * symidx_symbol symbol = {.size = sizeof symbol};
 * symidx_resolver_open_all(resolver, NULL);
 * symidx_resolver_lookup_return(resolver, 0x555500000191, &symbol); // of a stack's entry
 * printf("%.*s\n", SYMIDX_PRINT(symbol.name)); // prints _start.cold
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts until the resolver is updated or
 * freed.
 *
 * # Safety
 * As symidx_resolver_lookup.
 */
symidx_status symidx_resolver_lookup_return(const struct symidx_resolver *resolver,
                                            uint64_t address,
                                            struct symidx_symbol *symbol);

/**
 * The frames of a run-time address, innermost first; else the status says why
 * there are none. `symbol`, `frames`, `capacity` and `count` as in symidx_frames.
 *
 * ```c
 * symidx_frame frames[16] = {{.size = sizeof frames[0]}};
 * size_t count;
 * symidx_resolver_open_all(resolver, NULL);
 * symidx_resolver_frames(resolver, 0x5555000001a8, NULL, frames, 16, &count);
 * printf("%.*s\n", SYMIDX_PRINT(frames[count - 1].function)); // prints outer
 * ```
 *
 * Threads: any. Signals: yes: no heap, no lock, no system call. Lifetime: texts
 * until the resolver is updated or freed.
 *
 * # Safety
 * The resolver is this library's; the rest as symidx_frames.
 */
symidx_status symidx_resolver_frames(const struct symidx_resolver *resolver,
                                     uint64_t address,
                                     struct symidx_symbol *symbol,
                                     struct symidx_frame *frames,
                                     size_t capacity,
                                     size_t *count);

/**
 * The frames of the call before a return address. As symidx_resolver_frames.
 *
 * ```c
 * symidx_frame frame = {.size = sizeof frame};
 * int32_t status = symidx_resolver_frames_return(resolver, 0x555500000191, NULL, &frame, 1, NULL);
 * printf("%s\n", symidx_strerror(status)); // prints the module's index was not opened
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts until the resolver is updated or
 * freed.
 *
 * # Safety
 * As symidx_resolver_frames.
 */
symidx_status symidx_resolver_frames_return(const struct symidx_resolver *resolver,
                                            uint64_t address,
                                            struct symidx_symbol *symbol,
                                            struct symidx_frame *frames,
                                            size_t capacity,
                                            size_t *count);

/**
 * Answers many addresses at once: symbol `i` of `symbols` is that of address `i`,
 * its `status` as symidx_resolver_lookup returns it. Sorted ascending they are
 * answered faster than one by one, unsorted ones right, slower. Give return
 * addresses less one. `statistics` (may be NULL) is added to.
 *
 * ```c
 * const uint64_t addresses[] = {0x1000, 0x5555000001a8}; // sorted
 * symidx_symbol symbols[2] = {{.size = sizeof symbols[0]}};
 * symidx_statistics statistics = {.size = sizeof statistics};
 * symidx_resolver_open_all(resolver, NULL);
 * symidx_resolver_batch(resolver, addresses, 2, symbols, &statistics);
 * assert(statistics.resolved == 1 && symbols[0].status == SYMIDX_NO_MODULE);
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: texts until the resolver is updated or
 * freed.
 *
 * # Safety
 * The resolver is this library's; `addresses` points to `count` addresses,
 * `symbols` to as many structs with the size of the first one set, `statistics`
 * to a struct whose size is set.
 */
symidx_status symidx_resolver_batch(const struct symidx_resolver *resolver,
                                    const uint64_t *addresses,
                                    size_t count,
                                    struct symidx_symbol *symbols,
                                    struct symidx_statistics *statistics);

/**
 * Counts the status of a lookup; what is no answer about an address
 * (SYMIDX_ERROR_*, SYMIDX_NONE) is SYMIDX_ERROR_ARGUMENT and not counted.
 * SYMIDX_CUT counts as an answer.
 *
 * ```c
 * symidx_statistics statistics = {.size = sizeof statistics};
 * symidx_symbol symbol = {.size = sizeof symbol};
 * symidx_statistics_count(&statistics, symidx_resolver_lookup(resolver, 0x1000, &symbol));
 * assert(statistics.addresses == 1 && statistics.no_module == 1);
 * ```
 *
 * Threads: when no other call uses the struct. Signals: yes.
 *
 * # Safety
 * `statistics` points to a struct whose size is set, and the rest zeroed at first.
 */
symidx_status symidx_statistics_count(struct symidx_statistics *statistics, int32_t status);

/**
 * Writes a name as people read it: the display name that the index stores
 * (`symidx build --demangle`), else a Rust name demangled, else the name itself.
 *
 * `name` is a text of this index, `index` may be NULL: then nothing is looked up.
 * `flags`: SYMIDX_DISPLAY_SHORT or 0. At most `capacity` bytes are written, the
 * last of them NUL; `length` (may be NULL) takes the length of the whole text
 * without the NUL. SYMIDX_CUT when it did not fit; `buffer` may be NULL with
 * capacity 0 to ask for the length.
 *
 * ```c
 * static const char name[] = "_ZN4core3fmt5write17h0123456789abcdefE";
 * char text[256];
 * symidx_display_name(NULL, name, strlen(name), SYMIDX_DISPLAY_SHORT, text, sizeof text, NULL);
 * printf("%s\n", text); // prints core::fmt::write
 * ```
 *
 * Threads: any. Signals: yes, with 128 KiB of stack left: Rust names may nest as
 * deeply as 500 levels. Lifetime: a copy.
 *
 * # Safety
 * The index is open; `name` points to `name_length` bytes, `buffer` to
 * `capacity` bytes; `length` points to a variable.
 */
symidx_status symidx_display_name(const struct symidx_index *index,
                                  const char *name,
                                  size_t name_length,
                                  uint32_t flags,
                                  char *buffer,
                                  size_t capacity,
                                  size_t *length);

/**
 * Writes a packed name as it is stored: `name` is of a symbol, frame or match of this
 * index. SYMIDX_NONE, and an empty text, for one of length 0; `capacity`, `length` and
 * SYMIDX_CUT as in symidx_display_name.
 *
 * ```c
 * symidx_index *packed;
 * symidx_symbol symbol = {.size = sizeof symbol};
 * char name[256];
 * symidx_open_read("packed.symidx", &packed, NULL, 0);
 * symidx_lookup(packed, 0x401010, &symbol);
 * symidx_packed_name(packed, symbol.packed_name, name, sizeof name, NULL);
 * printf("%s\n", name); // prints _ZN5space6Longer5Names6methodEi
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: a copy.
 *
 * # Safety
 * The index is open; `buffer` points to `capacity` bytes; `length` to a variable.
 */
symidx_status symidx_packed_name(const struct symidx_index *index,
                                 struct symidx_packed name,
                                 char *buffer,
                                 size_t capacity,
                                 size_t *length);

/**
 * Writes a packed name as people read it: symidx_display_name for a name without bytes
 * to point to. SYMIDX_NONE, and an empty text, for one of length 0.
 *
 * ```c
 * symidx_index *packed;
 * symidx_symbol symbol = {.size = sizeof symbol};
 * char name[256];
 * symidx_open_read("packed.symidx", &packed, NULL, 0);
 * symidx_lookup(packed, 0x401010, &symbol);
 * symidx_packed_display(packed, symbol.packed_name, SYMIDX_DISPLAY_SHORT, name, sizeof name, NULL);
 * printf("%s\n", name); // prints space::Longer::Names::method
 * ```
 *
 * Threads: any. Signals: yes, with 160 KiB of stack left: the name is put together there.
 * Lifetime: a copy.
 *
 * # Safety
 * As symidx_packed_name.
 */
symidx_status symidx_packed_display(const struct symidx_index *index,
                                    struct symidx_packed name,
                                    uint32_t flags,
                                    char *buffer,
                                    size_t capacity,
                                    size_t *length);

/**
 * Writes the path of a frame's source file: directory and file, joined. SYMIDX_NONE,
 * and an empty text, when the file is not known. `capacity`, `length` and
 * SYMIDX_CUT as in symidx_display_name.
 *
 * ```c
 * symidx_frame frame = {.size = sizeof frame};
 * char path[4096];
 * symidx_frames(index, 0x4001a8, NULL, &frame, 1, NULL);
 * symidx_path(frame.directory, frame.file, path, sizeof path, NULL);
 * printf("%s:%u\n", path, frame.line); // prints /src/lines.c:6
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: a copy.
 *
 * # Safety
 * The texts point to as many bytes as they say, `buffer` to `capacity` bytes;
 * `length` points to a variable.
 */
symidx_status symidx_path(struct symidx_text directory,
                          struct symidx_text file,
                          char *buffer,
                          size_t capacity,
                          size_t *length);

/**
 * The text of a status, one line, ended by NUL; of any number.
 *
 * ```c
 * symidx_symbol symbol = {.size = sizeof symbol};
 * int32_t status = symidx_lookup(index, 0x400211, &symbol);
 * printf("[%s]\n", symidx_strerror(status)); // prints [no symbol covers this address]
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: for ever.
 */
const char *symidx_strerror(int32_t status);

/**
 * The version of the library: "0.1.0".
 *
 * ```c
 * fprintf(stdout, "libsymidx %s\n", symidx_version()); // prints libsymidx 0.1.0
 * ```
 *
 * Threads: any. Signals: yes. Lifetime: for ever.
 */
const char *symidx_version(void);

/**
 * SYMIDX_ABI_VERSION of the library that is loaded: compare it with the header's.
 *
 * ```c
 * // Where the library was loaded with dlopen: is it the one this was compiled for?
 * assert(symidx_abi_version() == SYMIDX_ABI_VERSION);
 * ```
 *
 * Threads: any. Signals: yes.
 */
uint32_t symidx_abi_version(void);

/**
 * The version of the index format that the library reads.
 *
 * ```c
 * printf("indexes of version %u\n", symidx_format_version()); // prints indexes of version 1
 * ```
 *
 * Threads: any. Signals: yes.
 */
uint32_t symidx_format_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SYMIDX_H */

/* A text for "%.*s" of printf. */
#define SYMIDX_PRINT(text) (int)(text).length, (text).data
