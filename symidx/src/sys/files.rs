//! Files: indexes that own their bytes, on the heap or mapped.
//!
//! An owned index holds a view of bytes that it owns itself. The view's
//! lifetime is written as `'static`, but never leaves: every method of
//! [`Index`] returns borrows of `&self`, and the bytes do not move when the
//! index does.

use std::boxed::Box;
use std::path::Path;
use std::ptr::NonNull;
use std::vec::Vec;

use crate::error::OpenError;
use crate::index::Index;
use crate::open::View;
use crate::sys::Held;

/// Keeps the bytes of an index alive.
pub(crate) enum Owner {
    /// Somebody else owns them.
    Borrowed,
    /// A copy in memory.
    Heap { _bytes: HeapBytes },
    /// A mapped file.
    #[cfg(feature = "mmap")]
    Map { map: memmap2::Mmap },
    /// A mapped file of which only what is touched is resident.
    #[cfg(all(feature = "process", target_os = "linux"))]
    Sparse { map: super::sparse::Sparse },
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Borrowed => "borrowed",
            Self::Heap { .. } => "owned",
            #[cfg(feature = "mmap")]
            Self::Map { .. } => "mapped",
            #[cfg(all(feature = "process", target_os = "linux"))]
            Self::Sparse { .. } => "mapped",
        })
    }
}

/// A boxed slice held by pointer: unlike a `Box`, moving it makes no claim to
/// be the only way to the bytes.
pub(crate) struct HeapBytes(NonNull<[u8]>);

// SAFETY: the bytes are owned, never written, and plain data.
#[allow(unsafe_code)]
unsafe impl Send for HeapBytes {}
// SAFETY: as above; shared reads of plain bytes.
#[allow(unsafe_code)]
unsafe impl Sync for HeapBytes {}

impl Drop for HeapBytes {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::leak` and is freed only here.
        #[allow(unsafe_code)]
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Index<'_> {
    /// Gives back the memory that a mapped index has resident in this process:
    /// what lookups touch next comes from the page cache again. For jobs that
    /// must stay small while they touch all of a large index. One system call
    /// where the index is mapped, nothing elsewhere; readers in other threads
    /// go on undisturbed.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx");
    /// // SAFETY: the file is replaced by rename only.
    /// let index = unsafe { symidx::Index::map(path) }?;
    /// assert_eq!(index.symbols().count(), 6); // touches all of it
    /// index.release(); // between two batches of a long job
    /// assert_eq!(index.symbols().count(), 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "mmap")]
    pub fn release(&self) {
        #[cfg(all(feature = "process", target_os = "linux"))]
        if let Owner::Sparse { map } = &self._owner {
            map.release();
        }
        #[cfg(unix)]
        if let Owner::Map { map } = &self._owner {
            // SAFETY: the map is of a file, shared and never written: pages
            // that are dropped are read from the file again, the same bytes.
            #[allow(unsafe_code)]
            let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }
}

impl Index<'static> {
    /// Reads the whole file into memory and opens it: no hazard from files
    /// that change, at the price of one copy.
    ///
    /// # Errors
    /// [`OpenError`].
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx");
    /// let index = symidx::Index::read(path)?; // app.symidx, say
    /// assert_eq!(index.symbol_count(), 6);
    /// assert!(symidx::Index::read("/no/such/file").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::from_vec(std::fs::read(path)?)
    }

    /// Opens bytes that the index then owns.
    ///
    /// # Errors
    /// [`OpenError`].
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx");
    /// // From an archive, or a server.
    /// let bytes = std::fs::read(path)?;
    /// let index = symidx::Index::from_vec(bytes)?;
    /// assert_eq!(index.lookup(symidx::Svma(0x4001a8))?.unwrap().name(), "outer");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_vec(bytes: Vec<u8>) -> Result<Self, OpenError> {
        let owned = HeapBytes(NonNull::from(Box::leak(bytes.into_boxed_slice())));
        // SAFETY: the bytes stay where they are, unwritten, until `owned`
        // drops; it lives in the same `Index` as the view, and nothing takes
        // the two apart. No method returns the view's lifetime, only that of
        // `&self`. If opening fails, no view is left.
        #[allow(unsafe_code)]
        let view = View::open(unsafe { detach(owned.0.as_ref()) })?;
        Ok(Self { view: Held::new(view), _owner: Owner::Heap { _bytes: owned } })
    }

    /// Maps the file and opens it: nothing is read until a query needs it.
    /// A few microseconds and no heap, whatever the file's size.
    ///
    /// # Errors
    /// [`OpenError`].
    ///
    /// # Safety
    /// While the index lives, no process may change or truncate the file:
    /// reading a page that is gone ends the process with SIGBUS, and bytes
    /// that change under a reader are undefined behaviour. `symidx build`
    /// keeps this promise: it replaces indexes by rename and never edits
    /// them, and a mapped file that is renamed over or deleted stays as it
    /// was. Where others may write the file, use [`Index::read`].
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx");
    /// // SAFETY: the file is replaced by rename only.
    /// let index = unsafe { symidx::Index::map(path) }?;
    /// assert_eq!(index.lookup(symidx::Svma(0x4001a8))?.unwrap().name(), "outer");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "mmap")]
    #[allow(unsafe_code)]
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let file = std::fs::File::open(path)?;
        // SAFETY: the caller promises that the file does not change.
        let map = unsafe { memmap2::Mmap::map(&file) }?;
        Self::from_map(map)
    }

    /// As [`Index::map`], for a process that asks little and ends, such as a command for
    /// one address: no more is resident than what is touched, in steps of 64 KiB at most,
    /// where Linux otherwise maps as much at once as the page cache holds in one piece
    /// (2 MiB of an index just written). Many lookups are slower than with [`Index::map`],
    /// for more faults and smaller pages. The same as that elsewhere than on Linux.
    ///
    /// # Errors
    /// [`OpenError`].
    ///
    /// # Safety
    /// As for [`Index::map`].
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx");
    /// // SAFETY: the file is replaced by rename only.
    /// let index = unsafe { symidx::Index::map_sparse(path) }?;
    /// assert_eq!(index.lookup(symidx::Svma(0x4001a8))?.unwrap().name(), "outer");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(all(feature = "process", unix))]
    #[allow(unsafe_code)]
    pub unsafe fn map_sparse(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        #[cfg(target_os = "linux")]
        {
            let file = std::fs::File::open(path)?;
            // SAFETY: the caller promises that the file does not change.
            let map = unsafe { super::sparse::Sparse::map(&file) }?;
            // SAFETY: as in `from_map`: the bytes stay where they are until `map` drops.
            let view = View::open(unsafe { detach(map.bytes()) })?;
            Ok(Self { view: Held::new(view), _owner: Owner::Sparse { map } })
        }
        // SAFETY: the caller's promise is the same.
        #[cfg(not(target_os = "linux"))]
        unsafe {
            Self::map(path)
        }
    }

    #[cfg(feature = "mmap")]
    fn from_map(map: memmap2::Mmap) -> Result<Self, OpenError> {
        // Lookups touch single pages: reading ahead would only evict others.
        // Advice that the system does not take costs nothing.
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Random);
        // SAFETY: a map's bytes stay where they are when the `Mmap` moves and
        // until it drops; as above, the view never outlives it. That they do
        // not change is the promise of whoever mapped them.
        #[allow(unsafe_code)]
        let view = View::open(unsafe { detach(&map) })?;
        Ok(Self { view: Held::new(view), _owner: Owner::Map { map } })
    }
}

/// How a store opens index files: mapped, by the promise of whoever made the
/// store, or copied.
#[cfg(all(feature = "process", unix))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    mapped: bool,
}

#[cfg(all(feature = "process", unix))]
impl Access {
    /// Copies: no promise is needed.
    pub(crate) fn read() -> Self {
        Self { mapped: false }
    }

    pub(crate) fn is_read(self) -> bool {
        !self.mapped
    }

    /// Bytes of memory that an index of `size` bytes from `offset` on needs at
    /// most: whole pages where it is mapped.
    pub(crate) fn room(self, offset: u64, size: u64) -> u64 {
        if !self.mapped {
            return size;
        }
        let page = crate::sys::open::page_size();
        let before = offset.checked_rem(page).unwrap_or(0);
        let bytes = size.saturating_add(before);
        bytes.checked_next_multiple_of(page).unwrap_or(u64::MAX)
    }

    /// The index in `size` bytes from `offset` on.
    pub(crate) fn open(
        self,
        file: &std::fs::File,
        offset: u64,
        size: u64,
    ) -> Result<Index<'static>, OpenError> {
        let end =
            offset.checked_add(size).filter(|&end| file.metadata().is_ok_and(|m| end <= m.len()));
        let Some(size) = usize::try_from(size).ok().filter(|_| end.is_some()) else {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
        };
        if !self.mapped || size == 0 {
            return read(file, offset, size);
        }
        // SAFETY: whoever made a store that maps promised that the files do not change.
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::MmapOptions::new().offset(offset).len(size).map(file) }?;
        Index::from_map(map)
    }
}

/// Reads an index; a file that is none is refused by its first bytes, before
/// there is memory for the rest: a file may seem larger than any disk.
#[cfg(all(feature = "process", unix))]
fn read(file: &std::fs::File, offset: u64, size: usize) -> Result<Index<'static>, OpenError> {
    use std::os::unix::fs::FileExt as _;
    let mut first = [0; size_of::<crate::format::Header>()];
    let head = first.get_mut(..size.min(size_of::<crate::format::Header>())).unwrap_or_default();
    file.read_exact_at(head, offset)?;
    crate::open::check_header(head, u64::try_from(size).unwrap_or(u64::MAX))?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(size)
        .map_err(|_| std::io::Error::from(std::io::ErrorKind::OutOfMemory))?;
    bytes.resize(size, 0);
    file.read_exact_at(&mut bytes, offset)?;
    Index::from_vec(bytes)
}

#[cfg(all(feature = "process", unix))]
impl crate::process::Store {
    /// A store that maps indexes: a few microseconds and no heap for each, and
    /// only what lookups touch is ever read.
    ///
    /// # Safety
    /// As [`Index::map`]: while an index is open, no process may change or
    /// truncate its file. `symidx build` replaces files by rename and never
    /// edits them. Where others may write to the places of the store, use
    /// [`Store::read`](crate::process::Store::read): somebody else's process
    /// has the places beside and in its binaries in its own hands.
    ///
    /// ```
    /// // SAFETY: indexes are replaced by rename only.
    /// let store = unsafe { symidx::process::Store::mapped() };
    /// assert!(!store.is_read());
    /// ```
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn mapped() -> Self {
        Self::new(Access { mapped: true })
    }
}

/// The same bytes under a lifetime that the compiler does not check.
///
/// # Safety
/// The caller must keep the bytes alive, unmoved and unchanged for as long as
/// the result is used.
#[allow(unsafe_code)]
unsafe fn detach(bytes: &[u8]) -> &'static [u8] {
    // SAFETY: same pointer, same length; the contract covers the lifetime.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::Svma;
    use std::string::ToString;

    const BYTES: &[u8] = include_bytes!("../../../testdata/golden/example.symidx");

    fn answer(index: &Index<'_>) -> Option<std::string::String> {
        index.lookup(Svma(0x1014)).unwrap().map(|symbol| symbol.name().to_string())
    }

    /// Run under an interpreter that knows every borrow (`cargo miri test`),
    /// this shows that moves of the index leave the view's borrow alone.
    #[test]
    fn an_owned_index_moves_with_its_bytes() {
        let index = Index::from_vec(BYTES.to_vec()).unwrap();
        assert_eq!(answer(&index).as_deref(), Some("main"));
        let boxed = Box::new(index);
        assert_eq!(answer(&boxed).as_deref(), Some("main"));
        let mut slots = std::vec![Some(*boxed), None];
        slots.swap(0, 1);
        let index = slots.pop().flatten().unwrap();
        assert_eq!(answer(&index).as_deref(), Some("main"));
        let index = std::thread::spawn(move || index).join().unwrap();
        assert_eq!(answer(&index).as_deref(), Some("main"));
        assert_eq!(std::format!("{:?}", index._owner), "owned");
    }

    #[test]
    fn bytes_that_do_not_open_are_freed() {
        assert!(Index::from_vec(std::vec![0; 1000]).is_err());
        assert!(Index::from_vec(Vec::new()).is_err());
    }

    #[test]
    fn a_borrowed_index_owns_nothing() {
        let index = Index::from_bytes(BYTES).unwrap();
        assert_eq!(std::format!("{:?}", index._owner), "borrowed");
    }

    /// A callee that drops an owned index frees bytes that its argument still
    /// borrows; the interpreter called that undefined behaviour before the
    /// view was wrapped.
    #[test]
    fn an_owned_index_may_be_dropped_by_a_callee() {
        fn take(index: Index<'static>) -> bool {
            index.lookup(Svma(0x1000)).is_ok()
        }
        assert!(take(Index::from_vec(BYTES.to_vec()).unwrap()));
        drop(Index::from_vec(BYTES.to_vec()).unwrap());
    }
}
