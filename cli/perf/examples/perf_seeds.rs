//! Small recordings for the fuzz target: `perf_seeds DIR`.
//!
//! Out: a file, a pipe, compressed records, and the other byte order, each with the
//! kernel, a module, two processes and chains.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{
    CALLCHAIN, CONTEXT_KERNEL, CONTEXT_USER, EXIT, FORK, IP_TID_TIME, KERNEL, PERIOD, Recording,
    USER,
};

fn recording(big: bool, fields: u64) -> Recording {
    let mut recording = Recording::new(fields);
    recording.big = big;
    recording.ids.push((USER, b"/bin/first".to_vec(), [7; 20]));
    let kernel = 0xffff_ffff_8100_0000;
    recording.kernel(kernel, 0x1000, kernel, "[kernel.kallsyms]_text");
    recording.kernel(0xffff_ffff_c000_0000, 0x1000, 0, "[nf_tables]");
    recording.comm(10, 0, "first", false);
    recording.mmap(10, 0, 0x40_0000, 0x1000, 0x2000, "/bin/first");
    recording.sample(USER, 10, 105, 0x40_0010, &[CONTEXT_USER, 0x40_0010, 0x40_0020]);
    recording.round();
    recording.task(FORK, 11, 10, 110);
    recording.mmap(11, 113, 0x40_0800, 0x800, 0, "//anon");
    recording.sample(KERNEL, 11, 114, kernel, &[CONTEXT_KERNEL, kernel, CONTEXT_USER, 0x40_0900]);
    recording.round();
    recording.task(EXIT, 11, 10, 120);
    recording.sample(USER, 11, 103, 0x40_0900, &[0x40_0900]);
    recording
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).ok_or("usage: perf_seeds DIR")?;
    let directory = std::path::PathBuf::from(directory);
    std::fs::create_dir_all(&directory)?;
    let chains = IP_TID_TIME | PERIOD | CALLCHAIN;
    for (name, bytes) in [
        ("file", recording(false, chains).file()),
        ("pipe", recording(false, chains).pipe()),
        ("big", recording(true, chains).file()),
        ("alone", recording(false, IP_TID_TIME).pipe()),
        ("packed", recording(false, chains).compressed(50).file()),
    ] {
        std::fs::write(directory.join(name), bytes)?;
    }
    Ok(())
}
