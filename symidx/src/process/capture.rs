//! This process: its modules as the loader has them.
//!
//! Allocates, and takes the loader's lock: not for signal handlers. What it
//! returns is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::vec::Vec;

use crate::process::elf::build_id_in_notes;
use crate::process::maps;
use crate::process::modules::{Module, ModuleKind, Modules, Origin, Span};
use crate::sys::loader;

impl Modules {
    /// The modules of this process: the program, its shared objects, the vDSO,
    /// each with bias, file offsets and build-id.
    ///
    /// Takes the loader's lock and allocates: call it outside signal handlers
    /// and allocator hooks, and again when [`Modules::changed`] says so.
    #[must_use]
    pub fn capture() -> Self {
        let mut spans = Vec::new();
        let mut modules = Vec::new();
        let generation = loader::objects(&mut |object| {
            let number = u32::try_from(modules.len()).unwrap_or(u32::MAX);
            let (mut start, mut end) = (u64::MAX, 0);
            for load in object.loads() {
                let stop = load.start.saturating_add(load.size);
                (start, end) = (start.min(load.start), end.max(stop));
                spans.push(Span {
                    start: load.start,
                    end: stop,
                    module: number,
                    bias: Some(object.bias()),
                    file_offset: Some(load.file_offset),
                    executable: load.execute,
                });
            }
            let name = object.name();
            let kind = if is_vdso(name) { ModuleKind::Vdso } else { ModuleKind::File };
            let path = PathBuf::from(OsStr::from_bytes(name));
            let id = object.notes().find_map(build_id_in_notes);
            let file = path.clone();
            modules.push(Module { kind, path, file, id, inode: None, start, end });
        });
        name_by_maps(&mut modules);
        Self::new(spans, modules, Origin::Own(generation))
    }
}

/// The vDSO has a name without a directory, which no file of the loader has
/// unless it was opened by it.
fn is_vdso(name: &[u8]) -> bool {
    name.starts_with(b"linux-vdso") || name.starts_with(b"linux-gate")
}

/// Names the program, and objects that were loaded by a path without a root,
/// by the kernel's word; notes inodes.
fn name_by_maps(modules: &mut [Module]) {
    let text = std::fs::read("/proc/self/maps").unwrap_or_default();
    for mapping in maps::mappings(&text).flatten() {
        if mapping.inode == 0 {
            continue;
        }
        let held = |module: &&mut Module| module.range().contains(&mapping.start);
        if let Some(module) = modules.iter_mut().find(held)
            && module.inode.is_none()
        {
            module.inode = Some(mapping.inode);
            let (path, deleted) = mapping.path();
            if !module.path.is_absolute() {
                module.path = PathBuf::from(OsStr::from_bytes(&maps::unescape(path)));
                module.file.clone_from(&module.path);
            }
            if deleted {
                module.file = PathBuf::from(std::format!(
                    "/proc/self/map_files/{:x}-{:x}",
                    mapping.start,
                    mapping.end
                ));
            }
        }
    }
    // Without /proc, the program is found by its first module all the same.
    if let Some(program) = modules.first_mut().filter(|module| module.path == Path::new("")) {
        program.path = std::env::current_exe().unwrap_or_default();
        program.file.clone_from(&program.path);
    }
}
