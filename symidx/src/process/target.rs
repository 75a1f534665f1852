//! Another process: its mappings, and the build-ids of what it has mapped.
//!
//! Reads `/proc/PID/maps`, and headers through `/proc/PID/mem`, else through
//! `/proc/PID/map_files` or the file itself: containers and deleted files work.
//! Never stops the process, never writes.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::vec::Vec;

use crate::process::digest::Digest;
use crate::process::elf::{Elf, LoadHeader, ReadAt};
use crate::process::id::Id;
use crate::process::image::{biases, memory_spans};
use crate::process::maps::{self, Content, Mapping, MapsError};
use crate::process::modules::{Module, ModuleKind, Modules, Origin, Span};
use crate::sys::open::open_regular;

impl Modules {
    /// The modules of a process that runs.
    ///
    /// Build-ids come from its memory where this process may read it, so they
    /// are right for containers, deleted and replaced files as well.
    ///
    /// # Errors
    /// When `/proc/PID/maps` cannot be read: no such process, or one of
    /// somebody else. A process that has ended but was not waited for has no
    /// modules, and neither has a thread of the kernel.
    ///
    /// ```
    /// let modules = symidx::process::Modules::from_pid(std::process::id())?;
    /// assert!(modules.iter().any(|module| module.path().ends_with("[vdso]")));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn from_pid(pid: u32) -> io::Result<Self> {
        let directory = PathBuf::from(std::format!("/proc/{pid}"));
        let text = read_maps(pid)?;
        let target = Target { memory: File::open(directory.join("mem")).ok(), directory };
        let (spans, modules) = gather(&text, Some(&target))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Self::new(spans, modules, Origin::Process { pid, digest: digest(&text) }))
    }

    /// The modules in a recorded text of `/proc/PID/maps`. Build-ids are not
    /// read: the files at those paths may be other ones by now.
    ///
    /// # Errors
    /// [`MapsError`] names the line that is none.
    ///
    /// ```
    /// let text = b"400000-401000 r-xp 00000000 08:01 42 /bin/app\n";
    /// let modules = symidx::process::Modules::from_maps(text)?;
    /// assert_eq!(modules.find(0x400010).unwrap().file_offset().unwrap().0, 0x10);
    /// # Ok::<(), symidx::process::MapsError>(())
    /// ```
    pub fn from_maps(text: &[u8]) -> Result<Self, MapsError> {
        let (spans, modules) = gather(text, None)?;
        Ok(Self::new(spans, modules, Origin::Text))
    }

    /// True when libraries were loaded or unloaded since: capture again then.
    /// For this process it compares two counters of the loader, under its
    /// lock; for another one it reads its maps. A recorded text never changes.
    ///
    /// # Errors
    /// When the maps of another process cannot be read: it has ended.
    ///
    /// ```
    /// let modules = symidx::process::Modules::capture();
    /// // Before each profile: a library that is gone must not lend its names.
    /// assert!(!modules.changed()?); // nothing was loaded since
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn changed(&self) -> io::Result<bool> {
        Ok(match self.origin() {
            #[cfg(not(target_vendor = "apple"))]
            Origin::Own(then) => crate::sys::loader::generation() != then,
            #[cfg(any(target_vendor = "apple", test))]
            Origin::Images(then) => crate::sys::dyld::generation() != then,
            Origin::Process { pid, digest: then } => digest(&read_maps(pid)?) != then,
            Origin::Text => false,
        })
    }

    /// The modules as they are now, from where these came.
    ///
    /// # Errors
    /// As [`Modules::from_pid`].
    ///
    /// ```
    /// let modules = symidx::process::Modules::capture();
    /// let now = if modules.changed()? { modules.again()? } else { modules };
    /// # assert!(!now.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn again(&self) -> io::Result<Self> {
        match self.origin() {
            #[cfg(not(target_vendor = "apple"))]
            Origin::Own(_) => Ok(Self::capture()),
            #[cfg(any(target_vendor = "apple", test))]
            Origin::Images(_) => Ok(crate::process::apple::own()),
            Origin::Process { pid, .. } => Self::from_pid(pid),
            Origin::Text => Ok(self.clone()),
        }
    }
}

fn read_maps(pid: u32) -> io::Result<Vec<u8>> {
    std::fs::read(std::format!("/proc/{pid}/maps")).map_err(|error| {
        let expected = std::format!("process {pid}: expected a readable /proc/{pid}/maps, found");
        let text = match error.kind() {
            io::ErrorKind::NotFound => std::format!(
                "{expected} no such process; it may have ended: give the number of one that runs"
            ),
            io::ErrorKind::PermissionDenied => {
                std::format!("{expected} somebody else's process or one that the system guards; run as its user or as root")
            }
            // It ended between opening and reading.
            _ if error.raw_os_error() == Some(libc::ESRCH) => std::format!(
                "{expected} a process that has just ended; give the number of one that runs"
            ),
            _ => std::format!("{expected} an error: {error}; try again as root"),
        };
        io::Error::new(error.kind(), text)
    })
}

/// A process that can be looked at.
pub(super) struct Target {
    pub(super) directory: PathBuf,
    pub(super) memory: Option<File>,
}

/// Of the mappings of files: heaps that grow are no change.
fn digest(text: &[u8]) -> u64 {
    let is_of_file = |line: &&[u8]| {
        Mapping::parse(line).is_some_and(|mapping| mapping.content() != Content::Anonymous)
    };
    let lines = text.split(|&byte| byte == b'\n').filter(is_of_file);
    lines.fold(Digest::default(), |digest, line| digest.of(line)).0
}

/// Spans and modules of a text; headers are read from the target, if there is one.
fn gather(text: &[u8], target: Option<&Target>) -> Result<(Vec<Span>, Vec<Module>), MapsError> {
    let mut groups: HashMap<(&[u8], u64, u64), u32> = HashMap::new();
    let mut spans = Vec::new();
    let mut modules: Vec<Module> = Vec::new();
    let mut mappings: Vec<Vec<Mapping<'_>>> = Vec::new();
    for mapping in maps::mappings(text) {
        let mapping = mapping?;
        let kind = match mapping.content() {
            Content::File => ModuleKind::File,
            Content::Vdso => ModuleKind::Vdso,
            Content::Anonymous => ModuleKind::Anonymous,
        };
        let key = (mapping.name, mapping.device, mapping.inode);
        let next = u32::try_from(modules.len()).unwrap_or(u32::MAX);
        let module = *groups.entry(key).or_insert(next);
        if module == next {
            modules.push(of_mapping(&mapping, kind, target));
            mappings.push(Vec::new());
        }
        let at = usize::try_from(module).unwrap_or(usize::MAX);
        if let (Some(module), Some(held)) = (modules.get_mut(at), mappings.get_mut(at)) {
            module.start = module.start.min(mapping.start);
            module.end = module.end.max(mapping.end);
            held.push(mapping);
        }
    }
    let mut free: Vec<Mapping<'_>> =
        mappings.iter().flatten().filter(|mapping| mapping.may_be_segment()).copied().collect();
    free.sort_unstable_by_key(|mapping| mapping.start);
    let mut memory = Vec::new();
    let mut left = mappings.iter().fold(64usize, |sum, held| sum.saturating_add(held.len()));
    for (number, (module, held)) in (0u32..).zip(modules.iter_mut().zip(&mappings)) {
        let loads = match (module.kind, target) {
            (ModuleKind::File | ModuleKind::Vdso, Some(target)) => headers(module, held, target),
            _ => Vec::new(),
        };
        let biases = biases(held, &loads);
        spans.extend(held.iter().zip(&biases).map(|(mapping, &bias)| {
            Span {
                start: mapping.start,
                end: mapping.end,
                module: number,
                bias,
                file_offset: (module.kind != ModuleKind::Anonymous && !mapping.is_closed())
                    .then_some(mapping.file_offset),
                executable: mapping.executable,
            }
        }));
        for span in memory_spans(number, held, &biases, &loads, &free, &mut left) {
            module.end = module.end.max(span.end);
            memory.push(span);
        }
    }
    // Later spans win: these take their part of memory without a file.
    spans.append(&mut memory);
    Ok((spans, modules))
}

fn of_mapping(mapping: &Mapping<'_>, kind: ModuleKind, target: Option<&Target>) -> Module {
    let Reached { path, file, place } = match target.filter(|_| kind == ModuleKind::File) {
        Some(target) => target.reach(mapping),
        None => {
            let path = to_path(&maps::unescape(mapping.path().0));
            Reached { file: path.clone(), path, place: None }
        }
    };
    Module {
        kind,
        path,
        file,
        place,
        id: None,
        inode: Some(mapping.inode).filter(|&inode| inode != 0),
        start: mapping.start,
        end: mapping.end,
    }
}

/// A mapped file: its path there, from here, and its place where another one
/// may be by now.
pub(super) struct Reached {
    pub(super) path: PathBuf,
    pub(super) file: PathBuf,
    pub(super) place: Option<PathBuf>,
}

impl Target {
    /// A file's path, and one from here to the very file that a process
    /// mapped: through its root directory if it is still there, else as the
    /// program it runs, else through the mapping, which needs privileges.
    pub(super) fn reach(&self, mapping: &Mapping<'_>) -> Reached {
        let is_mapped = |path: &Path| path.metadata().is_ok_and(|at| at.ino() == mapping.inode);
        // A name may end in ` (deleted)`, or hold `\012`, without any meaning.
        for name in [maps::unescape(mapping.name), mapping.name.to_vec()] {
            let path = to_path(&name);
            let within = self.within(&path);
            if is_mapped(&within) {
                return Reached { path, file: within, place: None };
            }
        }
        let (name, deleted) = mapping.path();
        let path = to_path(&maps::unescape(name));
        let within = self.within(&path);
        let program = self.directory.join("exe");
        if is_mapped(&program) {
            return Reached { path, file: program, place: Some(within) };
        }
        let range = std::format!("{:x}-{:x}", mapping.start, mapping.end);
        let mapped = self.directory.join("map_files").join(range);
        // Overlay file systems state other inodes than the kernel does in maps.
        match !deleted && !mapped.exists() && within.exists() {
            true => Reached { path, file: within, place: None },
            false => Reached { path, file: mapped, place: Some(within) },
        }
    }

    fn within(&self, path: &Path) -> PathBuf {
        self.directory.join("root").join(path.strip_prefix("/").unwrap_or(path))
    }
}

fn to_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Fills in the module's build-id; returns its loadable segments.
fn headers(module: &mut Module, held: &[Mapping<'_>], target: &Target) -> Vec<LoadHeader> {
    let mut loads = Vec::new();
    let mut read = |from: &dyn ReadAt, id: &mut Option<Id>| {
        let Some(mut elf) = Elf::open(from) else { return false };
        elf.loads(|load| loads.push(load));
        *id = elf.build_id();
        true
    };
    if let Some(memory) = &target.memory
        && read(&Mapped { memory, held }, &mut module.id)
    {
        return loads;
    }
    if module.kind == ModuleKind::File
        && let Some(file) = open_mapped(module)
    {
        read(&file, &mut module.id);
    }
    loads
}

/// Opens a module's file, if what is there now is the file that was mapped.
pub(crate) fn open_mapped(module: &Module) -> Option<File> {
    let file = open_regular(&module.file).ok()?;
    let inode = file.metadata().ok()?.ino();
    module.inode.is_none_or(|mapped| mapped == inode).then_some(file)
}

/// A file's bytes as far as a process has them mapped.
struct Mapped<'t> {
    memory: &'t File,
    held: &'t [Mapping<'t>],
}

impl ReadAt for Mapped<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> usize {
        let holding = self.held.iter().find_map(|mapping| {
            let into = offset.checked_sub(mapping.file_offset)?;
            let left = mapping.end.checked_sub(mapping.start)?.checked_sub(into)?;
            let at = mapping.start.checked_add(into)?;
            (left > 0).then_some((at, usize::try_from(left).unwrap_or(usize::MAX)))
        });
        let Some((at, left)) = holding else { return 0 };
        let room = buffer.len().min(left);
        buffer.get_mut(..room).map_or(0, |buffer| ReadAt::read_at(self.memory, buffer, at))
    }
}
