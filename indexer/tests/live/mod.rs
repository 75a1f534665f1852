//! Libraries that tests compile and load, what the loader says of their
//! addresses, and stores for their indexes.
#![allow(dead_code)]

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

use symidx_indexer::{BuildOptions, build_file};

/// Functions of each library.
pub(crate) const FUNCTIONS: u64 = 40;

/// A library with functions `NAME_0`, `NAME_1`, …; `variant` moves them about,
/// and gives the library another build-id.
pub(crate) fn compile(name: &str, variant: u64, output: &Path) {
    let mut source = String::from("volatile unsigned sink;\n");
    for number in 0..FUNCTIONS {
        let number = if variant.is_multiple_of(2) { number } else { FUNCTIONS - 1 - number };
        let body: String = (0..(number * 7 + variant) % 11 + 4)
            .map(|line| format!("  sink += {line}u * x;\n"))
            .collect();
        source += &format!("void {name}_{number}(unsigned x) {{\n{body}}}\n");
    }
    let file = output.with_extension("c");
    std::fs::write(&file, source).unwrap();
    let done = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-g1", "-Wl,--build-id=sha1", "-o"])
        .args([output, &file])
        .status();
    assert!(done.unwrap().success(), "cc");
}

/// A library that is loaded; closed when dropped.
pub(crate) struct Library {
    handle: *mut libc::c_void,
}

impl Library {
    pub(crate) fn open(path: &Path) -> Self {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the test's own libraries have no constructors.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{}", path.display());
        Self { handle }
    }

    /// The run-time address of a function.
    pub(crate) fn address(&self, name: &str) -> u64 {
        let name = CString::new(name).unwrap();
        // SAFETY: the handle is open, the name ends in NUL.
        let pointer = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        assert!(!pointer.is_null(), "{name:?}");
        u64::try_from(pointer.expose_provenance()).unwrap()
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: opened once, closed once; no code of it runs.
        assert_eq!(unsafe { libc::dlclose(self.handle) }, 0);
    }
}

/// What the loader says: the name and the start of the symbol at an address;
/// it knows exported ones only.
pub(crate) fn loader(address: u64) -> Option<(String, u64)> {
    // SAFETY: an all-zero record is one; the call fills it in.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let pointer = std::ptr::with_exposed_provenance(usize::try_from(address).unwrap());
    // SAFETY: any address may be asked for.
    if unsafe { libc::dladdr(pointer, &raw mut info) } == 0 || info.dli_sname.is_null() {
        return None;
    }
    // SAFETY: the loader's strings stay while the library does, which the caller holds.
    let name = unsafe { CStr::from_ptr(info.dli_sname) }.to_str().unwrap().to_owned();
    Some((name, u64::try_from(info.dli_saddr.addr()).unwrap()))
}

/// The same, where there must be one.
pub(crate) fn dladdr(address: u64) -> (String, u64) {
    loader(address).unwrap()
}

/// Where a store looks for the index of a build.
pub(crate) fn place(store: &Path, id: &str) -> PathBuf {
    let directory = store.join(".build-id").join(&id[..2]);
    std::fs::create_dir_all(&directory).unwrap();
    directory.join(format!("{}.symidx", &id[2..]))
}

/// Builds an index, with lines.
pub(crate) fn build(input: &Path, output: &Path) {
    build_file(input, output, &BuildOptions::default()).unwrap();
}

/// The build-id of a binary, by its index.
pub(crate) fn id_of(index: &Path) -> String {
    symidx_indexer::hex(symidx::Index::read(index).unwrap().build_id().unwrap())
}

/// Puts a copy of a file in another's place, as `symidx build` does: by rename.
pub(crate) fn replace(from: &Path, to: &Path) {
    let temporary = to.with_extension("tmp");
    std::fs::copy(from, &temporary).unwrap();
    std::fs::rename(&temporary, to).unwrap();
}

/// Seconds that a long test runs: so many, or what the variable says.
pub(crate) fn seconds(variable: &str, short: u64) -> u64 {
    std::env::var(variable).map_or(short, |text| text.parse().unwrap())
}

/// What this process holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) descriptors: u64,
    pub(crate) mappings: u64,
    pub(crate) anonymous_kib: u64,
    pub(crate) resident_kib: u64,
}

impl Held {
    pub(crate) fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        Self {
            descriptors: u64::try_from(std::fs::read_dir("/proc/self/fd").unwrap().count())
                .unwrap(),
            mappings: u64::try_from(maps.lines().count()).unwrap(),
            anonymous_kib: field("RssAnon:"),
            resident_kib: field("VmRSS:"),
        }
    }

    /// The larger of each.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            descriptors: self.descriptors.max(other.descriptors),
            mappings: self.mappings.max(other.mappings),
            anonymous_kib: self.anonymous_kib.max(other.anonymous_kib),
            resident_kib: self.resident_kib.max(other.resident_kib),
        }
    }
}
