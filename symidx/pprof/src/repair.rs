//! Repair: a profile as it was decoded in, one whose references all lead somewhere out.
//!
//! One function for each rule. What cannot be right is left out alone and counted.

use std::collections::{HashMap, HashSet};

use crate::damage::{Damage, Fault};
use crate::profile::Profile;
use crate::proto::{Function, Location, Mapping};

/// Applies every rule.
pub(crate) fn repair(profile: &mut Profile, damage: &mut Damage) {
    if profile.strings.clear_first() {
        damage.note(Fault::FirstString);
    }
    strings_are_in_the_table(profile, damage);
    ids_are_unique(&mut profile.mappings, damage);
    ids_are_unique(&mut profile.functions, damage);
    ids_are_unique(&mut profile.locations, damage);
    mappings_end_after_they_begin(profile, damage);
    locations_have_their_mapping(profile, damage);
    lines_have_their_function(profile, damage);
    samples_have_a_value_for_each_type(profile, damage);
    frames_have_their_location(profile, damage);
}

/// What has an id.
trait Identified {
    fn id(&self) -> u64;
}

impl Identified for Mapping {
    fn id(&self) -> u64 {
        self.id
    }
}

impl Identified for Function {
    fn id(&self) -> u64 {
        self.id
    }
}

impl Identified for Location {
    fn id(&self) -> u64 {
        self.id
    }
}

/// Ids start at 1, and the first entry that has one keeps it.
fn ids_are_unique<T: Identified>(entries: &mut Vec<T>, damage: &mut Damage) {
    let mut seen = HashSet::with_capacity(entries.len());
    entries.retain(|entry| {
        let fault = match entry.id() {
            0 => Fault::NoId,
            id if seen.insert(id) => return true,
            _ => Fault::DuplicateId,
        };
        damage.note(fault);
        false
    });
}

fn strings_are_in_the_table(profile: &mut Profile, damage: &mut Damage) {
    let count = i64::try_from(profile.strings.len()).unwrap_or(i64::MAX);
    let mut check = |number: &mut i64| {
        if !(0..count).contains(number) {
            *number = 0;
            damage.note(Fault::String);
        }
    };
    for value in profile.sample_types.iter_mut().chain(&mut profile.period_type) {
        check(&mut value.r#type);
        check(&mut value.unit);
    }
    for label in profile.samples.iter_mut().flat_map(|sample| &mut sample.label) {
        check(&mut label.key);
        check(&mut label.str);
        check(&mut label.num_unit);
    }
    for mapping in &mut profile.mappings {
        check(&mut mapping.filename);
        check(&mut mapping.build_id);
    }
    for function in &mut profile.functions {
        check(&mut function.name);
        check(&mut function.system_name);
        check(&mut function.filename);
    }
    profile.comments.iter_mut().for_each(&mut check);
    check(&mut profile.drop_frames);
    check(&mut profile.keep_frames);
    check(&mut profile.default_sample_type);
    check(&mut profile.doc_url);
}

/// A limit of 0 is one that is not set.
fn mappings_end_after_they_begin(profile: &Profile, damage: &mut Damage) {
    for mapping in &profile.mappings {
        if mapping.memory_limit != 0 && mapping.memory_limit < mapping.memory_start {
            damage.note(Fault::Range);
        }
    }
}

fn locations_have_their_mapping(profile: &mut Profile, damage: &mut Damage) {
    let known: HashSet<u64> = profile.mappings.iter().map(|mapping| mapping.id).collect();
    for location in &mut profile.locations {
        if location.mapping_id != 0 && !known.contains(&location.mapping_id) {
            location.mapping_id = 0;
            damage.note(Fault::NoMapping);
        }
    }
}

fn lines_have_their_function(profile: &mut Profile, damage: &mut Damage) {
    let known: HashSet<u64> = profile.functions.iter().map(|function| function.id).collect();
    for location in &mut profile.locations {
        location.line.retain(|line| {
            let there = known.contains(&line.function_id);
            if !there {
                damage.note(Fault::NoFunction);
            }
            there
        });
    }
}

fn samples_have_a_value_for_each_type(profile: &mut Profile, damage: &mut Damage) {
    let count = profile.sample_types.len();
    profile.samples.retain(|sample| {
        let right = sample.value.len() == count;
        if !right {
            damage.note(Fault::Values);
        }
        right
    });
}

fn frames_have_their_location(profile: &mut Profile, damage: &mut Damage) {
    let known = positions(&profile.locations);
    for sample in &mut profile.samples {
        sample.location_id.retain(|id| {
            let there = known.contains_key(id);
            if !there {
                damage.note(Fault::NoLocation);
            }
            there
        });
    }
}

/// Where the location with each id is.
pub(crate) fn positions(locations: &[Location]) -> HashMap<u64, usize> {
    locations.iter().enumerate().map(|(at, location)| (location.id, at)).collect()
}
