//! `symidx perf index`: an index for every DSO of a recording.
//!
//! In: a recording. Out: a line or JSON object for each DSO with samples, the one with
//! the most frames first, and why the others have none.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::time::Instant;

use clap::Args;
use symidx_perf::{DsoKind, DsoUse, IndexOptions, Indexed, Inventory, NotHere, Outcome, index};

use super::profile::{PlacesArgs, ProfileArgs, json_counts, tell_counts, tell_damage};
use crate::build::Sampler;
use crate::failure::{Failure, exit};
use crate::options::size_option;
use crate::output::Output;
use crate::progress::Bar;
use crate::text::{Object, bytes, counted, grouped, plain};
use crate::ui::Ui;

/// Build the indexes that a profile needs.
#[derive(Args, Debug)]
#[command(
    after_help = "Files are taken only when their build-id is the recorded one: from the recorded path, from the mount \
                  namespace of a process that still runs, from perf's cache (~/.debug), .build-id trees \
                  (--debug-dir, /usr/lib/debug) and the cache that debuginfod's client keeps. A file without a \
                  build-id is taken by its path. What is indexed already is left alone.\n\n\
                  EXAMPLES:\n  \
                  symidx perf index                          ./perf.data, into the user's cache\n  \
                  symidx perf index -i prod.data --names-only --store idx\n  \
                  symidx perf index -i prod.data --symfs rootfs --kallsyms rootfs/kallsyms\n  \
                  symidx perf index --json | jq -r 'select(.status == \"missing\") | .dso'"
)]
pub(crate) struct IndexArgs {
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    places: PlacesArgs,
    /// Symbols only: small indexes, no lines, no inlined functions.
    #[arg(long)]
    names_only: bool,
    /// Do not store what people read in place of mangled names: indexes are smaller, names
    /// take several times as long to show.
    #[arg(long)]
    no_demangle: bool,
    /// Files that are mapped in the recording and have no samples, too.
    #[arg(long)]
    all: bool,
    /// Rebuild what is there.
    #[arg(long)]
    force: bool,
    /// Threads. Default: one per processor.
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Bound on anonymous memory: what does not fit side by side is built one after the
    /// other, and debug information is read in smaller parts (K, M, G: powers of 1024).
    #[arg(long, value_name = "SIZE", value_parser = size_option)]
    max_memory: Option<u64>,
    /// One JSON object per DSO, then one with the key `summary`.
    #[arg(long)]
    json: bool,
}

/// Processes without a map that are told one by one.
const SHOWN: usize = 5;

/// Builds what is missing; the exit code says whether a build failed.
pub(crate) fn run(args: &IndexArgs, ui: Ui) -> Result<u8, Failure> {
    let start = Instant::now();
    let mut options = IndexOptions::new(args.places.store()?);
    options.names_only = args.names_only;
    options.demangle = !args.no_demangle;
    options.unused = args.all;
    options.force = args.force;
    options.jobs = args.jobs;
    options.max_memory = args.max_memory;
    options.debug_dirs.clone_from(&args.places.debug_dirs);
    options.recorded = args.profile.recorded();
    let sampler = Sampler::start(1);
    sampler.begin(0);
    let bar = Bar::new(ui);
    let progress = bar.listener();
    progress.phase("reading the profile", 0);
    let (inventory, session) = args.profile.inventory()?;
    let mut rows = Vec::new();
    index(&inventory, &args.places.binaries(), &options, |indexed, done, all| {
        if done == 1 {
            progress.phase("DSOs looked at", all);
        }
        progress.advance(1);
        rows.push(indexed.clone());
    });
    drop(bar);
    let mut totals = Totals::default();
    let mut output = Output::default();
    let code = tell_damage(&inventory.damage, &args.profile.input, ui);
    // Of many processes with code of their own the first few show what there is to do.
    let mut without_map = 0usize;
    for row in &rows {
        totals.add(row);
        if matches!(row.outcome, Outcome::NotHere(NotHere::Jit { .. })) {
            without_map = without_map.saturating_add(1);
            if without_map > SHOWN && !args.json {
                continue;
            }
        }
        match args.json {
            true => json(output.buffer(), row),
            false => say(&mut output, row, ui),
        }
        output.relieve()?;
    }
    if let Some(rest) = without_map.checked_sub(SHOWN).filter(|&rest| rest != 0 && !args.json) {
        let rest = counted(u64::try_from(rest).unwrap_or(0), "more process", "more processes");
        ui.warning(format_args!("{rest} left no map of code made at run time"));
    }
    totals.seconds = start.elapsed().as_secs_f64();
    totals.peak = sampler.end(0);
    if args.json {
        totals.json(output.buffer(), &inventory, session.counts().samples);
    } else {
        tell_counts(&inventory.counts, ui);
        ui.line(totals.text(&inventory, session.counts().samples));
    }
    output.flush()?;
    Ok(if totals.failed == 0 { code } else { exit::SOME_FAILED })
}

/// What the indexes of a profile come to.
#[derive(Debug, Default)]
struct Totals {
    dsos: u64,
    built: u64,
    present: u64,
    missing: u64,
    failed: u64,
    /// DSOs that nobody could index: memory, code made at run time.
    by_nature: u64,
    /// Frames in DSOs without an index that could have one.
    frames: u64,
    bytes: u64,
    peak: u64,
    seconds: f64,
}

impl Totals {
    fn add(&mut self, row: &Indexed) {
        let one = |count: &mut u64, by: u64| *count = count.saturating_add(by);
        one(&mut self.dsos, 1);
        match &row.outcome {
            Outcome::Built(report) => {
                one(&mut self.built, 1);
                one(&mut self.bytes, report.bytes);
            }
            Outcome::Present(bytes) => {
                one(&mut self.present, 1);
                one(&mut self.bytes, *bytes);
            }
            Outcome::NotHere(why) if why.is_by_nature() => one(&mut self.by_nature, 1),
            other => {
                let failed = matches!(other, Outcome::Failed(_));
                one(if failed { &mut self.failed } else { &mut self.missing }, 1);
                one(&mut self.frames, row.used.frames);
            }
        }
    }

    fn text(&self, inventory: &Inventory, samples: u64) -> String {
        let mut text = format!(
            "{}, {} in {}: {} built, {} there before ({} in all), {} without a file",
            counted(samples, "sample", "samples"),
            counted(inventory.frames, "frame", "frames"),
            counted(self.dsos, "DSO", "DSOs"),
            counted(self.built, "index", "indexes"),
            grouped(self.present),
            bytes(self.bytes),
            grouped(self.missing),
        );
        // Writing to a String cannot fail.
        if self.failed != 0 {
            let _ = write!(text, ", {} failed", grouped(self.failed));
        }
        if self.frames != 0 {
            let stay = if self.frames == 1 { "stays" } else { "stay" };
            let frames = counted(self.frames, "frame", "frames");
            let _ = write!(text, " ({frames} {stay} unknown)");
        }
        let _ = write!(text, "; {:.2} s, {} anonymous at most", self.seconds, bytes(self.peak));
        text
    }

    fn json(&self, out: &mut Vec<u8>, inventory: &Inventory, samples: u64) {
        let mut line = Object::new(out);
        let mut summary = Object::new(line.key("summary"));
        summary
            .field("samples", samples)
            .field("frames", inventory.frames)
            .field("unmapped_frames", inventory.unmapped)
            .field("dsos", self.dsos)
            .field("built", self.built)
            .field("present", self.present)
            .field("missing", self.missing)
            .field("failed", self.failed)
            .field("by_nature", self.by_nature)
            .field("frames_without_index", self.frames)
            .field("bytes", self.bytes)
            .field("peak_anon_bytes", self.peak);
        json_counts(&mut summary, &inventory.counts);
        summary.key("seconds").extend_from_slice(format!("{:.6}", self.seconds).as_bytes());
        summary.list("damage", &lines(&inventory.damage.lines()));
        summary.end();
        line.end_line();
    }
}

fn lines(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

/// What became of a DSO, for people: on standard output what has an index, on standard
/// error why another has none.
fn say(output: &mut Output, row: &Indexed, ui: Ui) {
    let name = row.used.name();
    for warning in &row.warnings {
        ui.warning(format_args!("{name}: {warning}"));
    }
    let line = match &row.outcome {
        Outcome::Built(report) => {
            let rows = match report.line_rows {
                0 => "no lines".to_owned(),
                rows => counted(rows, "line", "lines"),
            };
            format!(
                "{name}: {}, {rows}, {} in {:.2} s",
                counted(report.symbols, "symbol", "symbols"),
                bytes(report.bytes),
                row.seconds
            )
        }
        Outcome::Present(size) => format!("{name}: up to date, {}", bytes(*size)),
        Outcome::NotHere(why) if why.is_by_nature() => return,
        Outcome::NotHere(why) => {
            ui.warning(format_args!("{name} ({}): {why}", share(row)));
            return;
        }
        Outcome::Failed(why) => {
            ui.error(format_args!("{name} ({}): {why}", share(row)));
            return;
        }
        _ => return,
    };
    if !ui.is_quiet() {
        plain(output.buffer(), line.as_bytes());
        output.buffer().push(b'\n');
    }
}

fn share(row: &Indexed) -> String {
    let frames = counted(row.used.frames, "frame", "frames");
    match row.used.dso.kind {
        DsoKind::Jit => frames,
        _ => format!("{frames} of {}", counted(row.used.samples, "sample", "samples")),
    }
}

fn json(out: &mut Vec<u8>, row: &Indexed) {
    let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|p| p.display().to_string());
    let (binary, place) = (path(&row.binary), path(&row.index));
    let report = match &row.outcome {
        Outcome::Built(report) => Some(report),
        _ => None,
    };
    let status = match &row.outcome {
        Outcome::Built(_) => "built",
        Outcome::Present(_) => "present",
        Outcome::NotHere(why) if why.is_by_nature() => "no file by nature",
        Outcome::NotHere(_) => "missing",
        _ => "failed",
    };
    let (reason, why) = match &row.outcome {
        Outcome::NotHere(why) => (Some(why.name()), Some(why.to_string())),
        Outcome::Failed(why) => (Some("failed"), Some(why.clone())),
        _ => (None, None),
    };
    let size = match &row.outcome {
        Outcome::Present(bytes) => *bytes,
        _ => report.map_or(0, |report| report.bytes),
    };
    let mut object = Object::new(out);
    object.name("dso", &row.used.dso.name);
    object
        .field("kind", kind_name(row.used.dso.kind))
        .field("build_id", row.used.dso.build_id.map(|id| id.to_string()).as_deref())
        .field("samples", samples_of(&row.used))
        .field("frames", row.used.frames)
        .field("status", status)
        .field("binary", binary.as_deref())
        .field("index", place.as_deref())
        .field("reason", reason)
        .field("error", why.as_deref())
        .field("symbols", report.map(|report| report.symbols))
        .field("line_rows", report.map(|report| report.line_rows))
        .field("bytes", size);
    object.key("seconds").extend_from_slice(format!("{:.6}", row.seconds).as_bytes());
    object.list("warnings", &lines(&row.warnings));
    object.end_line();
}

/// Samples of a DSO; not known for code made at run time, process by process.
pub(super) fn samples_of(used: &DsoUse) -> Option<u64> {
    (used.dso.kind != DsoKind::Jit).then_some(used.samples)
}

/// What a DSO is, in one word.
pub(super) fn kind_name(kind: DsoKind) -> &'static str {
    match kind {
        DsoKind::File => "file",
        DsoKind::Kernel => "kernel",
        DsoKind::Module => "module",
        DsoKind::Vdso => "vdso",
        DsoKind::Jit => "jit",
        DsoKind::Memory => "memory",
        DsoKind::Ksymbol => "ksymbol",
        _ => "rest",
    }
}
