//! The directories and names under which files of a build-id are kept.
//!
//! In: ids and the environment. Out: candidates in the order in which they are tried.
//! Nothing here opens a file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::binaries::path_of;
use crate::build_id::BuildId;

/// The system's tree of debug files, with links to the programs in it.
const SYSTEM_TREES: [&str; 2] = ["/usr/lib/debug", "/usr/lib"];

/// Where files are kept by build-id, and what paths are below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Recorded paths are below it.
    pub(super) root: Option<PathBuf>,
    /// perf's cache: `~/.debug`.
    pub(super) perf_cache: Option<PathBuf>,
    /// Directories with a `.build-id` tree.
    pub(super) trees: Vec<PathBuf>,
    /// Directories that debuginfod's client fills.
    pub(super) debuginfod: Vec<PathBuf>,
}

impl Places {
    /// Those of the environment: `$HOME`, `$XDG_CACHE_HOME`, `$DEBUGINFOD_CACHE_PATH`.
    pub(super) fn of_this_machine(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let directory = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = directory("HOME");
        let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
        let debuginfod = [
            directory("DEBUGINFOD_CACHE_PATH"),
            directory("XDG_CACHE_HOME").map(|cache| cache.join("debuginfod_client")),
            below_home(".cache/debuginfod_client"),
            below_home(".debuginfod_client_cache"),
        ];
        Self {
            root: None,
            perf_cache: below_home(".debug"),
            trees: SYSTEM_TREES.map(PathBuf::from).to_vec(),
            debuginfod: debuginfod.into_iter().flatten().collect(),
        }
    }

    /// A recorded path, below the root if there is one.
    pub(super) fn recorded(&self, path: PathBuf) -> PathBuf {
        match (&self.root, path.strip_prefix("/")) {
            (Some(root), Ok(below)) => root.join(below),
            _ => path,
        }
    }

    /// Files of a build-id that may be the program (`elf`), or what else perf caches
    /// under that name: `vdso`, `kallsyms`.
    pub(super) fn by_id(&self, id: &BuildId, name: &str) -> Vec<PathBuf> {
        let mut places = Vec::new();
        let Some(file) = build_id_path(id) else { return places };
        places.extend(self.perf_cache.iter().map(|cache| cache.join(&file).join(name)));
        if name == "elf" {
            places.extend(self.trees.iter().map(|tree| tree.join(&file)));
            let executable = |cache: &PathBuf| cache.join(id.to_string()).join("executable");
            places.extend(self.debuginfod.iter().map(executable));
        }
        places
    }

    /// Separate debug files of a build-id.
    pub(super) fn debug_files(&self, id: &BuildId) -> Vec<PathBuf> {
        let Some(file) = build_id_path(id) else { return Vec::new() };
        let cached = self.perf_cache.iter().map(|cache| cache.join(&file).join("debug"));
        let trees = self.trees.iter().map(|tree| tree.join(file.with_extension("debug")));
        let fetched = self.debuginfod.iter().map(|c| c.join(id.to_string()).join("debuginfo"));
        cached.chain(trees).chain(fetched).collect()
    }
}

/// `.build-id/xx/yyyy`; an id of one byte has no place.
fn build_id_path(id: &BuildId) -> Option<PathBuf> {
    let text = id.to_string();
    let (first, rest) = text.split_at_checked(2).filter(|(_, rest)| !rest.is_empty())?;
    Some(Path::new(".build-id").join(first).join(rest))
}

/// A path as a process that still runs sees it.
pub(super) fn in_namespace(pid: i32, path: &[u8]) -> PathBuf {
    let path = path_of(path);
    Path::new("/proc")
        .join(pid.to_string())
        .join("root")
        .join(path.strip_prefix("/").unwrap_or(&path))
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_build_id_are_where_perf_and_debuginfod_keep_them() {
        let places = Places::of_this_machine(|name| (name == "HOME").then(|| "/h".into()));
        let shown = |paths: Vec<PathBuf>| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        let id = BuildId::new(&[0xab, 0xcd, 1]).unwrap();
        assert_eq!(
            shown(places.by_id(&id, "elf")),
            [
                "/h/.debug/.build-id/ab/cd01/elf",
                "/usr/lib/debug/.build-id/ab/cd01",
                "/usr/lib/.build-id/ab/cd01",
                "/h/.cache/debuginfod_client/abcd01/executable",
                "/h/.debuginfod_client_cache/abcd01/executable",
            ]
        );
        assert_eq!(shown(places.by_id(&id, "vdso")), ["/h/.debug/.build-id/ab/cd01/vdso"]);
        assert_eq!(
            shown(places.debug_files(&id)).get(1).map(String::as_str),
            Some("/usr/lib/debug/.build-id/ab/cd01.debug")
        );
        assert_eq!(BuildId::new(&[1]).map(|id| places.by_id(&id, "elf")), Some(Vec::new()));
    }

    #[test]
    fn recorded_paths_are_below_the_root() {
        let mut places = Places::default();
        assert_eq!(places.recorded("/bin/a".into()), Path::new("/bin/a"));
        places.root = Some("/copy".into());
        assert_eq!(places.recorded("/bin/a".into()), Path::new("/copy/bin/a"));
        assert_eq!(in_namespace(7, b"/bin/a"), Path::new("/proc/7").join("root/bin/a"));
    }
}
