//! From where an address lies to its symbol: one index per DSO, opened when first needed.
//!
//! In: a [`Place`]. Out: a symbol borrowed from the mapped index, or why there is none.
//! Nothing per symbol is kept in memory.

mod alias;
mod build;
mod kernel;
mod reason;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use symidx::process::{Id, Missing, Store};
use symidx::{FileOffset, Index, Name, Svma, Symbol};
use symidx_indexer::demangle::Demangler;

use crate::build_id::BuildId;
use crate::dsos::{Dso, DsoId, DsoKind};
use crate::error::Error;
use crate::inventory::Inventory;
use crate::session::{Place, Session};

pub use reason::Reason;

/// Processes whose run-time code is named at a time.
const MOST_JIT: usize = 4096;

/// Where names come from.
#[derive(Debug, Default)]
pub struct NameOptions {
    /// Directories of indexes, looked at before those of the environment.
    pub stores: Vec<PathBuf>,
    /// Text with the kernel's symbols, in place of what is found.
    pub kallsyms: Option<PathBuf>,
    /// The kernel's file, the same.
    pub vmlinux: Option<PathBuf>,
    /// Build missing indexes into this store.
    pub build: Option<PathBuf>,
    /// Build them without lines.
    pub names_only: bool,
    /// Bound on the bytes of all open indexes.
    pub max_bytes: Option<u64>,
    /// perf's cache; `~/.debug` if not given.
    pub debug_dir: Option<PathBuf>,
}

/// What became of one DSO's index.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Opened {
    /// No address needed it.
    Unneeded,
    /// Its bytes.
    Index(u64),
    /// Why there is none.
    Missing(Reason, String),
}

/// The indexes of all DSOs.
#[derive(Debug)]
pub struct Names {
    options: NameOptions,
    store: Store,
    states: Vec<State>,
    jit: HashMap<i32, State>,
    /// The kernel's symbols, shared by it and its modules.
    kallsyms: Option<Result<Box<Opening>, (Reason, String)>>,
    /// DSOs that the bound leaves out, decided beforehand.
    excluded: Vec<bool>,
    bytes: u64,
    built: u64,
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
    Missing(Reason, String),
}

#[derive(Debug)]
struct Opening {
    index: Index<'static>,
    /// What to take off an address; for files nothing.
    slide: u64,
    bytes: u64,
}

/// What an address is called.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// A symbol, the index it is in, and the address there.
    Symbol(Symbol<'a>, &'a Index<'static>, Svma),
    /// The DSO's own name is that of all its code; the offset in it.
    Whole(u64),
    /// No name.
    Unknown(Reason),
}

impl Names {
    /// Nothing open yet.
    #[must_use]
    pub fn new(mut options: NameOptions) -> Self {
        if options.debug_dir.is_none() {
            let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
            options.debug_dir = home.map(|home| PathBuf::from(home).join(".debug"));
        }
        // SAFETY: indexes are replaced by rename and never edited, here and by
        // `symidx build`; whoever edits one in place ends this process at worst.
        #[allow(unsafe_code)]
        let mut store = unsafe { Store::mapped() };
        for directory in &options.stores {
            store = store.with_directory(directory);
        }
        Self {
            options,
            store,
            states: Vec::new(),
            jit: HashMap::new(),
            kallsyms: None,
            excluded: Vec::new(),
            bytes: 0,
            built: 0,
        }
    }

    /// Bytes of all open indexes.
    #[must_use]
    pub fn mapped_bytes(&self) -> u64 {
        self.bytes
    }

    /// Indexes built.
    #[must_use]
    pub fn built(&self) -> u64 {
        self.built
    }

    /// What became of a DSO's index.
    #[must_use]
    pub fn opened(&self, id: DsoId) -> Opened {
        let missing = |reason: &Reason, why: &str| Opened::Missing(*reason, why.to_owned());
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

    /// Leaves out the indexes that `bound` bytes have no room for. Those that name most
    /// frames per byte go in first: so each byte is worth most, and one large index of
    /// few frames does not keep many small ones out. Reads the profile once.
    ///
    /// # Errors
    /// As [`Session::next_sample`].
    pub fn choose(&mut self, session: &mut Session, most: usize, bound: u64) -> Result<(), Error> {
        let inventory = Inventory::read(session, most)?;
        let unbounded = self.options.max_bytes.take();
        let mut sizes: Vec<(u64, u64, DsoId)> = Vec::new();
        // The kernel and its modules share one index.
        let mut kernel = (0u64, 0u64, Vec::new());
        for used in inventory.dsos.iter().filter(|used| used.frames != 0) {
            self.open(used.id, &used.dso, session);
            let Opened::Index(bytes) = self.opened(used.id) else { continue };
            match self.states.get(used.id.number()) {
                Some(State::Kernel) => {
                    kernel.0 = kernel.0.saturating_add(used.frames);
                    kernel.1 = bytes;
                    kernel.2.push(used.id);
                }
                _ => sizes.push((used.frames, bytes, used.id)),
            }
        }
        sizes.extend(kernel.2.first().map(|&id| (kernel.0, kernel.1, id)));
        let fits = most_frames_per_byte(&mut sizes, bound);
        self.close_all();
        self.options.max_bytes = unbounded;
        for &(_, _, id) in sizes.get(fits..).unwrap_or(&[]) {
            match kernel.2.first() == Some(&id) {
                true => kernel.2.iter().for_each(|&id| self.exclude(id)),
                false => self.exclude(id),
            }
        }
        Ok(())
    }

    fn close_all(&mut self) {
        self.states.clear();
        self.jit.clear();
        self.kallsyms = None;
        self.bytes = 0;
    }

    /// What an address is called.
    #[inline]
    pub fn find(&mut self, place: Place, dso: &Dso, session: &Session) -> Answer<'_> {
        if place.dso == DsoId::JIT {
            return self.find_jit(place);
        }
        let at = place.dso.number();
        if matches!(self.states.get(at), None | Some(State::Unopened)) {
            self.open(place.dso, dso, session);
        }
        let opening = match self.states.get(at) {
            Some(State::Open(opening)) => opening,
            Some(State::Whole) => return Answer::Whole(place.address),
            Some(State::Missing(reason, _)) => return Answer::Unknown(*reason),
            Some(State::Kernel) => match &self.kallsyms {
                Some(Ok(opening)) => opening,
                Some(Err((reason, _))) => return Answer::Unknown(*reason),
                None => return Answer::Unknown(Reason::NoIndex),
            },
            Some(State::Unopened) | None => return Answer::Unknown(Reason::NoIndex),
        };
        let svma = match dso.kind {
            DsoKind::File | DsoKind::Vdso => opening.index.svma_of(FileOffset(place.address)),
            // Modules do not move with the kernel: another boot's are elsewhere.
            DsoKind::Module if opening.slide != 0 => None,
            _ => Some(kernel::svma(place.address, opening.slide)),
        };
        answer(&opening.index, svma)
    }

    fn find_jit(&mut self, place: Place) -> Answer<'_> {
        if !self.jit.contains_key(&place.pid) {
            if self.jit.len() >= MOST_JIT {
                self.jit.clear();
            }
            let state = self.open_jit(place.pid);
            self.jit.insert(place.pid, state);
        }
        match self.jit.get(&place.pid) {
            Some(State::Open(opening)) => answer(&opening.index, Some(Svma(place.address))),
            Some(State::Missing(reason, _)) => Answer::Unknown(*reason),
            _ => Answer::Unknown(Reason::NoMapFile),
        }
    }

    fn open(&mut self, id: DsoId, dso: &Dso, session: &Session) {
        let at = id.number();
        if self.states.len() <= at {
            self.states.resize_with(at.saturating_add(1), State::default);
        }
        if !matches!(self.states.get(at), Some(State::Unopened)) {
            return;
        }
        let state = match dso.kind {
            _ if self.excluded.get(at).copied().unwrap_or(false) => {
                State::Missing(Reason::OverBudget, "its index does not fit the bound".to_owned())
            }
            DsoKind::File | DsoKind::Vdso => self.open_file(dso),
            DsoKind::Kernel => self.open_kernel(dso, session),
            DsoKind::Module => self.open_modules(session),
            DsoKind::Ksymbol => State::Whole,
            DsoKind::Memory => {
                State::Missing(Reason::NotCode, "it is memory without code".to_owned())
            }
            DsoKind::Rest => {
                State::Missing(Reason::TooManyFiles, "more files than are kept".to_owned())
            }
            DsoKind::Jit => State::Unopened,
        };
        if let Some(slot) = self.states.get_mut(at) {
            *slot = state;
        }
    }

    fn open_file(&mut self, dso: &Dso) -> State {
        let path = path_of(&dso.name);
        let id = dso.build_id.and_then(|id| Id::new(id.as_bytes()));
        let missing = match self.store.find(&path, id.as_ref()) {
            Ok(index) => return self.accept(index, 0),
            Err(missing) => missing,
        };
        let files = match dso.kind {
            DsoKind::Vdso => self.cached(dso.build_id, &["vdso"]),
            _ => {
                let mut files = vec![path.clone()];
                files.extend(self.cached(dso.build_id, &["elf", "debug"]));
                files
            }
        };
        let mut why = match missing {
            Missing::NotFound => None,
            other => Some(other.to_string()),
        };
        for file in files {
            if !file.is_file() {
                continue;
            }
            if let Some(expected) = dso.build_id
                && !is_build(&file, expected)
            {
                why = why.or(Some("the file there now is another build".to_owned()));
                continue;
            }
            match self.build_and_find(&file, id.as_ref()) {
                Ok(index) => return self.accept(index, 0),
                Err(error) => why = why.or(Some(error)),
            }
        }
        let gone = || "neither an index nor the file was found".to_owned();
        State::Missing(Reason::NoIndex, why.unwrap_or_else(gone))
    }

    fn build_and_find(&mut self, file: &Path, id: Option<&Id>) -> Result<Index<'static>, String> {
        let Some(directory) = &self.options.build else {
            return Err("it has no index, and none was to be built".to_owned());
        };
        build::build_into(directory, file, self.options.names_only)?;
        self.built = self.built.saturating_add(1);
        self.store.find(file, id).map_err(|missing| missing.to_string())
    }

    /// perf's own copies of a file.
    fn cached(&self, id: Option<BuildId>, names: &[&str]) -> Vec<PathBuf> {
        match (&self.options.debug_dir, id) {
            (Some(directory), Some(id)) => {
                names.iter().map(|name| kernel::in_cache(directory, id, name)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn open_kernel(&mut self, dso: &Dso, session: &Session) -> State {
        let given = self.options.vmlinux.clone();
        if let Some(vmlinux) = &given {
            return match self.vmlinux(vmlinux, None, session) {
                Ok(state) => state,
                Err(why) => State::Missing(Reason::NoIndex, why),
            };
        }
        if self.options.kallsyms.is_none()
            && let Some(id) = dso.build_id
            && let Some(id) = Id::new(id.as_bytes())
        {
            let mut files = self.cached(dso.build_id, &["vmlinux", "elf"]);
            files.retain(|file| file.is_file());
            let file = files.first().cloned().unwrap_or_else(|| PathBuf::from("vmlinux"));
            if let Ok(state) = self.vmlinux(&file, Some(&id), session) {
                return state;
            }
        }
        self.open_modules(session)
    }

    fn vmlinux(
        &mut self,
        file: &Path,
        id: Option<&Id>,
        session: &Session,
    ) -> Result<State, String> {
        let index = match self.store.find(file, id) {
            Ok(index) => index,
            Err(_) => self.build_and_find(file, id)?,
        };
        let Some(slide) = kernel::slide(&index, session.kernel_base()) else {
            return Err(
                "it does not have the symbol that the profile places the kernel by".to_owned()
            );
        };
        Ok(self.accept(index, slide))
    }

    /// The kernel's symbols as text, which has those of its modules too.
    fn open_modules(&mut self, session: &Session) -> State {
        if self.kallsyms.is_none() {
            let kernel = session.dsos().iter().find(|dso| dso.kind == DsoKind::Kernel);
            let opened = self.open_kallsyms(kernel.and_then(|dso| dso.build_id), session);
            self.kallsyms = Some(opened);
        }
        State::Kernel
    }

    fn open_kallsyms(
        &mut self,
        id: Option<BuildId>,
        session: &Session,
    ) -> Result<Box<Opening>, (Reason, String)> {
        let files = match &self.options.kallsyms {
            Some(file) => vec![file.clone()],
            None => kernel::kallsyms(id, self.options.debug_dir.as_deref()),
        };
        let mut why = None;
        for file in files.iter().filter(|file| file.exists()) {
            let found = match self.store.find(file, None) {
                Ok(index) => Ok(index),
                Err(_) => self.build_and_find(file, None),
            };
            match found {
                Ok(index) => {
                    let slide = kernel::slide(&index, session.kernel_base()).unwrap_or(0);
                    return match self.accept(index, slide) {
                        State::Open(opening) => Ok(opening),
                        State::Missing(reason, why) => Err((reason, why)),
                        _ => Err((Reason::NoIndex, String::new())),
                    };
                }
                Err(error) => why = why.or(Some(error)),
            }
        }
        let none = || match id {
            Some(id) => format!("no kallsyms of the kernel {id} found; give --kallsyms"),
            None => "no kallsyms found; give --kallsyms".to_owned(),
        };
        Err((Reason::NoIndex, why.unwrap_or_else(none)))
    }

    fn open_jit(&mut self, pid: i32) -> State {
        let file = PathBuf::from(format!("/tmp/perf-{pid}.map"));
        if !is_trusted(&file) {
            return State::Missing(Reason::NoMapFile, "no map of run-time code".to_owned());
        }
        let found = match self.store.find(&file, None) {
            Ok(index) => Ok(index),
            Err(_) => self.build_and_find(&file, None),
        };
        match found {
            Ok(index) => self.accept(index, 0),
            Err(why) => State::Missing(Reason::NoMapFile, why),
        }
    }

    /// Takes an index in if the bound has room for it.
    fn accept(&mut self, index: Index<'static>, slide: u64) -> State {
        let bytes = u64::try_from(index.as_bytes().len()).unwrap_or(u64::MAX);
        let total = self.bytes.saturating_add(bytes);
        if self.options.max_bytes.is_some_and(|bound| total > bound) {
            let why = format!("its index of {bytes} bytes does not fit the bound");
            return State::Missing(Reason::OverBudget, why);
        }
        self.bytes = total;
        State::Open(Box::new(Opening { index, slide, bytes }))
    }
}

/// Sorts DSOs (frames, bytes) by frames per byte, the fitting ones in front; how many
/// fit. One that does not fit is passed over: a smaller one behind it may.
fn most_frames_per_byte(sizes: &mut Vec<(u64, u64, DsoId)>, bound: u64) -> usize {
    let worth = |&(frames, bytes, id): &(u64, u64, DsoId), other: &(u64, u64, DsoId)| {
        let left = u128::from(frames).saturating_mul(other.1.into());
        let right = u128::from(other.0).saturating_mul(bytes.into());
        right.cmp(&left).then(id.cmp(&other.2))
    };
    sizes.sort_by(worth);
    let mut left = bound;
    let (fitting, rest): (Vec<_>, Vec<_>) = sizes.drain(..).partition(|&(_, bytes, _)| {
        let fits = bytes <= left;
        left = left.saturating_sub(if fits { bytes } else { 0 });
        fits
    });
    let count = fitting.len();
    sizes.extend(fitting);
    sizes.extend(rest);
    count
}

#[inline]
fn answer<'a>(index: &'a Index<'static>, svma: Option<Svma>) -> Answer<'a> {
    let Some(svma) = svma else { return Answer::Unknown(Reason::NoSymbol) };
    match index.lookup(svma) {
        Ok(Some(symbol)) => Answer::Symbol(symbol, index, svma),
        Ok(None) => Answer::Unknown(Reason::NoSymbol),
        Err(_) => Answer::Unknown(Reason::Damaged),
    }
}

/// A path of a profile as one of this system.
fn path_of(name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(name))
}

/// True when the file has this build-id.
fn is_build(file: &Path, expected: BuildId) -> bool {
    use symidx_indexer::input::{self, ReadOptions};
    let store = symidx_indexer::model::Store::new();
    let Ok(input) = input::open(file, &store) else { return false };
    let identified = input::identify(&input.path, input.data, &ReadOptions::default());
    identified.is_ok_and(|found| found.build_id.is_some_and(|id| expected.is_of(&id)))
}

/// perf's rule for a map of run-time code: it is the user's own, or root's.
fn is_trusted(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(metadata) = file.metadata() else { return false };
    let own = std::fs::metadata("/proc/self").map(|own| own.uid());
    metadata.is_file() && (metadata.uid() == 0 || own.is_ok_and(|own| own == metadata.uid()))
}

/// Which name of a symbol is shown, and how.
#[derive(Debug)]
pub struct Spelling {
    demangler: Demangler,
    demangle: bool,
}

impl Spelling {
    /// Names demangled, or as they are.
    #[must_use]
    pub fn new(demangle: bool) -> Self {
        Self { demangler: Demangler::new(demangle), demangle }
    }

    /// Appends the name that perf shows for a symbol.
    pub fn symbol(&mut self, symbol: &Symbol<'_>, index: &Index<'_>, out: &mut Vec<u8>) {
        let name = alias::perf_name(symbol, |name| self.length(name, index));
        self.name(name.unwrap_or_else(|_| symbol.name()), index, out);
    }

    /// Appends a name: without parameters when it is demangled, as perf does.
    pub fn name(&mut self, name: Name<'_>, index: &Index<'_>, out: &mut Vec<u8>) {
        let bytes = name.as_bytes().unwrap_or(&[]);
        if self.demangle {
            if let Ok(Some(display)) = index.display_name(name) {
                display.short().pieces().for_each(|piece| out.extend_from_slice(piece));
                return;
            }
            if let Some(texts) = self.demangler.texts(bytes) {
                out.extend_from_slice(texts.short);
                return;
            }
        }
        out.extend_from_slice(bytes);
    }

    fn length(&mut self, name: Name<'_>, index: &Index<'_>) -> usize {
        let bytes = name.as_bytes().unwrap_or(&[]);
        if !self.demangle {
            return bytes.len();
        }
        match index.display_name(name) {
            Ok(Some(display)) => display.short().len(),
            _ => self.demangler.texts(bytes).map_or(bytes.len(), |texts| texts.short.len()),
        }
    }
}
