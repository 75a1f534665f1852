//! Why a module has no index. Plain values: a reason costs no heap.

use core::fmt;

use crate::error::Violation;
use crate::process::id::Id;

/// Where an index was found that could not be used.
///
/// ```
/// use symidx::process::{Missing, Unusable, Where};
///
/// let reason = Missing::Unusable { place: Where::Beside, why: Unusable::NotAFile };
/// assert!(reason.to_string().starts_with("the index beside the binary cannot be used"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Where {
    /// Beside the binary.
    Beside,
    /// In the binary's section `.symidx`.
    Embedded,
    /// In a directory.
    Directory,
    /// In perf's cache.
    PerfCache,
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Beside => "the index beside the binary",
            Self::Embedded => "the index in the binary's section .symidx",
            Self::Directory => "the index in a store directory",
            Self::PerfCache => "the index in perf's cache",
        })
    }
}

/// Why a module has no index that could be used.
///
/// ```
/// # let (directory, store) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/store.rs"));
/// use symidx::process::{Id, Missing};
///
/// // What to do about it is in its text; what to count it as, in its kind.
/// let other = Id::new(&[1, 2, 3]).unwrap();
/// let reason = store.find("/bin/other".as_ref(), Some(&other)).unwrap_err();
/// assert_eq!(reason, Missing::NotFound);
/// assert_eq!(reason.to_string(), "no index found; build one: `symidx build`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// The module is no file: anonymous memory.
    NoFile,
    /// No place has one.
    NotFound,
    /// There is one, of another build.
    Stale {
        /// Where it is.
        place: Where,
        /// The module's id; `None` = it has none, and its content is what counts.
        expected: Option<Id>,
        /// The index's; `None` = it states none.
        found: Option<Id>,
    },
    /// There is one, and it cannot be opened.
    Unusable {
        /// Where it is.
        place: Where,
        /// What is wrong with it.
        why: Unusable,
    },
    /// Opening it would go past the store's bounds.
    OverBudget {
        /// Bytes of memory that it can take.
        bytes: u64,
        /// What is left of the bound on bytes.
        left: u64,
    },
}

/// What is wrong with an index file.
///
/// ```
/// # let (directory, store) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/store.rs"));
/// use symidx::process::{Id, Missing, Unusable};
///
/// // Somebody put another file in the index's place.
/// let index = directory.path().join(".build-id/11/22334455667788.symidx");
/// std::fs::write(index, "not an index ".repeat(20))?;
/// let id = Id::new(&[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]).unwrap();
/// let reason = store.find("/bin/app".as_ref(), Some(&id)).unwrap_err();
/// assert!(matches!(reason, Missing::Unusable { why: Unusable::NotAnIndex, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unusable {
    /// The system refused, with this error.
    Io(std::io::ErrorKind),
    /// It is no file: a directory, a pipe, a device.
    NotAFile,
    /// It is no index.
    NotAnIndex,
    /// It has another format version.
    Version(u32),
    /// It is damaged.
    Broken(Violation),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile => f.write_str("memory without a file"),
            Self::NotFound => f.write_str("no index found; build one: `symidx build`"),
            Self::Stale { place, expected, found } => {
                write!(f, "{place} is of another build: expected ")?;
                match expected {
                    Some(id) => write!(f, "{id}")?,
                    None => f.write_str("one of this very file")?,
                }
                match found {
                    Some(id) => write!(f, ", found {id}; build it again"),
                    None => f.write_str(", found another; build it again"),
                }
            }
            Self::Unusable { place, why } => write!(f, "{place} cannot be used: {why}"),
            Self::OverBudget { bytes, left } => write!(
                f,
                "over budget: its index needs {bytes} bytes, {left} are left; raise the bound or evict others"
            ),
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(kind) => write!(f, "{kind}"),
            Self::NotAFile => f.write_str("expected a file, found a directory, pipe or device"),
            Self::NotAnIndex => f.write_str("expected a .symidx file, found something else"),
            Self::Version(found) => write!(
                f,
                "expected format version {}, found {found}; build it again with this release",
                crate::format::VERSION
            ),
            Self::Broken(violation) => violation.fmt(f),
        }
    }
}

impl core::error::Error for Missing {}

impl core::error::Error for Unusable {}
