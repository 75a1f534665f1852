//! What symbolizing a profile came to: for people on standard error, or as one JSON object.

use std::collections::BTreeMap;
use std::path::Path;

use symidx_pprof::{Damage, MappingReport, Profile, Report, Unknown};

use crate::text::{Object, counted, grouped};
use crate::ui::Ui;

/// Everything there is to say.
pub(super) struct Summary<'a> {
    pub(super) input: &'a Path,
    /// Where the profile went, if anywhere.
    pub(super) output: Option<&'a Path>,
    pub(super) profile: &'a Profile,
    pub(super) report: &'a Report,
    pub(super) damage: &'a Damage,
}

impl Summary<'_> {
    /// One line for the profile, one for each mapping that has unknowns.
    pub(super) fn text(&self, ui: Ui) {
        let (locations, symbolized) = (self.report.locations(), self.report.symbolized());
        let named = symbolized.saturating_add(self.report.kept());
        let kept = match self.report.kept() {
            0 => String::new(),
            kept => format!(" ({} had names before)", grouped(kept)),
        };
        let written = match self.output {
            Some(path) if path != Path::new("-") => format!("; written to {}", path.display()),
            _ => String::new(),
        };
        ui.note(format_args!(
            "{}: {} of {} {} ({}){kept}{written}",
            self.input.display(),
            grouped(named),
            counted(locations, "location", "locations"),
            if locations == 1 { "has a name" } else { "have names" },
            percent(named, locations),
        ));
        for mapping in self.report.mappings.iter().filter(|mapping| !mapping.unknown.is_empty()) {
            let reasons: Vec<String> = (mapping.unknown.iter())
                .map(|(unknown, count)| match (unknown, &mapping.error) {
                    (Unknown::NoIndex, Some(error)) => {
                        format!("{} {unknown}: {error}", grouped(*count))
                    }
                    _ => format!("{} {unknown}", grouped(*count)),
                })
                .collect();
            ui.note(format_args!(
                "{}: {} of {} {} none: {}",
                name(mapping),
                grouped(mapping.unknown.values().fold(0, |sum, count| sum.saturating_add(*count))),
                counted(mapping.locations, "location", "locations"),
                if mapping.locations == 1 { "has" } else { "have" },
                reasons.join(", "),
            ));
        }
    }

    /// The same and more as JSON.
    pub(super) fn json(&self, out: &mut Vec<u8>) {
        let mut object = Object::new(out);
        let path = |path: &Path| path.display().to_string();
        object.field("input", path(self.input).as_str());
        object.field("output", self.output.map(path).as_deref());
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        object.field("samples", count(self.profile.samples.len()));
        object.field("functions", count(self.profile.functions.len()));
        object.field("locations", self.report.locations());
        object.field("symbolized", self.report.symbolized());
        object.field("kept", self.report.kept());
        let mut all: BTreeMap<Unknown, u64> = BTreeMap::new();
        for (unknown, count) in self.report.mappings.iter().flat_map(|mapping| &mapping.unknown) {
            let sum = all.entry(*unknown).or_insert(0);
            *sum = sum.saturating_add(*count);
        }
        counts(object.key("unknown"), all.into_iter());
        let out = object.key("mappings");
        out.push(b'[');
        for (number, mapping) in self.report.mappings.iter().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            mapping_json(out, mapping);
        }
        out.push(b']');
        counts(object.key("damage"), self.damage.iter());
        object.end_line();
    }
}

fn mapping_json(out: &mut Vec<u8>, mapping: &MappingReport) {
    let mut object = Object::new(out);
    object.field("id", mapping.mapping);
    object.string("filename", mapping.filename.as_bytes());
    object.string("build_id", mapping.build_id.as_bytes());
    object.field("locations", mapping.locations);
    object.field("symbolized", mapping.symbolized);
    object.field("kept", mapping.kept);
    counts(object.key("unknown"), mapping.unknown.iter().map(|(k, v)| (*k, *v)));
    object.field("error", mapping.error.as_deref());
    object.end();
}

/// `{"reason":count,…}`
fn counts<K: std::fmt::Display>(out: &mut Vec<u8>, counts: impl Iterator<Item = (K, u64)>) {
    let mut object = Object::new(out);
    for (reason, count) in counts {
        object.field(&reason.to_string(), count);
    }
    object.end();
}

/// What a mapping is called.
fn name(mapping: &MappingReport) -> &str {
    match (mapping.mapping, mapping.filename.as_str()) {
        (None, _) => "no mapping",
        (_, "") => "a mapping without a file",
        (_, filename) => filename,
    }
}

/// `97.2 %`, rounded down so that only all is 100.
fn percent(part: u64, whole: u64) -> String {
    let tenths =
        u128::from(part).saturating_mul(1000).checked_div(u128::from(whole)).unwrap_or(1000);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_is_a_hundred_percent() {
        assert_eq!(percent(9999, 10_000), "99.9 %");
        assert_eq!(percent(3, 3), "100.0 %");
        assert_eq!(percent(0, 0), "100.0 %");
        assert_eq!(percent(1, 3), "33.3 %");
    }
}
