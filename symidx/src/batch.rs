//! Many addresses at once: a merge walk over sorted addresses.

use crate::address::Svma;
use crate::answer::{Found, Symbol};
use crate::error::Corrupt;
use crate::open::{Area, View};
use crate::search::{gallop, last_at_or_before};

/// The answers to a run of addresses; made by [`crate::Index::lookup_sorted`].
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// let addresses = [0x400170, 0x4001a0, 0x400211].map(symidx::Svma);
/// let mut answers: symidx::Sorted<'_, _> = index.lookup_sorted(addresses);
/// assert_eq!(answers.size_hint(), (3, Some(3))); // one answer per address
/// assert_eq!(answers.next().unwrap()?.unwrap().name(), "never");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sorted<'a, I> {
    view: &'a View<'a>,
    addresses: I,
    area: Area<'a>,
    /// Where the last search in `area` ended, and the offset it was for.
    last: Option<(usize, u32)>,
}

impl<'a, I> Sorted<'a, I> {
    pub(crate) fn new(view: &'a View<'a>, addresses: I) -> Self {
        Self { view, addresses, area: view.hot, last: None }
    }

    pub(crate) fn answer(&mut self, address: u64) -> Result<Option<Symbol<'a>>, Corrupt> {
        if address.wrapping_sub(self.area.base) >= self.area.size {
            match self.view.area_at(address)? {
                Some(area) => (self.area, self.last) = (area, None),
                None => return Ok(None),
            }
        }
        let offset = address.wrapping_sub(self.area.base);
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let position = match self.last {
            Some((from, before)) if before <= offset => {
                Some(gallop(self.area.records, from, offset))
            }
            _ => last_at_or_before(&self.area, offset),
        };
        let Some(position) = position else { return Ok(None) };
        self.last = Some((position, offset));
        Ok(match self.view.answer(&self.area, position, offset)? {
            Found::Symbol(symbol) => Some(symbol),
            _ => None,
        })
    }
}

impl<'a, I: Iterator<Item = Svma>> Iterator for Sorted<'a, I> {
    type Item = Result<Option<Symbol<'a>>, Corrupt>;

    fn next(&mut self) -> Option<Self::Item> {
        let address = self.addresses.next()?;
        Some(self.answer(address.0))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.addresses.size_hint()
    }
}
