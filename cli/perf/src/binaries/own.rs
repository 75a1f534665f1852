//! What this machine itself runs: its vDSO and its kernel.
//!
//! In: pseudo files. Out: bytes. An error is "not known": nothing depends on it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

/// This kernel's symbols.
pub(super) const KALLSYMS: &str = "/proc/kallsyms";
/// This kernel's build-id, among other notes.
const NOTES: &str = "/sys/kernel/notes";
/// No vDSO is larger than this.
const LARGEST_VDSO: u64 = 1 << 20;

/// The vDSO of this process: the same for every process of this kernel.
pub(super) fn vdso() -> Option<Vec<u8>> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let size = u64::from_str_radix(end, 16).ok()?.checked_sub(start)?;
    let mut memory = File::open("/proc/self/mem").ok()?;
    memory.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    memory.take(size.min(LARGEST_VDSO)).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The build-id of the running kernel.
pub(super) fn kernel_id() -> Option<Vec<u8>> {
    build_id_in_notes(&std::fs::read(NOTES).ok()?).map(<[u8]>::to_vec)
}

/// The GNU build-id among notes in this machine's byte order, padded to 4 bytes.
fn build_id_in_notes(mut notes: &[u8]) -> Option<&[u8]> {
    const GNU_BUILD_ID: u32 = 3;
    fn word<'a>(from: &mut &'a [u8]) -> Option<u32> {
        let (word, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(u32::from_ne_bytes(*word))
    }
    fn padded<'a>(from: &mut &'a [u8], size: u32) -> Option<&'a [u8]> {
        let size = usize::try_from(size).ok()?;
        let bytes = from.get(..size)?;
        *from = from.get(size.checked_next_multiple_of(4)?..).unwrap_or(&[]);
        Some(bytes)
    }
    loop {
        let (name, size, kind) = (word(&mut notes)?, word(&mut notes)?, word(&mut notes)?);
        let name = padded(&mut notes, name)?;
        let found = padded(&mut notes, size)?;
        if kind == GNU_BUILD_ID && name == b"GNU\0" {
            return Some(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_id_is_found_behind_other_notes() {
        let note = |name: &[u8], kind: u32, body: &[u8]| {
            let size = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(0).to_ne_bytes();
            let mut note = [size(name), size(body), kind.to_ne_bytes()].concat();
            for part in [name, body] {
                note.extend_from_slice(part);
                note.resize(note.len().next_multiple_of(4), 0);
            }
            note
        };
        let notes = [note(b"Linux\0", 257, b"a"), note(b"GNU\0", 3, &[7; 20])].concat();
        assert_eq!(build_id_in_notes(&notes), Some([7; 20].as_slice()));
        for length in 0..notes.len() {
            assert_eq!(build_id_in_notes(notes.get(..length).unwrap_or(&[])), None, "{length}");
        }
        assert_eq!(build_id_in_notes(&[0xff; 64]), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_vdso_of_this_machine_is_an_elf_file() {
        // Sandboxes have none.
        if let Some(vdso) = vdso() {
            assert!(vdso.starts_with(b"\x7fELF"));
        }
    }
}
