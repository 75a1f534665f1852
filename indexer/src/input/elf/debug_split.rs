//! Split DWARF: `.dwo` files and packages of them.
//!
//! In: a file's debug sections, and where the user lets us look. Out: the split
//! units, accepted by id, and the files they are in. Files that are missing or of
//! another build are said once per kind, and cost only their own units.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::debug_sections::{self, Flavour};
use super::header::File;
use super::is_elf;
use super::places;
use super::skeletons::{self, Skeleton};
use crate::input::debug::{Count, MAX_PARTS, own_directories};
use crate::input::{ReadOptions, map_file};
use crate::model::{Companion, DwarfSections, Report, SplitUnit, Store};

/// What was found for a file's skeletons.
#[derive(Default)]
pub(super) struct Split<'data> {
    /// Units from `.dwo` files, sorted by id.
    pub(super) units: Vec<SplitUnit<'data>>,
    /// The package.
    pub(super) package: Option<DwarfSections<'data>>,
    /// The files, in the order they were accepted.
    pub(super) companions: Vec<Companion<'data>>,
}

/// The file whose skeletons are meant.
pub(super) struct Holder<'a, 'data> {
    /// The main file's path.
    pub(super) main: &'a Path,
    /// The path of the file with the skeletons: the main file or its debug file.
    pub(super) path: &'a Path,
    /// That file.
    pub(super) file: &'a File<'data>,
}

/// Finds the split units of `sections`.
pub(super) fn load<'data>(
    holder: &Holder<'_, 'data>,
    sections: &DwarfSections<'data>,
    options: &ReadOptions,
    store: &'data Store,
    report: &mut Report,
) -> Split<'data> {
    let mut wanted = skeletons::skeletons(sections, holder.file.is_big_endian());
    let mut split = Split::default();
    if wanted.is_empty() {
        return split;
    }
    let mut files = Files { holder, store, report, loaded: HashMap::new(), opened: 0 };
    if let Some(package) = files.package(&wanted, options) {
        wanted.retain(|skeleton| !package.ids.contains(&skeleton.id));
        split.package = Some(package.sections);
        split.companions.push(package.companion);
    }
    if options.may_look() {
        files.units(&wanted, options, &mut split);
    }
    split.units.sort_by_key(|unit| unit.id);
    split
}

/// A package that has some of the units.
struct Package<'data> {
    sections: DwarfSections<'data>,
    ids: HashSet<u64>,
    companion: Companion<'data>,
}

/// One `.dwo` file.
struct Dwo<'data> {
    path: PathBuf,
    /// Its real path.
    real: PathBuf,
    data: &'data [u8],
    sections: DwarfSections<'data>,
    ids: HashSet<u64>,
    /// One of them, for messages.
    first: Option<u64>,
}

/// Files that were opened, by their real paths: many units may be in one.
struct Files<'a, 'data> {
    holder: &'a Holder<'a, 'data>,
    store: &'data Store,
    report: &'a mut Report,
    loaded: HashMap<PathBuf, Result<Rc<Dwo<'data>>, String>>,
    opened: usize,
}

impl<'data> Files<'_, 'data> {
    /// The first package that has a unit of `wanted`.
    fn package(
        &mut self,
        wanted: &[Skeleton<'data>],
        options: &ReadOptions,
    ) -> Option<Package<'data>> {
        let mut seen = HashSet::new();
        for path in package_places(self.holder, options) {
            let there = path.metadata().is_ok_and(|metadata| metadata.is_file());
            if !there || !path.canonicalize().is_ok_and(|real| seen.insert(real)) {
                continue;
            }
            let found = self.open(&path, "split package").and_then(|(data, sections)| {
                let ids =
                    skeletons::package_ids(sections.cu_index, self.holder.file.is_big_endian());
                if wanted.iter().any(|skeleton| ids.contains(&skeleton.id)) {
                    return Ok((data, sections, ids));
                }
                Err(format!("expected some of {} units, found {} others", wanted.len(), ids.len()))
            });
            match found {
                Ok((data, sections, ids)) => {
                    let companion = Companion { path, role: "split package", data };
                    return Some(Package { sections, ids, companion });
                }
                Err(reason) => self
                    .report
                    .warn(format!("split package {}: {reason}; did not use it", path.display())),
            }
        }
        None
    }

    /// Finds each unit's file.
    fn units(
        &mut self,
        wanted: &[Skeleton<'data>],
        options: &ReadOptions,
        split: &mut Split<'data>,
    ) {
        let (mut missing, mut refused) = (Count::default(), Count::default());
        // An object with its own split units is the input, not a companion.
        let mut used: HashSet<_> = self.holder.main.canonicalize().into_iter().collect();
        let (near, far) = wanted.split_at(wanted.len().min(MAX_PARTS));
        for _ in far {
            refused.add(|| format!("only {MAX_PARTS} are opened"));
        }
        for skeleton in near {
            match self.unit(skeleton, options) {
                Ok(dwo) => {
                    split.units.push(SplitUnit { id: skeleton.id, sections: dwo.sections });
                    if used.insert(dwo.real.clone()) {
                        split.companions.push(Companion {
                            path: dwo.path.clone(),
                            role: "split debug file",
                            data: dwo.data,
                        });
                    }
                }
                Err(Some(reason)) => refused.add(|| reason),
                Err(None) => missing.add(|| {
                    let name = String::from_utf8_lossy(skeleton.name);
                    format!("{name}, dwo id {:#018x}", skeleton.id)
                }),
            }
        }
        let all = wanted.len();
        for (count, what) in
            [(missing, "missing"), (refused, "of another build, damaged or too many")]
        {
            if count.count > 0 {
                self.report.warn(format!(
                    "split debug files: {} of {all} are {what} (first: {}); went on without their lines",
                    count.count, count.example,
                ));
            }
        }
    }

    /// The file of one unit; else why the last one that is there is not it.
    fn unit(
        &mut self,
        skeleton: &Skeleton<'data>,
        options: &ReadOptions,
    ) -> Result<Rc<Dwo<'data>>, Option<String>> {
        let mut refusal = None;
        for path in unit_places(self.holder, skeleton, options) {
            if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
                continue;
            }
            let Ok(real) = path.canonicalize() else { continue };
            let loaded = match self.loaded.get(&real) {
                Some(loaded) => loaded.clone(),
                None => {
                    let loaded = self.dwo(&path, &real);
                    self.loaded.insert(real, loaded.clone());
                    loaded
                }
            };
            let found = match loaded {
                Ok(dwo) if dwo.ids.contains(&skeleton.id) => return Ok(dwo),
                Ok(dwo) => match dwo.first {
                    Some(id) => format!("expected dwo id {:#018x}, found {id:#018x}", skeleton.id),
                    None => format!("expected dwo id {:#018x}, found no split unit", skeleton.id),
                },
                Err(reason) => reason,
            };
            refusal = Some(format!("{}: {found}", path.display()));
        }
        Err(refusal)
    }

    fn dwo(&mut self, path: &Path, real: &Path) -> Result<Rc<Dwo<'data>>, String> {
        if self.opened >= MAX_PARTS {
            return Err(format!("more than {MAX_PARTS} split debug files"));
        }
        self.opened = self.opened.saturating_add(1);
        let (data, sections) = self.open(path, "split debug file")?;
        let ids = skeletons::split_ids(&sections, self.holder.file.is_big_endian());
        let first = ids.first().copied();
        let ids = ids.into_iter().collect();
        let (path, real) = (path.to_path_buf(), real.to_path_buf());
        Ok(Rc::new(Dwo { path, real, data, sections, ids, first }))
    }

    fn open(
        &mut self,
        path: &Path,
        role: &str,
    ) -> Result<(&'data [u8], DwarfSections<'data>), String> {
        let data = map_file(path, self.store).map_err(|error| error.to_string())?;
        if !is_elf(data) {
            return Err("expected an ELF file, found something else".to_owned());
        }
        let file = File::parse(path, data, &mut Report::default());
        let file = file.map_err(|error| error.to_string())?;
        let main = self.holder.file;
        if (file.machine, file.is_64, file.endian) != (main.machine, main.is_64, main.endian) {
            return Err("it is for another kind of machine".to_owned());
        }
        let label = format!("{role} {}: ", path.display());
        let sections = debug_sections::load(&file, Flavour::Split, &label, self.store, self.report);
        Ok((data, sections))
    }
}

/// The packages that the user named, `NAME.dwp` beside the main file and its debug
/// file, and in the directories that the user named.
fn package_places(holder: &Holder<'_, '_>, options: &ReadOptions) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for path in [holder.main, holder.path] {
        let real = path.canonicalize().ok();
        for path in std::iter::once(path.to_path_buf()).chain(real) {
            let mut appended = path.clone().into_os_string();
            appended.push(".dwp");
            names.push(PathBuf::from(appended));
            if path.extension().is_some() {
                names.push(path.with_extension("dwp"));
            }
        }
    }
    let named = options.debug_files.iter().filter(|path| places::is_package(path));
    let mut places: Vec<_> = named.cloned().collect();
    if options.auto_debug {
        places.extend(names.iter().cloned());
    }
    for root in &options.debug_dirs {
        places.extend(names.iter().filter_map(|name| Some(root.join(name.file_name()?))));
    }
    places
}

/// Where a unit's file was written; else beside the main or the debug file, or in the
/// directories that the user named, under its path or its name alone.
fn unit_places(
    holder: &Holder<'_, '_>,
    skeleton: &Skeleton<'_>,
    options: &ReadOptions,
) -> Vec<PathBuf> {
    let Some(name) = places::file_name(skeleton.name) else { return Vec::new() };
    let directory = places::file_name(skeleton.directory).unwrap_or_default();
    let base = name.file_name().map(PathBuf::from).unwrap_or_default();
    let mut found = Vec::new();
    if options.auto_debug {
        let mut own = own_directories(holder.main);
        own.extend(own_directories(holder.path));
        let mut seen = HashSet::new();
        own.retain(|directory| seen.insert(directory.clone()));
        let written = directory.join(&name);
        if written.is_absolute() {
            found.push(written);
        } else {
            found.extend(own.iter().map(|own| own.join(&written)));
        }
        found.extend(own.iter().filter(|_| name.is_relative()).map(|own| own.join(&name)));
        found.extend(own.iter().map(|own| own.join(&base)));
    }
    let written = directory.join(&name);
    let below = written.strip_prefix("/").unwrap_or(&written);
    for root in &options.debug_dirs {
        found.push(root.join(below));
        if name.is_relative() {
            found.push(root.join(&name));
        }
        found.push(root.join(&base));
    }
    found
}
