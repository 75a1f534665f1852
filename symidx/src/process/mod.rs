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
//! # Symbolize in your profiler in 20 lines
//!
//! ```
//! use std::sync::Arc;
//! use symidx::process::{Modules, Resolver, Store};
//!
//! // At start, and outside signal handlers: which files are mapped here.
//! // SAFETY: indexes are replaced by rename only (`symidx build` does).
//! let store = Arc::new(unsafe { Store::mapped() });
//! let mut resolver = Resolver::new(Modules::capture(), store);
//!
//! // When a profile is wanted: notice dlopen, open what the stacks need.
//! let stack = [std::process::exit as *const () as usize as u64];
//! resolver.update()?;
//! resolver.open_for(&stack);
//! for (depth, &address) in stack.iter().enumerate() {
//!     // The innermost entry is where the thread is; the others are return addresses.
//!     let found = if depth == 0 { resolver.frames(address) } else { resolver.frames_return(address) };
//!     match found {
//!         Ok(found) => for frame in found.frames().flatten() {
//!             println!("{:?} {:?}", frame.function(), frame.line());
//!         },
//!         Err(reason) => println!("{address:#x} [{}]", reason.name()),
//!     }
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Run-time addresses are plain `u64`: as in a stack trace or `/proc/PID/maps`.

#[cfg(any(target_vendor = "apple", test))]
mod apple;
mod budget;
#[cfg(not(target_vendor = "apple"))]
mod capture;
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
pub use store::{Missing, Store, Unusable, Where, user_cache};
pub use unknown::{Statistics, Unknown};
