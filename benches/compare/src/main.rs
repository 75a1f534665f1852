//! In: binaries. Out: a table for each: symidx and its rivals on the same addresses, answers checked before they are timed.
//! Order of a run: build everything in children, then check, time, and measure memory and cold starts.
//! Never: leaves files behind (unless --keep), reads the network, or times an answer that was not checked.

mod alloc;
mod check;
mod child;
mod contenders;
mod field;
mod frames;
mod lists;
mod mapped;
mod measure;
mod memory;
mod spawn;
mod table;
mod truth;

use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static COUNTING: alloc::Counting = alloc::Counting;

pub type Error = Box<dyn std::error::Error>;
pub type Result<T> = std::result::Result<T, Error>;

const USAGE: &str = "usage: compare [options] BINARY...
  --json OUT         also write every cell as JSON
  --only NAME,...    run these contenders only (std always runs: it is the reference)
  --addresses N      addresses in each list (default 100000)
  --rounds N         interleaved rounds of each timed measure (default 7)
  --builds N         builds of each artifact (default 3)
  --work DIR         where artifacts go; a real file system, or nothing is ever cold (default: the temporary directory)
  --keep             leave the artifacts there
  --no-cold          skip the cold starts
  --frames           address to all frames instead, with files that hold lines and inlined functions";

/// What to run.
pub struct Options {
    pub json: Option<PathBuf>,
    pub only: Vec<String>,
    pub addresses: usize,
    pub rounds: usize,
    pub builds: usize,
    pub work: PathBuf,
    pub keep: bool,
    pub cold: bool,
    pub frames: bool,
    pub binaries: Vec<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            json: None,
            only: Vec::new(),
            addresses: 100_000,
            rounds: 7,
            builds: 3,
            work: std::env::temp_dir(),
            keep: false,
            cold: true,
            frames: false,
            binaries: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || {
                args.next()
                    .ok_or_else(|| format!("{arg} needs a value\n{USAGE}"))
            };
            match arg.as_str() {
                "--json" => options.json = Some(value()?.into()),
                "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
                "--addresses" => options.addresses = value()?.parse::<usize>()?.max(1),
                "--rounds" => options.rounds = value()?.parse::<usize>()?.max(1),
                "--builds" => options.builds = value()?.parse::<usize>()?.max(1),
                "--work" => options.work = value()?.into(),
                "--keep" => options.keep = true,
                "--frames" => options.frames = true,
                "--no-cold" => options.cold = false,
                flag if flag.starts_with('-') => {
                    return Err(format!("unknown option {flag}\n{USAGE}").into());
                }
                binary => options.binaries.push(binary.into()),
            }
        }
        for name in &options.only {
            if options.frames {
                frames::find(name)?;
            } else {
                child::find(name)?;
            }
        }
        if options.binaries.is_empty() {
            return Err(USAGE.into());
        }
        Ok(options)
    }
}

fn run(args: &[String]) -> Result<()> {
    match args.split_first() {
        Some((verb, rest)) if verb.starts_with("__") => child::run(verb, rest),
        Some((verb, _)) if verb == "--help" => {
            println!("{USAGE}");
            Ok(())
        }
        _ => measure::run(&Options::parse(args)?),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
