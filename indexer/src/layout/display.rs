//! Display names: what people read in place of each mangled name, made once
//! so that no reader has to.
//!
//! In: the names in storage order. Out: an entry per name that demangles, and
//! their texts, which repeat each other so much that each is stored as a few
//! pieces of those before it. Never changes a name.

use std::collections::HashMap;

use symidx::format::{Display, DisplayPiece, MAX_PIECES, display_bucket_of};
use zerocopy::IntoBytes;

use super::{LayoutError, Plan, count32};
use crate::demangle::{Demangler, Texts, may_be_mangled};
use crate::model::Report;

/// Entries per bucket: they fit in two cache lines.
const ENTRIES_PER_BUCKET: usize = 8;
/// Shortest run of bytes that is looked for among the texts stored already.
const MATCH: usize = 16;
/// Every so many bytes a stored text can be found.
const GRAIN: usize = 2;
/// So many places with the same bytes are tried, the newest first.
const PATIENCE: usize = 32;
/// So many names that only look mangled are borne, and one among so many:
/// each may take some 50 milliseconds, and a real file has hardly any.
const FAILURES: u64 = 256;
const FAILURES_AMONG: u64 = 64;
/// No place.
const NOWHERE: u32 = u32::MAX;

/// Adds to a plan what people read in place of each mangled name.
///
/// # Errors
/// [`LayoutError`] when there are too many names.
///
/// ```
/// # let plan = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/plan.rs"));
/// let mut plan = plan;
/// symidx_indexer::layout::add_display_names(&mut plan, &mut Default::default())?;
/// assert!(plan.display.is_empty()); // the names of C are shown as they are
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn add_display_names(plan: &mut Plan<'_>, report: &mut Report) -> Result<(), LayoutError> {
    let mut packer = Packer::new(plan.names.size);
    let mut demangler = Demangler::new(true);
    let mut known: HashMap<[u8; 16], Display> = HashMap::new();
    let mut too_many = 0u64;
    let (mut tried, mut failed) = (0u64, 0u64);
    let unit = 1u64 << plan.names.shift;
    let mut end = 0u64;
    for name in plan.names.iter() {
        let start = end.next_multiple_of(unit);
        let prefix = if name.is_long() { 4 } else { 0 };
        let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
        end = start.saturating_add(prefix).saturating_add(length);
        if !may_be_mangled(name.plain) {
            continue;
        }
        tried = tried.saturating_add(1);
        let Some(texts) = demangler.texts(name.plain) else {
            failed = failed.saturating_add(1);
            if failed > FAILURES.saturating_add(tried / FAILURES_AMONG) {
                report.warn(format!(
                    "expected mangled names, found {failed} that are not among {tried}: gave up, and stored no display names for the rest"
                ));
                break;
            }
            continue;
        };
        let at =
            u32::try_from(start >> plan.names.shift).map_err(|_| LayoutError::NamesTooLarge)?;
        let key = key(&texts);
        let shown = match known.get(&key) {
            Some(shown) => Some(*shown),
            None => packer.store(&texts),
        };
        match shown {
            Some(shown) => {
                known.insert(key, shown);
                plan.display.push(Display { name: at.into(), ..shown });
            }
            None => too_many = too_many.saturating_add(1),
        }
    }
    if too_many > 0 {
        report.skip_many("display name beyond 4 GiB of them", too_many);
        report.warn(format!(
            "expected at most 4 GiB of display names, found more: {too_many} names are shown mangled"
        ));
    }
    let lists = count32(packer.literals.len())?;
    for entry in &mut plan.display {
        if entry.pieces.get() > 1 {
            entry.text = entry.text.get().saturating_add(lists).into();
        }
    }
    plan.display_text = packer.literals;
    plan.display_text.extend_from_slice(&packer.lists);
    place_buckets(plan)
}

/// Fills the buckets of the display names anew.
pub(super) fn place_buckets(plan: &mut Plan<'_>) -> Result<(), LayoutError> {
    plan.display_buckets.clear();
    let end = count32(plan.display.len())?;
    if end == 0 {
        return Ok(());
    }
    let units = plan.names.size.div_ceil(1 << plan.names.shift);
    let buckets = count32(plan.display.len().div_ceil(ENTRIES_PER_BUCKET))?;
    let mut next = 0;
    for (position, entry) in (0u32..).zip(&plan.display) {
        while next <= display_bucket_of(entry.name.get(), units, buckets) {
            plan.display_buckets.push(position);
            next = next.saturating_add(1);
        }
    }
    while next <= buckets {
        plan.display_buckets.push(end);
        next = next.saturating_add(1);
    }
    Ok(())
}

/// Equal texts, equal key.
fn key(texts: &Texts<'_>) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&u64::try_from(texts.full.len()).unwrap_or(u64::MAX).to_le_bytes());
    hasher.update(texts.full);
    hasher.update(texts.short);
    hasher.finalize().as_bytes().first_chunk().copied().unwrap_or_default()
}

/// A part of a run: bytes stored already, or new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Place and length among the literals.
    Old(usize, usize),
    /// Start and end in the run.
    New(usize, usize),
}

/// Stores runs of bytes, as pieces of earlier ones where that is shorter.
struct Packer {
    literals: Vec<u8>,
    /// Lists of [`DisplayPiece`], stored behind the literals.
    lists: Vec<u8>,
    /// The newest place with a certain hash of its next [`MATCH`] bytes.
    newest: Vec<u32>,
    /// For every [`GRAIN`]th place the one before with the same hash.
    older: Vec<u32>,
    shift: u32,
    run: Vec<u8>,
    parts: Vec<Part>,
}

impl Packer {
    /// One for texts of names of so many bytes.
    fn new(names: u64) -> Self {
        let bits = names.checked_ilog2().unwrap_or(0).clamp(8, 22);
        Self {
            literals: Vec::new(),
            lists: Vec::new(),
            newest: vec![NOWHERE; 1 << bits],
            older: Vec::new(),
            shift: 64u32.saturating_sub(bits),
            run: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// The entry of both texts, without its name; `None` when there is no
    /// room. The text of an entry with several pieces counts from the lists.
    fn store(&mut self, texts: &Texts<'_>) -> Option<Display> {
        self.run.clear();
        self.run.extend_from_slice(texts.full);
        let inside = match texts.full.starts_with(texts.short) {
            true => Some(0),
            false => memchr::memmem::find(texts.full, texts.short),
        };
        let short_start = inside.unwrap_or(texts.full.len());
        if inside.is_none() {
            self.run.extend_from_slice(texts.short);
        }
        let list = size_of::<DisplayPiece>().saturating_mul(usize::from(MAX_PIECES));
        let room = self.literals.len().saturating_add(self.lists.len());
        let needed = room.saturating_add(self.run.len()).saturating_add(list);
        u32::try_from(needed).ok().filter(|&needed| needed != NOWHERE)?;
        let (text, pieces) = self.store_run()?;
        Some(Display {
            name: 0.into(),
            text: text.into(),
            full_len: u16::try_from(texts.full.len()).ok()?.into(),
            short_start: u16::try_from(short_start).ok()?.into(),
            short_len: u16::try_from(texts.short.len()).ok()?.into(),
            pieces: pieces.into(),
        })
    }

    fn store_run(&mut self) -> Option<(u32, u16)> {
        let run = std::mem::take(&mut self.run);
        self.split(&run);
        if self.parts.len() > usize::from(MAX_PIECES) {
            self.parts.clear();
            self.parts.push(Part::New(0, run.len()));
        }
        let parts = std::mem::take(&mut self.parts);
        let list = u32::try_from(self.lists.len()).ok()?;
        let mut first = None;
        for part in &parts {
            let (at, len) = match *part {
                Part::Old(at, len) => (at, len),
                Part::New(start, end) => {
                    let bytes = run.get(start..end)?;
                    (self.append(bytes), bytes.len())
                }
            };
            let at = u32::try_from(at).ok()?;
            first.get_or_insert(at);
            if parts.len() > 1 {
                let piece = DisplayPiece { at: at.into(), len: u16::try_from(len).ok()?.into() };
                self.lists.extend_from_slice(piece.as_bytes());
            }
        }
        let count = u16::try_from(parts.len()).ok()?;
        (self.run, self.parts) = (run, parts);
        Some((if count == 1 { first? } else { list }, count))
    }

    /// Splits a run into parts, the longest old ones that are found from left
    /// to right. No part begins or ends inside a character.
    fn split(&mut self, run: &[u8]) {
        self.parts.clear();
        let (mut at, mut new) = (0usize, 0usize);
        while at.saturating_add(MATCH) <= run.len() {
            let found = if is_boundary(run, at) { self.longest(run, at) } else { None };
            let Some((mut place, mut len)) = found else {
                at = at.saturating_add(1);
                continue;
            };
            // What comes before may be old as well.
            while at > new
                && let (Some(before), Some(to)) = (place.checked_sub(1), at.checked_sub(1))
                && self.literals.get(before) == run.get(to)
            {
                (place, at, len) = (before, to, len.saturating_add(1));
            }
            while !is_boundary(run, at) {
                place = place.saturating_add(1);
                at = at.saturating_add(1);
                len = len.saturating_sub(1);
            }
            if at > new {
                self.parts.push(Part::New(new, at));
            }
            self.parts.push(Part::Old(place, len));
            at = at.saturating_add(len);
            new = at;
        }
        if new < run.len() {
            self.parts.push(Part::New(new, run.len()));
        }
    }

    /// The longest stored bytes that equal the run from `at` on.
    fn longest(&self, run: &[u8], at: usize) -> Option<(usize, usize)> {
        let wanted = run.get(at..)?;
        let mut place = self.newest.get(self.slot(wanted)?).copied()?;
        let mut best: Option<(usize, usize)> = None;
        for _ in 0..PATIENCE {
            let Ok(found) = usize::try_from(place) else { break };
            let Some(stored) = self.literals.get(found..) else { break };
            let mut len = common(wanted, stored);
            while !is_boundary(wanted, len) {
                len = len.saturating_sub(1);
            }
            if len >= MATCH && best.is_none_or(|(_, best)| len > best) {
                best = Some((found, len));
                if len == wanted.len() {
                    break;
                }
            }
            let Some(&older) = self.older.get(found / GRAIN) else { break };
            place = older;
        }
        best
    }

    /// Appends new bytes, to be found from now on; returns where they are.
    fn append(&mut self, bytes: &[u8]) -> usize {
        let start = self.literals.len();
        self.literals.extend_from_slice(bytes);
        let first = start.next_multiple_of(GRAIN);
        let last = self.literals.len().saturating_sub(MATCH.saturating_sub(1));
        for place in (first..last).step_by(GRAIN) {
            let slot = self.literals.get(place..).and_then(|bytes| self.slot(bytes));
            let Some(newest) = slot.and_then(|slot| self.newest.get_mut(slot)) else { continue };
            let older = place / GRAIN;
            if self.older.len() <= older {
                self.older.resize(older.saturating_add(1), NOWHERE);
            }
            if let (Some(older), Ok(place)) = (self.older.get_mut(older), u32::try_from(place)) {
                *older = std::mem::replace(newest, place);
            }
        }
        start
    }

    /// The slot of the first [`MATCH`] bytes.
    fn slot(&self, bytes: &[u8]) -> Option<usize> {
        const K: u64 = 0x9e37_79b9_7f4a_7c15;
        let (first, rest) = bytes.split_first_chunk::<8>()?;
        let second = rest.first_chunk::<8>()?;
        let mixed = u64::from_le_bytes(*first).wrapping_mul(K) ^ u64::from_le_bytes(*second);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(K);
        usize::try_from(mixed.checked_shr(self.shift)?).ok()
    }
}

/// How many bytes at the start of both are equal.
fn common(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 8;
    let (blocks, _) = a.as_chunks::<BLOCK>();
    let (others, _) = b.as_chunks::<BLOCK>();
    let equal = blocks.iter().zip(others).take_while(|(a, b)| a == b).count();
    let whole = equal.saturating_mul(BLOCK);
    let (a, b) = (a.get(whole..).unwrap_or(&[]), b.get(whole..).unwrap_or(&[]));
    whole.saturating_add(a.iter().zip(b).take_while(|(a, b)| a == b).count())
}

/// True where no character is cut: in front of one, and at the end.
fn is_boundary(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|&byte| byte & 0xc0 != 0x80)
}

#[cfg(test)]
mod tests;
