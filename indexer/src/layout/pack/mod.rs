//! Packed names: a dictionary of what the names repeat, and each name as codes.
//!
//! In: a plan whose names are plain. Out: the bytes of a packed names section,
//! and every reference to a name moved to where it is now. Never changes a
//! name or their order, and gives the same bytes for any number of threads.

use symidx::format::{
    CODE_HEX, CODE_LITERAL, HEX_DIGITS, LONG_NAME, MAX_PHRASES, ONE_BYTE_CODES, PackedHead, Phrase,
};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use super::{LayoutError, Plan};

mod matcher;
mod train;

use matcher::Matcher;
use train::{Trained, train};

/// Bytes of names that phrases are made from.
const SAMPLE: u64 = 2 << 20;
/// Bytes of names by which the phrases are judged.
const JUDGED: u64 = 4 << 20;
/// Bytes that packed names may have more than plain ones: more, and they stay plain.
/// Some, as the dictionary of a few short names is more than it saves.
const MOST_GROWTH: u64 = 256;

/// Packs the names of a plan, or leaves them plain where packed ones, dictionary
/// included, have over 256 bytes more.
///
/// # Errors
/// [`LayoutError::PackedNamesTooLarge`] where packed ones pass 4 GiB all the same.
///
/// ```
/// # let plan = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/plan.rs"));
/// let mut plan = plan;
/// symidx_indexer::layout::pack_names(&mut plan)?;
/// assert!(plan.is_packed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pack_names(plan: &mut Plan<'_>) -> Result<(), LayoutError> {
    let total = plan.names.size;
    let limit = total.saturating_add(MOST_GROWTH);
    let mut packer = Packer::new(|most| sample(plan, total, most), total);
    let unit = 1u64 << plan.names.shift;
    let mut moved: Vec<(u32, u32)> = Vec::with_capacity(plan.names.len());
    let (mut at, mut name) = (0u64, Vec::new());
    for stored in plan.names.iter() {
        at = at.next_multiple_of(unit);
        name.clear();
        stored.append_to(&mut name);
        let place = packer.place()?;
        let old = u32::try_from(at >> plan.names.shift).map_err(|_| LayoutError::NamesTooLarge)?;
        moved.push((old, place));
        packer.push(&name, stored.is_long())?;
        // Before the next place: plain names may be where packed ones would pass 4 GiB.
        if u64::try_from(packer.section.len()).unwrap_or(u64::MAX) > limit {
            return Ok(());
        }
        let prefix = if stored.is_long() { 4 } else { 0 };
        let len = u64::try_from(name.len()).unwrap_or(u64::MAX);
        at = at.saturating_add(prefix).saturating_add(len);
    }
    packer.place()?;
    plan.names.pack(packer.section);
    move_names(plan, &Moved(moved));
    super::display::place_buckets(plan)
}

/// Some of the short names, evenly, so that they have `most` bytes together.
fn sample<'p>(plan: &'p Plan<'_>, total: u64, most: u64) -> impl Iterator<Item = Vec<u8>> + 'p {
    let (mut seen, mut taken) = (0u64, 0u64);
    plan.names.iter().filter_map(move |stored| {
        let len = u64::try_from(stored.len()).unwrap_or(u64::MAX);
        seen = seen.saturating_add(len);
        // taken / seen stays below most / total.
        let product = |a: u64, b: u64| u128::from(a).saturating_mul(u128::from(b));
        let due = product(taken, total) < product(seen, most);
        if !due || stored.is_long() {
            return None;
        }
        taken = taken.saturating_add(len);
        let mut name = Vec::new();
        stored.append_to(&mut name);
        Some(name)
    })
}

/// The section so far, and what packs the next name.
struct Packer {
    matcher: Matcher,
    section: Vec<u8>,
}

impl Packer {
    /// Head, phrases and their text, for names that are `total` bytes long together.
    fn new<I: Iterator<Item = Vec<u8>>>(sample: impl Fn(u64) -> I, total: u64) -> Self {
        let for_training: Vec<Vec<u8>> = sample(SAMPLE).collect();
        let trained = train(for_training.iter().map(Vec::as_slice));
        drop(for_training);
        let chosen = choose(&trained, sample(JUDGED), total);
        let (text, phrases) = lay_out(&trained, &chosen);
        let count = |count: usize| u32::try_from(count).unwrap_or(0).into();
        let head = PackedHead {
            phrases: count(phrases.len()),
            text: count(text.len()),
            plain: total.into(),
        };
        let mut section = Vec::new();
        section.extend_from_slice(head.as_bytes());
        section.extend_from_slice(phrases.as_bytes());
        section.extend_from_slice(&text);
        let bytes = |&number: &usize| trained.get(number).map_or(&[][..], |phrase| &phrase.bytes);
        Self { matcher: Matcher::new(chosen.iter().map(bytes)), section }
    }

    /// Where the next name starts.
    fn place(&self) -> Result<u32, LayoutError> {
        u32::try_from(self.section.len()).map_err(|_| LayoutError::PackedNamesTooLarge)
    }

    /// Appends a name; long ones as they are, behind their length.
    fn push(&mut self, name: &[u8], long: bool) -> Result<(), LayoutError> {
        if long {
            let length = u32::try_from(name.len()).map_err(|_| LayoutError::NamesTooLarge)?;
            self.section.extend_from_slice(&length.to_le_bytes());
            self.section.extend_from_slice(name);
            return Ok(());
        }
        let section = &mut self.section;
        encode(&self.matcher, name, |code| match code {
            Code::Phrase(number) => push_phrase(section, number),
            Code::Digits(packed) => {
                section.push(CODE_HEX);
                section.extend_from_slice(&packed);
            }
            Code::Bytes(bytes) => {
                for run in bytes.chunks(u8::MAX.into()) {
                    section.extend([CODE_LITERAL, u8::try_from(run.len()).unwrap_or(0)]);
                    section.extend_from_slice(run);
                }
            }
        });
        Ok(())
    }
}

/// A phrase's code: one byte for the first, most frequent ones, else two.
fn push_phrase(section: &mut Vec<u8>, number: u32) {
    match number.checked_sub(ONE_BYTE_CODES.into()).map(u32::to_le_bytes) {
        None => section.push(u8::try_from(number).unwrap_or(0)),
        Some([low, high, ..]) => section.extend([ONE_BYTE_CODES.saturating_add(high), low]),
    }
}

/// What a part of a name is stored as.
enum Code<'n> {
    Phrase(u32),
    Digits([u8; HEX_DIGITS / 2]),
    Bytes(&'n [u8]),
}

/// Takes a name apart: always the longest phrase, digits before shorter ones.
fn encode<'n>(matcher: &Matcher, name: &'n [u8], mut take: impl FnMut(Code<'n>)) {
    let mut rest = name;
    // What nothing fits, before the rest.
    let mut loose = 0usize;
    let mut from = name;
    while !rest.is_empty() {
        let phrase = matcher.longest(rest);
        let digits = hex_run(rest).filter(|_| phrase.is_none_or(|(_, len)| len < HEX_DIGITS));
        let (code, behind) = match (digits, phrase) {
            (Some((packed, behind)), _) => (Code::Digits(packed), behind),
            (None, Some((number, len))) => (Code::Phrase(number), rest.get(len..).unwrap_or(&[])),
            (None, None) => {
                loose = loose.saturating_add(1);
                rest = rest.get(1..).unwrap_or(&[]);
                continue;
            }
        };
        if let Some(bytes) = from.get(..loose).filter(|bytes| !bytes.is_empty()) {
            take(Code::Bytes(bytes));
        }
        take(code);
        (rest, from, loose) = (behind, behind, 0);
    }
    if let Some(bytes) = from.get(..loose).filter(|bytes| !bytes.is_empty()) {
        take(Code::Bytes(bytes));
    }
}

/// The phrases that are worth their place, the most used first.
fn choose(trained: &[Trained], judged: impl Iterator<Item = Vec<u8>>, total: u64) -> Vec<usize> {
    let matcher = Matcher::new(trained.iter().map(|phrase| phrase.bytes.as_slice()));
    let mut uses = vec![0u64; trained.len()];
    let mut seen = 0u64;
    for name in judged {
        seen = seen.saturating_add(u64::try_from(name.len()).unwrap_or(u64::MAX));
        encode(&matcher, &name, |code| {
            if let Code::Phrase(number) = code {
                let uses = usize::try_from(number).ok().and_then(|number| uses.get_mut(number));
                if let Some(uses) = uses {
                    *uses = uses.saturating_add(1);
                }
            }
        });
    }
    // Counted in a part of the names, meant for all.
    let share = total.checked_div(seen.max(1)).unwrap_or(1).max(1);
    let mut covered = vec![false; trained.len()];
    let mut chosen: Vec<(u64, usize)> = Vec::new();
    // Halves have smaller numbers: so each comes behind all that it is part of.
    for (number, phrase) in trained.iter().enumerate().rev() {
        let uses_here = uses.get(number).copied().unwrap_or(0);
        let text = match covered.get(number) {
            Some(true) => 0,
            _ => phrase.bytes.len(),
        };
        // A use saves the second code of two bytes, or the head of a byte as it is.
        let cost = u64::try_from(text.saturating_add(size_of::<Phrase>())).unwrap_or(u64::MAX);
        let worth = uses_here.saturating_mul(share).saturating_mul(2) > cost;
        if worth {
            chosen.push((uses_here, number));
        }
        let kept = worth || covered.get(number).copied().unwrap_or(false);
        for half in phrase.halves() {
            if let Some(covered) = covered.get_mut(half) {
                *covered |= kept;
            }
            // Without the phrase its halves are used.
            if let Some(uses) = uses.get_mut(half).filter(|_| !worth) {
                *uses = uses.saturating_add(uses_here);
            }
        }
    }
    chosen.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    chosen.truncate(usize::try_from(MAX_PHRASES).unwrap_or(usize::MAX));
    chosen.into_iter().map(|(_, number)| number).collect()
}

/// The dictionary's text and the chosen phrases in it. Halves lie in the
/// phrases that were made of them.
fn lay_out(trained: &[Trained], chosen: &[usize]) -> (Vec<u8>, Vec<Phrase>) {
    let mut wanted = vec![false; trained.len()];
    for &number in chosen {
        if let Some(wanted) = wanted.get_mut(number) {
            *wanted = true;
        }
    }
    let mut text = Vec::new();
    let mut places: Vec<Option<usize>> = vec![None; trained.len()];
    // Halves have smaller numbers: so each comes behind all that it is part of.
    for (number, phrase) in trained.iter().enumerate().rev() {
        let place = match (places.get(number).copied().flatten(), wanted.get(number)) {
            (Some(place), _) => place,
            (None, Some(true)) => {
                text.extend_from_slice(&phrase.bytes);
                text.len().saturating_sub(phrase.bytes.len())
            }
            (None, _) => continue,
        };
        if let Some(slot) = places.get_mut(number) {
            *slot = Some(place);
        }
        let mut place = place;
        for half in phrase.halves() {
            if let Some(slot) = places.get_mut(half) {
                slot.get_or_insert(place);
            }
            place = place.saturating_add(trained.get(half).map_or(0, |half| half.bytes.len()));
        }
    }
    let phrases = chosen.iter().filter_map(|&number| {
        let at = u32::try_from(places.get(number).copied().flatten()?).ok()?;
        Phrase::new(at, u8::try_from(trained.get(number)?.bytes.len()).ok()?)
    });
    let phrases = phrases.collect();
    (text, phrases)
}

/// Where names were, in order, and where each is now.
struct Moved(Vec<(u32, u32)>);

impl Moved {
    fn place(&self, name: &mut U32, len: U16) {
        if len.get() == 0 {
            return;
        }
        let found = self.0.binary_search_by_key(&name.get(), |&(old, _)| old);
        if let Some(&(_, new)) = found.ok().and_then(|at| self.0.get(at)) {
            *name = new.into();
        }
    }
}

/// Moves every reference to a name.
fn move_names(plan: &mut Plan<'_>, moved: &Moved) {
    for record in &mut plan.records {
        moved.place(&mut record.name, record.name_len);
    }
    for alias in &mut plan.aliases {
        moved.place(&mut alias.name, alias.name_len);
    }
    for only in &mut plan.names_only {
        moved.place(&mut only.name, only.name_len);
    }
    for region in &mut plan.regions {
        moved.place(&mut region.module, region.module_len);
    }
    for section in &mut plan.sections {
        moved.place(&mut section.name, section.name_len);
    }
    for function in &mut plan.lines.functions {
        moved.place(&mut function.name, function.name_len);
    }
    for file in &mut plan.lines.files {
        moved.place(&mut file.name, file.name_len);
        moved.place(&mut file.directory, file.directory_len);
    }
    for entry in &mut plan.display {
        moved.place(&mut entry.name, LONG_NAME.into());
    }
}

/// The digits that bytes begin with, packed, and what is behind them.
fn hex_run(bytes: &[u8]) -> Option<([u8; HEX_DIGITS / 2], &[u8])> {
    let (digits, behind) = bytes.split_first_chunk::<HEX_DIGITS>()?;
    let mut packed = [0; HEX_DIGITS / 2];
    let (pairs, _) = digits.as_chunks::<2>();
    for (to, &[high, low]) in packed.iter_mut().zip(pairs) {
        *to = hex_digit(high)? << 4 | hex_digit(low)?;
    }
    Some((packed, behind))
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => byte.checked_sub(b'0'),
        b'a'..=b'f' => byte.checked_sub(b'a'.wrapping_sub(10)),
        _ => None,
    }
}

fn join(left: &[u8], right: &[u8]) -> Vec<u8> {
    [left, right].concat()
}

#[cfg(test)]
#[allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]
mod tests;
