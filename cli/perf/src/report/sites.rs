//! Which symbol a place is in, remembered in a cache of fixed size.
//!
//! In: places. Out: sites, which are places up to the symbol. Looks nothing up itself.

use crate::dsos::DsoId;
use crate::names::Reason;
use crate::session::Place;

/// Slots; a power of two.
const SLOTS: usize = 1 << 13;

/// A place up to its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Site {
    pub(super) dso: DsoId,
    /// The process, for code made at run time; 0 for everything else.
    pub(super) pid: i32,
    pub(super) symbol: Symbol,
}

impl Site {
    /// In no mapping.
    pub(super) const UNMAPPED: Self =
        Self { dso: DsoId::REST, pid: -1, symbol: Symbol::Unknown(Reason::Unmapped) };
    /// Wherever.
    pub(super) const ANYWHERE: Self = Self { dso: DsoId::REST, pid: 0, symbol: Symbol::Any };
}

/// A symbol by its place, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Symbol {
    /// All of the DSO.
    Any,
    /// The one that starts at this address.
    At(u64),
    /// None.
    Unknown(Reason),
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    place: Place,
    site: Site,
}

/// The cache.
#[derive(Debug)]
pub(super) struct Sites {
    slots: Vec<Option<Slot>>,
}

impl Sites {
    pub(super) fn new() -> Self {
        Self { slots: vec![None; SLOTS] }
    }

    /// One that keeps nothing.
    pub(super) fn none() -> Self {
        Self { slots: Vec::new() }
    }

    #[inline]
    pub(super) fn find(&self, place: Place) -> Option<Site> {
        let slot = self.slots.get(number(place)).copied().flatten()?;
        is_same(slot.place, place).then_some(slot.site)
    }

    pub(super) fn keep(&mut self, place: Place, site: Site) {
        if let Some(slot) = self.slots.get_mut(number(place)) {
            *slot = Some(Slot { place, site });
        }
    }
}

/// Only code made at run time differs by process.
fn is_same(kept: Place, place: Place) -> bool {
    let process = place.dso != DsoId::JIT || kept.pid == place.pid;
    kept.dso == place.dso && kept.address == place.address && process
}

/// The slot of a place: the upper bits of a product, which all of its bits decide.
#[inline]
fn number(place: Place) -> usize {
    let whose = if place.dso == DsoId::JIT { place.pid.cast_unsigned() } else { 0 };
    let dso = u64::try_from(place.dso.number()).unwrap_or(0).rotate_left(40);
    let mixed = place.address ^ dso ^ u64::from(whose).rotate_left(20);
    usize::try_from(mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51).unwrap_or(0)
}
