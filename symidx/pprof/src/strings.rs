//! The string table: texts in, numbers out, each text once.
//!
//! The texts lie in one buffer, so an entry costs its bytes and eight more.
//! Entry 0 is the empty text: a field that is not set.

use std::collections::HashMap;

/// The texts of a profile.
#[derive(Clone, Debug)]
pub struct Strings {
    text: String,
    /// Where each entry ends.
    ends: Vec<usize>,
    /// Entries by the hash of their text; filled when the first text is added.
    numbers: HashMap<Box<str>, i64>,
    indexed: usize,
}

impl Default for Strings {
    fn default() -> Self {
        Self { text: String::new(), ends: vec![0], numbers: HashMap::new(), indexed: 0 }
    }
}

impl Strings {
    /// A table without any entry, to be read into.
    pub(crate) fn empty() -> Self {
        Self { ends: Vec::new(), ..Self::default() }
    }

    /// The text with this number; `None` where there is none.
    ///
    /// ```
    /// let mut strings = symidx_pprof::Strings::default();
    /// let main = strings.intern("main");
    /// assert_eq!((strings.get(main), strings.get(0), strings.get(7)), (Some("main"), Some(""), None));
    /// ```
    #[must_use]
    pub fn get(&self, number: i64) -> Option<&str> {
        let at = usize::try_from(number).ok()?;
        let start = match at.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.text.get(start..*self.ends.get(at)?)
    }

    /// The number of a text, which is added when it is new. The first call
    /// copies the whole table into a hash map.
    pub fn intern(&mut self, text: &str) -> i64 {
        while self.indexed < self.ends.len() {
            let number = i64::try_from(self.indexed).unwrap_or(0);
            if let Some(text) = self.get(number).map(Box::from) {
                self.numbers.entry(text).or_insert(number);
            }
            self.indexed = self.indexed.saturating_add(1);
        }
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.push(text);
        self.numbers.insert(text.into(), number);
        self.indexed = self.ends.len();
        number
    }

    /// Appends an entry, whatever is there already; returns its number.
    pub(crate) fn push(&mut self, text: &str) -> i64 {
        let number = i64::try_from(self.ends.len()).unwrap_or(0);
        self.text.push_str(text);
        self.ends.push(self.text.len());
        number
    }

    /// Makes entry 0 the empty text, which it has to be; true when it was not.
    pub(crate) fn clear_first(&mut self) -> bool {
        match self.ends.first().copied() {
            None => {
                self.ends.push(0);
                true
            }
            Some(0) => false,
            Some(end) => {
                self.text.drain(..end);
                self.ends.iter_mut().for_each(|other| *other = other.saturating_sub(end));
                true
            }
        }
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all texts together.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// False: entry 0 is always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Every entry, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).filter_map(|(start, &end)| self.text.get(start..end))
    }
}

impl PartialEq for Strings {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl Eq for Strings {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number() {
        let mut strings = Strings::empty();
        for text in ["", "a", "b", "a"] {
            strings.push(text);
        }
        assert_eq!(strings.intern("a"), 1);
        assert_eq!(strings.intern("new"), 4);
        assert_eq!(strings.intern("new"), 4);
        assert_eq!(strings.intern(""), 0);
        assert_eq!(strings.iter().collect::<Vec<_>>(), ["", "a", "b", "a", "new"]);
        assert_eq!((strings.get(-1), strings.get(5), strings.len()), (None, None, 5));
    }

    #[test]
    fn the_first_entry_is_made_empty() {
        let mut strings = Strings::empty();
        assert!(strings.clear_first());
        assert!(!strings.clear_first());
        assert_eq!(strings, Strings::default());
        let mut strings = Strings::empty();
        strings.push("first");
        strings.push("second");
        assert!(strings.clear_first());
        assert_eq!(strings.iter().collect::<Vec<_>>(), ["", "second"]);
    }
}
