//! The symbol that binutils take for the one at an address of data.
//!
//! In: a symbol table. Out: a name by section and address. Symbols of code are
//! the business of the module beside this one.

use std::collections::HashSet;

use object::elf;

use crate::input::elf::binutils::{PlainSection, PlainSymbol};

/// The names of data: one for each address that has any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DataSymbols<'data> {
    /// By section and address.
    names: Vec<(u32, u64, &'data [u8])>,
}

impl<'data> DataSymbols<'data> {
    /// The symbols of sections without code.
    pub(super) fn new(symbols: &[PlainSymbol<'data>], sections: &[PlainSection<'data>]) -> Self {
        let data = sections.iter().filter(|section| !section.code);
        let data: HashSet<u32> = data.map(|section| section.number).collect();
        let counts = |symbol: &&PlainSymbol<'data>| {
            symbol.kind != elf::STT_SECTION && data.contains(&symbol.section)
        };
        let mut found: Vec<&PlainSymbol<'data>> = symbols.iter().filter(counts).collect();
        // Stable: those of one address stay in the order of the table.
        found.sort_by_key(|symbol| (symbol.section, symbol.address));
        let same = |a: &&PlainSymbol<'data>, b: &&PlainSymbol<'data>| {
            (a.section, a.address) == (b.section, b.address)
        };
        let chosen = found.chunk_by(same).filter_map(chosen);
        let names = chosen.map(|symbol| (symbol.section, symbol.address, symbol.name));
        Self { names: names.collect() }
    }

    /// The name of the symbol at an address.
    pub(super) fn at(&self, section: u32, address: u64) -> Option<&'data [u8]> {
        let key = |&(section, address, _): &(u32, u64, &[u8])| (section, address);
        let place = self.names.binary_search_by_key(&(section, address), key).ok()?;
        self.names.get(place).map(|&(_, _, name)| name)
    }
}

/// Of the symbols at one address, in the order of their table: the first global
/// one, else the last one.
fn chosen<'s, 'data>(here: &[&'s PlainSymbol<'data>]) -> Option<&'s PlainSymbol<'data>> {
    let global = here.iter().find(|symbol| symbol.binding == elf::STB_GLOBAL);
    global.or(here.last()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &'static str, (section, address): (u32, u64)) -> PlainSymbol<'static> {
        PlainSymbol {
            name: name.as_bytes(),
            section,
            address,
            size: 4,
            kind: elf::STT_OBJECT,
            binding: elf::STB_LOCAL,
            hidden: false,
        }
    }

    fn section(number: u32, code: bool) -> PlainSection<'static> {
        let name = b".data";
        PlainSection { name, number, address: 0, stated: 0, size: 99, allocated: true, code }
    }

    /// What was asked for each address before there was an index of them.
    fn walked<'data>(
        symbols: &[PlainSymbol<'data>],
        section: u32,
        address: u64,
    ) -> Option<&'data [u8]> {
        let mut last = None;
        for symbol in symbols {
            let kind = symbol.kind != elf::STT_SECTION;
            if symbol.section == section && symbol.address == address && kind {
                last = Some(symbol.name);
                if symbol.binding == elf::STB_GLOBAL {
                    break;
                }
            }
        }
        last
    }

    #[test]
    fn the_first_global_one_counts_else_the_last() {
        let global = |name, at| PlainSymbol { binding: elf::STB_GLOBAL, ..symbol(name, at) };
        let weak = |name, at| PlainSymbol { binding: elf::STB_WEAK, ..symbol(name, at) };
        let of_section = PlainSymbol { kind: elf::STT_SECTION, ..symbol("s", (2, 8)) };
        let symbols = [
            symbol("a", (2, 8)),
            global("b", (3, 8)),
            global("c", (2, 16)),
            weak("d", (2, 8)),
            symbol("e", (2, 16)),
            global("f", (2, 16)),
            symbol("code", (1, 8)),
            symbol("g", (3, 0)),
            of_section,
        ];
        let data =
            DataSymbols::new(&symbols, &[section(1, true), section(2, false), section(3, false)]);
        for number in [2, 3] {
            for address in 0..20 {
                let (at, expected) = (data.at(number, address), walked(&symbols, number, address));
                assert_eq!(at, expected, "{number} {address}");
            }
        }
        assert_eq!(data.at(2, 8), Some(&b"d"[..]));
        assert_eq!(data.at(2, 16), Some(&b"c"[..]));
        // One for each address, and none of code.
        assert_eq!((data.names.len(), data.at(1, 8)), (4, None));
    }
}
