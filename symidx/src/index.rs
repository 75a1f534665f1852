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
use crate::names::{Name, NameRef, PackedPlace, Walk, split};
use crate::open::{View, index};
use crate::packed::Dictionary;
use crate::sys::Held;

/// An open index. `Send + Sync`; queries take `&self`, allocate nothing, take
/// no lock and make no system call, so they may run in a signal handler.
///
/// | task | call |
/// |---|---|
/// | open bytes at hand | [`Index::from_bytes`] |
/// | open a file, copied to memory | [`Index::read`] |
/// | open a file, mapped | [`Index::map`]; for one address `Index::map_sparse` |
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
///
/// ```
/// use symidx::{Index, Svma};
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx"));
/// let index = Index::from_bytes(bytes)?;
/// let symbol = index.lookup(Svma(0x4001a8))?;
/// assert_eq!(symbol.unwrap().name(), "outer");
/// assert!(index.lookup(Svma(0x400211))?.is_none()); // between two functions
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
/// // `f` finds every version; each knows where it is.
/// let mut text = String::new();
/// for found in index.find("verfn") {
///     let found = found?;
///     text += &format!("{} {:#x} ", found.stored_name(), found.address());
/// }
/// assert_eq!(text, "verfn@@V2 0x1040 verfn@V1 0x1030 ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Match<'a> {
    pub(crate) view: &'a View<'a>,
    pub(crate) stored: Name<'a>,
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// assert_eq!(index.find("verfn@V1").next().unwrap()?.name(), "verfn");
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
    /// assert_eq!(index.find("strdup").next().unwrap()?.stored_name(), "strdup@@V1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stored_name(&self) -> Name<'a> {
        self.stored
    }

    /// The version, if it has one, and whether it is the default one.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/libal.symidx")))?;
    /// // `f@@V2`: what a program that is linked today gets.
    /// let (version, is_default) = index.find("verfn").next().unwrap()?.version().unwrap();
    /// assert!(is_default && version == "V2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version(&self) -> Option<(Name<'a>, bool)> {
        let (_, version, default) = split(self.stored, self.attrs);
        version.map(|version| (version, default))
    }

    /// Its svma; in a relocatable file the offset in [`Match::section`]; the
    /// value itself for absolute and thread-local symbols.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // To set a breakpoint or a probe: the start, to be moved by the load bias.
    /// assert_eq!(index.find("outer").next().unwrap()?.address(), 0x4001a0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes it reaches over; 0 = unknown.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert_eq!(index.find("outer").next().unwrap()?.size(), 0x71);
    /// assert_eq!(index.find("_end").next().unwrap()?.size(), 0); // a label
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What it names.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert_eq!(index.find("sink").next().unwrap()?.kind(), symidx::Kind::Object);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.attrs.kind()
    }

    /// Binding.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/kallsyms.symidx")))?;
    /// // Two local functions of one name may both be meant.
    /// let locals = index.find("helper").flatten().filter(|m| m.binding() == symidx::Binding::Local);
    /// assert_eq!(locals.count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.attrs.binding()
    }

    /// True for a `.cold`, `.part`, … piece of another function.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert!(index.find("_start.cold").next().unwrap()?.is_part());
    /// assert!(!index.find("_start").next().unwrap()?.is_part());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.attrs.has(Attrs::PART)
    }

    /// True when an address never answers this name first.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Looked up by address, this is `sink`.
    /// let found = index.find("__bss_start").next().unwrap()?;
    /// assert!(found.is_alias());
    /// assert_eq!(index.lookup(symidx::Svma(found.address()))?.unwrap().name(), "sink");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_alias(&self) -> bool {
        self.alias
    }

    /// True when it answers no address at all (thread-local, absolute, markers).
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/rich.symidx")))?;
    /// let constant = index.find("constant").next().unwrap()?;
    /// assert!(constant.is_name_only()); // 0x1234 is its value, no address
    /// assert!(index.lookup(symidx::Svma(constant.address()))?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_name_only(&self) -> bool {
        self.name_only
    }

    /// The input's section it is defined in.
    ///
    /// # Errors
    /// [`Corrupt`] when its entry or name is damaged.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/relocatable.symidx")))?;
    /// // In a `.o`, the address is an offset in this section.
    /// let found = index.find("two").next().unwrap()?;
    /// assert_eq!(found.section()?.unwrap().name(), ".text.two");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/kallsyms.symidx")))?;
    /// let found = index.find("mod_a_probe").next().unwrap()?;
    /// assert_eq!(found.module()?.unwrap(), "mod_a");
    /// assert!(index.find("do_one").next().unwrap()?.module()?.is_none()); // the kernel's own
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx"));
    /// let index = symidx::Index::from_bytes(bytes)?; // linked in: no file is opened
    /// assert_eq!(index.symbol_count(), 6);
    ///
    /// let error = symidx::Index::from_bytes(b"not an index").unwrap_err();
    /// assert!(error.to_string().contains("expected a .symidx file"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
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
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let symbol = index.lookup(symidx::Svma(0x4001a8))?.unwrap();
    /// assert_eq!(format!("{}+{:#x}", symbol.name(), symbol.offset()), "outer+0x8");
    /// // A byte behind its last one is not its: an honest miss.
    /// assert!(index.lookup(symidx::Svma(0x400211))?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/macho.symidx")))?;
    /// // A function whose name was stripped: a miss, but not a gap.
    /// let gap = symidx::Svma(0x1_0000_0f18);
    /// assert!(index.lookup(gap)?.is_none());
    /// assert_eq!(index.unnamed_function(gap)?, Some(symidx::Svma(0x1_0000_0f18)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Every stack entry but the innermost is a return address. A call that never
    /// // returns ends `_start.cold`: what follows it is nobody's.
    /// let address = symidx::Svma(0x400191);
    /// assert!(index.lookup(address)?.is_none());
    /// assert_eq!(index.lookup_return(address)?.unwrap().name(), "_start.cold");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
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
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // A sample in a line of /proc/PID/maps: ip - start + pgoff.
    /// let (ip, start, pgoff) = (0x7f12_3456_01a8, 0x7f12_3456_0000, 0);
    /// let symbol = index.lookup_offset(symidx::FileOffset(ip - start + pgoff))?;
    /// assert_eq!(symbol.unwrap().name(), "outer");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/relocatable.symidx")))?;
    /// // Both functions are at offset 0, each of its own section.
    /// let [one, two] = [b".text.one", b".text.two"].map(|name| index.section_by_name(name));
    /// assert_eq!(index.lookup_in(one?.unwrap().id(), 2)?.unwrap().name(), "one");
    /// assert_eq!(index.lookup_in(two?.unwrap().id(), 2)?.unwrap().name(), "two");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let mut text = String::new();
    /// for frame in index.frames(symidx::Svma(0x4001a8))? {
    ///     let frame = frame?;
    ///     if let (Some(function), Some(line)) = (frame.function(), frame.line()) {
    ///         text += &format!("{function}:{line} ");
    ///     }
    /// }
    /// assert_eq!(text, "leaf:6 middle:10 outer:17 ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn frames(&self, address: Svma) -> Result<Frames<'_>, Corrupt> {
        Frames::new(&self.view, NONE, address.0)
    }

    /// The frames of the call before a return address, as [`Index::lookup_return`].
    ///
    /// # Errors
    /// As [`Index::frames`].
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // The call is in line 26; the byte behind it would be another place, or none.
    /// let frame = index.frames_return(symidx::Svma(0x400191))?.next().unwrap()?;
    /// assert_eq!(frame.line(), Some(26));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // As a profile with mappings counts: from the start of the file.
    /// assert_eq!(index.frames_offset(symidx::FileOffset(0x1a8))?.count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/relocatable.symidx")))?;
    /// let text = index.section_by_name(b".text.one")?.unwrap().id();
    /// let frame = index.frames_in(text, 2)?.next().unwrap()?;
    /// assert_eq!(frame.function().unwrap(), "one");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert!(index.has_lines()); // else: built with `--names-only`, or from a stripped file
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn has_lines(&self) -> bool {
        !self.view.line_spans.is_empty()
    }

    /// How many lines and inlined functions the index holds; linear in its size.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let counts = index.line_counts();
    /// assert_eq!((counts.rows, counts.inlined, counts.files), (35, 10, 4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn line_counts(&self) -> crate::LineCounts {
        self.view.line_counts()
    }

    /// One answer per address, for addresses in ascending order: each search
    /// starts where the last one ended. Addresses out of order are answered
    /// right too, only slower.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let mut addresses = [0x400264, 0x4001a8, 0x10].map(symidx::Svma);
    /// addresses.sort_unstable();
    /// let names = index.lookup_sorted(addresses).map(|s| s.map(|s| s.map(|s| s.name().to_string())));
    /// let names = names.collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(names, [None, Some("outer".into()), Some("by_hand".into())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
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
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Where to set a breakpoint.
    /// for found in index.find("outer") {
    ///     assert_eq!(found?.address(), 0x4001a0);
    /// }
    /// assert_eq!(index.find("not there").count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
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

    /// Bytes that the names would take if they were stored plain; `None` where
    /// they are. Packed names are put together when they are read.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// # let packed = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/packed.symidx")))?;
    /// assert_eq!(index.packed_names(), None);
    /// assert_eq!(packed.packed_names(), Some(699)); // built with `--pack-names`
    /// assert_eq!(packed.find("main").next().unwrap()?.name(), "main"); // and read alike
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn packed_names(&self) -> Option<u64> {
        let (head, ..) = Dictionary::read(self.view.names).filter(|_| self.view.packed)?;
        Some(head.plain.get())
    }

    /// The packed name at a place that this index gave; `None` for any other.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/packed.symidx")))?;
    /// # let plain = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let place = index.find("main").next().unwrap()?.name().packed_place().unwrap();
    /// assert_eq!(index.name_at(place).unwrap(), "main");
    /// assert!(plain.name_at(place).is_none()); // its names have no such places
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn name_at(&self, place: PackedPlace) -> Option<Name<'_>> {
        self.view.name_at(place)
    }

    /// Every name in the index, aliases and names without an address
    /// included: records in address order, then aliases, then the rest.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Like `grep`: every name there is, aliases too.
    /// let found = index.names().flatten().filter(|m| m.name().to_string().contains("start"));
    /// assert_eq!(found.count(), 3); // _start, _start.cold, __bss_start
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // The largest functions of a binary.
    /// let mut symbols: Vec<_> = index.symbols().collect::<Result<_, _>>()?;
    /// symbols.sort_by_key(|symbol| std::cmp::Reverse(symbol.size()));
    /// assert_eq!(symbols[0].name(), "outer");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let tls = index.sections().flatten().filter(|section| section.is_tls());
    /// assert_eq!((index.sections().count(), tls.count()), (3, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sections(&self) -> impl Iterator<Item = Result<Section<'_>, Corrupt>> + use<'_> {
        let count = u32::try_from(self.view.sections.len()).unwrap_or(0);
        (0..count).filter_map(|id| self.view.section(ImageSectionId(id)).transpose())
    }

    /// The first section with this name.
    ///
    /// # Errors
    /// [`Corrupt`] when a section's entry is damaged.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert_eq!(index.section_by_name(b".text")?.unwrap().address(), symidx::Svma(0x400170));
    /// assert!(index.section_by_name(b".rodata")?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/relocatable.symidx")))?;
    /// // What `addr2line -e r.o 0x2` means.
    /// assert_eq!(index.default_section()?.unwrap().name(), ".text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // What `readelf -l` shows as LOAD.
    /// let starts: Vec<_> = index.segments().iter().map(|segment| segment.address.get()).collect();
    /// assert_eq!(starts, [0x400000, 0x400170, 0x400270]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        self.view.segments
    }

    /// The svma of a file offset; the executable segment where two hold it
    /// (text and data may share a page of the file).
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert_eq!(index.svma_of(symidx::FileOffset(0x1a8)), Some(symidx::Svma(0x4001a8)));
    /// assert_eq!(index.svma_of(symidx::FileOffset(0x5000)), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn svma_of(&self, offset: FileOffset) -> Option<Svma> {
        self.svma_in_mapping(offset, true)
    }

    /// The svma of a file offset in a mapping that is executable or is not:
    /// text and data may share a page of the file, and the mapping tells which
    /// of them is meant. The other segment where only that holds the offset.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // From an `r-xp` line of /proc/PID/maps: code is meant.
    /// let svma = index.svma_in_mapping(symidx::FileOffset(0x1a8), true);
    /// assert_eq!(svma, Some(symidx::Svma(0x4001a8)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Where to read the code's bytes in the binary. `.bss` has none.
    /// assert_eq!(index.file_offset_of(symidx::Svma(0x4001a8)), Some(symidx::FileOffset(0x1a8)));
    /// assert_eq!(index.file_offset_of(symidx::Svma(0x400270)), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // A loader put the image here: run-time address - load address + base.
    /// let (address, loaded_at) = (0x5555_5555_41a8_u64, 0x5555_5555_4000);
    /// let base = index.image_base().unwrap();
    /// let svma = symidx::Svma(address - loaded_at + base.0);
    /// assert_eq!(index.lookup(svma)?.unwrap().name(), "outer");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn image_base(&self) -> Option<Svma> {
        self.view.segments.iter().map(|segment| Svma(segment.address.get())).min()
    }

    /// True when keys are (section, offset): the input was a `.o` or `.ko`.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/relocatable.symidx")))?;
    /// assert!(index.is_relocatable()); // ask with `lookup_in`: there are no svmas
    /// assert!(index.lookup(symidx::Svma(0))?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_relocatable(&self) -> bool {
        self.view.header.addresses.get() == ADDRESSES_SECTION
    }

    /// The input's GNU build-id.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Compared with what the process, or the profile, says of the mapped file.
    /// assert_eq!(index.build_id(), Some(&[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn build_id(&self) -> Option<&[u8]> {
        self.id_of_kind(ID_BUILD_ID)
    }

    /// The input's Mach-O UUID.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/macho.symidx")))?;
    /// assert_eq!(index.uuid().unwrap()[..4], [0, 1, 2, 3]);
    /// assert_eq!(index.build_id(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let binary = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
    /// assert_eq!(index.input_hash(), blake3::hash(binary).as_bytes()); // it is this file's
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn input_hash(&self) -> &[u8; 32] {
        &self.view.identity.input_hash
    }

    /// Bytes of the input file.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert_eq!(index.input_size(), 4784); // a quick way to see that a file is another one
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn input_size(&self) -> u64 {
        self.view.identity.input_size.get()
    }

    /// BLAKE3 over build options and every file read: equal digest, equal index.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// # let other = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/rich.symidx")))?;
    /// // What a build compares before it writes the same index again.
    /// assert_ne!(index.inputs_digest(), other.inputs_digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn inputs_digest(&self) -> &[u8; 32] {
        &self.view.identity.inputs_digest
    }

    /// Everything the file says about its input, as stored.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/kallsyms.symidx")))?;
    /// use symidx::format::CONTAINER_KALLSYMS;
    ///
    /// assert_eq!(index.identity().container, CONTAINER_KALLSYMS); // what kind of file it was
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn identity(&self) -> &crate::format::Identity {
        self.view.identity
    }

    /// True for 64-bit inputs.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let digits = if index.is_64() { 16 } else { 8 };
    /// assert_eq!(format!("{:0digits$x}", symidx::Svma(0x4001a8)), "00000000004001a8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_64(&self) -> bool {
        self.view.identity.image_flags & IMAGE_64 != 0
    }

    /// True for big-endian inputs.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert!(!index.is_big_endian()); // of the binary; an index is the same on all hosts
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_big_endian(&self) -> bool {
        self.view.identity.image_flags & IMAGE_BIG_ENDIAN != 0
    }

    /// One more than the largest [`Symbol::id`]: entries that answer
    /// addresses, the few that only resume an earlier one included.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert_eq!(index.symbol_count(), 6);
    /// assert!(index.symbols().flatten().all(|symbol| symbol.id() < index.symbol_count()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn symbol_count(&self) -> u32 {
        u32::try_from(self.view.records.len()).unwrap_or(u32::MAX)
    }

    /// How many further names there are.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert_eq!(index.alias_count(), 2); // __bss_start and _edata
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn alias_count(&self) -> u32 {
        u32::try_from(self.view.aliases.len()).unwrap_or(u32::MAX)
    }

    /// How many names answer no address (thread-local, absolute, markers).
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert_eq!(index.names_only_count(), 1); // _end
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn names_only_count(&self) -> u32 {
        u32::try_from(self.view.names_only.len()).unwrap_or(u32::MAX)
    }

    /// The file's bytes.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // The same index somewhere else: in shared memory, say.
    /// let copy = index.as_bytes().to_vec();
    /// assert_eq!(symidx::Index::from_bytes(&copy)?.build_id(), index.build_id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.view.bytes
    }

    /// The archived metadata, not validated; empty when there is none.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert!(!index.metadata_bytes().is_empty()); // `metadata::read` validates them
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn metadata_bytes(&self) -> &[u8] {
        self.view.metadata
    }

    /// The file's sections: id, offset and bytes of each, for tools.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// use symidx::format::SectionId;
    ///
    /// // What the names take of the file.
    /// let names = index.file_sections().find(|section| section.id == SectionId::NAMES).unwrap();
    /// assert_eq!(names.size, 141);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert!(index.is_code(symidx::Svma(0x400211))); // padding: no symbol, but code
    /// assert!(!index.is_code(symidx::Svma(0x400270)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_code(&self, address: Svma) -> bool {
        let section = self.view.section_at(address.0);
        matches!(section, Ok(Some(section)) if section.is_executable())
    }
}

/// One section of the `.symidx` file.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// for section in index.file_sections() {
///     let name = section.id.name().unwrap_or("?");
///     println!("{name:16} {:8} bytes at {:#x}", section.size, section.offset);
///     assert_eq!(section.offset % 64, 0);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
