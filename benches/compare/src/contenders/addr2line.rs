//! In: a binary. Out: symbols from `addr2line::Loader`, the usual way to symbolize from a binary in Rust.
//! Opening parses the DWARF headers too: that is what the crate offers, and what its users pay.
//! Never: asks for lines or inlined frames.

use std::path::Path;

use addr2line::Loader;

use super::{Artifact, Contender, Lookup};
use crate::Result;

pub struct Addr2line;

pub struct Opened(Loader);

impl Contender for Addr2line {
    const NAME: &'static str = "addr2line";
    const PACKAGE: &'static str = "addr2line";
    const ARTIFACT: Artifact = Artifact::Binary;
    type Opened = Opened;

    fn open(artifact: &Path, _base: u64) -> Result<Opened> {
        Loader::new(artifact)
            .map(Opened)
            .map_err(|error| error.to_string().into())
    }
}

impl Lookup for Opened {
    fn start(&mut self, addr: u64) -> Option<u64> {
        self.0.find_symbol_info(addr).map(|symbol| symbol.address())
    }

    fn named<R>(&mut self, addr: u64, f: impl FnOnce(&[u8], u64) -> R) -> Option<R> {
        self.0
            .find_symbol_info(addr)
            .map(|symbol| f(symbol.name().as_bytes(), symbol.address()))
    }
}
