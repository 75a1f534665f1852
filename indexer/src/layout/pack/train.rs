//! Training: which phrases the names of a sample are made of.
//!
//! In: a part of the names. Out: byte strings that occur again and again, each
//! made of two before it. Never looks at the clock or a random number: the
//! same names give the same phrases.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{hex_run, join};

/// Longest phrase in bytes.
pub(super) const LONGEST: usize = 64;
/// A pair that is rarer than this in the sample makes no phrase.
const RARE: u32 = 3;
/// Most rounds of pairing: each reads the sample once.
const ROUNDS: usize = 64;
/// Most phrases that are tried; the best of them are kept.
const MOST: usize = 65_536;
/// Between two names.
const END: u32 = u32::MAX;

/// A byte string and the two phrases that it was made of.
#[derive(Debug)]
pub(super) struct Trained {
    pub(super) bytes: Vec<u8>,
    /// Numbers of both halves; none for a single byte.
    halves: Option<(u32, u32)>,
}

impl Trained {
    /// The numbers of both halves, in order.
    pub(super) fn halves(&self) -> impl Iterator<Item = usize> + use<> {
        let halves = self.halves.map(|(left, right)| [left, right]);
        halves.into_iter().flatten().filter_map(|half| usize::try_from(half).ok())
    }
}

/// The phrases of a sample: the 256 bytes first, then each behind its halves.
///
/// Neighbours that often stand together become one, in rounds: all pairs that
/// are at least half as frequent as the most frequent one at once.
pub(super) fn train<'n>(sample: impl Iterator<Item = &'n [u8]>) -> Vec<Trained> {
    let mut tokens = tokens(sample);
    let mut phrases: Vec<Trained> =
        (0..=u8::MAX).map(|byte| Trained { bytes: vec![byte], halves: None }).collect();
    let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
    for _ in 0..ROUNDS {
        let chosen = frequent_pairs(&tokens, &phrases);
        let mut joined: HashMap<u64, u32, Mixed> = HashMap::default();
        for pair in chosen {
            let Some((left, right)) = halves_of(pair, &phrases) else { continue };
            let bytes = join(left, right);
            let number = match known.get(&bytes) {
                Some(&number) => number,
                None if phrases.len() >= MOST => break,
                None => {
                    let Ok(number) = u32::try_from(phrases.len()) else { break };
                    known.insert(bytes.clone(), number);
                    phrases.push(Trained { bytes, halves: Some(halves(pair)) });
                    number
                }
            };
            joined.insert(pair, number);
        }
        if joined.is_empty() {
            break;
        }
        replace(&mut tokens, &joined);
    }
    phrases
}

/// The bytes of the names as numbers of phrases. A run of digits is left out:
/// it has a code of its own.
fn tokens<'n>(sample: impl Iterator<Item = &'n [u8]>) -> Vec<u32> {
    let mut tokens = Vec::new();
    for name in sample {
        let mut rest = name;
        while let Some((&byte, after)) = rest.split_first() {
            match hex_run(rest) {
                Some((_, behind)) => {
                    tokens.push(END);
                    rest = behind;
                }
                None => {
                    tokens.push(byte.into());
                    rest = after;
                }
            }
        }
        tokens.push(END);
    }
    tokens
}

/// The pairs to join now, the most frequent first.
fn frequent_pairs(tokens: &[u32], phrases: &[Trained]) -> Vec<u64> {
    let mut counts: HashMap<u64, u32, Mixed> = HashMap::default();
    let mut before = END;
    let mut overlaps = false;
    for &token in tokens {
        if before != END && token != END {
            // In `aaa` there is one pair, not two.
            overlaps = before == token && !overlaps;
            if before != token || overlaps {
                let count = counts.entry(pair(before, token)).or_default();
                *count = count.saturating_add(1);
            }
        } else {
            overlaps = false;
        }
        before = token;
    }
    let fits = |&(_, pair): &(u32, u64)| halves_of(pair, phrases).is_some();
    let mut most = 0;
    for (&pair, &count) in &counts {
        if count > most && fits(&(count, pair)) {
            most = count;
        }
    }
    let least = (most / 2).max(RARE);
    let mut frequent: Vec<(u32, u64)> = counts
        .into_iter()
        .map(|(pair, count)| (count, pair))
        .filter(|counted| counted.0 >= least && fits(counted))
        .collect();
    frequent.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    frequent.into_iter().map(|(_, pair)| pair).collect()
}

/// Puts the phrase in the place of each pair, from the left.
fn replace(tokens: &mut Vec<u32>, joined: &HashMap<u64, u32, Mixed>) {
    let mut kept = 0usize;
    let mut at = 0usize;
    while let Some(&token) = tokens.get(at) {
        let next = tokens.get(at.saturating_add(1)).copied().unwrap_or(END);
        let phrase = match token == END || next == END {
            true => None,
            false => joined.get(&pair(token, next)).copied(),
        };
        if let Some(slot) = tokens.get_mut(kept) {
            *slot = phrase.unwrap_or(token);
        }
        kept = kept.saturating_add(1);
        at = at.saturating_add(if phrase.is_some() { 2 } else { 1 });
    }
    tokens.truncate(kept);
}

fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

fn halves(pair: u64) -> (u32, u32) {
    let half = |half: u64| u32::try_from(half & u64::from(u32::MAX)).unwrap_or(END);
    (half(pair >> 32), half(pair))
}

/// Both halves' bytes; `None` when they are too long together.
fn halves_of(pair: u64, phrases: &[Trained]) -> Option<(&[u8], &[u8])> {
    let (left, right) = halves(pair);
    let bytes = |half: u32| Some(phrases.get(usize::try_from(half).ok()?)?.bytes.as_slice());
    let (left, right) = (bytes(left)?, bytes(right)?);
    (left.len().saturating_add(right.len()) <= LONGEST).then_some((left, right))
}

/// A quick hash of small numbers; what it is used for never depends on order.
#[derive(Default)]
pub(super) struct Quick(u64);

type Mixed = BuildHasherDefault<Quick>;

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }

    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}
