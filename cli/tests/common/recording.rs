//! Recordings of perf made by hand: the format that goes through pipes.
//!
//! In: who ran, what was mapped, where samples were taken. Out: bytes.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// `PERF_CONTEXT_USER`: the addresses behind it are the process's.
const USER: u64 = u64::MAX - 511;
/// A mapping's flag: its build-id follows.
const WITH_ID: u16 = 1 << 14;
/// User mode.
const IN_USER: u16 = 2;

/// A recording in the making. Samples have address, thread, time, chain and period.
pub(crate) struct Recording {
    bytes: Vec<u8>,
    time: u64,
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_le_bytes()).collect()
}

impl Recording {
    /// Nothing but the event: cpu-clock.
    pub(crate) fn new() -> Self {
        let mut attributes = vec![0; 136];
        let head = [words(&[1, 136]), longs(&[0, 1000, 0x127, 0, 1 << 18 | 1 << 9 | 1 << 8])];
        let head = head.concat();
        attributes[..head.len()].copy_from_slice(&head);
        let mut recording = Self { bytes: [b"PERFILE2".to_vec(), longs(&[16])].concat(), time: 1 };
        recording.event(64, 0, &[attributes, longs(&[0])].concat());
        recording
    }

    /// Any record.
    pub(crate) fn event(&mut self, kind: u32, flags: u16, body: &[u8]) {
        let length = u16::try_from(8 + body.len()).unwrap();
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(flags.to_le_bytes());
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend_from_slice(body);
    }

    fn who(&mut self, pid: u32) -> Vec<u8> {
        self.time += 1000;
        [words(&[pid, pid]), longs(&[self.time])].concat()
    }

    /// A process gets a name.
    pub(crate) fn comm(&mut self, pid: u32, name: &str) {
        let mut text = name.as_bytes().to_vec();
        text.resize((text.len() / 8 + 1) * 8, 0);
        let who = self.who(pid);
        self.event(3, 0, &[words(&[pid, pid]), text, who].concat());
    }

    /// A file is mapped executable: all of it from offset 0.
    pub(crate) fn map(&mut self, pid: u32, start: u64, file: &Path, id: Option<&[u8]>) {
        self.map_name(pid, start, 0x1_0000, file.as_os_str().as_bytes(), id);
    }

    /// Something is mapped executable.
    pub(crate) fn map_name(
        &mut self,
        pid: u32,
        start: u64,
        length: u64,
        name: &[u8],
        id: Option<&[u8]>,
    ) {
        let mut name = name.to_vec();
        name.resize((name.len() / 8 + 1) * 8, 0);
        let mut identity = vec![0; 24];
        if let Some(id) = id {
            identity[0] = u8::try_from(id.len()).unwrap();
            identity[4..4 + id.len()].copy_from_slice(id);
        }
        let map = [words(&[pid, pid]), longs(&[start, length, 0]), identity, words(&[5, 2])];
        let flags = IN_USER | if id.is_some() { WITH_ID } else { 0 };
        let who = self.who(pid);
        self.event(10, flags, &[map.concat(), name, who].concat());
    }

    /// A sample with its chain, innermost first.
    pub(crate) fn sample(&mut self, pid: u32, chain: &[u64]) {
        let who = self.who(pid);
        let depth = u64::try_from(chain.len() + 1).unwrap();
        let body = [longs(&chain[..1]), who, longs(&[1000, depth, USER]), longs(chain)].concat();
        self.event(9, IN_USER, &body);
    }

    /// No record behind this is earlier than those in front of the mark before.
    pub(crate) fn round(&mut self) {
        self.event(68, 0, &[]);
    }

    /// The bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.round();
        self.bytes
    }
}
