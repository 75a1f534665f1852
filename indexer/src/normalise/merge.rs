//! One symbol for what several tables say about the same thing.
//!
//! In: symbols with their sections settled. Out: the same list, sorted by
//! (address, name), each symbol once. Nothing a table says is lost by it, so
//! nothing is counted as skipped.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::rules::{compare_primary, compare_table, split_version};
use super::sections::Sections;
use crate::model::{Format, Image, Kind, NO_VERSION, Source, Symbol};

/// Splits `name@VERSION` in ELF tables (`.dynsym` states versions apart, and
/// a stub's `@plt` is none) and returns the sorted, distinct
/// version names; afterwards `version` of every symbol is an index into them.
pub(super) fn settle_versions<'data>(image: &mut Image<'data>) -> Vec<&'data [u8]> {
    let mut known: BTreeMap<&'data [u8], u32> = BTreeMap::new();
    let mut names: Vec<&'data [u8]> = Vec::new();
    let mut intern = |version: &'data [u8]| {
        let next = u32::try_from(names.len()).unwrap_or(NO_VERSION);
        *known.entry(version).or_insert_with(|| {
            names.push(version);
            next
        })
    };
    // A version with an `@` (only damaged files have one) would be read back
    // as a part of the name.
    let stated: Vec<u32> = std::mem::take(&mut image.versions)
        .into_iter()
        .map(|version| if version.contains(&b'@') { NO_VERSION } else { intern(version) })
        .collect();
    let elf = image.format == Format::Elf;
    for symbol in &mut image.symbols {
        symbol.version = usize::try_from(symbol.version)
            .ok()
            .and_then(|index| stated.get(index))
            .copied()
            .unwrap_or(NO_VERSION);
        if elf
            && !matches!(symbol.source, Source::Dynsym | Source::Plt)
            && let Some((name, version, default)) = split_version(symbol.name)
        {
            symbol.name = name;
            symbol.version = intern(version);
            symbol.default_version = default;
        }
        // `f@` of version `V` would be read back as `f` of default version `V`.
        if symbol.name.ends_with(b"@") {
            symbol.version = NO_VERSION;
        }
        symbol.default_version &= symbol.version != NO_VERSION;
    }
    // Indexes follow the bytes, not the order in which tables came.
    let mut sorted = vec![NO_VERSION; names.len()];
    for (rank, index) in (0_u32..).zip(known.values()) {
        if let Some(slot) = usize::try_from(*index).ok().and_then(|i| sorted.get_mut(i)) {
            *slot = rank;
        }
    }
    for symbol in image.symbols.iter_mut().filter(|symbol| symbol.version != NO_VERSION) {
        symbol.version = usize::try_from(symbol.version)
            .ok()
            .and_then(|index| sorted.get(index))
            .copied()
            .unwrap_or(NO_VERSION);
    }
    known.into_keys().collect()
}

/// Sorts by (address, name) and keeps one of each [same symbol](same_symbol).
pub(super) fn merge_tables(symbols: &mut Vec<Symbol<'_>>, sections: &Sections<'_, '_>) {
    let key = |symbol: &Symbol<'_>| sections.key(symbol.section, symbol.address);
    symbols.sort_unstable_by(|a, b| key(a).cmp(&key(b)).then_with(|| compare_name(a, b)));
    symbols.dedup_by(|later, kept| {
        let same = key(later) == key(kept) && same_symbol(kept, later);
        if same {
            *kept = merged(kept, later);
        }
        same
    });
}

/// Puts the spellings of one symbol side by side: hidden versions, the
/// default one, then those without, which so meet the default one first.
fn compare_name(a: &Symbol<'_>, b: &Symbol<'_>) -> Ordering {
    let version = |s: &Symbol<'_>| (s.version == NO_VERSION, s.default_version, s.version);
    a.name
        .cmp(b.name)
        .then_with(|| version(a).cmp(&version(b)))
        .then_with(|| (a.source, a.size).cmp(&(b.source, b.size)))
        .then_with(|| compare_table(a, b))
        .then_with(|| a.section.cmp(&b.section))
}

/// True when two symbols at one address are one thing: the same name with the
/// same version, or with none in one of two tables; and no two sizes stated
/// by the same table.
pub(super) fn same_symbol(a: &Symbol<'_>, b: &Symbol<'_>) -> bool {
    let tables = a.source != b.source;
    let version =
        a.version == b.version || (tables && (a.version == NO_VERSION || b.version == NO_VERSION));
    let size = tables || a.size == b.size || a.size == 0 || b.size == 0;
    let place = is_address(a.kind) == is_address(b.kind);
    a.name == b.name && version && size && place
}

/// What is kept of a [`same_symbol`]: the table of most trust wins; a version
/// or a size that only the other one knows is carried over.
pub(super) fn merged<'data>(a: &Symbol<'data>, b: &Symbol<'data>) -> Symbol<'data> {
    let order = a.source.cmp(&b.source).then_with(|| compare_primary(a, b));
    let (winner, other) = if order == Ordering::Greater { (b, a) } else { (a, b) };
    let mut kept = *winner;
    if kept.version == NO_VERSION {
        kept.version = other.version;
        kept.default_version = other.default_version;
    }
    if kept.size == 0 {
        kept.size = other.size;
    }
    kept
}

fn is_address(kind: Kind) -> bool {
    !matches!(kind, Kind::Tls | Kind::Absolute)
}
