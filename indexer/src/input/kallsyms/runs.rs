//! Runs: symbols sorted by address in; sections that end where something is
//! known to end, and each symbol's section, out. Never lets two runs overlap.

use std::collections::HashSet;

use super::line::Class;
use super::markers::{Functions, Role, role, stem};
use super::{CORE, Entry, symbol};
use crate::model::{Kind, NO_SECTION, Report, Section, Symbol};

/// A bigger gap between two neighbours in code is a border that nobody marked: kernels
/// align parts of their code to 2 MiB, and no function is that long.
const BIGGEST_CODE: u64 = 2 << 20;

/// The same for data: the biggest object of a distribution's x86-64 kernel
/// (`amd_ucode_patch`) has 12 MiB.
const BIGGEST_DATA: u64 = 16 << 20;

/// The memory behind a last symbol is taken to be its own up to here.
const PAGE: u64 = 4096;

/// An open run of neighbouring symbols.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    /// Address of the last symbol so far.
    last: u64,
    module: u32,
    code: bool,
    write: bool,
    /// The module's end, when all symbols of the run are inside the module.
    limit: Option<u64>,
}

/// Puts each entry (sorted by address, then order) into a run, adds it to
/// `symbols`, and returns the runs. `limits` has each module's (start, end) if known.
pub(super) fn place<'data>(
    entries: &[Entry<'data>],
    limits: &[Option<(u64, u64)>],
    symbols: &mut Vec<Symbol<'data>>,
    report: &mut Report,
) -> Vec<Section<'data>> {
    let functions = Functions::new(entries);
    let mut sections = Vec::new();
    let mut open: Option<Run> = None;
    for group in entries.chunk_by(|a, b| a.address == b.address) {
        let Some(first) = group.first() else { continue };
        let address = first.address;
        // Where another module begins, what the open one still has there is its end.
        let mixed = group.iter().any(|entry| entry.module != first.module);
        let leaving = open.filter(|_| mixed).map(|run| run.module);
        let role_of = |entry: &Entry<'data>| {
            let ends = ends_module(entry, limits) || leaving == Some(entry.module);
            if ends { Role::End } else { role(entry, &functions) }
        };
        // An end marker closes the run of its own module here, and is a label at its end.
        let mut closed = NO_SECTION;
        let mut ended = HashSet::new();
        for entry in group.iter().filter(|entry| role_of(entry) == Role::End) {
            ended.insert(stem(entry.name));
            if let Some(run) = open.filter(|run| marks_end_of(entry, run)) {
                closed = count(&sections);
                sections.push(section(&run, address, closed));
                open = None;
            }
            symbols.push(by_name(entry, closed));
        }
        // An empty section: its start marker is where its end marker is, and owns nothing too.
        let is_empty = |entry: &Entry<'data>| {
            !ended.is_empty() && role_of(entry) == Role::Start && ended.contains(stem(entry.name))
        };
        symbols.extend(group.iter().filter(|e| is_empty(e)).map(|e| by_name(e, closed)));
        let others = group.iter().filter(|e| role_of(e) != Role::End && !is_empty(e));
        let Some(leader) = others.clone().next() else { continue };
        let next = started_by(leader, others.clone(), limits);
        let run = match open.filter(|run| continues(run, &next)) {
            Some(run) => Run { last: address, write: run.write || next.write, ..run },
            None => {
                if let Some(run) = open {
                    sections.push(section(&run, end_before(&run, &next), count(&sections)));
                }
                next
            }
        };
        open = Some(run);
        let index = count(&sections);
        for entry in others {
            if entry.module != leader.module {
                report.skip("same address in another module");
            }
            let kind = match (role_of(entry), entry.class) {
                (Role::Symbol, Class::Code) => Kind::Function,
                (Role::Symbol, _) => Kind::Object,
                (Role::Start | Role::Padding | Role::End, _) => Kind::Label,
            };
            symbols.push(symbol(entry, index, kind));
        }
    }
    if let Some(run) = open {
        sections.push(section(&run, last_end(&run), count(&sections)));
    }
    sections
}

/// The number of sections so far, which is the index of the next one.
fn count(sections: &[Section<'_>]) -> u32 {
    u32::try_from(sections.len()).unwrap_or(NO_SECTION)
}

/// A symbol that owns nothing: a label at the end of the run that was closed
/// there, or a bare value where there was no run to close.
fn by_name<'data>(entry: &Entry<'data>, closed: u32) -> Symbol<'data> {
    let kind = if closed == NO_SECTION { Kind::Absolute } else { Kind::Label };
    symbol(entry, closed, kind)
}

/// The range of an entry's module.
fn limit_of(entry: &Entry<'_>, limits: &[Option<(u64, u64)>]) -> Option<(u64, u64)> {
    limits.get(usize::try_from(entry.module).ok()?).copied().flatten()
}

/// True for a symbol exactly at the end of its module: a marker, whatever its name.
fn ends_module(entry: &Entry<'_>, limits: &[Option<(u64, u64)>]) -> bool {
    limit_of(entry, limits).is_some_and(|(_, end)| entry.address == end)
}

/// True when a marker is the end of that run: same module, and near enough.
fn marks_end_of(marker: &Entry<'_>, run: &Run) -> bool {
    marker.module == run.module && !is_far(run, marker.address)
}

/// True when the next symbol is too far for the run's last one to reach it.
fn is_far(run: &Run, next: u64) -> bool {
    let biggest = if run.code { BIGGEST_CODE } else { BIGGEST_DATA };
    next.saturating_sub(run.last) > biggest
}

/// The run that a group would start, led by its first symbol that is no end
/// marker. Code if any symbol of the group is.
fn started_by<'a, 'data: 'a>(
    leader: &Entry<'data>,
    others: impl Iterator<Item = &'a Entry<'data>> + Clone,
    limits: &[Option<(u64, u64)>],
) -> Run {
    let address = leader.address;
    let inside = limit_of(leader, limits).filter(|&(start, end)| start <= address && address < end);
    let code = others.clone().any(|entry| entry.class == Class::Code);
    let mut writable = others.filter(|entry| !matches!(entry.letter, b'R' | b'r' | b'n'));
    Run {
        start: address,
        last: address,
        module: leader.module,
        code,
        write: !code && writable.next().is_some(),
        limit: inside.map(|(_, end)| end),
    }
}

/// True when the next group belongs to the run: same module, same class, both
/// inside or both outside of the module's range, and no gap between.
fn continues(run: &Run, next: &Run) -> bool {
    run.module == next.module
        && run.code == next.code
        && run.limit == next.limit
        && !is_far(run, next.start)
}

/// Where a run ends that another follows: at the next symbol of its own module, else
/// where its last symbol can reach at most, and never behind the next symbol.
fn end_before(run: &Run, next: &Run) -> u64 {
    let same = run.module == next.module && run.limit == next.limit;
    if same && !is_far(run, next.start) { next.start } else { last_end(run).min(next.start) }
}

/// How far a last symbol can reach at most: to its module's end if that is known, else to
/// the end of its page.
fn last_end(run: &Run) -> u64 {
    run.limit.unwrap_or_else(|| (run.last | (PAGE.saturating_sub(1))).saturating_add(1))
}

/// The section of a finished run.
fn section<'data>(run: &Run, end: u64, index: u32) -> Section<'data> {
    Section {
        name: b"",
        address: run.start,
        size: end.saturating_sub(run.start),
        number: index.saturating_add(1),
        module: (run.module != CORE).then_some(run.module),
        execute: run.code,
        write: run.write,
        tls: false,
    }
}
