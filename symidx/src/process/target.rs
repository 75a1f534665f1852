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
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::vec::Vec;

use crate::process::elf::{Elf, LoadHeader, ReadAt};
use crate::process::maps::{self, Content, Mapping, MapsError};
use crate::process::modules::{Module, ModuleKind, Modules, Origin, Span};

impl Modules {
    /// The modules of a process that runs.
    ///
    /// Build-ids come from its memory where this process may read it, so they
    /// are right for containers, deleted and replaced files as well.
    ///
    /// # Errors
    /// When `/proc/PID/maps` cannot be read: no such process, or one of
    /// somebody else.
    ///
    /// ```
    /// let modules = symidx::process::Modules::from_pid(std::process::id())?;
    /// assert!(modules.iter().any(|module| module.path().ends_with("[vdso]")));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn from_pid(pid: u32) -> io::Result<Self> {
        let directory = PathBuf::from(std::format!("/proc/{pid}"));
        let text = std::fs::read(directory.join("maps"))?;
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
    /// assert!(!modules.changed()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn changed(&self) -> io::Result<bool> {
        Ok(match self.origin() {
            #[cfg(not(target_vendor = "apple"))]
            Origin::Own(then) => crate::sys::loader::generation() != then,
            Origin::Process { pid, digest: then } => {
                digest(&std::fs::read(std::format!("/proc/{pid}/maps"))?) != then
            }
            Origin::Text => false,
        })
    }

    /// The modules as they are now, from where these came.
    ///
    /// # Errors
    /// As [`Modules::from_pid`].
    pub fn again(&self) -> io::Result<Self> {
        match self.origin() {
            #[cfg(not(target_vendor = "apple"))]
            Origin::Own(_) => Ok(Self::capture()),
            Origin::Process { pid, .. } => Self::from_pid(pid),
            Origin::Text => Ok(self.clone()),
        }
    }
}

/// A process that can be looked at.
struct Target {
    directory: PathBuf,
    memory: Option<File>,
}

/// FNV-1a over the mappings of files: heaps that grow are no change.
fn digest(text: &[u8]) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325u64;
    for line in text.split(|&byte| byte == b'\n') {
        if Mapping::parse(line).is_some_and(|mapping| mapping.content() != Content::Anonymous) {
            for &byte in line {
                digest = (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
    }
    digest
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
    for (number, (module, held)) in (0u32..).zip(modules.iter_mut().zip(&mappings)) {
        let loads = match (module.kind, target) {
            (ModuleKind::File | ModuleKind::Vdso, Some(target)) => headers(module, held, target),
            _ => Vec::new(),
        };
        spans.extend(held.iter().map(|mapping| Span {
            start: mapping.start,
            end: mapping.end,
            module: number,
            bias: bias_of(mapping, &loads),
            file_offset: (module.kind != ModuleKind::Anonymous).then_some(mapping.file_offset),
            executable: mapping.executable,
        }));
    }
    Ok((spans, modules))
}

fn of_mapping(mapping: &Mapping<'_>, kind: ModuleKind, target: Option<&Target>) -> Module {
    let (path, deleted) = mapping.path();
    let path = PathBuf::from(OsStr::from_bytes(&maps::unescape(path)));
    let file = match target.filter(|_| kind == ModuleKind::File) {
        Some(target) => target.reach(&path, mapping, deleted),
        None => path.clone(),
    };
    Module {
        kind,
        path,
        file,
        id: None,
        inode: Some(mapping.inode).filter(|&inode| inode != 0),
        start: mapping.start,
        end: mapping.end,
    }
}

impl Target {
    /// A path from here to the file that a process mapped: through its root
    /// directory if the mapped file is still there, else through the mapping.
    fn reach(&self, path: &Path, mapping: &Mapping<'_>, deleted: bool) -> PathBuf {
        let within = self.directory.join("root").join(path.strip_prefix("/").unwrap_or(path));
        // Overlay file systems state other devices, and some other inodes, than
        // the kernel does in maps: what must be there is the path.
        let there = !deleted && within.exists();
        if there && within.metadata().is_ok_and(|found| found.ino() == mapping.inode) {
            return within;
        }
        let mapped = self.directory.join("map_files").join(std::format!(
            "{:x}-{:x}",
            mapping.start,
            mapping.end
        ));
        if there && !mapped.exists() { within } else { mapped }
    }
}

/// Fills in the module's build-id; returns its loadable segments.
fn headers(module: &mut Module, held: &[Mapping<'_>], target: &Target) -> Vec<LoadHeader> {
    let mut loads = Vec::new();
    let mut read = |from: &dyn ReadAt| {
        let Some(mut elf) = Elf::open(from) else { return false };
        elf.loads(|load| loads.push(load));
        module.id = elf.build_id();
        true
    };
    if let Some(memory) = &target.memory
        && read(&Mapped { memory, held })
    {
        return loads;
    }
    if module.kind == ModuleKind::File
        && let Some(file) = open_regular(&module.file)
    {
        read(&file);
    }
    loads
}

/// Opens a regular file; never waits for a pipe to be written to.
pub(crate) fn open_regular(path: &Path) -> Option<File> {
    let mut options = std::fs::OpenOptions::new();
    let file =
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).ok()?;
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
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

/// By how much a mapping's svmas were moved: the segment that holds its file
/// offset tells. Text and data may share a page of the file: the mapping's
/// permission says which of them is meant.
fn bias_of(mapping: &Mapping<'_>, loads: &[LoadHeader]) -> Option<u64> {
    // A segment is mapped from the page that its first byte lies in.
    let page = |offset: u64| offset & !0xfff;
    let size = mapping.end.checked_sub(mapping.start)?;
    let mut holding = loads.iter().filter(|load| {
        let end = load.file_offset.saturating_add(load.file_size);
        page(load.file_offset) <= mapping.file_offset.saturating_add(size.saturating_sub(1))
            && mapping.file_offset < end
    });
    let same = |load: &&LoadHeader| load.execute == mapping.executable;
    let load = holding.clone().find(same).or_else(|| holding.next())?;
    let svma = load.svma.wrapping_add(mapping.file_offset.wrapping_sub(load.file_offset));
    Some(mapping.start.wrapping_sub(svma))
}
