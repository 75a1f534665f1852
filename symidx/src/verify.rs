//! Verifying: every invariant of `FORMAT.md` that opening leaves unchecked.
//!
//! In: an open index. Out: nothing, or the first broken invariant with its
//! place. Linear in the file's size, no heap, no recursion.

use core::cmp::Ordering;

use crate::error::{Invariant, Violation};
use crate::format::{
    Attrs, CONTAINER_ELF, CONTAINER_JITDUMP, Header, IMAGE_64, IMAGE_BIG_ENDIAN, Kind, LARGE_SIZE,
    LONG_NAME, NONE, REGION_CODE, Region, SECTION_EXECUTE, SECTION_TLS, SECTION_WRITE,
    SEGMENT_EXECUTE, SEGMENT_READ, SEGMENT_WRITE, SectionId, fingerprint,
};
use crate::index::Index;
use crate::names::{Name, split};
use crate::open::{Area, View, index};

mod lines;
mod packed;

impl Index<'_> {
    /// Checks every invariant of the format, hashes included (with feature
    /// `verify`). An index that passes answers every query without [`crate::Corrupt`].
    ///
    /// # Errors
    /// The first [`Violation`]: its invariant, section and offset.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// # let damaged = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/corrupt/i13.symidx"));
    /// index.verify()?; // after a transfer, before a rollout
    ///
    /// let damaged = symidx::Index::from_bytes(damaged)?; // records out of order
    /// assert_eq!(damaged.verify().unwrap_err().invariant, symidx::Invariant::RecordOrder);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&self) -> Result<(), Violation> {
        let view = &self.view;
        // Hashes first: an index damaged in transit says so, and not some
        // invariant that happens to break.
        #[cfg(feature = "verify")]
        view.verify_hashes()?;
        view.verify_structure()?;
        #[cfg(feature = "metadata")]
        crate::metadata::read(self)?;
        Ok(())
    }

    /// Like [`Index::verify`] without the hashes: what a writer checks of a
    /// file whose hashes it has just computed.
    ///
    /// # Errors
    /// The first [`Violation`].
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// index.verify_structure()?; // every table is in order, whatever the hashes say
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify_structure(&self) -> Result<(), Violation> {
        self.view.verify_structure()
    }
}

impl View<'_> {
    pub(crate) fn verify_structure(&self) -> Result<(), Violation> {
        self.verify_padding()?;
        self.verify_identity()?;
        self.verify_dictionary()?;
        self.verify_regions()?;
        for region in 0..u32::try_from(self.regions.len()).unwrap_or(0) {
            let area = self.area(region).ok_or(Violation::entry(
                Invariant::RegionTables,
                SectionId::REGIONS,
                index(region),
            ))?;
            self.verify_records(&area)?;
            verify_buckets(&area, self)?;
        }
        self.verify_large()?;
        self.verify_aliases()?;
        self.verify_names_only()?;
        self.verify_name_index()?;
        self.verify_image_sections()?;
        self.verify_segments()?;
        self.verify_lines()?;
        self.verify_display()?;
        self.verify_packed_names()
    }

    /// I25, I26.
    #[cfg(feature = "verify")]
    fn verify_hashes(&self) -> Result<(), Violation> {
        let mut hasher = blake3::Hasher::new();
        let mut header = *self.header;
        header.hash = [0; 32];
        hasher.update(zerocopy::IntoBytes::as_bytes(&header));
        hasher.update(zerocopy::IntoBytes::as_bytes(self.table));
        if *hasher.finalize().as_bytes() != self.header.hash {
            return Err(Violation::header(Invariant::FileHash, 96));
        }
        for entry in self.table {
            let start = usize::try_from(entry.offset.get()).unwrap_or(usize::MAX);
            let size = usize::try_from(entry.size.get()).unwrap_or(usize::MAX);
            let bytes = self.bytes.get(start..start.saturating_add(size)).unwrap_or(&[]);
            if *blake3::hash(bytes).as_bytes() != entry.hash {
                return Err(Violation {
                    invariant: Invariant::SectionHash,
                    section: Some(SectionId(entry.id.get())),
                    offset: 0,
                    numbers: None,
                });
            }
        }
        Ok(())
    }

    /// I24.
    fn verify_padding(&self) -> Result<(), Violation> {
        let mut at = size_of::<Header>().saturating_add(size_of_val(self.table));
        let ends = self.table.iter().map(|entry| {
            let start = usize::try_from(entry.offset.get()).unwrap_or(usize::MAX);
            let size = usize::try_from(entry.size.get()).unwrap_or(usize::MAX);
            (start, start.saturating_add(size))
        });
        for (start, end) in ends.chain([(self.bytes.len(), self.bytes.len())]) {
            let gap = self.bytes.get(at..start).unwrap_or(&[]);
            if gap.iter().any(|&byte| byte != 0) {
                let at = u64::try_from(at).unwrap_or(u64::MAX);
                return Err(Violation::header(Invariant::PaddingZero, at));
            }
            at = end;
        }
        Ok(())
    }

    /// The part of I8 that no lookup depends on.
    fn verify_identity(&self) -> Result<(), Violation> {
        let identity = self.identity;
        let used = index(identity.id_len.get());
        let zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
        let sound = zero(identity.id.get(used..).unwrap_or(&[]))
            && zero(&identity.reserved)
            && zero(&identity.reserved2)
            && zero(&identity.reserved3)
            && identity.image_flags & !(IMAGE_64 | IMAGE_BIG_ENDIAN) == 0
            && (CONTAINER_ELF..=CONTAINER_JITDUMP).contains(&identity.container);
        match sound {
            true => Ok(()),
            false => Err(Violation::entry(Invariant::IdentityShape, SectionId::IDENTITY, 0)),
        }
    }

    /// I9, I10, I11.
    fn verify_regions(&self) -> Result<(), Violation> {
        let relocatable = self.header.addresses.get() == crate::format::ADDRESSES_SECTION;
        let (mut record, mut bucket) = (0u32, 0u32);
        let mut before: Option<&Region> = None;
        for (i, region) in self.regions.iter().enumerate() {
            let wrong = |invariant| Violation::entry(invariant, SectionId::REGIONS, i);
            let (base, size) = (region.base.get(), region.size.get());
            let module = self.stored_name(region.module.get(), region.module_len.get());
            if !(1..=1 << 32).contains(&size)
                || base.checked_add(size.saturating_sub(1)).is_none()
                || region.count.get() == 0
                || region.shift.get() > 31
                || region.flags.get() & !REGION_CODE != 0
                || (region.section.get() != NONE) != relocatable
                || (relocatable && index(region.section.get()) >= self.sections.len())
            {
                return Err(wrong(Invariant::RegionShape));
            }
            if module.is_none() {
                return Err(wrong(Invariant::NameInside));
            }
            if let Some(before) = before {
                let same_section = before.section == region.section;
                let after = before.base.get().checked_add(before.size.get());
                let ordered = match same_section {
                    true => after.is_some_and(|after| after <= base),
                    false => before.section.get() < region.section.get(),
                };
                if !ordered {
                    return Err(wrong(Invariant::RegionOrder));
                }
            }
            // Records and buckets lie in region order without gaps.
            let bucket_entries = match region.bucket_count.get() {
                0 => 0,
                count => count.saturating_add(1),
            };
            if region.first.get() != record
                || (bucket_entries != 0 && region.bucket_first.get() != bucket)
            {
                return Err(wrong(Invariant::RegionTables));
            }
            record = record.saturating_add(region.count.get());
            bucket = bucket.saturating_add(bucket_entries);
            before = Some(region);
        }
        if index(record) != self.records.len() || index(bucket) != self.buckets.len() {
            return Err(Violation::entry(
                Invariant::RegionTables,
                SectionId::REGIONS,
                self.regions.len(),
            ));
        }
        Ok(())
    }

    /// I13, I14, I16, I17 for one region.
    fn verify_records(&self, area: &Area<'_>) -> Result<(), Violation> {
        let mut before = 0u32;
        for (i, record) in area.records.iter().enumerate() {
            let id = area.first.saturating_add(u32::try_from(i).unwrap_or(u32::MAX));
            let wrong = |invariant| Violation::entry(invariant, SectionId::RECORDS, index(id));
            let start = record.start.get();
            if start < before || u64::from(start) >= area.size {
                return Err(wrong(Invariant::RecordOrder));
            }
            before = start;
            let attrs = Attrs(record.attrs.get());
            if !attrs.is_valid() || matches!(attrs.kind(), Kind::Tls | Kind::Absolute) {
                return Err(wrong(Invariant::RecordShape));
            }
            let address = area.base.saturating_add(u64::from(start));
            if attrs.kind() == Kind::Resume {
                let reaches = self.resume_reaches(record.name.get(), id, address);
                if record.size.get() != 0 || record.name_len.get() != 0 || !reaches {
                    return Err(wrong(Invariant::ResumeRight));
                }
                continue;
            }
            let size = self.record_size(record, id).map_err(|_| wrong(Invariant::LargeOrder))?;
            if size == 0 || address.checked_add(size.saturating_sub(1)).is_none() {
                return Err(wrong(Invariant::RecordShape));
            }
            let unnamed = attrs.kind() == Kind::Unnamed;
            if unnamed != (record.name_len.get() == 0) {
                return Err(wrong(Invariant::RecordShape));
            }
            self.verify_name(record.name.get(), record.name_len.get()).map_err(wrong)?;
        }
        Ok(())
    }

    /// I16: `target` is an earlier, real record whose symbol covers `address`.
    fn resume_reaches(&self, target: u32, id: u32, address: u64) -> bool {
        let earlier =
            (target < id).then(|| self.area_of_record(target)).flatten().and_then(|area| {
                Some((area, area.records.get(index(target.checked_sub(area.first)?))?))
            });
        let Some((area, record)) = earlier else { return false };
        let start = area.base.saturating_add(u64::from(record.start.get()));
        Attrs(record.attrs.get()).kind() != Kind::Resume
            && self
                .record_size(record, target)
                .is_ok_and(|size| address.checked_sub(start).is_some_and(|into| into < size))
    }

    /// I17: the name lies inside, and is long only if it must be.
    fn verify_name(&self, name: u32, len: u16) -> Result<(), Invariant> {
        let stored = self.stored_name(name, len).ok_or(Invariant::NameInside)?;
        if len == LONG_NAME && stored.len() < usize::from(LONG_NAME) {
            return Err(Invariant::NameInside);
        }
        Ok(())
    }

    /// I21.
    fn verify_large(&self) -> Result<(), Violation> {
        let mut before: Option<u32> = None;
        for (i, large) in self.large.iter().enumerate() {
            let record = self.records.get(index(large.record.get()));
            let points = record.is_some_and(|record| record.size.get() == LARGE_SIZE);
            let ordered = before.is_none_or(|before| before < large.record.get());
            let fits = large.size.get() >= u64::from(LARGE_SIZE) && large.reserved.get() == 0;
            if !(points && ordered && fits) {
                return Err(Violation::entry(Invariant::LargeOrder, SectionId::LARGE, i));
            }
            before = Some(large.record.get());
        }
        Ok(())
    }

    /// I18, I17.
    fn verify_aliases(&self) -> Result<(), Violation> {
        let mut before = 0u32;
        for (i, alias) in self.aliases.iter().enumerate() {
            let wrong = |invariant| Violation::entry(invariant, SectionId::ALIASES, i);
            let owner = alias.owner.get();
            let attrs = Attrs(alias.attrs.get());
            let owned = self.records.get(index(owner)).is_some_and(|record| {
                let owner = Attrs(record.attrs.get());
                owner.has(Attrs::HAS_ALIASES)
                    && !matches!(owner.kind(), Kind::Resume | Kind::Unnamed)
            });
            let kind_fits =
                !matches!(attrs.kind(), Kind::Tls | Kind::Absolute | Kind::Unnamed | Kind::Resume);
            if owner < before || !owned || !attrs.is_valid() || !kind_fits {
                return Err(wrong(Invariant::AliasOrder));
            }
            self.verify_name(alias.name.get(), alias.name_len.get()).map_err(wrong)?;
            before = owner;
        }
        Ok(())
    }

    /// I19, I17.
    fn verify_names_only(&self) -> Result<(), Violation> {
        let mut before = 0u64;
        for (i, only) in self.names_only.iter().enumerate() {
            let wrong = |invariant| Violation::entry(invariant, SectionId::NAMES_ONLY, i);
            let attrs = Attrs(only.attrs.get());
            let section = only.section.get();
            if only.value.get() < before
                || !attrs.is_valid()
                || matches!(attrs.kind(), Kind::Unnamed | Kind::Resume)
                || (section != NONE && index(section) >= self.sections.len())
            {
                return Err(wrong(Invariant::NameOnlyOrder));
            }
            self.verify_name(only.name.get(), only.name_len.get()).map_err(wrong)?;
            before = only.value.get();
        }
        Ok(())
    }

    /// I20. Buckets that ascend and cover the whole order, then the names.
    fn verify_name_index(&self) -> Result<(), Violation> {
        let wrong = |i| Violation::entry(Invariant::NameIndex, SectionId::NAME_BUCKETS, i);
        let mut before = 0u32;
        for (i, first) in self.name_buckets.iter().enumerate() {
            if first.get() < before || (i == 0 && first.get() != 0) {
                return Err(wrong(i));
            }
            before = first.get();
        }
        if index(before) != self.name_order.len() || self.name_tags.len() != self.name_order.len() {
            return Err(wrong(self.name_buckets.len()));
        }
        match self.verify_names_by_id()? {
            true => Ok(()),
            false => self.verify_names_by_order(),
        }
    }

    /// Each name once in its bucket and as many positions as names: so no
    /// position is left for anything else. Walks the names as they are stored,
    /// which on an ordinary index is the fast way; gives up with `false` where
    /// the same bytes are read again and again.
    fn verify_names_by_id(&self) -> Result<bool, Violation> {
        let positions = self.name_order.len();
        let mut patience = self.most_name_bytes().saturating_add(positions.saturating_mul(64));
        let mut names = 0usize;
        for id in 0..u32::try_from(self.name_ids()).unwrap_or(u32::MAX) {
            let at = || Violation::entry(Invariant::NameIndex, SectionId::NAME_ORDER, index(id));
            if !self.is_findable(id) {
                continue;
            }
            names = names.saturating_add(1);
            let (_, stored, attrs) = self.named(id).map_err(|_| at())?;
            match patience.checked_sub(stored.len()) {
                Some(left) => patience = left,
                None => return Ok(false),
            }
            let hash = hash_of(stored, attrs).ok_or_else(at)?;
            let bucket = self.bucket_of_name(hash);
            match patience.checked_sub(bucket.len()) {
                Some(left) => patience = left,
                None => return Ok(false),
            }
            let mut places = bucket.filter(|&position| {
                self.name_order.get(position).is_some_and(|found| found.get() == id)
            });
            let tagged = places
                .next()
                .is_some_and(|place| self.name_tags.get(place) == Some(&fingerprint(hash)));
            if !tagged || places.next().is_some() {
                return Err(at());
            }
        }
        match names == positions {
            true => Ok(true),
            false => Err(Violation::entry(Invariant::NameIndex, SectionId::NAME_ORDER, names)),
        }
    }

    /// The same by the order of the index, where equal names are neighbours
    /// and share their bytes: each distinct name is read once, and together
    /// they are no longer than the names section. Linear for any bytes.
    fn verify_names_by_order(&self) -> Result<(), Violation> {
        let names = (0..u32::try_from(self.name_ids()).unwrap_or(u32::MAX))
            .filter(|&id| self.is_findable(id))
            .count();
        let mut unread = self.most_name_bytes();
        let mut before: Option<(Name<'_>, Attrs, u32, u32)> = None;
        for (position, id) in self.name_order.iter().enumerate() {
            let id = id.get();
            let at = || Violation::entry(Invariant::NameIndex, SectionId::NAME_ORDER, position);
            let (_, stored, attrs) = self.named(id).map_err(|_| at())?;
            let same = before.filter(|(last, last_attrs, ..)| {
                last.is_same_place(&stored)
                    && last_attrs.has(Attrs::VERSIONED) == attrs.has(Attrs::VERSIONED)
            });
            let hash = match same {
                Some((_, _, hash, last)) if last < id => hash,
                Some(_) => return Err(at()),
                None => {
                    unread = unread.checked_sub(stored.len()).ok_or_else(at)?;
                    let hash = hash_of(stored, attrs).ok_or_else(at)?;
                    if let Some((last, last_attrs, last_hash, _)) = before {
                        let order = last_hash
                            .cmp(&hash)
                            .then_with(|| compare((last, last_attrs), (stored, attrs)));
                        if order.is_ge() {
                            return Err(at());
                        }
                    }
                    hash
                }
            };
            let placed = self.bucket_of_name(hash).contains(&position);
            let tagged = self.name_tags.get(position) == Some(&fingerprint(hash));
            if !placed || !tagged || !self.is_findable(id) {
                return Err(at());
            }
            before = Some((stored, attrs, hash, id));
        }
        match names == self.name_order.len() {
            true => Ok(()),
            false => Err(Violation::entry(Invariant::NameIndex, SectionId::NAME_ORDER, names)),
        }
    }

    /// I22.
    fn verify_image_sections(&self) -> Result<(), Violation> {
        let relocatable = self.header.addresses.get() == crate::format::ADDRESSES_SECTION;
        let mut before = 0u64;
        for (i, section) in self.sections.iter().enumerate() {
            let wrong = |invariant| Violation::entry(invariant, SectionId::IMAGE_SECTIONS, i);
            let (address, size) = (section.address.get(), section.size.get());
            let region = section.region.get();
            let region_fits = region == NONE
                || self.regions.get(index(region)).is_some_and(|region| {
                    usize::try_from(region.section.get()).is_ok_and(|section| section == i)
                });
            if (size > 0 && address.checked_add(size.saturating_sub(1)).is_none())
                || (!relocatable && address < before)
                || section.flags.get() & !(SECTION_EXECUTE | SECTION_WRITE | SECTION_TLS) != 0
                || !region_fits
            {
                return Err(wrong(Invariant::ImageSectionShape));
            }
            if self.stored_name(section.name.get(), section.name_len.get()).is_none() {
                return Err(wrong(Invariant::NameInside));
            }
            before = address;
        }
        Ok(())
    }

    /// I23.
    fn verify_segments(&self) -> Result<(), Violation> {
        for (i, segment) in self.segments.iter().enumerate() {
            let end = |start: u64, size: u64| {
                size == 0 || start.checked_add(size.saturating_sub(1)).is_some()
            };
            let flags = SEGMENT_READ | SEGMENT_WRITE | SEGMENT_EXECUTE;
            if !end(segment.address.get(), segment.memory_size.get())
                || !end(segment.file_offset.get(), segment.file_size.get())
                || segment.file_size.get() > segment.memory_size.get()
                || segment.flags.get() & !flags != 0
                || segment.reserved.get() != 0
            {
                return Err(Violation::entry(Invariant::SegmentShape, SectionId::SEGMENTS, i));
            }
        }
        Ok(())
    }
}

/// The hash of a name; `None` when it claims a version and has none.
fn hash_of(stored: Name<'_>, attrs: Attrs) -> Option<u32> {
    let (plain, version, _) = split(stored, attrs);
    let versioned = version.is_none_or(|_| plain.len() < stored.len());
    versioned.then(|| plain.hash())
}

/// The order of names with one hash: by plain name, then the default version
/// first, then by version.
fn compare(a: (Name<'_>, Attrs), b: (Name<'_>, Attrs)) -> Ordering {
    let ((a, a_version, a_default), (b, b_version, b_default)) = (split(a.0, a.1), split(b.0, b.1));
    let other = |version: Option<Name<'_>>, default: bool| version.is_some() && !default;
    a.compare(&b)
        .then_with(|| other(a_version, a_default).cmp(&other(b_version, b_default)))
        .then_with(|| match (a_version, b_version) {
            (Some(a), Some(b)) => a.compare(&b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        })
}

/// I15: bucket `b` names the first record at or after `b << shift`.
fn verify_buckets(area: &Area<'_>, view: &View<'_>) -> Result<(), Violation> {
    let Some((end, buckets)) = area.buckets.split_last() else { return Ok(()) };
    let first = view.regions.get(index(area.region)).map_or(0, |r| r.bucket_first.get());
    let wrong = |bucket: usize| {
        let at = index(first).saturating_add(bucket);
        Violation::entry(Invariant::BucketsRight, SectionId::BUCKETS, at)
    };
    let covered = u64::try_from(buckets.len())
        .ok()
        .and_then(|count| count.checked_shl(area.shift))
        .unwrap_or(u64::MAX);
    if covered < area.size || index(end.get()) != area.records.len() {
        return Err(wrong(buckets.len()));
    }
    let mut position = 0usize;
    for (bucket, entry) in buckets.iter().enumerate() {
        let start = u64::try_from(bucket).unwrap_or(u64::MAX).checked_shl(area.shift).unwrap_or(0);
        while area.records.get(position).is_some_and(|r| u64::from(r.start.get()) < start) {
            position = position.saturating_add(1);
        }
        if index(entry.get()) != position {
            return Err(wrong(bucket));
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use crate::Index;

    /// Both ways through the name index judge every golden file alike; the
    /// slow one is otherwise met only by hostile files.
    #[test]
    fn the_name_index_is_right_by_id_and_by_order() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden");
        let mut seen = 0;
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "symidx") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let index = Index::from_bytes(&bytes).unwrap();
            assert_eq!(index.view.verify_names_by_id(), Ok(true), "{}", path.display());
            assert_eq!(index.view.verify_names_by_order(), Ok(()), "{}", path.display());
            seen += 1;
        }
        assert!(seen > 3);
    }
}
