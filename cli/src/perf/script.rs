//! `symidx perf script`: every sample of a recording, named.
//!
//! In: `perf.data` as a file or through a pipe. Out: text as of `perf script`, JSON
//! lines or folded stacks; what it cost and what has no name on standard error.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use symidx_perf::{
    BuildMissing, DsoReport, Fields, Format, IndexOptions, NOT_BUILT, NameOptions, Names, Reason,
    ScriptError, ScriptOptions, Session, Summary,
};

use super::pprof::Collector;
use super::profile::{PlacesArgs, ProfileArgs, tell_counts, tell_damage};
use super::temporary::Temporary;
use crate::failure::Failure;
use crate::flame::{self, Caption};
use crate::progress::Bar;
use crate::publish::publish;
use crate::text::counted;
use crate::ui::Ui;

/// Every sample, as `perf script` prints it.
#[derive(Args, Debug)]
#[command(
    after_help = "Fields: comm, pid, tid, cpu, time, period, event, ip, sym, symoff, dso; `+symoff` or `-period` \
                        change the usual ones, which are all but pid. Without -i, perf.data; `-` reads standard input.\n\
                        Indexes are looked for beside binaries, in --store, $SYMIDX_PATH, the user's cache and \
                        perf's; those that are missing are built first, into --store or the user's cache.\n\n\
                        EXAMPLES:\n  \
                        symidx perf script -F comm,tid,time,ip,sym,dso\n  \
                        perf record -a -g -o - sleep 10 | symidx perf script -i -\n  \
                        symidx perf script --folded > stacks\n  \
                        symidx perf script --flamegraph out.svg\n  \
                        symidx perf script --no-build --max-bytes 64M --quiet --json"
)]
pub(crate) struct ScriptArgs {
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    places: PlacesArgs,
    /// Columns: names with commas, or `+NAME` and `-NAME` to change the usual ones.
    #[arg(short = 'F', long, value_name = "FIELDS", value_parser = Fields::parse, allow_hyphen_values = true)]
    fields: Option<Fields>,
    /// The same as -F +symoff, or with the fields given.
    #[arg(long, conflicts_with_all = ["json", "folded"])]
    symoff: bool,
    /// Inlined functions too (the default).
    #[arg(long, overrides_with = "no_inline")]
    inline: bool,
    /// No inlined functions.
    #[arg(long)]
    no_inline: bool,
    /// Linkage names.
    #[arg(long)]
    no_demangle: bool,
    /// One JSON object per sample.
    #[arg(long, conflicts_with_all = ["folded", "fields"])]
    json: bool,
    /// Stacks as lines `comm;outer;inner COUNT`; a line may come again, its counts add.
    #[arg(long, conflicts_with = "fields")]
    folded: bool,
    /// Draw a flame graph; the folded stacks are held in memory for it.
    #[arg(long, value_name = "OUT.svg", conflicts_with_all = ["fields", "json"])]
    flamegraph: Option<PathBuf>,
    /// Write a pprof profile instead: distinct stacks with functions, files and lines.
    #[arg(long, value_name = "OUT.pb.gz", conflicts_with_all = ["fields", "json", "folded", "flamegraph"])]
    pprof: Option<PathBuf>,
    /// Do not build indexes that are missing.
    #[arg(long)]
    no_build: bool,
    /// The recorded kernel's vmlinux.
    #[arg(long, value_name = "FILE")]
    vmlinux: Option<PathBuf>,
    /// Bound on the bytes of all open indexes (K, M, G): those that name the most frames per
    /// byte are opened first.
    #[arg(long, value_name = "SIZE", value_parser = crate::options::size_option)]
    max_bytes: Option<u64>,
}

/// Runs the verb.
pub(super) fn run(args: &ScriptArgs, ui: Ui) -> Result<u8, Failure> {
    let start = Instant::now();
    if args.fields.is_some_and(|fields| fields.trace) {
        ui.warning("-F trace: expected another field, found tracepoints' own, which are not read; it is left out");
    }
    let (options, temporary) = args.names()?;
    let mut names = Names::new(options);
    let format = match (args.json, args.folded || args.flamegraph.is_some()) {
        (true, _) => Format::Json,
        (_, true) => Format::Folded,
        _ => Format::Text,
    };
    let mut options = ScriptOptions::default();
    options.format = format;
    options.fields = args.fields.unwrap_or_default();
    options.fields.symoff |= args.symoff && options.fields.sym;
    options.max_stack = args.profile.max_stack;
    options.inline = !args.no_inline;
    options.demangle = !args.no_demangle;
    if let Some(bound) = args.max_bytes {
        choose(args, bound, &mut names)?;
    }
    if let Some(path) = &args.pprof {
        let code = pprof(args, path, &mut names, &options, ui)?;
        tell_temporary(names.built(), temporary.as_ref(), ui);
        return Ok(code);
    }
    let mut session = args.profile.open()?;
    let bar = Bar::new(ui);
    let progress = bar.listener();
    let total = session.reader().progress().1.unwrap_or(0);
    progress.phase("reading samples", usize::try_from(total).unwrap_or(usize::MAX));
    let mut done = 0u64;
    let watch = |session: &Session| {
        let now = session.reader().progress().0;
        progress.advance(usize::try_from(now.saturating_sub(done)).unwrap_or(0));
        done = now;
    };
    let mut out = stdout()?;
    let mut stacks = Vec::new();
    let to: &mut dyn io::Write = match args.flamegraph {
        Some(_) => &mut stacks,
        None => &mut out,
    };
    let result = symidx_perf::script(&mut session, &mut names, &options, to, watch);
    drop(bar);
    let summary = result.map_err(|error| failure(args, &error))?;
    if let Some(path) = &args.flamegraph {
        draw(path, &stacks)?;
        if args.folded {
            let written = io::Write::write_all(&mut out, &stacks);
            written.map_err(|error| failure(args, &ScriptError::Write(error)))?;
        }
    }
    let code = tell_damage(&summary.damage, &args.profile.input, ui);
    summarize(&summary, args, start, ui);
    tell_temporary(summary.built, temporary.as_ref(), ui);
    Ok(code)
}

impl ScriptArgs {
    fn names(&self) -> Result<(NameOptions, Option<Temporary>), Failure> {
        let mut options = NameOptions::default();
        let mut temporary = None;
        self.places.fill(&mut options);
        options.vmlinux.clone_from(&self.vmlinux);
        options.max_bytes = self.max_bytes;
        if !self.no_build {
            let (store, directory) = self.places.store_or_temporary()?;
            temporary = directory;
            let mut how = IndexOptions::new(store);
            how.names_only = self.no_inline;
            how.debug_dirs.clone_from(&self.places.debug_dirs);
            how.recorded = self.profile.recorded();
            let mut build = BuildMissing::new(how);
            build.max_stack = self.profile.max_stack;
            build.profile = self.profile.input.is_file().then(|| self.profile.input.clone());
            options.build = Some(build);
        }
        Ok((options, temporary))
    }
}

fn failure(args: &ScriptArgs, error: &ScriptError) -> Failure {
    match error {
        ScriptError::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => Failure::Closed,
        ScriptError::Write(error) => {
            Failure::new(format!("standard output: cannot write: {error}"))
        }
        error => args.profile.failed(error),
    }
}

/// Standard output without a buffer of its own: what comes is large, and the usual one
/// looks for the ends of lines in it.
fn stdout() -> Result<std::fs::File, Failure> {
    use std::os::fd::AsFd as _;
    let copy = io::stdout().as_fd().try_clone_to_owned();
    copy.map(std::fs::File::from)
        .map_err(|error| Failure::new(format!("standard output: cannot write: {error}")))
}

/// Writes a pprof profile.
fn pprof(
    args: &ScriptArgs,
    path: &Path,
    names: &mut Names,
    options: &ScriptOptions,
    ui: Ui,
) -> Result<u8, Failure> {
    let start = Instant::now();
    let mut session = args.profile.open()?;
    let mut collector = Collector::new(options.demangle, options.inline);
    let bar = Bar::new(ui);
    let progress = bar.listener();
    let total = session.reader().progress().1.unwrap_or(0);
    progress.phase("reading samples", usize::try_from(total).unwrap_or(usize::MAX));
    let mut done = 0u64;
    while session.next_sample().map_err(|error| args.profile.failed(error))? {
        if let Some(located) = session.sample() {
            collector.add(&located, names, &session, options.max_stack);
        }
        let now = session.reader().progress().0;
        if now != done {
            progress.advance(usize::try_from(now.saturating_sub(done)).unwrap_or(0));
            done = now;
        }
    }
    drop(bar);
    let profile = collector.finish(&session);
    publish(path, |file: &mut std::fs::File| profile.write(file))?;
    let code = tell_damage(&session.reader().damage(), &args.profile.input, ui);
    tell_counts(&session.counts(), ui);
    if !ui.is_quiet() {
        let count = |length: usize| crate::text::grouped(u64::try_from(length).unwrap_or(0));
        let named = profile.locations.iter().filter(|location| !location.line.is_empty()).count();
        ui.line(format_args!(
            "{}: {} in {}, {} of {} named; {} anonymous, {} mapped, {:.2} s",
            path.display(),
            counted(session.counts().samples, "sample", "samples"),
            counted(u64::try_from(profile.samples.len()).unwrap_or(0), "stack", "stacks"),
            count(named),
            counted(u64::try_from(profile.locations.len()).unwrap_or(0), "address", "addresses"),
            crate::text::bytes(symidx_perf::anonymous_bytes()),
            crate::text::bytes(names.mapped_bytes()),
            start.elapsed().as_secs_f64(),
        ));
    }
    Ok(code)
}

/// Draws folded stacks.
fn draw(path: &Path, stacks: &[u8]) -> Result<(), Failure> {
    let text = String::from_utf8_lossy(stacks);
    let lines = text.lines().filter_map(|line| {
        let (stack, count) = line.rsplit_once(' ')?;
        Some((stack, count.parse().ok()?))
    });
    let caption = Caption { title: "perf", unit: "samples" };
    flame::graph(path, lines, caption).map(|_| ())
}

/// Leaves out the indexes that the bound has no room for: see `Names::choose`.
fn choose(args: &ScriptArgs, bound: u64, names: &mut Names) -> Result<(), Failure> {
    if args.profile.input.as_os_str() == "-" {
        // A pipe is read once: whichever DSO comes first is served first.
        return Ok(());
    }
    let mut session = args.profile.open()?;
    names
        .choose(&mut session, args.profile.max_stack, bound)
        .map_err(|error| args.profile.failed(error))
}

/// Says that the indexes that were built are gone with the run.
fn tell_temporary(built: u64, temporary: Option<&Temporary>, ui: Ui) {
    if built != 0 && temporary.is_some() && !ui.is_quiet() {
        ui.line(format_args!(
            "the user's cache cannot be written: {} built for this run only; --store DIR keeps them",
            counted(built, "index was", "indexes were")
        ));
    }
}

/// What was done, on standard error.
fn summarize(summary: &Summary, args: &ScriptArgs, start: Instant, ui: Ui) {
    if ui.is_quiet() {
        return;
    }
    let count = crate::text::grouped;
    let percent = |part: u64, whole: u64| {
        let tenths = part.saturating_mul(1000).checked_div(whole).unwrap_or(1000);
        format!("{}.{} %", tenths.saturating_div(10), tenths.checked_rem(10).unwrap_or(0))
    };
    let mut text = format!(
        "{}, {} in {}",
        counted(summary.counts.samples, "sample", "samples"),
        counted(summary.frames, "frame", "frames"),
        counted(u64::try_from(summary.dsos.len()).unwrap_or(u64::MAX), "DSO", "DSOs"),
    );
    if summary.frames != 0 {
        text.push_str(&format!(", {} of the frames named", percent(summary.named, summary.frames)));
    }
    ui.line(text);
    let unknown: Vec<String> = Reason::ALL
        .iter()
        .zip(summary.unknown)
        .filter(|&(_, frames)| frames != 0)
        .map(|(reason, frames)| format!("{} {}", count(frames), reason.text()))
        .collect();
    if !unknown.is_empty() {
        ui.line(format_args!("without a name: {}", unknown.join(", ")));
    }
    for report in summary.dsos.iter().filter(|report| !report.why.is_empty()) {
        ui.line(format_args!(
            "  {}: {} in {}: {}",
            crate::text::printable(&String::from_utf8_lossy(&report.dso.name)),
            counted(report.frames.saturating_sub(report.named), "frame", "frames"),
            counted(report.samples, "sample", "samples"),
            crate::text::printable(&report.why),
        ));
    }
    let unbuilt = |report: &&DsoReport| report.reason == Some(Reason::NoIndex) && args.no_build;
    if summary.dsos.iter().any(|report| unbuilt(&report) && report.why == NOT_BUILT) {
        ui.line("`symidx perf index` builds the indexes that are missing");
    }
    tell_counts(&summary.counts, ui);
    if summary.built != 0 {
        ui.line(format_args!("{} built", counted(summary.built, "index", "indexes")));
    }
    let mut cost = format!(
        "{} mapped, {:.2} s",
        crate::text::bytes(summary.mapped_bytes),
        start.elapsed().as_secs_f64()
    );
    if summary.peak_anonymous != 0 {
        cost = format!("{} anonymous at most, {cost}", crate::text::bytes(summary.peak_anonymous));
    }
    ui.line(cost);
}
