//! Strings that DWARF states, wherever it keeps them.
//!
//! In: an attribute's value. Out: the bytes, borrowed from the file. Nothing
//! here copies, and no NUL is looked for without an end.

use gimli::AttributeValue;
use gimli::read::Section as _;

use super::limits::Allowance;
use super::unit::{Dwarf, Unit, Value};

/// The string that `value` stands for; `None` when it is not there. `unit` is
/// needed for indexed strings only.
pub(super) fn of<'data>(
    dwarf: &Dwarf<'data>,
    unit: Option<&Unit<'data>>,
    value: &Value<'data>,
    allowance: &Allowance,
) -> Option<&'data [u8]> {
    match *value {
        AttributeValue::String(text) => {
            allowance.text(super::wide(text.slice().len()));
            Some(text.slice())
        }
        AttributeValue::DebugStrRef(offset) => {
            at(dwarf.debug_str.reader().slice(), offset.0, allowance)
        }
        AttributeValue::DebugStrRefSup(offset) => {
            at(dwarf.sup()?.debug_str.reader().slice(), offset.0, allowance)
        }
        AttributeValue::DebugLineStrRef(offset) => {
            at(dwarf.debug_line_str.reader().slice(), offset.0, allowance)
        }
        AttributeValue::DebugStrOffsetsIndex(index) => {
            let offset = dwarf.string_offset(unit?, index).ok()?;
            at(dwarf.debug_str.reader().slice(), offset.0, allowance)
        }
        _ => None,
    }
}

/// The NUL-terminated string at `offset`, without its NUL.
fn at<'data>(section: &'data [u8], offset: usize, allowance: &Allowance) -> Option<&'data [u8]> {
    let rest = section.get(offset..)?;
    let longest = usize::try_from(allowance.longest_text()).unwrap_or(usize::MAX);
    let window = rest.get(..longest).unwrap_or(rest);
    let end = memchr::memchr(0, window);
    allowance.text(super::wide(end.unwrap_or(window.len())));
    window.get(..end?)
}
