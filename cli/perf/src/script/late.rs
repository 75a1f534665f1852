//! Frames that wait until many of them can be looked up in the order of their addresses:
//! that reads each page of an index once, where the order of samples reads it many times.
//!
//! In: places, and where in a text their own texts belong. Out: the whole text. Holds a
//! bounded number of frames and bytes of names; looks nothing up itself.

use std::io::{self, Write};

use crate::session::Place;

/// Frames that wait at most.
const FRAMES: usize = 20_000;
/// Bytes of their names; frames past it are named one by one as they are written.
const NAMES: usize = 5 << 18;
/// How often both are halved at most.
const MOST_HALVED: u32 = 6;
/// Written at once.
const CHUNK: usize = 128 << 10;

/// A frame without its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) place: Place,
    pub(super) ip: u64,
    pub(super) alone: bool,
    /// Where its text belongs.
    at: u32,
}

impl Waiting {
    /// Files one after another, each from front to back.
    fn rank(&self) -> u64 {
        let dso = u64::try_from(self.place.dso.number()).unwrap_or(0);
        dso.wrapping_shl(48) | (self.place.address & 0xffff_ffff_ffff)
    }

    fn same_name(&self, other: &Self) -> bool {
        let who = |one: &Self| (one.place, one.ip, one.alone);
        who(self) == who(other)
    }
}

/// Where a name lies in `made`, and what became of its address.
#[derive(Clone, Copy, Debug)]
struct Made {
    start: u32,
    length: u32,
    outcome: u8,
}

/// Past the end of all names.
const NOT_MADE: Made = Made { start: u32::MAX, length: 0, outcome: 0 };

/// The frames that wait.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// Frames and bytes of names are halved so many times.
    halved: u32,
    frames: Vec<Waiting>,
    /// Rank and number of each frame.
    order: Vec<(u64, u32)>,
    /// The name of each frame, as far as it was made.
    names: Vec<Made>,
    made: Vec<u8>,
    chunk: Vec<u8>,
}

impl Late {
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.frames.len() >= FRAMES.wrapping_shr(self.halved)
    }

    /// Holds a quarter as many from now on, down to some hundred. None may wait.
    pub(super) fn shrink(&mut self) {
        self.halved = self.halved.saturating_add(2).min(MOST_HALVED);
        let frames = FRAMES.wrapping_shr(self.halved);
        self.frames.shrink_to(frames);
        self.order.shrink_to(frames);
        self.names.shrink_to(frames);
        self.made.clear();
        self.made.shrink_to(NAMES.wrapping_shr(self.halved));
    }

    /// Adds a frame whose text belongs at `at`, not before that of any other.
    #[inline]
    pub(super) fn push(&mut self, place: Place, ip: u64, alone: bool, at: usize) {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.frames.push(Waiting { place, ip, alone, at });
    }

    /// Makes the names, in the order of the addresses: `make` appends one and says what
    /// became of the address.
    pub(super) fn make(&mut self, mut make: impl FnMut(&Waiting, &mut Vec<u8>) -> u8) {
        self.order.clear();
        self.order.extend((0u32..).zip(&self.frames).map(|(at, frame)| (frame.rank(), at)));
        self.order.sort_unstable();
        self.names.clear();
        self.names.resize(self.frames.len(), NOT_MADE);
        self.made.clear();
        let room = NAMES.wrapping_shr(self.halved);
        let mut last: Option<(Waiting, Made)> = None;
        for &(_, at) in &self.order {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            let Some(frame) = self.frames.get(at) else { continue };
            let name = match last {
                Some((before, name)) if before.same_name(frame) => name,
                _ if self.made.len() >= room => break,
                _ => {
                    let start = self.made.len();
                    let outcome = make(frame, &mut self.made);
                    let length = self.made.len().saturating_sub(start);
                    let part = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
                    Made { start: part(start), length: part(length), outcome }
                }
            };
            last = Some((*frame, name));
            if let Some(slot) = self.names.get_mut(at) {
                *slot = name;
            }
        }
    }

    /// Writes `text` with those of the frames in their places: `finish` appends one, given
    /// its name and what became of it, if there was room for that. No frame waits then.
    pub(super) fn write(
        &mut self,
        text: &[u8],
        out: &mut dyn Write,
        mut finish: impl FnMut(&Waiting, Option<(&[u8], u8)>, &mut Vec<u8>),
    ) -> io::Result<()> {
        let mut from = 0usize;
        for (frame, name) in self.frames.iter().zip(&self.names) {
            let at = usize::try_from(frame.at).unwrap_or(usize::MAX);
            self.chunk.extend_from_slice(text.get(from..at).unwrap_or(&[]));
            from = at;
            let start = usize::try_from(name.start).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(name.length).unwrap_or(0));
            let made = self.made.get(start..end).map(|made| (made, name.outcome));
            finish(frame, made, &mut self.chunk);
            if self.chunk.len() >= CHUNK {
                out.write_all(&self.chunk)?;
                self.chunk.clear();
            }
        }
        out.write_all(&self.chunk)?;
        self.chunk.clear();
        self.frames.clear();
        self.names.clear();
        out.write_all(text.get(from..).unwrap_or(&[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsos::DsoId;

    /// The slow way: each frame's text where it belongs, one after another.
    #[test]
    fn texts_are_written_where_they_belong() {
        let mut late = Late::default();
        let mut text = Vec::new();
        let mut expected = Vec::new();
        let made = |address: u64| format!("<{address:x}>").into_bytes();
        for number in 0..5000u64 {
            text.extend_from_slice(b"sample ");
            expected.extend_from_slice(b"sample ");
            let address = number.wrapping_mul(7919) % 1009;
            let place = Place { dso: DsoId::at(2), address, pid: 1 };
            late.push(place, address, false, text.len());
            expected.extend(made(address));
        }
        text.extend_from_slice(b"end");
        expected.extend_from_slice(b"end");
        let mut addresses = Vec::new();
        let outcome = |address: u64| u8::try_from(address % 7).unwrap_or(0);
        late.make(|frame, out| {
            addresses.push(frame.place.address);
            out.extend(made(frame.place.address));
            outcome(frame.place.address)
        });
        assert!(addresses.is_sorted() && addresses.len() == 1009, "{} made", addresses.len());
        let mut out = Vec::new();
        let written = late.write(&text, &mut out, |frame, name, out| {
            let (name, of) = name.unwrap_or_default();
            assert_eq!(of, outcome(frame.place.address));
            out.extend_from_slice(name);
        });
        assert!(written.is_ok());
        assert!(out == expected);
    }

    #[test]
    fn names_without_room_are_made_as_they_are_written() {
        let mut late = Late::default();
        let long = vec![b'x'; NAMES];
        for address in [3, 1, 2, 1] {
            late.push(Place { dso: DsoId::at(2), address, pid: 1 }, address, false, 0);
        }
        let mut early = Vec::new();
        late.make(|frame, out| {
            early.push(frame.place.address);
            out.extend_from_slice(&long);
            0
        });
        assert_eq!(early, [1]);
        let mut out = Vec::new();
        let written = late.write(b"!", &mut out, |frame, name, out| {
            let number = frame.place.address.to_string();
            out.extend_from_slice(name.map_or(number.as_bytes(), |(name, _)| name));
        });
        assert!(written.is_ok());
        let expected = [b"3".as_slice(), &long, b"2", &long, b"!"].concat();
        assert!(out == expected);
    }
}
