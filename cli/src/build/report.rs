//! What is said about each input, and the exit code that sums it up.

use std::path::PathBuf;

use symidx_indexer::{BuildError, BuildReport, Status};

use super::BuildArgs;
use super::depfile::{self, Rule};
use super::plan::Job;
use crate::failure::{Failure, exit};
use crate::output::Output;
use crate::text::{Object, bytes, counted, plain};
use crate::ui::Ui;

/// What became of a job.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The report, or why there is none.
    pub(super) result: Result<BuildReport, Fault>,
    /// Wall time.
    pub(super) seconds: f64,
    /// Highest anonymous memory meanwhile.
    pub(super) peak: u64,
}

/// Why a job failed.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// The exit code it asks for.
    pub(super) code: u8,
    /// One line.
    pub(super) text: String,
    /// What was left out of the input, if it got that far.
    pub(super) skipped: Vec<(String, u64)>,
    /// One line each.
    pub(super) warnings: Vec<String>,
}

impl Fault {
    /// A fault of the plan or of the system.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            code: exit::SOME_FAILED,
            text: text.into(),
            skipped: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl From<BuildError> for Fault {
    fn from(error: BuildError) -> Self {
        let mut fault = Self::new(error.to_string());
        fault.code = Failure::build_code(&error);
        if let BuildError::NoSymbols { report, .. } = error {
            fault.skipped =
                report.skipped.into_iter().map(|(why, count)| (why.to_owned(), count)).collect();
            fault.warnings = report.warnings;
        }
        fault
    }
}

/// Prints outcomes as they come, in order.
pub(super) struct Report<'a> {
    args: &'a BuildArgs,
    ui: Ui,
    output: Output,
    rules: Vec<Rule>,
    code: u8,
    counts: Counts,
}

/// How many inputs came to what.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    built: usize,
    fresh: usize,
    without_symbols: usize,
    twins: usize,
    failed: usize,
}

impl<'a> Report<'a> {
    /// Nothing has happened yet.
    pub(super) fn new(args: &'a BuildArgs, ui: Ui) -> Self {
        let (output, rules, counts) = (Output::default(), Vec::new(), Counts::default());
        Self { args, ui, output, rules, code: exit::OK, counts }
    }

    /// How to talk to people.
    pub(super) fn ui(&self) -> Ui {
        self.ui
    }

    /// One line about all of them, and about what there is besides.
    pub(super) fn sum_up(&self, what: impl std::fmt::Display, others: &[(usize, &'static str)]) {
        let Counts { built, fresh, without_symbols, twins, failed } = self.counts;
        let counts = [
            (built, "built"),
            (fresh, "up to date"),
            (without_symbols, "without symbols"),
            (twins, "of the same build as another"),
            (failed, "failed"),
        ];
        let parts: Vec<String> = counts
            .iter()
            .chain(others)
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        self.ui.line(format_args!("{what}: {}", parts.join(", ")));
    }

    /// Tells about one job.
    pub(super) fn add(&mut self, job: &Job, outcome: &Outcome) -> Result<(), Failure> {
        if self.args.json {
            json(self.output.buffer(), job, outcome);
        }
        let warnings = match &outcome.result {
            Ok(report) => &report.warnings,
            Err(fault) => &fault.warnings,
        };
        for warning in warnings {
            self.ui.warning(format_args!("{}: {warning}", job.input.display()));
        }
        let counts = &mut self.counts;
        let count = match &outcome.result {
            Ok(report) if report.status == Status::Fresh => &mut counts.fresh,
            Ok(_) => &mut counts.built,
            Err(_) if job.twin => &mut counts.twins,
            Err(fault) if fault.code == exit::NO_SYMBOLS => &mut counts.without_symbols,
            Err(_) => &mut counts.failed,
        };
        *count = count.saturating_add(1);
        match &outcome.result {
            Ok(report) => {
                self.say(job, report, outcome.seconds);
                let outputs = std::iter::once(&job.output).chain(&job.copy).cloned().collect();
                if !report.inputs.is_empty() {
                    self.rules.push(Rule { outputs, inputs: report.inputs.clone() });
                }
            }
            Err(fault) if job.walked && (fault.code == exit::NO_SYMBOLS || job.twin) => {
                self.ui.warning(format_args!("{}; passed over", fault.text));
            }
            Err(fault) => {
                self.ui.error(&fault.text);
                self.code = match (self.code, fault.code) {
                    (exit::OK | exit::NO_SYMBOLS, exit::NO_SYMBOLS) => exit::NO_SYMBOLS,
                    _ => exit::SOME_FAILED,
                };
            }
        }
        self.output.flush()
    }

    fn say(&mut self, job: &Job, report: &BuildReport, seconds: f64) {
        if self.args.print_inputs {
            for input in &report.inputs {
                let out = self.output.buffer();
                out.extend_from_slice(input.as_os_str().as_encoded_bytes());
                out.push(b'\n');
            }
        }
        // In a store nothing but the id tells which input an index is of.
        let place = match &self.args.store {
            Some(_) => format!("{} -> {}", job.input.display(), job.output.display()),
            None => job.output.display().to_string(),
        };
        let line = match report.status {
            Status::Built => {
                let lines = match report.line_rows {
                    0 if self.args.names_only => String::new(),
                    0 => "no lines, ".to_owned(),
                    rows => format!("{}, ", counted(rows, "line", "lines")),
                };
                format!(
                    "{place}: {}, {}, {lines}{} in {seconds:.2} s ({})",
                    counted(report.symbols, "symbol", "symbols"),
                    counted(report.aliases, "alias", "aliases"),
                    bytes(report.bytes),
                    short(&report.id),
                )
            }
            Status::Fresh => format!("{place}: up to date"),
        };
        if self.args.print_inputs {
            self.ui.line(crate::text::printable(&line));
        } else if !self.args.json && !self.ui.is_quiet() {
            plain(self.output.buffer(), line.as_bytes());
            self.output.buffer().push(b'\n');
        }
    }

    /// Writes the depfile and returns the exit code.
    pub(super) fn finish(mut self) -> Result<u8, Failure> {
        self.output.flush()?;
        if let Some(path) = &self.args.depfile
            && !self.rules.is_empty()
        {
            depfile::write(path, &self.rules)
                .map_err(|error| Failure::file(path, format_args!("cannot write: {error}")))?;
        }
        Ok(self.code)
    }
}

/// An id that can be told from others at a glance.
fn short(id: &str) -> String {
    const SHOWN: usize = 16;
    let (kind, digits) = match id.strip_prefix("blake3:") {
        Some(digits) => ("blake3", digits),
        None => ("id", id),
    };
    match digits.split_at_checked(SHOWN) {
        Some((shown, rest)) if !rest.is_empty() => format!("{kind} {shown}…"),
        _ => format!("{kind} {digits}"),
    }
}

fn json(out: &mut Vec<u8>, job: &Job, outcome: &Outcome) {
    let text = |path: &PathBuf| path.display().to_string();
    let report = outcome.result.as_ref().ok();
    let fault = outcome.result.as_ref().err();
    let status = match report.map(|report| report.status) {
        Some(Status::Built) => "built",
        Some(Status::Fresh) => "fresh",
        None => "failed",
    };
    let number = |of: fn(&BuildReport) -> u64| report.map_or(0, of);
    let mut object = Object::new(out);
    object
        .field("input", text(&job.input).as_str())
        .field("output", text(&job.output).as_str())
        .field("status", status)
        .field("id", report.map(|report| report.id.as_str()))
        .field("symbols", number(|report| report.symbols))
        .field("aliases", number(|report| report.aliases))
        .field("functions", number(|report| report.functions))
        .field("line_rows", number(|report| report.line_rows))
        .field("inlined_functions", number(|report| report.inlined_functions))
        .field("bytes", number(|report| report.bytes))
        .field("input_bytes", report.map_or(job.input_bytes, |report| report.input_bytes));
    object.key("seconds").extend_from_slice(format!("{:.6}", outcome.seconds).as_bytes());
    object.field("peak_anon_bytes", outcome.peak);
    let mut skipped = Object::new(object.key("skipped"));
    let reasons = report.map(|report| &report.skipped).or(fault.map(|fault| &fault.skipped));
    for (reason, count) in reasons.into_iter().flatten() {
        skipped.field(reason, *count);
    }
    skipped.end();
    let warnings = report.map(|report| &report.warnings).or(fault.map(|fault| &fault.warnings));
    let warnings: Vec<&str> = warnings.into_iter().flatten().map(String::as_str).collect();
    object.list("warnings", &warnings);
    object.field("error", fault.map(|fault| fault.text.as_str()));
    object.end_line();
}
