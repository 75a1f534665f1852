//! What a profile is about: time by symbol, DSO and thread name, in bounded memory.
//!
//! In: a [`Session`] and [`Names`]. Out: rows with their own and their callees' share,
//! the heaviest first, and why the rest has no name. Prints nothing.

mod sites;
mod table;
#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should stop"
)]
mod tests;

use std::cmp::Reverse;

use crate::dsos::DsoId;
use crate::error::Error;
use crate::names::{Answer, Names, Reason, Spelling};
use crate::reader::Damage;
use crate::session::{Counts, Located, Place, Session, Step};

use sites::{Site, Sites, Symbol};
use table::{Comms, Entry, Key, Table};
pub use table::{MOST_ROWS, Weight};

/// The memory is looked at, and the caller told, every so many samples.
const SAMPLES: u64 = 1024;

/// Anonymous memory past which a report does with fewer rows: a recording of so many files,
/// threads and mappings that they fill most of the bound.
const NEAR: u64 = 7 << 20;

/// What rows are told apart by, and what counts.
///
/// ```
/// let mut options = symidx_perf::ReportOptions::default();
/// options.comm = true; // rows of different threads apart
/// options.children = true; // what a function calls counts for it
/// assert!(options.dso && options.sym);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReportOptions {
    /// By the thread's name.
    pub comm: bool,
    /// By whose code it is.
    pub dso: bool,
    /// By symbol.
    pub sym: bool,
    /// What a row calls counts for it too, and rows are in the order of that.
    pub children: bool,
    /// Addresses of each chain.
    pub max_stack: usize,
    /// Names as people wrote them.
    pub demangle: bool,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { comm: false, dso: true, sym: true, children: false, max_stack: 127, demangle: true }
    }
}

/// One row.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// use symidx_perf::{ReportOptions, ReportRow, report};
///
/// let report = report(&mut session, &mut names, &ReportOptions::default(), 20, |_| {})?;
/// let heaviest: &ReportRow = &report.rows[0];
/// assert_eq!(heaviest.symbol.as_deref(), Some(&b"outer"[..]));
/// assert_eq!(heaviest.dso.as_deref(), Some(&b"/bin/app"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReportRow {
    /// The thread's name, where rows are by it.
    pub comm: Option<Vec<u8>>,
    /// Whose code it is, where rows are by it and any mapping holds it.
    pub dso: Option<Vec<u8>>,
    /// The symbol, where rows are by it and there is one.
    pub symbol: Option<Vec<u8>>,
    /// Why there is none.
    pub unknown: Option<Reason>,
    /// Samples that were taken there.
    pub own: Weight,
    /// Samples with it anywhere in their chain, once each.
    pub children: Weight,
}

/// What a profile is about.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// use symidx_perf::{ReportOptions, report};
///
/// let report: symidx_perf::Report =
///     report(&mut session, &mut names, &ReportOptions::default(), 20, |_| {})?;
/// assert_eq!((report.total.samples, report.events.as_slice()), (1, &["cpu-clock".to_string()][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Rows, the heaviest first.
    pub rows: Vec<ReportRow>,
    /// All samples.
    pub total: Weight,
    /// Samples in rows that there was no room for: the lightest ones.
    pub other: Weight,
    /// No row counts less than it should by more than this.
    pub error: Weight,
    /// Names of the events that there are samples of; they were counted together.
    pub events: Vec<String>,
    /// Samples that were taken where there is no name, by [`Reason::number`].
    pub unknown: [u64; Reason::ALL.len()],
    /// What the profile held.
    pub counts: Counts,
    /// What could not be read of it.
    pub damage: Damage,
    /// Bytes of all open indexes.
    pub mapped_bytes: u64,
    /// The most anonymous memory seen; 0 where the system does not tell.
    pub peak_anonymous: u64,
}

/// Counts the samples of a profile by what they were taken in; keeps the names of at
/// most `limit` rows. `watch` is called now and then.
///
/// Memory does not depend on the profile: at most [`MOST_ROWS`] rows are kept. Past
/// that the lighter half goes to [`Report::other`], and [`Report::error`] says by how
/// much a row can be short.
///
/// # Errors
/// As [`Session::next_sample`].
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// # let (directory, mut names) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/names.rs"));
/// use symidx_perf::{ReportOptions, report};
///
/// let report = report(&mut session, &mut names, &ReportOptions::default(), 20, |_| {})?;
/// for row in &report.rows {
///     let symbol = row.symbol.as_deref().unwrap_or(b"?");
///     println!("{:5} {}", row.own.samples, String::from_utf8_lossy(symbol));
/// }
/// assert_eq!(report.rows.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn report(
    session: &mut Session,
    names: &mut Names,
    options: &ReportOptions,
    limit: usize,
    mut watch: impl FnMut(&Session),
) -> Result<Report, Error> {
    let mut counter = Counter {
        options: *options,
        names,
        sites: Sites::new(),
        table: Table::new(MOST_ROWS),
        comms: Comms::default(),
        total: Weight::default(),
        unknown: [0; Reason::ALL.len()],
        events: Vec::new(),
        peak: 0,
    };
    loop {
        match session.advance()? {
            Step::Sample => {}
            Step::Pause => {
                counter.look();
                continue;
            }
            Step::End => break,
        }
        let Some(located) = session.sample() else { continue };
        if counter.total.samples.is_multiple_of(SAMPLES) {
            counter.look();
            watch(session);
        }
        counter.sample(&located, session);
    }
    watch(session);
    Ok(counter.finish(session, limit))
}

struct Counter<'n> {
    options: ReportOptions,
    names: &'n mut Names,
    sites: Sites,
    table: Table,
    comms: Comms,
    total: Weight,
    unknown: [u64; Reason::ALL.len()],
    /// Which events there are samples of.
    events: Vec<bool>,
    peak: u64,
}

impl Counter<'_> {
    fn sample(&mut self, located: &Located<'_>, session: &Session) {
        let sample = &located.sample;
        let weight = Weight { samples: 1, period: sample.period };
        self.total.add(weight);
        if self.events.len() <= sample.event {
            self.events.resize(sample.event.saturating_add(1), false);
        }
        if let Some(event) = self.events.get_mut(sample.event) {
            *event = true;
        }
        let number = self.total.samples;
        let comm = match self.options.comm {
            true => self.comms.number(located.comm()),
            false => 0,
        };
        let own = located.place(sample.ip, sample.mode);
        let site = self.site(own, located, session);
        if let Symbol::Unknown(reason) = site.symbol
            && let Some(count) = self.unknown.get_mut(reason.number())
        {
            *count = count.saturating_add(1);
        }
        let entry = self.table.entry(self.key(comm, site), address_of(own));
        entry.own.add(weight);
        entry.seen(number, weight);
        if self.options.children {
            for (_, place) in located.frames(self.options.max_stack) {
                let site = self.site(place, located, session);
                let key = self.key(comm, site);
                self.table.entry(key, address_of(place)).seen(number, weight);
            }
        }
    }

    /// What rows are told apart by.
    fn key(&self, comm: u16, site: Site) -> Key {
        let any = Site { symbol: Symbol::Any, ..site };
        let site = match (self.options.dso, self.options.sym) {
            (true, true) => site,
            // No file holds it, and a site without its reason would be taken for the file
            // that stands for those past the bound.
            (true, false) if site == Site::UNMAPPED => site,
            (true, false) => any,
            // A symbol without its DSO is still that of one.
            (false, true) => site,
            (false, false) => Site::ANYWHERE,
        };
        Key { comm, site }
    }

    /// The symbol at a place, from the cache if it is there.
    #[inline]
    fn site(&mut self, place: Option<Place>, located: &Located<'_>, session: &Session) -> Site {
        let Some(place) = place else { return Site::UNMAPPED };
        if let Some(site) = self.sites.find(place) {
            return site;
        }
        let symbol = match located.dso(place.dso).map(|dso| self.names.find(place, dso, session)) {
            Some(Answer::Symbol(symbol, ..)) => Symbol::At(symbol.start().0),
            Some(Answer::Whole(_)) => Symbol::Any,
            Some(Answer::Unknown(reason)) => Symbol::Unknown(reason),
            None => Symbol::Unknown(Reason::Unmapped),
        };
        let pid = if place.dso == DsoId::JIT { place.pid } else { 0 };
        let site = Site { dso: place.dso, pid, symbol };
        self.sites.keep(place, site);
        site
    }

    /// Looks at the memory, and does with less where it is short.
    fn look(&mut self) {
        let now = crate::anonymous::bytes();
        self.peak = self.peak.max(now);
        if now > NEAR {
            self.table.shrink();
        }
    }

    fn finish(mut self, session: &Session, limit: usize) -> Report {
        self.look();
        // No more samples: its room is for the copy of the rows.
        self.sites = Sites::none();
        let (mut entries, other, error) = self.table.finish();
        let children = self.options.children;
        let all = session.reader().header().events.iter();
        let seen = all.zip(&self.events).filter(|(_, seen)| **seen);
        let events: Vec<String> = seen.map(|(event, _)| event.name.clone()).collect();
        // Periods of different events do not add up.
        let several = events.len() > 1;
        let order = |weight: Weight| match several {
            true => (weight.samples, weight.period),
            false => (weight.period, weight.samples),
        };
        let heaviest = |(key, entry): &(Key, Entry)| {
            let weight = if children {
                (order(entry.children), order(entry.own))
            } else {
                (order(entry.own), order(entry.children))
            };
            (Reverse(weight), *key)
        };
        entries.retain(|(_, entry)| children || entry.own.samples != 0);
        entries.sort_unstable_by_key(heaviest);
        let mut rest = other;
        entries.iter().skip(limit).for_each(|(_, entry)| rest.add(entry.own));
        entries.truncate(limit);
        let mut spelling = Spelling::new(self.options.demangle);
        let rows = entries.iter().map(|(key, entry)| {
            named(*key, entry, self.names, &mut spelling, (&self.comms, &self.options), session)
        });
        let rows = rows.collect();
        self.peak = self.peak.max(crate::anonymous::bytes());
        Report {
            rows,
            total: self.total,
            other: rest,
            error,
            events,
            unknown: self.unknown,
            counts: session.counts(),
            damage: session.reader().damage(),
            mapped_bytes: self.names.mapped_bytes(),
            peak_anonymous: self.peak,
        }
    }
}

fn address_of(place: Option<Place>) -> u64 {
    place.map_or(0, |place| place.address)
}

/// A row with its names: those of the first place that was counted in it.
fn named(
    key: Key,
    entry: &Entry,
    names: &mut Names,
    spelling: &mut Spelling,
    (comms, options): (&Comms, &ReportOptions),
    session: &Session,
) -> ReportRow {
    let site = key.site;
    let dso = match site {
        Site::UNMAPPED | Site::ANYWHERE => None,
        Site { dso, .. } => session.dsos().get(dso.number()),
    };
    let mut row = ReportRow {
        comm: options.comm.then(|| comms.name(key.comm)),
        dso: None,
        symbol: None,
        unknown: None,
        own: entry.own,
        children: entry.children,
    };
    if options.dso
        && let Some(dso) = dso
    {
        row.dso = Some(match site.dso == DsoId::JIT {
            true => format!("/tmp/perf-{}.map", site.pid).into_bytes(),
            false => dso.name.to_vec(),
        });
    }
    if !options.sym {
        return row;
    }
    let place = Place { dso: site.dso, address: entry.address, pid: site.pid };
    match (site.symbol, dso) {
        (Symbol::Unknown(reason), _) => row.unknown = Some(reason),
        (_, Some(dso)) => match names.find(place, dso, session) {
            Answer::Symbol(symbol, index, _, versions) => {
                let mut name = Vec::new();
                spelling.symbol(&symbol, index, versions, &mut name);
                row.symbol = Some(name);
            }
            Answer::Whole(_) => row.symbol = Some(dso.name.to_vec()),
            Answer::Unknown(reason) => row.unknown = Some(reason),
        },
        (_, None) => row.unknown = Some(Reason::Unmapped),
    }
    row
}
