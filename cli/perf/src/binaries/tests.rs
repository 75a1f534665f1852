use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::*;
use crate::dsos::DsoId;

/// What the build-id of `rich.elf` is.
pub(crate) const RICH: [u8; 20] = [
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
    0x00, 0x11, 0x22, 0x33,
];

/// A file of `testdata/golden`: `rich.elf`, `lines.elf` (another build-id), `example.elf` (none).
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden").join(name)
}

/// A DSO as a profile has it.
pub(crate) fn used(name: &[u8], kind: DsoKind, id: Option<&[u8]>, frames: u64) -> DsoUse {
    let dso = Dso {
        name: name.into(),
        kind,
        build_id: id.and_then(BuildId::new),
        path: std::rc::Rc::default(),
    };
    DsoUse { dso, id: DsoId::at(2), samples: frames, frames, pid: -1 }
}

fn file(path: &Path, id: Option<&[u8]>) -> DsoUse {
    used(path.as_os_str().as_bytes(), DsoKind::File, id, 1)
}

#[test]
fn the_file_at_the_path_counts_when_it_is_the_build() {
    let binaries = Binaries::nowhere_else();
    let rich = golden("rich.elf");
    let found = binaries.find(&file(&rich, Some(&RICH)));
    let expected =
        Binary { path: rich.clone(), bytes: None, id: Some(RICH.into()), proof: Proof::BuildId };
    assert_eq!(found, Ok(expected));
    // Another build at the path: an answer from it would be a confident wrong name.
    let other = binaries.find(&file(&golden("lines.elf"), Some(&RICH)));
    let Err(why) = other else { panic!("{other:?}") };
    assert_eq!(why.name(), "other build");
    let text = why.to_string();
    assert!(text.contains("expected build-id 00112233"), "{text}");
    assert!(text.contains("found 1122334455667788"), "{text}");
    // Nothing recorded: the path is all there is.
    let found = binaries.find(&file(&golden("example.elf"), None));
    assert!(found.is_ok_and(|binary| binary.proof == Proof::Path && binary.id.is_none()));
}

#[test]
fn a_build_is_found_by_its_id_wherever_it_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let tree = home.path().join("tree");
    let below = |path: &str| home.path().join(path);
    let places = [
        below(".debug/.build-id/00/112233445566778899aabbccddeeff00112233/elf"),
        below("tree/.build-id/00/112233445566778899aabbccddeeff00112233"),
        below(".cache/debuginfod_client/00112233445566778899aabbccddeeff00112233/executable"),
    ];
    let set = |name: &str| (name == "HOME").then(|| home.path().as_os_str().to_owned());
    let binaries = Binaries { places: Places::of_this_machine(set), ..Binaries::default() };
    let binaries = binaries.with_tree(&tree);
    let gone = file(Path::new("/nowhere/app"), Some(&RICH));
    let why = binaries.find(&gone).unwrap_err();
    assert_eq!(why.name(), "no such build");
    for place in &places {
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        // What lies about its id is not taken: the note inside counts.
        std::fs::copy(golden("lines.elf"), place).unwrap();
        assert_eq!(binaries.find(&gone).unwrap_err().name(), "no such build");
        std::fs::copy(golden("rich.elf"), place).unwrap();
        assert_eq!(binaries.find(&gone).unwrap().path, *place);
        // Deleted while it ran, and kept all the same.
        let deleted = used(b"/nowhere/app (deleted)", DsoKind::File, Some(&RICH), 1);
        assert_eq!(binaries.find(&deleted).unwrap().path, *place);
        std::fs::remove_file(place).unwrap();
    }
    // A debug file has other file offsets than the program.
    let debug = below("tree/.build-id/00/112233445566778899aabbccddeeff00112233.debug");
    std::fs::copy(golden("rich.elf"), debug).unwrap();
    assert_eq!(binaries.find(&gone).unwrap_err().name(), "only debug file");
}

#[test]
fn recorded_paths_are_looked_for_below_the_root_alone() {
    let root = tempfile::tempdir().unwrap();
    let binaries = Binaries::of_this_machine().with_root(root.path());
    let rich = golden("rich.elf");
    let wanted = used(b"/usr/bin/app", DsoKind::File, None, 1);
    assert_eq!(binaries.find(&wanted).unwrap_err().name(), "no file");
    let copy = root.path().join("usr/bin/app");
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    std::fs::copy(&rich, &copy).unwrap();
    assert_eq!(binaries.find(&wanted).unwrap().path, copy);
}

#[test]
fn a_pipe_with_the_right_name_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("app");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: mkfifo is not there");
        return;
    }
    let why = Binaries::nowhere_else().find(&file(&pipe, None)).unwrap_err();
    assert_eq!(why.name(), "no file");
}

#[test]
fn what_was_never_a_file_is_told_by_its_nature() {
    let binaries = Binaries::of_this_machine();
    for (name, kind, reason) in [
        (b"/memfd:x (deleted)".as_slice(), DsoKind::File, "memory"),
        (b"anon_inode:[io_uring]", DsoKind::File, "memory"),
        (b"[heap]", DsoKind::Memory, "memory"),
        (b"[nf_tables]", DsoKind::Module, "with the kernel"),
        (b"bpf_prog_1", DsoKind::Ksymbol, "names itself"),
    ] {
        let why = binaries.find(&used(name, kind, None, 1)).unwrap_err();
        assert_eq!(why.name(), reason, "{}", name.escape_ascii());
        assert!(why.is_by_nature());
    }
    let deleted = used(b"/nowhere/app (deleted)", DsoKind::File, None, 1);
    let why = binaries.find(&deleted).unwrap_err();
    assert_eq!((why.name(), why.is_by_nature()), ("deleted", false));
}

#[test]
fn the_kernel_is_the_one_of_perfs_copy_or_the_one_given() {
    let home = tempfile::tempdir().unwrap();
    let set = |name: &str| (name == "HOME").then(|| home.path().as_os_str().to_owned());
    let binaries = Binaries { places: Places::of_this_machine(set), ..Binaries::default() };
    let kernel = used(b"[kernel.kallsyms]", DsoKind::Kernel, Some(&RICH), 1);
    assert_eq!(binaries.find(&kernel).unwrap_err().name(), "no kernel symbols");
    let copy =
        home.path().join(".debug/.build-id/00/112233445566778899aabbccddeeff00112233/kallsyms");
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    std::fs::write(&copy, "ffffffff81000000 T _text\n").unwrap();
    assert_eq!(binaries.find(&kernel).unwrap().path, copy);
    let given = home.path().join("given");
    let binaries = binaries.with_kallsyms(&given);
    assert_eq!(binaries.find(&kernel).unwrap_err().name(), "no file");
    std::fs::copy(&copy, &given).unwrap();
    assert_eq!(binaries.find(&kernel).unwrap().path, given);
}

#[test]
fn every_reason_says_what_was_expected_in_one_line() {
    let id = BuildId::new(&RICH).unwrap();
    let path = PathBuf::from("/bin/app");
    for why in [
        NotHere::OtherBuild { path: path.clone(), id, found: None },
        NotHere::NoSuchBuild { path: path.clone(), id },
        NotHere::NoFile { path: path.clone() },
        NotHere::Deleted { path: path.clone() },
        NotHere::Jit { map: path.clone() },
        NotHere::LongMap { map: path.clone(), bytes: 1 << 40 },
        NotHere::OnlyDebugFile { id, debug: path },
        NotHere::Kernel { id: Some(id) },
        NotHere::Kernel { id: None },
        NotHere::Vdso { id: Some(id) },
        NotHere::Vdso { id: None },
    ] {
        let text = why.to_string();
        assert!(!text.contains('\n') && text.contains("; "), "{text}");
        assert!(!why.is_by_nature() && !why.name().is_empty());
    }
}

/// `/proc/kmsg` is a regular file that says it is empty; reading it waited for the
/// kernel's next message, and a recording may name it.
#[cfg(target_os = "linux")]
#[test]
fn a_file_of_the_kernel_is_not_read() {
    for name in ["/proc/kmsg", "/proc/self/pagemap"] {
        let found = Binaries::of_this_machine().find(&file(Path::new(name), None));
        assert!(matches!(found, Err(NotHere::NoFile { .. })), "{found:?}");
        assert!(!is_trusted(Path::new(name)));
    }
}

/// In `/tmp` anyone can name a file of root's as another process's map.
#[test]
fn a_link_is_trusted_when_its_maker_is() {
    let directory = tempfile::tempdir().unwrap();
    let (map, link) = (directory.path().join("map"), directory.path().join("link"));
    std::fs::write(&map, "1000 10 name\n").unwrap();
    std::os::unix::fs::symlink(&map, &link).unwrap();
    assert!(is_trusted(&map) && is_trusted(&link));
    // Only root can give a link away.
    if std::os::unix::fs::lchown(&link, Some(12_345), None).is_ok() {
        assert!(!is_trusted(&link));
    }
}

/// A file of holes that claimed to have terabytes was read to its end.
#[test]
fn a_map_longer_than_any_programs_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let map = root.path().join("tmp/perf-77.map");
    std::fs::create_dir_all(map.parent().unwrap()).unwrap();
    std::fs::write(&map, "1000 10 name\n").unwrap();
    let binaries = Binaries::of_this_machine().with_root(root.path());
    assert_eq!(binaries.map(77).unwrap().path, map);
    let file = std::fs::OpenOptions::new().write(true).open(&map).unwrap();
    file.set_len(MOST_MAP + 1).unwrap();
    let refused = binaries.map(77).unwrap_err();
    assert_eq!(refused, NotHere::LongMap { map, bytes: MOST_MAP + 1 });
    assert!(refused.to_string().contains("found 1073741825 at "), "{refused}");
}
