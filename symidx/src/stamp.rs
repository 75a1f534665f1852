//! Which file it is, and which state of it: metadata in, the name of its link in a
//! store out. The one home of that name.

use core::fmt;

/// A file in one state: stands for its content until it is written again. Its text is
/// the name of the link that a store has for it under `.by-file`: device, inode, size,
/// and the times of the last change of contents and of inode in nanoseconds, in
/// lower-case hex with `-` between. Times before 1970 are negative numbers of 64 bits.
///
/// ```
/// let file = std::env::current_exe()?.metadata()?;
/// let name = symidx::Stamp::of(&file).to_string();
/// assert_eq!(name.split('-').count(), 5);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    /// Nanoseconds.
    modified: i64,
    changed: i64,
}

impl Stamp {
    /// The state that metadata tells.
    #[must_use]
    pub fn of(file: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            device: file.dev(),
            inode: file.ino(),
            size: file.size(),
            modified: nanoseconds(file.mtime(), file.mtime_nsec()),
            changed: nanoseconds(file.ctime(), file.ctime_nsec()),
        }
    }

    /// Bytes of the file.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, inode, size, modified, changed } = self;
        write!(f, "{device:x}-{inode:x}-{size:x}-{modified:x}-{changed:x}")
    }
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn a_name_is_five_numbers_in_hex() {
        let stamp = Stamp { device: 0x801, inode: 0x2a4b, size: 3, modified: 16, changed: -1 };
        assert_eq!(stamp.to_string(), "801-2a4b-3-10-ffffffffffffffff");
        assert_eq!(nanoseconds(-1, 5), -999_999_995);
    }
}
