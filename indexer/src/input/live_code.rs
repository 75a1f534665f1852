//! Code that a JIT compiler put into memory, as time goes by: what is loaded,
//! moved and replaced in, the code that is there in the end out.
//!
//! Memory that is used again is the newer code's alone: of older code that
//! overlaps it nothing is kept, since an allocator gives memory out again only
//! when all of a block is free, and a name for the rest of it would be a guess.

use std::collections::BTreeMap;

use crate::model::{
    AddressKind, Binding, Format, Image, Kind, Machine, NO_VERSION, Report, Section, Source, Symbol,
};

/// No function of a JIT compiler has as many bytes as this.
pub(super) const MAX_SIZE: u64 = 1 << 32;

/// Code with a bigger gap between is in sections of their own.
const MAX_GAP: u64 = 2 << 20;

/// One function (or stub, or trampoline).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code<'data> {
    /// First run-time address.
    pub(super) address: u64,
    /// Bytes; 0 = unknown.
    pub(super) size: u64,
    /// Its name, any bytes but a line feed or NUL.
    pub(super) name: &'data [u8],
    /// Whatever the reader wants to find again.
    pub(super) tag: u32,
}

impl Code<'_> {
    /// First address behind it, at least one further; never wraps.
    fn end(&self) -> u64 {
        self.address.saturating_add(self.size.max(1))
    }
}

/// The code that is there so far.
#[derive(Debug, Default)]
pub(super) struct LiveCode<'data> {
    /// By address; no two overlap.
    live: BTreeMap<u64, Code<'data>>,
    replaced: u64,
}

impl<'data> LiveCode<'data> {
    /// Code is loaded: what it overlaps is gone. Code of unknown size inside
    /// of other code is taken for a mark there, and is left out.
    pub(super) fn load(&mut self, code: Code<'data>) {
        if code.size == 0 && self.holder(code.address).is_some_and(|holder| holder.size > 0) {
            self.replaced = self.replaced.saturating_add(1);
            return;
        }
        while let Some(old) = self.last_before(code.end()).filter(|old| old.end() > code.address) {
            self.live.remove(&old.address);
            self.replaced = self.replaced.saturating_add(1);
        }
        self.live.insert(code.address, code);
    }

    /// Takes code away that starts at this address.
    pub(super) fn take(&mut self, address: u64) -> Option<Code<'data>> {
        self.live.remove(&address)
    }

    /// The last code that starts before this address.
    fn last_before(&self, address: u64) -> Option<Code<'data>> {
        self.live.range(..address).next_back().map(|(_, code)| *code)
    }

    fn holder(&self, address: u64) -> Option<Code<'data>> {
        let (_, code) = self.live.range(..=address).next_back()?;
        Some(*code).filter(|code| address < code.end())
    }

    /// An image of the code that is left: run-time addresses, sections where
    /// code lies close together. The tags come back in the order of the symbols.
    pub(super) fn into_image(
        self,
        format: Format,
        machine: Machine,
        mut report: Report,
    ) -> (Image<'data>, Vec<u32>) {
        report.skip_many("replaced by later code", self.replaced);
        let mut sections: Vec<Section<'data>> = Vec::new();
        let mut symbols = Vec::with_capacity(self.live.len());
        let mut tags = Vec::with_capacity(self.live.len());
        // Where the section at hand has to end: its last code has no known size.
        let mut is_open = false;
        for code in self.live.into_values() {
            let near = |section: &&mut Section<'_>| {
                let end = section.address.saturating_add(section.size);
                is_open && code.address.saturating_sub(end) <= MAX_GAP
            };
            let reach = |start: u64| code.end().saturating_sub(start);
            match sections.last_mut().filter(near) {
                Some(section) => section.size = reach(section.address),
                None => {
                    let number = u32::try_from(sections.len()).unwrap_or(u32::MAX);
                    sections.push(section(code.address, reach(code.address), number));
                }
            }
            is_open = code.size > 0;
            let section = u32::try_from(sections.len()).unwrap_or(u32::MAX).saturating_sub(1);
            symbols.push(symbol(&code, section, symbols.len()));
            tags.push(code.tag);
        }
        let image = Image {
            format,
            addresses: AddressKind::Svma,
            machine,
            build_id: None,
            uuid: None,
            slice: None,
            segments: Vec::new(),
            sections,
            modules: Vec::new(),
            versions: Vec::new(),
            symbols,
            function_starts: Vec::new(),
            holes: Vec::new(),
            debug: Vec::new(),
            lines: Vec::new(),
            companions: Vec::new(),
            report,
        };
        (image, tags)
    }

    /// True when any code lies above the first 4 GiB.
    pub(super) fn is_64(&self) -> bool {
        self.live.last_key_value().is_some_and(|(_, code)| code.end() > 1 << 32)
    }
}

fn section<'data>(address: u64, size: u64, before: u32) -> Section<'data> {
    Section {
        name: b"",
        address,
        size,
        number: before.saturating_add(1),
        module: None,
        execute: true,
        write: false,
        tls: false,
    }
}

fn symbol<'data>(code: &Code<'data>, section: u32, order: usize) -> Symbol<'data> {
    Symbol {
        name: code.name,
        address: code.address,
        size: code.size,
        section,
        order: u32::try_from(order).unwrap_or(u32::MAX),
        version: NO_VERSION,
        kind: Kind::Function,
        binding: Binding::Global,
        source: Source::Symtab,
        default_version: false,
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn live(loads: &[(u64, u64, &'static str)]) -> LiveCode<'static> {
        let mut live = LiveCode::default();
        for &(address, size, name) in loads {
            live.load(Code { address, size, name: name.as_bytes(), tag: 0 });
        }
        live
    }

    fn names(live: &LiveCode<'static>) -> Vec<&'static str> {
        live.live.values().filter_map(|code| std::str::from_utf8(code.name).ok()).collect()
    }

    fn image(live: LiveCode<'static>) -> Image<'static> {
        let machine =
            Machine { number: 0, subtype: 0, name: "unknown", is_64: true, big_endian: false };
        live.into_image(Format::PerfMap, machine, Report::default()).0
    }

    /// (start, end) of each section.
    fn sections(loads: &[(u64, u64, &'static str)]) -> Vec<(u64, u64)> {
        let image = image(live(loads));
        image.sections.iter().map(|s| (s.address, s.address + s.size)).collect()
    }

    #[test]
    fn later_code_replaces_what_it_overlaps() {
        let all = live(&[(0x100, 0x20, "a"), (0x120, 0x20, "b"), (0x140, 0x20, "c")]);
        assert_eq!((names(&all), all.replaced), (vec!["a", "b", "c"], 0));
        let all = live(&[(0x100, 0x20, "a"), (0x120, 0x20, "b"), (0x110, 0x20, "c")]);
        assert_eq!((names(&all), all.replaced), (vec!["c"], 2));
        let all = live(&[(0x100, 0x40, "a"), (0x110, 0x10, "inside")]);
        assert_eq!(names(&all), ["inside"]);
        let all = live(&[(0x110, 0x10, "old"), (0x100, 0x40, "around")]);
        assert_eq!(names(&all), ["around"]);
        let all = live(&[(0x100, 0x10, "old"), (0x100, 0x10, "new")]);
        assert_eq!(names(&all), ["new"]);
    }

    /// The memory of `a` was `b`'s in between: `a` does not come back when `b` goes.
    #[test]
    fn replaced_code_stays_gone() {
        let all = live(&[(0x100, 0x100, "a"), (0x180, 0x100, "b"), (0x200, 0x100, "c")]);
        assert_eq!(names(&all), ["c"]);
    }

    #[test]
    fn code_of_unknown_size_owns_its_address_only() {
        assert_eq!(
            sections(&[(0x100, 0, "a"), (0x180, 0x10, "b")]),
            [(0x100, 0x101), (0x180, 0x190)]
        );
        let all = live(&[(0x100, 0x100, "a"), (0x180, 0, "mark")]);
        assert_eq!(names(&all), ["a"]);
        let all = live(&[(0x180, 0, "mark"), (0x100, 0x100, "a")]);
        assert_eq!(names(&all), ["a"]);
        let all = live(&[(0x180, 0, "mark"), (0x180, 0, "again")]);
        assert_eq!(names(&all), ["again"]);
    }

    #[test]
    fn sections_are_code_that_lies_close_together() {
        assert_eq!(
            sections(&[(0x9000_0000, 0x10, "b"), (0x1000, 0x10, "a"), (0x1020, 0x10, "c")]),
            [(0x1000, 0x1030), (0x9000_0000, 0x9000_0010)]
        );
        assert_eq!(sections(&[(u64::MAX, 0x10, "end")]), [(u64::MAX, u64::MAX)]);
    }

    proptest::proptest! {
        /// Against a list that forgets what each new entry overlaps.
        #[test]
        fn what_is_left_is_what_nothing_later_overlaps(
            loads in proptest::collection::vec((0_u64..64, 1_u64..16), 0..24)
        ) {
            let (mut all, mut slow) = (LiveCode::default(), Vec::new());
            for &(address, size) in &loads {
                all.load(Code { address, size, name: b"f", tag: 0 });
                slow.retain(|&(a, s): &(u64, u64)| a + s <= address || address + size <= a);
                slow.push((address, size));
            }
            slow.sort_unstable();
            let left: Vec<_> = all.live.values().map(|code| (code.address, code.size)).collect();
            proptest::prop_assert_eq!(left, slow);
        }
    }
}
