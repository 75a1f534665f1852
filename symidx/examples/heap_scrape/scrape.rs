//! A scrape: the profiler's stacks in, a symbolized profile out, and on stderr
//! what naming the addresses took.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use symidx::process::{Modules, Resolver, Statistics, Store};
use symidx_pprof::{Function, Leaf, Line, Profile, Symbolizer, Writer, write_folded};

use crate::PROFILER;
use crate::profiler::{Sampled, allocated_here};

/// What a scrape returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A gzipped pprof profile.
    Pprof,
    /// `main;work;leaf BYTES`, live bytes.
    Folded,
}

/// The sample type that `Kind::Folded` shows: live bytes.
const FOLDED: usize = 3;

/// Keeps what scrapes share: the modules, and the indexes that are open.
pub(crate) struct Scraper {
    resolver: Resolver,
    rival: bool,
    started: SystemTime,
}

impl Scraper {
    /// Opens no index yet.
    pub(crate) fn new(rival: bool) -> Self {
        // SAFETY: indexes are replaced by rename only (`symidx build` does).
        let store = Arc::new(unsafe { Store::mapped() });
        let resolver = Resolver::new(Modules::capture(), store);
        Self { resolver, rival, started: SystemTime::now() }
    }

    /// One profile of the heap as it is now.
    pub(crate) fn scrape(&mut self, kind: Kind) -> io::Result<Vec<u8>> {
        let stacks = PROFILER.snapshot();
        // Libraries that were loaded since the last scrape; indexes that were built.
        self.resolver.update()?;
        self.resolver.store().forget_missing();
        let mut addresses: Vec<u64> =
            stacks.iter().flat_map(|stack| stack.addresses.iter().copied()).collect();
        addresses.sort_unstable();
        addresses.dedup();
        self.report(&stacks, &addresses);

        let mut profile = self.profile(&stacks);
        match self.rival {
            true => rival(&mut profile),
            false => {
                Symbolizer::new().resolve(&mut profile, &self.resolver);
            }
        }
        let mut body = Vec::new();
        match kind {
            Kind::Pprof => profile.write(&mut body)?,
            Kind::Folded => {
                for (stack, bytes) in profile.folded(FOLDED, |_| false) {
                    write_folded(&mut body, &stack, bytes)?;
                }
            }
        }
        Ok(body)
    }

    /// Names every address and throws the names away, to say what that costs.
    fn report(&mut self, stacks: &[Sampled], addresses: &[u64]) {
        let (before, start) = (allocated_here(), Instant::now());
        let mut opened = Duration::ZERO;
        let mut statistics = Statistics::default();
        if self.rival {
            for &address in addresses {
                let mut named = Err(symidx::process::Unknown::Gap);
                backtrace::resolve(pointer(address), |symbol| {
                    if let Some(name) = symbol.name() {
                        named = Ok(black_box(name.as_bytes().len()));
                    }
                });
                statistics.count(&named);
            }
        } else {
            self.resolver.open_for(addresses);
            opened = start.elapsed();
            for &address in addresses {
                let found = self.resolver.frames_return(address);
                statistics.count(&found);
                if let Ok(found) = found {
                    for frame in found.frames().flatten() {
                        black_box(frame.function().map(|name| name.len()));
                    }
                }
            }
        }
        let (took, heap) = (start.elapsed(), allocated_here() - before);
        eprintln!(
            "{}: {} stacks, {} addresses, {statistics}; named in {took:.0?} (opening indexes {opened:.0?}), \
             {heap} bytes of heap; {} samples dropped",
            if self.rival { "backtrace" } else { "symidx" },
            stacks.len(),
            addresses.len(),
            PROFILER.dropped(),
        );
    }

    /// The stacks as a profile, without names.
    fn profile(&self, stacks: &[Sampled]) -> Profile {
        let mut writer = Writer::new([
            ("alloc_objects", "count"),
            ("alloc_space", "bytes"),
            ("inuse_objects", "count"),
            ("inuse_space", "bytes"),
        ]);
        let nanoseconds = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let since = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        writer.taken(nanoseconds(since), nanoseconds(self.started.elapsed().unwrap_or_default()));
        writer.period("space", "bytes", i64::try_from(PROFILER.rate()).unwrap_or(i64::MAX));
        writer.modules(self.resolver.modules());
        for stack in stacks {
            let sums = &stack.sums;
            let values =
                [sums.allocated_objects, sums.allocated_bytes, sums.live_objects, sums.live_bytes];
            // Sums of weights that were added and taken away again.
            writer.sample(
                &stack.addresses,
                Leaf::Return,
                values.map(|v| v.round().max(0.0) as i64),
            );
        }
        writer.finish()
    }
}

/// The same profile, named by `backtrace`.
fn rival(profile: &mut Profile) {
    for at in 0..profile.locations.len() {
        let Some(address) = profile.locations.get(at).map(|location| location.address) else {
            continue;
        };
        let mut lines = Vec::new();
        // A location states the byte before its return address.
        backtrace::resolve(pointer(address + 1), |symbol| {
            let name = symbol
                .name()
                .map(|name| (name.to_string(), name.as_str().unwrap_or("").to_owned()));
            let Some((name, system_name)) = name else { return };
            let file = symbol.filename().map(|file| file.display().to_string());
            let id = u64::try_from(profile.functions.len() + 1).unwrap_or(u64::MAX);
            profile.functions.push(Function {
                id,
                name: profile.strings.intern(&name),
                system_name: profile.strings.intern(&system_name),
                filename: profile.strings.intern(file.as_deref().unwrap_or("")),
                ..Function::default()
            });
            let line = symbol.lineno().map_or(0, i64::from);
            lines.push(Line { function_id: id, line, ..Line::default() });
        });
        if let Some(location) = profile.locations.get_mut(at) {
            location.line = lines;
        }
    }
}

fn pointer(address: u64) -> *mut std::ffi::c_void {
    std::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
}
