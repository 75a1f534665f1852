//! A profile of this process: addresses and values in, a [`Profile`] out, ready to be symbolized and written.
//!
//! Never looks at memory, files or threads: modules and stacks are what the caller says they are.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::profile::Profile;
use crate::proto::{Location, Mapping, Sample, ValueType};

/// A file that is mapped, or a part of it.
///
/// ```
/// use symidx_pprof::{Module, Writer};
///
/// let module = Module {
///     start: 0x400000,
///     limit: 0x401000,
///     file_offset: 0x1000,
///     filename: "/bin/app",
///     build_id: &[0x8a, 0x32, 0xff], // so that `pprof` and `symidx` take no other file
/// };
/// let mut writer = Writer::new([("samples", "count")]);
/// writer.module(&module);
/// let profile = writer.finish();
/// assert_eq!(profile.text(profile.mappings[0].build_id), "8a32ff");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module<'m> {
    /// Address of the first byte.
    pub start: u64,
    /// Address after the last byte.
    pub limit: u64,
    /// Offset in the file of the first byte.
    pub file_offset: u64,
    /// Its path.
    pub filename: &'m str,
    /// Its build-id; empty where it has none.
    pub build_id: &'m [u8],
}

/// What the first address of a stack is.
///
/// ```
/// use symidx_pprof::{Leaf, Writer};
///
/// // An allocator hook sees its caller's return address first.
/// let mut writer = Writer::new([("space", "bytes")]);
/// writer.sample(&[0x400011], Leaf::Return, [64]);
/// assert_eq!(writer.finish().locations[0].address, 0x400010);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// The instruction that was interrupted, as in a signal handler.
    Instruction,
    /// A return address like all others, as in an allocator hook.
    Return,
}

/// Collects the samples of a profile.
///
///
/// It allocates, and grows, for each sample (two vectors: 8 bytes an address and
/// a value), each address that differs (a location and a table entry, some 120
/// bytes) and each module: so call it outside of allocator hooks and signal
/// handlers, with what they recorded. Symbolizing adds each function and each
/// text that differs, once; writing adds one buffer of 64 KiB and what the
/// compression takes.
///
/// ```
/// use symidx_pprof::{Leaf, Module, Writer};
///
/// let mut writer = Writer::new([("objects", "count"), ("space", "bytes")]);
/// // The main program first: what `dl_iterate_phdr` or /proc/self/maps tell.
/// writer.module(&Module {
///     start: 0x5500_0000_0000,
///     limit: 0x5500_0001_0000,
///     file_offset: 0x1000,
///     filename: "/usr/bin/service",
///     build_id: &[0x8a, 0x32, 0xff],
/// });
/// // Two stacks of an allocator hook, leaf first, and what they hold.
/// writer.sample(&[0x5500_0000_1010, 0x5500_0000_2020], Leaf::Return, [3, 4096]);
/// writer.sample(&[0x5500_0000_1030, 0x5500_0000_2020], Leaf::Return, [1, 64]);
/// let profile = writer.finish(); // for `Symbolizer::run`, then `Profile::write`
/// assert_eq!((profile.samples.len(), profile.locations.len()), (2, 3));
/// ```
#[derive(Clone, Debug)]
pub struct Writer<const N: usize> {
    profile: Profile,
    /// Ids of locations by address.
    locations: HashMap<u64, u64>,
    /// Start, limit and id of each module.
    modules: Vec<(u64, u64, u64)>,
}

impl<const N: usize> Writer<N> {
    /// A profile whose samples have these values: what is counted, and in which unit.
    ///
    /// ```
    /// use symidx_pprof::Writer;
    ///
    /// // As Go's heap profiles have them, so that tools know what to show.
    /// let writer = Writer::new([("inuse_objects", "count"), ("inuse_space", "bytes")]);
    /// let profile = writer.finish();
    /// assert_eq!(profile.sample_type(Some("inuse_space")), Some(1));
    /// ```
    #[must_use]
    pub fn new(sample_types: [(&str, &str); N]) -> Self {
        let mut profile = Profile::default();
        for (r#type, unit) in sample_types {
            let value = value_type(&mut profile, r#type, unit);
            profile.sample_types.push(value);
        }
        Self { profile, locations: HashMap::new(), modules: Vec::new() }
    }

    /// Says how often samples were taken: every `period` of what is named.
    ///
    /// ```
    /// let mut writer = symidx_pprof::Writer::new([("samples", "count")]);
    /// writer.period("cpu", "nanoseconds", 10_000_000); // 100 samples a second
    /// assert_eq!(writer.finish().period, 10_000_000);
    /// ```
    pub fn period(&mut self, r#type: &str, unit: &str, period: i64) -> &mut Self {
        self.profile.period_type = Some(value_type(&mut self.profile, r#type, unit));
        self.profile.period = period;
        self
    }

    /// Says when the profile was taken: nanoseconds since 1970, and how long.
    ///
    /// ```
    /// use std::time::{SystemTime, UNIX_EPOCH};
    ///
    /// let mut writer = symidx_pprof::Writer::new([("samples", "count")]);
    /// let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as i64;
    /// writer.taken(now, 5_000_000_000); // for 5 seconds
    /// assert_eq!(writer.finish().duration_nanos, 5_000_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn taken(&mut self, time_nanos: i64, duration_nanos: i64) -> &mut Self {
        self.profile.time_nanos = time_nanos;
        self.profile.duration_nanos = duration_nanos;
        self
    }

    /// Adds a module. The main program comes first, and all come before the
    /// samples; where two overlap, the later one holds the address.
    ///
    /// ```
    /// use symidx_pprof::{Module, Writer};
    ///
    /// let mut writer = Writer::new([("samples", "count")]);
    /// // A line of /proc/self/maps: 400000-401000 r-xp 00002000 08:01 42 /bin/app
    /// let (start, limit, file_offset) = (0x400000, 0x401000, 0x2000);
    /// writer.module(&Module { start, limit, file_offset, filename: "/bin/app", build_id: &[] });
    /// assert_eq!(writer.finish().mappings[0].file_offset, 0x2000);
    /// ```
    pub fn module(&mut self, module: &Module<'_>) -> &mut Self {
        let id = next_id(self.profile.mappings.len());
        let mut build_id = String::new();
        for byte in module.build_id {
            let _ = write!(build_id, "{byte:02x}");
        }
        self.profile.mappings.push(Mapping {
            id,
            memory_start: module.start,
            memory_limit: module.limit,
            file_offset: module.file_offset,
            filename: self.profile.strings.intern(module.filename),
            build_id: self.profile.strings.intern(&build_id),
            ..Mapping::default()
        });
        self.modules.push((module.start, module.limit, id));
        self
    }

    /// Adds a sample: the stack's addresses as they were recorded, the leaf
    /// first, and its values. Addresses that are 0 are left out.
    ///
    /// ```
    /// use symidx_pprof::{Leaf, Writer};
    ///
    /// let mut writer = Writer::new([("samples", "count")]);
    /// // From a signal handler: where it was interrupted, then return addresses.
    /// writer.sample(&[0x400010, 0x400123], Leaf::Instruction, [1]);
    /// let profile = writer.finish();
    /// assert_eq!(profile.locations[1].address, 0x400122); // inside the call, as pprof wants
    /// ```
    pub fn sample(&mut self, addresses: &[u64], leaf: Leaf, values: [i64; N]) -> &mut Self {
        let mut location_id = Vec::with_capacity(addresses.len());
        for (depth, &address) in addresses.iter().enumerate() {
            let stated = stated_address(address, depth, leaf);
            if stated != 0 {
                location_id.push(self.location(stated));
            }
        }
        self.profile.samples.push(Sample {
            location_id,
            value: values.to_vec(),
            label: Vec::new(),
        });
        self
    }

    fn location(&mut self, address: u64) -> u64 {
        if let Some(id) = self.locations.get(&address) {
            return *id;
        }
        let id = next_id(self.profile.locations.len());
        let mut modules = self.modules.iter().rev();
        let module = modules.find(|(start, limit, _)| (*start..*limit).contains(&address));
        let mapping_id = module.map_or(0, |(.., id)| *id);
        self.locations.insert(address, id);
        self.profile.locations.push(Location { id, mapping_id, address, ..Location::default() });
        id
    }

    /// The profile, not symbolized yet.
    ///
    /// ```
    /// let profile = symidx_pprof::Writer::new([("samples", "count")]).finish();
    /// assert_eq!(profile.text(profile.sample_types[0].unit), "count");
    /// ```
    #[must_use]
    pub fn finish(self) -> Profile {
        self.profile
    }
}

/// The address that a location states: inside the call for return addresses,
/// as `profile.proto` has it (see [`crate::lookup_address`]).
fn stated_address(address: u64, depth: usize, leaf: Leaf) -> u64 {
    match (depth, leaf) {
        (0, Leaf::Instruction) => address,
        _ => address.saturating_sub(1),
    }
}

fn value_type(profile: &mut Profile, r#type: &str, unit: &str) -> ValueType {
    ValueType { r#type: profile.strings.intern(r#type), unit: profile.strings.intern(unit) }
}

/// Ids are positions, from 1.
fn next_id(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn return_addresses_are_stated_inside_their_call() {
        let mut writer = Writer::new([("samples", "count")]);
        writer.sample(&[0x100, 0x200, 0], Leaf::Instruction, [1]);
        writer.sample(&[0x100, 0x200], Leaf::Return, [2]);
        let profile = writer.finish();
        let addresses: Vec<_> = profile.locations.iter().map(|l| (l.id, l.address)).collect();
        assert_eq!(addresses, [(1, 0x100), (2, 0x1ff), (3, 0xff)]);
        let stacks: Vec<_> = profile.samples.iter().map(|s| s.location_id.clone()).collect();
        assert_eq!(stacks, [[1, 2], [3, 2]]);
    }

    #[test]
    fn an_address_is_of_the_later_module() {
        let module = |start, limit, filename| Module {
            start,
            limit,
            file_offset: 0,
            filename,
            build_id: &[0xab, 0x01],
        };
        let mut writer = Writer::new([("samples", "count")]);
        writer.module(&module(0x1000, 0x3000, "main")).module(&module(0x2000, 0x2800, "lib.so"));
        writer.period("cpu", "nanoseconds", 10).taken(5, 6);
        writer.sample(&[0x1000, 0x2801, 0x2001, 0x3001, 0x2800], Leaf::Instruction, [1]);
        let profile = writer.finish();
        let mappings: Vec<_> = profile.locations.iter().map(|l| l.mapping_id).collect();
        assert_eq!(mappings, [1, 1, 2, 0, 2]);
        assert_eq!(profile.mappings.first().map(|m| profile.text(m.build_id)), Some("ab01"));
        assert_eq!((profile.period, profile.time_nanos, profile.duration_nanos), (10, 5, 6));
    }
}
