//! Why there is no index, in one line that says what to do.

use std::io;
use std::path::PathBuf;

use crate::input::InputError;
use crate::layout::LayoutError;
use crate::model::Report;
use crate::publish::PublishError;

/// Why there is no index.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The input cannot be read.
    Input(InputError),
    /// The input has no symbols at all.
    NoSymbols {
        /// The input.
        path: PathBuf,
        /// What was left out, and why the rest is missing.
        report: Report,
    },
    /// Something outgrew the format.
    Layout {
        /// The input.
        path: PathBuf,
        /// What.
        source: LayoutError,
    },
    /// The index could not be published.
    Publish(PublishError),
    /// The index could not be made in memory.
    Memory {
        /// The input.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::NoSymbols { path, report } => {
                write!(f, "{}: expected symbols, found none", path.display())?;
                for (i, (reason, count)) in report.skipped.iter().enumerate() {
                    let before = if i == 0 { " (left out: " } else { ", " };
                    write!(f, "{before}{count} {reason}")?;
                }
                if !report.skipped.is_empty() {
                    write!(f, ")")?;
                }
                write!(
                    f,
                    "; give the file before it was stripped or its debug file, or allow an empty index (--allow-empty)"
                )
            }
            Self::Layout { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Publish(error) => error.fmt(f),
            Self::Memory { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Input(error) => Some(error),
            Self::Layout { source, .. } => Some(source),
            Self::Publish(error) => Some(error),
            Self::Memory { source, .. } => Some(source),
            Self::NoSymbols { .. } => None,
        }
    }
}

impl From<InputError> for BuildError {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl From<PublishError> for BuildError {
    fn from(error: PublishError) -> Self {
        Self::Publish(error)
    }
}
