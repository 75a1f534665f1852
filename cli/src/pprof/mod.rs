//! `symidx pprof`: a raw profile to one with functions, lines and inlined frames.
//!
//! In: a pprof profile, gzip or not. Out: the same profile symbolized, its stacks
//! as folded text, a flame graph, a summary. What has no name stays an address
//! and is counted by reason.

mod open;
mod summary;

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use regex::Regex;
use symidx_indexer::demangle::Demangler;
use symidx_pprof::{Damage, Limits, Mapping, Profile, Symbolizer, write_folded};

use crate::failure::{Failure, exit};
use crate::flame::{self, Caption};
use crate::options::{ReadArgs, size_option};
use crate::output::Output;
use crate::publish::publish;
use crate::ui::Ui;

use open::{Opener, Stands};
use summary::Summary;

/// Symbolize a pprof profile.
#[derive(Args, Debug)]
#[command(
    after_help = "The index of each mapping's file is looked for by build-id: beside the file, in it, in --store, in \
                  $SYMIDX_PATH, in the user's cache, in perf's. Without one, an index of the file is \
                  built in memory when the file is here and has the build-id that the profile states.\n\n\
                  EXAMPLES:\n  \
                  symidx pprof heap.pb.gz                          writes heap.symbolized.pb.gz\n  \
                  symidx pprof heap.pb.gz -o - | go tool pprof -top -\n  \
                  symidx pprof --store /srv/symbols cpu.pb.gz      a profile of another machine\n  \
                  symidx pprof --folded --sample-type inuse_space heap.pb.gz\n  \
                  symidx pprof --flamegraph heap.svg heap.pb.gz\n  \
                  symidx pprof --exe app old.pb.gz                 a profile without mappings\n  \
                  symidx pprof --binary '[kernel.kallsyms]=vmlinux' cpu.pb.gz"
)]
pub(crate) struct PprofArgs {
    /// The profile; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where the symbolized profile goes, `-` for standard output. By default FILE with
    /// `.symbolized` before its `.pb.gz`, and nowhere with --folded or --flamegraph.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Print `main;work;leaf VALUE` lines. Frames that the profile says to drop are left out.
    #[arg(long)]
    folded: bool,
    /// Draw a flame graph.
    #[arg(long, value_name = "SVG")]
    flamegraph: Option<PathBuf>,
    /// Which values --folded and --flamegraph show: a name (alloc_space) or a number
    /// from 0. By default the profile's own default, else the last.
    #[arg(long, value_name = "T")]
    sample_type: Option<String>,
    /// Print the summary as one JSON object.
    #[arg(long)]
    json: bool,
    /// Ask again for locations that have names.
    #[arg(long)]
    force: bool,
    /// Only the functions that symbol tables know.
    #[arg(long)]
    no_inlines: bool,
    /// Linkage names.
    #[arg(long)]
    no_demangle: bool,
    /// The file of the main program (the first mapping), and of all addresses where the
    /// profile has no mappings.
    #[arg(long, value_name = "FILE", help_heading = "Finding binaries")]
    exe: Option<PathBuf>,
    /// The file of the mappings that the profile names NAME. May be repeated.
    #[arg(long, value_name = "NAME=FILE", value_parser = Stands::parse, help_heading = "Finding binaries")]
    binary: Vec<Stands>,
    /// Also look for indexes in this store.
    #[arg(long, value_name = "DIR", help_heading = "Finding binaries")]
    store: Option<PathBuf>,
    /// Refuse profiles that take more memory than this to read, and stacks with more text.
    /// [default: 2G; for stacks at most 64M or 4K for each frame and each byte of a name]
    #[arg(long, value_name = "SIZE", value_parser = size_option)]
    max_memory: Option<u64>,
    #[command(flatten)]
    read: ReadArgs,
}

/// What a profile may take to be read, and its stacks in any case.
const READ_AT_MOST: u64 = 2 << 30;

/// Symbolizes the profile and writes what was asked for; the exit code says
/// whether it was whole.
pub(crate) fn run(args: &PprofArgs, ui: Ui) -> Result<u8, Failure> {
    let wanted = destination(args)?;
    let (mut profile, damage) = read(args)?;
    for (fault, count) in damage.iter() {
        ui.warning(format_args!("{}: {count} {fault}", args.file.display()));
    }
    map_everything(&mut profile, args.exe.as_deref());
    let shown = shown_type(&profile, args)?;
    let mut demangler = Demangler::new(true);
    let mut symbolizer = Symbolizer::new().force(args.force).inlines(!args.no_inlines);
    symbolizer = match args.no_demangle {
        true => symbolizer.no_demangle(),
        false => symbolizer.demangle_with(move |name| {
            let short = demangler.texts(name)?.short;
            Some(String::from_utf8_lossy(short).into_owned())
        }),
    };
    let opener = Opener::new(args, ui);
    let report = symbolizer.run(&mut profile, |mapping| opener.open(mapping));
    let mut output = Output::default();
    match &wanted {
        Some(path) if is_dash(path) => {
            let buffer = output.buffer();
            profile.write(buffer).map_err(|error| Failure::file(path, error))?;
        }
        Some(path) => publish(path, |file| profile.write(file))?,
        None => {}
    }
    let stacks = if args.folded || args.flamegraph.is_some() {
        let limit = args.max_memory.unwrap_or(READ_AT_MOST.min(profile.folded_bound()));
        let stacks = profile.folded_within(limit, shown, dropped(&profile, args, ui));
        stacks.map_err(|error| Failure::file(&args.file, format_args!("{error}: --max-memory")))?
    } else {
        Default::default()
    };
    let pairs = || stacks.iter().map(|(stack, value)| (stack.as_str(), *value));
    if let Some(path) = &args.flamegraph {
        let (name, unit) = type_names(&profile, shown);
        let title = format!("{} ({name})", args.file.display());
        let left_out = flame::graph(path, pairs(), Caption { title: &title, unit })?;
        if left_out > 0 {
            let (stacks, are) = match left_out {
                1 => ("stack", "is"),
                _ => ("stacks", "are"),
            };
            ui.note(format_args!("{left_out} {stacks} without a positive value {are} not drawn"));
        }
    }
    if args.folded {
        for (stack, value) in pairs() {
            write_folded(output.buffer(), stack, value)
                .map_err(|error| Failure::new(format!("standard output: cannot write: {error}")))?;
            output.relieve()?;
        }
    }
    let summary = Summary {
        input: &args.file,
        output: wanted.as_deref(),
        profile: &profile,
        report: &report,
        damage: &damage,
    };
    match args.json {
        true => summary.json(output.buffer()),
        false => summary.text(ui),
    }
    output.flush()?;
    Ok(if damage.is_none() { exit::OK } else { exit::SOME_FAILED })
}

/// The frames that the profile says to leave out: those of the profiler itself.
fn dropped(profile: &Profile, args: &PprofArgs, ui: Ui) -> impl Fn(&str) -> bool {
    let pattern = |text: i64| {
        let text = profile.text(text);
        let whole = (!text.is_empty()).then(|| Regex::new(&format!("^(?:{text})$")))?;
        if whole.is_err() {
            ui.warning(format_args!(
                "{}: expected an expression for the frames to leave out, found `{text}`; none is left out",
                args.file.display()
            ));
        }
        whole.ok()
    };
    let (drop, keep) = (pattern(profile.drop_frames), pattern(profile.keep_frames));
    move |name| {
        let is = |pattern: &Option<Regex>| pattern.as_ref().is_some_and(|p| p.is_match(name));
        is(&drop) && !is(&keep)
    }
}

fn is_dash(path: &Path) -> bool {
    path == Path::new("-")
}

/// Where the profile goes, if anywhere.
fn destination(args: &PprofArgs) -> Result<Option<PathBuf>, Failure> {
    let wanted = match &args.output {
        Some(path) => Some(path.clone()),
        None if args.folded || args.flamegraph.is_some() => None,
        None if is_dash(&args.file) => Some(PathBuf::from("-")),
        None => Some(beside(&args.file)),
    };
    let printed = usize::from(args.folded)
        .saturating_add(usize::from(args.json))
        .saturating_add(usize::from(wanted.as_deref().is_some_and(is_dash)));
    if printed > 1 {
        return Err(Failure::usage(
            "pprof: expected one result for standard output, found several of -o -, --folded and --json; \
             give the profile a file or leave one out",
        ));
    }
    Ok(wanted)
}

/// `heap.pb.gz` to `heap.symbolized.pb.gz`.
fn beside(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let endings = [".pb.gz", ".gz", ".pb"];
    let base = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    file.with_file_name(format!("{base}.symbolized.pb.gz"))
}

fn read(args: &PprofArgs) -> Result<(Profile, Damage), Failure> {
    let limits = Limits { bytes: args.max_memory.unwrap_or(READ_AT_MOST) };
    let input: Box<dyn Read> = match is_dash(&args.file) {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(
            std::fs::File::open(&args.file)
                .map_err(|error| Failure::file(&args.file, format_args!("cannot open: {error}")))?,
        ),
    };
    Profile::read(input, limits).map_err(|error| Failure::file(&args.file, error))
}

/// A profile without mappings is one of the program that was named: a mapping
/// of everything, so addresses are svmas.
fn map_everything(profile: &mut Profile, exe: Option<&Path>) {
    if let Some(exe) = exe.filter(|_| profile.mappings.is_empty()) {
        let filename = profile.strings.intern(&exe.to_string_lossy());
        profile.mappings.push(Mapping { id: 1, filename, ..Mapping::default() });
    }
}

/// The position of the values to show.
fn shown_type(profile: &Profile, args: &PprofArgs) -> Result<usize, Failure> {
    profile.sample_type(args.sample_type.as_deref()).ok_or_else(|| {
        let types = 0..profile.sample_types.len();
        let names: Vec<_> = types.map(|at| type_names(profile, at).0.to_owned()).collect();
        Failure::file(
            &args.file,
            format_args!(
                "expected a sample type `{}`, found only {}",
                args.sample_type.as_deref().unwrap_or(""),
                names.join(", ")
            ),
        )
    })
}

/// Name and unit of a sample type.
fn type_names(profile: &Profile, at: usize) -> (&str, &str) {
    let value = profile.sample_types.get(at).copied().unwrap_or_default();
    (profile.text(value.r#type), profile.text(value.unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_symbolized_profile_goes_beside_the_raw_one() {
        for (file, output) in [
            ("d/heap.pb.gz", "d/heap.symbolized.pb.gz"),
            ("heap.pb", "heap.symbolized.pb.gz"),
            ("heap.gz", "heap.symbolized.pb.gz"),
            ("/d.gz/profile", "/d.gz/profile.symbolized.pb.gz"),
        ] {
            assert_eq!(beside(Path::new(file)), Path::new(output));
        }
    }
}
