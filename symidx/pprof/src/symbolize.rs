//! Symbolizing: a profile and indexes in, the same profile with functions, lines and inlined frames out.
//!
//! Each index is opened once, asked, and let go. What has no answer stays as it
//! is, and the report says why.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};

use symidx::Index;

use crate::answer::{Answer, ask};
use crate::finder::Finder;
use crate::flags::{Touched, set_flags};
use crate::functions::{Functions, NameHook, Naming};
use crate::profile::Profile;
use crate::proto::{Line, Mapping};
use crate::report::{MappingReport, Report, Unknown};
use crate::space::{MappingInfo, Space, lookup_address};

/// Fills in the functions and lines of profiles.
///
/// ```
/// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/lines.symidx")))?;
/// use symidx_pprof::{MappingInfo, Symbolizer};
///
/// let report = Symbolizer::new().run(&mut profile, |mapping: &MappingInfo<'_>| {
///     match mapping.build_id_bytes() {
///         Some(id) if index.build_id() != Some(&id) => Err("index of another build".to_owned()),
///         _ => Ok(&index), // of `mapping.filename`
///     }
/// });
/// println!("{} of {} locations", report.symbolized(), report.locations());
/// let folded = profile.folded(0, |_| false);
/// assert_eq!(folded.keys().next().unwrap(), "_start;outer;middle;leaf");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Symbolizer<'n> {
    force: bool,
    inlines: bool,
    naming: Naming<'n>,
}

impl Default for Symbolizer<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Symbolizer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbolizer")
            .field("force", &self.force)
            .field("inlines", &self.inlines)
            .finish_non_exhaustive()
    }
}

impl<'n> Symbolizer<'n> {
    /// One that keeps what is there, adds inlined functions, and writes names
    /// as people read them: as the index stores them, else Rust names demangled.
    ///
    /// ```
    /// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/lines.symidx")))?;
    /// let mut symbolizer = symidx_pprof::Symbolizer::new(); // for one profile or for many
    /// symbolizer.run(&mut profile, |_| Ok(&index));
    /// // Names of Rust and C++ as people read them, inlined functions as frames.
    /// assert_eq!(profile.functions.len(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self { force: false, inlines: true, naming: Naming::Short(None) }
    }

    /// Locations that have names are asked for too, and get the new ones where there are any.
    ///
    /// ```
    /// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/named.rs"));
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/lines.symidx")))?;
    /// // The profile was symbolized with poorer names; now there is debug information.
    /// let report = symidx_pprof::Symbolizer::new().force(true).run(&mut profile, |_| Ok(&index));
    /// assert_eq!((report.kept(), report.symbolized()), (0, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn force(self, force: bool) -> Self {
        Self { force, ..self }
    }

    /// With inlined functions, or with just the function that they are in.
    ///
    /// ```
    /// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/lines.symidx")))?;
    /// // For tools that know no inlined functions.
    /// symidx_pprof::Symbolizer::new().inlines(false).run(&mut profile, |_| Ok(&index));
    /// assert_eq!(profile.folded(0, |_| false).keys().next().unwrap(), "_start;outer");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn inlines(self, inlines: bool) -> Self {
        Self { inlines, ..self }
    }

    /// Linkage names.
    ///
    /// ```
    /// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/display.symidx")))?;
    /// // To be compared with what linkers and `nm` print.
    /// profile.mappings[0].file_offset = 0xf0; // where main lies in this file
    /// profile.locations[0].address = 0x5555_0000_0010;
    /// symidx_pprof::Symbolizer::new().no_demangle().run(&mut profile, |_| Ok(&index));
    /// assert_eq!(profile.text(profile.functions[0].name), "_ZN5space6Longer5Names6methodEi");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn no_demangle(self) -> Self {
        Self { naming: Naming::Linkage, ..self }
    }

    /// Names that no index stores for people are made by `demangle`; `None` =
    /// as they are.
    ///
    /// ```
    /// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/lines.symidx")))?;
    /// // A demangler of C++, say; the names here are C's.
    /// let demangle = |name: &[u8]| Some(String::from_utf8_lossy(name).to_uppercase());
    /// symidx_pprof::Symbolizer::new().demangle_with(demangle).run(&mut profile, |_| Ok(&index));
    /// assert_eq!(profile.folded(0, |_| false).keys().next().unwrap(), "_START;OUTER;MIDDLE;LEAF");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn demangle_with(self, demangle: impl FnMut(&[u8]) -> Option<String> + 'n) -> Self {
        let hook: NameHook<'n> = Box::new(demangle);
        Self { naming: Naming::Short(Some(hook)), ..self }
    }

    /// Symbolizes a profile. `open` gives the index of a mapping's file, which
    /// must be of the same build, or says why there is none; it is asked once for
    /// each file and build-id that locations need.
    ///
    /// ```
    /// # let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/lines.symidx")))?;
    /// let mut asked = 0;
    /// let report = symidx_pprof::Symbolizer::new().run(&mut profile, |_| {
    ///     asked += 1;
    ///     Ok(&index) // or why there is none, for the report
    /// });
    /// assert_eq!((asked, report.symbolized()), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<I: Borrow<Index<'static>>>(
        &mut self,
        profile: &mut Profile,
        mut open: impl FnMut(&MappingInfo<'_>) -> Result<I, String>,
    ) -> Report {
        let mut run = Run {
            functions: Functions::new(profile),
            inlined: vec![true; profile.mappings.len()],
            reports: (0..=profile.mappings.len()).map(|_| MappingReport::default()).collect(),
            symbolizer: self,
            profile,
        };
        let wanted = run.sort_locations();
        for group in wanted {
            run.group(&group, &mut open);
        }
        let touched: Vec<_> = (run.reports.iter().zip(&run.inlined))
            .map(|(report, &inlined)| Touched {
                symbolized: report.symbolized > 0,
                kept: report.kept > 0,
                inlined,
            })
            .collect();
        set_flags(run.profile, &touched);
        run.report()
    }
}

impl Symbolizer<'_> {
    pub(crate) fn wants(&self, named: bool) -> bool {
        self.force || !named
    }

    /// Fills in a location; returns whether inlined functions were known of. Where
    /// only a source line is known, names that the location has are worth more.
    pub(crate) fn fill(
        &mut self,
        profile: &mut Profile,
        functions: &mut Functions,
        at: usize,
        index: &Index<'_>,
        answer: &Answer<'_>,
    ) -> Result<bool, Unknown> {
        let named = profile.locations.get(at).is_some_and(|found| functions.is_named(found));
        if answer.parts.is_empty() || (named && answer.nameless.is_some()) {
            return answer.nameless.map_or(Ok(false), Err);
        }
        // The function that the code is in, where only that is wanted.
        let skip = if self.inlines { 0 } else { answer.parts.len().saturating_sub(1) };
        let parts = answer.parts.iter().skip(skip);
        let lines = parts.map(|part| functions.line(profile, index, part, &mut self.naming));
        let lines: Vec<Line> = lines.collect();
        if let Some(location) = profile.locations.get_mut(at) {
            location.line = lines;
            location.is_folded = answer.folded;
        }
        let known = answer.parts.first().is_some_and(|part| part.file.is_some());
        answer.nameless.map_or(Ok(self.inlines && known), Err)
    }
}

/// Locations of mappings of one file: by mapping, their positions.
type Group = BTreeMap<usize, Vec<usize>>;

struct Run<'r, 'n> {
    symbolizer: &'r mut Symbolizer<'n>,
    profile: &'r mut Profile,
    functions: Functions,
    /// By mapping: inlined functions were known of at every location asked for.
    inlined: Vec<bool>,
    /// By mapping; the last one is for locations without a mapping.
    reports: Vec<MappingReport>,
}

impl Run<'_, '_> {
    /// Finds each location's mapping; groups those to be asked for by file and build-id.
    fn sort_locations(&mut self) -> Vec<Group> {
        let finder = Finder::new(&self.profile.mappings);
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of: HashMap<(i64, i64), usize> = HashMap::new();
        for at in 0..self.profile.locations.len() {
            let Some(location) = self.profile.locations.get_mut(at) else { continue };
            let address = lookup_address(location);
            let named = self.functions.is_named(location);
            let found = match location.mapping_id {
                0 => finder.holding(address),
                id => finder.by_id(id).ok_or(Unknown::NoMapping),
            };
            let position = found.unwrap_or(self.profile.mappings.len());
            let mapping = found.ok().and_then(|found| self.profile.mappings.get(found));
            if let Some(mapping) = mapping {
                location.mapping_id = mapping.id;
            }
            let Some(report) = self.reports.get_mut(position) else { continue };
            report.locations = report.locations.saturating_add(1);
            if !self.symbolizer.wants(named) {
                report.kept = report.kept.saturating_add(1);
                continue;
            }
            let wanted = match mapping {
                _ if address == 0 => Err(Unknown::NoAddress),
                Some(mapping) if !info(self.profile, mapping).holds(address) => {
                    Err(Unknown::OutsideMapping)
                }
                Some(mapping) => Ok((mapping.filename, mapping.build_id)),
                None => Err(found.err().unwrap_or(Unknown::NoMapping)),
            };
            match wanted {
                Ok(file) => {
                    let group = *group_of.entry(file).or_insert(groups.len());
                    if group == groups.len() {
                        groups.push(Group::new());
                    }
                    if let Some(group) = groups.get_mut(group) {
                        group.entry(position).or_default().push(at);
                    }
                }
                Err(unknown) => missed(report, named, unknown),
            }
        }
        groups
    }

    /// Opens the index of a group and asks it for every location.
    fn group<I: Borrow<Index<'static>>>(
        &mut self,
        group: &Group,
        open: &mut impl FnMut(&MappingInfo<'_>) -> Result<I, String>,
    ) {
        let mut opened = None;
        for (&position, locations) in group {
            let Some(mapping) = self.profile.mappings.get(position).copied() else { continue };
            let found = info(self.profile, &mapping);
            let index = opened.get_or_insert_with(|| open(&found)).as_ref();
            let space = match index {
                Ok(index) => match Space::of(&found, index.borrow()) {
                    Ok(Some(space)) => Ok(space),
                    Ok(None) => Err(Unknown::NotPlaced),
                    Err(_) => Err(Unknown::Corrupt),
                },
                Err(_) => Err(Unknown::NoIndex),
            };
            if let (Some(report), Err(error)) = (self.reports.get_mut(position), index) {
                report.error = Some(error.clone());
            }
            for &at in locations {
                let Some(location) = self.profile.locations.get(at) else { continue };
                let (address, named) =
                    (lookup_address(location), self.functions.is_named(location));
                let done = match (index, space) {
                    (Ok(index), Ok(space)) => self.location(at, address, index.borrow(), space),
                    (_, Err(unknown)) => Err(unknown),
                    (Err(_), Ok(_)) => Err(Unknown::NoIndex),
                };
                self.count(position, named, done);
            }
        }
    }

    fn count(&mut self, position: usize, named: bool, done: Result<bool, Unknown>) {
        let Some(report) = self.reports.get_mut(position) else { return };
        match done {
            Ok(known) => {
                report.symbolized = report.symbolized.saturating_add(1);
                if let Some(inlined) = self.inlined.get_mut(position) {
                    *inlined &= known;
                }
            }
            Err(unknown) => missed(report, named, unknown),
        }
    }

    /// Fills in one location; returns whether inlined functions were known of.
    fn location(
        &mut self,
        at: usize,
        address: u64,
        index: &Index<'static>,
        space: Space,
    ) -> Result<bool, Unknown> {
        let place = space.place(index, address).ok_or(Unknown::NoSegment)?;
        let answer = ask(index, place)?;
        self.symbolizer.fill(self.profile, &mut self.functions, at, index, &answer)
    }

    fn report(self) -> Report {
        let mut mappings = self.reports;
        for (mapping, report) in self.profile.mappings.iter().zip(&mut mappings) {
            report.mapping = Some(mapping.id);
            report.filename = self.profile.text(mapping.filename).to_owned();
            report.build_id = self.profile.text(mapping.build_id).to_owned();
        }
        mappings.retain(|report| report.locations > 0);
        Report { mappings }
    }
}

/// A location that was asked for in vain keeps the names that it has.
fn missed(report: &mut MappingReport, named: bool, unknown: Unknown) {
    let count = match named {
        true => &mut report.kept,
        false => report.unknown.entry(unknown).or_insert(0),
    };
    *count = count.saturating_add(1);
}

fn info<'p>(profile: &'p Profile, mapping: &Mapping) -> MappingInfo<'p> {
    let file = |mapping: &Mapping| (mapping.filename, mapping.build_id);
    MappingInfo {
        memory_start: mapping.memory_start,
        memory_limit: mapping.memory_limit,
        file_offset: mapping.file_offset,
        filename: profile.text(mapping.filename),
        build_id: profile.text(mapping.build_id),
        is_main: profile.mappings.first().map(file) == Some(file(mapping)),
    }
}

#[cfg(test)]
#[path = "symbolize_tests.rs"]
mod tests;
