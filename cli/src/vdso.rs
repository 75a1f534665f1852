//! The code that the kernel maps into every process: a process in, the ELF image of
//! its vDSO out, read from its memory. There is no file of it anywhere.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use symidx::process::Module;

/// What it is called where files have names.
pub(crate) const NAME: &str = "[vdso]";

/// None is larger; those of today have a few pages.
const MAX: u64 = 1 << 20;

/// The bytes of a process's vDSO.
pub(crate) fn memory(pid: u32, module: &Module) -> Result<Vec<u8>, String> {
    let range = module.range();
    let size = range.end.saturating_sub(range.start);
    if size > MAX {
        return Err(format!("{NAME}: expected at most {MAX} bytes, found {size}"));
    }
    let read = || {
        let mut memory = File::open(Path::new("/proc").join(pid.to_string()).join("mem"))?;
        memory.seek(SeekFrom::Start(range.start))?;
        let mut data = Vec::new();
        memory.take(size).read_to_end(&mut data)?;
        Ok(data)
    };
    read().map_err(|error: std::io::Error| {
        format!("{NAME}: cannot read the memory of process {pid}: {error}")
    })
}
