//! Which of a symbol's names perf shows: not the one that symidx answers with.
//!
//! In: a symbol and its aliases. Out: one name. Pure; every rule is a function.

use symidx::{Binding, Corrupt, Extent, Index, Name, Symbol};

/// What decides between two names of one address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) sized: bool,
    pub(crate) binding: Binding,
}

/// The name that perf shows: [`perf_prefers_later`] over all of them in the order of
/// the input's tables. `length` is how long a name is as it is shown; `index` is given
/// where names are from `.symtab`: see [`with_version`].
///
/// # Errors
/// [`Corrupt`] when an alias is damaged.
pub(crate) fn perf_name<'a>(
    symbol: &Symbol<'a>,
    index: Option<&'a Index<'_>>,
    length: impl FnMut(Name<'a>) -> usize,
) -> Result<Name<'a>, Corrupt> {
    let primary = Candidate {
        name: with_version(symbol.name(), symbol.stored_name(), index),
        sized: symbol.extent() != Extent::Inferred,
        binding: symbol.binding(),
    };
    let mut choice = Choice { best: None, last: None, length };
    let mut primary = Some(primary);
    for alias in symbol.aliases() {
        let alias = alias?;
        // The aliases in front of the primary name come first, then it, then the rest.
        if !alias.before_primary()
            && let Some(primary) = primary.take()
        {
            choice.add(primary);
        }
        choice.add(Candidate {
            name: with_version(alias.name(), alias.stored_name(), index),
            sized: alias.stated_size() != 0,
            binding: alias.binding(),
        });
    }
    if let Some(primary) = primary {
        choice.add(primary);
    }
    Ok(choice.finish().unwrap_or_else(|| symbol.name()))
}

/// A name as `.symtab` has it. Linkers put the version behind it there, `f@V1`, when it
/// is not the default one or when the name has several; `.dynsym` never has it.
fn with_version<'a>(plain: Name<'a>, stored: Name<'a>, symtab: Option<&Index<'_>>) -> Name<'a> {
    // Most names have no version, and then no byte of them need be read.
    if plain.len() == stored.len() {
        return plain;
    }
    let Some(index) = symtab else { return plain };
    let (bytes, whole) = (plain.to_bytes(), stored.to_bytes());
    match whole.strip_prefix(&*bytes) {
        None | Some([]) => plain,
        Some([b'@', b'@', ..]) if index.find(&bytes).take(2).count() < 2 => plain,
        Some(_) => stored,
    }
}

/// The names of one address, in the order of the tables.
struct Choice<'a, L> {
    best: Option<Candidate<'a>>,
    /// Not compared yet: it may be the last one.
    last: Option<Candidate<'a>>,
    length: L,
}

impl<'a, L: FnMut(Name<'a>) -> usize> Choice<'a, L> {
    fn add(&mut self, next: Candidate<'a>) {
        if let Some(last) = self.last.replace(next) {
            self.compare(last);
        }
    }

    /// perf gives a symbol without a size the room up to the next symbol before it
    /// compares: that is none for all names of an address but the last.
    fn finish(mut self) -> Option<Name<'a>> {
        if let Some(last) = self.last.take() {
            self.compare(Candidate { sized: true, ..last });
        }
        self.best.map(|best| best.name)
    }

    fn compare(&mut self, next: Candidate<'a>) {
        let keep = self.best.is_some_and(|best| !perf_prefers_later(best, next, &mut self.length));
        if !keep {
            self.best = Some(next);
        }
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
        candidate.name.pieces().flatten().take_while(|&&byte| byte == b'_').count()
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
    let begins = |with: &[u8]| earlier.name.pieces().flatten().take(with.len()).eq(with);
    begins(b"SyS") || begins(b"compat_SyS")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use symidx_indexer::{BuildOptions, build_from_bytes};

    use super::*;

    #[test]
    fn among_names_without_a_size_the_last_one_is_shown() {
        // 6.1 shows `__x64_sys_vfork`, neither the longer name nor the first.
        let kallsyms = "ffffffff81000000 T _text\n\
                        ffffffff81001000 T __ia32_sys_vfork\n\
                        ffffffff81001000 T __x64_sys_vfork\n\
                        ffffffff81002000 T next\n";
        let options = BuildOptions::default();
        let built = build_from_bytes("kallsyms".as_ref(), kallsyms.as_bytes(), &options);
        let index = symidx::Index::from_vec(built.unwrap().0).unwrap();
        let symbol = index.lookup(symidx::Svma(0xffff_ffff_8100_1004)).unwrap().unwrap();
        assert_eq!(symbol.aliases().count(), 1);
        let name = perf_name(&symbol, Some(&index), |name| name.len()).unwrap();
        assert_eq!(name.to_string(), "__x64_sys_vfork");
    }

    /// What is shown of names in the order of the tables.
    fn shown(names: &[(&'static str, bool, Binding)]) -> String {
        // Only an index hands out names.
        let text: String =
            names.iter().zip(1u64..).fold(String::new(), |text, ((name, ..), at)| {
                text + &format!("{:x} T {name}\n", 0xffff_ffff_8100_0000u64.wrapping_add(at << 12))
            });
        let built = build_from_bytes("k".as_ref(), text.as_bytes(), &BuildOptions::default());
        let index = symidx::Index::from_vec(built.unwrap().0).unwrap();
        let mut choice = Choice { best: None, last: None, length: |name: Name<'_>| name.len() };
        for &(name, sized, binding) in names {
            let name = index.find(name).next().unwrap().unwrap().name();
            choice.add(Candidate { name, sized, binding });
        }
        choice.finish().unwrap().to_string()
    }

    #[test]
    fn each_rule_decides_where_those_before_it_do_not() {
        use Binding::{Global, Local, Weak};
        // Sized over unsized; but the last one has the room up to the next symbol.
        assert_eq!(
            shown(&[("unsized_one", false, Global), ("sized", true, Weak), ("z", true, Weak)]),
            "sized"
        );
        assert_eq!(shown(&[("sized", true, Weak), ("last", false, Global)]), "last");
        // Even a local name over a weak one.
        assert_eq!(shown(&[("weak_name", true, Weak), ("local", true, Local)]), "local");
        assert_eq!(shown(&[("local_name", true, Local), ("global", true, Global)]), "global");
        assert_eq!(shown(&[("__longer_name", true, Global), ("_name", true, Global)]), "_name");
        assert_eq!(shown(&[("free", true, Global), ("cfree", true, Global)]), "cfree");
        assert_eq!(shown(&[("first", true, Global), ("other", true, Global)]), "first");
        assert_eq!(shown(&[("SyS_ab", true, Global), ("sys_ab", true, Global)]), "sys_ab");
    }
}
