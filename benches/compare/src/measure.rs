//! In: the options. Out: one table a binary on stdout, and JSON.
//! Every timed measure runs in interleaved rounds, contender after contender, so that a slow moment hits all alike.
//! Never: times a contender whose answers were not checked on the same addresses.

use std::path::Path;
use std::time::Instant;

use crate::alloc;
use crate::check::check;
use crate::contenders::{self, Artifact, Nanos, Session};
use crate::field::{Field, MUST_BE_RIGHT, file_name, float, prepare};
use crate::lists::{self, Lists};
use crate::memory::{cold, rss, sizes};
use crate::table::{Cell, Table, Unit};
use crate::truth::Truth;
use crate::{Options, Result, mapped};

const SEED: u64 = 0x5e_ed;
/// Runs everything.
pub fn run(options: &Options) -> Result<()> {
    let work = options
        .work
        .join(format!("symidx-compare-{}", std::process::id()));
    std::fs::create_dir_all(&work)?;
    let outcome = run_in(options, &work);
    if options.keep {
        eprintln!("artifacts: {}", work.display());
    } else {
        std::fs::remove_dir_all(&work)?;
    }
    outcome
}

fn run_in(options: &Options, work: &Path) -> Result<()> {
    if options.frames {
        let mut tables = Vec::new();
        println!("{}", legend());
        let mut built = Vec::new();
        for (i, binary) in options.binaries.iter().enumerate() {
            built.push(crate::frames::prepare(options, binary, &work.join(i.to_string()))?);
        }
        for built in built {
            let table = crate::frames::run(options, built)?;
            println!("{}", table.text());
            tables.push(table.json());
        }
        return write_json(options, &legend(), &tables);
    }
    // All builds come first: a child's peak memory counts from its parent's, which is small only now.
    let fields = options
        .binaries
        .iter()
        .enumerate()
        .map(|(i, binary)| prepare(options, binary, &work.join(i.to_string())));
    let fields: Vec<Field> = fields.collect::<Result<_>>()?;
    let legend = legend();
    println!("{legend}");
    let mut tables = Vec::new();
    for mut field in fields {
        let table = one_binary(options, &mut field, work)?;
        println!("{}", table.text());
        tables.push(table.json());
    }
    write_json(options, &legend, &tables)
}

fn write_json(options: &Options, legend: &str, tables: &[String]) -> Result<()> {
    if let Some(path) = &options.json {
        let quoted = crate::table::quote(legend);
        let text = format!("{{\"legend\":{quoted},\"binaries\":[{}]}}\n", tables.join(",\n"));
        std::fs::write(path, text)?;
    }
    Ok(())
}

/// Which versions ran on what.
fn legend() -> String {
    let lock = include_str!("../Cargo.lock");
    let version = |package: &str| {
        let after = lock
            .split_once(&format!("name = \"{package}\"\nversion = \""))?
            .1;
        Some(format!("{package} {}", after.split_once('"')?.0))
    };
    let mut versions: Vec<_> = contenders::all()
        .iter()
        .filter_map(|rival| version(rival.package()))
        .collect();
    versions.sort();
    versions.dedup();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown cpu", |pair| pair.1);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{cpu}, {cores} cores; {}\n", versions.join(", "))
}

fn one_binary(options: &Options, field: &mut Field, work: &Path) -> Result<Table> {
    let map = mapped::map(&field.binary)?;
    let truth =
        Truth::parse(&map).map_err(|error| format!("{}: {error}", field.binary.display()))?;
    let lists = lists::draw(&truth, options.addresses, SEED)?;
    let counts = truth.counts();
    let title = format!(
        "{}: {} bytes, {} symbol starts, {} names of {} bytes; {} addresses a list, {} rounds",
        file_name(&field.binary),
        map.len(),
        counts.addresses,
        counts.names,
        counts.name_bytes,
        options.addresses,
        options.rounds
    );
    let (mut sessions, mut verdicts) = (Vec::new(), Vec::new());
    field.each(|entry| {
        let mut session = entry.rival.session(&entry.artifact, truth.base())?;
        verdicts.push(check(&truth, &lists, &mut *session)?);
        sessions.push(session);
        Ok(())
    })?;
    let entries = || field.entries.iter().map(|entry| &entry.rival);
    let columns = entries().map(|rival| rival.name()).collect();
    let mapped = entries().filter(|rival| rival.artifact() != Artifact::Binary);
    let mapped = mapped.map(|rival| rival.name()).collect();
    let mut table = Table::new(title, columns, mapped);
    table.notes.extend(field.skipped.iter().cloned());
    for (rival, verdict) in entries().zip(&verdicts) {
        let name = rival.name();
        let wrong = verdict.wrong();
        let words = format!("{name}: {verdict}\n    {}", verdict.examples.join("\n    "));
        if wrong > 0 && MUST_BE_RIGHT.contains(&name) {
            return Err(format!("{}: {words}", file_name(&field.binary)).into());
        }
        let cell = Some(Cell::once(float(wrong)));
        table.set("answers that differ", Unit::Count, name, cell);
        if wrong > 0 {
            table.notes.push(words);
        }
    }
    time_opens(options, field, &truth, &lists, &mut table)?;
    time_lookups(options, field, &lists, &mut sessions, &mut table);
    sizes(field, &truth, &mut sessions, &mut table)?;
    drop(sessions);
    let base = truth.base();
    rss(field, base, &lists, work, &mut table)?;
    if options.cold {
        cold(field, base, &lists, &mut table)?;
    }
    Ok(table)
}

fn time_opens(
    options: &Options,
    field: &Field,
    truth: &Truth<'_>,
    lists: &Lists,
    table: &mut Table,
) -> Result<()> {
    let mut opens: Vec<(Vec<f64>, Vec<f64>, Vec<f64>)> = vec![Default::default(); field.entries.len()];
    let mut repeats = vec![1; field.entries.len()];
    let mut floor = Vec::new();
    for round in 0..=options.rounds {
        floor.push(bare_map(&field.binary)?);
        for ((entry, samples), repeats) in field.entries.iter().zip(&mut opens).zip(&mut repeats) {
            let probes: Vec<u64> = lists
                .hits
                .iter()
                .copied()
                .cycle()
                .skip(round)
                .take(*repeats)
                .collect();
            let (open, first) = entry
                .rival
                .time_open(&entry.artifact, truth.base(), &probes)?;
            let parse = entry.rival.time_parse(&entry.artifact)?;
            if round == 0 {
                // Warm-up; then many opens a round of those that are quick.
                *repeats = if open < 1e5 { 50 } else { 1 };
            } else {
                samples.0.push(open);
                samples.1.push(first);
                samples.2.extend(parse);
            }
        }
    }
    if let Some(floor) = Cell::of(&floor) {
        let (median, least) = (floor.median / 1e3, floor.min / 1e3);
        table.notes.push(format!("floor of any mapped open: open(2) + fstat + mmap of such a file take {median:.2} us, least {least:.2}"));
    }
    for (entry, (open, first, parse)) in field.entries.iter().zip(&opens) {
        table.set("open, mapped before", Unit::Nanos, entry.rival.name(), Cell::of(parse));
        table.set("open", Unit::Micros, entry.rival.name(), Cell::of(open));
        table.set(
            "open + first lookup",
            Unit::Micros,
            entry.rival.name(),
            Cell::of(first),
        );
    }
    for entry in &field.entries {
        let name = entry.rival.name();
        let traffic = entry.rival.open_traffic(&entry.artifact, truth.base())?;
        table.set(
            "open: heap asked for",
            Unit::Bytes,
            name,
            Some(Cell::once(float(traffic.bytes))),
        );
        table.set(
            "open: heap held",
            Unit::Bytes,
            name,
            Some(Cell::once(float(traffic.held))),
        );
        table.set(
            "open: heap calls",
            Unit::Count,
            name,
            Some(Cell::once(float(traffic.calls))),
        );
    }
    Ok(())
}

/// Mean ns of mapping `path` and nothing else, over 50 times.
fn bare_map(path: &Path) -> Result<f64> {
    let mut spent = 0.0;
    for _ in 0..50 {
        let begin = Instant::now();
        let map = mapped::map(path)?;
        spent += begin.elapsed().as_nanos_f64();
        drop(map);
    }
    Ok(spent / 50.0)
}

type Timed = fn(&mut dyn Session, &[u64]) -> u64;

fn time_lookups(
    options: &Options,
    field: &Field,
    lists: &Lists,
    sessions: &mut [Box<dyn Session>],
    table: &mut Table,
) {
    let measures: [(&str, &[u64], Timed); 7] = [
        ("hit", &lists.hits, |session, addrs| session.starts(addrs)),
        ("hit, chained", &lists.hits, |session, addrs| {
            session.starts_chained(addrs)
        }),
        ("hit, name read", &lists.hits, |session, addrs| {
            session.names(addrs)
        }),
        ("miss", &lists.misses, |session, addrs| {
            session.starts(addrs)
        }),
        ("mixed", &lists.mixed, |session, addrs| {
            session.starts(addrs)
        }),
        ("profile, half unknown", &lists.profile, |session, addrs| {
            session.names(addrs)
        }),
        ("sorted batch", &lists.sorted, |session, addrs| {
            session.batch(addrs)
        }),
    ];
    for (label, addrs, timed) in measures {
        let mut samples = vec![Vec::new(); sessions.len()];
        for round in 0..=options.rounds {
            for (session, samples) in sessions.iter_mut().zip(&mut samples) {
                let begin = Instant::now();
                std::hint::black_box(timed(&mut **session, addrs));
                let spent = begin.elapsed().as_nanos_f64() / float(addrs.len());
                if round > 0 {
                    samples.push(spent);
                }
            }
        }
        for (entry, samples) in field.entries.iter().zip(&samples) {
            table.set(label, Unit::Nanos, entry.rival.name(), Cell::of(samples));
        }
    }
    let asked = float(lists.mixed.len());
    for (entry, session) in field.entries.iter().zip(sessions) {
        let (_, traffic) = alloc::count(|| std::hint::black_box(session.names(&lists.mixed)));
        table.set(
            "heap a lookup",
            Unit::Bytes,
            entry.rival.name(),
            Some(Cell::once(float(traffic.bytes) / asked)),
        );
        table.set(
            "heap calls a lookup",
            Unit::Count,
            entry.rival.name(),
            Some(Cell::once(float(traffic.calls) / asked)),
        );
    }
}
