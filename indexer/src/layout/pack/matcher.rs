//! Matching: the longest phrase that the bytes ahead begin with.
//!
//! In: phrases. Out: a tree of their bytes in one flat table. Never takes more
//! steps than the longest phrase has bytes.

/// No phrase, no node.
const NONE: u32 = u32::MAX;

/// The tree: from a node and a byte to the next node.
#[derive(Debug)]
pub(super) struct Matcher {
    /// (node · 256 + byte, next node), open addressing; twice as many as nodes.
    table: Vec<(u32, u32)>,
    /// The phrase that ends at each node.
    phrases: Vec<u32>,
}

impl Matcher {
    /// Of equal phrases the first one is found.
    pub(super) fn new<'p>(phrases: impl Iterator<Item = &'p [u8]> + Clone) -> Self {
        let size = nodes(phrases.clone()).saturating_mul(2).next_power_of_two();
        let mut this = Self { table: vec![(NONE, NONE); size], phrases: vec![NONE] };
        for (number, bytes) in (0u32..).zip(phrases) {
            let node = bytes.iter().fold(0, |node, &byte| this.grow(node, byte));
            let slot = usize::try_from(node).ok().and_then(|node| this.phrases.get_mut(node));
            if let Some(slot) = slot.filter(|slot| **slot == NONE) {
                *slot = number;
            }
        }
        this
    }

    /// Number and length of the longest phrase that `bytes` begins with.
    pub(super) fn longest(&self, bytes: &[u8]) -> Option<(u32, usize)> {
        let mut node = 0;
        let mut best = None;
        for (len, &byte) in (1usize..).zip(bytes) {
            let Ok(next) = self.find(node, byte) else { break };
            node = next;
            let phrase = usize::try_from(node).ok().and_then(|node| self.phrases.get(node));
            if let Some(&phrase) = phrase.filter(|&&phrase| phrase != NONE) {
                best = Some((phrase, len));
            }
        }
        best
    }

    /// The next node, or the free slot where it would be.
    fn find(&self, node: u32, byte: u8) -> Result<u32, usize> {
        let key = key(node, byte);
        let mask = self.table.len().wrapping_sub(1);
        let mixed = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mut slot = usize::try_from(mixed).unwrap_or(0) & mask;
        loop {
            match self.table.get(slot) {
                Some(&(found, next)) if found == key => return Ok(next),
                Some(&(NONE, _)) | None => return Err(slot),
                Some(_) => slot = slot.wrapping_add(1) & mask,
            }
        }
    }

    fn grow(&mut self, node: u32, byte: u8) -> u32 {
        match self.find(node, byte) {
            Ok(next) => next,
            Err(slot) => {
                let next = u32::try_from(self.phrases.len()).unwrap_or(NONE);
                self.phrases.push(NONE);
                if let Some(entry) = self.table.get_mut(slot) {
                    *entry = (key(node, byte), next);
                }
                next
            }
        }
    }
}

/// How many nodes the tree has without its root: equal beginnings share them.
fn nodes<'p>(phrases: impl Iterator<Item = &'p [u8]>) -> usize {
    let mut sorted: Vec<&[u8]> = phrases.collect();
    sorted.sort_unstable();
    let (mut nodes, mut before) = (1usize, &[][..]);
    for phrase in sorted {
        let shared = before.iter().zip(phrase).take_while(|(a, b)| a == b).count();
        nodes = nodes.saturating_add(phrase.len().saturating_sub(shared));
        before = phrase;
    }
    nodes
}

/// Nodes are fewer than 2^24: 65,536 phrases of 64 bytes have no more bytes than that.
fn key(node: u32, byte: u8) -> u32 {
    node.wrapping_shl(8) | u32::from(byte)
}
