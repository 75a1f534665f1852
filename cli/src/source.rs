//! From the FILE of a command line to an open index.
//!
//! In: a `.symidx` file, or a binary. A binary's index is the fresh one beside
//! it, else the fresh one in the store, else one that is built in memory. An
//! index is fresh when the binary's size, slice and BLAKE3 are those it records:
//! an index of another build is never used.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use symidx::process::MAX_READ;
use symidx::{Index, format};
use symidx_indexer::input::{self, Identified, ReadOptions};
use symidx_indexer::model::Store;
use symidx_indexer::{BuildOptions, build_bytes, hex, store};

use crate::failure::Failure;
use crate::options::ReadArgs;
use crate::progress::Bar;
use crate::ui::Ui;

/// What to open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// The `.symidx` file or binary.
    pub(crate) file: &'a Path,
    /// How to read a binary.
    pub(crate) read: &'a ReadArgs,
    /// Where to look for its index besides.
    pub(crate) store: Option<&'a Path>,
    /// Also in the directories of `$SYMIDX_PATH` and in the user's cache.
    pub(crate) in_caches: bool,
    /// How its index is opened.
    pub(crate) taken: Taken,
}

/// How an index is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Mapped, for many questions.
    Mapped,
    /// Mapped, for few.
    Sparse,
    /// Copied: the file is in the hands of somebody else, who may cut short at any time
    /// what lies there.
    Copied,
}

impl Taken {
    fn open(self, path: &Path) -> Result<Index<'static>, Failure> {
        match self {
            Self::Mapped => map(path),
            Self::Sparse => map_sparse(path),
            Self::Copied => copy(path),
        }
    }
}

impl Source<'_> {
    /// Every store to look in.
    pub(crate) fn stores(&self) -> Vec<PathBuf> {
        let own = self.store.map(Path::to_path_buf);
        own.into_iter().chain(if self.in_caches { caches() } else { Vec::new() }).collect()
    }
}

/// The stores that the environment names: those of `$SYMIDX_PATH`, and the user's cache.
pub(crate) fn caches() -> Vec<PathBuf> {
    let named = std::env::var_os("SYMIDX_PATH").unwrap_or_default();
    let named = std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty());
    named.chain(symidx::process::user_cache()).collect()
}

/// Opens an index for the file.
pub(crate) fn open(source: Source<'_>, ui: Ui) -> Result<Index<'static>, Failure> {
    match is_index(source.file)? {
        true => source.taken.open(source.file),
        false => open_binary(source, ui),
    }
}

/// Maps a `.symidx` file.
pub(crate) fn map(path: &Path) -> Result<Index<'static>, Failure> {
    // SAFETY: indexes are replaced by rename and never edited, here and by
    // `symidx build`; whoever edits one in place while it is read ends this
    // short-lived process at worst.
    #[allow(unsafe_code)]
    unsafe { Index::map(path) }.map_err(|error| Failure::file(path, error))
}

fn map_sparse(path: &Path) -> Result<Index<'static>, Failure> {
    // SAFETY: as above.
    #[allow(unsafe_code)]
    unsafe { Index::map_sparse(path) }.map_err(|error| Failure::file(path, error))
}

/// Reads a `.symidx` file into memory, where nobody else reaches it.
fn copy(path: &Path) -> Result<Index<'static>, Failure> {
    let cannot = |what: &str, error| Failure::file(path, format_args!("cannot {what}: {error}"));
    let metadata = path.metadata().map_err(|error| cannot("open", error))?;
    if !metadata.is_file() || metadata.len() > MAX_READ {
        return Err(Failure::file(
            path,
            format_args!(
                "expected an index of at most {MAX_READ} bytes in a file, found {} bytes; build it into a store",
                metadata.len()
            ),
        ));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| cannot("open", error))?;
    file.take(MAX_READ).read_to_end(&mut bytes).map_err(|error| cannot("read", error))?;
    Index::from_vec(bytes).map_err(|error| Failure::file(path, error))
}

/// True for a file that is, or by its name claims to be, an index.
fn is_index(path: &Path) -> Result<bool, Failure> {
    if path.extension().is_some_and(|extension| extension == "symidx") {
        return Ok(true);
    }
    let cannot = |what: &str, error| Failure::file(path, format_args!("cannot {what}: {error}"));
    let mut start = Vec::new();
    let file = File::open(path).map_err(|error| cannot("open", error))?;
    // What is read from a pipe is gone: whoever builds needs all of it.
    if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(false);
    }
    file.take(8).read_to_end(&mut start).map_err(|error| cannot("read", error))?;
    Ok(start == format::MAGIC)
}

fn open_binary(source: Source<'_>, ui: Ui) -> Result<Index<'static>, Failure> {
    let read = source.read.read_options();
    if !source.read.names_companions()
        && let Some(index) = fresh_index(source, &read, ui)?
    {
        return Ok(index);
    }
    let start = Instant::now();
    let bar = Bar::new(ui);
    let progress = bar.listener();
    let options = BuildOptions { read, allow_empty: true, progress, ..BuildOptions::default() };
    let built = build_bytes(source.file, &options);
    drop(bar);
    let (bytes, report) = built?;
    let file = source.file.display();
    for warning in &report.warnings {
        ui.warning(format_args!("{file}: {warning}"));
    }
    // Nothing can be written beside what the kernel makes up.
    let to = if source.file.starts_with("/proc") { "--store DIR " } else { "" };
    ui.note(format_args!(
        "{file}: built an index of {} in memory in {:.2} s; `symidx build {to}{file}` keeps one",
        crate::text::counted(report.symbols, "symbol", "symbols"),
        start.elapsed().as_secs_f64(),
    ));
    Index::from_vec(bytes).map_err(|error| Failure::file(source.file, error))
}

/// The binary's index, if a fresh one exists.
fn fresh_index(
    source: Source<'_>,
    read: &ReadOptions,
    ui: Ui,
) -> Result<Option<Index<'static>>, Failure> {
    let mut candidates = vec![beside(source.file, read.arch.as_deref()), beside(source.file, None)];
    candidates.dedup();
    candidates.retain(|candidate| candidate.is_file());
    if !source.file.is_file() && !source.file.is_dir() {
        return Ok(None);
    }
    let stores = source.stores();
    if candidates.is_empty() && stores.is_empty() {
        return Ok(None);
    }
    let store = Store::new();
    let input::Input { path, data, .. } = input::open(source.file, &store)?;
    let identified = input::identify(&path, data, read)?;
    let binary = Binary::new(data, identified);
    let beside = candidates.len();
    candidates.extend(stores.iter().map(|directory| binary.store_path(directory)));
    for (at, candidate) in candidates.into_iter().enumerate() {
        // Stores are the user's own.
        let opened = match source.taken {
            Taken::Copied if at >= beside => map(&candidate),
            taken => taken.open(&candidate),
        };
        let index = match opened {
            Ok(index) => index,
            Err(_) if !candidate.exists() => continue,
            Err(error) => {
                ui.warning(format_args!("{error}"));
                continue;
            }
        };
        match binary.is_same_build(&index) {
            true => return Ok(Some(index)),
            false => ui.note(format_args!(
                "{}: expected an index of {} ({}), found one of another build ({}); build it again",
                candidate.display(),
                source.file.display(),
                binary.identity(),
                identity(&index),
            )),
        }
    }
    Ok(None)
}

/// `FILE.symidx`, or `FILE.ARCH.symidx`.
pub(crate) fn beside(file: &Path, arch: Option<&str>) -> PathBuf {
    // `app/` is a bundle given with a slash; its index stands beside it.
    let mut name: OsString = file.components().as_path().as_os_str().to_owned();
    if let Some(arch) = arch {
        name.push(".");
        name.push(arch);
    }
    name.push(".symidx");
    PathBuf::from(name)
}

/// A binary as an index records it.
#[derive(Debug)]
pub(crate) struct Binary<'d> {
    data: &'d [u8],
    identified: Identified,
    hash: std::cell::OnceCell<[u8; 32]>,
}

impl<'d> Binary<'d> {
    /// From its bytes and what they state.
    pub(crate) fn new(data: &'d [u8], identified: Identified) -> Self {
        Self { data, identified, hash: std::cell::OnceCell::new() }
    }

    fn size(&self) -> u64 {
        u64::try_from(self.data.len()).unwrap_or(u64::MAX)
    }

    /// BLAKE3 of the file; computed once.
    pub(crate) fn hash(&self) -> &[u8; 32] {
        self.hash.get_or_init(|| *blake3::hash(self.data).as_bytes())
    }

    /// True when the index was made from this very file, and this slice of it.
    fn is_same(&self, index: &Index<'_>) -> bool {
        let recorded = index.identity();
        let slice = self.identified.slice.unwrap_or((0, self.size()));
        index.input_size() == self.size()
            && (recorded.slice_offset.get(), recorded.slice_size.get()) == slice
            && index.input_hash() == self.hash()
    }

    /// True when the index was made from this build: by build-id or UUID where
    /// both state one, else by size and BLAKE3.
    pub(crate) fn is_same_build(&self, index: &Index<'_>) -> bool {
        match (self.id(), stated_id(index)) {
            // strip keeps the id: the index of the unstripped file serves both.
            (Some(id), Some(recorded)) if !self.identified.at_run_time => id == recorded,
            _ => self.is_same(index),
        }
    }

    fn id(&self) -> Option<&[u8]> {
        let build_id = self.identified.build_id.as_deref().filter(|id| !id.is_empty());
        build_id.or(self.identified.uuid.as_ref().map(|uuid| uuid.as_slice()))
    }

    /// Its identity in words: `build-id 93ac…`.
    pub(crate) fn identity(&self) -> String {
        match (&self.identified.build_id, &self.identified.uuid) {
            (Some(id), _) if !id.is_empty() => format!("build-id {}", hex(id)),
            (_, Some(uuid)) => format!("uuid {}", hex(uuid)),
            _ => format!("{} bytes, blake3 {}", self.size(), hex(self.hash())),
        }
    }

    /// `DIR/.build-id/xx/yyyy.symidx`: by build-id or UUID, else by BLAKE3.
    pub(crate) fn store_path(&self, directory: &Path) -> PathBuf {
        let kind = match self.identified.at_run_time {
            true => store::Kind::Kallsyms,
            false => store::Kind::File,
        };
        // A directory and a name need two bytes.
        match self.id().filter(|id| id.len() >= 2) {
            Some(id) => store::place(directory, id, kind),
            None => store::place(directory, self.hash(), store::Kind::File),
        }
    }
}

fn stated_id<'i>(index: &'i Index<'_>) -> Option<&'i [u8]> {
    let identity = index.identity();
    let length = usize::try_from(identity.id_len.get()).unwrap_or(0);
    match identity.id_kind.get() {
        format::ID_BUILD_ID | format::ID_UUID => identity.id.get(..length),
        _ => None,
    }
}

/// An index's identity in words.
pub(crate) fn identity(index: &Index<'_>) -> String {
    match (index.build_id(), index.uuid()) {
        (Some(id), _) => format!("build-id {}", hex(id)),
        (_, Some(uuid)) => format!("uuid {}", hex(&uuid)),
        _ => format!("{} bytes, blake3 {}", index.input_size(), hex(index.input_hash())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// An index beside a container's binary was mapped where no store had one, and
    /// whoever cut it short in there ended a lookup out here with SIGBUS.
    #[test]
    fn an_index_in_other_hands_may_be_cut_short() {
        let directory = tempfile::tempdir().unwrap();
        let binary = directory.path().join("z.exe");
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/elf/zero-size/z.exe");
        std::fs::copy(from, &binary).unwrap();
        let index = beside(&binary, None);
        let ui = Ui::new(true, clap::ColorChoice::Never);
        for file in [&binary, &index] {
            symidx_indexer::build_file(&binary, &index, &BuildOptions::default()).unwrap();
            let read = ReadArgs::default();
            let source =
                Source { file, read: &read, store: None, in_caches: false, taken: Taken::Copied };
            let opened = open(source, ui).unwrap();
            File::options().write(true).open(&index).unwrap().set_len(0).unwrap();
            let mut names = 0;
            for entry in opened.names() {
                names += usize::from(entry.is_ok());
            }
            assert!(names > 0);
            std::fs::remove_file(&index).unwrap();
        }
    }
}
