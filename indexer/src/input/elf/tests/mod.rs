//! Tests of the ELF input: files made byte by byte, files made by real tools,
//! and files that were broken on purpose.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::path::{Path, PathBuf};

use crate::input::{InputError, ReadOptions};
use crate::model::{Image, Source, Store, Symbol};

mod alt;
mod builder;
mod cases;
mod companions;
mod debug;
mod hostile;
mod relocated;
mod split;
mod stubs;
mod tables;

/// A file of `testdata/elf`.
fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/elf").join(name)
}

/// Reads bytes that have no companions.
fn read<'s>(data: &'s [u8], store: &'s Store) -> Result<Image<'s>, InputError> {
    super::read(Path::new("test.elf"), data, store, &ReadOptions::default())
}

/// Reads a file of `testdata/elf`.
fn read_file<'s>(name: &str, store: &'s Store, options: &ReadOptions) -> Image<'s> {
    crate::input::read(&testdata(name), store, options).unwrap()
}

/// The names of one source, in table order.
fn names(image: &Image<'_>, source: Source) -> Vec<String> {
    let of_source = image.symbols.iter().filter(|symbol| symbol.source == source);
    of_source.map(|symbol| String::from_utf8_lossy(symbol.name).into_owned()).collect()
}

/// The first symbol of that name.
fn symbol<'a, 's>(image: &'a Image<'s>, name: &str) -> &'a Symbol<'s> {
    let found = image.symbols.iter().find(|symbol| symbol.name == name.as_bytes());
    found.unwrap_or_else(|| panic!("no symbol {name}"))
}
