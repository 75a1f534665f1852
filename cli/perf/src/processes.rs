//! Processes and threads as they were at each moment: records in, names and mappings out.
//!
//! Follows perf: a thread by its id, mappings by process, the kernel's apart. Dead
//! threads are kept for a while, since a thread is still seen running after the
//! record of its end; what is kept is bounded.

use std::collections::{HashMap, VecDeque};

use linux_perf_event_reader::CpuMode;

use crate::dsos::{DsoId, DsoKind, Dsos};
use crate::header::Header;
use crate::maps::{Map, Maps};
use crate::record::{Comm, Ksymbol, Mmap, Task};

/// Threads that have ended and are still known.
const MOST_DEAD: usize = 256;
/// Threads in all, and processes; beyond it those of the processes longest unused go. As
/// many as hash tables of 2^14 places hold: with one more they double.
const MOST_THREADS: usize = (1 << 14) - (1 << 11);
/// Mappings of processes in all; beyond it those of the processes longest unused go. A list
/// of them takes the memory of so many more.
const MOST_MAPS: usize = 1 << 15;
const LIST: usize = 2;
/// Mappings of the kernel; beyond it there are no new ones.
const MOST_KERNEL: usize = 1 << 15;
/// A name of a thread is no longer in any kernel.
const LONGEST_COMM: usize = 64;

#[derive(Debug)]
struct Thread {
    pid: i32,
    /// Which of the ends it was; 0: it lives.
    ended: u32,
    comm: Name,
}

/// A thread's name. Those of Linux have 15 bytes at most.
#[derive(Clone, Debug, Default)]
enum Name {
    /// It has none; perf shows `:TID`.
    #[default]
    None,
    Short(u8, [u8; 15]),
    Long(Box<[u8]>),
}

impl Name {
    fn new(bytes: &[u8]) -> Self {
        let mut room = [0; 15];
        match (u8::try_from(bytes.len()), room.get_mut(..bytes.len())) {
            (Ok(length), Some(part)) => {
                part.copy_from_slice(bytes);
                Self::Short(length, room)
            }
            _ => Self::Long(bytes.into()),
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::None => None,
            Self::Short(length, room) => room.get(..usize::from(*length)),
            Self::Long(bytes) => Some(bytes),
        }
    }
}

#[derive(Debug, Default)]
struct Process {
    maps: Maps,
    /// Threads in the table.
    threads: u32,
    /// When it was last looked at, in records.
    used: u64,
}

/// Where the kernel lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelBase {
    /// A symbol, mostly `_text` or `_stext`.
    pub(crate) symbol: Vec<u8>,
    /// Its run-time address; 0 = not known (`kptr_restrict`).
    pub(crate) address: u64,
}

/// Everything alive.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    threads: HashMap<i32, Thread>,
    processes: HashMap<i32, Process>,
    kernel: Maps,
    base: Option<KernelBase>,
    dead: VecDeque<(i32, u32)>,
    /// Ends of threads so far, but for 0.
    ends: u32,
    /// Mappings of processes; shared ones count once at least.
    maps: usize,
    /// Records so far.
    now: u64,
    /// How often something alive had to be forgotten.
    pub(crate) forgotten: u64,
}

impl Processes {
    /// The name of a thread; `None` when it has none: perf shows `:TID` then.
    pub(crate) fn comm(&self, tid: i32) -> Option<&[u8]> {
        match self.threads.get(&tid).and_then(|thread| thread.comm.bytes()) {
            // The idle thread of each processor needs no record.
            None if tid == 0 => Some(b"swapper"),
            comm => comm,
        }
    }

    pub(crate) fn kernel_base(&self) -> Option<&KernelBase> {
        self.base.as_ref()
    }

    pub(crate) fn kernel(&self) -> &Maps {
        &self.kernel
    }

    /// The mappings of the process that a thread is in.
    pub(crate) fn user(&self, pid: i32, tid: i32) -> Option<&Maps> {
        let pid = self.threads.get(&tid).map_or(pid, |thread| thread.pid);
        self.processes.get(&pid).map(|process| &process.maps)
    }

    /// Notes that a thread was seen, as perf does with every sample.
    pub(crate) fn seen(&mut self, pid: i32, tid: i32) {
        self.now = self.now.saturating_add(1);
        let pid = self.thread(pid, tid).pid;
        let now = self.now;
        if let Some(process) = self.processes.get_mut(&pid) {
            process.used = now;
        }
    }

    fn thread(&mut self, pid: i32, tid: i32) -> &mut Thread {
        if !self.threads.contains_key(&tid) {
            if self.threads.len().max(self.processes.len()) >= MOST_THREADS {
                self.forget_threads();
            }
            let pid = if pid == -1 { tid } else { pid };
            let process = self.processes.entry(pid).or_default();
            process.threads = process.threads.saturating_add(1);
            process.used = self.now;
        }
        self.threads.entry(tid).or_insert(Thread { pid, comm: Name::None, ended: 0 })
    }

    pub(crate) fn comm_record(&mut self, record: &Comm<'_>) {
        self.now = self.now.saturating_add(1);
        let name = record.name.get(..LONGEST_COMM).unwrap_or(record.name);
        let thread = self.thread(record.pid, record.tid);
        thread.comm = Name::new(name);
        thread.ended = 0;
        // After an exec the old mappings stay, as in perf: a thread is seen once more
        // with the stack of the call, and the new program's mappings replace them.
    }

    pub(crate) fn fork(&mut self, record: &Task) {
        self.now = self.now.saturating_add(1);
        // A thread of that number was never seen to end, or is not the parent.
        if self.threads.get(&record.parent_tid).is_some_and(|t| t.pid != record.parent_pid) {
            self.drop_thread(record.parent_tid);
        }
        self.drop_thread(record.tid);
        let comm = self.thread(record.parent_pid, record.parent_tid).comm.clone();
        let thread = self.thread(record.pid, record.tid);
        if comm.bytes().is_some() {
            thread.comm = comm;
        }
        let parent = self.processes.get(&record.parent_pid).map(|process| process.maps.clone());
        if record.pid != record.parent_pid
            && !record.made_up
            && let Some(maps) = parent
        {
            self.set_maps(record.pid, maps);
        }
    }

    pub(crate) fn exit(&mut self, record: &Task) {
        self.now = self.now.saturating_add(1);
        let Some(thread) = self.threads.get_mut(&record.tid) else { return };
        self.ends = self.ends.wrapping_add(1).max(1);
        thread.ended = self.ends;
        self.dead.push_back((record.tid, self.ends));
        if self.dead.len() > MOST_DEAD
            && let Some((tid, ended)) = self.dead.pop_front()
            && self.threads.get(&tid).is_some_and(|thread| thread.ended == ended)
        {
            self.drop_thread(tid);
        }
    }

    pub(crate) fn mmap(&mut self, record: &Mmap<'_>, header: &Header, dsos: &mut Dsos) {
        self.now = self.now.saturating_add(1);
        match record.mode {
            CpuMode::Kernel => self.kernel_mmap(record, header, dsos),
            CpuMode::GuestKernel | CpuMode::GuestUser | CpuMode::Hypervisor => {}
            _ => {
                let pid = self.thread(record.pid, record.tid).pid;
                let map = user_map(record, pid, header, dsos);
                if self.maps >= MOST_MAPS {
                    self.forget_maps();
                }
                self.change_maps(pid, |maps| {
                    maps.insert(map);
                });
            }
        }
    }

    fn kernel_mmap(&mut self, record: &Mmap<'_>, header: &Header, dsos: &mut Dsos) {
        let end = record.start.saturating_add(record.length);
        let mut map =
            Map { start: record.start, end, offset: record.start, dso: DsoId::REST, pid: -1 };
        if let Some(symbol) = record.name.strip_prefix(KERNEL) {
            // A kernel that hides its addresses: everything is in it.
            if map.start == 0 && map.end == 0 {
                map.end = u64::MAX;
            }
            let build_id = record.build_id.or_else(|| header.build_id(KERNEL));
            map.dso = dsos.find(KERNEL, build_id, DsoKind::Kernel, b"");
            self.base = Some(KernelBase { symbol: symbol.to_vec(), address: record.offset });
        } else {
            let name = module_name(record.name);
            let build_id = record.build_id.or_else(|| header.build_id(record.name));
            let path = if record.name.starts_with(b"/") { record.name } else { b"" };
            map.dso = dsos.find(&name, build_id, DsoKind::Module, path);
        }
        self.insert_kernel(map);
    }

    fn insert_kernel(&mut self, map: Map) {
        if self.kernel.owned(0) < MOST_KERNEL {
            self.kernel.insert(map);
        } else {
            self.forgotten = self.forgotten.saturating_add(1);
        }
    }

    pub(crate) fn ksymbol(&mut self, record: &Ksymbol<'_>, dsos: &mut Dsos) {
        self.now = self.now.saturating_add(1);
        if record.removed {
            self.kernel.remove(record.start);
            return;
        }
        let end = record.start.saturating_add(record.length.into());
        // perf keeps a mapping that is there already.
        if self.kernel.find(record.start).is_none() {
            let dso = dsos.find(record.name, None, DsoKind::Ksymbol, b"");
            let (start, offset) = (record.start, record.start);
            self.insert_kernel(Map { start, end, offset, dso, pid: -1 });
        }
    }

    fn change_maps(&mut self, pid: i32, change: impl FnOnce(&mut Maps)) {
        let process = self.processes.entry(pid).or_default();
        let before = process.maps.owned(LIST);
        change(&mut process.maps);
        self.maps = self.maps.saturating_sub(before).saturating_add(process.maps.owned(LIST));
    }

    fn set_maps(&mut self, pid: i32, maps: Maps) {
        self.change_maps(pid, |old| *old = maps);
    }

    fn drop_thread(&mut self, tid: i32) {
        let Some(thread) = self.threads.remove(&tid) else { return };
        let Some(process) = self.processes.get_mut(&thread.pid) else { return };
        process.threads = process.threads.saturating_sub(1);
        if process.threads == 0 {
            self.maps = self.maps.saturating_sub(process.maps.owned(LIST));
            self.processes.remove(&thread.pid);
        }
    }

    /// Forgets the half of the processes that were not seen for longest, with their
    /// threads; the names of all threads where the other half has most of them.
    fn forget_threads(&mut self) {
        self.forgotten = self.forgotten.saturating_add(1);
        let half = self.long_unused();
        self.processes.retain(|_, process| process.used >= half);
        if self.processes.len() > MOST_THREADS * 3 / 4 {
            // None was seen at all, or all at once.
            self.processes.clear();
        }
        let processes = &self.processes;
        self.threads.retain(|_, thread| processes.contains_key(&thread.pid));
        if self.threads.len() > MOST_THREADS >> 1 {
            self.threads.clear();
            self.processes.values_mut().for_each(|process| process.threads = 0);
        }
        self.dead.clear();
        self.maps = self.processes.values().map(|process| process.maps.owned(LIST)).sum();
    }

    /// When the half of the processes that were not seen for longest were seen last.
    fn long_unused(&self) -> u64 {
        let mut used: Vec<u64> = self.processes.values().map(|process| process.used).collect();
        used.sort_unstable();
        used.get(used.len() >> 1).copied().unwrap_or(u64::MAX)
    }

    /// Takes the mappings from the half of the processes that were not seen for longest;
    /// from all where the other half has most of them.
    fn forget_maps(&mut self) {
        self.forgotten = self.forgotten.saturating_add(1);
        let half = self.long_unused();
        for process in self.processes.values_mut().filter(|process| process.used <= half) {
            process.maps = Maps::default();
        }
        self.maps = self.processes.values().map(|process| process.maps.owned(LIST)).sum();
        if self.maps > MOST_MAPS >> 1 {
            self.processes.values_mut().for_each(|process| process.maps = Maps::default());
            self.maps = 0;
        }
    }
}

/// The kernel's name in mappings; a symbol's name follows.
pub(crate) const KERNEL: &[u8] = b"[kernel.kallsyms]";

/// A module as perf names it: `[nf_tables]` of `/lib/…/nf-tables.ko.xz`.
fn module_name(name: &[u8]) -> Vec<u8> {
    if name.starts_with(b"[") {
        return name.to_vec();
    }
    let base = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
    let end = memchr::memmem::rfind(base, b".ko").unwrap_or(base.len());
    let base = base.get(..end).unwrap_or(base);
    let inner = base.iter().map(|&byte| if byte == b'-' { b'_' } else { byte });
    [b'['].into_iter().chain(inner).chain([b']']).collect()
}

/// What perf makes of a mapping of a process.
fn user_map(record: &Mmap<'_>, pid: i32, header: &Header, dsos: &mut Dsos) -> Map {
    let start = record.start;
    let end = start.saturating_add(record.length);
    let map = |dso, offset| Map { start, end, offset, dso, pid };
    match memory_kind(record) {
        // The address is what `/tmp/perf-PID.map` lists.
        MemoryKind::Anonymous if record.execute => map(DsoId::JIT, start),
        MemoryKind::Anonymous => map(dsos.find(record.name, None, DsoKind::Memory, b""), start),
        MemoryKind::Vdso => {
            let build_id = record.build_id.or_else(|| header.build_id(b"[vdso]"));
            map(dsos.find(b"[vdso]", build_id, DsoKind::Vdso, b""), 0)
        }
        MemoryKind::File => {
            let dso = match record.build_id {
                Some(id) => dsos.find(record.name, Some(id), DsoKind::File, b""),
                None => dsos.find_file(record.name, header),
            };
            map(dso, record.offset)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryKind {
    Anonymous,
    Vdso,
    File,
}

/// perf's rule: anonymous memory by its names, and huge pages.
fn memory_kind(record: &Mmap<'_>) -> MemoryKind {
    let name = record.name;
    let starts = |prefix: &[u8]| name.starts_with(prefix);
    if name == b"[vdso]" || name == b"[vdso32]" || name == b"[vdsox32]" {
        return MemoryKind::Vdso;
    }
    let anonymous = record.huge
        || name == b"//anon"
        || name.is_empty()
        || starts(b"/dev/zero")
        || starts(b"/anon_hugepage")
        || starts(b"[stack")
        || starts(b"/SYSV")
        || name == b"[heap]";
    if anonymous { MemoryKind::Anonymous } else { MemoryKind::File }
}

#[cfg(test)]
mod tests;
