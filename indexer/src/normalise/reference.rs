//! The slow, obviously right version: every question answered by a scan over
//! everything. The fast one is compared with it at every address.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::as_conversions
)]

use super::{Extent, rules};
use crate::model::{AddressKind, Image, Kind, Source, Symbol};

/// An owner as the scan finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlowOwner {
    pub(super) section: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) extent: Extent,
    /// Primary first, the rest sorted; empty for a bare function start.
    pub(super) names: Vec<Vec<u8>>,
}

pub(super) struct Slow<'image, 'data> {
    image: &'image Image<'data>,
    code_only: bool,
    symbols: Vec<Symbol<'data>>,
    pub(super) owners: Vec<SlowOwner>,
}

impl<'image, 'data> Slow<'image, 'data> {
    /// Needs names that are all different, and none with an `@`.
    pub(super) fn new(image: &'image Image<'data>, code_only: bool) -> Self {
        let mut slow = Self { image, code_only, symbols: Vec::new(), owners: Vec::new() };
        for symbol in &image.symbols {
            if let Some(section) = slow.settle(symbol) {
                slow.symbols.push(Symbol { section, ..*symbol });
            }
        }
        slow.find_owners();
        slow
    }

    fn by_offset(&self) -> bool {
        self.image.addresses == AddressKind::SectionOffset
    }

    fn stated(&self, section: u32) -> Option<(u64, u64)> {
        let section = self.image.sections.get(section as usize)?;
        let start = if self.by_offset() { 0 } else { section.address };
        Some((start, start.saturating_add(section.size)))
    }

    /// The section an svma belongs to: among those that hold it, the one that
    /// starts first, then the biggest, then the first listed.
    pub(super) fn section_at(&self, address: u64) -> Option<u32> {
        (0..self.image.sections.len() as u32)
            .filter(|index| !self.image.sections[*index as usize].tls)
            .filter(|index| self.stated(*index).is_some_and(|(s, e)| s <= address && address < e))
            .min_by_key(|index| {
                let (start, end) = self.stated(*index).unwrap_or_default();
                (start, u64::MAX - end, *index)
            })
    }

    fn settle(&self, symbol: &Symbol<'_>) -> Option<u32> {
        if matches!(symbol.kind, Kind::Tls | Kind::Absolute) {
            return None;
        }
        if let Some((start, end)) = self.stated(symbol.section) {
            let tls = self.image.sections[symbol.section as usize].tls;
            let inside = start <= symbol.address && symbol.address < end;
            if self.by_offset() {
                return (inside && !tls).then_some(symbol.section);
            }
            if symbol.size == 0 && ((tls && inside) || (symbol.address == end)) {
                return None;
            }
        }
        if self.by_offset() { None } else { self.section_at(symbol.address) }
    }

    fn end_of(&self, symbol: &Symbol<'_>) -> u64 {
        symbol.address.saturating_add(symbol.size).min(self.stated(symbol.section).unwrap().1)
    }

    fn dropped(&self, symbol: &Symbol<'_>) -> bool {
        let section = self.image.sections.get(symbol.section as usize);
        self.code_only && rules::code_only_drops(symbol.kind, section).is_some()
    }

    fn at(&self, section: u32, address: u64) -> impl Iterator<Item = &Symbol<'data>> {
        self.symbols.iter().filter(move |s| s.section == section && s.address == address)
    }

    /// True when the symbol's size is what counts at its start.
    fn real(&self, s: &Symbol<'_>) -> bool {
        s.size > 0
            && (s.source != Source::Plt
                || !self
                    .at(s.section, s.address)
                    .any(|o| o.size > 0 && o.source != Source::Plt && !self.dropped(o)))
    }

    fn covered(&self, section: u32, address: u64) -> bool {
        self.symbols.iter().any(|s| {
            s.section == section && self.real(s) && s.address < address && address < self.end_of(s)
        })
    }

    fn in_hole(&self, address: u64) -> bool {
        !self.by_offset()
            && self
                .image
                .holes
                .iter()
                .any(|(start, size)| *start <= address && address < start.saturating_add(*size))
    }

    fn owns(&self, s: &Symbol<'_>) -> bool {
        !self.dropped(s)
            && (self.at(s.section, s.address).any(|o| o.size > 0 && !self.dropped(o))
                || !(self.covered(s.section, s.address) || self.in_hole(s.address)))
    }

    fn find_owners(&mut self) {
        let mut starts: Vec<(u32, u64)> = Vec::new();
        for s in self.symbols.iter().filter(|s| self.owns(s)) {
            starts.push((s.section, s.address));
        }
        let mut bare = Vec::new();
        for start in self.image.function_starts.iter().filter(|_| !self.by_offset()) {
            if let Some(section) = self.section_at(*start)
                && self.image.sections[section as usize].execute
                && self.symbols.iter().all(|s| s.address != *start)
                && !self.covered(section, *start)
                && !self.in_hole(*start)
            {
                bare.push((section, *start));
            }
        }
        starts.extend(&bare);
        starts.sort();
        starts.dedup();
        let mut owners = Vec::new();
        for (section, start) in &starts {
            let reach = starts
                .iter()
                .copied()
                .chain(
                    self.symbols.iter().filter(|s| self.dropped(s)).map(|s| (s.section, s.address)),
                )
                .filter(|(other, _)| other == section)
                .map(|(_, address)| address)
                .chain(
                    self.image.holes.iter().filter(|h| !self.by_offset() && h.1 > 0).map(|h| h.0),
                )
                .filter(|address| address > start)
                .chain([self.stated(*section).unwrap().1])
                .min()
                .unwrap();
            let group: Vec<_> = self.at(*section, *start).filter(|s| self.owns(s)).collect();
            let mut ends: Vec<u64> =
                group.iter().filter(|s| self.real(s)).map(|s| self.end_of(s)).collect();
            ends.sort();
            ends.dedup();
            let stub = group.iter().all(|s| s.size == 0 || s.source == Source::Plt);
            let extent = match (ends.is_empty(), stub) {
                (true, _) => Extent::Inferred,
                (false, true) => Extent::Synthesized,
                (false, false) => Extent::Exact,
            };
            if extent == Extent::Inferred {
                ends.push(reach);
            }
            if stub {
                ends.truncate(1);
            }
            for (index, end) in ends.iter().enumerate() {
                let mut names: Vec<&Symbol<'_>> = group
                    .iter()
                    .copied()
                    .filter(|s| {
                        let joins = s.size == 0 || s.source == Source::Plt;
                        if joins { index == 0 } else { self.end_of(s) == *end }
                    })
                    .collect();
                names.sort_by(|a, b| rules::compare_primary(a, b));
                let mut names: Vec<Vec<u8>> = names.iter().map(|s| s.name.to_vec()).collect();
                if let Some((_, rest)) = names.split_first_mut() {
                    rest.sort();
                }
                owners.push(SlowOwner {
                    section: *section,
                    start: *start,
                    end: *end,
                    extent,
                    names,
                });
            }
        }
        self.owners = owners;
    }

    /// The innermost owner that covers an address of a section.
    pub(super) fn answer(&self, section: u32, address: u64) -> Option<&SlowOwner> {
        self.owners
            .iter()
            .filter(|o| o.section == section && o.start <= address && address < o.end)
            .max_by_key(|o| (o.start, u64::MAX - o.end))
    }
}
