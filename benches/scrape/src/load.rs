//! In: names of libraries. Out: those libraries in this process.
//! Never: closes one again.

use std::ffi::{CStr, CString};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::Result;

const TUNABLES: &str = "GLIBC_TUNABLES";
/// librustc_driver wants more static thread-local storage than the loader keeps for libraries that come late.
const ROOM: &str = "glibc.rtld.optional_static_tls=65536";

/// Starts this program anew with room for the thread-local storage of libraries, unless that was done.
pub fn again_with_room_for_tls() -> Result<()> {
    if std::env::var_os(TUNABLES).is_some() {
        return Ok(());
    }
    let error = Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(TUNABLES, ROOM)
        .exec();
    Err(error.into())
}

/// The large libraries that a developer's machine has, as far as this one has them.
pub fn usual_libraries() -> Vec<String> {
    let system = [
        "libLLVM.so.19.1",
        "libLLVM-14.so.1",
        "libclang-cpp.so.14",
        "libpython3.11.so.1.0",
        "libcrypto.so.3",
        "libstdc++.so.6",
    ];
    let mut libraries: Vec<String> = rustc_driver().into_iter().collect();
    libraries.extend(system.map(str::to_owned));
    libraries
}

fn rustc_driver() -> Option<String> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let library = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()).join("lib");
    let mut names = std::fs::read_dir(library).ok()?.flatten();
    let found =
        names.find(|entry| entry.file_name().to_string_lossy().starts_with("librustc_driver-"));
    Some(found?.path().to_string_lossy().into_owned())
}

/// Loads a library; the loader's own words when it cannot.
pub fn load(library: &str) -> Result<()> {
    let name = CString::new(library)?;
    // SAFETY: the libraries' constructors run as they do in every program that links them.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        // SAFETY: the loader has just failed, so it has a text.
        let why = unsafe { CStr::from_ptr(libc::dlerror()) };
        return Err(why.to_string_lossy().into_owned().into());
    }
    Ok(())
}
