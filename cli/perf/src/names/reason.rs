//! Why an address has no name: one small value each, to be counted.

/// Why an address has no name.
///
/// ```
/// use symidx_perf::Reason;
///
/// let counts = [0u64; Reason::ALL.len()]; // as `Summary::unknown` has them
/// for reason in Reason::ALL {
///     println!("{} {}", counts[reason.number()], reason.text());
/// }
/// assert_eq!(Reason::ALL[Reason::NoSymbol.number()], Reason::NoSymbol);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(u8)]
pub enum Reason {
    /// No mapping holds it.
    Unmapped,
    /// It is in memory without code: heap, stack.
    NotCode,
    /// Its DSO has no index that could be used; [`crate::DsoReport::why`] says why.
    NoIndex,
    /// No symbol of its DSO covers it.
    NoSymbol,
    /// Its DSO's index would go past the bound on mapped bytes.
    OverBudget,
    /// It is code made at run time, and there is no `/tmp/perf-PID.map`.
    NoMapFile,
    /// It is in a kind of memory that is not followed: a hypervisor.
    OtherMode,
    /// Its index is damaged there.
    Damaged,
    /// There were more files than are kept.
    TooManyFiles,
}

impl Reason {
    /// All of them, in the order of [`Reason::number`].
    pub const ALL: [Self; 9] = [
        Self::Unmapped,
        Self::NotCode,
        Self::NoIndex,
        Self::NoSymbol,
        Self::OverBudget,
        Self::NoMapFile,
        Self::OtherMode,
        Self::Damaged,
        Self::TooManyFiles,
    ];

    /// A few words for it.
    ///
    /// ```
    /// assert_eq!(symidx_perf::Reason::NoSymbol.text(), "no symbol there");
    /// ```
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Unmapped => "in no mapping",
            Self::NotCode => "in memory without code",
            Self::NoIndex => "no index",
            Self::NoSymbol => "no symbol there",
            Self::OverBudget => "over budget",
            Self::NoMapFile => "no map of run-time code",
            Self::OtherMode => "of a hypervisor",
            Self::Damaged => "index damaged",
            Self::TooManyFiles => "too many files",
        }
    }

    /// Its place in [`Reason::ALL`].
    ///
    /// ```
    /// use symidx_perf::Reason;
    ///
    /// let numbers = Reason::ALL.map(Reason::number);
    /// assert!(numbers.into_iter().eq(0..Reason::ALL.len()));
    /// ```
    #[must_use]
    pub fn number(self) -> usize {
        Self::ALL.iter().position(|&reason| reason == self).unwrap_or(0)
    }
}
