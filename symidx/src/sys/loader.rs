//! What the loader knows: the objects of this process, through `dl_iterate_phdr`.
//!
//! In: nothing. Out: per object its name, bias, segments and notes, as plain
//! borrowed data, valid during the call. Takes the loader's lock; whoever
//! unloads an object meanwhile waits.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_int, c_void};
use core::slice;

// Not every system's `libc` has these two.
const PF_X: u32 = 1;
const PF_R: u32 = 4;

/// How often objects were loaded and unloaded so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Generation {
    loads: u64,
    unloads: u64,
}

/// A loadable segment of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Run-time address.
    pub(crate) start: u64,
    /// Bytes in memory.
    pub(crate) size: u64,
    /// File offset of its first byte.
    pub(crate) file_offset: u64,
    /// Bytes in the file.
    pub(crate) file_size: u64,
    pub(crate) execute: bool,
}

/// An object that is loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'o> {
    name: &'o [u8],
    /// Run-time address − svma.
    bias: u64,
    headers: &'o [ProgramHeader],
}

#[cfg(target_pointer_width = "64")]
type ProgramHeader = libc::Elf64_Phdr;
#[cfg(target_pointer_width = "32")]
type ProgramHeader = libc::Elf32_Phdr;

impl<'o> Object<'o> {
    /// Its path as the loader was told; empty for the program itself.
    pub(crate) fn name(&self) -> &'o [u8] {
        self.name
    }

    /// Run-time address − svma.
    pub(crate) fn bias(&self) -> u64 {
        self.bias
    }

    /// Its loadable segments.
    pub(crate) fn loads(&self) -> impl Iterator<Item = Load> + 'o {
        let bias = self.bias;
        self.of_type(libc::PT_LOAD).map(move |header| Load {
            start: bias.wrapping_add(wide(header.p_vaddr)),
            size: wide(header.p_memsz),
            file_offset: wide(header.p_offset),
            file_size: wide(header.p_filesz),
            execute: header.p_flags & PF_X != 0,
        })
    }

    /// The bytes of its notes; only those that lie in a readable segment.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &'o [u8]> + 'o {
        let object = *self;
        self.of_type(libc::PT_NOTE).filter_map(move |header| {
            let (start, size) = (wide(header.p_vaddr), wide(header.p_memsz));
            let end = start.checked_add(size)?;
            let held = object.of_type(libc::PT_LOAD).any(|load| {
                let from = wide(load.p_vaddr);
                // What is past the file's bytes is no note, and may not be mapped.
                load.p_flags & PF_R != 0
                    && from <= start
                    && from.checked_add(wide(load.p_filesz)).is_some_and(|to| end <= to)
            });
            let address = usize::try_from(object.bias.wrapping_add(start)).ok()?;
            let size = usize::try_from(size).ok().filter(|_| held)?;
            // SAFETY: the range lies in a readable segment that the loader
            // mapped, and stays while `'o` does: unloading waits for the lock
            // that is held around the callback.
            Some(unsafe {
                slice::from_raw_parts(core::ptr::with_exposed_provenance(address), size)
            })
        })
    }

    fn of_type(&self, wanted: u32) -> impl Iterator<Item = &'o ProgramHeader> + use<'o> {
        self.headers.iter().filter(move |header| header.p_type == wanted)
    }
}

/// A field of a program header, whichever width it has.
#[cfg(target_pointer_width = "64")]
fn wide(value: u64) -> u64 {
    value
}
#[cfg(target_pointer_width = "32")]
fn wide(value: u32) -> u64 {
    u64::from(value)
}

/// Shows every loaded object to `see`, in load order.
pub(crate) fn objects(see: &mut dyn FnMut(Object<'_>)) -> Generation {
    let mut walk = Walk { generation: Generation::default(), see: Some(see) };
    // SAFETY: `entry` gets back the pointer to `walk`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(entry), (&raw mut walk).cast()) };
    walk.generation
}

/// How often objects were loaded and unloaded so far. No heap.
pub(crate) fn generation() -> Generation {
    let mut walk = Walk { generation: Generation::default(), see: None };
    // SAFETY: as above.
    unsafe { libc::dl_iterate_phdr(Some(entry), (&raw mut walk).cast()) };
    walk.generation
}

struct Walk<'s, 'f> {
    generation: Generation,
    /// `None`: the first object tells enough.
    see: Option<&'s mut (dyn FnMut(Object<'_>) + 'f)>,
}

/// Called for each object.
unsafe extern "C" fn entry(info: *mut libc::dl_phdr_info, size: usize, data: *mut c_void) -> c_int {
    // SAFETY: the pointer that `objects` gave, which is used by nobody else meanwhile.
    let walk = unsafe { &mut *data.cast::<Walk<'_, '_>>() };
    // Old loaders pass records without the counters: a reference to a whole one would
    // claim bytes that are not theirs.
    if size >= size_of::<libc::dl_phdr_info>() {
        // SAFETY: the record is whole, by the size that the loader states.
        let (loads, unloads) = unsafe { ((*info).dlpi_adds, (*info).dlpi_subs) };
        walk.generation = Generation { loads, unloads };
    }
    let Some(see) = walk.see.as_mut() else { return 1 };
    // SAFETY: every record has these four.
    let (name, bias, headers, count) =
        unsafe { ((*info).dlpi_name, (*info).dlpi_addr, (*info).dlpi_phdr, (*info).dlpi_phnum) };
    let name = match name.is_null() {
        true => &[][..],
        // SAFETY: the loader's names end in NUL and stay while its lock is held.
        false => unsafe { CStr::from_ptr(name) }.to_bytes(),
    };
    let headers = match headers.is_null() {
        true => &[][..],
        // SAFETY: the loader's own program headers, as many as it says.
        false => unsafe { slice::from_raw_parts(headers, usize::from(count)) },
    };
    see(Object { name, bias: wide(bias), headers });
    0
}
