//! `symidx build`: binaries to indexes.
//!
//! In: files and directories. Out: one index per image, each published whole
//! or not at all, and one line or JSON object per input, in the order of the
//! inputs for any number of threads.

mod anonymous;
mod depfile;
mod mapped;
mod plan;
mod report;
mod walk;
mod work;

pub(crate) use anonymous::Sampler;

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;
use crate::options::{ReadArgs, size_option};
use crate::ui::Ui;

/// Compile binaries into indexes.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "INPUT is an ELF file (also a packed kernel module), a Mach-O file (thin, fat or a .dSYM bundle), \
                        /proc/kallsyms-style text, a perf-PID.map or jitdump file, \
                        or a directory, which is walked in sorted order without following symbolic links; \
                        what is no binary there is passed over.\n\n\
                        EXAMPLES:\n  \
                        symidx build target/release/app\n  \
                        symidx build app -o out/app.symidx --depfile out/app.d\n  \
                        symidx build --store /var/cache/symidx /usr/lib/x86_64-linux-gnu\n  \
                        symidx build --all-archs Kit.framework/Kit\n  \
                        symidx build --pid 4711                       into the user's cache, where lookup --pid finds them\n  \
                        symidx build /proc/kallsyms -o kernel.symidx"
)]
pub(crate) struct BuildArgs {
    /// What to index.
    #[arg(value_name = "INPUT", required_unless_present = "pid")]
    inputs: Vec<PathBuf>,
    /// Index every binary that this process has mapped, in containers and deleted ones too,
    /// and its vDSO. Code that it made itself is of that process alone and is not stored.
    /// Without --store, into the user's cache: $XDG_CACHE_HOME/symidx or ~/.cache/symidx.
    #[arg(long, value_name = "P", conflicts_with_all = ["inputs", "output"])]
    pid: Option<u32>,
    /// Exact output path, for one input. Default: INPUT.symidx beside the input.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Publish as DIR/.build-id/xx/yyyy.symidx (by UUID for Mach-O, by content hash
    /// without an id) instead of beside the input; with -o, there as well.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Every slice of a fat file: one INPUT.ARCH.symidx each.
    #[arg(long, conflicts_with_all = ["arch", "uuid"])]
    all_archs: bool,
    /// Symbols only: no lines, no inlined functions.
    #[arg(long)]
    names_only: bool,
    /// Functions and code labels only, no data objects.
    #[arg(long)]
    code_only: bool,
    /// Store what people read in place of mangled names (Rust, C++), for readers that
    /// cannot demangle without heap or have no time to. Adds two fifths to two thirds
    /// to the size of an index of C++ (94 MB become 135 MB for libtorch_cpu), about a fifth to
    /// one of Rust.
    #[arg(long)]
    demangle: bool,
    /// Store names packed: an index without lines becomes a quarter to a half of its size where
    /// names are long (C++, Rust, Go; 23.3 MB become 6.7 MB for librustc_driver), two thirds to
    /// three quarters for C. Names that would take over 256 bytes more so stay plain. Building
    /// takes 0.02 to 0.9 seconds longer (vmlinux; 73 MB of libtorch_cpu), reading a name some
    /// hundred nanoseconds, finding one up to a half longer; looking an address up costs what
    /// it did. Programs in C have to ask for such a name (`symidx_packed_name`).
    #[arg(long)]
    pack_names: bool,
    /// Lines without columns. Takes an eighth to a sixth off an index of C (vmlinux, libc,
    /// a kernel module), a twelfth off one of Rust, nothing off one of Go, which has none.
    #[arg(long)]
    no_columns: bool,
    /// Threads: inputs built side by side, and with fewer inputs than threads the debug
    /// information of each read by several. Default: one per processor. A make jobserver is
    /// honoured: one thread for each input that has a token.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Bound on anonymous memory: inputs whose estimated needs do not fit side by
    /// side are built one after the other, and debug information is read in smaller
    /// parts, down to one function (K, M, G: powers of 1024). What symbols and lines take
    /// anyhow, one to four times the index and the sections that are compressed, is not bounded:
    /// a bound below that is passed, with a warning that says how much it is.
    #[arg(long, value_name = "SIZE", value_parser = size_option)]
    max_memory: Option<u64>,
    /// Rebuild even what is up to date.
    #[arg(long)]
    force: bool,
    /// Publish indexes without symbols too, instead of failing with exit code 3.
    #[arg(long)]
    allow_empty: bool,
    /// Write every file read to F, as a Makefile rule for the outputs.
    #[arg(long, value_name = "F")]
    depfile: Option<PathBuf>,
    /// Print every file read, one a line.
    #[arg(long, conflicts_with = "json")]
    print_inputs: bool,
    /// One JSON object per input. peak_anon_bytes is the highest anonymous memory of
    /// the whole process, sampled every 5 ms while that input was built.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// Builds every input; the exit code says how it went.
pub(crate) fn run(args: &BuildArgs, ui: Ui) -> Result<u8, Failure> {
    let mut args = args.clone();
    if args.pid.is_some() && args.store.is_none() {
        args.store = Some(symidx::process::user_cache().ok_or_else(|| {
            Failure::usage(
                "build: expected a home directory with --pid, found none; give --store DIR",
            )
        })?);
    }
    let args = &args;
    let plan::Plan { jobs, others } = plan::plan(args)?;
    if jobs.is_empty() {
        ui.warning(match args.pid {
            Some(_) => "no ELF or Mach-O file is mapped by this process",
            None => "no ELF or Mach-O file found in the directories given",
        });
    }
    let mut report = report::Report::new(args, ui);
    work::run(&jobs, args, &mut report)?;
    if let Some(pid) = args.pid {
        report.sum_up(format_args!("process {pid}"), &others);
    }
    report.finish()
}
