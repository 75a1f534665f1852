//! How a name is shown: which of a symbol's names, demangled or not, with its version.
//!
//! In: a symbol of an index. Out: bytes appended to a buffer.

use symidx::{Binding, Extent, Index, Name, Symbol};
use symidx_indexer::demangle::Demangler;

use super::alias;

/// Which name of a symbol is shown, and how.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/display.symidx")))?;
/// use symidx_perf::Spelling;
///
/// let symbol = index.lookup(symidx::Svma(0x401010))?.unwrap();
/// let mut name = Vec::new();
/// Spelling::new(true).symbol(&symbol, &index, false, &mut name);
/// assert_eq!(name, b"space::Longer::Names::method"); // as perf: without parameters
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Spelling {
    demangler: Demangler,
    demangle: bool,
}

impl Spelling {
    /// Names demangled, or as they are.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/display.symidx")))?;
    /// let name = index.lookup(symidx::Svma(0x4010d0))?.unwrap().name();
    /// let mut text = Vec::new();
    /// symidx_perf::Spelling::new(false).name(name, &index, &mut text); // `--no-demangle`
    /// assert_eq!(text, b"_RNvNtCs1234_7mycrate6module3foo");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(demangle: bool) -> Self {
        Self { demangler: Demangler::new(demangle), demangle }
    }

    /// Appends the name that perf shows for a symbol.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/libal.symidx")))?;
    /// // Among aliases perf's rules choose, not those of `Index::lookup`.
    /// let symbol = index.lookup(symidx::Svma(0x1010))?.unwrap();
    /// let mut name = Vec::new();
    /// symidx_perf::Spelling::new(false).symbol(&symbol, &index, true, &mut name);
    /// assert_eq!(String::from_utf8(name)?, "__strdup");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/display.symidx")))?;
    /// let name = index.lookup(symidx::Svma(0x4010d0))?.unwrap().name();
    /// let mut text = Vec::new();
    /// symidx_perf::Spelling::new(true).name(name, &index, &mut text);
    /// assert_eq!(text, b"mycrate::module::foo");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&mut self, name: Name<'_>, index: &Index<'_>, out: &mut Vec<u8>) {
        if self.demangle {
            if let Ok(Some(display)) = index.display_name(name) {
                display.short().pieces().for_each(|piece| out.extend_from_slice(piece));
                return;
            }
            if let Some(texts) = self.demangler.texts(&name.to_bytes()) {
                out.extend_from_slice(texts.short);
                return;
            }
        }
        name.pieces().for_each(|piece| out.extend_from_slice(piece));
    }

    fn length(&mut self, name: Name<'_>, index: &Index<'_>) -> usize {
        if !self.demangle {
            return name.len();
        }
        match index.display_name(name) {
            Ok(Some(display)) => display.short().len(),
            _ => {
                let texts = self.demangler.texts(&name.to_bytes());
                texts.map_or(name.len(), |texts| texts.short.len())
            }
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
