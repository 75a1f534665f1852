//! The flags of mappings: what all of a mapping's locations have.

use std::collections::HashMap;

use crate::profile::Profile;
use crate::proto::Line;

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
pub(crate) fn set_flags(profile: &mut Profile, touched: &[Touched]) {
    let texts = profile.functions.iter();
    let texts: HashMap<u64, (bool, bool)> =
        texts.map(|f| (f.id, (f.name != 0 || f.system_name != 0, f.filename != 0))).collect();
    let text = |line: &Line| texts.get(&line.function_id).copied().unwrap_or_default();
    // Functions, files, line numbers.
    let mut all: HashMap<u64, [bool; 3]> = HashMap::new();
    for location in &profile.locations {
        let [functions, files, numbers] = all.entry(location.mapping_id).or_insert([true; 3]);
        let has = |what: &dyn Fn(&Line) -> bool| {
            !location.line.is_empty() && location.line.iter().all(what)
        };
        *functions &= has(&|line| text(line).0);
        *files &= has(&|line| text(line).1);
        *numbers &= has(&|line| line.line != 0);
    }
    let mappings = profile.mappings.iter_mut().zip(touched);
    for (mapping, touched) in mappings.filter(|(_, touched)| touched.symbolized) {
        let [functions, files, numbers] = all.get(&mapping.id).copied().unwrap_or_default();
        mapping.has_functions = functions;
        mapping.has_filenames = files;
        mapping.has_line_numbers = numbers;
        let before = !touched.kept || mapping.has_inline_frames;
        mapping.has_inline_frames = functions && touched.inlined && before;
    }
}
