//! kallsyms input: the text of `/proc/kallsyms` (or `nm` of a kernel) in, one [`Image`] out.
//!
//! In: lines `ADDRESS TYPE NAME[\t[MODULE]]`, any order; optionally `/proc/modules`.
//! Out: symbols without sizes, and the sections that this text does not have: runs
//! of neighbouring symbols of one module and one class (code or data). This module
//! never reads the kernel itself, and never lets a symbol reach over the next one.
//!
//! Where a run ends (each a function with its own test):
//! - at the next symbol of the same module when only the class changes;
//! - at an end marker (`_etext`, `__init_end`, `__stop_…`), which is a label at the
//!   run's end and so owns nothing;
//! - at its module's end, when a modules file tells it and the symbol lies inside the module;
//! - else at the end of the last symbol's 4 KiB page;
//! - and never behind the next symbol, whoever owns it.
//!
//! Also chosen here: per-cpu offsets (addresses below the kernel's half) and types
//! `A`/`a` are by name only; `_text`, `_stext`, `__start_…`, `__pfx_…`, `__cfi_…`
//! are labels, so that a function at the same address is preferred; a code symbol makes
//! its address code, whatever data symbols share it; where another module begins, what
//! the open one still has there is its end; two modules that begin at one address stand
//! together under the one that the text names first.
//!
//! ```
//! # let text = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/kallsyms/kallsyms"));
//! use symidx_indexer::{input::{ReadOptions, kallsyms}, model::Store};
//!
//! let store = Store::new();
//! let image = kallsyms::read("kallsyms".as_ref(), text, &store, &ReadOptions::default())?;
//! assert!(image.modules.contains(&&b"mod_a"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::HashMap;
use std::path::Path;

use super::{InputError, ReadOptions};
use crate::model::{
    AddressKind, Companion, Format, Image, Kind, Machine, NO_SECTION, NO_VERSION, Report, Source,
    Store, Symbol,
};

mod line;
mod markers;
mod modules;
pub mod running;
mod runs;
#[cfg(test)]
mod tests;

pub(super) use line::hex;
use line::{Class, Line};
use modules::Extents;

/// How many lines [`is_kallsyms`] looks at for one that is whole.
const LINES_TO_TRY: usize = 8;

/// How many bytes [`is_kallsyms`] looks at: a kernel's names have at most 512.
const BYTES_TO_TRY: usize = 8192;

/// A module index that means "the kernel itself".
const CORE: u32 = u32::MAX;

/// One line, with its module as an index.
#[derive(Clone, Copy, Debug)]
struct Entry<'data> {
    address: u64,
    name: &'data [u8],
    module: u32,
    order: u32,
    class: Class,
    letter: u8,
}

/// True when the bytes start like kallsyms: one of the first lines is an address
/// of 1 to 16 hex digits, a type letter and a name, with one space between.
///
/// ```
/// use symidx_indexer::input::kallsyms::is_kallsyms;
///
/// assert!(is_kallsyms(b"ffffffff81000000 T _text\n"));
/// assert!(!is_kallsyms(b"7f0000001000 20 a perf map\n"));
/// ```
#[must_use]
pub fn is_kallsyms(data: &[u8]) -> bool {
    let data = data.get(..BYTES_TO_TRY).unwrap_or(data);
    // Not a byte of such a text is a NUL; binaries have one early on.
    let lines = data.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let mut lines = lines.take(LINES_TO_TRY).take_while(|line| !line.contains(&0));
    lines.any(is_line)
}

/// True for one line of kallsyms.
pub(super) fn is_line(line: &[u8]) -> bool {
    line::parse(line).is_ok_and(|line| line::class(line.letter).is_ok())
}

/// Reads kallsyms text.
///
/// # Errors
/// [`InputError::Malformed`] when all addresses are zero, as the kernel shows them to
/// users without the right to see them; [`InputError::Io`] for an unreadable modules file.
///
/// ```
/// use symidx_indexer::{input::{ReadOptions, kallsyms}, model::Store};
///
/// // What the kernel shows to whom it shows nothing is an error, not an empty index.
/// let text = b"0000000000000000 T _text\n0000000000000000 T schedule\n";
/// let store = Store::new();
/// let error = kallsyms::read("kallsyms".as_ref(), text, &store, &ReadOptions::default());
/// assert!(error.unwrap_err().to_string().contains("kptr_restrict"));
/// ```
pub fn read<'store>(
    path: &Path,
    data: &'store [u8],
    store: &'store Store,
    options: &ReadOptions,
) -> Result<Image<'store>, InputError> {
    let mut report = Report::default();
    let mut companions = Vec::new();
    let extents = match options.modules.clone().or_else(|| running::modules(path)) {
        Some(modules) => {
            let data = super::map_or_read(&modules, store)?;
            let extents = modules::read(&modules, data, &mut report);
            companions.push(Companion { path: modules, role: "modules file", data });
            extents
        }
        None => Extents::default(),
    };
    let text = parse(data, &mut report);
    if text.all_zero {
        return Err(InputError::Malformed {
            path: path.to_path_buf(),
            offset: None,
            expected: "kernel addresses".to_owned(),
            found: "addresses are all zero (kptr_restrict)".to_owned(),
            advice: "read it as root with the sysctl kernel.kptr_restrict at 0 or 1",
        });
    }
    let Text { mut entries, modules, is_64, .. } = text;
    let lowest = lowest_address(&entries, is_64);
    // Absolute values first, then by address; lines with one address stay in their order.
    let absolute = |e: &Entry<'_>| e.class == Class::Absolute || e.address < lowest;
    entries.sort_unstable_by_key(|e| (!absolute(e), e.address, e.order));
    let split = entries.partition_point(absolute);
    let (values, placed) = entries.split_at_checked(split).unwrap_or_default();
    let mut symbols: Vec<_> =
        values.iter().map(|entry| symbol(entry, NO_SECTION, Kind::Absolute)).collect();
    symbols.reserve_exact(placed.len());
    let limits = extents.limits(&modules);
    let sections = runs::place(placed, &limits, &mut symbols, &mut report);
    symbols.sort_unstable_by_key(|symbol| symbol.order);
    Ok(Image {
        format: Format::Kallsyms,
        addresses: AddressKind::Svma,
        machine: Machine { number: 0, subtype: 0, name: "unknown", is_64, big_endian: false },
        build_id: running::build_id(path),
        uuid: None,
        slice: None,
        segments: Vec::new(),
        sections,
        modules,
        versions: Vec::new(),
        symbols,
        function_starts: Vec::new(),
        holes: Vec::new(),
        debug: Vec::new(),
        lines: Vec::new(),
        companions,
        report,
    })
}

/// A symbol of the model from a line.
fn symbol<'data>(entry: &Entry<'data>, section: u32, kind: Kind) -> Symbol<'data> {
    Symbol {
        name: entry.name,
        address: entry.address,
        size: 0,
        section,
        order: entry.order,
        version: NO_VERSION,
        kind,
        binding: line::binding(entry.letter),
        source: Source::Symtab,
        default_version: false,
    }
}

/// The whole text, line by line.
struct Text<'data> {
    entries: Vec<Entry<'data>>,
    modules: Vec<&'data [u8]>,
    is_64: bool,
    /// There are symbols, and not one has an address.
    all_zero: bool,
}

/// Reads all lines. A line that is none is counted and the first of them shown.
fn parse<'data>(data: &'data [u8], report: &mut Report) -> Text<'data> {
    let mut entries = Vec::new();
    let mut modules = Vec::new();
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let mut widest = 0;
    let mut all_zero = true;
    let mut last: (Option<&[u8]>, u32) = (None, CORE);
    let mut broken = 0_u64;
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', data).chain(std::iter::once(data.len()));
    for (number, end) in (1_u64..).zip(ends) {
        let text = data.get(start..end).unwrap_or_default();
        start = end.saturating_add(1);
        let Line { address, digits, letter, name, module } = match line::parse(text) {
            Ok(line) => line,
            Err(line::Broken::Empty) => continue,
            Err(line::Broken::Expected(expected)) => {
                broken = broken.saturating_add(1);
                if broken == 1 {
                    report.warn(format!(
                        "kallsyms line {number}: expected {expected}, found {:?}; skipped it",
                        String::from_utf8_lossy(text.get(..60).unwrap_or(text))
                    ));
                }
                continue;
            }
        };
        all_zero &= address == 0;
        widest = digits.max(widest);
        let class = match line::class(letter) {
            Ok(class) => class,
            Err(reason) => {
                report.skip(reason);
                continue;
            }
        };
        if module != last.0 {
            let index = module.map_or(CORE, |module| {
                *numbers.entry(module).or_insert_with(|| {
                    modules.push(module);
                    u32::try_from(modules.len().saturating_sub(1)).unwrap_or(CORE)
                })
            });
            last = (module, index);
        }
        let order = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        entries.push(Entry { address, name, module: last.1, order, class, letter });
    }
    report.skip_many("broken line", broken);
    let all_zero = all_zero && !entries.is_empty();
    Text { entries, modules, is_64: widest > 8, all_zero }
}

/// The lowest address that can be one. A 64-bit kernel whose code is in the upper half
/// has per-cpu offsets in the lower; a 32-bit one has vectors and offsets in the
/// first 64 KiB, where nothing is mapped.
fn lowest_address(entries: &[Entry<'_>], is_64: bool) -> u64 {
    let lowest = if is_64 { 1 << 63 } else { 0x1_0000 };
    let is_there = |e: &Entry<'_>| e.class == Class::Code && e.address >= lowest;
    if entries.iter().any(is_there) { lowest } else { 0 }
}
