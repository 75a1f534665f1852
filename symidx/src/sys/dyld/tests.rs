//! The loader of macOS, played by the test: images come and go.
#![allow(clippy::unwrap_used)]

/// What the tests put in the place of `dyld`.
pub(crate) mod fake {
    use super::super::{Callback, c_char, c_void};
    use core::ffi::CStr;
    use std::sync::Mutex;
    use std::vec::Vec;

    #[derive(Default)]
    struct Loader {
        images: Vec<(usize, isize, &'static CStr)>,
        add: Option<Callback>,
        remove: Option<Callback>,
    }

    static LOADER: Mutex<Loader> =
        Mutex::new(Loader { images: Vec::new(), add: None, remove: None });

    pub(in super::super) unsafe fn _dyld_register_func_for_add_image(function: Callback) {
        let images = {
            let mut loader = LOADER.lock().unwrap();
            assert!(loader.add.is_none(), "asked twice");
            loader.add = Some(function);
            loader.images.clone()
        };
        for (header, slide, _) in images {
            // SAFETY: the image is leaked.
            unsafe { function(core::ptr::with_exposed_provenance(header), slide) };
        }
    }

    pub(in super::super) unsafe fn _dyld_register_func_for_remove_image(function: Callback) {
        LOADER.lock().unwrap().remove = Some(function);
    }

    pub(in super::super) unsafe fn name_of(header: *const c_void) -> *const c_char {
        let loader = LOADER.lock().unwrap();
        let found = loader.images.iter().find(|image| image.0 == header.addr());
        found.map_or(core::ptr::null(), |image| image.2.as_ptr())
    }

    /// Loads an image; returns the address of its header.
    pub(crate) fn load(bytes: &'static [u8], slide: isize, name: &'static CStr) -> usize {
        let header = bytes.as_ptr().expose_provenance();
        let add = {
            let mut loader = LOADER.lock().unwrap();
            loader.images.push((header, slide, name));
            loader.add
        };
        if let Some(add) = add {
            // SAFETY: the bytes are leaked.
            unsafe { add(bytes.as_ptr().cast(), slide) };
        }
        header
    }

    pub(crate) fn unload(header: usize) {
        let remove = {
            let mut loader = LOADER.lock().unwrap();
            loader.images.retain(|image| image.0 != header);
            loader.remove
        };
        if let Some(remove) = remove {
            // SAFETY: the function only compares the address.
            unsafe { remove(core::ptr::without_provenance(header), 0) };
        }
    }
}
