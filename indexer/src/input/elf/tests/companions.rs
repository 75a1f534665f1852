//! `.gnu_debugdata` and separate debug files.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{names, read_file, symbol, testdata};
use crate::input::ReadOptions;
use crate::model::{Image, Source, Store};

fn auto() -> ReadOptions {
    ReadOptions { auto_debug: true, ..ReadOptions::default() }
}

fn warning(image: &Image<'_>) -> String {
    assert_eq!(image.report.warnings.len(), 1, "{:?}", image.report.warnings);
    image.report.warnings[0].clone()
}

#[test]
fn debug_data_adds_to_the_dynamic_table() {
    let store = Store::new();
    let image = read_file("gnu-debugdata/m.exe", &store, &auto());
    assert_eq!(names(&image, Source::DebugData), ["hidden_one", "hidden_two"]);
    assert!(names(&image, Source::Dynsym).contains(&"_start".to_owned()));
    // In the section of the main file, though the packed file numbers its own.
    let section = symbol(&image, "hidden_one").section;
    assert_eq!(image.sections[section as usize].name, b".text");
    assert_eq!(image.report.warnings, [""; 0]);
}

#[test]
fn broken_debug_data_costs_only_itself() {
    for (file, text) in [
        ("bad-trunc.exe", "damaged xz data"),
        ("bad-magic.exe", "damaged xz data"),
        ("bad-bomb.exe", "not ELF"),
    ] {
        let start = Instant::now();
        let store = Store::new();
        let image = read_file(&format!("gnu-debugdata/{file}"), &store, &auto());
        assert!(names(&image, Source::Dynsym).contains(&"_start".to_owned()));
        assert!(warning(&image).contains(text), "{file}: {}", warning(&image));
        assert!(start.elapsed() < Duration::from_secs(2), "{file}");
    }
}

#[test]
fn debug_link_is_followed_and_checked() {
    let store = Store::new();
    for app in ["good/app", "selfname/app"] {
        let image = read_file(&format!("debuglink/{app}"), &store, &auto());
        assert!(names(&image, Source::DebugFile).contains(&"hidden".to_owned()), "{app}");
        let section = symbol(&image, "hidden").section;
        assert_eq!(image.sections[section as usize].name, b".text");
        assert_eq!(image.companions.len(), 1);
        assert_eq!(image.companions[0].role, "debug file");
        assert_eq!(image.report.warnings, [""; 0], "{app}");
    }
    let image = read_file("debuglink/crc/app", &store, &auto());
    assert!(image.symbols.is_empty());
    assert!(warning(&image).contains("CRC"), "{}", warning(&image));
    // Not being there is no event.
    let image = read_file("debuglink/missing/app", &store, &auto());
    assert_eq!(image.report.warnings, [""; 0]);
    for app in ["short/app-crc3", "short/app-nonul"] {
        let image = read_file(&format!("debuglink/{app}"), &store, &auto());
        assert!(warning(&image).contains(".gnu_debuglink"));
    }
}

#[test]
fn nothing_is_looked_for_unless_allowed() {
    let store = Store::new();
    let image = read_file("debuglink/good/app", &store, &ReadOptions::default());
    assert!(image.symbols.is_empty() && image.companions.is_empty());
    let by_name =
        ReadOptions { debug_dirs: vec![testdata("debuglink/good")], ..ReadOptions::default() };
    let image = read_file("debuglink/missing/app", &store, &by_name);
    assert!(names(&image, Source::DebugFile).contains(&"hidden".to_owned()));
}

#[test]
fn build_id_trees_are_checked_by_the_note_inside() {
    let with = |directory: &str| ReadOptions {
        debug_dirs: vec![testdata(directory)],
        ..ReadOptions::default()
    };
    let store = Store::new();
    let image = read_file("debuglink/buildid/app", &store, &with("debuglink/buildid/good"));
    assert!(names(&image, Source::DebugFile).contains(&"hidden".to_owned()));
    let image = read_file("debuglink/buildid/app", &store, &with("debuglink/buildid/wrong"));
    assert!(image.symbols.is_empty());
    assert!(warning(&image).contains("build-id"));
}

/// debuginfod's client leaves an empty file where a server had none.
#[test]
fn an_empty_file_of_a_build_id_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let id = read_file("debuglink/buildid/app", &Store::new(), &ReadOptions::default()).build_id;
    let hex = crate::build::hex(&id.unwrap());
    let path = directory.path().join(".build-id").join(&hex[..2]);
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join(format!("{}.debug", &hex[2..])), b"").unwrap();
    let debug_dirs = vec![directory.path().to_owned()];
    let store = Store::new();
    let options = ReadOptions { debug_dirs, ..ReadOptions::default() };
    let image = read_file("debuglink/buildid/app", &store, &options);
    assert!(image.companions.is_empty());
    assert_eq!(image.report.warnings, [""; 0]);
}

#[test]
fn named_debug_files_are_taken_only_on_a_match() {
    let with =
        |file: &str| ReadOptions { debug_files: vec![testdata(file)], ..ReadOptions::default() };
    let store = Store::new();
    let app = "debuglink/missing/app";
    let image = read_file(app, &store, &with("debuglink/good/app.debug"));
    assert!(names(&image, Source::DebugFile).contains(&"hidden".to_owned()));
    let image = read_file(app, &store, &with("debuglink/crc/app.debug"));
    assert!(warning(&image).contains("CRC"));
    let image = read_file(app, &store, &with("debuglink/nowhere"));
    assert!(warning(&image).contains("not found"));
    let image = read_file(app, &store, &with("plt/arm.so"));
    assert!(warning(&image).contains("another kind of machine"));
    // No id and no link: the same code is proof enough.
    let image = read_file("alias-choice/libal-stripped.so", &store, &with("alias-choice/libal.so"));
    assert!(names(&image, Source::DebugFile).contains(&"__GI_strdup".to_owned()));
    let image = read_file("alias-choice/libal-stripped.so", &store, &with("plt-ifunc/plt.so"));
    assert!(warning(&image).contains("not the same"));
}

/// `objcopy --only-keep-debug` keeps the program headers of the program, but
/// moves the bytes: their offsets would give wrong answers.
#[test]
fn a_debug_file_can_be_the_input() {
    let store = Store::new();
    let image = read_file("debuglink/good/app.debug", &store, &auto());
    let full = read_file("debuglink/full.exe", &store, &auto());
    assert_eq!(symbol(&image, "hidden").address, symbol(&full, "hidden").address);
    assert!(image.segments.is_empty());
    assert!(!full.segments.is_empty());
    assert_eq!(image.sections.len(), full.sections.len());
    assert_eq!(image.report.skipped["segment of a separate debug file"], 3);
}

#[test]
fn a_link_can_not_lead_out_of_its_directories() {
    let mut data = std::fs::read(testdata("debuglink/good/app")).unwrap();
    let at = data.windows(9).position(|w| w == b"app.debug").unwrap();
    data[at..at + 3].copy_from_slice(b"../");
    let store = Store::new();
    let path: PathBuf = testdata("debuglink/good/app");
    let image = super::super::read(&path, &data, &store, &auto()).unwrap();
    assert!(warning(&image).contains("a path instead of a file name"));
}
