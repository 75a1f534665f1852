//! Regions: pieces of 64-bit address space cut into stretches of at most
//! 2^32 bytes, their records and their bucket tables.

use symidx::format::{self, ADDRESSES_SECTION, Attrs, LARGE_SIZE, Large, NONE, Record, Region};

use super::{LayoutError, LayoutOptions, Plan, SectionOrder, count32, owner_attrs};
use crate::model::{AddressKind, Image, Report};
use crate::normalise::{Normalised, Owner, Space};

/// At most this many regions may be made only to carry a symbol on past the
/// end of its own region (1 TiB of them). A file that claims more is damaged.
const MAX_CONTINUED: u32 = 256;

/// Regions with fewer records than this are searched without buckets: all
/// their records lie in four cache lines.
const MIN_BUCKETED: usize = 16;

/// Fills regions, buckets, records and large sizes; returns the record of each owner.
pub(super) fn place(
    image: &Image<'_>,
    normalised: &Normalised<'_>,
    sections: &SectionOrder,
    options: LayoutOptions,
    plan: &mut Plan<'_>,
    report: &mut Report,
) -> Result<Vec<u32>, LayoutError> {
    let mut placer = Placer {
        normalised,
        max_region: options.max_region.clamp(1, 1 << 32),
        owner_records: vec![NONE; normalised.owners.len()],
        continued: 0,
        plan,
        report,
    };
    placer.plan.records.reserve_exact(normalised.pieces.len());
    let mut rest = normalised.spaces.as_slice();
    while !rest.is_empty() {
        let (length, shared) = group_length(rest);
        let (run, after) = rest.split_at(length.clamp(1, rest.len()));
        for group in run.chunks(if shared { run.len() } else { 1 }) {
            let section = group.first().and_then(|space| space.section);
            let section = section.map_or(NONE, |section| sections.stored(section));
            placer.place_group(group, section)?;
        }
        rest = after;
    }
    let owner_records = placer.owner_records;
    if image.addresses == AddressKind::Svma {
        plan.hot_region = hot_region(&plan.regions);
    } else {
        debug_assert_eq!(ADDRESSES_SECTION, 1);
        for (i, region) in plan.regions.iter().enumerate().rev() {
            let section = usize::try_from(region.section.get()).unwrap_or(usize::MAX);
            if let Some(section) = plan.sections.get_mut(section) {
                section.region = count32(i)?.into();
            }
        }
    }
    Ok(owner_records)
}

/// How many of the first spaces could share a region, and whether they do. Code and data lie at different
/// addresses, so in one sorted table they are apart all the same, and one
/// region spares every lookup the choice. Not so where data is so sparse that
/// it would thin out the buckets of the code: then each space is its own.
fn group_length(spaces: &[Space]) -> (usize, bool) {
    /// A code bucket may get this many times the records it would have alone:
    /// two more steps of the search.
    const MOST_THINNED: u64 = 4;
    let Some(first) = spaces.first() else { return (0, false) };
    let together = spaces.iter().take_while(|space| {
        let span = space.start.saturating_add(space.size).saturating_sub(first.start);
        first.section.is_none() && space.module == first.module && span <= 1 << 32
    });
    let count = together.clone().count();
    let (mut records, mut code_records, mut code_bytes, mut end) = (0u64, 0u64, 0u64, 0u64);
    for space in together {
        let pieces = u64::from(space.pieces.end.saturating_sub(space.pieces.start));
        records = records.saturating_add(pieces);
        end = space.start.saturating_add(space.size);
        if space.code {
            code_records = code_records.saturating_add(pieces);
            code_bytes = code_bytes.saturating_add(space.size);
        }
    }
    let span = u128::from(end.saturating_sub(first.start));
    // span / records <= MOST_THINNED * code_bytes / code_records
    let thinned = span.saturating_mul(code_records.into());
    let limit = u128::from(code_bytes.saturating_mul(MOST_THINNED)).saturating_mul(records.into());
    (count, code_records == 0 || thinned <= limit)
}

/// The code region with the most records, the first of several; [`NONE`] without code.
fn hot_region(regions: &[Region]) -> u32 {
    let mut best: Option<(u32, u32)> = None;
    for (i, region) in (0u32..).zip(regions) {
        let code = region.flags.get() & format::REGION_CODE != 0;
        if code && best.is_none_or(|(count, _)| count < region.count.get()) {
            best = Some((region.count.get(), i));
        }
    }
    best.map_or(NONE, |(_, i)| i)
}

struct Placer<'a, 'data, 'plan, 'names> {
    normalised: &'a Normalised<'data>,
    max_region: u64,
    owner_records: Vec<u32>,
    continued: u32,
    plan: &'plan mut Plan<'names>,
    report: &'plan mut Report,
}

/// The region being filled.
struct Open {
    base: u64,
    /// Highest address behind an owner seen so far, at most `base + max_region`.
    end: u64,
    first: usize,
}

impl Placer<'_, '_, '_, '_> {
    fn place_group(&mut self, group: &[Space], section: u32) -> Result<(), LayoutError> {
        let normalised = self.normalised;
        let range = |space: &Space| {
            usize::try_from(space.pieces.start).unwrap_or(usize::MAX)
                ..usize::try_from(space.pieces.end).unwrap_or(usize::MAX)
        };
        let pieces =
            group.iter().flat_map(|space| normalised.pieces.get(range(space)).unwrap_or(&[]));
        let mut open: Option<Open> = None;
        let mut last: Option<u32> = None;
        for piece in pieces {
            let Some(owner) = owner_at(normalised, piece.owner) else { continue };
            // Close regions until the piece fits the open one.
            while let Some(region) = open.take() {
                if piece.start.wrapping_sub(region.base) < self.max_region {
                    open = Some(region);
                    break;
                }
                open = self.close_and_continue(region, last, piece.start, group, section)?;
            }
            let region = open.get_or_insert(Open {
                base: piece.start,
                end: piece.start,
                first: self.plan.records.len(),
            });
            let limit = region.base.saturating_add(self.max_region);
            region.end = region.end.max(owner.end().min(limit));
            let start = offset32(piece.start, region.base);
            if piece.start == owner.address {
                self.push_owner(piece.owner, owner, start)?;
            } else {
                self.push_resume(piece.owner, start)?;
            }
            last = Some(piece.owner);
        }
        while let Some(region) = open.take() {
            open = self.close_and_continue(region, last, u64::MAX, group, section)?;
        }
        Ok(())
    }

    /// Closes a region. When the last owner reaches over its end, the next
    /// region starts right there with a resume record, unless `next` does.
    fn close_and_continue(
        &mut self,
        region: Open,
        last: Option<u32>,
        next: u64,
        group: &[Space],
        section: u32,
    ) -> Result<Option<Open>, LayoutError> {
        let cut = region.base.checked_add(self.max_region);
        self.close(region, group, section)?;
        let (Some(cut), Some(last)) = (cut, last) else { return Ok(None) };
        let reaches = owner_at(self.normalised, last).is_some_and(|owner| owner.end() > cut);
        if !reaches || next <= cut {
            return Ok(None);
        }
        if self.continued >= MAX_CONTINUED {
            self.report.skip("reach of a symbol larger than 1 TiB");
            return Ok(None);
        }
        self.continued = self.continued.saturating_add(1);
        let first = self.plan.records.len();
        self.push_resume(last, 0)?;
        let end = owner_at(self.normalised, last).map_or(cut, Owner::end);
        Ok(Some(Open { base: cut, end: end.min(cut.saturating_add(self.max_region)), first }))
    }

    fn close(&mut self, region: Open, group: &[Space], section: u32) -> Result<(), LayoutError> {
        let size = region.end.wrapping_sub(region.base).clamp(1, self.max_region);
        let records = self.plan.records.get(region.first..).unwrap_or(&[]);
        let bucket_first = self.plan.buckets.len();
        let (shift, buckets) = bucket_table(records, size);
        let count = records.len();
        self.plan.buckets.extend_from_slice(&buckets);
        let code = group.iter().any(|space| space.code && overlaps(space, region.base, size));
        let flags = if code { format::REGION_CODE } else { 0 };
        let module = group.first().and_then(|space| space.module);
        self.plan.regions.push(Region {
            base: region.base.into(),
            size: size.into(),
            first: count32(region.first)?.into(),
            count: count32(count)?.into(),
            bucket_first: if buckets.is_empty() { 0 } else { count32(bucket_first)? }.into(),
            bucket_count: count32(buckets.len().saturating_sub(1))?.into(),
            shift: shift.into(),
            section: section.into(),
            // The module's index for now; `name_index` turns it into its name.
            module: module.unwrap_or(NONE).into(),
            module_len: 0.into(),
            flags: flags.into(),
        });
        Ok(())
    }

    fn push_owner(&mut self, index: u32, owner: &Owner, start: u32) -> Result<(), LayoutError> {
        let record = count32(self.plan.records.len())?;
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        if let Some(slot) = self.owner_records.get_mut(at) {
            *slot = record;
        }
        let attrs = owner_attrs(self.normalised, owner);
        if matches!(attrs.kind(), format::Kind::Function | format::Kind::Ifunc) {
            self.plan.functions = self.plan.functions.saturating_add(1);
        }
        if owner.size >= u64::from(LARGE_SIZE) {
            self.plan.large.push(Large {
                record: record.into(),
                reserved: 0.into(),
                size: owner.size.into(),
            });
        }
        self.plan.records.push(Record {
            start: start.into(),
            size: super::size32(owner.size).into(),
            name: 0.into(),
            name_len: 0.into(),
            attrs: attrs.0.into(),
        });
        Ok(())
    }

    fn push_resume(&mut self, owner: u32, start: u32) -> Result<(), LayoutError> {
        count32(self.plan.records.len())?;
        let at = usize::try_from(owner).unwrap_or(usize::MAX);
        let target = self.owner_records.get(at).copied().unwrap_or(NONE);
        self.plan.records.push(Record {
            start: start.into(),
            size: 0.into(),
            name: target.into(),
            name_len: 0.into(),
            attrs: Attrs::new(
                format::Kind::Resume,
                format::Binding::Global,
                format::Extent::Exact,
                0,
            )
            .0
            .into(),
        });
        Ok(())
    }
}

fn overlaps(space: &Space, base: u64, size: u64) -> bool {
    space.start <= base.saturating_add(size.saturating_sub(1))
        && base <= space.start.saturating_add(space.size.saturating_sub(1))
}

fn owner_at<'a>(normalised: &'a Normalised<'_>, owner: u32) -> Option<&'a Owner> {
    normalised.owners.get(usize::try_from(owner).ok()?)
}

fn offset32(address: u64, base: u64) -> u32 {
    u32::try_from(address.wrapping_sub(base)).unwrap_or(u32::MAX)
}

/// log2 of the bytes per bucket and the table with its end entry. Between a
/// quarter and a half as many buckets as records: measured in
/// `benches/results/search-layout.md`.
fn bucket_table(records: &[Record], size: u64) -> (u32, Vec<u32>) {
    if records.len() < MIN_BUCKETED {
        return (0, Vec::new());
    }
    let most = u64::try_from(records.len() / 2).unwrap_or(u64::MAX).max(1);
    let last = size.saturating_sub(1);
    let shift = (0u32..31).find(|&shift| (last >> shift) < most).unwrap_or(31);
    let count = (last >> shift).saturating_add(1);
    let mut table = Vec::new();
    let mut position = 0u32;
    let mut rest = records.iter();
    let mut next = rest.next();
    for bucket in 0..count {
        let start = bucket << shift;
        while next.is_some_and(|record| u64::from(record.start.get()) < start) {
            position = position.saturating_add(1);
            next = rest.next();
        }
        table.push(position);
    }
    table.push(u32::try_from(records.len()).unwrap_or(u32::MAX));
    (shift, table)
}
