//! Open `.symidx` symbol indexes and ask them for names: mapped, zero-copy,
//! with no heap, no lock and no system call on the way.
//!
//! An index is one small file with two sorted tables and the names:
//!
//! ```text
//! address 0x401058 ─▶ bucket ─▶ record {start 0x401040, size 32, name →} ─▶ "sized" + 0x18
//! ```
//!
//! Open one with [`Index::from_bytes`], [`Index::read`] or [`Index::map`] and
//! ask it: see the table at [`Index`]. The file format is in `FORMAT.md`, its
//! definitions in [`format`].
//!
//! Opening checks the header, the section table, the identity and one region,
//! so it costs the same for any size. After that no query panics, loops or reads out
//! of bounds on any bytes: damage that a query meets is an [`Corrupt`] error,
//! and [`Index::verify`] looks for all of it.
//!
//! ```
//! use symidx::{Index, Svma};
//!
//! # let file = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx"));
//! let index = Index::from_bytes(file)?; // or `Index::read("app.symidx")`
//! let mut text = String::new();
//! for frame in index.frames(Svma(0x4001a8))? {
//!     let frame = frame?;
//!     if let (Some(function), Some(file)) = (frame.function(), frame.file()) {
//!         text += &format!("{function} at {file}:{}\n", frame.line().unwrap_or(0));
//!     }
//! }
//! assert_eq!(text, "leaf at /src/lines.c:6\nmiddle at /src/lines.c:10\nouter at /src/lines.c:17\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | feature | default | gives |
//! |---|---|---|
//! | `std` | with `mmap` | [`Index::read`], [`kernel`]: slide and modules of a running one |
//! | `mmap` | yes | [`Index::map`] |
//! | `verify` | yes | the hashes in [`Index::verify`] |
//! | `process` | no | `process`: modules of processes, stores of indexes, run-time addresses → symbols (Unix) |
//! | `demangle` | no | `Name::demangle`: Rust names as people wrote them, without heap |
//! | `metadata` | no | `metadata::read`: provenance, what was dropped and why |
#![no_std]
#![deny(unsafe_code)]

#[cfg(feature = "metadata")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod address;
mod answer;
mod batch;
#[cfg(feature = "demangle")]
pub mod demangle;
mod display;
mod error;
pub mod format;
mod frames;
mod index;
#[cfg(feature = "std")]
pub mod kernel;
mod lines;
#[cfg(feature = "metadata")]
pub mod metadata;
mod names;
mod open;
mod packed;
#[cfg(all(feature = "process", unix))]
pub mod process;
mod rows;
mod search;
#[cfg(all(feature = "std", unix))]
mod stamp;
mod sys;
mod verify;

pub use address::{FileOffset, ImageSectionId, Svma};
pub use answer::{AliasName, Section, Symbol};
pub use batch::Sorted;
pub use display::{DisplayName, DisplayText};
pub use error::{Corrupt, Invariant, OpenError, UNCOVERED, Violation};
pub use format::{Binding, Extent, Kind};
pub use frames::{Frame, Frames, SourceFile};
pub use index::{FileSection, Index, Match};
pub use lines::LineCounts;
pub use names::{Name, PackedPlace};
pub use rows::{LineRow, LineRows};
#[cfg(all(feature = "std", unix))]
pub use stamp::Stamp;
