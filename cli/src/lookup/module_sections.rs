//! Where a kernel module's sections were loaded: the directory `/sys/module/M/sections`
//! itself, or a text of it from elsewhere: lines `NAME 0xADDR`, as
//! `grep . /sys/module/M/sections/*` gives after a little editing.

use std::path::Path;

use crate::failure::Failure;
use crate::options::parse_address;

/// Reads the directory, or the lines. Empty lines and `#` comments are fine.
pub(super) fn read(path: &Path, module: &Path) -> Result<Vec<(Vec<u8>, u64)>, Failure> {
    if path.is_dir() {
        return symidx::kernel::module_sections(path).map_err(|error| Failure::file(path, error));
    }
    let text = std::fs::read(path)
        .map_err(|error| Failure::file(path, format_args!("cannot read: {error}")))?;
    let mut sections = Vec::new();
    for (number, line) in (1u32..).zip(text.split(|&byte| byte == b'\n')) {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(name) = words.next().filter(|name| !name.starts_with(b"#")) else { continue };
        match (words.next().and_then(parse_address), words.next()) {
            (Some(address), None) => sections.push((name.to_vec(), address)),
            _ => {
                return Err(Failure::file(
                    path,
                    format_args!(
                        "line {number}: expected `NAME 0xADDR`, found `{}`; write one line per file of /sys/module/M/sections",
                        String::from_utf8_lossy(line)
                    ),
                ));
            }
        }
    }
    // Without CAP_SYSLOG the kernel shows zeros.
    if !sections.is_empty() && sections.iter().all(|(_, address)| *address == 0) {
        return Err(Failure::file(
            path,
            format_args!(
                "expected the addresses of the sections of {}, found only zeros; read them as root",
                module.display()
            ),
        ));
    }
    Ok(sections)
}
