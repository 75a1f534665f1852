//! How a name is shown: which of a symbol's names, demangled or not, with its version.
//!
//! In: a symbol of an index. Out: bytes appended to a buffer.

use symidx::{Binding, Extent, Index, Name, Symbol};
use symidx_indexer::demangle::Demangler;

use super::alias;

/// Which name of a symbol is shown, and how.
#[derive(Debug)]
pub struct Spelling {
    demangler: Demangler,
    demangle: bool,
}

impl Spelling {
    /// Names demangled, or as they are.
    #[must_use]
    pub fn new(demangle: bool) -> Self {
        Self { demangler: Demangler::new(demangle), demangle }
    }

    /// Appends the name that perf shows for a symbol.
    pub fn symbol<'a>(
        &mut self,
        symbol: &Symbol<'a>,
        index: &'a Index<'_>,
        versions: bool,
        out: &mut Vec<u8>,
    ) {
        let name =
            alias::perf_name(symbol, versions.then_some(index), |name| self.length(name, index));
        self.name(name.unwrap_or_else(|_| symbol.name()), index, out);
    }

    /// Appends a name: without parameters when it is demangled, as perf does.
    pub fn name(&mut self, name: Name<'_>, index: &Index<'_>, out: &mut Vec<u8>) {
        let bytes = name.as_bytes().unwrap_or(&[]);
        if self.demangle {
            if let Ok(Some(display)) = index.display_name(name) {
                display.short().pieces().for_each(|piece| out.extend_from_slice(piece));
                return;
            }
            if let Some(texts) = self.demangler.texts(bytes) {
                out.extend_from_slice(texts.short);
                return;
            }
        }
        out.extend_from_slice(bytes);
    }

    fn length(&mut self, name: Name<'_>, index: &Index<'_>) -> usize {
        let bytes = name.as_bytes().unwrap_or(&[]);
        if !self.demangle {
            return bytes.len();
        }
        match index.display_name(name) {
            Ok(Some(display)) => display.short().len(),
            _ => self.demangler.texts(bytes).map_or(bytes.len(), |texts| texts.short.len()),
        }
    }
}

/// True when names are from `.symtab`, where some have their versions in them, and not
/// from `.dynsym`: only the first has local functions.
pub(super) fn shows_versions(index: &Index<'_>) -> bool {
    index.symbols().flatten().any(|symbol| {
        symbol.binding() == Binding::Local
            && matches!(symbol.extent(), Extent::Exact | Extent::Inferred)
            && !symbol.is_dwarf()
    })
}
