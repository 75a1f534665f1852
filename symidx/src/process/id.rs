//! Which build a file is: its build-id or UUID, by value.

use core::fmt;

use crate::format::MAX_ID;
use crate::index::Index;

/// A GNU build-id or a Mach-O UUID. At most [`MAX_ID`] bytes, never empty.
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
    #[must_use]
    pub fn of(index: &Index<'_>) -> Option<Self> {
        match index.build_id() {
            Some(id) => Self::new(id),
            None => Self::new(&index.uuid()?),
        }
    }

    /// Its bytes.
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
