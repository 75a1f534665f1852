//! `symidx perf report`: the heaviest symbols of a recording.
//!
//! In: a recording. Out: a table or JSON lines, the heaviest row first; why samples have
//! no name, and what the report cost, below it.

use std::collections::HashMap;
use std::time::Instant;

use clap::Args;
use symidx_perf::{NameOptions, Names, Reason, Report, ReportOptions, ReportRow, Session, report};

use super::profile::{PlacesArgs, ProfileArgs, json_counts, tell_counts, tell_damage};
use crate::failure::Failure;
use crate::options::size_option;
use crate::output::Output;
use crate::progress::Bar;
use crate::text::{Object, bytes, counted, grouped, plain};
use crate::ui::Ui;

/// The heaviest symbols of a recording.
#[derive(Args, Debug)]
#[command(
    after_help = "`self` is the share of samples that were taken in a row, `children` that of samples with it anywhere \
                  in their call chain; both of the events' periods, or of the numbers of samples when several events \
                  were recorded. At most 28,672 rows are counted at a time: past that the lightest half is put \
                  together as `[other]`, and the report says by how much a row can then be short.\n\
                  Missing indexes are not built: `symidx perf index` does that.\n\n\
                  EXAMPLES:\n  \
                  symidx perf report                             the 40 heaviest symbols of ./perf.data\n  \
                  symidx perf report --sort dso\n  \
                  symidx perf report --children --sort comm,dso,sym --limit 100\n  \
                  symidx perf report --json | jq -r 'select(.symbol) | [.self, .symbol] | @tsv'"
)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    profile: ProfileArgs,
    /// What rows are told apart by: comm, dso, sym.
    #[arg(short, long, value_name = "KEYS", value_delimiter = ',', default_value = "dso,sym")]
    sort: Vec<SortKey>,
    /// Count what a row calls for it too, and sort by that.
    #[arg(long)]
    children: bool,
    /// Show at most N rows.
    #[arg(long, value_name = "N", default_value_t = 40)]
    limit: usize,
    /// Linkage names.
    #[arg(long)]
    no_demangle: bool,
    #[command(flatten)]
    places: PlacesArgs,
    /// The recorded kernel's vmlinux.
    #[arg(long, value_name = "FILE")]
    vmlinux: Option<std::path::PathBuf>,
    /// Bound on the bytes of all open indexes (K, M, G), as in `symidx perf budget`.
    #[arg(long, value_name = "SIZE", value_parser = size_option)]
    max_bytes: Option<u64>,
    /// One JSON object per row, then one with the key `summary`.
    #[arg(long)]
    json: bool,
}

/// What rows are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SortKey {
    /// The thread's name.
    Comm,
    /// Whose code it is.
    Dso,
    /// The symbol.
    #[value(alias = "symbol")]
    Sym,
}

/// Counts and prints.
pub(crate) fn run(args: &ReportArgs, ui: Ui) -> Result<u8, Failure> {
    let start = Instant::now();
    let mut names = Names::new(args.names());
    let mut options = ReportOptions::default();
    options.comm = args.sort.contains(&SortKey::Comm);
    options.dso = args.sort.contains(&SortKey::Dso);
    options.sym = args.sort.contains(&SortKey::Sym);
    options.children = args.children;
    options.max_stack = args.profile.max_stack;
    options.demangle = !args.no_demangle;
    // A pipe is read once: whichever DSO comes first is served first.
    if let Some(bound) = args.max_bytes
        && args.profile.input.is_file()
    {
        names
            .choose(&mut args.profile.open()?, options.max_stack, bound)
            .map_err(|error| args.profile.failed(error))?;
    }
    let mut session = args.profile.open()?;
    let bar = Bar::new(ui);
    let progress = bar.listener();
    let total = session.reader().progress().1.unwrap_or(0);
    progress.phase("bytes read", usize::try_from(total).unwrap_or(usize::MAX));
    let mut done = 0u64;
    let watch = |session: &Session| {
        let now = session.reader().progress().0;
        progress.advance(usize::try_from(now.saturating_sub(done)).unwrap_or(0));
        done = now;
    };
    let report = report(&mut session, &mut names, &options, args.limit, watch);
    drop(bar);
    let report = report.map_err(|error| args.profile.failed(error))?;
    let code = tell_damage(&report.damage, &args.profile.input, ui);
    let mut output = Output::default();
    match args.json {
        true => json(output.buffer(), &report, start),
        false => {
            table(output.buffer(), &report, &options);
            tell_counts(&report.counts, ui);
            summarize(&report, start, ui);
        }
    }
    output.flush()?;
    Ok(code)
}

impl ReportArgs {
    fn names(&self) -> NameOptions {
        let mut options = NameOptions::default();
        self.places.fill(&mut options);
        options.vmlinux.clone_from(&self.vmlinux);
        options.max_bytes = self.max_bytes;
        options
    }
}

/// Parts of ten thousand, as `12.34 %`.
fn percent(part: u64, whole: u64) -> String {
    let share = u128::from(part).saturating_mul(10_000).checked_div(u128::from(whole)).unwrap_or(0);
    let (whole, parts) = (share.checked_div(100), share.checked_rem(100));
    format!("{}.{:02} %", whole.unwrap_or(0), parts.unwrap_or(0))
}

/// A weight's share of all: of periods, or of samples where periods do not add up.
fn share(report: &Report, weight: symidx_perf::Weight) -> String {
    match is_by_period(report) {
        true => percent(weight.period, report.total.period),
        false => percent(weight.samples, report.total.samples),
    }
}

fn is_by_period(report: &Report) -> bool {
    report.events.len() < 2 && report.total.period != 0
}

fn table(out: &mut Vec<u8>, report: &Report, options: &ReportOptions) {
    let short = short_names(&report.rows);
    let dso_of = |row: &ReportRow| match &row.dso {
        Some(dso) => short.get(dso.as_slice()).cloned().unwrap_or_default(),
        None => "[unknown]".to_owned(),
    };
    let comm_of = |row: &ReportRow| lossy(row.comm.as_deref().unwrap_or(b""));
    let width = |of: &dyn Fn(&ReportRow) -> String, least: usize| {
        let widths = report.rows.iter().map(|row| of(row).chars().count());
        widths.fold(least, usize::max).min(48)
    };
    let (comms, dsos) = (width(&comm_of, 4), width(&dso_of, 7));
    let mut line = |columns: [String; 6]| {
        let [children, own, samples, comm, dso, symbol] = columns;
        let mut text = format!("{own:>9} {samples:>11}");
        if options.children {
            text = format!("{children:>9} {text}");
        }
        if options.comm {
            text.push_str(&format!("  {comm:comms$}"));
        }
        if options.dso {
            text.push_str(&format!("  {dso:dsos$}"));
        }
        if options.sym {
            text.push_str("  ");
            text.push_str(&symbol);
        }
        plain(out, text.trim_end().as_bytes());
        out.push(b'\n');
    };
    line(["children", "self", "samples", "comm", "dso", "symbol"].map(str::to_owned));
    for row in &report.rows {
        let symbol = match (&row.symbol, row.unknown) {
            (Some(symbol), _) => lossy(symbol),
            (None, Some(reason)) => format!("[unknown: {}]", reason.text()),
            (None, None) => String::new(),
        };
        line([
            share(report, row.children),
            share(report, row.own),
            grouped(row.own.samples),
            comm_of(row),
            dso_of(row),
            symbol,
        ]);
    }
    if report.other.samples != 0 {
        let other = "[other]".to_owned();
        let (own, samples) = (share(report, report.other), grouped(report.other.samples));
        line([String::new(), own, samples, other.clone(), other.clone(), other]);
    }
}

/// What a DSO is shown as: the last part of its path, all of it where two have the same.
fn short_names(rows: &[ReportRow]) -> HashMap<&[u8], String> {
    fn base(path: &[u8]) -> &[u8] {
        path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
    }
    let mut names: HashMap<&[u8], String> = HashMap::new();
    let mut by_base: HashMap<&[u8], &[u8]> = HashMap::new();
    let all = || rows.iter().filter_map(|row| row.dso.as_deref());
    let mut twice = std::collections::HashSet::new();
    for dso in all() {
        if *by_base.entry(base(dso)).or_insert(dso) != dso {
            twice.insert(base(dso));
        }
    }
    for dso in all() {
        let shown = if twice.contains(base(dso)) { dso } else { base(dso) };
        names.entry(dso).or_insert_with(|| lossy(shown));
    }
    names
}

fn lossy(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    plain(&mut text, bytes);
    String::from_utf8_lossy(&text).into_owned()
}

/// What was counted and what it cost, on standard error.
fn summarize(report: &Report, start: Instant, ui: Ui) {
    let unknown: u64 = report.unknown.iter().fold(0, |sum, &count| sum.saturating_add(count));
    let mut text = format!(
        "{}{}{}",
        counted(report.total.samples, "sample", "samples"),
        if report.events.is_empty() { "" } else { " of " },
        report.events.join(", "),
    );
    let named = report.total.samples.saturating_sub(unknown);
    if report.total.samples != 0 {
        text.push_str(&format!(", {} of them named", percent(named, report.total.samples)));
    }
    if report.events.len() > 1 {
        text.push_str("; percentages are of samples, as periods of several events do not add up");
    }
    ui.line(crate::text::printable(&text));
    let reasons: Vec<String> = reasons(report)
        .map(|(reason, count)| format!("{} {}", grouped(count), reason.text()))
        .collect();
    if !reasons.is_empty() {
        ui.line(format_args!("without a name: {}", reasons.join(", ")));
    }
    let unindexed = self::reasons(report).find(|&(reason, _)| reason == Reason::NoIndex);
    if unindexed.is_some_and(|(_, count)| count > report.total.samples / 2) {
        ui.line("most of them are in files without an index: `symidx perf index` builds them");
    }
    if report.error.samples != 0 {
        ui.line(format_args!(
            "there were more rows than are counted at a time: each may be short of {} at most",
            counted(report.error.samples, "sample", "samples")
        ));
    }
    let mut cost =
        format!("{} mapped, {:.2} s", bytes(report.mapped_bytes), start.elapsed().as_secs_f64());
    if report.peak_anonymous != 0 {
        cost = format!("{} anonymous at most, {cost}", bytes(report.peak_anonymous));
    }
    ui.line(cost);
}

fn reasons(report: &Report) -> impl Iterator<Item = (Reason, u64)> + '_ {
    Reason::ALL.into_iter().zip(report.unknown).filter(|&(_, count)| count != 0)
}

fn json(out: &mut Vec<u8>, report: &Report, start: Instant) {
    for row in &report.rows {
        let mut object = Object::new(out);
        object
            .field("self", row.own.samples)
            .field("self_period", row.own.period)
            .field("children", row.children.samples)
            .field("children_period", row.children.period);
        if let Some(comm) = &row.comm {
            object.string("comm", comm);
        }
        object.field("dso", row.dso.as_deref());
        object.field("symbol", row.symbol.as_deref());
        object.field("reason", row.unknown.map(Reason::text));
        object.end_line();
    }
    let mut line = Object::new(out);
    let mut summary = Object::new(line.key("summary"));
    summary
        .field("samples", report.total.samples)
        .field("period", report.total.period)
        .field("other_samples", report.other.samples)
        .field("other_period", report.other.period)
        .field("error_samples", report.error.samples)
        .field("mapped_bytes", report.mapped_bytes)
        .field("peak_anon_bytes", report.peak_anonymous);
    summary.list("events", &report.events.iter().map(String::as_str).collect::<Vec<_>>());
    let mut unknown = Object::new(summary.key("unknown"));
    for (reason, count) in reasons(report) {
        unknown.field(reason.text(), count);
    }
    unknown.end();
    json_counts(&mut summary, &report.counts);
    let damage = report.damage.lines();
    summary.list("damage", &damage.iter().map(String::as_str).collect::<Vec<_>>());
    let seconds = start.elapsed().as_secs_f64();
    summary.key("seconds").extend_from_slice(format!("{seconds:.6}").as_bytes());
    summary.end();
    line.end_line();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_have_two_places_and_no_whole_is_no_error() {
        assert_eq!(percent(1, 3), "33.33 %");
        assert_eq!(percent(3, 3), "100.00 %");
        assert_eq!(percent(u64::MAX, u64::MAX), "100.00 %");
        assert_eq!(percent(0, 0), "0.00 %");
    }
}
