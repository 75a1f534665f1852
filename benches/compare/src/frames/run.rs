//! In: the options. Out: the table of one binary's frames, on stdout.
//! Order: build in children, open and compare answers, time in interleaved rounds, count the heap.
//! Never: times a contender that failed to open.

use std::path::Path;
use std::time::Instant;

use super::{Rival, Session};
use crate::contenders::{Artifact, Nanos};
use crate::field::{file_name, float};
use crate::spawn::{self, Build};
use crate::table::{Cell, Table, Unit};
use crate::truth::Truth;
use crate::{Options, Result, alloc, lists, mapped};

const SEED: u64 = 0x5e_ed;

struct Entry {
    rival: Box<dyn Rival>,
    artifact: std::path::PathBuf,
    /// By number of threads.
    builds: Vec<(usize, Vec<Build>)>,
}

/// The contenders of one binary, built.
pub struct Built<'a> {
    binary: &'a Path,
    entries: Vec<Entry>,
    notes: Vec<String>,
}

/// Builds every contender's file in `dir`. To be called for all binaries before any is measured: a child's peak
/// memory counts from its parent's, which is small only then.
pub fn prepare<'a>(options: &Options, binary: &'a Path, dir: &Path) -> Result<Built<'a>> {
    std::fs::create_dir_all(dir)?;
    let mut file =
        std::fs::File::open(binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    // Warm: otherwise the first to build pays for the disk.
    std::io::copy(&mut file, &mut std::io::sink())?;
    let mut notes = Vec::new();
    let wanted =
        |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    let mut entries: Vec<_> = super::all()
        .into_iter()
        .filter(|rival| wanted(rival.name()))
        .map(|rival| Entry::new(rival, binary, dir))
        .collect();
    for _ in 0..options.builds {
        entries.retain_mut(|entry| match entry.build(binary) {
            Ok(()) => true,
            Err(error) => {
                let name = entry.rival.name();
                eprintln!("{}: SKIPPED {name}: {error}", file_name(binary));
                notes.push(format!("SKIPPED {name}: {error}"));
                false
            }
        });
    }
    Ok(Built { binary, entries, notes })
}

/// One table.
pub fn run(options: &Options, built: Built<'_>) -> Result<Table> {
    let Built { binary, mut entries, mut notes } = built;
    let map = mapped::map(binary)?;
    let truth = Truth::parse(&map).map_err(|error| format!("{}: {error}", binary.display()))?;
    let lists = lists::draw(&truth, options.addresses, SEED)?;
    let (mut sessions, mut silent) = (Vec::new(), Vec::new());
    silent.extend(entries.extract_if(.., |entry| !entry.rival.answers()));
    entries.retain(|entry| match entry.rival.session(&entry.artifact, truth.base()) {
        Ok(session) => {
            sessions.push(session);
            true
        }
        Err(error) => {
            notes.push(format!("SKIPPED {}: {error}", entry.rival.name()));
            false
        }
    });
    let columns = entries.iter().chain(&silent).map(|entry| entry.rival.name()).collect();
    let own = |entry: &&Entry| {
        entry.rival.artifact() == Artifact::Own && entry.rival.name() != "symidx-names"
    };
    let mapped = entries.iter().filter(own).map(|entry| entry.rival.name()).collect();
    let title = format!(
        "{}: {} bytes; {} addresses in functions, {} rounds",
        file_name(binary),
        map.len(),
        options.addresses,
        options.rounds
    );
    let mut table = Table::new(title, columns, mapped);
    table.notes = notes;
    differences(&entries, &mut sessions, &lists.hits, &mut table);
    times(options, &entries, &mut sessions, &lists.hits, &lists.misses, &mut table);
    heap(&entries, &mut sessions, &lists.hits, &mut table);
    entries.append(&mut silent);
    costs(&entries, &mut table)?;
    Ok(table)
}

impl Entry {
    fn new(rival: Box<dyn Rival>, binary: &Path, dir: &Path) -> Self {
        let artifact = match rival.artifact() {
            Artifact::Own => dir.join(rival.name()),
            Artifact::Of(other) => dir.join(other),
            Artifact::Binary => binary.to_path_buf(),
        };
        let builds = match (rival.artifact(), rival.threads()) {
            (Artifact::Own, true) => vec![(1, Vec::new()), (2, Vec::new())],
            (Artifact::Own, false) => vec![(1, Vec::new())],
            _ => Vec::new(),
        };
        Self { rival, artifact, builds }
    }

    /// One more build for each number of threads.
    fn build(&mut self, binary: &Path) -> Result<()> {
        for (threads, builds) in &mut self.builds {
            let name = self.rival.name();
            builds.push(spawn::build_frames(name, binary, &self.artifact, *threads)?);
        }
        Ok(())
    }
}

/// How the frames of each differ from symidx's, which is the first.
fn differences(
    entries: &[Entry],
    sessions: &mut [Box<dyn Session>],
    addrs: &[u64],
    table: &mut Table,
) {
    let sample: Vec<u64> = addrs.iter().copied().take(5000).collect();
    let mut answers = Vec::new();
    for session in sessions.iter_mut() {
        let all: Vec<_> = sample.iter().map(|&addr| session.answer(addr)).collect();
        answers.push(all);
    }
    let Some((first, rest)) = answers.split_first() else { return };
    let frames = first.iter().map(Vec::len).sum::<usize>();
    table.notes.push(format!(
        "{frames} frames at {} addresses by {}",
        sample.len(),
        table.columns.first().copied().unwrap_or_default()
    ));
    for (entry, answers) in entries.iter().skip(1).zip(rest) {
        let pairs = || first.iter().zip(answers).zip(&sample);
        let depth = pairs().filter(|((own, other), _)| own.len() != other.len()).count();
        let place = pairs()
            .filter(|((own, other), _)| {
                own.first().map(|frame| (&frame.1, frame.2))
                    != other.first().map(|frame| (&frame.1, frame.2))
            })
            .count();
        let name = entry.rival.name();
        table.set("frames: other depth", Unit::Count, name, Some(Cell::once(float(depth))));
        table.set(
            "frames: other innermost file:line",
            Unit::Count,
            name,
            Some(Cell::once(float(place))),
        );
    }
}

type Timed = fn(&mut dyn Session, &[u64]) -> Option<u64>;

fn times(
    options: &Options,
    entries: &[Entry],
    sessions: &mut [Box<dyn Session>],
    hits: &[u64],
    misses: &[u64],
    table: &mut Table,
) {
    let measures: [(&str, &[u64], Timed); 5] = [
        ("all frames", hits, |session, addrs| Some(session.frames(addrs))),
        ("all frames, chained", hits, |session, addrs| Some(session.frames_chained(addrs))),
        ("all frames, names and paths read", hits, |session, addrs| Some(session.paths(addrs))),
        ("miss", misses, |session, addrs| Some(session.frames(addrs))),
        ("the symbol alone", hits, |session, addrs| session.symbols(addrs)),
    ];
    for (label, addrs, timed) in measures {
        let mut samples = vec![Vec::new(); sessions.len()];
        for round in 0..=options.rounds {
            for (session, samples) in sessions.iter_mut().zip(&mut samples) {
                let begin = Instant::now();
                let some = std::hint::black_box(timed(&mut **session, addrs)).is_some();
                let spent = begin.elapsed().as_nanos_f64() / float(addrs.len());
                if round > 0 && some {
                    samples.push(spent);
                }
            }
        }
        for (entry, samples) in entries.iter().zip(&samples) {
            table.set(label, Unit::Nanos, entry.rival.name(), Cell::of(samples));
        }
    }
}

fn heap(entries: &[Entry], sessions: &mut [Box<dyn Session>], addrs: &[u64], table: &mut Table) {
    let asked = float(addrs.len());
    for (entry, session) in entries.iter().zip(sessions) {
        let name = entry.rival.name();
        let (_, plain) = alloc::count(|| std::hint::black_box(session.frames(addrs)));
        let (_, paths) = alloc::count(|| std::hint::black_box(session.paths(addrs)));
        for (label, traffic) in [("heap a lookup", plain), ("heap a lookup, paths read", paths)] {
            table.set(label, Unit::Bytes, name, Some(Cell::once(float(traffic.bytes) / asked)));
        }
    }
}

fn costs(entries: &[Entry], table: &mut Table) -> Result<()> {
    for entry in entries.iter().filter(|entry| entry.rival.artifact() == Artifact::Own) {
        let name = entry.rival.name();
        let size = float(std::fs::metadata(&entry.artifact)?.len());
        table.set("file size", Unit::Bytes, name, Some(Cell::once(size)));
        for (threads, builds) in &entry.builds {
            let of =
                |value: fn(&Build) -> f64| Cell::of(&builds.iter().map(value).collect::<Vec<_>>());
            let [time, rss, anon] = match threads {
                1 => [
                    "build, 1 thread",
                    "build, 1 thread: peak RSS",
                    "build, 1 thread: peak RssAnon",
                ],
                _ => [
                    "build, 2 threads",
                    "build, 2 threads: peak RSS",
                    "build, 2 threads: peak RssAnon",
                ],
            };
            table.set(time, Unit::Seconds, name, of(|build| build.seconds));
            table.set(rss, Unit::Bytes, name, of(|build| build.rss));
            table.set(
                anon,
                Unit::Bytes,
                name,
                of(|build| build.anon).filter(|cell| cell.median > 0.0),
            );
        }
    }
    Ok(())
}
