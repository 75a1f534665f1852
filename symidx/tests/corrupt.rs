//! One damaged file per invariant, and the check that names it.
//!
//! Each file of `testdata/corrupt/` is `testdata/golden/rich.symidx` (for the
//! promises about lines `lines.symidx`, for those about display names
//! `display.symidx`, about packed names `packed.symidx`) with one promise broken by the edit below and every hash made to fit again (except
//! where the hash is the promise). `SYMIDX_WRITE_CORRUPT=1` writes them.

#![cfg(feature = "verify")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::mem::offset_of;
use std::path::PathBuf;

use symidx::format::lines::{FunctionEntry, LineSpan};
use symidx::format::{
    Alias, Attrs, CODE_HEX, Display, Header, Identity, ImageSection, Kind, Large, MAX_PHRASES,
    NONE, NameOnly, PackedHead, Phrase, Record, Region, SectionEntry, SectionId, Segment,
};
use symidx::{Index, Invariant, OpenError, Violation};
use zerocopy::FromBytes;

mod support;

const GOOD: &[u8] = include_bytes!("../../testdata/golden/rich.symidx");
const GOOD_LINES: &[u8] = include_bytes!("../../testdata/golden/lines.symidx");
const SHOWN: &[u8] = include_bytes!("../../testdata/golden/display.symidx");
const PACKED: &[u8] = include_bytes!("../../testdata/golden/packed.symidx");

/// The file to damage: one that has what the invariant is about.
fn good(invariant: Invariant) -> &'static [u8] {
    match invariant {
        Invariant::DisplayOrder | Invariant::DisplayTexts => SHOWN,
        Invariant::DictionaryWhole | Invariant::PhraseShape | Invariant::PackedName => PACKED,
        Invariant::LineSpanShape
        | Invariant::WindowOrder
        | Invariant::WindowShape
        | Invariant::NodeShape
        | Invariant::FunctionShape => GOOD_LINES,
        _ => GOOD,
    }
}

/// A good file being damaged.
struct File(Vec<u8>);

impl File {
    fn entry(&self, id: SectionId) -> (usize, SectionEntry) {
        (0..)
            .map(|i| size_of::<Header>() + i * size_of::<SectionEntry>())
            .map(|at| (at, SectionEntry::read_from_bytes(&self.0[at..at + 64]).unwrap()))
            .find(|(_, entry)| entry.id.get() == id.0)
            .unwrap()
    }

    /// Where a field of a section's entry is.
    fn at(&self, id: SectionId, entry: usize, field: usize) -> usize {
        let each = id.entry_size().unwrap() as usize;
        self.entry(id).1.offset.get() as usize + entry * each + field
    }

    fn edit<const N: usize>(&mut self, at: usize, change: impl FnOnce([u8; N]) -> [u8; N]) {
        let old: [u8; N] = self.0[at..at + N].try_into().unwrap();
        let new = change(old);
        assert_ne!(old, new, "the edit changes nothing");
        self.0[at..at + N].copy_from_slice(&new);
    }

    fn put16(&mut self, at: usize, value: u16) {
        self.edit(at, |_| value.to_le_bytes());
    }

    fn put32(&mut self, at: usize, value: u32) {
        self.edit(at, |_| value.to_le_bytes());
    }

    fn put64(&mut self, at: usize, value: u64) {
        self.edit(at, |_| value.to_le_bytes());
    }

    fn records(&self) -> Vec<Record> {
        let (_, entry) = self.entry(SectionId::RECORDS);
        let start = entry.offset.get() as usize;
        let bytes = &self.0[start..start + entry.size.get() as usize];
        <[Record]>::ref_from_bytes(bytes).unwrap().to_vec()
    }

    /// The first record of a kind.
    fn record_of(&self, kind: Kind) -> usize {
        self.records().iter().position(|r| Attrs(r.attrs.get()).kind() == kind).unwrap()
    }
}

fn break_it(invariant: Invariant, file: &mut File) {
    use Invariant as I;
    use SectionId as S;
    let records = file.records();
    match invariant {
        I::HeaderComplete => file.0.truncate(100),
        I::FlagsKnown => file.put32(offset_of!(Header, required_flags), 1),
        I::FileSize => file.0.push(0),
        I::TableComplete => file.put32(offset_of!(Header, section_count), 65),
        I::SectionPlaced => {
            let (at, entry) = file.entry(S::NAMES);
            let offset = entry.offset.get() + 1;
            file.put64(at + offset_of!(SectionEntry, offset), offset);
        }
        I::SectionShape => {
            let (at, entry) = file.entry(S::RECORDS);
            file.put64(at + offset_of!(SectionEntry, size), entry.size.get() - 1);
        }
        I::SectionKnown => {
            let (at, _) = file.entry(S::NAME_TAGS);
            file.put32(at + offset_of!(SectionEntry, id), S::PACKED_NAMES.0);
        }
        I::IdentityShape => {
            let at = file.at(S::IDENTITY, 0, offset_of!(Identity, id_len));
            file.put32(at, 65);
        }
        I::RegionShape => {
            let at = file.at(S::REGIONS, 1, offset_of!(Region, size));
            file.put64(at, (1 << 32) + 1);
        }
        I::RegionOrder => {
            let at = file.at(S::REGIONS, 1, offset_of!(Region, base));
            file.put64(at, 0x401000);
        }
        I::RegionTables => {
            let at = file.at(S::REGIONS, 1, offset_of!(Region, count));
            file.put32(at, 1 << 20);
        }
        I::HotRegion => file.put32(offset_of!(Header, hot_region), 100),
        I::RecordOrder => {
            let at = file.at(S::RECORDS, 1, offset_of!(Record, start));
            file.put32(at, records[2].start.get() + 1);
        }
        I::RecordShape => {
            let at = file.at(S::RECORDS, 0, offset_of!(Record, attrs));
            file.put16(at, 1 << 14);
        }
        I::BucketsRight => {
            let at = file.at(S::BUCKETS, 1, 0);
            file.edit(at, |old| (u32::from_le_bytes(old) + 1).to_le_bytes());
        }
        I::ResumeRight => {
            let resume = file.record_of(Kind::Resume);
            let at = file.at(S::RECORDS, resume, offset_of!(Record, name));
            file.put32(at, resume as u32);
        }
        I::NameInside => {
            let at = file.at(S::RECORDS, 0, offset_of!(Record, name));
            file.put32(at, NONE - 1);
        }
        I::AliasOrder => {
            let at = file.at(S::ALIASES, 0, offset_of!(Alias, owner));
            file.put32(at, 0);
        }
        I::NameOnlyOrder => {
            let at = file.at(S::NAMES_ONLY, 0, offset_of!(NameOnly, value));
            file.put64(at, u64::MAX);
        }
        I::NameIndex => {
            let at = file.at(S::NAME_TAGS, 3, 0);
            file.edit(at, |[tag]| [tag ^ 1]);
        }
        I::LargeOrder => {
            let at = file.at(S::LARGE, 0, offset_of!(Large, record));
            file.put32(at, 0);
        }
        I::ImageSectionShape => {
            let at = file.at(S::IMAGE_SECTIONS, 0, offset_of!(ImageSection, address));
            file.put64(at, u64::MAX);
        }
        I::SegmentShape => {
            let at = file.at(S::SEGMENTS, 0, offset_of!(Segment, memory_size));
            file.put64(at, 0);
        }
        I::PaddingZero => {
            let (_, entry) = file.entry(S::NAME_TAGS);
            let end = (entry.offset.get() + entry.size.get()) as usize;
            file.edit(end, |[_]| [1]);
        }
        I::SectionHash => {
            let at = file.at(S::NAMES, 0, 0);
            file.edit(at, |[byte]| [byte ^ 0x20]);
        }
        I::FileHash => file.put32(offset_of!(Header, ignored_flags), 1),
        I::MetadataShape => {
            let (_, entry) = file.entry(S::METADATA);
            let start = entry.offset.get() as usize;
            file.0[start..start + entry.size.get() as usize].fill(0xff);
        }
        I::LineSpanShape => {
            let at = file.at(S::LINE_SPANS, 0, offset_of!(LineSpan, window_first));
            file.put32(at, 1);
        }
        I::WindowOrder => {
            let at = file.at(S::LINE_WINDOWS, 1, 0);
            file.put32(at, 1 << 20);
        }
        // A row that picks an entry which is not there.
        I::WindowShape => {
            let at = file.at(S::LINES, 1, 0);
            file.edit(at, |[entries]| [entries - 1]);
        }
        // The first node says that it was inlined: into what would lie before it.
        I::NodeShape => {
            let at = file.at(S::INLINES, 0, 0);
            file.edit(at, |[head]| [head | 0x04]);
        }
        I::FunctionShape => {
            let at = file.at(S::FUNCTIONS, 0, offset_of!(FunctionEntry, file));
            file.edit(at, |_: [u8; 3]| [1, 1, 1]);
        }
        I::DisplayOrder => {
            let at = file.at(S::DISPLAY_BUCKETS, 1, 0);
            file.edit(at, |old| (u32::from_le_bytes(old) + 1).to_le_bytes());
        }
        I::DisplayTexts => {
            let at = file.at(S::DISPLAY, 0, offset_of!(Display, text));
            file.put32(at, NONE);
        }
        // More phrases than the section has room for.
        I::DictionaryWhole => {
            let at = file.at(S::NAMES, 0, offset_of!(PackedHead, phrases));
            file.put32(at, MAX_PHRASES);
        }
        I::PhraseShape => {
            let at = file.at(S::NAMES, size_of::<PackedHead>(), offset_of!(Phrase, len));
            file.edit(at, |[_]| [0]);
        }
        // A phrase that is not there, in the last name, which is a section's and not found
        // by name.
        I::PackedName => {
            let (_, entry) = file.entry(S::NAMES);
            let end = (entry.offset.get() + entry.size.get()) as usize;
            file.edit(end - 2, |_: [u8; 2]| [CODE_HEX - 1, 0xff]);
        }
        other => panic!("{other:?} has no damaged file: write one"),
    }
    if !matches!(invariant, I::HeaderComplete | I::SectionHash | I::FileHash) {
        support::reseal(&mut file.0);
    }
}

fn damaged(invariant: Invariant) -> Vec<u8> {
    let mut file = File(good(invariant).to_vec());
    break_it(invariant, &mut file);
    file.0
}

fn path(invariant: Invariant) -> PathBuf {
    let number: u32 = invariant.number()[1..].parse().unwrap();
    let name = format!("i{number:02}.symidx");
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/corrupt").join(name)
}

fn violation(bytes: &[u8]) -> Result<(), Violation> {
    match Index::from_bytes(bytes) {
        Ok(index) => index.verify(),
        Err(OpenError::Broken(violation)) => Err(violation),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn the_good_file_is_good() {
    for good in [GOOD, GOOD_LINES, SHOWN, PACKED] {
        assert_eq!(violation(good), Ok(()));
        let mut sealed = good.to_vec();
        support::reseal(&mut sealed);
        assert_eq!(sealed, good, "sealing a whole file changes nothing");
    }
}

#[test]
fn the_files_are_what_the_edits_make() {
    for &invariant in Invariant::ALL {
        let (path, bytes) = (path(invariant), damaged(invariant));
        if std::env::var_os("SYMIDX_WRITE_CORRUPT").is_some() {
            std::fs::write(&path, &bytes).unwrap();
        }
        let stored = std::fs::read(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; see README.md there", path.display()));
        assert!(stored == bytes, "{} is not what its edit makes", path.display());
    }
}

#[test]
fn each_file_breaks_exactly_its_invariant() {
    for &invariant in Invariant::ALL {
        let bytes = damaged(invariant);
        let found = violation(&bytes);
        if invariant == Invariant::MetadataShape && !cfg!(feature = "metadata") {
            assert_eq!(found, Ok(()), "only the metadata feature looks inside");
            continue;
        }
        let found = found.expect_err(invariant.number());
        assert_eq!(found.invariant, invariant, "{found}");
        let text = found.to_string();
        assert!(text.contains(invariant.number()) && text.contains(invariant.text()), "{text}");
        // What opening promises it checks by itself, the rest it leaves.
        let number: u32 = invariant.number()[1..].parse().unwrap();
        let by_open = number <= 8 || number == 12 || number == 35;
        assert_eq!(Index::from_bytes(&bytes).is_err(), by_open, "{found}");
    }
}

#[test]
fn every_query_bears_every_damage() {
    for &invariant in Invariant::ALL {
        let bytes = damaged(invariant);
        let Ok(index) = Index::from_bytes(&bytes) else { continue };
        let addresses = support::borders(&index, 4096);
        let tally = support::ask_everything(&index, &addresses, usize::MAX);
        // Of the promises that are bounded at use, these are met by a query.
        let met = matches!(
            invariant,
            Invariant::RegionTables
                | Invariant::ResumeRight
                | Invariant::NameInside
                | Invariant::WindowOrder
                | Invariant::WindowShape
                | Invariant::NodeShape
                | Invariant::FunctionShape
                | Invariant::DisplayTexts
        );
        if met {
            assert!(tally.corrupt.is_some(), "{invariant:?} went unnoticed");
        }
    }
}

/// A bare function start has no name that others could be aliases of. `find`
/// answered `Corrupt` for a file that `verify` had passed.
#[test]
fn an_alias_of_an_unnamed_record_is_found_by_verify() {
    let mut file = File(GOOD.to_vec());
    let at = file.at(SectionId::ALIASES, 0, 0);
    let owner = u32::from_le_bytes(file.0[at..at + 4].try_into().unwrap()) as usize;
    let attrs = Kind::Unnamed.code() as u16 | Attrs::HAS_ALIASES;
    let at = |field| file.at(SectionId::RECORDS, owner, field);
    let (name_len, kind) = (at(offset_of!(Record, name_len)), at(offset_of!(Record, attrs)));
    file.put16(name_len, 0);
    file.put16(kind, attrs);
    support::reseal(&mut file.0);
    assert_eq!(violation(&file.0).unwrap_err().invariant, Invariant::AliasOrder);
}

/// Regions that claim each other's records once made a walk over the symbols
/// as long as regions times records: minutes for a file of a megabyte.
#[test]
fn a_walk_over_symbols_is_no_longer_than_the_records() {
    let mut file = File(GOOD.to_vec());
    let records = file.records().len();
    let at = |field| file.at(SectionId::REGIONS, 1, field);
    let (first, count) = (at(offset_of!(Region, first)), at(offset_of!(Region, count)));
    file.put32(first, 0);
    file.put32(count, records as u32);
    let index = Index::from_bytes(&file.0).unwrap();
    assert!(index.symbols().count() <= records + 1);
    assert!(index.symbols().any(|symbol| symbol.is_err()), "and the damage is told");
}

/// A root that says its function has the symbol's name spares readers the
/// lookup: if it were not so they would get a wrong name.
#[test]
fn a_root_that_claims_another_name_is_found_by_verify() {
    let good = File(GOOD_LINES.to_vec());
    let name = |function: usize| good.at(SectionId::FUNCTIONS, function, 0);
    let count = good.at(SectionId::FUNCTIONS, 1, 0) - name(0);
    let count = good.entry(SectionId::FUNCTIONS).1.size.get() as usize / count;
    let mut found = 0;
    for function in 0..count {
        let mut file = File(GOOD_LINES.to_vec());
        // The name and its length, of the function before.
        let other = name((function + count - 1) % count);
        file.0.copy_within(other..other + 6, name(function));
        support::reseal(&mut file.0);
        match violation(&file.0) {
            Ok(()) => {}
            Err(violation) => {
                assert_eq!(violation.invariant, Invariant::NodeShape, "{violation}");
                found += 1;
            }
        }
    }
    assert!((2..count).contains(&found), "{found} of {count} functions");
}
