//! Which mapping an address is in: by the id that a location states, else by the address.
//!
//! Built once, asked by binary search. Where several mappings hold an address
//! none of them is chosen.

use std::collections::HashMap;

use crate::proto::Mapping;
use crate::report::Unknown;

/// Finds mappings.
pub(crate) struct Finder {
    by_id: HashMap<u64, usize>,
    /// Start, limit and position of each that holds anything, by start.
    ranges: Vec<(u64, u64, usize)>,
    /// The highest limit of all ranges before each.
    reach: Vec<u64>,
}

impl Finder {
    pub(crate) fn new(mappings: &[Mapping]) -> Self {
        let positions = mappings.iter().enumerate();
        let mut ranges: Vec<_> = positions
            .clone()
            .map(|(at, mapping)| {
                let limit = match mapping.memory_limit {
                    0 => u64::MAX,
                    limit => limit,
                };
                (mapping.memory_start, limit, at)
            })
            .filter(|(start, limit, _)| start < limit)
            .collect();
        ranges.sort_unstable();
        let reach = ranges
            .iter()
            .scan(0, |reach, (_, limit, _)| {
                let before = *reach;
                *reach = before.max(*limit);
                Some(before)
            })
            .collect();
        Self { by_id: positions.map(|(at, mapping)| (mapping.id, at)).collect(), ranges, reach }
    }

    pub(crate) fn by_id(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// The one mapping that holds an address.
    pub(crate) fn holding(&self, address: u64) -> Result<usize, Unknown> {
        let after = self.ranges.partition_point(|(start, ..)| *start <= address);
        let last = after.checked_sub(1).ok_or(Unknown::NoMapping)?;
        let (range, reach) = (self.ranges.get(last), self.reach.get(last));
        let (Some((_, limit, at)), Some(reach)) = (range, reach) else {
            return Err(Unknown::NoMapping);
        };
        match (address < *limit, address < *reach) {
            (true, false) => Ok(*at),
            (false, false) => Err(Unknown::NoMapping),
            (_, true) => Err(Unknown::SeveralMappings),
        }
    }
}
