//! What macOS's loader knows: the images of this process, as `dyld` tells of them.
//!
//! In: nothing. Out: per image its path, UUID, segments and slide. `dyld` shows
//! every image once, under its lock, when it is added; asking it by number
//! later would race with images that are removed meanwhile.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

use crate::process::{Id, macho};

#[cfg(target_vendor = "apple")]
use real as dyld;
#[cfg(not(target_vendor = "apple"))]
use tests::fake as dyld;

/// How often images were added and removed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Generation(u64);

/// An image that is loaded.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// Run-time address of its header: no two images have the same.
    header: usize,
    pub(crate) path: Vec<u8>,
    pub(crate) id: Option<Id>,
    pub(crate) segments: Vec<macho::Segment>,
    /// Run-time address − svma.
    pub(crate) slide: u64,
}

static IMAGES: Mutex<Vec<Image>> = Mutex::new(Vec::new());
static GENERATION: AtomicU64 = AtomicU64::new(0);
static ASKED: AtomicBool = AtomicBool::new(false);

/// Shows every image to `see`, in load order.
///
/// The first call asks `dyld` to tell, and takes its lock; a second thread
/// that calls meanwhile does not wait, and sees by the generation that more
/// came.
pub(crate) fn images(see: &mut dyn FnMut(&Image)) -> Generation {
    if !ASKED.swap(true, Ordering::AcqRel) {
        // SAFETY: both functions stay as long as the process does, which is
        // what `dyld` asks for: it never forgets them.
        unsafe {
            dyld::_dyld_register_func_for_add_image(added);
            dyld::_dyld_register_func_for_remove_image(removed);
        }
    }
    let images = lock();
    images.iter().for_each(see);
    generation()
}

/// How often images were added and removed so far. One atomic load.
pub(crate) fn generation() -> Generation {
    Generation(GENERATION.load(Ordering::Acquire))
}

fn lock() -> std::sync::MutexGuard<'static, Vec<Image>> {
    // Images are pushed and removed whole.
    IMAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Called for each image that is there, and for each one that comes.
unsafe extern "C" fn added(header: *const c_void, slide: isize) {
    // SAFETY: `dyld` passes the header of an image that it has mapped and that
    // stays while its lock is held, which it is around this call.
    if let Some(image) = unsafe { image(header, slide) } {
        let mut images = lock();
        images.retain(|other| other.header != image.header);
        images.push(image);
        // Inside the lock: whoever sees the images sees the number they have.
        GENERATION.fetch_add(1, Ordering::AcqRel);
    }
}

/// Called for each image that goes.
unsafe extern "C" fn removed(header: *const c_void, _slide: isize) {
    let mut images = lock();
    images.retain(|image| image.header != header.addr());
    GENERATION.fetch_add(1, Ordering::AcqRel);
}

/// # Safety
/// `header` is null or that of a mapped image: as many bytes as it states for
/// its load commands are there, and stay during the call.
unsafe fn image(header: *const c_void, slide: isize) -> Option<Image> {
    if header.is_null() {
        return None;
    }
    // SAFETY: every image has a whole header.
    let first = unsafe { header.cast::<[u8; macho::FIRST]>().read_unaligned() };
    let size = macho::MachO::size(&first)?;
    // SAFETY: an image's load commands follow its header, in the same segment;
    // the size is at most what the header states.
    let bytes = unsafe { core::slice::from_raw_parts(header.cast::<u8>(), size) };
    let read = macho::MachO::open(bytes)?;
    // SAFETY: as `header`; the name is copied before anything can be unloaded.
    let path = unsafe {
        let name = dyld::name_of(header);
        if name.is_null() { Vec::new() } else { CStr::from_ptr(name).to_bytes().to_vec() }
    };
    Some(Image {
        header: header.addr(),
        path,
        id: read.uuid(),
        segments: read.segments().collect(),
        slide: u64::from_ne_bytes(i64::try_from(slide).ok()?.to_ne_bytes()),
    })
}

type Callback = unsafe extern "C" fn(header: *const c_void, slide: isize);

/// The loader itself.
#[cfg(target_vendor = "apple")]
mod real {
    use super::{Callback, c_char, c_void};

    unsafe extern "C" {
        pub(super) fn _dyld_register_func_for_add_image(function: Callback);
        pub(super) fn _dyld_register_func_for_remove_image(function: Callback);
    }

    /// The path of the image with this header; null where the loader has none.
    ///
    /// # Safety
    /// The image stays loaded during the call and while the result is used.
    pub(super) unsafe fn name_of(header: *const c_void) -> *const c_char {
        let mut found = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: any address may be asked for; the record is written, or stays
        // zeroed, which is one.
        unsafe {
            match libc::dladdr(header, found.as_mut_ptr()) {
                0 => core::ptr::null(),
                _ => found.assume_init().dli_fname,
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
