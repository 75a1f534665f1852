//! Files of kernel modules: a module's name in, the path of its file out.
//!
//! Looks among the files and directories that the user names, else in the list that
//! belongs to the running kernel. Never reads the files themselves.

use std::path::{Path, PathBuf};

use crate::options::ReadArgs;
use crate::text::os_str;

/// What may stand behind a module's name.
const SUFFIXES: [&[u8]; 6] =
    [b".ko.debug", b".ko", b".ko.xz", b".ko.zst", b".ko.gz", b".ko.symidx"];

/// The file of a module.
pub(super) fn file_of(name: &[u8], read: &ReadArgs) -> Option<PathBuf> {
    let named = read.debug_files.iter().find(|file| is_of(file, name)).cloned();
    named
        .or_else(|| read.debug_dirs.iter().find_map(|directory| in_directory(directory, name)))
        .or_else(|| installed(name))
}

/// True for a path to the module's file. In file names `-` may stand for the `_` that
/// the kernel puts in its place.
fn is_of(path: &Path, module: &[u8]) -> bool {
    let file = path.file_name().map_or(&[][..], |name| name.as_encoded_bytes());
    let stem = SUFFIXES.iter().find_map(|suffix| file.strip_suffix(*suffix));
    let plain = |byte: &u8| if *byte == b'-' { b'_' } else { *byte };
    stem.is_some_and(|stem| stem.iter().map(plain).eq(module.iter().map(plain)))
}

fn in_directory(directory: &Path, module: &[u8]) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_of(path, module) && path.is_file())
        .collect();
    found.sort_by_key(|path| rank(path));
    found.into_iter().next()
}

/// Files with debug information first.
fn rank(path: &Path) -> usize {
    let file = path.file_name().map_or(&[][..], |name| name.as_encoded_bytes());
    SUFFIXES.iter().position(|suffix| file.ends_with(suffix)).unwrap_or(SUFFIXES.len())
}

/// The module of the running kernel, with its debug information if that is installed.
fn installed(module: &[u8]) -> Option<PathBuf> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let directory = Path::new("/lib/modules").join(release.trim());
    let list = std::fs::read(directory.join("modules.dep")).ok()?;
    let file = listed(&list, module)?;
    let debug = Path::new("/usr/lib/debug").join(directory.strip_prefix("/").ok()?);
    let mut name = file.as_os_str().to_owned();
    name.push(".debug");
    let places = [debug.join(name), debug.join(&file), directory.join(&file)];
    places.into_iter().find(|place| place.is_file())
}

/// The path of a module in `modules.dep`: lines `PATH: DEPENDENCIES`.
fn listed(list: &[u8], module: &[u8]) -> Option<PathBuf> {
    list.split(|&byte| byte == b'\n').find_map(|line| {
        let path = line.get(..memchr::memchr(b':', line)?)?;
        let path = Path::new(os_str(path));
        is_of(path, module).then(|| path.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_may_have_dashes() {
        for name in ["nf_tables.ko", "/x/nf-tables.ko.xz", "nf_tables.ko.debug", "nf-tables.ko.zst"]
        {
            assert!(is_of(Path::new(name), b"nf_tables"), "{name}");
        }
        for name in ["nf_tables", "nf_tables2.ko", "x_nf_tables.ko", "nf_tables.ko.bz2"] {
            assert!(!is_of(Path::new(name), b"nf_tables"), "{name}");
        }
        assert!(rank(Path::new("a.ko.debug")) < rank(Path::new("a.ko")));
    }

    #[test]
    fn the_list_tells_the_path() {
        let list = b"kernel/net/x.ko.xz: kernel/lib/y.ko.xz\nkernel/lib/y.ko.xz:\n";
        assert_eq!(listed(list, b"y"), Some(PathBuf::from("kernel/lib/y.ko.xz")));
        assert_eq!(listed(list, b"z"), None);
    }
}
