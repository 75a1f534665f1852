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
use crate::demangle::{Demangler, Texts};
use crate::model::Report;

/// Entries per bucket: they fit in two cache lines.
const ENTRIES_PER_BUCKET: usize = 8;
/// Shortest run of bytes that is looked for among the texts stored already.
const MATCH: usize = 16;
/// Every so many bytes a stored text can be found.
const GRAIN: usize = 2;
/// So many places with the same bytes are tried, the newest first.
const PATIENCE: usize = 32;
/// No place.
const NOWHERE: u32 = u32::MAX;

/// Adds to a plan what people read in place of each mangled name.
///
/// # Errors
/// [`LayoutError`] when there are too many names.
pub fn add_display_names(plan: &mut Plan<'_>, report: &mut Report) -> Result<(), LayoutError> {
    let mut packer = Packer::new(plan.names.size);
    let mut demangler = Demangler::new(true);
    let mut known: HashMap<[u8; 16], Display> = HashMap::new();
    let mut too_many = 0u64;
    let unit = 1u64 << plan.names.shift;
    let mut end = 0u64;
    for name in plan.names.iter() {
        let start = end.next_multiple_of(unit);
        let prefix = if name.is_long() { 4 } else { 0 };
        let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
        end = start.saturating_add(prefix).saturating_add(length);
        let Some(texts) = demangler.texts(name.plain) else { continue };
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

fn place_buckets(plan: &mut Plan<'_>) -> Result<(), LayoutError> {
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
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts<'t>(full: &'t [u8], short: &'t [u8]) -> Texts<'t> {
        Texts { full, short }
    }

    /// The run of an entry, read back.
    fn run(packer: &Packer, entry: Display) -> Vec<u8> {
        let text = usize::try_from(entry.text.get()).unwrap();
        if entry.pieces.get() == 1 {
            return packer.literals[text..text + entry.run_len()].to_vec();
        }
        let lists = &packer.lists[text..];
        let pieces = usize::from(entry.pieces.get());
        let list = lists.as_chunks::<6>().0[..pieces].iter();
        list.flat_map(|piece| {
            let [a, b, c, d, len @ ..] = *piece;
            let at = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap();
            packer.literals[at..at + usize::from(u16::from_le_bytes(len))].to_vec()
        })
        .collect()
    }

    #[test]
    fn what_repeats_is_stored_once() {
        let mut packer = Packer::new(1 << 12);
        let first = b"space::Longer::Names::method(int, char const*)";
        let entry = packer.store(&texts(first, &first[..28])).unwrap();
        assert_eq!((entry.pieces.get(), packer.literals.len()), (1, first.len()));
        let second = b"space::Longer::Names::other(int, char const*)";
        let entry = packer.store(&texts(second, &second[..27])).unwrap();
        assert_eq!(entry.pieces.get(), 3);
        assert!(packer.literals.len() < first.len() + 8);
        assert_eq!(run(&packer, entry), second);
        // A part of an old text is one piece and needs no list.
        let lists = packer.lists.len();
        let entry = packer.store(&texts(&first[7..], &first[7..28])).unwrap();
        assert_eq!((entry.pieces.get(), packer.lists.len()), (1, lists));
        assert_eq!(run(&packer, entry), &first[7..]);
    }

    #[test]
    fn a_short_text_is_a_part_of_the_full_one_or_follows_it() {
        let mut packer = Packer::new(1 << 12);
        let entry = packer.store(&texts(b"int f<int>(int)", b"f<int>")).unwrap();
        assert_eq!((entry.short_start.get(), entry.short_len.get()), (4, 6));
        let entry = packer.store(&texts(b"f(int) [clone .cold]", b"f [clone .cold]")).unwrap();
        assert_eq!((entry.full_len.get(), entry.short_start.get()), (20, 20));
        assert_eq!(run(&packer, entry), b"f(int) [clone .cold]f [clone .cold]");
    }

    /// Made of too many old parts, a text would be slow to read.
    #[test]
    fn a_text_of_many_parts_is_stored_whole() {
        let mut packer = Packer::new(1 << 12);
        let part = |i: u8| [b'a' + i; 20];
        let mut all = Vec::new();
        for i in 0..10 {
            packer.store(&texts(&part(i), &part(i))).unwrap();
            all.splice(0..0, part(i));
        }
        let before = packer.literals.len();
        let entry = packer.store(&texts(&all, &all)).unwrap();
        assert_eq!(entry.pieces.get(), 1);
        assert_eq!(packer.literals.len(), before + all.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn every_text_is_read_back(words in prop::collection::vec(
            prop::collection::vec(0..12_usize, 1..40), 1..40)
        ) {
            const WORDS: [&str; 12] = [
                "a", "::", "std::vector<int, std::allocator<int> >", "é", "öäüß", "(", ")",
                "const&", "aaaaaaaaaaaaaaaaaaaaaaaaaaa", "ééééééééééééééé", "at::Tensor", ", ",
            ];
            let mut packer = Packer::new(1 << 10);
            let mut stored = Vec::new();
            for text in &words {
                let text: String = text.iter().map(|&word| WORDS[word]).collect();
                let short = &text.as_bytes()[..1];
                stored.push((packer.store(&texts(text.as_bytes(), short)).unwrap(), text.clone()));
            }
            for (entry, text) in stored {
                prop_assert!((1..=MAX_PIECES).contains(&entry.pieces.get()));
                prop_assert_eq!(run(&packer, entry), text.as_bytes());
                let pieces = usize::from(entry.pieces.get());
                let start = usize::try_from(entry.text.get()).unwrap();
                if pieces > 1 {
                    for piece in &packer.lists[start..].as_chunks::<6>().0[..pieces] {
                        let [a, b, c, d, len @ ..] = *piece;
                        let at = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap();
                        let len = usize::from(u16::from_le_bytes(len));
                        let piece = &packer.literals[at..at + len];
                        prop_assert!(std::str::from_utf8(piece).is_ok() && !piece.is_empty());
                    }
                }
            }
        }
    }
}
