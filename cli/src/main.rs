//! The `symidx` command.
fn main() {}
