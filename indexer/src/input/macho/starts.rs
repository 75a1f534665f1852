//! `LC_FUNCTION_STARTS`: a run of ULEB128 differences in, addresses out. Never
//! yields more starts than there are bytes, nor one outside the code.

use super::bytes;
use super::commands::Commands;
use super::layout::Layout;
use crate::model::Report;

/// The function starts of an image, ascending, each in a section with code.
pub(super) fn read(
    slice: &[u8],
    commands: &Commands<'_>,
    layout: &Layout<'_>,
    thumb: bool,
    report: &mut Report,
) -> Vec<u64> {
    let (Some(place), Some(text)) = (commands.function_starts, layout.text_address) else {
        return Vec::new();
    };
    let data = bytes::at_most(slice, place.offset, place.count);
    if bytes::length(data) < place.count {
        report.warn(format!(
            "function starts at offset {:#x}: expected {} bytes, found {}; kept those",
            place.offset,
            place.count,
            data.len()
        ));
    }
    let (mut starts, broken) = decode(data, text);
    if let Some(at) = broken {
        report.warn(format!(
            "function starts at offset {:#x}: expected a difference that fits 64 bits, found none; \
             kept the {} starts before it",
            place.offset.saturating_add(at),
            starts.len()
        ));
    }
    if thumb {
        for start in &mut starts {
            *start &= !1;
        }
    }
    let before = starts.len();
    starts.retain(|&start| {
        let section = layout.holding(start).and_then(|index| layout.section(index));
        section.is_some_and(|section| section.execute)
    });
    let outside = before.saturating_sub(starts.len());
    report.skip_many("function start outside the code", u64::try_from(outside).unwrap_or(0));
    starts
}

/// Adds the differences up from `base`; a difference of 0 ends the list. Also
/// where the list is broken, if it is: a difference or a sum beyond 64 bits, or
/// one without an end.
fn decode(data: &[u8], base: u64) -> (Vec<u64>, Option<u64>) {
    let mut starts = Vec::new();
    let mut address = base;
    let mut rest = data;
    while !rest.is_empty() {
        let at = bytes::length(data).saturating_sub(bytes::length(rest));
        let Some((difference, after)) = bytes::uleb(rest) else {
            return (starts, Some(at));
        };
        if difference == 0 {
            break;
        }
        let Some(next) = address.checked_add(difference) else {
            return (starts, Some(at));
        };
        address = next;
        starts.push(address);
        rest = after;
    }
    (starts, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_add_up_until_a_zero() {
        assert_eq!(decode(&[0x10, 0x80, 0x01, 0, 0x05], 0x1000), (vec![0x1010, 0x1090], None));
        assert_eq!(decode(&[], 7), (vec![], None));
    }

    #[test]
    fn a_broken_difference_keeps_those_before_it() {
        assert_eq!(decode(&[0x10, 0x80], 0), (vec![0x10], Some(1)));
        let too_big = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(decode(&too_big, 0), (vec![], Some(0)));
        let whole = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(decode(&whole, 0), (vec![u64::MAX], None));
        assert_eq!(decode(&whole, 1), (vec![], Some(0)));
    }
}
