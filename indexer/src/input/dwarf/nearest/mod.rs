//! Debug information as binutils read it: the first unit that has something to
//! say about an address, and what it says.
//!
//! In: [`DebugInfo`], and addresses as it states them. Out: [`Hit`]s. Units are
//! read when they are asked for, and kept. Right answers are the business of the
//! modules around this one; this one's are those of a tool that others rely on.

use std::collections::HashMap;
use std::rc::Rc;

use crate::model::{DebugInfo, Report};

use super::files::{self, program};
use super::limits::Allowance;
use super::{File, headers, unit};

mod functions;
mod names;
mod paths;
mod rows;
mod variables;

use functions::Functions;
use names::{Named, Place, Units};
use paths::Paths;
use rows::Rows;
use variables::Variable;

/// At most so many callers of one function are told; real ones have a hundred.
const MOST_CALLERS: usize = 1 << 12;
/// Nor are more told when their paths have this many bytes together.
const MOST_CALLERS_TEXT: usize = 1 << 24;

/// One frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::input) struct Frame<'data> {
    /// The name of its function.
    pub(in crate::input) function: Option<&'data [u8]>,
    /// Its path, whole; one copy for all frames of an answer.
    pub(in crate::input) file: Option<Rc<[u8]>>,
    /// 0 for none.
    pub(in crate::input) line: u32,
    /// 0 for none.
    pub(in crate::input) discriminator: u32,
}

/// What a unit says about an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::input) struct Hit<'data> {
    /// The innermost function.
    pub(in crate::input) function: Option<Found<'data>>,
    /// Where the row is, and its line.
    pub(in crate::input) frame: Frame<'data>,
}

/// A function that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::input) struct Found<'data> {
    key: (usize, u32),
    /// Its name.
    pub(in crate::input) name: Option<&'data [u8]>,
    /// No other name is to be looked for.
    pub(in crate::input) linkage: bool,
    /// Where it begins.
    pub(in crate::input) low: u64,
}

/// A unit, as far as it was read.
struct Part {
    /// Its offset.
    offset: usize,
    /// What its root DIE covers; empty where that is not known.
    ranges: Vec<(u64, u64)>,
}

/// What was read of a unit.
struct Content<'data> {
    paths: Paths<'data>,
    rows: Rows,
    functions: Functions,
}

/// The debug information of one file.
pub(in crate::input) struct Nearest<'data> {
    units: Units<'data>,
    parts: Vec<Part>,
    /// By part: what was read, `None` inside for what cannot be.
    contents: HashMap<usize, Option<Content<'data>>>,
    /// Names that are settled once they have been asked for.
    settled: HashMap<(usize, u32), Named<'data>>,
    /// Variables by address, with the part that they are in.
    variables: Option<HashMap<u64, Vec<(usize, Variable<'data>)>>>,
}

impl<'data> Nearest<'data> {
    /// Reads the headers and root DIEs of all units.
    pub(in crate::input) fn open(info: &DebugInfo<'data>) -> Self {
        let report = &mut Report::default();
        let endian = unit::endian(info);
        let mut dwarf = unit::dwarf(&info.sections, endian);
        let supplementary = info.supplementary.as_ref().map(|sections| {
            dwarf.set_sup(unit::dwarf(sections, endian));
            File::open(unit::dwarf(sections, endian), "", report)
        });
        let main = File::open(dwarf, "", report);
        // Many units may name one long line program.
        let mut left = super::times(8, info.sections.line);
        let part = |header| {
            let (entered, extent) = names::enter(&main, header, None)?;
            left = left.checked_sub(files::extent(&main.dwarf, entered.stmt_list?)?)?;
            // A skeleton is short, whatever its ranges are.
            let lines = entered.stmt_list.and_then(|offset| files::extent(&main.dwarf, offset));
            let weight = super::wide(header.length_including_self());
            let allowance = Allowance::of(weight.saturating_add(lines.unwrap_or(0)));
            let mut ranges = Vec::new();
            let _ = extent.read(&main.dwarf, &entered.unit, &allowance, &mut ranges);
            let ranges = ranges.iter().map(|range| (range.start, range.end)).collect();
            Some(Part { offset: headers::offset_of(header), ranges })
        };
        let read = main.headers.list.iter().take_while(|header| !ends_reading(&main, header));
        let parts = read.filter_map(part).collect();
        Self {
            units: Units::new(main, supplementary),
            parts,
            contents: HashMap::new(),
            settled: HashMap::new(),
            variables: None,
        }
    }

    /// What the first unit says that knows a function or a row for the address.
    /// Units that do not claim it are asked only where there is no code: there,
    /// dead code answers.
    pub(in crate::input) fn find(&mut self, address: u64, code: bool) -> Option<Hit<'data>> {
        self.units.begin();
        for part in 0..self.parts.len() {
            if code && !self.parts.get(part).is_some_and(|part| part.may_hold(address)) {
                continue;
            }
            let Some(content) = self.content(part) else { continue };
            let function = content.functions.find(address);
            let row = content.rows.find(address);
            if function.is_none() && row.is_none() {
                continue;
            }
            let frame = row.map(|row| Frame {
                function: None,
                file: Some(content.paths.path(row.file.into()))
                    .filter(|path| !path.is_empty())
                    .map(Rc::from),
                line: row.line,
                discriminator: row.discriminator,
            });
            let frame = frame.unwrap_or_default();
            let function = function.and_then(|function| self.found(part, function));
            return Some(Hit { function, frame });
        }
        None
    }

    /// Settles the name of a function for all later questions: that of a symbol
    /// when it begins where the function does, else its own.
    pub(in crate::input) fn settle(&mut self, found: Found<'data>, symbol: Option<&'data [u8]>) {
        let name = symbol.or(found.name);
        self.settled.insert(found.key, Named { name, linkage: true });
    }

    /// The frames around that of an inlined function, inside out: no more than
    /// [`MOST_CALLERS`], and none past [`MOST_CALLERS_TEXT`].
    pub(in crate::input) fn callers(&mut self, found: Found<'data>) -> Vec<Frame<'data>> {
        let (part, mut number) = found.key;
        let mut frames = Vec::new();
        let mut known: HashMap<u64, Rc<[u8]>> = HashMap::new();
        let mut text = 0_usize;
        while frames.len() < MOST_CALLERS
            && text <= MOST_CALLERS_TEXT
            && let Some(function) = self.function(part, number)
            && function.inlined
            && let Some(caller) = function.caller
        {
            let offset = self.parts.get(part).map_or(0, |part| part.offset);
            let (file, line) = self.units.call(offset, function.die);
            let paths = self.contents.get(&part).and_then(Option::as_ref);
            let file = file.zip(paths).map(|(file, content)| {
                Rc::clone(known.entry(file).or_insert_with(|| content.paths.path(file).into()))
            });
            text = text.saturating_add(file.as_ref().map_or(0, |file| file.len()));
            let function = self.found(part, caller).and_then(|caller| caller.name);
            frames.push(Frame { function, file, line, discriminator: 0 });
            number = caller;
        }
        frames
    }

    /// Where the variable of a symbol is declared: its name may be part of the
    /// symbol's, as it is in C++.
    pub(in crate::input) fn variable(&mut self, address: u64, symbol: &[u8]) -> Option<Hit<'data>> {
        let variables = match self.variables.take() {
            Some(variables) => variables,
            None => self.read_variables(),
        };
        let found = variables.get(&address).and_then(|list| {
            list.iter().copied().find(|(_, variable)| {
                let named = |name: &[u8]| memchr::memmem::find(symbol, name).is_some();
                variable.file.is_some() && variable.name.is_some_and(named)
            })
        });
        self.variables = Some(variables);
        let (part, variable) = found?;
        let content = self.content(part)?;
        let file = variable.file.map(|file| content.paths.path(file).into());
        let frame = Frame { file, line: variable.line, ..Frame::default() };
        Some(Hit { function: None, frame })
    }

    fn read_variables(&self) -> HashMap<u64, Vec<(usize, Variable<'data>)>> {
        let mut found: HashMap<_, Vec<_>> = HashMap::new();
        for (number, part) in self.parts.iter().enumerate() {
            let Some(entered) = self.units.enter(Place::Main, part.offset) else { continue };
            for (address, variable) in variables::read(&self.units.main.dwarf, &entered.unit) {
                found.entry(address).or_default().push((number, variable));
            }
        }
        found
    }

    /// How often a unit was entered that was not ready.
    #[cfg(test)]
    pub(in crate::input) fn entered(&self) -> u64 {
        self.units.count.get()
    }

    /// How many functions of the first unit are kept, once it was read.
    #[cfg(test)]
    pub(in crate::input) fn kept_functions(&self) -> Option<usize> {
        Some(self.contents.get(&0)?.as_ref()?.functions.list.len())
    }

    /// How many variables and declarations of the first unit are kept.
    #[cfg(test)]
    pub(in crate::input) fn kept_variables(&self) -> Option<(usize, usize)> {
        let entered = self.units.enter(Place::Main, self.parts.first()?.offset)?;
        let (fixed, declared) = variables::needed(&self.units.main.dwarf, &entered.unit);
        Some((fixed.len(), declared.len()))
    }

    fn function(&self, part: usize, number: u32) -> Option<functions::Function> {
        let content = self.contents.get(&part)?.as_ref()?;
        content.functions.list.get(super::index(number)?).copied()
    }

    fn found(&self, part: usize, number: u32) -> Option<Found<'data>> {
        let function = self.function(part, number)?;
        let key = (part, number);
        let named = match self.settled.get(&key) {
            Some(named) => *named,
            None => self.units.name(Place::Main, self.parts.get(part)?.offset, function.die),
        };
        Some(Found { key, name: named.name, linkage: named.linkage, low: function.low })
    }

    /// The content of a unit, read when it is first needed.
    fn content(&mut self, part: usize) -> Option<&Content<'data>> {
        if !self.contents.contains_key(&part) {
            let content = self.parts.get(part).and_then(|part| self.read(part));
            self.contents.insert(part, content);
        }
        self.contents.get(&part)?.as_ref()
    }

    fn read(&self, part: &Part) -> Option<Content<'data>> {
        let dwarf = &self.units.main.dwarf;
        let entered = self.units.enter(Place::Main, part.offset)?;
        let unit = &entered.unit;
        let program = program(dwarf, entered.stmt_list?, unit.header.address_size()).ok()?;
        let allowance = Allowance::of(super::wide(unit.header.length_including_self()));
        let mut paths = Paths::read(dwarf, unit, &program, &allowance);
        let rows = Rows::run(&program, &mut paths);
        let functions = Functions::read(dwarf, unit, &allowance);
        Some(Content { paths, rows, functions })
    }
}

/// True for a unit that binutils do not get past: they read no list of ranges
/// whose addresses are stated by their numbers (gcc's `-gsplit-dwarf`), and no
/// unit after it.
fn ends_reading<'data>(file: &File<'data>, header: &unit::Header<'data>) -> bool {
    let Some((entered, extent)) = names::enter(file, header, None) else { return false };
    extent.list_has_numbers(&file.dwarf, &entered.unit)
}

impl Part {
    /// A unit that does not say what it covers may hold anything.
    fn may_hold(&self, address: u64) -> bool {
        let holds = |&(start, end): &(u64, u64)| start <= address && address < end;
        self.ranges.is_empty() || self.ranges.iter().any(holds)
    }
}
