//! In: a binary and the names wanted. Out: the contenders that are ready for it, their artifacts built in children.
//! A contender that cannot serve the binary is skipped aloud, with its own words.
//! Never: hides a skip; each one is printed and kept for the table.

use std::path::{Path, PathBuf};

use crate::contenders::{self, Artifact, Rival};
use crate::spawn::{self, Build};
use crate::{Options, Result};

/// Contenders that must work and be right: anything else ends the run.
pub const MUST_BE_RIGHT: [&str; 2] = ["std", "symidx"];

/// A contender that is ready to be opened for one binary.
pub struct Entry {
    pub rival: Box<dyn Rival>,
    pub artifact: PathBuf,
    pub builds: Vec<Build>,
}

/// The contenders of one binary, and those that are out with the reason.
pub struct Field {
    pub binary: PathBuf,
    pub entries: Vec<Entry>,
    pub skipped: Vec<String>,
}

/// Picks the contenders and builds their artifacts in interleaved rounds.
pub fn prepare(options: &Options, binary: &Path, dir: &Path) -> Result<Field> {
    std::fs::create_dir_all(dir)?;
    let wanted = |name: &str| {
        name == "std" || options.only.is_empty() || options.only.iter().any(|only| only == name)
    };
    let mut field = Field {
        binary: binary.to_path_buf(),
        entries: Vec::new(),
        skipped: Vec::new(),
    };
    for rival in contenders::all()
        .into_iter()
        .filter(|rival| wanted(rival.name()))
    {
        let artifact = match rival.artifact() {
            Artifact::Binary => binary.to_path_buf(),
            Artifact::Own => dir.join(rival.name()),
            Artifact::Of(other) => dir.join(other),
        };
        field.entries.push(Entry {
            rival,
            artifact,
            builds: Vec::new(),
        });
    }
    // Warm: otherwise the first to build pays for the disk.
    let mut file =
        std::fs::File::open(binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    std::io::copy(&mut file, &mut std::io::sink())?;
    for round in 0..options.builds {
        field.each(|entry| match entry.rival.artifact() {
            Artifact::Binary => Ok(()),
            Artifact::Own => {
                let input = entry.rival.input(binary, dir)?;
                entry
                    .builds
                    .push(spawn::build(entry.rival.name(), &input, &entry.artifact)?);
                Ok(())
            }
            // Its owner comes earlier in the table, but may not have been asked for.
            Artifact::Of(_) if round > 0 || entry.artifact.exists() => Ok(()),
            Artifact::Of(owner) => spawn::build(owner, binary, &entry.artifact).map(|_| ()),
        })?;
    }
    Ok(field)
}

impl Field {
    /// Calls `f` with each entry and drops those it fails for.
    pub fn each(&mut self, mut f: impl FnMut(&mut Entry) -> Result<()>) -> Result<()> {
        let binary = file_name(&self.binary);
        for mut entry in std::mem::take(&mut self.entries) {
            let name = entry.rival.name();
            match f(&mut entry) {
                Ok(()) => self.entries.push(entry),
                Err(error) if MUST_BE_RIGHT.contains(&name) => {
                    return Err(format!("{binary}: {name}: {error}").into());
                }
                Err(error) => {
                    eprintln!("{binary}: SKIPPED {name}: {error}");
                    self.skipped.push(format!("SKIPPED {name}: {error}"));
                }
            }
        }
        Ok(())
    }
}

pub fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// A size or count as a float.
pub fn float(value: impl TryInto<u64>) -> f64 {
    // Exact below 2^53, far above any size or count here.
    let value = value.try_into().unwrap_or(u64::MAX);
    let high = u32::try_from(value >> 32).unwrap_or(u32::MAX);
    let low = u32::try_from(value & 0xffff_ffff).unwrap_or(u32::MAX);
    f64::from(high) * 4_294_967_296.0 + f64::from(low)
}
