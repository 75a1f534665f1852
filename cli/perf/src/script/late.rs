//! Frames that wait until many of them can be looked up in the order of their addresses:
//! that reads each page of an index once, where the order of samples reads it many times.
//!
//! In: places, and where in a text their own texts belong. Out: the whole text. Holds a
//! bounded number of frames and bytes; looks nothing up itself.

use std::io::{self, Write};

use crate::session::Place;

/// Frames that wait at most.
const FRAMES: usize = 20_000;
/// Bytes of their texts; frames past it are named one by one as they are written.
const TEXTS: usize = 2 << 20;
/// Written at once.
const CHUNK: usize = 128 << 10;

/// A frame without its text.
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

    fn same_text(&self, other: &Self) -> bool {
        let who = |one: &Self| (one.place, one.ip, one.alone);
        who(self) == who(other)
    }
}

/// The frames that wait.
#[derive(Debug, Default)]
pub(super) struct Late {
    frames: Vec<Waiting>,
    /// Rank and number of each frame.
    order: Vec<(u64, u32)>,
    /// Where each frame's text lies in `made`; no bytes: it was not made.
    texts: Vec<(u32, u32)>,
    made: Vec<u8>,
    chunk: Vec<u8>,
}

impl Late {
    pub(super) fn is_full(&self) -> bool {
        self.frames.len() >= FRAMES
    }

    /// Adds a frame whose text belongs at `at`, not before that of any other.
    #[inline]
    pub(super) fn push(&mut self, place: Place, ip: u64, alone: bool, at: usize) {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.frames.push(Waiting { place, ip, alone, at });
    }

    /// Makes the texts, in the order of the addresses: `make` appends one. `count` is
    /// called for each frame with what `make` gave back for its text.
    pub(super) fn make<T: Copy>(
        &mut self,
        mut make: impl FnMut(&Waiting, &mut Vec<u8>) -> T,
        mut count: impl FnMut(&Waiting, T),
    ) {
        // No more than is needed at once, and not twice as much for a while.
        self.order.reserve_exact(FRAMES.saturating_sub(self.order.capacity()));
        self.order.clear();
        self.order.extend((0u32..).zip(&self.frames).map(|(at, frame)| (frame.rank(), at)));
        self.order.sort_unstable();
        self.texts.clear();
        self.texts.resize(self.frames.len(), (0, 0));
        self.made.clear();
        let mut last: Option<(Waiting, (u32, u32), T)> = None;
        for &(_, at) in &self.order {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            let Some(frame) = self.frames.get(at) else { continue };
            let (text, outcome) = match last {
                Some((before, text, outcome)) if before.same_text(frame) => (text, outcome),
                _ if self.made.len() >= TEXTS => break,
                _ => {
                    let start = self.made.len();
                    let outcome = make(frame, &mut self.made);
                    let length = self.made.len().saturating_sub(start);
                    let text = (start.try_into().unwrap_or(0), length.try_into().unwrap_or(0));
                    last = Some((*frame, text, outcome));
                    (text, outcome)
                }
            };
            if let Some(slot) = self.texts.get_mut(at) {
                *slot = text;
            }
            count(frame, outcome);
        }
    }

    /// Writes `text` with the texts of the frames in their places; `make` appends those
    /// that there was no room for. No frame waits after that.
    pub(super) fn write(
        &mut self,
        text: &[u8],
        out: &mut dyn Write,
        mut make: impl FnMut(&Waiting, &mut Vec<u8>),
    ) -> io::Result<()> {
        let mut from = 0usize;
        for (frame, &(start, length)) in self.frames.iter().zip(&self.texts) {
            let at = usize::try_from(frame.at).unwrap_or(usize::MAX);
            self.chunk.extend_from_slice(text.get(from..at).unwrap_or(&[]));
            from = at;
            let start = usize::try_from(start).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(length).unwrap_or(0));
            match self.made.get(start..end) {
                Some([]) | None => make(frame, &mut self.chunk),
                Some(made) => self.chunk.extend_from_slice(made),
            }
            if self.chunk.len() >= CHUNK {
                out.write_all(&self.chunk)?;
                self.chunk.clear();
            }
        }
        out.write_all(&self.chunk)?;
        self.chunk.clear();
        self.frames.clear();
        self.texts.clear();
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
        let mut counted = 0u64;
        late.make(
            |frame, out| {
                addresses.push(frame.place.address);
                out.extend(made(frame.place.address));
                frame.place.address
            },
            |frame, address| {
                assert_eq!(frame.place.address, address);
                counted = counted.saturating_add(1);
            },
        );
        assert!(addresses.is_sorted() && addresses.len() == 1009, "{} made", addresses.len());
        assert_eq!(counted, 5000);
        let mut out = Vec::new();
        assert!(late.write(&text, &mut out, |_, _| unreachable!()).is_ok());
        assert!(out == expected);
    }

    #[test]
    fn texts_without_room_are_made_as_they_are_written() {
        let mut late = Late::default();
        let long = vec![b'x'; TEXTS];
        for address in [3, 1, 2, 1] {
            late.push(Place { dso: DsoId::at(2), address, pid: 1 }, address, false, 0);
        }
        let mut early = Vec::new();
        late.make(
            |frame, out| {
                early.push(frame.place.address);
                out.extend_from_slice(&long);
            },
            |_, ()| (),
        );
        assert_eq!(early, [1]);
        let mut out = Vec::new();
        let written = late.write(b"!", &mut out, |frame, out| {
            out.extend_from_slice(frame.place.address.to_string().as_bytes());
        });
        assert!(written.is_ok());
        let expected = [b"3".as_slice(), &long, b"2", &long, b"!"].concat();
        assert!(out == expected);
    }
}
