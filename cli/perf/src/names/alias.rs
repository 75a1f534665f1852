//! Which of a symbol's names perf shows: not the one that symidx answers with.
//!
//! In: a symbol and its aliases. Out: one name. Pure; every rule is a function.

use symidx::{Binding, Corrupt, Extent, Name, Symbol};

/// What decides between two names of one address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) sized: bool,
    pub(crate) binding: Binding,
}

/// The name that perf shows: [`perf_prefers_later`] over all of them in the order of
/// the input's tables. `length` is how long a name is as it is shown.
///
/// # Errors
/// [`Corrupt`] when an alias is damaged.
pub(crate) fn perf_name<'a>(
    symbol: &Symbol<'a>,
    mut length: impl FnMut(Name<'a>) -> usize,
) -> Result<Name<'a>, Corrupt> {
    let primary = Candidate {
        name: symbol.name(),
        sized: symbol.extent() != Extent::Inferred,
        binding: symbol.binding(),
    };
    let mut best: Option<Candidate<'a>> = None;
    let mut primary = Some(primary);
    for alias in symbol.aliases() {
        let alias = alias?;
        // The aliases in front of the primary name come first, then it, then the rest.
        if !alias.before_primary()
            && let Some(primary) = primary.take()
        {
            best = Some(better(best, primary, &mut length));
        }
        let candidate = Candidate {
            name: alias.name(),
            sized: alias.stated_size() != 0,
            binding: alias.binding(),
        };
        best = Some(better(best, candidate, &mut length));
    }
    if let Some(primary) = primary {
        best = Some(better(best, primary, &mut length));
    }
    Ok(best.map_or(symbol.name(), |best| best.name))
}

fn better<'a>(
    best: Option<Candidate<'a>>,
    next: Candidate<'a>,
    length: &mut impl FnMut(Name<'a>) -> usize,
) -> Candidate<'a> {
    match best {
        Some(best) if !perf_prefers_later(best, next, length) => best,
        _ => next,
    }
}

/// perf's order (`choose_best_symbol`): sized over unsized; not weak over weak; global
/// over local; fewer underscores in front; the longer name; then the earlier one, but
/// for the kernel's `SyS_` names, which lose.
pub(crate) fn perf_prefers_later<'a>(
    earlier: Candidate<'a>,
    later: Candidate<'a>,
    length: &mut impl FnMut(Name<'a>) -> usize,
) -> bool {
    let weak = |candidate: Candidate<'_>| candidate.binding == Binding::Weak;
    let global = |candidate: Candidate<'_>| candidate.binding == Binding::Global;
    let underscores = |candidate: Candidate<'_>| {
        let bytes = candidate.name.as_bytes().unwrap_or(&[]);
        bytes.iter().take_while(|&&byte| byte == b'_').count()
    };
    if earlier.sized != later.sized {
        return later.sized;
    }
    if weak(earlier) != weak(later) {
        return weak(earlier);
    }
    if global(earlier) != global(later) {
        return global(later);
    }
    let counts = (underscores(earlier), underscores(later));
    if counts.0 != counts.1 {
        return counts.1 < counts.0;
    }
    let lengths = (length(earlier.name), length(later.name));
    if lengths.0 != lengths.1 {
        return lengths.1 > lengths.0;
    }
    let bytes = earlier.name.as_bytes().unwrap_or(&[]);
    bytes.starts_with(b"SyS") || bytes.starts_with(b"compat_SyS")
}
