//! Which section really holds a symbol.
//!
//! In: the image's sections and a symbol's claim. Out: the section that counts,
//! and its bounds. This module never looks at other symbols.

use crate::model::{AddressKind, Image, Kind, NO_SECTION, Section, Symbol};

/// A section's effective range of addresses, at least one byte long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// First address.
    pub(super) start: u64,
    /// First address behind it. The very last byte of the address space is
    /// nobody's, so that ends need no wider type.
    pub(super) end: u64,
    /// Index into [`Image::sections`].
    pub(super) section: u32,
}

/// Where a symbol belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// It lies in this section and may own addresses.
    In(u32),
    /// A marker at the end of the section it claims, or a name without an
    /// address by its kind.
    NameOnly,
    /// Its address is in no section.
    Nowhere,
}

/// The sections of one image, ready for questions.
pub(super) struct Sections<'image, 'data> {
    sections: &'image [Section<'data>],
    kind: AddressKind,
    /// Effective ranges that do not overlap, sorted by start (by section
    /// index in a relocatable file).
    places: Vec<Place>,
    /// The same by section index; empty range = holds nothing.
    ranges: Vec<(u64, u64)>,
    /// How many sections were cut because another one lies there.
    overlaps: u64,
}

impl<'image, 'data> Sections<'image, 'data> {
    /// Settles the ranges of the sections of `image`.
    ///
    /// Thread-local sections hold no addresses. Where sections overlap, the
    /// one that starts first (then the bigger one, then the one listed first)
    /// keeps all its bytes and the other one begins behind it.
    pub(super) fn new(image: &'image Image<'data>) -> Self {
        let by_offset = image.addresses == AddressKind::SectionOffset;
        let mut places: Vec<Place> = image
            .sections
            .iter()
            .zip(0_u32..)
            .filter(|(section, _)| !section.tls && section.size > 0)
            .map(|(section, index)| {
                let start = if by_offset { 0 } else { section.address };
                Place { start, end: start.saturating_add(section.size), section: index }
            })
            .collect();
        let mut overlaps = 0_u64;
        if !by_offset {
            places.sort_unstable_by_key(|p| (p.start, std::cmp::Reverse(p.end), p.section));
            let mut taken = 0;
            places.retain_mut(|place| {
                if place.start < taken {
                    overlaps = overlaps.saturating_add(1);
                    place.start = taken;
                }
                taken = taken.max(place.end);
                place.start < place.end
            });
        }
        let mut ranges = vec![(0, 0); image.sections.len()];
        for place in &places {
            if let Some(range) = get_mut(&mut ranges, place.section) {
                *range = (place.start, place.end);
            }
        }
        Self { sections: &image.sections, kind: image.addresses, places, ranges, overlaps }
    }

    /// How many sections overlap another one.
    pub(super) fn overlaps(&self) -> u64 {
        self.overlaps
    }

    /// Effective ranges: see the field.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// True in a relocatable file.
    pub(super) fn by_offset(&self) -> bool {
        self.kind == AddressKind::SectionOffset
    }

    /// A section by its index.
    pub(super) fn get(&self, section: u32) -> Option<&'image Section<'data>> {
        get(self.sections, section)
    }

    /// `[start, end)` of a section; empty when it holds nothing.
    pub(super) fn range(&self, section: u32) -> (u64, u64) {
        get(&self.ranges, section).copied().unwrap_or_default()
    }

    /// The sort key of an address: one order over the whole image.
    pub(super) fn key(&self, section: u32, address: u64) -> (u32, u64) {
        (if self.by_offset() { section } else { 0 }, address)
    }

    /// The section whose effective range holds an svma.
    pub(super) fn find(&self, address: u64) -> Option<u32> {
        let after = self.places.partition_point(|place| place.start <= address);
        let place = self.places.get(after.checked_sub(1)?)?;
        (address < place.end).then_some(place.section)
    }

    /// Where a symbol belongs. In order:
    /// 1. thread-local and absolute values are no addresses;
    /// 2. the claimed section counts if it holds the address;
    /// 3. a label inside a thread-local section, or an unsized symbol at the
    ///    very end of the section it claims, owns nothing, whatever lies there;
    /// 4. otherwise the claim is stale (BOLT; `_edata` of libLLVM claims
    ///    `.tbss`) and the section that holds the address counts; never so in
    ///    a relocatable file.
    pub(super) fn settle_section(&self, symbol: &Symbol<'_>) -> Settled {
        if matches!(symbol.kind, Kind::Tls | Kind::Absolute) {
            return Settled::NameOnly;
        }
        if let Some(claimed) = self.get(symbol.section) {
            let (start, end) = self.range(symbol.section);
            if start <= symbol.address && symbol.address < end {
                return Settled::In(symbol.section);
            }
            let stated_end = self.stated_end(claimed);
            let in_template =
                claimed.tls && claimed.address <= symbol.address && symbol.address < stated_end;
            if symbol.size == 0 && (in_template || symbol.address == stated_end) {
                return Settled::NameOnly;
            }
        }
        match self.kind {
            AddressKind::SectionOffset => Settled::Nowhere,
            AddressKind::Svma => self.find(symbol.address).map_or(Settled::Nowhere, Settled::In),
        }
    }

    /// The end of a section as its header states it.
    fn stated_end(&self, section: &Section<'_>) -> u64 {
        let start = if self.by_offset() { 0 } else { section.address };
        start.saturating_add(section.size)
    }

    /// A claimed section index, or [`NO_SECTION`] when there is no such section.
    pub(super) fn checked(&self, section: u32) -> u32 {
        if self.get(section).is_some() { section } else { NO_SECTION }
    }
}

fn get<T>(items: &[T], index: u32) -> Option<&T> {
    items.get(usize::try_from(index).ok()?)
}

fn get_mut<T>(items: &mut [T], index: u32) -> Option<&mut T> {
    items.get_mut(usize::try_from(index).ok()?)
}
