//! Protocol buffers' outermost layer: bytes in, one field after the other out.
//!
//! Only what lets a damaged message cost no more than itself; the messages are
//! decoded by `prost`. Never allocates.

/// A field as it stands in the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<'b> {
    /// The number of the field.
    pub(crate) number: u64,
    /// What it holds.
    pub(crate) value: Value<'b>,
    /// Its bytes, key and all.
    pub(crate) bytes: &'b [u8],
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'b> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 2.
    Bytes(&'b [u8]),
    /// Wire types 1 and 5: no field of a profile has them.
    Fixed,
}

/// The fields of a message. Ends at the first byte that starts none.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'b> {
    rest: &'b [u8],
}

impl<'b> Fields<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What was not read: empty at the end of a message that is whole.
    pub(crate) fn rest(&self) -> &'b [u8] {
        self.rest
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = Field<'b>;

    fn next(&mut self) -> Option<Field<'b>> {
        let mut after = self.rest;
        let key = varint(&mut after)?;
        let value = match key & 7 {
            0 => Value::Varint(varint(&mut after)?),
            1 => take(&mut after, 8).map(|_| Value::Fixed)?,
            2 => {
                let length = usize::try_from(varint(&mut after)?).ok()?;
                Value::Bytes(take(&mut after, length)?)
            }
            5 => take(&mut after, 4).map(|_| Value::Fixed)?,
            _ => return None,
        };
        let number = key >> 3;
        if number == 0 {
            return None;
        }
        let used = self.rest.len().checked_sub(after.len())?;
        let bytes = take(&mut self.rest, used)?;
        Some(Field { number, value, bytes })
    }
}

fn take<'b>(bytes: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

/// Seven bits a byte, the lowest first; at most ten bytes.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for (position, byte) in (0u32..10).zip(bytes.iter()) {
        let part = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if position == 9 && part > 1 {
            return None;
        }
        value |= part.checked_shl(position.saturating_mul(7))?;
        if byte & 0x80 == 0 {
            let length = usize::try_from(position).ok()?.checked_add(1)?;
            *bytes = bytes.get(length..)?;
            return Some(value);
        }
    }
    None
}

/// Appends a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or(0));
}

/// Appends a field of wire type 0, unless it is 0: the value of a field that is not there.
pub(crate) fn put_number(out: &mut Vec<u8>, number: u64, value: i64) {
    if value != 0 {
        put_varint(out, number << 3);
        put_varint(out, value.cast_unsigned());
    }
}

/// Appends the key and length of a field of wire type 2.
pub(crate) fn put_length(out: &mut Vec<u8>, number: u64, length: usize) {
    put_varint(out, number << 3 | 2);
    put_varint(out, u64::try_from(length).unwrap_or(u64::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_read_as_they_are_written() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), 1 << 63, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut rest = bytes.as_slice();
            assert_eq!((varint(&mut rest), rest), (Some(value), [].as_slice()));
            for cut in 0..bytes.len() {
                let mut rest = bytes.get(..cut).unwrap_or_default();
                assert_eq!(varint(&mut rest), None);
            }
        }
        // 65 bits, and eleven bytes.
        assert_eq!(
            varint(&mut [0xff; 9].iter().chain(&[2]).copied().collect::<Vec<_>>().as_slice()),
            None
        );
        assert_eq!(varint(&mut [0x80; 11].as_slice()), None);
    }

    #[test]
    fn reading_ends_where_no_field_starts() {
        let mut bytes = Vec::new();
        put_number(&mut bytes, 12, 99);
        put_length(&mut bytes, 6, 2);
        bytes.extend_from_slice(b"ab");
        let whole = bytes.len();
        // A field longer than what is there.
        put_length(&mut bytes, 6, 1 << 40);
        let mut fields = Fields::new(&bytes);
        let values: Vec<_> = fields.by_ref().map(|field| (field.number, field.value)).collect();
        assert_eq!(values, [(12, Value::Varint(99)), (6, Value::Bytes(b"ab"))]);
        assert_eq!(fields.rest(), bytes.get(whole..).unwrap_or_default());
        // A group, a field without a number.
        for bytes in [[0x0b, 0].as_slice(), &[0x02, 0], &[0x00, 0]] {
            assert_eq!(Fields::new(bytes).next(), None);
        }
    }
}
