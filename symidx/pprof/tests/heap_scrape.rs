//! The example `heap_scrape`, run as a user runs it: its profile says what it
//! holds, and by whom.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::arithmetic_side_effects
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use symidx_indexer::{BuildOptions, build_file};
use symidx_pprof::{Limits, Profile};

/// What the service keeps: see the example's `work`.
const KEPT: f64 = (48u64 << 20) as f64;

/// The example, which cargo builds with the tests of this package (not with
/// `--test heap_scrape` alone).
fn example() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.push("examples/heap_scrape");
    assert!(path.is_file(), "expected the example; build it: cargo build --example heap_scrape");
    path
}

/// A store with an index of the example: by its build-id, or by the link that
/// is named by the file where it has none.
fn store(directory: &Path) {
    let built = directory.join("built.symidx");
    build_file(&example(), &built, &BuildOptions::default()).unwrap();
    let index = symidx::Index::read(&built).unwrap();
    let place = match index.build_id() {
        Some(id) => {
            let id = symidx_indexer::hex(id);
            directory.join(".build-id").join(&id[..2]).join(format!("{}.symidx", &id[2..]))
        }
        None => {
            let stat = example().metadata().unwrap();
            let nanoseconds = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
            directory.join(".by-file").join(format!(
                "{:x}-{:x}-{:x}-{:x}-{:x}",
                stat.dev(),
                stat.ino(),
                stat.size(),
                nanoseconds(stat.mtime(), stat.mtime_nsec()),
                nanoseconds(stat.ctime(), stat.ctime_nsec())
            ))
        }
    };
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::rename(built, place).unwrap();
}

fn command(store: &Path) -> Command {
    let mut command = Command::new(example());
    command.env("SYMIDX_PATH", store).args(["--rate", "65536"]);
    command
}

/// One profile, and what the service said of it.
fn once(store: &Path, more: &[&str]) -> (Profile, String) {
    let file = store.join("profile.pb.gz");
    let output = command(store).arg("--once").arg(&file).args(more).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let (profile, damage) =
        Profile::read(std::fs::File::open(file).unwrap(), Limits::default()).unwrap();
    assert!(damage.is_none(), "{damage:?}");
    (profile, said)
}

/// The sum of the folded stacks that a function is in.
fn sum(folded: &BTreeMap<String, i64>, function: &str) -> f64 {
    let stacks = folded.iter().filter(|(stack, _)| stack.split(';').any(|f| f.contains(function)));
    stacks.map(|(_, value)| *value as f64).sum()
}

#[test]
fn a_scrape_says_who_holds_what() {
    let directory = tempfile::tempdir().unwrap();
    store(directory.path());
    let (profile, said) = once(directory.path(), &[]);
    let types: Vec<&str> = profile.sample_types.iter().map(|v| profile.text(v.r#type)).collect();
    assert_eq!(types, ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]);
    assert_eq!(profile.period, 65536);
    assert!(profile.mappings[0].has_functions, "{said}");

    // 64 KiB between samples: some 800 samples of what is held, so within a
    // tenth six times in a thousand; a quarter is seven times as wide.
    let live = profile.folded(3, |_| false);
    let held = sum(&live, "work::document");
    assert!((held - KEPT).abs() < KEPT / 4.0, "{held} of {KEPT}");
    // What was parsed was dropped again.
    let parsed = sum(&profile.folded(1, |_| false), "work::parse");
    assert!(parsed > 1e6 && sum(&live, "work::parse") < parsed / 10.0, "{parsed}");
    // 6,000 objects of eight sizes, most of them small.
    let objects = sum(&profile.folded(2, |_| false), "work::document");
    assert!(objects > 500.0 && objects < 5000.0, "{objects}");
    let main = sum(&live, "heap_scrape::main");
    assert!(main >= held);

    // Naming took no heap: the service measures that itself.
    assert!(said.starts_with("symidx: ") && said.contains(" 0 bytes of heap"), "{said}");
}

#[test]
fn backtrace_gives_the_same_names() {
    let directory = tempfile::tempdir().unwrap();
    store(directory.path());
    let names = |profile: &Profile| -> BTreeSet<String> {
        let names = profile.functions.iter().map(|f| profile.text(f.system_name).to_owned());
        names.filter(|name| name.contains("heap_scrape")).collect()
    };
    let ours = names(&once(directory.path(), &[]).0);
    let (profile, said) = once(directory.path(), &["--rival"]);
    let theirs = names(&profile);
    assert!(said.starts_with("backtrace: ") && !said.contains(" 0 bytes of heap"), "{said}");
    // Which allocations are sampled differs from run to run.
    let common = ours.intersection(&theirs).count();
    assert!(common >= 3, "{ours:?}\n{theirs:?}");
}

/// Ends the service with the test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn get(address: &str, request: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(response[..end].to_vec()).unwrap();
    (head, response.split_off(end + 4))
}

#[test]
fn the_service_answers_scrapes() {
    let directory = tempfile::tempdir().unwrap();
    store(directory.path());
    let mut command = command(directory.path());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut service = Service(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(service.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/debug/heap-profile.pprof").unwrap().to_owned();

    let start = Instant::now();
    let folded = loop {
        let (head, body) = get(&address, "GET /debug/heap-profile.folded");
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        let folded = String::from_utf8(body).unwrap();
        // The first samples may be of the service's start.
        if folded.contains("heap_scrape::work::fill") || start.elapsed().as_secs() > 60 {
            break folded;
        }
    };
    assert!(folded.lines().all(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().is_ok()));
    assert!(folded.contains("heap_scrape::work::fill"), "{folded}");
    let (head, body) = get(&address, "GET /debug/heap-profile.pprof?seconds=1");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    let (profile, _) = Profile::read(body.as_slice(), Limits::default()).unwrap();
    assert!(!profile.samples.is_empty());
    assert!(get(&address, "GET /").0.starts_with("HTTP/1.1 404"));
    assert!(get(&address, "POST /debug/heap-profile.pprof").0.starts_with("HTTP/1.1 405"));
}
