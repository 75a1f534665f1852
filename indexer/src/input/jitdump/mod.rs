//! jitdump input: the file that a JIT compiler writes for perf in, one [`Image`] out.
//!
//! In: a header and records, either byte order (the kernel's
//! `tools/perf/Documentation/jitdump-specification.txt`). Out: functions at run-time
//! addresses, with lines. This module never looks at the code itself, and never knows
//! when a function was there: it tells what is there after the last record.
//!
//! Where the file leaves a choice (each with its own test):
//! - code that is loaded or moved replaces what it overlaps;
//! - debug information belongs to the next code loaded at the address that it
//!   states, and is taken whole or not at all;
//! - V8 adds the size of the ELF header that perf writes to the addresses of its
//!   debug information; it is told by what it writes in the header's reserved word;
//! - the file may be read while it is written: a last record that is cut short is
//!   left out, and all in front of it kept.
//!
//! ```
//! # let dump = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/jit/node.dump"))?;
//! use symidx_indexer::{input::jitdump, model::Format};
//!
//! assert!(jitdump::is_jitdump(&dump)); // of a running node
//! let image = jitdump::read("jit-1.dump".as_ref(), &dump)?;
//! assert!(image.format == Format::JitDump && !image.symbols.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::Path;

use super::live_code::{Code, LiveCode, MAX_SIZE};
use super::{InputError, elf};
use crate::model::{Format, Image, Machine, Report};
use bytes::Body;
use debug_info::{DebugInfo, Lines};

mod bytes;
mod debug_info;
#[cfg(test)]
mod tests;

/// `JiTD` as a number, as a machine of either byte order writes it.
const MAGIC_LITTLE: [u8; 4] = *b"DTiJ";
const MAGIC_BIG: [u8; 4] = *b"JiTD";

const VERSION: u32 = 1;

/// The header as version 1 has it; a longer one is skipped.
const HEADER_SIZE: u32 = 40;

/// Id, total size and time stamp of a record.
const RECORD_HEADER: u32 = 16;

/// What V8 writes in the header's reserved word.
const V8_MARK: u32 = 0xdead_beef;

/// True when the bytes start like a jitdump file.
///
/// ```
/// assert!(symidx_indexer::input::jitdump::is_jitdump(b"DTiJ\x01\x00\x00\x00"));
/// ```
#[must_use]
pub fn is_jitdump(data: &[u8]) -> bool {
    data.starts_with(&MAGIC_LITTLE) || data.starts_with(&MAGIC_BIG)
}

/// Reads a jitdump file.
///
/// # Errors
/// [`InputError::Malformed`] when the header is cut short or of another version;
/// a damaged record is a count and a warning.
///
/// ```
/// # let dump = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/jit/node.dump"))?;
/// let image = symidx_indexer::input::jitdump::read("jit-1.dump".as_ref(), &dump)?;
/// assert!(!image.lines.is_empty()); // the compiler's own lines come with it
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read<'data>(path: &Path, data: &'data [u8]) -> Result<Image<'data>, InputError> {
    let malformed = |expected: &str, found: String| InputError::Malformed {
        path: path.to_path_buf(),
        offset: Some(0),
        expected: expected.to_owned(),
        found,
        advice: "record again, or index the perf map that the compiler can write instead",
    };
    let header = Header::read(data).ok_or_else(|| {
        malformed("a jitdump header of 40 bytes", format!("{} bytes of one", data.len()))
    })?;
    if header.version != VERSION || header.size < HEADER_SIZE {
        let found = format!("version {} with {} bytes", header.version, header.size);
        return Err(malformed("a jitdump header of version 1 and at least 40 bytes", found));
    }
    let mut reader = Reader::new(&header);
    let mut at = usize::try_from(header.size).unwrap_or(usize::MAX);
    loop {
        let rest = data.get(at..).unwrap_or_default();
        if rest.is_empty() {
            break;
        }
        let Some(record) = Record::read(rest, header.big_endian) else {
            reader.cut_short(at, rest.len());
            break;
        };
        let Some(record) = record else {
            reader.wrong_size(at);
            break;
        };
        reader.add(&record, at);
        at = at.saturating_add(record.size);
    }
    Ok(reader.finish(&header))
}

/// The file's header.
struct Header {
    big_endian: bool,
    version: u32,
    size: u32,
    machine: u32,
    reserved: u32,
}

impl Header {
    fn read(data: &[u8]) -> Option<Self> {
        let big_endian = data.starts_with(&MAGIC_BIG);
        data.get(usize::try_from(HEADER_SIZE).ok()?.checked_sub(1)?)?;
        let mut body = Body::new(data.get(4..)?, big_endian);
        Some(Self {
            big_endian,
            version: body.u32()?,
            size: body.u32()?,
            machine: body.u32()?,
            reserved: body.u32()?,
        })
    }

    fn machine(&self) -> Machine {
        elf::machine_by_number(self.machine, self.big_endian)
    }
}

/// One record.
struct Record<'data> {
    id: u32,
    /// With its header.
    size: usize,
    body: Body<'data>,
}

impl<'data> Record<'data> {
    /// The record at the front; `None` when it is cut short, and inside of that
    /// `None` when its size cannot be one.
    fn read(data: &'data [u8], big_endian: bool) -> Option<Option<Self>> {
        let mut header = Body::new(data, big_endian);
        let (id, size, _time) = (header.u32()?, header.u32()?, header.u64()?);
        if size < RECORD_HEADER {
            return Some(None);
        }
        let size = usize::try_from(size).ok()?;
        let body = data.get(..size)?.get(usize::try_from(RECORD_HEADER).ok()?..)?;
        Some(Some(Self { id, size, body: Body::new(body, big_endian) }))
    }
}

/// What was read so far.
struct Reader<'data> {
    report: Report,
    live: LiveCode<'data>,
    /// Of the code with that tag.
    lines: Vec<Option<Lines<'data>>>,
    /// Waits for its code.
    debug: Option<DebugInfo<'data>>,
    /// What is added to addresses of debug information.
    skew: u64,
    warned: bool,
}

impl<'data> Reader<'data> {
    fn new(header: &Header) -> Self {
        let skew = match (header.reserved == V8_MARK, header.machine().is_64) {
            (false, _) => 0,
            (true, false) => 0x34,
            (true, true) => 0x40,
        };
        Self {
            report: Report::default(),
            live: LiveCode::default(),
            lines: Vec::new(),
            debug: None,
            skew,
            warned: false,
        }
    }

    fn add(&mut self, record: &Record<'data>, at: usize) {
        const LOAD: u32 = 0;
        const MOVE: u32 = 1;
        const DEBUG_INFO: u32 = 2;
        const CLOSE: u32 = 3;
        const UNWINDING_INFO: u32 = 4;
        let done = match record.id {
            LOAD => self.load(record.body),
            MOVE => self.relocate(record.body),
            DEBUG_INFO => self.debug_info(record.body),
            // Nothing in them names an address.
            CLOSE | UNWINDING_INFO => Ok(()),
            _ => {
                self.report.skip("unknown record");
                Ok(())
            }
        };
        if let Err(found) = done {
            self.report.skip("broken record");
            self.warn(at, format!("expected a whole record, found {found}; skipped it"));
        }
    }

    /// `JIT_CODE_LOAD`: pid, tid, vma, address, size, index, name, code.
    fn load(&mut self, mut body: Body<'data>) -> Result<(), &'static str> {
        const SHORT: &str = "code that is cut short";
        let debug = self.debug.take();
        body.take(16).ok_or(SHORT)?;
        let (address, size) = (body.u64().ok_or(SHORT)?, body.u64().ok_or(SHORT)?);
        body.take(8).ok_or(SHORT)?;
        let name = body.name().ok_or(SHORT)?;
        body.take(size).ok_or(SHORT)?;
        if name.is_empty() || size >= MAX_SIZE {
            return Err(if name.is_empty() { "code without a name" } else { "code of 4 GiB" });
        }
        let tag = u32::try_from(self.lines.len()).map_err(|_| "too many records")?;
        let lines = self.lines_of(debug, address, size);
        self.lines.push(lines);
        self.live.load(Code { address, size, name, tag });
        Ok(())
    }

    fn lines_of(
        &mut self,
        debug: Option<DebugInfo<'data>>,
        address: u64,
        size: u64,
    ) -> Option<Lines<'data>> {
        let debug = debug?;
        if debug.code != address {
            self.report.skip("debug information of no code");
            return None;
        }
        let lines = debug.lines(size, self.skew);
        if lines.is_none() {
            self.report.skip("debug information outside of its code");
        }
        lines
    }

    /// `JIT_CODE_MOVE`: pid, tid, vma, old address, new address, size, index.
    fn relocate(&mut self, mut body: Body<'data>) -> Result<(), &'static str> {
        const SHORT: &str = "a move that is cut short";
        body.take(16).ok_or(SHORT)?;
        let (old, new) = (body.u64().ok_or(SHORT)?, body.u64().ok_or(SHORT)?);
        match self.live.take(old) {
            Some(code) => self.live.load(Code { address: new, ..code }),
            None => self.report.skip("move of code that is not there"),
        }
        Ok(())
    }

    fn debug_info(&mut self, body: Body<'data>) -> Result<(), &'static str> {
        if self.debug.take().is_some() {
            self.report.skip("debug information of no code");
        }
        self.debug = Some(DebugInfo::read(body)?);
        Ok(())
    }

    fn cut_short(&mut self, at: usize, left: usize) {
        self.report.skip("record cut short");
        self.warn(at, format!("expected a whole record, found {left} bytes of one; left it out"));
    }

    fn wrong_size(&mut self, at: usize) {
        self.report.skip("broken record");
        self.warn(
            at,
            "expected a record of at least 16 bytes, found a smaller size; left out all from there"
                .to_owned(),
        );
    }

    /// The first warning is shown; the counts tell the rest.
    fn warn(&mut self, at: usize, text: String) {
        if !self.warned {
            self.warned = true;
            self.report.warn(format!("jitdump record at offset {at:#x}: {text}"));
        }
    }

    fn finish(self, header: &Header) -> Image<'data> {
        let (mut image, tags) =
            self.live.into_image(Format::JitDump, header.machine(), self.report);
        for (symbol, tag) in image.symbols.iter().zip(tags) {
            let lines = usize::try_from(tag).ok().and_then(|tag| self.lines.get(tag));
            let unit = lines.and_then(Option::as_ref).and_then(|lines| {
                lines.unit(symbol.name, symbol.section, symbol.address, symbol.size)
            });
            image.lines.extend(unit);
        }
        image
    }
}
