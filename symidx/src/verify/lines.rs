//! The promises about lines and inlined functions: I28 to I32.
//!
//! Linear in the bytes of the sections, times at most [`MAX_FRAMES`] for the
//! chains of nodes; no heap.

use core::ops::Range;

use crate::error::{Invariant, Violation};
use crate::format::lines::{LineSpan, MAX_FRAMES, MAX_WINDOW_SHIFT, ROW_SHIFT};
use crate::format::{ADDRESSES_SECTION, NONE, Record, Region, SectionId};
use crate::lines::{Node, OF_FUNCTION, Window};
use crate::open::{View, index};

impl View<'_> {
    /// I28 to I32.
    pub(super) fn verify_lines(&self) -> Result<(), Violation> {
        self.verify_functions()?;
        let (mut window, mut line) = (0u32, 0u64);
        let mut before: Option<&LineSpan> = None;
        for (i, span) in self.line_spans.iter().enumerate() {
            let wrong = || Violation::entry(Invariant::LineSpanShape, SectionId::LINE_SPANS, i);
            let windows = self.verify_span(span, before).ok_or_else(wrong)?;
            // Windows and lines lie in span order without gaps.
            if span.window_first.get() != window || span.lines.get() != line {
                return Err(wrong());
            }
            line = self.verify_windows(span, windows)?;
            window =
                window.checked_add(windows).and_then(|end| end.checked_add(1)).ok_or_else(wrong)?;
            before = Some(span);
        }
        let lines = u64::try_from(self.lines.len()).unwrap_or(u64::MAX);
        if index(window) != self.line_windows.len() || line != lines {
            let spans = self.line_spans.len();
            return Err(Violation::entry(Invariant::LineSpanShape, SectionId::LINE_SPANS, spans));
        }
        Ok(())
    }

    /// I32, and I17 for the names of functions and files.
    fn verify_functions(&self) -> Result<(), Violation> {
        for i in 0..self.functions.len() {
            let function = self
                .function(u32::try_from(i).unwrap_or(NONE))
                .map_err(|_| Violation::entry(Invariant::NameInside, SectionId::FUNCTIONS, i))?;
            if function.file != NONE && index(function.file) >= self.files.len() {
                return Err(Violation::entry(Invariant::FunctionShape, SectionId::FUNCTIONS, i));
            }
        }
        for i in 0..self.files.len() {
            self.file(u32::try_from(i).unwrap_or(NONE))
                .map_err(|_| Violation::entry(Invariant::NameInside, SectionId::FILES, i))?;
        }
        Ok(())
    }

    /// I28: how many windows a sound span has.
    fn verify_span(&self, span: &LineSpan, before: Option<&LineSpan>) -> Option<u32> {
        let relocatable = self.header.addresses.get() == ADDRESSES_SECTION;
        let (base, size, section) = (span.base.get(), span.size.get(), span.section.get());
        let sound = (1..=1 << 32).contains(&size)
            && base.checked_add(size.saturating_sub(1)).is_some()
            && span.shift.get() <= MAX_WINDOW_SHIFT
            && span.reserved.get() == 0
            && (section != NONE) == relocatable
            && (!relocatable || index(section) < self.sections.len());
        let ordered = before.is_none_or(|before| match before.section == span.section {
            true => {
                let end = before.base.get().checked_add(before.size.get());
                end.is_some_and(|end| end <= base)
            }
            false => before.section.get() < section,
        });
        let windows = size.div_ceil(1u64.checked_shl(span.shift.get())?);
        let windows = u32::try_from(windows).ok()?;
        let first = index(span.window_first.get());
        let end = first.checked_add(index(windows))?;
        (sound && ordered && end < self.line_windows.len()).then_some(windows)
    }

    /// I29, I30 and I31 for the windows of a span; where its lines end.
    fn verify_windows(&self, span: &LineSpan, windows: u32) -> Result<u64, Violation> {
        let first = index(span.window_first.get());
        let mut at = 0u32;
        for window in 0..=windows {
            let number = first.saturating_add(index(window));
            let wrong = |invariant| Violation::entry(invariant, SectionId::LINE_WINDOWS, number);
            let start = self.line_windows.get(number).map(|start| start.get());
            if start.is_none_or(|start| start < at || (window == 0 && start != 0)) {
                return Err(wrong(Invariant::WindowOrder));
            }
            at = start.unwrap_or(NONE);
            if window == windows {
                break;
            }
            let (bytes, len) = self
                .window_bytes(span, window.into())
                .ok_or_else(|| wrong(Invariant::WindowOrder))?;
            if len == 0 {
                continue;
            }
            let parsed = Window::parse(bytes, len).ok_or_else(|| wrong(Invariant::WindowShape))?;
            if !self.window_is_sound(&parsed, span.shift.get()) {
                return Err(wrong(Invariant::WindowShape));
            }
            self.verify_nodes(&parsed)?;
            let from = u64::from(window).wrapping_shl(span.shift.get() & 63);
            let size = span.size.get().saturating_sub(from);
            let size = size.min(1u64.wrapping_shl(span.shift.get() & 63));
            let start = span.base.get().saturating_add(from);
            self.verify_roots(&parsed, span.section.get(), (start, size))?;
        }
        Ok(span.lines.get().saturating_add(at.into()))
    }

    /// I30.
    fn window_is_sound(&self, window: &Window<'_>, shift: u32) -> bool {
        let size = 1u32.checked_shl(shift).unwrap_or(0);
        if shift > ROW_SHIFT && window.row_count() > 1 {
            return false;
        }
        let mut before = 0u8;
        let ascending = window.starts().iter().all(|&start| {
            let rises = start > before && u32::from(start) < size;
            before = start;
            rises
        });
        let picks = |row| window.pick(row).is_some_and(|pick| pick < window.entry_count());
        let picked = (0..window.row_count()).all(picks);
        let known =
            window.files().filter(|&file| file != NONE).all(|file| index(file) < self.files.len());
        ascending && picked && known && window.has_all_long_values()
    }

    /// I31: every root that says so is of functions named as the symbols of its rows.
    fn verify_roots(
        &self,
        window: &Window<'_>,
        section: u32,
        (start, size): (u64, u64),
    ) -> Result<(), Violation> {
        let mut starts = window.starts().iter().map(|&start| u64::from(start));
        let mut from = Some(0);
        // Neighbours of one root are asked about together: rows are many, roots few.
        let mut run: Option<(u32, Range<u64>, u32)> = None;
        for row in 0..window.row_count() {
            let next = starts.next();
            let (begin, end) = (from.unwrap_or(0), next.unwrap_or(size).min(size));
            from = next;
            let node = window.pick(row).and_then(|entry| window.node(entry)).flatten();
            let root = node.and_then(|node| self.root_of(node)).filter(|(_, root)| root.is_symbol);
            let Some((at, root)) = root else { continue };
            let within = start.saturating_add(begin)..start.saturating_add(end);
            match &mut run {
                Some((known, range, _)) if *known == at && range.end == within.start => {
                    range.end = within.end;
                }
                _ => {
                    self.verify_run(section, run.take())?;
                    run = Some((at, within, root.function));
                }
            }
        }
        self.verify_run(section, run)
    }

    /// I31: a root that says so, of addresses without a gap.
    fn verify_run(
        &self,
        section: u32,
        run: Option<(u32, Range<u64>, u32)>,
    ) -> Result<(), Violation> {
        let Some((at, range, function)) = run else { return Ok(()) };
        if self.is_named(section, range, function) {
            return Ok(());
        }
        Err(Violation {
            invariant: Invariant::NodeShape,
            section: Some(SectionId::INLINES),
            offset: at.into(),
            numbers: None,
        })
    }

    /// Offset and node of the root that a node leads to.
    fn root_of(&self, mut at: u32) -> Option<(u32, Node)> {
        for _ in 0..MAX_FRAMES {
            let node = self.node(at).ok()?;
            match node.parent {
                Some((parent, _)) => at = parent,
                None => return Some((at, node)),
            }
        }
        None
    }

    /// True when every symbol that covers an address of a range has the name of
    /// the function.
    fn is_named(&self, section: u32, range: Range<u64>, function: u32) -> bool {
        let Ok(function) = self.function(function) else { return false };
        let named = |address: u64| {
            let found = match section {
                NONE => self.find(address),
                section => self.find_in_section(section, address),
            };
            found.is_ok_and(|found| found.symbol().is_none_or(|s| s.name() == function.name))
        };
        let key = |region: &Region| (region.section.get(), region.base.get());
        let of_section = self.regions.partition_point(|region| key(region).0 < section);
        let after = self.regions.partition_point(|region| key(region) <= (section, range.start));
        let regions = self.regions.get(after.saturating_sub(1).max(of_section)..).unwrap_or(&[]);
        let regions = regions.iter().take_while(|region| key(region) < (section, range.end));
        // Answers change where records start, and where symbols end.
        let starts = regions.flat_map(|region| {
            let first = index(region.first.get());
            let end = first.saturating_add(index(region.count.get()));
            let records = self.records.get(first..end).unwrap_or(&[]);
            let base = region.base.get();
            let address = move |record: &Record| base.saturating_add(record.start.get().into());
            let first = records.partition_point(|record| address(record) <= range.start);
            let behind = records.get(first..).unwrap_or(&[]).iter();
            behind.map(address).take_while(|&address| address < range.end)
        });
        range.is_empty() || (named(range.start) && starts.into_iter().all(named))
    }

    /// I31: every entry of the window leads to a root.
    fn verify_nodes(&self, window: &Window<'_>) -> Result<(), Violation> {
        for entry in 0..window.entry_count() {
            let Some(Some(mut at)) = window.node(entry) else { continue };
            let mut steps = 0u32;
            loop {
                let wrong = Violation {
                    invariant: Invariant::NodeShape,
                    section: Some(SectionId::INLINES),
                    offset: at.into(),
                    numbers: None,
                };
                let node = self.node(at).map_err(|_| wrong)?;
                steps = steps.saturating_add(1);
                let function = index(node.function.max(node.stated));
                if function >= self.functions.len() || steps > MAX_FRAMES {
                    return Err(wrong);
                }
                let Some((parent, call)) = node.parent else { break };
                let known = call.file == NONE || call.file == OF_FUNCTION;
                if !known && index(call.file) >= self.files.len() {
                    return Err(wrong);
                }
                at = parent;
            }
        }
        Ok(())
    }
}
