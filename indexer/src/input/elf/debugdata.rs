//! `.gnu_debugdata`: an xz-compressed ELF file with a symbol table.
//!
//! In: the section's bytes. Out: the ELF file in them. The output is capped,
//! the decoder's memory too, and what does not start like ELF is not unpacked.

use std::io::{self, Read as _};

use object::elf;

/// Bytes of the unpacked file, at most. The largest ones seen are a tenth of it.
const MAX_OUTPUT: usize = 64 << 20;
/// Memory of the decoder in KiB, at most: `xz -9` needs a dictionary of 64 MiB.
const MAX_DECODER: u32 = 80 << 10;

/// The ELF file inside, or what was found instead.
pub(super) fn unpack(section: &[u8]) -> Result<Vec<u8>, String> {
    let mut reader = lzma_rust2::XzReader::new_mem_limit(section, false, MAX_DECODER);
    let describe = |error: io::Error| format!("damaged xz data ({error})");
    let mut output = Vec::new();
    let mut chunk = vec![0; 1 << 16];
    loop {
        let count = match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(describe(error)),
        };
        let part = chunk.get(..count).unwrap_or(&[]);
        if output.is_empty()
            && !part.starts_with(elf::ELFMAG.get(..part.len()).unwrap_or(&elf::ELFMAG))
        {
            return Err("packed data that is not ELF".to_owned());
        }
        if part.len() > MAX_OUTPUT.saturating_sub(output.len()) {
            return Err(format!("more than {} MiB", MAX_OUTPUT >> 20));
        }
        output.extend_from_slice(part);
    }
    Ok(output)
}
