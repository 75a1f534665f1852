//! In: a binary, then its `.symidx` file. Out: symbols from `symidx`, mapped.
//! Compiled with the feature `symidx` only; the README says how to switch it on.
//! Never: reads companion files; every contender sees the same input.

use std::path::Path;

use symidx::{Index, Svma, Symbol};

use super::{Artifact, Contender, Inventory, Lookup};
use crate::Result;

pub struct Symidx;

pub struct Opened(Index);

impl Contender for Symidx {
    const NAME: &'static str = "symidx";
    const PACKAGE: &'static str = "symidx";
    const ARTIFACT: Artifact = Artifact::Own;
    type Opened = Opened;

    fn build(binary: &Path, out: &Path) -> Result<()> {
        build_names(binary, out)
    }

    fn open(artifact: &Path, _base: u64) -> Result<Opened> {
        // SAFETY: the run's own file, complete before it is opened and not written after.
        Ok(Opened(unsafe { Index::map(artifact)? }))
    }
}

/// Names only, no companion files, published as the command would: the one call to adapt to the indexer.
fn build_names(binary: &Path, out: &Path) -> Result<()> {
    symidx_indexer::build(binary, out)?;
    Ok(())
}

impl Opened {
    fn symbol(&self, addr: u64) -> Option<Symbol<'_>> {
        // A corrupt index counts as no answer; the check before the timing turns it into a failure.
        self.0.lookup(Svma(addr)).ok().flatten()
    }
}

impl Lookup for Opened {
    fn start(&mut self, addr: u64) -> Option<u64> {
        self.symbol(addr).map(|symbol| symbol.start().0)
    }

    fn named<R>(&mut self, addr: u64, f: impl FnOnce(&[u8], u64) -> R) -> Option<R> {
        let symbol = self.symbol(addr)?;
        Some(f(symbol.name().as_bytes()?, symbol.start().0))
    }

    // `batch`: call the merge walk here once it exists; until then the default loop is timed.

    fn inventory(&mut self) -> Option<Inventory> {
        // The symbol table's own counts are used until the index can list its names and aliases.
        None
    }
}
