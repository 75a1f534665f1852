//! What identifies an input and everything that decides its index: BLAKE3 of files, read
//! beside the build, and one digest of all. Never looks into a file's format.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use symidx::format;

use super::{BuildError, BuildOptions, option_words};
use crate::input::{Input, InputError};
use crate::model::Image;

/// BLAKE3 of an input.
pub(super) fn hash_input(input: &Input<'_>, stopped: &AtomicBool) -> io::Result<[u8; 32]> {
    match input.file {
        Some(file) => hash_file(file, stopped),
        None => Ok(*blake3::hash(input.data).as_bytes()),
    }
}

/// BLAKE3 of a file, read in order: hashing through the map would fill it
/// with pages that nothing else needs.
fn hash_file(mut file: &std::fs::File, stopped: &AtomicBool) -> io::Result<[u8; 32]> {
    use std::io::{Read as _, Seek as _};
    file.rewind()?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    while !stopped.load(Ordering::Relaxed) {
        match file.read(&mut buffer)? {
            0 => return Ok(*hasher.finalize().as_bytes()),
            count => hasher.update(buffer.get(..count).unwrap_or(&[])),
        };
    }
    Err(io::Error::from(io::ErrorKind::Interrupted))
}

/// Tells the hashing thread to stop when the build ends before it: an input
/// that is refused is not read to its end first.
#[derive(Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The hash from its thread.
pub(super) fn joined(
    hash: std::thread::ScopedJoinHandle<'_, io::Result<[u8; 32]>>,
    path: &Path,
    options: &BuildOptions,
) -> Result<[u8; 32], BuildError> {
    if !hash.is_finished() {
        options.progress.phase("hashing", 0);
    }
    let lost = |_| Err(io::Error::other("the hashing thread ended early"));
    hash.join().unwrap_or_else(lost).map_err(|source| {
        InputError::Io { path: path.to_path_buf(), action: "read", source }.into()
    })
}

/// One digest of everything that decides an index's bytes. The program's
/// version is part of it: another release may know better rules.
pub(super) fn inputs_digest(
    image: &Image<'_>,
    input_hash: &[u8; 32],
    companions: &[(String, [u8; 32])],
    options: &BuildOptions,
) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("symidx inputs digest v1");
    let mut field = |bytes: &[u8]| {
        hasher.update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(bytes);
    };
    field(env!("CARGO_PKG_VERSION").as_bytes());
    field(&format::VERSION.to_le_bytes());
    field(input_hash);
    let (slice_offset, slice_size) = image.slice.unwrap_or((0, 0));
    field(&slice_offset.to_le_bytes());
    field(&slice_size.to_le_bytes());
    for word in option_words(options) {
        field(word.as_bytes());
    }
    for (role, hash) in companions {
        field(role.as_bytes());
        field(hash);
    }
    *hasher.finalize().as_bytes()
}
