//! What GNU's tools say about an address of a binary, byte for byte.
//!
//! In: an ELF file, and its debug file where it has one. Out: frames, innermost
//! first. Where this is not the right answer, `symidx lookup` has that: this
//! module's rules are those of binutils 2.40, each a function with its name.
//!
//! ```
//! # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
//! use symidx_indexer::{input::nearest::Binary, model::Store};
//!
//! let (store, data) = (Store::new(), std::fs::read(app)?);
//! let mut binary = Binary::open(app, &data, &store).expect("an ELF file");
//! for frame in binary.frames(0x4001a8) {
//!     println!("{} {}", String::from_utf8_lossy(frame.function.unwrap_or(b"??")), frame.line);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::Path;
use std::rc::Rc;

use super::dwarf::nearest::{Frame, Nearest};
use super::elf::binutils::{Plain, PlainFile, PlainSection, plain};
use crate::model::Store;

mod data;
mod symbols;

use data::DataSymbols;
use symbols::Symbols;

/// A binary, as binutils see it.
///
/// ```
/// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
/// use symidx_indexer::{input::nearest::Binary, model::Store};
///
/// let (store, data) = (Store::new(), std::fs::read(app)?);
/// let mut binary = Binary::open(app, &data, &store).unwrap();
/// let (name, address) = binary.symbols().find(|(name, _)| *name == b"outer").unwrap();
/// assert!(binary.frames(address).iter().any(|frame| frame.function == Some(name)));
/// assert!(Binary::open(app, &data[..data.len() - 1], &store).is_none()); // cut short
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Binary<'data> {
    is_64: bool,
    relocatable: bool,
    own: PlainFile<'data>,
    own_symbols: Symbols<'data>,
    debug_file: Option<(PlainFile<'data>, Symbols<'data>)>,
    /// Made when an address of data is first asked for.
    data: Option<DataSymbols<'data>>,
    nearest: Option<Nearest<'data>>,
    /// The callers of inlined functions are wanted.
    callers: bool,
}

/// One frame of an answer; what is not known is `None`, or 0.
///
/// ```
/// let unknown = symidx_indexer::input::nearest::NearestFrame::default();
/// assert_eq!((unknown.function, unknown.file, unknown.line), (None, None, 0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NearestFrame<'data> {
    /// The function's linkage name.
    pub function: Option<&'data [u8]>,
    /// The path of its source file.
    pub file: Option<Rc<[u8]>>,
    /// The line.
    pub line: u32,
    /// The discriminator of the line's row.
    pub discriminator: u32,
}

impl<'data> Binary<'data> {
    /// Reads a file; `None` for what GNU's tools do not take for a binary.
    ///
    /// ```
    /// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
    /// # use symidx_indexer::{input::nearest::Binary, model::Store};
    /// # let (store, data) = (Store::new(), std::fs::read(app)?);
    /// assert!(Binary::open(app, &data, &store).is_some());
    /// assert!(Binary::open(app, b"text\n", &store).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn open(path: &Path, data: &'data [u8], store: &'data Store) -> Option<Self> {
        let Plain { is_64, relocatable, own, debug_file, debug } = plain(path, data, store)?;
        let own_symbols = Symbols::new(&own.symbols, &own.sections, relocatable);
        let debug_file = debug_file.map(|file| {
            let symbols = Symbols::new(&file.symbols, &file.sections, relocatable);
            (file, symbols)
        });
        let nearest = debug.as_ref().map(Nearest::open);
        Some(Self {
            is_64,
            relocatable,
            own,
            own_symbols,
            debug_file,
            data: None,
            nearest,
            callers: true,
        })
    }

    /// The same, with the innermost frame of each answer only: callers of inlined
    /// functions are not read.
    ///
    /// ```
    /// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
    /// # use symidx_indexer::{input::nearest::Binary, model::Store};
    /// # let (store, data) = (Store::new(), std::fs::read(app)?);
    /// # let binary = Binary::open(app, &data, &store).unwrap();
    /// let mut binary = binary.without_callers();
    /// assert_eq!(binary.frames(0x4001a8).len(), 1); // of three
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without_callers(self) -> Self {
        Self { callers: false, ..self }
    }

    /// Addresses have 64 bits.
    ///
    /// ```
    /// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
    /// # use symidx_indexer::{input::nearest::Binary, model::Store};
    /// # let (store, data) = (Store::new(), std::fs::read(app)?);
    /// # let binary = Binary::open(app, &data, &store).unwrap();
    /// assert!(binary.is_64());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_64(&self) -> bool {
        self.is_64
    }

    /// The number of the first section of that name, in memory or not.
    ///
    /// ```
    /// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
    /// # use symidx_indexer::{input::nearest::Binary, model::Store};
    /// # let (store, data) = (Store::new(), std::fs::read(app)?);
    /// # let binary = Binary::open(app, &data, &store).unwrap();
    /// assert_eq!(binary.section(b".text"), Some(2));
    /// assert_eq!(binary.section(b".nope"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn section(&self, name: &[u8]) -> Option<u32> {
        let section = self.own.sections.iter().find(|section| section.name == name)?;
        Some(section.number)
    }

    /// The names and addresses of all symbols, in the order of their table.
    ///
    /// ```
    /// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
    /// # use symidx_indexer::{input::nearest::Binary, model::Store};
    /// # let (store, data) = (Store::new(), std::fs::read(app)?);
    /// # let binary = Binary::open(app, &data, &store).unwrap();
    /// assert!(binary.symbols().any(|symbol| symbol == (&b"outer"[..], 0x4001a0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn symbols(&self) -> impl Iterator<Item = (&'data [u8], u64)> + '_ {
        self.own.symbols.iter().map(|symbol| (symbol.name, symbol.address))
    }

    /// The frames of an address: of the first section that holds it and has
    /// something to say.
    ///
    /// ```
    /// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
    /// # use symidx_indexer::{input::nearest::Binary, model::Store};
    /// # let (store, data) = (Store::new(), std::fs::read(app)?);
    /// # let mut binary = Binary::open(app, &data, &store).unwrap();
    /// let frames = binary.frames(0x4001a8);
    /// let names: Vec<_> = frames.iter().filter_map(|frame| frame.function).collect();
    /// assert_eq!(names, [&b"leaf"[..], b"middle", b"outer"]);
    /// assert_eq!((frames[0].file.as_deref(), frames[0].line), (Some(&b"/src/lines.c"[..]), 6));
    /// assert!(binary.frames(1).is_empty()); // no section is there
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn frames(&mut self, address: u64) -> Vec<NearestFrame<'data>> {
        for number in 0..self.own.sections.len() {
            let Some(&section) = self.own.sections.get(number) else { break };
            let offset = address.wrapping_sub(section.address);
            if !section.allocated || address < section.address || offset >= section.size {
                continue;
            }
            let frames = self.at(&section, offset);
            if !frames.is_empty() {
                return frames;
            }
        }
        Vec::new()
    }

    /// The frames of an offset in a section.
    ///
    /// ```
    /// # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
    /// # use symidx_indexer::{input::nearest::Binary, model::Store};
    /// # let (store, data) = (Store::new(), std::fs::read(app)?);
    /// # let mut binary = Binary::open(app, &data, &store).unwrap();
    /// let text = binary.section(b".text").unwrap();
    /// assert_eq!(binary.frames_in(text, 0x38), binary.frames(0x4001a8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn frames_in(&mut self, section: u32, offset: u64) -> Vec<NearestFrame<'data>> {
        let section = self.own.sections.iter().find(|known| known.number == section).copied();
        match section.filter(|section| offset < section.size) {
            Some(section) => self.at(&section, offset),
            None => Vec::new(),
        }
    }

    fn at(&mut self, section: &PlainSection<'data>, offset: u64) -> Vec<NearestFrame<'data>> {
        self.by_debug_info(section, offset).unwrap_or_else(|| {
            let found = self.own_symbols.find(section.number, offset);
            let frame = found.map(|found| NearestFrame {
                function: Some(found.name),
                file: found.file.map(Rc::from),
                ..NearestFrame::default()
            });
            frame.into_iter().collect()
        })
    }

    fn by_debug_info(
        &mut self,
        section: &PlainSection<'data>,
        offset: u64,
    ) -> Option<Vec<NearestFrame<'data>>> {
        let variable = self.symbol_of_data(section, offset);
        let (symbols, there) = match &mut self.debug_file {
            None => (&mut self.own_symbols, *section),
            Some((file, symbols)) => match same_section(file, section) {
                Some(there) => (symbols, there),
                None => (&mut self.own_symbols, *section),
            },
        };
        let nearest = self.nearest.as_mut()?;
        let address = there.stated.wrapping_add(offset);
        let hit = match variable {
            Some(symbol) => nearest.variable(address, symbol),
            None => nearest.find(address, section.code),
        };
        let function = hit.as_ref().and_then(|hit| hit.function);
        let known = hit.is_some();
        let mut frame = hit.unwrap_or_default().frame;
        match function {
            Some(function) if function.linkage => frame.function = function.name,
            function => {
                let symbol = symbols.find(there.number, offset);
                if !known && symbol.is_none() {
                    return None;
                }
                frame.function = symbol.map(|symbol| symbol.name);
                if frame.file.is_none() {
                    let file = symbol.and_then(|symbol| symbol.file);
                    frame.file = file.map(Rc::from);
                }
                if let Some(function) = function {
                    // The first question is answered with the symbol that is
                    // there, the function's own or not; later ones are not.
                    let begins = |symbol: &symbols::Found<'data>| {
                        there.stated.wrapping_add(symbol.offset) == function.low
                    };
                    nearest.settle(function, symbol.filter(begins).map(|symbol| symbol.name));
                    if symbol.is_none() {
                        frame.function = function.name;
                    }
                }
            }
        }
        let mut frames = vec![frame];
        if let Some(function) = function.filter(|_| self.callers) {
            frames.extend(nearest.callers(function));
        }
        let shown = |frame: Frame<'data>| NearestFrame {
            function: frame.function,
            file: frame.file,
            line: frame.line,
            discriminator: frame.discriminator,
        };
        Some(frames.into_iter().map(shown).collect())
    }

    /// The name of the symbol at an address of data.
    fn symbol_of_data(
        &mut self,
        section: &PlainSection<'data>,
        offset: u64,
    ) -> Option<&'data [u8]> {
        if section.code {
            return None;
        }
        let address = match self.relocatable {
            true => offset,
            false => section.address.wrapping_add(offset),
        };
        let made = || DataSymbols::new(&self.own.symbols, &self.own.sections);
        self.data.get_or_insert_with(made).at(section.number, address)
    }
}

/// The section of a debug file that is a section of the file.
fn same_section<'data>(
    file: &PlainFile<'data>,
    section: &PlainSection<'data>,
) -> Option<PlainSection<'data>> {
    let same = |other: &&PlainSection<'data>| {
        other.name == section.name && other.address == section.address
    };
    file.sections.iter().find(same).copied()
}
