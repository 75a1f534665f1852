//! A process: run-time addresses of whatever files it has mapped.
//!
//! In: the text of `/proc/PID/maps`, read once. Out: per address the mapping,
//! the file's index (opened once) and the answer. Never stops the process and
//! never reads its memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use symidx::format::SEGMENT_EXECUTE;
use symidx::{Index, Svma};

use super::LookupArgs;
use super::image::{Found, Reason, find_at};
use super::query::Query;
use crate::failure::Failure;
use crate::frames::Want;
use crate::options::{ReadArgs, parse_address};
use crate::source::{self, Source};
use crate::text::os_str;
use crate::ui::Ui;

/// The mappings of a process and the indexes of its files.
pub(super) struct Process {
    mappings: Vec<Mapping>,
    opened: HashMap<PathBuf, Result<Index<'static>, String>>,
    /// In front of every path: the process's own root directory.
    root: Option<PathBuf>,
    read: ReadArgs,
    store: Option<PathBuf>,
    back: u64,
    want: Want,
    ui: Ui,
}

/// One line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    execute: bool,
    /// File offset of the first byte.
    offset: u64,
    /// A path, a pseudo-path in brackets, or nothing.
    path: Vec<u8>,
}

impl Process {
    /// A process that runs.
    pub(super) fn live(pid: u32, args: &LookupArgs, ui: Ui) -> Result<Self, Failure> {
        let directory = Path::new("/proc").join(pid.to_string());
        let mut process = Self::recorded(&directory.join("maps"), args, ui)?;
        process.root = Some(directory.join("root"));
        Ok(process)
    }

    /// A process as it was when its maps were recorded.
    pub(super) fn recorded(maps: &Path, args: &LookupArgs, ui: Ui) -> Result<Self, Failure> {
        let text = std::fs::read(maps)
            .map_err(|error| Failure::file(maps, format_args!("cannot read: {error}")))?;
        let mut mappings = Vec::new();
        for (number, line) in (1u32..).zip(text.split(|&byte| byte == b'\n')) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let Some(mapping) = Mapping::parse(line) else {
                return Err(Failure::file(
                    maps,
                    format_args!(
                        "line {number}: expected a line of /proc/PID/maps, found `{}`",
                        String::from_utf8_lossy(line)
                    ),
                ));
            };
            mappings.push(mapping);
        }
        mappings.sort_by_key(|mapping| mapping.start);
        Ok(Self {
            mappings,
            opened: HashMap::new(),
            root: None,
            read: args.read.clone(),
            store: args.store.clone(),
            back: u64::from(args.return_address),
            want: args.want(),
            ui,
        })
    }

    /// Answers a query.
    pub(super) fn find(&mut self, query: Query<'_>) -> Found<'_> {
        if query.section.is_some() {
            return Found::Wrong(
                "sections have no place in a process; give the address".to_owned(),
            );
        }
        let Some(address) = query.address.checked_sub(self.back) else {
            return Found::Miss(Reason::Uncovered.into());
        };
        let after = self.mappings.partition_point(|mapping| mapping.start <= address);
        let holding = after.checked_sub(1).and_then(|at| self.mappings.get(at));
        let Some(mapping) = holding.filter(|mapping| address < mapping.end) else {
            return Found::Miss("no mapping holds this address".into());
        };
        let path = match mapping.file() {
            Ok(path) => path,
            Err(reason) => return Found::Miss(reason.into()),
        };
        if !self.opened.contains_key(path) {
            let index = self.open(path);
            self.opened.insert(path.to_owned(), index);
        }
        let index = match self.opened.get(path) {
            Some(Ok(index)) => index,
            Some(Err(error)) => return Found::Miss(error.clone().into()),
            None => return Found::Miss(Reason::Uncovered.into()),
        };
        let offset = address.wrapping_sub(mapping.start).wrapping_add(mapping.offset);
        match svma_of(index, offset, mapping.execute) {
            Some(svma) => find_at(index, svma, self.back, self.want, Some(path))
                .unwrap_or_else(|corrupt| Found::Wrong(corrupt.to_string())),
            None => Found::Miss(
                format!("no segment of {} holds its file offset {offset:#x}", path.display())
                    .into(),
            ),
        }
    }

    fn open(&self, path: &Path) -> Result<Index<'static>, String> {
        let within = self.root.as_ref().and_then(|root| {
            let relative = path.strip_prefix("/").unwrap_or(path);
            Some(root.join(relative)).filter(|within| within.exists())
        });
        let file = within.as_deref().unwrap_or(path);
        // Opening a pipe would wait, and a device has no symbols.
        if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(format!("no file: {}", path.display()));
        }
        let source = Source { file, read: &self.read, store: self.store.as_deref() };
        source::open(source, self.ui).map_err(|failure| failure.to_string())
    }
}

impl Mapping {
    /// `start-end perms offset device inode  path`; the path may hold spaces.
    fn parse(line: &[u8]) -> Option<Self> {
        let (range, rest) = word(line)?;
        let (permissions, rest) = word(rest)?;
        let (offset, rest) = word(rest)?;
        let (_device, rest) = word(rest)?;
        let (_inode, rest) = word(rest).unwrap_or_default();
        let dash = memchr::memchr(b'-', range)?;
        let (start, end) = range.split_at_checked(dash)?;
        Some(Self {
            start: parse_address(start)?,
            end: parse_address(end.get(1..)?)?,
            execute: permissions.get(2) == Some(&b'x'),
            offset: parse_address(offset)?,
            path: unescape(rest.trim_ascii()),
        })
    }

    /// The file, or why there is none.
    fn file(&self) -> Result<&Path, String> {
        match self.path.as_slice() {
            [] => Err("anonymous memory".to_owned()),
            [b'[', ..] | [b'/', b'/', ..] => {
                Err(format!("no file: {}", String::from_utf8_lossy(&self.path)))
            }
            path if path.ends_with(b" (deleted)") => {
                Err(format!("the file is gone: {}", String::from_utf8_lossy(path)))
            }
            path => Ok(Path::new(os_str(path))),
        }
    }
}

/// The first word of a line, and what follows it.
fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_start();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    line.split_at_checked(end).filter(|(word, _)| !word.is_empty())
}

/// The kernel writes a line feed in a path as `\012`.
fn unescape(path: &[u8]) -> Vec<u8> {
    let mut rest = path;
    let mut bytes = Vec::with_capacity(path.len());
    while let Some(at) = memchr::memmem::find(rest, b"\\012") {
        bytes.extend_from_slice(rest.get(..at).unwrap_or(&[]));
        bytes.push(b'\n');
        rest = rest.get(at.saturating_add(4)..).unwrap_or(&[]);
    }
    bytes.extend_from_slice(rest);
    bytes
}

/// The svma of a file offset in a mapping. Text and data may share a page of
/// the file: the mapping's permission says which of them is meant.
fn svma_of(index: &Index<'_>, offset: u64, execute: bool) -> Option<Svma> {
    let mut holding = index
        .segments()
        .iter()
        .filter(|segment| offset.wrapping_sub(segment.file_offset.get()) < segment.file_size.get());
    let same = |segment: &&symidx::format::Segment| {
        (segment.flags.get() & SEGMENT_EXECUTE != 0) == execute
    };
    let segment = holding.clone().find(same).or_else(|| holding.next())?;
    let into = offset.checked_sub(segment.file_offset.get())?;
    segment.address.get().checked_add(into).map(Svma)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_read_whole() {
        let line = b"7f0000015000-7f0000025000 r-xp 00002000 08:01 42     /a dir/b\\012c.so";
        let mapping = Mapping {
            start: 0x7f00_0001_5000,
            end: 0x7f00_0002_5000,
            execute: true,
            offset: 0x2000,
            path: b"/a dir/b\nc.so".to_vec(),
        };
        assert_eq!(Mapping::parse(line), Some(mapping.clone()));
        assert!(mapping.file().is_ok());
        let anonymous = Mapping::parse(b"10-20 rw-p 0 00:00 0").map(|m| m.file().is_err());
        assert_eq!(anonymous, Some(true));
        let vdso = Mapping::parse(b"10-20 r-xp 0 00:00 0    [vdso]").map(|m| m.file().is_err());
        assert_eq!(vdso, Some(true));
        assert_eq!(Mapping::parse(b"not a mapping"), None);
    }
}
