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

/// Mappings by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Maps {
    /// `None`: empty, as for most of a hundred thousand processes.
    list: Option<Rc<Vec<Map>>>,
    /// Where the last address was.
    last: Cell<u32>,
}

impl Maps {
    /// The mapping that holds an address.
    #[inline]
    pub(crate) fn find(&self, address: u64) -> Option<&Map> {
        let list = self.list.as_deref()?;
        let last = list.get(usize::try_from(self.last.get()).unwrap_or(usize::MAX));
        if let Some(map) = last.filter(|map| map.holds(address)) {
            return Some(map);
        }
        let after = list.partition_point(|map| map.start <= address);
        let at = after.checked_sub(1)?;
        let map = list.get(at).filter(|map| map.holds(address))?;
        self.last.set(u32::try_from(at).unwrap_or(u32::MAX));
        Some(map)
    }

    /// How many mappings this holder answers for, `list` more for a list that is not empty:
    /// those that it shares are divided among the holders and rounded up, so that all of
    /// them together answer for each.
    pub(crate) fn owned(&self, list: usize) -> usize {
        let maps = self.list.as_ref().filter(|maps| !maps.is_empty());
        maps.map_or(0, |maps| {
            maps.len().saturating_add(list).div_ceil(Rc::strong_count(maps).max(1))
        })
    }

    /// Puts a mapping in place of whatever is there; an empty one changes nothing.
    pub(crate) fn insert(&mut self, new: Map) {
        if new.start >= new.end {
            return;
        }
        let list = Rc::make_mut(self.list.get_or_insert_default());
        let first = list.partition_point(|map| map.end <= new.start);
        let after = list.partition_point(|map| map.start < new.end).max(first);
        let covered = list.get(first..after).unwrap_or(&[]);
        let before = covered.first().filter(|map| map.start < new.start);
        let before = before.map(|map| Map { end: new.start, ..*map });
        let behind = covered.last().filter(|map| map.end > new.end).map(|map| Map {
            start: new.end,
            offset: map.offset.wrapping_add(new.end.wrapping_sub(map.start)),
            ..*map
        });
        let parts = before.into_iter().chain([new]).chain(behind);
        if list.len() < SMALL {
            // Most processes have few, and there may be many processes.
            list.reserve_exact(1);
        } else if list.capacity().saturating_sub(list.len()) < MORE {
            // A list of twice the length would be half empty.
            list.reserve_exact((list.len() >> 2).max(MORE));
        }
        list.splice(first..after, parts);
        if list.len() <= SMALL {
            list.shrink_to_fit();
        }
    }

    /// Takes away what starts at an address.
    pub(crate) fn remove(&mut self, start: u64) {
        if let Some(list) = &mut self.list
            && let Ok(at) = list.binary_search_by_key(&start, |map| map.start)
        {
            Rc::make_mut(list).remove(at);
        }
    }

    #[cfg(test)]
    pub(crate) fn list(&self) -> &[Map] {
        self.list.as_deref().map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
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
    }
}
