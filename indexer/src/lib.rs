//! The offline half of symidx: real binaries in, `.symidx` files out.
//!
//! ```text
//! ELF / Mach-O / kallsyms ─ input ─▶ model ─ normalise ─▶ model ─ layout ─▶ plan ─ write ─▶ .symidx
//! ```
//!
//! Each arrow goes one way. Only `input` knows a file format; `normalise` is
//! where every rule of symbol choice lives; `layout` and `write` know only the
//! records of `symidx::format`.

pub mod input;
pub mod model;
pub mod normalise;
