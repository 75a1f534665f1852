//! The places of a store, and what lies in each for a module.
//!
//! In: a module's file and build. Out: an opened file that may hold its index.
//! Never says whether it does: see `search`.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::vec::Vec;

use crate::process::elf::Elf;
use crate::process::id::Id;
use crate::process::modules::Module;
use crate::process::store::Where;
use crate::process::store::missing::Unusable;
use crate::process::store::path::Buffer;
use crate::process::store::slot::Wanted;
use crate::process::target::open_mapped;
use crate::stamp::Stamp;
use crate::sys::open::{Refused, open_regular};

/// Where an index may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Beside,
    Embedded,
    Added(PathBuf),
    Directory(PathBuf),
    PerfCache(PathBuf),
}

impl Place {
    /// The documented order, by the variables of an environment.
    pub(super) fn defaults(variable: impl Fn(&str) -> Option<OsString>) -> Vec<Self> {
        let mut places = std::vec![Self::Beside, Self::Embedded];
        if let Some(list) = variable("SYMIDX_PATH") {
            places.extend(
                std::env::split_paths(&list)
                    .filter(|directory| !directory.as_os_str().is_empty())
                    .map(Self::Directory),
            );
        }
        places.extend(cache(&variable).map(Self::Directory));
        places.extend(absolute(&variable, "HOME").map(|home| Self::PerfCache(home.join(".debug"))));
        places
    }

    pub(super) fn is_before_directories(&self) -> bool {
        matches!(self, Self::Beside | Self::Embedded)
    }

    pub(super) fn is_added(&self) -> bool {
        matches!(self, Self::Added(_))
    }

    pub(super) fn name(&self) -> Where {
        match self {
            Self::Beside => Where::Beside,
            Self::Embedded => Where::Embedded,
            Self::Added(_) | Self::Directory(_) => Where::Directory,
            Self::PerfCache(_) => Where::PerfCache,
        }
    }

    /// What the place has for a module, unopened as an index.
    ///
    /// # Errors
    /// Why what has the right name cannot be an index.
    pub(super) fn candidate(
        &self,
        wanted: &Wanted,
        file: &Path,
        place: &Path,
    ) -> Result<Option<Candidate>, Unusable> {
        // The vDSO's name, say, is no path: what the working directory has
        // under that name is nobody's.
        if self.is_before_directories() && !place.is_absolute() {
            return Ok(None);
        }
        let path = match (self, wanted) {
            (Self::Beside, _) => Some(Buffer::beside(place)),
            (Self::Embedded, _) => return Ok(embedded(file)),
            (Self::Added(directory) | Self::Directory(directory), Wanted::Build(id)) => {
                Buffer::by_id(directory, id, ".symidx")
            }
            (Self::Added(directory) | Self::Directory(directory), Wanted::File(stamp)) => {
                Some(Buffer::by_file(directory, stamp))
            }
            (Self::PerfCache(directory), Wanted::Build(id)) => {
                Buffer::by_id(directory, id, "/symidx")
            }
            _ => None,
        };
        opened(path)
    }

    /// What the place has for a kernel of this build as it runs: directories alone
    /// have that.
    ///
    /// # Errors
    /// As [`Place::candidate`].
    pub(super) fn kernel(&self, id: &Id) -> Result<Option<Candidate>, Unusable> {
        match self {
            Self::Added(directory) | Self::Directory(directory) => {
                opened(Buffer::by_id(directory, id, ".kallsyms.symidx"))
            }
            _ => Ok(None),
        }
    }
}

/// The file of a path, if there is one.
fn opened(path: Option<Buffer>) -> Result<Option<Candidate>, Unusable> {
    let Some(path) = path else { return Ok(None) };
    let Some(path) = path.path() else { return Ok(None) };
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(Refused::Absent) => return Ok(None),
        Err(Refused::NotAFile) => return Err(Unusable::NotAFile),
        Err(Refused::Io(kind)) => return Err(Unusable::Io(kind)),
    };
    let size = file.metadata().map_err(|error| Unusable::Io(error.kind()))?.len();
    Ok(Some(Candidate { file, offset: 0, size }))
}

/// A file that may hold the index, and where in it.
pub(super) struct Candidate {
    pub(super) file: File,
    pub(super) offset: u64,
    pub(super) size: u64,
}

fn embedded(file: &Path) -> Option<Candidate> {
    let file = open_regular(file).ok()?;
    let (offset, size) = Elf::open(&file)?.embedded()?;
    Some(Candidate { file, offset, size })
}

/// The user's cache of indexes: `$XDG_CACHE_HOME/symidx`, else `~/.cache/symidx`;
/// `None` without a home.
///
/// ```
/// let cache = symidx::process::user_cache();
/// assert!(cache.is_none_or(|cache| cache.ends_with("symidx")));
/// ```
#[must_use]
pub fn user_cache() -> Option<PathBuf> {
    cache(&|name: &str| std::env::var_os(name))
}

fn cache(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let base = absolute(variable, "XDG_CACHE_HOME")
        .or_else(|| Some(absolute(variable, "HOME")?.join(".cache")));
    base.map(|base| base.join("symidx"))
}

fn absolute(variable: &impl Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// What an index of the module must be of: its build, as its image or its file
/// tells, else its file's content.
pub(super) fn wanted(module: &Module) -> Wanted {
    if let Some(id) = module.id {
        return Wanted::Build(id);
    }
    // The vDSO's name, say, is no path.
    match module.file.is_absolute() {
        true => open_mapped(module).map_or(Wanted::Nothing, wanted_for),
        false => Wanted::Nothing,
    }
}

/// What an index of the file must be of.
pub(super) fn wanted_for(file: File) -> Wanted {
    match Elf::open(&file).and_then(|mut elf| elf.build_id()) {
        Some(id) => Wanted::Build(id),
        None => file.metadata().map_or(Wanted::Nothing, |at| Wanted::File(Stamp::of(&at))),
    }
}

#[cfg(test)]
mod tests;
