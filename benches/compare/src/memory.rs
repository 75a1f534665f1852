//! In: one binary's contenders, built and checked. Out: rows for file sizes, build costs, memory and cold starts.
//! Memory and cold starts are taken in children, one contender each.
//! Never: times a lookup.

use std::path::Path;

use crate::Result;
use crate::contenders::{Artifact, Session};
use crate::field::{Field, float};
use crate::lists::Lists;
use crate::spawn::{self, Build};
use crate::table::{Cell, Table, Unit};
use crate::truth::Truth;

/// File sizes and build costs of those that have a file.
pub fn sizes(
    field: &Field,
    truth: &Truth<'_>,
    sessions: &mut [Box<dyn Session>],
    table: &mut Table,
) -> Result<()> {
    for (entry, session) in field.entries.iter().zip(sessions) {
        let name = entry.rival.name();
        if entry.rival.artifact() != Artifact::Own {
            continue;
        }
        let size = float(std::fs::metadata(&entry.artifact)?.len());
        let held = session.inventory().unwrap_or_else(|| truth.counts());
        let beyond = size - float(held.name_bytes);
        table.set("file size", Unit::Bytes, name, Some(Cell::once(size)));
        table.set(
            "file: addresses held",
            Unit::Count,
            name,
            Some(Cell::once(float(held.addresses))),
        );
        table.set(
            "file: names held",
            Unit::Count,
            name,
            Some(Cell::once(float(held.names))),
        );
        table.set(
            "file: bytes beyond names, an address",
            Unit::Bytes,
            name,
            Some(Cell::once(beyond / float(held.addresses))),
        );
        table.set(
            "file: bytes beyond names, a name",
            Unit::Bytes,
            name,
            Some(Cell::once(beyond / float(held.names))),
        );
        let of = |value: fn(&Build) -> f64| {
            Cell::of(&entry.builds.iter().map(value).collect::<Vec<_>>())
        };
        table.set("build", Unit::Seconds, name, of(|build| build.seconds));
        table.set("build: peak RSS", Unit::Bytes, name, of(|build| build.rss));
        // A build of a few milliseconds can end before the first sample.
        let anon = of(|build| build.anon).filter(|cell| cell.median > 0.0);
        table.set("build: peak RssAnon", Unit::Bytes, name, anon);
    }
    Ok(())
}

/// Memory of a process that opens and looks up a million addresses, names read.
pub fn rss(field: &Field, base: u64, lists: &Lists, work: &Path, table: &mut Table) -> Result<()> {
    let list = work.join("addresses");
    let addrs = lists.mixed.iter().cycle().take(1_000_000);
    std::fs::write(
        &list,
        addrs
            .flat_map(|addr| addr.to_le_bytes())
            .collect::<Vec<u8>>(),
    )?;
    for entry in &field.entries {
        let name = entry.rival.name();
        let args = [
            "__rss",
            name,
            utf8(&entry.artifact)?,
            &base.to_string(),
            utf8(&list)?,
        ];
        let labels = [
            ("open_anon", "RssAnon after open"),
            ("after_anon", "RssAnon after 1M lookups"),
            ("after_file", "RssFile after 1M lookups"),
        ];
        let numbers = spawn::numbers(&args)?;
        for (key, label) in labels {
            let value = numbers
                .iter()
                .find(|number| number.0 == key)
                .map(|number| Cell::once(number.1));
            table.set(label, Unit::Bytes, name, value);
        }
    }
    Ok(())
}

/// Page faults and reads with the file evicted, for the contenders that have one.
pub fn cold(field: &Field, base: u64, lists: &Lists, table: &mut Table) -> Result<()> {
    let keys = [
        ("open_faults", "cold open: major faults", Unit::Count),
        ("open_read", "cold open: read", Unit::Bytes),
        ("lookup_faults", "cold lookup: major faults", Unit::Count),
        ("lookup_read", "cold lookup: read", Unit::Bytes),
    ];
    for entry in field
        .entries
        .iter()
        .filter(|entry| entry.rival.artifact() != Artifact::Binary)
    {
        let name = entry.rival.name();
        let mut samples: Vec<Vec<f64>> = vec![Vec::new(); keys.len()];
        let mut resident = 0.0_f64;
        for addr in lists.hits.iter().take(15) {
            let numbers = spawn::numbers(&[
                "__cold",
                name,
                utf8(&entry.artifact)?,
                &base.to_string(),
                &addr.to_string(),
            ])?;
            let get = |key: &str| {
                numbers
                    .iter()
                    .find(|number| number.0 == key)
                    .map_or(0.0, |number| number.1)
            };
            resident = resident.max(get("resident"));
            for ((key, ..), samples) in keys.iter().zip(&mut samples) {
                samples.push(get(key));
            }
        }
        if resident > 0.0 {
            table.notes.push(format!(
                "NOT COLD: {resident} pages of {name}'s file stayed in memory; use --work on a disk"
            ));
        }
        for ((_, label, unit), samples) in keys.iter().zip(&samples) {
            table.set(label, *unit, name, Cell::of(samples));
        }
        let worst = |samples: &[f64]| samples.iter().copied().reduce(f64::max).map(Cell::once);
        table.set(
            "cold lookup: major faults, worst of 15",
            Unit::Count,
            name,
            samples.get(2).and_then(|samples| worst(samples)),
        );
        table.set(
            "cold lookup: read, worst of 15",
            Unit::Bytes,
            name,
            samples.get(3).and_then(|samples| worst(samples)),
        );
    }
    Ok(())
}

fn utf8(path: &Path) -> Result<&str> {
    path.to_str()
        .ok_or_else(|| format!("{}: not UTF-8", path.display()).into())
}
