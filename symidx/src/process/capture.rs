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
use crate::process::modules::{Module, ModuleKind, Modules, Origin, Span, file_and_memory};
use crate::process::target::{Reached, Target};
use crate::sys::loader;

/// The modules of this process.
pub(crate) fn own() -> Modules {
    let mut spans = Vec::new();
    let mut modules = Vec::new();
    let generation = loader::objects(&mut |object| {
        let number = u32::try_from(modules.len()).unwrap_or(u32::MAX);
        let (mut start, mut end) = (u64::MAX, 0);
        for load in object.loads() {
            let stop = load.start.saturating_add(load.size);
            (start, end) = (start.min(load.start), end.max(stop));
            let span = Span {
                start: load.start,
                end: stop,
                module: number,
                bias: Some(object.bias()),
                file_offset: Some(load.file_offset),
                executable: load.execute,
            };
            spans.extend(file_and_memory(span, load.file_size));
        }
        let name = object.name();
        let kind = if is_vdso(name) { ModuleKind::Vdso } else { ModuleKind::File };
        let path = PathBuf::from(OsStr::from_bytes(name));
        let id = object.notes().find_map(build_id_in_notes);
        let file = path.clone();
        modules.push(Module { kind, path, file, place: None, id, inode: None, start, end });
    });
    name_by_maps(&mut modules);
    Modules::new(spans, modules, Origin::Own(generation))
}

/// The vDSO has a name without a directory, which no file of the loader has
/// unless it was opened by it.
fn is_vdso(name: &[u8]) -> bool {
    name.starts_with(b"linux-vdso") || name.starts_with(b"linux-gate")
}

/// Names the program, and objects that were loaded by a path without a root,
/// by the kernel's word; notes inodes.
fn name_by_maps(modules: &mut [Module]) {
    let own = Target { directory: PathBuf::from("/proc/self"), memory: None };
    let text = std::fs::read(own.directory.join("maps")).unwrap_or_default();
    for mapping in maps::mappings(&text).flatten() {
        if mapping.inode == 0 {
            continue;
        }
        let held = |module: &&mut Module| module.range().contains(&mapping.start);
        if let Some(module) = modules.iter_mut().find(held)
            && module.inode.is_none()
        {
            module.inode = Some(mapping.inode);
            let Reached { path, file, place } = own.reach(&mapping);
            if !module.path.is_absolute() {
                module.path = path;
                module.file.clone_from(&module.path);
            }
            // From here, `/proc/self/root` is only a longer way to say `/`.
            if place.is_some() {
                module.place = Some(core::mem::replace(&mut module.file, file));
            }
        }
    }
    // Without /proc, the program is found by its first module all the same.
    if let Some(program) = modules.first_mut().filter(|module| module.path == Path::new("")) {
        program.path = std::env::current_exe().unwrap_or_default();
        program.file.clone_from(&program.path);
    }
}
