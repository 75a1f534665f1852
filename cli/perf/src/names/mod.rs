//! From where an address lies to its symbol: one index per DSO, opened when first needed.
//!
//! In: a [`Place`]. Out: a symbol borrowed from the mapped index, or why there is none.
//! Nothing per symbol is kept in memory.

mod alias;
mod budget;
mod build;
mod kernel;
mod reason;
mod resident;
mod spelling;
mod why;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use symidx::process::{Id, Store};
use symidx::{FileOffset, Index, Svma, Symbol};

use crate::binaries::{Binaries, path_of};
use crate::dsos::{Dso, DsoId, DsoKind};
use crate::inventory::DsoUse;
use crate::session::{Place, Session};

pub use budget::{ANONYMOUS_BYTES, Budget, DsoBudget, Share};
use build::Builder;
pub use build::{BuildMissing, NOT_BUILT};
pub use reason::Reason;
use resident::Resident;
pub use spelling::Spelling;
use spelling::shows_versions;
pub(crate) use why::{Room, Why};

/// Processes whose run-time code is named at a time.
const MOST_JIT: usize = 4096;

/// Bytes of an index for each lookup up to which lookups are dense: about what one reads.
const READ: u64 = 4096;

/// Where names come from.
///
/// ```
/// use symidx_perf::{Binaries, NameOptions};
///
/// let mut options = NameOptions::default();
/// options.stores.push("/srv/symbols".into()); // what `symidx perf index --store` filled
/// options.binaries = Binaries::of_this_machine();
/// options.max_bytes = Some(64 << 20); // mapped; what does not fit has no names
/// ```
#[derive(Debug, Default)]
pub struct NameOptions {
    /// Directories of indexes, looked at before those of the environment.
    pub stores: Vec<PathBuf>,
    /// Text with the kernel's symbols, in place of what is found.
    pub kallsyms: Option<PathBuf>,
    /// The kernel's file, the same.
    pub vmlinux: Option<PathBuf>,
    /// Build indexes that are missing.
    pub build: Option<BuildMissing>,
    /// Where the recorded files are now.
    pub binaries: Binaries,
    /// Bound on the bytes of all open indexes.
    pub max_bytes: Option<u64>,
}

/// What became of one DSO's index.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) enum Opened {
    /// No address needed it.
    Unneeded,
    /// Its bytes.
    Index(u64),
    /// Why there is none.
    Missing(Reason, Why),
}

/// The indexes of all DSOs.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// // Indexes are opened as addresses need them, and none is looked at twice.
/// assert_eq!(names.mapped_bytes(), 0);
/// session.next_sample()?;
/// let located = session.sample().unwrap();
/// for (_, place) in located.frames(127) {
///     let place = place.unwrap();
///     names.find(place, located.dso(place.dso).unwrap(), &session);
/// }
/// assert_eq!(names.mapped_bytes(), 3213);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Names {
    options: NameOptions,
    store: Store,
    builder: Builder,
    states: Vec<State>,
    jit: HashMap<i32, State>,
    /// The process without names for its run-time code that was asked for last.
    nameless: Option<(i32, Reason)>,
    /// The kernel's symbols, shared by it and its modules.
    kallsyms: Option<Result<Box<Opening>, (Reason, Why)>>,
    /// For the sentences of [`State::Missing`].
    room: Room,
    /// DSOs that the bound leaves out, decided beforehand.
    excluded: Vec<bool>,
    bytes: u64,
    resident: Resident,
    /// The last addresses in order were that many.
    was_dense: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Unopened,
    Open(Box<Opening>),
    /// In the kernel's symbols.
    Kernel,
    /// All of it is named by its own name.
    Whole,
    Missing(Reason, Why),
}

#[derive(Debug)]
struct Opening {
    index: Index<'static>,
    /// What to take off an address; for files nothing.
    slide: u64,
    bytes: u64,
    /// Names in its symbol table have their versions.
    versions: bool,
}

/// What an address is called.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// use symidx_perf::Answer;
///
/// session.next_sample()?;
/// let located = session.sample().unwrap();
/// let (_, place) = located.frames(127).next().unwrap();
/// let place = place.unwrap();
/// let answer = names.find(place, located.dso(place.dso).unwrap(), &session);
/// let Answer::Symbol(symbol, _, svma, _) = answer else { panic!("{answer:?}") };
/// assert_eq!((symbol.name().to_string().as_str(), svma.0), ("outer", 0x4001a8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// A symbol, the index it is in, the address there, and whether perf shows the
    /// versions of names.
    Symbol(Symbol<'a>, &'a Index<'static>, Svma, bool),
    /// The DSO's own name is that of all its code; the offset in it.
    Whole(u64),
    /// No name.
    Unknown(Reason),
}

/// What can be said of an address without a look into an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// Its index may know.
    Index,
    /// Its DSO is all one symbol.
    Whole,
    /// It has no name.
    Unknown(Reason),
}

impl Names {
    /// Nothing open yet.
    ///
    /// ```
    /// use symidx_perf::{NameOptions, Names};
    ///
    /// let names = Names::new(NameOptions::default()); // the places of every store: see `Store`
    /// assert_eq!(names.mapped_bytes(), 0);
    /// ```
    #[must_use]
    pub fn new(mut options: NameOptions) -> Self {
        // SAFETY: indexes are replaced by rename and never edited, here and by
        // `symidx build`; whoever edits one in place ends this process at worst.
        #[allow(unsafe_code)]
        let mut store = unsafe { Store::mapped() };
        for directory in &options.stores {
            store = store.with_directory(directory);
        }
        let builder = Builder::new(options.build.take());
        Self {
            options,
            store,
            builder,
            states: Vec::new(),
            jit: HashMap::new(),
            nameless: None,
            kallsyms: None,
            room: Room::default(),
            excluded: Vec::new(),
            bytes: 0,
            resident: Resident::new(),
            was_dense: false,
        }
    }

    /// Bytes of all open indexes.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
    /// let options = symidx_perf::ScriptOptions::default();
    /// symidx_perf::script(&mut session, &mut names, &options, &mut Vec::new(), |_| {})?;
    /// assert_eq!(names.mapped_bytes(), 3213);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn mapped_bytes(&self) -> u64 {
        self.bytes
    }

    /// Indexes built.
    ///
    /// ```
    /// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
    /// assert_eq!(names.built(), 0); // none was asked for: see `BuildMissing`
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn built(&self) -> u64 {
        self.builder.built
    }

    /// What became of a DSO's index.
    #[must_use]
    pub(crate) fn opened(&self, id: DsoId) -> Opened {
        let missing = |reason: &Reason, why: &Why| Opened::Missing(*reason, why.clone());
        match self.states.get(id.number()) {
            None | Some(State::Unopened) => Opened::Unneeded,
            Some(State::Open(opening)) => Opened::Index(opening.bytes),
            Some(State::Whole) => Opened::Index(0),
            Some(State::Kernel) => match &self.kallsyms {
                Some(Ok(opening)) => Opened::Index(opening.bytes),
                Some(Err((reason, why))) => missing(reason, why),
                None => Opened::Unneeded,
            },
            Some(State::Missing(reason, why)) => missing(reason, why),
        }
    }

    /// Leaves a DSO's index closed: the bound on bytes has no room for it.
    fn exclude(&mut self, id: DsoId) {
        let at = id.number();
        if self.excluded.len() <= at {
            self.excluded.resize(at.saturating_add(1), false);
        }
        if let Some(excluded) = self.excluded.get_mut(at) {
            *excluded = true;
        }
    }

    fn close_all(&mut self) {
        self.states.clear();
        self.jit.clear();
        self.nameless = None;
        self.kallsyms = None;
        self.room = Room::default();
        self.bytes = 0;
    }

    /// What an address is called.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
    /// use symidx_perf::Answer;
    ///
    /// session.next_sample()?;
    /// let located = session.sample().unwrap();
    /// let place = located.frames(127).next().unwrap().1.unwrap();
    /// match names.find(place, located.dso(place.dso).unwrap(), &session) {
    ///     Answer::Symbol(symbol, ..) => assert_eq!(symbol.name(), "outer"),
    ///     other => panic!("{other:?}"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn find(&mut self, place: Place, dso: &Dso, session: &Session) -> Answer<'_> {
        if self.resident.is_too_much() {
            self.release_pages();
        }
        self.prepare(place, dso, session);
        let opening = match self.opening(place) {
            Ok(Some(opening)) => opening,
            Ok(None) => return Answer::Whole(place.address),
            Err(reason) => return Answer::Unknown(reason),
        };
        let svma = match dso.kind {
            DsoKind::File | DsoKind::Vdso => opening.index.svma_of(FileOffset(place.address)),
            DsoKind::Jit => Some(Svma(place.address)),
            // Modules do not move with the kernel: another boot's are elsewhere.
            DsoKind::Module if opening.slide != 0 => None,
            _ => Some(kernel::svma(place.address, opening.slide)),
        };
        answer(opening, svma)
    }

    /// What can be said of an address without a look into an index, which is opened here
    /// if it has to be.
    #[inline]
    pub(crate) fn outlook(&mut self, place: Place, dso: &Dso, session: &Session) -> Outlook {
        if place.dso == DsoId::JIT
            && let Some((pid, reason)) = self.nameless
            && pid == place.pid
        {
            return Outlook::Unknown(reason);
        }
        self.prepare(place, dso, session);
        match self.opening(place) {
            Ok(Some(_)) => Outlook::Index,
            Ok(None) => Outlook::Whole,
            Err(reason) => {
                if place.dso == DsoId::JIT {
                    self.nameless = Some((place.pid, reason));
                }
                Outlook::Unknown(reason)
            }
        }
    }

    /// Says that so many addresses come in order. Where they are so many that most pages of
    /// the indexes are needed once, few need be resident at a time.
    pub(crate) fn in_order(&mut self, addresses: usize) {
        let read = u64::try_from(addresses).unwrap_or(u64::MAX).saturating_mul(READ);
        let is_dense = read > self.bytes;
        self.resident.in_order(is_dense || self.was_dense);
        self.was_dense = is_dense;
    }

    /// Says that addresses come in any order.
    pub(crate) fn in_any_order(&mut self) {
        self.resident.in_order(false);
    }

    /// Opens what an address needs.
    #[inline]
    fn prepare(&mut self, place: Place, dso: &Dso, session: &Session) {
        if place.dso == DsoId::JIT {
            self.prepare_jit(place);
        } else if matches!(self.states.get(place.dso.number()), None | Some(State::Unopened)) {
            self.open(place.dso, dso, place.pid, session);
        }
    }

    /// The index for an address; `None`: its DSO is all one symbol.
    #[inline]
    fn opening(&self, place: Place) -> Result<Option<&Opening>, Reason> {
        let state = match place.dso == DsoId::JIT {
            true => self.jit.get(&place.pid),
            false => self.states.get(place.dso.number()),
        };
        match state {
            Some(State::Open(opening)) => Ok(Some(opening)),
            Some(State::Whole) => Ok(None),
            Some(State::Missing(reason, _)) => Err(*reason),
            Some(State::Kernel) => match &self.kallsyms {
                Some(Ok(opening)) => Ok(Some(opening)),
                Some(Err((reason, _))) => Err(*reason),
                None => Err(Reason::NoIndex),
            },
            Some(State::Unopened) | None => Err(match place.dso == DsoId::JIT {
                true => Reason::NoMapFile,
                false => Reason::NoIndex,
            }),
        }
    }

    /// Lets go of the pages of all open indexes.
    fn release_pages(&self) {
        let states = self.states.iter().chain(self.jit.values());
        let open = states.filter_map(|state| match state {
            State::Open(opening) => Some(opening),
            _ => None,
        });
        let kernel = self.kallsyms.iter().flatten();
        open.chain(kernel).for_each(|opening| opening.index.release());
    }

    fn prepare_jit(&mut self, place: Place) {
        if self.jit.contains_key(&place.pid) {
            return;
        }
        if self.jit.len() >= MOST_JIT {
            let open = self.jit.values().map(|state| match state {
                State::Open(opening) => opening.bytes,
                _ => 0,
            });
            self.bytes = self.bytes.saturating_sub(open.sum());
            self.jit.clear();
        }
        let state = match self.open_jit(place.pid) {
            // Nobody asks for more words: there is a count for all processes.
            State::Missing(reason, _) => State::Missing(reason, reason.text().into()),
            state => state,
        };
        self.jit.insert(place.pid, state);
    }

    fn open(&mut self, id: DsoId, dso: &Dso, pid: i32, session: &Session) {
        let at = id.number();
        if self.states.len() <= at {
            self.states.resize_with(at.saturating_add(1), State::default);
        }
        if !matches!(self.states.get(at), Some(State::Unopened)) {
            return;
        }
        let state = match dso.kind {
            _ if self.excluded.get(at).copied().unwrap_or(false) => {
                State::Missing(Reason::OverBudget, "its index does not fit the bound".into())
            }
            DsoKind::File | DsoKind::Vdso => self.open_file(id, dso, pid),
            DsoKind::Kernel => self.open_kernel(dso, session),
            DsoKind::Module => self.open_modules(session),
            DsoKind::Ksymbol => State::Whole,
            DsoKind::Memory => State::Missing(Reason::NotCode, "it is memory without code".into()),
            DsoKind::Rest => {
                State::Missing(Reason::TooManyFiles, "more files than are kept".into())
            }
            DsoKind::Jit => State::Unopened,
        };
        let state = match state {
            State::Missing(reason, why) => State::Missing(reason, self.room.keep(why, reason)),
            state => state,
        };
        if let Some(slot) = self.states.get_mut(at) {
            *slot = state;
        }
    }

    fn open_file(&mut self, id: DsoId, dso: &Dso, pid: i32) -> State {
        let recorded = dso.build_id.and_then(|id| Id::new(id.as_bytes()));
        let used = DsoUse::alone(id, dso.clone(), pid);
        // Without an id it is the file that counts, wherever it is now.
        let file = match (&recorded, self.options.binaries.find(&used)) {
            (None, Ok(binary)) => binary.path,
            _ => path_of(&dso.name),
        };
        if let Ok(index) = self.store.find(&file, recorded.as_ref()) {
            return self.accept(index, 0);
        }
        let built = self.builder.index(used, &self.options.binaries);
        self.accept_built(built, |_| Some(0))
    }

    fn accept_built(
        &mut self,
        path: Result<PathBuf, Why>,
        slide: impl FnOnce(&Index<'static>) -> Option<u64>,
    ) -> State {
        let index = path.and_then(|path| {
            // SAFETY: as in `new`.
            #[allow(unsafe_code)]
            unsafe { Index::map(&path) }
                .map_err(|error| format!("{}: {error}", path.display()).into())
        });
        match index {
            Ok(index) => match slide(&index) {
                Some(slide) => self.accept(index, slide),
                None => State::Missing(Reason::NoIndex, kernel::NO_SYMBOL.into()),
            },
            Err(why) => State::Missing(Reason::NoIndex, why),
        }
    }

    fn open_kernel(&mut self, dso: &Dso, session: &Session) -> State {
        if let Some(vmlinux) = self.options.vmlinux.clone() {
            let base = session.kernel_base();
            let built = match self.store.find(&vmlinux, None) {
                Ok(index) => {
                    return match kernel::slide(&index, base) {
                        Some(slide) => self.accept(index, slide),
                        None => State::Missing(Reason::NoIndex, kernel::NO_SYMBOL.into()),
                    };
                }
                Err(_) => self.builder.file(&vmlinux),
            };
            return self.accept_built(built, |index| kernel::slide(index, base));
        }
        // The index of the recorded vmlinux, if a store has it.
        if self.options.kallsyms.is_none()
            && let Some(id) = dso.build_id.and_then(|id| Id::new(id.as_bytes()))
            && let Ok(index) = self.store.find("vmlinux".as_ref(), Some(&id))
            && let Some(slide) = kernel::slide(&index, session.kernel_base())
        {
            return self.accept(index, slide);
        }
        self.open_modules(session)
    }

    /// The kernel's symbols as text, which has those of its modules too.
    fn open_modules(&mut self, session: &Session) -> State {
        if self.kallsyms.is_none() {
            let opened = match self.open_kallsyms(session) {
                State::Open(opening) => Ok(opening),
                State::Missing(reason, why) => Err((reason, why)),
                _ => Err((Reason::NoIndex, Why::default())),
            };
            self.kallsyms = Some(opened);
        }
        State::Kernel
    }

    fn open_kallsyms(&mut self, session: &Session) -> State {
        let base = session.kernel_base();
        let slide = |index: &Index<'static>| Some(kernel::slide(index, base).unwrap_or(0));
        let kernel =
            session.dsos().iter().zip(0usize..).find(|(dso, _)| dso.kind == DsoKind::Kernel);
        let Some((dso, number)) = kernel else {
            return State::Missing(Reason::NoIndex, "the profile does not say which kernel".into());
        };
        let mut dso = dso.clone();
        dso.build_id = dso.build_id.or_else(|| kernel::recorded_here(session.reader().header()));
        let used = DsoUse::alone(DsoId::at(number), dso.clone(), -1);
        // A copy of the text is a file without an id; what ran is named by the kernel's.
        if let Ok(binary) = self.options.binaries.find(&used)
            && let Ok(index) = self.store.find(&binary.path, None)
        {
            let slide = slide(&index).unwrap_or(0);
            return self.accept(index, slide);
        }
        if self.options.kallsyms.is_none()
            && let Some(id) = dso.build_id
            && let Some(path) = kernel::indexed(&self.options.stores, id)
        {
            return self.accept_built(Ok(path), slide);
        }
        let built = self.builder.index(used, &self.options.binaries);
        self.accept_built(built, slide)
    }

    fn open_jit(&mut self, pid: i32) -> State {
        // Below the root of a copy, where there is one: a process of this machine with the
        // same number is another one.
        let file = match self.options.binaries.map(pid) {
            Ok(binary) => binary.path,
            Err(why) => return State::Missing(Reason::NoMapFile, why.to_string().into()),
        };
        // Anyone may have put an index beside it: in `/tmp`, others too.
        let mut beside = file.clone().into_os_string();
        beside.push(".symidx");
        let beside = PathBuf::from(beside);
        let is_others = beside.symlink_metadata().is_ok() && !is_trusted(&beside);
        if !is_others && let Ok(index) = self.store.find(&file, None) {
            return self.accept(index, 0);
        }
        let built = self.builder.file(&file);
        self.accept_built(built, |_| Some(0))
    }

    /// Takes an index in if the bound has room for it.
    fn accept(&mut self, index: Index<'static>, slide: u64) -> State {
        let bytes = u64::try_from(index.as_bytes().len()).unwrap_or(u64::MAX);
        let total = self.bytes.saturating_add(bytes);
        if self.options.max_bytes.is_some_and(|bound| total > bound) {
            let why = format!("its index of {bytes} bytes does not fit the bound");
            return State::Missing(Reason::OverBudget, why.into());
        }
        self.bytes = total;
        let versions = shows_versions(&index);
        State::Open(Box::new(Opening { index, slide, bytes, versions }))
    }
}

#[inline]
fn answer(opening: &Opening, svma: Option<Svma>) -> Answer<'_> {
    let Some(svma) = svma else { return Answer::Unknown(Reason::NoSymbol) };
    match opening.index.lookup(svma) {
        Ok(Some(symbol)) => Answer::Symbol(symbol, &opening.index, svma, opening.versions),
        Ok(None) => Answer::Unknown(Reason::NoSymbol),
        Err(_) => Answer::Unknown(Reason::Damaged),
    }
}

/// perf's rule for a map of run-time code: it is the user's own, or root's.
pub(crate) fn is_trusted(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(metadata), Ok(link)) = (file.metadata(), file.symlink_metadata()) else {
        return false;
    };
    let own = std::fs::metadata("/proc/self").map(|own| own.uid());
    // A link counts as what it leads to only if its maker is trusted too: in `/tmp`
    // anyone can make one to a file of root's.
    let trusted = |uid| uid == 0 || own.as_ref().is_ok_and(|own| *own == uid);
    // Files of the kernel say that they are empty, and reading one may wait.
    metadata.is_file() && metadata.len() != 0 && trusted(metadata.uid()) && trusted(link.uid())
}
