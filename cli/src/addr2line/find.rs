//! What GNU addr2line finds at an address.
//!
//! In: an index, and addresses or symbols. Out: frames, innermost first; none
//! where GNU has nothing to say. Where it names the function in front of a gap
//! this module does as well: elsewhere in symidx a gap is a miss.

use symidx::format::{Extent, Kind};
use symidx::{Corrupt, ImageSectionId, Index, Name, Section, Svma, Symbol};

use crate::find::{literal_part, scan};
use crate::frames::{Chain, FrameText, Want, symbol_of};
use crate::shown::Shown;

/// Which frames are shown is decided when they are printed.
const EVERYTHING: Want = Want { inlines: true, display: true };

/// Finds frames and symbols.
pub(super) struct Finder<'i> {
    index: &'i Index<'static>,
    section: Option<Section<'i>>,
    /// Functions by section (in a relocatable file) and address: made when the
    /// first address in a gap is asked for.
    functions: Option<Vec<Function<'i>>>,
    /// The first part of the index that turned out broken: what it had to say
    /// is missing, the rest is not.
    damage: Option<Corrupt>,
}

#[derive(Clone, Copy)]
struct Function<'i> {
    key: (u32, u64),
    name: Name<'i>,
}

impl<'i> Finder<'i> {
    /// Addresses are offsets in the section if there is one.
    pub(super) fn new(index: &'i Index<'static>, section: Option<Section<'i>>) -> Self {
        Self { index, section, functions: None, damage: None }
    }

    /// Addresses have 64 bits.
    pub(super) fn is_64(&self) -> bool {
        self.index.is_64()
    }

    /// The first damage met so far.
    pub(super) fn damage(&self) -> Option<Corrupt> {
        self.damage
    }

    /// What was found; nothing, and a note of the damage, where the index is broken.
    fn sound<T: Default>(&mut self, found: Result<T, Corrupt>) -> T {
        found.unwrap_or_else(|corrupt| {
            self.damage.get_or_insert(corrupt);
            T::default()
        })
    }

    /// A symbol's address and so many bytes on; 0 when nobody knows it.
    pub(super) fn symbol(&mut self, name: &[u8], offset: u64) -> u64 {
        let address = self.symbol_address(name, offset);
        self.sound(address)
    }

    /// The frames of an address.
    pub(super) fn frames(&mut self, address: u64) -> Vec<FrameText<'i>> {
        let frames = self.frames_at(address);
        self.sound(frames)
    }

    fn symbol_address(&self, name: &[u8], offset: u64) -> Result<u64, Corrupt> {
        // The linker leaves a symbol without a name and with the value 0.
        if name.is_empty() {
            return Ok(if self.index.is_relocatable() { 0 } else { offset });
        }
        if let Some(found) = self.index.find(name).next() {
            return found.map(|found| found.address().wrapping_add(offset));
        }
        // perf asks for the symbol `,` after each address: what cannot be a
        // demangled name must not cost a walk over all names.
        let (Some(part), true) = (literal_part(name), may_be_demangled(name)) else {
            return Ok(0);
        };
        let part = memchr::memmem::Finder::new(part);
        let mut shown = Shown::new(true);
        let found = scan(self.index, |entry| {
            Ok(part.find(&entry.name().to_bytes()).is_some()
                && shown.texts(entry)?.is_some_and(|texts| texts.full == name))
        })?;
        Ok(found.first().map_or(0, |found| found.address().wrapping_add(offset)))
    }

    fn frames_at(&mut self, address: u64) -> Result<Vec<FrameText<'i>>, Corrupt> {
        let index = self.index;
        if let Some(section) = self.section {
            return match address < section.size() {
                true => self.in_section(&section, address),
                false => Ok(Vec::new()),
            };
        }
        // Sections of a relocatable file all begin at 0; the first that has
        // something to say answers.
        for section in index.sections() {
            let section = section?;
            let offset = address.wrapping_sub(section.address().0);
            if offset < section.size() && !section.is_tls() {
                let frames = self.in_section(&section, offset)?;
                if !frames.is_empty() {
                    return Ok(frames);
                }
            }
        }
        // An input without sections, such as /proc/kallsyms.
        match index.sections().next() {
            None => {
                let frames = index.frames(Svma(address));
                let symbol = symbol_of(&frames, || index.lookup(Svma(address)))?;
                let chain = Chain::new(index, frames, symbol.as_ref(), EVERYTHING);
                self.damage = self.damage.or(chain.damage);
                Ok(chain.frames)
            }
            Some(_) => Ok(Vec::new()),
        }
    }

    fn in_section(
        &mut self,
        section: &Section<'i>,
        offset: u64,
    ) -> Result<Vec<FrameText<'i>>, Corrupt> {
        let index = self.index;
        let address = Svma(section.address().0.wrapping_add(offset));
        let frames = match index.is_relocatable() {
            true => index.frames_in(section.id(), offset),
            false => index.frames(address),
        };
        let symbol = symbol_of(&frames, || match index.is_relocatable() {
            true => index.lookup_in(section.id(), offset),
            false => index.lookup(address),
        })?;
        let Chain { mut frames, damage } = Chain::new(index, frames, symbol.as_ref(), EVERYTHING);
        self.damage = self.damage.or(damage);
        if let (Some(symbol), Some(outermost)) = (&symbol, frames.last_mut())
            && is_function(symbol)
            && let Some(stated) = match index.is_relocatable() {
                true => index.stated_function_in(section.id(), offset),
                false => index.stated_function(address),
            }?
            && is_another_name(symbol, &stated.to_bytes())?
        {
            outermost.function = Some(stated);
            outermost.display = index.display_name(stated).ok().flatten();
        }
        if !symbol.as_ref().is_some_and(is_function) {
            let placed = frames.iter().any(|frame| frame.file.is_some());
            if !placed {
                frames.clear();
            }
            let before = self.function_before(section, offset)?;
            let name = before.map(|function| function.name);
            let display = name.and_then(|name| index.display_name(name).ok().flatten());
            match (frames.last_mut(), name) {
                (Some(outermost), _) if symbol.is_some() || outermost.function.is_none() => {
                    (outermost.function, outermost.display) = (name, display);
                }
                (None, Some(_)) => {
                    frames.push(FrameText { function: name, display, ..FrameText::default() });
                }
                _ => {}
            }
        }
        Ok(frames)
    }

    /// The last function that begins in the section at or before the offset,
    /// covering it or not.
    fn function_before(
        &mut self,
        section: &Section<'i>,
        offset: u64,
    ) -> Result<Option<Function<'i>>, Corrupt> {
        let index = self.index;
        let relocatable = index.is_relocatable();
        let functions = match &mut self.functions {
            Some(functions) => functions,
            none => none.insert(functions(index)?),
        };
        let key = |offset: u64| match relocatable {
            true => (section_key(section.id()), offset),
            false => (0, section.address().0.wrapping_add(offset)),
        };
        let after = functions.partition_point(|function| function.key <= key(offset));
        let before = after.checked_sub(1).and_then(|before| functions.get(before));
        Ok(before.filter(|function| function.key >= key(0)).copied())
    }
}

fn section_key(section: ImageSectionId) -> u32 {
    section.0
}

/// Every function, in order of section and address.
fn functions<'i>(index: &'i Index<'_>) -> Result<Vec<Function<'i>>, Corrupt> {
    let mut functions = Vec::new();
    for symbol in index.symbols() {
        let symbol = symbol?;
        if is_function(&symbol) {
            let section = match index.is_relocatable() {
                true => symbol.section()?.map_or(0, |section| section_key(section.id())),
                false => 0,
            };
            functions.push(Function { key: (section, symbol.start().0), name: symbol.name() });
        }
    }
    functions.sort_by_key(|function| function.key);
    Ok(functions)
}

/// What GNU takes for a function: whatever is no data. It knows no PLT stubs.
fn is_function(symbol: &Symbol<'_>) -> bool {
    matches!(symbol.kind(), Kind::Function | Kind::Ifunc | Kind::Label)
        && symbol.extent() != Extent::Synthesized
}

/// True for the name of the whole function that a symbol is a piece or a clone
/// of (`f` for `f.cold`), and for another name at the same place: debug
/// information has these, and GNU prints them.
fn is_another_name(symbol: &Symbol<'_>, stated: &[u8]) -> Result<bool, Corrupt> {
    let name = symbol.name().to_bytes();
    let of_piece = is_piece(&name, stated);
    if of_piece || *name == *stated {
        return Ok(of_piece);
    }
    for alias in symbol.aliases() {
        if alias?.name() == *stated {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True for the name of a piece or a clone of a function. `.abi0` is no piece: Go's
/// functions in assembly are called that, and GNU prints it.
fn is_piece(name: &[u8], function: &[u8]) -> bool {
    name.strip_prefix(function).is_some_and(|piece| piece.starts_with(b".") && piece != b".abi0")
}

/// True for what may be a mangled name's demangled form.
pub(super) fn may_be_demangled(name: &[u8]) -> bool {
    memchr::memchr2(b'(', b'<', name).is_some() || memchr::memmem::find(name, b"::").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_clones_are_told_from_other_functions() {
        assert!(is_piece(b"f.cold", b"f"));
        assert!(is_piece(b"f.constprop.0", b"f"));
        assert!(!is_piece(b"f", b"f"));
        assert!(!is_piece(b"f2", b"f"));
        // Go's name of a function in assembly: GNU leaves it whole.
        assert!(!is_piece(b"runtime.memmove.abi0", b"runtime.memmove"));
    }
}
