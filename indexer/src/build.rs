//! Building: an input path in, a published index (or its bytes) and a report out.
//!
//! The only place where reading, normalising, layout, writing and publishing
//! meet. Decides nothing about symbols.

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use symidx::Index;
use symidx::format::{self, Identity, MAX_ID};
use symidx::metadata::Metadata;

use crate::input::{self, Input, ReadOptions};
use crate::layout::{self, LayoutOptions};
use crate::lines::{self, LineOptions};
use crate::model::{AddressKind, Format, Image, Report, Store};
use crate::normalise::{NormaliseOptions, normalise};
use crate::progress::Listener;
use crate::publish::publish;
use crate::write::pieces::Pieces;
use crate::write::{Contents, write};

mod error;
mod floor;
mod hashing;

pub use error::BuildError;
use hashing::{Stop, hash_input, inputs_digest, joined};

/// What to build and how.
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// use symidx_indexer::{BuildOptions, build_bytes};
///
/// let names_only = BuildOptions { names_only: true, ..BuildOptions::default() };
/// let (small, _) = build_bytes(app, &names_only)?;
/// let (whole, _) = build_bytes(app, &BuildOptions::default())?;
/// assert!(small.len() < whole.len()); // no lines
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// What to read, and from where.
    pub read: ReadOptions,
    /// Functions and code labels only.
    pub code_only: bool,
    /// Symbols only: no lines, no inlined functions. The same as
    /// [`ReadOptions::names_only`], which is enough to say it.
    pub names_only: bool,
    /// Store what people read in place of mangled names, for readers that
    /// cannot demangle or have no time to.
    pub demangle: bool,
    /// Store names packed: several times smaller, and to be put together when one
    /// is read. Names that would take over 256 bytes more so stay plain.
    pub pack_names: bool,
    /// Leave the columns of lines and calls out.
    pub no_columns: bool,
    /// Bound on anonymous memory in bytes: less DWARF is read at once. Never
    /// changes what is built. One function is read whole, and the symbols and the
    /// lines of the index take what they take: where the bound is below that, the
    /// report has a warning.
    pub max_memory: Option<u64>,
    /// Threads that read DWARF; `None`: one per processor, shared by all builds
    /// of the process. Never changes what is built.
    pub threads: Option<NonZeroUsize>,
    /// Rebuild even when the index is already the right one.
    pub force: bool,
    /// Publish an index without symbols instead of failing.
    pub allow_empty: bool,
    /// Leave an index of the same build-id or UUID that has more symbols where
    /// it is, with a warning: a stripped copy does not replace its original.
    pub keep_richer: bool,
    /// Write the file in pieces of 64 KiB, not of 2 MiB: on Linux readers that map it then
    /// have less of it resident and take more page faults. Never changes what is built.
    pub small_pieces: bool,
    /// Who is told how far the build has come.
    pub progress: Listener,
}

impl BuildOptions {
    fn is_names_only(&self) -> bool {
        self.names_only || self.read.names_only
    }
}

/// Whether anything had to be done.
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// # let folder = tempfile::tempdir()?;
/// # let output = folder.path().join("app.symidx");
/// use symidx_indexer::{BuildOptions, Status, build_file};
///
/// let build = || build_file(app, &output, &BuildOptions::default());
/// assert_eq!(build()?.status, Status::Built);
/// assert_eq!(build()?.status, Status::Fresh); // nothing had changed
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A new index was published.
    Built,
    /// The index was already that of this input and these options.
    Fresh,
}

/// What was built.
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// use symidx_indexer::{BuildOptions, build_bytes};
///
/// let (_, report) = build_bytes(app, &BuildOptions::default())?;
/// assert_eq!((report.id.as_str(), report.symbols, report.aliases), ("1122334455667788", 6, 2));
/// assert_eq!(report.skipped, [("file symbol".to_string(), 1)]); // nothing is dropped silently
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BuildReport {
    /// Built, or fresh already.
    pub status: Status,
    /// Symbols that answer addresses.
    pub symbols: u64,
    /// Further names of them.
    pub aliases: u64,
    /// Names that answer no address.
    pub names_only: u64,
    /// Functions among the symbols.
    pub functions: u64,
    /// Stretches of code with a source line; neighbours of one place are one.
    pub line_rows: u64,
    /// Functions inlined somewhere, each place counted.
    pub inlined_functions: u64,
    /// Bytes of the index.
    pub bytes: u64,
    /// Bytes of the input.
    pub input_bytes: u64,
    /// Build-id or UUID in hex, else `blake3:` and the input's hash.
    pub id: String,
    /// What was left out: reason, how many.
    pub skipped: Vec<(String, u64)>,
    /// One line each.
    pub warnings: Vec<String>,
    /// Every file read: the input first, then its companions.
    pub inputs: Vec<PathBuf>,
}

/// Builds the index of `input` and publishes it at `output`, unless the index
/// there is already that of this input and these options.
///
/// # Errors
/// [`BuildError`]; then `output` is as it was.
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// # let folder = tempfile::tempdir()?;
/// # let output = folder.path().join("app.symidx");
/// use symidx_indexer::{BuildOptions, build_file};
///
/// let report = build_file(app, &output, &BuildOptions::default())?;
/// println!("{} symbols in {} bytes", report.symbols, report.bytes);
/// assert_eq!(symidx::Index::read(&output)?.symbol_count(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn build_file(
    input: &Path,
    output: &Path,
    options: &BuildOptions,
) -> Result<BuildReport, BuildError> {
    let store = Store::new();
    let input = input::open(input, &store)?;
    // Hashing reads the whole file once, the rest touches a part of it: side
    // by side they take as long as the longer one.
    std::thread::scope(|scope| {
        let stop = Stop::default();
        let stopped = stop.flag();
        let input = &input;
        let hash = scope.spawn(move || hash_input(input, &stopped));
        let source = Source::read(input, &store, options)?;
        if !options.force && output.exists() {
            let hashes = source.hashes(joined(hash, &input.path, options)?, options);
            if let Some(report) = source.fresh(output, &hashes, options) {
                return Ok(report);
            }
            let finished = source.prepare(options)?.finish(hashes, options)?;
            if options.keep_richer
                && let Some(report) = finished.poorer_than(output)
            {
                return Ok(report);
            }
            return finished.publish(output, options);
        }
        let prepared = source.prepare(options)?;
        let hashes = prepared.source.hashes(joined(hash, &input.path, options)?, options);
        prepared.finish(hashes, options)?.publish(output, options)
    })
}

/// Builds the index of `input` in memory.
///
/// # Errors
/// [`BuildError`].
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// let (bytes, report) = symidx_indexer::build_bytes(app, &Default::default())?;
/// assert_eq!(bytes.len() as u64, report.bytes);
/// assert_eq!(symidx::Index::from_bytes(&bytes)?.symbol_count(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn build_bytes(
    input: &Path,
    options: &BuildOptions,
) -> Result<(Vec<u8>, BuildReport), BuildError> {
    let store = Store::new();
    into_bytes(&input::open(input, &store)?, &store, options)
}

/// Like [`build_bytes`], for an input whose bytes are at hand; `name` is for
/// messages and for finding companions beside it.
///
/// # Errors
/// [`BuildError`].
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// // What is in an archive, or came from a server.
/// let data = std::fs::read(app)?;
/// let (bytes, _) = symidx_indexer::build_from_bytes("app".as_ref(), &data, &Default::default())?;
/// assert_eq!(symidx::Index::from_bytes(&bytes)?.input_size(), data.len() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn build_from_bytes(
    name: &Path,
    data: &[u8],
    options: &BuildOptions,
) -> Result<(Vec<u8>, BuildReport), BuildError> {
    let store = Store::new();
    let data = store.keep(data.to_vec());
    into_bytes(&Input { path: name.to_path_buf(), data, file: None }, &store, options)
}

fn into_bytes<'store>(
    input: &Input<'store>,
    store: &'store Store,
    options: &BuildOptions,
) -> Result<(Vec<u8>, BuildReport), BuildError> {
    std::thread::scope(|scope| {
        let stop = Stop::default();
        let stopped = stop.flag();
        let hash = scope.spawn(move || hash_input(input, &stopped));
        let prepared = Source::read(input, store, options)?.prepare(options)?;
        let hashes = prepared.source.hashes(joined(hash, &input.path, options)?, options);
        let finished = prepared.finish(hashes, options)?;
        let mut bytes = Vec::new();
        let size = write(&finished.contents(), io::Cursor::new(&mut bytes))
            .map_err(|source| BuildError::Memory { path: input.path.clone(), source })?;
        Ok((bytes, finished.report(size)))
    })
}

/// An input that has been read.
struct Source<'store> {
    path: PathBuf,
    image: Image<'store>,
    /// Bytes of the store.
    kept: u64,
    input_size: u64,
}

/// What identifies an input and everything read with it.
struct Hashes {
    input: [u8; 32],
    companions: Vec<(String, [u8; 32])>,
    digest: [u8; 32],
}

impl<'store> Source<'store> {
    fn read(
        input: &Input<'store>,
        store: &'store Store,
        options: &BuildOptions,
    ) -> Result<Self, BuildError> {
        options.progress.phase("reading symbols", 0);
        let read = ReadOptions { names_only: options.is_names_only(), ..options.read.clone() };
        let image = input::read_bytes(&input.path, input.data, store, &read)?;
        Ok(Self {
            path: input.path.clone(),
            image,
            kept: store.kept(),
            input_size: u64::try_from(input.data.len()).unwrap_or(u64::MAX),
        })
    }

    fn hashes(&self, input: [u8; 32], options: &BuildOptions) -> Hashes {
        let companions: Vec<(String, [u8; 32])> = self
            .image
            .companions
            .iter()
            .map(|companion| (companion.role.to_owned(), *blake3::hash(companion.data).as_bytes()))
            .collect();
        let digest = inputs_digest(&self.image, &input, &companions, options);
        Hashes { input, companions, digest }
    }

    fn inputs(&self) -> Vec<PathBuf> {
        let companions = self.image.companions.iter().map(|companion| companion.path.clone());
        std::iter::once(self.path.clone()).chain(companions).collect()
    }

    /// The report of the index at `output` when it is already the right one:
    /// same digest, and whole.
    fn fresh(&self, output: &Path, hashes: &Hashes, options: &BuildOptions) -> Option<BuildReport> {
        // SAFETY: indexes are replaced by rename, never edited; one that is
        // edited all the same is looked at once and dropped.
        #[allow(unsafe_code)]
        let index = unsafe { Index::map(output) }.ok()?;
        if *index.inputs_digest() != hashes.digest || index.verify().is_err() {
            return None;
        }
        let metadata = symidx::metadata::read(&index).ok()??;
        // An empty index that was allowed then is not what is asked for now.
        let empty = metadata.symbols == 0 && index.names_only_count() == 0;
        if empty && !options.allow_empty {
            return None;
        }
        let lines = index.line_counts();
        Some(BuildReport {
            status: Status::Fresh,
            symbols: metadata.symbols,
            aliases: index.alias_count().into(),
            names_only: index.names_only_count().into(),
            functions: metadata.functions,
            line_rows: lines.rows,
            inlined_functions: lines.inlined,
            bytes: u64::try_from(index.as_bytes().len()).unwrap_or(u64::MAX),
            input_bytes: self.input_size,
            id: id_text(&self.image, &hashes.input),
            skipped: metadata.skipped,
            warnings: self.image.report.warnings.clone(),
            inputs: self.inputs(),
        })
    }

    /// Settles the symbols and lays them out: all that does not need hashes.
    fn prepare(mut self, options: &BuildOptions) -> Result<Prepared<'store>, BuildError> {
        let line_options =
            LineOptions::new(options.max_memory, options.threads, options.progress.clone());
        let mut lines = lines::read(&mut self.image, &line_options);
        if options.no_columns {
            lines.drop_columns();
        }
        let needed = floor::least(&self.image, self.kept, &lines);
        let beyond = floor::beyond(options.max_memory, needed);
        options.progress.phase("laying out", 0);
        let normalised =
            normalise(&mut self.image, NormaliseOptions { code_only: options.code_only });
        let nothing = normalised.names.is_empty() && normalised.names_only.is_empty();
        let mut report = std::mem::take(&mut self.image.report);
        if nothing && !options.allow_empty {
            return Err(BuildError::NoSymbols { path: self.path, report });
        }
        let named = normalised.owners.iter().filter(|owner| !owner.is_unnamed());
        let symbols = u64::try_from(named.count()).unwrap_or(u64::MAX);
        let encoded = lines::encode(&lines, &self.image, &normalised, &mut report);
        // The rows of all units, which are not needed again.
        drop(lines);
        let (line_rows, inlined) = (encoded.rows, encoded.inlined);
        let too_much = |source| BuildError::Layout { path: self.path.clone(), source };
        let mut plan =
            layout::plan(&self.image, normalised, encoded, LayoutOptions::default(), &mut report)
                .map_err(too_much)?;
        if options.demangle {
            layout::add_display_names(&mut plan, &mut report).map_err(too_much)?;
        }
        if options.pack_names {
            options.progress.phase("packing names", 0);
            layout::pack_names(&mut plan).map_err(too_much)?;
        }
        self.image.report = report;
        Ok(Prepared { source: self, plan, symbols, line_rows, inlined, beyond })
    }

    fn identity(&self, hashes: &Hashes) -> Identity {
        let image = &self.image;
        let (kind, id): (u32, &[u8]) = match (&image.build_id, &image.uuid) {
            (Some(id), _) if !id.is_empty() => (format::ID_BUILD_ID, id),
            (_, Some(uuid)) => (format::ID_UUID, uuid),
            _ => (format::ID_NONE, &[]),
        };
        let mut stored = [0; MAX_ID];
        let mut used = 0u32;
        for (to, from) in stored.iter_mut().zip(id) {
            *to = *from;
            used = used.saturating_add(1);
        }
        let (slice_offset, slice_size) = image.slice.unwrap_or((0, self.input_size));
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        Identity {
            id_kind: kind.into(),
            id_len: used.into(),
            id: stored,
            input_size: self.input_size.into(),
            input_hash: hashes.input,
            inputs_digest: hashes.digest,
            container: match image.format {
                Format::Elf => format::CONTAINER_ELF,
                Format::MachO => format::CONTAINER_MACHO,
                Format::Kallsyms => format::CONTAINER_KALLSYMS,
                Format::PerfMap => format::CONTAINER_PERF_MAP,
                Format::JitDump => format::CONTAINER_JITDUMP,
            },
            image_flags: flag(image.machine.is_64, format::IMAGE_64)
                | flag(image.machine.big_endian, format::IMAGE_BIG_ENDIAN),
            reserved: [0; 2],
            machine: image.machine.number.into(),
            subtype: image.machine.subtype.into(),
            reserved2: [0; 4],
            slice_offset: slice_offset.into(),
            slice_size: slice_size.into(),
            reserved3: [0; 16],
        }
    }
}

/// An index laid out, without its identity.
struct Prepared<'store> {
    source: Source<'store>,
    plan: layout::Plan<'store>,
    symbols: u64,
    line_rows: u64,
    inlined: u64,
    /// A warning that depends on the bound on memory: no part of the index, whose
    /// bytes do not.
    beyond: Option<String>,
}

impl<'store> Prepared<'store> {
    fn finish(
        self,
        hashes: Hashes,
        options: &BuildOptions,
    ) -> Result<Finished<'store>, BuildError> {
        options.progress.phase("writing", 0);
        let report = &self.source.image.report;
        let metadata = Metadata {
            producer: concat!("symidx ", env!("CARGO_PKG_VERSION")).to_owned(),
            options: option_words(options),
            machine: self.source.image.machine.name.to_owned(),
            companions: hashes.companions.clone(),
            skipped: skipped(report),
            warnings: u64::try_from(report.warnings.len()).unwrap_or(u64::MAX),
            symbols: self.symbols,
            functions: self.plan.functions,
        };
        let metadata = metadata.to_bytes().map_err(|error| BuildError::Memory {
            path: self.source.path.clone(),
            source: io::Error::other(error.to_string()),
        })?;
        let identity = self.source.identity(&hashes);
        Ok(Finished { prepared: self, input_hash: hashes.input, identity, metadata })
    }
}

/// An index ready to be written.
struct Finished<'store> {
    prepared: Prepared<'store>,
    input_hash: [u8; 32],
    identity: Identity,
    metadata: Vec<u8>,
}

impl<'store> Finished<'store> {
    fn contents(&self) -> Contents<'_, 'store> {
        let addresses = self.prepared.source.image.addresses;
        Contents {
            plan: &self.prepared.plan,
            identity: self.identity,
            relocatable: addresses == AddressKind::SectionOffset,
            metadata: &self.metadata,
        }
    }

    /// The report of the index at `output` when it is of the same build and
    /// has more symbols than this one.
    fn poorer_than(&self, output: &Path) -> Option<BuildReport> {
        // SAFETY: indexes are replaced by rename, never edited; one that is
        // edited all the same is looked at once and dropped.
        #[allow(unsafe_code)]
        let index = unsafe { Index::map(output) }.ok()?;
        let there = index.identity();
        let same_build = there.id_kind.get() != format::ID_NONE
            && there.id_kind == self.identity.id_kind
            && there.id == self.identity.id;
        let symbols = symidx::metadata::read(&index).ok()??.symbols;
        let richer = symbols > self.prepared.symbols && index.verify().is_ok();
        if !same_build || !richer {
            return None;
        }
        let bytes = u64::try_from(index.as_bytes().len()).unwrap_or(u64::MAX);
        let mut report = self.report(bytes);
        report.status = Status::Fresh;
        report.warnings.push(format!(
            "an index of the same build with {symbols} symbols is there already, this file has {}; kept it",
            self.prepared.symbols
        ));
        Some(report)
    }

    /// What to say when the index at `output`, of this build, has lines from
    /// debug files that this one did not find. `None` where it loses none, or
    /// none were asked for.
    fn loses_lines_of(&self, output: &Path, options: &BuildOptions) -> Option<String> {
        if options.is_names_only() {
            return None;
        }
        // SAFETY: indexes are replaced by rename, never edited; one that is
        // edited all the same is looked at once and dropped.
        #[allow(unsafe_code)]
        let index = unsafe { Index::map(output) }.ok()?;
        let (there, here) = (index.identity(), &self.identity);
        let same_build = match there.id_kind.get() {
            format::ID_NONE => there.input_hash == here.input_hash,
            _ => there.id_kind == here.id_kind && there.id == here.id,
        };
        if !same_build {
            return None;
        }
        let companions = symidx::metadata::read(&index).ok()??.companions;
        let own = &self.prepared.source.image.companions;
        let lost = |(role, _): &&(String, [u8; 32])| {
            DEBUG_ROLES.contains(&role.as_str()) && own.iter().all(|found| found.role != role)
        };
        let role = companions.iter().find(lost).map(|(role, _)| role)?;
        // Last, as it walks all of them.
        let lines = index.line_counts().rows;
        (lines > self.prepared.line_rows).then(|| format!(
            "replaced an index of the same build that had {lines} lines with one that has {}: that one was \
             made with a {role}, which this build did not find; to have them again, build with the \
             --debug-file or --debug-dir that it was made with",
            self.prepared.line_rows
        ))
    }

    fn publish(self, output: &Path, options: &BuildOptions) -> Result<BuildReport, BuildError> {
        let contents = self.contents();
        let loss = self.loses_lines_of(output, options);
        let bytes = publish(output, |file| match options.small_pieces {
            true => write(&contents, Pieces::new(file)),
            false => write(&contents, file),
        })?;
        let mut report = self.report(bytes);
        report.warnings.extend(loss);
        Ok(report)
    }

    fn report(&self, bytes: u64) -> BuildReport {
        let Prepared { source, plan, symbols, line_rows, inlined, beyond } = &self.prepared;
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        BuildReport {
            status: Status::Built,
            symbols: *symbols,
            aliases: count(plan.aliases.len()),
            names_only: count(plan.names_only.len()),
            functions: plan.functions,
            line_rows: *line_rows,
            inlined_functions: *inlined,
            bytes,
            input_bytes: source.input_size,
            id: id_text(&source.image, &self.input_hash),
            skipped: skipped(&source.image.report),
            warnings: source.image.report.warnings.iter().chain(beyond).cloned().collect(),
            inputs: source.inputs(),
        }
    }
}

/// Roles of the files that lines come from.
const DEBUG_ROLES: [&str; 5] =
    ["debug file", "dwz file", "split package", "split debug file", "object file"];

fn skipped(report: &Report) -> Vec<(String, u64)> {
    report.skipped.iter().map(|(&reason, &count)| (reason.to_owned(), count)).collect()
}

/// The options that change an index's contents, in their command-line form.
fn option_words(options: &BuildOptions) -> Vec<String> {
    let mut words = Vec::new();
    if options.code_only {
        words.push("--code-only".to_owned());
    }
    if options.is_names_only() {
        words.push("--names-only".to_owned());
    }
    if options.demangle {
        words.push("--demangle".to_owned());
    }
    if options.pack_names {
        words.push("--pack-names".to_owned());
    }
    if options.no_columns {
        words.push("--no-columns".to_owned());
    }
    words
}

/// Build-id or UUID in hex; for inputs without one `blake3:` and the hash.
fn id_text(image: &Image<'_>, input_hash: &[u8; 32]) -> String {
    match (&image.build_id, &image.uuid) {
        (Some(id), _) if !id.is_empty() => hex(id),
        (_, Some(uuid)) => hex(uuid),
        _ => format!("blake3:{}", hex(input_hash)),
    }
}

/// Lower-case hex.
///
/// ```
/// assert_eq!(symidx_indexer::hex(&[0x93, 0xac, 0x01]), "93ac01");
/// ```
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
