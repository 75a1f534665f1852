//! kallsyms input.

use std::path::Path;

use super::{InputError, ReadOptions};
use crate::model::{Image, Store};

/// True when the bytes start like kallsyms.
#[must_use]
pub fn is_kallsyms(data: &[u8]) -> bool {
    let _ = data;
    false
}

/// Reads kallsyms bytes.
///
/// # Errors
/// [`InputError`] when nothing can be read.
pub fn read<'store>(
    path: &Path,
    data: &'store [u8],
    store: &'store Store,
    options: &ReadOptions,
) -> Result<Image<'store>, InputError> {
    let _ = (data, store, options);
    Err(InputError::ChooseSlice { path: path.to_path_buf(), wanted: None, slices: Vec::new() })
}
