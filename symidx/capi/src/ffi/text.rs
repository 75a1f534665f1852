//! Texts: names for people, paths, statuses, versions.

use core::ffi::{CStr, c_char};
use core::fmt::Write as _;

use symidx::Name;
use symidx::demangle::RustName;

use super::memory::{self, Buffer, Place};
use super::{Outcome, settle, symidx_index};
use crate::SYMIDX_ABI_VERSION;
use crate::status::symidx_status::{self, *};
use crate::types::symidx_text;

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
        let short = match flags {
            0 => false,
            SYMIDX_DISPLAY_SHORT => true,
            _ => return Err(SYMIDX_ERROR_ARGUMENT),
        };
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
