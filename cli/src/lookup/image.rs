//! One image: queries in whatever terms, answers in the index's.
//!
//! The conversions from run-time addresses, file offsets and section offsets
//! live here, each a few lines; the search itself is the library's.

use std::path::Path;

use symidx::kernel::{InSection, Placement};
use symidx::{Corrupt, FileOffset, ImageSectionId, Index, Svma, Symbol};

use super::query::Query;
use crate::failure::Failure;
use crate::frames::{Chain, Want, symbol_of};

/// What addresses are counted from.
#[derive(Clone, Debug)]
pub(super) enum Base {
    /// They are svmas (in a relocatable file: offsets in the default section).
    Svma,
    /// They are file offsets.
    Offset,
    /// They are offsets in this section.
    Section(String),
    /// The image's base is at this address.
    LoadAddress(u64),
    /// The image was moved by this much.
    Bias(u64),
    /// The module's sections are at these addresses.
    ModuleSections(Vec<(Vec<u8>, u64)>),
}

/// What a query came to.
#[derive(Debug)]
pub(super) enum Found<'i> {
    /// A symbol.
    Hit(Hit<'i>),
    /// None, and why.
    Miss(Miss<'i>),
    /// The query cannot be answered.
    Wrong(String),
}

/// A symbol that covers the address, in the query's terms.
#[derive(Debug)]
pub(super) struct Hit<'i> {
    pub(super) symbol: Symbol<'i>,
    /// Where it starts.
    pub(super) start: u64,
    /// From there to the address asked for.
    pub(super) offset: u64,
    /// The address asked for as the symbol table counts, where it was asked for otherwise.
    pub(super) svma: Option<u64>,
    /// The mapped file, where several are looked at.
    pub(super) file: Option<&'i Path>,
    /// The functions and lines of the address.
    pub(super) chain: Chain<'i>,
}

/// No symbol.
#[derive(Debug)]
pub(super) struct Miss<'i> {
    /// Why.
    pub(super) reason: Reason,
    /// As [`Hit::svma`].
    pub(super) svma: Option<u64>,
    /// The mapped file that the address lies in, where several are looked at.
    pub(super) file: Option<&'i Path>,
    /// The line, where one is known all the same.
    pub(super) chain: Chain<'i>,
}

impl<R: Into<Reason>> From<R> for Miss<'_> {
    fn from(reason: R) -> Self {
        Self { reason: reason.into(), svma: None, file: None, chain: Chain::default() }
    }
}

impl Found<'_> {
    /// The same for an address that was asked for otherwise than as this svma.
    pub(super) fn asked_otherwise(mut self, svma: u64) -> Self {
        match &mut self {
            Self::Hit(hit) => hit.svma = Some(svma),
            Self::Miss(miss) => miss.svma = Some(svma),
            Self::Wrong(_) => {}
        }
        self
    }
}

/// Why no symbol was found.
#[derive(Debug)]
pub(super) enum Reason {
    /// The address is nobody's.
    Uncovered,
    /// A function start without a name.
    Unnamed(u64),
    /// Something else.
    Text(String),
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// An index, and how to read addresses for it.
#[derive(Debug)]
pub(super) struct Image {
    index: Index<'static>,
    base: Base,
    /// 1 when addresses are return addresses, else 0.
    back: u64,
    /// With inlined functions.
    want: Want,
    section: Option<ImageSectionId>,
    placed: Placement,
}

impl Image {
    /// Checks that the base makes sense for the index.
    pub(super) fn new(
        index: Index<'static>,
        base: Base,
        return_address: bool,
        want: Want,
        file: &Path,
    ) -> Result<Self, Failure> {
        let corrupt = |error: Corrupt| Failure::file(file, error);
        let section = match &base {
            Base::Section(name) => match index.section_by_name(name.as_bytes()).map_err(corrupt)? {
                Some(section) => Some(section.id()),
                None => {
                    return Err(Failure::file(
                        file,
                        format_args!(
                            "expected a section {name}, found none of that name; `symidx info` lists them"
                        ),
                    ));
                }
            },
            Base::Svma if index.is_relocatable() => {
                index.default_section().map_err(corrupt)?.map(|section| section.id())
            }
            _ => None,
        };
        let placed = match &base {
            Base::ModuleSections(sections) => Placement::new(&index, sections).map_err(corrupt)?,
            _ => Placement::default(),
        };
        Ok(Self { index, base, back: u64::from(return_address), want, section, placed })
    }

    /// Answers a query.
    pub(super) fn find(&self, query: Query<'_>) -> Found<'_> {
        self.try_find(query).unwrap_or_else(|corrupt| Found::Wrong(corrupt.to_string()))
    }

    fn try_find(&self, query: Query<'_>) -> Result<Found<'_>, Corrupt> {
        let Some(address) = query.address.checked_sub(self.back) else {
            return Ok(Found::Miss(Reason::Uncovered.into()));
        };
        if let Some(name) = query.section {
            return Ok(match self.index.section_by_name(name)? {
                Some(section) => self.in_section(section.id(), address, 0)?,
                None => Found::Wrong(format!(
                    "no section {}",
                    crate::text::printable(&String::from_utf8_lossy(name))
                )),
            });
        }
        match &self.base {
            Base::Section(_) => self.in_default_section(address),
            Base::Svma if self.index.is_relocatable() => self.in_default_section(address),
            Base::Svma => find_at(&self.index, Svma(address), self.back, self.want, None),
            Base::Bias(bias) => self.at(Svma(address.wrapping_sub(*bias))),
            Base::LoadAddress(load) => {
                let base = self.index.image_base().unwrap_or_default().0;
                match address.checked_sub(*load).and_then(|into| into.checked_add(base)) {
                    Some(svma) => self.at(Svma(svma)),
                    None => Ok(Found::Miss("below the load address".into())),
                }
            }
            Base::Offset => match self.index.svma_of(FileOffset(address)) {
                Some(svma) => self.at(svma),
                None => Ok(Found::Miss("no segment holds this file offset".into())),
            },
            Base::ModuleSections(_) => match self.placed.find(address) {
                Some(place) => self.in_section(place.section, place.offset, place.base),
                None => Ok(Found::Miss("no section of the module holds this address".into())),
            },
        }
    }

    fn in_default_section(&self, address: u64) -> Result<Found<'_>, Corrupt> {
        match self.section {
            Some(section) => self.in_section(section, address, 0),
            None => Ok(Found::Miss("the file has no executable section".into())),
        }
    }

    fn in_section(
        &self,
        section: ImageSectionId,
        offset: u64,
        base: u64,
    ) -> Result<Found<'_>, Corrupt> {
        let place = InSection { section, offset, base };
        find_in(&self.index, place, self.back, self.want, None)
    }

    /// For an address that was no svma.
    fn at(&self, svma: Svma) -> Result<Found<'_>, Corrupt> {
        let found = find_at(&self.index, svma, self.back, self.want, None)?;
        Ok(found.asked_otherwise(svma.0.wrapping_add(self.back)))
    }
}

/// The answer for a place in a section that has `back` taken off already.
pub(super) fn find_in<'i>(
    index: &'i Index<'_>,
    place: InSection,
    back: u64,
    want: Want,
    file: Option<&'i Path>,
) -> Result<Found<'i>, Corrupt> {
    let InSection { section, offset, base } = place;
    let frames = index.frames_in(section, offset);
    let symbol = symbol_of(&frames, || index.lookup_in(section, offset))?;
    let chain = Chain::new(index, frames, symbol.as_ref(), want);
    Ok(match symbol {
        Some(symbol) => Found::Hit(hit(symbol, base, back, file, chain)),
        None => Found::Miss(Miss { reason: Reason::Uncovered, svma: None, file, chain }),
    })
}

/// The answer for an svma that has `back` taken off already.
pub(super) fn find_at<'i>(
    index: &'i Index<'_>,
    svma: Svma,
    back: u64,
    want: Want,
    file: Option<&'i Path>,
) -> Result<Found<'i>, Corrupt> {
    find_moved(index, svma, 0, back, want, file)
}

/// The same for an image that was moved by `slide`: starts are shown as they
/// are at run time.
pub(super) fn find_moved<'i>(
    index: &'i Index<'_>,
    svma: Svma,
    slide: u64,
    back: u64,
    want: Want,
    file: Option<&'i Path>,
) -> Result<Found<'i>, Corrupt> {
    let frames = index.frames(svma);
    let symbol = symbol_of(&frames, || index.lookup(svma))?;
    let chain = Chain::new(index, frames, symbol.as_ref(), want);
    if let Some(symbol) = symbol {
        return Ok(Found::Hit(hit(symbol, slide, back, file, chain)));
    }
    let reason = match index.unnamed_function(svma)? {
        Some(start) => Reason::Unnamed(start.0.wrapping_add(slide)),
        None => Reason::Uncovered,
    };
    Ok(Found::Miss(Miss { reason, svma: None, file, chain }))
}

fn hit<'i>(
    symbol: Symbol<'i>,
    base: u64,
    back: u64,
    file: Option<&'i Path>,
    chain: Chain<'i>,
) -> Hit<'i> {
    Hit {
        symbol,
        start: symbol.start().0.wrapping_add(base),
        offset: symbol.offset().wrapping_add(back),
        svma: None,
        file,
        chain,
    }
}
