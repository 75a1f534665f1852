//! Frames as text: what the printers know of a frame.
//!
//! In: frames of the library. Out: plain values with bytes that print as they
//! are. A chain that breaks is never shown in part: the caller is told.

use std::borrow::Cow;

use symidx::{Corrupt, DisplayName, Frame, Frames, Index, Name, SourceFile, Symbol};

/// One function of a chain; what is not known is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameText<'i> {
    /// Linkage name.
    pub(crate) function: Option<Name<'i>>,
    /// What its index stores to be shown for it.
    pub(crate) display: Option<DisplayName<'i>>,
    /// Where the instruction, or the call into the frame before, was written.
    pub(crate) file: Option<PathText<'i>>,
    /// From 1.
    pub(crate) line: Option<u32>,
    /// From 1; 0 = the line as a whole.
    pub(crate) column: Option<u32>,
    /// Where the function was declared.
    pub(crate) declared_file: Option<PathText<'i>>,
    /// From 1.
    pub(crate) declared_line: Option<u32>,
    /// Inlined into the next frame.
    pub(crate) inlined: bool,
}

impl<'i> FrameText<'i> {
    fn new(index: &'i Index<'_>, frame: Frame<'i>, want: Want) -> Self {
        let shown = frame.function().filter(|_| want.display);
        // Damage there costs no more than that, and `verify` tells of it.
        let (declared_file, declared_line) = frame.declared().unwrap_or_default();
        Self {
            function: frame.function(),
            // Damage there costs no more than that: the name is demangled again.
            display: shown.and_then(|name| index.display_name(name).ok().flatten()),
            file: frame.file().map(PathText::from),
            line: frame.line(),
            column: frame.column(),
            declared_file: declared_file.map(PathText::from),
            declared_line,
            inlined: frame.is_inlined(),
        }
    }
}

/// A path in two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathText<'i> {
    /// Without a slash at its end, except for `/` itself; may be empty.
    pub(crate) directory: Name<'i>,
    /// Inside the directory; may hold slashes.
    pub(crate) name: Name<'i>,
}

impl<'i> From<SourceFile<'i>> for PathText<'i> {
    fn from(file: SourceFile<'i>) -> Self {
        Self { directory: file.directory(), name: file.name() }
    }
}

impl<'i> PathText<'i> {
    /// Appends the joined path, byte for byte.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        if !self.directory.is_empty() {
            self.directory.pieces().for_each(|piece| out.extend_from_slice(piece));
            if self.directory != *b"/" {
                out.push(b'/');
            }
        }
        self.name.pieces().for_each(|piece| out.extend_from_slice(piece));
    }

    /// What follows the last slash.
    pub(crate) fn base(&self) -> Cow<'i, [u8]> {
        let base = |name: &[u8]| memchr::memrchr(b'/', name).map_or(0, |at| at.saturating_add(1));
        match self.name.to_bytes() {
            Cow::Borrowed(name) => Cow::Borrowed(name.get(base(name)..).unwrap_or(&[])),
            Cow::Owned(mut name) => Cow::Owned(name.split_off(base(&name).min(name.len()))),
        }
    }
}

/// Every frame, innermost first.
fn collect<'i>(
    index: &'i Index<'_>,
    frames: Frames<'i>,
    want: Want,
) -> Result<Vec<FrameText<'i>>, Corrupt> {
    frames.map(|frame| frame.map(|frame| FrameText::new(index, frame, want))).collect()
}

/// What is printed of a chain: the rest is not looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    /// All frames, not one that stands for them.
    pub(crate) inlines: bool,
    /// Names as the index stores them for people.
    pub(crate) display: bool,
}

/// The symbol that the frames were found with; where a line is damaged it is looked up alone.
pub(crate) fn symbol_of<'i>(
    frames: &Result<Frames<'i>, Corrupt>,
    lookup: impl FnOnce() -> Result<Option<Symbol<'i>>, Corrupt>,
) -> Result<Option<Symbol<'i>>, Corrupt> {
    match frames {
        Ok(frames) => frames.symbol(),
        Err(_) => lookup(),
    }
}

/// The frames of one answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain<'i> {
    /// Innermost first.
    pub(crate) frames: Vec<FrameText<'i>>,
    /// What broke the chain: then only the symbol's own frame is left of it.
    pub(crate) damage: Option<Corrupt>,
}

impl<'i> Chain<'i> {
    /// The whole chain; where a part of it is damaged, the symbol alone.
    pub(crate) fn new(
        index: &'i Index<'_>,
        frames: Result<Frames<'i>, Corrupt>,
        symbol: Option<&Symbol<'i>>,
        want: Want,
    ) -> Self {
        match frames.and_then(|frames| collect(index, frames, want)) {
            Ok(frames) if want.inlines => Self { frames, damage: None },
            Ok(frames) => {
                Self { frames: without_inlines(&frames).into_iter().collect(), damage: None }
            }
            Err(corrupt) => {
                let alone = symbol.map(|symbol| FrameText {
                    function: Some(symbol.name()),
                    display: symbol.display_name().ok().flatten(),
                    ..FrameText::default()
                });
                Self { frames: alone.into_iter().collect(), damage: Some(corrupt) }
            }
        }
    }
}

/// The one frame that stands for a chain without its inlined functions: the
/// name of the outermost function, all else of the innermost, as
/// llvm-symbolizer --no-inlines gives it.
fn without_inlines<'i>(frames: &[FrameText<'i>]) -> Option<FrameText<'i>> {
    let (innermost, outermost) = (frames.first()?, frames.last()?);
    let FrameText { function, display, .. } = *outermost;
    Some(FrameText { function, display, inlined: false, ..*innermost })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(bytes: &'static [u8]) -> Name<'static> {
        Name::from(bytes)
    }

    #[test]
    fn a_path_is_joined_with_one_slash() {
        for (directory, file, joined, base) in [
            ("/src", "a.c", "/src/a.c", "a.c"),
            ("/", "a.c", "/a.c", "a.c"),
            ("", "a.c", "a.c", "a.c"),
            ("/src", "lib/a.c", "/src/lib/a.c", "a.c"),
            ("", "/abs/a.c", "/abs/a.c", "a.c"),
            ("/src", "", "/src/", ""),
        ] {
            let path =
                PathText { directory: name(directory.as_bytes()), name: name(file.as_bytes()) };
            let mut out = Vec::new();
            path.write(&mut out);
            assert_eq!((out.as_slice(), &*path.base()), (joined.as_bytes(), base.as_bytes()));
        }
    }

    #[test]
    fn without_inlines_the_outermost_function_is_at_the_innermost_place() {
        let path = |file| Some(PathText { directory: name(b"/s"), name: name(file) });
        let inner = FrameText {
            function: Some(name(b"inner")),
            file: path(b"a.c"),
            line: Some(2),
            column: Some(75),
            inlined: true,
            ..FrameText::default()
        };
        let outer = FrameText {
            function: Some(name(b"outer")),
            file: path(b"b.c"),
            line: Some(7),
            column: Some(10),
            declared_line: Some(6),
            ..FrameText::default()
        };
        let one = FrameText { function: Some(name(b"outer")), inlined: false, ..inner };
        assert_eq!(without_inlines(&[inner, outer]), Some(one));
        assert_eq!(without_inlines(&[]), None);
    }
}
