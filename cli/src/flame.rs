//! Stacks as a picture: `main;work;leaf` with a value in, a flame graph out.
//!
//! What several verbs share. Knows nothing of profiles or recordings.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use inferno::flamegraph::{self, Options};

use crate::failure::Failure;
use crate::publish::publish;

/// What is written on a flame graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caption<'c> {
    /// Above it.
    pub(crate) title: &'c str,
    /// What the values count: `samples`, `bytes`.
    pub(crate) unit: &'c str,
}

/// Draws the stacks whose values add up to a positive one and publishes the picture,
/// an SVG with its own search and zoom; returns how many stacks were left out.
pub(crate) fn graph<'s>(
    path: &Path,
    stacks: impl IntoIterator<Item = (&'s str, i64)>,
    caption: Caption<'_>,
) -> Result<u64, Failure> {
    // Whoever gives them may have had no room to add them up.
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for (stack, value) in stacks {
        let sum = sums.entry(stack).or_default();
        *sum = sum.saturating_add(value);
    }
    let mut lines = Vec::new();
    let mut negative = 0u64;
    for (stack, value) in sums {
        if value > 0 {
            lines.push(format!("{} {value}", stack.replace(|c| !is_in_xml(c), " ")));
        } else {
            negative = negative.saturating_add(1);
        }
    }
    if lines.is_empty() {
        return Err(Failure::file(
            path,
            "expected stacks with a positive value to draw, found none; nothing was written",
        ));
    }
    let mut options = Options::default();
    options.title = caption.title.to_owned();
    options.count_name = caption.unit.to_owned();
    // The colours as well are the same for the same stacks.
    options.deterministic = true;
    publish(path, |file: &mut File| {
        let mut out = BufWriter::new(file);
        let lines = lines.iter().map(String::as_str);
        flamegraph::from_lines(&mut options, lines, &mut out).map_err(io::Error::other)?;
        out.flush()
    })?;
    Ok(negative)
}

/// True for what may stand in an XML document: with anything else in it, even
/// escaped, no browser shows a picture.
fn is_in_xml(c: char) -> bool {
    matches!(c, '\t' | ' '..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const STACKS: [(&str, i64); 3] = [("main;work <T>", 30), ("main;rest", 10), ("main;freed", -5)];

    #[test]
    fn a_graph_shows_every_frame_that_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.svg");
        let caption = Caption { title: "Heap of a&b", unit: "bytes" };
        assert_eq!(graph(&path, STACKS, caption).unwrap(), 1);
        let svg = std::fs::read_to_string(&path).unwrap();
        for part in
            ["<svg", "Heap of a&amp;b", "work &lt;T&gt; (30 bytes, 75.00%)", "main (40 bytes"]
        {
            assert!(svg.contains(part), "{part}");
        }
        assert!(!svg.contains("freed"));
    }

    /// A long recording's stacks came in several lots of lines, and were drawn so.
    #[test]
    fn a_stack_that_comes_again_is_drawn_once() {
        let directory = tempfile::tempdir().unwrap();
        let caption = Caption { title: "", unit: "" };
        let draw = |name: &str, stacks: &[(&str, i64)]| {
            let path = directory.path().join(name);
            let left_out = graph(&path, stacks.iter().copied(), caption).unwrap();
            (left_out, std::fs::read_to_string(&path).unwrap())
        };
        let lots = [("a;b", 2), ("a;c", 1), ("d", -1), ("e", -1), ("a;b", 3), ("d", 4), ("a", 1)];
        let one = [("a", 1), ("a;b", 5), ("a;c", 1), ("d", 3), ("e", -1)];
        assert_eq!(draw("lots.svg", &lots), draw("one.svg", &one));
        assert_eq!(draw("lots.svg", &lots).0, 1);
    }

    /// One thread whose name had an escape in it, and no browser opened the picture.
    #[test]
    fn characters_that_no_document_may_have_are_blanks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.svg");
        let caption = Caption { title: "", unit: "" };
        graph(&path, [("ma\u{1b}in\u{7};\u{ffff}work\u{e9}", 3)], caption).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.contains("ma in ") && svg.contains(" work\u{e9}"));
        assert!(svg.chars().all(|c| c == '\n' || c == '\r' || is_in_xml(c)));
    }

    #[test]
    fn nothing_to_draw_is_an_error_and_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.svg");
        let caption = Caption { title: "", unit: "" };
        let error = graph(&path, [("main", 0)], caption).unwrap_err().to_string();
        assert!(error.contains("found none"), "{error}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
