//! In: a binary. Out: symbols from `object::SymbolMap`, the sorted heap vector most Rust tools build.
//! The names stay in the mapped binary.
//! Never: adds symbols that `object` leaves out.

use std::path::Path;

use object::{Object, SymbolMap, SymbolMapName};

use super::{Artifact, Contender, Lookup};
use crate::Result;
use crate::mapped::Parsed;

pub struct ObjectMap;

pub struct Opened(Parsed<SymbolMap<SymbolMapName<'static>>>);

impl Contender for ObjectMap {
    const NAME: &'static str = "object";
    const PACKAGE: &'static str = "object";
    const ARTIFACT: Artifact = Artifact::Binary;
    type Opened = Opened;

    fn open(artifact: &Path, _base: u64) -> Result<Opened> {
        Ok(Opened(Parsed::open(artifact, |bytes| {
            Ok(object::File::parse(bytes)?.symbol_map())
        })?))
    }
}

impl Lookup for Opened {
    fn start(&mut self, addr: u64) -> Option<u64> {
        self.0.containing(addr).map(SymbolMapName::address)
    }

    fn named<R>(&mut self, addr: u64, f: impl FnOnce(&[u8], u64) -> R) -> Option<R> {
        self.0
            .containing(addr)
            .map(|symbol| f(symbol.name().as_bytes(), symbol.address()))
    }
}
