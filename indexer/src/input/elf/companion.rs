//! Separate debug files: where they may be, and whether they are the right one.
//!
//! In: the main file's build-id and `.gnu_debuglink`, and where the user lets us
//! look. Out: files that match, mapped. A file that is not there is no event;
//! one that is there and does not match is a warning that says why.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use object::elf;

use super::bytes;
use super::header::File;
use super::places::{self, hex};
use super::{is_elf, notes};
use crate::input::debug::own_directories;
use crate::input::{ReadOptions, map_file};
use crate::model::{Report, Store};

/// What a debug file of the main file must match.
pub(super) struct Wanted<'a, 'data> {
    /// The main file's path.
    pub(super) path: &'a Path,
    /// The main file.
    pub(super) file: &'a File<'data>,
    /// Its build-id, whole or cut as the image has it.
    pub(super) build_id: Option<&'a [u8]>,
    /// Its `.gnu_debuglink`.
    pub(super) link: Option<DebugLink<'data>>,
}

/// The contents of `.gnu_debuglink`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DebugLink<'data> {
    /// File name, without directories.
    pub(super) name: &'data [u8],
    /// CRC-32 of the whole debug file.
    pub(super) crc: u32,
}

impl<'data> DebugLink<'data> {
    /// Reads the section, or warns that it is damaged.
    pub(super) fn read(file: &File<'data>, report: &mut Report) -> Option<Self> {
        let section = file.section_named(b".gnu_debuglink")?;
        let data = file.section_data_there(section);
        match Self::parse(file, data) {
            Ok(link) => Some(link),
            Err(found) => {
                report.warn(format!(
                    ".gnu_debuglink: expected a file name, a NUL and a CRC, found {found}; ignored it"
                ));
                None
            }
        }
    }

    fn parse(file: &File<'data>, data: &'data [u8]) -> Result<Self, &'static str> {
        let end = memchr::memchr(0, data).ok_or("no NUL")?;
        let name = data.get(..end).unwrap_or(&[]);
        if name.is_empty() || name == b"." || name == b".." {
            return Err("no file name");
        }
        if name.contains(&b'/') {
            return Err("a path instead of a file name");
        }
        let at = bytes::length(name).saturating_add(1).next_multiple_of(4);
        let crc = bytes::u32_at(data, at, file.endian).ok_or("no whole CRC")?;
        Ok(Self { name, crc })
    }
}

/// A debug file that matched.
pub(super) struct Found<'store> {
    /// Where it was found.
    pub(super) path: PathBuf,
    /// Its bytes.
    pub(super) data: &'store [u8],
}

/// How a candidate shows that it belongs to the main file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Proof {
    /// The build-id in its notes.
    BuildId,
    /// The CRC in the main file's link.
    Crc,
    /// Whatever the main file offers.
    Any,
}

impl Wanted<'_, '_> {
    /// The files the user named, as far as they match.
    pub(super) fn named<'store>(
        &self,
        options: &ReadOptions,
        store: &'store Store,
        report: &mut Report,
    ) -> Vec<Found<'store>> {
        let mut found = Vec::new();
        for path in options.debug_files.iter().filter(|path| !places::is_package(path)) {
            if !path.exists() {
                report
                    .warn(format!("debug file {}: not found; went on without it", path.display()));
                continue;
            }
            if !path.is_file() {
                report.warn(format!(
                    "debug file {}: expected a file, found something else; went on without it",
                    path.display()
                ));
                continue;
            }
            found.extend(self.check(path, Proof::Any, store, report));
        }
        found
    }

    /// The first match in the directories that `options` allow: by build-id,
    /// then by link.
    pub(super) fn search<'store>(
        &self,
        options: &ReadOptions,
        store: &'store Store,
        report: &mut Report,
    ) -> Option<Found<'store>> {
        // One file by two paths (a relative and a real one) is one candidate.
        let mut seen = HashSet::new();
        let places = self.places(options).into_iter();
        let mut there = places
            .filter(|(path, proof)| path.canonicalize().is_ok_and(|p| seen.insert((p, *proof))));
        there.find_map(|(path, proof)| self.check(&path, proof, store, report))
    }

    fn places(&self, options: &ReadOptions) -> Vec<(PathBuf, Proof)> {
        let mut places = Vec::new();
        if let Some(id) = self.build_id {
            let files = places::by_build_id(id, options);
            places.extend(files.into_iter().map(|path| (path, Proof::BuildId)));
        }
        if let Some(name) = self.link.and_then(|link| places::file_name(link.name)) {
            let own = own_directories(self.path);
            if options.auto_debug {
                for directory in &own {
                    places.push((directory.join(&name), Proof::Crc));
                    places.push((directory.join(".debug").join(&name), Proof::Crc));
                }
            }
            for root in &options.debug_dirs {
                places.push((root.join(&name), Proof::Crc));
            }
            for root in places::roots(options) {
                for directory in own.iter().filter(|directory| directory.is_absolute()) {
                    let below = directory.strip_prefix("/").unwrap_or(directory);
                    places.push((root.join(below).join(&name), Proof::Crc));
                }
            }
        }
        places
    }

    /// The candidate at `path`, mapped, when it is there and matches.
    fn check<'store>(
        &self,
        path: &Path,
        proof: Proof,
        store: &'store Store,
        report: &mut Report,
    ) -> Option<Found<'store>> {
        // A device or a pipe with the right name must not be opened.
        let metadata = path.metadata().ok()?;
        if !metadata.is_file() || self.is_the_file_itself(path) {
            return None;
        }
        // How debuginfod's client remembers that there is none.
        if metadata.len() == 0 && proof == Proof::BuildId {
            return None;
        }
        let mut refuse = |reason: String| {
            report.warn(format!("debug file {}: {reason}; did not use it", path.display()));
            None
        };
        let data = match map_file(path, store) {
            Ok(data) => data,
            Err(error) => return refuse(error.to_string()),
        };
        if !is_elf(data) {
            return refuse("expected an ELF file, found something else".to_owned());
        }
        let candidate = match File::parse(path, data, &mut Report::default()) {
            Ok(candidate) => candidate,
            Err(error) => return refuse(error.to_string()),
        };
        match self.match_with(&candidate, proof) {
            Ok(()) => Some(Found { path: path.to_path_buf(), data }),
            Err(reason) => refuse(reason),
        }
    }

    fn match_with(&self, candidate: &File<'_>, proof: Proof) -> Result<(), String> {
        let main = self.file;
        if (candidate.machine, candidate.is_64, candidate.endian)
            != (main.machine, main.is_64, main.endian)
            || candidate.is_relocatable() != main.is_relocatable()
        {
            return Err("it is for another kind of machine or file".to_owned());
        }
        match (proof, self.build_id, self.link) {
            (Proof::BuildId | Proof::Any, Some(wanted), _) => {
                let found = notes::build_id(candidate, &mut Report::default());
                if found.as_deref() == Some(wanted) {
                    return Ok(());
                }
                let found = found.map_or_else(|| "none".to_owned(), |id| hex(&id));
                Err(format!("expected build-id {}, found {found}", hex(wanted)))
            }
            (Proof::Crc | Proof::Any, _, Some(link)) => {
                let found = crc32fast::hash(candidate.data);
                if found == link.crc {
                    return Ok(());
                }
                Err(format!(
                    "expected CRC {:#010x} by .gnu_debuglink, found {found:#010x}",
                    link.crc
                ))
            }
            _ if same_code(main, candidate) => Ok(()),
            _ => Err("the main file has no build-id and no link, and the code is not the same"
                .to_owned()),
        }
    }

    fn is_the_file_itself(&self, path: &Path) -> bool {
        match (path.canonicalize(), self.path.canonicalize()) {
            (Ok(candidate), Ok(main)) => candidate == main,
            _ => path == self.path,
        }
    }
}

/// True when both files hold the same bytes of code at the same addresses.
fn same_code(main: &File<'_>, candidate: &File<'_>) -> bool {
    fn code<'a, 'data>(file: &'a File<'data>) -> impl Iterator<Item = (u64, &'data [u8])> + 'a {
        let sections = file.sections.iter().filter(|section| {
            section.is_allocated() && section.has(elf::SHF_EXECINSTR) && section.size > 0
        });
        sections.map(|section| (section.address, file.section_data(section).unwrap_or(&[])))
    }
    let mut count = 0usize;
    let same = code(main).eq(code(candidate).inspect(|_| count = count.saturating_add(1)));
    same && count > 0 && code(main).all(|(_, bytes)| !bytes.is_empty())
}
