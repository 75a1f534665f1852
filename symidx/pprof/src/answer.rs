//! What an index knows of one place: functions, innermost first, or why there are none.

use symidx::{Frames, Index};

use crate::functions::Part;
use crate::report::Unknown;
use crate::space::Place;

/// The functions and lines of a place.
pub(crate) struct Answer<'i> {
    /// Innermost first.
    pub(crate) parts: Vec<Part<'i>>,
    /// Several functions were folded into its code.
    pub(crate) folded: bool,
    /// Why no part has a name; then there may be a line all the same: of code
    /// outside of every function that is known.
    pub(crate) nameless: Option<Unknown>,
}

impl<'i> Answer<'i> {
    /// From the frames of a place. Where these are damaged, the symbol alone.
    pub(crate) fn of(frames: Frames<'i>, nameless: impl FnOnce() -> Unknown) -> Self {
        // Where it is damaged, so is the chain that needs it.
        let symbol = frames.symbol().ok().flatten();
        let chain: Result<Vec<_>, _> = frames.map(|frame| frame.map(Part::from)).collect();
        let damaged = chain.is_err();
        let parts = chain.unwrap_or_else(|_| symbol.into_iter().map(Part::from).collect());
        let named = parts.iter().any(|part: &Part<'_>| part.function.is_some());
        let nameless = match (named, damaged) {
            (true, _) => None,
            (false, true) => Some(Unknown::Corrupt),
            (false, false) => Some(nameless()),
        };
        Self { parts, folded: symbol.is_some_and(|symbol| symbol.is_folded()), nameless }
    }
}

/// Asks an index.
pub(crate) fn ask<'i>(index: &'i Index<'_>, place: Place) -> Result<Answer<'i>, Unknown> {
    let frames = match place {
        Place::Svma(svma) => index.frames(svma),
        Place::Section(section, offset) => index.frames_in(section, offset),
    };
    if let Ok(frames) = frames {
        return Ok(Answer::of(frames, || match place {
            Place::Svma(svma) if matches!(index.unnamed_function(svma), Ok(Some(_))) => {
                Unknown::Unnamed
            }
            _ => Unknown::Gap,
        }));
    }
    // The line cannot be found: the symbol may be.
    let symbol = match place {
        Place::Svma(svma) => index.lookup(svma),
        Place::Section(section, offset) => index.lookup_in(section, offset),
    };
    match symbol {
        Ok(Some(symbol)) => Ok(Answer {
            parts: vec![Part::from(symbol)],
            folded: symbol.is_folded(),
            nameless: None,
        }),
        _ => Err(Unknown::Corrupt),
    }
}
