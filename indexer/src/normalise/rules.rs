//! The rules of symbol choice, one named function each.
