//! What a resolver answers: symbols and frames with the module they are of.
//!
//! Borrows from the resolver and its maps; reading them needs no heap, no lock
//! and no system call.

use crate::address::Svma;
use crate::answer::Symbol;
use crate::frames::Frames;
use crate::index::Index;
use crate::process::modules::Module;

/// A symbol at a run-time address.
///
/// ```
/// use symidx::process::{Resolver, Unknown};
///
/// fn show(resolver: &Resolver, address: u64) -> Result<(), Unknown> {
///     let found = resolver.lookup(address)?;
///     let symbol = found.symbol();
///     println!("{}+{:#x} at {:x?}", symbol.name(), symbol.offset(), found.svma());
///     // C++ names for people, if the index was built with `--demangle`.
///     println!("{:?}", found.index().display_name(symbol.name()));
///     println!("{:?}", found.module().map(|module| module.path()));
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Resolved<'r> {
    pub(super) module: Option<&'r Module>,
    pub(super) svma: Svma,
    pub(super) index: &'r Index<'static>,
    pub(super) symbol: Symbol<'r>,
}

impl<'r> Resolved<'r> {
    /// The module it lies in; `None` for an index that was added by
    /// [`Resolver::add_index`](crate::process::Resolver::add_index).
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
///
/// ```
/// use symidx::process::{Resolver, Unknown};
///
/// fn show(resolver: &Resolver, address: u64) -> Result<(), Unknown> {
///     let found = resolver.frames(address)?;
///     for frame in found.frames() {
///         println!("{:?} {:?}", frame?.function(), frame?.line());
///     }
///     println!("{:?} {:x?}", found.module().map(|module| module.path()), found.svma());
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ResolvedFrames<'r> {
    pub(super) module: Option<&'r Module>,
    pub(super) svma: Svma,
    pub(super) index: &'r Index<'static>,
    pub(super) frames: Frames<'r>,
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
