//! This process under macOS: its modules as `dyld` has them.
//!
//! Allocates, and takes locks: not for signal handlers. What it returns is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::vec::Vec;

use crate::process::modules::{Module, ModuleKind, Modules, Origin, Span, file_and_memory};
use crate::sys::dyld;

/// The modules of this process.
pub(crate) fn own() -> Modules {
    let mut spans = Vec::new();
    let mut modules = Vec::new();
    let generation = dyld::images(&mut |image| {
        let number = u32::try_from(modules.len()).unwrap_or(u32::MAX);
        let (mut start, mut end) = (u64::MAX, 0);
        for segment in &image.segments {
            let first = segment.svma.wrapping_add(image.slide);
            let stop = first.saturating_add(segment.memory_size);
            (start, end) = (start.min(first), end.max(stop));
            let span = Span {
                start: first,
                end: stop,
                module: number,
                bias: Some(image.slide),
                file_offset: Some(segment.file_offset),
                executable: segment.execute,
            };
            spans.extend(file_and_memory(span, segment.file_size));
        }
        let path = PathBuf::from(OsStr::from_bytes(&image.path));
        modules.push(Module {
            kind: ModuleKind::File,
            file: path.clone(),
            path,
            place: None,
            id: image.id,
            inode: None,
            start,
            end,
        });
    });
    Modules::new(spans, modules, Origin::Images(generation))
}

#[cfg(test)]
mod tests;
