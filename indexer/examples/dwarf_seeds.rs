//! Turns the DWARF of small files into seeds of the fuzz target `dwarf`:
//! `dwarf_seeds DIR FILE...`. A seed is a byte of flags, then each section with
//! its length in two bytes in front; the fuzz target says in which order.

use std::path::{Path, PathBuf};

use symidx_indexer::input::{ReadOptions, read};
use symidx_indexer::model::{DebugInfo, Store};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let directory = arguments.next().ok_or("expected a directory, found nothing")?;
    std::fs::create_dir_all(&directory)?;
    for file in arguments {
        let store = Store::new();
        // Other files of testdata/ are damaged on purpose, or not inputs at all.
        let Ok(image) = read(&file, &store, &ReadOptions::default()) else { continue };
        for (number, info) in image.debug.iter().enumerate() {
            if let Some(seed) = seed(info) {
                std::fs::write(directory.join(name(&file, number)), seed)?;
            }
        }
    }
    Ok(())
}

fn name(file: &Path, number: usize) -> String {
    let flat = file.to_string_lossy().replace(['/', '\\'], "-");
    format!("{flat}-{number}")
}

fn seed(info: &DebugInfo<'_>) -> Option<Vec<u8>> {
    let s = &info.sections;
    let sections = [
        s.abbrev,
        s.info,
        s.line,
        s.line_str,
        s.str,
        s.str_offsets,
        s.addr,
        s.ranges,
        s.rnglists,
        s.cu_index,
    ];
    let mut seed = vec![u8::from(info.machine.big_endian)];
    for section in sections {
        seed.extend_from_slice(&u16::try_from(section.len()).ok()?.to_le_bytes());
        seed.extend_from_slice(section);
    }
    (!s.info.is_empty()).then_some(seed)
}
