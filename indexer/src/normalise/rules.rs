//! The rules of symbol choice, one named function each.

use crate::model::Symbol;

/// True when a group of aliases holds two different functions.
#[must_use]
pub fn is_folded(names: &[Symbol<'_>]) -> bool {
    let _ = names;
    false
}
