//! Markers: the names that linker scripts give to the borders of sections.
//! Names in, roles out. Never looks at what a section holds.

use std::collections::{HashMap, HashSet};

use super::line::Class;
use super::{CORE, Entry};

/// What a symbol is to the run it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A function or an object.
    Symbol,
    /// A name for the start of a section: `_text`, `__start_rodata`.
    Start,
    /// What the compiler puts before a function: `__pfx_f`, `__cfi_f`.
    Padding,
    /// The first address behind something: owns nothing.
    End,
}

/// End markers that do not look like one, or look like something else.
const ENDS: &[&[u8]] = &[
    b"_etext",
    b"_edata",
    b"_end",
    b"_einittext",
    b"_einitdata",
    b"_eextratext",
    b"_erodata",
    b"_edata_loc",
    b"__bss_stop",
    b"__brk_limit",
];

/// Start markers that do not look like one.
const STARTS: &[&[u8]] = &[
    b"_text",
    b"_stext",
    b"_sinittext",
    b"_sdata",
    b"_srodata",
    b"_sinitdata",
    b"_data",
    b"stext",
    b"__init_begin",
    b"__bss_start",
    b"__brk_base",
];

/// Names that the kernel's macros derive from a function's or a tracepoint's name: how
/// they *end* says nothing (`__tracepoint_contention_end` is no marker).
const DERIVED: &[&[u8]] = &[
    b"__SCK__",
    b"__SCT__",
    b"__tracepoint_",
    b"__traceiter_",
    b"__probestub_",
    b"__bpf_trace_",
    b"__event_",
    b"__ksymtab_",
    b"__kstrtab_",
    b"__pfx_",
    b"__cfi_",
    b"__kcfi_typeid_",
    b"__x64_sys_",
    b"__ia32_sys_",
    b"__arm64_sys_",
    b"__se_sys_",
    b"__do_sys_",
];

/// What tells the functions among the code symbols named `__…_end` from markers.
#[derive(Debug, Default)]
pub(super) struct Functions<'data> {
    /// `__key_link` for a `__key_link_begin` (or `_start`) that has its address for itself.
    pairs: HashSet<&'data [u8]>,
    /// `f` for a `__pfx_f` or `__cfi_f`.
    padded: HashSet<&'data [u8]>,
}

impl<'data> Functions<'data> {
    /// Looks through the entries, sorted by address.
    pub(super) fn new(entries: &[Entry<'data>]) -> Self {
        let mut functions = Self::default();
        let mut alone: HashMap<&[u8], bool> = HashMap::new();
        let mut before = None;
        let mut entries = entries.iter().peekable();
        while let Some(entry) = entries.next() {
            let after = entries.peek().map(|entry| entry.address);
            let here = Some(entry.address);
            if entry.class == Class::Code && entry.module == CORE {
                if let Some(name) = padding_of(entry.name).filter(|name| name.ends_with(b"_end")) {
                    functions.padded.insert(name);
                }
                let stem = entry.name.strip_suffix(b"_start");
                let stem = stem.or_else(|| entry.name.strip_suffix(b"_begin"));
                if let Some(stem) = stem.filter(|stem| stem.starts_with(b"__")) {
                    *alone.entry(stem).or_default() |= before != here && after != here;
                }
            }
            before = here;
        }
        functions.pairs = alone.into_iter().filter(|&(_, alone)| alone).map(|(s, _)| s).collect();
        functions
    }

    /// True when the code symbol `name` (`__…_end`) is a function: one of a pair of
    /// functions (a section's start marker shares its address with what comes
    /// first in the section), or one that the compiler put padding before.
    fn has(&self, name: &[u8]) -> bool {
        let stem = name.strip_suffix(b"_end").unwrap_or(name);
        self.padded.contains(name) || self.pairs.contains(stem)
    }
}

/// The function whose padding (`__pfx_f`) or type word (`__cfi_f`, `__kcfi_typeid_f`) a name is.
fn padding_of(name: &[u8]) -> Option<&[u8]> {
    [&b"__pfx_"[..], b"__cfi_", b"__kcfi_typeid_"]
        .into_iter()
        .find_map(|prefix| name.strip_prefix(prefix))
}

/// The role of a symbol. Only the kernel itself has markers. Those known by their
/// whole name are markers always, those known by a pattern only when they are global.
pub(super) fn role(entry: &Entry<'_>, functions: &Functions<'_>) -> Role {
    let core = entry.module == CORE;
    let global = entry.letter.is_ascii_uppercase();
    if padding_of(entry.name).is_some() {
        Role::Padding
    } else if core && ENDS.contains(&entry.name) {
        Role::End
    } else if core && STARTS.contains(&entry.name) {
        Role::Start
    } else if core && global && is_end_marker(entry.name, entry.class, functions) {
        Role::End
    } else if core && global && is_start_marker(entry.name, entry.class) {
        Role::Start
    } else {
        Role::Symbol
    }
}

/// `__stop_…` and `__end_…` in data (`__stop_tty` is a function);
/// `__…_end` but for functions of such a name.
fn is_end_marker(name: &[u8], class: Class, functions: &Functions<'_>) -> bool {
    if DERIVED.iter().any(|prefix| name.starts_with(prefix)) {
        return false;
    }
    if name.starts_with(b"__stop_") || name.starts_with(b"__end_") {
        return class == Class::Data;
    }
    name.starts_with(b"__")
        && name.ends_with(b"_end")
        && (class == Class::Data || name.ends_with(b"text_end") || !functions.has(name))
}

/// `__start_…` in data (`__start_tty` is a function); `__…text_start`.
fn is_start_marker(name: &[u8], class: Class) -> bool {
    (name.starts_with(b"__start_") && class == Class::Data)
        || (name.starts_with(b"__") && name.ends_with(b"text_start"))
}

/// What a start marker and its end marker have in common: `notes` of `__start_notes`
/// and `__stop_notes`, `__lock_text` of `__lock_text_start` and `__lock_text_end`.
pub(super) fn stem(name: &[u8]) -> &[u8] {
    let prefix = [&b"__start_"[..], b"__stop_", b"__end_"].into_iter();
    let suffix = [&b"_start"[..], b"_begin", b"_end"].into_iter();
    prefix
        .filter_map(|prefix| name.strip_prefix(prefix))
        .chain(suffix.filter_map(|suffix| name.strip_suffix(suffix)))
        .next()
        .unwrap_or(name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn entry(address: u64, letter: u8, name: &'static str) -> Entry<'static> {
        let class = super::super::line::class(letter).unwrap();
        Entry { address, name: name.as_bytes(), module: CORE, order: 0, class, letter }
    }

    fn alone(letter: u8, name: &'static str) -> Role {
        role(&entry(0, letter, name), &Functions::default())
    }

    #[test]
    fn end_markers_by_name() {
        for name in ["_etext", "_end", "_edata", "_einittext", "__bss_stop"] {
            assert_eq!(alone(b'T', name), Role::End, "{name}");
        }
        for name in ["__init_end", "__stop_notes", "__end_rodata", "__end_of_kernel_reserve"] {
            assert_eq!(alone(b'D', name), Role::End, "{name}");
        }
        for name in ["__kprobes_text_end", "__indirect_thunk_end", "__softirqentry_text_end"] {
            assert_eq!(alone(b'T', name), Role::End, "{name}");
        }
    }

    #[test]
    fn names_that_only_look_like_markers() {
        assert_eq!(alone(b't', "__bpf_trace_contention_end"), Role::Symbol);
        assert_eq!(alone(b'T', "__SCT__tp_func_contention_end"), Role::Symbol);
        assert_eq!(alone(b'D', "__tracepoint_contention_end"), Role::Symbol);
        assert_eq!(alone(b't', "__end_swap_bio_write"), Role::Symbol);
        assert_eq!(alone(b'T', "kernel_fpu_end"), Role::Symbol);
        assert_eq!(alone(b'T', "__stop_tty"), Role::Symbol);
        assert_eq!(alone(b'T', "__start_tty"), Role::Symbol);
        let mut module = entry(0, b'T', "__init_end");
        module.module = 0;
        assert_eq!(role(&module, &Functions::default()), Role::Symbol);
    }

    // `__key_link_begin`/`__key_link_end` are functions; `__indirect_thunk_start`
    // marks a section whose first function has the same address.
    #[test]
    fn a_pair_of_functions_is_no_pair_of_markers() {
        let entries = [
            entry(0x100, b'T', "__key_link_begin"),
            entry(0x140, b'T', "__key_link_end"),
            entry(0x200, b'T', "__indirect_thunk_start"),
            entry(0x200, b'T', "__x86_indirect_thunk_array"),
            entry(0x240, b'T', "__indirect_thunk_end"),
            entry(0x250, b't', "__pfx___padded_end"),
            entry(0x260, b'T', "__padded_end"),
        ];
        let functions = Functions::new(&entries);
        let roles: Vec<_> = entries.iter().map(|entry| role(entry, &functions)).collect();
        use Role::*;
        assert_eq!(roles, [Symbol, Symbol, Symbol, Symbol, End, Padding, Symbol]);
    }

    #[test]
    fn start_markers_and_padding_are_told_from_functions() {
        for name in ["_text", "_stext", "__irqentry_text_start"] {
            assert_eq!(alone(b'T', name), Role::Start, "{name}");
        }
        assert_eq!(alone(b'R', "__start_notes"), Role::Start);
        assert_eq!(alone(b't', "__pfx_do_one"), Role::Padding);
        assert_eq!(alone(b't', "__cfi_do_one"), Role::Padding);
        assert_eq!(alone(b'T', "startup_64"), Role::Symbol);
    }

    #[test]
    fn a_pair_of_markers_has_one_stem() {
        assert_eq!(stem(b"__start_notes"), stem(b"__stop_notes"));
        assert_eq!(stem(b"__start_once"), stem(b"__end_once"));
        assert_eq!(stem(b"__lock_text_start"), stem(b"__lock_text_end"));
        assert_ne!(stem(b"__start_notes"), stem(b"__stop___ex_table"));
    }
}
