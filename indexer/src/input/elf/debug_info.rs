//! Debug information and separate debug files of the main file.
//!
//! In: the main file and where the user lets us look. Out: [`DebugInfo`] and the
//! symbols of debug files, in the image. Never parses DIEs or line programs, and
//! what is not there costs only its own lines.

use std::path::Path;

use super::companion::{DebugLink, Found, Wanted};
use super::debug_sections::{self, Flavour};
use super::header::File;
use super::relocate::Spread;
use super::{Main, layout, machine};
use crate::input::ReadOptions;
use crate::input::debug::linked_addresses;
use crate::model::{Companion, DebugInfo, Image, Source, Store};

impl<'data> Main<'data> {
    /// Adds the file's own debug information, and the symbols and debug
    /// information of separate debug files: of those that were named, else, when
    /// the file lacks one of the two, of the first that is found.
    pub(super) fn read_debug_info(
        &self,
        path: &Path,
        has_symtab: bool,
        options: &ReadOptions,
        store: &'data Store,
        image: &mut Image<'data>,
    ) {
        if !options.names_only {
            let own = self.debug_info(&self.file, String::new(), store, image);
            image.debug.extend(own);
        }
        let link = DebugLink::read(&self.file, &mut image.report);
        let build_id = image.build_id.clone();
        let wanted = Wanted { path, file: &self.file, build_id: build_id.as_deref(), link };
        let mut found = wanted.named(options, store, &mut image.report);
        let lacks_lines = !options.names_only && image.debug.is_empty();
        if found.is_empty() && (!has_symtab || lacks_lines) {
            found.extend(wanted.search(options, store, &mut image.report));
        }
        for Found { path, data } in found {
            let lacks_lines = !options.names_only && image.debug.is_empty();
            match self.read_debug_file(&path, data, lacks_lines, store, image) {
                Ok(()) => image.companions.push(Companion { path, role: "debug file", data }),
                Err(found) => image.report.warn(format!(
                    "debug file {}: expected an ELF file with symbols or debug information, found {found}; did not use it",
                    path.display()
                )),
            }
        }
    }

    /// Adds the symbols of a separate debug file, and its debug information
    /// when it is wanted.
    fn read_debug_file(
        &self,
        path: &Path,
        data: &'data [u8],
        lines: bool,
        store: &'data Store,
        image: &mut Image<'data>,
    ) -> Result<(), String> {
        let whose = format!("debug file {}", path.display());
        let file = self.parse_companion(path, data, &whose, image)?;
        let symbols = self.read_companion(&file, Source::DebugFile, &whose, image);
        let debug = lines.then(|| self.debug_info(&file, format!("{whose}: "), store, image));
        let debug = debug.flatten();
        if !symbols && debug.is_none() {
            return Err("neither".to_owned());
        }
        image.debug.extend(debug);
        Ok(())
    }

    /// The debug information of the main file or its debug file, if it has any.
    fn debug_info(
        &self,
        file: &File<'data>,
        label: String,
        store: &'data Store,
        image: &mut Image<'data>,
    ) -> Option<DebugInfo<'data>> {
        if !debug_sections::has_info(file, Flavour::Plain) {
            return None;
        }
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
        (!sections.info.is_empty()).then(|| DebugInfo {
            label,
            sections,
            supplementary: None,
            split: Vec::new(),
            package: None,
            addresses,
            machine: machine::machine(file),
        })
    }
}
