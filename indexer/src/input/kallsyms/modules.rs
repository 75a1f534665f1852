//! `/proc/modules`: its text in, each module's address range out. Never decides
//! what a symbol outside of its module's range belongs to.

use std::collections::HashMap;
use std::path::Path;

use super::line;
use crate::model::Report;

/// Address ranges by module name.
#[derive(Debug, Default)]
pub(super) struct Extents<'data> {
    ranges: HashMap<&'data [u8], (u64, u64)>,
}

impl Extents<'_> {
    /// The ranges (start, end) in the order of the image's modules.
    pub(super) fn limits(&self, modules: &[&[u8]]) -> Vec<Option<(u64, u64)>> {
        modules.iter().map(|module| self.ranges.get(module).copied()).collect()
    }
}

/// Reads lines `NAME SIZE REFERENCES DEPENDENCIES STATE 0xADDRESS …`. A line without
/// a size and an address is skipped and counted; an address of 0 is a hidden one.
pub(super) fn read<'data>(path: &Path, data: &'data [u8], report: &mut Report) -> Extents<'data> {
    let mut ranges = HashMap::new();
    let mut broken = 0_u64;
    let mut hidden = 0_u64;
    for text in data.split(|&byte| byte == b'\n') {
        if text.trim_ascii().is_empty() {
            continue;
        }
        match module(text) {
            None => broken = broken.saturating_add(1),
            Some((_, 0, _)) => hidden = hidden.saturating_add(1),
            Some((name, start, size)) => {
                ranges.entry(name).or_insert((start, start.saturating_add(size)));
            }
        }
    }
    report.skip_many("broken line of the modules file", broken);
    report.skip_many("module without an address", hidden);
    if broken > 0 {
        report.warn(format!(
            "{}: expected lines NAME SIZE REFERENCES DEPENDENCIES STATE 0xADDRESS, \
             found {broken} others; skipped them",
            path.display()
        ));
    }
    if hidden > 0 {
        report.warn(format!(
            "{}: expected module addresses, found {hidden} that are zero (kptr_restrict); \
             these modules' ends stay unknown",
            path.display()
        ));
    }
    Extents { ranges }
}

/// Name, address and size of one line.
fn module(text: &[u8]) -> Option<(&[u8], u64, u64)> {
    let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let name = words.next()?;
    let size = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
    // Dependencies and state are words of any kind; the address is the first that looks like one.
    let address = words.find_map(|word| line::hex(word.strip_prefix(b"0x")?))?;
    Some((name, address, size))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_a_range() {
        let line = b"mod_a 20480 1 mod_c, Live 0xffffffffc0100000 (OE)\r";
        assert_eq!(module(line), Some((&b"mod_a"[..], 0xffff_ffff_c010_0000, 20480)));
        assert_eq!(module(b"mod_a 20480 1 - Live"), None);
        assert_eq!(module(b"mod_a many 1 - Live 0x1000"), None);
    }

    #[test]
    fn hidden_and_broken_lines_are_counted() {
        let text = b"a 10 0 - Live 0x0000000000000000\nrubbish\nb 16 0 - Live 0x1000\n";
        let mut report = Report::default();
        let extents = read(Path::new("modules"), text, &mut report);
        assert_eq!(extents.limits(&[b"a", b"b"]), [None, Some((0x1000, 0x1010))]);
        assert_eq!(report.skipped["module without an address"], 1);
        assert_eq!(report.skipped["broken line of the modules file"], 1);
        assert_eq!(report.warnings.len(), 2);
    }
}
