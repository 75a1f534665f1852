//! What the benchmarks share: a binary, its index, and lists of addresses.
//!
//! The binary is `$SYMIDX_BENCH_BINARY`, or the benchmark's own executable.

use std::path::PathBuf;

use symidx::{Index, Svma};
use symidx_indexer::{BuildError, BuildOptions, build_file};

/// The binary that is indexed.
///
/// # Errors
/// When the executable's own path cannot be read.
pub fn binary() -> std::io::Result<PathBuf> {
    match std::env::var_os("SYMIDX_BENCH_BINARY") {
        Some(path) => Ok(path.into()),
        None => std::env::current_exe(),
    }
}

/// Options under which every build is a real one.
#[must_use]
pub fn options() -> BuildOptions {
    BuildOptions { force: true, ..BuildOptions::default() }
}

/// Builds the binary's index in a fresh directory; returns its path and the
/// directory, which goes with the value.
///
/// # Errors
/// [`BuildError`], or the reason why there is no temporary directory.
pub fn build() -> Result<(PathBuf, tempfile::TempDir), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let output = directory.path().join("bench.symidx");
    let built: Result<_, BuildError> = build_file(&binary()?, &output, &options());
    built?;
    Ok((output, directory))
}

/// Addresses to ask for, the same for every run.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    /// Inside symbols, in random order.
    pub hits: Vec<Svma>,
    /// In gaps between symbols where there are any, else outside the image,
    /// in random order.
    pub misses: Vec<Svma>,
    /// Half hits, half misses, in random order: about what a real profile of
    /// a partly stripped system holds.
    pub profile: Vec<Svma>,
    /// The profile, sorted.
    pub sorted: Vec<Svma>,
}

/// Makes `count` addresses of each kind.
///
/// # Errors
/// [`symidx::Corrupt`] when the index is damaged.
pub fn addresses(index: &Index<'_>, count: usize) -> Result<Addresses, symidx::Corrupt> {
    let mut random = SplitMix(0x5eed);
    let spans = index
        .symbols()
        .map(|symbol| symbol.map(|symbol| (symbol.start().0, symbol.size())))
        .collect::<Result<Vec<_>, _>>()?;
    let first = spans.first().map_or(0, |span| span.0);
    let last = spans.last().map_or(1, |span| span.0.saturating_add(span.1));
    let mut addresses = Addresses::default();
    for _ in 0..count {
        if let Some(&(start, size)) = spans.get(random.below(spans.len())) {
            let inside = random.next().checked_rem(size).unwrap_or(0);
            addresses.hits.push(Svma(start.saturating_add(inside)));
        }
        let width = last.saturating_sub(first).max(1);
        let mut miss = last.saturating_add(random.next() >> 20);
        for _ in 0..64 {
            let inside = first.saturating_add(random.next().checked_rem(width).unwrap_or(0));
            if index.lookup(Svma(inside))?.is_none() {
                miss = inside;
                break;
            }
        }
        addresses.misses.push(Svma(miss));
    }
    for (&hit, &miss) in addresses.hits.iter().zip(&addresses.misses) {
        addresses.profile.push(if random.next() & 1 == 0 { hit } else { miss });
    }
    addresses.sorted.clone_from(&addresses.profile);
    addresses.sorted.sort_unstable();
    Ok(addresses)
}

/// A small generator with a fixed seed: every run asks the same questions.
#[derive(Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(1).max(1);
        usize::try_from(self.next().checked_rem(limit).unwrap_or(0)).unwrap_or(0)
    }
}
