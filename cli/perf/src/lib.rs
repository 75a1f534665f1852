//! `perf.data` in, samples with names out: in time order and in bounded memory.
//!
//! ```text
//! perf.data ─ input ─▶ records ─ order ─▶ by time ─ session ─▶ samples, each frame with its DSO and offset
//!  file, pipe  zstd              rounds              processes, maps, DSOs
//! ```
//!
//! | task | call |
//! |---|---|
//! | a profile, from a file or a pipe | [`Reader::open`], [`Reader::from_stream`] |
//! | every sample, its process and where its addresses lie | [`Session::open`], [`Session::next_sample`] |
//! | every DSO of a profile, with samples and frames | [`Inventory::read`] |
//! | where the files of a recording are looked for | [`Binaries`] |
//! | an index of every DSO | [`index()`] |
//! | what naming a profile takes, beforehand | [`Names::budget`] |
//! | the name of an address | [`Names::find`] |
//! | every sample as text | [`script()`] |
//! | the heaviest symbols | [`report()`] |
//!
//! Records are never held all at once: perf writes round marks behind which nothing
//! earlier follows, and where a file has none (or a round is larger than the buffer)
//! sorted runs go through temporary files. So memory depends neither on the size of
//! the profile nor on what it claims.
//!
//! The record layouts are those of `linux-perf-event-reader`, whose flag and type
//! definitions are used here. Its parsers and the loop of `linux-perf-data` are not, as
//! measured (`benches/results/perf-reader.md`): it reads whole recordings in 1 to 8 MiB and
//! twice the time, but one of 146 MiB without round marks in 298 MiB, 91 kB of compressed
//! records in 1.7 GiB, and a file of 900 bytes that claims a terabyte ends the process; of a
//! recording cut in the middle it gives no sample. It also refuses events that share no
//! `IDENTIFIER`, and reads the flags of a big-endian attribute in the wrong order. It is the
//! test instead: `benches/agree/records` reads recordings with both and compares every record.
//!
//! ```
//! # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
//! # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
//! use symidx_perf::{Fields, ScriptOptions, script};
//!
//! let mut options = ScriptOptions::default();
//! options.fields = Fields::parse("comm,ip,sym,symoff")?;
//! let mut text = Vec::new();
//! let summary = script(&mut session, &mut names, &options, &mut text, |_| {})?;
//! assert_eq!((summary.frames, summary.named), (2, 2));
//! assert!(String::from_utf8(text)?.contains("outer+0x8"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod anonymous;
mod attr;
mod binaries;
mod build_id;
mod bytes;
mod decompress;
mod dsos;
mod error;
mod features;
mod header;
mod indexing;
mod input;
mod inventory;
mod maps;
mod names;
mod order;
mod processes;
mod reader;
mod record;
mod report;
mod script;
mod session;

pub use anonymous::bytes as anonymous_bytes;
pub use attr::Event;
pub use binaries::{Binaries, NotHere};
pub use build_id::BuildId;
pub use dsos::{Dso, DsoId, DsoKind};
pub use error::Error;
pub use header::{FileId, Header};
pub use indexing::{IndexOptions, Indexed, Outcome, index};
pub use inventory::{DsoUse, Inventory};
pub use linux_perf_event_reader::{CpuMode, Endianness};
pub use names::{
    ANONYMOUS_BYTES, Answer, Budget, BuildMissing, DsoBudget, NOT_BUILT, NameOptions, Names,
    Reason, Share, Spelling,
};
pub use reader::{Damage, Reader};
pub use record::{Chain, Comm, Ksymbol, Mmap, Record, Sample, Task};
pub use report::{MOST_ROWS, Report, ReportOptions, ReportRow, Weight, report};
pub use script::{
    DsoReport, Fields, Format, ScriptError, ScriptOptions, Summary, json_string, script,
};
pub use session::{Counts, Located, Place, Session};
