//! Reading: one input file (and its companions) in, one [`Image`] out.
//!
//! The only part of the indexer that names a file format or its crates. It
//! never decides which symbol wins; that is `normalise`.
//!
//! ```
//! # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
//! use symidx_indexer::{input::{ReadOptions, read}, model::Store};
//!
//! let store = Store::new(); // owns the bytes that the image borrows
//! let image = read(app, &store, &ReadOptions::default())?;
//! assert!(image.symbols.iter().any(|symbol| symbol.name == b"outer"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::model::{Image, Store};

mod compressed;
mod debug;
pub mod dwarf;
pub mod elf;
pub mod jitdump;
pub mod kallsyms;
mod live_code;
pub mod macho;
pub mod nearest;
pub mod packed;
pub mod perf_map;
#[cfg(test)]
mod rows;

/// What to read, and from where.
///
/// ```
/// use symidx_indexer::input::ReadOptions;
///
/// let options = ReadOptions {
///     debug_dirs: vec!["/srv/debug".into()], // before the system's directories
///     auto_debug: true,                      // which are looked at, too
///     ..ReadOptions::default()
/// };
/// assert!(!options.names_only);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Slice of a fat Mach-O by architecture name (`x86_64`, `arm64`, `arm64e`…).
    pub arch: Option<String>,
    /// Slice of a fat Mach-O by `LC_UUID`.
    pub uuid: Option<[u8; 16]>,
    /// Separate debug files, `.dSYM` bundles and `.dwp` packages named by the user;
    /// each is taken only on a match.
    pub debug_files: Vec<PathBuf>,
    /// Directories with `.build-id/xx/yyyy.debug` trees or debug files by name,
    /// also those that debug information refers to.
    pub debug_dirs: Vec<PathBuf>,
    /// Also look beside the file, where debug information says that its parts were
    /// written, and in the system's debug directories.
    pub auto_debug: bool,
    /// Symbols only: no debug information is looked for, unpacked or kept.
    pub names_only: bool,
    /// kallsyms: a `/proc/modules` file, for the modules' ends.
    pub modules: Option<PathBuf>,
}

impl ReadOptions {
    /// True when files that nobody named may be looked for; then it is worth a
    /// word that one is missing.
    pub(crate) fn may_look(&self) -> bool {
        self.auto_debug || !self.debug_dirs.is_empty()
    }
}

/// Why an input cannot be read at all. (A damaged *part* is a warning in
/// [`crate::model::Report`]; the rest is kept.)
///
/// ```
/// use symidx_indexer::{input::{InputError, ReadOptions, read}, model::Store};
///
/// let store = Store::new();
/// let error = read("/no/such/file".as_ref(), &store, &ReadOptions::default()).unwrap_err();
/// assert!(matches!(&error, InputError::Io { action: "open", .. }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum InputError {
    /// The operating system refused.
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done: `"open"`, `"map"`, `"read"`.
        action: &'static str,
        /// Its error.
        source: std::io::Error,
    },
    /// The file is not what was expected, or is damaged beyond use.
    Malformed {
        /// The file.
        path: PathBuf,
        /// File offset of the offending bytes, where there is one.
        offset: Option<u64>,
        /// What was expected there.
        expected: String,
        /// What was found.
        found: String,
        /// What the user can do.
        advice: &'static str,
    },
    /// A fat file, and no choice (or a choice that is not there).
    ChooseSlice {
        /// The file.
        path: PathBuf,
        /// What was asked for, if anything.
        wanted: Option<String>,
        /// The slices it has.
        slices: Vec<Slice>,
    },
}

/// One slice of a fat Mach-O file.
///
/// ```
/// let fat = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/macho/fat/fat3.macho"));
/// let slices: Vec<symidx_indexer::input::Slice> = symidx_indexer::input::macho::slices(fat).unwrap();
/// assert_eq!(slices.iter().map(|s| s.arch).collect::<Vec<_>>(), ["x86_64", "arm64", "arm64e"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Architecture name, told apart by subtype (`arm64` from `arm64e`).
    pub arch: &'static str,
    /// `LC_UUID`, when the slice is readable and has one.
    pub uuid: Option<[u8; 16]>,
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, action, source } => {
                write!(f, "{}: cannot {action}: {source}", path.display())
            }
            Self::Malformed { path, offset, expected, found, advice } => {
                write!(f, "{}: ", path.display())?;
                if let Some(offset) = offset {
                    write!(f, "at offset {offset:#x}: ")?;
                }
                write!(f, "expected {expected}, found {found}; {advice}")
            }
            Self::ChooseSlice { path, wanted, slices } => {
                write!(f, "{}: expected ", path.display())?;
                match wanted {
                    Some(wanted) => write!(f, "a slice {wanted}")?,
                    None => write!(f, "a choice of slice")?,
                }
                write!(f, ", found {} architectures:", slices.len())?;
                for slice in slices {
                    write!(f, " {}", slice.arch)?;
                }
                write!(
                    f,
                    "; pick one with --arch or --uuid, or build each (symidx build --all-archs) and give its index"
                )
            }
        }
    }
}

impl std::error::Error for InputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Reads the file at `path` (or the binary in a `.dSYM` bundle): maps it into
/// `store`, tells its format from its first bytes, and reads it with its
/// companions.
///
/// # Errors
/// [`InputError`] when nothing can be read; a damaged part is a warning instead.
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// use symidx_indexer::{input::{ReadOptions, read}, model::Store};
///
/// let store = Store::new();
/// let image = read(app, &store, &ReadOptions::default())?; // whatever format it is
/// assert_eq!((image.sections.len(), image.debug.len()), (3, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read<'store>(
    path: &Path,
    store: &'store Store,
    options: &ReadOptions,
) -> Result<Image<'store>, InputError> {
    let input = open(path, store)?;
    read_bytes(&input.path, input.data, store, options)
}

/// An input that is open: its own path (for a bundle that of the file inside),
/// its bytes, and the file behind them.
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// use symidx_indexer::{input::{Input, open}, model::Store};
///
/// let store = Store::new();
/// let input: Input<'_> = open(app, &store)?;
/// assert!(input.data.starts_with(b"\x7fELF") && input.file.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Input<'store> {
    /// The file that is read.
    pub path: PathBuf,
    /// Its bytes; those inside of it when it is packed.
    pub data: &'store [u8],
    /// The same file, for reading in order without filling the map; `None`
    /// for pseudo files, whose bytes can be had only once, and for packed ones.
    pub file: Option<&'store std::fs::File>,
}

/// Opens and maps an input.
///
/// # Errors
/// [`InputError`] when the file cannot be mapped.
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// let store = symidx_indexer::model::Store::new();
/// let input = symidx_indexer::input::open(app, &store)?; // mapped; unpacked, where it is packed
/// assert_eq!((input.path.as_path(), input.data.len()), (app, 4784));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open<'store>(path: &Path, store: &'store Store) -> Result<Input<'store>, InputError> {
    let path = binary_of(path)?.into_owned();
    let (data, file) = map_and_file(&path, store, is_input)?;
    // Its contents are the input then: size, hash and all.
    if let Some(unpacked) = packed::unpack(&path, data)? {
        return Ok(Input { path, data: store.keep(unpacked), file: None });
    }
    Ok(Input { path, data, file: file.map(|file| store.keep_file(file)) })
}

/// The file to read: `path` itself, or the binary inside it when it is a bundle.
fn binary_of(path: &Path) -> Result<Cow<'_, Path>, InputError> {
    if macho::is_dsym(path) {
        Ok(Cow::Owned(macho::dsym_binary(path)?))
    } else {
        Ok(Cow::Borrowed(path))
    }
}

/// What tells one build of a file from another, as the file states it.
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// use symidx_indexer::input::{Identified, ReadOptions, identify};
///
/// let Identified { build_id, uuid, .. } =
///     identify(app, &std::fs::read(app)?, &ReadOptions::default())?;
/// assert_eq!((build_id.unwrap().len(), uuid), (8, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identified {
    /// GNU build-id.
    pub build_id: Option<Vec<u8>>,
    /// Mach-O `LC_UUID`.
    pub uuid: Option<[u8; 16]>,
    /// The slice of a fat file: (offset, size) in the file; `None` = the whole file.
    pub slice: Option<(u64, u64)>,
    /// Its addresses are those of one boot or one process: the same build-id does
    /// not make them the same.
    pub at_run_time: bool,
}

/// The identity of an input, without reading its symbols; nothing in it for
/// formats and files that state none.
///
/// # Errors
/// As [`read`], for a damaged header or a fat file without a choice.
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// use symidx_indexer::input::{ReadOptions, identify};
///
/// // Is this the file that a profile means? Its symbols need not be read for that.
/// let identified = identify(app, &std::fs::read(app)?, &ReadOptions::default())?;
/// assert_eq!(identified.build_id.as_deref().map(symidx_indexer::hex).unwrap(), "1122334455667788");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn identify(path: &Path, data: &[u8], options: &ReadOptions) -> Result<Identified, InputError> {
    if elf::is_elf(data) {
        let build_id = elf::build_id(path, data)?;
        Ok(Identified { build_id, ..Identified::default() })
    } else if macho::is_macho(data) {
        macho::identify(path, data, options)
    } else {
        let at_run_time =
            jitdump::is_jitdump(data) || is_perf_map(path, data) || kallsyms::is_kallsyms(data);
        let build_id = kallsyms::running::build_id(path);
        Ok(Identified { build_id, at_run_time, ..Identified::default() })
    }
}

/// Like [`read`], for bytes already at hand; `path` is for messages and for
/// finding companions beside it.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_bytes<'store>(
    path: &Path,
    data: &'store [u8],
    store: &'store Store,
    options: &ReadOptions,
) -> Result<Image<'store>, InputError> {
    if elf::is_elf(data) {
        elf::read(path, data, store, options)
    } else if macho::is_macho(data) {
        macho::read(path, data, store, options)
    } else if jitdump::is_jitdump(data) {
        jitdump::read(path, data)
    } else if is_perf_map(path, data) {
        perf_map::read(path, data)
    } else if kallsyms::is_kallsyms(data) {
        kallsyms::read(path, data, store, options)
    } else {
        Err(InputError::Malformed {
            path: path.to_path_buf(),
            offset: Some(0),
            expected: "an ELF file, a Mach-O file, kallsyms text, a perf map or a jitdump file"
                .to_owned(),
            found: describe_start(data),
            advice: "give the binary itself, not an archive or a package of it",
        })
    }
}

/// True for a perf map by its name or its contents.
fn is_perf_map(path: &Path, data: &[u8]) -> bool {
    perf_map::is_perf_map_name(path) || perf_map::is_perf_map(data)
}

/// True when the first bytes are those of a format that is read here.
fn is_input(start: &[u8]) -> bool {
    elf::is_elf(start)
        || macho::is_macho(start)
        || jitdump::is_jitdump(start)
        || kallsyms::is_kallsyms(start)
        || perf_map::is_perf_map(start)
        || packed::is_packed(start)
}

/// Maps a file that belongs to an input and returns its bytes (empty for an
/// empty file). The file itself is closed: thousands of them keep no
/// descriptors. Only a regular file is opened: a pipe with the right name
/// would wait for a writer that never comes.
///
/// # Errors
/// [`InputError::Io`].
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// let store = symidx_indexer::model::Store::new();
/// let data = symidx_indexer::input::map_file(app, &store)?; // as long as the store
/// assert_eq!(data.len(), 4784);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn map_file<'store>(path: &Path, store: &'store Store) -> Result<&'store [u8], InputError> {
    let io = |action, source| InputError::Io { path: path.to_path_buf(), action, source };
    let metadata = path.metadata().map_err(|source| io("open", source))?;
    if !metadata.is_file() {
        return Err(io("read", std::io::Error::other("expected a file, found something else")));
    }
    map_or_read(path, store)
}

/// Like [`map_file`], for a file that the user may give as a pipe.
///
/// # Errors
/// [`InputError::Io`].
pub(crate) fn map_or_read<'store>(
    path: &Path,
    store: &'store Store,
) -> Result<&'store [u8], InputError> {
    map_and_file(path, store, |_| true).map(|(data, _)| data)
}

/// A file's bytes and the file itself.
type Mapped<'store> = (&'store [u8], Option<std::fs::File>);

/// At most this much is read from a pipe or a pseudo file.
const MAX_UNMAPPED: u64 = 1 << 30;

/// Maps a file. What cannot be mapped is read: on when its first bytes are
/// `wanted`, and up to a limit, since a device may never end.
fn map_and_file<'store>(
    path: &Path,
    store: &'store Store,
    wanted: impl Fn(&[u8]) -> bool,
) -> Result<Mapped<'store>, InputError> {
    use std::io::Read as _;
    let io = |action, source| InputError::Io { path: path.to_path_buf(), action, source };
    let file = std::fs::File::open(path).map_err(|e| io("open", e))?;
    let metadata = file.metadata().map_err(|e| io("read the size of", e))?;
    if metadata.is_dir() {
        return Err(io("read", std::io::Error::from(std::io::ErrorKind::IsADirectory)));
    }
    if is_device(metadata.file_type()) {
        // /dev/zero has no end.
        let source = std::io::Error::other("expected a file or a pipe, found a device");
        return Err(io("read", source));
    }
    // Pseudo files (/proc/kallsyms) say size 0 and cannot be mapped.
    if metadata.len() == 0 || !metadata.is_file() {
        let mut buffer = Vec::new();
        (&file).take(4096).read_to_end(&mut buffer).map_err(|e| io("read", e))?;
        if wanted(&buffer) {
            (&file).take(MAX_UNMAPPED).read_to_end(&mut buffer).map_err(|e| io("read", e))?;
        }
        return Ok((store.keep(buffer), None));
    }
    // SAFETY: the map is read-only and private to this process. A file that
    // another process truncates while it is indexed ends this process with
    // SIGBUS; nothing is published then. Changing a binary in place while it
    // is indexed is outside of what Rust defines, like running one that is
    // being written; every read is bounds-checked, so what remains in practice
    // is an index that says what was read.
    #[allow(unsafe_code)]
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| io("map", e))?;
    Ok((store.keep_map(map), Some(file)))
}

#[cfg(unix)]
fn is_device(kind: std::fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: std::fs::FileType) -> bool {
    false
}

/// The first bytes of a file in words, for error messages.
#[must_use]
pub(crate) fn describe_start(data: &[u8]) -> String {
    use fmt::Write as _;
    if data.is_empty() {
        return "an empty file".to_owned();
    }
    let mut text = String::from("a file that starts with");
    for byte in data.iter().take(8) {
        // Writing to a String cannot fail.
        let _ = write!(text, " {byte:02x}");
    }
    text
}
