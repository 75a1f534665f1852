//! A recording as a pprof profile: stacks added up, with functions, files and lines.
//!
//! In: samples and their names. Out: a [`Profile`]. Each file has a stretch of addresses of
//! its own, as the same code lies elsewhere in each process; an address in it is the file
//! offset. Holds every distinct stack and address.

use std::collections::HashMap;

use symidx::{Frames, Index};
use symidx_perf::{Answer, DsoId, DsoKind, Located, Names, Place, Session, Spelling};
use symidx_pprof::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};

/// Bytes of address space for each file.
const STRETCH: u64 = 1 << 36;

/// A profile in the making.
pub(super) struct Collector {
    profile: Profile,
    spelling: Spelling,
    mappings: HashMap<(DsoId, i32), u64>,
    locations: HashMap<Key, u64>,
    functions: HashMap<(i64, i64, i64), u64>,
    stacks: HashMap<(i64, Box<[u64]>), [i64; 2]>,
    inline: bool,
}

/// What makes an address another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    In(DsoId, i32, u64),
    Nowhere(u64),
}

fn id(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX).saturating_add(1)
}

/// True where source lines are known: then inlined functions are too.
fn knows_lines(frames: &Frames<'_>) -> bool {
    frames.clone().flatten().next().is_some_and(|frame| frame.file().is_some())
}

impl Collector {
    pub(super) fn new(demangle: bool, inline: bool) -> Self {
        Self {
            profile: Profile::default(),
            spelling: Spelling::new(demangle),
            mappings: HashMap::new(),
            locations: HashMap::new(),
            functions: HashMap::new(),
            stacks: HashMap::new(),
            inline,
        }
    }

    /// Adds a sample.
    pub(super) fn add(
        &mut self,
        located: &Located<'_>,
        names: &mut Names,
        session: &Session,
        most: usize,
    ) {
        let comm = located.comm().map_or(0, |comm| self.text(comm));
        let frames: Vec<_> = located.frames(most).collect();
        let stack =
            frames.into_iter().map(|(ip, place)| self.location(ip, place, located, names, session));
        let stack: Box<[u64]> = stack.collect();
        let values = self.stacks.entry((comm, stack)).or_default();
        let period = i64::try_from(located.sample.period).unwrap_or(i64::MAX);
        for (value, more) in values.iter_mut().zip([1, period]) {
            *value = value.saturating_add(more);
        }
    }

    fn text(&mut self, bytes: &[u8]) -> i64 {
        self.profile.strings.intern(&String::from_utf8_lossy(bytes))
    }

    fn location(
        &mut self,
        ip: u64,
        place: Option<Place>,
        located: &Located<'_>,
        names: &mut Names,
        session: &Session,
    ) -> u64 {
        let key = match place {
            Some(place) => {
                let pid = if place.dso == DsoId::JIT { place.pid } else { 0 };
                Key::In(place.dso, pid, place.address)
            }
            None => Key::Nowhere(ip),
        };
        if let Some(&known) = self.locations.get(&key) {
            return known;
        }
        let mut location =
            Location { id: id(self.profile.locations.len()), address: ip, ..Location::default() };
        if let (Some(place), Key::In(dso, pid, address)) = (place, key)
            && let Some(found) = located.dso(dso)
        {
            let number = self.mapping(dso, pid, found);
            location.mapping_id = number;
            let own = matches!(found.kind, DsoKind::File | DsoKind::Vdso);
            if own {
                location.address = number.saturating_mul(STRETCH).saturating_add(address);
            }
            match names.find(place, found, session) {
                Answer::Symbol(symbol, index, svma, versions) => {
                    let mut name = Vec::new();
                    self.spelling.symbol(&symbol, index, versions, &mut name);
                    let system = symbol.name().to_bytes();
                    let system = &*system;
                    location.is_folded = symbol.is_folded();
                    let frames = index.frames(svma).ok();
                    if !frames.as_ref().is_some_and(knows_lines) {
                        self.without_inlines(number);
                    }
                    location.line = match frames {
                        Some(frames) => self.lines(frames, index, &name, system),
                        None => vec![self.line(&name, system, &[], 0, 0)],
                    };
                }
                Answer::Whole(_) => {
                    let line = self.line(&found.name, &found.name, &[], 0, 0);
                    location.line = vec![line];
                }
                Answer::Unknown(_) => self.unnamed(number),
            }
        }
        let number = location.id;
        self.profile.locations.push(location);
        self.locations.insert(key, number);
        number
    }

    /// The lines of a location, innermost first; the last one is the symbol's.
    fn lines(
        &mut self,
        frames: Frames<'_>,
        index: &Index<'_>,
        name: &[u8],
        system: &[u8],
    ) -> Vec<Line> {
        let mut lines = Vec::new();
        for frame in frames.flatten() {
            if frame.is_inlined() && !self.inline {
                continue;
            }
            let file = frame.file().map(|file| file.to_string()).unwrap_or_default();
            let (line, column) = (frame.line().unwrap_or(0), frame.column().unwrap_or(0));
            match frame.function().filter(|_| frame.is_inlined()) {
                Some(function) => {
                    let mut shown = Vec::new();
                    self.spelling.name(function, index, &mut shown);
                    let system = function.to_bytes();
                    lines.push(self.line(&shown, &system, file.as_bytes(), line, column));
                }
                None => lines.push(self.line(name, system, file.as_bytes(), line, column)),
            }
        }
        if lines.is_empty() {
            lines.push(self.line(name, system, &[], 0, 0));
        }
        lines
    }

    fn line(&mut self, name: &[u8], system: &[u8], file: &[u8], line: u32, column: u32) -> Line {
        let key = (self.text(name), self.text(system), self.text(file));
        let next = id(self.profile.functions.len());
        let function_id = *self.functions.entry(key).or_insert(next);
        if function_id == next {
            let (name, system_name, filename) = key;
            self.profile.functions.push(Function {
                id: next,
                name,
                system_name,
                filename,
                start_line: 0,
            });
        }
        Line { function_id, line: line.into(), column: column.into() }
    }

    fn mapping(&mut self, dso: DsoId, pid: i32, found: &symidx_perf::Dso) -> u64 {
        if let Some(&known) = self.mappings.get(&(dso, pid)) {
            return known;
        }
        let number = id(self.profile.mappings.len());
        let name = match dso == DsoId::JIT {
            true => self.text(format!("/tmp/perf-{pid}.map").as_bytes()),
            false => self.text(&found.name),
        };
        let build_id = found.build_id.map_or(0, |id| self.text(id.to_string().as_bytes()));
        let own = matches!(found.kind, DsoKind::File | DsoKind::Vdso);
        let start = if own { number.saturating_mul(STRETCH) } else { 0 };
        self.profile.mappings.push(Mapping {
            id: number,
            memory_start: start,
            memory_limit: if own { start.saturating_add(STRETCH) } else { u64::MAX },
            filename: name,
            build_id,
            has_functions: true,
            has_inline_frames: self.inline,
            ..Mapping::default()
        });
        self.mappings.insert((dso, pid), number);
        number
    }

    /// A location of a mapping has no name: so pprof may look for one.
    fn unnamed(&mut self, mapping: u64) {
        let mut all = self.profile.mappings.iter_mut();
        if let Some(mapping) = all.find(|found| found.id == mapping) {
            (mapping.has_functions, mapping.has_inline_frames) = (false, false);
        }
    }

    /// Of a location of a mapping it is not known what was inlined: so pprof may look.
    fn without_inlines(&mut self, mapping: u64) {
        let mut all = self.profile.mappings.iter_mut();
        if let Some(mapping) = all.find(|found| found.id == mapping) {
            mapping.has_inline_frames = false;
        }
    }

    /// The profile, its samples in an order that does not change from run to run.
    pub(super) fn finish(mut self, session: &Session) -> Profile {
        let event =
            session.reader().header().events.first().map_or("events", |event| event.name.as_str());
        let unit = if event.contains("clock") { "nanoseconds" } else { "count" };
        for (name, unit) in [("samples", "count"), (event, unit)] {
            let (r#type, unit) =
                (self.profile.strings.intern(name), self.profile.strings.intern(unit));
            self.profile.sample_types.push(ValueType { r#type, unit });
        }
        let key = self.profile.strings.intern("comm");
        let mut stacks: Vec<_> = self.stacks.into_iter().collect();
        stacks.sort_unstable();
        for ((comm, stack), values) in stacks {
            let label = Label { key, str: comm, ..Label::default() };
            self.profile.samples.push(Sample {
                location_id: stack.into_vec(),
                value: values.to_vec(),
                label: if comm == 0 { Vec::new() } else { vec![label] },
            });
        }
        self.profile
    }
}
