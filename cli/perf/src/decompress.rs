//! Compressed records: pieces of one zstd stream in, records out.
//!
//! Each piece holds the stream from where the last one ended, and a record may lie
//! across two of them. Output is taken a buffer at a time, never whole.

use linux_perf_event_reader::Endianness;
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use crate::input::{HEADER, Head};

/// Output taken at once: the largest record, and as much again.
const BUFFER: usize = 128 * 1024;
/// The window that the zstd command accepts too; perf's default level needs 2^19.
const MAX_WINDOW_LOG: u32 = 27;

/// The stream so far.
pub(crate) struct Decompressor {
    context: DCtx<'static>,
    buffer: Box<[u8]>,
    /// Bytes in the buffer that are no whole record yet.
    used: usize,
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decompressor").field("used", &self.used).finish_non_exhaustive()
    }
}

/// The stream is damaged: nothing behind this can be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl Decompressor {
    pub(crate) fn new() -> Option<Self> {
        let mut context = DCtx::try_create()?;
        context.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG)).ok()?;
        Some(Self { context, buffer: vec![0; BUFFER].into_boxed_slice(), used: 0 })
    }

    /// Decompresses `piece` and hands over each whole record in it; `record` says
    /// whether it could take it.
    pub(crate) fn records<E>(
        &mut self,
        piece: &[u8],
        endian: Endianness,
        mut record: impl FnMut(Head, &[u8]) -> Result<(), E>,
    ) -> Result<Result<(), Broken>, E> {
        let mut input = InBuffer::around(piece);
        loop {
            let free = self.buffer.get_mut(self.used..).unwrap_or_default();
            let room = free.len();
            let mut output = OutBuffer::around(free);
            let before = input.pos();
            if self.context.decompress_stream(&mut output, &mut input).is_err() {
                return Ok(Err(Broken));
            }
            let written = output.pos();
            self.used = self.used.saturating_add(written);
            match self.whole_records(endian, &mut record)? {
                Ok(()) => {}
                Err(broken) => return Ok(Err(broken)),
            }
            let done = input.pos() >= piece.len() && written < room;
            // No progress at all would be a loop.
            if done || (written == 0 && input.pos() == before) {
                return Ok(Ok(()));
            }
        }
    }

    fn whole_records<E>(
        &mut self,
        endian: Endianness,
        record: &mut impl FnMut(Head, &[u8]) -> Result<(), E>,
    ) -> Result<Result<(), Broken>, E> {
        let mut start = 0usize;
        while let Some(rest) = self.buffer.get(start..self.used)
            && let Some(head) = rest.first_chunk::<HEADER>()
        {
            let head = Head::parse(*head, endian);
            let size = usize::from(head.size);
            if size < HEADER {
                return Ok(Err(Broken));
            }
            let Some(bytes) = rest.get(..size) else { break };
            record(head, bytes)?;
            start = start.saturating_add(size);
        }
        self.buffer.copy_within(start..self.used, 0);
        self.used = self.used.saturating_sub(start);
        Ok(Ok(()))
    }

    /// True when a record was begun and never ended.
    pub(crate) fn is_cut(&self) -> bool {
        self.used != 0
    }
}
