//! A service with a heap profiler, whose profiles are symbolized by symidx in
//! the service itself: a scrape parses nothing, and its lookups take no heap.
//!
//! ```sh
//! cargo build --release --example heap_scrape
//! symidx build target/release/examples/heap_scrape      # the index that the service finds
//! target/release/examples/heap_scrape --port 7777 &
//! curl -o heap.pb.gz localhost:7777/debug/heap-profile.pprof    # for pprof
//! curl localhost:7777/debug/heap-profile.folded                 # for flame graphs: live bytes
//! ```
//!
//! `--rival` symbolizes with the `backtrace` crate instead; the service says on
//! stderr what each scrape cost. Shared objects are named too once they have
//! indexes: `symidx build --store ~/.cache/symidx /lib/x86_64-linux-gnu/libc.so.6`.
#![allow(clippy::arithmetic_side_effects, clippy::as_conversions)]

#[path = "heap_scrape/http.rs"]
mod http;
#[path = "heap_scrape/profiler.rs"]
mod profiler;
#[path = "heap_scrape/scrape.rs"]
mod scrape;
#[path = "heap_scrape/work.rs"]
mod work;

use std::error::Error;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use scrape::{Kind, Scraper};

#[global_allocator]
static PROFILER: profiler::Profiler = profiler::Profiler::new();

const USAGE: &str = "usage: heap_scrape [--port N] [--rate BYTES] [--rival] [--once FILE]
  --port N       listen there (default 0: a free one, which is printed)
  --rate BYTES   mean number of bytes between two samples (default 524288)
  --rival        symbolize with the backtrace crate, to compare
  --once FILE    work for a moment, write one profile (FILE.folded: as text), exit";

struct Options {
    port: u16,
    rate: u64,
    rival: bool,
    once: Option<PathBuf>,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Self { port: 0, rate: 512 << 10, rival: false, once: None };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--port" => options.port = value()?.parse()?,
                "--rate" => options.rate = value()?.parse()?,
                "--rival" => options.rival = true,
                "--once" => options.once = Some(value()?.into()),
                other => return Err(format!("unknown option {other}\n{USAGE}").into()),
            }
        }
        Ok(options)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1))?;
    PROFILER.start(options.rate);
    let mut scraper = Scraper::new(options.rival);
    if let Some(file) = options.once {
        let cache = work::fill();
        let body = scraper.scrape(kind_of(&file))?;
        std::fs::write(&file, body)?;
        println!("{} entries cached", cache.len());
        return Ok(());
    }
    let listener = TcpListener::bind(("127.0.0.1", options.port))?;
    println!("http://{}/debug/heap-profile.pprof", listener.local_addr()?);
    let scraper = Arc::new(Mutex::new(scraper));
    std::thread::spawn(|| {
        loop {
            std::hint::black_box(work::fill());
        }
    });
    for connection in listener.incoming() {
        let scraper = scraper.clone();
        std::thread::spawn(move || {
            // One scrape at a time: they share a resolver.
            let scrape = |kind| scraper.lock().unwrap_or_else(PoisonError::into_inner).scrape(kind);
            if let Err(error) = connection.and_then(|stream| http::answer(&stream, scrape)) {
                eprintln!("a request: {error}");
            }
        });
    }
    Ok(())
}

fn kind_of(file: &Path) -> Kind {
    match file.extension().is_some_and(|extension| extension == "folded") {
        true => Kind::Folded,
        false => Kind::Pprof,
    }
}
