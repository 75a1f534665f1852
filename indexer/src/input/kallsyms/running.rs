//! The kernel that runs: the path of its symbols in; its identity and the file
//! that tells where its modules end out. A copy of the text elsewhere is that of
//! some kernel at some time, so nothing of this machine is added to it.
//!
//! ```
//! use symidx_indexer::input::kallsyms::running;
//!
//! // Which kernel is `/proc/kallsyms` of? Its text does not say.
//! println!("{} is of {:02x?}", running::KALLSYMS, running::kernel_build_id());
//! assert_eq!(running::kernel_build_id(), running::build_id_of("/sys/kernel/notes".as_ref()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::{Path, PathBuf};

use symidx::kernel::NOTES;

use crate::input::elf;

/// The symbols of the running kernel.
pub use symidx::kernel::KALLSYMS;

/// Its modules with their addresses; not there when it can have none.
const MODULES: &str = "/proc/modules";

/// Notes are a few hundred bytes; nothing reads more of them.
const MAX_NOTES: u64 = 1 << 16;

/// True for the symbols of the running kernel, by whatever path.
fn is_running(path: &Path) -> bool {
    path == Path::new(KALLSYMS) || path.canonicalize().is_ok_and(|path| path == Path::new(KALLSYMS))
}

/// The file that tells where the modules of this kernel end: that of the running one.
pub(super) fn modules(path: &Path) -> Option<PathBuf> {
    is_running(path).then(|| PathBuf::from(MODULES)).filter(|modules| modules.exists())
}

/// The build-id of the kernel whose symbols these are: that of the running one.
pub(in crate::input) fn build_id(path: &Path) -> Option<Vec<u8>> {
    is_running(path).then(kernel_build_id).flatten()
}

/// The build-id of the running kernel, where it tells one.
///
/// ```
/// let id = symidx_indexer::input::kallsyms::running::kernel_build_id();
/// // `None` where the kernel does not tell: in some containers.
/// assert!(id.is_none_or(|id| !id.is_empty()));
/// ```
#[must_use]
pub fn kernel_build_id() -> Option<Vec<u8>> {
    build_id_of(Path::new(NOTES))
}

/// The build-id in a file of ELF notes in this machine's byte order, such as
/// `/sys/kernel/notes` or `/sys/module/M/notes/.note.gnu.build-id`.
///
/// ```
/// # let file = tempfile::NamedTempFile::new()?;
/// # let note = [&4u32.to_ne_bytes()[..], &4u32.to_ne_bytes(), &3u32.to_ne_bytes(), b"GNU\0\xab\xcd\x01\x02"];
/// # std::fs::write(file.path(), note.concat())?;
/// let notes = file.path(); // /sys/module/nf_tables/notes/.note.gnu.build-id
/// let id = symidx_indexer::input::kallsyms::running::build_id_of(notes);
/// assert_eq!(id, Some(vec![0xab, 0xcd, 1, 2]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn build_id_of(notes: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(notes).ok()?.take(MAX_NOTES).read_to_end(&mut bytes).ok()?;
    elf::build_id_in_notes(&bytes)
}
