//! Tests of where the debug information of Mach-O files is found, with files
//! that real tools made (`testdata/macho/debug-map`).
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::input::ReadOptions;
use crate::input::rows::{Line, rows};
use crate::model::{Image, Source, Store};

const ARCHS: [&str; 2] = ["x86_64", "arm64"];
/// When the objects were changed, as the debug map says.
const CHANGED: u64 = 1_000_000_000;
const OBJECTS: [&str; 3] = ["one.o", "two.o", "libthree.a"];
const IN_BUNDLE: &str = "Contents/Resources/DWARF/app";

fn testdata(arch: &str, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/macho/debug-map");
    root.join(arch).join(name)
}

/// A directory with copies of `files` (from, to), objects as old as they claim.
fn copied(arch: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (from, to) in files {
        let to = directory.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(testdata(arch, from), &to).unwrap();
        set_time(&to, CHANGED);
    }
    directory
}

fn set_time(path: &Path, seconds: u64) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

fn auto() -> ReadOptions {
    ReadOptions { auto_debug: true, ..ReadOptions::default() }
}

fn open<'s>(path: &Path, store: &'s Store, options: &ReadOptions) -> Image<'s> {
    crate::input::read(path, store, options).unwrap()
}

fn lines(image: &Image<'_>) -> BTreeSet<Line> {
    image.debug.iter().flat_map(|debug| rows(image, debug)).collect()
}

fn one_warning<'a>(image: &'a Image<'_>) -> &'a str {
    assert_eq!(image.report.warnings.len(), 1, "{:?}", image.report.warnings);
    &image.report.warnings[0]
}

fn with_objects(arch: &str) -> tempfile::TempDir {
    let mut files = vec![("app", "app")];
    files.extend(OBJECTS.map(|name| (name, name)));
    copied(arch, &files)
}

fn bundle(path: &str) -> String {
    format!("{path}/{IN_BUNDLE}")
}

/// What the linker's map says and what dsymutil made of it is the same.
#[test]
fn a_debug_map_gives_the_lines_of_the_bundle() {
    for arch in ARCHS {
        let objects = with_objects(arch);
        let store = Store::new();
        let by_map = open(&objects.path().join("app"), &store, &auto());
        assert_eq!(by_map.report.warnings, [""; 0]);
        assert_eq!(by_map.debug.len(), 3);
        let roles: Vec<_> = by_map.companions.iter().map(|c| c.role).collect();
        assert_eq!(roles, ["object file"; 3]);
        assert!(by_map.debug[0].label.starts_with("object "));
        let by_bundle = open(&testdata(arch, "app"), &store, &auto());
        assert_eq!(by_bundle.report.warnings, [""; 0]);
        assert_eq!(by_bundle.debug.len(), 1);
        assert_eq!(by_bundle.companions.len(), 1);
        assert_eq!(by_bundle.companions[0].role, "debug file");
        let lines = lines(&by_map);
        assert!(lines.iter().any(|line| line.2 == "three.c" && line.3 == 3), "{lines:#?}");
        assert!(lines.iter().any(|line| line.2 == "two.c" && line.3 == 3), "{lines:#?}");
        assert_eq!(lines, self::lines(&by_bundle), "{arch}");
    }
}

#[test]
fn changed_objects_are_refused_with_both_times() {
    let objects = with_objects("arm64");
    set_time(&objects.path().join("one.o"), CHANGED + 7);
    let archive = objects.path().join("libthree.a");
    let mut bytes = std::fs::read(&archive).unwrap();
    let at = bytes.windows(10).rposition(|window| window == b"1000000000").unwrap();
    bytes[at + 9] = b'1';
    std::fs::write(&archive, bytes).unwrap();
    let store = Store::new();
    let image = open(&objects.path().join("app"), &store, &auto());
    assert_eq!(image.debug.len(), 1);
    assert_eq!(image.companions.len(), 1);
    let warning = one_warning(&image);
    assert!(warning.contains("2 of 3 object files are changed"), "{warning}");
    assert!(
        warning.contains("time stamp 1000000000 by the debug map, found 100000000"),
        "{warning}"
    );
    // The names stay.
    assert!(image.symbols.iter().any(|symbol| symbol.name == b"hidden"));
}

#[test]
fn missing_objects_are_said_once() {
    let alone = copied("x86_64", &[("app", "app")]);
    let store = Store::new();
    let image = open(&alone.path().join("app"), &store, &auto());
    assert!(image.debug.is_empty() && image.companions.is_empty());
    let warning = one_warning(&image);
    assert!(
        warning.contains("3 of 3 object files are missing (first: libthree.a(three.o))"),
        "{warning}"
    );
    let image =
        open(&alone.path().join("app"), &store, &ReadOptions { names_only: true, ..auto() });
    assert_eq!(image.report.warnings, [""; 0]);
    // In a directory that the user named.
    let objects = with_objects("x86_64");
    let debug_dirs = vec![objects.path().to_owned()];
    let options = ReadOptions { debug_dirs, ..ReadOptions::default() };
    let image = open(&alone.path().join("app"), &store, &options);
    assert_eq!(image.debug.len(), 3);
}

#[test]
fn damaged_objects_cost_their_own_lines() {
    let objects = with_objects("arm64");
    for (bytes, found) in [(&b"text"[..], "for arm64, found none"), (b"", "found none")] {
        let path = objects.path().join("two.o");
        std::fs::write(&path, bytes).unwrap();
        set_time(&path, CHANGED);
        let store = Store::new();
        let image = open(&objects.path().join("app"), &store, &auto());
        assert_eq!(image.debug.len(), 2);
        assert!(one_warning(&image).contains(found), "{}", one_warning(&image));
    }
    // An object for another machine.
    let path = objects.path().join("two.o");
    std::fs::copy(testdata("x86_64", "two.o"), &path).unwrap();
    set_time(&path, CHANGED);
    let store = Store::new();
    let image = open(&objects.path().join("app"), &store, &auto());
    assert!(one_warning(&image).contains("for arm64, found one for x86_64"));
    // Any truncation.
    let whole = std::fs::read(testdata("arm64", "two.o")).unwrap();
    for end in 0..whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        set_time(&path, CHANGED);
        let store = Store::new();
        let image = open(&objects.path().join("app"), &store, &auto());
        assert!(image.debug.len() >= 2, "{end}");
    }
}

/// A stripped program beside the bundle of the same build has all names and lines.
#[test]
fn a_bundle_brings_names_and_lines_to_a_stripped_program() {
    for (program, place) in [
        ("app", "app.dSYM".to_owned()),
        ("app", "d/app.dSYM".to_owned()),
        ("Kit.framework/Versions/A/app", "Kit.framework.dSYM".to_owned()),
    ] {
        let files =
            copied("arm64", &[("stripped", program), (&bundle("app.dSYM"), &bundle(&place))]);
        let debug_dirs = vec![files.path().join("d")];
        let options = ReadOptions { debug_dirs, ..auto() };
        let store = Store::new();
        let image = open(&files.path().join(program), &store, &options);
        assert_eq!(image.report.warnings, [""; 0], "{place}");
        let hidden = image.symbols.iter().find(|symbol| symbol.name == b"hidden").unwrap();
        assert_eq!(hidden.source, Source::DebugFile);
        assert_eq!(image.sections[hidden.section as usize].name, b"__text");
        let full = open(&testdata("arm64", "app"), &store, &auto());
        assert_eq!(lines(&image), lines(&full));
        // Names alone come from there too, without its debug information.
        let names =
            open(&files.path().join(program), &store, &ReadOptions { names_only: true, ..options });
        assert!(names.symbols.iter().any(|symbol| symbol.name == b"hidden"));
        assert!(names.debug.is_empty());
    }
}

#[test]
fn a_bundle_of_another_build_is_refused_with_both_ids() {
    let other = bundle("app.dSYM");
    let files = copied("arm64", &[("stripped", "app")]);
    let path = files.path().join(&other);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::copy(testdata("x86_64", &other), &path).unwrap();
    let store = Store::new();
    let image = open(&files.path().join("app"), &store, &auto());
    assert!(image.debug.is_empty() && image.companions.is_empty());
    let warning = one_warning(&image);
    assert_eq!(warning.matches("UUID").count(), 1);
    assert_eq!(warning.matches('-').count(), 8, "{warning}");
    std::fs::write(&path, b"text").unwrap();
    let image = open(&files.path().join("app"), &store, &auto());
    assert!(one_warning(&image).contains("something else"));
}

#[test]
fn named_debug_files_are_taken_on_a_match() {
    let stripped = testdata("arm64", "stripped");
    let store = Store::new();
    for (file, lines) in [("app.dSYM".to_owned(), true), (bundle("app.dSYM"), true)] {
        let debug_files = vec![testdata("arm64", &file)];
        let image = open(&stripped, &store, &ReadOptions { debug_files, ..ReadOptions::default() });
        assert_eq!(image.report.warnings, [""; 0]);
        assert_eq!(!image.debug.is_empty(), lines);
    }
    for (file, warning) in [("nowhere", "not found"), ("../x86_64/app.dSYM", "expected UUID")] {
        let debug_files = vec![testdata("arm64", file)];
        let image = open(&stripped, &store, &ReadOptions { debug_files, ..ReadOptions::default() });
        assert!(one_warning(&image).contains(warning));
        assert!(image.debug.is_empty());
    }
}

/// Both the program and its bundle are fat: each slice has its own.
#[test]
fn slices_have_their_own_debug_information() {
    let files = tempfile::tempdir().unwrap();
    let fat = |name: &str, to: &str| {
        let slices: Vec<_> =
            ARCHS.map(|arch| std::fs::read(testdata(arch, name)).unwrap()).into_iter().collect();
        let path = files.path().join(to);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, super::tests::fat_of(&slices)).unwrap();
    };
    fat("stripped", "app");
    fat(&bundle("app.dSYM"), &bundle("app.dSYM"));
    for arch in ARCHS {
        let store = Store::new();
        let options = ReadOptions { arch: Some(arch.to_owned()), ..auto() };
        let image = open(&files.path().join("app"), &store, &options);
        assert_eq!(image.report.warnings, [""; 0]);
        let thin = open(&testdata(arch, "app"), &store, &auto());
        assert!(!lines(&image).is_empty());
        assert_eq!(lines(&image), lines(&thin));
    }
}

#[test]
fn an_object_has_its_own_debug_information() {
    for arch in ARCHS {
        let store = Store::new();
        let image = open(&testdata(arch, "one.o"), &store, &ReadOptions::default());
        let foo = image.symbols.iter().find(|symbol| symbol.name == b"foo").unwrap().address;
        let lines = lines(&image);
        assert!(lines.iter().any(|line| line.1 == foo && line.2 == "one.c"), "{lines:#?}");
    }
}

/// Every byte of a program changed once, its objects and bundle beside it.
#[test]
fn any_changed_byte_of_a_program_is_read() {
    let objects = with_objects("x86_64");
    let app = objects.path().join("app");
    let whole = std::fs::read(&app).unwrap();
    for at in 0..whole.len() {
        let mut data = whole.clone();
        data[at] ^= 0xff;
        let store = Store::new();
        let data = store.keep(data);
        if let Ok(image) = crate::input::read_bytes(&app, data, &store, &auto()) {
            let mapped = image.debug.iter().flat_map(|debug| &debug.addresses.mappings);
            assert!(mapped.into_iter().all(|m| (m.section as usize) < image.sections.len()));
        }
    }
}

/// A debug map may name one file, even the program itself, by thousands of paths:
/// reading it again for each would take forever.
#[test]
#[cfg(unix)]
fn an_object_by_many_paths_is_read_once() {
    let objects = with_objects("x86_64");
    let app = objects.path().join("app");
    let mut data = std::fs::read(&app).unwrap();
    let at = data.windows(5).position(|window| window == b"two.o").unwrap();
    data[at..at + 5].copy_from_slice(b"one.o");
    let at = data.windows(5).position(|window| window == b"one.o").unwrap();
    data[at..at + 5].copy_from_slice(b"./two");
    std::fs::copy(objects.path().join("one.o"), objects.path().join("two")).unwrap();
    set_time(&objects.path().join("two"), CHANGED);
    std::fs::remove_file(objects.path().join("one.o")).unwrap();
    std::os::unix::fs::symlink("two", objects.path().join("one.o")).unwrap();
    std::fs::write(&app, data).unwrap();
    let store = Store::new();
    let image = open(&app, &store, &auto());
    assert!(one_warning(&image).contains("named twice"), "{}", one_warning(&image));
    assert_eq!(image.debug.len(), 2);
}

/// A pipe named as debug file was opened, and the build waited for a writer.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_debug_file() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("app.debug");
    match std::process::Command::new("mkfifo").arg(&pipe).status() {
        Ok(status) if status.success() => {}
        _ => return eprintln!("SKIPPED: mkfifo is not there"),
    }
    let store = Store::new();
    let debug_files = vec![pipe];
    let options = ReadOptions { debug_files, ..ReadOptions::default() };
    let image = open(&testdata("arm64", "stripped"), &store, &options);
    let warned = image.report.warnings.iter().any(|w| w.contains("found something else"));
    assert!(warned && image.debug.is_empty(), "{:?}", image.report.warnings);
}
