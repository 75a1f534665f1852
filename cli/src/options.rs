//! Option groups that several verbs share.

use std::path::PathBuf;

use clap::Args;
use symidx_indexer::input::ReadOptions;

/// What to read of a binary, and from where.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ReadArgs {
    /// Slice of a fat Mach-O file, by architecture (x86_64, arm64, arm64e, …).
    #[arg(long, value_name = "A", help_heading = "Reading binaries")]
    pub(crate) arch: Option<String>,
    /// Slice of a fat Mach-O file, by UUID.
    #[arg(long, value_name = "U", value_parser = parse_uuid, help_heading = "Reading binaries")]
    pub(crate) uuid: Option<Uuid>,
    /// Separate debug file, .dSYM bundle or .dwp package; used only when its build-id, CRC, UUID or
    /// unit ids match. May be repeated.
    #[arg(long = "debug-file", value_name = "F", help_heading = "Reading binaries")]
    pub(crate) debug_files: Vec<PathBuf>,
    /// Directory of debug files, by build-id or by name, and of the .dwo, .dwp, dwz, .dSYM and object
    /// files that debug information refers to. May be repeated.
    #[arg(long = "debug-dir", value_name = "D", help_heading = "Reading binaries")]
    pub(crate) debug_dirs: Vec<PathBuf>,
    /// Do not look for debug files beside the binary, where they were written, and in the system's
    /// directories.
    #[arg(long, help_heading = "Reading binaries")]
    pub(crate) no_auto_debug: bool,
    /// For kallsyms: a /proc/modules file that tells where modules end.
    #[arg(long, value_name = "FILE", help_heading = "Reading binaries")]
    pub(crate) modules: Option<PathBuf>,
}

impl ReadArgs {
    /// The same for the indexer.
    pub(crate) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            arch: self.arch.clone(),
            uuid: self.uuid.map(|uuid| uuid.0),
            debug_files: self.debug_files.clone(),
            debug_dirs: self.debug_dirs.clone(),
            auto_debug: !self.no_auto_debug,
            names_only: false,
            modules: self.modules.clone(),
        }
    }

    /// True when files were named that an index at hand may not have used.
    pub(crate) fn names_companions(&self) -> bool {
        !self.debug_files.is_empty() || !self.debug_dirs.is_empty() || self.modules.is_some()
    }
}

/// A Mach-O UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uuid(pub(crate) [u8; 16]);

/// 32 hex digits, with dashes anywhere.
fn parse_uuid(text: &str) -> Result<Uuid, String> {
    let wrong = || format!("expected 32 hex digits, with or without dashes, found `{text}`");
    let digits: String = text.chars().filter(|&c| c != '-').collect();
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    u128::from_str_radix(&digits, 16).map(|value| Uuid(value.to_be_bytes())).map_err(|_| wrong())
}

/// An address: hex, with or without `0x`. 64 bits at most.
pub(crate) fn parse_address(text: &[u8]) -> Option<u64> {
    let digits = match text {
        [b'0', b'x' | b'X', digits @ ..] => digits,
        digits => digits,
    };
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &byte| {
        let digit = match byte {
            b'0'..=b'9' => byte.wrapping_sub(b'0'),
            b'a'..=b'f' => byte.wrapping_sub(b'a').wrapping_add(10),
            b'A'..=b'F' => byte.wrapping_sub(b'A').wrapping_add(10),
            _ => return None,
        };
        value.checked_mul(16).map(|value| value | u64::from(digit))
    })
}

/// An address given as an option's value.
pub(crate) fn address_option(text: &str) -> Result<u64, String> {
    parse_address(text.as_bytes())
        .ok_or_else(|| format!("expected a hexadecimal address of at most 64 bits, found `{text}`"))
}

/// A slide: an address, or one with a minus sign in front.
pub(crate) fn bias_option(text: &str) -> Result<u64, String> {
    match text.strip_prefix('-') {
        Some(positive) => address_option(positive).map(u64::wrapping_neg),
        None => address_option(text),
    }
}

/// A size: a number, and K, M, G or T (powers of 1024) if need be.
pub(crate) fn size_option(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a size such as 500M or 2G, found `{text}`");
    let upper = text.trim().to_ascii_uppercase();
    let upper = upper.trim_end_matches('B').trim_end_matches('I');
    let (digits, shift) = match upper.char_indices().next_back() {
        Some((at, 'K')) => (upper.get(..at), 10u32),
        Some((at, 'M')) => (upper.get(..at), 20),
        Some((at, 'G')) => (upper.get(..at), 30),
        Some((at, 'T')) => (upper.get(..at), 40),
        _ => (Some(upper), 0),
    };
    let number: u64 = digits.and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
    1u64.checked_shl(shift).and_then(|unit| number.checked_mul(unit)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_hex_of_64_bits() {
        for (text, value) in [
            ("0x401136", Some(0x40_1136)),
            ("401136", Some(0x40_1136)),
            ("0XFF", Some(255)),
            ("ffffffffffffffff", Some(u64::MAX)),
            ("00000000000000000001", Some(1)),
            ("10000000000000000", None),
            ("", None),
            ("0x", None),
            ("zz", None),
            ("-1", None),
            ("1 2", None),
        ] {
            assert_eq!(parse_address(text.as_bytes()), value, "{text}");
        }
        assert_eq!(bias_option("-0x10"), Ok(0u64.wrapping_sub(16)));
    }

    #[test]
    fn uuids_come_with_or_without_dashes() {
        let uuid = Ok(Uuid([0x22; 16]));
        assert_eq!(parse_uuid("22222222-2222-2222-2222-222222222222"), uuid);
        assert_eq!(parse_uuid("22222222222222222222222222222222"), uuid);
        assert!(parse_uuid("2222").is_err());
        assert!(parse_uuid("+2222222222222222222222222222222").is_err());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size_option("1024"), Ok(1024));
        assert_eq!(size_option("2k"), Ok(2048));
        assert_eq!(size_option("3MiB"), Ok(3 << 20));
        assert_eq!(size_option("1GB"), Ok(1 << 30));
        assert!(size_option("M").is_err());
        assert!(size_option("99999999999999T").is_err());
    }
}
