//! The metadata section: how the index was made and what was left out.
//!
//! Variable in shape and never on a lookup's path, so it is an rkyv archive,
//! validated with bytecheck before anything of it is believed.
//!
//! ```
//! # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
//! let metadata = symidx::metadata::read(&index)?.unwrap();
//! assert_eq!((metadata.producer.as_str(), metadata.machine.as_str()), ("symidx 0.1.0", "x86_64"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use rkyv::rancor;

use crate::error::{Invariant, Violation};
use crate::format::SectionId;
use crate::index::Index;

/// Provenance of an index. No time, no host and no path: the same input and
/// options give the same metadata.
///
/// ```
/// use symidx::metadata::Metadata;
///
/// let metadata = Metadata { producer: "my indexer 1.0".into(), symbols: 6, ..Metadata::default() };
/// assert_eq!(metadata.to_bytes()?, metadata.clone().to_bytes()?); // the same bytes, always
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(
    Clone, Debug, Default, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize,
)]
pub struct Metadata {
    /// Program and version that wrote the index: `symidx 0.1.0`.
    pub producer: String,
    /// Build options that change the contents, in their command-line form.
    pub options: Vec<String>,
    /// Usual name of the input's machine: `x86_64`, `arm64e`.
    pub machine: String,
    /// Companion files that were used: role, BLAKE3 of the file.
    pub companions: Vec<(String, [u8; 32])>,
    /// What was left out: reason, how many.
    pub skipped: Vec<(String, u64)>,
    /// How many warnings the build printed.
    pub warnings: u64,
    /// Symbols that answer addresses.
    pub symbols: u64,
    /// Functions (indirect ones included) that answer addresses.
    pub functions: u64,
}

impl Metadata {
    /// The archive, the same bytes for equal metadata.
    ///
    /// # Errors
    /// Only when memory runs out or the archive passes 2 GiB.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // What an indexer writes into the metadata section.
    /// let metadata = symidx::metadata::read(&index)?.unwrap();
    /// assert_eq!(metadata.to_bytes()?, index.metadata_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>, rancor::Error> {
        rkyv::to_bytes::<rancor::Error>(self).map(|bytes| bytes.to_vec())
    }
}

/// The index's metadata; `None` when it carries none.
///
/// # Errors
/// [`Violation`] when the archive does not validate.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// // What the index leaves out, and why.
/// let metadata = symidx::metadata::read(&index)?.unwrap();
/// assert_eq!(metadata.skipped, [("file symbol".to_string(), 1)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(index: &Index<'_>) -> Result<Option<Metadata>, Violation> {
    let bytes = index.metadata_bytes();
    if bytes.is_empty() {
        return Ok(None);
    }
    rkyv::from_bytes::<Metadata, rancor::Error>(bytes)
        .map(Some)
        .map_err(|_| Violation::entry(Invariant::MetadataShape, SectionId::METADATA, 0))
}
