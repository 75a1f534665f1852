//! Modules and indexes for the tests of processes: small files in a folder of
//! their own, and maps that name them.
//!
//! In: ids. Out: files that have them, and indexes that state them.

#![allow(dead_code, clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use symidx::Index;
use symidx::format::SectionId;
use symidx::process::{Id, Modules, Resolver, Store};

use crate::small_elf::SmallElf;
use crate::support::reseal;

const RICH: &[u8] = include_bytes!("../../../testdata/golden/rich.symidx");

/// Where `function_0` lies in the file that the index is of.
pub(crate) const FIRST_OFFSET: u64 = 0xf0;
/// Run-time addresses from one module to the next.
pub(crate) const STEP: u64 = 0x10_0000;

/// An index with functions, of this build; `tag` can be read back.
pub(crate) fn index_of(id: &[u8], tag: u64) -> Vec<u8> {
    let mut bytes = RICH.to_vec();
    let identity = {
        let index = Index::from_bytes(RICH).unwrap();
        let found = index.file_sections().find(|section| section.id == SectionId::IDENTITY);
        usize::try_from(found.unwrap().offset).unwrap()
    };
    let kind = u32::from(!id.is_empty());
    bytes[identity..identity + 4].copy_from_slice(&kind.to_le_bytes());
    bytes[identity + 4..identity + 8]
        .copy_from_slice(&u32::try_from(id.len()).unwrap().to_le_bytes());
    bytes[identity + 8..identity + 72].fill(0);
    bytes[identity + 8..identity + 8 + id.len()].copy_from_slice(id);
    bytes[identity + 72..identity + 80].copy_from_slice(&tag.to_le_bytes());
    reseal(&mut bytes);
    bytes
}

/// An index of a file without an id, by its content.
pub(crate) fn index_of_content(content: &[u8]) -> Vec<u8> {
    let mut bytes = index_of(&[], u64::try_from(content.len()).unwrap());
    let index = Index::from_bytes(&bytes).unwrap();
    let found = index.file_sections().find(|section| section.id == SectionId::IDENTITY);
    let identity = usize::try_from(found.unwrap().offset).unwrap();
    bytes[identity + 80..identity + 112].copy_from_slice(blake3::hash(content).as_bytes());
    reseal(&mut bytes);
    bytes
}

pub(crate) fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `DIR/.build-id/xx/yyyy` and a suffix.
pub(crate) fn by_id(directory: &Path, id: &[u8], suffix: &str) -> PathBuf {
    let hex = hex(id);
    directory.join(".build-id").join(&hex[..2]).join(format!("{}{suffix}", &hex[2..]))
}

/// Writes a file and the directories above it, by rename as a builder does.
pub(crate) fn publish(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    std::fs::write(&temporary, bytes).unwrap();
    std::fs::rename(&temporary, path).unwrap();
}

/// A folder with binaries.
pub(crate) struct World {
    pub(crate) directory: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A binary with this id; none if that is empty.
    pub(crate) fn binary(&self, name: &str, id: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, SmallElf::with_id(id).bytes()).unwrap();
        path
    }
}

/// The modules that have these files mapped, the `n`th at `STEP * (n + 1)`.
pub(crate) fn modules(files: &[PathBuf]) -> Modules {
    Modules::from_maps(text(files).as_bytes()).unwrap()
}

pub(crate) fn text(files: &[PathBuf]) -> String {
    let mut text = String::new();
    for (file, start) in files.iter().zip((1..).map(|number: u64| number * STEP)) {
        let inode = file.metadata().unwrap().ino();
        let end = start + 0x1000;
        writeln!(text, "{start:x}-{end:x} r-xp 00000000 08:01 {inode} {}", file.display()).unwrap();
    }
    text
}

/// The address of `function_0` of the `n`th module.
pub(crate) fn first(number: u64) -> u64 {
    STEP * (number + 1) + FIRST_OFFSET
}

pub(crate) fn resolver(files: &[PathBuf], store: &Arc<Store>) -> Resolver {
    Resolver::new(modules(files), store.clone())
}

pub(crate) fn store(mapped: bool) -> Store {
    match mapped {
        // SAFETY: the tests replace files by rename only.
        #[allow(unsafe_code)]
        true => unsafe { Store::mapped() },
        false => Store::read(),
    }
}

pub(crate) fn id(bytes: &[u8]) -> Id {
    Id::new(bytes).unwrap()
}
