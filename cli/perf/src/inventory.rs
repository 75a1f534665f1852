//! Every DSO of a profile: one pass over it, nothing looked up.
//!
//! In: a [`Session`]. Out: per DSO how many samples and frames are in it, which says
//! what an index of it would be worth.

use std::rc::Rc;

use crate::dsos::{Dso, DsoId};
use crate::error::Error;
use crate::reader::Damage;
use crate::session::{Counts, Session};

/// A DSO and what it has to do with the profile.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// let inventory = symidx_perf::Inventory::read(&mut session, 127)?;
/// let app: &symidx_perf::DsoUse = &inventory.dsos[0];
/// assert_eq!((app.samples, app.frames, app.pid), (1, 2, 7)); // what its index is worth
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DsoUse {
    /// The DSO.
    pub dso: Dso,
    /// Its number in the stream, as [`crate::Place::dso`].
    pub id: DsoId,
    /// Samples with at least one frame in it.
    pub samples: u64,
    /// Frames in it.
    pub frames: u64,
    /// One of the processes it was used in; -1 for the kernel.
    pub pid: i32,
}

/// All DSOs of a profile.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// // One pass, nothing looked up: what an index of each DSO would be worth.
/// let inventory = symidx_perf::Inventory::read(&mut session, 127)?;
/// assert_eq!((inventory.frames, inventory.unmapped), (2, 0));
/// assert_eq!(inventory.dsos[0].name(), "/bin/app");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Inventory {
    /// Those that were mapped, used or not, in the order in which they came.
    pub dsos: Vec<DsoUse>,
    /// Processes with code made at run time: those that frames are in, with the
    /// number of frames. At most 1024 of them.
    pub jit: Vec<(i32, u64)>,
    /// Frames, those in no mapping included.
    pub frames: u64,
    /// Frames that lie in no mapping.
    pub unmapped: u64,
    /// What else there was.
    pub counts: Counts,
    /// What could not be read.
    pub damage: Damage,
    /// The symbol that the kernel's mapping is named after, and its run-time address.
    pub kernel_base: Option<(Vec<u8>, u64)>,
}

/// Processes with code made at run time that are told apart.
const MOST_JIT: usize = 1024;

impl Inventory {
    /// Reads a profile to its end. At most `most` addresses of each chain count.
    ///
    /// # Errors
    /// As [`crate::Session::next_sample`].
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// let inventory = symidx_perf::Inventory::read(&mut session, 127)?; // perf's own limit
    /// for used in inventory.dsos.iter().filter(|used| used.frames != 0) {
    ///     println!("{} {}", used.frames, used.name());
    /// }
    /// assert_eq!(inventory.counts.samples, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(session: &mut Session, most: usize) -> Result<Self, Error> {
        let mut uses: Vec<Use> = Vec::new();
        let mut inventory = Self::default();
        let mut number = 0u64;
        while session.next_sample()? {
            number = number.saturating_add(1);
            let Some(located) = session.sample() else { continue };
            for (_, place) in located.frames(most) {
                inventory.frames = inventory.frames.saturating_add(1);
                let Some(place) = place else {
                    inventory.unmapped = inventory.unmapped.saturating_add(1);
                    continue;
                };
                let at = place.dso.number();
                if uses.len() <= at {
                    uses.resize(at.saturating_add(1), Use::default());
                }
                if let Some(counted) = uses.get_mut(at) {
                    counted.frames = counted.frames.saturating_add(1);
                    if counted.last != number {
                        counted.last = number;
                        counted.samples = counted.samples.saturating_add(1);
                    }
                    counted.pid = place.pid;
                }
                if place.dso == DsoId::JIT {
                    inventory.count_jit(place.pid);
                }
            }
        }
        let all = session.dsos().iter().zip(0usize..);
        inventory.dsos = all
            .map(|(dso, at)| {
                let used = uses.get(at).copied().unwrap_or_default();
                let id = DsoId::at(at);
                let Use { samples, frames, pid, .. } = used;
                DsoUse { dso: dso.clone(), id, samples, frames, pid }
            })
            .collect();
        // The two fixed ones count only when something is in them.
        inventory
            .dsos
            .retain(|used| used.frames != 0 || !matches!(used.id, DsoId::REST | DsoId::JIT));
        inventory.counts = session.counts();
        inventory.damage = session.reader().damage();
        let base = session.kernel_base();
        inventory.kernel_base = base.map(|(symbol, address)| (symbol.to_vec(), address));
        Ok(inventory)
    }

    /// Code made at run time, process by process: `used` with the name of the map that
    /// the process may have left, and its frames. How many samples those are in is not
    /// known: 0.
    pub(crate) fn processes(&self, used: &DsoUse) -> Vec<DsoUse> {
        let process = |&(pid, frames): &(i32, u64)| {
            let mut used = DsoUse { frames, samples: 0, pid, ..used.clone() };
            used.dso.name = format!("/tmp/perf-{pid}.map").into_bytes().into();
            used
        };
        self.jit.iter().map(process).collect()
    }

    fn count_jit(&mut self, pid: i32) {
        match self.jit.iter().position(|(other, _)| *other == pid) {
            Some(at) => {
                if let Some((_, frames)) = self.jit.get_mut(at) {
                    *frames = frames.saturating_add(1);
                }
            }
            None if self.jit.len() < MOST_JIT => self.jit.push((pid, 1)),
            None => {}
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Use {
    samples: u64,
    frames: u64,
    /// The last sample that had a frame in it.
    last: u64,
    pid: i32,
}

impl DsoUse {
    /// A DSO that nothing is counted of.
    pub(crate) fn alone(id: DsoId, dso: Dso, pid: i32) -> Self {
        Self { dso, id, samples: 0, frames: 0, pid }
    }

    /// Its name as text.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// let inventory = symidx_perf::Inventory::read(&mut session, 127)?;
    /// assert_eq!(inventory.dsos[0].name(), "/bin/app");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> String {
        let name = Rc::clone(&self.dso.name);
        String::from_utf8_lossy(&name).into_owned()
    }
}
