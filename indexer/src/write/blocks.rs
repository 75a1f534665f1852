//! Blocks: many small writes in, few large ones out, each a whole block of the
//! file.
//!
//! A system keeps what was written in one piece in one piece: on Linux (ext4
//! since 6.16, XFS, tmpfs with huge pages) the page cache then holds the file
//! in blocks of 2 MiB, and a reader that maps it takes one page fault for each
//! of them, not one for each 64 KiB. Never changes what is written.

use std::io::{self, Seek, SeekFrom, Write};

/// Bytes of a block: a large page of the machines that have such.
pub(super) const BLOCK: usize = 2 << 20;

/// Collects blocks. What is left in it goes out with [`Write::flush`] only.
pub(super) struct Blocks<W> {
    out: W,
    /// At most a block.
    buffer: Vec<u8>,
}

impl<W: Write> Blocks<W> {
    /// For a file of that many bytes; `out` is at the file's start.
    pub(super) fn new(out: W, file_size: u64) -> Self {
        let room = usize::try_from(file_size).map_or(BLOCK, |size| size.min(BLOCK));
        Self { out, buffer: Vec::with_capacity(room) }
    }

    fn send(&mut self) -> io::Result<()> {
        let sent = self.out.write_all(&self.buffer);
        self.buffer.clear();
        sent
    }
}

impl<W: Write> Write for Blocks<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = BLOCK.saturating_sub(self.buffer.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.buffer.extend_from_slice(taken);
        if self.buffer.len() >= BLOCK {
            self.send()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()?;
        self.out.flush()
    }
}

impl<W: Write + Seek> Seek for Blocks<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.send()?;
        self.out.seek(to)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]
    use super::*;

    /// Keeps the bytes, and how they came.
    #[derive(Default)]
    struct Seen {
        bytes: io::Cursor<Vec<u8>>,
        writes: Vec<usize>,
    }

    impl Write for Seen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes.push(bytes.len());
            self.bytes.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Seen {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.bytes.seek(to)
        }
    }

    #[test]
    fn bytes_go_out_in_whole_blocks_and_in_order() {
        let bytes: Vec<u8> = (0..5 * BLOCK / 2).map(|i| u8::try_from(i % 251).unwrap()).collect();
        let mut blocks = Blocks::new(Seen::default(), u64::try_from(bytes.len()).unwrap());
        let (mut rest, mut size) = (bytes.as_slice(), 1);
        while !rest.is_empty() {
            let (piece, left) = rest.split_at(size.min(rest.len()));
            blocks.write_all(piece).unwrap();
            (rest, size) = (left, size * 3 % (BLOCK + 7) + 1);
        }
        blocks.seek(SeekFrom::Start(3)).unwrap();
        blocks.write_all(b"three").unwrap();
        blocks.flush().unwrap();
        let Seen { bytes: out, writes } = blocks.out;
        assert_eq!(writes, [BLOCK, BLOCK, BLOCK / 2, 5]);
        let out = out.into_inner();
        assert!(out.get(..3) == bytes.get(..3) && out.get(3..8) == Some(b"three"));
        assert!(out.get(8..) == bytes.get(8..));
    }
}
