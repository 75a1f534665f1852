//! Why a DSO's code is not at hand, in words that say what to do.

use std::fmt;
use std::path::PathBuf;

use crate::build_id::BuildId;

/// Bytes of a map of run-time code: ten million functions. A file may claim any number and
/// hold nothing but holes, and it would be read to its end.
pub(super) const MOST_MAP: u64 = 1 << 30;

/// Why there is no file to index for a DSO.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// use symidx_perf::{Binaries, IndexOptions, Inventory, NotHere, Outcome, index};
///
/// let inventory = Inventory::read(&mut session, 127)?;
/// let store = tempfile::tempdir()?;
/// index(&inventory, &Binaries::nowhere_else(), &IndexOptions::new(store.path()), |indexed, _, _| {
///     let Outcome::NotHere(why) = &indexed.outcome else { panic!() };
///     assert!(matches!(why, NotHere::NoSuchBuild { .. })); // and in words: `{why}`
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotHere {
    /// The file at the recorded path is another build, and the recorded one is nowhere.
    OtherBuild {
        /// The recorded path.
        path: PathBuf,
        /// The recorded build-id.
        id: BuildId,
        /// That of the file; `None` = it states none.
        found: Option<Vec<u8>>,
    },
    /// No place has the recorded build.
    NoSuchBuild {
        /// The recorded path.
        path: PathBuf,
        /// The recorded build-id.
        id: BuildId,
    },
    /// There is no binary at the path, and no build-id to look for.
    NoFile {
        /// The path.
        path: PathBuf,
    },
    /// The file was deleted while it ran.
    Deleted {
        /// Where it was.
        path: PathBuf,
    },
    /// Only its debug file is here: file offsets in it are not those of the program.
    OnlyDebugFile {
        /// The recorded build-id.
        id: BuildId,
        /// The debug file.
        debug: PathBuf,
    },
    /// The kernel's symbols.
    Kernel {
        /// The kernel's build-id, where recorded.
        id: Option<BuildId>,
    },
    /// The vDSO.
    Vdso {
        /// Its build-id, where recorded.
        id: Option<BuildId>,
    },
    /// A kernel module: the kernel's list of symbols has its names.
    WithTheKernel,
    /// A program's code for itself, and it left no map of it.
    Jit {
        /// Where the map would be.
        map: PathBuf,
    },
    /// The map is longer than any program's.
    LongMap {
        /// The map.
        map: PathBuf,
        /// Its bytes.
        bytes: u64,
    },
    /// Code that the kernel made, whose only symbol the profile states.
    NamesItself,
    /// Memory that was never in a file.
    Memory,
    /// All the files that there was no room for.
    TooMany,
}

impl NotHere {
    /// The reason in two or three words, the same for every DSO.
    ///
    /// ```
    /// assert_eq!(symidx_perf::NotHere::Memory.name(), "memory"); // for JSON
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::OtherBuild { .. } => "other build",
            Self::NoSuchBuild { .. } => "no such build",
            Self::NoFile { .. } => "no file",
            Self::Deleted { .. } => "deleted",
            Self::OnlyDebugFile { .. } => "only debug file",
            Self::Kernel { .. } => "no kernel symbols",
            Self::Vdso { .. } => "no vdso",
            Self::WithTheKernel => "with the kernel",
            Self::Jit { .. } => "no map of run-time code",
            Self::LongMap { .. } => "map too long",
            Self::NamesItself => "names itself",
            Self::Memory => "memory",
            Self::TooMany => "too many files",
        }
    }

    /// True when there is nothing to index by its nature: nobody needs to do anything.
    ///
    /// ```
    /// use symidx_perf::NotHere;
    ///
    /// assert!(NotHere::Memory.is_by_nature()); // no reason to complain
    /// assert!(!NotHere::Jit { map: "/tmp/perf-7.map".into() }.is_by_nature());
    /// ```
    #[must_use]
    pub fn is_by_nature(&self) -> bool {
        matches!(self, Self::WithTheKernel | Self::NamesItself | Self::Memory | Self::TooMany)
    }
}

impl fmt::Display for NotHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const COPY: &str = "copy it from the recording machine (`perf archive` packs all of them) or fetch it with debuginfod-find";
        match self {
            Self::OtherBuild { path, id, found } => {
                write!(f, "expected build-id {id}, found ")?;
                match found {
                    Some(found) => write!(f, "{}", symidx_indexer::hex(found))?,
                    None => f.write_str("none")?,
                }
                write!(f, " in {}; {COPY}", path.display())
            }
            Self::NoSuchBuild { path, id } => write!(
                f,
                "expected a file with build-id {id}, found none at {}, in perf's cache, in .build-id trees and in debuginfod's cache; {COPY}",
                path.display()
            ),
            Self::NoFile { path } => write!(
                f,
                "expected a binary at {}, found none, and the profile has no build-id to look for; copy it there, or give --symfs",
                path.display()
            ),
            Self::Deleted { path } => write!(
                f,
                "{} was deleted while it ran, and no place has its build; keep builds, or index them when they are made",
                path.display()
            ),
            Self::OnlyDebugFile { id, debug } => write!(
                f,
                "expected the program with build-id {id}, found only its debug file {}, which has other file offsets; {COPY}",
                debug.display()
            ),
            Self::Kernel { id: Some(id) } => write!(
                f,
                "expected the symbols of the kernel with build-id {id}, found them neither in perf's cache nor in this kernel; give its /proc/kallsyms with --kallsyms"
            ),
            Self::Kernel { id: None } => f.write_str(
                "expected a build-id of the recorded kernel, found none; give its /proc/kallsyms with --kallsyms",
            ),
            Self::Vdso { id: Some(id) } => write!(
                f,
                "expected the vDSO with build-id {id}, found it neither in perf's cache nor in this kernel; {COPY}"
            ),
            Self::Vdso { id: None } => f.write_str(
                "expected a build-id of the recorded vDSO, found none; record it again with this perf",
            ),
            Self::WithTheKernel => f.write_str("the kernel's list of symbols has its names"),
            Self::Jit { map } => write!(
                f,
                "expected a map of code made at run time at {}, found none of this user or root; let the program write one (node: --perf-basic-prof)",
                map.display()
            ),
            Self::LongMap { map, bytes } => write!(
                f,
                "expected a map of code made at run time of at most {MOST_MAP} bytes, found {bytes} at {}; cut it to the lines that count",
                map.display()
            ),
            Self::NamesItself => f.write_str("the profile itself has its name"),
            Self::Memory => f.write_str("memory that was never in a file"),
            Self::TooMany => f.write_str("more files than are told apart"),
        }
    }
}

impl std::error::Error for NotHere {}
