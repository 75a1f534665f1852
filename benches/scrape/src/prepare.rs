//! In: the modules of this process. Out: a store with an index of each, built by children.
//! Never: builds in this process: what is measured later starts with a clean heap.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use symidx::process::{Module, ModuleKind, Modules};
use symidx_indexer::{BuildOptions, build_file};

use crate::Result;

/// A directory that goes away with the program.
pub struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    pub fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("scrape-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Publishes the index of every file in `modules` in the store, and says how large they are.
pub fn build_all(modules: &Modules, store: &Path) -> Result<u64> {
    let mut bytes = 0;
    for module in modules.iter().filter(|module| module.kind() == ModuleKind::File) {
        let output = place(module, store)?;
        if !output.exists() {
            let mut child = Command::new(std::env::current_exe()?);
            child.arg("__build").arg(module.file()).arg(&output);
            if !child.status()?.success() {
                return Err(format!("no index of {}", module.path().display()).into());
            }
            bytes += std::fs::metadata(&output)?.len();
        }
    }
    Ok(bytes)
}

/// One build; what a child does.
pub fn build(input: &Path, output: &Path) -> Result<()> {
    build_file(input, output, &BuildOptions::default())?;
    Ok(())
}

/// Where a store looks for the index of a module.
fn place(module: &Module, store: &Path) -> Result<PathBuf> {
    if let Some(id) = module.id() {
        let id = id.to_string();
        let (first, rest) = id.split_at_checked(2).ok_or("expected a build-id of some bytes")?;
        let directory = store.join(".build-id").join(first);
        std::fs::create_dir_all(&directory)?;
        return Ok(directory.join(format!("{rest}.symidx")));
    }
    let directory = store.join(".by-file");
    std::fs::create_dir_all(&directory)?;
    let stat = module.file().metadata()?;
    let nanoseconds = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
    Ok(directory.join(format!(
        "{:x}-{:x}-{:x}-{:x}-{:x}",
        stat.dev(),
        stat.ino(),
        stat.size(),
        nanoseconds(stat.mtime(), stat.mtime_nsec()),
        nanoseconds(stat.ctime(), stat.ctime_nsec()),
    )))
}
