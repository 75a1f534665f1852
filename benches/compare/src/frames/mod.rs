//! In: binaries with DWARF. Out: a table each: address to all frames, size and build of files with lines and inlined functions.
//! The answers of every contender are compared with symidx's before they are timed; differences are counted, with examples.
//! Never: mixes with the names-only tables; the artifacts here hold lines.

mod contenders;
mod run;

pub use run::{prepare, run};

use std::hint::black_box;
use std::path::Path;

use crate::Result;
use crate::contenders::Artifact;

/// Longest path that is joined without heap; longer ones are cut.
const PATH: usize = 4096;

/// One frame as a contender gives it. The parts of the path are as the format keeps them.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub function: &'a [u8],
    pub directory: &'a [u8],
    pub file: &'a [u8],
    /// 0: unknown.
    pub line: u32,
}

/// One way to get from an address to all frames.
pub trait Contender {
    /// Name in the table.
    const NAME: &'static str;
    /// What `open` takes.
    const ARTIFACT: Artifact;
    /// Can use several threads to build.
    const THREADS: bool = false;
    /// Is asked for frames; otherwise only its build is measured.
    const ANSWERS: bool = true;
    type Opened: Walk;

    /// Writes the artifact with lines and inlined functions of `binary` to `out`.
    fn build(_binary: &Path, _out: &Path, _threads: usize) -> Result<()> {
        Err("nothing to build".into())
    }

    /// As `contenders::Contender::open`.
    fn open(artifact: &Path, base: u64) -> Result<Self::Opened>;
}

/// An opened contender.
pub trait Walk {
    /// Calls `f` for each frame of `addr`, innermost first, the parts of the path as they are stored.
    fn walk(&mut self, addr: u64, f: impl FnMut(View<'_>));

    /// The same with the path joined, `file` being all of it: into a buffer on the stack, or as the API does it.
    fn walk_paths(&mut self, addr: u64, f: impl FnMut(View<'_>));

    /// Start of the symbol that covers `addr`, where the contender has names alone to offer, too.
    fn symbol(&mut self, _addr: u64) -> Option<u64> {
        None
    }

    /// Whether `symbol` means something.
    const SYMBOLS: bool = false;
}

/// A [`Contender`] behind a dynamic call, one call per list.
pub trait Rival {
    fn name(&self) -> &'static str;
    fn artifact(&self) -> Artifact;
    fn threads(&self) -> bool;
    fn answers(&self) -> bool;
    fn build(&self, binary: &Path, out: &Path, threads: usize) -> Result<()>;
    fn session(&self, artifact: &Path, base: u64) -> Result<Box<dyn Session>>;
}

/// The timed loops.
pub trait Session {
    fn frames(&mut self, addrs: &[u64]) -> u64;
    fn frames_chained(&mut self, addrs: &[u64]) -> u64;
    fn paths(&mut self, addrs: &[u64]) -> u64;
    fn symbols(&mut self, addrs: &[u64]) -> Option<u64>;
    /// Function, last part of the path, line of each frame: for checking, never timed.
    fn answer(&mut self, addr: u64) -> Vec<(Vec<u8>, Vec<u8>, u32)>;
}

/// Reads what the handles of a frame say.
fn mark(view: View<'_>) -> u64 {
    let View { function, directory, file, line } = black_box(view);
    let lengths = function.len() ^ directory.len() ^ file.len();
    u64::try_from(lengths).unwrap_or(0).wrapping_add(u64::from(line))
}

/// Reads every byte of a frame.
fn read(view: View<'_>) -> u64 {
    let View { function, directory, file, line } = black_box(view);
    let bytes = function.iter().chain(directory).chain(file);
    bytes.map(|&byte| u64::from(byte)).sum::<u64>().wrapping_add(u64::from(line))
}

impl<T: Walk> Session for T {
    fn frames(&mut self, addrs: &[u64]) -> u64 {
        let mut sum = 0_u64;
        for &addr in addrs {
            self.walk(addr, |view| sum = sum.wrapping_add(mark(view)));
        }
        sum
    }

    fn frames_chained(&mut self, addrs: &[u64]) -> u64 {
        let zero = black_box(0_u64);
        let mut sum = 0_u64;
        for &addr in addrs {
            self.walk(addr.wrapping_add(sum & zero), |view| sum = sum.wrapping_add(mark(view)));
        }
        sum
    }

    fn paths(&mut self, addrs: &[u64]) -> u64 {
        let mut sum = 0_u64;
        for &addr in addrs {
            self.walk_paths(addr, |view| sum = sum.wrapping_add(read(view)));
        }
        sum
    }

    fn symbols(&mut self, addrs: &[u64]) -> Option<u64> {
        T::SYMBOLS.then(|| {
            let starts = addrs.iter().map(|&addr| self.symbol(addr).unwrap_or(1));
            starts.fold(0, u64::wrapping_add)
        })
    }

    fn answer(&mut self, addr: u64) -> Vec<(Vec<u8>, Vec<u8>, u32)> {
        let mut out = Vec::new();
        self.walk_paths(addr, |view| {
            let name = view.file.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            out.push((view.function.to_vec(), name.to_vec(), view.line));
        });
        out
    }
}

/// All contenders in table order.
pub fn all() -> Vec<Box<dyn Rival>> {
    contenders::all()
}

/// The contender of that name.
pub fn find(name: &str) -> Result<Box<dyn Rival>> {
    all()
        .into_iter()
        .find(|rival| rival.name() == name)
        .ok_or_else(|| format!("no contender `{name}` with lines").into())
}

/// Joins a directory and a name on the stack.
pub struct Buffer {
    bytes: [u8; PATH],
    len: usize,
}

impl Buffer {
    pub fn new() -> Self {
        Self { bytes: [0; PATH], len: 0 }
    }

    /// The parts, those that are not empty, with one slash between them.
    pub fn join(&mut self, parts: &[&[u8]]) -> &[u8] {
        self.len = 0;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            if part.first() == Some(&b'/') {
                self.len = 0;
            } else if self.len > 0 && self.bytes.get(self.len - 1) != Some(&b'/') {
                self.push(b"/");
            }
            self.push(part);
        }
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn push(&mut self, part: &[u8]) {
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        let part = part.get(..part.len().min(room.len())).unwrap_or_default();
        if let Some(to) = room.get_mut(..part.len()) {
            to.copy_from_slice(part);
            self.len += part.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_as_paths_are() {
        let mut buffer = Buffer::new();
        assert_eq!(buffer.join(&[b"/src", b"", b"a/b.c"]), b"/src/a/b.c");
        assert_eq!(buffer.join(&[b"/src", b"/abs/b.c"]), b"/abs/b.c");
        assert_eq!(buffer.join(&[b"/", b"b.c"]), b"/b.c");
        let long = [b'x'; PATH];
        assert_eq!(buffer.join(&[b"/src", &long]).len(), PATH);
    }
}
