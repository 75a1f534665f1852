//! Talking to people: standard error, and whether to colour it.
//!
//! Out: one line per message, behind the program's name. Results never pass
//! through here, and a standard error that is closed is no reason to stop.

use std::fmt::Display;
use std::io::{IsTerminal as _, Write as _};

use clap::ColorChoice;

/// A message longer than this quotes something that is no use to anybody.
const MAX_MESSAGE: usize = 8 * 1024;

/// How much to say, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ui {
    quiet: bool,
    color: bool,
    paint: bool,
}

impl Ui {
    /// From `--quiet` and `--color`.
    pub(crate) fn new(quiet: bool, color: ColorChoice) -> Self {
        let on = |terminal: bool| match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && std::env::var_os("NO_COLOR").is_none(),
        };
        Self {
            quiet,
            color: on(std::io::stderr().is_terminal()),
            paint: on(std::io::stdout().is_terminal()),
        }
    }

    /// True when only results and errors are wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// True when results for people are coloured.
    pub(crate) fn paints_results(&self) -> bool {
        self.paint
    }

    /// True when a progress bar may be drawn.
    pub(crate) fn may_draw(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// Something failed. Said even when quiet.
    pub(crate) fn error(&self, text: impl Display) {
        self.say("31", "", text);
    }

    /// Something is not as it should be; the work goes on.
    pub(crate) fn warning(&self, text: impl Display) {
        if !self.quiet {
            self.say("33", "warning: ", text);
        }
    }

    /// Something worth knowing.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.quiet {
            self.say("36", "note: ", text);
        }
    }

    /// A plain line on standard error.
    pub(crate) fn line(&self, text: impl Display) {
        if !self.quiet {
            let _ = writeln!(std::io::stderr().lock(), "{text}");
        }
    }

    fn say(&self, color: &str, kind: &str, text: impl Display) {
        // Whatever happens to standard error, the results go on. Control
        // characters of file names must not reach the terminal.
        let text = text.to_string();
        let text = crate::text::printable(shortened(&text, MAX_MESSAGE));
        let mut out = std::io::stderr().lock();
        let _ = match self.color {
            true => writeln!(out, "\x1b[1;{color}msymidx: {kind}\x1b[0m{text}"),
            false => writeln!(out, "symidx: {kind}{text}"),
        };
    }
}

/// At most so many bytes of a text.
fn shortened(text: &str, most: usize) -> &str {
    // A character may have four bytes: its beginning is near.
    (0..=most.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or(text)
}
