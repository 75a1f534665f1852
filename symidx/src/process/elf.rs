//! The few ELF headers that placing an image needs: build-id, loadable
//! segments, and where its `.symidx` section is.
//!
//! In: something that reads bytes at file offsets (a file, or the memory a file
//! is mapped to). Out: plain values. Reads through two small windows on the
//! stack; never allocates, never follows a count past its bound.

use crate::process::id::Id;

/// Program and section headers beyond this number are not read.
const MAX_HEADERS: u64 = 4096;
/// Note bytes beyond this number are not read, those of all headers together.
const MAX_NOTES: u64 = 64 << 10;
const WINDOW: usize = 1024;

/// The name of the section that holds an index, as a string table has it.
const EMBEDDED: &[u8; 8] = b".symidx\0";

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
    pub(crate) memory_size: u64,
    pub(crate) execute: bool,
}

/// A table of headers: file offset, bytes of one, how many.
#[derive(Clone, Copy, Default)]
struct Table {
    offset: u64,
    stride: u64,
    count: u64,
}

impl Table {
    fn at(self, index: u64) -> Option<u64> {
        self.offset.checked_add(index.checked_mul(self.stride)?)
    }
}

/// The part of the file that was read last.
struct Window {
    bytes: [u8; WINDOW],
    at: u64,
    filled: usize,
}

impl Window {
    const EMPTY: Self = Self { bytes: [0; WINDOW], at: 0, filled: 0 };

    fn bytes<const N: usize>(&mut self, from: &(impl ReadAt + ?Sized), at: u64) -> Option<[u8; N]> {
        if let Some(found) = self.held(at) {
            return Some(found);
        }
        self.at = at;
        self.filled = from.read_at(&mut self.bytes, at);
        self.held(at)
    }

    fn held<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let start = usize::try_from(at.checked_sub(self.at)?).ok()?;
        let filled = self.bytes.get(..self.filled)?;
        filled.get(start..)?.first_chunk().copied()
    }
}

/// An ELF file seen through small windows: one for its tables of headers, one
/// for what they point to.
pub(crate) struct Elf<'r, R: ?Sized> {
    from: &'r R,
    headers: Window,
    others: Window,
    is_64: bool,
    big: bool,
    program: Table,
    sections: Table,
    /// The section with the sections' names.
    names: u64,
}

impl<'r, R: ReadAt + ?Sized> Elf<'r, R> {
    /// The file's header; `None` when it is no ELF file.
    pub(crate) fn open(from: &'r R) -> Option<Self> {
        let mut elf = Self::plain(from);
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
        // Offsets of the header's fields; sizes and counts are 2 bytes each.
        let [phoff, shoff, phentsize, phnum, shentsize, shnum, shstrndx] = match elf.is_64 {
            true => [32, 40, 54, 56, 58, 60, 62],
            false => [28, 32, 42, 44, 46, 48, 50],
        };
        let mut half = |at| elf.half(at).map(u64::from);
        let (program, sections) =
            ((half(phentsize)?, half(phnum)?), (half(shentsize)?, half(shnum)?));
        elf.names = half(shstrndx)?;
        elf.program = Table { offset: elf.word(phoff)?, stride: program.0, count: program.1 };
        elf.sections = Table { offset: elf.word(shoff)?, stride: sections.0, count: sections.1 };
        elf.extend_numbers();
        Some(elf)
    }

    fn plain(from: &'r R) -> Self {
        Self {
            from,
            headers: Window::EMPTY,
            others: Window::EMPTY,
            is_64: true,
            big: cfg!(target_endian = "big"),
            program: Table::default(),
            sections: Table::default(),
            names: 0,
        }
    }

    /// Numbers that do not fit their fields stand in section header 0.
    fn extend_numbers(&mut self) {
        let first = self.sections.offset;
        if first == 0 {
            return;
        }
        let (size, link, info) = if self.is_64 { (32, 40, 44) } else { (20, 24, 28) };
        if self.sections.count == 0 {
            self.sections.count = first.checked_add(size).and_then(|at| self.word(at)).unwrap_or(0);
        }
        if self.names == 0xffff {
            let stated = first.checked_add(link).and_then(|at| self.long(at));
            self.names = stated.map_or(0, u64::from);
        }
        if self.program.count == 0xffff {
            // Mapped images mostly lack their section headers: the number
            // that is there then has to do.
            let stated = first.checked_add(info).and_then(|at| self.long(at));
            self.program.count = stated.filter(|&stated| stated != 0).map_or(0xffff, u64::from);
        }
    }

    /// Its loadable segments, in table order.
    pub(crate) fn loads(&mut self, mut see: impl FnMut(LoadHeader)) {
        self.each_program_header(|elf, at, kind| {
            if kind == 1 {
                let [flags, offset, address, file_size, memory_size] = match elf.is_64 {
                    true => [4, 8, 16, 32, 40],
                    false => [24, 4, 8, 16, 20],
                };
                see(LoadHeader {
                    file_offset: elf.word(at.checked_add(offset)?)?,
                    svma: elf.word(at.checked_add(address)?)?,
                    file_size: elf.word(at.checked_add(file_size)?)?,
                    memory_size: elf.word(at.checked_add(memory_size)?)?,
                    execute: elf.long(at.checked_add(flags)?)? & 1 != 0,
                });
            }
            None::<()>
        });
    }

    /// Its GNU build-id: from the program headers, as the loader sees it.
    pub(crate) fn build_id(&mut self) -> Option<Id> {
        let mut left = MAX_NOTES;
        self.each_program_header(|elf, at, kind| {
            if kind != 4 {
                return None;
            }
            let (offset, size, align) = if elf.is_64 { (8, 32, 48) } else { (4, 16, 28) };
            let start = elf.word(at.checked_add(offset)?)?;
            let size = elf.word(at.checked_add(size)?)?.min(left);
            let align = elf.word(at.checked_add(align)?)?;
            left = left.saturating_sub(size);
            elf.build_id_in(start, start.checked_add(size)?, note_align(align))
        })
    }

    /// Where its `.symidx` section lies: file offset and bytes.
    pub(crate) fn embedded(&mut self) -> Option<(u64, u64)> {
        let (offset, size) = if self.is_64 { (24, 32) } else { (16, 20) };
        let names = self.sections.at(self.names)?;
        let names = self.word(names.checked_add(offset)?)?;
        for index in 1..self.sections.count.min(MAX_HEADERS) {
            let at = self.sections.at(index)?;
            let name = names.checked_add(u64::from(self.long(at)?))?;
            if self.others.bytes(self.from, name) == Some(*EMBEDDED) {
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
        let program = self.program;
        for index in 0..program.count.min(MAX_HEADERS) {
            let at = program.at(index)?;
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
            let [name_size, size, kind] = self.note_header(at)?;
            let (name_size, size) = (u64::from(name_size), u64::from(size));
            let name = at.checked_add(12)?;
            let data = padded(name.checked_add(name_size)?, at, align)?;
            if kind == 3 && name_size == 4 && self.others.bytes(self.from, name) == Some(*b"GNU\0")
            {
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

    /// Bytes of the name, bytes of the content, type.
    fn note_header(&mut self, at: u64) -> Option<[u32; 3]> {
        let mut fields = [0; 3];
        for (field, from) in fields.iter_mut().zip([0, 4, 8]) {
            let bytes = self.others.bytes(self.from, at.checked_add(from)?)?;
            *field = if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        }
        Some(fields)
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
        self.headers.bytes(self.from, at)
    }
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
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn build_id_in_notes(notes: &[u8]) -> Option<Id> {
    let length = u64::try_from(notes.len()).ok()?.min(MAX_NOTES);
    // `.note.gnu.property` is padded to 8 bytes in a segment of its own; a
    // build-id's 20 bytes come out the same either way.
    let mut elf = Elf::plain(&notes);
    elf.build_id_in(0, length, 4).or_else(|| elf.build_id_in(0, length, 8))
}

#[cfg(test)]
mod tests;
