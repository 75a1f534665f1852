//! What this machine itself runs: its vDSO.
//!
//! In: pseudo files. Out: bytes. An error is "not known": nothing depends on it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use symidx::process::Mapping;

/// No vDSO is larger than this.
const LARGEST_VDSO: u64 = 1 << 20;

/// The vDSO of this process: the same for every process of this kernel.
pub(super) fn vdso() -> Option<Vec<u8>> {
    let maps = std::fs::read("/proc/self/maps").ok()?;
    let mut mappings = maps.split(|&byte| byte == b'\n').filter_map(Mapping::parse);
    let vdso = mappings.find(|mapping| mapping.name == b"[vdso]")?;
    let size = vdso.end.checked_sub(vdso.start)?;
    let mut memory = File::open("/proc/self/mem").ok()?;
    memory.seek(SeekFrom::Start(vdso.start)).ok()?;
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
