//! `symidx perf budget`: what naming a recording takes, before it is done.
//!
//! In: a recording, and perhaps a bound. Out: anonymous memory, the bytes that each DSO
//! maps, which DSOs will be unknown and why, and what the bound leaves out.

use clap::Args;
use symidx_perf::{Budget, DsoBudget, NameOptions, Names, Share};

use super::index::{kind_name, samples_of};
use super::profile::{PlacesArgs, ProfileArgs, json_counts, tell_counts, tell_damage};
use crate::failure::Failure;
use crate::options::size_option;
use crate::output::Output;
use crate::progress::Bar;
use crate::text::{Object, bytes, counted, grouped, plain};
use crate::ui::Ui;

/// What naming a recording takes, before it is done.
#[derive(Args, Debug)]
#[command(
    after_help = "Anonymous memory has a bound that does not depend on the recording. Mapped bytes are page cache, \
                  which the system takes back when it needs to; containers count them as far as they are read.\n\
                  With --max-bytes the indexes that name the most frames per byte are opened; the others are left \
                  out, and their frames are `[unknown]`: `symidx perf script` and `report` do the same with the \
                  same bound.\n\n\
                  EXAMPLES:\n  \
                  symidx perf budget                         what ./perf.data takes\n  \
                  symidx perf budget -i prod.data --max-bytes 64M\n  \
                  symidx perf budget --json | jq .summary"
)]
pub(crate) struct BudgetArgs {
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    places: PlacesArgs,
    /// The recorded kernel's vmlinux.
    #[arg(long, value_name = "FILE")]
    vmlinux: Option<std::path::PathBuf>,
    /// Bound on the bytes of all open indexes (K, M, G: powers of 1024).
    #[arg(long, value_name = "SIZE", value_parser = size_option)]
    max_bytes: Option<u64>,
    /// Show at most N DSOs.
    #[arg(long, value_name = "N", default_value_t = 40)]
    limit: usize,
    /// One JSON object per DSO, then one with the key `summary`.
    #[arg(long)]
    json: bool,
}

/// Tells what it takes.
pub(crate) fn run(args: &BudgetArgs, ui: Ui) -> Result<u8, Failure> {
    let mut options = NameOptions::default();
    args.places.fill(&mut options);
    options.vmlinux.clone_from(&args.vmlinux);
    let bar = Bar::new(ui);
    bar.listener().phase("reading the profile", 0);
    let mut session = args.profile.open()?;
    let most = args.profile.max_stack;
    let budget = Names::new(options)
        .budget(&mut session, most, args.max_bytes)
        .map_err(|error| args.profile.failed(error))?;
    // A pipe is gone once it is read.
    let is_file = args.profile.input.is_file();
    let lost = match budget.left_out().next().is_some() && is_file {
        true => {
            let lost = budget.samples_left_out(&mut args.profile.open()?, most);
            Some(lost.map_err(|error| args.profile.failed(error))?)
        }
        false => None,
    };
    drop(bar);
    let code = tell_damage(&budget.inventory.damage, &args.profile.input, ui);
    let mut output = Output::default();
    match args.json {
        true => json(output.buffer(), &budget, args.max_bytes, lost),
        false => table(output.buffer(), &budget, args, lost),
    }
    if !args.json {
        tell_counts(&budget.inventory.counts, ui);
    }
    output.flush()?;
    Ok(code)
}

fn table(out: &mut Vec<u8>, budget: &Budget, args: &BudgetArgs, lost: Option<u64>) {
    let inventory = &budget.inventory;
    let mut line = |text: String| {
        plain(out, text.as_bytes());
        out.push(b'\n');
    };
    line(format!(
        "{}, {} in {}",
        counted(inventory.counts.samples, "sample", "samples"),
        counted(inventory.frames, "frame", "frames"),
        counted(u64::try_from(budget.dsos.len()).unwrap_or(u64::MAX), "DSO", "DSOs"),
    ));
    line(format!("{:>12} {:>10} {:>10}  DSO", "frames", "samples", "index"));
    for dso in budget.dsos.iter().take(args.limit) {
        let samples = samples_of(&dso.used).map_or_else(|| "-".to_owned(), grouped);
        let (size, note) = match &dso.share {
            Share::Index(size) => (bytes(*size), String::new()),
            Share::Shared => ("shared".to_owned(), " (with the kernel's)".to_owned()),
            Share::NamesItself => ("none".to_owned(), " (its name is its symbol)".to_owned()),
            Share::LeftOut(size) => (bytes(*size), " [left out]".to_owned()),
            Share::Unknown(_, why) => ("unknown".to_owned(), format!(": {why}")),
            _ => (String::new(), String::new()),
        };
        line(format!(
            "{:>12} {samples:>10} {size:>10}  {}{note}",
            grouped(dso.used.frames),
            dso.used.name()
        ));
    }
    let rest = budget.dsos.iter().skip(args.limit);
    let (count, frames, size) = rest.fold((0u64, 0u64, 0u64), |(count, frames, size), dso| {
        let more = if let Share::Index(bytes) = dso.share { bytes } else { 0 };
        (count.saturating_add(1), frames.saturating_add(dso.used.frames), size.saturating_add(more))
    });
    if count != 0 {
        let (frames, size) = (grouped(frames), bytes(size));
        let more = counted(count, "more DSO", "more DSOs");
        line(format!("{frames:>12} {:>10} {size:>10}  {more}", ""));
    }
    // A bound is rounded up.
    let anonymous = budget.anonymous_bytes.saturating_add(99_999);
    line(format!("anonymous memory: below {}", bytes(anonymous)));
    line(format!("mapped indexes:   {}", bytes(budget.mapped_bytes)));
    let unknown = unknown(budget);
    if !unknown.is_empty() {
        let parts: Vec<String> =
            unknown.iter().map(|(why, frames)| format!("{} {why}", grouped(*frames))).collect();
        line(format!("unknown frames:   {}", parts.join(", ")));
    }
    if let Some(bound) = args.max_bytes {
        let (count, frames) = left_out(budget);
        let samples = lost
            .map_or_else(String::new, |lost| format!(" of {}", counted(lost, "sample", "samples")));
        line(match count {
            0 => format!("the bound of {}:  nothing is left out", bytes(bound)),
            _ => format!(
                "the bound of {}:  {} left out, {}{samples} unknown by it",
                bytes(bound),
                counted(count, "DSO", "DSOs"),
                counted(frames, "frame", "frames")
            ),
        });
    }
}

fn left_out(budget: &Budget) -> (u64, u64) {
    budget.left_out().fold((0, 0), |(count, frames), dso| {
        (count.saturating_add(1), frames.saturating_add(dso.used.frames))
    })
}

/// Frames that will have no name because of their DSO. Others lie between symbols; how
/// many is known once they were looked up.
fn unknown(budget: &Budget) -> Vec<(&'static str, u64)> {
    budget.unknown_frames().into_iter().map(|(why, frames)| (why.text(), frames)).collect()
}

fn json(out: &mut Vec<u8>, budget: &Budget, bound: Option<u64>, lost: Option<u64>) {
    for dso in &budget.dsos {
        json_dso(out, dso);
    }
    let inventory = &budget.inventory;
    let mut line = Object::new(out);
    let mut summary = Object::new(line.key("summary"));
    let (count, frames) = left_out(budget);
    summary
        .field("samples", inventory.counts.samples)
        .field("frames", inventory.frames)
        .field("anonymous_bytes", budget.anonymous_bytes)
        .field("mapped_bytes", budget.mapped_bytes)
        .field("max_bytes", bound)
        .field("left_out_dsos", count)
        .field("left_out_frames", frames)
        .field("left_out_samples", if count == 0 { Some(0) } else { lost });
    let mut reasons = Object::new(summary.key("unknown_frames"));
    for (why, frames) in unknown(budget) {
        reasons.field(why, frames);
    }
    reasons.end();
    json_counts(&mut summary, &inventory.counts);
    let damage = inventory.damage.lines();
    summary.list("damage", &damage.iter().map(String::as_str).collect::<Vec<_>>());
    summary.end();
    line.end_line();
}

fn json_dso(out: &mut Vec<u8>, dso: &DsoBudget) {
    let (status, size, reason, why) = match &dso.share {
        Share::Index(size) => ("index", Some(*size), None, None),
        Share::Shared => ("shared", Some(0), None, None),
        Share::NamesItself => ("names itself", Some(0), None, None),
        Share::LeftOut(size) => ("left out", Some(*size), Some("over budget"), None),
        Share::Unknown(reason, why) => ("unknown", None, Some(reason.text()), Some(why.as_ref())),
        _ => ("other", None, None, None),
    };
    let mut object = Object::new(out);
    object.name("dso", &dso.used.dso.name);
    object
        .field("kind", kind_name(dso.used.dso.kind))
        .field("build_id", dso.used.dso.build_id.map(|id| id.to_string()).as_deref())
        .field("samples", samples_of(&dso.used))
        .field("frames", dso.used.frames)
        .field("status", status)
        .field("mapped_bytes", size)
        .field("reason", reason)
        .field("why", why);
    object.end_line();
}
