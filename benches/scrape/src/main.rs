//! In: shared objects. Out: what naming 1,000 addresses of a process costs with `backtrace` and with symidx: heap, time, page faults, and whose names differ.
//! One process, the same addresses; both read files from the page cache.
//! Never: times anything that was not counted, or leaves files behind.

// One counting allocator for both packages of rivals.
#[path = "../../compare/src/alloc.rs"]
mod alloc;
mod compare;
mod load;
mod passes;
mod pick;
mod prepare;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static COUNTING: alloc::Counting = alloc::Counting;

pub type Error = Box<dyn std::error::Error>;
pub type Result<T> = std::result::Result<T, Error>;

const USAGE: &str = "usage: scrape [options] [LIBRARY...]
  --frames N    addresses that differ (default 1000)
  --passes N    passes of each (default 5)
  --late LIB    the library that is loaded after the first pass (default libclang-14.so.1)
  --seed N      which addresses (default 1)
  --functions   addresses in sized functions only: no stubs, no gaps
  --rival-first backtrace before symidx
LIBRARY: as dlopen takes it; the default is what of libLLVM, librustc_driver, libclang-cpp, libpython, libcrypto, libstdc++ is there";

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    pub frames: usize,
    pub passes: usize,
    pub late: String,
    pub seed: u64,
    pub functions: bool,
    pub rival_first: bool,
    pub libraries: Vec<String>,
    /// Where indexes go.
    pub store: PathBuf,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            frames: 1000,
            passes: 5,
            late: "libclang-14.so.1".to_owned(),
            seed: 1,
            functions: false,
            rival_first: false,
            libraries: Vec::new(),
            store: PathBuf::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--frames" => options.frames = value()?.parse::<usize>()?.max(1),
                "--passes" => options.passes = value()?.parse::<usize>()?.max(2),
                "--late" => options.late.clone_from(value()?),
                "--seed" => options.seed = value()?.parse()?,
                "--functions" => options.functions = true,
                "--rival-first" => options.rival_first = true,
                flag if flag.starts_with('-') => {
                    return Err(format!("unknown option {flag}\n{USAGE}").into());
                }
                library => options.libraries.push(library.to_owned()),
            }
        }
        if options.libraries.is_empty() {
            options.libraries = load::usual_libraries();
        }
        Ok(options)
    }
}

fn run(args: &[String]) -> Result<()> {
    match args {
        [verb, input, output] if verb == "__build" => {
            prepare::build(input.as_ref(), output.as_ref())
        }
        [help] if help == "--help" => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            let mut options = Options::parse(args)?;
            load::again_with_room_for_tls()?;
            let store = prepare::Scratch::new()?;
            options.store.clone_from(&store.path);
            report::run(&options)
        }
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
