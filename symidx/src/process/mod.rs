//! Processes: from a run-time address to its module, the module's index, and
//! the symbol or frames there.
//!
//! ```text
//! loader, /proc ─▶ Modules ─┐
//!                           ├─▶ Resolver ─▶ symbol, frames, or why there is none
//! places on disk ─▶ Store ──┘
//! ```
//!
//! [`Modules`] says which file an address lies in, [`Store`] finds the indexes
//! of files, and a [`Resolver`] holds both and answers. Capturing modules and
//! opening indexes may allocate and call the system; every lookup after that
//! does neither and takes no lock: it may run in a signal handler, or inside
//! an allocator.
//!
#![doc = include_str!("../../PROFILERS.md")]
//!
//! # What may be called where
//!
//! | call | heap | locks | system calls | signal handler, allocator hook |
//! |---|---|---|---|---|
//! | [`Resolver::lookup`], [`frames`](Resolver::frames), [`batch`](Resolver::batch), the same for return addresses; what they return | no | no | no | yes |
//! | [`Modules::find`], [`iter`](Modules::iter), [`get`](Modules::get), [`spans`](Modules::spans); [`Module`], [`Located`] | no | no | no | yes |
//! | [`Resolver::missing`], [`index`](Resolver::index), [`Unknown`], [`Missing`], [`Statistics`], printed or not | no | no | no | yes |
//! | [`Modules::changed`], [`Resolver::update`] when nothing changed: this process | no | the loader's | no | no |
//! | … another process | yes | no | yes | no |
//! | [`Resolver::open_for`], [`open_all`](Resolver::open_all): a store that maps | no | the store's | yes | no: the locks |
//! | … a store that reads | each index | the store's | yes | no |
//! | [`Store::evict`], [`evict_unused`](Store::evict_unused) | no | the store's | yes | no |
//! | [`Store::open_count`], [`open_bytes`](Store::open_bytes) | no | the store's | no | no |
//! | [`Store::forget_missing`] | no | no | no | yes |
//! | [`Modules::capture`], [`from_pid`](Modules::from_pid), [`again`](Modules::again) | yes | the loader's | yes | no |
//! | [`Resolver::new`], [`update`](Resolver::update) after a change, [`budget`](Resolver::budget), [`Store::find`], [`find_kernel`](Store::find_kernel), [`Resolver::open_kernel`] | yes | the store's | yes | no |
//!
//! A lookup in an index that is mapped may wait for the disk: a page that was
//! not read yet, or that the system took back. A handler must not run while the
//! same thread changes the resolver: keep it behind a pointer that is swapped
//! whole, and drop the old one outside.
//!
//! An index whose file is edited or truncated while it is mapped breaks the
//! promise of [`Store::mapped`]; where nobody can make it, use [`Store::read`].
//! An index that is open stays the one it is when its file is replaced by
//! rename: see [`Store::evict`].
//!
//! Run-time addresses are plain `u64`: as in a stack trace or `/proc/PID/maps`.

#[cfg(any(target_vendor = "apple", test))]
mod apple;
mod budget;
#[cfg(not(target_vendor = "apple"))]
mod capture;
mod digest;
mod elf;
mod id;
mod image;
mod lookup;
#[cfg(any(target_vendor = "apple", test))]
pub(crate) mod macho;
mod maps;
mod modules;
mod resolved;
mod resolver;
mod store;
mod target;
mod unknown;

pub use budget::{Budget, ModuleBudget};
pub use id::Id;
pub use maps::{Mapping, MapsError};
pub use modules::{Located, Module, ModuleKind, Modules};
pub use resolved::{Resolved, ResolvedFrames};
pub use resolver::Resolver;
pub use store::{MAX_READ, Missing, Store, Unusable, Where, user_cache};
pub use unknown::{Statistics, Unknown};
