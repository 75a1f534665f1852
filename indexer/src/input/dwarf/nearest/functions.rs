//! Functions as binutils find them: the shortest range that holds an address.
//!
//! In: the DIEs of one unit. Out: functions and the functions around them. Names
//! are not read here.

use gimli::{AttributeValue, constants};

use super::super::limits::Allowance;
use super::super::ranges::Extent;
use super::super::unit::{Dwarf, Slice, Unit};

/// DIEs that lie deeper in each other than this are damage, and end the reading.
const MOST_DEPTH: usize = 1 << 20;

/// One function, inlined or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// The offset of its DIE in the unit.
    pub(super) die: usize,
    /// It is inlined into `caller`.
    pub(super) inlined: bool,
    /// The function around an inlined one.
    pub(super) caller: Option<u32>,
    /// Where the first of its ranges begins; 0 without any.
    pub(super) low: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    low: u64,
    high: u64,
    function: u32,
}

/// A function around others.
#[derive(Clone, Copy, Debug)]
enum Around {
    /// Nobody needed it yet.
    Unlisted(Function),
    /// Its number.
    Listed(u32),
}

/// The DIEs around the next one.
#[derive(Debug, Default)]
struct Stack {
    /// The functions among them.
    functions: Vec<Around>,
    /// By depth: how many functions there are down to it.
    depths: Vec<usize>,
}

impl Stack {
    /// Goes back to the DIEs above a depth.
    fn truncate(&mut self, depth: usize) {
        self.depths.truncate(depth);
        self.functions.truncate(self.depths.last().copied().unwrap_or(0));
    }

    /// Goes one deeper.
    fn push(&mut self, function: Option<Function>) -> gimli::Result<()> {
        if self.depths.len() >= MOST_DEPTH {
            return Err(gimli::Error::UnexpectedEof(gimli::ReaderOffsetId(0)));
        }
        self.functions.extend(function.map(Around::Unlisted));
        self.depths.push(self.functions.len());
        Ok(())
    }
}

/// The functions of one unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Functions {
    /// Those with addresses and those around them: a DIE of one byte without any
    /// costs nothing.
    pub(super) list: Vec<Function>,
    /// By first address.
    spans: Vec<Span>,
    /// By span: the end of what lies before and in it.
    reach: Vec<u64>,
}

impl Functions {
    /// Reads the functions of a unit; those before the damage where there is any.
    pub(super) fn read<'data>(
        dwarf: &Dwarf<'data>,
        unit: &Unit<'data>,
        allowance: &Allowance,
    ) -> Self {
        let mut functions = Self::default();
        let _ = functions.scan(dwarf, unit, allowance);
        functions.spans.sort_by_key(|span| (span.low, span.high, span.function));
        let reach = functions.spans.iter().scan(0, |end: &mut u64, span| {
            *end = span.high.max(*end);
            Some(*end)
        });
        functions.reach = reach.collect();
        functions.list.shrink_to_fit();
        functions
    }

    fn scan<'data>(
        &mut self,
        dwarf: &Dwarf<'data>,
        unit: &Unit<'data>,
        allowance: &Allowance,
    ) -> gimli::Result<()> {
        let mut entries = unit.header.entries_raw(&unit.abbreviations, None)?;
        let mut around = Stack::default();
        let mut found = Vec::new();
        while !entries.is_empty() {
            let depth = usize::try_from(entries.next_depth()).unwrap_or(0);
            let die = entries.next_offset().0;
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            around.truncate(depth);
            let tag = abbreviation.tag();
            if !is_function(tag) {
                entries.skip_attributes(abbreviation.attributes())?;
                around.push(None)?;
                continue;
            }
            let mut extent = Extent::default();
            for spec in abbreviation.attributes() {
                let attribute = entries.read_attribute(*spec)?;
                if !is_unread(&attribute) {
                    extent.take(&attribute);
                }
            }
            let _ = extent.read(dwarf, unit, allowance, &mut found);
            let inlined = tag == constants::DW_TAG_inlined_subroutine;
            let low = found.first().map_or(0, |range| range.start);
            around.push(Some(Function { die, inlined, caller: None, low }))?;
            let mut spans = found.iter().filter(|range| range.start < range.end).peekable();
            if spans.peek().is_none() || !allowance.node() {
                continue;
            }
            let Some(number) = self.list_innermost(&mut around.functions) else { continue };
            self.spans.extend(spans.map(|range| Span {
                low: range.start,
                high: range.end,
                function: number,
            }));
        }
        Ok(())
    }

    /// Lists the innermost function, and those that it is inlined into: its number.
    fn list_innermost(&mut self, around: &mut [Around]) -> Option<u32> {
        // Outside in, from the last one that has no caller or is listed.
        let first = around.iter().rposition(|around| match around {
            Around::Listed(_) => true,
            Around::Unlisted(function) => !function.inlined,
        });
        let mut caller = None;
        for slot in around.get_mut(first.unwrap_or(0)..)? {
            let number = match *slot {
                Around::Listed(number) => number,
                Around::Unlisted(function) => {
                    let number = super::super::count32(self.list.len());
                    let caller = caller.filter(|_| function.inlined);
                    self.list.push(Function { caller, ..function });
                    number
                }
            };
            *slot = Around::Listed(number);
            caller = Some(number);
        }
        caller
    }

    /// The function that holds an address: the one of the shortest range; of
    /// ranges as short, the last one.
    pub(super) fn find(&self, address: u64) -> Option<u32> {
        let first = self.reach.partition_point(|&end| end <= address);
        let spans = self.spans.get(first..)?.iter();
        let holding =
            spans.take_while(|span| span.low <= address).filter(|span| address < span.high);
        let shortest = holding.min_by_key(|span| {
            (span.high.saturating_sub(span.low), std::cmp::Reverse(span.function))
        });
        shortest.map(|span| span.function)
    }
}

/// True for what binutils take for a function.
fn is_function(tag: constants::DwTag) -> bool {
    matches!(
        tag,
        constants::DW_TAG_subprogram
            | constants::DW_TAG_entry_point
            | constants::DW_TAG_inlined_subroutine
    )
}

/// True for ranges that binutils do not read, up to 2.44 at least: those that are
/// stated by their number (`DW_FORM_rnglistx`), as clang does in DWARF 5. Such a
/// function has no address, and the one around it answers.
fn is_unread(attribute: &gimli::Attribute<Slice<'_>>) -> bool {
    matches!(attribute.value(), AttributeValue::DebugRngListsIndex(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(spans: &[(u64, u64)]) -> Functions {
        let mut functions = Functions::default();
        for (function, &(low, high)) in (0..).zip(spans) {
            functions.spans.push(Span { low, high, function });
        }
        functions.spans.sort_by_key(|span| (span.low, span.high, span.function));
        let mut end = 0;
        for span in &functions.spans {
            end = span.high.max(end);
            functions.reach.push(end);
        }
        functions
    }

    #[test]
    fn the_shortest_range_counts_and_the_last_of_equal_ones() {
        let nested = functions(&[(0, 100), (10, 20), (10, 20), (40, 60), (55, 58)]);
        for (address, function) in [(0, 0), (10, 2), (20, 0), (40, 3), (56, 4), (58, 3), (99, 0)] {
            assert_eq!(nested.find(address), Some(function), "{address}");
        }
        assert_eq!(nested.find(100), None);
        assert_eq!(Functions::default().find(0), None);
    }
}
