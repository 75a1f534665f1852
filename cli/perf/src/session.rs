//! Samples with their surroundings: who ran, and where each address lies.
//!
//! In: records by time. Out: one [`Located`] sample after another. Names no symbol.

use linux_perf_event_reader::{CpuMode, RecordType};

use crate::dsos::{Dso, DsoId, Dsos};
use crate::error::Error;
use crate::maps::Maps;
use crate::processes::Processes;
use crate::reader::Reader;
use crate::record::{Chain, Record, Sample};

/// `PERF_CONTEXT_`: marks between the addresses of a chain.
mod context {
    pub(super) const HYPERVISOR: u64 = u64::MAX - 31;
    pub(super) const KERNEL: u64 = u64::MAX - 127;
    pub(super) const USER: u64 = u64::MAX - 511;
    /// No address reaches this far.
    pub(super) const FIRST: u64 = u64::MAX - 4094;
}

/// A profile as a stream of samples.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// while session.next_sample()? {
///     let located = session.sample().unwrap();
///     for (ip, place) in located.frames(127) {
///         let dso = place.and_then(|place| located.dso(place.dso)).map(|dso| dso.name.clone());
///         println!("{ip:#x} {dso:?}");
///     }
/// }
/// assert_eq!(session.counts().samples, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    reader: Reader,
    processes: Processes,
    dsos: Dsos,
    counts: Counts,
    /// Records that were no samples since [`Step::Pause`].
    others: u32,
}

/// Records that are no samples between two looks at the memory.
const RECORDS: u32 = 1024;

/// Where [`Session::advance`] went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A sample.
    Sample,
    /// Nowhere yet: memory may be looked at.
    Pause,
    /// The end.
    End,
}

/// What went by besides samples.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// while session.next_sample()? {}
/// let counts: symidx_perf::Counts = session.counts();
/// assert_eq!((counts.samples, counts.lost), (1, 0)); // perf warns of lost ones, too
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Samples handed out.
    pub samples: u64,
    /// Samples of guests, left out.
    pub guest_samples: u64,
    /// Records that were lost when the profile was made.
    pub lost: u64,
    /// Records of code that the kernel made (BPF programs, trampolines): their names count.
    pub kernel_code: u64,
    /// Records that say more of BPF programs, left out.
    pub bpf_records: u64,
    /// How often the bound on threads or mappings was reached.
    pub forgotten: u64,
    /// Mappings of files that there was no room for.
    pub refused_files: u64,
    /// Build-ids of files that there was no room for.
    pub refused_build_ids: u64,
}

impl Counts {
    /// One line for each kind of record that was left out or not kept, with its number; none
    /// where there were none.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// while session.next_sample()? {}
    /// assert!(session.counts().lines().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lines(&self) -> Vec<(u64, &'static str)> {
        let one = |count: u64, one, many| (count, if count == 1 { one } else { many });
        let all = [
            one(self.guest_samples, "sample of a guest, left out", "samples of guests, left out"),
            one(
                self.kernel_code,
                "record of code that the kernel made (BPF, trampolines), known by name alone",
                "records of code that the kernel made (BPF, trampolines), known by name alone",
            ),
            one(
                self.bpf_records,
                "record that says more of a BPF program, left out",
                "records that say more of BPF programs, left out",
            ),
            one(self.lost, "record lost while recording", "records lost while recording"),
            one(
                self.forgotten,
                "time more threads or mappings than are kept",
                "times more threads or mappings than are kept",
            ),
            one(
                self.refused_files,
                "mapping of more files than are kept",
                "mappings of more files than are kept",
            ),
            one(
                self.refused_build_ids,
                "build-id of more files than are kept",
                "build-ids of more files than are kept",
            ),
        ];
        all.into_iter().filter(|&(count, _)| count != 0).collect()
    }
}

/// Where an address lies.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// session.next_sample()?;
/// let place: symidx_perf::Place = session.sample().unwrap().frames(127).next().unwrap().1.unwrap();
/// // A file offset: the same wherever the file was mapped.
/// assert_eq!((place.address, place.pid), (0x1a8, 7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whose code it is.
    pub dso: DsoId,
    /// What to look up there: a file offset in a file or vDSO, a run-time address in
    /// the kernel, its modules and code made at run time.
    pub address: u64,
    /// The process whose mapping it is; -1 for the kernel.
    pub pid: i32,
}

/// A sample and what is known of its thread.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// session.next_sample()?;
/// let located: symidx_perf::Located<'_> = session.sample().unwrap();
/// assert_eq!((located.sample.pid, located.sample.ip), (7, 0x5555_0000_01a8));
/// assert_eq!(located.frames(127).count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Located<'a> {
    /// The sample as recorded.
    pub sample: Sample<'a>,
    session: &'a Session,
    /// The mappings of its process.
    user: Option<&'a Maps>,
}

impl Session {
    /// The samples of a profile.
    ///
    /// ```
    /// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
    /// let reader = symidx_perf::Reader::from_stream(std::io::Cursor::new(bytes))?;
    /// let mut session = symidx_perf::Session::new(reader);
    /// assert!(session.next_sample()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(reader: Reader) -> Self {
        Self {
            reader,
            processes: Processes::default(),
            dsos: Dsos::new(),
            counts: Counts::default(),
            others: 0,
        }
    }

    /// Opens a profile by its path.
    ///
    /// # Errors
    /// As [`Reader::open`].
    ///
    /// ```
    /// # let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
    /// # let file = tempfile::NamedTempFile::new()?;
    /// # std::fs::write(file.path(), bytes)?;
    /// let mut session = symidx_perf::Session::open(file.path())?; // perf.data
    /// assert!(session.next_sample()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &std::path::Path) -> Result<Self, Error> {
        Reader::open(path).map(Self::new)
    }

    /// The profile itself: its header, damage, how far it is read.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// while session.next_sample()? {}
    /// let (read, _) = session.reader().progress();
    /// println!("{read} bytes read, {:?}", session.reader().damage());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// What went by so far.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// while session.next_sample()? {}
    /// assert_eq!(session.counts().samples, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn counts(&self) -> Counts {
        let (forgotten, refused_files) = (self.processes.forgotten, self.dsos.refused);
        let refused_build_ids = self.reader.header().refused_build_ids;
        Counts { forgotten, refused_files, refused_build_ids, ..self.counts }
    }

    /// Every DSO that was mapped so far, by [`DsoId::number`].
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// while session.next_sample()? {}
    /// assert!(session.dsos().iter().any(|dso| &*dso.name == b"/bin/app"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn dsos(&self) -> &[Dso] {
        self.dsos.list()
    }

    /// The symbol that the kernel's mapping is named after, and its run-time address;
    /// 0 = not known.
    #[must_use]
    pub(crate) fn kernel_base(&self) -> Option<(&[u8], u64)> {
        self.processes.kernel_base().map(|base| (base.symbol.as_slice(), base.address))
    }

    /// The first address of the kernel's mapping that holds one.
    pub(crate) fn kernel_start(&self, ip: u64) -> Option<u64> {
        self.processes.kernel().find(ip).map(|map| map.start)
    }

    /// Goes to the next sample; false at the end.
    ///
    /// # Errors
    /// [`Error::Io`] when the profile or a temporary file cannot be read.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// let mut periods = 0;
    /// while session.next_sample()? {
    ///     periods += session.sample().unwrap().sample.period;
    /// }
    /// assert_eq!(periods, 4_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_sample(&mut self) -> Result<bool, Error> {
        loop {
            match self.advance()? {
                Step::Sample => return Ok(true),
                Step::Pause => {}
                Step::End => return Ok(false),
            }
        }
    }

    /// Goes to the next sample, or through so many other records that memory may have
    /// grown by them.
    pub(crate) fn advance(&mut self) -> Result<Step, Error> {
        while self.others < RECORDS {
            if !self.reader.step()? {
                return Ok(Step::End);
            }
            let Some(record) = self.reader.record() else { continue };
            let header = self.reader.header();
            let count = |count: &mut u64, by| *count = count.saturating_add(by);
            match record {
                Record::Sample(sample) => {
                    if matches!(sample.mode, CpuMode::GuestKernel | CpuMode::GuestUser) {
                        count(&mut self.counts.guest_samples, 1);
                        continue;
                    }
                    self.processes.seen(sample.pid, sample.tid);
                    count(&mut self.counts.samples, 1);
                    return Ok(Step::Sample);
                }
                _ => self.others = self.others.saturating_add(1),
            }
            match record {
                Record::Mmap(mmap) => self.processes.mmap(&mmap, header, &mut self.dsos),
                Record::Comm(comm) => self.processes.comm_record(&comm),
                Record::Fork(task) => self.processes.fork(&task),
                Record::Exit(task) => self.processes.exit(&task),
                Record::Ksymbol(symbol) => {
                    count(&mut self.counts.kernel_code, 1);
                    self.processes.ksymbol(&symbol, &mut self.dsos);
                }
                Record::Lost(lost) => count(&mut self.counts.lost, lost),
                Record::Other(kind) if RecordType(kind) == RecordType::BPF_EVENT => {
                    count(&mut self.counts.bpf_records, 1);
                }
                Record::Sample(_) | Record::Other(_) => {}
            }
        }
        self.others = 0;
        Ok(Step::Pause)
    }

    /// The sample that [`Session::next_sample`] went to.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// assert!(session.next_sample()?);
    /// assert_eq!(session.sample().unwrap().sample.ip, 0x5555_0000_01a8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sample(&self) -> Option<Located<'_>> {
        match self.reader.record()? {
            Record::Sample(sample) => {
                let user = self.processes.user(sample.pid, sample.tid);
                Some(Located { sample, session: self, user })
            }
            _ => None,
        }
    }
}

impl<'a> Located<'a> {
    /// The thread's name; `None` when it never had one (perf shows `:TID`).
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// session.next_sample()?;
    /// assert_eq!(session.sample().unwrap().comm(), Some(&b"worker"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn comm(&self) -> Option<&'a [u8]> {
        self.session.processes.comm(self.sample.tid)
    }

    /// A DSO by its number.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// session.next_sample()?;
    /// let located = session.sample().unwrap();
    /// for (ip, place) in located.frames(127) {
    ///     let dso = place.and_then(|place| located.dso(place.dso)).unwrap();
    ///     println!("{ip:#x} {}", String::from_utf8_lossy(&dso.name));
    ///     assert_eq!(&*dso.name, b"/bin/app");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn dso(&self, id: DsoId) -> Option<&'a Dso> {
        self.session.dsos.get(id)
    }

    /// The event.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// session.next_sample()?;
    /// assert_eq!(session.sample().unwrap().event().unwrap().name, "cpu-clock");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn event(&self) -> Option<&'a crate::Event> {
        self.session.reader.header().events.get(self.sample.event)
    }

    /// Where an address of this sample's thread lies.
    #[inline]
    #[must_use]
    pub(crate) fn place(&self, ip: u64, mode: CpuMode) -> Option<Place> {
        let maps = match mode {
            CpuMode::Kernel => self.session.processes.kernel(),
            CpuMode::User => self.user?,
            _ => return None,
        };
        let map = maps.find(ip)?;
        let address = ip.wrapping_sub(map.start).wrapping_add(map.offset);
        Some(Place { dso: map.dso, address, pid: map.pid })
    }

    /// The addresses, innermost first, and where they lie: those of the chain, at most
    /// `most`; without a chain the sample's own. A chain with a mark that perf does not
    /// know is damaged, and none of it counts.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// session.next_sample()?;
    /// let located = session.sample().unwrap();
    /// let offsets = located.frames(127).map(|(_, place)| place.unwrap().address);
    /// assert_eq!(offsets.collect::<Vec<_>>(), [0x1a8, 0x225]); // in /bin/app, innermost first
    /// assert_eq!(located.frames(1).count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn frames(&self, most: usize) -> impl Iterator<Item = (u64, Option<Place>)> + use<'a> {
        let located = *self;
        let alone = match self.sample.chain {
            None => Some((self.sample.ip, self.sample.mode)),
            Some(_) => None,
        };
        let chain = self.sample.chain.filter(|chain| marks_are_known(*chain, most));
        let chain = chain.into_iter().flat_map(move |chain| addresses(chain, most));
        alone.into_iter().chain(chain).map(move |(ip, mode)| (ip, located.place(ip, mode)))
    }
}

/// The first `most` addresses of a chain with the kind of memory they are in: what the
/// last mark in front of them says, the user's before any.
#[inline]
fn addresses(chain: Chain<'_>, most: usize) -> impl Iterator<Item = (u64, CpuMode)> {
    let mut mode = CpuMode::User;
    let entries = chain.entries().filter_map(move |entry| {
        if entry < context::FIRST {
            return Some((entry, mode));
        }
        mode = mode_of(entry).unwrap_or(mode);
        None
    });
    entries.take(most)
}

fn mode_of(mark: u64) -> Option<CpuMode> {
    match mark {
        context::HYPERVISOR => Some(CpuMode::Hypervisor),
        context::KERNEL => Some(CpuMode::Kernel),
        context::USER => Some(CpuMode::User),
        _ => None,
    }
}

/// False when a mark that perf does not know stands among the first `most` addresses.
#[inline]
fn marks_are_known(chain: Chain<'_>, most: usize) -> bool {
    let mut left = most;
    for entry in chain.entries() {
        if left == 0 {
            break;
        }
        if entry < context::FIRST {
            left = left.saturating_sub(1);
        } else if mode_of(entry).is_none() {
            return false;
        }
    }
    true
}
