//! The resolver: run-time addresses in, symbols and frames out.
//!
//! Holds the modules of one process and the indexes that a store has opened
//! for them. Opening is a step of its own; answers borrow from the maps and
//! need no heap, no lock and no system call.

use std::io;
use std::sync::Arc;
use std::vec::Vec;

use crate::address::Svma;
use crate::answer::Symbol;
use crate::batch::Sorted;
use crate::frames::Frames;
use crate::index::Index;
use crate::process::budget::{Budget, ModuleBudget};
use crate::process::modules::{Located, Module, ModuleKind, Modules};
use crate::process::store::{Missing, Slot, Store, size_of_index};
use crate::process::unknown::{Statistics, Unknown};

/// What a resolver knows of one module.
#[derive(Debug)]
struct State {
    slot: Option<Arc<Slot>>,
    missing: Option<Missing>,
    /// Addresses of the batch at hand that lie in it.
    hits: u32,
}

/// An index for run-time addresses that no file holds.
#[derive(Debug)]
struct Overlay {
    start: u64,
    last: u64,
    bias: u64,
    index: Index<'static>,
}

/// A symbol at a run-time address.
#[derive(Clone, Copy, Debug)]
pub struct Resolved<'r> {
    module: Option<&'r Module>,
    svma: Svma,
    index: &'r Index<'static>,
    symbol: Symbol<'r>,
}

impl<'r> Resolved<'r> {
    /// The module it lies in; `None` for an index that was added by
    /// [`Resolver::add_index`].
    #[must_use]
    pub fn module(&self) -> Option<&'r Module> {
        self.module
    }

    /// The address as the module's symbol table counts.
    #[must_use]
    pub fn svma(&self) -> Svma {
        self.svma
    }

    /// The module's index.
    #[must_use]
    pub fn index(&self) -> &'r Index<'static> {
        self.index
    }

    /// The symbol that covers it.
    #[must_use]
    pub fn symbol(&self) -> Symbol<'r> {
        self.symbol
    }
}

/// The frames at a run-time address.
#[derive(Clone, Debug)]
pub struct ResolvedFrames<'r> {
    module: Option<&'r Module>,
    svma: Svma,
    index: &'r Index<'static>,
    frames: Frames<'r>,
}

impl<'r> ResolvedFrames<'r> {
    /// The module it lies in; `None` for an index that was added.
    #[must_use]
    pub fn module(&self) -> Option<&'r Module> {
        self.module
    }

    /// The address as the module's symbol table counts.
    #[must_use]
    pub fn svma(&self) -> Svma {
        self.svma
    }

    /// The module's index.
    #[must_use]
    pub fn index(&self) -> &'r Index<'static> {
        self.index
    }

    /// The frames, innermost first; at least one.
    #[must_use]
    pub fn frames(&self) -> Frames<'r> {
        self.frames.clone()
    }
}

/// Run-time addresses to symbols and frames. `Send + Sync`; lookups take
/// `&self`, allocate nothing, take no lock and make no system call.
///
/// | task | call |
/// |---|---|
/// | open what the addresses need | [`Resolver::open_for`], [`Resolver::open_all`] |
/// | address → symbol | [`Resolver::lookup`], [`Resolver::lookup_return`] |
/// | address → frames | [`Resolver::frames`], [`Resolver::frames_return`] |
/// | many sorted addresses | [`Resolver::batch`] |
/// | notice loaded and unloaded libraries | [`Resolver::update`] |
/// | memory bound | [`Resolver::budget`] |
/// | code made at run time, the kernel | [`Resolver::add_index`] |
///
/// ```
/// use std::sync::Arc;
/// use symidx::process::{Modules, Resolver, Store};
///
/// let mut resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
/// let stack = [std::process::exit as *const () as usize as u64];
/// resolver.open_for(&stack);
/// for address in stack {
///     match resolver.lookup(address) {
///         Ok(found) => println!("{address:#x} {}", found.symbol().name()),
///         Err(reason) => println!("{address:#x} {reason}"),
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Resolver {
    modules: Modules,
    store: Arc<Store>,
    states: Vec<State>,
    /// Places in `states`, for `open_for`; as many as those.
    order: Vec<u32>,
    overlays: Vec<Overlay>,
}

impl Resolver {
    /// A resolver for the modules; makes room for their indexes, opens none.
    #[must_use]
    pub fn new(modules: Modules, store: Arc<Store>) -> Self {
        let states: Vec<State> = modules
            .iter()
            .map(|module| {
                let slot = store.slot(module);
                let missing = slot.is_none().then_some(Missing::NoFile);
                State { slot, missing, hits: 0 }
            })
            .collect();
        let order = Vec::with_capacity(states.len());
        Self { modules, store, states, order, overlays: Vec::new() }
    }

    /// The modules.
    #[must_use]
    pub fn modules(&self) -> &Modules {
        &self.modules
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Opens the index of every module that has one; returns how many are
    /// open. Calls the system, takes locks; a store that maps needs no heap.
    pub fn open_all(&mut self) -> usize {
        for number in 0..self.states.len() {
            self.open(number);
        }
        self.states.iter().filter(|state| state.index().is_some()).count()
    }

    /// Opens the indexes that these addresses need, those with most addresses
    /// first, so that a bound on memory costs least. As [`Resolver::open_all`].
    /// An address that was taken from a stack may be given as it is, or less one.
    pub fn open_for(&mut self, addresses: &[u64]) -> usize {
        for state in &mut self.states {
            state.hits = 0;
        }
        for &address in addresses {
            if let Some(located) = self.modules.find(address)
                && let Some(state) = self.states.get_mut(at(located.number()))
            {
                state.hits = state.hits.saturating_add(1);
            }
        }
        self.order.clear();
        let touched = (0u32..).zip(&self.states).filter(|(_, state)| state.hits > 0);
        self.order.extend(touched.map(|(number, _)| number));
        let states = &self.states;
        self.order.sort_unstable_by_key(|&number| {
            (core::cmp::Reverse(states.get(at(number)).map_or(0, |state| state.hits)), number)
        });
        let mut open = 0usize;
        for position in 0..self.order.len() {
            if let Some(&number) = self.order.get(position) {
                open = open.saturating_add(usize::from(self.open(at(number))));
            }
        }
        open
    }

    fn open(&mut self, number: usize) -> bool {
        let Some(state) = self.states.get_mut(number) else { return false };
        let (Some(slot), Some(module)) =
            (&state.slot, self.modules.get(u32::try_from(number).unwrap_or(u32::MAX)))
        else {
            return false;
        };
        state.missing = self.store.open(slot, &module.file).err();
        state.missing.is_none()
    }

    /// Adds an index for the run-time addresses `start..=last`, moved by `bias`
    /// (run-time address − svma): code that was made at run time (`symidx
    /// build /tmp/perf-PID.map`), the kernel. It answers where no file does.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use symidx::process::{Modules, Resolver, Store};
    /// # let mut resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
    /// # fn kernel() -> Option<symidx::Index<'static>> { None }
    /// if let Some(index) = kernel() {
    ///     resolver.add_index(1 << 63..=u64::MAX, 0, index);
    /// }
    /// ```
    pub fn add_index(
        &mut self,
        addresses: core::ops::RangeInclusive<u64>,
        bias: u64,
        index: Index<'static>,
    ) {
        let (start, last) = addresses.into_inner();
        self.overlays.push(Overlay { start, last, bias, index });
    }

    /// Takes away the indexes that [`Resolver::add_index`] added: code that is
    /// made at run time changes.
    pub fn clear_added(&mut self) {
        self.overlays.clear();
    }

    /// Captures the modules again if libraries were loaded or unloaded since;
    /// true if so. Indexes that are open stay open, the new modules' are not yet.
    ///
    /// # Errors
    /// As [`Modules::changed`]; the modules stay as they are.
    pub fn update(&mut self) -> io::Result<bool> {
        if !self.modules.changed()? {
            return Ok(false);
        }
        let overlays = core::mem::take(&mut self.overlays);
        let next = Self::new(self.modules.again()?, self.store.clone());
        *self = Self { overlays, ..next };
        Ok(true)
    }

    /// Why a module has no index, in full; `None` when it is open, or was not
    /// looked for yet.
    #[must_use]
    pub fn missing(&self, module: u32) -> Option<Missing> {
        let state = self.states.get(at(module))?;
        state.missing.filter(|_| state.index().is_none())
    }

    /// The open index of a module.
    #[must_use]
    pub fn index(&self, module: u32) -> Option<&Index<'static>> {
        self.states.get(at(module))?.index()
    }

    /// The symbol that covers a run-time address.
    ///
    /// # Errors
    /// [`Unknown`] says why there is none.
    #[inline]
    pub fn lookup(&self, address: u64) -> Result<Resolved<'_>, Unknown> {
        let Target { module, svma, index } = self.target(address)?;
        match index.lookup(svma)? {
            Some(symbol) => Ok(Resolved { module, svma, index, symbol }),
            None => Err(Unknown::Gap),
        }
    }

    /// The symbol of the call before a return address: looks up the byte in
    /// front of it. Every stack entry but the innermost is a return address.
    ///
    /// # Errors
    /// As [`Resolver::lookup`].
    pub fn lookup_return(&self, address: u64) -> Result<Resolved<'_>, Unknown> {
        self.lookup(address.checked_sub(1).ok_or(Unknown::NoModule)?)
    }

    /// The frames of a run-time address: the functions inlined there, then the
    /// one that holds the code.
    ///
    /// # Errors
    /// As [`Resolver::lookup`].
    pub fn frames(&self, address: u64) -> Result<ResolvedFrames<'_>, Unknown> {
        let Target { module, svma, index } = self.target(address)?;
        let frames = index.frames(svma)?;
        match frames.is_empty() {
            true => Err(Unknown::Gap),
            false => Ok(ResolvedFrames { module, svma, index, frames }),
        }
    }

    /// The frames of the call before a return address, as [`Resolver::lookup_return`].
    ///
    /// # Errors
    /// As [`Resolver::lookup`].
    pub fn frames_return(&self, address: u64) -> Result<ResolvedFrames<'_>, Unknown> {
        self.frames(address.checked_sub(1).ok_or(Unknown::NoModule)?)
    }

    /// Answers many addresses, sorted ascending, faster than one by one; each is
    /// shown to `see` with its answer. Unsorted ones are answered right, slower.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use symidx::process::{Modules, Resolver, Store};
    /// # let resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
    /// let mut addresses = [0x7000, 0x1000];
    /// addresses.sort_unstable();
    /// let statistics = resolver.batch(addresses, |address, answer| match answer {
    ///     Ok(found) => println!("{address:#x} {}", found.symbol().name()),
    ///     Err(reason) => println!("{address:#x} [{}]", reason.name()),
    /// });
    /// println!("{statistics}");
    /// ```
    pub fn batch<'r>(
        &'r self,
        addresses: impl IntoIterator<Item = u64>,
        mut see: impl FnMut(u64, Result<Resolved<'r>, Unknown>),
    ) -> Statistics {
        let mut statistics = Statistics::default();
        let mut walk: Option<(Located<'r>, Walk<'r>)> = None;
        for address in addresses {
            let held =
                |located: &Located<'_>| (located.span.start..located.span.end).contains(&address);
            if !walk.as_ref().is_some_and(|(located, _)| held(located)) {
                walk = self.modules.find(address).and_then(|located| {
                    let index = self.index(located.number())?;
                    Some((located, Walk { index, sorted: Sorted::new(&index.view, ()) }))
                });
            }
            let answer = match &mut walk {
                Some((located, walk)) => walk.answer(Located { address, ..*located }),
                None => self.lookup(address),
            };
            statistics.count(&answer);
            see(address, answer);
        }
        statistics
    }

    /// The bound on memory before any lookup: opens every index the bounds of
    /// the store allow (which reads no page of them), and adds up what can
    /// become resident.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use symidx::process::{Modules, Resolver, Store};
    /// # let mut resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
    /// let budget = resolver.budget();
    /// println!("{} anonymous, {} mapped at most", budget.anonymous_bytes, budget.mapped_bytes);
    /// ```
    pub fn budget(&mut self) -> Budget {
        self.open_all();
        let mut modules = Vec::with_capacity(self.states.len());
        let mut bytes = 0u64;
        for (number, state) in (0u32..).zip(&self.states) {
            let index = match (state.index(), state.missing) {
                (Some(index), _) => Ok(size_of_index(index)),
                (None, missing) => Err(missing.unwrap_or(Missing::NotFound)),
            };
            // Two modules of one build share their index.
            let counted = (0u32..number).any(|earlier| {
                let other = self.states.get(at(earlier)).and_then(|state| state.slot.as_ref());
                matches!((other, &state.slot), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
            });
            bytes = bytes.saturating_add(index.ok().filter(|_| !counted).unwrap_or(0));
            modules.push(ModuleBudget { module: number, index });
        }
        let own = self.own_bytes();
        let (anonymous_bytes, mapped_bytes) = match self.store.is_read() {
            true => (own.saturating_add(bytes), 0),
            false => (own, bytes),
        };
        Budget { anonymous_bytes, mapped_bytes, modules }
    }

    /// Bytes of heap that the resolver itself holds.
    fn own_bytes(&self) -> u64 {
        let slots = self.states.iter().filter(|state| state.slot.is_some()).count();
        let bytes = self
            .modules
            .own_bytes()
            .saturating_add(self.states.capacity().saturating_mul(size_of::<State>()))
            .saturating_add(self.order.capacity().saturating_mul(size_of::<u32>()))
            .saturating_add(self.overlays.capacity().saturating_mul(size_of::<Overlay>()))
            .saturating_add(slots.saturating_mul(size_of::<Slot>()));
        let added = self
            .overlays
            .iter()
            .fold(0, |sum: u64, overlay| sum.saturating_add(size_of_index(&overlay.index)));
        u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(added)
    }

    /// Which index has the address, and where in it.
    fn target(&self, address: u64) -> Result<Target<'_>, Unknown> {
        let located = match self.modules.find(address) {
            Some(located) if located.module.kind() != ModuleKind::Anonymous => located,
            other => {
                let why = if other.is_some() { Unknown::Anonymous } else { Unknown::NoModule };
                return self.added(address).ok_or(why);
            }
        };
        let state = self.states.get(at(located.number())).ok_or(Unknown::NoModule)?;
        let Some(index) = state.index() else {
            let reason = state.missing.map_or(Unknown::NotOpened, Unknown::from);
            return self.added(address).ok_or(reason);
        };
        let svma = svma_of(&located, index).ok_or(Unknown::Gap)?;
        Ok(Target { module: Some(located.module), svma, index })
    }

    fn added(&self, address: u64) -> Option<Target<'_>> {
        let holds = |overlay: &&Overlay| (overlay.start..=overlay.last).contains(&address);
        let overlay = self.overlays.iter().rev().find(holds)?;
        let svma = Svma(address.wrapping_sub(overlay.bias));
        Some(Target { module: None, svma, index: &overlay.index })
    }
}

impl State {
    #[inline]
    fn index(&self) -> Option<&Index<'static>> {
        self.slot.as_ref()?.index()
    }
}

/// An address in terms of an index.
struct Target<'r> {
    module: Option<&'r Module>,
    svma: Svma,
    index: &'r Index<'static>,
}

/// The lookups of one span in a row.
struct Walk<'r> {
    index: &'r Index<'static>,
    sorted: Sorted<'r, ()>,
}

impl<'r> Walk<'r> {
    fn answer(&mut self, located: Located<'r>) -> Result<Resolved<'r>, Unknown> {
        let svma = svma_of(&located, self.index).ok_or(Unknown::Gap)?;
        match self.sorted.answer(svma.0)? {
            Some(symbol) => {
                Ok(Resolved { module: Some(located.module), svma, index: self.index, symbol })
            }
            None => Err(Unknown::Gap),
        }
    }
}

/// The svma of a located address: by the bias that the image's headers gave,
/// else by file offset through the segments that the index records.
fn svma_of(located: &Located<'_>, index: &Index<'_>) -> Option<Svma> {
    match located.svma() {
        Some(svma) => Some(svma),
        None => index.svma_in_mapping(located.file_offset()?, located.is_executable()),
    }
}

fn at(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
