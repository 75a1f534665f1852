//! Folded stacks: a profile in, `main;work;leaf` with its value out, as flame graphs are drawn from.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::profile::Profile;
use crate::proto::{Function, Location, Mapping};

impl Profile {
    /// Every stack, outermost function first, with the sum of its values of one
    /// sample type (a position; see [`Profile::sample_type`]); inlined
    /// functions are frames of their own. Stacks whose values add up to 0 are left out.
    ///
    /// A location without names is its mapping's file in brackets, `[libc.so.6]`,
    /// or `[unknown]`. What would end a frame or a line is replaced in names.
    /// Takes memory for every stack that differs.
    #[must_use]
    pub fn folded(&self, sample_type: usize) -> BTreeMap<String, i64> {
        let locations: HashMap<_, _> = self.locations.iter().map(|l| (l.id, l)).collect();
        let functions: HashMap<_, _> = self.functions.iter().map(|f| (f.id, f)).collect();
        let mappings: HashMap<_, _> = self.mappings.iter().map(|m| (m.id, m)).collect();
        let mut texts: HashMap<u64, String> = HashMap::new();
        let mut stacks = BTreeMap::new();
        for sample in &self.samples {
            let value = sample.value.get(sample_type).copied().unwrap_or(0);
            let mut stack = String::new();
            for id in sample.location_id.iter().rev() {
                let text = texts.entry(*id).or_insert_with(|| {
                    let location = locations.get(id).copied();
                    location.map_or_else(String::new, |l| self.frames(l, &functions, &mappings))
                });
                if !stack.is_empty() {
                    stack.push(';');
                }
                stack.push_str(text);
            }
            if stack.is_empty() {
                stack.push_str(UNKNOWN);
            }
            let sum = stacks.entry(stack).or_insert(0i64);
            *sum = sum.saturating_add(value);
        }
        stacks.retain(|_, value| *value != 0);
        stacks
    }

    /// A location's functions, outermost first.
    fn frames(
        &self,
        location: &Location,
        functions: &HashMap<u64, &Function>,
        mappings: &HashMap<u64, &Mapping>,
    ) -> String {
        let file = mappings.get(&location.mapping_id).map_or("", |m| self.text(m.filename));
        let nameless = match file.rsplit('/').next() {
            None | Some("") => Cow::Borrowed(UNKNOWN),
            Some(name) if name.starts_with('[') => Cow::Borrowed(name),
            Some(name) => Cow::Owned(format!("[{name}]")),
        };
        let names = location.line.iter().rev().map(|line| {
            let function = functions.get(&line.function_id);
            let texts = function.map_or([0, 0], |function| [function.name, function.system_name]);
            let mut texts = texts.iter().map(|text| self.text(*text));
            texts.find(|text| !text.is_empty()).unwrap_or(&nameless)
        });
        let mut text = String::new();
        for name in names {
            if !text.is_empty() {
                text.push(';');
            }
            text.extend(name.chars().map(plain));
        }
        if text.is_empty() {
            text.extend(nameless.chars().map(plain));
        }
        text
    }
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
        let folded: Vec<_> = profile.folded(0).into_iter().collect();
        let expected =
            [("[unknown]", 15), ("main;in:lined ;[libc.so.6]", 5), ("main;in:lined ;leaf", 3)];
        assert_eq!(folded, expected.map(|(stack, value)| (stack.to_owned(), value)));
        assert!(profile.folded(1).is_empty() && profile.folded(2).is_empty());
    }
}
