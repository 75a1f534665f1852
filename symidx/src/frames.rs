//! Frames: an address in, the chain of functions that its code was written in out.
//!
//! The innermost frame comes first: the function whose body the instruction was
//! compiled from, with file, line and column; then, each at its call site, the
//! functions it was inlined into; last the function that the symbol names.
//! Never allocates, never loops: each frame lies before the one it came from.

use core::fmt;

use crate::answer::Symbol;
use crate::error::Corrupt;
use crate::names::Name;

/// A source file as DWARF states it: directory and name apart, joined by
/// whoever prints it. `Display` joins them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile<'a> {
    directory: Name<'a>,
    name: Name<'a>,
}

impl<'a> SourceFile<'a> {
    /// The directory, without a slash at its end (`/` itself stays); empty when the
    /// name stands alone or is absolute.
    #[must_use]
    pub fn directory(&self) -> Name<'a> {
        self.directory
    }

    /// The name inside the directory; may hold slashes.
    #[must_use]
    pub fn name(&self) -> Name<'a> {
        self.name
    }
}

impl fmt::Display for SourceFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.directory.is_empty() {
            self.directory.write_to(f)?;
            if self.directory != *b"/" {
                f.write_str("/")?;
            }
        }
        self.name.write_to(f)
    }
}

/// One function of the chain.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    function: Option<Name<'a>>,
    file: Option<SourceFile<'a>>,
    line: u32,
    column: u32,
    declared_in: Option<SourceFile<'a>>,
    declared_line: u32,
    inlined: bool,
}

impl<'a> Frame<'a> {
    /// The function's linkage name (its plain name where it has no other);
    /// `None` for a line row outside every function.
    #[must_use]
    pub fn function(&self) -> Option<Name<'a>> {
        self.function
    }

    /// The source file of the instruction, or of the call into the frame before.
    #[must_use]
    pub fn file(&self) -> Option<SourceFile<'a>> {
        self.file
    }

    /// The line, from 1; `None` when it is not known (compiler-made code).
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        (self.line != 0).then_some(self.line)
    }

    /// The column, from 1; 0 = the line as a whole. `None` when the line is not known.
    #[must_use]
    pub fn column(&self) -> Option<u32> {
        (self.line != 0).then_some(self.column)
    }

    /// Where the function was declared: file and line, as far as they are known.
    #[must_use]
    pub fn declared(&self) -> (Option<SourceFile<'a>>, Option<u32>) {
        (self.declared_in, (self.declared_line != 0).then_some(self.declared_line))
    }

    /// True for a function that was inlined into the next frame.
    #[must_use]
    pub fn is_inlined(&self) -> bool {
        self.inlined
    }
}

/// The frames of one address, innermost first.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    next: Option<Frame<'a>>,
}

impl<'a> Frames<'a> {
    pub(crate) fn of(symbol: Option<Symbol<'a>>) -> Self {
        Self {
            next: symbol.map(|symbol| Frame {
                function: Some(symbol.name()),
                file: None,
                line: 0,
                column: 0,
                declared_in: None,
                declared_line: 0,
                inlined: false,
            }),
        }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, Corrupt>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next.take().map(Ok)
    }
}
