//! The kernel's symbols: which file has them, and where this boot placed them.
//!
//! In: the kernel's build-id as recorded. Out: a text to index, and the slide. A
//! kernel that is not the recorded one is never used.

use std::path::{Path, PathBuf};

use symidx::{Index, Svma};

use crate::build_id::BuildId;

/// The files that may have the symbols of a kernel, the best one first: perf's cache of
/// kallsyms, then the running kernel if it is the recorded one.
pub(crate) fn kallsyms(build_id: Option<BuildId>, debug_dir: Option<&Path>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let (Some(id), Some(directory)) = (build_id, debug_dir) {
        files.push(directory.join("[kernel.kallsyms]").join(id.to_string()).join("kallsyms"));
        files.push(in_cache(directory, id, "kallsyms"));
    }
    let running = running_build_id();
    if build_id.is_none() || running == build_id {
        files.push(PathBuf::from("/proc/kallsyms"));
    }
    files
}

/// `DIR/.build-id/xx/yyyy/NAME`.
pub(crate) fn in_cache(directory: &Path, id: BuildId, name: &str) -> PathBuf {
    let id = id.to_string();
    let (first, rest) = id.split_at_checked(2).unwrap_or((&id, ""));
    directory.join(".build-id").join(first).join(rest).join(name)
}

/// The running kernel's build-id, from its notes.
fn running_build_id() -> Option<BuildId> {
    let notes = std::fs::read("/sys/kernel/notes").ok()?;
    note_build_id(&notes)
}

/// The GNU build-id among notes of this machine.
fn note_build_id(mut notes: &[u8]) -> Option<BuildId> {
    const BUILD_ID: u32 = 3;
    loop {
        let (head, rest) = notes.split_first_chunk::<12>()?;
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *head;
        let name_size = u32::from_ne_bytes([a, b, c, d]);
        let size = u32::from_ne_bytes([e, f, g, h]);
        let kind = u32::from_ne_bytes([i, j, k, l]);
        let padded = |size: u32| usize::try_from(size).ok()?.checked_next_multiple_of(4);
        let (name, rest) = rest.split_at_checked(padded(name_size)?)?;
        let content = rest.get(..usize::try_from(size).ok()?)?;
        if kind == BUILD_ID && name == b"GNU\0" {
            return BuildId::new(content.get(..content.len().min(20))?);
        }
        notes = rest.get(padded(size)?..)?;
    }
}

/// What to take off a run-time address to look it up: the run-time address of `symbol`
/// less the one in the index. 0 where the recording does not know the first; `None`
/// where the index does not have the second.
pub(crate) fn slide(index: &Index<'_>, base: Option<(&[u8], u64)>) -> Option<u64> {
    let Some((symbol, address)) = base.filter(|&(_, address)| address != 0) else {
        return Some(0);
    };
    let mut stated =
        index.find(symbol).flatten().filter(|found| !matches!(found.module(), Ok(Some(_))));
    stated.next().map(|found| address.wrapping_sub(found.address()))
}

/// An address of this boot as one of the index.
pub(crate) fn svma(address: u64, slide: u64) -> Svma {
    Svma(address.wrapping_sub(slide))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(kind: u32, name: &[u8], content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [name.len(), content.len()] {
            bytes.extend(u32::try_from(number).unwrap_or(0).to_ne_bytes());
        }
        bytes.extend(kind.to_ne_bytes());
        for part in [name, content] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn the_build_id_is_found_behind_other_notes() {
        let mut notes = note(6, b"Xen\0", b"linux");
        notes.extend(note(3, b"GNU\0", &[1; 20]));
        assert_eq!(note_build_id(&notes), BuildId::new(&[1; 20]));
        for length in 0..notes.len() {
            assert_eq!(note_build_id(notes.get(..length).unwrap_or(&[])), None);
        }
        let hostile = [0xff; 64];
        assert_eq!(note_build_id(&hostile), None);
    }
}
