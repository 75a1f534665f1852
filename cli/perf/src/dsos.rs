//! DSOs: whatever has code, once per name and build-id.
//!
//! In: names as mappings have them. Out: small numbers for them. The list is bounded:
//! a profile that names more files than that gets one DSO for all the rest.

use std::collections::HashMap;
use std::rc::Rc;

use crate::build_id::BuildId;
use crate::header::Header;

/// DSOs kept, and bytes of their names. As many as hash tables of 2^13 places hold: with
/// one more they double.
const MOST: usize = (1 << 13) - (1 << 10);
const MOST_NAMES: usize = 1 << 20;

/// A DSO by its place in the list.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// session.next_sample()?;
/// let located = session.sample().unwrap();
/// let (_, place) = located.frames(127).next().unwrap();
/// let id: symidx_perf::DsoId = place.unwrap().dso; // small, and the same for all samples
/// assert_eq!(&*located.dso(id).unwrap().name, b"/bin/app");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DsoId(u32);

impl DsoId {
    /// All the DSOs that there was no room for.
    pub const REST: Self = Self(0);
    /// Code that a program made for itself; whose, the mapping knows.
    pub const JIT: Self = Self(1);

    pub(crate) fn at(number: usize) -> Self {
        u32::try_from(number).map_or(Self::REST, Self)
    }

    /// The place in the list.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// session.next_sample()?;
    /// let place = session.sample().unwrap().frames(127).next().unwrap().1.unwrap();
    /// assert_eq!(&*session.dsos()[place.dso.number()].name, b"/bin/app");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn number(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// What kind of thing has the code.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// use symidx_perf::{DsoKind, Inventory};
///
/// // What an index can be built of.
/// let inventory = Inventory::read(&mut session, 127)?;
/// let files = inventory.dsos.iter().filter(|used| used.dso.kind == DsoKind::File);
/// assert_eq!(files.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DsoKind {
    /// A file: an address in it is a file offset.
    File,
    /// The kernel: an address is one of the running kernel.
    Kernel,
    /// A kernel module, the same.
    Module,
    /// The page of code that the kernel gives every process; an address is an offset
    /// in it.
    Vdso,
    /// Code made at run time, named by `/tmp/perf-PID.map`; a run-time address.
    Jit,
    /// Memory without a file that holds no code: heap, stack, shared memory.
    Memory,
    /// Code that the kernel made: a BPF program, a trampoline. Its name is all of it.
    Ksymbol,
    /// One of too many.
    Rest,
}

/// Whatever has code.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// while session.next_sample()? {}
/// let dso: &symidx_perf::Dso = session.dsos().last().unwrap();
/// assert_eq!((&*dso.name, dso.kind), (&b"/bin/app"[..], symidx_perf::DsoKind::File));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dso {
    /// As perf shows it: a path, or a name in brackets.
    pub name: Rc<[u8]>,
    /// What it is.
    pub kind: DsoKind,
    /// Its build-id, where the profile has it.
    pub build_id: Option<BuildId>,
    /// Where a kernel module's file was; empty for everything else.
    pub path: Rc<[u8]>,
}

/// The list.
#[derive(Debug)]
pub(crate) struct Dsos {
    list: Vec<Dso>,
    known: HashMap<(Rc<[u8]>, Option<BuildId>), DsoId>,
    /// Files by the name in a mapping that states no build-id: those of the header are
    /// looked through once per name.
    by_name: HashMap<Rc<[u8]>, DsoId>,
    /// Build-ids of the header when that was so.
    header_ids: usize,
    names: usize,
    /// How often there was no room.
    pub(crate) refused: u64,
}

impl Dsos {
    pub(crate) fn new() -> Self {
        let fixed = |name: &[u8], kind| Dso {
            name: name.into(),
            kind,
            build_id: None,
            path: Rc::default(),
        };
        Self {
            list: vec![fixed(b"[too many files]", DsoKind::Rest), fixed(b"[jit]", DsoKind::Jit)],
            known: HashMap::new(),
            by_name: HashMap::new(),
            header_ids: 0,
            names: 0,
            refused: 0,
        }
    }

    pub(crate) fn list(&self) -> &[Dso] {
        &self.list
    }

    pub(crate) fn get(&self, id: DsoId) -> Option<&Dso> {
        self.list.get(id.number())
    }

    /// The file with this name, whose mapping states no build-id; `header` has those that
    /// perf found at the end.
    pub(crate) fn find_file(&mut self, name: &[u8], header: &Header) -> DsoId {
        // In a pipe the list grows.
        if self.header_ids != header.build_ids.len() {
            self.header_ids = header.build_ids.len();
            self.by_name.clear();
        }
        if let Some(&id) = self.by_name.get(name) {
            return id;
        }
        let build_id = header.build_id(name);
        let id = self.find(name, build_id, DsoKind::File, b"");
        if let Some(dso) = self.get(id).filter(|_| id != DsoId::REST) {
            self.by_name.insert(Rc::clone(&dso.name), id);
        }
        id
    }

    /// The DSO with this name and build-id, new if there is none.
    pub(crate) fn find(
        &mut self,
        name: &[u8],
        build_id: Option<BuildId>,
        kind: DsoKind,
        path: &[u8],
    ) -> DsoId {
        let key = (Rc::<[u8]>::from(name), build_id);
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let bytes = self.names.saturating_add(name.len()).saturating_add(path.len());
        let id = match u32::try_from(self.list.len()) {
            Ok(id) if self.list.len() < MOST && bytes <= MOST_NAMES => DsoId(id),
            _ => {
                self.refused = self.refused.saturating_add(1);
                return DsoId::REST;
            }
        };
        self.names = bytes;
        let path = if path.is_empty() { Rc::default() } else { path.into() };
        self.list.push(Dso { name: Rc::clone(&key.0), kind, build_id, path });
        self.known.insert(key, id);
        id
    }
}
