//! The few ELF headers that placing an image needs: build-id, loadable
//! segments, and where its `.symidx` section is.
//!
//! In: something that reads bytes at file offsets (a file, or the memory a file
//! is mapped to). Out: plain values. Reads at most a few KiB through two
//! buffers on the stack; never allocates, never follows a count past its bound.

use crate::process::id::Id;

/// Program and section headers beyond this number are not read.
const MAX_HEADERS: u64 = 4096;
/// Note bytes beyond this number are not read.
const MAX_NOTES: u64 = 64 << 10;
/// Bytes of a window, which starts at a multiple of half of that.
const WINDOW: usize = 4096;
const HALF: u64 = 2048;

/// The name of the section that holds an index.
pub(crate) const EMBEDDED: &[u8] = b".symidx";

/// Bytes at offsets.
pub(crate) trait ReadAt {
    /// Fills as much of `buffer` as there is; returns how much that was.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> usize;
}

impl ReadAt for std::fs::File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> usize {
        let mut filled = 0usize;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let at = offset.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
            match std::os::unix::fs::FileExt::read_at(self, rest, at) {
                Ok(0) => break,
                Ok(read) => filled = filled.saturating_add(read),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        filled
    }
}

impl ReadAt for &[u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> usize {
        let from = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or(&[]);
        let length = from.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), from.get(..length)) {
            to.copy_from_slice(from);
        }
        length
    }
}

/// A loadable segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadHeader {
    pub(crate) file_offset: u64,
    pub(crate) svma: u64,
    pub(crate) file_size: u64,
    pub(crate) execute: bool,
}

/// A piece of a file, copied.
struct Window {
    bytes: [u8; WINDOW],
    /// File offset of the first byte, and how many there are.
    at: u64,
    filled: usize,
}

impl Window {
    const EMPTY: Self = Self { bytes: [0; WINDOW], at: 0, filled: 0 };

    fn get<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let start = usize::try_from(at.checked_sub(self.at)?).ok()?;
        let filled = self.bytes.get(..self.filled)?;
        filled.get(start..)?.first_chunk().copied()
    }
}

/// An ELF file seen through two small windows, the one used last first: a table
/// and the names that it refers to are read side by side.
pub(crate) struct Elf<'r, R: ?Sized> {
    from: &'r R,
    windows: [Window; 2],
    is_64: bool,
    big: bool,
    program_headers: (u64, u64, u64),
    section_headers: (u64, u64, u64),
    names: u64,
}

impl<'r, R: ReadAt + ?Sized> Elf<'r, R> {
    /// The file's header; `None` when it is no ELF file.
    pub(crate) fn open(from: &'r R) -> Option<Self> {
        let mut elf = Self {
            from,
            windows: [Window::EMPTY; 2],
            is_64: true,
            big: false,
            program_headers: (0, 0, 0),
            section_headers: (0, 0, 0),
            names: 0,
        };
        let ident: [u8; 16] = elf.bytes(0)?;
        let (class, order) = match ident {
            [0x7f, b'E', b'L', b'F', class, order, ..] => (class, order),
            _ => return None,
        };
        elf.is_64 = match class {
            1 => false,
            2 => true,
            _ => return None,
        };
        elf.big = match order {
            1 => false,
            2 => true,
            _ => return None,
        };
        let (phoff, shoff, sizes) = if elf.is_64 { (32, 40, 54) } else { (28, 32, 42) };
        let mut count = u64::from(elf.half(sizes_at(sizes, 2))?);
        elf.section_headers = (
            elf.word(shoff)?,
            u64::from(elf.half(sizes_at(sizes, 4))?),
            u64::from(elf.half(sizes_at(sizes, 6))?),
        );
        elf.names = u64::from(elf.half(sizes_at(sizes, 8))?);
        // Numbers that do not fit their fields stand in section header 0.
        if elf.section_headers.0 != 0 {
            let (size, link, info) = if elf.is_64 { (32, 40, 44) } else { (20, 24, 28) };
            let first = elf.section_headers.0;
            if elf.section_headers.2 == 0 {
                elf.section_headers.2 = elf.word(first.checked_add(size)?).unwrap_or(0);
            }
            if elf.names == 0xffff {
                elf.names = u64::from(elf.long(first.checked_add(link)?).unwrap_or(0));
            }
            if count == 0xffff {
                count = u64::from(elf.long(first.checked_add(info)?).unwrap_or(0));
            }
        }
        elf.program_headers = (elf.word(phoff)?, u64::from(elf.half(sizes)?), count);
        Some(elf)
    }

    /// Its loadable segments, in table order.
    pub(crate) fn loads(&mut self, mut see: impl FnMut(LoadHeader)) {
        self.each_program_header(|elf, at, kind| {
            if kind == 1 {
                let (flags, offset, address, size) =
                    if elf.is_64 { (4, 8, 16, 32) } else { (24, 4, 8, 16) };
                see(LoadHeader {
                    file_offset: elf.word(at.checked_add(offset)?)?,
                    svma: elf.word(at.checked_add(address)?)?,
                    file_size: elf.word(at.checked_add(size)?)?,
                    execute: elf.long(at.checked_add(flags)?)? & 1 != 0,
                });
            }
            None::<()>
        });
    }

    /// Its GNU build-id: from the program headers, as the loader sees it.
    pub(crate) fn build_id(&mut self) -> Option<Id> {
        self.each_program_header(|elf, at, kind| {
            if kind != 4 {
                return None;
            }
            let (offset, size, align) = if elf.is_64 { (8, 32, 48) } else { (4, 16, 28) };
            let start = elf.word(at.checked_add(offset)?)?;
            let size = elf.word(at.checked_add(size)?)?.min(MAX_NOTES);
            let align = elf.word(at.checked_add(align)?)?;
            elf.build_id_in(start, start.checked_add(size)?, note_align(align))
        })
    }

    /// Where its `.symidx` section lies: file offset and bytes.
    pub(crate) fn embedded(&mut self) -> Option<(u64, u64)> {
        let (table, stride, count) = self.section_headers;
        let (offset, size) = if self.is_64 { (24, 32) } else { (16, 20) };
        let names = table.checked_add(self.names.checked_mul(stride)?)?;
        let names = self.word(names.checked_add(offset)?)?;
        for index in 1..count.min(MAX_HEADERS) {
            let at = table.checked_add(index.checked_mul(stride)?)?;
            let name = names.checked_add(u64::from(self.long(at)?))?;
            let mut wanted = EMBEDDED.iter().copied().chain([0]).zip(name..);
            if wanted.all(|(byte, at)| self.bytes(at) == Some([byte])) {
                let start = self.word(at.checked_add(offset)?)?;
                return Some((start, self.word(at.checked_add(size)?)?));
            }
        }
        None
    }

    fn each_program_header<T>(
        &mut self,
        mut see: impl FnMut(&mut Self, u64, u32) -> Option<T>,
    ) -> Option<T> {
        let (table, stride, count) = self.program_headers;
        for index in 0..count.min(MAX_HEADERS) {
            let at = table.checked_add(index.checked_mul(stride)?)?;
            let kind = self.long(at)?;
            if let Some(found) = see(self, at, kind) {
                return Some(found);
            }
        }
        None
    }

    fn build_id_in(&mut self, start: u64, end: u64, align: u64) -> Option<Id> {
        let mut at = start;
        while at < end {
            let name_size = u64::from(self.long(at)?);
            let size = u64::from(self.long(at.checked_add(4)?)?);
            let kind = self.long(at.checked_add(8)?)?;
            let name = at.checked_add(12)?;
            let data = padded(name.checked_add(name_size)?, at, align)?;
            if kind == 3 && name_size == 4 && self.bytes(name) == Some(*b"GNU\0") {
                let mut id = [0; crate::format::MAX_ID];
                let length = usize::try_from(size).ok().filter(|&length| length <= id.len())?;
                let bytes = id.get_mut(..length)?;
                let inside = data.checked_add(size)? <= end;
                return (inside && self.from.read_at(bytes, data) == length)
                    .then(|| Id::new(bytes))
                    .flatten();
            }
            at = padded(data.checked_add(size)?, at, align)?;
        }
        None
    }

    fn half(&mut self, at: u64) -> Option<u16> {
        let bytes = self.bytes(at)?;
        Some(if self.big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn long(&mut self, at: u64) -> Option<u32> {
        let bytes = self.bytes(at)?;
        Some(if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// An address or offset, whichever width the file has.
    fn word(&mut self, at: u64) -> Option<u64> {
        if !self.is_64 {
            return self.long(at).map(u64::from);
        }
        let bytes = self.bytes(at)?;
        Some(if self.big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    fn bytes<const N: usize>(&mut self, at: u64) -> Option<[u8; N]> {
        let [latest, other] = &mut self.windows;
        if let Some(found) = latest.get(at) {
            return Some(found);
        }
        core::mem::swap(latest, other);
        if let Some(found) = latest.get(at) {
            return Some(found);
        }
        latest.at = at & !HALF.wrapping_sub(1);
        latest.filled = self.from.read_at(&mut latest.bytes, latest.at);
        latest.get(at)
    }
}

/// The `n`th byte after the field with the size of a program header.
fn sizes_at(sizes: u64, n: u64) -> u64 {
    sizes.saturating_add(n)
}

/// Notes are padded to 4 bytes, or to 8 where their header says so.
fn note_align(align: u64) -> u64 {
    if align == 8 { 8 } else { 4 }
}

/// `at` moved up to the alignment, counted from `base`.
fn padded(at: u64, base: u64, align: u64) -> Option<u64> {
    let into = at.checked_sub(base)?;
    base.checked_add(into.checked_next_multiple_of(align)?)
}

/// The GNU build-id in the bytes of notes.
pub(crate) fn build_id_in_notes(notes: &[u8]) -> Option<Id> {
    let length = u64::try_from(notes.len()).ok()?;
    let mut elf = Elf {
        from: &notes,
        windows: [Window::EMPTY; 2],
        is_64: true,
        big: cfg!(target_endian = "big"),
        program_headers: (0, 0, 0),
        section_headers: (0, 0, 0),
        names: 0,
    };
    // `.note.gnu.property` is padded to 8 bytes in a segment of its own; a
    // build-id's 20 bytes come out the same either way.
    elf.build_id_in(0, length.min(MAX_NOTES), 4)
        .or_else(|| elf.build_id_in(0, length.min(MAX_NOTES), 8))
}
