//! In: a binary, then its symcache. Out: symbols from `symbolic-symcache` over a mapped file.
//! Only the symbol table goes in (`process_symbolic_symbol`): the names-only build, without the DWARF session.
//! Never: touches lines; but the API reads and checks the name on every lookup, wanted or not.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;

use symbolic_debuginfo::Archive;
use symbolic_symcache::{SymCache, SymCacheConverter};

use super::{Artifact, Contender, Inventory, Lookup};
use crate::Result;
use crate::mapped::{self, Parsed};

pub struct Symcache;

/// A symcache and the svma its addresses count from.
pub struct Opened {
    cache: Parsed<SymCache<'static>>,
    base: u64,
}

impl Contender for Symcache {
    const NAME: &'static str = "symcache";
    const PACKAGE: &'static str = "symbolic-symcache";
    const ARTIFACT: Artifact = Artifact::Own;
    type Opened = Opened;

    fn build(binary: &Path, out: &Path) -> Result<()> {
        let map = mapped::map(binary)?;
        let archive = Archive::parse(&map)?;
        let object = archive.objects().next().ok_or("no object in the file")??;
        let mut converter = SymCacheConverter::new();
        converter.set_arch(object.arch());
        converter.set_debug_id(object.debug_id());
        for symbol in object.symbols() {
            converter.process_symbolic_symbol(&symbol);
        }
        let mut file = BufWriter::new(File::create(out)?);
        converter.serialize(&mut file)?;
        Ok(file.flush()?)
    }

    fn open(artifact: &Path, base: u64) -> Result<Opened> {
        let cache = Parsed::open(artifact, |bytes| Ok(SymCache::parse(bytes)?))?;
        Ok(Opened { cache, base })
    }

    fn parse(mapped: &'static [u8]) -> Option<Result<()>> {
        Some(SymCache::parse(mapped).map(|cache| { black_box(cache); }).map_err(Into::into))
    }
}

impl Opened {
    fn svma(&self, entry: u32) -> u64 {
        self.base.wrapping_add(u64::from(entry))
    }
}

impl Lookup for Opened {
    fn start(&mut self, addr: u64) -> Option<u64> {
        let location = self.cache.lookup(addr.wrapping_sub(self.base)).next()?;
        Some(self.svma(location.function().entry_pc()))
    }

    fn named<R>(&mut self, addr: u64, f: impl FnOnce(&[u8], u64) -> R) -> Option<R> {
        let function = self
            .cache
            .lookup(addr.wrapping_sub(self.base))
            .next()?
            .function();
        Some(f(
            function.name().as_bytes(),
            self.svma(function.entry_pc()),
        ))
    }

    fn inventory(&mut self) -> Option<Inventory> {
        let pairs = self
            .cache
            .functions()
            .map(|function| (self.svma(function.entry_pc()), function.name().as_bytes()));
        Some(Inventory::count(pairs))
    }
}
