//! In: a binary or a GSYM file. Out: symbols from `blazesym`, names only, no demangling, no reload checks.
//! Opening includes what blazesym defers to the first lookup, since nothing can be looked up before.
//! Never: asks for lines or inlined frames.

use std::path::Path;

use blazesym::symbolize::cache::{self, Cache};
use blazesym::symbolize::source::{Elf, Gsym, GsymFile, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};

use super::{Artifact, Contender, Lookup, mark};
use crate::Result;

pub struct BlazesymElf;
pub struct BlazesymGsym;

pub struct Opened {
    symbolizer: Symbolizer,
    source: Source<'static>,
}

fn symbolizer() -> Symbolizer {
    Symbolizer::builder()
        .enable_auto_reload(false)
        .enable_code_info(false)
        .enable_inlined_fns(false)
        .enable_demangling(false)
        .build()
}

impl Contender for BlazesymElf {
    const NAME: &'static str = "blazesym-elf";
    const PACKAGE: &'static str = "blazesym";
    const ARTIFACT: Artifact = Artifact::Binary;
    type Opened = Opened;

    fn open(artifact: &Path, _base: u64) -> Result<Opened> {
        let symbolizer = symbolizer();
        symbolizer.cache(&Cache::from(cache::Elf::new(artifact)))?;
        let mut elf = Elf::new(artifact);
        elf.debug_syms = false;
        Ok(Opened {
            symbolizer,
            source: Source::Elf(elf),
        })
    }
}

impl Contender for BlazesymGsym {
    const NAME: &'static str = "blazesym-gsym";
    const PACKAGE: &'static str = "blazesym";
    const ARTIFACT: Artifact = Artifact::Of("gsym-rs");
    type Opened = Opened;

    fn open(artifact: &Path, _base: u64) -> Result<Opened> {
        let source = Source::Gsym(Gsym::File(GsymFile::new(artifact)));
        let symbolizer = symbolizer();
        // There is no call that only opens; a lookup of address 0 maps and parses the header.
        symbolizer.symbolize_single(&source, Input::VirtOffset(0))?;
        Ok(Opened { symbolizer, source })
    }
}

impl Lookup for Opened {
    fn start(&mut self, addr: u64) -> Option<u64> {
        match self
            .symbolizer
            .symbolize_single(&self.source, Input::VirtOffset(addr))
            .ok()?
        {
            Symbolized::Sym(symbol) => Some(symbol.addr),
            Symbolized::Unknown(_) => None,
        }
    }

    fn named<R>(&mut self, addr: u64, f: impl FnOnce(&[u8], u64) -> R) -> Option<R> {
        match self
            .symbolizer
            .symbolize_single(&self.source, Input::VirtOffset(addr))
            .ok()?
        {
            Symbolized::Sym(symbol) => Some(f(symbol.name.as_bytes(), symbol.addr)),
            Symbolized::Unknown(_) => None,
        }
    }

    fn batch(&mut self, sorted: &[u64]) -> u64 {
        let mut sum = 0_u64;
        for chunk in sorted.chunks(1024) {
            let Ok(answers) = self
                .symbolizer
                .symbolize(&self.source, Input::VirtOffset(chunk))
            else {
                continue;
            };
            for answer in &answers {
                sum = sum.wrapping_add(mark(answer.as_sym().map(|symbol| symbol.addr)));
            }
        }
        sum
    }
}
