//! perf map input: the text of `/tmp/perf-PID.map` in, one [`Image`] out.
//!
//! In: lines `START SIZE NAME`, hexadecimal, in the order they were written; names
//! hold blanks. Out: functions at run-time addresses. This module never knows
//! when a function was there: it tells what the text says last of an address.
//!
//! Where the text leaves a choice (each with its own test):
//! - a later line replaces the earlier ones that it overlaps, as JIT compilers
//!   use memory again (perf keeps both, and which one it finds is left to chance);
//! - size 0 owns its address only, as in perf;
//! - a line that is none, or claims 4 GiB and more, is counted and skipped, and
//!   the first of them shown; a last line that is cut short is such a line;
//! - `0x` in front of a number and `\r` at a line's end are no part of them.
//!
//! ```
//! use symidx_indexer::{input::perf_map, model::Format};
//!
//! let text = b"7f0000001000 20 LazyCompile:*fib busy.js:1\n";
//! let image = perf_map::read("/tmp/perf-1.map".as_ref(), text)?;
//! assert_eq!(image.format, Format::PerfMap);
//! assert_eq!(image.symbols[0].name, b"LazyCompile:*fib busy.js:1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::Path;

use super::live_code::{Code, LiveCode, MAX_SIZE};
use super::{InputError, kallsyms};
use crate::model::{Format, Image, Machine, Report};

#[cfg(test)]
mod tests;

/// How many lines [`is_perf_map`] looks at.
const LINES_TO_TRY: usize = 64;

/// How many bytes [`is_perf_map`] looks at.
const BYTES_TO_TRY: usize = 8192;

/// What a line has to be.
const EXPECTED: &str = "START SIZE NAME with hexadecimal numbers and a size below 4 GiB";

/// True for a file's name as JIT compilers give it: `perf-PID.map`.
#[must_use]
pub(crate) fn is_perf_map_name(path: &Path) -> bool {
    let name = path.file_name().map_or(&[][..], |name| name.as_encoded_bytes());
    let pid = name.strip_prefix(b"perf-").and_then(|name| name.strip_suffix(b".map"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.iter().all(u8::is_ascii_digit))
}

/// True when the bytes start like a perf map: of the first lines more are
/// `START SIZE NAME` than are kallsyms', whose type letter can look like a size.
///
/// ```
/// use symidx_indexer::input::perf_map::is_perf_map;
///
/// assert!(is_perf_map(b"7f0000001000 20 a name with spaces\n"));
/// assert!(!is_perf_map(b"some other text\n"));
/// ```
#[must_use]
pub fn is_perf_map(data: &[u8]) -> bool {
    let whole = data.len() <= BYTES_TO_TRY;
    let data = data.get(..BYTES_TO_TRY).unwrap_or(data);
    // Not a byte of such a text is a NUL; binaries have one early on.
    if data.contains(&0) {
        return false;
    }
    let mut lines: Vec<_> = data.split(|&byte| byte == b'\n').collect();
    if !whole {
        lines.pop();
    }
    let (mut maps, mut others) = (0u32, 0u32);
    for line in lines.iter().filter(|line| !line.trim_ascii().is_empty()).take(LINES_TO_TRY) {
        match parse(line) {
            Some(_) if !kallsyms::is_line(line) => maps = maps.saturating_add(1),
            _ => others = others.saturating_add(1),
        }
    }
    maps > others
}

/// Reads a perf map.
///
/// # Errors
/// None today; the signature is that of every input.
///
/// ```
/// // Later code replaces what was at its addresses before.
/// let text = b"1000 20 first\n1000 20 second\n";
/// let image = symidx_indexer::input::perf_map::read("/tmp/perf-1.map".as_ref(), text)?;
/// assert_eq!(image.symbols.len(), 1);
/// assert_eq!(image.symbols[0].name, b"second");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read<'store>(path: &Path, data: &'store [u8]) -> Result<Image<'store>, InputError> {
    let mut report = Report::default();
    let mut live = LiveCode::default();
    let mut broken = 0_u64;
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', data).chain(std::iter::once(data.len()));
    for (number, end) in (1_u64..).zip(ends) {
        let line = data.get(start..end).unwrap_or_default();
        start = end.saturating_add(1);
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse(line) {
            Some(code) => live.load(code),
            None => {
                broken = broken.saturating_add(1);
                if broken == 1 {
                    report.warn(format!(
                        "{} line {number}: expected {EXPECTED}, found {:?}; skipped it",
                        path.file_name().unwrap_or_default().display(),
                        String::from_utf8_lossy(line.get(..60).unwrap_or(line))
                    ));
                }
            }
        }
    }
    report.skip_many("broken line", broken);
    let machine =
        Machine { number: 0, subtype: 0, name: "unknown", is_64: live.is_64(), big_endian: false };
    Ok(live.into_image(Format::PerfMap, machine, report).0)
}

/// Reads a line.
fn parse(line: &[u8]) -> Option<Code<'_>> {
    let line = line.trim_ascii();
    let (address, rest) = number(line)?;
    let (size, name) = number(rest)?;
    // A NUL ends a name wherever names are shown; a text has none.
    let is_code = size < MAX_SIZE && !name.is_empty() && !name.contains(&0);
    is_code.then_some(Code { address, size, name, tag: 0 })
}

/// The number at the front, and what follows the blanks behind it.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text.iter().position(u8::is_ascii_whitespace)?;
    let (digits, rest) = text.split_at_checked(end)?;
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    Some((kallsyms::hex(digits)?, rest.trim_ascii_start()))
}
