//! The C interface of symidx: `include/symidx.h` is made of this crate.
//!
//! In: pointers from C. Out: a status, and answers in the caller's memory that
//! point into indexes. Never panics, never keeps a pointer to a caller's buffer.
//!
//! | module | holds |
//! |---|---|
//! | [`status`] | codes and their texts |
//! | [`types`] | the structs of the interface |
//! | `answers` | what fills them |
//! | [`ffi`] | the exported functions; the only place with `unsafe` |
#![cfg(unix)]
#![deny(unsafe_code)]
#![allow(non_camel_case_types, reason = "types are named as C names them")]

mod answers;
pub mod ffi;
pub mod status;
pub mod types;

/// Changes when a caller must be compiled again: never while the interface only grows.
pub const SYMIDX_ABI_VERSION: u32 = 1;
/// The most bytes that an id has.
pub const SYMIDX_MAX_ID: usize = 64;
