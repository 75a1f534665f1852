//! In: measured cells. Out: one aligned text table a binary, and the same cells as JSON.
//! Each row ends with the best rival and, where symidx ran, symidx as a fraction of it.
//! Never: decides what counts as good; lower is better in every row that has a ratio.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Median and minimum of one measure of one contender.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub median: f64,
    pub min: f64,
}

impl Cell {
    /// A value that was taken once.
    pub fn once(value: f64) -> Self {
        Self {
            median: value,
            min: value,
        }
    }

    /// Median (upper of the middle two) and minimum; `None` of nothing.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median: *sorted.get(sorted.len() / 2)?,
            min: *sorted.first()?,
        })
    }
}

/// How to print a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Nanos,
    Micros,
    Seconds,
    Bytes,
    Count,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Nanos if value < 10_000.0 => format!("{value:.1}"),
            Self::Nanos => format!("{value:.0}"),
            Self::Micros if value < 1_000_000.0 => format!("{:.2} us", value / 1e3),
            Self::Micros => format!("{:.2} ms", value / 1e6),
            Self::Seconds => format!("{value:.3} s"),
            Self::Bytes if value >= 1_048_576.0 => format!("{:.2} MiB", value / 1_048_576.0),
            Self::Bytes if value >= 10_240.0 => format!("{:.1} KiB", value / 1024.0),
            Self::Bytes | Self::Count => format!("{:.*}", usize::from(value.fract() != 0.0), value),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Nanos | Self::Micros => "ns",
            Self::Seconds => "s",
            Self::Bytes => "bytes",
            Self::Count => "count",
        }
    }
}

struct Row {
    label: &'static str,
    unit: Unit,
    /// Print a second line with the minimum.
    with_min: bool,
    cells: BTreeMap<&'static str, Cell>,
}

/// One binary's results.
pub struct Table {
    pub title: String,
    pub columns: Vec<&'static str>,
    /// Rivals that answer from a mapped file without a heap index.
    pub mapped: Vec<&'static str>,
    /// Free lines under the table: what was skipped, who disagreed.
    pub notes: Vec<String>,
    rows: Vec<Row>,
}

impl Table {
    pub fn new(title: String, columns: Vec<&'static str>, mapped: Vec<&'static str>) -> Self {
        Self {
            title,
            columns,
            mapped,
            notes: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Sets one cell; rows appear in the order of their first cell.
    pub fn set(
        &mut self,
        label: &'static str,
        unit: Unit,
        column: &'static str,
        cell: Option<Cell>,
    ) {
        let Some(cell) = cell else { return };
        let with_min = matches!(unit, Unit::Nanos | Unit::Micros);
        if let Some(row) = self.rows.iter_mut().find(|row| row.label == label) {
            row.cells.insert(column, cell);
        } else {
            self.rows.push(Row {
                label,
                unit,
                with_min,
                cells: BTreeMap::from([(column, cell)]),
            });
        }
    }

    /// The rival with the smallest median among `names`; symidx in other forms (`symidx-…`) is none.
    fn best<'r>(row: &'r Row, names: &[&'static str]) -> Option<(&'r &'static str, &'r Cell)> {
        let rivals = row
            .cells
            .iter()
            .filter(|(name, _)| !name.starts_with("symidx") && names.contains(name));
        rivals.min_by(|a, b| a.1.median.total_cmp(&b.1.median))
    }

    /// `0.12x symcache`, or just the rival's name where symidx did not run.
    fn against(row: &Row, names: &[&'static str]) -> String {
        let Some((name, best)) = Self::best(row, names) else {
            return "-".into();
        };
        match row.cells.get("symidx") {
            Some(own) if best.median > 0.0 => format!("{:.2}x {name}", own.median / best.median),
            Some(own) if own.median > 0.0 => format!("over 0, {name}"),
            Some(_) => format!("= {name}"),
            None => (*name).into(),
        }
    }

    pub fn text(&self) -> String {
        let mut lines: Vec<Vec<String>> = Vec::new();
        let mut head = vec![String::new()];
        head.extend(self.columns.iter().map(|&name| name.into()));
        head.extend(["vs best mapped".into(), "vs best".into()]);
        lines.push(head);
        for row in &self.rows {
            let unit = if row.unit == Unit::Nanos { ", ns" } else { "" };
            let cells = |value: fn(&Cell) -> f64| {
                let show = move |name| {
                    row.cells
                        .get(name)
                        .map_or("-".into(), |cell| row.unit.show(value(cell)))
                };
                self.columns.iter().map(show)
            };
            let mut line = vec![format!("{}{unit}", row.label)];
            line.extend(cells(|cell| cell.median));
            line.extend([
                Self::against(row, &self.mapped),
                Self::against(row, &self.columns),
            ]);
            lines.push(line);
            if row.with_min {
                let mut line = vec!["  least".into()];
                line.extend(cells(|cell| cell.min));
                line.extend([String::new(), String::new()]);
                lines.push(line);
            }
        }
        let width = |column: usize| {
            lines
                .iter()
                .filter_map(|line| line.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..lines.first().map_or(0, Vec::len)).map(width).collect();
        let mut out = format!("{}\n", self.title);
        for line in &lines {
            for (i, (cell, &width)) in line.iter().zip(&widths).enumerate() {
                let left = i == 0 || i > self.columns.len();
                let padded = if left {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                };
                let _ = write!(out, "{}{padded}", if i == 0 { "" } else { "  " });
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(out, "  {note}");
        }
        out
    }

    /// `{"title":…,"rows":[{"measure":…,"unit":…,"cells":{NAME:{"median":…,"min":…}}}],"notes":[…]}`
    pub fn json(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            let cells = row.cells.iter().map(|(name, cell)| {
                format!(
                    "{}:{{\"median\":{},\"min\":{}}}",
                    quote(name),
                    cell.median,
                    cell.min
                )
            });
            let cells: Vec<_> = cells.collect();
            format!(
                "{{\"measure\":{},\"unit\":{},\"cells\":{{{}}}}}",
                quote(row.label),
                quote(row.unit.name()),
                cells.join(",")
            )
        });
        let rows: Vec<_> = rows.collect();
        let notes: Vec<_> = self.notes.iter().map(|note| quote(note)).collect();
        format!(
            "{{\"title\":{},\"rows\":[{}],\"notes\":[{}]}}",
            quote(&self.title),
            rows.join(",\n"),
            notes.join(",\n")
        )
    }
}

/// `text` as a JSON string.
pub fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_ends_with_symidx_as_a_fraction_of_the_best_rival() {
        let columns = vec!["symidx", "std", "symcache"];
        let mut table = Table::new("t".into(), columns, vec!["symidx", "symcache"]);
        for (name, ns) in [("symidx", 20.0), ("std", 80.0), ("symcache", 200.0)] {
            table.set("hit", Unit::Nanos, name, Some(Cell::once(ns)));
        }
        let text = table.text();
        let row = text.lines().nth(2).unwrap_or_default();
        assert!(row.ends_with("0.10x symcache  0.25x std"), "{row}");
    }

    #[test]
    fn the_median_of_an_even_count_is_the_upper_one() {
        let cell = Cell::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!(cell.map(|cell| (cell.median, cell.min)), Some((3.0, 1.0)));
        assert!(Cell::of(&[]).is_none());
    }
}
