//! Recordings made by hand: each record is written out, field by field.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "each test uses a part of it, and one that goes wrong should stop"
)]

use std::io::Cursor;

use symidx_perf::{Reader, Session};

/// `perf_event_attr.sample_type`.
pub(crate) const IP_TID_TIME: u64 = 0x7;
pub(crate) const CALLCHAIN: u64 = 0x20;
pub(crate) const PERIOD: u64 = 0x100;
pub(crate) const IDENTIFIER: u64 = 0x1_0000;

/// Kinds of records.
pub(crate) const MMAP: u32 = 1;
pub(crate) const COMM: u32 = 3;
pub(crate) const EXIT: u32 = 4;
pub(crate) const FORK: u32 = 7;
pub(crate) const SAMPLE: u32 = 9;
pub(crate) const MMAP2: u32 = 10;
pub(crate) const ROUND: u32 = 68;

/// `header.misc`.
pub(crate) const KERNEL: u16 = 1;
pub(crate) const USER: u16 = 2;
pub(crate) const GUEST: u16 = 4;
pub(crate) const GUEST_USER: u16 = 5;

/// Marks in chains.
pub(crate) const CONTEXT_KERNEL: u64 = u64::MAX - 127;
pub(crate) const CONTEXT_USER: u64 = u64::MAX - 511;

/// A recording in the making.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) big: bool,
    pub(crate) fields: u64,
    pub(crate) records: Vec<Vec<u8>>,
    /// Build-ids by path.
    pub(crate) ids: Vec<(u16, Vec<u8>, [u8; 20])>,
}

impl Recording {
    pub(crate) fn new(fields: u64) -> Self {
        Self { big: false, fields, records: Vec::new(), ids: Vec::new() }
    }

    pub(crate) fn u16(&self, value: u16) -> Vec<u8> {
        if self.big { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    }

    pub(crate) fn u32(&self, value: u32) -> Vec<u8> {
        if self.big { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    }

    pub(crate) fn u64(&self, value: u64) -> Vec<u8> {
        if self.big { value.to_be_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    }

    pub(crate) fn record(&self, kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let size = u16::try_from(body.len() + 8).unwrap();
        [self.u32(kind), self.u16(misc), self.u16(size), body.to_vec()].concat()
    }

    pub(crate) fn add(&mut self, kind: u32, misc: u16, body: &[u8]) {
        self.records.push(self.record(kind, misc, body));
    }

    /// Process, thread and time behind records that are no samples.
    fn id(&self, pid: u32, time: u64) -> Vec<u8> {
        [self.u32(pid), self.u32(pid), self.u64(time)].concat()
    }

    pub(crate) fn sample(&mut self, misc: u16, pid: u32, time: u64, ip: u64, chain: &[u64]) {
        let mut body = [self.u64(ip), self.u32(pid), self.u32(pid), self.u64(time)].concat();
        if self.fields & PERIOD != 0 {
            body.extend(self.u64(4000));
        }
        if self.fields & CALLCHAIN != 0 {
            body.extend(self.u64(u64::try_from(chain.len()).unwrap()));
            chain.iter().for_each(|&entry| body.extend(self.u64(entry)));
        }
        self.add(SAMPLE, misc, &body);
    }

    pub(crate) fn comm(&mut self, pid: u32, time: u64, name: &str, exec: bool) {
        let body = [self.u32(pid), self.u32(pid), padded(name.as_bytes()), self.id(pid, time)];
        self.add(COMM, if exec { 1 << 13 } else { 0 }, &body.concat());
    }

    pub(crate) fn task(&mut self, kind: u32, pid: u32, parent: u32, time: u64) {
        let numbers = [pid, parent, pid, parent].map(|number| self.u32(number)).concat();
        let body = [numbers, self.u64(time), self.id(pid, time)].concat();
        self.add(kind, 0, &body);
    }

    pub(crate) fn mmap(
        &mut self,
        pid: u32,
        time: u64,
        start: u64,
        length: u64,
        offset: u64,
        name: &str,
    ) {
        let places = [start, length, offset].map(|number| self.u64(number)).concat();
        let flags = [self.u32(5), self.u32(2)].concat();
        let head = [self.u32(pid), self.u32(pid), places].concat();
        let body = [head, vec![0; 24], flags, padded(name.as_bytes()), self.id(pid, time)];
        self.add(MMAP2, USER, &body.concat());
    }

    pub(crate) fn kernel(&mut self, start: u64, length: u64, offset: u64, name: &str) {
        let places = [start, length, offset].map(|number| self.u64(number)).concat();
        let head = [self.u32(u32::MAX), self.u32(0), places].concat();
        let body = [head, padded(name.as_bytes()), self.id(0, 0)].concat();
        self.add(MMAP, KERNEL, &body);
    }

    /// A mapping in a guest.
    pub(crate) fn guest_mmap(&mut self, pid: u32, time: u64, start: u64, length: u64, name: &str) {
        let places = [start, length, 0].map(|number| self.u64(number)).concat();
        let head = [self.u32(pid), self.u32(pid), places].concat();
        let body = [head, padded(name.as_bytes()), self.id(pid, time)].concat();
        self.add(MMAP, GUEST_USER, &body);
    }

    pub(crate) fn round(&mut self) {
        self.add(ROUND, 0, &[]);
    }

    pub(crate) fn attr(&self) -> Vec<u8> {
        // sample_id_all, the 18th flag from the machine's own end.
        let flags = if self.big { (1u64 << 18).reverse_bits() } else { 1 << 18 };
        let head = [self.u32(1), self.u32(64)].concat();
        let words = [0, 4000, self.fields, 0, flags, 0, 0].map(|word| self.u64(word)).concat();
        [head, words].concat()
    }

    fn magic(&self) -> Vec<u8> {
        if self.big { b"2ELIFREP".to_vec() } else { b"PERFILE2".to_vec() }
    }

    /// As `perf record -o -` writes it.
    pub(crate) fn pipe(&self) -> Vec<u8> {
        let start = [self.magic(), self.u64(16)].concat();
        let attr = self.record(64, 0, &[self.attr(), self.u64(0)].concat());
        let ids =
            self.ids.iter().map(|(misc, path, id)| self.record(67, *misc, &self.id_body(path, id)));
        [start, attr, ids.collect::<Vec<_>>().concat(), self.records.concat()].concat()
    }

    fn id_body(&self, path: &[u8], id: &[u8; 20]) -> Vec<u8> {
        [self.u32(0), id.to_vec(), vec![20, 0, 0, 0], padded(path)].concat()
    }

    /// As `perf record` writes it.
    pub(crate) fn file(&self) -> Vec<u8> {
        let data = self.records.concat();
        let length = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap();
        let attr = self.attr();
        let each = length(&attr) + 16;
        let (attrs_at, ids_at) = (104, 104 + each);
        let data_at = ids_at + 8;
        let features = if self.ids.is_empty() { 0 } else { 1 << 2 };
        let numbers = [104, each, attrs_at, each, data_at, length(&data), 0, 0, features, 0, 0, 0];
        let mut bytes = self.magic();
        numbers.iter().for_each(|&number| bytes.extend(self.u64(number)));
        bytes.extend([attr, self.u64(ids_at), self.u64(8), self.u64(77)].concat());
        assert_eq!(length(&bytes), data_at);
        bytes.extend(&data);
        if features != 0 {
            let table: Vec<u8> = self
                .ids
                .iter()
                .flat_map(|(misc, path, id)| {
                    let body = self.id_body(path, id);
                    [
                        self.u32(67),
                        self.u16(*misc),
                        self.u16(u16::try_from(body.len() + 8).unwrap()),
                        body,
                    ]
                    .concat()
                })
                .collect();
            let at = length(&bytes) + 16;
            bytes.extend([self.u64(at), self.u64(length(&table)), table].concat());
        }
        bytes
    }

    /// The same with every record compressed, cut into pieces without regard to records.
    pub(crate) fn compressed(&self, piece: usize) -> Self {
        let mut packed = vec![0; 1 << 20];
        let data = self.records.concat();
        let size = zstd_safe::compress(packed.as_mut_slice(), &data, 1).unwrap();
        let mut all = Self { records: Vec::new(), ..self.clone() };
        for piece in packed[..size].chunks(piece) {
            all.add(81, 0, piece);
        }
        all
    }
}

/// With a NUL at least, up to eight bytes.
pub(crate) fn padded(text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

pub(crate) fn session(bytes: &[u8]) -> Option<Session> {
    Reader::from_stream(Cursor::new(bytes.to_vec())).ok().map(Session::new)
}

/// One line a sample: thread, its name, time, and every address with its DSO and key.
pub(crate) fn lines(bytes: &[u8]) -> Vec<String> {
    session(bytes).map(|mut session| lines_of(&mut session)).unwrap_or_default()
}

pub(crate) fn lines_of(session: &mut Session) -> Vec<String> {
    let mut lines = Vec::new();
    while session.next_sample().unwrap() {
        let located = session.sample().unwrap();
        let comm = located.comm().map(|comm| String::from_utf8_lossy(comm).into_owned());
        let comm = comm.unwrap_or_else(|| format!(":{}", located.sample.tid));
        let mut line =
            format!("{comm} {} {}", located.sample.tid, located.sample.time.unwrap_or(0));
        for (ip, place) in located.frames(127) {
            let place = place.map(|place| {
                let dso = located.dso(place.dso).unwrap();
                format!("{}+{:x}", String::from_utf8_lossy(&dso.name), place.address)
            });
            line += &format!(" {ip:x}={}", place.as_deref().unwrap_or("?"));
        }
        lines.push(line);
    }
    lines
}
