use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use symidx::Index;
use symidx_indexer::Status;
use symidx_indexer::store::{self, Kind};

use super::*;
use crate::binaries::tests::{RICH, golden, used};
use crate::dsos::DsoKind;

fn inventory(dsos: Vec<DsoUse>) -> Inventory {
    Inventory { dsos, ..Inventory::default() }
}

fn file(path: &Path, id: Option<&[u8]>, frames: u64) -> DsoUse {
    used(path.as_os_str().as_bytes(), DsoKind::File, id, frames)
}

fn run(inventory: &Inventory, options: &IndexOptions) -> Vec<Indexed> {
    let mut rows = Vec::new();
    index(inventory, &Binaries::nowhere_else(), options, |indexed, done, all| {
        rows.push(indexed.clone());
        assert!(done == rows.len() && done <= all);
    });
    rows
}

fn built(indexed: &Indexed) -> &BuildReport {
    match &indexed.outcome {
        Outcome::Built(report) => report,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_missing_is_built_and_what_is_there_is_left_alone() {
    let store = tempfile::tempdir().unwrap();
    let profile = inventory(vec![
        file(&golden("example.elf"), None, 3),
        file(Path::new("/nowhere"), Some(&[1; 20]), 9),
        file(&golden("rich.elf"), Some(&RICH), 5),
        file(&golden("lines.elf"), None, 0),
    ]);
    let options = IndexOptions::new(store.path());
    let first = run(&profile, &options);
    // The most frames first, and nothing of what has none.
    let names: Vec<u64> = first.iter().map(|row| row.used.frames).collect();
    assert_eq!(names, [9, 5, 3]);
    assert!(matches!(first[0].outcome, Outcome::NotHere(NotHere::NoSuchBuild { .. })));
    assert_eq!(built(&first[1]).status, Status::Built);
    let place = store::place(store.path(), &RICH, Kind::File);
    assert_eq!(first[1].index.as_deref(), Some(place.as_path()));
    assert!(Index::read(&place).is_ok_and(|index| index.build_id() == Some(&RICH)));
    // The one without an id has a link that its state leads to.
    let state = state_of(&golden("example.elf")).unwrap();
    let linked = state.link(store.path()).canonicalize().unwrap();
    assert_eq!(linked, first[2].index.as_ref().unwrap().canonicalize().unwrap());
    let again = run(&profile, &options);
    assert!(matches!(again[1].outcome, Outcome::Present(bytes) if bytes != 0));
    assert!(matches!(again[2].outcome, Outcome::Present(bytes) if bytes != 0));
    // Even when its binary is gone.
    let gone = inventory(vec![file(Path::new("/nowhere"), Some(&RICH), 1)]);
    assert!(matches!(run(&gone, &options)[0].outcome, Outcome::Present(_)));
    let forced = IndexOptions { force: true, ..options };
    assert_eq!(built(&run(&profile, &forced)[1]).status, Status::Built);
}

#[test]
fn two_dsos_of_one_build_share_an_index() {
    let store = tempfile::tempdir().unwrap();
    let copy = store.path().join("copy.elf");
    std::fs::copy(golden("rich.elf"), &copy).unwrap();
    let profile =
        inventory(vec![file(&golden("rich.elf"), Some(&RICH), 5), file(&copy, Some(&RICH), 4)]);
    let rows = run(&profile, &IndexOptions::new(store.path()));
    assert_eq!(rows[0].index, rows[1].index);
    assert_eq!(built(&rows[0]).id, built(&rows[1]).id);
}

#[test]
fn unused_dsos_and_lines_are_a_matter_of_choice() {
    let store = tempfile::tempdir().unwrap();
    let profile = inventory(vec![file(&golden("lines.elf"), None, 0)]);
    let mut options = IndexOptions::new(store.path());
    assert!(run(&profile, &options).is_empty());
    options.unused = true;
    assert_ne!(built(&run(&profile, &options)[0]).line_rows, 0);
    options.names_only = true;
    // The one that is there has more in it.
    assert!(matches!(run(&profile, &options)[0].outcome, Outcome::Present(_)));
    options.store = store.path().join("other");
    assert_eq!(built(&run(&profile, &options)[0]).line_rows, 0);
}

#[test]
fn damage_costs_only_its_own_dso() {
    let directory = tempfile::tempdir().unwrap();
    let damaged = directory.path().join("damaged");
    let whole = std::fs::read(golden("rich.elf")).unwrap();
    std::fs::write(&damaged, &whole[..200]).unwrap();
    // In the store, damage is replaced.
    let store = directory.path().join("store");
    let place = store::place(&store, &RICH, Kind::File);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(&place, "no index").unwrap();
    let profile =
        inventory(vec![file(&damaged, None, 9), file(&golden("rich.elf"), Some(&RICH), 5)]);
    let rows = run(&profile, &IndexOptions::new(&store));
    // What is left of the file has no symbol, and says what is missing.
    assert_eq!(built(&rows[0]).symbols, 0);
    assert!(rows[0].warnings.iter().any(|warning| warning.contains("section headers")));
    assert_eq!(built(&rows[1]).status, Status::Built);
    assert!(Index::read(&place).is_ok());
}

#[test]
fn a_file_changed_since_the_recording_is_worth_a_word() {
    let store = tempfile::tempdir().unwrap();
    let profile = inventory(vec![
        file(&golden("example.elf"), None, 2),
        file(&golden("rich.elf"), Some(&RICH), 1),
    ]);
    let options = IndexOptions {
        recorded: Some(std::time::SystemTime::UNIX_EPOCH),
        ..IndexOptions::new(store.path())
    };
    let rows = run(&profile, &options);
    assert!(rows[0].warnings.iter().any(|w| w.contains("changed after the profile")), "{rows:?}");
    // A build-id vouches for the other one.
    assert!(!rows[1].warnings.iter().any(|w| w.contains("changed")), "{rows:?}");
}

#[test]
fn a_copy_of_the_kernels_symbols_is_found_by_its_link() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("kallsyms");
    std::fs::write(&text, "ffffffff81000000 T _text\nffffffff81000100 T f\n").unwrap();
    let kernel = used(b"[kernel.kallsyms]", DsoKind::Kernel, Some(&RICH), 1);
    let binaries = Binaries::nowhere_else().with_kallsyms(&text);
    let options = IndexOptions::new(directory.path());
    let mut rows = Vec::new();
    for _ in 0..2 {
        index(&inventory(vec![kernel.clone()]), &binaries, &options, |row, _, _| {
            rows.push(row.clone());
        });
    }
    assert_eq!(built(&rows[0]).symbols, 2);
    assert!(matches!(rows[1].outcome, Outcome::Present(_)));
    let link = state_of(&text).unwrap().link(directory.path());
    assert_eq!(link.canonicalize().unwrap(), rows[1].index.clone().unwrap());
    // Not under the kernel's build-id: that place is vmlinux's.
    assert!(!store::place(directory.path(), &RICH, Kind::File).exists());
}
