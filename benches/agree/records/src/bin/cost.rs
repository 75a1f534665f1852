//! What reading a recording costs: every record and every field that naming samples needs,
//! nothing kept. One line of JSON with the outcome, the time and the memory of the process.
//!
//! usage: cost symidx|linux-perf-data PERF.DATA      (Linux)

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use linux_perf_data::linux_perf_event_reader::EventRecord;
use linux_perf_data::{PerfFile, PerfFileReader, PerfFileRecord, PerfRecordIter};
use symidx_perf::{Reader, Record};

/// Records, samples and frames; what was not read of the recording.
#[derive(Default)]
struct Counts {
    records: u64,
    samples: u64,
    frames: u64,
    said: String,
}

fn ours(path: &Path) -> Result<Counts, String> {
    let mut reader = Reader::open(path).map_err(|error| error.to_string())?;
    let mut counts = Counts::default();
    while let Some(record) = reader.next_record().map_err(|error| error.to_string())? {
        counts.records += 1;
        if let Record::Sample(sample) = record {
            counts.samples += 1;
            counts.frames += sample.chain.map_or(0, |chain| chain.entries().count()) as u64;
        }
    }
    counts.said = reader.damage().lines().join("; ");
    Ok(counts)
}

fn theirs(path: &Path) -> Result<Counts, (Counts, String)> {
    let none = |error: &dyn std::fmt::Display| (Counts::default(), error.to_string());
    let open = || File::open(path).map_err(|error| none(&error));
    let mut head = [0; 16];
    std::io::Read::read(&mut open()?, &mut head).map_err(|error| none(&error))?;
    let input = BufReader::new(open()?);
    // The size of its header: 16 says that it was written to a pipe.
    if matches!(&head[8..], [16, 0, 0, 0, 0, 0, 0, 0] | [0, 0, 0, 0, 0, 0, 0, 16]) {
        let reader = PerfFileReader::parse_pipe(input).map_err(|error| none(&error))?;
        return all(reader.perf_file, reader.record_iter);
    }
    let reader = PerfFileReader::parse_file(input).map_err(|error| none(&error))?;
    all(reader.perf_file, reader.record_iter)
}

fn all<R: std::io::Read>(
    mut file: PerfFile,
    mut records: PerfRecordIter<R>,
) -> Result<Counts, (Counts, String)> {
    let mut counts = Counts::default();
    loop {
        let record = match records.next_record(&mut file) {
            Ok(Some(PerfFileRecord::EventRecord { record, .. })) => record,
            Ok(Some(_)) => continue,
            Ok(None) => return Ok(counts),
            Err(error) => return Err((counts, error.to_string())),
        };
        counts.records += 1;
        if let Ok(EventRecord::Sample(sample)) = record.parse() {
            counts.samples += 1;
            let chain = sample.callchain.iter();
            let entries = chain.flat_map(|chain| (0..chain.len()).filter_map(|at| chain.get(at)));
            counts.frames += entries.count() as u64;
        }
    }
}

/// A number of `/proc/self/status`, in bytes.
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, who, path] = arguments.as_slice() else {
        eprintln!("usage: cost symidx|linux-perf-data PERF.DATA");
        std::process::exit(2);
    };
    let (most, done) = (&AtomicU64::new(0), &AtomicBool::new(false));
    let (counts, error, seconds) = std::thread::scope(|scope| {
        scope.spawn(move || {
            while !done.load(Relaxed) {
                most.fetch_max(status("RssAnon"), Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let start = Instant::now();
        let read = match who.as_str() {
            "symidx" => ours(Path::new(path)).map_err(|error| (Counts::default(), error)),
            _ => theirs(Path::new(path)),
        };
        let seconds = start.elapsed().as_secs_f64();
        done.store(true, Relaxed);
        match read {
            Ok(counts) => (counts, String::new(), seconds),
            Err((counts, error)) => (counts, error, seconds),
        }
    });
    let most = most.load(Relaxed).max(status("RssAnon"));
    println!(
        "{{\"records\":{},\"samples\":{},\"frames\":{},\"seconds\":{seconds:.4},\"anon\":{most},\"rss\":{},\"asked\":{},\"said\":{:?},\"error\":{error:?}}}",
        counts.records,
        counts.samples,
        counts.frames,
        status("VmHWM"),
        status("VmPeak"),
        counts.said,
    );
}
