//! Debug information of one image: its own, that of its `.dSYM` bundle, or that
//! of the objects in its debug map.
//!
//! In: the image taken apart, and where the user lets us look. Out: [`Added`], in
//! the order of trust. Never parses DIEs or line programs.

use std::path::Path;

use object::Endianness;
use object::read::macho::MachHeader;

use super::debug_file::{Found, Wanted};
use super::{Thin, debug_map, debug_sections, header_of};
use crate::input::ReadOptions;
use crate::input::debug::linked_addresses;
use crate::model::{Binding, Companion, DebugInfo, Machine, Report, Source, Store, Symbol};

/// What looking for debug information needs, besides the image.
pub(super) struct Search<'a, 'data> {
    /// The image's path.
    pub(super) path: &'a Path,
    /// Where to look.
    pub(super) options: &'a ReadOptions,
    /// Where bytes are kept.
    pub(super) store: &'data Store,
}

/// What was found for an image.
#[derive(Default)]
pub(super) struct Added<'data> {
    /// Debug information.
    pub(super) debug: Vec<DebugInfo<'data>>,
    /// The files it is in.
    pub(super) companions: Vec<Companion<'data>>,
    /// Symbols of debug files.
    pub(super) symbols: Vec<Symbol<'data>>,
}

/// Finds the debug information of `main`, whose own symbols are given.
pub(super) fn read<'data, M: MachHeader<Endian = Endianness>>(
    main: &Thin<'data, M>,
    machine: &Machine,
    symbols: &[Symbol<'data>],
    search: &Search<'_, 'data>,
    report: &mut Report,
) -> Added<'data> {
    let Search { path, options, store } = *search;
    let mut added = Added::default();
    let lacks_lines = |added: &Added<'_>| !options.names_only && added.debug.is_empty();
    if lacks_lines(&added) {
        add(main, main, machine, String::new(), store, &mut added, report);
    }
    let wanted = Wanted { path, uuid: main.commands.uuid };
    let mut found = wanted.named(options, store, report);
    if found.is_empty() && (lacks_lines(&added) || is_stripped(symbols)) {
        found.extend(wanted.search(options, store, report));
    }
    for Found { path, data, image } in found {
        let Some(header) = header_of::<M>(image) else { continue };
        let label = format!("debug file {}: ", path.display());
        let mut own = Report::default();
        let thin = Thin::read(image, header, &mut own);
        // Its sections are those of the image, its symbols as many as there ever were.
        let more = thin.table.symbols(&main.layout, main.style, &mut own);
        let more = more.into_iter().map(|s| Symbol { source: Source::DebugFile, ..s });
        added.symbols.extend(more);
        for warning in own.warnings {
            report.warn(format!("{label}{warning}"));
        }
        if lacks_lines(&added) {
            add(main, &thin, machine, label, store, &mut added, report);
        }
        added.companions.push(Companion { path, role: "debug file", data });
    }
    if lacks_lines(&added) && options.may_look() {
        debug_map::read(main, machine, search, &mut added, report);
    }
    added
}

/// Adds the debug information in `file`: that is `main`, or its debug file.
fn add<'data, M: MachHeader<Endian = Endianness>>(
    main: &Thin<'data, M>,
    file: &Thin<'data, M>,
    machine: &Machine,
    label: String,
    store: &'data Store,
    added: &mut Added<'data>,
    report: &mut Report,
) {
    if !debug_sections::has_info(&file.commands.sections) {
        return;
    }
    let sections = file.debug_sections(&label, store, report);
    if sections.info.is_empty() {
        return;
    }
    added.debug.push(DebugInfo {
        label,
        sections,
        supplementary: None,
        split: Vec::new(),
        package: None,
        addresses: linked_addresses(&main.layout.sections),
        machine: machine.clone(),
    });
}

/// True when the local symbols were taken away, which a debug file may have.
fn is_stripped(symbols: &[Symbol<'_>]) -> bool {
    !symbols
        .iter()
        .any(|symbol| symbol.binding == Binding::Local && symbol.source == Source::Symtab)
}
