//! Why a profile cannot be read.
//!
//! Damage inside the data is no error: it costs its record and is counted in
//! [`crate::Damage`]. Messages have no path: the caller knows it.

use std::fmt;
use std::io;

/// Why a profile cannot be read at all.
///
/// ```
/// use symidx_perf::{Error, Reader};
///
/// let error = Reader::from_stream(&b"\x7fELF is no recording"[..]).unwrap_err();
/// assert!(matches!(error, Error::NotAProfile { .. }));
/// assert!(error.to_string().contains("record one with `perf record`"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system failed.
    Io {
        /// What was being done.
        action: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The file does not start as a profile does.
    NotAProfile {
        /// Its first bytes.
        found: [u8; 8],
    },
    /// The header or the list of events is damaged.
    Damaged {
        /// What should have been there.
        expected: &'static str,
        /// What was there.
        found: String,
        /// Where in the file.
        offset: u64,
    },
    /// No event is described, so that no record can be read.
    NoEvents,
}

impl Error {
    pub(crate) fn io(action: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, source } => write!(f, "cannot {action}: {source}"),
            Self::NotAProfile { found } => write!(
                f,
                "expected a perf.data file (PERFILE2), found `{}`; record one with `perf record`",
                found.escape_ascii()
            ),
            Self::Damaged { expected, found, offset } => {
                write!(f, "expected {expected} at byte {offset:#x}, found {found}; record it again")
            }
            Self::NoEvents => f.write_str(
                "expected a description of the recorded events, found none; record it again",
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
