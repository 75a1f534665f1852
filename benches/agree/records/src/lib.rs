//! Every record of a recording, read twice: by symidx-perf and by linux-perf-data.
//!
//! In: the bytes of a `perf.data`. Out: what differs, one line each, and how many records
//! agree. A record is one line of text with all the fields that both readers have.

use std::io::Cursor;

use linux_perf_data::linux_perf_event_reader::{
    EventRecord, Mmap2FileId, RawEventRecord, RecordType, SamplingPolicy,
};
use linux_perf_data::{DsoKey, PerfFile, PerfFileReader, PerfFileRecord, PerfRecordIter};
use symidx_perf::{Endianness, Reader, Record};

/// What came of reading a recording twice.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Records that both readers have, equal in every field.
    pub same: usize,
    /// Records of one time that the readers give out in another order.
    pub reordered: usize,
    /// Build-ids of the table that are the same.
    pub build_ids: usize,
    /// What differs.
    pub differences: Vec<String>,
}

/// The records as symidx-perf reads them, and the build-ids of the header.
pub fn ours(bytes: Vec<u8>) -> Result<(Vec<String>, Reader), String> {
    let mut reader = Reader::from_stream(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    while let Some(record) = reader.next_record().map_err(|error| error.to_string())? {
        lines.push(line_of(&record));
    }
    Ok((lines, reader))
}

fn line_of(record: &Record<'_>) -> String {
    match record {
        Record::Sample(s) => {
            let chain: Option<Vec<u64>> = s.chain.map(|chain| chain.entries().collect());
            sample((s.event, s.time), (s.pid, s.tid), s.ip, s.period, s.cpu, s.mode, chain)
        }
        Record::Mmap(m) => {
            let id = m.build_id.map(|id| id.to_string()).unwrap_or_default();
            let place = (m.start, m.length, m.offset);
            mapping((m.pid, m.tid), place, m.name, m.mode, (m.execute, m.huge), &id)
        }
        Record::Comm(c) => format!("comm {} {} {} {}", c.pid, c.tid, c.name.escape_ascii(), c.exec),
        Record::Fork(t) => task("fork", t.pid, t.tid, t.parent_pid, t.parent_tid),
        Record::Exit(t) => task("exit", t.pid, t.tid, t.parent_pid, t.parent_tid),
        Record::Ksymbol(k) => {
            format!("ksymbol {:x} {} {} {}", k.start, k.length, k.removed, k.name.escape_ascii())
        }
        Record::Lost(count) => format!("lost {count}"),
        Record::Other(kind) => format!("other {kind}"),
        _ => "a kind unknown here".to_owned(),
    }
}

fn sample(
    (event, time): (usize, Option<u64>),
    (pid, tid): (i32, i32),
    ip: u64,
    period: u64,
    cpu: Option<u32>,
    mode: impl std::fmt::Debug,
    chain: Option<Vec<u64>>,
) -> String {
    format!("sample {event} {time:?} {pid} {tid} {ip:x} {period} {cpu:?} {mode:?} {chain:x?}")
}

fn mapping(
    (pid, tid): (i32, i32),
    (start, length, offset): (u64, u64, u64),
    name: &[u8],
    mode: impl std::fmt::Debug,
    (execute, huge): (bool, bool),
    id: &str,
) -> String {
    let name = name.escape_ascii();
    format!(
        "mmap {pid} {tid} {start:x} {length:x} {offset:x} {name} {mode:?} x={execute} huge={huge} id={id}"
    )
}

fn task(kind: &str, pid: i32, tid: i32, parent_pid: i32, parent_tid: i32) -> String {
    format!("{kind} {pid} {tid} of {parent_pid} {parent_tid}")
}

/// The records as linux-perf-data reads them, each with its time.
pub fn theirs(bytes: &[u8]) -> Result<(Vec<(u64, String)>, PerfFile), String> {
    let failed = |error: linux_perf_data::Error| error.to_string();
    // The size of its header: 16 says that it was written to a pipe.
    match bytes.get(8..16) {
        Some([16, 0, 0, 0, 0, 0, 0, 0] | [0, 0, 0, 0, 0, 0, 0, 16]) => {
            let reader = PerfFileReader::parse_pipe(bytes).map_err(failed)?;
            all(reader.perf_file, reader.record_iter)
        }
        _ => {
            let reader = PerfFileReader::parse_file(Cursor::new(bytes)).map_err(failed)?;
            all(reader.perf_file, reader.record_iter)
        }
    }
}

fn all<R: std::io::Read>(
    mut file: PerfFile,
    mut records: PerfRecordIter<R>,
) -> Result<(Vec<(u64, String)>, PerfFile), String> {
    let periods: Vec<u64> = file
        .event_attributes()
        .iter()
        .map(|event| match event.attr.sampling_policy {
            SamplingPolicy::Period(period) => period.get(),
            SamplingPolicy::Frequency(frequency) => frequency,
            SamplingPolicy::NoSampling => 0,
        })
        .collect();
    let mut lines = Vec::new();
    while let Some(record) = records.next_record(&mut file).map_err(|error| error.to_string())? {
        let PerfFileRecord::EventRecord { attr_index, record } = record else { continue };
        let time = record.timestamp().unwrap_or(0);
        let period = periods.get(attr_index).copied().unwrap_or(0);
        let line = their_line(attr_index, &record, period).map_err(|error| error.to_string())?;
        lines.push((time, line));
    }
    Ok((lines, file))
}

fn their_line(
    event: usize,
    raw: &RawEventRecord<'_>,
    period: u64,
) -> Result<String, std::io::Error> {
    Ok(match raw.parse()? {
        EventRecord::Sample(s) => {
            let chain =
                s.callchain.map(|chain| (0..chain.len()).filter_map(|at| chain.get(at)).collect());
            let who = (s.pid.unwrap_or(-1), s.tid.unwrap_or(-1));
            let (ip, period) = (s.ip.unwrap_or(0), s.period.unwrap_or(period));
            sample((event, s.timestamp), who, ip, period, s.cpu, s.cpu_mode, chain)
        }
        EventRecord::Mmap(m) => {
            let place = (m.address, m.length, m.page_offset);
            let how = (m.is_executable, false);
            mapping((m.pid, m.tid), place, &m.path.as_slice(), m.cpu_mode, how, "")
        }
        EventRecord::Mmap2(m) => {
            let id: String = match &m.file_id {
                Mmap2FileId::BuildId(id) => id.iter().map(|byte| format!("{byte:02x}")).collect(),
                Mmap2FileId::InodeAndVersion(_) => String::new(),
            };
            let place = (m.address, m.length, m.page_offset);
            let how = (m.protection & 4 != 0, m.flags & 0x4_0000 != 0);
            mapping((m.pid, m.tid), place, &m.path.as_slice(), m.cpu_mode, how, &id)
        }
        EventRecord::Comm(c) => {
            format!("comm {} {} {} {}", c.pid, c.tid, c.name.as_slice().escape_ascii(), c.is_execve)
        }
        EventRecord::Fork(t) => task("fork", t.pid, t.tid, t.ppid, t.ptid),
        EventRecord::Exit(t) => task("exit", t.pid, t.tid, t.ppid, t.ptid),
        EventRecord::Lost(lost) => format!("lost {}", lost.count),
        // It has no parser for this kind.
        EventRecord::Raw(raw) if raw.record_type == RecordType::KSYMBOL => ksymbol(&raw),
        _ => format!("other {}", raw.record_type.0),
    })
}

fn ksymbol(raw: &RawEventRecord<'_>) -> String {
    let body = raw.data.as_slice();
    let number = |at: usize, bytes: usize| {
        let bytes = body.get(at..at + bytes).unwrap_or(&[]).iter();
        let digit = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
        match raw.parse_info.endian {
            Endianness::LittleEndian => bytes.rev().fold(0, digit),
            Endianness::BigEndian => bytes.fold(0, digit),
        }
    };
    let name = body.get(16..).unwrap_or(&[]);
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    let removed = number(14, 2) & 1 != 0;
    format!("ksymbol {:x} {} {removed} {}", number(0, 8), number(8, 4), name[..end].escape_ascii())
}

/// Reads a recording with both.
pub fn compare(bytes: &[u8]) -> Result<Comparison, String> {
    let (ours, reader) = ours(bytes.to_vec())?;
    let (theirs, file) = theirs(bytes)?;
    let mut found = Comparison::default();
    if ours.len() != theirs.len() {
        let (ours, theirs) = (ours.len(), theirs.len());
        found.differences.push(format!("{ours} records by symidx, {theirs} by linux-perf-data"));
    }
    let mut rest = ours.as_slice();
    // Records of one time have no order: the readers may give them out in any.
    for group in theirs.chunk_by(|(one, _), (other, _)| one == other) {
        let (mine, after) = rest.split_at(group.len().min(rest.len()));
        rest = after;
        let mut mine: Vec<&str> = mine.iter().map(String::as_str).collect();
        let mut other: Vec<&str> = group.iter().map(|(_, line)| line.as_str()).collect();
        if mine != other {
            found.reordered += mine.iter().zip(&other).filter(|(one, two)| one != two).count();
            mine.sort_unstable();
            other.sort_unstable();
        }
        for at in 0..other.len().max(mine.len()) {
            match (mine.get(at), other.get(at)) {
                (Some(one), Some(two)) if one == two => found.same += 1,
                (one, two) => {
                    found.differences.push(format!("symidx: {one:?}, linux-perf-data: {two:?}"))
                }
            }
        }
    }
    let table = file.build_ids().map_err(|error| error.to_string())?;
    for id in &reader.header().build_ids {
        let key = DsoKey::detect(&id.path, id.mode);
        let Some(other) = key.and_then(|key| table.get(&key)) else { continue };
        let name = id.path.escape_ascii();
        match other.path == id.path && other.build_id == id.build_id.as_bytes() {
            true => found.build_ids += 1,
            false => {
                found.differences.push(format!("build-id of {name}: {}, {other:?}", id.build_id))
            }
        }
    }
    Ok(found)
}
