//! Nodes: the bytes of one in, its numbers out.
//!
//! How long the numbers are differs from one node to the next: a table knows
//! where each lies, so that reading them is four shifts. Never reads more than
//! it is given.

use crate::format::lines::NODE_FIELDS;

/// How the numbers of a node lie in the eight bytes behind its head, if they
/// fit into them.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Shape {
    masks: [u32; NUMBERS],
    shifts: [u8; NUMBERS],
    /// Bytes of all.
    used: u8,
}

const NUMBERS: usize = 4;

/// The shape of each head: sums that would have to be made for every node.
static SHAPES: [Shape; 256] = shapes();

const fn shapes() -> [Shape; 256] {
    let mut shapes = [shape(0); 256];
    let (mut rest, mut head) = (shapes.as_mut_slice(), 0u8);
    while let Some((first, behind)) = rest.split_first_mut() {
        *first = shape(head);
        (rest, head) = (behind, head.wrapping_add(1));
    }
    shapes
}

const fn shape(head: u8) -> Shape {
    let [function, link, line, column] = [head & 3, head >> 2 & 3, head >> 4 & 3, head >> 6];
    let link_at = size(function);
    let line_at = size(link).wrapping_add(link_at);
    let column_at = size(line).wrapping_add(line_at);
    Shape {
        masks: [mask(function), mask(link), mask(line), mask(column)],
        shifts: [0, link_at.wrapping_mul(8), line_at.wrapping_mul(8), column_at.wrapping_mul(8)],
        used: size(column).wrapping_add(column_at),
    }
}

/// Bytes of a number: 0, 1, 2 or 4.
const fn size(code: u8) -> u8 {
    (1u8 << code) >> 1
}

const fn mask(code: u8) -> u32 {
    match code {
        0 => 0,
        1 => 0xff,
        2 => 0xffff,
        _ => u32::MAX,
    }
}

/// The four numbers of a node behind its head, and how many bytes they take.
#[inline(always)]
pub(super) fn numbers(head: u8, fields: &[u8; NODE_FIELDS]) -> ([u32; NUMBERS], usize) {
    let Some(Shape { masks, shifts, used }) = SHAPES.get(usize::from(head)) else {
        return ([0; NUMBERS], 0);
    };
    let [first, _] = fields.as_chunks::<8>().0 else { return ([0; NUMBERS], 0) };
    let value = u64::from_le_bytes(*first);
    if *used > 8 {
        return (far_numbers(masks, shifts, fields), usize::from(*used));
    }
    let number = |mask: u32, shift: u8| {
        let value = value.wrapping_shr(shift.into()) & u64::from(mask);
        u32::try_from(value).unwrap_or(0)
    };
    let [function, link, line, column] = *masks;
    let [_, link_at, line_at, column_at] = *shifts;
    let numbers = [
        number(function, 0),
        number(link, link_at),
        number(line, line_at),
        number(column, column_at),
    ];
    (numbers, usize::from(*used))
}

/// The same from all bytes.
#[cold]
fn far_numbers(
    masks: &[u32; NUMBERS],
    shifts: &[u8; NUMBERS],
    fields: &[u8; NODE_FIELDS],
) -> [u32; NUMBERS] {
    let all = u128::from_le_bytes(*fields);
    let mut numbers = *masks;
    for (number, shift) in numbers.iter_mut().zip(shifts) {
        let value = all.wrapping_shr(u32::from(*shift)) & u128::from(*number);
        *number = u32::try_from(value).unwrap_or(0);
    }
    numbers
}

/// A distance, modulo 2^32, from its zigzag form.
pub(super) fn unzigzag(value: u32) -> u32 {
    (value >> 1) ^ 0u32.wrapping_sub(value & 1)
}
