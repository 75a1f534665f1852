//! The 16 attribute bits of a record, alias or name-only entry.

/// What a symbol names (bits 0–2).
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::Kind;
///
/// // Only functions belong on stacks.
/// let functions = index.symbols().flatten().filter(|symbol| symbol.kind() == Kind::Function);
/// assert_eq!(functions.count(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// Function.
    Function = 0,
    /// Indirect function: the address is its resolver's.
    Ifunc = 1,
    /// Data object.
    Object = 2,
    /// Label of unstated type.
    Label = 3,
    /// Thread-local: reachable by name, never answers an address.
    Tls = 4,
    /// Absolute value: reachable by name, never answers an address.
    Absolute = 5,
    /// A function start without a name (records only).
    Unnamed = 6,
    /// Not a symbol of its own: the symbol of an earlier entry goes on here (records only).
    Resume = 7,
}

impl Kind {
    /// The word used in output: `func`, `ifunc`, `object`, `label`, `tls`,
    /// `absolute`, `unnamed`, `resume`.
    ///
    /// ```
    /// assert_eq!(symidx::Kind::Ifunc.as_str(), "ifunc");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Function => "func",
            Self::Ifunc => "ifunc",
            Self::Object => "object",
            Self::Label => "label",
            Self::Tls => "tls",
            Self::Absolute => "absolute",
            Self::Unnamed => "unnamed",
            Self::Resume => "resume",
        }
    }
}

/// Binding (bits 3–4).
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::Binding;
///
/// let exported = index.symbols().flatten().filter(|symbol| symbol.binding() == Binding::Global);
/// assert_eq!(exported.count(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Binding {
    /// Global.
    Global = 0,
    /// Weak.
    Weak = 1,
    /// Local.
    Local = 2,
}

impl Binding {
    /// The word used in output: `global`, `weak`, `local`.
    ///
    /// ```
    /// assert_eq!(symidx::Binding::Weak.as_str(), "weak");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Weak => "weak",
            Self::Local => "local",
        }
    }
}

/// How a symbol's size is known (bits 5–6).
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// use symidx::Extent;
///
/// // Sizes that were not guessed.
/// assert!(index.symbols().flatten().all(|symbol| symbol.extent() == Extent::Exact));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Extent {
    /// Stated by the input.
    Exact = 0,
    /// Unstated: up to the next symbol or the end of its section.
    Inferred = 1,
    /// Made by the indexer (PLT stubs).
    Synthesized = 2,
}

impl Extent {
    /// The word used in output: `exact`, `inferred`, `synthesized`.
    ///
    /// ```
    /// assert_eq!(symidx::Extent::Inferred.as_str(), "inferred");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Inferred => "inferred",
            Self::Synthesized => "synthesized",
        }
    }
}

/// The attribute bits.
///
/// | bits | meaning |
/// |---|---|
/// | 0–2 | [`Kind`] |
/// | 3–4 | [`Binding`] |
/// | 5–6 | [`Extent`] |
/// | 7 | aliases exist (records) |
/// | 8 | the stored name ends in `@VERSION` or `@@VERSION` |
/// | 9 | part of another function (`.cold`, `.part`, …) |
/// | 10 | folded: several functions share these bytes |
/// | 11 | stands before the primary name in table order (aliases) |
/// | 12 | known only to DWARF |
/// | 13 | another record's own name, listed here because both start together (aliases) |
/// | 14–15 | must be zero |
///
/// ```
/// use symidx::format::{Attrs, Binding, Extent, Kind};
///
/// let attrs = Attrs::new(Kind::Object, Binding::Local, Extent::Inferred, Attrs::VERSIONED);
/// assert_eq!(attrs.0, 0b1_0_01_10_010);
/// assert_eq!((attrs.kind(), attrs.binding()), (Kind::Object, Binding::Local));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attrs(pub u16);

impl Attrs {
    /// Aliases exist.
    pub const HAS_ALIASES: u16 = 1 << 7;
    /// The stored name carries a version.
    pub const VERSIONED: u16 = 1 << 8;
    /// Part of another function.
    pub const PART: u16 = 1 << 9;
    /// Several functions share these bytes.
    pub const FOLDED: u16 = 1 << 10;
    /// An alias that stands before the primary name in table order.
    pub const BEFORE_PRIMARY: u16 = 1 << 11;
    /// Known only to DWARF.
    pub const DWARF: u16 = 1 << 12;
    /// An alias that is another record's own name: listed here, found there.
    pub const SHARED: u16 = 1 << 13;
    /// Bits that must be zero.
    pub const RESERVED: u16 = 0b11 << 14;

    /// Packs the three enumerations and the flag bits.
    ///
    /// ```
    /// use symidx::format::{Attrs, Binding, Extent, Kind};
    ///
    /// let attrs = Attrs::new(Kind::Function, Binding::Weak, Extent::Exact, Attrs::HAS_ALIASES);
    /// assert_eq!(attrs, Attrs(1 << 3 | 1 << 7));
    /// ```
    #[must_use]
    pub fn new(kind: Kind, binding: Binding, extent: Extent, flags: u16) -> Self {
        let [kind, binding, extent] = [kind.code(), binding.code(), extent.code()].map(u16::from);
        Self(kind | (binding << 3) | (extent << 5) | flags)
    }

    /// What the symbol names. Total: all 8 codes are kinds.
    ///
    /// ```
    /// use symidx::format::{Attrs, Kind};
    ///
    /// assert_eq!(Attrs(0b100).kind(), Kind::Tls);
    /// ```
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self.0 & 7 {
            0 => Kind::Function,
            1 => Kind::Ifunc,
            2 => Kind::Object,
            3 => Kind::Label,
            4 => Kind::Tls,
            5 => Kind::Absolute,
            6 => Kind::Unnamed,
            _ => Kind::Resume,
        }
    }

    /// Binding; code 3 (which `verify` rejects) reads as local.
    ///
    /// ```
    /// use symidx::format::{Attrs, Binding};
    ///
    /// assert_eq!(Attrs(0b10 << 3).binding(), Binding::Local);
    /// ```
    #[must_use]
    pub const fn binding(self) -> Binding {
        match (self.0 >> 3) & 3 {
            0 => Binding::Global,
            1 => Binding::Weak,
            _ => Binding::Local,
        }
    }

    /// Extent; code 3 (which `verify` rejects) reads as synthesized.
    ///
    /// ```
    /// use symidx::format::{Attrs, Extent};
    ///
    /// assert_eq!(Attrs(0b10 << 5).extent(), Extent::Synthesized);
    /// ```
    #[must_use]
    pub const fn extent(self) -> Extent {
        match (self.0 >> 5) & 3 {
            0 => Extent::Exact,
            1 => Extent::Inferred,
            _ => Extent::Synthesized,
        }
    }

    /// True when every one of the given flag bits is set.
    ///
    /// ```
    /// use symidx::format::Attrs;
    ///
    /// let attrs = Attrs(Attrs::PART | Attrs::DWARF);
    /// assert!(attrs.has(Attrs::PART) && !attrs.has(Attrs::PART | Attrs::FOLDED));
    /// ```
    #[must_use]
    pub const fn has(self, flags: u16) -> bool {
        self.0 & flags == flags
    }

    /// True when no reserved bit is set and no code is unassigned.
    ///
    /// ```
    /// use symidx::format::Attrs;
    ///
    /// assert!(Attrs(Attrs::SHARED).is_valid());
    /// assert!(!Attrs(1 << 15).is_valid()); // a reserved bit
    /// ```
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.0 & Self::RESERVED == 0 && (self.0 >> 3) & 3 != 3 && (self.0 >> 5) & 3 != 3
    }
}

macro_rules! code {
    ($($name:ident, $example:literal;)*) => {$(
        impl $name {
            /// The number stored for it.
            ///
            /// ```
            #[doc = $example]
            /// ```
            #[must_use]
            #[allow(clippy::as_conversions, reason = "the discriminant of a repr(u8) enum")]
            pub const fn code(self) -> u8 {
                self as u8
            }
        }
    )*};
}
code! {
    Kind, "assert_eq!(symidx::Kind::Object.code(), 2);";
    Binding, "assert_eq!(symidx::Binding::Local.code(), 2);";
    Extent, "assert_eq!(symidx::Extent::Synthesized.code(), 2);";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_survives_packing() {
        for kind in 0..8u16 {
            for binding in 0..3u16 {
                for extent in 0..3u16 {
                    let raw = Attrs(kind | binding << 3 | extent << 5);
                    assert!(raw.is_valid());
                    let again = Attrs::new(raw.kind(), raw.binding(), raw.extent(), 0);
                    assert_eq!(again, raw);
                }
            }
        }
        assert!(!Attrs(3 << 3).is_valid());
        assert!(!Attrs(3 << 5).is_valid());
        assert!(!Attrs(1 << 14).is_valid());
    }
}
