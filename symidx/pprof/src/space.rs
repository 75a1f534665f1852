//! From an address of a profile to one of an index.
//!
//! In: a mapping as the profile states it, and the index of its file. Out: the
//! svma, or the offset in a section, to look up. Each convention is a function
//! with its name; never guesses where two of them could be meant.

use symidx::{Corrupt, FileOffset, ImageSectionId, Index, Svma};

/// A mapping whose index is wanted.
///
/// ```
/// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/lines.symidx")))?;
/// use symidx_pprof::{MappingInfo, Symbolizer};
///
/// // What tells which index is wanted.
/// let open = |mapping: &MappingInfo<'_>| match mapping.build_id_bytes() {
///     Some(id) if index.build_id() == Some(&id) => Ok(&index),
///     _ => Err(format!("no index of {}", mapping.filename)),
/// };
/// assert_eq!(Symbolizer::new().run(&mut profile, open).symbolized(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingInfo<'p> {
    /// Run-time address of the first byte.
    pub memory_start: u64,
    /// Run-time address after the last byte; 0 = not known.
    pub memory_limit: u64,
    /// Offset in the file of the first byte.
    pub file_offset: u64,
    /// The file as the profile names it, or a name in brackets; may be empty.
    pub filename: &'p str,
    /// The build-id in hex as the profile states it; may be empty.
    pub build_id: &'p str,
    /// True for mappings of the main program: those of the first mapping's file.
    pub is_main: bool,
}

/// Half of the address space and up: the kernel's.
const KERNEL: u64 = 1 << 63;
/// Smallest page.
const PAGE: u64 = 0x1000;
/// What a kernel is moved by at least.
const KERNEL_STEP: u64 = 0x20_0000;

impl MappingInfo<'_> {
    /// The build-id's bytes: hex digits, dashes among them as in a UUID.
    /// `None` for what is no build-id of a file, as Go's own ids.
    ///
    /// ```
    /// # let (memory_start, memory_limit, file_offset, filename, is_main) = (0, 0, 0, "", true);
    /// # let build_id = "8A32-ff";
    /// # let mapping = symidx_pprof::MappingInfo { memory_start, memory_limit, file_offset, filename, build_id, is_main };
    /// assert_eq!(mapping.build_id, "8A32-ff");
    /// assert_eq!(mapping.build_id_bytes(), Some(vec![0x8a, 0x32, 0xff]));
    /// ```
    #[must_use]
    pub fn build_id_bytes(&self) -> Option<Vec<u8>> {
        let digits: Vec<u8> = self.build_id.bytes().filter(|&byte| byte != b'-').collect();
        let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
        let pairs = digits.chunks(2).map(|pair| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        });
        pairs.collect::<Option<Vec<u8>>>().filter(|id| !id.is_empty())
    }

    /// A mapping of everything, as tools make one up that know of none: its
    /// addresses are svmas. pprof reads it the same way.
    ///
    /// ```
    /// # let (file_offset, filename, build_id, is_main) = (0, "/bin/app", "", true);
    /// let (memory_start, memory_limit) = (0, u64::MAX); // as `jemalloc_pprof` states them
    /// let mapping = symidx_pprof::MappingInfo {
    ///     memory_start, memory_limit, file_offset, filename, build_id, is_main,
    /// };
    /// assert!(mapping.is_whole_space()); // its addresses are those of the symbol table
    /// ```
    #[must_use]
    pub fn is_whole_space(&self) -> bool {
        (self.memory_start, self.file_offset) == (0, 0) && matches!(self.memory_limit, 0 | u64::MAX)
    }

    /// True for the kernel and its modules.
    ///
    /// ```
    /// # let (memory_start, memory_limit, file_offset, build_id, is_main) = (0xffff_ffff_8100_0000, 0, 0, "", false);
    /// let filename = "[kernel.kallsyms]_text";
    /// let mapping = symidx_pprof::MappingInfo {
    ///     memory_start, memory_limit, file_offset, filename, build_id, is_main,
    /// };
    /// assert!(mapping.is_kernel()); // an index of kallsyms or of vmlinux is wanted
    /// ```
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        self.memory_start >= KERNEL || self.filename.starts_with("[kernel")
    }

    /// True when an address may be in it. A limit that is not set bounds nothing.
    ///
    /// ```
    /// # let (file_offset, filename, build_id, is_main) = (0, "/bin/app", "", true);
    /// let (memory_start, memory_limit) = (0x400000, 0x401000);
    /// let mapping = symidx_pprof::MappingInfo {
    ///     memory_start, memory_limit, file_offset, filename, build_id, is_main,
    /// };
    /// assert!(mapping.holds(0x400fff) && !mapping.holds(0x401000));
    /// ```
    #[must_use]
    pub fn holds(&self, address: u64) -> bool {
        address >= self.memory_start && (self.memory_limit == 0 || address < self.memory_limit)
    }
}

/// How addresses of a mapping are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// They are svmas moved by this much.
    Moved(u64),
    /// They are bytes of the file: the offset `file` is at address `start`.
    File { start: u64, file: u64 },
    /// They are bytes of this section, which begins at address `start`.
    Section { section: ImageSectionId, start: u64 },
}

/// What an index is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Svma(Svma),
    Section(ImageSectionId, u64),
}

impl Space {
    /// The convention that a mapping follows; `None` when its kernel was moved
    /// by an amount that cannot be told.
    pub(crate) fn of(
        mapping: &MappingInfo<'_>,
        index: &Index<'_>,
    ) -> Result<Option<Self>, Corrupt> {
        if index.is_relocatable() {
            return module_text(mapping, index);
        }
        if mapping.is_whole_space() {
            return Ok(Some(Self::Moved(0)));
        }
        if mapping.is_kernel() {
            return Ok(kernel_slide(mapping, index)?.map(Self::Moved));
        }
        Ok(Some(Self::File { start: mapping.memory_start, file: mapping.file_offset }))
    }

    /// Where an address is; `None` where the file has no such byte.
    pub(crate) fn place(&self, index: &Index<'_>, address: u64) -> Option<Place> {
        match *self {
            Self::Moved(slide) => Some(Place::Svma(Svma(address.wrapping_sub(slide)))),
            Self::File { start, file } => {
                let offset = address.checked_sub(start)?.checked_add(file)?;
                index.svma_of(FileOffset(offset)).map(Place::Svma)
            }
            Self::Section { section, start } => {
                Some(Place::Section(section, address.checked_sub(start)?))
            }
        }
    }
}

/// A kernel module is mapped by its text: offset 0 of it is at the mapping's start.
fn module_text(mapping: &MappingInfo<'_>, index: &Index<'_>) -> Result<Option<Space>, Corrupt> {
    let text = index.default_section()?;
    Ok(text
        .filter(|_| mapping.file_offset == 0)
        .map(|text| Space::Section { section: text.id(), start: mapping.memory_start }))
}

/// How far a kernel was moved. perf makes its mapping begin at the reference
/// symbol (`_text` or `_stext`; the name stands behind the bracket, if
/// anywhere) and puts the same address, or 0, for the file offset; tools after it
/// may round to pages. Kernels are moved by multiples of 2 MiB.
fn kernel_slide(mapping: &MappingInfo<'_>, index: &Index<'_>) -> Result<Option<u64>, Corrupt> {
    let at = if mapping.file_offset >= KERNEL { mapping.file_offset } else { mapping.memory_start };
    let named = mapping.filename.split_once(']').map_or("", |(_, name)| name);
    let candidates: &[&str] = if named.is_empty() { &["_text", "_stext"] } else { &[named] };
    let mut slides = Vec::new();
    for name in candidates {
        for found in index.find(*name) {
            let reference = found?.address();
            let same_page = at.is_multiple_of(PAGE) || at % PAGE == reference % PAGE;
            let slide = (at & !(PAGE - 1)).wrapping_sub(reference & !(PAGE - 1));
            if same_page && slide.is_multiple_of(KERNEL_STEP) {
                slides.push(slide);
            }
        }
    }
    // Not moved at all, as addresses of kallsyms are, is the likeliest.
    Ok(slides.iter().find(|slide| **slide == 0).or(slides.first()).copied())
}

/// The address that a location is looked up at: the one it states, as it is.
///
/// `profile.proto` has it so: an address that is not a leaf's may lie in the
/// middle of a call instruction, so whoever records a stack takes one off each
/// return address first. Go's runtime does (`CallersFrames` gives the call's pc),
/// pprof does when it reads the formats of gperftools (all frames but the leaf of
/// a CPU profile), `jemalloc_pprof` does (all frames of a heap profile). One
/// more taken off here would leave the function where its first byte is a leaf.
///
/// ```
/// # let profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
/// // The caller's return address was 0x5555_0000_0225; the profile states the call.
/// let caller = &profile.locations[1];
/// assert_eq!(symidx_pprof::lookup_address(caller), 0x5555_0000_0224); // nothing more is taken off
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn lookup_address(location: &crate::Location) -> u64 {
    location.address
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
