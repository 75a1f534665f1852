//! Profiles of a running process: its modules and a resolver in, a symbolized profile out.
//!
//! Opens no index: what the resolver has not open stays without names, and is counted.

use std::collections::HashMap;
use std::io::{self, Write};

use symidx::process::{ModuleKind, Modules, Resolver, Statistics};

use crate::answer::Answer;
use crate::flags::{Touched, set_flags};
use crate::functions::Functions;
use crate::profile::Profile;
use crate::report::Unknown;
use crate::space::lookup_address;
use crate::symbolize::Symbolizer;
use crate::writer::{Leaf, Module, Writer};

impl<const N: usize> Writer<N> {
    /// Adds every part of a file that is mapped as code: see [`Writer::module`].
    ///
    /// ```
    /// use symidx::process::Modules;
    ///
    /// let mut writer = symidx_pprof::Writer::new([("samples", "count")]);
    /// writer.modules(&Modules::capture()); // all of this process, the main program first
    /// let profile = writer.finish();
    /// let program = std::env::current_exe()?;
    /// assert_eq!(profile.text(profile.mappings[0].filename), program.to_str().unwrap());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn modules(&mut self, modules: &Modules) -> &mut Self {
        // The main program is the first module, wherever it lies.
        let mut spans: Vec<_> = modules.spans().filter(|span| span.is_executable()).collect();
        spans.sort_by_key(symidx::process::Located::number);
        for located in spans {
            let module = located.module();
            if module.kind() == ModuleKind::Anonymous {
                continue;
            }
            let span = located.span();
            self.module(&Module {
                start: span.start,
                limit: span.end,
                file_offset: located.file_offset().map_or(0, |offset| offset.0),
                filename: &module.path().to_string_lossy(),
                build_id: module.id().map_or(&[], |id| id.as_bytes()),
            });
        }
        self
    }
}

impl Symbolizer<'_> {
    /// Symbolizes a profile of the process that the resolver is for, from the
    /// indexes that it has open. Addresses are those that the locations state.
    ///
    /// ```
    /// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    /// use std::sync::Arc;
    /// use symidx::process::{Modules, Resolver, Store};
    /// use symidx_pprof::Symbolizer;
    ///
    /// // No index is open: nothing is named, and the reason is counted.
    /// let resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
    /// let statistics = Symbolizer::new().resolve(&mut profile, &resolver);
    /// assert_eq!((statistics.addresses(), statistics.resolved()), (2, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resolve(&mut self, profile: &mut Profile, resolver: &Resolver) -> Statistics {
        let mut functions = Functions::new(profile);
        let mut statistics = Statistics::default();
        let positions = profile.mappings.iter().enumerate();
        let positions: HashMap<u64, usize> = positions.map(|(at, m)| (m.id, at)).collect();
        let blank = Touched { inlined: true, ..Touched::default() };
        let mut touched = vec![blank; profile.mappings.len()];
        for at in 0..profile.locations.len() {
            let Some(location) = profile.locations.get(at) else { continue };
            let position = positions.get(&location.mapping_id);
            let mut no_mapping = blank;
            let touched = position.and_then(|at| touched.get_mut(*at)).unwrap_or(&mut no_mapping);
            let named = functions.is_named(location);
            touched.kept |= named;
            if !self.wants(named) {
                continue;
            }
            let done = resolver.frames(lookup_address(location)).and_then(|found| {
                let answer = Answer::of(found.frames(), || Unknown::Gap);
                let known = self.fill(profile, &mut functions, at, found.index(), &answer);
                known.map_err(|_| symidx::process::Unknown::Gap)
            });
            statistics.count(&done);
            if let Ok(known) = done {
                touched.symbolized = true;
                touched.inlined &= known;
            }
        }
        set_flags(profile, &touched);
        statistics
    }
}

/// Writes a symbolized profile of the resolver's process: for each sample the
/// addresses of its stack, leaf first, and its values. Returns how many addresses got
/// names, and why the others did not.
///
/// Allocates as [`Writer`] says; the lookups themselves allocate nothing.
///
/// # Errors
/// The writer's.
///
/// ```
/// use std::sync::Arc;
/// use symidx::process::{Modules, Resolver, Store};
/// use symidx_pprof::{Leaf, write_profile};
///
/// // What an allocator hook recorded: stacks, objects, bytes.
/// let here = std::process::exit as *const () as usize as u64;
/// let stacks = [(vec![here + 1], [3, 4096]), (vec![here + 1, here + 9], [1, 64])];
///
/// let mut resolver = Resolver::new(Modules::capture(), Arc::new(Store::read()));
/// for (addresses, _) in &stacks {
///     resolver.open_for(addresses);
/// }
/// let types = [("inuse_objects", "count"), ("inuse_space", "bytes")];
/// let mut response = Vec::new();
/// let statistics = write_profile(&resolver, types, Leaf::Return, stacks, &mut response)?;
/// assert_eq!(statistics.addresses(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_profile<const N: usize, A: AsRef<[u64]>, W: Write, S>(
    resolver: &Resolver,
    sample_types: [(&str, &str); N],
    leaf: Leaf,
    samples: S,
    out: W,
) -> io::Result<Statistics>
where
    S: IntoIterator<Item = (A, [i64; N])>,
{
    let mut writer = Writer::new(sample_types);
    writer.modules(resolver.modules());
    for (addresses, values) in samples {
        writer.sample(addresses.as_ref(), leaf, values);
    }
    let mut profile = writer.finish();
    let statistics = Symbolizer::new().resolve(&mut profile, resolver);
    profile.write(out)?;
    Ok(statistics)
}
