//! From a record to an answer: the symbol that covers an address, with its
//! start, names, section and module.
//!
//! In: a [`View`] and a position. Out: borrowed answers. Never allocates,
//! locks, or calls the system; damaged bytes are an error with their place.

use crate::address::{ImageSectionId, Svma};
use crate::error::Corrupt;
use crate::format::{
    Attrs, Binding, Extent, ImageSection, Kind, LARGE_SIZE, NONE, Record, Region, SECTION_EXECUTE,
    SECTION_TLS, SECTION_WRITE, SectionId,
};
use crate::names::{Name, split};
use crate::open::{Area, View, index};

/// One symbol that owns addresses, as the answer to one of them.
///
/// ```
/// # fn show(index: &symidx::Index<'_>) -> Result<(), symidx::Corrupt> {
/// if let Some(symbol) = index.lookup(symidx::Svma(0x401136))? {
///     println!("{}+{:#x}", symbol.name(), symbol.offset());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    pub(crate) view: &'a View<'a>,
    pub(crate) stored: &'a [u8],
    start: u64,
    size: u64,
    offset: u64,
    id: u32,
    region: u32,
    attrs: Attrs,
}

impl<'a> Symbol<'a> {
    /// The linkage name, without a version. Mach-O names come without the one
    /// underscore that the format adds.
    #[must_use]
    pub fn name(&self) -> Name<'a> {
        Name::plain(split(self.stored, self.attrs).0)
    }

    /// The name as stored: `f@@V2` for a versioned symbol.
    #[must_use]
    pub fn stored_name(&self) -> Name<'a> {
        Name::plain(self.stored)
    }

    /// The symbol's version (`V2` of `f@@V2`), if it has one.
    #[must_use]
    pub fn version(&self) -> Option<Name<'a>> {
        split(self.stored, self.attrs).1.map(Name::plain)
    }

    /// First address: an svma, or an offset in [`Symbol::section`] when the
    /// input is relocatable.
    #[must_use]
    pub fn start(&self) -> Svma {
        Svma(self.start)
    }

    /// Bytes the symbol reaches over, at least 1; [`Symbol::extent`] says how
    /// this is known.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes from the symbol's start to the address looked up (0 for symbols
    /// that come from an iterator).
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What it names.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.attrs.kind()
    }

    /// Binding of the primary name.
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.attrs.binding()
    }

    /// How the size is known.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.attrs.extent()
    }

    /// True for a `.cold`, `.part`, … piece of another function.
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.attrs.has(Attrs::PART)
    }

    /// True when several functions share these bytes (identical code folding).
    #[must_use]
    pub fn is_folded(&self) -> bool {
        self.attrs.has(Attrs::FOLDED)
    }

    /// True when only DWARF knows the symbol.
    #[must_use]
    pub fn is_dwarf(&self) -> bool {
        self.attrs.has(Attrs::DWARF)
    }

    /// A number for this symbol, the same for every address it answers;
    /// smaller than [`crate::Index::symbol_count`].
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The input's section that holds the symbol.
    ///
    /// # Errors
    /// [`Corrupt`] when its entry or name is damaged.
    pub fn section(&self) -> Result<Option<Section<'a>>, Corrupt> {
        let region = self.view.regions.get(index(self.region));
        match region.map(|region| region.section.get()) {
            Some(NONE) => self.view.section_at(self.start),
            Some(section) => self.view.section(ImageSectionId(section)),
            None => Ok(None),
        }
    }

    /// The kernel module the symbol belongs to; `None` for everything else.
    ///
    /// # Errors
    /// [`Corrupt`] when the name is damaged.
    pub fn module(&self) -> Result<Option<Name<'a>>, Corrupt> {
        self.view.module(self.region)
    }

    /// The symbol's further names: its own in the order of the input's tables,
    /// then those of bigger symbols with the same start.
    pub fn aliases(&self) -> impl Iterator<Item = Result<AliasName<'a>, Corrupt>> + use<'a> {
        let view = self.view;
        let owner = self.id;
        let all = if self.attrs.has(Attrs::HAS_ALIASES) { view.aliases } else { &[] };
        let first = all.partition_point(|alias| alias.owner.get() < owner);
        let own = all.get(first..).unwrap_or(&[]);
        own.iter().take_while(move |alias| alias.owner.get() == owner).enumerate().map(
            move |(i, alias)| {
                let stored =
                    view.stored_name(alias.name.get(), alias.name_len.get()).ok_or_else(|| {
                        let at = u32::try_from(first.saturating_add(i)).unwrap_or(NONE);
                        Corrupt::entry(SectionId::ALIASES, at)
                    })?;
                Ok(AliasName { stored, size: alias.size.get(), attrs: Attrs(alias.attrs.get()) })
            },
        )
    }
}

/// A further name of a symbol.
#[derive(Clone, Copy, Debug)]
pub struct AliasName<'a> {
    stored: &'a [u8],
    size: u32,
    attrs: Attrs,
}

impl<'a> AliasName<'a> {
    /// The linkage name, without a version.
    #[must_use]
    pub fn name(&self) -> Name<'a> {
        Name::plain(split(self.stored, self.attrs).0)
    }

    /// The name as stored: `f@@V2` for a versioned symbol.
    #[must_use]
    pub fn stored_name(&self) -> Name<'a> {
        Name::plain(self.stored)
    }

    /// The version, if it has one.
    #[must_use]
    pub fn version(&self) -> Option<Name<'a>> {
        split(self.stored, self.attrs).1.map(Name::plain)
    }

    /// Size as the input stated it; 0 = unknown; `u32::MAX` = that or more.
    #[must_use]
    pub fn stated_size(&self) -> u32 {
        self.size
    }

    /// What it names.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.attrs.kind()
    }

    /// Binding.
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.attrs.binding()
    }

    /// True when it stands before the primary name in the input's tables.
    #[must_use]
    pub fn before_primary(&self) -> bool {
        self.attrs.has(Attrs::BEFORE_PRIMARY)
    }
}

/// A section of the input.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    pub(crate) entry: &'a ImageSection,
    pub(crate) name: &'a [u8],
    pub(crate) id: ImageSectionId,
}

impl<'a> Section<'a> {
    /// Its place in the index, for [`crate::Index::lookup_in`].
    #[must_use]
    pub fn id(&self) -> ImageSectionId {
        self.id
    }

    /// Its name; may be empty.
    #[must_use]
    pub fn name(&self) -> Name<'a> {
        Name::plain(self.name)
    }

    /// First svma; 0 in a relocatable file.
    #[must_use]
    pub fn address(&self) -> Svma {
        Svma(self.entry.address.get())
    }

    /// Bytes in memory.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.entry.size.get()
    }

    /// Number in the input's own section table.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.entry.number.get()
    }

    /// True for code.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.entry.flags.get() & SECTION_EXECUTE != 0
    }

    /// True for writable data.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.entry.flags.get() & SECTION_WRITE != 0
    }

    /// True for a thread-local template, which answers no address.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.entry.flags.get() & SECTION_TLS != 0
    }
}

/// What lies at an address, before it is known to have a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'a> {
    Symbol(Symbol<'a>),
    /// A function start without a name.
    Unnamed(u64),
    Nothing,
}

impl<'a> Found<'a> {
    /// The symbol, if it is one.
    #[inline]
    pub(crate) fn symbol(self) -> Option<Symbol<'a>> {
        match self {
            Self::Symbol(symbol) => Some(symbol),
            Self::Unnamed(_) | Self::Nothing => None,
        }
    }
}

impl<'a> View<'a> {
    /// What lies at an svma.
    #[inline]
    pub(crate) fn find(&'a self, address: u64) -> Result<Found<'a>, Corrupt> {
        let offset = address.wrapping_sub(self.hot.base);
        if offset < self.hot.size {
            // The size is at most 2^32, so the offset fits.
            return self.find_in(&self.hot, u32::try_from(offset).unwrap_or(u32::MAX));
        }
        self.find_elsewhere(self.area_at(address)?, address)
    }

    /// What lies at an offset of a section of a relocatable file.
    pub(crate) fn find_in_section(
        &'a self,
        section: u32,
        offset: u64,
    ) -> Result<Found<'a>, Corrupt> {
        self.find_elsewhere(self.area_in(section, offset)?, offset)
    }

    fn find_elsewhere(&'a self, area: Option<Area<'a>>, at: u64) -> Result<Found<'a>, Corrupt> {
        let Some(area) = area else { return Ok(Found::Nothing) };
        let offset = at.wrapping_sub(area.base);
        self.find_in(&area, u32::try_from(offset).unwrap_or(u32::MAX))
    }

    /// What lies at `base + offset` of an area.
    #[inline]
    pub(crate) fn find_in(&'a self, area: &Area<'a>, offset: u32) -> Result<Found<'a>, Corrupt> {
        match crate::search::last_at_or_before(area, offset) {
            Some(position) => self.answer(area, position, offset),
            None => Ok(Found::Nothing),
        }
    }

    /// What the record at `position` answers for `offset`.
    #[inline]
    pub(crate) fn answer(
        &'a self,
        area: &Area<'a>,
        position: usize,
        offset: u32,
    ) -> Result<Found<'a>, Corrupt> {
        let Some(record) = area.records.get(position) else { return Ok(Found::Nothing) };
        let attrs = Attrs(record.attrs.get());
        let id = area.first.wrapping_add(u32::try_from(position).unwrap_or(NONE));
        if attrs.kind() == Kind::Resume {
            return self.resume(area, id, record.name.get(), offset);
        }
        let size = record.size.get();
        let inside = u64::from(offset.wrapping_sub(record.start.get()));
        let size = if size == LARGE_SIZE { self.large_size(id)? } else { u64::from(size) };
        if inside >= size {
            return Ok(Found::Nothing);
        }
        let start = area.base.wrapping_add(u64::from(record.start.get()));
        if attrs.kind() == Kind::Unnamed {
            return Ok(Found::Unnamed(start));
        }
        let stored = self
            .stored_name(record.name.get(), record.name_len.get())
            .ok_or_else(|| Corrupt::entry(SectionId::RECORDS, id))?;
        let region = area.region;
        let view = self;
        Ok(Found::Symbol(Symbol { view, stored, start, size, offset: inside, id, region, attrs }))
    }

    /// The symbol of an earlier record that goes on at `at` (I16).
    #[cold]
    fn resume(
        &'a self,
        area: &Area<'a>,
        at: u32,
        target: u32,
        offset: u32,
    ) -> Result<Found<'a>, Corrupt> {
        let address = area.base.wrapping_add(u64::from(offset));
        let wrong = Corrupt::entry(SectionId::RECORDS, at);
        if target >= at {
            return Err(wrong);
        }
        // Mostly the same region; another one where a symbol crosses 4 GiB.
        let area = match target.checked_sub(area.first) {
            Some(_) => *area,
            None => self.area_of_record(target).ok_or(wrong)?,
        };
        match self.symbol_at(&area, target)? {
            Some(mut symbol) => {
                symbol.offset = address.wrapping_sub(symbol.start);
                let covers = symbol.offset < symbol.size;
                Ok(if covers { Found::Symbol(symbol) } else { Found::Nothing })
            }
            None => self.resume_unnamed(&area, target, address)?.ok_or(wrong),
        }
    }

    /// The nameless function of record `target` that goes on at `address`;
    /// `None` when the record is no function start.
    fn resume_unnamed(
        &self,
        area: &Area<'a>,
        target: u32,
        address: u64,
    ) -> Result<Option<Found<'a>>, Corrupt> {
        let position = target.checked_sub(area.first).map(index);
        let Some(record) = position.and_then(|position| area.records.get(position)) else {
            return Ok(None);
        };
        if Attrs(record.attrs.get()).kind() != Kind::Unnamed {
            return Ok(None);
        }
        let start = area.base.wrapping_add(u64::from(record.start.get()));
        let covers = address.wrapping_sub(start) < self.record_size(record, target)?;
        Ok(Some(if covers { Found::Unnamed(start) } else { Found::Nothing }))
    }

    /// The symbol of record `id`; `None` for resume and unnamed records.
    pub(crate) fn symbol_at(
        &'a self,
        area: &Area<'a>,
        id: u32,
    ) -> Result<Option<Symbol<'a>>, Corrupt> {
        let wrong = || Corrupt::entry(SectionId::RECORDS, id);
        let position = id.checked_sub(area.first).map(index).ok_or_else(wrong)?;
        let record = area.records.get(position).ok_or_else(wrong)?;
        let attrs = Attrs(record.attrs.get());
        if matches!(attrs.kind(), Kind::Resume | Kind::Unnamed) {
            return Ok(None);
        }
        let stored =
            self.stored_name(record.name.get(), record.name_len.get()).ok_or_else(wrong)?;
        Ok(Some(Symbol {
            view: self,
            stored,
            start: area.base.wrapping_add(u64::from(record.start.get())),
            size: self.record_size(record, id)?,
            offset: 0,
            id,
            region: area.region,
            attrs,
        }))
    }

    pub(crate) fn record_size(&self, record: &Record, id: u32) -> Result<u64, Corrupt> {
        match record.size.get() {
            LARGE_SIZE => self.large_size(id),
            size => Ok(u64::from(size)),
        }
    }

    #[cold]
    fn large_size(&self, id: u32) -> Result<u64, Corrupt> {
        self.large
            .binary_search_by_key(&id, |large| large.record.get())
            .ok()
            .and_then(|at| self.large.get(at))
            .map(|large| large.size.get())
            .ok_or_else(|| Corrupt::entry(SectionId::RECORDS, id))
    }

    /// The region that holds an svma, as an area. Regions of a relocatable
    /// file have no svma.
    pub(crate) fn area_at(&self, address: u64) -> Result<Option<Area<'a>>, Corrupt> {
        if self.header.addresses.get() != crate::format::ADDRESSES_SVMA {
            return Ok(None);
        }
        let after = self.regions.partition_point(|region| region.base.get() <= address);
        self.area_if_inside(after.checked_sub(1), |region| {
            address.wrapping_sub(region.base.get()) < region.size.get()
        })
    }

    /// The region that holds an offset of a section of a relocatable file.
    pub(crate) fn area_in(&self, section: u32, offset: u64) -> Result<Option<Area<'a>>, Corrupt> {
        let key = |region: &Region| (region.section.get(), region.base.get());
        let after = self.regions.partition_point(|region| key(region) <= (section, offset));
        self.area_if_inside(after.checked_sub(1), |region| {
            region.section.get() == section
                && offset.wrapping_sub(region.base.get()) < region.size.get()
        })
    }

    fn area_if_inside(
        &self,
        position: Option<usize>,
        inside: impl Fn(&Region) -> bool,
    ) -> Result<Option<Area<'a>>, Corrupt> {
        let Some(position) = position else { return Ok(None) };
        if !self.regions.get(position).is_some_and(inside) {
            return Ok(None);
        }
        let region = u32::try_from(position).unwrap_or(NONE);
        self.area(region).map(Some).ok_or_else(|| Corrupt::entry(SectionId::REGIONS, region))
    }

    /// The region that holds record `id`.
    pub(crate) fn area_of_record(&self, id: u32) -> Option<Area<'a>> {
        let after = self.regions.partition_point(|region| region.first.get() <= id);
        let area = self.area(u32::try_from(after.checked_sub(1)?).ok()?)?;
        (index(id.checked_sub(area.first)?) < area.records.len()).then_some(area)
    }

    pub(crate) fn module(&self, region: u32) -> Result<Option<Name<'a>>, Corrupt> {
        match self.regions.get(index(region)) {
            Some(entry) if entry.module_len.get() != 0 => self
                .stored_name(entry.module.get(), entry.module_len.get())
                .map(|name| Some(Name::plain(name)))
                .ok_or_else(|| Corrupt::entry(SectionId::REGIONS, region)),
            _ => Ok(None),
        }
    }

    pub(crate) fn section(&self, id: ImageSectionId) -> Result<Option<Section<'a>>, Corrupt> {
        let Some(entry) = self.sections.get(index(id.0)) else { return Ok(None) };
        self.stored_name(entry.name.get(), entry.name_len.get())
            .map(|name| Some(Section { entry, name, id }))
            .ok_or_else(|| Corrupt::entry(SectionId::IMAGE_SECTIONS, id.0))
    }

    /// The section of a non-relocatable input that holds an address. Sections
    /// are sorted by address; where two overlap the later one in the table wins.
    pub(crate) fn section_at(&self, address: u64) -> Result<Option<Section<'a>>, Corrupt> {
        let after = self.sections.partition_point(|s| s.address.get() <= address);
        let holds = |section: &&ImageSection| {
            section.flags.get() & SECTION_TLS == 0
                && address.wrapping_sub(section.address.get()) < section.size.get()
        };
        // A bounded look back: empty and thread-local sections share addresses.
        let earlier = self.sections.get(..after).unwrap_or(&[]);
        match earlier.iter().rev().take(64).position(|section| holds(&section)) {
            Some(back) => {
                let at = after.saturating_sub(1).saturating_sub(back);
                self.section(ImageSectionId(u32::try_from(at).unwrap_or(NONE)))
            }
            None => Ok(None),
        }
    }
}
