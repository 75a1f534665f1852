//! Memory bounds, known before the first lookup.

use std::vec::Vec;

use crate::process::store::Missing;

/// What a memory allocator may add to each piece.
pub(crate) const ALLOCATION: usize = 32;

/// What a resolver can need in memory at most, whatever is asked of it: see
/// [`Resolver::budget`](crate::process::Resolver::budget).
///
/// ```
/// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
/// let budget = resolver.budget(); // before the first lookup
/// for share in &budget.modules {
///     let path = resolver.modules().get(share.module).unwrap().path().display();
///     match share.index {
///         Ok(bytes) => println!("{path}: {bytes} bytes"),
///         Err(reason) => println!("{path}: will be unknown: {reason}"),
///     }
/// }
/// assert_eq!(budget.mapped_bytes, 0); // this store reads
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// Anonymous bytes: modules, the store's slots, and the indexes themselves where the
    /// store reads them. Does not grow with the number of lookups.
    pub anonymous_bytes: u64,
    /// Bytes of mapped indexes in whole pages, each counted once: page cache that
    /// the system takes back when it needs to.
    pub mapped_bytes: u64,
    /// Every module, in [`Modules::iter`](crate::process::Modules::iter)'s order.
    pub modules: Vec<ModuleBudget>,
}

/// One module's share.
///
/// ```
/// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
/// let budget = resolver.budget();
/// let share: &symidx::process::ModuleBudget = &budget.modules[0];
/// assert_eq!((share.module, share.index), (0, Ok(3213))); // what its index can take
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleBudget {
    /// Its number.
    pub module: u32,
    /// Bytes of memory that its index can take, or why its addresses will be unknown.
    pub index: Result<u64, Missing>,
}
