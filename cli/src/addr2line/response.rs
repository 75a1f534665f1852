//! `@FILE` on the command line: the words in the file stand in its place.
//!
//! In: words. Out: words, none of them a readable `@FILE`. The number of files
//! is bounded, so a file that names itself ends.

use std::ffi::{OsStr, OsString};

/// Files read before it is taken for a loop.
const MAX_FILES: u32 = 2000;
/// A file of words is not longer.
const MAX_BYTES: u64 = 16 << 20;

/// Replaces every `@FILE`; one that cannot be read stays as it is.
///
/// # Errors
/// A message, when the files do not end.
pub(super) fn expand(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    // The next word is last.
    let mut left: Vec<OsString> = words.into_iter().rev().collect();
    let mut done = Vec::with_capacity(left.len());
    let mut files = 0u32;
    while let Some(word) = left.pop() {
        let Some(text) = words_of(&word)? else {
            done.push(word);
            continue;
        };
        files = files.saturating_add(1);
        if files >= MAX_FILES {
            return Err("error: too many @-files encountered".to_owned());
        }
        left.extend(split(&text).into_iter().rev());
    }
    Ok(done)
}

/// The text of a word's file, if it names one.
fn words_of(word: &OsStr) -> Result<Option<Vec<u8>>, String> {
    use std::io::Read as _;
    let Some(path) = word.as_encoded_bytes().strip_prefix(b"@") else { return Ok(None) };
    let path = std::path::Path::new(crate::text::os_str(path));
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => {
            return Err("error: @-file refers to a directory".to_owned());
        }
        Ok(metadata) if metadata.is_file() => {}
        _ => return Ok(None),
    }
    let mut text = Vec::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text))
        .is_ok();
    Ok(read.then_some(text))
}

/// The words of a text: white space parts them, quotes hold them together, a
/// backslash takes the next byte as it is.
fn split(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut escaped = false;
    // A text of C ends there.
    let end = memchr::memchr(0, text).unwrap_or(text.len());
    for &byte in text.get(..end).unwrap_or(text) {
        let literal = match (escaped, quote, byte) {
            (true, _, _) => true,
            (false, _, b'\\') => {
                escaped = true;
                word.get_or_insert_default();
                continue;
            }
            (false, Some(open), _) if open == byte => {
                quote = None;
                continue;
            }
            (false, Some(_), _) => true,
            (false, None, b'"' | b'\'') => {
                quote = Some(byte);
                word.get_or_insert_default();
                continue;
            }
            (false, None, _) => !(byte.is_ascii_whitespace() || byte == 0x0b),
        };
        escaped = false;
        match literal {
            true => word.get_or_insert_default().push(byte),
            false => words.extend(word.take()),
        }
    }
    words.extend(word);
    words.iter().map(|word| crate::text::os_str(word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_hold_words_together() {
        let words = |text: &str| {
            let words = split(text.as_bytes());
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(words("-f -e\np \"1 2\"\n"), ["-f", "-e", "p", "1 2"]);
        assert_eq!(words(r#"a\ b 'c"d' "e'f" g"h i"j"#), ["a b", "c\"d", "e'f", "gh ij"]);
        assert_eq!(words(" \n\t"), [""; 0]);
        assert_eq!(words("'' x"), ["", "x"]);
        assert_eq!(words("a b\0 c"), ["a", "b"]);
    }

    #[test]
    fn a_file_that_names_itself_ends() {
        let directory = tempfile::tempdir().ok();
        let file = directory.as_ref().map(|d| d.path().join("words")).unwrap_or_default();
        let word = OsString::from(format!("@{}", file.display()));
        assert!(std::fs::write(&file, format!("-f {}", word.display())).is_ok());
        assert!(expand(vec![word]).is_err());
        let missing = OsString::from("@/no/such/file");
        assert_eq!(expand(vec![missing.clone()]), Ok(vec![missing]));
    }
}
