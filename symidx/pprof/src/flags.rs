//! The flags of mappings: what all of a mapping's locations have.

use std::collections::HashMap;

use crate::profile::Profile;
use crate::proto::{Line, Mapping};

/// What was done to a mapping's locations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Touched {
    /// Some got names.
    pub(crate) symbolized: bool,
    /// Some kept the names that they had.
    pub(crate) kept: bool,
    /// Inlined functions were known of wherever names were given.
    pub(crate) inlined: bool,
}

/// Says of each mapping that got names what all of its locations have now: a
/// reader that sees a flag never asks again, so one location without a name is
/// enough for none. `touched` is by mapping. Mappings that got no names stay as they are.
///
/// Mappings that are alike in all but their id and flags are one: pprof merges
/// them, and then the first one's flags count, which may have no location.
pub(crate) fn set_flags(profile: &mut Profile, touched: &[Touched]) {
    let texts = profile.functions.iter();
    let texts: HashMap<u64, (bool, bool)> =
        texts.map(|f| (f.id, (f.name != 0 || f.system_name != 0, f.filename != 0))).collect();
    let text = |line: &Line| texts.get(&line.function_id).copied().unwrap_or_default();
    let like: HashMap<u64, Mapping> = profile.mappings.iter().map(|m| (m.id, alike(m))).collect();
    let mut all: HashMap<Mapping, All> = HashMap::new();
    for (mapping, touched) in profile.mappings.iter().zip(touched) {
        let all = all.entry(alike(mapping)).or_default();
        all.symbolized |= touched.symbolized;
        all.inlined &= !touched.symbolized || touched.inlined;
        all.inlined &= !touched.kept || mapping.has_inline_frames;
    }
    for location in &profile.locations {
        let mapping = like.get(&location.mapping_id);
        let Some(all) = mapping.and_then(|mapping| all.get_mut(mapping)) else { continue };
        let has = |what: &dyn Fn(&Line) -> bool| {
            !location.line.is_empty() && location.line.iter().all(what)
        };
        all.functions &= has(&|line| text(line).0);
        all.files &= has(&|line| text(line).1);
        all.numbers &= has(&|line| line.line != 0);
    }
    for mapping in &mut profile.mappings {
        if let Some(all) = all.get(&alike(mapping)).filter(|all| all.symbolized) {
            mapping.has_functions = all.functions;
            mapping.has_filenames = all.files;
            mapping.has_line_numbers = all.numbers;
            mapping.has_inline_frames = all.functions && all.inlined;
        }
    }
}

/// What holds for every location of mappings that are alike.
#[derive(Clone, Copy, Debug)]
struct All {
    symbolized: bool,
    functions: bool,
    files: bool,
    numbers: bool,
    inlined: bool,
}

impl Default for All {
    fn default() -> Self {
        Self { symbolized: false, functions: true, files: true, numbers: true, inlined: true }
    }
}

/// A mapping without its id and flags.
fn alike(mapping: &Mapping) -> Mapping {
    Mapping {
        id: 0,
        has_functions: false,
        has_filenames: false,
        has_line_numbers: false,
        has_inline_frames: false,
        ..*mapping
    }
}
