//! Code that a process made while it runs: what its compiler wrote of it.
//!
//! In: a process. Out: indexes of the jitdump files that it has mapped and of
//! `/tmp/perf-PID.map`, made in memory, and answers from them. Read once; never
//! trusts a file that neither the process's user nor root has written.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use symidx::process::{Module, ModuleKind, Modules};
use symidx::{Index, Svma};
use symidx_indexer::{BuildOptions, build_from_bytes};

use super::image::{Found, find_at};
use crate::frames::Want;
use crate::ui::Ui;
use crate::vdso;

/// At most this much of a file is read.
const MAX_BYTES: u64 = 1 << 30;

/// The indexes of a process's run-time code.
pub(super) struct Jit {
    /// Jitdump files, which know lines, in front of the perf map.
    indexes: Vec<(PathBuf, Index<'static>)>,
    /// Why there is no perf map.
    missing: String,
}

impl Jit {
    /// Reads what there is.
    pub(super) fn open(pid: u32, modules: &Modules, ui: Ui) -> Self {
        let mut indexes = Vec::new();
        for module in modules.iter().filter(|module| is_jitdump(module)) {
            match read_regular(module.file(), None).and_then(|data| index(module.path(), &data)) {
                Ok(index) => indexes.push((module.path().to_owned(), index)),
                Err(error) => ui.warning(format_args!("{}: {error}", module.path().display())),
            }
        }
        let missing = match perf_map(pid) {
            Ok((path, data)) => match index(&path, &data) {
                Ok(index) => {
                    indexes.push((path, index));
                    String::new()
                }
                Err(error) => format!("{}: {error}", path.display()),
            },
            Err(reason) => reason,
        };
        Self { indexes, missing }
    }

    /// Answers a run-time address that has `back` taken off already.
    pub(super) fn find(&self, address: u64, back: u64, want: Want) -> Found<'_> {
        for (path, index) in &self.indexes {
            match find_at(index, Svma(address), back, want, Some(path)) {
                Ok(Found::Miss(_)) => {}
                Ok(found) => return found,
                Err(corrupt) => return Found::Wrong(corrupt.to_string()),
            }
        }
        Found::Miss(match self.indexes.is_empty() {
            true => format!("code made at run time; {}", self.missing).into(),
            false => "code made at run time, but not told of".into(),
        })
    }
}

/// True for a jitdump file: a compiler maps a page of it so that it is found.
fn is_jitdump(module: &Module) -> bool {
    let name = module.path().file_name().map_or(&[][..], |name| name.as_encoded_bytes());
    let pid = name.strip_prefix(b"jit-").and_then(|name| name.strip_suffix(b".dump"));
    let is_pid = pid.is_some_and(|pid| !pid.is_empty() && pid.iter().all(u8::is_ascii_digit));
    module.kind() == ModuleKind::File && is_pid
}

fn index(name: &Path, data: &[u8]) -> io::Result<Index<'static>> {
    let options = BuildOptions { allow_empty: true, ..BuildOptions::default() };
    let (bytes, _) = build_from_bytes(name, data, &options).map_err(io::Error::other)?;
    Index::from_vec(bytes).map_err(io::Error::other)
}

/// The process's perf map: by its number in its own pid namespace, in the `/tmp`
/// of its own mount namespace. What is not there, or not to be trusted, else.
fn perf_map(pid: u32) -> Result<(PathBuf, Vec<u8>), String> {
    let directory = Path::new("/proc").join(pid.to_string());
    let status = std::fs::read_to_string(directory.join("status"))
        .map_err(|error| format!("{}/status: cannot read: {error}", directory.display()))?;
    let status = Status::parse(&status)
        .ok_or_else(|| format!("{}/status: expected a user, found none", directory.display()))?;
    let inner = status.inner_pid.unwrap_or(pid);
    let shown = PathBuf::from(format!("/tmp/perf-{inner}.map"));
    let path = directory.join("root/tmp").join(format!("perf-{inner}.map"));
    match read_regular(&path, Some(status.user)) {
        Ok(data) => Ok((shown, data)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(format!("it has no {}", shown.display()))
        }
        Err(error) => Err(format!("{}: {error}", shown.display())),
    }
}

/// What `/proc/PID/status` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Status {
    /// Effective.
    user: u32,
    /// The process's number in the innermost pid namespace.
    inner_pid: Option<u32>,
}

impl Status {
    fn parse(text: &str) -> Option<Self> {
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let user = line("Uid:")?.split_whitespace().nth(1)?.parse().ok()?;
        let inner_pid = line("NSpid:").and_then(|line| line.split_whitespace().next_back());
        Some(Self { user, inner_pid: inner_pid.and_then(|pid| pid.parse().ok()) })
    }
}

/// Reads a regular file that is no link; one that belongs to `user` or root, when
/// that is asked for: anybody can write to `/tmp`.
fn read_regular(path: &Path, user: Option<u32>) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::MetadataExt as _;
    let named = match user {
        // What `map_files` has are links to the files themselves.
        None => path.metadata()?,
        Some(_) => path.symlink_metadata()?,
    };
    if !named.is_file() {
        return Err(io::Error::other("expected a regular file, found something else; ignored it"));
    }
    if let Some(user) = user.filter(|&user| named.uid() != user && named.uid() != 0) {
        return Err(io::Error::other(format!(
            "expected a file of user {user} or of root, found one of user {}; ignored it",
            named.uid()
        )));
    }
    let file = File::open(path)?;
    let opened = file.metadata()?;
    if (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
        return Err(io::Error::other("the file was replaced while it was opened; try again"));
    }
    if opened.len() > MAX_BYTES {
        return Err(io::Error::other(format!(
            "expected at most {MAX_BYTES} bytes, found {}; ignored it",
            opened.len()
        )));
    }
    let mut data = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut data)?;
    Ok(data)
}

/// The index of a process's vDSO, read from its memory.
pub(super) fn vdso(pid: u32, module: &Module) -> Result<Index<'static>, String> {
    let data = vdso::memory(pid, module)?;
    index(Path::new(vdso::NAME), &data).map_err(|error| format!("{}: {error}", vdso::NAME))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A sparse map of 10 GB was read as a gigabyte of zeros, and cut without a word.
    #[test]
    fn a_file_too_large_is_refused_with_its_size() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(10 << 30).unwrap();
        let error = read_regular(file.path(), None).unwrap_err().to_string();
        assert!(error.contains("found 10737418240"), "{error}");
    }

    #[test]
    fn the_status_gives_the_effective_user_and_the_inner_pid() {
        let text = "Name:\tnode\nUid:\t1000\t1001\t1002\t1003\nNSpid:\t4711\t12\n";
        assert_eq!(Status::parse(text), Some(Status { user: 1001, inner_pid: Some(12) }));
        let text = "Uid:\t0\t0\t0\t0\n";
        assert_eq!(Status::parse(text), Some(Status { user: 0, inner_pid: None }));
        assert_eq!(Status::parse("Name:\tnode\n"), None);
    }

    #[test]
    fn a_file_in_tmp_counts_only_from_its_user_or_root() {
        use std::os::unix::fs::MetadataExt as _;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("perf-1.map");
        std::fs::write(&file, "1000 10 f\n").unwrap();
        let own = file.metadata().unwrap().uid();
        assert_eq!(read_regular(&file, Some(own)).unwrap(), b"1000 10 f\n");
        // One of root serves every process.
        let other = read_regular(&file, Some(own.wrapping_add(1)));
        assert_eq!(other.is_ok(), own == 0);
        let link = directory.path().join("perf-2.map");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let error = read_regular(&link, Some(own)).unwrap_err().to_string();
        assert!(error.contains("expected a regular file"), "{error}");
        let missing = read_regular(&directory.path().join("none"), Some(own)).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
