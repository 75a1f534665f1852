//! The kernel's symbols: which index has them, and where that boot placed them.
//!
//! In: the kernel's build-id as recorded, an index. Out: a path, the slide. A kernel
//! that is not the recorded one is never used.

use std::path::PathBuf;

use symidx::{Index, Svma};
use symidx_indexer::input::kallsyms::running::kernel_build_id;
use symidx_indexer::store::{Kind, place};

use crate::build_id::BuildId;
use crate::header::Header;

/// Why an index of a kernel cannot be used.
pub(super) const NO_SYMBOL: &str =
    "it does not have the symbol that the profile places the kernel by";

/// The running kernel's build-id, when the profile states none of its kernel and was
/// recorded here: by host name and release. perf takes the running one in any case.
pub(super) fn recorded_here(header: &Header) -> Option<BuildId> {
    let is = |stated: &Option<String>, file| {
        let own = std::fs::read_to_string(file).unwrap_or_default();
        stated.as_deref().is_some_and(|stated| stated == own.trim_end())
    };
    let here = is(&header.hostname, "/proc/sys/kernel/hostname")
        && is(&header.os_release, "/proc/sys/kernel/osrelease");
    let own = kernel_build_id().filter(|_| here)?;
    BuildId::new(own.get(..own.len().min(20))?)
}

/// The index of a kernel as it ran, named by its build-id: in the stores given, those of
/// the environment, the user's cache.
pub(super) fn indexed(stores: &[PathBuf], id: BuildId) -> Option<PathBuf> {
    let listed = std::env::var_os("SYMIDX_PATH");
    let listed = listed.iter().flat_map(std::env::split_paths);
    let all = stores.iter().cloned().chain(listed).chain(symidx::process::user_cache());
    all.map(|store| place(&store, id.as_bytes(), Kind::Kallsyms)).find(|path| path.is_file())
}

/// What to take off a run-time address to look it up: the run-time address of `symbol`
/// less the one in the index. 0 where the recording does not know the first; `None`
/// where the index does not have the second.
pub(crate) fn slide(index: &Index<'_>, base: Option<(&[u8], u64)>) -> Option<u64> {
    let Some((symbol, address)) = base.filter(|&(_, address)| address != 0) else {
        return Some(0);
    };
    let mut stated =
        index.find(symbol).flatten().filter(|found| !matches!(found.module(), Ok(Some(_))));
    stated.next().map(|found| address.wrapping_sub(found.address()))
}

/// An address of this boot as one of the index.
pub(crate) fn svma(address: u64, slide: u64) -> Svma {
    Svma(address.wrapping_sub(slide))
}
