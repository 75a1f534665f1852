//! Samples as `perf script` prints them: frames that need a look into an index wait until many
//! of them can be looked up in the order of their addresses.
//!
//! In: samples. Out: text through the writer's buffer. Knows nothing of the other forms.

use std::io::{self, Write};

use crate::names::{Outlook, Reason};
use crate::session::{Located, Place, Session};

use super::cache::Cache;
use super::late::Waiting;
use super::shape::Shape;
use super::summary::outcome;
use super::{FULL, Writer, key_of, shown, text};

impl Writer<'_> {
    /// Writes all there is, and does with less from now on.
    pub(super) fn save_memory(&mut self, session: &Session, out: &mut dyn Write) -> io::Result<()> {
        self.write(session, out)?;
        self.folded.shrink(out)?;
        self.full = (self.full >> 2).max(FULL >> 1);
        self.buffer.shrink_to(self.full.saturating_add(FULL >> 2));
        self.late.shrink();
        if self.full < FULL {
            self.cache = Cache::new(10, 16);
            self.symbols = Cache::new(6, 16);
        }
        Ok(())
    }

    /// Names the frames that wait, and writes all there is.
    pub(super) fn write(&mut self, session: &Session, out: &mut dyn Write) -> io::Result<()> {
        let mut late = std::mem::take(&mut self.late);
        self.names.in_order(late.len());
        late.make(|frame, made| {
            // What stands between the address and the DSO.
            let place = Some(frame.place);
            outcome(self.frame(made, frame.ip, place, frame.alone, true, session))
        });
        self.names.in_any_order();
        let buffer = std::mem::take(&mut self.buffer);
        let written = late.write(&buffer, out, |frame, name, text| {
            self.finish(frame, name, text, session);
        });
        (self.buffer, self.late) = (buffer, late);
        self.buffer.clear();
        written
    }

    /// Appends the text of a frame that waited.
    fn finish(
        &mut self,
        frame: &Waiting,
        name: Option<(&[u8], u8)>,
        out: &mut Vec<u8>,
        session: &Session,
    ) {
        let (ip, place, alone) = (frame.ip, Some(frame.place), frame.alone);
        let start = out.len();
        let outcome = match name {
            Some((name, outcome)) => {
                let dso = session.dsos().get(frame.place.dso.number());
                let mut tails = std::mem::take(&mut self.tails);
                self.shape(out, ip, place, alone, dso).around(name, &mut tails);
                self.tails = tails;
                outcome
            }
            None => outcome(self.frame(out, ip, place, alone, false, session)),
        };
        self.tally.outcome(Some(frame.place.dso), outcome);
        if self.cache.is_worth_it() {
            let text = out.get(start..).unwrap_or(&[]);
            self.cache.keep(key_of(ip, place, alone), text, outcome);
        }
    }

    pub(super) fn text(
        &mut self,
        located: &Located<'_>,
        session: &Session,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let fields = self.options.fields;
        let chain = located.sample.chain.is_some();
        text::start(&mut self.buffer, located, &fields, self.named, chain);
        if fields.ip {
            self.buffer.push(if chain { b'\n' } else { b' ' });
            for (ip, place) in located.frames(self.options.max_stack) {
                if self.late.is_full() || self.buffer.len() >= self.full {
                    self.write(session, out)?;
                }
                self.append_late(ip, place, !chain, session);
            }
        }
        self.buffer.push(b'\n');
        Ok(())
    }

    /// Appends the text of one address if that needs no look into an index; else it waits.
    #[inline]
    fn append_late(&mut self, ip: u64, place: Option<Place>, alone: bool, session: &Session) {
        let dso = place.and_then(|place| session.dsos().get(place.dso.number()));
        let outlook = match (place, dso) {
            (Some(place), Some(dso)) => self.names.outlook(place, dso, session),
            _ => Outlook::Unknown(Reason::Unmapped),
        };
        let owner = place.map(|place| place.dso);
        match (outlook, place) {
            (Outlook::Index, Some(place)) => {
                if let Some((text, outcome)) = self.cache.find(key_of(ip, Some(place), alone)) {
                    self.buffer.extend_from_slice(text);
                    self.tally.frame(owner, outcome);
                    self.cache.hit();
                    return;
                }
                self.late.push(place, ip, alone, self.buffer.len());
                self.tally.late_frame(owner);
            }
            (Outlook::Unknown(reason), _) => {
                let mut buffer = std::mem::take(&mut self.buffer);
                let mut tails = std::mem::take(&mut self.tails);
                self.shape(&mut buffer, ip, place, alone, dso).nameless(reason, &mut tails);
                (self.buffer, self.tails) = (buffer, tails);
                self.tally.frame(owner, outcome(Some(reason)));
            }
            (Outlook::Whole | Outlook::Index, _) => {
                let mut buffer = std::mem::take(&mut self.buffer);
                let reason = self.frame(&mut buffer, ip, place, alone, false, session);
                self.buffer = buffer;
                self.tally.frame(owner, outcome(reason));
            }
        }
    }

    /// The text of an address in the making.
    #[inline]
    fn shape<'s>(
        &'s mut self,
        out: &'s mut Vec<u8>,
        ip: u64,
        place: Option<Place>,
        alone: bool,
        dso: Option<&'s crate::Dso>,
    ) -> Shape<'s> {
        Shape {
            out,
            options: &self.options,
            spelling: &mut self.spelling,
            alone,
            bare: false,
            address: shown(ip, place, dso, alone),
            ip,
            place,
            dso: dso.map_or(b"[unknown]", |dso| &dso.name),
        }
    }
}
