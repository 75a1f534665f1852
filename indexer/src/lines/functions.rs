//! Functions as they are written: those of all units in, their entries out.
//!
//! Settles which file and which line the rows of a function count from, and
//! which further entries it has. Never decides whose rows are whose.

use std::collections::HashMap;

use symidx::format::lines::{
    FILE_OF_ROWS, FunctionEntry, LINE_DECLARED, MAX_FUNCTION_FILE, MAX_FUNCTION_LINE, NO_FILE,
    to_u24,
};

use crate::model::lines::{Function, NONE};

/// Lines outside functions, and of functions without a declared line, count
/// from multiples of this.
const LINES_APART: u32 = 128;

/// The line that those count from which are not those of a declared function.
pub(super) fn base_of(line: u32) -> u32 {
    line.saturating_sub(line % LINES_APART).clamp(1, MAX_FUNCTION_LINE)
}

/// A function as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// Its entry.
    pub(super) number: u32,
    /// Its file, of those written; [`NONE`]: unknown.
    pub(super) file: u32,
    /// The line that its rows count from; 0: not settled yet.
    pub(super) base: u32,
    /// That is where it was declared.
    pub(super) declared: bool,
    /// What its rows and calls take as its file is settled.
    file_settled: bool,
    /// Debug information has no file for it: this is that of its first row.
    file_of_rows: bool,
}

impl Written {
    /// Without anything known.
    const NOTHING: Self = Self {
        number: NONE,
        file: NONE,
        base: 0,
        declared: false,
        file_settled: true,
        file_of_rows: false,
    };

    fn new(number: u32, file: u32, line: u32) -> Self {
        // Beyond 8 million files: unknown.
        let file = if file <= MAX_FUNCTION_FILE { file } else { NONE };
        let declared = (1..=MAX_FUNCTION_LINE).contains(&line);
        let base = if declared { line } else { 0 };
        Self { number, file, base, declared, file_settled: file != NONE, ..Self::NOTHING }
    }

    /// Takes the place of a row or a call of the function. The first one settles
    /// the file, known or not, as what is written counts from it; the first
    /// with a line settles that.
    fn settle(&mut self, file: u32, line: u32) {
        if !self.file_settled {
            self.file_settled = true;
            if file <= MAX_FUNCTION_FILE {
                self.file = file;
                self.file_of_rows = true;
            }
        }
        if self.base == 0 && line != 0 {
            self.base = base_of(line);
        }
    }

    fn entry(&self) -> FunctionEntry {
        let of_rows = if self.file_of_rows { FILE_OF_ROWS } else { 0 };
        FunctionEntry {
            name: 0.into(),
            name_len: 0.into(),
            file: to_u24(if self.file == NONE { NO_FILE } else { self.file | of_rows }),
            line: to_u24(self.base | if self.declared { LINE_DECLARED } else { 0 }),
        }
    }
}

/// All functions, by their numbers in what was read.
#[derive(Debug, Default)]
pub(super) struct Functions<'data> {
    functions: Vec<Written>,
    /// The name of each entry.
    names: Vec<&'data [u8]>,
    /// Functions that have the name of a symbol at some places: their other entries.
    renamed: HashMap<(u32, &'data [u8]), u32>,
    /// Functions without a name: rows outside functions, by file and line.
    outside: HashMap<(u32, u32), u32>,
    /// Further entries of one entry, by it and the line that rows count from.
    further: HashMap<(u32, u32), Written>,
}

impl<'data> Functions<'data> {
    /// Takes them with how often each is used: those with the most nodes get the
    /// smallest numbers, which are the shortest; `file` is the number of a file
    /// as it is written.
    pub(super) fn new(all: &[(Function<'data>, u32)], file: impl Fn(u32) -> u32) -> Self {
        let mut this = Self::default();
        let mut order: Vec<u32> = (0..u32::try_from(all.len()).unwrap_or(NONE)).collect();
        let uses = |number: u32| all.get(place(number)).map_or(0, |(_, uses)| *uses);
        order.sort_by_key(|&number| (std::cmp::Reverse(uses(number)), number));
        this.functions = vec![Written::NOTHING; all.len()];
        for &of in &order {
            let Some((function, uses @ 1..)) = all.get(place(of)) else { break };
            let number = this.next(function.name);
            if let Some(slot) = this.functions.get_mut(place(of)) {
                *slot = Written::new(number, file(function.file), function.line);
                // One that is used once leaves its file to its rows.
                slot.file_settled |= *uses == 1;
            }
        }
        this
    }

    /// A new entry with a name.
    fn next(&mut self, name: &'data [u8]) -> u32 {
        let number = u32::try_from(self.names.len()).unwrap_or(NONE);
        self.names.push(name);
        number
    }

    /// The entry of a function; `NONE` if nothing of it is used.
    pub(super) fn number(&self, function: u32) -> u32 {
        self.functions.get(place(function)).map_or(NONE, |written| written.number)
    }

    /// True when the first row of a function would still settle something.
    pub(super) fn is_open(&self, function: u32) -> bool {
        let written = self.functions.get(place(function));
        written.is_some_and(|written| written.base == 0 || !written.file_settled)
    }

    /// Takes the place of a row or a call.
    pub(super) fn settle(&mut self, function: u32, file: u32, line: u32) {
        if let Some(written) = self.functions.get_mut(place(function)) {
            written.settle(file, line);
        }
    }

    /// The function as written; one without name, file and line when its DIE
    /// was not found.
    pub(super) fn written(&mut self, function: u32) -> Written {
        let known = self.functions.get(place(function)).copied();
        match known.filter(|written| written.number != NONE) {
            Some(written) => written,
            None => self.nameless(NONE, 0),
        }
    }

    /// The entry of a function where a symbol has another name for it.
    pub(super) fn renamed(&mut self, function: u32, symbol: &'data [u8]) -> u32 {
        if let Some(&number) = self.renamed.get(&(function, symbol)) {
            return number;
        }
        let number = self.next(symbol);
        self.renamed.insert((function, symbol), number);
        number
    }

    /// A function without a name, for rows outside every function.
    pub(super) fn nameless(&mut self, file: u32, base: u32) -> Written {
        let number = match self.outside.get(&(file, base)) {
            Some(&number) => number,
            None => {
                let number = self.next(&[]);
                self.outside.insert((file, base), number);
                number
            }
        };
        Written { base, ..Written::new(number, file, 0) }
    }

    /// Another entry like `number`, which is the function's, for rows whose line
    /// is far from where it starts.
    pub(super) fn further(&mut self, function: u32, number: u32, line: u32) -> Written {
        let base = base_of(line);
        if let Some(&written) = self.further.get(&(number, base)) {
            return written;
        }
        let like = self.written(function);
        let name = self.names.get(place(number)).copied().unwrap_or(&[]);
        let written = Written { number: self.next(name), base, declared: false, ..like };
        self.further.insert((number, base), written);
        written
    }

    /// The entries, whose names are not placed yet, and their names.
    pub(super) fn finish(self) -> (Vec<FunctionEntry>, Vec<&'data [u8]>) {
        let mut entries = vec![Written::NOTHING.entry(); self.names.len()];
        let nameless = self
            .outside
            .iter()
            .map(|(&(file, base), &number)| Written { base, ..Written::new(number, file, 0) });
        let renamed = self.renamed.iter().filter_map(|(&(function, _), &number)| {
            self.functions.get(place(function)).map(|&written| Written { number, ..written })
        });
        let own = self.functions.iter().copied().chain(self.further.values().copied());
        for written in own.chain(nameless).chain(renamed) {
            if let Some(slot) = entries.get_mut(place(written.number)) {
                *slot = written.entry();
            }
        }
        (entries, self.names)
    }
}

fn place(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use symidx::format::lines::from_u24;

    use super::*;

    fn function(name: &'static [u8], file: u32, line: u32) -> (Function<'static>, u32) {
        (Function { name, file, line }, 2)
    }

    #[test]
    fn the_first_row_settles_what_debug_information_leaves_open() {
        let all = [
            function(b"declared", 3, 40),
            function(b"line only", NONE, 40),
            function(b"nothing", NONE, 0),
            function(b"row without file", NONE, 0),
            (Function { name: b"used once", file: NONE, line: 0 }, 1),
        ];
        let mut functions = Functions::new(&all, |file| file);
        assert!(!functions.is_open(0) && functions.is_open(1) && functions.is_open(3));
        for function in 0..3 {
            functions.settle(function, 7, 300);
            functions.settle(function, 8, 900);
        }
        functions.settle(3, NONE, 0);
        functions.settle(3, 8, 900);
        functions.settle(4, 7, 300);
        let (entries, names) = functions.finish();
        let said: Vec<_> =
            entries.iter().map(|entry| (from_u24(entry.file), from_u24(entry.line))).collect();
        assert_eq!(
            said,
            [
                (3, 40 | LINE_DECLARED),
                (7 | FILE_OF_ROWS, 40 | LINE_DECLARED),
                (7 | FILE_OF_ROWS, 256),
                // What was written for the row counts from "unknown".
                (NO_FILE, 896),
                (NO_FILE, 256),
            ]
        );
        assert_eq!(names.len(), 5);
    }

    #[test]
    fn far_lines_have_entries_of_the_same_function() {
        let mut functions = Functions::new(&[function(b"memcpy", NONE, 0)], |file| file);
        functions.settle(0, 2, 10);
        let symbol = functions.renamed(0, b"__memcpy");
        let far = functions.further(0, symbol, 700);
        assert_eq!((far.base, far.file), (640, 2));
        assert_eq!(functions.further(0, symbol, 701).number, far.number);
        let (entries, names) = functions.finish();
        assert_eq!(names, [&b"memcpy"[..], b"__memcpy", b"__memcpy"]);
        let lines: Vec<_> = entries.iter().map(|entry| from_u24(entry.line)).collect();
        assert_eq!(lines, [1, 1, 640]);
    }
}
