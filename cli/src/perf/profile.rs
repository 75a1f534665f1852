//! The recording that every verb of `symidx perf` takes, and where its files are.
//!
//! In: options. Out: an open session, the places of binaries, the store. Reads headers
//! only.

use std::path::{Path, PathBuf};

use super::temporary::Temporary;
use crate::failure::{Failure, exit};
use crate::options::size_option;
use crate::text::{Object, grouped};
use crate::ui::Ui;
use clap::Args;
use symidx_perf::{Binaries, Counts, Damage, Inventory, NameOptions, Reader, Session};

/// Which recording.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProfileArgs {
    /// The recording; `-` reads standard input.
    #[arg(short, long, value_name = "FILE", default_value = "perf.data")]
    pub(crate) input: PathBuf,
    /// Addresses of each call chain that count, innermost first.
    #[arg(long, value_name = "N", default_value_t = 127)]
    pub(crate) max_stack: usize,
    /// Memory for the window of a compressed recording; `perf record -z17` and above need
    /// up to 128M.
    #[arg(long, value_name = "SIZE", value_parser = size_option, default_value = "4M")]
    pub(crate) max_window: u64,
}

/// Where the recorded files are now.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlacesArgs {
    /// Directory of indexes. Default: the user's cache ($XDG_CACHE_HOME/symidx, else
    /// ~/.cache/symidx).
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Look for recorded paths below DIR, a copy of the recording machine's files, and take nothing
    /// else of this machine.
    #[arg(long, value_name = "DIR")]
    pub(crate) symfs: Option<PathBuf>,
    /// Directory with a .build-id tree of programs or debug files. May be repeated.
    #[arg(long = "debug-dir", value_name = "D")]
    pub(crate) debug_dirs: Vec<PathBuf>,
    /// The recorded kernel's symbols: a copy of its /proc/kallsyms.
    #[arg(long, value_name = "FILE")]
    pub(crate) kallsyms: Option<PathBuf>,
}

impl ProfileArgs {
    /// Opens the recording.
    pub(crate) fn open(&self) -> Result<Session, Failure> {
        let reader = match self.input.as_os_str() == "-" {
            true => Reader::from_stream(std::io::stdin()),
            false => Reader::open(&self.input),
        };
        let reader = reader.map_err(|error| self.failed(error))?;
        Ok(Session::new(reader.with_max_window(self.max_window)))
    }

    /// A failure that is about the recording.
    pub(crate) fn failed(&self, error: impl std::fmt::Display) -> Failure {
        match self.input.as_os_str() == "-" {
            true => Failure::new(format!("standard input: {error}")),
            false => Failure::file(&self.input, error),
        }
    }

    /// Everything that is mapped and used in the recording.
    pub(crate) fn inventory(&self) -> Result<(Inventory, Session), Failure> {
        let mut session = self.open()?;
        let inventory = Inventory::read(&mut session, self.max_stack);
        Ok((inventory.map_err(|error| self.failed(error))?, session))
    }

    /// When it was recorded, as far as that is known.
    pub(crate) fn recorded(&self) -> Option<std::time::SystemTime> {
        std::fs::metadata(&self.input).ok()?.modified().ok()
    }
}

impl PlacesArgs {
    /// The directory that indexes are built into.
    pub(crate) fn store(&self) -> Result<PathBuf, Failure> {
        self.store.clone().or_else(symidx::process::user_cache).ok_or_else(|| {
            Failure::usage(
                "expected a home directory or $XDG_CACHE_HOME to keep indexes in, found neither; give --store DIR",
            )
        })
    }

    /// The directory that indexes are built into: one of its own, which goes away with what
    /// is handed out, where that of the user cannot be written.
    pub(crate) fn store_or_temporary(&self) -> Result<(PathBuf, Option<Temporary>), Failure> {
        let store = self.store();
        if self.store.is_some() || store.as_deref().is_ok_and(is_writable) {
            return Ok((store?, None));
        }
        let directory = Temporary::new().map_err(|error| {
            Failure::new(format!(
                "expected a directory to keep indexes in, found neither the user's cache nor a temporary one: {error}; give --store DIR or --no-build"
            ))
        })?;
        Ok((directory.path().to_owned(), Some(directory)))
    }

    /// Where names come from.
    pub(crate) fn fill(&self, options: &mut NameOptions) {
        options.stores.extend(self.store.clone());
        options.kallsyms.clone_from(&self.kallsyms);
        options.binaries = self.binaries();
    }

    /// Where binaries are looked for.
    pub(crate) fn binaries(&self) -> Binaries {
        let mut binaries = Binaries::of_this_machine();
        if let Some(root) = &self.symfs {
            binaries = binaries.with_root(root);
        }
        for tree in self.debug_dirs.iter().rev() {
            binaries = binaries.with_tree(tree);
        }
        if let Some(file) = &self.kallsyms {
            binaries = binaries.with_kallsyms(file);
        }
        binaries
    }
}

/// True when files can be made in a directory, which is made itself if it is not there.
fn is_writable(directory: &Path) -> bool {
    std::fs::create_dir_all(directory).is_ok() && tempfile::tempfile_in(directory).is_ok()
}

/// Says what could not be read of a recording; the exit code for that.
pub(crate) fn tell_damage(damage: &Damage, input: &Path, ui: Ui) -> u8 {
    for line in damage.lines() {
        ui.warning(format_args!("{}: {line}", input.display()));
    }
    if *damage == Damage::default() { exit::OK } else { exit::SOME_FAILED }
}

/// Says what was left out of a recording, or is not kept of it: guests, lost records.
pub(crate) fn tell_counts(counts: &Counts, ui: Ui) {
    if !ui.is_quiet() {
        for (count, what) in counts.lines() {
            ui.line(format_args!("{} {what}", grouped(count)));
        }
    }
}

/// The same in the summary of a JSON form.
pub(crate) fn json_counts(summary: &mut Object<'_>, counts: &Counts) {
    summary
        .field("guest_samples", counts.guest_samples)
        .field("kernel_code_records", counts.kernel_code)
        .field("bpf_records", counts.bpf_records)
        .field("lost_records", counts.lost)
        .field("forgotten", counts.forgotten)
        .field("refused_files", counts.refused_files)
        .field("refused_build_ids", counts.refused_build_ids);
}
