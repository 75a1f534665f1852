//! What a resolver answers: symbols and frames with the module they are of.
//!
//! Borrows from the resolver and its maps; reading them needs no heap, no lock
//! and no system call.

use crate::address::Svma;
use crate::answer::Symbol;
use crate::frames::Frames;
use crate::index::Index;
use crate::process::modules::Module;

/// A symbol at a run-time address.
///
/// ```
/// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
/// resolver.open_all();
/// let found = resolver.lookup(0x5555_0000_01a8)?;
/// let symbol = found.symbol();
/// assert_eq!(format!("{}+{:#x}", symbol.name(), symbol.offset()), "outer+0x8");
/// assert_eq!(found.svma(), symidx::Svma(0x4001a8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Resolved<'r> {
    pub(super) module: Option<&'r Module>,
    pub(super) svma: Svma,
    pub(super) index: &'r Index<'static>,
    pub(super) symbol: Symbol<'r>,
}

impl<'r> Resolved<'r> {
    /// The module it lies in; `None` for an index that was added by
    /// [`Resolver::add_index`](crate::process::Resolver::add_index).
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// let module = resolver.lookup(0x5555_0000_01a8)?.module().unwrap();
    /// assert_eq!(module.path().file_name().unwrap(), "lines.elf"); // outer (…/lines.elf)
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn module(&self) -> Option<&'r Module> {
        self.module
    }

    /// The address as the module's symbol table counts.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// // What `addr2line -e lines.elf` would be asked.
    /// assert_eq!(resolver.lookup(0x5555_0000_01a8)?.svma(), symidx::Svma(0x4001a8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn svma(&self) -> Svma {
        self.svma
    }

    /// The module's index.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// let found = resolver.lookup(0x5555_0000_01a8)?;
    /// // C++ names for people, if the index was built with `--demangle`.
    /// let shown = found.index().display_name(found.symbol().name())?;
    /// assert!(shown.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn index(&self) -> &'r Index<'static> {
        self.index
    }

    /// The symbol that covers it.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// assert_eq!(resolver.lookup(0x5555_0000_0220)?.symbol().name(), "_start");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn symbol(&self) -> Symbol<'r> {
        self.symbol
    }
}

/// The frames at a run-time address.
///
/// ```
/// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
/// resolver.open_all();
/// let mut names = Vec::new();
/// for frame in resolver.frames(0x5555_0000_01a8)?.frames() {
///     names.push(frame?.function().unwrap().to_string());
/// }
/// assert_eq!(names, ["leaf", "middle", "outer"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ResolvedFrames<'r> {
    pub(super) module: Option<&'r Module>,
    pub(super) svma: Svma,
    pub(super) index: &'r Index<'static>,
    pub(super) frames: Frames<'r>,
}

impl<'r> ResolvedFrames<'r> {
    /// The module it lies in; `None` for an index that was added.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// let found = resolver.frames(0x5555_0000_01a8)?;
    /// assert_eq!(found.module().unwrap().path().file_name().unwrap(), "lines.elf");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn module(&self) -> Option<&'r Module> {
        self.module
    }

    /// The address as the module's symbol table counts.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// assert_eq!(resolver.frames(0x5555_0000_01a8)?.svma(), symidx::Svma(0x4001a8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn svma(&self) -> Svma {
        self.svma
    }

    /// The module's index.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// // A frame without a line: is nothing known, or has the index no lines at all?
    /// assert!(resolver.frames(0x5555_0000_01a8)?.index().has_lines());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn index(&self) -> &'r Index<'static> {
        self.index
    }

    /// The frames, innermost first; at least one.
    ///
    /// ```
    /// # let (directory, mut resolver) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/resolver.rs"));
    /// resolver.open_all();
    /// let found = resolver.frames(0x5555_0000_01a8)?;
    /// let lines: Vec<_> = found.frames().flatten().map(|frame| frame.line()).collect();
    /// assert_eq!(lines, [Some(6), Some(10), Some(17)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn frames(&self) -> Frames<'r> {
        self.frames.clone()
    }
}
