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

#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
const fn shapes() -> [Shape; 256] {
    let none = Shape { masks: [0; NUMBERS], shifts: [0; NUMBERS], used: 0 };
    let mut shapes = [none; 256];
    let (mut head, mut first) = (0, 0u8);
    while head < shapes.len() {
        let (mut number, mut codes) = (0, first);
        while number < NUMBERS {
            let (size, mask) = match codes & 3 {
                0 => (0, 0),
                1 => (1, 0xff),
                2 => (2, 0xffff),
                _ => (4, u32::MAX),
            };
            let shape = &mut shapes[head];
            shape.masks[number] = mask;
            shape.shifts[number] = shape.used * 8;
            shape.used += size;
            codes >>= 2;
            number += 1;
        }
        head += 1;
        first = first.wrapping_add(1);
    }
    shapes
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
