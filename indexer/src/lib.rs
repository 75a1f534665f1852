//! The offline half of symidx: real binaries in, `.symidx` files out.
//!
//! ```text
//! ELF / Mach-O / kallsyms / perf map / jitdump ─ input ─▶ model ─ normalise ─▶ model ─ layout ─▶ plan ─ write ─▶ .symidx
//!                                              DWARF ─▶ lines ─ encode ───────────────▲
//! ```
//!
//! Each arrow goes one way. Only [`input`] knows a file format; [`normalise`]
//! is where every rule of symbol choice lives; [`layout`] and [`mod@write`] know
//! only the records of [`symidx::format`]. [`build_file`] runs the whole chain.
//!
//! ```
//! # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
//! use symidx_indexer::{BuildOptions, build_bytes};
//!
//! let (bytes, report) = build_bytes(app, &BuildOptions::default())?;
//! assert_eq!((report.functions, report.line_rows), (5, 35));
//! let index = symidx::Index::from_bytes(&bytes)?;
//! assert_eq!(index.lookup(symidx::Svma(0x4001a8))?.unwrap().name(), "outer");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod build;
pub mod demangle;
pub mod input;
pub mod layout;
pub mod lines;
pub mod model;
pub mod normalise;
pub mod parallel;
pub mod progress;
pub mod publish;
pub mod store;
mod varint;
pub mod write;

pub use build::{
    BuildError, BuildOptions, BuildReport, Status, build_bytes, build_file, build_from_bytes, hex,
};

/// The README's example, compiled and run with the others.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
