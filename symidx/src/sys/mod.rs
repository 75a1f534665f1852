//! The only module with `unsafe`: who owns the bytes of an index, and what the
//! loader says about this process.
//!
//! [`Held`] wraps the view of every index; `files` holds the bytes of indexes
//! that own them; `loader` asks `dl_iterate_phdr`, `dyld` the loader of macOS;
//! `open` opens files without heap; `sparse` maps one with little of it resident.
//! Nothing here reads an index.

use core::mem::MaybeUninit;
use core::ops::Deref;

#[cfg(all(feature = "process", unix, any(target_vendor = "apple", test)))]
pub(crate) mod dyld;
#[cfg(feature = "std")]
mod files;
#[cfg(all(feature = "process", unix, not(target_vendor = "apple")))]
pub(crate) mod loader;
#[cfg(all(feature = "process", unix))]
pub(crate) mod open;
#[cfg(all(feature = "process", target_os = "linux"))]
mod sparse;
#[cfg(all(feature = "process", unix))]
pub(crate) use files::Access;
#[cfg(feature = "std")]
pub(crate) use files::Owner;

/// A value whose references may outlive what they point to, as long as they
/// are not used: an owned index that is dropped inside a call that took it by
/// value frees its bytes while the argument still counts as borrowed.
/// `MaybeUninit` keeps the compiler from assuming otherwise.
pub(crate) struct Held<T: Copy>(MaybeUninit<T>);

impl<T: Copy> Held<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(MaybeUninit::new(value))
    }
}

impl<T: Copy> Deref for Held<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `new` is the only constructor and initialises it; `T: Copy`
        // has no destructor that could have run.
        #[allow(unsafe_code)]
        unsafe {
            self.0.assume_init_ref()
        }
    }
}
