//! Names: handles to stored bytes, and the way from a name to its symbols.
//!
//! A handle is made without touching the name's bytes; text conversion is the
//! caller's step. Nothing here allocates.

use core::cmp::Ordering;
use core::fmt;

use crate::error::Corrupt;
use crate::format::{
    Attrs, Kind, LONG_NAME, SectionId, bucket_of, fingerprint, name_hash, name_hash_of,
    split_version,
};
use crate::open::{View, index};
use crate::packed::{self, PackedName};

/// A name in the index: bytes, usually but not always UTF-8.
///
/// Comparing, writing and copying work for every encoding of the name
/// section; [`Name::as_bytes`] only where names are stored plain.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// let name = index.lookup(symidx::Svma(0x4001a8))?.unwrap().name();
/// assert!(name == "outer" && name.len() == 5);
/// assert_eq!(format!("{name:?}"), "\"outer\""); // escaped, where bytes are no text
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Name<'a> {
    stored: Stored<'a>,
}

/// Where a packed name, or a part of one, is in its index.
///
/// ```
/// # let packed = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/packed.symidx")))?;
/// let place = packed.find("main").next().unwrap()?.name().packed_place().unwrap();
/// assert_eq!((place.skip, place.len), (0, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedPlace {
    /// Offset of its codes in the names section.
    pub at: u32,
    /// Bytes of the stored name in front of it.
    pub skip: u16,
    /// Bytes of the name.
    pub len: u16,
}

#[derive(Clone, Copy)]
enum Stored<'a> {
    Plain(&'a [u8]),
    Packed(PackedName<'a>),
}

impl<'a> Name<'a> {
    pub(crate) fn plain(bytes: &'a [u8]) -> Self {
        Self { stored: Stored::Plain(bytes) }
    }

    /// The name's bytes where they are stored as they are; `None` where the
    /// name section is packed (`symidx build --pack-names`): then
    /// [`Name::copy_to`] and [`Name::pieces`] give them.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let name = index.lookup(symidx::Svma(0x4001a8))?.unwrap().name();
    /// assert_eq!(name.as_bytes(), Some(&b"outer"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match self.stored {
            Stored::Plain(bytes) => Some(bytes),
            Stored::Packed(name) => (name.len == 0).then_some(&[]),
        }
    }

    /// The name's bytes, piece by piece: one piece where they are stored plain,
    /// no piece is empty. In a damaged index bytes that cannot be read are `\xff`.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let name = index.lookup(symidx::Svma(0x4001a8))?.unwrap().name();
    /// let mut bytes = Vec::with_capacity(name.len());
    /// name.pieces().for_each(|piece| bytes.extend_from_slice(piece));
    /// assert_eq!(bytes, b"outer");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pieces(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let (plain, packed) = match self.stored {
            Stored::Plain(bytes) => (Some(bytes).filter(|bytes| !bytes.is_empty()), None),
            Stored::Packed(name) => (None, Some(name.pieces())),
        };
        plain.into_iter().chain(packed.into_iter().flatten())
    }

    /// The name's bytes: where they are stored, or put together on the heap where
    /// the name section is packed.
    ///
    /// ```
    /// # let packed = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/packed.symidx")))?;
    /// let name = packed.find("main").next().unwrap()?.name();
    /// assert_eq!((name.as_bytes(), &*name.to_bytes()), (None, &b"main"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "std")]
    #[must_use]
    pub fn to_bytes(self) -> std::borrow::Cow<'a, [u8]> {
        match self.as_bytes() {
            Some(bytes) => bytes.into(),
            None => {
                let mut bytes = std::vec::Vec::with_capacity(self.len());
                self.pieces().for_each(|piece| bytes.extend_from_slice(piece));
                bytes.into()
            }
        }
    }

    /// Bytes of the name.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let name = index.lookup(symidx::Svma(0x4001a8))?.unwrap().name();
    /// assert_eq!(name.len(), 5); // bytes, known without reading the name
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        match self.stored {
            Stored::Plain(bytes) => bytes.len(),
            Stored::Packed(name) => name.len.into(),
        }
    }

    /// True for the empty name.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/kallsyms.symidx")))?;
    /// // kallsyms has no sections with names.
    /// assert!(index.sections().next().unwrap()?.name().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies as much of the name as fits; returns how many bytes the whole
    /// name has, so a result above `buffer.len()` means it was cut.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let name = index.lookup(symidx::Svma(0x4001a8))?.unwrap().name();
    /// let mut buffer = [0; 4]; // no heap: usable in a signal handler
    /// assert_eq!(name.copy_to(&mut buffer), 5); // more than fits: it was cut
    /// assert_eq!(&buffer, b"oute");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_to(&self, buffer: &mut [u8]) -> usize {
        match self.stored {
            Stored::Plain(bytes) => {
                for (to, from) in buffer.iter_mut().zip(bytes) {
                    *to = *from;
                }
                bytes.len()
            }
            Stored::Packed(name) => {
                name.copy_to(buffer);
                name.len.into()
            }
        }
    }

    /// Writes the name as text; bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// The writer's.
    ///
    /// ```
    /// let name = symidx::Name::from(&b"caf\xc3\xa9 \xff"[..]);
    /// let mut text = String::new();
    /// name.write_to(&mut text)?;
    /// assert_eq!(text, "café \u{fffd}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_to(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let bytes = match self.stored {
            Stored::Plain(bytes) => bytes,
            Stored::Packed(name) => return name.write_to(out),
        };
        for chunk in bytes.utf8_chunks() {
            out.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                out.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }

    /// Where the name is, when it is stored packed: for callers that keep a number and
    /// no borrow, such as an interface to C. [`crate::Index::name_at`] is the way back.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/packed.symidx")))?;
    /// let name = index.lookup(symidx::Svma(0x401010))?.unwrap().name();
    /// let place = name.packed_place().unwrap();
    /// assert_eq!(index.name_at(place), Some(name));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn packed_place(&self) -> Option<PackedPlace> {
        self.packed().map(|name| PackedPlace { at: name.at, skip: name.skip, len: name.len })
    }

    /// The name's place, where it is stored packed.
    pub(crate) fn packed(&self) -> Option<PackedName<'a>> {
        match self.stored {
            Stored::Plain(_) => None,
            Stored::Packed(name) => Some(name),
        }
    }

    /// True for the same bytes in the same place.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        match (self.stored, other.stored) {
            (Stored::Plain(a), Stored::Plain(b)) => a.as_ptr() == b.as_ptr() && a.len() == b.len(),
            (Stored::Packed(a), Stored::Packed(b)) => a.is_same_place(&b),
            _ => false,
        }
    }

    /// The order of the bytes.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self.stored, other.stored) {
            (Stored::Plain(a), Stored::Plain(b)) => a.cmp(b),
            _ => self.pieces().flatten().cmp(other.pieces().flatten()),
        }
    }

    /// The hash by which the name is found.
    pub(crate) fn hash(&self) -> u32 {
        match self.stored {
            Stored::Plain(bytes) => name_hash(bytes),
            Stored::Packed(name) => name_hash_of(name.len.into(), name.pieces()),
        }
    }
}

impl<'a> From<&'a [u8]> for Name<'a> {
    /// Any bytes as a name. Bytes that an index handed out stay that index's
    /// name: [`crate::Index::display_name`] knows them by where they are.
    ///
    /// ```
    /// let name = symidx::Name::from(&b"main"[..]);
    /// assert!(name == "main");
    /// ```
    fn from(bytes: &'a [u8]) -> Self {
        Self::plain(bytes)
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        packed::texts(self.pieces(), |valid, invalid| {
            fmt::Display::fmt(&valid.escape_debug(), f)?;
            invalid.iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))
        })?;
        f.write_str("\"")
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (other.as_bytes(), self.as_bytes()) {
            (Some(bytes), _) => *self == *bytes,
            (_, Some(bytes)) => *other == *bytes,
            _ => {
                self.is_same_place(other)
                    || (self.len() == other.len() && self.compare(other) == Ordering::Equal)
            }
        }
    }
}

impl Eq for Name<'_> {}

impl PartialEq<[u8]> for Name<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        match self.stored {
            Stored::Plain(bytes) => bytes == other,
            Stored::Packed(name) => {
                let mut rest = other;
                usize::from(name.len) == other.len()
                    && name.pieces().all(|piece| {
                        let begins = rest.strip_prefix(piece);
                        rest = begins.unwrap_or(&[]);
                        begins.is_some()
                    })
            }
        }
    }
}

impl<const N: usize> PartialEq<[u8; N]> for Name<'_> {
    fn eq(&self, other: &[u8; N]) -> bool {
        *self == other[..]
    }
}

impl PartialEq<str> for Name<'_> {
    fn eq(&self, other: &str) -> bool {
        *self == *other.as_bytes()
    }
}

impl PartialEq<&str> for Name<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == *other.as_bytes()
    }
}

impl<'a> View<'a> {
    /// The packed name at a place; `None` where names are plain or it lies outside.
    pub(crate) fn name_at(&self, place: PackedPlace) -> Option<Name<'a>> {
        let PackedPlace { at, skip, len } = place;
        let inside = self.packed && index(at) < self.names.len();
        let name = PackedName { section: self.names, at, skip, len };
        inside.then_some(Name { stored: Stored::Packed(name) })
    }

    /// The stored bytes of a name (I17), or `None` when they lie outside the
    /// names section. Reads memory only for names of 65535 bytes and more.
    #[inline]
    pub(crate) fn stored_name(&self, name: u32, name_len: u16) -> Option<Name<'a>> {
        let start = index(name).wrapping_shl(self.name_shift);
        if name_len == LONG_NAME {
            return self.long_name(start);
        }
        if self.packed {
            let name = PackedName { section: self.names, at: name, skip: 0, len: name_len };
            let inside = start < self.names.len() || name_len == 0;
            return inside.then_some(Name { stored: Stored::Packed(name) });
        }
        // No sum of 32 bits, shifted by 8, and 16 bits wraps where it can be a place.
        self.names.get(start..start.wrapping_add(usize::from(name_len))).map(Name::plain)
    }

    #[cold]
    fn long_name(&self, start: usize) -> Option<Name<'a>> {
        let (length, bytes) = self.names.get(start..)?.split_first_chunk::<4>()?;
        bytes.get(..index(u32::from_le_bytes(*length))).map(Name::plain)
    }

    /// How many name ids there are: records, then aliases, then names only.
    pub(crate) fn name_ids(&self) -> usize {
        self.records.len().saturating_add(self.aliases.len()).saturating_add(self.names_only.len())
    }

    /// What a name id stands for.
    pub(crate) fn name_ref(&self, id: u32) -> Option<NameRef> {
        let mut id = index(id);
        if id < self.records.len() {
            return Some(NameRef::Record(id));
        }
        id = id.checked_sub(self.records.len())?;
        if id < self.aliases.len() {
            return Some(NameRef::Alias(id));
        }
        id = id.checked_sub(self.aliases.len())?;
        (id < self.names_only.len()).then_some(NameRef::NameOnly(id))
    }

    /// True when the id stands for a name of its own: not a resume or unnamed
    /// record, not an alias that shows another record's name.
    pub(crate) fn is_findable(&self, id: u32) -> bool {
        match self.name_ref(id) {
            Some(NameRef::Record(i)) => self.records.get(i).is_some_and(|record| {
                !matches!(Attrs(record.attrs.get()).kind(), Kind::Resume | Kind::Unnamed)
            }),
            Some(NameRef::Alias(i)) => self
                .aliases
                .get(i)
                .is_some_and(|alias| !Attrs(alias.attrs.get()).has(Attrs::SHARED)),
            Some(NameRef::NameOnly(_)) => true,
            None => false,
        }
    }

    /// Stored name and attributes of a name id.
    pub(crate) fn named(&self, id: u32) -> Result<(NameRef, Name<'a>, Attrs), Corrupt> {
        let wrong = || Corrupt::entry(SectionId::NAME_ORDER, id);
        let name_ref = self.name_ref(id).ok_or_else(wrong)?;
        let (name, len, attrs) = match name_ref {
            NameRef::Record(i) => self.records.get(i).map(|r| (r.name, r.name_len, r.attrs)),
            NameRef::Alias(i) => self.aliases.get(i).map(|a| (a.name, a.name_len, a.attrs)),
            NameRef::NameOnly(i) => self.names_only.get(i).map(|n| (n.name, n.name_len, n.attrs)),
        }
        .ok_or_else(wrong)?;
        let stored = self.stored_name(name.get(), len.get()).ok_or_else(|| {
            let (section, entry) = match name_ref {
                NameRef::Record(i) => (SectionId::RECORDS, i),
                NameRef::Alias(i) => (SectionId::ALIASES, i),
                NameRef::NameOnly(i) => (SectionId::NAMES_ONLY, i),
            };
            Corrupt::entry(section, u32::try_from(entry).unwrap_or(u32::MAX))
        })?;
        Ok((name_ref, stored, Attrs(attrs.get())))
    }

    /// Positions in the name order that may hold names with this hash.
    pub(crate) fn bucket_of_name(&self, hash: u32) -> core::ops::Range<usize> {
        let buckets = u32::try_from(self.name_buckets.len().saturating_sub(1)).unwrap_or(0);
        let bucket = index(bucket_of(hash, buckets));
        match (self.name_buckets.get(bucket), self.name_buckets.get(bucket.wrapping_add(1))) {
            (Some(first), Some(end)) => {
                let end = index(end.get()).min(self.name_order.len());
                index(first.get()).min(end)..end
            }
            _ => 0..0,
        }
    }
}

/// What a name id stands for: a position in one of three tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRef {
    Record(usize),
    Alias(usize),
    NameOnly(usize),
}

/// Plain name and version of a stored name, and whether that is the default one.
#[inline]
pub(crate) fn split(stored: Name<'_>, attrs: Attrs) -> (Name<'_>, Option<Name<'_>>, bool) {
    match attrs.has(Attrs::VERSIONED) {
        true => split_versioned(stored),
        false => (stored, None, false),
    }
}

fn split_versioned(stored: Name<'_>) -> (Name<'_>, Option<Name<'_>>, bool) {
    match stored.stored {
        Stored::Plain(bytes) => {
            let (plain, version, default) = split_version(bytes);
            (Name::plain(plain), Some(Name::plain(version)), default)
        }
        Stored::Packed(name) => {
            let (plain, version, default) = packed::split_version(name);
            let name = |name| Name { stored: Stored::Packed(name) };
            (name(plain), Some(name(version)), default)
        }
    }
}

/// Walks the name ids whose plain name (or whole stored name) equals a wanted
/// one, in stored order.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'a, 'q> {
    view: &'a View<'a>,
    wanted: &'q [u8],
    whole: bool,
    tag: u8,
    positions: core::ops::Range<usize>,
}

impl<'a, 'q> Walk<'a, 'q> {
    /// Names whose plain name is `wanted`, whatever their version.
    pub(crate) fn plain(view: &'a View<'a>, wanted: &'q [u8]) -> Self {
        let hash = name_hash(wanted);
        let positions = view.bucket_of_name(hash);
        Self { view, wanted, whole: false, tag: fingerprint(hash), positions }
    }

    /// Versioned names stored as exactly `wanted`, such as `f@@V2`.
    pub(crate) fn versioned(view: &'a View<'a>, wanted: &'q [u8]) -> Self {
        let hash = name_hash(split_version(wanted).0);
        let positions = match wanted.contains(&b'@') {
            true => view.bucket_of_name(hash),
            false => 0..0,
        };
        Self { view, wanted, whole: true, tag: fingerprint(hash), positions }
    }

    /// The next matching id.
    pub(crate) fn next_id(&mut self) -> Result<Option<u32>, Corrupt> {
        for position in self.positions.by_ref() {
            if self.view.name_tags.get(position) != Some(&self.tag) {
                continue;
            }
            let Some(id) = self.view.name_order.get(position) else { continue };
            if self.view.name_ref(id.get()).is_none() {
                let at = u32::try_from(position).unwrap_or(u32::MAX);
                return Err(Corrupt::entry(SectionId::NAME_ORDER, at));
            }
            let (_, stored, attrs) = self.view.named(id.get())?;
            let equal = match self.whole {
                true => attrs.has(Attrs::VERSIONED) && stored == *self.wanted,
                false => split(stored, attrs).0 == *self.wanted,
            };
            if equal {
                return Ok(Some(id.get()));
            }
        }
        Ok(None)
    }
}
