//! Images: where a loader put the segments of a file, told from its mappings.
//!
//! In: the mappings of one file and its loadable segments. Out: per mapping by
//! how much its svmas were moved, and the memory behind a segment's file bytes.
//! Never reads the process.

use std::vec::Vec;

use crate::process::elf::LoadHeader;
use crate::process::maps::Mapping;
use crate::process::modules::Span;

/// More images of one file than this are not looked for.
const MAX_IMAGES: usize = 64;

/// By how much the svmas of each mapping were moved; `None` where no segment
/// holds its file offset, and for closed memory between segments.
///
/// All segments of an image are moved by one distance, so a mapping that fits
/// the distance of the one before belongs to the same image: two segments may
/// share a page of the file, and then that is what tells them apart.
pub(super) fn biases(held: &[Mapping<'_>], loads: &[LoadHeader]) -> Vec<Option<u64>> {
    let mut current = None;
    let biases = held.iter().map(|mapping| {
        if mapping.is_closed() {
            return None;
        }
        let bias = bias_of(mapping, loads, current);
        current = bias.or(current);
        bias
    });
    biases.collect()
}

fn bias_of(mapping: &Mapping<'_>, loads: &[LoadHeader], current: Option<u64>) -> Option<u64> {
    let last = mapping.end.checked_sub(mapping.start)?.checked_sub(1)?;
    let last = mapping.file_offset.saturating_add(last);
    let holding = loads.iter().filter(|load| {
        let end = load.file_offset.saturating_add(load.file_size);
        load.file_offset <= last && mapping.file_offset < end
    });
    let bias = |load: &LoadHeader| {
        let svma = load.svma.wrapping_add(mapping.file_offset.wrapping_sub(load.file_offset));
        mapping.start.wrapping_sub(svma)
    };
    if let Some(current) = current
        && holding.clone().any(|load| bias(load) == current)
    {
        return Some(current);
    }
    // The first mapping of an image starts with the page that its segment does.
    let starts = |load: &LoadHeader| load.file_offset & !0xfff == mapping.file_offset;
    let rank = |load: &&LoadHeader| (load.execute != mapping.executable, !starts(load));
    holding.min_by_key(rank).map(bias)
}

/// Spans for the memory that belongs to a file's segments but not to the file:
/// `.bss`, and code that was moved out of the file's mapping to large pages.
/// `free` are the mappings that may hold such memory, ascending; at most
/// `left` spans are made, and subtracted from it.
pub(super) fn memory_spans(
    module: u32,
    held: &[Mapping<'_>],
    biases: &[Option<u64>],
    loads: &[LoadHeader],
    free: &[Mapping<'_>],
    left: &mut usize,
) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut images: Vec<u64> = Vec::new();
    for (mapping, bias) in held.iter().zip(biases) {
        // A file that is mapped to be read is no image: its memory is others'.
        if let Some(bias) = bias
            && mapping.executable
            && images.len() < MAX_IMAGES
            && !images.contains(bias)
        {
            images.push(*bias);
        }
    }
    for bias in images {
        // Segments ascend; one that does not is none that was loaded.
        let mut before = 0;
        for load in loads {
            let Some(stop) = load.svma.checked_add(load.memory_size) else { continue };
            if load.svma < before {
                continue;
            }
            before = stop;
            let start = bias.wrapping_add(load.svma) & !0xfff;
            let Some(end) = bias.wrapping_add(stop).checked_next_multiple_of(0x1000) else {
                continue;
            };
            let from = free.partition_point(|mapping| mapping.end <= start);
            let within = free.iter().skip(from).take_while(|mapping| mapping.start < end);
            for mapping in within.take(*left) {
                *left = left.saturating_sub(1);
                spans.push(Span {
                    start: mapping.start.max(start),
                    end: mapping.end.min(end),
                    module,
                    bias: Some(bias),
                    file_offset: None,
                    executable: mapping.executable,
                });
            }
        }
    }
    spans
}

#[cfg(test)]
mod tests;
