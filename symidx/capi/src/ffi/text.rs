//! Texts: names for people, paths, statuses, versions.

use core::ffi::{CStr, c_char};
use core::fmt::Write as _;

use symidx::demangle::RustName;
use symidx::{Name, PackedPlace};

use super::memory::{self, Buffer, Place};
use super::{Outcome, settle, some, symidx_index};
use crate::SYMIDX_ABI_VERSION;
use crate::status::symidx_status::{self, *};
use crate::types::{symidx_packed, symidx_text};

/// Without parameter list and return type, where the index stores that.
pub const SYMIDX_DISPLAY_SHORT: u32 = 1;

/// Writes a name as people read it: the display name that the index stores
/// (`symidx build --demangle`), else a Rust name demangled, else the name itself.
///
/// `name` is a text of this index, `index` may be NULL: then nothing is looked up.
/// `flags`: SYMIDX_DISPLAY_SHORT or 0. At most `capacity` bytes are written, the
/// last of them NUL; `length` (may be NULL) takes the length of the whole text
/// without the NUL. SYMIDX_CUT when it did not fit; `buffer` may be NULL with
/// capacity 0 to ask for the length.
///
/// ```c
/// static const char name[] = "_ZN4core3fmt5write17h0123456789abcdefE";
/// char text[256];
/// symidx_display_name(NULL, name, strlen(name), SYMIDX_DISPLAY_SHORT, text, sizeof text, NULL);
/// printf("%s\n", text); // prints core::fmt::write
/// ```
///
/// Threads: any. Signals: yes, with 128 KiB of stack left: Rust names may nest as
/// deeply as 500 levels. Lifetime: a copy.
///
/// # Safety
/// The index is open; `name` points to `name_length` bytes, `buffer` to
/// `capacity` bytes; `length` points to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_display_name(
    index: Option<&symidx_index>,
    name: *const c_char,
    name_length: usize,
    flags: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let (name, buffer, length) = unsafe {
        (
            memory::some_bytes(name, name_length),
            Buffer::new(buffer, capacity),
            Place::optional(length),
        )
    };
    settle(|| {
        let (name, mut buffer, length) = (name?, buffer?, length?);
        let short = is_short(flags)?;
        let stored = match index {
            Some(index) => index.0.display_name(Name::from(name))?,
            None => None,
        };
        match stored {
            Some(stored) => {
                let text = if short { stored.short() } else { stored.full() };
                text.pieces().for_each(|piece| buffer.push(piece));
            }
            None => demangle(name, &mut buffer),
        }
        finish(buffer, length)
    })
}

/// Writes a packed name as it is stored: `name` is of a symbol, frame or match of this
/// index. SYMIDX_NONE, and an empty text, for one of length 0; `capacity`, `length` and
/// SYMIDX_CUT as in symidx_display_name.
///
/// ```c
/// symidx_index *packed;
/// symidx_symbol symbol = {.size = sizeof symbol};
/// char name[256];
/// symidx_open_read("packed.symidx", &packed, NULL, 0);
/// symidx_lookup(packed, 0x401010, &symbol);
/// symidx_packed_name(packed, symbol.packed_name, name, sizeof name, NULL);
/// printf("%s\n", name); // prints _ZN5space6Longer5Names6methodEi
/// ```
///
/// Threads: any. Signals: yes. Lifetime: a copy.
///
/// # Safety
/// The index is open; `buffer` points to `capacity` bytes; `length` to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_packed_name(
    index: Option<&symidx_index>,
    name: symidx_packed,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let (buffer, length) = unsafe { (Buffer::new(buffer, capacity), Place::optional(length)) };
    settle(|| {
        let (index, mut buffer, length) = (some(index)?, buffer?, length?);
        let Some(name) = packed(index, name)? else {
            finish(buffer, length)?;
            return Ok(SYMIDX_NONE);
        };
        name.pieces().for_each(|piece| buffer.push(piece));
        finish(buffer, length)
    })
}

/// Writes a packed name as people read it: symidx_display_name for a name without bytes
/// to point to. SYMIDX_NONE, and an empty text, for one of length 0.
///
/// ```c
/// symidx_index *packed;
/// symidx_symbol symbol = {.size = sizeof symbol};
/// char name[256];
/// symidx_open_read("packed.symidx", &packed, NULL, 0);
/// symidx_lookup(packed, 0x401010, &symbol);
/// symidx_packed_display(packed, symbol.packed_name, SYMIDX_DISPLAY_SHORT, name, sizeof name, NULL);
/// printf("%s\n", name); // prints space::Longer::Names::method
/// ```
///
/// Threads: any. Signals: yes, with 160 KiB of stack left: the name is put together there.
/// Lifetime: a copy.
///
/// # Safety
/// As symidx_packed_name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_packed_display(
    index: Option<&symidx_index>,
    name: symidx_packed,
    flags: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let (buffer, length) = unsafe { (Buffer::new(buffer, capacity), Place::optional(length)) };
    settle(|| {
        let (index, mut buffer, length) = (some(index)?, buffer?, length?);
        let short = is_short(flags)?;
        let Some(name) = packed(index, name)? else {
            finish(buffer, length)?;
            return Ok(SYMIDX_NONE);
        };
        match index.0.display_name(name)? {
            Some(stored) => {
                let text = if short { stored.short() } else { stored.full() };
                text.pieces().for_each(|piece| buffer.push(piece));
            }
            None => {
                let demangled = name.demangle();
                match demangled.is_rust() {
                    // The buffer takes any text.
                    true => drop(write!(buffer, "{demangled}")),
                    false => name.pieces().for_each(|piece| buffer.push(piece)),
                }
            }
        }
        finish(buffer, length)
    })
}

/// The name at a place of the index; nothing for length 0.
fn packed(index: &symidx_index, name: symidx_packed) -> Result<Option<Name<'_>>, symidx_status> {
    if name.length == 0 {
        return Ok(None);
    }
    let place = PackedPlace { at: name.at, skip: name.skip, len: name.length };
    index.0.name_at(place).map(Some).ok_or(SYMIDX_ERROR_ARGUMENT)
}

fn is_short(flags: u32) -> Result<bool, symidx_status> {
    match flags {
        0 => Ok(false),
        SYMIDX_DISPLAY_SHORT => Ok(true),
        _ => Err(SYMIDX_ERROR_ARGUMENT),
    }
}

/// The name demangled if it is a Rust name, else as it is.
fn demangle(name: &[u8], buffer: &mut Buffer<'_>) {
    match RustName::parse(name) {
        Some(_) => {
            // The buffer takes any text; a name that would explode is written as it is.
            let _ = write!(buffer, "{}", Name::from(name).demangle());
        }
        None => buffer.push(name),
    }
}

/// Writes the path of a frame's source file: directory and file, joined. SYMIDX_NONE,
/// and an empty text, when the file is not known. `capacity`, `length` and
/// SYMIDX_CUT as in symidx_display_name.
///
/// ```c
/// symidx_frame frame = {.size = sizeof frame};
/// char path[4096];
/// symidx_frames(index, 0x4001a8, NULL, &frame, 1, NULL);
/// symidx_path(frame.directory, frame.file, path, sizeof path, NULL);
/// printf("%s:%u\n", path, frame.line); // prints /src/lines.c:6
/// ```
///
/// Threads: any. Signals: yes. Lifetime: a copy.
///
/// # Safety
/// The texts point to as many bytes as they say, `buffer` to `capacity` bytes;
/// `length` points to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_path(
    directory: symidx_text,
    file: symidx_text,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let (directory, name, buffer, length) = unsafe {
        (
            memory::list(directory.data.cast::<u8>(), directory.length),
            memory::list(file.data.cast::<u8>(), file.length),
            Buffer::new(buffer, capacity),
            Place::optional(length),
        )
    };
    settle(|| {
        let (directory, name, mut buffer, length) = (directory?, name?, buffer?, length?);
        if file.data.is_null() {
            finish(buffer, length)?;
            return Ok(SYMIDX_NONE);
        }
        buffer.push(directory);
        if !directory.is_empty() && directory != b"/" {
            buffer.push(b"/");
        }
        buffer.push(name);
        finish(buffer, length)
    })
}

fn finish(mut buffer: Buffer<'_>, mut length: Place<'_, usize>) -> Outcome {
    length.set(buffer.length());
    Ok(buffer.end())
}

/// The text of a status, one line, ended by NUL; of any number.
///
/// ```c
/// symidx_symbol symbol = {.size = sizeof symbol};
/// int32_t status = symidx_lookup(index, 0x400211, &symbol);
/// printf("[%s]\n", symidx_strerror(status)); // prints [no symbol covers this address]
/// ```
///
/// Threads: any. Signals: yes. Lifetime: for ever.
#[unsafe(no_mangle)]
pub extern "C" fn symidx_strerror(status: i32) -> *const c_char {
    symidx_status::text_of(status).as_ptr()
}

/// The version of the library: "0.1.0".
///
/// ```c
/// fprintf(stdout, "libsymidx %s\n", symidx_version()); // prints libsymidx 0.1.0
/// ```
///
/// Threads: any. Signals: yes. Lifetime: for ever.
#[unsafe(no_mangle)]
pub extern "C" fn symidx_version() -> *const c_char {
    const VERSION: &[u8] = concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes();
    CStr::from_bytes_with_nul(VERSION).unwrap_or_default().as_ptr()
}

/// SYMIDX_ABI_VERSION of the library that is loaded: compare it with the header's.
///
/// ```c
/// // Where the library was loaded with dlopen: is it the one this was compiled for?
/// assert(symidx_abi_version() == SYMIDX_ABI_VERSION);
/// ```
///
/// Threads: any. Signals: yes.
#[unsafe(no_mangle)]
pub extern "C" fn symidx_abi_version() -> u32 {
    SYMIDX_ABI_VERSION
}

/// The version of the index format that the library reads.
///
/// ```c
/// printf("indexes of version %u\n", symidx_format_version()); // prints indexes of version 1
/// ```
///
/// Threads: any. Signals: yes.
#[unsafe(no_mangle)]
pub extern "C" fn symidx_format_version() -> u32 {
    symidx::format::VERSION
}
