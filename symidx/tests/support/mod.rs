//! What the tests and the fuzz targets share: every question asked of an
//! index, the slow obvious answers, and hashes made to fit again.
//!
//! In: an open index or a file's bytes. Out: answers to compare. Never builds
//! an index; only reads it with the definitions of `symidx::format`.

#![allow(
    dead_code,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::fmt::Write as _;

use symidx::format::lines::{LineSpan, MAX_FRAMES};
use symidx::format::{
    Alias, Attrs, Display, DisplayPiece, Header, LARGE_SIZE, Large, NONE, NameOnly, Record, Region,
    SectionEntry, SectionId,
};
use symidx::{
    Corrupt, DisplayName, FileOffset, Frames, ImageSectionId, Index, Kind, Match, Svma, Symbol,
};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// Makes every hash fit the bytes again: each section's, then the file's. For
/// damaged files whose damage must be met by something other than the hashes.
pub(crate) fn reseal(bytes: &mut [u8]) {
    let Ok((header, after)) = Header::read_from_prefix(bytes) else { return };
    let count = (header.section_count.get() as usize).min(after.len() / 64);
    for i in 0..count {
        let at = size_of::<Header>() + i * size_of::<SectionEntry>();
        let entry = SectionEntry::read_from_bytes(&bytes[at..at + 64]).expect("64 bytes");
        let start = usize::try_from(entry.offset.get()).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(entry.size.get()).unwrap_or(usize::MAX));
        if let Some(section) = bytes.get(start..end) {
            let hash = *blake3::hash(section).as_bytes();
            bytes[at + 32..at + 64].copy_from_slice(&hash);
        }
    }
    bytes[96..128].fill(0);
    let hash = *blake3::hash(&bytes[..size_of::<Header>() + count * 64]).as_bytes();
    bytes[96..128].copy_from_slice(&hash);
}

/// The entries of a table section, as stored.
pub(crate) fn table<'a, T>(index: &'a Index<'_>, id: SectionId) -> &'a [T]
where
    T: FromBytes + Immutable + KnownLayout + Unaligned,
{
    index
        .file_sections()
        .find(|section| section.id == id && section.encoding == 0)
        .and_then(|section| {
            let start = usize::try_from(section.offset).ok()?;
            let size = usize::try_from(section.size).ok()?;
            <[T]>::ref_from_bytes(index.as_bytes().get(start..start.checked_add(size)?)?).ok()
        })
        .unwrap_or(&[])
}

/// Lookup as `FORMAT.md` tells it in words: no buckets, no binary search.
/// Needs a file that verifies.
pub(crate) struct Slow<'a> {
    regions: &'a [Region],
    records: &'a [Record],
    large: &'a [Large],
    relocatable: bool,
}

/// What the slow lookup finds: the symbol's record, start and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlowAnswer {
    pub(crate) id: u32,
    pub(crate) start: u64,
    pub(crate) size: u64,
}

impl<'a> Slow<'a> {
    pub(crate) fn new(index: &'a Index<'_>) -> Self {
        Self {
            regions: table(index, SectionId::REGIONS),
            records: table(index, SectionId::RECORDS),
            large: table(index, SectionId::LARGE),
            relocatable: index.is_relocatable(),
        }
    }

    /// The symbol at an svma (`section` `None`) or at an offset of a section
    /// of a relocatable file.
    pub(crate) fn answer(&self, section: Option<u32>, address: u64) -> Option<SlowAnswer> {
        if section.is_some() != self.relocatable {
            return None;
        }
        let region = self.regions.iter().find(|region| {
            region.section.get() == section.unwrap_or(NONE)
                && region.base.get() <= address
                && address - region.base.get() < region.size.get()
        })?;
        let offset = address - region.base.get();
        let first = region.first.get();
        let own = &self.records[first as usize..][..region.count.get() as usize];
        let last = own.iter().rposition(|record| u64::from(record.start.get()) <= offset)?;
        let mut id = first + last as u32;
        if Attrs(own[last].attrs.get()).kind() == Kind::Resume {
            id = own[last].name.get();
        }
        self.symbol(id).filter(|found| address - found.start < found.size)
    }

    /// The symbol of a record; `None` for resume and unnamed records.
    pub(crate) fn symbol(&self, id: u32) -> Option<SlowAnswer> {
        let record = &self.records[id as usize];
        let region = self.regions.iter().rfind(|region| region.first.get() <= id)?;
        if matches!(Attrs(record.attrs.get()).kind(), Kind::Resume | Kind::Unnamed) {
            return None;
        }
        let size = match record.size.get() {
            LARGE_SIZE => self.large.iter().find(|l| l.record.get() == id)?.size.get(),
            size => size.into(),
        };
        let start = region.base.get() + u64::from(record.start.get());
        Some(SlowAnswer { id, start, size })
    }
}

/// Addresses where answers change: both sides of every region's and record's
/// ends, at most `limit` of them.
pub(crate) fn borders(index: &Index<'_>, limit: usize) -> Vec<u64> {
    let mut all = vec![0, 1, u64::MAX, 1 << 32];
    for span in table::<LineSpan>(index, SectionId::LINE_SPANS).iter().take(limit.min(64)) {
        let base = span.base.get();
        let end = base.wrapping_add(span.size.get());
        all.extend([base.wrapping_sub(1), base, base.wrapping_add(37), base.wrapping_add(256)]);
        all.extend([end.wrapping_sub(1), end]);
    }
    let records: &[Record] = table(index, SectionId::RECORDS);
    for region in table::<Region>(index, SectionId::REGIONS) {
        let (base, size) = (region.base.get(), region.size.get());
        let end = base.wrapping_add(size);
        all.extend([base.wrapping_sub(1), base, end.wrapping_sub(1), end]);
        let first = region.first.get() as usize;
        let own = records.get(first..).unwrap_or(&[]);
        for record in own.iter().take(region.count.get() as usize) {
            let start = base.wrapping_add(record.start.get().into());
            let end = start.wrapping_add(record.size.get().into());
            all.extend([start.wrapping_sub(1), start, start.wrapping_add(1)]);
            all.extend([end.wrapping_sub(1), end]);
            if all.len() >= limit {
                return all;
            }
        }
    }
    all
}

/// What [`ask_everything`] met.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Symbols and names that were answered.
    pub(crate) answers: u64,
    /// The first broken promise, if any.
    pub(crate) corrupt: Option<Corrupt>,
}

impl Tally {
    fn take<T>(&mut self, answer: Result<T, Corrupt>) -> Option<T> {
        match answer {
            Ok(answer) => Some(answer),
            Err(corrupt) => {
                assert!(!corrupt.to_string().is_empty());
                self.corrupt.get_or_insert(corrupt);
                None
            }
        }
    }

    fn symbol(&mut self, symbol: &Symbol<'_>, sink: &mut Sink) {
        self.answers += 1;
        let _ = write!(sink, "{} {:?}", symbol.name(), symbol.stored_name());
        let _ = (symbol.start(), symbol.size(), symbol.offset(), symbol.id());
        let _ = (symbol.kind().as_str(), symbol.binding().as_str(), symbol.extent().as_str());
        let _ = (symbol.is_part(), symbol.is_folded(), symbol.is_dwarf());
        let _ = symbol.version().map(|version| version.len());
        if let Some(Some(section)) = self.take(symbol.section()) {
            let _ = write!(sink, "{}", section.name());
        }
        if let Some(Some(module)) = self.take(symbol.module()) {
            let _ = write!(sink, "{module}");
        }
        self.display(symbol.display_name(), sink);
        for alias in symbol.aliases().take(16) {
            if let Some(alias) = self.take(alias) {
                let _ = write!(sink, "{} {}", alias.name(), alias.stored_name());
                let _ = (alias.version(), alias.stated_size(), alias.before_primary());
                let _ = (alias.kind(), alias.binding());
            }
        }
    }

    fn frames(&mut self, frames: Frames<'_>, sink: &mut Sink) {
        let symbol = frames.symbol();
        let _ = self.take(symbol).flatten().map(|symbol| symbol.id());
        let mut count = 0;
        for frame in frames {
            count += 1;
            let Some(frame) = self.take(frame) else { continue };
            if let Some(function) = frame.function() {
                let _ = write!(sink, "{function}");
            }
            let (declared_in, declared) = self.take(frame.declared()).unwrap_or_default();
            for file in [frame.file(), declared_in].into_iter().flatten() {
                let _ = write!(sink, "{file} {} {}", file.directory(), file.name());
            }
            let _ = (frame.line(), frame.column(), declared, frame.is_inlined());
        }
        // The last may be an error.
        assert!(count <= MAX_FRAMES + 1, "{count} frames");
    }

    fn display(&mut self, display: Result<Option<DisplayName<'_>>, Corrupt>, sink: &mut Sink) {
        let Some(Some(display)) = self.take(display) else { return };
        for text in [display.full(), display.short()] {
            let _ = write!(sink, "{text} {text:?}");
            let length: usize = text.pieces().map(<[u8]>::len).sum();
            assert_eq!(length, text.len());
            assert!(!text.is_empty());
            let mut buffer = [0; 16];
            assert_eq!(text.copy_to(&mut buffer), length);
            assert!(text.as_bytes().is_none_or(|bytes| bytes.len() == length));
        }
    }

    fn named(&mut self, found: &Match<'_>, sink: &mut Sink) {
        self.answers += 1;
        let _ = write!(sink, "{} {}", found.name(), found.stored_name());
        let _ = (found.version(), found.address(), found.size(), found.kind(), found.binding());
        let _ = (found.is_part(), found.is_alias());
        if let Some(Some(section)) = self.take(found.section()) {
            let _ = write!(sink, "{}", section.name());
        }
        if let Some(Some(module)) = self.take(found.module()) {
            let _ = write!(sink, "{module}");
        }
        self.display(found.display_name(), sink);
    }
}

/// A writer without memory that stops after a while: names of a damaged file
/// may be as long as the file, each of them.
struct Sink(usize);

impl std::fmt::Write for Sink {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(std::fmt::Error)?;
        Ok(())
    }
}

/// Asks every kind of question: at `addresses`, about the first `limit`
/// symbols and names, and about the file itself. Any bytes will do.
pub(crate) fn ask_everything(index: &Index<'_>, addresses: &[u64], limit: usize) -> Tally {
    let mut tally = Tally::default();
    let mut sink = Sink(1 << 20);
    let sections: Vec<_> = index.sections().take(limit.min(8)).collect();
    let known_sections = sections.len() as u32;
    for section in sections {
        if let Some(section) = tally.take(section) {
            let _ = write!(sink, "{} {:?}", section.name(), section.id());
            let _ = (section.address(), section.size(), section.number());
            let _ = (section.is_executable(), section.is_writable(), section.is_tls());
        }
    }
    for &address in addresses {
        let svma = Svma(address);
        let lookups = [
            index.lookup(svma),
            index.lookup_return(svma),
            index.lookup_offset(FileOffset(address)),
        ];
        let in_sections = (0..known_sections)
            .chain([u32::MAX])
            .map(|section| index.lookup_in(ImageSectionId(section), address));
        for answer in lookups.into_iter().chain(in_sections) {
            if let Some(Some(symbol)) = tally.take(answer) {
                tally.symbol(&symbol, &mut sink);
            }
        }
        let frames = [
            index.frames(svma),
            index.frames_return(svma),
            index.frames_offset(FileOffset(address)),
        ];
        let in_sections = (0..known_sections)
            .chain([u32::MAX])
            .map(|section| index.frames_in(ImageSectionId(section), address));
        for answer in frames.into_iter().chain(in_sections) {
            if let Some(frames) = tally.take(answer) {
                tally.frames(frames, &mut sink);
            }
        }
        tally.take(index.unnamed_function(svma));
        let _ = (index.svma_of(FileOffset(address)), index.file_offset_of(svma));
        let _ = index.is_code(svma);
    }
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    for order in [addresses, &sorted] {
        for answer in index.lookup_sorted(order.iter().copied().map(Svma)) {
            if let Some(Some(symbol)) = tally.take(answer) {
                let _ = write!(sink, "{}", symbol.name());
            }
        }
    }
    for symbol in index.symbols().take(limit) {
        if let Some(symbol) = tally.take(symbol) {
            tally.symbol(&symbol, &mut sink);
        }
    }
    for (i, found) in index.names().take(limit).enumerate() {
        let Some(found) = tally.take(found) else { continue };
        tally.named(&found, &mut sink);
        if i < 64 {
            for name in [found.name(), found.stored_name()] {
                for again in index.find(&bytes_of(name)).take(64) {
                    if let Some(again) = tally.take(again) {
                        tally.named(&again, &mut sink);
                    }
                }
            }
        }
    }
    for name in [&b""[..], b"main", b"f@", b"@", b"f@@V2"] {
        for found in index.find(name).take(64) {
            tally.take(found);
        }
    }
    tally.take(index.section_by_name(b".text"));
    tally.take(index.section_by_name(b""));
    tally.take(index.default_section());
    let _ = write!(sink, "{index:?} {:?}", index.segments().len());
    let _ = (index.image_base(), index.build_id(), index.uuid(), index.input_hash());
    let _ = (index.input_size(), index.inputs_digest(), index.identity(), index.is_64());
    let _ = (index.is_big_endian(), index.symbol_count(), index.alias_count());
    let _ = (index.names_only_count(), index.metadata_bytes().len());
    let _ = (index.has_lines(), index.line_counts());
    for row in index.line_rows().take(4096) {
        if let Some(row) = tally.take(row) {
            assert!(row.size > 0);
            match row.section {
                Some(section) => tally.take(index.stated_function_in(section, row.start)),
                None => tally.take(index.stated_function(Svma(row.start))),
            };
        }
    }
    let _ = index.display_name_count();
    tally
}

/// Panics when a file that verifies answers anything else than the slow
/// lookup at any of `addresses`, or finds a name wrongly.
pub(crate) fn compare_with_slow(index: &Index<'_>, addresses: &[u64]) {
    let slow = Slow::new(index);
    let spaces: Vec<Option<u32>> = match index.is_relocatable() {
        true => (0..table::<symidx::format::ImageSection>(index, SectionId::IMAGE_SECTIONS).len())
            .take(16)
            .map(|section| Some(section as u32))
            .collect(),
        false => vec![None],
    };
    let seen = |symbol: Symbol<'_>, address: u64| {
        assert_eq!(symbol.offset(), address - symbol.start().0, "at {address:#x}");
        SlowAnswer { id: symbol.id(), start: symbol.start().0, size: symbol.size() }
    };
    for &section in &spaces {
        for &address in addresses {
            let found = match section {
                Some(section) => index.lookup_in(ImageSectionId(section), address),
                None => index.lookup(Svma(address)),
            };
            let found = found.unwrap().map(|symbol| seen(symbol, address));
            assert_eq!(found, slow.answer(section, address), "at {section:?} {address:#x}");
        }
    }
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    for order in [addresses, &sorted] {
        let answers = index.lookup_sorted(order.iter().copied().map(Svma));
        for (&address, found) in order.iter().zip(answers) {
            let found = found.unwrap().map(|symbol| seen(symbol, address));
            assert_eq!(found, slow.answer(None, address), "batch at {address:#x}");
        }
    }
}

/// The bytes of a name, packed or not.
pub(crate) fn bytes_of(name: symidx::Name<'_>) -> Vec<u8> {
    let bytes = name.pieces().collect::<Vec<_>>().concat();
    let mut copied = vec![0; name.len()];
    assert_eq!((name.copy_to(&mut copied), &copied), (bytes.len(), &bytes));
    bytes
}

/// Panics when `find` does not answer, for the first `limit` names of a file
/// that verifies, exactly what a walk over all names answers.
pub(crate) fn compare_find(index: &Index<'_>, limit: usize) {
    let key = |m: &Match<'_>| {
        let stored = bytes_of(m.stored_name());
        (stored, m.address(), m.size(), m.kind(), m.is_alias())
    };
    let all: Vec<_> = index.names().map(|m| m.unwrap()).collect();
    for wanted in all.iter().take(limit) {
        let plain = &*bytes_of(wanted.name());
        let mut expected: Vec<_> = all.iter().filter(|m| m.name() == *plain).map(key).collect();
        // A plain name with an `@` may also be another one's stored name.
        let versioned = all.iter().filter(|m| m.version().is_some() && m.stored_name() == *plain);
        expected.extend(versioned.map(key));
        let mut found: Vec<_> = index.find(plain).map(|m| key(&m.unwrap())).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "find {plain:?}");
        let stored = &*bytes_of(wanted.stored_name());
        assert!(
            index.find(stored).any(|m| key(&m.unwrap()) == key(wanted)),
            "find {stored:?} does not find it"
        );
    }
}

/// Panics when the display name of any of the first `limit` names of a file
/// that verifies is not the one that a walk over all entries finds.
pub(crate) fn compare_display(index: &Index<'_>, limit: usize) {
    let entries: &[Display] = table(index, SectionId::DISPLAY);
    let text: &[u8] = table(index, SectionId::DISPLAY_TEXT);
    let records: &[Record] = table(index, SectionId::RECORDS);
    let aliases: &[Alias] = table(index, SectionId::ALIASES);
    let names_only: &[NameOnly] = table(index, SectionId::NAMES_ONLY);
    // The names that `Index::names` yields, in its order.
    let own = records
        .iter()
        .filter(|record| !matches!(Attrs(record.attrs.get()).kind(), Kind::Resume | Kind::Unnamed));
    let further = aliases.iter().filter(|alias| !Attrs(alias.attrs.get()).has(Attrs::SHARED));
    let starts = own.map(|record| record.name).chain(further.map(|alias| alias.name));
    let mut starts = starts.chain(names_only.iter().map(|only| only.name));
    let run = |entry: &Display| {
        let at = entry.text.get() as usize;
        let short_end = entry.short_start.get() as usize + entry.short_len.get() as usize;
        let length = short_end.max(entry.full_len.get().into());
        if entry.pieces.get() == 1 {
            return text[at..at + length].to_vec();
        }
        (0..entry.pieces.get().into()).fold(Vec::new(), |run, i| {
            let piece = DisplayPiece::read_from_prefix(&text[at + i * 6..]).unwrap().0;
            [&run, &text[piece.at.get() as usize..][..piece.len.get().into()]].concat()
        })
    };
    for found in index.names().take(limit) {
        let found = found.unwrap();
        let start = starts.next().unwrap();
        let entry = entries.iter().find(|entry| entry.name.get() == start.get());
        let expected = entry.filter(|_| !found.stored_name().is_empty()).map(|entry| {
            let run = run(entry);
            let short = &run[entry.short_start.get().into()..][..entry.short_len.get().into()];
            (run[..entry.full_len.get().into()].to_vec(), short.to_vec())
        });
        let display = index.display_name(found.name()).unwrap();
        let bytes = |text: symidx::DisplayText<'_>| text.pieces().flatten().copied().collect();
        let shown: Option<(Vec<u8>, Vec<u8>)> =
            display.map(|display| (bytes(display.full()), bytes(display.short())));
        assert_eq!(shown, expected, "display name of {:?}", found.name());
    }
}
