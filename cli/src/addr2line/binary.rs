//! What GNU addr2line takes from a binary and no index keeps.
//!
//! In: the file of the command line. Out: names of source files and sections,
//! none where that file is an index. Read when the first is asked for.

use std::path::Path;

use symidx_indexer::input::{
    self,
    elf::{FileOfSymbol, files_of_symbols, has_section},
};
use symidx_indexer::model::Store;

/// The file.
pub(super) struct Binary<'s> {
    path: &'s Path,
    store: &'s Store,
    functions: Option<Vec<FileOfSymbol<'s>>>,
}

impl<'s> Binary<'s> {
    /// Not opened yet.
    pub(super) fn new(path: &'s Path, store: &'s Store) -> Self {
        Self { path, store, functions: None }
    }

    /// Its bytes; none for what is no binary.
    fn data(&self) -> &'s [u8] {
        input::open(self.path, self.store).map_or(&[], |input| input.data)
    }

    /// Whether it has the section, in memory or not.
    pub(super) fn has_section(&self, name: &[u8]) -> bool {
        has_section(self.data(), name)
    }

    /// The source file that its symbol table has a function in.
    pub(super) fn file_of(&mut self, address: u64, name: &[u8]) -> Option<&'s [u8]> {
        if self.functions.is_none() {
            self.functions = Some(files_of_symbols(self.data()));
        }
        let functions = self.functions.as_deref()?;
        let key = |function: &FileOfSymbol<'s>| (function.address, function.name);
        let at = functions.binary_search_by_key(&(address, name), key).ok()?;
        functions.get(at).map(|function| function.file)
    }
}
