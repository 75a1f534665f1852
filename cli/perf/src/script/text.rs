//! One sample as `perf script` prints it.
//!
//! In: a sample and the text of its frames. Out: bytes appended to a buffer.

use std::io::{self, Write as _};

use crate::session::Located;

use super::fields::Fields;

/// Appends `value` in hexadecimal, at least `width` characters, blanks in front.
#[inline]
pub(super) fn hex(out: &mut Vec<u8>, value: u64, width: usize) {
    let high = u32::try_from(value >> 32).unwrap_or(0);
    let low = u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0);
    let mut digits = [b' '; 16];
    for (to, from) in digits.iter_mut().zip(eight(high).into_iter().chain(eight(low))) {
        *to = from;
    }
    let zeros = usize::try_from(value.leading_zeros()).unwrap_or(0);
    let unused = (zeros >> 2).min(15);
    digits.iter_mut().take(unused).for_each(|digit| *digit = b' ');
    let shown = digits.len().wrapping_sub(unused).max(width).min(digits.len());
    out.extend_from_slice(digits.get(digits.len().wrapping_sub(shown)..).unwrap_or(&digits));
}

/// Appends a TAB and an address in sixteen columns.
#[inline]
pub(super) fn address(out: &mut Vec<u8>, address: u64) {
    // Room for what follows, too.
    out.reserve(64);
    out.push(b'\t');
    hex(out, address, 16);
}

/// The eight hexadecimal digits of a number, all at once: each four bits in a byte.
fn eight(number: u32) -> [u8; 8] {
    let apart = u64::from(number);
    let apart = (apart | apart << 16) & 0x0000_ffff_0000_ffff;
    let apart = (apart | apart << 8) & 0x00ff_00ff_00ff_00ff;
    let apart = (apart | apart << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = (apart.wrapping_add(0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    let letters = letters.wrapping_mul(u64::from(b'a'.wrapping_sub(10).wrapping_sub(b'0')));
    apart.wrapping_add(0x3030_3030_3030_3030).wrapping_add(letters).to_be_bytes()
}

/// Appends `value` in decimal, at least `width` characters, `fill` in front.
pub(super) fn decimal(out: &mut Vec<u8>, value: u64, width: usize, fill: u8) {
    let mut digits = [fill; 20];
    let mut used = 0usize;
    let mut rest = value;
    for digit in digits.iter_mut().rev() {
        *digit = b'0'.wrapping_add(u8::try_from(rest % 10).unwrap_or(0));
        used = used.wrapping_add(1);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let shown = used.max(width).min(digits.len());
    out.extend_from_slice(digits.get(digits.len().wrapping_sub(shown)..).unwrap_or(&digits));
}

/// Appends the columns in front of the frames. `named` is the width of the widest
/// event name; `chain`: frames follow on lines of their own.
pub(super) fn start(
    out: &mut Vec<u8>,
    located: &Located<'_>,
    fields: &Fields,
    named: usize,
    chain: bool,
) {
    let sample = &located.sample;
    if fields.comm {
        let mut room = [0u8; 16];
        let comm = match located.comm() {
            Some(comm) => comm,
            None => {
                let mut free = room.as_mut_slice();
                // Sixteen bytes have room for any thread's number.
                let _ = write!(free, ":{}", sample.tid);
                let left = free.len();
                room.get(..room.len().saturating_sub(left)).unwrap_or(&[])
            }
        };
        if !(fields.ip && chain) {
            pad(out, 16usize.saturating_sub(comm.len()));
        }
        out.extend_from_slice(comm);
        out.push(b' ');
    }
    // Writing to memory cannot fail.
    let _ = match (fields.pid, fields.tid) {
        (true, true) => write!(out, "{:5}/{:<5} ", sample.pid, sample.tid),
        (true, false) => number(out, sample.pid),
        (false, true) => number(out, sample.tid),
        (false, false) => Ok(()),
    };
    if fields.cpu
        && let Some(cpu) = sample.cpu
    {
        let _ = write!(out, "[{cpu:03}] ");
    }
    if fields.time
        && let Some(time) = sample.time
    {
        let seconds = time.checked_div(1_000_000_000).unwrap_or(0);
        let micro = time.checked_rem(1_000_000_000).unwrap_or(0).checked_div(1000).unwrap_or(0);
        decimal(out, seconds, 5, b' ');
        out.push(b'.');
        decimal(out, micro, 6, b'0');
        out.extend_from_slice(b": ");
    }
    if fields.period {
        let _ = write!(out, "{:10} ", sample.period);
    }
    if fields.event {
        let name = located.event().map_or("[unknown]", |event| event.name.as_str());
        pad(out, named.saturating_sub(name.len()));
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
    }
}

/// Appends the number of a process or thread, and a blank.
fn number(out: &mut Vec<u8>, number: i32) -> io::Result<()> {
    match u64::try_from(number) {
        Ok(number) => {
            decimal(out, number, 5, b' ');
            out.push(b' ');
            Ok(())
        }
        Err(_) => write!(out, "{number:5} "),
    }
}

fn pad(out: &mut Vec<u8>, count: usize) {
    out.extend(std::iter::repeat_n(b' ', count));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_padded_in_front() {
        for (value, width, expected) in [
            (0, 16, "               0"),
            (0xffff_ffff_8100_0000, 16, "ffffffff81000000"),
            (0xabc, 0, "abc"),
            (0x7f00_1234_5678_9abc, 16, "7f00123456789abc"),
            (0x0123_4567_89ab_cdef, 0, "123456789abcdef"),
            (0, 0, "0"),
            (u64::MAX, 0, "ffffffffffffffff"),
        ] {
            let mut out = Vec::new();
            hex(&mut out, value, width);
            assert_eq!(out, expected.as_bytes());
        }
    }

    #[test]
    fn decimal_is_filled_in_front() {
        for (value, width, fill, expected) in [
            (0, 5, b' ', "    0"),
            (123_456, 5, b' ', "123456"),
            (45, 6, b'0', "000045"),
            (u64::MAX, 0, b' ', "18446744073709551615"),
        ] {
            let mut out = Vec::new();
            decimal(&mut out, value, width, fill);
            assert_eq!(out, expected.as_bytes());
        }
        let mut out = Vec::new();
        assert!(number(&mut out, -1).and_then(|()| number(&mut out, 7)).is_ok());
        assert_eq!(out, b"   -1     7 ");
    }
}
