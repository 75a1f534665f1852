//! The floor: what a build takes however little it reads at once.
//!
//! In: what was read of an input. Out: bytes of anonymous memory, about, and
//! what to say when a bound is below them. Measures nothing and bounds nothing.

use crate::lines::Lines;
use crate::model::Image;

/// Of the process, and of sections and segments.
const BASE: u64 = 2 << 20;
/// Of a symbol, until it is laid out.
const SYMBOL: u64 = 130;

/// Bytes that a build of this image takes at least, about; `kept` are those of
/// sections that had to be unpacked or relocated.
pub(super) fn least(image: &Image<'_>, kept: u64, lines: &Lines<'_>) -> u64 {
    let symbols = u64::try_from(image.symbols.len()).unwrap_or(u64::MAX).saturating_mul(SYMBOL);
    [BASE, symbols, kept, lines.least()].iter().fold(0, |sum, part| sum.saturating_add(*part))
}

/// What to say when a bound on memory is below what is needed.
pub(super) fn beyond(bound: Option<u64>, needed: u64) -> Option<String> {
    let bound = bound.filter(|&bound| needed > bound)?;
    Some(format!(
        "expected {bound} bytes of memory to be enough for this build, found symbols and lines that take \
         about {needed} however they are read; went on beyond the bound, give more or --names-only"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_below_the_floor_is_told_of() {
        assert_eq!(beyond(None, 5), None);
        assert_eq!(beyond(Some(5), 5), None);
        let told = beyond(Some(4), 5).unwrap_or_default();
        assert!(told.contains(" 4 bytes") && told.contains(" 5 "), "{told}");
    }
}
