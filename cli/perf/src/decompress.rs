//! Compressed records: pieces of one zstd stream in, records out.
//!
//! Each piece holds the stream from where the last one ended, and a record may lie
//! across two of them. Output is taken a buffer at a time, never whole.

use linux_perf_event_reader::Endianness;
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use crate::input::{HEADER, Head};

/// Output taken at once: the largest record, and as much again.
const BUFFER: usize = 128 * 1024;
/// The window that is accepted unless more is allowed: as much of the stream is held in
/// memory. `perf record -z` has level 1, which needs 512 KiB; levels up to 16 need 4 MiB.
pub(crate) const MAX_WINDOW: u64 = 4 << 20;
/// What zstd can be allowed, in bytes as a power of two.
const WINDOW_LOGS: std::ops::RangeInclusive<u32> = 10..=31;

/// zstd's number for a window that is larger.
const WINDOW_TOO_LARGE: usize = 16;

/// What may come out: so many bytes, and so many times what went in. Records of perf
/// shrink to a twentieth at best; a file made for it fills a disk from some kilobytes.
const MOST_OUT: u64 = 64 << 20;
const MOST_TIMES: u64 = 512;

/// The stream so far.
pub(crate) struct Decompressor {
    context: DCtx<'static>,
    buffer: Box<[u8]>,
    /// Bytes in the buffer that are no whole record yet.
    used: usize,
    /// Bytes that may still come out.
    left: u64,
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decompressor").field("used", &self.used).finish_non_exhaustive()
    }
}

/// Why nothing behind this can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The stream is damaged.
    Damaged,
    /// Its window is larger than allowed.
    Window,
}

impl Decompressor {
    /// Nothing yet, of a stream whose window is at most so many bytes, rounded down to a
    /// power of two.
    pub(crate) fn new(max_window: u64) -> Option<Self> {
        let mut context = DCtx::try_create()?;
        let log = max_window.checked_ilog2().unwrap_or(0);
        let log = log.clamp(*WINDOW_LOGS.start(), *WINDOW_LOGS.end());
        context.set_parameter(DParameter::WindowLogMax(log)).ok()?;
        Some(Self { context, buffer: vec![0; BUFFER].into_boxed_slice(), used: 0, left: MOST_OUT })
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
        let bytes = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        self.left = self.left.saturating_add(bytes.saturating_mul(MOST_TIMES));
        loop {
            let free = self.buffer.get_mut(self.used..).unwrap_or_default();
            let room = free.len();
            let mut output = OutBuffer::around(free);
            let before = input.pos();
            if let Err(code) = self.context.decompress_stream(&mut output, &mut input) {
                // The number of `ZSTD_error_frameParameter_windowTooLarge`.
                let is_window = 0usize.wrapping_sub(code) == WINDOW_TOO_LARGE;
                return Ok(Err(if is_window { Broken::Window } else { Broken::Damaged }));
            }
            let written = output.pos();
            self.used = self.used.saturating_add(written);
            match self.left.checked_sub(u64::try_from(written).unwrap_or(u64::MAX)) {
                Some(left) => self.left = left,
                None => return Ok(Err(Broken::Damaged)),
            }
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
                return Ok(Err(Broken::Damaged));
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A file of 285 kB came to 3 GB of records, which went to a temporary file: a disk
    /// was full of what a mail could carry.
    #[test]
    fn what_comes_out_is_bounded_by_what_went_in() {
        let record = [[68, 0, 0, 0, 0, 0].as_slice(), &u16::MAX.to_le_bytes(), &[0; 65_527]];
        let records = record.concat().repeat(32);
        let mut packed = vec![0; 1 << 16];
        let size = zstd_safe::compress(packed.as_mut_slice(), &records, 1).unwrap();
        let piece = packed.get(..size).unwrap();
        let mut decompressor = Decompressor::new(MAX_WINDOW).unwrap();
        let (mut went_in, mut out) = (0u64, 0u64);
        let broken = (0..1_000).any(|_| {
            went_in = went_in.saturating_add(u64::try_from(size).unwrap());
            let taken = decompressor.records(piece, Endianness::LittleEndian, |head, _| {
                out = out.saturating_add(head.size.into());
                Ok::<(), ()>(())
            });
            taken.unwrap() == Err(Broken::Damaged)
        });
        assert!(broken);
        assert!(out > MOST_OUT >> 1, "{out}");
        assert!(out <= MOST_OUT.saturating_add(went_in.saturating_mul(MOST_TIMES)), "{out}");
    }

    /// A window is held in memory: up to 128 MiB of it were.
    #[test]
    fn a_larger_window_is_refused_by_its_name() {
        let record = [[1, 0, 0, 0, 0, 0].as_slice(), &64u16.to_le_bytes(), &[7; 56]].concat();
        for (log, allowed, expected) in [
            (19, MAX_WINDOW, Ok(())),
            (22, MAX_WINDOW, Ok(())),
            (23, MAX_WINDOW, Err(Broken::Window)),
            (23, 8 << 20, Ok(())),
            (24, (16 << 20) - 1, Err(Broken::Window)),
            (27, u64::MAX, Ok(())),
            (11, 0, Err(Broken::Window)),
        ] {
            let mut packer = zstd_safe::CCtx::try_create().unwrap();
            packer.set_parameter(zstd_safe::CParameter::WindowLog(log)).unwrap();
            let mut packed = vec![0; 1 << 12];
            let mut output = OutBuffer::around(packed.as_mut_slice());
            // Of a stream, whose length is not known before its end.
            let mut input = InBuffer::around(&record);
            packer.compress_stream(&mut output, &mut input).unwrap();
            packer.flush_stream(&mut output).unwrap();
            let size = output.pos();
            let mut decompressor = Decompressor::new(allowed).unwrap();
            let mut records = 0u32;
            let piece = packed.get(..size).unwrap();
            let taken = decompressor.records(piece, Endianness::LittleEndian, |_, bytes| {
                assert_eq!(bytes, record);
                records = records.saturating_add(1);
                Ok::<(), ()>(())
            });
            assert_eq!(taken.unwrap(), expected, "2^{log}, {allowed}");
            assert_eq!(records, u32::from(expected.is_ok()));
        }
    }
}
