//! The address spaces, one type each, so that none is ever taken for another.

use core::fmt;

macro_rules! space {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl From<u64> for $name {
            fn from(value: u64) -> Self {
                Self(value)
            }
        }

        impl From<$name> for u64 {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl fmt::LowerHex for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::LowerHex::fmt(&self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

space! {
    /// A stated virtual memory address: as in the symbol table, before any load bias.
    ///
    /// ```
    /// assert_eq!(symidx::Svma(0x1040).to_string(), "0x1040");
    /// ```
    Svma
}
space! {
    /// An offset in the binary's file, as in `perf.data` and `/proc/PID/maps`.
    ///
    /// ```
    /// assert_eq!(symidx::FileOffset::from(0x40).0, 64);
    /// ```
    FileOffset
}

/// A section of the input by its place in the index's section list.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/relocatable.symidx")))?;
/// let id: symidx::ImageSectionId = index.section_by_name(b".init.text")?.unwrap().id();
/// assert_eq!(index.lookup_in(id, 0)?.unwrap().name(), "mod_init");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageSectionId(pub u32);
