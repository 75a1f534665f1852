//! The few Mach-O load commands that placing an image needs: UUID and segments.
//!
//! In: the bytes of a header with its load commands, as a loader has them in
//! memory or a thin file begins with. Out: plain values. Never reads past the
//! size that the header states for its commands, nor past the bytes given.

use core::ops::Range;

use crate::process::id::Id;

/// Load commands beyond this many bytes are not read.
const MAX_COMMANDS: u32 = 1 << 20;
/// Bytes of the header that tell how much there is to read.
pub(crate) const FIRST: usize = 28;

const LC_SEGMENT: u32 = 1;
const LC_SEGMENT_64: u32 = 0x19;
const LC_UUID: u32 = 0x1b;
const VM_PROT_EXECUTE: u32 = 4;

/// A segment that an image has in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) svma: u64,
    pub(crate) memory_size: u64,
    pub(crate) file_offset: u64,
    pub(crate) file_size: u64,
    pub(crate) execute: bool,
}

/// A header and its load commands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachO<'b> {
    commands: &'b [u8],
    count: u32,
    is_64: bool,
    big: bool,
}

impl<'b> MachO<'b> {
    /// How many bytes the header and its commands take, by the header's first
    /// [`FIRST`] bytes; `None` when that is no Mach-O header.
    pub(crate) fn size(first: &[u8; FIRST]) -> Option<usize> {
        let (is_64, big) = magic(first)?;
        let commands = long(first, 20, big)?.min(MAX_COMMANDS);
        usize::try_from(commands).ok()?.checked_add(header_size(is_64))
    }

    /// The header at the start of the bytes; `None` when they are too few.
    pub(crate) fn open(bytes: &'b [u8]) -> Option<Self> {
        let size = Self::size(bytes.first_chunk()?)?;
        let (is_64, big) = magic(bytes)?;
        let commands = bytes.get(header_size(is_64)..size)?;
        Some(Self { commands, count: long(bytes, 16, big)?, is_64, big })
    }

    /// Its UUID.
    pub(crate) fn uuid(&self) -> Option<Id> {
        let found = self.each().find(|(kind, _)| *kind == LC_UUID);
        found.and_then(|(_, command)| Id::new(command.get(8..24)?))
    }

    /// Its segments with memory that something may be in: not the empty page
    /// at 0, and not the linker's tables, which a shared cache has once for all.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Segment> + use<'b> {
        let this = *self;
        self.each().filter_map(move |(kind, command)| {
            if command.get(8..24)?.starts_with(b"__LINKEDIT\0") {
                return None;
            }
            let [address, size, offset, file_size] = match kind {
                LC_SEGMENT_64 => [24, 32, 40, 48].map(|at| wide(command, at, this.big)),
                LC_SEGMENT => [24, 28, 32, 36].map(|at| long(command, at, this.big).map(u64::from)),
                _ => return None,
            };
            let protection = long(command, if kind == LC_SEGMENT_64 { 60 } else { 44 }, this.big)?;
            let segment = Segment {
                svma: address?,
                memory_size: size?,
                file_offset: offset?,
                file_size: file_size?,
                execute: protection & VM_PROT_EXECUTE != 0,
            };
            (segment.memory_size > 0 && protection != 0).then_some(segment)
        })
    }

    /// Type and bytes of each load command; ends at the first that does not fit.
    fn each(&self) -> impl Iterator<Item = (u32, &'b [u8])> + use<'b> {
        let (big, mut rest) = (self.big, self.commands);
        let align = if self.is_64 { 8 } else { 4 };
        (0..self.count).map_while(move |_| {
            let kind = long(rest, 0, big)?;
            let size = usize::try_from(long(rest, 4, big)?).ok()?;
            if size < 8 || size.checked_rem(align) != Some(0) {
                return None;
            }
            let (command, after) = rest.split_at_checked(size)?;
            rest = after;
            Some((kind, command))
        })
    }
}

/// 64 bit or not, big-endian or not.
fn magic(bytes: &[u8]) -> Option<(bool, bool)> {
    match long(bytes, 0, false)? {
        0xfeed_face => Some((false, false)),
        0xfeed_facf => Some((true, false)),
        0xcefa_edfe => Some((false, true)),
        0xcffa_edfe => Some((true, true)),
        _ => None,
    }
}

fn header_size(is_64: bool) -> usize {
    if is_64 { 32 } else { 28 }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    let range: Range<usize> = at..at.checked_add(N)?;
    bytes.get(range)?.try_into().ok()
}

fn long(bytes: &[u8], at: usize, big: bool) -> Option<u32> {
    let bytes = field(bytes, at)?;
    Some(if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
}

fn wide(bytes: &[u8], at: usize, big: bool) -> Option<u64> {
    let bytes = field(bytes, at)?;
    Some(if big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
}

#[cfg(test)]
pub(crate) mod tests;
