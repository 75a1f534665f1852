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

/// One table; the artifacts go to `dir`.
pub fn run(options: &Options, binary: &Path, dir: &Path) -> Result<Table> {
    std::fs::create_dir_all(dir)?;
    let mut file =
        std::fs::File::open(binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    // Warm: otherwise the first to build pays for the disk.
    std::io::copy(&mut file, &mut std::io::sink())?;
    let (mut entries, mut notes) = (Vec::new(), Vec::new());
    for rival in super::all() {
        let name = rival.name();
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        match build(options, rival, binary, dir) {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                eprintln!("{}: SKIPPED {name}: {error}", file_name(binary));
                notes.push(format!("SKIPPED {name}: {error}"));
            }
        }
    }
    let map = mapped::map(binary)?;
    let truth = Truth::parse(&map).map_err(|error| format!("{}: {error}", binary.display()))?;
    let lists = lists::draw(&truth, options.addresses, SEED)?;
    let mut sessions = Vec::new();
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
    let columns: Vec<_> = entries.iter().map(|entry| entry.rival.name()).collect();
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
    costs(&entries, &mut table)?;
    Ok(table)
}

fn build(options: &Options, rival: Box<dyn Rival>, binary: &Path, dir: &Path) -> Result<Entry> {
    let artifact = match rival.artifact() {
        Artifact::Own => dir.join(rival.name()),
        Artifact::Of(other) => dir.join(other),
        Artifact::Binary => binary.to_path_buf(),
    };
    let mut builds = Vec::new();
    if rival.artifact() == Artifact::Own {
        let threads: &[usize] = if rival.threads() { &[1, 2] } else { &[1] };
        for &threads in threads {
            let one = || spawn::build_frames(rival.name(), binary, &artifact, threads);
            let all: Result<Vec<_>> = (0..options.builds).map(|_| one()).collect();
            builds.push((threads, all?));
        }
    }
    Ok(Entry { rival, artifact, builds })
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
