//! What ends a line of text: whose code it is, and before that that it has no name.
//!
//! In: a DSO. Out: bytes, from a few that were made before. Never looks anything up.

use crate::dsos::DsoId;
use crate::session::Place;

/// Kept; a power of two.
const TAILS: usize = 64;
/// A longer one is made each time.
const LONGEST: usize = 512;

/// What decides an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// `None`: in no mapping.
    dso: Option<DsoId>,
    /// Whose run-time code it is; 0 for everything else.
    pid: i32,
    named: bool,
}

/// Ends made before.
#[derive(Debug, Default)]
pub(super) struct Tails {
    kept: Vec<Option<(Key, Box<[u8]>)>>,
    /// One that is too long to keep.
    long: Vec<u8>,
}

impl Tails {
    /// The end of the lines of a place; `make` appends it.
    #[inline]
    pub(super) fn of(
        &mut self,
        place: Option<Place>,
        named: bool,
        make: impl FnOnce(&mut Vec<u8>),
    ) -> &[u8] {
        let pid = place.filter(|place| place.dso == DsoId::JIT).map_or(0, |place| place.pid);
        let key = Key { dso: place.map(|place| place.dso), pid, named };
        let number = key.dso.map_or(0, |dso| dso.number().wrapping_add(1) << 1);
        let whose = usize::try_from(pid.cast_unsigned()).unwrap_or(0) << 1;
        let at = (number ^ whose ^ usize::from(named)) % TAILS;
        let is_kept =
            self.kept.get(at).is_some_and(|slot| matches!(slot, Some((k, _)) if *k == key));
        if !is_kept {
            self.long.clear();
            make(&mut self.long);
            if self.long.len() > LONGEST {
                return &self.long;
            }
            self.kept.resize(TAILS, None);
            if let Some(slot) = self.kept.get_mut(at) {
                *slot = Some((key, self.long.as_slice().into()));
            }
        }
        self.kept.get(at).and_then(Option::as_ref).map_or(&[], |(_, tail)| tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_that_of_the_place() {
        let mut tails = Tails::default();
        let end = |dso: usize, pid: i32, named: bool| format!(" ({dso} {pid} {named})");
        for round in 0..3 {
            for dso in 0..300usize {
                for (pid, named) in [(1, false), (2, false), (1, true)] {
                    let place = Place { dso: DsoId::at(dso), address: 7, pid };
                    // Only run-time code is told apart by process.
                    let pid = if place.dso == DsoId::JIT { pid } else { 0 };
                    let end = end(dso, pid, named);
                    let found = tails.of(Some(place), named, |out| out.extend(end.bytes()));
                    assert_eq!(found, end.as_bytes(), "round {round}");
                }
            }
        }
        let long = vec![b'x'; LONGEST + 1];
        assert_eq!(tails.of(None, false, |out| out.extend_from_slice(&long)), long);
        assert_eq!(tails.of(None, false, |out| out.push(b'y')), b"y");
        assert_eq!(tails.of(None, false, |_| unreachable!()), b"y");
    }
}
