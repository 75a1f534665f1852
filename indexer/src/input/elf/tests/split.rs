//! Split DWARF: files and packages, accepted by the units' ids.

use std::path::{Path, PathBuf};

use super::{read_file, testdata};
use crate::input::ReadOptions;
use crate::model::{Image, SplitUnit, Store};

fn auto() -> ReadOptions {
    ReadOptions { auto_debug: true, ..ReadOptions::default() }
}

fn roles(image: &Image<'_>) -> Vec<(&'static str, String)> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    image.companions.iter().map(|c| (c.role, name(&c.path))).collect()
}

fn split_files() -> Vec<(&'static str, String)> {
    vec![("split debug file", "one.dwo".into()), ("split debug file", "two.dwo".into())]
}

/// Copies files of `testdata/elf/split` to a new directory.
fn copied(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    for (from, to) in files {
        let to = directory.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(testdata("split").join(from), to).unwrap();
    }
    let app = directory.path().join("app");
    (directory, app)
}

fn open<'s>(path: &Path, store: &'s Store, options: &ReadOptions) -> Image<'s> {
    crate::input::read(path, store, options).unwrap()
}

#[test]
fn files_are_found_beside_the_program() {
    for version in ["v5", "v4", "clang5", "clang4", "zlib"] {
        let store = Store::new();
        let image = read_file(&format!("split/{version}/app"), &store, &auto());
        assert_eq!(image.report.warnings, [""; 0], "{version}");
        assert_eq!(roles(&image), split_files());
        let split = &image.debug[0].split;
        assert_eq!(split.len(), 2);
        assert!(split[0].id < split[1].id);
        // Only `one` has an inlined function; its name is in either section.
        let has_leaf = |bytes: &[u8]| bytes.windows(5).any(|name| name == b"leaf\0");
        let of_one =
            |unit: &&SplitUnit<'_>| has_leaf(unit.sections.str) || has_leaf(unit.sections.info);
        assert_eq!(split.iter().filter(of_one).count(), 1, "{version}");
    }
}

#[test]
fn a_package_is_found_beside_the_program() {
    let store = Store::new();
    let image = read_file("split/packed/app", &store, &auto());
    assert_eq!(image.report.warnings, [""; 0]);
    assert_eq!(roles(&image), [("split package", "app.dwp".to_owned())]);
    let package = image.debug[0].package.unwrap();
    assert!(!package.info.is_empty() && !package.cu_index.is_empty());
    assert!(image.debug[0].split.is_empty());
}

#[test]
fn a_package_of_another_program_is_refused_and_files_are_used() {
    let (_kept, app) = copied(&[
        ("v5/app", "app"),
        ("v5/one.dwo", "one.dwo"),
        ("v5/two.dwo", "two.dwo"),
        ("packed/app.dwp", "app.dwp"),
    ]);
    let store = Store::new();
    let image = open(&app, &store, &auto());
    assert!(image.debug[0].package.is_none());
    assert_eq!(roles(&image), split_files());
    assert_eq!(image.report.warnings.len(), 1);
    assert!(image.report.warnings[0].contains("expected some of 2 units, found 2 others"));
}

#[test]
fn missing_files_are_said_once() {
    let (_kept, app) = copied(&[("v5/app", "app")]);
    let store = Store::new();
    let image = open(&app, &store, &auto());
    assert!(image.debug[0].split.is_empty() && image.companions.is_empty());
    assert_eq!(image.report.warnings.len(), 1);
    let warning = &image.report.warnings[0];
    assert!(warning.contains("2 of 2 are missing (first: one.dwo, dwo id 0x"), "{warning}");
}

#[test]
fn files_of_another_build_are_refused_with_both_ids() {
    let (_kept, app) =
        copied(&[("v5/app", "app"), ("zlib/one.dwo", "one.dwo"), ("v4/two.dwo", "two.dwo")]);
    let store = Store::new();
    let image = open(&app, &store, &auto());
    assert!(image.debug[0].split.is_empty() && image.companions.is_empty());
    assert_eq!(image.report.warnings.len(), 1);
    let warning = &image.report.warnings[0];
    assert!(warning.contains("2 of 2 are of another build"), "{warning}");
    assert!(warning.contains("expected dwo id 0x"), "{warning}");
    assert!(warning.contains(", found 0x"), "{warning}");
}

#[test]
fn debug_directories_are_searched_and_nothing_else_when_told_so() {
    let none = ReadOptions::default();
    let store = Store::new();
    let image = read_file("split/v5/app", &store, &none);
    assert!(image.debug[0].split.is_empty());
    assert_eq!(image.report.warnings, [""; 0]);
    for place in ["", "src/v5/"] {
        let (one, two) = (format!("d/{place}one.dwo"), format!("d/{place}two.dwo"));
        let (directory, app) =
            copied(&[("v5/app", "app"), ("v5/one.dwo", &one), ("v5/two.dwo", &two)]);
        let debug_dirs = vec![directory.path().join("d")];
        let image = open(&app, &store, &ReadOptions { debug_dirs, ..none.clone() });
        assert_eq!(roles(&image), split_files(), "{place}");
    }
    let (directory, app) = copied(&[("packed/app", "app"), ("packed/app.dwp", "d/app.dwp")]);
    let debug_dirs = vec![directory.path().join("d")];
    let image = open(&app, &store, &ReadOptions { debug_dirs, ..none.clone() });
    assert!(image.debug[0].package.is_some());
    let debug_files = vec![directory.path().join("d/app.dwp")];
    let image = open(&app, &store, &ReadOptions { debug_files, ..none });
    assert!(image.debug[0].package.is_some());
    assert_eq!(image.report.warnings, [""; 0]);
}

/// The skeletons are in the debug file then, and the files beside that.
#[test]
fn a_debug_file_can_have_split_units() {
    let options = ReadOptions { debug_files: vec![testdata("split/v5/app")], ..auto() };
    let store = Store::new();
    let image = read_file("split/stripped/app", &store, &options);
    assert_eq!(image.report.warnings, [""; 0]);
    let mut all = vec![("debug file", "app".to_owned())];
    all.extend(split_files());
    assert_eq!(roles(&image), all);
    assert_eq!(image.debug[0].split.len(), 2);
}

#[test]
#[cfg(unix)]
fn one_file_by_two_paths_is_read_once() {
    let (directory, app) =
        copied(&[("v5/app", "app"), ("v5/one.dwo", "d/one.dwo"), ("v5/two.dwo", "d/two.dwo")]);
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(directory.path().join("d"), &link).unwrap();
    let debug_dirs = vec![link, directory.path().join("d")];
    let store = Store::new();
    let image = open(&app, &store, &ReadOptions { debug_dirs, ..ReadOptions::default() });
    assert_eq!(image.debug[0].split.len(), 2);
    assert_eq!(image.companions.len(), 2);
}

/// A program may have more split files than a process may have open files.
#[test]
#[cfg(target_os = "linux")]
fn files_are_not_kept_open() {
    let (directory, app) =
        copied(&[("v5/app", "app"), ("v5/one.dwo", "one.dwo"), ("v5/two.dwo", "two.dwo")]);
    let store = Store::new();
    let image = open(&app, &store, &auto());
    assert_eq!(image.debug[0].split.len(), 2);
    let open: Vec<_> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .filter(|path| path.starts_with(directory.path()))
        .collect();
    assert_eq!(open, [app.canonicalize().unwrap()]);
}

/// Any damage to the program or a split file: what is left is read.
#[test]
fn damage_costs_units_only() {
    for damaged in ["app", "one.dwo"] {
        let (directory, app) =
            copied(&[("v5/app", "app"), ("v5/one.dwo", "one.dwo"), ("v5/two.dwo", "two.dwo")]);
        let path = directory.path().join(damaged);
        let whole = std::fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(7) {
            let mut data = whole.clone();
            data[at] ^= 0x55;
            std::fs::write(&path, &data[..if at % 2 == 0 { data.len() } else { at }]).unwrap();
            let store = Store::new();
            if let Ok(image) = crate::input::read(&app, &store, &auto()) {
                let split = image.debug.first().map_or(0, |debug| debug.split.len());
                let most = if damaged == "app" { 0 } else { 1 };
                assert!(split >= most || !image.report.warnings.is_empty(), "{damaged} {at}");
            }
        }
    }
}
