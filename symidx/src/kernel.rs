//! The kernel as it runs: by how much its image was moved, and where its modules'
//! sections were loaded.
//!
//! In: indexes, and addresses that the running kernel tells. Out: the svma, or
//! section and offset, of a run-time address. Opens no index.
//!
//! ```
//! # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/kallsyms.symidx")))?;
//! # let vmlinux = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/kallsyms.symidx")))?;
//! // Where the running kernel has what the image has at another place.
//! let slide = symidx::kernel::slide(&index, &vmlinux)?;
//! assert_eq!(slide, Some(0)); // both are of one place here: no KASLR
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::vec::Vec;

use crate::address::ImageSectionId;
use crate::error::Corrupt;
use crate::index::Index;

/// The symbols of the running kernel.
pub const KALLSYMS: &str = "/proc/kallsyms";
/// Its ELF notes: where its build-id is.
pub const NOTES: &str = "/sys/kernel/notes";

/// The files of `/sys/module/M/sections` hold no more than this.
const MAX_LINE: u64 = 64;

/// Where the kernel's code begins, by the names that kernels give the place.
const ANCHORS: [&[u8]; 2] = [b"_text", b"_stext"];

/// By how much the running kernel was moved (KASLR): run-time address − svma, to be
/// taken with wrapping arithmetic. `kallsyms` is an index of `/proc/kallsyms`,
/// `vmlinux` one of the kernel's image; `None` when they name no place in common,
/// `_text` or else `_stext`.
///
/// Both have to be of the same build: compare their build-ids.
///
/// # Errors
/// [`Corrupt`], when either index is damaged.
///
/// ```
/// # let kallsyms = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/kallsyms.symidx")))?;
/// # let vmlinux = &kallsyms;
/// // An address of the running kernel, in the image's terms.
/// let slide = symidx::kernel::slide(&kallsyms, &vmlinux)?.unwrap_or(0);
/// let run_time = 0xffff_ffff_8100_1010_u64;
/// let symbol = vmlinux.lookup(symidx::Svma(run_time.wrapping_sub(slide)))?;
/// assert_eq!(symbol.unwrap().name(), "do_one");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn slide(kallsyms: &Index<'_>, vmlinux: &Index<'_>) -> Result<Option<u64>, Corrupt> {
    for anchor in ANCHORS {
        if let (Some(running), Some(linked)) =
            (anchor_of(kallsyms, anchor)?, anchor_of(vmlinux, anchor)?)
        {
            return Ok(Some(running.wrapping_sub(linked)));
        }
    }
    Ok(None)
}

/// The address of a name that is defined once; markers have none but by name.
fn anchor_of(index: &Index<'_>, name: &[u8]) -> Result<Option<u64>, Corrupt> {
    index.find(name).next().transpose().map(|found| found.map(|found| found.address()))
}

/// A section of a kernel module at its run-time address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placed {
    base: u64,
    size: u64,
    section: ImageSectionId,
}

/// Where a section lies, and how far in it an address is.
///
/// ```
/// # let module = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/relocatable.symidx")))?;
/// let sections = [(b".init.text".to_vec(), 0xffff_ffff_c0a0_0000)];
/// let placement = symidx::kernel::Placement::new(&module, &sections)?;
/// let place: symidx::kernel::InSection = placement.find(0xffff_ffff_c0a0_0004).unwrap();
/// assert_eq!((place.offset, place.base), (4, 0xffff_ffff_c0a0_0000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InSection {
    /// The section.
    pub section: ImageSectionId,
    /// The address's offset in it.
    pub offset: u64,
    /// The section's run-time address.
    pub base: u64,
}

/// A kernel module (`.ko`) as it was loaded: each section at an address of its own.
///
/// ```
/// # let module = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/relocatable.symidx")))?;
/// use symidx::kernel::Placement;
///
/// // From `module_sections("/sys/module/NAME/sections")`, of the module that runs.
/// let sections = [(b".text.one".to_vec(), 0xc0a0_0000), (b".text.two".to_vec(), 0xc0a0_1000)];
/// let placement = Placement::new(&module, &sections)?;
/// let place = placement.find(0xc0a0_1002).unwrap();
/// assert_eq!(module.lookup_in(place.section, place.offset)?.unwrap().name(), "two");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// By base.
    placed: Vec<Placed>,
}

impl Placement {
    /// From sections' names and run-time addresses; names that the module's index
    /// has not are left out.
    ///
    /// # Errors
    /// [`Corrupt`], when the index is damaged.
    ///
    /// ```
    /// # let module = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/relocatable.symidx")))?;
    /// use symidx::kernel::Placement;
    ///
    /// // A section that the index does not know is no error: it has no symbols.
    /// let placement = Placement::new(&module, &[(b".unknown".to_vec(), 0x1000)])?;
    /// assert!(placement.find(0x1000).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(module: &Index<'_>, sections: &[(Vec<u8>, u64)]) -> Result<Self, Corrupt> {
        let mut placed = Vec::new();
        for (name, base) in sections {
            if let Some(section) = module.section_by_name(name)? {
                placed.push(Placed { base: *base, size: section.size(), section: section.id() });
            }
        }
        placed.sort_by_key(|placed| placed.base);
        Ok(Self { placed })
    }

    /// The section that holds a run-time address. Of several the one that starts
    /// last: memory of a section that was freed is used again.
    ///
    /// ```
    /// # let module = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/relocatable.symidx")))?;
    /// let sections = [(b".text.one".to_vec(), 0xffff_ffff_c0a0_0000)];
    /// let placement = symidx::kernel::Placement::new(&module, &sections)?;
    /// assert_eq!(placement.find(0xffff_ffff_c0a0_0002).unwrap().offset, 2);
    /// assert!(placement.find(0xffff_ffff_c0a0_0004).is_none()); // behind its 4 bytes
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn find(&self, address: u64) -> Option<InSection> {
        let after = self.placed.partition_point(|placed| placed.base <= address);
        let earlier = self.placed.get(..after)?;
        let found = earlier.iter().rev().find(|p| address.wrapping_sub(p.base) < p.size)?;
        let offset = address.wrapping_sub(found.base);
        Some(InSection { section: found.section, offset, base: found.base })
    }
}

/// Names and addresses of a loaded module's sections, sorted by name, from the
/// directory `/sys/module/M/sections`: one file each, with the address in it.
///
/// # Errors
/// Those of reading; and [`io::ErrorKind::PermissionDenied`] when all addresses are
/// zero, as the kernel shows them to users without the right to see them.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path(); // as /sys/module/nf_tables/sections
/// # std::fs::write(directory.join(".text"), "0xffffffffc0a00000\n")?;
/// // One file per section, with the address in it.
/// let sections = symidx::kernel::module_sections(directory)?;
/// assert_eq!(sections, [(b".text".to_vec(), 0xffff_ffff_c0a0_0000)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn module_sections(directory: &Path) -> io::Result<Vec<(Vec<u8>, u64)>> {
    let mut sections = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        // The files say that they have a page; what is in them is one line.
        let mut text = Vec::new();
        fs::File::open(entry.path())?.take(MAX_LINE).read_to_end(&mut text)?;
        let digits = text.trim_ascii();
        let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
        let address = core::str::from_utf8(digits).ok();
        let address = address.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let address = address.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                std::format!(
                    "{}: expected `0xADDR`, found `{}`; give a directory as /sys/module/M/sections",
                    entry.path().display(),
                    std::string::String::from_utf8_lossy(text.get(..40).unwrap_or(&text))
                ),
            )
        })?;
        sections.push((entry.file_name().into_encoded_bytes(), address));
    }
    sections.sort();
    if !sections.is_empty() && sections.iter().all(|(_, address)| *address == 0) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "expected addresses of sections, found only zeros; read them as root with the sysctl kernel.kptr_restrict at 0 or 1",
        ));
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn placed(base: u64, size: u64, section: u32) -> Placed {
        Placed { base, size, section: ImageSectionId(section) }
    }

    #[test]
    fn an_address_lies_in_the_section_that_starts_last() {
        let placement =
            Placement { placed: std::vec![placed(0x1000, 0x1000, 1), placed(0x1800, 0x10, 2)] };
        let found = |address| placement.find(address).map(|p| (p.section.0, p.offset));
        assert_eq!(found(0x1000), Some((1, 0)));
        assert_eq!(found(0x1808), Some((2, 8)));
        assert_eq!(found(0x1810), Some((1, 0x810)));
        assert_eq!(found(0x2000), None);
        assert_eq!(found(0xfff), None);
    }

    #[test]
    fn sections_are_read_from_one_file_each() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write(".text", "0xffffffffc0a00000\n");
        write(".data", "0x0000000000000000\n");
        let sections = module_sections(directory.path()).unwrap();
        assert_eq!(sections, [(b".data".to_vec(), 0), (b".text".to_vec(), 0xffff_ffff_c0a0_0000)]);
        write(".text", "0x0\n");
        let error = module_sections(directory.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        write(".text", "text");
        let error = std::format!("{}", module_sections(directory.path()).unwrap_err());
        assert!(error.contains("expected `0xADDR`, found `text`"), "{error}");
    }
}
