//! The public face: [`Index`] and every question it answers.
//!
//! This module only routes: opening is in `open`, the search in `search`,
//! answers in `answer`, names in `names`, checks in `verify`.

use core::fmt;

use crate::address::{FileOffset, ImageSectionId, Svma};
use crate::answer::{Found, Section, Symbol};
use crate::error::{Corrupt, OpenError};
use crate::format::{
    ADDRESSES_SECTION, Attrs, Binding, ID_BUILD_ID, ID_UUID, IMAGE_64, IMAGE_BIG_ENDIAN, Kind,
    NONE, SEGMENT_EXECUTE, SectionId, Segment,
};
use crate::frames::Frames;
use crate::names::{Name, NameRef, Walk, split};
use crate::open::{View, index};
use crate::sys::Held;

/// An open index. `Send + Sync`; queries take `&self`, allocate nothing, take
/// no lock and make no system call, so they may run in a signal handler.
///
/// | task | call |
/// |---|---|
/// | open bytes at hand | [`Index::from_bytes`] |
/// | open a file, copied to memory | [`Index::read`] |
/// | open a file, mapped | [`Index::map`] |
/// | address → symbol | [`Index::lookup`] |
/// | return address → symbol | [`Index::lookup_return`] |
/// | file offset → symbol | [`Index::lookup_offset`] |
/// | (section, offset) → symbol | [`Index::lookup_in`] |
/// | many sorted addresses | [`Index::lookup_sorted`] |
/// | address → functions inlined there, files, lines | [`Index::frames`] |
/// | the same of a return address, a file offset, a (section, offset) | [`Index::frames_return`], [`Index::frames_offset`], [`Index::frames_in`] |
/// | name → symbols | [`Index::find`] |
/// | name → text for people | [`Index::display_name`] |
/// | everything | [`Index::symbols`], [`Index::names`] |
/// | is it the right file? | [`Index::build_id`], [`Index::uuid`], [`Index::input_hash`] |
/// | is it whole? | [`Index::verify`] |
pub struct Index<'a> {
    pub(crate) view: Held<View<'a>>,
    #[cfg(feature = "std")]
    pub(crate) _owner: crate::sys::Owner,
}

impl fmt::Debug for Index<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("bytes", &self.view.bytes.len())
            .field("symbols", &self.symbol_count())
            .field("aliases", &self.alias_count())
            .finish_non_exhaustive()
    }
}

/// One way a name is defined: what [`Index::find`] and [`Index::names`] yield.
#[derive(Clone, Copy, Debug)]
pub struct Match<'a> {
    pub(crate) view: &'a View<'a>,
    pub(crate) stored: &'a [u8],
    address: u64,
    size: u64,
    section: u32,
    region: u32,
    attrs: Attrs,
    alias: bool,
    name_only: bool,
}

impl<'a> Match<'a> {
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

    /// The version, if it has one, and whether it is the default one.
    #[must_use]
    pub fn version(&self) -> Option<(Name<'a>, bool)> {
        let (_, version, default) = split(self.stored, self.attrs);
        version.map(|version| (Name::plain(version), default))
    }

    /// Its svma; in a relocatable file the offset in [`Match::section`]; the
    /// value itself for absolute and thread-local symbols.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes it reaches over; 0 = unknown.
    #[must_use]
    pub fn size(&self) -> u64 {
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

    /// True for a `.cold`, `.part`, … piece of another function.
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.attrs.has(Attrs::PART)
    }

    /// True when an address never answers this name first.
    #[must_use]
    pub fn is_alias(&self) -> bool {
        self.alias
    }

    /// True when it answers no address at all (thread-local, absolute, markers).
    #[must_use]
    pub fn is_name_only(&self) -> bool {
        self.name_only
    }

    /// The input's section it is defined in.
    ///
    /// # Errors
    /// [`Corrupt`] when its entry or name is damaged.
    pub fn section(&self) -> Result<Option<Section<'a>>, Corrupt> {
        match (self.section, self.kind()) {
            (NONE, Kind::Tls | Kind::Absolute) => Ok(None),
            (NONE, _) => self.view.section_at(self.address),
            (section, _) => self.view.section(ImageSectionId(section)),
        }
    }

    /// The kernel module it belongs to; `None` for everything else.
    ///
    /// # Errors
    /// [`Corrupt`] when the name is damaged.
    pub fn module(&self) -> Result<Option<Name<'a>>, Corrupt> {
        if matches!(self.kind(), Kind::Tls | Kind::Absolute) {
            return Ok(None);
        }
        if self.region != NONE {
            return self.view.module(self.region);
        }
        // A marker at the end of its section's run belongs to that run, not to
        // the module that starts there.
        let at = match self.view.section(ImageSectionId(self.section))? {
            Some(section) if self.name_only => section.address().0,
            _ => self.address,
        };
        match self.view.area_at(at)? {
            Some(area) => self.view.module(area.region),
            None => Ok(None),
        }
    }
}

impl<'a> Index<'a> {
    /// An index over bytes at hand, borrowed: no copy, no heap.
    ///
    /// # Errors
    /// [`OpenError`] names the broken invariant. Opening checks the header and
    /// the section table; damage further in is found by the query that meets
    /// it ([`Corrupt`]) or by [`Index::verify`].
    ///
    /// ```
    /// let error = symidx::Index::from_bytes(b"not an index").unwrap_err();
    /// assert!(error.to_string().contains("expected a .symidx file"));
    /// ```
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, OpenError> {
        Ok(Self {
            view: Held::new(View::open(bytes)?),
            #[cfg(feature = "std")]
            _owner: crate::sys::Owner::Borrowed,
        })
    }

    /// The symbol that covers an svma; `Ok(None)` when none does. The innermost
    /// one where symbols nest. Always `None` in an index of a relocatable
    /// file, which has no svmas: see [`Index::lookup_in`].
    ///
    /// # Errors
    /// [`Corrupt`] when the bytes met on the way break a promise.
    ///
    /// ```
    /// # fn show(index: &symidx::Index<'_>) -> Result<(), symidx::Corrupt> {
    /// match index.lookup(symidx::Svma(0x401136))? {
    ///     Some(symbol) => println!("{}+{:#x}", symbol.name(), symbol.offset()),
    ///     None => println!("no symbol covers it"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn lookup(&self, address: Svma) -> Result<Option<Symbol<'_>>, Corrupt> {
        self.view.find(address.0).map(Found::symbol)
    }

    /// The start of the nameless function that covers an svma: tells a miss in
    /// a stripped function from a gap. `None` wherever [`Index::lookup`] answers.
    ///
    /// # Errors
    /// As [`Index::lookup`].
    pub fn unnamed_function(&self, address: Svma) -> Result<Option<Svma>, Corrupt> {
        Ok(match self.view.find(address.0)? {
            Found::Unnamed(start) => Some(Svma(start)),
            _ => None,
        })
    }

    /// The symbol of the call before a return address: looks up the byte in
    /// front of it, since a call that never returns can be the last
    /// instruction of its function. [`Symbol::offset`] counts to that byte.
    ///
    /// # Errors
    /// As [`Index::lookup`].
    ///
    /// ```
    /// # fn show(index: &symidx::Index<'_>) -> Result<(), symidx::Corrupt> {
    /// // Every stack entry but the innermost is a return address.
    /// let caller = index.lookup_return(symidx::Svma(0x401180))?;
    /// # let _ = caller; Ok(())
    /// # }
    /// ```
    pub fn lookup_return(&self, address: Svma) -> Result<Option<Symbol<'_>>, Corrupt> {
        match address.0.checked_sub(1) {
            Some(call) => self.lookup(Svma(call)),
            None => Ok(None),
        }
    }

    /// The symbol at an offset of the binary's file, as profilers record it.
    ///
    /// # Errors
    /// As [`Index::lookup`].
    ///
    /// ```
    /// # fn show(index: &symidx::Index<'_>) -> Result<(), symidx::Corrupt> {
    /// // A sample in a line of /proc/PID/maps: ip - start + pgoff.
    /// let (ip, start, pgoff) = (0x7f12_3456_7890, 0x7f12_3456_0000, 0x2000);
    /// let symbol = index.lookup_offset(symidx::FileOffset(ip - start + pgoff))?;
    /// # let _ = symbol; Ok(())
    /// # }
    /// ```
    pub fn lookup_offset(&self, offset: FileOffset) -> Result<Option<Symbol<'_>>, Corrupt> {
        match self.svma_of(offset) {
            Some(svma) => self.lookup(svma),
            None => Ok(None),
        }
    }

    /// The symbol at an offset of a section of a relocatable file (`.o`,
    /// `.ko`); in other inputs at that offset of the section's address. `None`
    /// in a thread-local section, which only seems to have addresses.
    ///
    /// # Errors
    /// As [`Index::lookup`].
    pub fn lookup_in(
        &self,
        section: ImageSectionId,
        offset: u64,
    ) -> Result<Option<Symbol<'_>>, Corrupt> {
        if !self.is_relocatable() {
            let Some(section) = self.view.section(section)? else { return Ok(None) };
            return match section.address().0.checked_add(offset) {
                Some(address) if offset < section.size() && !section.is_tls() => {
                    self.lookup(Svma(address))
                }
                _ => Ok(None),
            };
        }
        self.view.find_in_section(section.0, offset).map(Found::symbol)
    }

    /// The frames of an svma, innermost first: the functions inlined there,
    /// then the one that holds the code. Empty where there is neither a symbol
    /// nor a line.
    ///
    /// # Errors
    /// [`Corrupt`] when the bytes met on the way break a promise; so may each frame.
    ///
    /// ```
    /// # fn show(index: &symidx::Index<'_>) -> Result<(), symidx::Corrupt> {
    /// for frame in index.frames(symidx::Svma(0x401136))? {
    ///     let frame = frame?;
    ///     if let (Some(function), Some(file)) = (frame.function(), frame.file()) {
    ///         println!("{function} at {file}:{}", frame.line().unwrap_or(0));
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[inline(always)]
    pub fn frames(&self, address: Svma) -> Result<Frames<'_>, Corrupt> {
        Frames::new(&self.view, NONE, address.0)
    }

    /// The frames of the call before a return address, as [`Index::lookup_return`].
    ///
    /// # Errors
    /// As [`Index::frames`].
    pub fn frames_return(&self, address: Svma) -> Result<Frames<'_>, Corrupt> {
        match address.0.checked_sub(1) {
            Some(call) => self.frames(Svma(call)),
            None => Ok(Frames::none(&self.view)),
        }
    }

    /// The frames at an offset of the binary's file, as [`Index::lookup_offset`].
    ///
    /// # Errors
    /// As [`Index::frames`].
    pub fn frames_offset(&self, offset: FileOffset) -> Result<Frames<'_>, Corrupt> {
        match self.svma_of(offset) {
            Some(svma) => self.frames(svma),
            None => Ok(Frames::none(&self.view)),
        }
    }

    /// The frames at an offset of a section, as [`Index::lookup_in`].
    ///
    /// # Errors
    /// As [`Index::frames`].
    pub fn frames_in(&self, section: ImageSectionId, offset: u64) -> Result<Frames<'_>, Corrupt> {
        if self.is_relocatable() {
            return Frames::new(&self.view, section.0, offset);
        }
        let Some(section) = self.view.section(section)? else {
            return Ok(Frames::none(&self.view));
        };
        match section.address().0.checked_add(offset) {
            Some(address) if offset < section.size() && !section.is_tls() => {
                self.frames(Svma(address))
            }
            _ => Ok(Frames::none(&self.view)),
        }
    }

    /// True when the index has lines: then an address without one is one that
    /// DWARF says nothing of.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        !self.view.line_spans.is_empty()
    }

    /// How many lines and inlined functions the index holds; linear in its size.
    #[must_use]
    pub fn line_counts(&self) -> crate::LineCounts {
        self.view.line_counts()
    }

    /// One answer per address, for addresses in ascending order: each search
    /// starts where the last one ended. Addresses out of order are answered
    /// right too, only slower.
    ///
    /// ```
    /// # fn show(index: &symidx::Index<'_>) -> Result<(), symidx::Corrupt> {
    /// let addresses = [0x401000, 0x401010, 0x402000].map(symidx::Svma);
    /// for (address, symbol) in addresses.iter().zip(index.lookup_sorted(addresses)) {
    ///     println!("{address} {}", symbol?.map_or("?".into(), |s| s.name().to_string()));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn lookup_sorted<I>(&self, addresses: I) -> crate::batch::Sorted<'_, I::IntoIter>
    where
        I: IntoIterator<Item = Svma>,
    {
        crate::batch::Sorted::new(&self.view, addresses.into_iter())
    }

    /// Every definition of a name: `f` finds `f`, `f@@V2` and `f@V1` (the
    /// default version first), `f@V1` finds just that one. Exact bytes, no
    /// demangling.
    ///
    /// ```
    /// # fn show(index: &symidx::Index<'_>) -> Result<(), symidx::Corrupt> {
    /// for found in index.find("main") {
    ///     println!("{:#x}", found?.address());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn find<'q, N: AsRef<[u8]> + ?Sized>(
        &self,
        name: &'q N,
    ) -> impl Iterator<Item = Result<Match<'_>, Corrupt>> + use<'_, 'q, N> {
        let name = name.as_ref();
        let view = &self.view;
        let mut walks = [Walk::plain(view, name), Walk::versioned(view, name)].into_iter();
        let mut walk = walks.next();
        core::iter::from_fn(move || {
            loop {
                match walk.as_mut()?.next_id() {
                    Ok(Some(id)) => return Some(self.match_of(id)),
                    Ok(None) => walk = walks.next(),
                    Err(corrupt) => {
                        walk = None;
                        return Some(Err(corrupt));
                    }
                }
            }
        })
    }

    /// Every name in the index, aliases and names without an address
    /// included: records in address order, then aliases, then the rest.
    pub fn names(&self) -> impl Iterator<Item = Result<Match<'_>, Corrupt>> + use<'_> {
        let ids = u32::try_from(self.view.name_ids()).unwrap_or(u32::MAX);
        (0..ids).filter(|&id| self.view.is_findable(id)).map(|id| self.match_of(id))
    }

    fn match_of(&self, id: u32) -> Result<Match<'_>, Corrupt> {
        let view = &self.view;
        let wrong = || Corrupt::entry(SectionId::NAME_ORDER, id);
        let (name_ref, stored, attrs) = view.named(id)?;
        let (record, alias_size) = match name_ref {
            NameRef::NameOnly(i) => {
                let only = view.names_only.get(i).ok_or_else(wrong)?;
                return Ok(Match {
                    view,
                    stored,
                    address: only.value.get(),
                    size: only.size.get().into(),
                    section: only.section.get(),
                    region: NONE,
                    attrs,
                    alias: false,
                    name_only: true,
                });
            }
            NameRef::Record(i) => (u32::try_from(i).unwrap_or(NONE), None),
            NameRef::Alias(i) => {
                let alias = view.aliases.get(i).ok_or_else(wrong)?;
                (alias.owner.get(), Some(u64::from(alias.size.get())))
            }
        };
        let wrong = || match name_ref {
            NameRef::Alias(i) => {
                Corrupt::entry(SectionId::ALIASES, u32::try_from(i).unwrap_or(NONE))
            }
            _ => Corrupt::entry(SectionId::RECORDS, record),
        };
        let area = view.area_of_record(record).ok_or_else(wrong)?;
        let owner = view.symbol_at(&area, record)?.ok_or_else(wrong)?;
        let section = view.regions.get(index(area.region)).map_or(NONE, |r| r.section.get());
        Ok(Match {
            view,
            stored,
            address: owner.start().0,
            size: owner.size(),
            section,
            region: area.region,
            attrs,
            alias: alias_size.is_some(),
            name_only: false,
        })
    }

    /// Every symbol that owns addresses, in address order (by section, then
    /// offset, in a relocatable file). Names without an address are in
    /// [`Index::names`].
    pub fn symbols(&self) -> impl Iterator<Item = Result<Symbol<'_>, Corrupt>> + use<'_> {
        let view = &self.view;
        let regions = u32::try_from(view.regions.len()).unwrap_or(0);
        // A region that claims records of the one before is broken: so the
        // walk is never longer than there are records.
        let mut next = 0u32;
        (0..regions).flat_map(move |region| {
            let area = view.area(region).filter(|area| area.first >= next);
            let end = area.map_or(next, |area| {
                let count = u32::try_from(area.records.len()).unwrap_or(u32::MAX);
                area.first.saturating_add(count)
            });
            next = end;
            let broken = area.is_none().then(|| Err(Corrupt::entry(SectionId::REGIONS, region)));
            let symbols = area.into_iter().flat_map(move |area| {
                (area.first..end).filter_map(move |id| view.symbol_at(&area, id).transpose())
            });
            broken.into_iter().chain(symbols)
        })
    }

    /// The input's sections, in file order when relocatable, else by address.
    pub fn sections(&self) -> impl Iterator<Item = Result<Section<'_>, Corrupt>> + use<'_> {
        let count = u32::try_from(self.view.sections.len()).unwrap_or(0);
        (0..count).filter_map(|id| self.view.section(ImageSectionId(id)).transpose())
    }

    /// The first section with this name.
    ///
    /// # Errors
    /// [`Corrupt`] when a section's entry is damaged.
    pub fn section_by_name(&self, name: &[u8]) -> Result<Option<Section<'_>>, Corrupt> {
        for section in self.sections() {
            let section = section?;
            if section.name() == *name {
                return Ok(Some(section));
            }
        }
        Ok(None)
    }

    /// The section that a bare address of a relocatable file means: `.text`
    /// if it has one, else its first executable section.
    ///
    /// # Errors
    /// As [`Index::section_by_name`].
    pub fn default_section(&self) -> Result<Option<Section<'_>>, Corrupt> {
        if let Some(text) = self.section_by_name(b".text")? {
            return Ok(Some(text));
        }
        for section in self.sections() {
            let section = section?;
            if section.is_executable() {
                return Ok(Some(section));
            }
        }
        Ok(None)
    }

    /// The input's loadable segments.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        self.view.segments
    }

    /// The svma of a file offset; the executable segment where two hold it
    /// (text and data may share a page of the file).
    #[must_use]
    pub fn svma_of(&self, offset: FileOffset) -> Option<Svma> {
        self.svma_in_mapping(offset, true)
    }

    /// The svma of a file offset in a mapping that is executable or is not:
    /// text and data may share a page of the file, and the mapping tells which
    /// of them is meant. The other segment where only that holds the offset.
    #[must_use]
    pub fn svma_in_mapping(&self, offset: FileOffset, executable: bool) -> Option<Svma> {
        let inside = |segment: &&Segment| {
            offset.0.wrapping_sub(segment.file_offset.get()) < segment.file_size.get()
        };
        let same = |segment: &&Segment| (segment.flags.get() & SEGMENT_EXECUTE != 0) == executable;
        let mut holding = self.view.segments.iter().filter(inside);
        let segment = match holding.clone().find(same) {
            Some(segment) => segment,
            None => holding.next()?,
        };
        let into = offset.0.checked_sub(segment.file_offset.get())?;
        segment.address.get().checked_add(into).map(Svma)
    }

    /// The file offset of an svma; `None` where the file has no bytes for it.
    #[must_use]
    pub fn file_offset_of(&self, svma: Svma) -> Option<FileOffset> {
        let segment =
            self.view.segments.iter().find(|segment| {
                svma.0.wrapping_sub(segment.address.get()) < segment.file_size.get()
            })?;
        let into = svma.0.checked_sub(segment.address.get())?;
        segment.file_offset.get().checked_add(into).map(FileOffset)
    }

    /// The lowest svma of a loadable segment: what a loader places at the
    /// image's load address.
    #[must_use]
    pub fn image_base(&self) -> Option<Svma> {
        self.view.segments.iter().map(|segment| Svma(segment.address.get())).min()
    }

    /// True when keys are (section, offset): the input was a `.o` or `.ko`.
    #[must_use]
    pub fn is_relocatable(&self) -> bool {
        self.view.header.addresses.get() == ADDRESSES_SECTION
    }

    /// The input's GNU build-id.
    #[must_use]
    pub fn build_id(&self) -> Option<&[u8]> {
        self.id_of_kind(ID_BUILD_ID)
    }

    /// The input's Mach-O UUID.
    #[must_use]
    pub fn uuid(&self) -> Option<[u8; 16]> {
        self.id_of_kind(ID_UUID)?.try_into().ok()
    }

    fn id_of_kind(&self, kind: u32) -> Option<&[u8]> {
        let identity = self.view.identity;
        match identity.id_kind.get() == kind {
            true => identity.id.get(..index(identity.id_len.get())),
            false => None,
        }
    }

    /// BLAKE3 of the input file: identity for inputs without a build-id.
    #[must_use]
    pub fn input_hash(&self) -> &[u8; 32] {
        &self.view.identity.input_hash
    }

    /// Bytes of the input file.
    #[must_use]
    pub fn input_size(&self) -> u64 {
        self.view.identity.input_size.get()
    }

    /// BLAKE3 over build options and every file read: equal digest, equal index.
    #[must_use]
    pub fn inputs_digest(&self) -> &[u8; 32] {
        &self.view.identity.inputs_digest
    }

    /// Everything the file says about its input, as stored.
    #[must_use]
    pub fn identity(&self) -> &crate::format::Identity {
        self.view.identity
    }

    /// True for 64-bit inputs.
    #[must_use]
    pub fn is_64(&self) -> bool {
        self.view.identity.image_flags & IMAGE_64 != 0
    }

    /// True for big-endian inputs.
    #[must_use]
    pub fn is_big_endian(&self) -> bool {
        self.view.identity.image_flags & IMAGE_BIG_ENDIAN != 0
    }

    /// One more than the largest [`Symbol::id`]: entries that answer
    /// addresses, the few that only resume an earlier one included.
    #[must_use]
    pub fn symbol_count(&self) -> u32 {
        u32::try_from(self.view.records.len()).unwrap_or(u32::MAX)
    }

    /// How many further names there are.
    #[must_use]
    pub fn alias_count(&self) -> u32 {
        u32::try_from(self.view.aliases.len()).unwrap_or(u32::MAX)
    }

    /// How many names answer no address (thread-local, absolute, markers).
    #[must_use]
    pub fn names_only_count(&self) -> u32 {
        u32::try_from(self.view.names_only.len()).unwrap_or(u32::MAX)
    }

    /// The file's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.view.bytes
    }

    /// The archived metadata, not validated; empty when there is none.
    #[must_use]
    pub fn metadata_bytes(&self) -> &[u8] {
        self.view.metadata
    }

    /// The file's sections: id, offset and bytes of each, for tools.
    pub fn file_sections(&self) -> impl Iterator<Item = FileSection> + use<'_> {
        self.view.table.iter().map(|entry| FileSection {
            id: SectionId(entry.id.get()),
            offset: entry.offset.get(),
            size: entry.size.get(),
            encoding: entry.encoding.get(),
            hash: entry.hash,
        })
    }

    /// True when the address lies in an executable section of the input.
    #[must_use]
    pub fn is_code(&self, address: Svma) -> bool {
        let section = self.view.section_at(address.0);
        matches!(section, Ok(Some(section)) if section.is_executable())
    }
}

/// One section of the `.symidx` file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FileSection {
    /// Which one.
    pub id: SectionId,
    /// File offset of its first byte.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    /// How it is encoded.
    pub encoding: u32,
    /// BLAKE3 of its bytes.
    pub hash: [u8; 32],
}
