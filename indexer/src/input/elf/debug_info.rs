//! Debug information and separate debug files of the main file.
//!
//! In: the main file and where the user lets us look. Out: [`DebugInfo`] and the
//! symbols of debug files, in the image. Never parses DIEs or line programs, and
//! what is not there costs only its own lines.

use std::path::Path;

use super::companion::{DebugLink, Found, Wanted};
use super::debug_sections::{self, Flavour};
use super::debug_split::{self, Holder};
use super::header::File;
use super::relocate::Spread;
use super::{Main, debug_alt, layout, machine};
use crate::input::ReadOptions;
use crate::input::debug::linked_addresses;
use crate::model::{Companion, DebugInfo, Image, Source, Store};

/// What looking for debug information needs, besides the image it goes to.
pub(super) struct Search<'a, 'data> {
    /// The main file's path.
    pub(super) path: &'a Path,
    /// Where to look.
    pub(super) options: &'a ReadOptions,
    /// Where bytes are kept.
    pub(super) store: &'data Store,
}

impl<'data> Main<'data> {
    /// Adds the file's own debug information, and the symbols and debug
    /// information of separate debug files: of those that were named, else, when
    /// the file lacks one of the two, of the first that is found.
    pub(super) fn read_debug_info(
        &self,
        search: &Search<'_, 'data>,
        has_symtab: bool,
        image: &mut Image<'data>,
    ) {
        let Search { path, options, store } = *search;
        let lacks_lines = |image: &Image<'_>| !options.names_only && image.debug.is_empty();
        if lacks_lines(image) {
            self.add_debug_info((path, &self.file), String::new(), search, image);
        }
        let link = DebugLink::read(&self.file, &mut image.report);
        let build_id = image.build_id.clone();
        let wanted = Wanted { path, file: &self.file, build_id: build_id.as_deref(), link };
        let mut found = wanted.named(options, store, &mut image.report);
        if found.is_empty() && (!has_symtab || lacks_lines(image)) {
            found.extend(wanted.search(options, store, &mut image.report));
        }
        for found in found {
            let lines = lacks_lines(image);
            if let Err((path, found)) = self.read_debug_file(found, lines, search, image) {
                image.report.warn(format!(
                    "debug file {}: expected an ELF file with symbols or debug information, found {found}; did not use it",
                    path.display()
                ));
            }
        }
    }

    /// Adds the symbols of a separate debug file, and its debug information
    /// when it is wanted.
    fn read_debug_file(
        &self,
        found: Found<'data>,
        lines: bool,
        search: &Search<'_, 'data>,
        image: &mut Image<'data>,
    ) -> Result<(), (std::path::PathBuf, String)> {
        let Found { path, data } = found;
        let whose = format!("debug file {}", path.display());
        let file = match self.parse_companion(&path, data, &whose, image) {
            Ok(file) => file,
            Err(found) => return Err((path, found)),
        };
        let symbols = self.read_companion(&file, Source::DebugFile, &whose, image);
        // It comes before its own companions.
        let place = image.companions.len();
        let added =
            lines && self.add_debug_info((&path, &file), format!("{whose}: "), search, image);
        if !symbols && !added {
            return Err((path, "neither".to_owned()));
        }
        let place = place.min(image.companions.len());
        image.companions.insert(place, Companion { path, role: "debug file", data });
        Ok(())
    }

    /// Adds the debug information of the main file or its debug file, with all
    /// that it refers to; false when it has none.
    fn add_debug_info(
        &self,
        (path, file): (&Path, &File<'data>),
        label: String,
        search: &Search<'_, 'data>,
        image: &mut Image<'data>,
    ) -> bool {
        if !debug_sections::has_info(file, Flavour::Plain) {
            return false;
        }
        let Search { options, store, .. } = *search;
        let report = &mut image.report;
        let (sections, addresses) = if file.is_relocatable() {
            let spread = Spread::new(file);
            let places = layout::match_sections(&self.layout, &self.file, file);
            let sections = debug_sections::load_relocated(file, &spread, &label, store, report);
            (sections, spread.map(file, &places))
        } else {
            let sections = debug_sections::load(file, Flavour::Plain, &label, store, report);
            (sections, linked_addresses(&self.layout.sections))
        };
        if sections.info.is_empty() {
            return false;
        }
        let alt = debug_alt::load((path, file), &label, options, store, report);
        let (supplementary, companion) = alt.unzip();
        let holder = Holder { main: search.path, path, file };
        let split = debug_split::load(&holder, &sections, options, store, report);
        image.companions.extend(companion.into_iter().chain(split.companions));
        image.debug.push(DebugInfo {
            label,
            sections,
            supplementary,
            split: split.units,
            package: split.package,
            addresses,
            machine: machine::machine(file),
        });
        true
    }
}
