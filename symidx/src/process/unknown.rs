//! Why an address has no name, and how often each reason came up.

use core::fmt;

use crate::error::{Corrupt, UNCOVERED};
use crate::process::store::Missing;

/// Why an address has no symbol. An honest answer: never a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unknown {
    /// No module holds the address.
    NoModule,
    /// It lies in memory without a file: heap, stack, code made at run time.
    Anonymous,
    /// The module's index was not opened yet.
    NotOpened,
    /// No index of the module was found.
    NoIndex,
    /// The index that was found is of another build.
    StaleIndex,
    /// The index that was found cannot be opened.
    UnusableIndex,
    /// Opening the module's index would go past the store's bounds.
    OverBudget,
    /// The module's index is of a relocatable file (`.o`, `.ko`), whose sections
    /// get their addresses when it is loaded.
    NotPlaced,
    /// The module's index has no symbol there.
    Gap,
    /// The index is damaged there.
    Corrupt(Corrupt),
}

/// Every reason, in the order of [`Statistics::unknown`].
const REASONS: [(&str, &str); 10] = [
    ("no module", "no module holds the address"),
    ("anonymous", "memory without a file"),
    ("not opened", "the module's index was not opened"),
    ("no index", "no index of the module was found; build one: `symidx build`"),
    ("stale index", "the module's index is of another build; build it again"),
    ("unusable index", "the module's index cannot be opened"),
    ("over budget", "the module's index would go past the memory bound"),
    (
        "not placed",
        "the index is of a relocatable file; look up by section, or build it with its sections placed",
    ),
    ("gap", UNCOVERED),
    ("corrupt", "the module's index is damaged; build it again"),
];

impl Unknown {
    /// The reason in two words: `no index`, `gap`.
    ///
    /// ```
    /// assert_eq!(symidx::process::Unknown::Gap.name(), "gap");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        REASONS.get(self.number()).map_or("", |reason| reason.0)
    }

    fn number(&self) -> usize {
        match self {
            Self::NoModule => 0,
            Self::Anonymous => 1,
            Self::NotOpened => 2,
            Self::NoIndex => 3,
            Self::StaleIndex => 4,
            Self::UnusableIndex => 5,
            Self::OverBudget => 6,
            Self::NotPlaced => 7,
            Self::Gap => 8,
            Self::Corrupt(_) => 9,
        }
    }
}

impl From<Missing> for Unknown {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::NoFile => Self::Anonymous,
            Missing::NotFound => Self::NoIndex,
            Missing::Stale { .. } => Self::StaleIndex,
            Missing::Unusable { .. } => Self::UnusableIndex,
            Missing::OverBudget { .. } => Self::OverBudget,
        }
    }
}

impl From<Corrupt> for Unknown {
    fn from(corrupt: Corrupt) -> Self {
        Self::Corrupt(corrupt)
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REASONS.get(self.number()).map_or("", |reason| reason.1))
    }
}

impl core::error::Error for Unknown {}

/// How many addresses have names, and why the others have none.
///
/// ```
/// use symidx::process::{Statistics, Unknown};
/// let mut statistics = Statistics::default();
/// statistics.count(&Ok::<_, Unknown>("main"));
/// statistics.count(&Err::<&str, _>(Unknown::Gap));
/// assert_eq!((statistics.addresses(), statistics.resolved()), (2, 1));
/// assert_eq!(statistics.unknown().collect::<Vec<_>>(), [("gap", 1)]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    resolved: u64,
    unknown: [u64; REASONS.len()],
}

impl Statistics {
    /// Counts an answer.
    pub fn count<T>(&mut self, answer: &Result<T, Unknown>) {
        let counter = match answer {
            Ok(_) => Some(&mut self.resolved),
            Err(reason) => self.unknown.get_mut(reason.number()),
        };
        if let Some(counter) = counter {
            *counter = counter.saturating_add(1);
        }
    }

    /// Addresses with a symbol.
    #[must_use]
    pub fn resolved(&self) -> u64 {
        self.resolved
    }

    /// Addresses asked for.
    #[must_use]
    pub fn addresses(&self) -> u64 {
        self.unknown.iter().fold(self.resolved, |sum, &count| sum.saturating_add(count))
    }

    /// Each reason that came up, by name, and how often.
    pub fn unknown(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        REASONS
            .iter()
            .zip(self.unknown)
            .filter(|(_, count)| *count > 0)
            .map(|(r, count)| (r.0, count))
    }
}

impl core::ops::AddAssign for Statistics {
    fn add_assign(&mut self, other: Self) {
        self.resolved = self.resolved.saturating_add(other.resolved);
        for (sum, count) in self.unknown.iter_mut().zip(other.unknown) {
            *sum = sum.saturating_add(count);
        }
    }
}

impl fmt::Display for Statistics {
    /// `990 of 1000 resolved; gap 7, no index 3`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} resolved", self.resolved, self.addresses())?;
        for (number, (reason, count)) in self.unknown().enumerate() {
            write!(f, "{}{reason} {count}", if number == 0 { "; " } else { ", " })?;
        }
        Ok(())
    }
}
