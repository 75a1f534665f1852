//! `symidx verify`: every invariant and hash of an index, and whose index it is.

use std::path::{Path, PathBuf};

use clap::Args;
use symidx::{Index, format};
use symidx_indexer::input::{self, Identified, ReadOptions};
use symidx_indexer::model::Store;

use crate::failure::{Failure, exit};
use crate::output::Output;
use crate::source::{self, Binary};
use crate::text::{bytes, counted};

/// Check every promise of an index.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit code 1 names the invariant that does not hold; 4 means that the index is of \
                        another build of the binary.\n\n\
                        EXAMPLES:\n  \
                        symidx verify app.symidx\n  \
                        symidx verify app.symidx --against app"
)]
pub(crate) struct VerifyArgs {
    /// The .symidx file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The binary it should be of.
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,
}

/// Verifies the file, then compares identities.
pub(crate) fn run(args: &VerifyArgs, ui: crate::ui::Ui) -> Result<u8, Failure> {
    let index = source::map(&args.file)?;
    index.verify().map_err(|violation| Failure::file(&args.file, violation))?;
    if let Some(binary) = &args.against {
        compare(&args.file, &index, binary)?;
    }
    if !ui.is_quiet() {
        let mut output = Output::default();
        let size = u64::try_from(index.as_bytes().len()).unwrap_or(u64::MAX);
        let line = format!(
            "{}: ok, {}, {}, {}, {}, {}",
            args.file.display(),
            counted(index.symbol_count().into(), "symbol", "symbols"),
            counted(index.alias_count().into(), "alias", "aliases"),
            counted(
                index.names_only_count().into(),
                "name without an address",
                "names without an address"
            ),
            bytes(size),
            source::identity(&index),
        );
        crate::text::plain(output.buffer(), line.as_bytes());
        output.buffer().push(b'\n');
        output.flush()?;
    }
    Ok(exit::OK)
}

fn compare(file: &Path, index: &Index<'_>, binary: &Path) -> Result<(), Failure> {
    let store = Store::new();
    let input::Input { path, data, .. } = input::open(binary, &store)?;
    // The index says which slice of a fat file it is of.
    let options = ReadOptions { uuid: index.uuid(), ..ReadOptions::default() };
    let identified = match input::identify(&path, data, &options) {
        Err(input::InputError::ChooseSlice { slices, .. }) if slices.len() > 1 => {
            let identity = index.identity();
            let slice = (identity.slice_offset.get(), identity.slice_size.get());
            let same_place = slices.iter().find(|found| (found.offset, found.size) == slice);
            Identified {
                uuid: same_place.and_then(|found| found.uuid),
                slice: Some(slice),
                ..Identified::default()
            }
        }
        Err(input::InputError::ChooseSlice { slices, .. }) => Identified {
            uuid: slices.first().and_then(|found| found.uuid),
            ..Identified::default()
        },
        other => other?,
    };
    let found = Binary::new(data, identified);
    if found.is_same_build(index) {
        return Ok(());
    }
    // An index by id against a file without one (or the other way round) is
    // no match; say what each states.
    let kind = match index.identity().container {
        format::CONTAINER_MACHO => "slice",
        _ => "file",
    };
    Err(Failure::Line {
        code: exit::MISMATCH,
        text: format!(
            "{}: expected an index of {} ({kind} has {}), found one of another build ({}); build it again",
            file.display(),
            binary.display(),
            found.identity(),
            source::identity(index),
        ),
    })
}
