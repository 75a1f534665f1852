//! In: the truth, the lists, one opened contender. Out: how often it disagrees, with examples.
//! Runs before anything is timed, over every address that will be timed.
//! Never: forgives `std` or `symidx`; for a rival a disagreement is a finding to print.

use std::fmt;

use crate::Result;
use crate::contenders::Session;
use crate::lists::Lists;
use crate::truth::{Answer, Truth};

/// Disagreements of one contender over all lists.
#[derive(Default)]
pub struct Verdict {
    pub asked: usize,
    /// A symbol covers the address and the contender named none.
    pub missed: usize,
    /// No symbol covers the address and the contender named one.
    pub invented: usize,
    /// The contender named a symbol that starts elsewhere.
    pub other_symbol: usize,
    /// The right start under a name it does not have.
    pub other_name: usize,
    /// The first few, in words.
    pub examples: Vec<String>,
}

impl Verdict {
    pub fn wrong(&self) -> usize {
        self.missed
            .saturating_add(self.invented)
            .saturating_add(self.other_symbol)
            .saturating_add(self.other_name)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} differ: {} missed, {} invented, {} other symbol, {} other name",
            self.wrong(),
            self.asked,
            self.missed,
            self.invented,
            self.other_symbol,
            self.other_name
        )
    }
}

/// Asks `session` every address of the lists and compares with the truth.
///
/// # Errors
/// When its batch answers differ from its single ones: then neither can be timed.
pub fn check(truth: &Truth<'_>, lists: &Lists, session: &mut dyn Session) -> Result<Verdict> {
    if session.batch(&lists.sorted) != session.starts(&lists.sorted) {
        return Err("batch lookups and single lookups give different answers".into());
    }
    let mut verdict = Verdict::default();
    for &addr in lists
        .hits
        .iter()
        .chain(&lists.misses)
        .chain(&lists.mixed)
        .chain(&lists.profile)
    {
        verdict.asked = verdict.asked.saturating_add(1);
        let expected = truth.answer(addr);
        let given = session.answer(addr);
        let start = session.answer_start(addr);
        let count = match (expected, &given) {
            (Answer::Unclear, _) => continue,
            (Answer::Miss, None) if start.is_none() => continue,
            (Answer::Hit(at), Some((name, own))) if *own == at && start == Some(at) => {
                if truth.is_name(at, name) {
                    continue;
                }
                &mut verdict.other_name
            }
            (Answer::Miss, _) => &mut verdict.invented,
            (Answer::Hit(_), None) => &mut verdict.missed,
            (Answer::Hit(_), Some(_)) => &mut verdict.other_symbol,
        };
        *count = count.saturating_add(1);
        if verdict.examples.len() < 4 {
            let given = given.map_or("nothing".into(), |(name, own)| {
                format!("{} at {own:#x}", String::from_utf8_lossy(&name))
            });
            verdict.examples.push(format!(
                "{addr:#x}: expected {}, got {given}",
                words(expected, truth)
            ));
        }
    }
    Ok(verdict)
}

fn words(answer: Answer, truth: &Truth<'_>) -> String {
    match answer {
        Answer::Miss => "nothing".into(),
        Answer::Unclear => "anything".into(),
        Answer::Hit(at) => {
            let name = truth
                .symbols()
                .iter()
                .find(|symbol| symbol.start == at)
                .map(|symbol| symbol.name);
            format!(
                "{} at {at:#x}",
                String::from_utf8_lossy(name.unwrap_or_default())
            )
        }
    }
}
