//! Building an index that is missing, into a store.
//!
//! In: a file. Out: its index at `DIR/.build-id/xx/yyyy.symidx`, and for a file without
//! an id the link by which [`symidx::process::Store`] finds it. Never overwrites a
//! richer index of the same build.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use symidx_indexer::input::{self, ReadOptions};
use symidx_indexer::model::Store;
use symidx_indexer::{BuildOptions, build_file, hex};

/// Builds the index of `file` into the store `directory`; with `names_only`, without
/// lines and inlined functions.
///
/// # Errors
/// One line: what is wrong with the file, or why the store cannot be written.
pub(crate) fn build_into(directory: &Path, file: &Path, names_only: bool) -> Result<(), String> {
    let read = ReadOptions { auto_debug: true, names_only, ..ReadOptions::default() };
    let before = metadata(file)?;
    let id = {
        let store = Store::new();
        let input = input::open(file, &store).map_err(|error| error.to_string())?;
        let identified = input::identify(&input.path, input.data, &read);
        let identified = identified.map_err(|error| error.to_string())?;
        let uuid = identified.uuid.map(|uuid| uuid.to_vec());
        identified.build_id.filter(|id| id.len() >= 2).or(uuid)
    };
    let has_id = id.is_some();
    let id = match id {
        Some(id) => hex(&id),
        None => hex(&hash(file)?),
    };
    let (first, rest) = id.split_at_checked(2).unwrap_or((&id, ""));
    let relative = Path::new(".build-id").join(first).join(format!("{rest}.symidx"));
    let output = directory.join(&relative);
    let cannot =
        |path: &Path, error: std::io::Error| format!("{}: cannot write: {error}", path.display());
    if let Some(parent) = output.parent() {
        std::fs::create_dir_all(parent).map_err(|error| cannot(parent, error))?;
    }
    let options = BuildOptions { read, keep_richer: true, ..BuildOptions::default() };
    build_file(file, &output, &options).map_err(|error| error.to_string())?;
    if !has_id {
        // The link stands for the content only if the file did not change meanwhile.
        let after = metadata(file)?;
        if link_name(&before) == link_name(&after) {
            link(directory, &after, &Path::new("..").join(relative))?;
        }
    }
    Ok(())
}

fn metadata(file: &Path) -> Result<Metadata, String> {
    std::fs::metadata(file).map_err(|error| format!("{}: cannot open: {error}", file.display()))
}

fn hash(file: &Path) -> Result<[u8; 32], String> {
    let cannot = |error| format!("{}: cannot read: {error}", file.display());
    let mut opened = std::fs::File::open(file).map_err(cannot)?;
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut opened, &mut hasher).map_err(cannot)?;
    Ok(*hasher.finalize().as_bytes())
}

/// `DEV-INO-SIZE-MTIME-CTIME`, hexadecimal, times in nanoseconds.
fn link_name(file: &Metadata) -> String {
    let time = |seconds: i64, part: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(part);
    format!(
        "{:x}-{:x}-{:x}-{:x}-{:x}",
        file.dev(),
        file.ino(),
        file.size(),
        time(file.mtime(), file.mtime_nsec()),
        time(file.ctime(), file.ctime_nsec()),
    )
}

fn link(directory: &Path, file: &Metadata, target: &Path) -> Result<(), String> {
    let links = directory.join(".by-file");
    let path: PathBuf = links.join(link_name(file));
    let cannot = |error| format!("{}: cannot link: {error}", path.display());
    std::fs::create_dir_all(&links).map_err(cannot)?;
    match std::os::unix::fs::symlink(target, &path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        result => result.map_err(cannot),
    }
}
