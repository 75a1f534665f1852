//! Which symbols own addresses, and how far each reaches.
//!
//! In: symbols sorted by (section, address), each once. Out: owners with exact
//! ends, and the names that own nothing. This module never decides between two
//! owners that cover the same byte; `pieces` does.

use super::rules::{self, compare_primary, compare_table};
use super::sections::Sections;
use super::{Extent, Owner};
use crate::model::{Report, Source, Symbol};

/// A lookup lists at most this many names of bigger owners with the same
/// start: without a bound, many sizes at one start list each other, and the
/// index grows with the square of the symbols.
pub(super) const MAX_SHARED: u32 = 16;

/// What becomes of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It owns addresses, or is an alias of what does.
    Owns,
    /// It keeps its name and answers no address.
    NameOnly,
    /// `--code-only` does not want it.
    Dropped,
}

/// Everything besides symbols that limits a reach.
#[derive(Default)]
pub(super) struct Limits {
    /// Merged, sorted `[start, end)` ranges that are nobody's.
    holes: Vec<(u64, u64)>,
    /// Sorted keys at which a reach of unknown size ends: hole starts and
    /// owners that `--code-only` dropped.
    stops: Vec<(u32, u64)>,
    /// Sorted function starts in code at which there is no symbol.
    pub(super) unnamed: Vec<u64>,
}

impl Limits {
    /// Limits of one image from its raw holes. Relocatable files have none.
    pub(super) fn new(holes: &[(u64, u64)], sections: &Sections<'_, '_>) -> Self {
        let mut limits = Self::default();
        if sections.by_offset() {
            return limits;
        }
        let mut sorted: Vec<(u64, u64)> = holes
            .iter()
            .map(|(start, size)| (*start, start.saturating_add(*size)))
            .filter(|(start, end)| start < end)
            .collect();
        sorted.sort_unstable();
        for (start, end) in sorted {
            match limits.holes.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => limits.holes.push((start, end)),
            }
        }
        limits.stops.extend(limits.holes.iter().map(|(start, _)| sections.key(0, *start)));
        limits
    }

    fn in_hole(&self, address: u64) -> bool {
        let after = self.holes.partition_point(|(start, _)| *start <= address);
        after.checked_sub(1).and_then(|i| self.holes.get(i)).is_some_and(|(_, end)| address < *end)
    }

    fn next_stop(&self, key: (u32, u64)) -> Option<u64> {
        let next = self.stops.get(self.stops.partition_point(|stop| *stop <= key))?;
        (next.0 == key.0).then_some(next.1)
    }
}

/// How far the sized symbols of the section at hand reach.
#[derive(Default)]
struct Cover {
    section: Option<u32>,
    end: u64,
}

impl Cover {
    /// True when a sized symbol that starts before `address` goes on behind it.
    fn covers(&self, section: u32, address: u64) -> bool {
        self.section == Some(section) && address < self.end
    }

    fn extend(&mut self, section: u32, end: u64) {
        if self.section != Some(section) {
            *self = Self { section: Some(section), end: 0 };
        }
        self.end = self.end.max(end);
    }
}

/// The end of a sized symbol: clamped to its section, also when it wraps.
pub(super) fn clamp_end(symbol: &Symbol<'_>, sections: &Sections<'_, '_>) -> u64 {
    symbol.address.saturating_add(symbol.size).min(sections.range(symbol.section).1)
}

fn same_start(a: &Symbol<'_>, b: &Symbol<'_>) -> bool {
    a.section == b.section && a.address == b.address
}

/// The fate of each symbol (sorted by section and address), and the stops and
/// unnamed functions that follow from them.
///
/// Sized symbols own. An unsized one at the same start joins them; elsewhere
/// it owns unless a sized symbol covers it or it lies in a hole. The same
/// holds for a function start at which there is no symbol at all.
pub(super) fn settle_fates(
    symbols: &[Symbol<'_>],
    mut function_starts: Vec<u64>,
    code_only: bool,
    sections: &Sections<'_, '_>,
    limits: &mut Limits,
    report: &mut Report,
) -> Vec<Fate> {
    let mut fates = Vec::with_capacity(symbols.len());
    let mut cover = Cover::default();
    let mut dropped_stops = Vec::new();
    if sections.by_offset() {
        function_starts.clear();
    }
    function_starts.sort_unstable();
    function_starts.dedup();
    let mut starts = function_starts.into_iter().peekable();
    for group in symbols.chunk_by(same_start) {
        let Some(&Symbol { section, address, .. }) = group.first() else { continue };
        while let Some(start) = starts.next_if(|start| *start < address) {
            settle_start(start, &cover, sections, limits);
        }
        starts.next_if_eq(&address);

        let drops = |symbol: &Symbol<'_>| {
            if code_only {
                rules::code_only_drops(symbol.kind, sections.get(section))
            } else {
                None
            }
        };
        let sized = group.iter().any(|symbol| symbol.size > 0 && drops(symbol).is_none());
        let nobody = !sized && (cover.covers(section, address) || limits.in_hole(address));
        let before = dropped_stops.len();
        for symbol in group {
            fates.push(if let Some(reason) = drops(symbol) {
                report.skip(reason);
                if dropped_stops.len() == before {
                    dropped_stops.push(sections.key(section, address));
                }
                Fate::Dropped
            } else if nobody {
                Fate::NameOnly
            } else {
                Fate::Owns
            });
        }
        // A stub's size counts only where no real symbol states one.
        let stub = |symbol: &Symbol<'_>| symbol.source == Source::Plt;
        let real =
            |symbol: &Symbol<'_>| symbol.size > 0 && !stub(symbol) && drops(symbol).is_none();
        let has_real = group.iter().any(real);
        for symbol in group.iter().filter(|s| s.size > 0 && !(has_real && stub(s))) {
            cover.extend(section, clamp_end(symbol, sections));
        }
    }
    for start in starts {
        settle_start(start, &cover, sections, limits);
    }
    limits.stops.append(&mut dropped_stops);
    limits.stops.sort_unstable();
    fates
}

/// A function start without a symbol is an unnamed function if it lies in
/// code that is nobody's yet.
fn settle_start(start: u64, cover: &Cover, sections: &Sections<'_, '_>, limits: &mut Limits) {
    let Some(section) = sections.find(start) else { return };
    let code = sections.get(section).is_some_and(|section| section.execute);
    if code && !cover.covers(section, start) && !limits.in_hole(start) {
        limits.unnamed.push(start);
    }
}

/// Groups owning symbols (sorted by section and address) into owners, sorts
/// each group's names in place (primary first, then table order), and settles
/// every reach.
pub(super) fn settle_owners(
    symbols: &mut [Symbol<'_>],
    sections: &Sections<'_, '_>,
    limits: &Limits,
) -> Vec<Owner> {
    // An upper bound: pages that are never written cost nothing.
    let bound = symbols.len().saturating_add(limits.unnamed.len());
    let mut owners = Vec::with_capacity(bound);
    let mut unnamed = limits.unnamed.iter().copied().peekable();
    let mut first_name = 0_u32;
    for group in symbols.chunk_by_mut(same_start) {
        let address = group.first().map_or(0, |symbol| symbol.address);
        while let Some(start) = unnamed.next_if(|start| *start < address) {
            owners.push(unnamed_owner(start, sections));
        }
        let from = owners.len();
        first_name = first_name.saturating_add(count(group));
        settle_group(group, first_name, sections, &mut owners);
        owners.get_mut(from..).unwrap_or_default().reverse();
    }
    owners.extend(unnamed.map(|start| unnamed_owner(start, sections)));
    infer_reach(&mut owners, sections, limits);
    owners
}

fn unnamed_owner(start: u64, sections: &Sections<'_, '_>) -> Owner {
    Owner {
        address: start,
        size: 0,
        section: sections.find(start).unwrap_or(crate::model::NO_SECTION),
        first_name: 0,
        own_names: 0,
        listed_names: 0,
        extent: Extent::Inferred,
        part: false,
        folded: false,
    }
}

fn count(group: &[Symbol<'_>]) -> u32 {
    u32::try_from(group.len()).unwrap_or(u32::MAX)
}

/// The owners of the symbols that share one start, smallest first: one for
/// each distinct end among the real sized ones. Unsized and synthesized names
/// join the smallest, so a real name at a stub's start beats the stub's.
/// `names_end` is the index behind the group's names.
fn settle_group(
    group: &mut [Symbol<'_>],
    names_end: u32,
    sections: &Sections<'_, '_>,
    owners: &mut Vec<Owner>,
) {
    let joins = |symbol: &Symbol<'_>| symbol.size == 0 || symbol.source == Source::Plt;
    let rank = |symbol: &Symbol<'_>| if joins(symbol) { 0 } else { symbol.size };
    if group.len() > 1 {
        group.sort_unstable_by_key(rank);
    }
    let mut rest = group;
    loop {
        let joined = rest.partition_point(|symbol| joins(symbol));
        let (end, extent, taken) = match rest.get(joined) {
            Some(smallest) => {
                let end = clamp_end(smallest, sections);
                let same =
                    |symbol: &Symbol<'_>| joins(symbol) || clamp_end(symbol, sections) == end;
                (end, Extent::Exact, rest.partition_point(same))
            }
            None => {
                let stub = rest.iter().filter(|symbol| symbol.size > 0);
                match stub.map(|symbol| clamp_end(symbol, sections)).min() {
                    Some(end) => (end, Extent::Synthesized, rest.len()),
                    None => (0, Extent::Inferred, rest.len()),
                }
            }
        };
        let listed = count(rest);
        let Some((names, others)) = rest.split_at_mut_checked(taken) else { return };
        let Some(first) = order_names(names) else { return };
        owners.push(Owner {
            address: first.address,
            size: end.saturating_sub(first.address),
            section: first.section,
            first_name: names_end.saturating_sub(listed),
            own_names: count(names),
            listed_names: listed.min(count(names).saturating_add(MAX_SHARED)),
            extent,
            part: rules::is_part(first.name),
            folded: rules::is_folded(names),
        });
        rest = others;
    }
}

/// Puts the primary name first and the others in table order behind it;
/// returns the primary one.
fn order_names<'data>(names: &mut [Symbol<'data>]) -> Option<Symbol<'data>> {
    let best = (0..names.len()).zip(names.iter()).min_by(|a, b| compare_primary(a.1, b.1))?.0;
    names.swap(0, best);
    let (first, aliases) = names.split_first_mut()?;
    aliases.sort_unstable_by(compare_table);
    Some(*first)
}

/// Gives owners of unknown size their reach: up to the next owner of their
/// section, the next stop, or the section's end.
fn infer_reach(owners: &mut [Owner], sections: &Sections<'_, '_>, limits: &Limits) {
    let mut next: Option<(u32, u64)> = None;
    for owner in owners.iter_mut().rev() {
        if owner.extent == Extent::Inferred {
            let mut end = sections.range(owner.section).1;
            if let Some((section, address)) = next
                && section == owner.section
            {
                end = end.min(address);
            }
            if let Some(stop) = limits.next_stop(sections.key(owner.section, owner.address)) {
                end = end.min(stop);
            }
            owner.size = end.saturating_sub(owner.address);
        }
        next = Some((owner.section, owner.address));
    }
}
