//! Frames: an address in, the chain of functions that its code was written in out.
//!
//! The innermost frame comes first: the function whose body the instruction was
//! compiled from, with file, line and column; then, each at its call site, the
//! functions it was inlined into; last the function that the symbol names.
//! Never allocates, never loops: each frame lies before the one it came from.

use core::fmt;
use core::hint::select_unpredictable;

use crate::answer::{Found, Symbol};
use crate::error::Corrupt;
use crate::format::lines::MAX_FRAMES;
use crate::format::{NONE, SectionId};
use crate::lines::{OF_FUNCTION, Place, Row};
use crate::names::Name;
use crate::open::View;

/// A source file as DWARF states it: directory and name apart, joined by
/// whoever prints it. `Display` joins them.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// let frame = index.frames(symidx::Svma(0x400236))?.nth(1).unwrap()?;
/// let file = frame.file().unwrap();
/// assert_eq!(file.to_string(), "/src/far/away.c");
/// // A tool that moved its sources replaces the directory alone.
/// assert!(file.directory() == "/src/far" && file.name() == "away.c");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile<'a> {
    directory: Name<'a>,
    name: Name<'a>,
}

impl<'a> SourceFile<'a> {
    /// The directory, without a slash at its end (`/` itself stays); empty when the
    /// name stands alone or is absolute.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let file = index.frames(symidx::Svma(0x4001a8))?.next().unwrap()?.file().unwrap();
    /// assert_eq!(file.directory(), "/src");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn directory(&self) -> Name<'a> {
        self.directory
    }

    /// The name inside the directory; may hold slashes.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let file = index.frames(symidx::Svma(0x400264))?.next().unwrap()?.file().unwrap();
    /// assert_eq!(file.name(), "by_hand.s");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> Name<'a> {
        self.name
    }

    /// Copies as much of the joined path as fits, byte for byte; returns how many
    /// bytes the whole path has, so a result above `buffer.len()` means it was cut.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let file = index.frames(symidx::Svma(0x4001a8))?.next().unwrap()?.file().unwrap();
    /// let mut buffer = [0; 4096]; // no heap: usable in a signal handler
    /// let length = file.copy_to(&mut buffer);
    /// let path = buffer.get(..length).unwrap_or(&buffer); // cut, where it is longer
    /// assert_eq!(path, b"/src/lines.c");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_to(&self, buffer: &mut [u8]) -> usize {
        let parts = [self.directory, Name::plain(self.slash().as_bytes()), self.name];
        parts.iter().fold(0, |used, part| {
            let rest = buffer.get_mut(used..).unwrap_or_default();
            used.saturating_add(part.copy_to(rest))
        })
    }

    /// What stands between directory and name.
    fn slash(&self) -> &'static str {
        if self.directory.is_empty() || self.directory == *b"/" { "" } else { "/" }
    }
}

impl<'a> SourceFile<'a> {
    /// The file with this number; nothing for `NONE`.
    #[inline(always)]
    fn read(view: &View<'a>, file: u32) -> Result<Option<Self>, Corrupt> {
        if file == NONE {
            return Ok(None);
        }
        view.file(file).map(|(directory, name)| Some(Self { directory, name }))
    }
}

impl fmt::Display for SourceFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.directory.write_to(f)?;
        f.write_str(self.slash())?;
        self.name.write_to(f)
    }
}

/// One function of the chain.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// let frame = index.frames(symidx::Svma(0x4001a8))?.next().unwrap()?;
/// let (function, file) = (frame.function().unwrap(), frame.file().unwrap());
/// let line = frame.line().unwrap_or(0);
/// assert_eq!(format!("{function} at {file}:{line}"), "leaf at /src/lines.c:6");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    view: &'a View<'a>,
    /// Empty: not known.
    function: Name<'a>,
    file: Option<SourceFile<'a>>,
    line: u32,
    column: u32,
    /// Index of the file, or `NONE`.
    declared_file: u32,
    /// 0: not known.
    declared_line: u32,
    inlined: bool,
}

impl<'a> Frame<'a> {
    /// The function's linkage name (its plain name where it has no other);
    /// `None` for a line row outside every function.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// let names: Vec<_> = index
    ///     .frames(symidx::Svma(0x4001a8))?
    ///     .flatten()
    ///     .map(|frame| frame.function().map_or("?".to_string(), |name| name.to_string()))
    ///     .collect();
    /// assert_eq!(names, ["leaf", "middle", "outer"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn function(&self) -> Option<Name<'a>> {
        (!self.function.is_empty()).then_some(self.function)
    }

    /// The source file of the instruction, or of the call into the frame before.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Code of one function may come from several files.
    /// let frame = index.frames(symidx::Svma(0x400257))?.next().unwrap()?;
    /// assert_eq!(frame.function().unwrap(), "_start");
    /// assert_eq!(frame.file().unwrap().to_string(), "/src/generated.h");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn file(&self) -> Option<SourceFile<'a>> {
        self.file
    }

    /// The line, from 1; `None` when it is not known (compiler-made code).
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // The instruction's own line, then the lines of the calls that it is inlined through.
    /// let lines = index.frames(symidx::Svma(0x4001a8))?.flatten().map(|frame| frame.line());
    /// assert_eq!(lines.collect::<Vec<_>>(), [Some(6), Some(10), Some(17)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        (self.line != 0).then_some(self.line)
    }

    /// The column, from 1; 0 = the line as a whole. `None` when the line is not known.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Tells the calls of one line apart.
    /// let frame = index.frames(symidx::Svma(0x4001a8))?.last().unwrap()?;
    /// assert_eq!((frame.line(), frame.column()), (Some(17), Some(12)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn column(&self) -> Option<u32> {
        (self.line != 0).then_some(self.column)
    }

    /// Where the function was declared: file and line, as far as they are known.
    ///
    /// # Errors
    /// [`Corrupt`] when the file's entry or names are damaged.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Where a profile says that the function starts: pprof's `start_line`.
    /// let frame = index.frames(symidx::Svma(0x4001a8))?.last().unwrap()?;
    /// let (file, line) = frame.declared()?;
    /// assert_eq!((file.unwrap().to_string().as_str(), line), ("/src/lines.c", Some(14)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn declared(&self) -> Result<(Option<SourceFile<'a>>, Option<u32>), Corrupt> {
        let file = SourceFile::read(self.view, self.declared_file)?;
        Ok((file, (self.declared_line != 0).then_some(self.declared_line)))
    }

    /// True for a function that was inlined into the next frame.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // Real frames of the stack, without those that only the compiler knows.
    /// let frames = index.frames(symidx::Svma(0x4001a8))?.flatten();
    /// let real: Vec<_> = frames.filter(|frame| !frame.is_inlined()).map(|f| f.function()).collect();
    /// assert_eq!(real, [Some(b"outer"[..].into())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_inlined(&self) -> bool {
        self.inlined
    }
}

/// The frames of one address, innermost first; at most
/// [`MAX_FRAMES`] of them.
///
/// The outermost one has the name of the symbol that covers the address, if
/// there is one, as symbol tables know parts and clones apart that DWARF does
/// not; its file and line are DWARF's. The symbol is looked up when it is needed.
///
/// ```
/// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
/// // `leaf` inlined into `middle`, and that into `outer`.
/// let frames = index.frames(symidx::Svma(0x4001a8))?;
/// assert_eq!(frames.clone().count(), 3);
/// assert_eq!(frames.symbol()?.unwrap().name(), "outer");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    view: &'a View<'a>,
    /// The image section of a relocatable file, else `NONE`.
    section: u32,
    /// An svma, or an offset in the section.
    address: u64,
    /// Offset of the next frame's node, or `NONE`.
    node: u32,
    /// Where in its function the next frame is.
    place: Place,
    /// No line is known: the symbol is yet to come, if there is one.
    symbol_only: bool,
    left: u32,
}

impl<'a> Frames<'a> {
    #[inline(always)]
    pub(crate) fn new(view: &'a View<'a>, section: u32, address: u64) -> Result<Self, Corrupt> {
        let row = view.row_at(section, address)?;
        let symbol_only = row.is_none();
        let Row { node, place } = row.unwrap_or(Row { node: NONE, place: NOWHERE });
        Ok(Self { view, section, address, node, place, symbol_only, left: MAX_FRAMES })
    }

    pub(crate) fn none(view: &'a View<'a>) -> Self {
        Self {
            view,
            section: NO_SECTION,
            address: 0,
            node: NONE,
            place: NOWHERE,
            symbol_only: false,
            left: MAX_FRAMES,
        }
    }

    /// The symbol that covers the address, as [`crate::Index::lookup`] finds it.
    ///
    /// # Errors
    /// As [`crate::Index::lookup`].
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// // The function that has the code, and how far in it the address is.
    /// let frames = index.frames(symidx::Svma(0x4001a8))?;
    /// assert_eq!(frames.symbol()?.unwrap().offset(), 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn symbol(&self) -> Result<Option<Symbol<'a>>, Corrupt> {
        symbol_at(self.view, self.section, self.address)
    }

    /// True when there is neither a symbol nor a line, or all frames were taken.
    ///
    /// ```
    /// # let index = symidx::Index::from_bytes(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx")))?;
    /// assert!(index.frames(symidx::Svma(0x10))?.is_empty()); // an honest "unknown"
    /// assert!(!index.frames(symidx::Svma(0x400270))?.is_empty()); // data: a name, no line
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.node == NONE && (!self.symbol_only || matches!(self.symbol(), Ok(None)))
    }

    #[inline(always)]
    fn at_node(&mut self, at: u32) -> Result<Frame<'a>, Corrupt> {
        // What comes next is known only once this node was read.
        let place = core::mem::replace(&mut self.place, NOWHERE);
        self.node = NONE;
        let node = self.view.node(at)?;
        let function = self.view.function(node.function)?;
        // A chain that is too long ends in an error: nothing is cut silently.
        self.left = self
            .left
            .checked_sub(1)
            .ok_or(Corrupt { section: SectionId::INLINES, offset: at.into() })?;
        let mut name = function.name;
        let inlined = match node.parent {
            Some((parent, call)) => {
                (self.node, self.place) = (parent, call);
                true
            }
            None if node.is_symbol => false,
            None => {
                name = symbol_name(self.view, self.section, self.address)?.unwrap_or(name);
                false
            }
        };
        let file = select_unpredictable(place.file == OF_FUNCTION, function.file, place.file);
        Ok(Frame {
            view: self.view,
            function: name,
            file: SourceFile::read(self.view, file)?,
            line: place.line_in(function.base),
            column: place.column,
            declared_file: if function.declared && !function.file_of_rows {
                function.file
            } else {
                NONE
            },
            declared_line: if function.declared { function.base } else { 0 },
            inlined,
        })
    }

    /// The frame of an address without a line.
    #[inline(always)]
    fn symbol_frame(&mut self) -> Option<Result<Frame<'a>, Corrupt>> {
        if !core::mem::take(&mut self.symbol_only) {
            return None;
        }
        let function = match symbol_name(self.view, self.section, self.address) {
            Ok(name) => name?,
            Err(corrupt) => return Some(Err(corrupt)),
        };
        Some(Ok(Frame {
            view: self.view,
            function,
            file: None,
            line: 0,
            column: 0,
            declared_file: NONE,
            declared_line: 0,
            inlined: false,
        }))
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, Corrupt>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        match self.node {
            NONE => self.symbol_frame(),
            node => Some(self.at_node(node)),
        }
    }
}

impl core::iter::FusedIterator for Frames<'_> {}

#[inline]
fn symbol_at<'a>(
    view: &'a View<'a>,
    section: u32,
    address: u64,
) -> Result<Option<Symbol<'a>>, Corrupt> {
    match section {
        NONE => view.find(address),
        section => view.find_in_section(section, address),
    }
    .map(Found::symbol)
}

/// The name of the symbol there. (Frames whose address is taken are frames in memory.)
#[inline(never)]
fn symbol_name<'a>(
    view: &'a View<'a>,
    section: u32,
    address: u64,
) -> Result<Option<Name<'a>>, Corrupt> {
    Ok(symbol_at(view, section, address)?.map(|symbol| symbol.name()))
}

/// A section that no file has: of frames without an address.
const NO_SECTION: u32 = NONE - 1;
/// No place at all.
const NOWHERE: Place = Place { file: NONE, column: 0, line: 0, base_mask: 0 };

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_path_is_joined_by_one_slash_and_cut_where_there_is_no_room() {
        for (directory, name, joined) in [
            ("/src", "lib/a.c", "/src/lib/a.c"),
            ("/", "a.c", "/a.c"),
            ("", "a.c", "a.c"),
            ("", "/abs/a.c", "/abs/a.c"),
            ("/src", "", "/src/"),
        ] {
            let plain = |text: &'static str| Name::plain(text.as_bytes());
            let file = SourceFile { directory: plain(directory), name: plain(name) };
            assert_eq!(file.to_string(), joined);
            for room in 0..20 {
                let mut buffer = [b'.'; 20];
                let length = buffer.get_mut(..room).map(|buffer| file.copy_to(buffer));
                assert_eq!(length, Some(joined.len()));
                let fits = joined.len().min(room);
                assert_eq!(buffer.get(..fits), joined.as_bytes().get(..fits));
                assert!(buffer.iter().skip(fits).all(|&byte| byte == b'.'), "{joined} in {room}");
            }
        }
    }
}
