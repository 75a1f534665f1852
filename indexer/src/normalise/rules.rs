//! The rules of symbol choice that look at names: one named function each.
//!
//! In: names and [`Symbol`]s. Out: an order, a yes or no, a part of a name.
//! This module never moves a symbol; rules about addresses live in the sibling
//! files `sections`, `merge`, `reach` and `pieces`.

use std::cmp::Ordering;

use crate::model::{Kind, NO_VERSION, Section, Source, Symbol};

/// A name, its version and whether that is the default one, from an ELF
/// `.symtab` name: `f@@V` → (`f`, `V`, true), `f@V` → (`f`, `V`, false).
///
/// `None` when the name carries no version: no `@`, an empty part, a further
/// `@`, a character that version scripts cannot hold (so Microsoft's
/// `?f@@YAXXZ (x)` and file paths stay whole), or `@plt`, which tools append to
/// name a stub and which is no version.
#[must_use]
pub(crate) fn split_version(name: &[u8]) -> Option<(&[u8], &[u8], bool)> {
    let at = memchr::memchr(b'@', name)?;
    let (base, rest) = name.split_at_checked(at)?;
    let (version, default) = match rest {
        [b'@', b'@', version @ ..] => (version, true),
        [b'@', version @ ..] => (version, false),
        _ => return None,
    };
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-+:".contains(byte);
    let valid = !base.is_empty()
        && base.first() != Some(&b'?')
        && !version.is_empty()
        && version.iter().all(plain)
        && !version.eq_ignore_ascii_case(b"plt");
    valid.then_some((base, version, default))
}

/// Suffix words that compilers append with a dot; true marks a piece or a
/// variant of the base, false a mere renaming.
const SUFFIXES: [(&[u8], bool); 9] = [
    (b"cold", true),
    (b"part", true),
    (b"isra", true),
    (b"constprop", true),
    (b"llvm", true),
    (b"warm", true),
    (b"lto_priv", false),
    (b"localalias", false),
    (b"__uniq", false),
];

/// Splits at the last dot if only suffix characters follow it. Most names end
/// otherwise, and are told by their last byte or two.
fn split_last(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let suffix = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    let dot = name.iter().rposition(|byte| !suffix(byte))?;
    match name.split_at_checked(dot)? {
        (head, [b'.', tail @ ..]) => Some((head, tail)),
        _ => None,
    }
}

/// The name without its last compiler suffix (`.word` or `.word.N`), and
/// whether that suffix makes it a part. A bare `.N` is the name's own.
fn strip_suffix(name: &[u8]) -> Option<(&[u8], bool)> {
    let (mut base, mut word) = split_last(name)?;
    if !word.is_empty() && word.iter().all(u8::is_ascii_digit) {
        (base, word) = split_last(base)?;
    }
    let (_, part) = SUFFIXES.iter().find(|(suffix, _)| *suffix == word)?;
    (!base.is_empty()).then_some((base, *part))
}

/// The function a clone or a piece was made from: `f` for `f`, `f.cold`,
/// `f.constprop.0.isra.0`, `f.llvm.123`. Other dots are the name's own.
#[must_use]
pub(crate) fn base_name(mut name: &[u8]) -> &[u8] {
    while let Some((base, _)) = strip_suffix(name) {
        name = base;
    }
    name
}

/// True for `.cold`, `.part`, `.isra`, `.constprop`, `.llvm.` (and BOLT's
/// `.warm`) names: kept as named, flagged as part of their [`base_name`].
#[must_use]
pub(crate) fn is_part(mut name: &[u8]) -> bool {
    while let Some((base, part)) = strip_suffix(name) {
        if part {
            return true;
        }
        name = base;
    }
    false
}

/// True for names that lose to every other one at their address: the
/// kernel's `__pfx_*` and `__kcfi_typeid_*`. (Its `.L*` labels are dropped as
/// the file is read; in other files `.L*` is a name like any other.)
#[must_use]
pub(crate) fn always_loses(name: &[u8]) -> bool {
    name.starts_with(b"__pfx_") || name.starts_with(b"__kcfi_typeid_")
}

/// How many underscores a name starts with.
#[must_use]
pub(crate) fn leading_underscores(name: &[u8]) -> usize {
    name.iter().take_while(|byte| **byte == b'_').count()
}

/// True for functions and indirect functions.
#[must_use]
pub(crate) fn is_function(kind: Kind) -> bool {
    matches!(kind, Kind::Function | Kind::Ifunc)
}

fn kind_rank(kind: Kind) -> u8 {
    match kind {
        Kind::Function | Kind::Ifunc => 0,
        Kind::Object => 1,
        Kind::Label => 2,
        Kind::Tls | Kind::Absolute => 3,
    }
}

/// Default version first, then no version, then a hidden one.
fn version_rank(symbol: &Symbol<'_>) -> u8 {
    match (symbol.version == NO_VERSION, symbol.default_version) {
        (false, true) => 0,
        (true, _) => 1,
        (false, false) => 2,
    }
}

/// `Less` when `a` is the better primary name of one address. A total order:
/// names that [always lose](always_loses) last; real before synthesized;
/// function, object, label; sized before unsized; global, weak, local; fewest
/// leading underscores; default version; shortest; bytes; then table order.
#[must_use]
pub(crate) fn compare_primary(a: &Symbol<'_>, b: &Symbol<'_>) -> Ordering {
    let synthesized = |symbol: &Symbol<'_>| symbol.source == Source::Plt;
    always_loses(a.name)
        .cmp(&always_loses(b.name))
        .then_with(|| synthesized(a).cmp(&synthesized(b)))
        .then_with(|| kind_rank(a.kind).cmp(&kind_rank(b.kind)))
        .then_with(|| (a.size == 0).cmp(&(b.size == 0)))
        .then_with(|| a.binding.cmp(&b.binding))
        .then_with(|| leading_underscores(a.name).cmp(&leading_underscores(b.name)))
        .then_with(|| version_rank(a).cmp(&version_rank(b)))
        .then_with(|| a.name.len().cmp(&b.name.len()))
        .then_with(|| a.name.cmp(b.name))
        .then_with(|| compare_table(a, b))
}

/// `Less` when `a` stands earlier in the tables: source, then position; the
/// other fields only keep the order total for inputs that repeat a position.
#[must_use]
pub(crate) fn compare_table(a: &Symbol<'_>, b: &Symbol<'_>) -> Ordering {
    let rest = |s: &Symbol<'_>| (s.version, !s.default_version, s.kind, s.binding, s.size);
    (a.source, a.order)
        .cmp(&(b.source, b.order))
        .then_with(|| a.name.cmp(b.name))
        .then_with(|| rest(a).cmp(&rest(b)))
}

/// True when the names that share one range look like two or more different
/// functions merged by identical code folding.
///
/// A heuristic, since no symbol table says so. Only sized functions count.
/// Not folded: one name spelled with other underscores, a prefix (`__GI_f`,
/// `__libc_f`), a clone suffix or another version; the C1/C2, D0/D1/D2 variants of one
/// constructor; a weak name beside a strong one (the usual source alias).
/// So an explicit alias between two global names reads as folded, a weak
/// function folded into a strong one does not, and formats without sizes
/// (Mach-O, kallsyms) are never flagged.
#[must_use]
pub(crate) fn is_folded(names: &[Symbol<'_>]) -> bool {
    let differ = |weak: bool| {
        let mut functions = names.iter().filter(|symbol| {
            is_function(symbol.kind)
                && symbol.size > 0
                && symbol.source != Source::Plt
                && (symbol.binding == crate::model::Binding::Weak) == weak
        });
        let first = functions.next();
        first.is_some_and(|first| functions.any(|other| !same_function(first.name, other.name)))
    };
    names.len() > 1 && (differ(false) || differ(true))
}

/// True when two names are spellings of one function: see [`is_folded`].
#[must_use]
pub(crate) fn same_function(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (identity(a), identity(b));
    a == b || is_structor_variant(a, b) || is_prefixed(a, b) || is_prefixed(b, a)
}

/// True for `libc_malloc` beside `malloc`: a library's own spelling of a name.
fn is_prefixed(long: &[u8], short: &[u8]) -> bool {
    !short.is_empty() && long.strip_suffix(short).is_some_and(|prefix| prefix.ends_with(b"_"))
}

/// The name without its clone suffixes, `__GI_` and leading underscores.
fn identity(name: &[u8]) -> &[u8] {
    let mut name = base_name(name);
    while let Some(rest) = name.strip_prefix(b"__GI_").or_else(|| name.strip_prefix(b"_")) {
        name = rest;
    }
    name
}

/// True for two Itanium names (without underscores) that differ only in the
/// digit of a `C1`/`C2` or `D0`/`D1`/`D2`.
fn is_structor_variant(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() || !a.starts_with(b"Z") {
        return false;
    }
    let before = std::iter::once(&0_u8).chain(a);
    before.zip(a.iter().zip(b)).all(|(previous, (x, y))| {
        x == y || (matches!(previous, b'C' | b'D') && x.is_ascii_digit() && y.is_ascii_digit())
    })
}

/// Why `--code-only` drops a symbol; `None` when it stays: functions
/// anywhere, and labels that are not in a data section.
#[must_use]
pub(crate) fn code_only_drops(kind: Kind, section: Option<&Section<'_>>) -> Option<&'static str> {
    match kind {
        Kind::Function | Kind::Ifunc => None,
        Kind::Object => Some("data object (--code-only)"),
        Kind::Tls => Some("thread-local (--code-only)"),
        Kind::Absolute => Some("absolute (--code-only)"),
        Kind::Label => {
            let data = section.is_some_and(|section| !section.execute);
            data.then_some("data label (--code-only)")
        }
    }
}
