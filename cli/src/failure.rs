//! Why a verb ends early, and with which exit code.
//!
//! In: errors of the libraries. Out: one line and a code. Never prints.

use std::fmt::{self, Display};
use std::path::Path;

/// The exit codes that scripts rely on.
pub(crate) mod exit {
    /// Done, misses included.
    pub(crate) const OK: u8 = 0;
    /// Some input failed or an address was malformed; the others are answered.
    pub(crate) const SOME_FAILED: u8 = 1;
    /// The command line is wrong.
    pub(crate) const USAGE: u8 = 2;
    /// The input has no symbols at all.
    pub(crate) const NO_SYMBOLS: u8 = 3;
    /// The index was made from another build of the binary.
    pub(crate) const MISMATCH: u8 = 4;
}

/// A verb that cannot go on.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A line for the user, and the exit code.
    Line {
        /// The exit code.
        code: u8,
        /// What was expected, what was found, where, and what to do.
        text: String,
    },
    /// Whoever read standard output has gone: end, and say nothing.
    Closed,
}

impl Failure {
    /// A failure of one input.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::Line { code: exit::SOME_FAILED, text: text.into() }
    }

    /// A command line that cannot be followed.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::Line { code: exit::USAGE, text: text.into() }
    }

    /// A failure that is about one file.
    pub(crate) fn file(path: &Path, what: impl Display) -> Self {
        Self::new(format!("{}: {what}", path.display()))
    }

    /// The exit code of an index build that failed.
    pub(crate) fn build_code(error: &symidx_indexer::BuildError) -> u8 {
        match error {
            symidx_indexer::BuildError::NoSymbols { .. } => exit::NO_SYMBOLS,
            _ => exit::SOME_FAILED,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { text, .. } => f.write_str(text),
            Self::Closed => f.write_str("standard output is closed"),
        }
    }
}

impl From<symidx_indexer::BuildError> for Failure {
    fn from(error: symidx_indexer::BuildError) -> Self {
        Self::Line { code: Self::build_code(&error), text: error.to_string() }
    }
}

impl From<symidx_indexer::input::InputError> for Failure {
    fn from(error: symidx_indexer::input::InputError) -> Self {
        Self::new(error.to_string())
    }
}
