//! Functions and lines of a profile: frames of an index in, ids out, each function once.
//!
//! A function is its name, linkage name, file and first line together: the
//! same function with lines of two files is two entries, as a line is one of its
//! function's file.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use symidx::{Corrupt, Frame, Index, Name, SourceFile, Symbol};

use crate::profile::Profile;
use crate::proto::{Function, Line, Location};

/// Makes what people read of a linkage name; `None` for names shown as they are.
pub(crate) type NameHook<'n> = Box<dyn FnMut(&[u8]) -> Option<String> + 'n>;

/// How names are written.
pub(crate) enum Naming<'n> {
    /// Linkage names.
    Linkage,
    /// Short readable names: what the index stores, else what the hook makes
    /// of it, else Rust names demangled.
    Short(Option<NameHook<'n>>),
}

/// One function at an address: what an index knows of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'i> {
    pub(crate) function: Option<Name<'i>>,
    pub(crate) file: Option<SourceFile<'i>>,
    line: Option<u32>,
    column: Option<u32>,
    start_line: Option<u32>,
}

impl<'i> From<Frame<'i>> for Part<'i> {
    fn from(frame: Frame<'i>) -> Self {
        // Damage there costs no more than the first line.
        let (declared_file, declared_line) = frame.declared().unwrap_or_default();
        let file = frame.file().or(declared_file);
        Self {
            function: frame.function(),
            file,
            line: frame.line(),
            column: frame.column(),
            // A function whose line is another file's begins at no line of that file.
            start_line: declared_line.filter(|_| declared_file == file),
        }
    }
}

impl<'i> From<Symbol<'i>> for Part<'i> {
    fn from(symbol: Symbol<'i>) -> Self {
        let function = Some(symbol.name());
        Self { function, file: None, line: None, column: None, start_line: None }
    }
}

/// The functions of a profile, to be added to.
pub(crate) struct Functions {
    /// By everything but the id.
    known: HashMap<Function, u64>,
    used: HashSet<u64>,
    nameless: HashSet<u64>,
    next: u64,
    /// Reused for every text.
    name: String,
    path: String,
    /// What people read of a linkage name, by its number.
    shown: HashMap<i64, i64>,
}

impl Functions {
    pub(crate) fn new(profile: &Profile) -> Self {
        let functions = profile.functions.iter();
        Self {
            known: functions.clone().map(|&f| (Function { id: 0, ..f }, f.id)).collect(),
            used: functions.clone().map(|function| function.id).collect(),
            nameless: functions.filter(|f| is_nameless(f)).map(|function| function.id).collect(),
            next: 1,
            name: String::new(),
            path: String::new(),
            shown: HashMap::new(),
        }
    }

    /// True when a location has a function with a name.
    pub(crate) fn is_named(&self, location: &Location) -> bool {
        location.line.iter().any(|line| !self.nameless.contains(&line.function_id))
    }

    /// The line of a part.
    pub(crate) fn line(
        &mut self,
        profile: &mut Profile,
        index: &Index<'_>,
        part: &Part<'_>,
        naming: &mut Naming<'_>,
    ) -> Line {
        let (mut name, mut system_name) = (0, 0);
        if let Some(linkage) = part.function {
            system_name = self.text(profile, |out| linkage.write_to(out));
            name = self.shown(profile, index, linkage, system_name, naming);
        }
        self.path.clear();
        let _ = part.file.map(|file| write!(self.path, "{file}"));
        let filename = profile.strings.intern(&self.path);
        let start_line = part.start_line;
        let function = Function {
            id: 0,
            name,
            system_name,
            filename,
            start_line: start_line.map_or(0, i64::from),
        };
        Line {
            function_id: self.id(profile, function),
            line: part.line.map_or(0, i64::from),
            column: part.column.map_or(0, i64::from),
        }
    }

    fn id(&mut self, profile: &mut Profile, function: Function) -> u64 {
        if let Some(id) = self.known.get(&function) {
            return *id;
        }
        while !self.used.insert(self.next) {
            self.next = self.next.wrapping_add(1).max(1);
        }
        if is_nameless(&function) {
            self.nameless.insert(self.next);
        }
        self.known.insert(function, self.next);
        profile.functions.push(Function { id: self.next, ..function });
        self.next
    }

    fn text(
        &mut self,
        profile: &mut Profile,
        write: impl FnOnce(&mut String) -> std::fmt::Result,
    ) -> i64 {
        self.name.clear();
        // A string takes everything.
        let _ = write(&mut self.name);
        profile.strings.intern(&self.name)
    }

    fn shown(
        &mut self,
        profile: &mut Profile,
        index: &Index<'_>,
        linkage: Name<'_>,
        system_name: i64,
        naming: &mut Naming<'_>,
    ) -> i64 {
        let Naming::Short(hook) = naming else { return system_name };
        if let Some(shown) = self.shown.get(&system_name) {
            return *shown;
        }
        let stored: Result<_, Corrupt> = index.display_name(linkage);
        let shown = match (stored, hook) {
            (Ok(Some(stored)), _) => self.text(profile, |out| stored.short().write_to(out)),
            (_, Some(hook)) => match hook(&linkage.to_bytes()) {
                Some(text) => profile.strings.intern(&text),
                None => system_name,
            },
            (_, None) => self.text(profile, |out| write!(out, "{}", linkage.demangle())),
        };
        self.shown.insert(system_name, shown);
        shown
    }
}

fn is_nameless(function: &Function) -> bool {
    (function.name, function.system_name) == (0, 0)
}
