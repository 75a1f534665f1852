//! Folded stacks: a profile in, `main;work;leaf` with its value out, as flame graphs are drawn from.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, btree_map};
use std::fmt;
use std::io::{self, Write};

use crate::profile::Profile;
use crate::proto::{Function, Location, Mapping};

impl Profile {
    /// Every stack, outermost function first, with the sum of its values of one
    /// sample type (a position; see [`Profile::sample_type`]); inlined
    /// functions are frames of their own. Stacks whose values add up to 0 are left out.
    ///
    /// `drops` says of a function's name, without parameters, whether it and all
    /// that it called are left out, as [`Profile::drop_frames`] asks for; frames
    /// outside of every other function stay, as in pprof.
    ///
    /// A location without names is its mapping's file in brackets, `[libc.so.6]`,
    /// or `[unknown]`. What would end a frame or a line is replaced in names.
    /// Takes memory for every stack that differs.
    ///
    /// ```
    /// # let profile = symidx_pprof::Profile::default();
    /// for (stack, value) in profile.folded(0, |_| false) {
    ///     println!("{stack} {value}");
    /// }
    /// ```
    #[must_use]
    pub fn folded(
        &self,
        sample_type: usize,
        drops: impl Fn(&str) -> bool,
    ) -> BTreeMap<String, i64> {
        self.folded_within(u64::MAX, sample_type, drops).unwrap_or_default()
    }

    /// As [`Profile::folded`], unless the stacks have more than `limit` bytes of
    /// text: a name stands once in a profile and once a frame in its stacks, so a
    /// kilobyte can come to gigabytes. [`Profile::folded_bound`] is a limit that
    /// only profiles made to be large go past.
    ///
    /// # Errors
    /// [`TooMuchText`]: no stack is kept.
    ///
    /// ```
    /// # let profile = symidx_pprof::Profile::default();
    /// let stacks = profile.folded_within(profile.folded_bound(), 0, |_| false)?;
    /// # Ok::<(), symidx_pprof::TooMuchText>(())
    /// ```
    pub fn folded_within(
        &self,
        limit: u64,
        sample_type: usize,
        drops: impl Fn(&str) -> bool,
    ) -> Result<BTreeMap<String, i64>, TooMuchText> {
        let mut room = Room { limit, left: limit };
        let locations: HashMap<_, _> = self.locations.iter().map(|l| (l.id, l)).collect();
        let names = Names {
            profile: self,
            functions: self.functions.iter().map(|f| (f.id, f)).collect(),
            mappings: self.mappings.iter().map(|m| (m.id, m)).collect(),
        };
        let mut frames: HashMap<u64, Frames> = HashMap::new();
        let mut stacks = BTreeMap::new();
        for sample in &self.samples {
            let value = sample.value.get(sample_type).copied().unwrap_or(0);
            let mut stack = String::new();
            let mut kept = false;
            for id in sample.location_id.iter().rev() {
                let Some(location) = locations.get(id) else { continue };
                let frames = match frames.entry(*id) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => {
                        place.insert(names.frames(location, &drops, &mut room)?)
                    }
                };
                let text = match &frames.outside {
                    Some(outside) if kept || !outside.is_empty() => outside,
                    _ => &frames.all,
                };
                room.has(stack.len().saturating_add(text.len()))?;
                push(&mut stack, text);
                if frames.outside.is_some() && kept {
                    break;
                }
                kept |= frames.outside.is_none();
            }
            if stack.is_empty() {
                stack.push_str(UNKNOWN);
            }
            let length = stack.len();
            match stacks.entry(stack) {
                btree_map::Entry::Vacant(place) => {
                    room.take(length)?;
                    place.insert(value);
                }
                btree_map::Entry::Occupied(mut sum) => {
                    let sum: &mut i64 = sum.get_mut();
                    *sum = sum.saturating_add(value);
                }
            }
        }
        stacks.retain(|_, value| *value != 0);
        Ok(stacks)
    }

    /// The bytes of text that the stacks of a profile of this size may come to:
    /// 64 MiB, or 4096 for each number and each byte of a name in it.
    #[must_use]
    pub fn folded_bound(&self) -> u64 {
        const LEAST: u64 = 64 << 20;
        const EACH: u64 = 4096;
        let ids = self.samples.iter().map(|sample| sample.location_id.len());
        let lines = self.locations.iter().map(|location| location.line.len());
        let numbers = ids.chain(lines).fold(self.strings.bytes(), usize::saturating_add);
        u64::try_from(numbers).unwrap_or(u64::MAX).saturating_mul(EACH).max(LEAST)
    }
}

/// Appends a folded line: a stack, a blank, its value.
///
/// # Errors
/// Those of the writer.
///
/// ```
/// let mut out = Vec::new();
/// symidx_pprof::write_folded(&mut out, "main;work", 30)?;
/// assert_eq!(out, b"main;work 30\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_folded(out: &mut impl Write, stack: &str, value: i64) -> io::Result<()> {
    writeln!(out, "{stack} {value}")
}

/// The stacks of a profile have more text than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuchText {
    /// Bytes allowed.
    pub limit: u64,
}

impl fmt::Display for TooMuchText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected stacks with at most {} bytes of text, found more: few samples with very many frames \
             or very long names; raise the limit if the profile is to be trusted",
            self.limit
        )
    }
}

impl std::error::Error for TooMuchText {}

/// Bytes of text that may still be made.
struct Room {
    limit: u64,
    left: u64,
}

impl Room {
    fn has(&self, bytes: usize) -> Result<u64, TooMuchText> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.left.checked_sub(bytes).ok_or(TooMuchText { limit: self.limit })
    }

    fn take(&mut self, bytes: usize) -> Result<(), TooMuchText> {
        self.left = self.has(bytes)?;
        Ok(())
    }
}

/// The functions of a location, outermost first.
struct Frames {
    all: String,
    /// Those outside of the first one that is left out, where there is one.
    outside: Option<String>,
}

/// What names a location.
struct Names<'p> {
    profile: &'p Profile,
    functions: HashMap<u64, &'p Function>,
    mappings: HashMap<u64, &'p Mapping>,
}

impl Names<'_> {
    fn frames(
        &self,
        location: &Location,
        drops: impl Fn(&str) -> bool,
        room: &mut Room,
    ) -> Result<Frames, TooMuchText> {
        let mapping = self.mappings.get(&location.mapping_id);
        let file = mapping.map_or("", |mapping| self.profile.text(mapping.filename));
        let nameless = match file.rsplit('/').next() {
            None | Some("") => Cow::Borrowed(UNKNOWN),
            Some(name) if name.starts_with('[') => Cow::Borrowed(name),
            Some(name) => Cow::Owned(format!("[{name}]")),
        };
        let mut frames = Frames { all: String::new(), outside: None };
        for line in location.line.iter().rev() {
            let function = self.functions.get(&line.function_id);
            let texts = function.map_or([0, 0], |function| [function.name, function.system_name]);
            let mut texts = texts.iter().map(|text| self.profile.text(*text));
            let name = texts.find(|text| !text.is_empty());
            if frames.outside.is_none() && name.is_some_and(|name| drops(without_parameters(name)))
            {
                room.take(frames.all.len())?;
                frames.outside = Some(frames.all.clone());
            }
            let name = name.unwrap_or(&nameless);
            room.take(name.len().saturating_add(1))?;
            push(&mut frames.all, &clean(name));
        }
        if frames.all.is_empty() {
            frames.all = clean(&nameless);
        }
        Ok(frames)
    }
}

/// Appends frames to a stack.
fn push(stack: &mut String, frames: &str) {
    if !stack.is_empty() && !frames.is_empty() {
        stack.push(';');
    }
    stack.push_str(frames);
}

fn clean(name: &str) -> String {
    name.chars().map(plain).collect()
}

/// A name up to its parameter list, as pprof compares it.
fn without_parameters(name: &str) -> &str {
    let name = name.strip_prefix('.').unwrap_or(name);
    let mut from = 0;
    while let Some(at) = name.get(from..).and_then(|rest| rest.find('(')) {
        let at = from.saturating_add(at);
        let (before, rest) = name.split_at_checked(at).unwrap_or((name, ""));
        from = match (before.ends_with("operator"), rest.strip_prefix("(anonymous namespace)")) {
            (true, _) if rest.starts_with("()") => at.saturating_add(2),
            (_, Some(after)) => name.len().saturating_sub(after.len()),
            _ => return before,
        };
    }
    name
}

/// A frame of which nothing is known.
const UNKNOWN: &str = "[unknown]";

/// A character of a name as it may stand in a folded stack.
fn plain(c: char) -> char {
    match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{Line, Sample, ValueType};

    #[test]
    fn stacks_are_outermost_first_and_summed() {
        let sample_types = vec![ValueType::default(); 2];
        let mut profile = Profile { sample_types, ..Profile::default() };
        for (id, name) in [(1, "main"), (2, "in;lined\n"), (3, "leaf")] {
            let name = profile.strings.intern(name);
            profile.functions.push(Function { id, name, ..Function::default() });
        }
        let filename = profile.strings.intern("/lib/libc.so.6");
        profile.mappings.push(Mapping { id: 1, filename, ..Mapping::default() });
        let line = |function_id| Line { function_id, ..Line::default() };
        let location = |id, mapping_id, lines: &[u64]| Location {
            id,
            mapping_id,
            line: lines.iter().map(|id| line(*id)).collect(),
            ..Location::default()
        };
        profile.locations = vec![
            location(10, 1, &[3]),
            location(20, 0, &[2, 1]),
            location(30, 1, &[]),
            location(40, 0, &[]),
        ];
        let sample = |ids: &[u64], value| Sample {
            location_id: ids.to_vec(),
            value: vec![value, 0],
            label: Vec::new(),
        };
        profile.samples = vec![
            sample(&[10, 20], 1),
            sample(&[10, 20], 2),
            sample(&[30, 20], 5),
            sample(&[40], 7),
            sample(&[], 8),
            sample(&[10], 4),
            sample(&[10], -4),
        ];
        let folded: Vec<_> = profile.folded(0, |_| false).into_iter().collect();
        let expected =
            [("[unknown]", 15), ("main;in:lined ;[libc.so.6]", 5), ("main;in:lined ;leaf", 3)];
        assert_eq!(folded, expected.map(|(stack, value)| (stack.to_owned(), value)));
        assert!(profile.folded(1, |_| false).is_empty() && profile.folded(2, |_| false).is_empty());
    }

    /// Frames are left out from the outermost one that is named on, but not
    /// before any other was seen: allocators call themselves from their own threads.
    #[test]
    fn what_is_left_out_takes_with_it_what_it_called() {
        let mut profile =
            Profile { sample_types: vec![ValueType::default()], ..Profile::default() };
        for (id, name) in
            [(1, "main"), (2, "operator new(unsigned long)"), (3, "helper"), (4, "deep")]
        {
            let name = profile.strings.intern(name);
            profile.functions.push(Function { id, name, ..Function::default() });
        }
        let line = |function_id| Line { function_id, ..Line::default() };
        let location = |id, lines: &[u64]| Location {
            id,
            line: lines.iter().map(|id| line(*id)).collect(),
            ..Location::default()
        };
        profile.locations =
            vec![location(1, &[1]), location(2, &[2]), location(3, &[4, 2, 3]), location(4, &[4])];
        let folded = |ids: &[u64]| {
            let location_id = ids.to_vec();
            let sample = Sample { location_id, value: vec![1], label: Vec::new() };
            let profile = Profile { samples: vec![sample], ..profile.clone() };
            let stacks = profile.folded(0, |name| name == "operator new");
            stacks.into_keys().collect::<Vec<_>>().join(" and ")
        };
        assert_eq!(folded(&[4, 2, 1]), "main");
        assert_eq!(folded(&[4, 3, 1]), "main;helper");
        assert_eq!(folded(&[4, 1]), "main;deep");
        assert_eq!(folded(&[4, 2]), "operator new(unsigned long);deep");
        assert_eq!(folded(&[4, 3]), "helper;deep");
    }

    /// A kilobyte came to hundreds of megabytes: a long name, in many lines of a location,
    /// many times in a stack, in many stacks.
    #[test]
    fn text_that_grows_out_of_all_proportion_is_an_error() {
        let mut profile =
            Profile { sample_types: vec![ValueType::default()], ..Profile::default() };
        let name = profile.strings.intern(&"n".repeat(100));
        profile.functions.push(Function { id: 1, name, ..Function::default() });
        let line = vec![Line { function_id: 1, ..Line::default() }; 100];
        profile.locations = vec![Location { id: 1, line, ..Location::default() }];
        let sample =
            |frames| Sample { location_id: vec![1; frames], value: vec![1], label: Vec::new() };
        profile.samples = (1..=4).map(sample).collect();
        let text: usize = profile.folded(0, |_| false).keys().map(String::len).sum();
        assert_eq!(text, (1 + 2 + 3 + 4) * 10_100 - 4);
        // The frames of the location are held as well.
        let exact = u64::try_from(text).unwrap_or(0) + 10_100;
        assert!(profile.folded_within(exact, 0, |_| false).is_ok());
        let wrong = profile.folded_within(exact - 1, 0, |_| false);
        assert_eq!(wrong, Err(TooMuchText { limit: exact - 1 }));
        profile.samples = (1..=150).map(sample).collect();
        assert_eq!(profile.folded_bound(), 64 << 20);
        let wrong = profile.folded_within(profile.folded_bound(), 0, |_| false);
        assert_eq!(wrong, Err(TooMuchText { limit: 64 << 20 }));
        // One location with very many lines is as bad.
        profile.samples.truncate(1);
        let line = vec![Line { function_id: 1, ..Line::default() }; 20_000];
        profile.locations = vec![Location { id: 1, line, ..Location::default() }];
        assert!(profile.folded_within(1 << 20, 0, |_| false).is_err());
        // Left out or not.
        assert!(profile.folded_within(1 << 20, 0, |_| true).is_err());
    }

    #[test]
    fn parameters_are_no_part_of_a_name() {
        for (name, without) in [
            ("f(int)", "f"),
            (".f", "f"),
            ("(anonymous namespace)::g(char)", "(anonymous namespace)::g"),
            ("a::operator()(int) const", "a::operator()"),
            ("main", "main"),
            ("", ""),
        ] {
            assert_eq!(without_parameters(name), without);
        }
    }
}
