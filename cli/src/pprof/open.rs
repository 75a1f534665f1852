//! From a mapping of a profile to an open index of the same build, or why there is none.
//!
//! Stores first; else the file itself, whose index is built in memory. A file
//! of another build than the profile states is never used.

use std::path::{Path, PathBuf};

use symidx::Index;
use symidx::process::{Id, Missing, Store};
use symidx_indexer::input;
use symidx_indexer::model;
use symidx_pprof::MappingInfo;

use crate::pprof::PprofArgs;
use crate::source::{self, Source, Taken};
use crate::ui::Ui;

/// A file that stands for what a profile names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stands {
    name: String,
    file: PathBuf,
}

impl Stands {
    /// `NAME=FILE`. The last `=` counts: names in profiles may hold one.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.rsplit_once('=') {
            Some((name, file)) if !name.is_empty() && !file.is_empty() => {
                Ok(Self { name: name.to_owned(), file: PathBuf::from(file) })
            }
            _ => Err(format!("expected NAME=FILE, found `{text}`")),
        }
    }

    /// A mapping's whole name, or the part after its last slash.
    fn is_for(&self, filename: &str) -> bool {
        self.name == filename || filename.rsplit('/').next() == Some(&self.name)
    }
}

/// Opens indexes.
pub(super) struct Opener<'a> {
    args: &'a PprofArgs,
    store: Store,
    ui: Ui,
}

impl<'a> Opener<'a> {
    pub(super) fn new(args: &'a PprofArgs, ui: Ui) -> Self {
        // SAFETY: indexes are replaced by rename and never edited, here and by
        // `symidx build`; whoever edits one in place while it is read ends this
        // short-lived process at worst.
        #[allow(unsafe_code)]
        let mut store = unsafe { Store::mapped() };
        if let Some(directory) = &args.store {
            store = store.with_directory(directory);
        }
        Self { args, store, ui }
    }

    /// The index of a mapping's file, or why there is none.
    pub(super) fn open(&self, mapping: &MappingInfo<'_>) -> Result<Index<'static>, String> {
        let stands = self.args.binary.iter().find(|stands| stands.is_for(mapping.filename));
        let named = match stands {
            Some(stands) => Some(stands.file.as_path()),
            None => self.args.exe.as_deref().filter(|_| mapping.is_main),
        };
        let id = mapping.build_id_bytes().and_then(|bytes| Id::new(&bytes));
        let file = named.unwrap_or(Path::new(mapping.filename));
        // A name in brackets is no path, and neither is the name of nothing.
        if named.is_none() && !is_path(mapping.filename) {
            let id = id.as_ref().ok_or("no file, and no build-id stated")?;
            return self.store.find(Path::new(""), Some(id)).map_err(|missing| missing.to_string());
        }
        // A file of this name that is here now is another one, unless its id says that it is not.
        let file = match file.to_str().and_then(|file| file.strip_suffix(" (deleted)")) {
            Some(_) if id.is_none() => {
                return Err("deleted while it ran, and no build-id stated".to_owned());
            }
            Some(file) => Path::new(file),
            None => file,
        };
        let missing = match self.store.find(file, id.as_ref()) {
            Ok(index) => return Ok(index),
            Err(missing) => missing,
        };
        // Files of the kernel say that they are empty, and may never end.
        let given = named.is_some();
        if !file.metadata().is_ok_and(|at| at.is_file() && (given || at.len() != 0)) {
            // Without the file there is nothing to build one of.
            return Err(match missing {
                Missing::NotFound => {
                    format!("{} is not here, and no store has its index", file.display())
                }
                missing => missing.to_string(),
            });
        }
        self.build(file, id.as_ref())
    }

    /// The index of a file that is here, built in memory if need be.
    fn build(&self, file: &Path, id: Option<&Id>) -> Result<Index<'static>, String> {
        let is_index = file.extension().is_some_and(|extension| extension == "symidx");
        if let Some(id) = id.filter(|_| !is_index) {
            // Looked at before anything is built: another build would be in vain.
            let store = model::Store::new();
            let input = input::open(file, &store).map_err(|error| error.to_string())?;
            let read = self.args.read.read_options();
            let found = input::identify(&input.path, input.data, &read);
            let found = found.map_err(|error| error.to_string())?;
            let found =
                found.build_id.as_deref().and_then(Id::new).or_else(|| Id::new(&found.uuid?));
            same_build(file, id, found)?;
        }
        let store = self.args.store.as_deref();
        let source =
            Source { file, read: &self.args.read, store, in_caches: true, taken: Taken::Mapped };
        let index = source::open(source, self.ui).map_err(|failure| failure.to_string())?;
        match id {
            Some(id) => same_build(file, id, Id::of(&index))?,
            None => self.ui.note(format_args!(
                "{}: the profile states no build-id; the file is taken to be the one that ran",
                file.display()
            )),
        }
        Ok(index)
    }
}

fn same_build(file: &Path, stated: &Id, found: Option<Id>) -> Result<(), String> {
    match found {
        Some(found) if found == *stated => Ok(()),
        Some(found) => Err(format!(
            "{}: expected build-id {stated}, as the profile states, found {found}",
            file.display()
        )),
        None => Err(format!(
            "{}: expected build-id {stated}, as the profile states, found none",
            file.display()
        )),
    }
}

/// True for what may be the path of a file: no name in brackets, no anonymous memory.
fn is_path(filename: &str) -> bool {
    !matches!(filename.as_bytes(), [] | [b'[', ..] | [b'/', b'/', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stands_for_a_name_or_its_last_part() {
        let stands = Stands::parse("[kernel.kallsyms]_text=/boot/vmlinux");
        assert_eq!(stands.as_ref().map(|s| s.is_for("[kernel.kallsyms]_text")), Ok(true));
        let stands = Stands::parse("lib=a.so=x/y");
        let expected = Stands { name: "lib=a.so".to_owned(), file: PathBuf::from("x/y") };
        assert_eq!(stands, Ok(expected.clone()));
        assert!(expected.is_for("/usr/lib/lib=a.so") && !expected.is_for("lib=a.so.1"));
        for wrong in ["", "a", "=b", "a="] {
            assert!(Stands::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_no_file_are_known() {
        assert!(is_path("/bin/a") && is_path("./a") && is_path("a"));
        assert!(!is_path("") && !is_path("[vdso]") && !is_path("//anon"));
    }
}
