//! Abbreviation tables: parsed once where units share one, and never when they
//! would cost more than they can be worth.
//!
//! In: `.debug_abbrev` and who uses it. Out: gimli's tables. No unit's table
//! depends on the order in which units are read.

use std::sync::{Arc, OnceLock};

use gimli::read::Section as _;
use gimli::{Abbreviations, Reader as _, constants};

use super::headers::Headers;
use super::limits::Allowance;
use super::unit::{Dwarf, Header, Slice};
use super::wide;

/// A longer table is damage.
const LONGEST: u64 = 1 << 20;
/// A DIE of more attributes is damage: they may take no bytes at all.
const MOST_ATTRIBUTES: u32 = 128;
/// Bytes of tables that are kept because several units use them.
const MOST_SHARED: u64 = 1 << 22;

/// The tables of one file.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// Sorted by offset.
    list: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    offset: usize,
    /// Bytes; `None` when it is refused.
    size: Option<u64>,
    /// Kept once it is parsed.
    shared: Option<OnceLock<gimli::Result<Arc<Abbreviations>>>>,
}

impl Tables {
    /// Finds the tables of all units, without parsing them.
    pub(super) fn find(dwarf: &Dwarf<'_>, headers: &Headers<'_>) -> Self {
        let mut offsets: Vec<usize> =
            headers.list.iter().map(|header| header.debug_abbrev_offset().0).collect();
        offsets.sort_unstable();
        let section = *dwarf.debug_abbrev.reader();
        let bytes = wide(section.len());
        // Tables may overlap, and be used by many: both cost.
        let mut scanning = bytes.saturating_mul(8).saturating_add(1 << 16);
        let mut parsing = bytes.saturating_mul(32).saturating_add(1 << 20);
        let mut sharing = MOST_SHARED;
        let mut list = Vec::new();
        for group in offsets.chunk_by(|a, b| a == b) {
            let Some(&offset) = group.first() else { continue };
            let mut size = extent(section, offset, &mut scanning);
            let mut shared = None;
            if let Some(bytes) = size {
                if group.len() > 1 && bytes <= sharing {
                    sharing = sharing.saturating_sub(bytes);
                    shared = Some(OnceLock::new());
                } else {
                    let cost = bytes.saturating_mul(wide(group.len()));
                    match parsing.checked_sub(cost) {
                        Some(left) => parsing = left,
                        None => size = None,
                    }
                }
            }
            list.push(Table { offset, size, shared });
        }
        Self { list }
    }

    /// The bytes of the table of a unit; 0 for one that is refused.
    pub(super) fn size(&self, header: &Header<'_>) -> u64 {
        let offset = header.debug_abbrev_offset().0;
        let place = self.list.binary_search_by_key(&offset, |table| table.offset);
        let table = place.ok().and_then(|place| self.list.get(place));
        table.and_then(|table| table.size).unwrap_or(0)
    }

    /// The table of a unit. `far` pays for it when it is another unit's.
    ///
    /// # Errors
    /// gimli's; its `InvalidAbbreviationCode(0)` for a table that is refused.
    pub(super) fn of(
        &self,
        dwarf: &Dwarf<'_>,
        header: &Header<'_>,
        far: Option<&Allowance>,
    ) -> gimli::Result<Arc<Abbreviations>> {
        const REFUSED: gimli::Error = gimli::Error::InvalidAbbreviationCode(0);
        let offset = header.debug_abbrev_offset();
        let place = self.list.binary_search_by_key(&offset.0, |table| table.offset);
        let table = place.ok().and_then(|place| self.list.get(place)).ok_or(REFUSED)?;
        let size = table.size.ok_or(REFUSED)?;
        let parse = || dwarf.debug_abbrev.abbreviations(offset).map(Arc::new);
        match &table.shared {
            Some(shared) => shared.get_or_init(parse).clone(),
            None if far.is_none_or(|far| far.far(size)) => parse(),
            None => Err(REFUSED),
        }
    }
}

/// Bytes of the table at `offset`; `None` when it is damaged, too long, or when
/// `scanning` is used up.
fn extent(mut section: Slice<'_>, offset: usize, scanning: &mut u64) -> Option<u64> {
    section.skip(offset).ok()?;
    let most = LONGEST.min(*scanning);
    let rest = section.len();
    let read = |section: &Slice<'_>| wide(rest.saturating_sub(section.len()));
    let mut whole = || -> gimli::Result<bool> {
        while read(&section) <= most && !section.is_empty() && section.read_uleb128()? != 0 {
            section.read_uleb128()?;
            section.read_u8()?;
            let mut attributes = 0_u32;
            loop {
                let name = section.read_uleb128()?;
                let form = section.read_uleb128()?;
                if form == u64::from(constants::DW_FORM_implicit_const.0) {
                    section.read_sleb128()?;
                }
                if (name, form) == (0, 0) {
                    break;
                }
                attributes = attributes.saturating_add(1);
                if attributes > MOST_ATTRIBUTES {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    };
    let sound = whole().unwrap_or(false);
    let read = read(&section);
    *scanning = scanning.saturating_sub(read);
    (sound && read <= most).then_some(read)
}
