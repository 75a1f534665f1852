//! The guide for profilers keeps what its title says; that its code compiles and
//! runs is a doctest of `symidx::process`.
#![allow(clippy::expect_used, reason = "a test that goes wrong should stop")]

#[test]
fn the_guide_has_20_lines_of_code() {
    let guide = include_str!("../PROFILERS.md");
    assert!(guide.starts_with("# Symbolize in your profiler in 20 lines\n"));
    let mut blocks = guide.split("```rust\n").skip(1);
    let code = blocks.next().and_then(|block| block.split("```").next()).expect("a block of Rust");
    let shown = code.lines().filter(|line| !(line.is_empty() || line.starts_with("# ")));
    assert_eq!(shown.count(), 20);
    assert_eq!(blocks.count(), 0);
}
