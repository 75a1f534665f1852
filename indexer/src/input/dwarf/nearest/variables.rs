//! Variables as binutils know them: what is declared where, at a fixed address.
//!
//! In: the DIEs of all units. Out: the declarations at an address. Read only
//! when data is asked for.

use std::collections::HashMap;

use gimli::{AttributeValue, constants};

use super::super::limits::Allowance;
use super::super::text;
use super::super::unit::{Dwarf, Slice, Target, Unit, target};
use super::super::wide;
use super::names::number;

/// The opcode of a fixed address.
const ADDRESS: u8 = 3;

/// One variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Variable<'data> {
    /// Its linkage name, else its name in the program.
    pub(super) name: Option<&'data [u8]>,
    /// Number of the file that declares it.
    pub(super) file: Option<u64>,
    /// 0 for none.
    pub(super) line: u32,
    address: Option<u64>,
    /// It is no local one without an address.
    fixed: bool,
    declared: Option<usize>,
}

/// The variables of a unit that have an address.
pub(super) fn read<'data>(dwarf: &Dwarf<'data>, unit: &Unit<'data>) -> Vec<(u64, Variable<'data>)> {
    let (fixed, all) = needed(dwarf, unit);
    let whole = |variable: Variable<'data>| {
        let address = variable.address?;
        let declared = variable.declared.and_then(|die| all.get(&die)).copied().flatten();
        let declared = declared.unwrap_or_default();
        Some((
            address,
            Variable {
                name: variable.name.or(declared.name),
                file: variable.file.or(declared.file),
                line: if variable.line == 0 { declared.line } else { variable.line },
                ..variable
            },
        ))
    };
    fixed.into_iter().filter_map(whole).collect()
}

/// Declarations by DIE.
pub(super) type Declared<'data> = HashMap<usize, Option<Variable<'data>>>;

/// The variables that have an address, and what they are declared as. Most DIEs
/// are neither, and are not kept.
pub(super) fn needed<'data>(
    dwarf: &Dwarf<'data>,
    unit: &Unit<'data>,
) -> (Vec<Variable<'data>>, Declared<'data>) {
    let mut fixed = Vec::new();
    let _ = scan(dwarf, unit, |_, variable| {
        if variable.fixed && variable.address.is_some() {
            fixed.push(variable);
        }
    });
    let declared = fixed.iter().filter_map(|variable| variable.declared);
    let mut all: Declared<'data> = declared.map(|die| (die, None)).collect();
    if !all.is_empty() {
        let _ = scan(dwarf, unit, |die, variable| {
            all.entry(die).and_modify(|slot| *slot = Some(variable));
        });
    }
    (fixed, all)
}

/// Goes over the variables of a unit, up to the damage where there is any.
fn scan<'data>(
    dwarf: &Dwarf<'data>,
    unit: &Unit<'data>,
    mut found: impl FnMut(usize, Variable<'data>),
) -> gimli::Result<()> {
    let allowance = Allowance::of(wide(unit.header.length_including_self()));
    let mut entries = unit.header.entries_raw(&unit.abbreviations, None)?;
    while !entries.is_empty() {
        let die = entries.next_offset().0;
        let Some(abbreviation) = entries.read_abbreviation()? else { continue };
        if !matches!(abbreviation.tag(), constants::DW_TAG_variable | constants::DW_TAG_member) {
            entries.skip_attributes(abbreviation.attributes())?;
            continue;
        }
        let mut variable = Variable::default();
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            match attribute.name() {
                constants::DW_AT_name if variable.name.is_some() => {}
                constants::DW_AT_name
                | constants::DW_AT_linkage_name
                | constants::DW_AT_MIPS_linkage_name => {
                    variable.name = text::of(dwarf, Some(unit), &attribute.value(), &allowance);
                }
                constants::DW_AT_decl_file => variable.file = number(&attribute),
                constants::DW_AT_decl_line => {
                    let line = number(&attribute).and_then(|line| u32::try_from(line).ok());
                    variable.line = line.unwrap_or(0);
                }
                constants::DW_AT_external => {
                    variable.fixed |= attribute.value() == AttributeValue::Flag(true);
                }
                constants::DW_AT_specification => {
                    if let Some(Target::Unit(die)) = target(&attribute.value()) {
                        variable.declared = Some(die);
                    }
                }
                constants::DW_AT_location => {
                    if let AttributeValue::Exprloc(expression) = attribute.value() {
                        variable.address = fixed_address(expression.0, unit);
                        variable.fixed |= expression.0.slice().first() == Some(&ADDRESS);
                    }
                }
                _ => {}
            }
        }
        found(die, variable);
    }
    Ok(())
}

/// The address of an expression that is one address and nothing else.
fn fixed_address(mut expression: Slice<'_>, unit: &Unit<'_>) -> Option<u64> {
    use gimli::Reader as _;
    let size = unit.header.address_size();
    let whole = usize::from(size).saturating_add(1);
    if expression.slice().len() != whole || expression.read_u8().ok()? != ADDRESS {
        return None;
    }
    expression.read_address(size).ok()
}
