//! Separate debug files: `.dSYM` bundles and what the user named.
//!
//! In: the image's path and UUID, and where the user lets us look. Out: the image
//! of a debug file with the same UUID. One that is not there is no event; one
//! that is there with another UUID is a warning that says both.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{fat, is_macho};
use crate::input::debug::own_directories;
use crate::input::{ReadOptions, map_file};
use crate::model::{Report, Store};

/// Directories that are one thing to their user, whose bundle lies beside them.
const PACKAGES: [&str; 6] = ["framework", "app", "bundle", "kext", "xpc", "appex"];

/// A debug file with the right UUID.
pub(super) struct Found<'store> {
    /// Where it was found.
    pub(super) path: PathBuf,
    /// Its bytes.
    pub(super) data: &'store [u8],
    /// The image in it.
    pub(super) image: &'store [u8],
}

/// What is looked for.
pub(super) struct Wanted<'a> {
    /// The image's path.
    pub(super) path: &'a Path,
    /// Its UUID.
    pub(super) uuid: Option<[u8; 16]>,
}

impl Wanted<'_> {
    /// The files and bundles the user named, as far as they match.
    pub(super) fn named<'store>(
        &self,
        options: &ReadOptions,
        store: &'store Store,
        report: &mut Report,
    ) -> Vec<Found<'store>> {
        let mut found = Vec::new();
        for path in &options.debug_files {
            if !path.exists() {
                report
                    .warn(format!("debug file {}: not found; went on without it", path.display()));
            } else if path.is_dir() {
                found.extend(self.in_bundle(path, store, report));
            } else {
                match self.check(path, store) {
                    Ok(file) => found.push(file),
                    Err(reason) => refuse(path, &reason, report),
                }
            }
        }
        found
    }

    /// The first match in the bundles beside the file and in the directories
    /// that the user named.
    pub(super) fn search<'store>(
        &self,
        options: &ReadOptions,
        store: &'store Store,
        report: &mut Report,
    ) -> Option<Found<'store>> {
        // Nothing could be proved without one.
        self.uuid?;
        let mut seen = HashSet::new();
        let mut there = self
            .bundles(options)
            .into_iter()
            .filter(|bundle| bundle.canonicalize().is_ok_and(|real| seen.insert(real)));
        there.find_map(|bundle| self.in_bundle(&bundle, store, report))
    }

    /// Where the bundle of the file, or of the package that it is in, may be.
    fn bundles(&self, options: &ReadOptions) -> Vec<PathBuf> {
        let mut beside = Vec::new();
        let mut names = Vec::new();
        let file_name = self.path.file_name().map(PathBuf::from).unwrap_or_default();
        for own in own_directories(self.path) {
            beside.push(with_suffix(&own.join(&file_name)));
            for package in own.ancestors().take(4).filter(|path| is_package(path)) {
                beside.push(with_suffix(package));
            }
        }
        for path in &beside {
            let name = path.file_name().map(PathBuf::from).unwrap_or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut bundles = if options.auto_debug { beside } else { Vec::new() };
        for root in &options.debug_dirs {
            bundles.extend(names.iter().map(|name| root.join(name)));
            if root.extension().is_some_and(|extension| extension == "dSYM") {
                bundles.push(root.clone());
            }
        }
        bundles
    }

    /// The file of a bundle that matches: the one with the image's name, or any.
    fn in_bundle<'store>(
        &self,
        bundle: &Path,
        store: &'store Store,
        report: &mut Report,
    ) -> Option<Found<'store>> {
        let directory = bundle.join("Contents").join("Resources").join("DWARF");
        let entries = std::fs::read_dir(directory).ok()?;
        let mut files: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        // Finder and archivers leave `.DS_Store` and `._name` files behind.
        files.retain(|path| {
            path.is_file()
                && !path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."))
        });
        files.sort_by_key(|path| (path.file_name() != self.path.file_name(), path.clone()));
        let mut refusals = Vec::new();
        for path in files {
            match self.check(&path, store) {
                Ok(found) => return Some(found),
                Err(reason) => refusals.push((path, reason)),
            }
        }
        for (path, reason) in refusals {
            refuse(&path, &reason, report);
        }
        None
    }

    fn check<'store>(&self, path: &Path, store: &'store Store) -> Result<Found<'store>, String> {
        let Some(wanted) = self.uuid else {
            return Err("the main file has no UUID to match".to_owned());
        };
        let data = map_file(path, store).map_err(|error| error.to_string())?;
        if !is_macho(data) {
            return Err("expected a Mach-O file, found something else".to_owned());
        }
        let images = fat::images(data);
        if let Some((_, image)) = images.iter().find(|(slice, _)| slice.uuid == Some(wanted)) {
            return Ok(Found { path: path.to_path_buf(), data, image });
        }
        let found: Vec<_> = images
            .iter()
            .filter_map(|(slice, _)| slice.uuid.as_ref())
            .map(fat::uuid_text)
            .collect();
        let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        Err(format!("expected UUID {}, found {found}", fat::uuid_text(&wanted)))
    }
}

fn refuse(path: &Path, reason: &str, report: &mut Report) {
    report.warn(format!("debug file {}: {reason}; did not use it", path.display()));
}

fn is_package(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| PACKAGES.contains(&extension))
}

/// `NAME.dSYM`.
fn with_suffix(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".dSYM");
    PathBuf::from(name)
}
