//! Names of functions as binutils read them: attribute by attribute, in the
//! order in which the DIE states them.
//!
//! In: a DIE. Out: its name, and whether that is the linker's. Chains of origins
//! are bounded.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use gimli::constants;

use super::super::File;
use super::super::limits::Allowance;
use super::super::ranges::Extent;
use super::super::text;
use super::super::unit::{self, Header, Target, Unit, target};
use super::super::{files, wide};

/// At most this many DIEs are read for one name.
const HOPS: u32 = 100;
/// Units are kept ready to be read until their abbreviations have so many bytes;
/// in memory they take some twenty times as much.
const READY: u64 = 1 << 20;
/// A unit counts for at least so many of them.
const LEAST: u64 = 256;
/// The bytes that one answer's allowance is for: it may read 64 times as many
/// bytes of abbreviations of units that are not ready, attributes included (4
/// million in all). Honest answers take thousands.
const ANSWER: u64 = 1 << 16;

/// Which file a DIE is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// The file that the units with code are in.
    Main,
    /// The supplementary file (dwz).
    Supplementary,
}

/// A name, as far as the DIEs tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Named<'data> {
    /// The name.
    pub(super) name: Option<&'data [u8]>,
    /// It is the linker's, too: nothing else is looked for.
    pub(super) linkage: bool,
}

/// A unit that is ready to be read.
pub(super) struct Entered<'data> {
    /// gimli's view of it.
    pub(super) unit: Unit<'data>,
    /// Offset of its line program.
    pub(super) stmt_list: Option<usize>,
    /// Its language's names are the linker's.
    plain: bool,
}

/// A unit that was entered; `None` for a damaged one.
type Ready<'data> = Option<Rc<Entered<'data>>>;

/// The units of a file and of its supplementary file.
pub(super) struct Units<'data> {
    /// The file.
    pub(super) main: File<'data>,
    /// Its supplementary file.
    pub(super) supplementary: Option<File<'data>>,
    ready: RefCell<HashMap<(Place, usize), Ready<'data>>>,
    /// Bytes of the abbreviations of those.
    weight: Cell<u64>,
    /// What the answer that is being looked for may still read.
    answer: RefCell<Allowance>,
    /// How often a unit was entered that was not ready.
    #[cfg(test)]
    pub(super) count: Cell<u64>,
}

impl<'data> Units<'data> {
    /// Of files that are open.
    pub(super) fn new(main: File<'data>, supplementary: Option<File<'data>>) -> Self {
        let answer = RefCell::new(Allowance::of(ANSWER));
        Self {
            main,
            supplementary,
            ready: RefCell::default(),
            weight: Cell::new(0),
            answer,
            #[cfg(test)]
            count: Cell::new(0),
        }
    }

    fn file(&self, place: Place) -> Option<&File<'data>> {
        match place {
            Place::Main => Some(&self.main),
            Place::Supplementary => self.supplementary.as_ref(),
        }
    }

    /// A new answer begins: it may read as much as any other.
    pub(super) fn begin(&self) {
        *self.answer.borrow_mut() = Allowance::of(ANSWER);
    }

    /// The unit at an offset; to be asked once for each unit.
    pub(super) fn enter(&self, place: Place, offset: usize) -> Option<Rc<Entered<'data>>> {
        self.entered(place, offset, None)
    }

    /// The unit at an offset, paid for by the answer unless it is ready.
    fn again(&self, place: Place, offset: usize) -> Option<Rc<Entered<'data>>> {
        self.entered(place, offset, Some(&self.answer.borrow()))
    }

    fn entered(
        &self,
        place: Place,
        offset: usize,
        far: Option<&Allowance>,
    ) -> Option<Rc<Entered<'data>>> {
        let key = (place, offset);
        if let Some(entered) = self.ready.borrow().get(&key) {
            return entered.clone();
        }
        let file = self.file(place)?;
        let header = file.headers.at(offset)?;
        let refused = far.map_or(0, Allowance::refused);
        let entered = enter(file, header, far).map(|(entered, _)| Rc::new(entered));
        if far.map_or(0, Allowance::refused) > refused {
            // Another answer may afford it.
            return None;
        }
        #[cfg(test)]
        self.count.set(self.count.get().saturating_add(1));
        // What is kept of a unit without a table is small, too.
        let weight = file.tables.size(header).saturating_add(LEAST);
        let mut ready = self.ready.borrow_mut();
        if self.weight.get().saturating_add(weight) > READY {
            ready.clear();
            self.weight.set(0);
        }
        self.weight.set(self.weight.get().saturating_add(weight));
        ready.insert(key, entered.clone());
        entered
    }

    /// The name of the function whose DIE is at `die` in the unit at `offset`.
    pub(super) fn name(&self, place: Place, offset: usize, die: usize) -> Named<'data> {
        let mut left = HOPS;
        self.read((place, offset, die), true, &mut left)
    }

    /// A linkage name replaces any name, an origin's name any but a linkage name,
    /// and a plain one is taken when there is no other yet.
    /// `left` is how many more DIEs may be read, whatever they refer to.
    fn read(
        &self,
        (place, offset, die): (Place, usize, usize),
        first: bool,
        left: &mut u32,
    ) -> Named<'data> {
        let mut named = Named::default();
        let Some((file, entered)) = self.file(place).zip(self.again(place, offset)) else {
            return named;
        };
        let unit = &entered.unit;
        let allowance = Allowance::of(wide(unit.header.length_including_self()));
        let start = Some(gimli::UnitOffset(die));
        let Ok(mut entries) = unit.header.entries_raw(&unit.abbreviations, start) else {
            return named;
        };
        let Ok(Some(abbreviation)) = entries.read_abbreviation() else { return named };
        if !self.answer.borrow().far(wide(abbreviation.attributes().len())) {
            return named;
        }
        for spec in abbreviation.attributes() {
            let Ok(attribute) = entries.read_attribute(*spec) else { return named };
            let value = attribute.value();
            let text = || text::of(&file.dwarf, Some(unit), &value, &allowance);
            match attribute.name() {
                constants::DW_AT_name if named.name.is_none() => {
                    named.name = text();
                    named.linkage |= named.name.is_some() && entered.plain;
                }
                constants::DW_AT_linkage_name | constants::DW_AT_MIPS_linkage_name => {
                    if let Some(name) = text() {
                        named = Named { name: Some(name), linkage: true };
                    }
                }
                origin if is_followed(origin, first) => {
                    if let Some(origin) = self.resolve(place, offset, &value)
                        && let Some(rest) = left.checked_sub(1)
                    {
                        *left = rest;
                        let origin = self.read(origin, false, left);
                        if origin.linkage || !named.linkage {
                            named = origin;
                        }
                    }
                }
                _ => {}
            }
        }
        named
    }

    fn resolve(
        &self,
        place: Place,
        offset: usize,
        value: &unit::Value<'data>,
    ) -> Option<(Place, usize, usize)> {
        let (place, at) = match target(value)? {
            Target::Unit(die) => return Some((place, offset, die)),
            Target::Info(at) => (place, at),
            Target::Supplementary(at) => (Place::Supplementary, at),
        };
        let offset = self.file(place)?.headers.holding(at)?;
        Some((place, offset, at.checked_sub(offset)?))
    }

    /// Where an inlined function was called: file number and line.
    pub(super) fn call(&self, offset: usize, die: usize) -> (Option<u64>, u32) {
        let (mut file, mut line) = (None, 0);
        let Some(entered) = self.again(Place::Main, offset) else { return (file, line) };
        let unit = &entered.unit;
        let start = Some(gimli::UnitOffset(die));
        let Ok(mut entries) = unit.header.entries_raw(&unit.abbreviations, start) else {
            return (file, line);
        };
        let Ok(Some(abbreviation)) = entries.read_abbreviation() else { return (file, line) };
        for spec in abbreviation.attributes() {
            let Ok(attribute) = entries.read_attribute(*spec) else { break };
            match attribute.name() {
                constants::DW_AT_call_file => file = number(&attribute),
                constants::DW_AT_call_line => {
                    let number = number(&attribute).and_then(|line| u32::try_from(line).ok());
                    line = number.unwrap_or(0);
                }
                _ => {}
            }
        }
        (file, line)
    }
}

/// The number that an attribute states.
pub(super) fn number(attribute: &gimli::Attribute<unit::Slice<'_>>) -> Option<u64> {
    match attribute.value() {
        gimli::AttributeValue::FileIndex(index) => Some(index),
        _ => attribute.udata_value(),
    }
}

/// Enters a unit, its abbreviations paid for by `far`; also tells what its root DIE covers.
pub(super) fn enter<'data>(
    file: &File<'data>,
    header: &Header<'data>,
    far: Option<&Allowance>,
) -> Option<(Entered<'data>, Extent<'data>)> {
    let allowance = Allowance::of(wide(header.length_including_self()));
    let (unit, root) = file.enter(header, &allowance, far).ok()?;
    let mut extent = Extent::default();
    let mut plain = false;
    if let Ok(mut entries) = header.entries_raw(&unit.abbreviations, None)
        && let Ok(Some(abbreviation)) = entries.read_abbreviation()
    {
        for spec in abbreviation.attributes() {
            let Ok(attribute) = entries.read_attribute(*spec) else { break };
            extent.take(&attribute);
            if let gimli::AttributeValue::Language(language) = attribute.value() {
                plain = has_plain_names(language);
            }
        }
    }
    // A line program that is not there makes the unit worthless to binutils.
    let stmt_list = root.stmt_list.filter(|&offset| files::extent(&file.dwarf, offset).is_some());
    Some((Entered { unit, stmt_list, plain }, extent))
}

/// True for an attribute that leads to a DIE whose name counts: an origin only
/// from the function itself, so that the clone of a clone (a constructor of
/// gcc's `-flto`) has no name.
fn is_followed(attribute: constants::DwAt, first: bool) -> bool {
    match attribute {
        constants::DW_AT_specification => true,
        constants::DW_AT_abstract_origin => first,
        _ => false,
    }
}

/// True for the languages whose functions binutils print by the name that the
/// program gives them; in all others the symbol table is asked.
fn has_plain_names(language: constants::DwLang) -> bool {
    matches!(
        language,
        constants::DW_LANG_C89
            | constants::DW_LANG_C
            | constants::DW_LANG_Cobol74
            | constants::DW_LANG_Cobol85
            | constants::DW_LANG_Fortran77
            | constants::DW_LANG_Pascal83
            | constants::DW_LANG_C99
            | constants::DW_LANG_PLI
            | constants::DW_LANG_UPC
            | constants::DW_LANG_C11
            | constants::DW_LANG_Mips_Assembler
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found out by asking 2.40 of a function whose symbol has another name, for
    /// every number of a language.
    #[test]
    fn plain_names_are_those_of_old_languages() {
        let plain = (0..=0xffff).filter(|&number| has_plain_names(constants::DwLang(number)));
        let expected = [1, 2, 5, 6, 7, 9, 0xc, 0xf, 0x12, 0x1d, 0x8001];
        assert_eq!(plain.collect::<Vec<u16>>(), expected);
    }
}
