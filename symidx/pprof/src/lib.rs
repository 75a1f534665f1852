//! Read, write and symbolize pprof profiles with `.symidx` indexes.
//!
//! ```text
//! raw.pb.gz ─ Profile::read ─▶ Profile ─ Symbolizer::run ─▶ Profile ─ Profile::write ─▶ named.pb.gz
//!                                 ▲            ▲
//! stacks of this process ─ Writer ┘            └ indexes, one mapping at a time
//! ```
//!
//! | task | call |
//! |---|---|
//! | read a profile, gzip or not | [`Profile::read`] |
//! | what was wrong with it | [`Damage`] |
//! | fill in functions, lines, inlined functions | [`Symbolizer::run`] |
//! | what has no name, and why | [`Report`] |
//! | stacks as `a;b;c` with their values | [`Profile::folded`], [`Profile::folded_within`] |
//! | write it | [`Profile::write`] |
//! | make one of addresses and values | [`Writer`] |
//! | the same of this process, symbolized, in one call | `write_profile` (feature `process`, on by default) |
//!
//! Hostile input costs bounded memory ([`Limits`]), never a panic, and a damaged
//! part costs only itself.
#![deny(unsafe_code)]

mod answer;
mod damage;
mod finder;
mod flags;
mod folded;
mod functions;
#[cfg(all(feature = "process", unix))]
mod process;
mod profile;
mod proto;
mod read;
mod repair;
mod report;
mod space;
mod strings;
mod symbolize;
mod wire;
mod write;
mod writer;

pub use damage::{Damage, Fault};
pub use folded::{TooMuchText, write_folded};
#[cfg(all(feature = "process", unix))]
pub use process::write_profile;
pub use profile::Profile;
pub use proto::{Function, Label, Line, Location, Mapping, Sample, ValueType};
pub use read::{Limits, ReadError};
pub use report::{MappingReport, Report, Unknown};
pub use space::{MappingInfo, lookup_address};
pub use strings::Strings;
pub use symbolize::Symbolizer;
pub use writer::{Leaf, Module, Writer};
