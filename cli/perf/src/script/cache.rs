//! Texts of addresses that were named before, in a cache of fixed size.
//!
//! Two slots per hash, texts in a ring: a newer text drops older ones. Addresses without
//! a name are cached like those with one.

/// What is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) address: u64,
    /// DSO, process and what else decides the text.
    pub(super) owner: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: Key,
    /// Where in all the texts ever written this one began.
    at: u64,
    length: u32,
    outcome: u8,
}

/// The cache.
#[derive(Debug)]
pub(super) struct Cache {
    /// A power of two of them.
    slots: Vec<Slot>,
    /// Some more bits of each slot's hash: few enough to lie near the processor, so that
    /// most keys that are not there cost no look at a slot.
    tags: Vec<u16>,
    /// Bits of a hash that are no part of the slot's number.
    shift: u32,
    text: Vec<u8>,
    /// Bytes of texts kept; a power of two.
    room: usize,
    /// Bytes ever written.
    end: u64,
    /// Texts that were found, and that were offered, since both were halved last.
    hits: u32,
    offered: u32,
}

/// Of texts that hardly ever come again one in so many is kept.
const FEW: u32 = 16;

impl Cache {
    /// A cache of `1 << slots` texts with `1 << log` bytes.
    pub(super) fn new(slots: u32, log: u32) -> Self {
        let nothing = Key { address: 0, owner: 0 };
        let empty = Slot { key: nothing, at: 0, length: 0, outcome: 0 };
        let room = 1usize.wrapping_shl(log);
        // Zeroes that were never written take no memory.
        let shift = u64::BITS.saturating_sub(slots);
        let slots = vec![empty; 1usize.wrapping_shl(slots)];
        let tags = vec![0; slots.len()];
        Self { slots, tags, shift, text: vec![0; room], room, end: 0, hits: 0, offered: 0 }
    }

    /// The text of an address and what became of it.
    #[inline]
    pub(super) fn find(&self, key: Key) -> Option<(&[u8], u8)> {
        let (first, tag) = self.place(key);
        let same = |at: &usize| self.tags.get(*at) == Some(&tag);
        let of = |at: usize| self.slots.get(at).filter(|slot| slot.key == key);
        let slot = [first, first ^ 1].into_iter().filter(same).find_map(of)?;
        let kept = self.end.wrapping_sub(slot.at) <= size(self.room);
        if slot.length == 0 || !kept {
            return None;
        }
        let start = self.position(slot.at);
        let end = start.checked_add(usize::try_from(slot.length).ok()?)?;
        Some((self.text.get(start..end)?, slot.outcome))
    }

    /// Counts a text that was found.
    #[inline]
    pub(super) fn hit(&mut self) {
        self.hits = self.hits.saturating_add(1);
    }

    /// Whether to keep a new text: all of them where one among eight was found lately, else
    /// a few, to see whether that changes.
    #[inline]
    pub(super) fn is_worth_it(&mut self) -> bool {
        self.offered = self.offered.saturating_add(1);
        if self.offered >= 1 << 14 {
            (self.hits, self.offered) = (self.hits >> 1, self.offered >> 1);
        }
        self.hits >= self.offered >> 3 || self.offered < 1 << 12 || self.offered.is_multiple_of(FEW)
    }

    /// The slot that a new text of a key goes to: its own, else the older of the two.
    fn oldest(&self, key: Key) -> usize {
        let (first, _) = self.place(key);
        let of = |at: usize| self.slots.get(at).filter(|slot| slot.length != 0);
        match (of(first), of(first ^ 1)) {
            (Some(slot), _) if slot.key == key => first,
            (_, Some(slot)) if slot.key == key => first ^ 1,
            (Some(one), Some(other)) if other.at < one.at => first ^ 1,
            (Some(_), None) => first ^ 1,
            _ => first,
        }
    }

    /// The slot of a key, and its tag: parts of a product which all of its bits decide.
    #[inline]
    fn place(&self, key: Key) -> (usize, u16) {
        let mixed = (key.address ^ key.owner.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let tag = u16::try_from(mixed >> 24 & 0xffff).unwrap_or(0);
        (usize::try_from(mixed.wrapping_shr(self.shift)).unwrap_or(0), tag)
    }

    fn position(&self, at: u64) -> usize {
        usize::try_from(at & size(self.room.wrapping_sub(1))).unwrap_or(0)
    }

    /// Keeps a text.
    pub(super) fn keep(&mut self, key: Key, text: &[u8], outcome: u8) {
        // A text as long as a good part of the ring would drop everything else.
        if text.is_empty() || text.len() > self.room >> 6 {
            return;
        }
        // Texts are whole: one that would go over the end begins at the front.
        if self.position(self.end).saturating_add(text.len()) > self.room {
            self.end = self.end.next_multiple_of(size(self.room));
        }
        let at = self.end;
        let start = self.position(at);
        let end = start.saturating_add(text.len());
        if let Some(room) = self.text.get_mut(start..end) {
            room.copy_from_slice(text);
        }
        self.end = at.wrapping_add(size(text.len()));
        let length = u32::try_from(text.len()).unwrap_or(0);
        let at_slot = self.oldest(key);
        let (_, new) = self.place(key);
        if let Some(slot) = self.slots.get_mut(at_slot) {
            *slot = Slot { key, at, length, outcome };
        }
        if let Some(tag) = self.tags.get_mut(at_slot) {
            *tag = new;
        }
    }
}

fn size(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_what_was_kept_last() {
        let mut cache = Cache::new(14, 21);
        let key = |address| Key { address, owner: 1 };
        assert_eq!(cache.find(key(0)), None);
        // Some 6 MB of texts: the ring goes round three times.
        let text = |n: u64| format!("{n}-{}", "x".repeat(usize::try_from(n % 300).unwrap_or(0)));
        let mut found = 0u64;
        for n in 0..40_000 {
            cache.keep(key(n), text(n).as_bytes(), 3);
            assert_eq!(cache.find(key(n)), Some((text(n).as_bytes(), 3)));
            for earlier in [n.saturating_sub(7), n.saturating_sub(5000), n >> 1] {
                if let Some((kept, _)) = cache.find(key(earlier)) {
                    assert_eq!(kept, text(earlier).as_bytes());
                    found = found.saturating_add(1);
                }
            }
        }
        assert!(found > 30_000, "{found} found");
        assert_eq!(cache.find(Key { address: 39_999, owner: 2 }), None);
        assert_eq!(cache.text.len(), 1 << 21);
    }

    #[test]
    fn a_text_too_long_is_not_kept() {
        let mut cache = Cache::new(14, 21);
        let key = Key { address: 5, owner: 5 };
        cache.keep(key, &vec![b'x'; 1 << 21], 1);
        assert_eq!(cache.find(key), None);
    }

    #[test]
    fn slots_lie_within_the_table() {
        for address in [0, 1, u64::MAX, 0xffff_ffff_8100_0000] {
            for bits in [6, 14] {
                let cache = Cache::new(bits, 16);
                let (slot, _) = cache.place(Key { address, owner: address.rotate_left(7) });
                assert!(slot < cache.slots.len());
            }
        }
    }
}
