//! Stacks as single lines, counted: what flame graphs are made of.
//!
//! In: one stack after another. Out: `comm;outer;inner COUNT` lines. Equal stacks are
//! added up as far as they fit in memory: a line may come again, its counts add.

use std::collections::HashMap;
use std::io::{self, Write};

/// Bytes of stacks held.
const MEMORY: usize = 1 << 20;
/// Written at once.
const CHUNK: usize = 64 << 10;
/// What a stack costs besides its bytes.
const ENTRY: usize = 64;

/// Stacks so far.
#[derive(Debug, Default)]
pub(super) struct Folded {
    counts: HashMap<Box<[u8]>, u64>,
    bytes: usize,
    /// The memory is halved so many times.
    halved: u32,
}

impl Folded {
    /// Does with a quarter of the memory from now on, down to some kilobytes; writes out
    /// what there is.
    pub(super) fn shrink(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.halved = self.halved.saturating_add(2).min(6);
        self.finish(out)?;
        self.counts = HashMap::new();
        Ok(())
    }

    /// Counts a stack; writes all of them out when there is no more room.
    pub(super) fn add(&mut self, stack: &[u8], out: &mut dyn Write) -> io::Result<()> {
        if let Some(count) = self.counts.get_mut(stack) {
            *count = count.saturating_add(1);
            return Ok(());
        }
        let needed = stack.len().saturating_add(ENTRY);
        if self.bytes.saturating_add(needed) > MEMORY.wrapping_shr(self.halved) {
            self.finish(out)?;
        }
        self.bytes = self.bytes.saturating_add(needed);
        self.counts.insert(stack.into(), 1);
        Ok(())
    }

    /// Writes out what there is, in the order of the bytes.
    pub(super) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut stacks: Vec<_> = self.counts.drain().collect();
        stacks.sort_unstable();
        let mut text = Vec::new();
        for (stack, count) in stacks {
            text.extend_from_slice(&stack);
            writeln!(text, " {count}")?;
            if text.len() >= CHUNK {
                out.write_all(&text)?;
                text.clear();
            }
        }
        out.write_all(&text)?;
        self.bytes = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_whatever_the_memory() {
        let mut folded = Folded::default();
        let mut out = Vec::new();
        for n in 0..20_000u32 {
            let stack = format!("comm;{:0200}", n % 9000);
            assert!(folded.add(stack.as_bytes(), &mut out).is_ok());
            assert!(folded.bytes <= MEMORY);
        }
        assert!(folded.finish(&mut out).is_ok());
        let text = String::from_utf8_lossy(&out).into_owned();
        let counts = text.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u32>().ok());
        assert_eq!(counts.sum::<u32>(), 20_000);
    }
}
