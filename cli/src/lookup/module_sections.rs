//! Where a kernel module's sections were loaded: lines `NAME 0xADDR`, as
//! `grep . /sys/module/M/sections/*` gives after a little editing.

use std::path::Path;

use symidx::{Corrupt, ImageSectionId, Index};

use crate::failure::Failure;
use crate::options::parse_address;

/// A section of the index at its run-time address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    base: u64,
    size: u64,
    section: ImageSectionId,
}

impl Placed {
    /// The sections that the index has, by address.
    pub(super) fn all(
        index: &Index<'_>,
        sections: &[(Vec<u8>, u64)],
    ) -> Result<Vec<Self>, Corrupt> {
        let mut placed = Vec::new();
        for (name, base) in sections {
            if let Some(section) = index.section_by_name(name)? {
                placed.push(Self { base: *base, size: section.size(), section: section.id() });
            }
        }
        placed.sort_by_key(|placed| placed.base);
        Ok(placed)
    }

    /// The section that holds an address, and its own address.
    pub(super) fn holding(placed: &[Self], address: u64) -> Option<(ImageSectionId, u64)> {
        let after = placed.partition_point(|placed| placed.base <= address);
        let earlier = placed.get(..after)?;
        let holds = |placed: &&Self| address.wrapping_sub(placed.base) < placed.size;
        earlier.iter().rev().find(holds).map(|placed| (placed.section, placed.base))
    }
}

/// Reads the lines. Empty lines and `#` comments are fine.
pub(super) fn read(path: &Path, module: &Path) -> Result<Vec<(Vec<u8>, u64)>, Failure> {
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
