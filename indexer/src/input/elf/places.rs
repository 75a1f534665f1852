//! Where companion files may be: directories and names, as paths.
//!
//! In: build-ids, names and the options. Out: candidates in the order in which
//! they are tried. Nothing here opens a file or asks a network.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::input::ReadOptions;
#[cfg(unix)]
use crate::input::debug::path_of;

/// Where distributions install separate debug files.
pub(super) const SYSTEM_DEBUG_DIR: &str = "/usr/lib/debug";

/// The directories with debug files: those the user named, then the system's.
pub(super) fn roots(options: &ReadOptions) -> impl Iterator<Item = PathBuf> + '_ {
    let system = options.auto_debug.then(|| PathBuf::from(SYSTEM_DEBUG_DIR));
    options.debug_dirs.iter().cloned().chain(system)
}

/// Files of a build-id: in the `.build-id` trees, then in the cache that
/// debuginfod's client keeps.
pub(super) fn by_build_id(id: &[u8], options: &ReadOptions) -> Vec<PathBuf> {
    let Some(file) = build_id_path(id) else { return Vec::new() };
    let mut places: Vec<_> = roots(options).map(|root| root.join(&file)).collect();
    if options.auto_debug {
        let caches = debuginfod_caches(|name| std::env::var_os(name));
        places.extend(caches.into_iter().map(|cache| cache.join(hex(id)).join("debuginfo")));
    }
    places
}

/// The directories in which debuginfod's client keeps what it has fetched.
///
/// Source: debuginfod-find(1) and debuginfod(7), "CACHE" and environment.
fn debuginfod_caches(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let directory = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = directory("HOME");
    let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let mut caches: Vec<PathBuf> = [
        directory("DEBUGINFOD_CACHE_PATH"),
        directory("XDG_CACHE_HOME").map(|cache| cache.join("debuginfod_client")),
        below_home(".cache/debuginfod_client"),
        below_home(".debuginfod_client_cache"),
    ]
    .into_iter()
    .flatten()
    .collect();
    caches.dedup();
    caches
}

/// True for a path that is named like a package of split units.
pub(super) fn is_package(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "dwp")
}

/// `.build-id/xx/yyyy.debug`.
fn build_id_path(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    Some(Path::new(".build-id").join(hex(&[*first])).join(format!("{}.debug", hex(rest))))
}

/// Lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A file name or path as the file system spells it.
#[cfg(unix)]
pub(super) fn file_name(name: &[u8]) -> Option<PathBuf> {
    path_of(name)
}

/// A file name as the file system spells it.
#[cfg(not(unix))]
pub(super) fn file_name(name: &[u8]) -> Option<PathBuf> {
    // A name that is a path here (`C:x`, `a\b`) is none.
    let path = PathBuf::from(std::str::from_utf8(name).ok()?);
    (path.file_name() == Some(path.as_os_str())).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_of_debuginfod_is_where_its_client_keeps_it() {
        let with = |set: &[(&str, &str)]| {
            let caches = debuginfod_caches(|name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into())
            });
            caches.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert!(with(&[]).is_empty());
        assert_eq!(
            with(&[("HOME", "/h")]),
            ["/h/.cache/debuginfod_client", "/h/.debuginfod_client_cache"]
        );
        assert_eq!(
            with(&[("DEBUGINFOD_CACHE_PATH", "/d"), ("XDG_CACHE_HOME", "/x"), ("HOME", "")]),
            ["/d", "/x/debuginfod_client"]
        );
    }

    #[test]
    fn an_id_of_one_byte_has_no_place() {
        assert_eq!(build_id_path(&[1]), None);
        assert_eq!(build_id_path(&[1, 2, 0xab]), Some(PathBuf::from(".build-id/01/02ab.debug")));
    }
}
