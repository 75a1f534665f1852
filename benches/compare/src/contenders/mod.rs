//! In: a binary or the file a contender made from it. Out: answers, through one trait for all.
//! The timed loops live here, generic over the contender, so that no dynamic call is timed.
//! Never: decides what is right; that is `truth`.

mod addr2line;
mod blazesym;
mod gsym;
mod object_map;
pub mod std_records;
mod symcache;
mod symidx;

pub use gsym::llvm_gsymutil;

use std::hint::black_box;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::alloc::{self, Traffic};
use crate::{Result, mapped};

/// What a contender opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artifact {
    /// The binary itself; there is no build step.
    Binary,
    /// A file that this contender builds.
    Own,
    /// The file that the named contender builds.
    Of(&'static str),
}

/// One way to get from an address to a symbol.
pub trait Contender {
    /// Name in `--only` and in the table.
    const NAME: &'static str;
    /// Package whose version goes into the legend.
    const PACKAGE: &'static str;
    /// What `open` takes.
    const ARTIFACT: Artifact;
    type Opened: Lookup;

    /// The file to hand to `build`, made in `dir` (untimed) when the binary itself will not do.
    fn input(binary: &Path, _dir: &Path) -> Result<PathBuf> {
        Ok(binary.to_path_buf())
    }

    /// Writes the names-only artifact of `binary` to `out`.
    fn build(_binary: &Path, _out: &Path) -> Result<()> {
        Err("nothing to build".into())
    }

    /// Opens the artifact, mapped where the contender can. `base` is the svma of the first loaded segment,
    /// for formats that count from there.
    fn open(artifact: &Path, base: u64) -> Result<Self::Opened>;

    /// What `open` does behind the map: reads the head of an artifact that is mapped already. `None`: it is
    /// not made to be mapped, or has no way to say so.
    fn parse(_mapped: &'static [u8]) -> Option<Result<()>> {
        None
    }
}

/// An opened contender. Addresses and starts are svma, as in the symbol table.
pub trait Lookup {
    /// Start of the symbol that covers `addr`, with the least work the API allows.
    fn start(&mut self, addr: u64) -> Option<u64>;

    /// Calls `f` with the name's bytes and the start of the symbol that covers `addr`.
    fn named<R>(&mut self, addr: u64, f: impl FnOnce(&[u8], u64) -> R) -> Option<R>;

    /// Answers `sorted` addresses as the API does best and returns the sum of the starts.
    fn batch(&mut self, sorted: &[u64]) -> u64 {
        sorted
            .iter()
            .map(|&addr| mark(self.start(addr)))
            .fold(0, u64::wrapping_add)
    }

    /// What is stored, when the API can list it.
    fn inventory(&mut self) -> Option<Inventory> {
        None
    }
}

/// Counts of what an artifact holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Distinct symbol starts.
    pub addresses: u64,
    /// Names, aliases included.
    pub names: u64,
    /// Bytes of the distinct names, without terminators or lengths.
    pub name_bytes: u64,
}

impl Inventory {
    /// Counts (start, name) pairs in any order.
    pub fn count<'a>(pairs: impl Iterator<Item = (u64, &'a [u8])>) -> Self {
        let pairs: std::collections::BTreeSet<_> = pairs.collect();
        let starts: std::collections::BTreeSet<_> = pairs.iter().map(|pair| pair.0).collect();
        let names: std::collections::BTreeSet<_> = pairs.iter().map(|pair| pair.1).collect();
        let bytes: usize = names.iter().map(|name| name.len()).sum();
        Self {
            addresses: u64::try_from(starts.len()).unwrap_or(u64::MAX),
            names: u64::try_from(pairs.len()).unwrap_or(u64::MAX),
            name_bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        }
    }
}

/// What a lookup adds to the sum that keeps the loop from being optimised away.
pub fn mark(start: Option<u64>) -> u64 {
    start.unwrap_or(1)
}

/// A [`Contender`] behind a dynamic call, one call per list.
pub trait Rival {
    fn name(&self) -> &'static str;
    fn package(&self) -> &'static str;
    fn artifact(&self) -> Artifact;
    fn input(&self, binary: &Path, dir: &Path) -> Result<PathBuf>;
    fn build(&self, binary: &Path, out: &Path) -> Result<()>;
    /// Mean ns of `open`, and of `open` plus one lookup with its name read, over `probes.len()` opens each.
    fn time_open(&self, artifact: &Path, base: u64, probes: &[u64]) -> Result<(f64, f64)>;
    /// Mean ns of [`Contender::parse`] over many times, where there is one.
    fn time_parse(&self, artifact: &Path) -> Result<Option<f64>>;
    fn open_traffic(&self, artifact: &Path, base: u64) -> Result<Traffic>;
    fn session(&self, artifact: &Path, base: u64) -> Result<Box<dyn Session>>;
}

/// An opened contender behind a dynamic call, one call per list.
pub trait Session {
    /// Independent lookups, name not asked for.
    fn starts(&mut self, addrs: &[u64]) -> u64;
    /// Each lookup waits for the answer of the one before.
    fn starts_chained(&mut self, addrs: &[u64]) -> u64;
    /// Independent lookups, every byte of every name read.
    fn names(&mut self, addrs: &[u64]) -> u64;
    fn batch(&mut self, sorted: &[u64]) -> u64;
    /// One answer, copied out: for checking, never timed.
    fn answer(&mut self, addr: u64) -> Option<(Vec<u8>, u64)>;
    /// The start alone, by the path that the timed loops take.
    fn answer_start(&mut self, addr: u64) -> Option<u64>;
    fn inventory(&mut self) -> Option<Inventory>;
}

/// Reads every byte of a name.
fn read(name: &[u8]) -> u64 {
    name.iter().map(|&byte| u64::from(byte)).sum()
}

impl<T: Lookup> Session for T {
    fn starts(&mut self, addrs: &[u64]) -> u64 {
        addrs
            .iter()
            .map(|&addr| mark(self.start(addr)))
            .fold(0, u64::wrapping_add)
    }

    fn starts_chained(&mut self, addrs: &[u64]) -> u64 {
        let zero = black_box(0_u64);
        let mut last = 0_u64;
        let mut sum = 0_u64;
        for &addr in addrs {
            last = mark(self.start(addr.wrapping_add(last & zero)));
            sum = sum.wrapping_add(last);
        }
        sum
    }

    fn names(&mut self, addrs: &[u64]) -> u64 {
        let mut sum = 0_u64;
        for &addr in addrs {
            let one = self.named(addr, |name, start| {
                start.wrapping_add(read(black_box(name)))
            });
            sum = sum.wrapping_add(mark(one));
        }
        sum
    }

    fn batch(&mut self, sorted: &[u64]) -> u64 {
        Lookup::batch(self, sorted)
    }

    fn answer(&mut self, addr: u64) -> Option<(Vec<u8>, u64)> {
        self.named(addr, |name, start| (name.to_vec(), start))
    }

    fn answer_start(&mut self, addr: u64) -> Option<u64> {
        self.start(addr)
    }

    fn inventory(&mut self) -> Option<Inventory> {
        Lookup::inventory(self)
    }
}

struct Runner<C>(PhantomData<C>);

impl<C: Contender> Rival for Runner<C>
where
    C::Opened: 'static,
{
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn package(&self) -> &'static str {
        C::PACKAGE
    }

    fn artifact(&self) -> Artifact {
        C::ARTIFACT
    }

    fn input(&self, binary: &Path, dir: &Path) -> Result<PathBuf> {
        C::input(binary, dir)
    }

    fn build(&self, binary: &Path, out: &Path) -> Result<()> {
        C::build(binary, out)
    }

    fn time_open(&self, artifact: &Path, base: u64, probes: &[u64]) -> Result<(f64, f64)> {
        let (mut open, mut first) = (0.0, 0.0);
        for &probe in probes {
            let begin = Instant::now();
            let opened = C::open(artifact, base)?;
            open += begin.elapsed().as_nanos_f64();
            drop(opened);
            let begin = Instant::now();
            let mut opened = C::open(artifact, base)?;
            black_box(opened.named(probe, |name, start| start.wrapping_add(read(name))));
            first += begin.elapsed().as_nanos_f64();
        }
        let rounds = probes.iter().map(|_| 1.0).sum::<f64>().max(1.0);
        Ok((open / rounds, first / rounds))
    }

    fn time_parse(&self, artifact: &Path) -> Result<Option<f64>> {
        // What is timed may not be let go before the map is: so the map is not.
        let mapped: &'static [u8] = Box::leak(Box::new(mapped::map(artifact)?));
        const TIMES: u32 = 2000;
        let begin = Instant::now();
        for _ in 0..TIMES {
            match C::parse(black_box(mapped)) {
                Some(parsed) => parsed?,
                None => return Ok(None),
            }
        }
        Ok(Some(begin.elapsed().as_nanos_f64() / f64::from(TIMES)))
    }

    fn open_traffic(&self, artifact: &Path, base: u64) -> Result<Traffic> {
        let (opened, traffic) = alloc::count(|| C::open(artifact, base));
        opened.map(|_| traffic)
    }

    fn session(&self, artifact: &Path, base: u64) -> Result<Box<dyn Session>> {
        Ok(Box::new(C::open(artifact, base)?))
    }
}

/// Nanoseconds as a float; a bench never runs long enough to lose precision.
pub trait Nanos {
    fn as_nanos_f64(&self) -> f64;
}

impl Nanos for std::time::Duration {
    fn as_nanos_f64(&self) -> f64 {
        self.as_secs_f64() * 1e9
    }
}

/// All contenders in table order.
pub fn all() -> Vec<Box<dyn Rival>> {
    fn runner<C: Contender + 'static>() -> Box<dyn Rival> {
        Box::new(Runner::<C>(PhantomData))
    }
    vec![
                runner::<symidx::Symidx>(),
        runner::<std_records::StdRecords>(),
        runner::<object_map::ObjectMap>(),
        runner::<symcache::Symcache>(),
        runner::<gsym::GsymRs>(),
        runner::<gsym::GsymLlvm>(),
        runner::<blazesym::BlazesymElf>(),
        runner::<blazesym::BlazesymGsym>(),
        runner::<addr2line::Addr2line>(),
    ]
}
