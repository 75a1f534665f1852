//! What this machine itself runs: its vDSO.
//!
//! In: pseudo files. Out: bytes. An error is "not known": nothing depends on it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

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

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn the_vdso_of_this_machine_is_an_elf_file() {
        // Sandboxes have none.
        if let Some(vdso) = super::vdso() {
            assert!(vdso.starts_with(b"\x7fELF"));
        }
    }
}
