//! Marks the references, pointers and constants that the parser would write in
//! the wrong place: once for all types of a pack, inside of lambdas and scopes.
//!
//! In: a mangled name. Out: the same with an extended type for each: as many
//! parts, so that what refers to parts by number stays right. Reads words,
//! never grammar: what is misread is written as the parser does it.

/// What the parser writes for a mark, behind a space, and what it stands for.
pub(super) const MARKS: [(&str, &str); 4] =
    [(".r.", "&"), (".o.", "&&"), (".p.", "*"), (".k.", " const")];

/// The name with its references marked, `None` when it has none.
pub(super) fn mark(name: &[u8]) -> Option<Vec<u8>> {
    let mut marked = Vec::new();
    // Up to where the name is in `marked`.
    let mut copied = 0usize;
    let mut before: &[u8] = b"";
    let mut words = Words::new(name);
    while let Some((at, word)) = words.next() {
        let signs = matches!(word, [b'R' | b'O' | b'P' | b'K', ..]);
        let next = name.get(at.saturating_add(word.len()));
        let here = matches!(next, Some(b'N' | b'S' | b'T' | b'Z'));
        if signs && here && !matches!(before, b"N" | b"F" | b"Ul") {
            marked.extend_from_slice(name.get(copied..at)?);
            for sign in word {
                marked.extend_from_slice(match sign {
                    b'R' => b"U3.r.",
                    b'O' => b"U3.o.",
                    b'P' => b"U3.p.",
                    _ => b"U3.k.",
                });
            }
            copied = at.saturating_add(word.len());
        }
        before = word;
    }
    marked.extend_from_slice(name.get(copied..)?);
    (copied > 0).then_some(marked)
}

/// The name with a return type for the template of a constructor, which has
/// none: the parser takes the first parameter for it. `None` for other names.
pub(super) fn constructor(name: &[u8]) -> Option<Vec<u8>> {
    if !name.windows(3).any(|word| matches!(word, [b'C', b'1'..=b'5', b'I'])) {
        return None;
    }
    let mut words = Words::new(name);
    let mut found = false;
    while let Some((at, word)) = words.next() {
        match (word, words.open.as_slice()) {
            ([b'C', b'1'..=b'5'], [b'N']) => {
                let next = at.saturating_add(word.len());
                found = name.get(next) == Some(&b'I');
            }
            // The end of the arguments, then that of the name.
            (b"E", [b'N']) if found => found = name.get(at.saturating_add(1)) == Some(&b'E'),
            (b"E", []) => {
                let (before, parameters) = name.split_at_checked(at.saturating_add(1))?;
                return found.then(|| [before, b"v", parameters].concat());
            }
            (_, []) => return None,
            (_, [b'N']) => found = false,
            _ => {}
        }
    }
    None
}

/// The words of a mangled name: letters, identifiers with their lengths,
/// numbers, and all references of a type together.
struct Words<'n> {
    name: &'n [u8],
    at: usize,
    /// What is open: its first letter.
    open: Vec<u8>,
    /// The last word was the first letter of a literal.
    literal: bool,
}

impl<'n> Words<'n> {
    fn new(name: &'n [u8]) -> Self {
        let start = 2usize.saturating_add(usize::from(name.starts_with(b"__")));
        // A special name starts with two letters of its own.
        let special = matches!(name.get(start), Some(b'T' | b'G'));
        let at = start.saturating_add(if special { 2 } else { 0 });
        Self { name, at, open: Vec::new(), literal: false }
    }

    fn next(&mut self) -> Option<(usize, &'n [u8])> {
        let at = self.at;
        let rest = self.name.get(at..).filter(|rest| !rest.is_empty())?;
        let literal = std::mem::take(&mut self.literal);
        let inside = self.open.last().copied();
        let expression = matches!(inside, Some(b'X' | b'c'));
        let length = match rest {
            [b'R' | b'O' | b'P' | b'K', ..] => {
                rest.iter().take_while(|byte| matches!(byte, b'R' | b'O' | b'P' | b'K')).count()
            }
            // A name that is known, a constructor, a destructor, a pack, and
            // operators that end as references start.
            [b'S', b't' | b'a' | b'b' | b's' | b'i' | b'o' | b'd', ..]
            | [b'C' | b'D', b'0'..=b'9', ..]
            | [b'D', b'p', ..]
            | [b'o', b'R', ..]
            | [b'e', b'O', ..]
            | [b'd', b'V', ..] => 2,
            [b'U', b'l', ..] | [b'D', b't' | b'T', ..] => self.opening(2, b'U'),
            [b'c' | b't' | b'i', b'l', ..] | [b'n', b'w', ..] if expression => {
                self.opening(2, b'c')
            }
            // A part by number.
            [b'S', b'0'..=b'9' | b'A'..=b'Z', ..] => {
                let upper = |byte: &&u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
                rest.iter().take_while(upper).count()
            }
            [b'T' | b'A', b'0'..=b'9', ..] => digits(rest, 1),
            // A name of internal linkage, or a literal of a named type.
            [b'L', b'0'..=b'9', ..] if !matches!(inside, Some(b'I' | b'J' | b'X' | b'c')) => 1,
            [b'L', ..] => {
                self.literal = true;
                self.opening(1, b'L')
            }
            [first @ (b'N' | b'I' | b'J' | b'X' | b'F' | b'Z'), ..] => self.opening(1, *first),
            [b'E', ..] => {
                self.open.pop();
                // The number of a lambda or an unnamed type.
                match digits(rest, 1) {
                    length if inside == Some(b'U') && rest.get(length) == Some(&b'_') => length,
                    _ => 1,
                }
            }
            // The value of a literal, behind its type.
            [b'0'..=b'9', ..] if inside == Some(b'L') && !literal => digits(rest, 0),
            [b'0'..=b'9', ..] => {
                let length = digits(rest, 0);
                let number = rest.get(..length).and_then(|text| std::str::from_utf8(text).ok());
                let number = number.and_then(|number| number.parse::<usize>().ok());
                length.saturating_add(number.unwrap_or(0)).min(rest.len())
            }
            _ => 1,
        };
        self.at = at.saturating_add(length);
        Some((at, rest.get(..length)?))
    }

    fn opening(&mut self, length: usize, letter: u8) -> usize {
        self.open.push(letter);
        length
    }
}

/// Bytes up to the end of the digits from there.
fn digits(rest: &[u8], from: usize) -> usize {
    let run = rest.get(from..).unwrap_or(&[]);
    from.saturating_add(run.iter().take_while(|byte| byte.is_ascii_digit()).count())
}
