//! Mappings of one process: address in, mapping out.
//!
//! Sorted and without overlaps: a new mapping replaces what lies under it, as mmap
//! does. Shared between a process and its copies until one of them maps something.

use std::cell::Cell;
use std::rc::Rc;

use crate::dsos::DsoId;

/// One mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Map {
    pub(crate) start: u64,
    /// First address behind it.
    pub(crate) end: u64,
    /// What an address in it is looked up by is `address - start + offset`.
    pub(crate) offset: u64,
    pub(crate) dso: DsoId,
    /// The process that mapped it: whose code a [`DsoId::JIT`] is.
    pub(crate) pid: i32,
}

impl Map {
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }
}

/// A list of so many mappings takes no more room than they need.
const SMALL: usize = 4;
/// Mappings that a new one adds at most: itself, and it cuts one in two.
const MORE: usize = 2;
/// Mappings side by side: a new one among them moves no more than these.
const CHUNK: usize = 256;

/// Mappings side by side, by address; never none.
type Chunk = Vec<Map>;

/// All mappings of a process.
#[derive(Clone, Debug)]
enum List {
    /// Up to [`CHUNK`], as most processes have.
    Few(Chunk),
    /// More. In a box, so that a list of few is no larger than they are.
    Many(Box<Many>),
}

/// Mappings in chunks by address. Two neighbours hold more than half of [`CHUNK`], so there
/// are few chunks. A copy shares those that are the same.
#[derive(Clone, Debug, Default)]
struct Many {
    chunks: Vec<Rc<Chunk>>,
    maps: usize,
}

/// Mappings by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Maps {
    /// `None`: empty, as for most of a hundred thousand processes.
    list: Option<Rc<List>>,
    /// Where the last address was: the chunk, and which mapping in it in the low bits.
    last: Cell<u32>,
}

impl Maps {
    /// The mapping that holds an address.
    #[inline]
    pub(crate) fn find(&self, address: u64) -> Option<&Map> {
        let list = self.list.as_deref()?;
        let last = usize::try_from(self.last.get()).unwrap_or(usize::MAX);
        let (number, at) = (last.checked_div(CHUNK)?, last.checked_rem(CHUNK)?);
        let before = list.chunk(number).and_then(|chunk| chunk.get(at));
        if let Some(map) = before.filter(|map| map.holds(address)) {
            return Some(map);
        }
        let number = match list {
            List::Few(_) => 0,
            List::Many(many) => many.after(address).checked_sub(1)?,
        };
        let chunk = list.chunk(number)?;
        let at = chunk.partition_point(|map| map.start <= address).checked_sub(1)?;
        let map = chunk.get(at).filter(|map| map.holds(address))?;
        let place = number.saturating_mul(CHUNK).saturating_add(at);
        self.last.set(u32::try_from(place).unwrap_or(u32::MAX));
        Some(map)
    }

    /// How many mappings this holder answers for, `list` more for a list that is not empty:
    /// those that it shares are divided among the holders and rounded up, so that all of
    /// them together answer for each.
    pub(crate) fn owned(&self, list: usize) -> usize {
        let shared = self.list.as_ref().filter(|shared| shared.len() != 0);
        shared.map_or(0, |shared| {
            shared.len().saturating_add(list).div_ceil(Rc::strong_count(shared).max(1))
        })
    }

    /// Puts a mapping in place of whatever is there; an empty one changes nothing. Says how
    /// many mappings and chunks were moved or copied for it.
    pub(crate) fn insert(&mut self, new: Map) -> usize {
        if new.start >= new.end {
            return 0;
        }
        let shared = self.list.get_or_insert_with(|| Rc::new(List::Few(Vec::new())));
        let copied = if Rc::strong_count(shared) > 1 { shared.width() } else { 0 };
        let list = Rc::make_mut(shared);
        let moved = match list {
            List::Few(chunk) => put(chunk, new),
            List::Many(many) => many.insert(new),
        };
        if let List::Few(chunk) = list
            && chunk.len() > CHUNK
        {
            let mut many = Many { maps: chunk.len(), chunks: Vec::new() };
            many.chunks.push(Rc::new(std::mem::take(chunk)));
            many.split(0);
            *list = List::Many(Box::new(many));
        }
        moved.saturating_add(copied)
    }

    /// Takes away what starts at an address.
    pub(crate) fn remove(&mut self, start: u64) {
        if self.find(start).is_none_or(|map| map.start != start) {
            return;
        }
        match self.list.as_mut().map(Rc::make_mut) {
            Some(List::Few(chunk)) => chunk.retain(|map| map.start != start),
            Some(List::Many(many)) => many.remove(start),
            None => {}
        }
        // Many without a chunk would have no place for the next one.
        self.list.take_if(|list| list.len() == 0);
    }

    #[cfg(test)]
    pub(crate) fn list(&self) -> Vec<Map> {
        let list = self.list.as_deref();
        let chunks = (0..).map_while(|number| list?.chunk(number));
        chunks.flatten().copied().collect()
    }
}

impl List {
    fn chunk(&self, number: usize) -> Option<&[Map]> {
        match self {
            Self::Few(chunk) => (number == 0).then_some(chunk),
            Self::Many(many) => many.chunks.get(number).map(|chunk| chunk.as_slice()),
        }
    }

    /// Mappings in it.
    fn len(&self) -> usize {
        match self {
            Self::Few(chunk) => chunk.len(),
            Self::Many(many) => many.maps,
        }
    }

    /// What a copy of it copies.
    fn width(&self) -> usize {
        match self {
            Self::Few(chunk) => chunk.len(),
            Self::Many(many) => many.chunks.len(),
        }
    }
}

impl Many {
    /// The first chunk that lies behind an address.
    fn after(&self, address: u64) -> usize {
        self.chunks.partition_point(|chunk| chunk.first().is_some_and(|map| map.start <= address))
    }

    fn insert(&mut self, new: Map) -> usize {
        // Chunks with a part under the new mapping; without one, the chunk in front of it.
        let ends_before = |chunk: &Rc<Chunk>| chunk.last().is_some_and(|map| map.end <= new.start);
        let from = self.chunks.partition_point(ends_before);
        let to = self.after(new.end.wrapping_sub(1));
        let first = if from < to { from } else { from.saturating_sub(1) };
        let others = self.chunks.len().saturating_sub(first);
        // Of those behind the first all but the end of the last is covered.
        let covered = first.saturating_add(1)..to.max(first.saturating_add(1));
        let mut rest = Vec::new();
        if let Some(last) = self.chunks.get(covered.clone()).and_then(<[_]>::last) {
            let kept = last.partition_point(|map| map.end <= new.end);
            rest.extend_from_slice(last.get(kept..).unwrap_or(&[]));
        }
        let gone = self.chunks.drain(covered).map(|chunk| chunk.len()).sum::<usize>();
        let Some(shared) = self.chunks.get_mut(first) else { return 0 };
        let copied = if Rc::strong_count(shared) > 1 { shared.len() } else { 0 };
        let chunk = Rc::make_mut(shared);
        let before = chunk.len().saturating_add(gone);
        chunk.extend_from_slice(&rest);
        let moved = put(chunk, new).saturating_add(rest.len()).saturating_add(copied);
        self.maps = self.maps.saturating_sub(before).saturating_add(chunk.len());
        let chunks = self.chunks.len();
        if chunk_len(&self.chunks, first) > CHUNK {
            self.split(first);
        } else {
            self.join(first);
        }
        let moved = moved.saturating_add(if gone == 0 { 0 } else { others });
        let changed = if self.chunks.len() == chunks { 0 } else { others.saturating_add(CHUNK) };
        moved.saturating_add(changed)
    }

    fn remove(&mut self, start: u64) {
        let Some(at) = self.after(start).checked_sub(1) else { return };
        let Some(chunk) = self.chunks.get_mut(at).map(Rc::make_mut) else { return };
        let before = chunk.len();
        chunk.retain(|map| map.start != start);
        self.maps = self.maps.saturating_sub(before).saturating_add(chunk.len());
        if chunk.is_empty() {
            self.chunks.remove(at);
        }
        self.join(at.min(self.chunks.len().saturating_sub(1)));
    }

    /// Makes two chunks of one.
    fn split(&mut self, at: usize) {
        let Some(chunk) = self.chunks.get_mut(at).map(Rc::make_mut) else { return };
        let second = chunk.split_off(chunk.len() >> 1);
        chunk.shrink_to_fit();
        self.chunks.insert(at.saturating_add(1), Rc::new(second));
    }

    /// Makes one chunk of two neighbours, as long as they have room in half of one.
    fn join(&mut self, at: usize) {
        for first in [at, at.saturating_sub(1)] {
            let second = first.saturating_add(1);
            let both =
                chunk_len(&self.chunks, first).saturating_add(chunk_len(&self.chunks, second));
            if second < self.chunks.len() && both <= CHUNK >> 1 {
                let behind = self.chunks.remove(second);
                if let Some(chunk) = self.chunks.get_mut(first).map(Rc::make_mut) {
                    chunk.extend_from_slice(&behind);
                }
            }
        }
    }
}

fn chunk_len(chunks: &[Rc<Chunk>], at: usize) -> usize {
    chunks.get(at).map_or(0, |chunk| chunk.len())
}

/// Puts a mapping into a chunk, in place of whatever is there; says how many were moved.
fn put(chunk: &mut Chunk, new: Map) -> usize {
    let first = chunk.partition_point(|map| map.end <= new.start);
    let after = chunk.partition_point(|map| map.start < new.end).max(first);
    let covered = chunk.get(first..after).unwrap_or(&[]);
    let before = covered.first().filter(|map| map.start < new.start);
    let before = before.map(|map| Map { end: new.start, ..*map });
    let behind = covered.last().filter(|map| map.end > new.end).map(|map| Map {
        start: new.end,
        offset: map.offset.wrapping_add(new.end.wrapping_sub(map.start)),
        ..*map
    });
    let parts = before.into_iter().chain([new]).chain(behind);
    if chunk.len() < SMALL {
        // Most processes have few, and there may be many processes.
        chunk.reserve_exact(1);
    } else if chunk.capacity().saturating_sub(chunk.len()) < MORE {
        // A list of twice the length would be half empty.
        chunk.reserve_exact((chunk.len() >> 2).max(MORE));
    }
    let moved = chunk.len().saturating_sub(after);
    chunk.splice(first..after, parts);
    if chunk.len() <= SMALL {
        chunk.shrink_to_fit();
    }
    moved
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test that goes wrong should stop")]
mod tests {
    use super::*;

    fn map(start: u64, end: u64, offset: u64, pid: i32) -> Map {
        Map { start, end, offset, dso: DsoId::REST, pid }
    }

    #[test]
    fn a_new_mapping_cuts_what_lies_under_it() {
        let mut maps = Maps::default();
        maps.insert(map(100, 200, 1000, 1));
        maps.insert(map(300, 400, 0, 2));
        maps.insert(map(120, 150, 0, 3));
        maps.insert(map(190, 310, 0, 4));
        let expected = [
            map(100, 120, 1000, 1),
            map(120, 150, 0, 3),
            map(150, 190, 1050, 1),
            map(190, 310, 0, 4),
            map(310, 400, 10, 2),
        ];
        assert_eq!(maps.list(), expected);
        maps.insert(map(0, 1000, 0, 5));
        assert_eq!(maps.list(), [map(0, 1000, 0, 5)]);
        maps.insert(map(7, 7, 0, 6));
        maps.insert(map(9, 8, 0, 6));
        assert_eq!(maps.list().len(), 1);
    }

    /// After the last of many mappings was taken away (BPF programs come and go), no later one
    /// was ever found.
    #[test]
    fn a_mapping_is_found_after_all_of_many_went() {
        let mut maps = Maps::default();
        for start in 0..600 {
            maps.insert(map(start, start + 1, 0, 1));
        }
        for start in 0..600 {
            maps.remove(start);
        }
        assert!(maps.list().is_empty());
        let last = map(10, 20, 0, 2);
        maps.insert(last);
        assert_eq!(maps.list(), [last]);
        assert_eq!((maps.find(15), maps.owned(0)), (Some(&last), 1));
    }

    #[test]
    fn every_address_is_found_as_one_byte_after_another_would_have_it() {
        // The slow way: an array of bytes, each mapping written over it.
        let mut state = 1u64;
        let mut next = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.wrapping_shr(33).checked_rem(bound).unwrap_or(0)
        };
        for _ in 0..50 {
            let mut maps = Maps::default();
            let mut bytes = vec![None; 256];
            for pid in 0..30 {
                let start = next(256);
                let end = start.saturating_add(next(60)).min(256);
                let offset = next(1000);
                maps.insert(map(start, end, offset, pid));
                for address in start..end {
                    let key = offset.saturating_add(address.saturating_sub(start));
                    if let Some(byte) = usize::try_from(address).ok().and_then(|a| bytes.get_mut(a))
                    {
                        *byte = Some((key, pid));
                    }
                }
            }
            for (address, expected) in (0u64..).zip(&bytes) {
                let found = maps.find(address);
                let key = |map: &Map| address.wrapping_sub(map.start).wrapping_add(map.offset);
                assert_eq!(found.map(|map| (key(map), map.pid)), *expected, "at {address}");
            }
        }
    }

    #[test]
    fn copies_share_until_one_of_them_maps() {
        let mut parent = Maps::default();
        parent.insert(map(0, 10, 0, 1));
        let mut child = parent.clone();
        assert_eq!((parent.owned(0), child.owned(0)), (1, 1));
        child.insert(map(5, 6, 0, 2));
        assert_eq!((parent.owned(0), child.owned(0)), (1, 3));
        assert_eq!((parent.owned(2), child.owned(2), Maps::default().owned(2)), (3, 5, 0));
        assert_eq!(parent.find(5).map(|map| map.pid), Some(1));
        child.remove(5);
        assert!(child.find(5).is_none());
        assert_eq!(child.list(), [map(0, 5, 0, 1), map(6, 10, 6, 1)]);
    }

    fn random() -> impl FnMut(u64) -> u64 {
        let mut state = 1u64;
        move |bound| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.wrapping_shr(33).checked_rem(bound).unwrap_or(0)
        }
    }

    /// What every list holds, however it came about.
    fn check(maps: &Maps) {
        let list = maps.list();
        assert!(list.iter().all(|map| map.start < map.end));
        assert!(list.is_sorted_by(|one, other| one.end <= other.start));
        assert_eq!(maps.owned(0), list.len());
        if let Some(List::Many(many)) = maps.list.as_deref() {
            let lengths: Vec<usize> = many.chunks.iter().map(|chunk| chunk.len()).collect();
            assert!(lengths.iter().all(|length| (1..=CHUNK).contains(length)), "{lengths:?}");
            let sums = lengths.iter().zip(lengths.iter().skip(1)).map(|(one, two)| one + two);
            assert!(sums.min().unwrap_or(CHUNK) > CHUNK >> 1, "{lengths:?}");
        }
    }

    /// Mappings of any length anywhere, in one list and in many chunks: both hold the same.
    #[test]
    fn chunks_hold_what_one_list_holds() {
        let mut next = random();
        let (mut maps, mut slow) = (Maps::default(), Chunk::new());
        let mut copies: Vec<(Maps, Chunk)> = Vec::new();
        for round in 0..12_000i32 {
            let start = next(1 << 20);
            // Now and then one that covers many chunks.
            let longest = if next(500) == 0 { 1 << 17 } else { 60 };
            let new = map(start, start + 1 + next(longest), next(1000), round);
            maps.insert(new);
            put(&mut slow, new);
            if next(4) == 0
                && let Some(gone) = slow.get(usize::try_from(next(1 << 12)).unwrap_or(0)).copied()
            {
                maps.remove(gone.start);
                slow.retain(|map| map.start != gone.start);
            }
            if round % 500 == 0 {
                assert!(maps.list() == slow, "after {round}");
                check(&maps);
                copies.push((maps.clone(), slow.clone()));
            }
        }
        for (copy, slow) in copies {
            assert!(copy.list() == slow);
        }
        for address in (0..1 << 20).step_by(211) {
            let expected = slow.iter().find(|map| map.holds(address));
            assert_eq!(maps.find(address), expected);
        }
        for (left, gone) in slow.iter().enumerate().rev() {
            maps.remove(gone.start);
            assert_eq!(maps.owned(0), left);
            if left % 97 == 0 {
                check(&maps);
            }
        }
    }

    /// All of very many mappings were taken away, and the next one had no chunk to go into.
    #[test]
    fn a_mapping_after_all_of_many_are_gone() {
        let mut maps = Maps::default();
        let many = u64::try_from(CHUNK).unwrap_or(0) + 1;
        for at in 0..many {
            maps.insert(map(at << 4, (at << 4) + 16, 0, 1));
        }
        (0..many).for_each(|at| maps.remove(at << 4));
        assert_eq!((maps.owned(0), maps.find(0)), (0, None));
        maps.insert(map(5, 9, 0, 2));
        assert_eq!(maps.list(), [map(5, 9, 0, 2)]);
    }

    /// Mappings from the last address down moved all others each time: 200,000 of them, most
    /// of a second. One between two that a copy shares copied the whole list.
    #[test]
    fn no_order_of_mappings_moves_many_of_them() {
        const COUNT: u64 = 20_000;
        let mut next = random();
        let down = (0..COUNT).rev().collect();
        let up = (0..COUNT).collect();
        let anywhere = (0..COUNT).map(|_| next(COUNT)).collect();
        let inwards = (0..COUNT).map(|at| if at % 2 == 0 { at } else { 2 * COUNT - at }).collect();
        let orders: [Vec<u64>; 4] = [down, up, anywhere, inwards];
        for (number, order) in orders.iter().enumerate() {
            for copied in [false, true] {
                let (mut maps, mut moved) = (Maps::default(), 0);
                let mut copy = Maps::default();
                for &at in order {
                    if copied {
                        copy = maps.clone();
                    }
                    moved += maps.insert(map(at << 4, (at << 4) + 16, 0, 1));
                }
                drop(copy);
                check(&maps);
                // Half a chunk on average, now and then a list of chunks; as one list, 10,000.
                let most = if copied { 700 } else { 300 };
                let each = moved / order.len();
                assert!(each < most, "order {number}, {copied}: {each} moved for each");
            }
        }
    }
}
