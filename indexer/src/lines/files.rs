//! Files: the parts that DWARF states in, the directory of each out.
//!
//! Joins as [`SourceFile`] says, with one slash between parts and none at the
//! end. Never touches a name, and never resolves `.` or `..`.

use crate::model::lines::{SourceFile, is_absolute};

/// The directory of a file: nothing when its name stands alone.
pub(super) fn directory(file: &SourceFile<'_>) -> Vec<u8> {
    let mut joined = Vec::new();
    if is_absolute(file.name) {
        return joined;
    }
    if !is_absolute(file.directory) {
        joined.extend_from_slice(file.base);
    }
    join(&mut joined, file.directory);
    // The reader puts the slash; the root itself is one.
    while joined.len() > 1 && joined.last() == Some(&b'/') {
        joined.pop();
    }
    joined
}

fn join(path: &mut Vec<u8>, part: &[u8]) {
    if part.is_empty() {
        return;
    }
    if path.last().is_some_and(|&last| last != b'/') {
        path.push(b'/');
    }
    path.extend_from_slice(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_joined_as_dwarf_means_it() {
        let directory = |base: &'static str, directory: &'static str, name: &'static str| {
            let file = SourceFile {
                base: base.as_bytes(),
                directory: directory.as_bytes(),
                name: name.as_bytes(),
            };
            String::from_utf8(super::directory(&file)).unwrap_or_default()
        };
        assert_eq!(directory("/src", "inc", "a.h"), "/src/inc");
        assert_eq!(directory("/src/", "inc/", "a.h"), "/src/inc");
        assert_eq!(directory("/src", "", "a.c"), "/src");
        assert_eq!(directory("/src", "/usr/include", "a.h"), "/usr/include");
        assert_eq!(directory("/src", "inc", "/abs/a.h"), "");
        assert_eq!(directory("/", "", "a.c"), "/");
        assert_eq!(directory("", "inc", "a.h"), "inc");
        assert_eq!(directory("", "", "a.c"), "");
        assert_eq!(directory("C:\\src", "D:/inc", "a.h"), "D:/inc");
    }
}
