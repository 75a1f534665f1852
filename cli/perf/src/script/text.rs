//! One sample as `perf script` prints it.
//!
//! In: a sample and the text of its frames. Out: bytes appended to a buffer.

use std::io::Write as _;

use crate::session::Located;

use super::fields::Fields;

/// Appends `value` in hexadecimal, at least `width` characters, blanks in front.
pub(super) fn hex(out: &mut Vec<u8>, value: u64, width: usize) {
    let mut digits = [b' '; 16];
    let mut rest = value;
    let mut used = 0usize;
    for digit in digits.iter_mut().rev() {
        let nibble = u8::try_from(rest & 15).unwrap_or(0);
        *digit = nibble.wrapping_add(if nibble < 10 { b'0' } else { b'a'.wrapping_sub(10) });
        used = used.wrapping_add(1);
        rest >>= 4;
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
        (true, false) => write!(out, "{:5} ", sample.pid),
        (false, true) => write!(out, "{:5} ", sample.tid),
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
        let _ = write!(out, "{seconds:5}.{micro:06}: ");
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
            (0, 0, "0"),
            (u64::MAX, 0, "ffffffffffffffff"),
        ] {
            let mut out = Vec::new();
            hex(&mut out, value, width);
            assert_eq!(out, expected.as_bytes());
        }
    }
}
