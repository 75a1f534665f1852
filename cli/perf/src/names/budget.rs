//! What naming a profile takes, before it is done: bytes of indexes, DSOs without one,
//! and what a bound on bytes would leave out.
//!
//! In: a profile, read once. Out: a [`Budget`]. Opens indexes, which reads no page of
//! their contents, and closes them again. Names nothing.

use std::cmp::Reverse;

use super::{Names, Opened, Room, State, Why};
use crate::dsos::{DsoId, DsoKind};
use crate::error::Error;
use crate::inventory::{DsoUse, Inventory};
use crate::names::Reason;
use crate::session::Session;

/// Anonymous memory that naming a profile stays below, in bytes: whatever the number of
/// samples, of unknown addresses and of symbols. Tests hold every job to it.
pub const ANONYMOUS_BYTES: u64 = 8 << 20;

/// What naming a profile takes.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// // What a job will take, before it starts; a service refuses those that take too much.
/// let budget = names.budget(&mut session, 127, None)?;
/// assert_eq!((budget.dsos.len(), budget.mapped_bytes), (1, 3213));
/// assert_eq!(budget.anonymous_bytes, symidx_perf::ANONYMOUS_BYTES);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Budget {
    /// What is in the profile.
    pub inventory: Inventory,
    /// Anonymous bytes at most: [`ANONYMOUS_BYTES`].
    pub anonymous_bytes: u64,
    /// Bytes of the indexes that are opened, each counted once.
    pub mapped_bytes: u64,
    /// Every DSO with frames, those with the most first.
    pub dsos: Vec<DsoBudget>,
}

/// One DSO's share.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// let budget = names.budget(&mut session, 127, None)?;
/// let heaviest: &symidx_perf::DsoBudget = &budget.dsos[0];
/// assert_eq!((heaviest.used.frames, &heaviest.share), (2, &symidx_perf::Share::Index(3213)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DsoBudget {
    /// The DSO; for code made at run time, one process of it.
    pub used: DsoUse,
    /// What becomes of its frames.
    pub share: Share,
}

/// What becomes of the frames of a DSO.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// use symidx_perf::Share;
///
/// let budget = names.budget(&mut session, 127, None)?;
/// match &budget.dsos[0].share {
///     Share::Index(bytes) => assert_eq!(*bytes, 3213),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Share {
    /// Its index has so many bytes.
    Index(u64),
    /// Its symbols are in the kernel's index, which is counted with the kernel.
    Shared,
    /// Its only symbol is its own name.
    NamesItself,
    /// Its index of so many bytes does not fit the bound: its frames will be unknown.
    LeftOut(u64),
    /// Its frames will be unknown: why, and the same in words.
    Unknown(Reason, Why),
}

impl Budget {
    /// The DSOs that the bound on bytes leaves out.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
    /// let budget = names.budget(&mut session, 127, Some(3000))?; // one byte too few, and more
    /// let left_out: Vec<_> = budget.left_out().map(|dso| dso.used.name()).collect();
    /// assert_eq!(left_out, ["/bin/app"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn left_out(&self) -> impl Iterator<Item = &DsoBudget> {
        self.dsos.iter().filter(|dso| matches!(dso.share, Share::LeftOut(_)))
    }

    /// Frames that will have no name because of their DSO, by reason.
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
    /// use symidx_perf::Reason;
    ///
    /// let budget = names.budget(&mut session, 127, Some(3000))?;
    /// assert_eq!(budget.unknown_frames(), [(Reason::OverBudget, 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unknown_frames(&self) -> Vec<(Reason, u64)> {
        let mut counts = vec![(Reason::Unmapped, self.inventory.unmapped)];
        for dso in &self.dsos {
            let reason = match dso.share {
                Share::LeftOut(_) => Reason::OverBudget,
                Share::Unknown(reason, _) => reason,
                _ => continue,
            };
            match counts.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, frames)) => *frames = frames.saturating_add(dso.used.frames),
                None => counts.push((reason, dso.used.frames)),
            }
        }
        counts.retain(|&(_, frames)| frames != 0);
        counts.sort_by_key(|&(_, frames)| Reverse(frames));
        counts
    }

    /// How many samples have a frame in a DSO that is left out; reads the profile again.
    ///
    /// # Errors
    /// As [`Session::next_sample`].
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// # let mut again = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
    /// let budget = names.budget(&mut session, 127, Some(3000))?;
    /// // Samples are what a profile is read by: how many have a frame without a name then?
    /// assert_eq!(budget.samples_left_out(&mut again, 127)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn samples_left_out(&self, session: &mut Session, most: usize) -> Result<u64, Error> {
        let out: Vec<DsoId> = self.left_out().map(|dso| dso.used.id).collect();
        let mut samples = 0u64;
        while session.next_sample()? {
            let Some(located) = session.sample() else { continue };
            let mut frames = located.frames(most);
            let hit = frames.any(|(_, place)| place.is_some_and(|place| out.contains(&place.dso)));
            samples = samples.saturating_add(u64::from(hit));
        }
        Ok(samples)
    }
}

impl Names {
    /// What naming a profile takes, read to its end; with a bound, which indexes it has
    /// no room for: those that name most frames per byte go in first, so that each byte
    /// is worth most, and one large index of few frames does not keep many small ones
    /// out. At most `most` addresses of each chain count.
    ///
    /// # Errors
    /// As [`Session::next_sample`].
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
    /// let budget = names.budget(&mut session, 127, Some(64 << 20))?;
    /// println!("{} bytes mapped, {} left out", budget.mapped_bytes, budget.left_out().count());
    /// assert_eq!(budget.left_out().count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn budget(
        &mut self,
        session: &mut Session,
        most: usize,
        bound: Option<u64>,
    ) -> Result<Budget, Error> {
        let inventory = Inventory::read(session, most)?;
        let given = self.options.max_bytes.take();
        let mut dsos: Vec<DsoBudget> = Vec::new();
        // The kernel and its modules may share one index: the first of them has it.
        let mut shared: Option<usize> = None;
        let mut room = Room::default();
        let mut by_frames: Vec<&DsoUse> =
            inventory.dsos.iter().filter(|used| used.frames != 0).collect();
        by_frames.sort_by_key(|used| Reverse(used.frames));
        for used in by_frames {
            if used.dso.kind == DsoKind::Jit {
                dsos.extend(self.processes(used, &inventory, &mut room));
                continue;
            }
            self.open(used.id, &used.dso, used.pid, session);
            let share = match (self.opened(used.id), self.states.get(used.id.number())) {
                (_, Some(State::Whole)) => Share::NamesItself,
                (Opened::Index(_), Some(State::Kernel)) if shared.is_some() => Share::Shared,
                (Opened::Index(bytes), state) => {
                    if matches!(state, Some(State::Kernel)) {
                        shared = Some(dsos.len());
                    }
                    Share::Index(bytes)
                }
                (Opened::Missing(reason, why), _) => Share::Unknown(reason, room.keep(why, reason)),
                (Opened::Unneeded, _) => Share::Unknown(Reason::NoIndex, Why::default()),
            };
            dsos.push(DsoBudget { used: used.clone(), share });
        }
        self.close_all();
        self.options.max_bytes = given;
        if let Some(bound) = bound {
            leave_out(&mut dsos, shared, bound);
        }
        dsos.sort_by_key(|dso| Reverse(dso.used.frames));
        let mapped = dsos.iter().map(|dso| match dso.share {
            Share::Index(bytes) => bytes,
            _ => 0,
        });
        let mapped_bytes = mapped.fold(0, u64::saturating_add);
        Ok(Budget { inventory, anonymous_bytes: ANONYMOUS_BYTES, mapped_bytes, dsos })
    }

    /// Leaves out the indexes that `bound` bytes have no room for, as [`Names::budget`]
    /// decides. Reads the profile once.
    ///
    /// # Errors
    /// As [`Session::next_sample`].
    ///
    /// ```
    /// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// # let mut again = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
    /// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
    /// // The recording is read twice: first to see which indexes are worth their bytes.
    /// names.choose(&mut again, 127, 3000)?;
    /// let options = symidx_perf::ScriptOptions::default();
    /// let summary = symidx_perf::script(&mut session, &mut names, &options, &mut Vec::new(), |_| {})?;
    /// assert_eq!(summary.unknown[symidx_perf::Reason::OverBudget.number()], 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn choose(&mut self, session: &mut Session, most: usize, bound: u64) -> Result<(), Error> {
        let budget = self.budget(session, most, Some(bound))?;
        for dso in budget.left_out() {
            match dso.used.id {
                DsoId::JIT => {
                    let why = "its index does not fit the bound".into();
                    self.jit.insert(dso.used.pid, State::Missing(Reason::OverBudget, why));
                }
                id => self.exclude(id),
            }
        }
        Ok(())
    }

    /// Code made at run time, process by process.
    fn processes(
        &mut self,
        used: &DsoUse,
        inventory: &Inventory,
        room: &mut Room,
    ) -> Vec<DsoBudget> {
        let share = |used: DsoUse| {
            let share = match self.open_jit(used.pid) {
                State::Open(opening) => Share::Index(opening.bytes),
                State::Missing(reason, why) => Share::Unknown(reason, room.keep(why, reason)),
                _ => Share::Unknown(Reason::NoMapFile, Why::default()),
            };
            DsoBudget { used, share }
        };
        inventory.processes(used).into_iter().map(share).collect()
    }
}

/// Leaves out what the bound has no room for. `shared` has the kernel's index, which
/// every [`Share::Shared`] needs as well.
fn leave_out(dsos: &mut [DsoBudget], shared: Option<usize>, bound: u64) {
    let of_modules = dsos.iter().filter(|dso| dso.share == Share::Shared);
    let of_modules = of_modules.fold(0, |sum: u64, dso| sum.saturating_add(dso.used.frames));
    let mut sizes: Vec<(u64, u64, usize)> = Vec::new();
    for (at, dso) in dsos.iter().enumerate() {
        if let Share::Index(bytes) = dso.share {
            let more = if shared == Some(at) { of_modules } else { 0 };
            sizes.push((dso.used.frames.saturating_add(more), bytes, at));
        }
    }
    let fits = most_frames_per_byte(&mut sizes, bound);
    for &(_, bytes, at) in sizes.get(fits..).unwrap_or(&[]) {
        if let Some(dso) = dsos.get_mut(at) {
            dso.share = Share::LeftOut(bytes);
        }
        if shared == Some(at) {
            let modules = dsos.iter_mut().filter(|dso| dso.share == Share::Shared);
            modules.for_each(|dso| dso.share = Share::LeftOut(0));
        }
    }
}

/// Sorts (frames, bytes, whose) by frames per byte, the fitting ones in front; how many
/// fit. One that does not fit is passed over: a smaller one behind it may.
fn most_frames_per_byte(sizes: &mut Vec<(u64, u64, usize)>, bound: u64) -> usize {
    let worth = |&(frames, bytes, at): &(u64, u64, usize), other: &(u64, u64, usize)| {
        let left = u128::from(frames).saturating_mul(other.1.into());
        let right = u128::from(other.0).saturating_mul(bytes.into());
        right.cmp(&left).then(at.cmp(&other.2))
    };
    sizes.sort_by(worth);
    let mut left = bound;
    let (fitting, rest): (Vec<_>, Vec<_>) = sizes.drain(..).partition(|&(_, bytes, _)| {
        let fits = bytes <= left;
        left = left.saturating_sub(if fits { bytes } else { 0 });
        fits
    });
    let count = fitting.len();
    sizes.extend(fitting);
    sizes.extend(rest);
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsos::Dso;

    fn dso(number: usize, frames: u64, share: Share) -> DsoBudget {
        let dso = Dso {
            name: b"x".as_slice().into(),
            kind: DsoKind::File,
            build_id: None,
            path: std::rc::Rc::default(),
        };
        let used = DsoUse { dso, id: DsoId::at(number), samples: frames, frames, pid: -1 };
        DsoBudget { used, share }
    }

    fn shares(dsos: &[DsoBudget]) -> Vec<Share> {
        dsos.iter().map(|dso| dso.share.clone()).collect()
    }

    #[test]
    fn the_most_frames_per_byte_go_in_first_and_smaller_ones_fill_up() {
        let mut sizes = vec![(100, 1000, 5), (90, 10, 6), (10, 100, 7), (1, 0, 8), (10, 100, 4)];
        let fits = most_frames_per_byte(&mut sizes, 215);
        let order: Vec<usize> = sizes.iter().map(|&(_, _, at)| at).collect();
        // 8 costs nothing, 6 is worth nine frames a byte, 4, 5 and 7 a tenth: by number, and 5
        // does not fit beside 4.
        assert_eq!((fits, order), (4, vec![8, 6, 4, 7, 5]));
        assert_eq!(most_frames_per_byte(&mut sizes, 0), 1);
    }

    #[test]
    fn the_most_frames_per_byte_fit_first() {
        let mut dsos = [
            dso(1, 10, Share::Index(1000)),
            dso(2, 10, Share::Index(10)),
            dso(3, 1, Share::Index(100)),
            dso(4, 7, Share::Unknown(Reason::NoIndex, Why::default())),
        ];
        leave_out(&mut dsos, None, 110);
        // The large one is passed over, and what is behind it is let in.
        let unknown = Share::Unknown(Reason::NoIndex, Why::default());
        let [out, first, second] = [Share::LeftOut(1000), Share::Index(10), Share::Index(100)];
        assert_eq!(shares(&dsos), [out, first, second, unknown]);
        leave_out(&mut dsos, None, 0);
        assert_eq!(dsos.iter().filter(|d| matches!(d.share, Share::Index(_))).count(), 0);
    }

    #[test]
    fn the_frames_of_modules_count_for_the_kernels_index() {
        let all = || {
            [dso(1, 5, Share::Index(100)), dso(2, 1, Share::Index(100)), dso(3, 9, Share::Shared)]
        };
        let mut dsos = all();
        leave_out(&mut dsos, Some(1), 100);
        assert_eq!(shares(&dsos), [Share::LeftOut(100), Share::Index(100), Share::Shared]);
        let mut dsos = all();
        leave_out(&mut dsos, Some(1), 99);
        assert_eq!(shares(&dsos), [100, 100, 0].map(Share::LeftOut));
    }

    #[test]
    fn nothing_is_left_out_of_a_bound_that_is_large_enough() {
        let mut dsos = [dso(1, 0, Share::Index(u64::MAX)), dso(2, u64::MAX, Share::Index(0))];
        leave_out(&mut dsos, None, u64::MAX);
        assert_eq!(shares(&dsos), [Share::Index(u64::MAX), Share::Index(0)]);
    }
}
