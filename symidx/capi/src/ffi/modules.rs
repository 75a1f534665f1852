//! Modules: which file a run-time address belongs to.

use core::ffi::c_char;

use symidx::process::Modules;

use super::memory::{self, Buffer, Place, Structs};
use super::{fail, settle, some, symidx_modules};
use crate::status::symidx_status::{self, *};
use crate::types::{symidx_location, symidx_module};

/// The modules of this process: the program, its shared objects, the vDSO, each
/// with its build-id.
///
/// ```c
/// symidx_modules *modules;
/// symidx_location location = {.size = sizeof location};
/// symidx_modules_capture(&modules);
/// assert(symidx_modules_find(modules, (uintptr_t)&printf, &location) == SYMIDX_OK);
/// symidx_modules_free(modules);
/// ```
///
/// Threads: any. Signals: no (takes the loader's lock, allocates).
///
/// # Safety
/// `modules` points to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_modules_capture(
    modules: *mut *mut symidx_modules,
) -> symidx_status {
    // SAFETY: the caller's variable, as the contract says.
    let place = unsafe { Place::new(modules) };
    settle(|| {
        give(&mut place?, Modules::capture());
        Ok(SYMIDX_OK)
    })
}

/// The modules of another process, through `/proc/PID`: works for containers and
/// for files that were deleted. `message` takes the details of a failure and may
/// be NULL.
///
/// ```c
/// symidx_modules *modules;
/// char message[256];
/// if (symidx_modules_from_pid((uint32_t)getpid(), &modules, message, sizeof message) != SYMIDX_OK)
///     fprintf(stderr, "%s\n", message); // no such process, or somebody else's
/// ```
///
/// Threads: any. Signals: no.
///
/// # Safety
/// `modules` points to a variable, `message` to `message_capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_modules_from_pid(
    pid: u32,
    modules: *mut *mut symidx_modules,
    message: *mut c_char,
    message_capacity: usize,
) -> symidx_status {
    // SAFETY: the caller's variable and buffer, as the contract says.
    let (place, message) =
        unsafe { (Place::new(modules), Buffer::message(message, message_capacity)) };
    settle(|| {
        let (mut place, mut message) = (place?, message?);
        place.set(core::ptr::null_mut());
        match Modules::from_pid(pid) {
            Ok(modules) => give(&mut place, modules),
            Err(error) => return Err(fail(&mut message, SYMIDX_ERROR_IO, &error)),
        }
        Ok(SYMIDX_OK)
    })
}

/// The modules in a recorded text of `/proc/PID/maps`. Build-ids are read from the
/// files of those names when an index is looked for. `message` as in
/// symidx_modules_from_pid.
///
/// ```c
/// static const char text[] = "400000-401000 r-xp 00000000 08:01 42 /bin/app\n";
/// symidx_modules *modules; // of a recording, where the process is gone
/// symidx_modules_from_maps(text, strlen(text), &modules, NULL, 0);
/// assert(symidx_modules_count(modules) == 1);
/// ```
///
/// Threads: any. Signals: no. Lifetime: a copy.
///
/// # Safety
/// `text` points to `length` bytes; `modules` points to a variable, `message` to
/// `message_capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_modules_from_maps(
    text: *const c_char,
    length: usize,
    modules: *mut *mut symidx_modules,
    message: *mut c_char,
    message_capacity: usize,
) -> symidx_status {
    // SAFETY: the caller's memory, as the contract says.
    let (text, place, message) = unsafe {
        (
            memory::some_bytes(text, length),
            Place::new(modules),
            Buffer::message(message, message_capacity),
        )
    };
    settle(|| {
        let (mut place, mut message) = (place?, message?);
        place.set(core::ptr::null_mut());
        match Modules::from_maps(text?) {
            Ok(modules) => give(&mut place, modules),
            Err(error) => return Err(fail(&mut message, SYMIDX_ERROR_MAPS, &error)),
        }
        Ok(SYMIDX_OK)
    })
}

fn give(place: &mut Place<'_, *mut symidx_modules>, modules: Modules) {
    place.set(Box::into_raw(Box::new(symidx_modules(modules))));
}

/// Frees modules; NULL is fine.
///
/// ```c
/// symidx_modules *modules;
/// symidx_modules_capture(&modules);
/// symidx_resolver_new(modules, store, &resolver); // has a copy
/// symidx_modules_free(modules);
/// ```
///
/// Threads: when no other call uses them. Signals: no. Lifetime: every text from
/// them ends.
///
/// # Safety
/// The modules are ones that this library gave, and nobody freed. Those that
/// symidx_resolver_modules gave are not to be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_modules_free(modules: Option<Box<symidx_modules>>) {
    drop(modules);
}

/// Whether libraries were loaded or unloaded since. For this process two counters
/// of the loader are compared.
///
/// ```c
/// bool changed; // before each profile: a library that is gone must not lend its names
/// symidx_modules_changed(modules, &changed);
/// assert(!changed);
/// ```
///
/// Threads: any. Signals: no (takes the loader's lock).
///
/// # Safety
/// The modules are this library's; `changed` points to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_modules_changed(
    modules: Option<&symidx_modules>,
    changed: *mut bool,
) -> symidx_status {
    // SAFETY: the caller's variable, as the contract says.
    let changed = unsafe { Place::new(changed) };
    settle(|| {
        let (modules, mut changed) = (some(modules)?, changed?);
        changed.set(modules.0.changed().map_err(|_| SYMIDX_ERROR_IO)?);
        Ok(SYMIDX_OK)
    })
}

/// How many modules there are; 0 for NULL. Their numbers start at 0.
///
/// ```c
/// symidx_module module = {.size = sizeof module};
/// for (uint32_t i = 0; i < symidx_modules_count(modules); i++)
///     assert(symidx_modules_get(modules, i, &module) == SYMIDX_OK);
/// ```
///
/// Threads: any. Signals: yes.
///
/// # Safety
/// The modules are this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_modules_count(modules: Option<&symidx_modules>) -> u32 {
    modules.map_or(0, |modules| u32::try_from(modules.0.len()).unwrap_or(u32::MAX))
}

/// The module with a number. SYMIDX_NONE when there is none.
///
/// ```c
/// symidx_module module = {.size = sizeof module};
/// if (symidx_modules_get(modules, 0, &module) == SYMIDX_OK)
///     printf("0x%llx\n", (unsigned long long)module.start); // prints 0x555500000000
/// ```
///
/// Threads: any. Signals: yes. Lifetime: texts and id as long as the modules.
///
/// # Safety
/// The modules are this library's; `module` points to a struct whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_modules_get(
    modules: Option<&symidx_modules>,
    number: u32,
    module: *mut symidx_module,
) -> symidx_status {
    // SAFETY: the caller's struct, as the contract says.
    let module = unsafe { Structs::one(module) };
    settle(|| {
        let (modules, mut module) = (some(modules)?, module?);
        let found = modules.0.get(number).ok_or(SYMIDX_NONE)?;
        module.write(0, &symidx_module::of(found));
        Ok(SYMIDX_OK)
    })
}

/// Where a run-time address lies: its module, svma and file offset.
/// SYMIDX_NO_MODULE when no module holds it.
///
/// ```c
/// // What is printed where there is no symbol: the file, and where in it.
/// symidx_location location = {.size = sizeof location};
/// if (symidx_modules_find(modules, 0x5555000001a8, &location) == SYMIDX_OK)
///     printf("0x%llx\n", (unsigned long long)location.file_offset); // prints 0x1a8
/// ```
///
/// Threads: any. Signals: yes. Lifetime: a copy.
///
/// # Safety
/// The modules are this library's; `location` points to a struct whose size is
/// set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symidx_modules_find(
    modules: Option<&symidx_modules>,
    address: u64,
    location: *mut symidx_location,
) -> symidx_status {
    // SAFETY: the caller's struct, as the contract says.
    let location = unsafe { Structs::one(location) };
    settle(|| {
        let (modules, mut location) = (some(modules)?, location?);
        let found = modules.0.find(address).ok_or(SYMIDX_NO_MODULE)?;
        location.write(0, &symidx_location::of(&found));
        Ok(SYMIDX_OK)
    })
}
