//! Modules: which file a run-time address belongs to.
//!
//! In: what the loader or `/proc` says about a process, once. Out: per address
//! its module, svma and file offset, by binary search over sorted spans: no
//! heap, no lock, no system call. Opens no index.

use std::path::{Path, PathBuf};
use std::vec::Vec;

use crate::address::{FileOffset, Svma};
#[cfg(target_vendor = "apple")]
use crate::process::apple::own;
use crate::process::budget::ALLOCATION;
#[cfg(not(target_vendor = "apple"))]
use crate::process::capture::own;
use crate::process::id::Id;

/// What a module is.
///
/// ```
/// use symidx::process::{ModuleKind, Modules};
///
/// let text = b"1000-2000 rw-p 00000000 00:00 0 [heap]\n";
/// let modules = Modules::from_maps(text)?;
/// assert_eq!(modules.find(0x1000).unwrap().module().kind(), ModuleKind::Anonymous);
/// # Ok::<(), symidx::process::MapsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModuleKind {
    /// An executable, a shared object, any other mapped file.
    File,
    /// The code that the kernel maps into every process.
    Vdso,
    /// Memory without a file: heap, stack, code that was made at run time.
    Anonymous,
}

/// One file that a process has mapped.
///
/// ```
/// use symidx::process::{ModuleKind, Modules};
///
/// let code = std::process::exit as *const () as usize as u64;
/// let modules = Modules::capture();
/// let module = modules.iter().find(|module| module.range().contains(&code)).unwrap();
/// assert_eq!(module.kind(), ModuleKind::File);
/// println!("{} {:?}", module.path().display(), module.id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) kind: ModuleKind,
    pub(crate) path: PathBuf,
    pub(crate) file: PathBuf,
    /// Where the file lies or lay, reached from here; `None` = `file` says it.
    pub(crate) place: Option<PathBuf>,
    pub(crate) id: Option<Id>,
    pub(crate) inode: Option<u64>,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Module {
    /// Its path as the process knows it; a name in brackets, or empty, where
    /// there is no file.
    ///
    /// ```
    /// let maps = b"400000-401000 r-xp 00000000 08:01 42 /bin/app";
    /// let modules = symidx::process::Modules::from_maps(maps)?;
    /// assert_eq!(modules.get(0).unwrap().path().to_str(), Some("/bin/app"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path that reaches the same file from here: through `/proc/PID/root`
    /// for a process in another mount namespace, through `/proc/PID/map_files`
    /// for a file that was deleted.
    ///
    /// ```
    /// // To read the binary itself, also of a process in a container.
    /// let modules = symidx::process::Modules::from_pid(std::process::id())?;
    /// let program = std::env::current_exe()?;
    /// let module = modules.iter().find(|module| module.path() == program).unwrap();
    /// assert!(std::fs::read(module.file())?.starts_with(b"\x7fELF"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Where an index beside the file lies, without its suffix: the file's
    /// place, also when the file itself is reached in another way.
    pub(crate) fn place(&self) -> &Path {
        self.place.as_deref().unwrap_or(&self.file)
    }

    /// What it is.
    ///
    /// ```
    /// use symidx::process::{ModuleKind, Modules};
    ///
    /// // The modules that an index can be built of.
    /// let text = b"1000-2000 rw-p 00000000 00:00 0 [heap]
    /// 3000-4000 r-xp 00000000 08:01 42 /bin/app";
    /// let modules = Modules::from_maps(text)?;
    /// let files = modules.iter().filter(|module| module.kind() == ModuleKind::File);
    /// assert_eq!(files.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn kind(&self) -> ModuleKind {
        self.kind
    }

    /// Its build-id or UUID, read from its mapped image.
    ///
    /// ```
    /// // A recorded text has no ids; this process and others that run have.
    /// let modules = symidx::process::Modules::capture();
    /// for module in modules.iter().filter(|module| module.id().is_none()) {
    ///     println!("{} has no build-id", module.path().display());
    /// }
    /// # assert!(modules.iter().any(|module| module.id().is_some()));
    /// ```
    #[must_use]
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// The inode of the mapped file, where that is known.
    ///
    /// ```
    /// let maps = b"400000-401000 r-xp 00000000 08:01 42 /bin/app";
    /// let modules = symidx::process::Modules::from_maps(maps)?;
    /// assert_eq!(modules.get(0).unwrap().inode(), Some(42)); // another one now: it was replaced
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn inode(&self) -> Option<u64> {
        self.inode
    }

    /// First run-time address of its first span, and the address after its last.
    ///
    /// ```
    /// let text = b"400000-401000 r--p 00000000 08:01 42 /bin/app
    /// 401000-403000 r-xp 00001000 08:01 42 /bin/app";
    /// let modules = symidx::process::Modules::from_maps(text)?;
    /// assert_eq!(modules.get(0).unwrap().range(), 0x400000..0x403000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn range(&self) -> core::ops::Range<u64> {
        self.start..self.end
    }
}

/// Addresses that belong to one module and are moved by one distance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) module: u32,
    /// Run-time address − svma, where the image's headers told it.
    pub(crate) bias: Option<u64>,
    /// File offset of `start`; `None` where there is no file.
    pub(crate) file_offset: Option<u64>,
    pub(crate) executable: bool,
}

/// An address, and where it lies in its module.
///
/// ```
/// use symidx::process::Modules;
///
/// let modules = Modules::from_maps(b"400000-401000 r-xp 00002000 08:01 42 /bin/app")?;
/// let located = modules.find(0x400010).unwrap();
/// // As a profile's mappings count.
/// assert_eq!(located.file_offset(), Some(symidx::FileOffset(0x2010)));
/// assert_eq!(located.module().path().to_str(), Some("/bin/app"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Located<'m> {
    pub(crate) module: &'m Module,
    pub(crate) number: u32,
    pub(crate) span: Span,
    pub(crate) address: u64,
}

impl<'m> Located<'m> {
    /// The module.
    ///
    /// ```
    /// let modules = symidx::process::Modules::capture();
    /// let code = std::process::exit as *const () as usize as u64;
    /// // What is printed where there is no symbol.
    /// println!("({}+{:x?})", modules.find(code).unwrap().module().path().display(), code);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// Its number: its place in [`Modules::iter`].
    ///
    /// ```
    /// let modules = symidx::process::Modules::capture();
    /// let code = std::process::exit as *const () as usize as u64;
    /// // One counter per module, without a map.
    /// let mut hits = vec![0; modules.len()];
    /// hits[modules.find(code).unwrap().number() as usize] += 1;
    /// assert_eq!(hits.iter().sum::<u32>(), 1);
    /// ```
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The address as the module's symbol table counts; `None` where only the
    /// file offset is known: `Index::svma_of` converts it.
    ///
    /// ```
    /// let modules = symidx::process::Modules::capture();
    /// let code = std::process::exit as *const () as usize as u64;
    /// let svma = modules.find(code).unwrap().svma().unwrap(); // what `nm` prints
    /// assert!(svma.0 < code); // the image was moved up
    /// ```
    #[must_use]
    pub fn svma(&self) -> Option<Svma> {
        self.span.bias.map(|bias| Svma(self.address.wrapping_sub(bias)))
    }

    /// The offset in the module's file.
    ///
    /// ```
    /// let maps = b"400000-401000 r-xp 00002000 08:01 42 /bin/app";
    /// let modules = symidx::process::Modules::from_maps(maps)?;
    /// let offset = modules.find(0x400010).unwrap().file_offset().unwrap();
    /// assert_eq!(offset, symidx::FileOffset(0x2010)); // for `Index::lookup_offset`
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn file_offset(&self) -> Option<FileOffset> {
        let into = self.address.checked_sub(self.span.start)?;
        self.span.file_offset?.checked_add(into).map(FileOffset)
    }

    /// The addresses around it that follow each other in the module's file as
    /// they do in memory.
    ///
    /// ```
    /// let maps = b"400000-401000 r-xp 00002000 08:01 42 /bin/app";
    /// let modules = symidx::process::Modules::from_maps(maps)?;
    /// // The borders of a mapping, as pprof profiles list them.
    /// assert_eq!(modules.find(0x400010).unwrap().span(), 0x400000..0x401000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn span(&self) -> core::ops::Range<u64> {
        self.span.start..self.span.end
    }

    /// True in a mapping of code.
    ///
    /// ```
    /// let modules = symidx::process::Modules::capture();
    /// let data = std::ptr::from_ref(&0u8) as usize as u64;
    /// // An address in data is no frame of a stack.
    /// assert!(!modules.find(data).unwrap().is_executable());
    /// ```
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.span.executable
    }
}

/// Where modules come from, so that changes can be noticed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// This process, where objects are ELF files.
    #[cfg(not(target_vendor = "apple"))]
    Own(crate::sys::loader::Generation),
    /// This process, where they are Mach-O images.
    #[cfg(any(target_vendor = "apple", test))]
    Images(crate::sys::dyld::Generation),
    /// Another process, and a hash of its maps.
    Process { pid: u32, digest: u64 },
    /// A text: it never changes.
    Text,
}

/// The modules of a process at one moment. `Send + Sync`; every question is
/// answered without heap, lock or system call, so it may be asked in a signal
/// handler or an allocator hook.
///
/// | task | call |
/// |---|---|
/// | this process | [`Modules::capture`] |
/// | another one | [`Modules::from_pid`] |
/// | a recorded `/proc/PID/maps` | [`Modules::from_maps`] |
/// | address → module | [`Modules::find`] |
/// | were libraries loaded or unloaded? | [`Modules::changed`] |
///
/// ```
/// let modules = symidx::process::Modules::capture();
/// let code = std::process::exit as *const () as usize as u64;
/// let located = modules.find(code).unwrap();
/// println!("{} {:x?}", located.module().path().display(), located.svma());
/// assert!(located.is_executable());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Modules {
    /// Sorted; none overlap.
    starts: Vec<u64>,
    spans: Vec<Span>,
    modules: Vec<Module>,
    origin: Origin,
}

impl Modules {
    /// The modules of this process: the program, its shared objects, the vDSO,
    /// each with bias, file offsets and build-id or UUID.
    ///
    /// Takes the loader's lock and allocates: call it outside signal handlers
    /// and allocator hooks, and again when [`Modules::changed`] says so.
    ///
    /// ```
    /// let modules = symidx::process::Modules::capture();
    /// for module in &modules {
    ///     println!("{:x?} {} {:?}", module.range(), module.path().display(), module.id());
    /// }
    /// ```
    #[must_use]
    pub fn capture() -> Self {
        own()
    }

    /// From spans in any order; the later one of two that overlap wins.
    pub(crate) fn new(spans: Vec<Span>, modules: Vec<Module>, origin: Origin) -> Self {
        let spans = settle(spans);
        let starts = spans.iter().map(|span| span.start).collect();
        Self { starts, spans, modules, origin }
    }

    /// The module that holds a run-time address, and where in it that is.
    ///
    /// ```
    /// let text = b"400000-401000 r-xp 00000000 08:01 42 /bin/app\n";
    /// let modules = symidx::process::Modules::from_maps(text)?;
    /// assert_eq!(modules.find(0x400010).unwrap().module().path().to_str(), Some("/bin/app"));
    /// assert!(modules.find(0x401000).is_none());
    /// # Ok::<(), symidx::process::MapsError>(())
    /// ```
    #[must_use]
    pub fn find(&self, address: u64) -> Option<Located<'_>> {
        let after = self.starts.partition_point(|&start| start <= address);
        let span = *self.spans.get(after.checked_sub(1)?)?;
        let module = self.modules.get(usize::try_from(span.module).ok()?)?;
        (address < span.end).then_some(Located { module, number: span.module, span, address })
    }

    /// The start of every span, in address order: what a module has mapped is
    /// one or several of them ([`Located::span`]).
    ///
    /// ```
    /// // The mappings of a profile are written from these.
    /// let text = b"400000-401000 r--p 00000000 08:01 42 /bin/app
    /// 401000-403000 r-xp 00001000 08:01 42 /bin/app";
    /// let modules = symidx::process::Modules::from_maps(text)?;
    /// let code: Vec<_> = modules.spans().filter(|s| s.is_executable()).map(|s| s.span()).collect();
    /// assert_eq!(code, [0x401000..0x403000]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spans(&self) -> impl Iterator<Item = Located<'_>> {
        self.starts.iter().filter_map(|&start| self.find(start))
    }

    /// Every module; a module's place here is its number.
    ///
    /// ```
    /// let modules = symidx::process::Modules::capture();
    /// let without_id = modules.iter().filter(|module| module.id().is_none()).count();
    /// println!("{without_id} of {} modules have no build-id", modules.len());
    /// # assert!(without_id < modules.len());
    /// ```
    pub fn iter(&self) -> core::slice::Iter<'_, Module> {
        self.modules.iter()
    }

    /// The module with this number.
    ///
    /// ```
    /// let maps = b"400000-401000 r-xp 00000000 08:01 42 /bin/app";
    /// let modules = symidx::process::Modules::from_maps(maps)?;
    /// let number = modules.find(0x400010).unwrap().number(); // a small number to keep
    /// assert_eq!(modules.get(number).unwrap().inode(), Some(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&Module> {
        self.modules.get(usize::try_from(number).ok()?)
    }

    /// How many there are.
    ///
    /// ```
    /// let maps = b"400000-401000 r-xp 00000000 08:01 42 /bin/app";
    /// let modules = symidx::process::Modules::from_maps(maps)?;
    /// assert_eq!(modules.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.modules.len()
    }

    /// True when there is none.
    ///
    /// ```
    /// // A thread of the kernel, or a process that has ended.
    /// assert!(symidx::process::Modules::from_maps(b"")?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// Bytes of heap it holds.
    pub(crate) fn own_bytes(&self) -> usize {
        let paths = self.modules.iter().fold(0usize, |sum, module| {
            let place = module.place.as_ref().map_or(0, PathBuf::capacity);
            let both = module.path.capacity().saturating_add(module.file.capacity());
            sum.saturating_add(both)
                .saturating_add(place)
                .saturating_add(ALLOCATION.saturating_mul(3))
        });
        paths
            .saturating_add(self.starts.capacity().saturating_mul(size_of::<u64>()))
            .saturating_add(self.spans.capacity().saturating_mul(size_of::<Span>()))
            .saturating_add(self.modules.capacity().saturating_mul(size_of::<Module>()))
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }
}

impl<'m> IntoIterator for &'m Modules {
    type Item = &'m Module;
    type IntoIter = core::slice::Iter<'m, Module>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A segment's span in two: what the file holds, and the memory behind it,
/// which has no file offsets.
pub(crate) fn file_and_memory(span: Span, file_size: u64) -> [Span; 2] {
    let between = span.start.saturating_add(file_size).min(span.end);
    [Span { end: between, ..span }, Span { start: between, file_offset: None, ..span }]
}

/// The spans sorted, none overlapping: where two do, the later one in the list
/// wins, as a mapping replaces what it covers.
fn settle(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| span.start < span.end);
    let sorted = spans.is_sorted_by_key(|span| span.start)
        && spans.iter().zip(spans.iter().skip(1)).all(|(a, b)| a.end <= b.start);
    if sorted {
        return spans;
    }
    let mut settled: std::collections::BTreeMap<u64, Span> = std::collections::BTreeMap::new();
    for span in spans {
        // The one before may reach into this one, and past it.
        if let Some((&start, &before)) = settled.range(..span.start).next_back()
            && before.end > span.start
        {
            settled.insert(start, Span { end: span.start, ..before });
            if before.end > span.end {
                settled.insert(span.end, before.from(span.end));
            }
        }
        while let Some((&start, &covered)) = settled.range(span.start..span.end).next() {
            settled.remove(&start);
            if covered.end > span.end {
                settled.insert(span.end, covered.from(span.end));
            }
        }
        settled.insert(span.start, span);
    }
    settled.into_values().collect()
}

impl Span {
    /// What is left of it from an address on.
    fn from(self, start: u64) -> Self {
        let into = start.wrapping_sub(self.start);
        let file_offset = self.file_offset.map(|offset| offset.wrapping_add(into));
        Self { start, file_offset, ..self }
    }
}

#[cfg(test)]
mod tests;
