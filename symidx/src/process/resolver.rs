//! The resolver: the modules of one process, and the indexes that a store has
//! opened for them.
//!
//! Opening is a step of its own, here; see `lookup` for the answers. Nothing
//! here runs during a lookup.

use std::boxed::Box;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::vec::Vec;

use crate::index::Index;
use crate::process::budget::{ALLOCATION, Budget, ModuleBudget};
use crate::process::modules::Modules;
use crate::process::store::{Missing, Slot, Store};

/// The upper half of all addresses is the kernel's.
const KERNEL: u64 = 1 << 63;

/// What a resolver knows of one module.
#[derive(Debug)]
pub(super) struct State {
    slot: Option<Arc<Slot>>,
    pub(super) missing: Option<Missing>,
    /// Addresses of the batch at hand that lie in it.
    hits: u32,
}

/// An index for run-time addresses that no file holds.
#[derive(Debug)]
pub(super) struct Overlay {
    pub(super) start: u64,
    pub(super) last: u64,
    pub(super) bias: u64,
    /// The running kernel's own.
    kernel: bool,
    /// Boxed, so that it stays where it is when others are added: C callers hold pointers to it.
    pub(super) index: Box<Index<'static>>,
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
/// | the running kernel | [`Resolver::open_kernel`] |
/// | code made at run time, another kernel | [`Resolver::add_index`] |
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
    pub(super) modules: Modules,
    store: Arc<Store>,
    pub(super) states: Vec<State>,
    /// Places in `states`, for `open_for`; as many as those.
    order: Vec<u32>,
    pub(super) overlays: Vec<Overlay>,
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
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use symidx::process::{Modules, Resolver, Store};
    /// # let mut resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
    /// let open = resolver.open_all();
    /// println!("{open} of {} modules have an index", resolver.modules().len());
    /// ```
    pub fn open_all(&mut self) -> usize {
        for number in 0..self.states.len() {
            self.open(number);
        }
        self.states.iter().filter(|state| state.index().is_some()).count()
    }

    /// Opens the indexes that these addresses need, those with most addresses
    /// first, so that a bound on memory costs least. As [`Resolver::open_all`].
    /// An address that was taken from a stack may be given as it is, or less one.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use symidx::process::{Modules, Resolver, Store};
    /// # let mut resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
    /// let stacks = [std::process::exit as *const () as usize as u64];
    /// let open = resolver.open_for(&stacks);
    /// # assert!(open <= 1);
    /// ```
    pub fn open_for(&mut self, addresses: &[u64]) -> usize {
        for state in &mut self.states {
            state.hits = 0;
        }
        for &address in addresses {
            let located = self.modules.find(address);
            // A call may be the last instruction of a module: its return
            // address is then the next module's first, or nobody's.
            let before = match located {
                Some(located) if located.span.start != address => None,
                _ => address.checked_sub(1).and_then(|call| self.modules.find(call)),
            };
            for number in [located, before].into_iter().flatten().map(|found| found.number()) {
                if let Some(state) = self.states.get_mut(at(number)) {
                    state.hits = state.hits.saturating_add(1);
                }
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
        state.missing = self.store.open(slot, module).err();
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
        self.overlay(addresses, bias, index, false);
    }

    fn overlay(
        &mut self,
        addresses: core::ops::RangeInclusive<u64>,
        bias: u64,
        index: Index<'static>,
        kernel: bool,
    ) {
        let (start, last) = addresses.into_inner();
        self.overlays.push(Overlay { start, last, bias, kernel, index: Box::new(index) });
    }

    /// Opens the running kernel's index, as [`Store::find_kernel`] finds it: addresses
    /// of the upper half are then answered from it. Once more when modules were
    /// loaded since: the new index takes the place of the old one.
    ///
    /// # Errors
    /// [`Missing`]: why there is none; what was open before stays.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use symidx::process::{Modules, Resolver, Store};
    /// # let mut resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
    /// if let Err(reason) = resolver.open_kernel() {
    ///     println!("no names of the kernel: {reason}");
    /// }
    /// ```
    pub fn open_kernel(&mut self) -> Result<(), Missing> {
        let index = self.store.find_kernel()?;
        self.overlays.retain(|overlay| !overlay.kernel);
        self.overlay(KERNEL..=u64::MAX, 0, index, true);
        Ok(())
    }

    /// Takes away the indexes that [`Resolver::add_index`] added: code that is
    /// made at run time changes.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use symidx::process::{Modules, Resolver, Store};
    /// # let mut resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
    /// resolver.clear_added();
    /// ```
    pub fn clear_added(&mut self) {
        self.overlays.clear();
    }

    /// Captures the modules again if libraries were loaded or unloaded since;
    /// true if so. Indexes that are open stay open, the new modules' are not
    /// yet; indexes that were added stay.
    ///
    /// # Errors
    /// As [`Modules::changed`]; the modules stay as they are.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use symidx::process::{Modules, Resolver, Store};
    /// # let mut resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
    /// if resolver.update()? {
    ///     resolver.open_all();
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn update(&mut self) -> io::Result<bool> {
        if !self.modules.changed()? {
            return Ok(false);
        }
        let next = Self::new(self.modules.again()?, self.store.clone());
        let overlays = core::mem::take(&mut self.overlays);
        *self = Self { overlays, ..next };
        Ok(true)
    }

    /// Why a module has no index, in full; `None` when it is open, or was not
    /// looked for yet.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use symidx::process::{Modules, Resolver, Store};
    /// # let mut resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
    /// resolver.open_all();
    /// for (number, module) in (0..).zip(resolver.modules()) {
    ///     if let Some(reason) = resolver.missing(number) {
    ///         println!("{}: {reason}", module.path().display());
    ///     }
    /// }
    /// ```
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

    /// The bound on memory before any lookup: opens every index the bounds of
    /// the store allow (which reads their headers alone), and adds up what can
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
        let mut seen = HashSet::new();
        let mut bytes = 0u64;
        for (number, state) in (0u32..).zip(&self.states) {
            let index = match (&state.slot, state.missing) {
                (Some(slot), _) if slot.index().is_some() => Ok(slot.bytes()),
                (_, missing) => Err(missing.unwrap_or(Missing::NotFound)),
            };
            // Two modules of one build share their index.
            let first = state.slot.as_ref().is_some_and(|slot| seen.insert(Arc::as_ptr(slot)));
            bytes = bytes.saturating_add(index.ok().filter(|_| first).unwrap_or(0));
            modules.push(ModuleBudget { module: number, index });
        }
        let own = self.own_bytes();
        let (anonymous_bytes, mapped_bytes) = match self.store.is_read() {
            true => (own.saturating_add(bytes), 0),
            false => (own, bytes),
        };
        Budget { anonymous_bytes, mapped_bytes, modules }
    }

    /// Bytes of heap that the resolver and its store hold.
    fn own_bytes(&self) -> u64 {
        let tables = self
            .modules
            .own_bytes()
            .saturating_add(self.states.capacity().saturating_mul(size_of::<State>()))
            .saturating_add(self.order.capacity().saturating_mul(size_of::<u32>()))
            .saturating_add(self.overlays.capacity().saturating_mul(size_of::<Overlay>()));
        let bytes = tables.saturating_add(ALLOCATION.saturating_mul(4));
        let bytes = bytes.saturating_add(self.store.own_bytes());
        // Whether those are copies or maps is their owner's to say: the larger claim.
        let added = self.overlays.iter().fold(0, |sum: usize, overlay| {
            sum.saturating_add(overlay.index.as_bytes().len())
                .saturating_add(size_of::<Index<'_>>())
                .saturating_add(ALLOCATION.saturating_mul(2))
        });
        u64::try_from(bytes.saturating_add(added)).unwrap_or(u64::MAX)
    }
}

impl State {
    #[inline]
    pub(super) fn index(&self) -> Option<&Index<'static>> {
        self.slot.as_ref()?.index()
    }
}

pub(super) fn at(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
