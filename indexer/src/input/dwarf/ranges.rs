//! The addresses that a DIE covers.
//!
//! In: `DW_AT_low_pc`, `DW_AT_high_pc`, `DW_AT_ranges`. Out: ranges that are
//! not empty, as DWARF states them. Whether they are code is not decided here.

use gimli::{AttributeValue, constants};

use super::limits::Allowance;
use super::unit::{Dwarf, Slice, Unit, Value};

/// A range of addresses as DWARF states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// First address.
    pub(super) start: u64,
    /// First address after it.
    pub(super) end: u64,
}

/// The attributes of one DIE that say what it covers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent<'data> {
    low: Option<Value<'data>>,
    high: Option<Value<'data>>,
    ranges: Option<Value<'data>>,
}

/// Why ranges are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RangeFault {
    /// The list or an address in it cannot be read.
    Damaged,
    /// Too many entries for the unit.
    TooMany,
}

impl RangeFault {
    /// The reason under which the DIE is counted.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Damaged => "damaged address ranges",
            Self::TooMany => "address ranges beyond what their unit can hold",
        }
    }
}

impl<'data> Extent<'data> {
    /// Takes an attribute if it is one of those.
    pub(super) fn take(&mut self, attribute: &gimli::Attribute<Slice<'data>>) {
        match attribute.name() {
            constants::DW_AT_low_pc => self.low = Some(attribute.value()),
            constants::DW_AT_high_pc => self.high = Some(attribute.value()),
            constants::DW_AT_ranges => self.ranges = Some(attribute.value()),
            _ => {}
        }
    }

    /// True when it states a list by its place, and the first entry of that states
    /// addresses by their numbers.
    pub(super) fn list_has_numbers(&self, dwarf: &Dwarf<'data>, unit: &Unit<'data>) -> bool {
        use gimli::RawRngListEntry::{BaseAddressx, StartxEndx, StartxLength};
        let Some(AttributeValue::RangeListsRef(offset)) = self.ranges else { return false };
        let offset = dwarf.ranges_offset_from_raw(unit, offset);
        let entry = dwarf.raw_ranges(unit, offset).and_then(|mut list| list.next());
        matches!(entry, Ok(Some(BaseAddressx { .. } | StartxEndx { .. } | StartxLength { .. })))
    }

    /// Writes the ranges to `found`, in the order stated. A low and a high
    /// address win over a list.
    ///
    /// # Errors
    /// What is missing; the ranges before it are in `found`.
    pub(super) fn read(
        &self,
        dwarf: &Dwarf<'data>,
        unit: &Unit<'data>,
        allowance: &Allowance,
        found: &mut Vec<Range>,
    ) -> Result<(), RangeFault> {
        found.clear();
        let damaged = |_| RangeFault::Damaged;
        if let (Some(low), Some(high)) = (self.low, self.high) {
            let Some(start) = dwarf.attr_address(unit, low).map_err(damaged)? else {
                return Err(RangeFault::Damaged);
            };
            let mask = super::address_mask(unit.header.address_size());
            let end = match high {
                AttributeValue::Udata(bytes) => start.wrapping_add(bytes) & mask,
                other => match dwarf.attr_address(unit, other).map_err(damaged)? {
                    Some(end) => end,
                    None => return Err(RangeFault::Damaged),
                },
            };
            if start != end {
                found.push(Range { start, end });
            }
            return Ok(());
        }
        let Some(list) = self.ranges else { return Ok(()) };
        let Some(mut list) = dwarf.attr_ranges(unit, list).map_err(damaged)? else {
            return Err(RangeFault::Damaged);
        };
        while let Some(entry) = list.next_raw().map_err(damaged)? {
            if !allowance.range() {
                return Err(RangeFault::TooMany);
            }
            if let Some(range) = list.convert_raw(entry).map_err(damaged)? {
                found.push(Range { start: range.begin, end: range.end });
            }
        }
        Ok(())
    }
}
