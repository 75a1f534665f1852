//! `/proc/PID/maps`: its text in, mappings out.
//!
//! Reads one line at a time and borrows from it. Never touches the process.

use core::fmt;

/// One line of `/proc/PID/maps`.
///
/// ```
/// use symidx::process::Mapping;
///
/// let text = b"400000-401000 r--p 00000000 08:01 42 /bin/app
/// 401000-403000 r-xp 00001000 08:01 42 /bin/app";
/// let code = text.split(|&b| b == b'\n').filter_map(Mapping::parse).find(|m| m.executable).unwrap();
/// // A sample's place in the file: ip - start + pgoff.
/// assert_eq!(0x401234 - code.start + code.file_offset, 0x1234);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping<'t> {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// True when it may be read.
    pub readable: bool,
    /// True when it may be written.
    pub writable: bool,
    /// True for code.
    pub executable: bool,
    /// File offset of the first byte.
    pub file_offset: u64,
    /// Device, as `major << 32 | minor`.
    pub device: u64,
    /// Inode; 0 = no file.
    pub inode: u64,
    /// A path, a name in brackets, or nothing; a line feed in it reads `\012`.
    pub name: &'t [u8],
}

/// What a mapping holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    File,
    Vdso,
    Anonymous,
}

/// What follows the path of a file that was unlinked.
const DELETED: &[u8] = b" (deleted)";

impl<'t> Mapping<'t> {
    /// Reads `start-end perms offset device inode  name`.
    ///
    /// ```
    /// let line = b"7f0015000-7f0025000 r-xp 00002000 08:01 42   /a dir/c.so";
    /// let mapping = symidx::process::Mapping::parse(line).unwrap();
    /// assert_eq!((mapping.file_offset, mapping.name), (0x2000, &b"/a dir/c.so"[..]));
    /// ```
    #[must_use]
    pub fn parse(line: &'t [u8]) -> Option<Self> {
        let (range, rest) = word(line)?;
        let (permissions, rest) = word(rest)?;
        let (offset, rest) = word(rest)?;
        let (device, rest) = word(rest)?;
        let (inode, rest) = word(rest)?;
        let (start, end) = pair(range, b'-')?;
        let (major, minor) = pair(device, b':')?;
        Some(Self {
            start: hex(start)?,
            end: hex(end)?,
            readable: permissions.first() == Some(&b'r'),
            writable: permissions.get(1) == Some(&b'w'),
            executable: permissions.get(2) == Some(&b'x'),
            file_offset: hex(offset)?,
            device: hex(major)?.checked_shl(32)? | hex(minor)?,
            inode: core::str::from_utf8(inode).ok()?.parse().ok()?,
            name: rest.trim_ascii(),
        })
    }

    /// The path of its file as it was when mapped, and whether it was unlinked since.
    ///
    /// ```
    /// let line = b"400000-401000 r-xp 00000000 08:01 42 /bin/app (deleted)";
    /// let mapping = symidx::process::Mapping::parse(line).unwrap();
    /// assert_eq!(mapping.path(), (&b"/bin/app"[..], true));
    /// ```
    #[must_use]
    pub fn path(&self) -> (&'t [u8], bool) {
        match self.name.strip_suffix(DELETED) {
            Some(path) => (path, true),
            None => (self.name, false),
        }
    }

    /// True where nothing may be done: room that a loader keeps between segments.
    pub(crate) fn is_closed(&self) -> bool {
        !(self.readable || self.writable || self.executable)
    }

    /// True for memory that may be the end of a segment: what a file has no
    /// bytes for, or code that was moved to large pages. The heap may begin in
    /// the same mapping as the program's own memory ends.
    pub(crate) fn may_be_segment(&self) -> bool {
        self.inode == 0 && (matches!(self.name, [] | b"[heap]") || self.name.starts_with(b"[anon:"))
    }

    /// Shared memory and device mappings have a path, but no file that holds symbols.
    pub(crate) fn content(&self) -> Content {
        match self.name {
            b"[vdso]" => Content::Vdso,
            [] | [b'[', ..] | [b'/', b'/', ..] => Content::Anonymous,
            name if name.starts_with(b"/SYSV") => Content::Anonymous,
            name if name.starts_with(b"/dev/") && !name.starts_with(b"/dev/shm/") => {
                Content::Anonymous
            }
            name if name.starts_with(b"/memfd:") && self.inode == 0 => Content::Anonymous,
            _ => Content::File,
        }
    }
}

/// A line that is not one of `/proc/PID/maps`.
///
/// ```
/// use symidx::process::{MapsError, Modules};
///
/// let error = Modules::from_maps(b"\n400000-401000 r-xp").unwrap_err();
/// assert_eq!(error, MapsError { line: 2 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapsError {
    /// Its number, from 1.
    pub line: u32,
}

impl fmt::Display for MapsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}: expected a line of /proc/PID/maps (`start-end perms offset dev inode path`), found something else; record the text again",
            self.line
        )
    }
}

impl core::error::Error for MapsError {}

/// Every mapping of the text, in its order; blank lines are skipped.
pub(crate) fn mappings(text: &[u8]) -> impl Iterator<Item = Result<Mapping<'_>, MapsError>> {
    (1u32..).zip(text.split(|&byte| byte == b'\n')).filter_map(|(line, bytes)| {
        match bytes.trim_ascii().is_empty() {
            true => None,
            false => Some(Mapping::parse(bytes).ok_or(MapsError { line })),
        }
    })
}

/// The path with the kernel's `\012` read as the line feed that it stands for.
pub(crate) fn unescape(path: &[u8]) -> std::vec::Vec<u8> {
    let mut bytes = std::vec::Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, after)) = rest.split_first() {
        rest = match rest.strip_prefix(b"\\012") {
            Some(after) => {
                bytes.push(b'\n');
                after
            }
            None => {
                bytes.push(first);
                after
            }
        };
    }
    bytes
}

/// The first word of a line, and what follows it.
fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_start();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    line.split_at_checked(end).filter(|(word, _)| !word.is_empty())
}

fn pair(text: &[u8], between: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&byte| byte == between)?;
    let (left, right) = text.split_at_checked(at)?;
    Some((left, right.get(1..)?))
}

/// Hex digits, 64 bits at most.
pub(crate) fn hex(digits: &[u8]) -> Option<u64> {
    let text = core::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests;
