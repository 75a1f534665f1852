//! Names: handles to stored bytes, and the way from a name to its symbols.
//!
//! A handle is made without touching the name's bytes; text conversion is the
//! caller's step. Nothing here allocates.

use core::fmt;

use crate::error::Corrupt;
use crate::format::{
    Attrs, Kind, LONG_NAME, SectionId, bucket_of, fingerprint, name_hash, split_version,
};
use crate::open::{View, index};

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
    bytes: &'a [u8],
}

impl<'a> Name<'a> {
    pub(crate) fn plain(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The name's bytes where they are stored as they are; `None` where the
    /// name section is packed (no such encoding exists in format version 1).
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let name = index.lookup(symidx::Svma(0x4001a8))?.unwrap().name();
    /// assert_eq!(name.as_bytes(), Some(&b"outer"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        Some(self.bytes)
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
    pub fn len(&self) -> usize {
        self.bytes.len()
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
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
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
        for (to, from) in buffer.iter_mut().zip(self.bytes) {
            *to = *from;
        }
        self.bytes.len()
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
        for chunk in self.bytes.utf8_chunks() {
            out.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                out.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
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
        Self { bytes }
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
        for chunk in self.bytes.utf8_chunks() {
            fmt::Display::fmt(&chunk.valid().escape_debug(), f)?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        f.write_str("\"")
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Name<'_> {}

impl PartialEq<[u8]> for Name<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        self.bytes == other
    }
}

impl<const N: usize> PartialEq<[u8; N]> for Name<'_> {
    fn eq(&self, other: &[u8; N]) -> bool {
        self.bytes == other
    }
}

impl PartialEq<str> for Name<'_> {
    fn eq(&self, other: &str) -> bool {
        self.bytes == other.as_bytes()
    }
}

impl PartialEq<&str> for Name<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.bytes == other.as_bytes()
    }
}

impl<'a> View<'a> {
    /// The stored bytes of a name (I17), or `None` when they lie outside the
    /// names section. Reads memory only for names of 65535 bytes and more.
    #[inline]
    pub(crate) fn stored_name(&self, name: u32, name_len: u16) -> Option<&'a [u8]> {
        let start = index(name).wrapping_shl(self.name_shift);
        if name_len == LONG_NAME {
            return self.long_name(start);
        }
        // No sum of 32 bits, shifted by 8, and 16 bits wraps where it can be a place.
        self.names.get(start..start.wrapping_add(usize::from(name_len)))
    }

    #[cold]
    fn long_name(&self, start: usize) -> Option<&'a [u8]> {
        let (length, bytes) = self.names.get(start..)?.split_first_chunk::<4>()?;
        bytes.get(..index(u32::from_le_bytes(*length)))
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
    pub(crate) fn named(&self, id: u32) -> Result<(NameRef, &'a [u8], Attrs), Corrupt> {
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

/// Plain name and version of a stored name.
pub(crate) fn split(stored: &[u8], attrs: Attrs) -> (&[u8], Option<&[u8]>, bool) {
    if attrs.has(Attrs::VERSIONED) {
        let (plain, version, default) = split_version(stored);
        return (plain, Some(version), default);
    }
    (stored, None, false)
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
                true => attrs.has(Attrs::VERSIONED) && stored == self.wanted,
                false => split(stored, attrs).0 == self.wanted,
            };
            if equal {
                return Ok(Some(id.get()));
            }
        }
        Ok(None)
    }
}
