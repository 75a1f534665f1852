//! In: a binary, then its `.symidx` file. Out: symbols from `symidx`, mapped.
//! Never: reads companion files; every contender sees the same input.

use std::hint::black_box;
use std::path::Path;

use symidx::{Index, Svma, Symbol};
use symidx_indexer::BuildOptions;

use super::{Artifact, Contender, Inventory, Lookup, mark};
use crate::Result;

pub struct Symidx;

pub struct Opened(Index<'static>);

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

    fn parse(mapped: &'static [u8]) -> Option<Result<()>> {
        Some(Index::from_bytes(mapped).map(|index| { black_box(index); }).map_err(Into::into))
    }
}

/// The functions' names, as the rivals store them, without companion files;
/// published as the command does it.
fn build_names(binary: &Path, out: &Path) -> Result<()> {
    let options = BuildOptions { code_only: true, force: true, ..BuildOptions::default() };
    symidx_indexer::build_file(binary, out, &options)?;
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

    fn batch(&mut self, sorted: &[u64]) -> u64 {
        self.0
            .lookup_sorted(sorted.iter().map(|&addr| Svma(addr)))
            .map(|answer| mark(answer.ok().flatten().map(|symbol| symbol.start().0)))
            .fold(0, u64::wrapping_add)
    }

    fn inventory(&mut self) -> Option<Inventory> {
        let names = self.0.names().filter_map(std::result::Result::ok);
        let pairs = names.filter_map(|name| {
            Some((name.address(), name.stored_name().as_bytes()?))
        });
        Some(Inventory::count(pairs))
    }
}
