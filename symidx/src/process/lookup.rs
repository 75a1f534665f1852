//! Lookups: one run-time address or many, symbols or frames.
//!
//! Reads modules and open indexes. No heap, no lock, no system call: made for
//! signal handlers and allocator hooks.

use crate::address::Svma;
use crate::batch::Sorted;
use crate::index::Index;
use crate::process::modules::{Located, Module, ModuleKind};
use crate::process::resolved::{Resolved, ResolvedFrames};
use crate::process::resolver::{Overlay, Resolver, at};
use crate::process::unknown::{Statistics, Unknown};

impl Resolver {
    /// The symbol that covers a run-time address.
    ///
    /// # Errors
    /// [`Unknown`] says why there is none.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// let found = resolver.lookup(0x5555_0000_01a8)?;
    /// assert_eq!(found.symbol().name(), "outer");
    /// // Never a guess: the reason, where there is no name.
    /// assert_eq!(resolver.lookup(0x5555_0000_0211).unwrap_err().name(), "gap");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn lookup(&self, address: u64) -> Result<Resolved<'_>, Unknown> {
        let Target { module, svma, index } = self.target(address)?;
        match index.lookup(svma)? {
            Some(symbol) => Ok(Resolved { module, svma, index, symbol }),
            None => Err(missed(index)),
        }
    }

    /// The symbol of the call before a return address: looks up the byte in
    /// front of it. Every stack entry but the innermost is a return address.
    ///
    /// # Errors
    /// As [`Resolver::lookup`].
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// // The call is the last instruction of `_start.cold`.
    /// let return_address = 0x5555_0000_0191;
    /// assert_eq!(resolver.lookup_return(return_address)?.symbol().name(), "_start.cold");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lookup_return(&self, address: u64) -> Result<Resolved<'_>, Unknown> {
        self.lookup(address.checked_sub(1).ok_or(Unknown::NoModule)?)
    }

    /// The frames of a run-time address: the functions inlined there, then the
    /// one that holds the code.
    ///
    /// # Errors
    /// As [`Resolver::lookup`].
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// let innermost = resolver.frames(0x5555_0000_01a8)?.frames().next().unwrap()?;
    /// assert_eq!((innermost.function().unwrap(), innermost.line()), (b"leaf"[..].into(), Some(6)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn frames(&self, address: u64) -> Result<ResolvedFrames<'_>, Unknown> {
        let Target { module, svma, index } = self.target(address)?;
        let frames = index.frames(svma)?;
        match frames.is_empty() {
            true => Err(missed(index)),
            false => Ok(ResolvedFrames { module, svma, index, frames }),
        }
    }

    /// The frames of the call before a return address, as [`Resolver::lookup_return`].
    ///
    /// # Errors
    /// As [`Resolver::lookup`].
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// let frame = resolver.frames_return(0x5555_0000_0191)?.frames().next().unwrap()?;
    /// assert_eq!(frame.line(), Some(26)); // the line of the call
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn frames_return(&self, address: u64) -> Result<ResolvedFrames<'_>, Unknown> {
        self.frames(address.checked_sub(1).ok_or(Unknown::NoModule)?)
    }

    /// Answers many addresses, sorted ascending, faster than one by one; each is
    /// shown to `see` with its answer. Unsorted ones are answered right, slower.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// let mut addresses = [0x5555_0000_01a8, 0x1000]; // of all stacks
    /// addresses.sort_unstable();
    /// let statistics = resolver.batch(addresses, |address, answer| match answer {
    ///     Ok(found) => println!("{address:#x} {}", found.symbol().name()),
    ///     Err(reason) => println!("{address:#x} [{}]", reason.name()),
    /// });
    /// assert_eq!(statistics.to_string(), "1 of 2 resolved; no module 1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
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
        let svma = svma_of(&located, index).ok_or_else(|| missed(index))?;
        Ok(Target { module: Some(located.module), svma, index })
    }

    fn added(&self, address: u64) -> Option<Target<'_>> {
        let holds = |overlay: &&Overlay| (overlay.start..=overlay.last).contains(&address);
        let overlay = self.overlays.iter().rev().find(holds)?;
        let svma = Svma(address.wrapping_sub(overlay.bias));
        Some(Target { module: None, svma, index: &overlay.index })
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
        let svma = svma_of(&located, self.index).ok_or_else(|| missed(self.index))?;
        match self.sorted.answer(svma.0)? {
            Some(symbol) => {
                Ok(Resolved { module: Some(located.module), svma, index: self.index, symbol })
            }
            None => Err(missed(self.index)),
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

/// Why an index has no answer.
#[cold]
fn missed(index: &Index<'_>) -> Unknown {
    match index.is_relocatable() {
        true => Unknown::NotPlaced,
        false => Unknown::Gap,
    }
}
