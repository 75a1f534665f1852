//! Pieces: large writes in, many small ones out. Never changes what is written.
//!
//! The opposite of [`super::blocks`]: where a reader takes few page faults of large
//! blocks there, it has few bytes resident here. A profile looks up addresses all over
//! many large indexes, and what is resident counts where memory is bounded.

use std::io::{self, Seek, SeekFrom, Write};

/// Bytes of a piece: what Linux maps around a page fault at least.
const PIECE: usize = 64 << 10;

/// Gives what is written on in pieces, each a whole piece of the file.
pub(crate) struct Pieces<W> {
    out: W,
    /// Bytes of the piece at hand that are written.
    filled: usize,
}

impl<W> Pieces<W> {
    /// `out` is at the file's start.
    pub(crate) fn new(out: W) -> Self {
        Self { out, filled: 0 }
    }
}

impl<W: Write> Write for Pieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = bytes.get(..PIECE.saturating_sub(self.filled)).unwrap_or(bytes);
        let written = self.out.write(part)?;
        self.filled = self.filled.saturating_add(written);
        if self.filled >= PIECE {
            self.filled = 0;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write + Seek> Seek for Pieces<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = self.out.seek(to)?;
        let piece = u64::try_from(PIECE).unwrap_or(u64::MAX);
        self.filled = at.checked_rem(piece).and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps the bytes, and where each write began and ended.
    #[derive(Default)]
    struct Log {
        file: io::Cursor<Vec<u8>>,
        writes: Vec<(u64, u64)>,
    }

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let start = self.file.position();
            let written = self.file.write(bytes)?;
            self.writes.push((start, self.file.position()));
            Ok(written)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Log {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.file.seek(to)
        }
    }

    #[test]
    fn no_write_reaches_over_the_end_of_a_piece() {
        let mut pieces = Pieces::new(Log::default());
        let bytes: Vec<u8> = (0..=250).cycle().take(300_000).collect();
        let (mut rest, mut sizes) = (bytes.as_slice(), [3, 100_000, 65_533, 1, 200_000].iter());
        while !rest.is_empty() {
            let size = sizes.next().copied().unwrap_or(rest.len()).min(rest.len());
            let (part, behind) = rest.split_at(size);
            assert!(pieces.write_all(part).is_ok());
            rest = behind;
        }
        assert!(pieces.seek(SeekFrom::Start(65_530)).is_ok_and(|at| at == 65_530));
        assert!(pieces.write_all(bytes.get(65_530..200_000).unwrap_or(&[])).is_ok());
        let Log { file, writes } = pieces.out;
        assert_eq!(file.into_inner(), bytes);
        for (start, end) in writes {
            assert!(
                end > start && (start >> 16) == (end.saturating_sub(1) >> 16),
                "{start}..{end}"
            );
        }
    }
}
