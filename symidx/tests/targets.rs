//! Other processes: every way that a file may be mapped, moved or gone.
//!
//! What the loader of the process says (`targets.c`) is what must come out.
#![cfg(all(feature = "process", target_os = "linux"))]
#![allow(
    unsafe_code,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

#[path = "support/small_elf.rs"]
mod small_elf;
mod support;
#[path = "support/world.rs"]
mod world;

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use symidx::process::{ModuleKind, Modules, Resolver, Store};
use tempfile::TempDir;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/targets.c");
const ID: &str = "0123456789abcdef0123456789abcdef01234567";
const LIBRARY_ID: &str = "fedcba98";

fn cc(output: &Path, words: &[&str]) {
    let done = Command::new("cc").args(words).arg("-o").arg(output).status();
    assert!(done.unwrap().success(), "cc {words:?}");
}

fn compile(output: &Path, more: &[&str]) {
    let id = format!("-Wl,--build-id=0x{ID}");
    let words = [&[SOURCE, "-g", "-O1", "-ldl", &id], more].concat();
    cc(output, &words);
}

/// A library whose memory does not end with its file.
fn compile_library(output: &Path) {
    let source = output.with_extension("lib.c");
    std::fs::write(&source, "char library_memory[100000]; int in_library(void) { return 7; }")
        .unwrap();
    let id = format!("-Wl,--build-id=0x{LIBRARY_ID}");
    cc(output, &[source.to_str().unwrap(), "-shared", "-fPIC", &id]);
}

/// The plain program, compiled once for each process of tests.
fn plain() -> Vec<u8> {
    static PLAIN: OnceLock<Vec<u8>> = OnceLock::new();
    PLAIN
        .get_or_init(|| {
            let directory = folder();
            let path = directory.path().join("plain");
            compile(&path, &[]);
            std::fs::read(path).unwrap()
        })
        .clone()
}

fn write_program(path: &Path, bytes: &[u8]) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, bytes).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A process that has told its addresses.
struct Running {
    child: Child,
    /// What, run-time address, svma.
    told: Vec<(String, u64, u64)>,
    mapped: Option<u64>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a command; `None` when it ends before it is ready.
fn start(command: &mut Command) -> Option<Running> {
    // A file that was just written may still be open in another thread's child.
    let mut child = loop {
        match command.stdout(Stdio::piped()).spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::yield_now();
            }
            done => break done.ok()?,
        }
    };
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut running = Running { child, told: Vec::new(), mapped: None };
    let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
    for line in lines {
        let line = line.unwrap();
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["AT", what, address, svma] => {
                running.told.push((what.to_owned(), hex(address), hex(svma)));
            }
            ["MAPPED", address] => running.mapped = Some(hex(address)),
            ["READY"] => return Some(running),
            _ => panic!("{line}"),
        }
    }
    None
}

fn run(program: &Path, words: &[&OsStr]) -> Running {
    start(Command::new(program).args(words)).unwrap()
}

/// Every address that the process told has its svma, module and build-id.
fn check(running: &Running, path: Option<&Path>, library: Option<&Path>) -> Modules {
    let modules = Modules::from_pid(running.child.id()).unwrap();
    assert!(running.told.len() >= 5);
    for (what, address, svma) in &running.told {
        let located = modules.find(*address).unwrap_or_else(|| panic!("{what}"));
        let module = located.module();
        assert_eq!(located.svma().map(|svma| svma.0), Some(*svma), "{what} of {module:?}");
        assert_eq!(module.kind(), ModuleKind::File, "{what}");
        assert!(module.range().contains(address), "{what} {module:?}");
        // Constants may lie beside the code.
        if what != "constant" {
            let code = matches!(what.as_str(), "code" | "library");
            assert_eq!(located.is_executable(), code, "{what}");
        }
        let in_library = what.starts_with("library");
        let id = if in_library { LIBRARY_ID } else { ID };
        assert_eq!(module.id().unwrap().to_string(), id, "{what}");
        let expected = if in_library { library } else { path };
        if let Some(expected) = expected {
            assert_eq!(module.path(), expected, "{what}");
        }
    }
    assert!(!modules.changed().unwrap());
    modules
}

/// The file that a module is said to be of has these bytes.
fn check_file(modules: &Modules, running: &Running, what: &str, bytes: &[u8]) {
    let address = running.told.iter().find(|told| told.0 == what).unwrap().1;
    let module = modules.find(address).unwrap().module();
    let found = std::fs::read(module.file());
    assert!(found.is_ok_and(|found| found == bytes), "{module:?}");
}

#[test]
fn programs_of_every_layout_are_placed() {
    let directory = folder();
    let layouts: [(&str, &[&str]); 9] = [
        ("pie", &["-pie", "-fPIE"]),
        ("fixed", &["-no-pie"]),
        ("joined", &["-Wl,-z,noseparate-code"]),
        ("large pages", &["-Wl,-z,max-page-size=0x200000"]),
        ("large pages, joined", &["-Wl,-z,max-page-size=0x200000", "-Wl,-z,noseparate-code"]),
        ("linked elsewhere", &["-pie", "-Wl,-Ttext-segment=0x5000000"]),
        ("without relro", &["-Wl,-z,norelro"]),
        ("static", &["-static", "-DSTATIC"]),
        ("static pie", &["-static-pie", "-DSTATIC"]),
    ];
    for (name, words) in layouts {
        let path = directory.path().join(name);
        compile(&path, words);
        let running = run(&path, &[]);
        check(&running, Some(&path), None);
    }
}

#[test]
fn libraries_are_placed_with_their_memory() {
    let directory = folder();
    let (path, library) = (directory.path().join("app"), directory.path().join("lib.so"));
    write_program(&path, &plain());
    compile_library(&library);
    let running = run(&path, &[library.as_os_str()]);
    assert_eq!(running.told.len(), 7);
    let modules = check(&running, Some(&path), Some(&library));
    check_file(&modules, &running, "library", &std::fs::read(&library).unwrap());
}

/// Names with what stands for other things in `/proc/PID/maps`.
#[test]
fn files_of_every_name_are_found() {
    let directory = folder();
    for name in [
        &b"with spaces  in it"[..],
        b" spaces around ",
        b"line\nfeed",
        b"written \\012 out",
        b"app (deleted)",
        b"(deleted) (deleted)",
        b"\xff\xfe not text",
        b"[vdso]",
    ] {
        let path = directory.path().join(OsStr::from_bytes(name));
        write_program(&path, &plain());
        let running = run(&path, &[]);
        // A space at the end is not told from the text's own.
        let path = (!name.ends_with(b" ")).then_some(path.as_path());
        let modules = check(&running, path, None);
        check_file(&modules, &running, "code", &plain());
    }
}

#[test]
fn deleted_and_replaced_files_are_reached_through_the_process() {
    let directory = folder();
    let (path, library) = (directory.path().join("app"), directory.path().join("lib.so"));
    write_program(&path, &plain());
    compile_library(&library);
    let library_bytes = std::fs::read(&library).unwrap();
    let running = run(&path, &[library.as_os_str()]);
    let before = check(&running, Some(&path), Some(&library));
    // Other files take their places.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, b"something else").unwrap();
    std::fs::remove_file(&library).unwrap();
    assert!(before.changed().unwrap(), "the text says so");
    let modules = check(&running, Some(&path), Some(&library));
    // The program is reached without privileges, a library is not.
    check_file(&modules, &running, "code", &plain());
    let module = modules.find(running.told[0].1).unwrap().module();
    assert!(module.file().ends_with("exe"), "{module:?}");
    // The index stayed where the file was.
    write_index(&directory.path().join("app.symidx"));
    check_beside(&modules, &running);
    if std::fs::read_dir("/proc/self/map_files").is_ok_and(|mut all| {
        all.next().is_some_and(|entry| entry.is_ok_and(|entry| entry.path().metadata().is_ok()))
    }) {
        check_file(&modules, &running, "library", &library_bytes);
    } else {
        eprintln!("SKIPPED: map_files needs privileges; deleted libraries untested");
    }
}

#[test]
fn libraries_in_memory_are_read_from_there() {
    let directory = folder();
    let (path, library) = (directory.path().join("app"), directory.path().join("lib.so"));
    write_program(&path, &plain());
    compile_library(&library);
    let running = run(&path, &[OsStr::new("--memfd"), library.as_os_str()]);
    let modules = check(&running, Some(&path), Some(Path::new("/memfd:in memory")));
    if modules.iter().any(|module| std::fs::read(module.file()).is_ok()) {
        let address = running.told[5].1;
        let module = modules.find(address).unwrap().module();
        assert!(module.file().starts_with("/proc"), "{module:?}");
    }
}

/// Only a page amid the file is mapped: its id is not in memory then.
#[test]
fn a_page_amid_a_file_has_the_files_id() {
    let directory = folder();
    let (path, library) = (directory.path().join("app"), directory.path().join("lib.so"));
    write_program(&path, &plain());
    compile_library(&library);
    let words = [OsStr::new("--map"), library.as_os_str(), OsStr::new("0x1000")];
    let running = run(&path, &words);
    let address = running.mapped.unwrap();
    let modules = check(&running, Some(&path), None);
    let located = modules.find(address + 5).unwrap();
    assert_eq!(located.file_offset().unwrap().0, 0x1005);
    assert_eq!(located.module().id().unwrap().to_string(), LIBRARY_ID);
    assert_eq!(located.module().path(), library);
    // Another file there by now is none of its business.
    let other = directory.path().join("other");
    write_program(&other, &plain());
    std::fs::rename(&other, &library).unwrap();
    let modules = Modules::from_pid(running.child.id()).unwrap();
    let id = modules.find(address).unwrap().module().id().map(ToString::to_string);
    assert!(id.is_none() || id.as_deref() == Some(LIBRARY_ID), "{id:?}");
}

/// A shell that sets up what the process sees; loud when that is not allowed.
fn in_namespace(script: &str, words: &[&OsStr]) -> Option<Running> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", script, "sh"]).args(words);
    let running = start(command.stderr(Stdio::null()));
    if running.is_none() {
        eprintln!("SKIPPED: no mount namespaces here; `{script}` untested");
    }
    running
}

#[test]
fn files_in_another_mount_namespace_are_reached() {
    let directory = folder();
    let (path, library) = (directory.path().join("app"), directory.path().join("lib.so"));
    let place = directory.path().join("place");
    std::fs::create_dir(&place).unwrap();
    write_program(&path, &plain());
    compile_library(&library);
    // Here, another file has the same path.
    write_program(&place.join("app"), b"something else");
    let index = directory.path().join("app.symidx");
    write_index(&index);
    let script = "mount -t tmpfs tmpfs $1; cp $2 $3 $4 $1; exec $1/app $1/lib.so";
    let words = [&place, &path, &library, &index].map(|path| path.as_os_str());
    let Some(running) = in_namespace(script, &words) else { return };
    let modules = check(&running, Some(&place.join("app")), Some(&place.join("lib.so")));
    check_file(&modules, &running, "code", &plain());
    check_file(&modules, &running, "library", &std::fs::read(&library).unwrap());
    check_beside(&modules, &running);
}

#[test]
fn files_under_another_root_are_reached() {
    let directory = folder();
    let root = directory.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let app = root.join("app");
    compile(&app, &["-static", "-DSTATIC"]);
    let mut command = Command::new("chroot");
    let Some(running) = start(command.arg(&root).arg("/app").stderr(Stdio::null())) else {
        eprintln!("SKIPPED: chroot is not allowed here; other roots untested");
        return;
    };
    let modules = check(&running, None, None);
    check_file(&modules, &running, "code", &std::fs::read(&app).unwrap());
}

/// The index beside the program is found where the process has it.
fn check_beside(modules: &Modules, running: &Running) {
    let mut resolver = Resolver::new(modules.clone(), std::sync::Arc::new(Store::read()));
    assert_eq!(resolver.open_for(&[running.told[0].1]), 1, "{modules:?}");
}

/// An index that says it is of the plain program.
fn write_index(path: &Path) {
    let id: Vec<u8> =
        (0..20).map(|at| u8::from_str_radix(&ID[2 * at..2 * at + 2], 16).unwrap()).collect();
    world::publish(path, &world::index_of(&id, 1));
}

/// Overlays state other devices in maps than for their files, and other inodes.
#[test]
fn files_of_an_overlay_are_reached() {
    let directory = folder();
    let path = |name: &str| directory.path().join(name);
    let script = "mount -t tmpfs tmpfs $1; cd $1; mkdir lower upper work both; cp $2 lower/app; cp $3 lower/app.symidx; \
        mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work both; exec both/app";
    std::fs::create_dir(path("mnt")).unwrap();
    write_program(&path("app"), &plain());
    write_index(&path("index"));
    let words = [path("mnt"), path("app"), path("index")].map(PathBuf::into_os_string);
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    let Some(running) = in_namespace(script, &words) else { return };
    let modules = check(&running, None, None);
    check_file(&modules, &running, "code", &plain());
    check_beside(&modules, &running);
}

#[test]
fn processes_that_end_are_no_surprise() {
    // One that has ended, but was not waited for.
    let mut zombie = Command::new("true").spawn().unwrap();
    let pid = zombie.id();
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    while !state().contains(") Z ") {
        std::thread::yield_now();
    }
    assert!(Modules::from_pid(pid).unwrap().is_empty());
    zombie.wait().unwrap();
    let error = Modules::from_pid(pid).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(error.to_string().contains("found no such process"), "{error}");
    assert_eq!(error.to_string().lines().count(), 1);
    assert!(Modules::from_pid(0).is_err() && Modules::from_pid(u32::MAX).is_err());
    // A thread of the kernel.
    match std::fs::read_to_string("/proc/2/comm") {
        Ok(name) if name == "kthreadd\n" => assert!(Modules::from_pid(2).unwrap().is_empty()),
        _ => eprintln!("SKIPPED: no kernel threads are seen here"),
    }
    // Some that end while they are read.
    let mut met = 0;
    for _ in 0..60 {
        let mut child = Command::new("true").spawn().unwrap();
        while Modules::from_pid(child.id()).is_ok_and(|modules| !modules.is_empty()) {
            met += 1;
        }
        child.wait().unwrap();
    }
    assert!(met > 0);
}

#[test]
fn somebody_elses_process_is_an_error_that_says_so() {
    // For this thread alone, which ends with the test.
    let done = std::thread::spawn(|| {
        // SAFETY: changes no memory.
        let done = unsafe { libc::syscall(libc::SYS_setresuid, -1, 65534, -1) };
        // SAFETY: a question.
        if done != 0 || unsafe { libc::geteuid() } == 0 {
            return None;
        }
        Some(Modules::from_pid(1).map(|_| ()))
    });
    match done.join().unwrap() {
        Some(found) => {
            let error = found.unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
            assert!(error.to_string().contains("somebody else's"), "{error}");
        }
        None => eprintln!("SKIPPED: another user cannot be taken on; permissions untested"),
    }
}

static LARGE: [std::sync::atomic::AtomicU8; 300_000] =
    [const { std::sync::atomic::AtomicU8::new(0) }; 300_000];

/// Memory behind a file's bytes is the module's from inside and from outside.
#[test]
fn this_process_is_the_same_from_inside_and_outside() {
    LARGE[299_999].store(1, std::sync::atomic::Ordering::Relaxed);
    let inside = Modules::capture();
    let outside = Modules::from_pid(std::process::id()).unwrap();
    for byte in [&LARGE[0], &LARGE[150_000], &LARGE[299_999]] {
        let address = u64::try_from(std::ptr::from_ref(byte).addr()).unwrap();
        let (a, b) = (inside.find(address).unwrap(), outside.find(address).unwrap());
        assert_eq!(a.svma(), b.svma());
        assert!(a.svma().is_some());
        assert_eq!(a.module().path(), b.module().path());
        assert_eq!(a.module().path(), std::env::current_exe().unwrap());
    }
    let last = u64::try_from(std::ptr::from_ref(&LARGE[299_999]).addr()).unwrap();
    assert_eq!(inside.find(last).unwrap().file_offset(), None);
    assert_eq!(outside.find(last).unwrap().file_offset(), None);
}

/// The other half of the test below.
#[test]
fn child_captures_itself() {
    if std::env::var_os("SYMIDX_TEST_DELETED").is_none() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    std::fs::remove_file(&program).unwrap();
    let modules = Modules::capture();
    let constant = u64::try_from(std::ptr::from_ref(SOURCE).addr()).unwrap();
    let module = modules.find(constant).unwrap().module();
    assert_eq!(module.path(), program);
    assert!(std::fs::metadata(module.file()).unwrap().len() > 10_000, "{module:?}");
    println!("\nCAPTURED");
}

/// A program that was replaced while it runs looks at itself.
#[test]
fn a_deleted_program_finds_its_own_file() {
    let directory = folder();
    let copy = directory.path().join("a test");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let mut command = Command::new(&copy);
    command.args(["--exact", "child_captures_itself", "--nocapture"]);
    let done = command.env("SYMIDX_TEST_DELETED", "1").output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && text.contains("CAPTURED"), "{text}");
    assert!(!PathBuf::from(&copy).exists());
}
