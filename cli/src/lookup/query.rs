//! One query: `0x401136`, `401136`, or `.text:0x10`.

use crate::options::parse_address;

/// What a query has to be.
pub(super) const EXPECTED: &str = "expected a hexadecimal address of at most 64 bits";

/// An address, and the section it is an offset in if one is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Query<'q> {
    /// The number.
    pub(super) address: u64,
    /// The section.
    pub(super) section: Option<&'q [u8]>,
}

impl<'q> Query<'q> {
    /// Reads a query without white space around it. Section names may hold colons.
    pub(super) fn parse(text: &'q [u8]) -> Option<Self> {
        match memchr::memrchr(b':', text) {
            None => Some(Self { address: parse_address(text)?, section: None }),
            Some(colon) => {
                let (section, address) = text.split_at_checked(colon)?;
                let address = parse_address(address.get(1..)?)?;
                (!section.is_empty()).then_some(Self { address, section: Some(section) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_stands_in_front_of_the_last_colon() {
        let query = |address, section| Some(Query { address, section });
        assert_eq!(Query::parse(b"0x10"), query(16, None));
        assert_eq!(Query::parse(b".text:10"), query(16, Some(&b".text"[..])));
        assert_eq!(Query::parse(b"a:b:0x10"), query(16, Some(&b"a:b"[..])));
        for wrong in [&b":10"[..], b".text:", b"", b"zz", b"0x", b".text", b"1 2"] {
            assert_eq!(Query::parse(wrong), None);
        }
    }
}
