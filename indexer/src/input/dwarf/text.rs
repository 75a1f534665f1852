//! Strings that DWARF states, wherever it keeps them.
//!
//! In: an attribute's value. Out: the bytes, borrowed from the file. Nothing
//! here copies, and no NUL is looked for without an end.

use gimli::AttributeValue;
use gimli::read::Section as _;

use super::unit::{Dwarf, Unit, Value};

/// No name is longer than this: many references to one huge tail stay cheap.
const LONGEST: usize = 1 << 20;

/// The string that `value` stands for; `None` when it is not there. `unit` is
/// needed for indexed strings only.
pub(super) fn of<'data>(
    dwarf: &Dwarf<'data>,
    unit: Option<&Unit<'data>>,
    value: &Value<'data>,
) -> Option<&'data [u8]> {
    match *value {
        AttributeValue::String(text) => Some(text.slice()),
        AttributeValue::DebugStrRef(offset) => at(dwarf.debug_str.reader().slice(), offset.0),
        AttributeValue::DebugStrRefSup(offset) => {
            at(dwarf.sup()?.debug_str.reader().slice(), offset.0)
        }
        AttributeValue::DebugLineStrRef(offset) => {
            at(dwarf.debug_line_str.reader().slice(), offset.0)
        }
        AttributeValue::DebugStrOffsetsIndex(index) => {
            let offset = dwarf.string_offset(unit?, index).ok()?;
            at(dwarf.debug_str.reader().slice(), offset.0)
        }
        _ => None,
    }
}

/// The NUL-terminated string at `offset`, without its NUL.
fn at(section: &[u8], offset: usize) -> Option<&[u8]> {
    let rest = section.get(offset..)?;
    let window = rest.get(..LONGEST).unwrap_or(rest);
    window.get(..memchr::memchr(0, window)?)
}
