//! Lines: the DWARF of all units in, the line and inline sections out.
//!
//! ```text
//! DebugInfo ─ units, side by side ─▶ UnitLines ─ pack ─▶ Lines ─ overlap ─▶ segments ─ encode ─▶ EncodedLines
//! ```
//!
//! Units are read in batches of bounded weight, and one that is larger than a
//! batch by parts of whole functions; each is packed where it was read, and the
//! packed units are joined in the input's order: so the bytes never depend on
//! the number of threads or the bound, and memory grows with the index.
//! Nothing here reads DWARF.
//!
//! ```
//! # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
//! # let normalised = symidx_indexer::normalise::normalise(&mut image, Default::default());
//! use symidx_indexer::lines::{Lines, encode};
//!
//! let lines = Lines::from_units(&[unit]);
//! let encoded = encode(&lines, &image, &normalised, &mut report);
//! assert!(encoded.rows > 0 && encoded.inlined > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::OnceLock;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::input::dwarf::{Names, Units};
use crate::model::lines::{Function, NONE, SourceFile, UnitLines};
use crate::model::{DebugInfo, Image, Report};
use crate::parallel::allowed;
use crate::progress::Listener;
use batching::{Batched, Batching};
use pack::Packer;

mod batching;
mod encode;
mod files;
mod functions;
mod overlap;
mod pack;
mod symbols;
mod window;

pub use encode::{EncodedLines, encode};
pub use symbols::add_symbols;

/// How much is read at once, by how many, and who is told.
#[derive(Clone, Debug)]
pub(crate) struct LineOptions {
    /// Bytes of DWARF in a batch of units that are read side by side.
    batch: u64,
    threads: Option<NonZeroUsize>,
    progress: Listener,
}

impl LineOptions {
    /// Batches that keep a build below a bound on anonymous memory, as far as
    /// they decide it: what is read at once takes a few times its DWARF. A
    /// number of threads is that of a pool of its own; `None`: the process's.
    #[must_use]
    pub(crate) fn new(
        max_memory: Option<u64>,
        threads: Option<NonZeroUsize>,
        progress: Listener,
    ) -> Self {
        let batch = max_memory.map_or(MAX_BATCH, |bound| (bound / 32).clamp(1, MAX_BATCH));
        Self { batch, threads, progress }
    }

    /// Runs `work`, whose parallel steps take the threads that are meant.
    fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let own = self.threads.map(|threads| pool(Some(threads.get())));
        let of_process = || PROCESS.get_or_init(|| pool(stated_threads())).as_ref();
        let pool = match &own {
            Some(own) => own.as_ref(),
            None => of_process(),
        };
        match pool {
            Some(pool) => pool.install(work),
            // Threads that cannot be had cost time, not the build.
            None => work(),
        }
    }
}

/// The threads of builds that were given none of their own.
static PROCESS: OnceLock<Option<ThreadPool>> = OnceLock::new();

fn pool(threads: Option<usize>) -> Option<ThreadPool> {
    ThreadPoolBuilder::new().num_threads(allowed(threads)).build().ok()
}

/// What the environment says, where thread pools of this kind look for it.
fn stated_threads() -> Option<usize> {
    let stated = std::env::var("RAYON_NUM_THREADS").ok()?;
    stated.parse().ok().filter(|&threads| threads > 0)
}

/// More at once is not faster.
const MAX_BATCH: u64 = 32 << 20;

/// A contiguous stretch of code of one function (or of none), packed.
#[derive(Clone, Copy, Debug)]
struct PackedPiece {
    start: u64,
    size: u64,
    /// Index into [`crate::model::Image::sections`].
    section: u32,
    /// Index into [`Lines::units`].
    unit: u32,
    /// Its bytes in the unit's: first and one past the last.
    bytes: (u32, u32),
    /// Its function, of all; `NONE` where it is not known.
    function: u32,
    /// False outside every function.
    inside: bool,
    /// The function starts here.
    entry: bool,
}

/// A unit's packed pieces, and what its numbers mean in all.
#[derive(Debug)]
struct PackedUnit {
    bytes: Box<[u8]>,
    functions: Box<[u32]>,
    files: Box<[u32]>,
}

impl PackedUnit {
    /// The number among all of one of the unit's files.
    fn file(&self, file: u32) -> u32 {
        let at = usize::try_from(file).ok();
        at.and_then(|at| self.files.get(at)).copied().unwrap_or(NONE)
    }
}

/// All that DWARF says of an image's lines and inlined functions.
///
/// ```
/// # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
/// let lines = symidx_indexer::lines::Lines::from_units(&[unit]); // of all units, packed
/// assert!(!lines.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Lines<'data> {
    /// Distinct functions, in the order they were met, with how often each has a node.
    functions: Vec<(Function<'data>, u32)>,
    /// Distinct files, in the order they were met.
    files: Vec<SourceFile<'data>>,
    units: Vec<PackedUnit>,
    pieces: Vec<PackedPiece>,
    /// Rows and calls are written without columns.
    no_columns: bool,
    /// Bytes of DWARF it was read from.
    weight: u64,
    /// Bytes of memory that reading a unit took at most, about.
    held: u64,
}

/// Memory of a function: its entries in tables of its unit and of all.
const FUNCTION_MEMORY: u64 = 210;
/// Of a piece: it is put in order, and settled against others.
const PIECE_MEMORY: u64 = 40;
/// Of a file, with its directory.
const FILE_MEMORY: u64 = 400;

impl<'data> Lines<'data> {
    /// Leaves columns out: rows and calls that only they keep apart become one.
    ///
    /// ```
    /// # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
    /// # let normalised = symidx_indexer::normalise::normalise(&mut image, Default::default());
    /// use symidx_indexer::lines::{Lines, encode};
    ///
    /// let mut lines = Lines::from_units(&[unit]);
    /// let with = encode(&lines, &image, &normalised, &mut report);
    /// lines.drop_columns();
    /// let without = encode(&lines, &image, &normalised, &mut report);
    /// assert!(without.lines.len() < with.lines.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop_columns(&mut self) {
        self.no_columns = true;
    }

    /// Reads all DWARF of an image; the same for every number of threads and
    /// every bound on memory.
    pub(crate) fn read(
        debug: &[DebugInfo<'data>],
        options: &LineOptions,
        report: &mut Report,
    ) -> Self {
        options.run(|| Self::read_batches(debug, options, report))
    }

    fn read_batches(
        debug: &[DebugInfo<'data>],
        options: &LineOptions,
        report: &mut Report,
    ) -> Self {
        let mut lines = Self::default();
        let mut known = Known::default();
        let all: Vec<_> = debug.iter().map(|info| Units::open(info, report)).collect();
        let count = all.iter().fold(0usize, |sum, units| sum.saturating_add(units.len()));
        if count > 0 {
            options.progress.phase("reading DWARF", count);
        }
        for units in &all {
            let weights = (0..units.len()).map(|unit| units.weight(unit));
            lines.weight = weights.fold(lines.weight, u64::saturating_add);
            let mut next = 0usize;
            while next < units.len() {
                let end = batch_end(units, next, options.batch);
                let batch: Vec<_> = (next..end)
                    .into_par_iter()
                    .map_init(Packer::default, |packer, unit| {
                        let mut report = Report::default();
                        let mut batching = Batching::new(packer);
                        let names = units.read_parts(
                            unit,
                            options.batch,
                            &mut report,
                            &mut |part, report| batching.take(part, report),
                        );
                        (batching.finish(names), report)
                    })
                    .collect();
                for (unit, unit_report) in batch {
                    report.absorb(unit_report);
                    lines.held = lines.held.max(unit.names.held);
                    lines.join(unit, &mut known, report);
                }
                options.progress.advance(end.saturating_sub(next));
                next = end;
            }
        }
        lines
    }

    /// Joins units that are at hand, in this order.
    ///
    /// ```
    /// # let (mut image, mut report, unit) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/unit.rs"));
    /// // The same, whatever threads read the units: their order decides.
    /// let lines = symidx_indexer::lines::Lines::from_units(&[unit.clone(), unit]);
    /// assert!(!lines.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_units(units: &[UnitLines<'data>]) -> Self {
        let mut lines = Self::default();
        let (mut known, mut packer) = (Known::default(), Packer::default());
        let mut report = Report::default();
        for unit in units {
            let rows = u64::try_from(unit.rows.len()).unwrap_or(u64::MAX);
            lines.weight = lines.weight.saturating_add(rows.saturating_mul(16));
            let mut batching = Batching::new(&mut packer);
            batching.take(unit, &mut report);
            let names = Names {
                functions: unit.functions.clone(),
                files: unit.files.clone(),
                order: (0..u32::try_from(unit.files.len()).unwrap_or(NONE)).collect(),
                held: 0,
            };
            lines.join(batching.finish(names), &mut known, &mut report);
        }
        lines
    }

    /// Bytes that it takes until it is laid out, about: what is packed with what
    /// one unit takes while it is read, or with what is encoded from it,
    /// whichever is more.
    #[must_use]
    pub(crate) fn least(&self) -> u64 {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let packed =
            self.units.iter().fold(0, |sum, unit| count(unit.bytes.len()).saturating_add(sum));
        let functions = count(self.functions.len());
        let reading = self.held.saturating_add(functions.saturating_mul(FUNCTION_MEMORY / 2));
        let encoding = [
            (packed / 5).saturating_mul(4),
            functions.saturating_mul(FUNCTION_MEMORY),
            count(self.pieces.len()).saturating_mul(PIECE_MEMORY),
            count(self.files.len()).saturating_mul(FILE_MEMORY),
        ];
        let encoding = encoding.iter().fold(0, |sum: u64, part| sum.saturating_add(*part));
        packed.saturating_add(reading.max(encoding))
    }

    /// True when nothing is known.
    ///
    /// ```
    /// assert!(symidx_indexer::lines::Lines::from_units(&[]).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Joins a unit: its functions and files become those of all.
    fn join(&mut self, unit: Batched<'data>, known: &mut Known<'data>, report: &mut Report) {
        if unit.pieces.is_empty() {
            return;
        }
        let Ok(number) = u32::try_from(self.units.len()) else {
            report.skip("units beyond the first 4,294,967,295");
            return;
        };
        let place = |index: u32| usize::try_from(index).unwrap_or(usize::MAX);
        let mut files: Box<[u32]> = vec![NONE; unit.names.files.len()].into_boxed_slice();
        for &number in &unit.names.order {
            if let Some((slot, &file)) =
                files.get_mut(place(number)).zip(unit.names.files.get(place(number)))
            {
                *slot = known.file(file, &mut self.files);
            }
        }
        let uses = unit.uses.iter().copied().chain(std::iter::repeat(0));
        let functions: Box<[u32]> = unit
            .names
            .functions
            .iter()
            .zip(uses)
            .map(|(&function, uses)| {
                let file = files.get(place(function.file)).copied().unwrap_or(NONE);
                known.function(Function { file, ..function }, uses, &mut self.functions)
            })
            .collect();
        self.pieces.extend(unit.pieces.iter().map(|piece| PackedPiece {
            unit: number,
            function: functions.get(place(piece.function)).copied().unwrap_or(NONE),
            ..*piece
        }));
        self.units.push(PackedUnit { bytes: unit.bytes.into_boxed_slice(), functions, files });
    }
}

/// The end of the batch that starts at `first`: at least one unit.
fn batch_end(units: &Units<'_, '_>, first: usize, limit: u64) -> usize {
    let mut weight = 0u64;
    let mut end = first;
    while end < units.len() {
        weight = weight.saturating_add(units.weight(end));
        if weight > limit && end > first {
            break;
        }
        end = end.saturating_add(1);
    }
    end
}

/// Functions and files that were met before.
#[derive(Default)]
struct Known<'data> {
    functions: HashMap<Function<'data>, u32>,
    files: HashMap<SourceFile<'data>, u32>,
}

impl<'data> Known<'data> {
    fn file(&mut self, file: SourceFile<'data>, all: &mut Vec<SourceFile<'data>>) -> u32 {
        *self.files.entry(file).or_insert_with(|| {
            let number = u32::try_from(all.len()).unwrap_or(NONE);
            all.push(file);
            number
        })
    }

    fn function(
        &mut self,
        function: Function<'data>,
        uses: u32,
        all: &mut Vec<(Function<'data>, u32)>,
    ) -> u32 {
        let number = *self.functions.entry(function).or_insert_with(|| {
            let number = u32::try_from(all.len()).unwrap_or(NONE);
            all.push((function, 0));
            number
        });
        if let Some((_, all_uses)) =
            usize::try_from(number).ok().and_then(|number| all.get_mut(number))
        {
            *all_uses = all_uses.saturating_add(uses);
        }
        number
    }
}

/// The image's DWARF, read; its functions that no table names become symbols.
pub(crate) fn read<'data>(image: &mut Image<'data>, options: &LineOptions) -> Lines<'data> {
    let debug = std::mem::take(&mut image.debug);
    let units = std::mem::take(&mut image.lines);
    let lines = match debug.is_empty() {
        true => Lines::from_units(&units),
        false => Lines::read(&debug, options, &mut image.report),
    };
    add_symbols(&lines, image);
    lines
}
