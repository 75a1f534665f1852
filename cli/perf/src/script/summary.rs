//! What a run did: samples, frames, names, and why names are missing.
//!
//! In: outcomes, one by one. Out: counts per DSO and reason.

use std::cmp::Reverse;

use crate::anonymous;
use crate::dsos::{Dso, DsoId};
use crate::names::{Names, Opened, Reason, Room, Why};
use crate::reader::Damage;
use crate::session::Counts;

/// What became of the frames of one DSO.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// use symidx_perf::ScriptOptions;
///
/// let options = ScriptOptions::default();
/// let summary = symidx_perf::script(&mut session, &mut names, &options, &mut Vec::new(), |_| {})?;
/// let app: &symidx_perf::DsoReport = &summary.dsos[0];
/// assert_eq!((app.frames, app.named, app.index_bytes), (2, 2, Some(3213)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DsoReport {
    /// The DSO.
    pub dso: Dso,
    /// Samples with a frame in it.
    pub samples: u64,
    /// Frames in it.
    pub frames: u64,
    /// Frames that got a name.
    pub named: u64,
    /// Bytes of its index; `None`: there is none.
    pub index_bytes: Option<u64>,
    /// Why there is no index; empty when there is one.
    pub why: Why,
    /// The same as a reason.
    pub reason: Option<Reason>,
}

/// What a run did.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// let options = symidx_perf::ScriptOptions::default();
/// let summary: symidx_perf::Summary =
///     symidx_perf::script(&mut session, &mut names, &options, &mut Vec::new(), |_| {})?;
/// assert_eq!((summary.frames, summary.named, summary.built), (2, 2, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// What the profile held.
    pub counts: Counts,
    /// What could not be read of it.
    pub damage: Damage,
    /// Frames printed.
    pub frames: u64,
    /// Frames with a name.
    pub named: u64,
    /// Frames without a name, by [`Reason::number`].
    pub unknown: [u64; Reason::ALL.len()],
    /// DSOs that frames are in, those with most frames first.
    pub dsos: Vec<DsoReport>,
    /// Bytes of all open indexes.
    pub mapped_bytes: u64,
    /// Indexes built.
    pub built: u64,
    /// The most anonymous memory seen; 0 where the system does not tell.
    pub peak_anonymous: u64,
}

/// Counts while a run goes on.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) frames: u64,
    pub(super) unknown: [u64; Reason::ALL.len()],
    dsos: Vec<One>,
    sample: u64,
    pub(super) peak: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct One {
    samples: u64,
    frames: u64,
    unknown: u64,
    /// The last sample with a frame in it.
    last: u64,
}

/// How a cached text remembers what became of its address: 0 named, else a reason.
pub(super) fn outcome(reason: Option<Reason>) -> u8 {
    let number = reason.map_or(0, |reason| reason.number().saturating_add(1));
    u8::try_from(number).unwrap_or(0)
}

impl Tally {
    pub(super) fn sample(&mut self) {
        self.sample = self.sample.saturating_add(1);
    }

    /// Counts a frame and what became of it.
    #[inline]
    pub(super) fn frame(&mut self, dso: Option<DsoId>, outcome: u8) {
        self.late_frame(dso);
        self.outcome(dso, outcome);
    }

    /// Counts what became of a frame.
    #[inline]
    pub(super) fn outcome(&mut self, dso: Option<DsoId>, outcome: u8) {
        let Some(reason) = usize::from(outcome).checked_sub(1) else { return };
        if let Some(count) = self.unknown.get_mut(reason) {
            *count = count.saturating_add(1);
        }
        if let Some(one) = dso.and_then(|dso| self.dsos.get_mut(dso.number())) {
            one.unknown = one.unknown.saturating_add(1);
        }
    }

    /// Counts a frame of which it is not known yet whether it has a name.
    #[inline]
    pub(super) fn late_frame(&mut self, dso: Option<DsoId>) {
        self.frames = self.frames.saturating_add(1);
        let Some(at) = dso.map(DsoId::number) else { return };
        if self.dsos.len() <= at {
            self.dsos.resize(at.saturating_add(1), One::default());
        }
        if let Some(one) = self.dsos.get_mut(at) {
            one.frames = one.frames.saturating_add(1);
            if one.last != self.sample {
                one.last = self.sample;
                one.samples = one.samples.saturating_add(1);
            }
        }
    }

    /// Looks at how much anonymous memory there is.
    pub(super) fn look(&mut self) -> u64 {
        let now = anonymous::bytes();
        self.peak = self.peak.max(now);
        now
    }

    pub(super) fn finish(mut self, session: &crate::Session, names: &Names) -> Summary {
        self.look();
        let used = session.dsos().iter().zip(&self.dsos).zip(0usize..);
        let mut used: Vec<_> = used.filter(|((_, one), _)| one.frames != 0).collect();
        used.sort_by_key(|((_, one), _)| Reverse(one.frames));
        let mut room = Room::default();
        let dsos = used
            .into_iter()
            .map(|((dso, one), at)| {
                let (index_bytes, why, reason) = match names.opened(DsoId::at(at)) {
                    Opened::Index(bytes) => (Some(bytes), Why::default(), None),
                    Opened::Missing(reason, why) => (None, room.keep(why, reason), Some(reason)),
                    Opened::Unneeded => (None, Why::default(), None),
                };
                DsoReport {
                    dso: dso.clone(),
                    samples: one.samples,
                    frames: one.frames,
                    named: one.frames.saturating_sub(one.unknown),
                    index_bytes,
                    why,
                    reason,
                }
            })
            .collect();
        let unknown: u64 = self.unknown.iter().sum();
        Summary {
            counts: session.counts(),
            damage: session.reader().damage(),
            frames: self.frames,
            named: self.frames.saturating_sub(unknown),
            unknown: self.unknown,
            dsos,
            mapped_bytes: names.mapped_bytes(),
            built: names.built(),
            peak_anonymous: self.peak,
        }
    }
}
