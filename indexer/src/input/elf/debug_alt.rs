//! The file that dwz moved common debug information to.
//!
//! In: `.gnu_debugaltlink` (or DWARF 5's `.debug_sup`) of a file, and where the
//! user lets us look. Out: the other file's debug sections, when its build-id is
//! the one that is named. When it is missing, only what is in it is.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::bytes;
use super::debug_sections::{self, Flavour};
use super::header::File;
use super::places::{self, hex};
use super::{is_elf, notes};
use crate::input::debug::own_directories;
use crate::input::{ReadOptions, map_file};
use crate::model::{Companion, DwarfSections, Report, Store};

/// Where packages put these files below a debug directory.
const DWZ_DIR: &str = ".dwz";

/// What a file says about its supplementary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AltLink<'data> {
    /// Its path, absolute or relative to the file that names it.
    name: &'data [u8],
    /// Its build-id, or its own checksum in `.debug_sup`.
    id: &'data [u8],
}

impl<'data> AltLink<'data> {
    /// Reads the link, or warns that it is damaged.
    fn read(file: &File<'data>, label: &str, report: &mut Report) -> Option<Self> {
        let of_name = |name| file.section_named(name).map(|s| file.section_data_there(s));
        let link = if let Some(data) = of_name(b".gnu_debugaltlink") {
            Self::parse(data)
        } else {
            match supplement(file, of_name(b".debug_sup")?) {
                Some((false, link)) => Some(link),
                // The file is itself a supplementary one.
                Some((true, _)) => return None,
                None => None,
            }
        };
        let link = link.filter(|link| !link.name.is_empty() && !link.id.is_empty());
        if link.is_none() {
            report.warn(format!(
                "{label}.gnu_debugaltlink: expected a file name, a NUL and a build-id, found less; ignored it"
            ));
        }
        link
    }

    fn parse(data: &'data [u8]) -> Option<Self> {
        let end = memchr::memchr(0, data)?;
        Some(Self { name: data.get(..end)?, id: data.get(end.checked_add(1)?..)? })
    }
}

/// What `.debug_sup` says: whether the file is the supplementary one, and the link.
fn supplement<'data>(file: &File<'_>, data: &'data [u8]) -> Option<(bool, AltLink<'data>)> {
    bytes::u16_at(data, 0, file.endian).filter(|&version| version == 5)?;
    let is_supplementary = *data.get(2)? != 0;
    let link = AltLink::parse(data.get(3..)?)?;
    // A length in a ULEB128, which is one byte for any checksum in use.
    let (&length, checksum) = link.id.split_first()?;
    let id = checksum.get(..usize::from(length)).filter(|_| length < 0x80)?;
    Some((is_supplementary, AltLink { id, ..link }))
}

/// The sections of the supplementary file of `file`, which is at `path`.
pub(super) fn load<'data>(
    (path, file): (&Path, &File<'data>),
    label: &str,
    options: &ReadOptions,
    store: &'data Store,
    report: &mut Report,
) -> Option<(DwarfSections<'data>, Companion<'data>)> {
    let link = AltLink::read(file, label, report)?;
    let mut seen = HashSet::new();
    for place in candidates(&link, path, options) {
        // An empty file is how debuginfod's client remembers that there is none.
        let there = place.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
        if !there || !place.canonicalize().is_ok_and(|real| seen.insert(real)) {
            continue;
        }
        match open(&place, file, link.id, store) {
            Ok(found) => {
                let label = format!("dwz file {}: ", place.display());
                let sections = debug_sections::load(&found, Flavour::Plain, &label, store, report);
                let companion = Companion { path: place, role: "dwz file", data: found.data };
                return Some((sections, companion));
            }
            Err(reason) => {
                report.warn(format!("dwz file {}: {reason}; did not use it", place.display()));
            }
        }
    }
    if !options.may_look() {
        return None;
    }
    report.warn(format!(
        "{label}expected the dwz file {} of build-id {}, found none; went on without what is in it",
        String::from_utf8_lossy(link.name),
        hex(link.id),
    ));
    None
}

/// Where the file may be: as it is named, by its build-id, by its name where
/// packages put it.
fn candidates(link: &AltLink<'_>, path: &Path, options: &ReadOptions) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let name = places::file_name(link.name);
    if let Some(name) = name.as_ref().filter(|_| options.auto_debug) {
        // Joining an absolute path gives that path.
        found.extend(own_directories(path).iter().map(|own| own.join(name)));
    }
    found.extend(places::by_build_id(link.id, options));
    if let Some(name) = &name {
        let below = name.strip_prefix(places::SYSTEM_DEBUG_DIR).ok();
        for root in places::roots(options) {
            found.extend(below.map(|below| root.join(below)));
            if let Some(base) = name.file_name() {
                found.push(root.join(DWZ_DIR).join(base));
                found.push(root.join(base));
            }
        }
    }
    found
}

/// The file at `place`, when it is the one meant.
fn open<'data>(
    place: &Path,
    main: &File<'_>,
    id: &[u8],
    store: &'data Store,
) -> Result<File<'data>, String> {
    let data = map_file(place, store).map_err(|error| error.to_string())?;
    if !is_elf(data) {
        return Err("expected an ELF file, found something else".to_owned());
    }
    let mut unused = Report::default();
    let file = File::parse(place, data, &mut unused).map_err(|error| error.to_string())?;
    if (file.is_64, file.endian) != (main.is_64, main.endian) {
        return Err("it is for another kind of machine".to_owned());
    }
    let build_id = notes::build_id(&file, &mut unused);
    let own = file.section_named(b".debug_sup").map(|s| file.section_data_there(s));
    let checksum = own.and_then(|own| supplement(&file, own)).filter(|(is, _)| *is);
    if build_id.as_deref() == Some(id) || checksum.is_some_and(|(_, own)| own.id == id) {
        return Ok(file);
    }
    let found = build_id.map_or_else(|| "none".to_owned(), |id| hex(&id));
    Err(format!("expected build-id {}, found {found}", hex(id)))
}
