//! Names: from the DIE of a function to its name and declaration.
//!
//! In: where a function is declared. Out: [`Function`]s, each once. Chains of
//! origins and specifications are followed across units and into the
//! supplementary file, a bounded way, and never in a circle.

use std::collections::HashMap;

use gimli::{UnitOffset, constants};

use super::abbreviations::Tables;
use super::files::{FileTable, Files, header_size, program};
use super::headers::Headers;
use super::limits::Allowance;
use super::text;
use super::unit::{Dwarf, Target, Unit, enter, target};
use crate::model::lines::{Function, NONE};

/// At most this many DIEs are read for one name.
const HOPS: usize = 16;

/// One file's units, for references between them.
#[derive(Clone, Copy)]
pub(super) struct Space<'a, 'data> {
    /// Its sections.
    pub(super) dwarf: &'a Dwarf<'data>,
    /// Its units.
    pub(super) headers: &'a Headers<'data>,
    /// Their abbreviations.
    pub(super) tables: &'a Tables,
}

/// Which file a DIE is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// The file that the unit is in.
    Own,
    /// The supplementary file.
    Supplementary,
}

/// A DIE by its offset in `.debug_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct DieRef {
    place: Place,
    offset: usize,
}

/// A unit of one's own or of another's.
enum Held<'a, 'data> {
    Borrowed(&'a Unit<'data>),
    Owned(Box<Unit<'data>>),
}

impl<'data> Held<'_, 'data> {
    fn get(&self) -> &Unit<'data> {
        match self {
            Self::Borrowed(unit) => unit,
            Self::Owned(unit) => unit,
        }
    }
}

/// A unit that names were read from.
struct Entered<'a, 'data> {
    unit: Held<'a, 'data>,
    stmt_list: Option<usize>,
    /// Read when first needed; `None` inside when there is none.
    files: Option<Option<FileTable<'data>>>,
}

/// What one DIE says about a function.
#[derive(Clone, Copy, Default)]
struct Die<'data> {
    linkage: Option<&'data [u8]>,
    name: Option<&'data [u8]>,
    file: Option<u64>,
    line: Option<u32>,
    origin: Option<Target>,
    specification: Option<Target>,
}

/// The functions of one unit that are put out.
pub(super) struct Names<'a, 'data> {
    own: Space<'a, 'data>,
    supplementary: Option<Space<'a, 'data>>,
    allowance: &'a Allowance,
    /// Offset of the unit that is read.
    base: usize,
    units: HashMap<(Place, usize), Option<Entered<'a, 'data>>>,
    by_die: HashMap<DieRef, u32>,
    by_content: HashMap<Function<'data>, u32>,
    /// In order of first use.
    pub(super) list: Vec<Function<'data>>,
}

impl<'a, 'data> Names<'a, 'data> {
    /// For `unit` of the file `own`. `files` is its table of declaring files.
    pub(super) fn new(
        own: Space<'a, 'data>,
        supplementary: Option<Space<'a, 'data>>,
        unit: &'a Unit<'data>,
        files: Option<FileTable<'data>>,
        allowance: &'a Allowance,
    ) -> Self {
        let base = unit.header.debug_info_offset().map_or(0, |offset| offset.0);
        let entered = Entered { unit: Held::Borrowed(unit), stmt_list: None, files: Some(files) };
        Self {
            own,
            supplementary,
            allowance,
            base,
            units: HashMap::from([((Place::Own, base), Some(entered))]),
            by_die: HashMap::new(),
            by_content: HashMap::new(),
            list: Vec::new(),
        }
    }

    /// The number of the function that is declared at `declared`.
    pub(super) fn number(&mut self, declared: Target, files: &mut Files<'data>) -> u32 {
        let Some(start) = resolve(Place::Own, self.base, declared) else { return NONE };
        if let Some(&number) = self.by_die.get(&start) {
            return number;
        }
        let number = match self.function(start, files) {
            Some(function) => *self.by_content.entry(function).or_insert_with(|| {
                let number = super::count32(self.list.len());
                self.list.push(function);
                number
            }),
            None => NONE,
        };
        self.by_die.insert(start, number);
        number
    }

    /// Reads the chain from `start`. Any linkage name on it wins over any plain
    /// name; of each kind, and for the declaration, the nearest.
    fn function(&mut self, start: DieRef, files: &mut Files<'data>) -> Option<Function<'data>> {
        let mut seen: Vec<DieRef> = Vec::new();
        let mut coming = vec![start];
        let (mut linkage, mut name) = (None, None);
        let (mut file, mut line) = (None, None);
        while let Some(next) = coming.pop() {
            if seen.len() >= HOPS || seen.contains(&next) {
                continue;
            }
            let Some((die, unit)) = self.die(next) else { continue };
            seen.push(next);
            linkage = linkage.or(die.linkage);
            name = name.or(die.name);
            line = line.or(die.line);
            if let (None, Some(index)) = (file, die.file) {
                file = Some(self.file(next.place, unit, index, files));
            }
            if linkage.is_some() && file.is_some() && line.is_some() {
                break;
            }
            for further in [die.origin, die.specification].into_iter().flatten() {
                coming.extend(resolve(next.place, unit, further));
            }
        }
        if seen.is_empty() {
            return None;
        }
        Some(Function {
            name: linkage.or(name).unwrap_or(&[]),
            file: file.unwrap_or(NONE),
            line: line.unwrap_or(0),
        })
    }

    fn space(&self, place: Place) -> Option<Space<'a, 'data>> {
        match place {
            Place::Own => Some(self.own),
            Place::Supplementary => self.supplementary,
        }
    }

    /// The unit at `offset`, entered once.
    fn unit(&mut self, place: Place, offset: usize) -> Option<&mut Entered<'a, 'data>> {
        let space = self.space(place)?;
        let allowance = self.allowance;
        self.units
            .entry((place, offset))
            .or_insert_with(|| {
                let header = *space.headers.at(offset)?;
                let abbreviations = space.tables.of(space.dwarf, &header, Some(allowance)).ok()?;
                let (unit, root) = enter(space.dwarf, header, abbreviations, allowance).ok()?;
                let unit = Held::Owned(Box::new(unit));
                Some(Entered { unit, stmt_list: root.stmt_list, files: None })
            })
            .as_mut()
    }

    /// Number of the file `index` of the unit at `unit`.
    fn file(&mut self, place: Place, unit: usize, index: u64, files: &mut Files<'data>) -> u32 {
        let Some(space) = self.space(place) else { return NONE };
        let allowance = self.allowance;
        let Some(entered) = self.unit(place, unit) else { return NONE };
        let Entered { unit, stmt_list, files: table } = entered;
        let table = table.get_or_insert_with(|| {
            let unit = unit.get();
            let offset = (*stmt_list)?;
            if !allowance.far(header_size(space.dwarf, offset).ok()?) {
                return None;
            }
            let program = program(space.dwarf, offset, unit.header.address_size()).ok()?;
            Some(FileTable::read(space.dwarf, unit, &program, allowance))
        });
        table.as_mut().map_or(NONE, |table| table.number(index, files))
    }

    /// Reads one DIE; with it the offset of its unit.
    fn die(&mut self, at: DieRef) -> Option<(Die<'data>, usize)> {
        let space = self.space(at.place)?;
        let offset = space.headers.holding(at.offset)?;
        let allowance = self.allowance;
        if !allowance.has_text() {
            return None;
        }
        let unit = self.unit(at.place, offset)?.unit.get();
        let inside = at.offset.checked_sub(offset)?;
        let mut entries = unit.entries_raw(Some(UnitOffset(inside))).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        let mut die = Die::default();
        for spec in abbreviation.attributes() {
            let Ok(attribute) = entries.read_attribute(*spec) else { break };
            let string = || text::of(space.dwarf, Some(unit), &attribute.value(), allowance);
            match attribute.name() {
                constants::DW_AT_linkage_name | constants::DW_AT_MIPS_linkage_name => {
                    die.linkage = string().filter(|name| !name.is_empty());
                }
                constants::DW_AT_name => die.name = string().filter(|name| !name.is_empty()),
                constants::DW_AT_decl_file => die.file = attribute.udata_value(),
                constants::DW_AT_decl_line => {
                    die.line = attribute.udata_value().and_then(|line| u32::try_from(line).ok());
                }
                constants::DW_AT_abstract_origin => die.origin = target(&attribute.value()),
                constants::DW_AT_specification => die.specification = target(&attribute.value()),
                _ => {}
            }
        }
        Some((die, offset))
    }
}

/// The DIE that a DIE of the unit at `unit` refers to.
fn resolve(place: Place, unit: usize, target: Target) -> Option<DieRef> {
    Some(match target {
        Target::Unit(offset) => DieRef { place, offset: unit.checked_add(offset)? },
        Target::Info(offset) => DieRef { place, offset },
        Target::Supplementary(offset) => DieRef { place: Place::Supplementary, offset },
    })
}
