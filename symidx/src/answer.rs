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
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// // What a profiler prints: the name, and how far in it the address is.
/// let symbol = index.lookup(symidx::Svma(0x4001a8))?.unwrap();
/// assert_eq!(format!("{}+{:#x}", symbol.name(), symbol.offset()), "outer+0x8");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    pub(crate) view: &'a View<'a>,
    pub(crate) stored: Name<'a>,
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x1040))?.unwrap();
    /// assert_eq!(symbol.name(), "verfn"); // stored as verfn@@V2
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn name(&self) -> Name<'a> {
        split(self.stored, self.attrs).0
    }

    /// The name as stored: `f@@V2` for a versioned symbol.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// // Two functions of one name: only the stored names tell them apart.
    /// let old = index.lookup(symidx::Svma(0x1030))?.unwrap();
    /// let new = index.lookup(symidx::Svma(0x1040))?.unwrap();
    /// assert!(old.name() == new.name() && old.stored_name() == "verfn@V1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stored_name(&self) -> Name<'a> {
        self.stored
    }

    /// The symbol's version (`V2` of `f@@V2`), if it has one.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x1030))?.unwrap();
    /// assert_eq!(symbol.version().unwrap(), "V1");
    /// assert!(index.lookup(symidx::Svma(0x1000))?.unwrap().version().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> Option<Name<'a>> {
        split(self.stored, self.attrs).1
    }

    /// First address: an svma, or an offset in [`Symbol::section`] when the
    /// input is relocatable.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Addresses of one function are counted together by its start.
    /// let first = index.lookup(symidx::Svma(0x4001a0))?.unwrap();
    /// let last = index.lookup(symidx::Svma(0x400210))?.unwrap();
    /// assert_eq!(first.start(), last.start());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn start(&self) -> Svma {
        Svma(self.start)
    }

    /// Bytes the symbol reaches over, at least 1; [`Symbol::extent`] says how
    /// this is known.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x4001a8))?.unwrap();
    /// let code = symbol.start().0..symbol.start().0 + symbol.size();
    /// assert_eq!(code, 0x4001a0..0x400211); // what a disassembler is given
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes from the symbol's start to the address looked up (0 for symbols
    /// that come from an iterator).
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x400222))?.unwrap();
    /// assert_eq!(format!("{}+{:#x}", symbol.name(), symbol.offset()), "_start+0x2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What it names.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x400270))?.unwrap();
    /// assert_eq!(symbol.kind(), symidx::Kind::Object); // data: no frame of a stack
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.attrs.kind()
    }

    /// Binding of the primary name.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x400170))?.unwrap();
    /// assert_eq!(symbol.binding(), symidx::Binding::Local); // others may have this name too
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.attrs.binding()
    }

    /// How the size is known.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/kallsyms.symidx")))?;
    /// // kallsyms states no sizes: the function goes on to the next symbol at most.
    /// let symbol = index.lookup(symidx::Svma(0xffff_ffff_8100_1010))?.unwrap();
    /// assert_eq!((symbol.size(), symbol.extent()), (64, symidx::Extent::Inferred));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.attrs.extent()
    }

    /// True for a `.cold`, `.part`, … piece of another function.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // A profile may add the cold half of a function to the function.
    /// let symbol = index.lookup(symidx::Svma(0x40018c))?.unwrap();
    /// assert!(symbol.is_part() && symbol.name() == "_start.cold");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.attrs.has(Attrs::PART)
    }

    /// True when several functions share these bytes (identical code folding).
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x4001a8))?.unwrap();
    /// // Where it is true, the name is one of several that are all right.
    /// assert!(!symbol.is_folded());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_folded(&self) -> bool {
        self.attrs.has(Attrs::FOLDED)
    }

    /// True when only DWARF knows the symbol.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x4001a8))?.unwrap();
    /// assert!(!symbol.is_dwarf()); // `nm` lists it as well
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_dwarf(&self) -> bool {
        self.attrs.has(Attrs::DWARF)
    }

    /// A number for this symbol, the same for every address it answers;
    /// smaller than [`crate::Index::symbol_count`].
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // One counter per symbol, without a map.
    /// let mut hits = vec![0; index.symbol_count() as usize];
    /// for address in [0x4001a0, 0x4001a8, 0x400264] {
    ///     hits[index.lookup(symidx::Svma(address))?.unwrap().id() as usize] += 1;
    /// }
    /// assert_eq!(hits[index.lookup(symidx::Svma(0x4001a1))?.unwrap().id() as usize], 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The input's section that holds the symbol.
    ///
    /// # Errors
    /// [`Corrupt`] when its entry or name is damaged.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x4001a8))?.unwrap();
    /// assert_eq!(symbol.section()?.unwrap().name(), ".text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/kallsyms.symidx")))?;
    /// // As kallsyms and perf write it: `helper [mod_a]`.
    /// let symbol = index.lookup(symidx::Svma(0xffff_ffff_c010_0080))?.unwrap();
    /// assert_eq!(format!("{} [{}]", symbol.name(), symbol.module()?.unwrap()), "helper [mod_a]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn module(&self) -> Result<Option<Name<'a>>, Corrupt> {
        self.view.module(self.region)
    }

    /// The symbol's further names: its own in the order of the input's tables,
    /// then those of bigger symbols with the same start.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x1010))?.unwrap();
    /// let mut names = symbol.name().to_string();
    /// for alias in symbol.aliases() {
    ///     names += &format!(" = {}", alias?.name());
    /// }
    /// assert_eq!(names, "__strdup = __GI_strdup = strdup");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
/// // The name that callers wrote, among those of one address: the weak one here.
/// let symbol = index.lookup(symidx::Svma(0x1010))?.unwrap();
/// let weak = symbol.aliases().flatten().find(|alias| alias.binding() == symidx::Binding::Weak);
/// assert_eq!(weak.unwrap().name(), "strdup");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AliasName<'a> {
    stored: Name<'a>,
    size: u32,
    attrs: Attrs,
}

impl<'a> AliasName<'a> {
    /// The linkage name, without a version.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x1020))?.unwrap();
    /// assert_eq!(symbol.aliases().next().unwrap()?.name(), "label_alias");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> Name<'a> {
        split(self.stored, self.attrs).0
    }

    /// The name as stored: `f@@V2` for a versioned symbol.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x1010))?.unwrap();
    /// assert_eq!(symbol.aliases().last().unwrap()?.stored_name(), "strdup@@V1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stored_name(&self) -> Name<'a> {
        self.stored
    }

    /// The version, if it has one.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x1010))?.unwrap();
    /// let versions = symbol.aliases().flatten().map(|alias| alias.version().map(|v| v.to_string()));
    /// assert_eq!(versions.collect::<Vec<_>>(), [None, Some("V1".into())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> Option<Name<'a>> {
        split(self.stored, self.attrs).1
    }

    /// Size as the input stated it; 0 = unknown; `u32::MAX` = that or more.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// // A label without a size, inside the 16 bytes of a function.
    /// let symbol = index.lookup(symidx::Svma(0x1020))?.unwrap();
    /// assert_eq!(symbol.aliases().next().unwrap()?.stated_size(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stated_size(&self) -> u32 {
        self.size
    }

    /// What it names.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x1020))?.unwrap();
    /// assert_eq!(symbol.aliases().next().unwrap()?.kind(), symidx::Kind::Label);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.attrs.kind()
    }

    /// Binding.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// // A tool that prefers exported names leaves out the local ones.
    /// let symbol = index.lookup(symidx::Svma(0x1010))?.unwrap();
    /// let local = |alias: &symidx::AliasName<'_>| alias.binding() == symidx::Binding::Local;
    /// assert_eq!(symbol.aliases().flatten().filter(local).count(), 1); // __GI_strdup
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.attrs.binding()
    }

    /// True when it stands before the primary name in the input's tables.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// // perf takes the first of equal names in table order: this tells that order.
    /// let symbol = index.lookup(symidx::Svma(0x1010))?.unwrap();
    /// let before: Vec<_> = symbol.aliases().flatten().map(|alias| alias.before_primary()).collect();
    /// assert_eq!(before, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn before_primary(&self) -> bool {
        self.attrs.has(Attrs::BEFORE_PRIMARY)
    }
}

/// A section of the input.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// for section in index.sections() {
///     let section = section?;
///     if section.is_executable() {
///         assert_eq!((section.name().to_string(), section.size()), (".text".into(), 248));
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    pub(crate) entry: &'a ImageSection,
    pub(crate) name: Name<'a>,
    pub(crate) id: ImageSectionId,
}

impl<'a> Section<'a> {
    /// Its place in the index, for [`crate::Index::lookup_in`].
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/relocatable.symidx")))?;
    /// // In a `.o`, an address is a section and an offset.
    /// let section = index.section_by_name(b".text.two")?.unwrap();
    /// assert_eq!(index.lookup_in(section.id(), 0)?.unwrap().name(), "two");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> ImageSectionId {
        self.id
    }

    /// Its name; may be empty.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let names = index.sections().flatten().map(|section| section.name().to_string());
    /// assert_eq!(names.collect::<Vec<_>>(), [".note.gnu.build-id", ".text", ".bss"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> Name<'a> {
        self.name
    }

    /// First svma; 0 in a relocatable file.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // `objdump` counts from the section: `.text + 0x38`.
    /// let text = index.section_by_name(b".text")?.unwrap();
    /// assert_eq!(0x4001a8 - text.address().0, 0x38);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn address(&self) -> Svma {
        Svma(self.entry.address.get())
    }

    /// Bytes in memory.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let text = index.section_by_name(b".text")?.unwrap();
    /// assert_eq!(text.size(), 0xf8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn size(&self) -> u64 {
        self.entry.size.get()
    }

    /// Number in the input's own section table.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // As `readelf -S` numbers it, to read the section from the binary.
    /// assert_eq!(index.section_by_name(b".text")?.unwrap().number(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn number(&self) -> u32 {
        self.entry.number.get()
    }

    /// True for code.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let code = index.sections().flatten().filter(|section| section.is_executable());
    /// assert_eq!(code.map(|section| section.size()).sum::<u64>(), 248); // where stacks can point
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.entry.flags.get() & SECTION_EXECUTE != 0
    }

    /// True for writable data.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x400270))?.unwrap();
    /// assert!(symbol.section()?.unwrap().is_writable()); // a variable, no constant
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.entry.flags.get() & SECTION_WRITE != 0
    }

    /// True for a thread-local template, which answers no address.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/rich.symidx")))?;
    /// // Its addresses are those of a template, and look like those of `.data`.
    /// assert!(index.section_by_name(b".tbss")?.unwrap().is_tls());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
                .map(Some)
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
