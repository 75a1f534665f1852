//! What only damaged inputs state, found by the fuzz target `normalise`.

use super::*;

/// An owner without a name was written as a function of name length 0, which
/// the format has no place for: the index did not verify.
#[test]
fn a_symbol_without_a_name_is_counted_and_left_out() {
    let mut image = image(vec![section(".text", 0x1000, 0x100)]);
    image.symbols = vec![func("", 0x1000, 8), func("f", 0x1010, 8)];
    let normalised = normalise(&mut image, NormaliseOptions::default());
    assert_eq!(normalised.owners.len(), 1);
    assert_eq!(image.report.skipped.get("symbol without a name"), Some(&1));
}

/// `f@` of version `V` is stored as `f@@V`, which reads as the default
/// version of `f`: found under a name that it does not have.
#[test]
fn a_version_that_would_read_back_as_another_is_dropped() {
    let mut image = image(vec![section(".text", 0x1000, 0x100)]);
    image.versions = vec![b"V", b"V@W"];
    let dynamic = |name, address, version| Symbol {
        source: Source::Dynsym,
        version,
        ..func(name, address, 8)
    };
    image.symbols =
        vec![dynamic("f@", 0x1000, 0), dynamic("g", 0x1010, 1), dynamic("h", 0x1020, 0)];
    let normalised = normalise(&mut image, NormaliseOptions::default());
    let versions: Vec<_> = normalised.names.iter().map(|name| normalised.version(name)).collect();
    assert_eq!(versions, [&b""[..], b"", b"V"]);
}
