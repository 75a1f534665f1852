//! Criterion benchmarks of symidx live in `benches/`.
