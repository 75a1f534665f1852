//! The function that binutils take for the one at an address.
//!
//! In: a symbol table. Out: a function and the source file that the table has it
//! in. A gap belongs to the function in front of it.

use object::elf;

use crate::input::elf::binutils::{PlainSection, PlainSymbol};

/// A function that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found<'data> {
    /// Its name.
    pub(super) name: &'data [u8],
    /// Where it begins in its section.
    pub(super) offset: u64,
    /// The file's symbol before it, if it belongs to that.
    pub(super) file: Option<&'data [u8]>,
}

#[derive(Clone, Copy, Debug)]
struct Function<'data> {
    section: u32,
    size: u64,
    found: Found<'data>,
}

/// The functions of one table.
#[derive(Clone, Debug)]
pub(super) struct Symbols<'data> {
    /// By section and offset; of equal ones in the order of the table.
    functions: Vec<Function<'data>>,
    /// The last answer: it is given again as long as it holds the address.
    last: Option<Function<'data>>,
}

impl<'data> Symbols<'data> {
    /// The functions among a file's symbols.
    pub(super) fn new(
        symbols: &[PlainSymbol<'data>],
        sections: &[PlainSection<'data>],
        relocatable: bool,
    ) -> Self {
        let mut functions = Vec::new();
        let mut file = None;
        // Another symbol came before a file's: the table is of more than one.
        let (mut begun, mut several) = (false, false);
        for symbol in symbols {
            if symbol.kind == elf::STT_FILE {
                file = Some(symbol.name);
                several |= begun;
                continue;
            }
            begun = true;
            let Some(size) = size_of_function(symbol) else { continue };
            let found = sections.binary_search_by_key(&symbol.section, |section| section.number);
            let Some(section) = found.ok().and_then(|place| sections.get(place)) else { continue };
            let start = if relocatable { 0 } else { section.address };
            let belongs = symbol.binding == elf::STB_LOCAL || !several;
            functions.push(Function {
                section: section.number,
                size,
                found: Found {
                    name: symbol.name,
                    offset: symbol.address.wrapping_sub(start),
                    file: file.filter(|_| belongs),
                },
            });
        }
        functions.sort_by_key(|function| (function.section, function.found.offset));
        Self { functions, last: None }
    }

    /// The function at an offset in a section, or in front of it: of those that
    /// begin together the largest, of equal ones the first in the table.
    pub(super) fn find(&mut self, section: u32, offset: u64) -> Option<Found<'data>> {
        if let Some(last) = &self.last
            && last.section == section
            && last.holds(offset)
        {
            return Some(last.found);
        }
        let key = |function: &Function<'_>| (function.section, function.found.offset);
        let after = self.functions.partition_point(|function| key(function) <= (section, offset));
        let before = self.functions.get(..after).unwrap_or(&[]);
        let nearest = before.last().filter(|function| function.section == section).copied();
        self.last = nearest.map(|nearest| {
            let first = before.partition_point(|function| key(function) < key(&nearest));
            let here = before.get(first..).unwrap_or(&[]).iter().copied();
            here.reduce(|best, next| if next.size > best.size { next } else { best })
                .unwrap_or(nearest)
        });
        self.last.map(|function| function.found)
    }
}

impl Function<'_> {
    fn holds(&self, offset: u64) -> bool {
        offset.checked_sub(self.found.offset).is_some_and(|offset| offset < self.size)
    }
}

/// The bytes of what binutils take for a function: whatever is no data. One
/// byte where none are stated. Hidden local labels without a size are notes of
/// a compiler's plugin.
fn size_of_function(symbol: &PlainSymbol<'_>) -> Option<u64> {
    if matches!(symbol.kind, elf::STT_SECTION | elf::STT_OBJECT | elf::STT_TLS | elf::STT_COMMON) {
        return None;
    }
    let note = symbol.size == 0
        && symbol.binding == elf::STB_LOCAL
        && symbol.kind == elf::STT_NOTYPE
        && symbol.hidden;
    (!note).then_some(symbol.size.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &'static str, address: u64, size: u64) -> PlainSymbol<'static> {
        PlainSymbol {
            name: name.as_bytes(),
            section: 1,
            address,
            size,
            kind: elf::STT_FUNC,
            binding: elf::STB_GLOBAL,
            hidden: false,
        }
    }

    fn symbols(list: &[PlainSymbol<'static>]) -> Symbols<'static> {
        let section = PlainSection {
            name: b".text",
            number: 1,
            address: 0,
            stated: 0,
            size: 200,
            allocated: true,
            code: true,
        };
        Symbols::new(list, &[section], true)
    }

    fn names(symbols: &mut Symbols<'_>, offsets: &[u64]) -> String {
        let name = |&offset: &u64| match symbols.find(1, offset) {
            Some(found) => String::from_utf8_lossy(found.name).into_owned(),
            None => "?".to_owned(),
        };
        offsets.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    /// As 2.40 answers for the same table.
    #[test]
    fn the_last_answer_is_given_again_and_the_nearest_start_counts() {
        let nested = |word| PlainSymbol { kind: elf::STT_NOTYPE, ..symbol("n", 60, word) };
        let list = [
            symbol("f", 0, 100),
            symbol("g", 10, 10),
            symbol("h", 10, 20),
            nested(30),
            symbol("o", 60, 50),
        ];
        assert_eq!(names(&mut symbols(&list), &[5, 0x15, 0x25]), "f f f");
        assert_eq!(names(&mut symbols(&list), &[0x15, 5]), "h f");
        assert_eq!(names(&mut symbols(&list), &[0x15, 0x1d, 0x25, 5]), "h h h f");
        assert_eq!(names(&mut symbols(&list), &[0x50, 5, 0x50]), "o f f");
        assert_eq!(names(&mut symbols(&list), &[0x62, 5, 0x62]), "o f f");
        assert_eq!(names(&mut symbols(&list), &[150]), "o");
        assert_eq!(names(&mut symbols(&[]), &[0]), "?");
    }

    /// Whatever their types, and whether they hold the address or not. As 2.40 answers.
    #[test]
    fn of_those_that_begin_together_the_largest_counts() {
        let label = |name, size| PlainSymbol { kind: elf::STT_NOTYPE, ..symbol(name, 0, size) };
        let find = |list: &[PlainSymbol<'static>]| names(&mut symbols(list), &[0]);
        assert_eq!(find(&[symbol("small", 0, 4), symbol("large", 0, 8)]), "large");
        assert_eq!(find(&[symbol("large", 0, 8), symbol("none", 0, 0)]), "large");
        assert_eq!(find(&[symbol("none", 0, 0), symbol("large", 0, 8)]), "large");
        assert_eq!(find(&[label("label", 8), symbol("small", 0, 4)]), "label");
        assert_eq!(find(&[label("first", 4), symbol("second", 0, 4)]), "first");
        assert_eq!(find(&[label("none", 0), symbol("byte", 0, 1)]), "none");
    }

    #[test]
    fn what_is_no_function_is_left_out() {
        for kind in [elf::STT_OBJECT, elf::STT_TLS, elf::STT_SECTION] {
            assert_eq!(size_of_function(&PlainSymbol { kind, ..symbol("x", 0, 8) }), None);
        }
        let label = PlainSymbol { kind: elf::STT_NOTYPE, ..symbol("_start", 0, 0) };
        assert_eq!(size_of_function(&label), Some(1));
        let note = PlainSymbol { binding: elf::STB_LOCAL, hidden: true, ..label };
        assert_eq!(size_of_function(&note), None);
    }

    #[test]
    fn functions_belong_to_the_file_before_them() {
        let file = |name| PlainSymbol { kind: elf::STT_FILE, section: 0, ..symbol(name, 0, 0) };
        let local = |name, at| PlainSymbol { binding: elf::STB_LOCAL, ..symbol(name, at, 4) };
        let of = |list: &[PlainSymbol<'static>], offset| {
            symbols(list).find(1, offset).and_then(|found| found.file)
        };
        let several =
            [file("a.c"), local("one", 0), file("b.c"), local("two", 4), symbol("g", 8, 4)];
        assert_eq!(of(&several, 0), Some(&b"a.c"[..]));
        assert_eq!(of(&several, 4), Some(&b"b.c"[..]));
        assert_eq!(of(&several, 8), None);
        assert_eq!(of(&[file("a.c"), symbol("g", 0, 4)], 0), Some(&b"a.c"[..]));
    }
}
