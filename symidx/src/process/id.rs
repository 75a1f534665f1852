//! Which build a file is: its build-id or UUID, by value.

use core::fmt;

use crate::format::MAX_ID;
use crate::index::Index;

/// A GNU build-id or a Mach-O UUID. At most [`MAX_ID`] bytes, never empty.
///
/// ```
/// use symidx::process::Id;
///
/// // Where a debug file or an index lies in a `.build-id` tree.
/// let id = Id::new(&[0x93, 0xac, 0x01]).unwrap().to_string();
/// assert_eq!(format!(".build-id/{}/{}.symidx", &id[..2], &id[2..]), ".build-id/93/ac01.symidx");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id {
    length: u8,
    bytes: [u8; MAX_ID],
}

impl Id {
    /// The id with these bytes; `None` when there are none or too many.
    ///
    /// ```
    /// let id = symidx::process::Id::new(&[0x93, 0xac]).unwrap();
    /// assert_eq!(id.to_string(), "93ac");
    /// ```
    #[must_use]
    pub fn new(id: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_ID];
        bytes.get_mut(..id.len()).filter(|room| !room.is_empty())?.copy_from_slice(id);
        Some(Self { length: u8::try_from(id.len()).ok()?, bytes })
    }

    /// The id that an index states.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // What to tell `Store::evict` when this index was replaced.
    /// let id = symidx::process::Id::of(&index).unwrap();
    /// assert_eq!(id.to_string(), "1122334455667788");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of(index: &Index<'_>) -> Option<Self> {
        match index.build_id() {
            Some(id) => Self::new(id),
            None => Self::new(&index.uuid()?),
        }
    }

    /// Its bytes.
    ///
    /// ```
    /// let id = symidx::process::Id::new(&[0x93, 0xac]).unwrap();
    /// assert_eq!(id.as_bytes(), [0x93, 0xac]);
    /// ```
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&[])
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}
