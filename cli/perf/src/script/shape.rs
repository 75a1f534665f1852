//! The text of one address, in each of the forms.
//!
//! In: an address, where it lies, what it is called. Out: bytes appended to a buffer.
//! Made once per address while a cache holds it.

use std::borrow::Cow;
use std::io::Write as _;

use symidx::{Frame, Index, Svma};

use crate::dsos::DsoId;
use crate::names::{Reason, Spelling};
use crate::session::Place;

use super::tails::Tails;
use super::{Format, ScriptOptions, json, json_string, text};

/// The text of one address in the making.
pub(super) struct Shape<'s> {
    pub(super) out: &'s mut Vec<u8>,
    pub(super) options: &'s ScriptOptions,
    pub(super) spelling: &'s mut Spelling,
    pub(super) alone: bool,
    /// Without the address in front and whose code it is behind.
    pub(super) bare: bool,
    /// The address as shown.
    pub(super) address: u64,
    pub(super) ip: u64,
    pub(super) place: Option<Place>,
    pub(super) dso: &'s [u8],
}

impl<'s> Shape<'s> {
    fn start(&mut self) {
        match self.options.format {
            Format::Text => match self.alone {
                true => text::hex(self.out, self.address, 16),
                false => text::address(self.out, self.address),
            },
            Format::Json => {
                self.out.extend_from_slice(b"{\"ip\":\"0x");
                text::hex(self.out, self.ip, 0);
                self.out.push(b'"');
            }
            Format::Folded => {}
        }
    }

    /// A function and those inlined into it at this address, innermost first.
    pub(super) fn function(&mut self, name: &[u8], offset: u64, inlined: &[Vec<u8>]) {
        if self.options.format == Format::Folded {
            // The outermost one first: the stack is turned round frame by frame.
            folded_name(self.out, name);
            for name in inlined.iter().rev() {
                self.out.push(b';');
                folded_name(self.out, name);
            }
            return;
        }
        let mut bare = self.bare;
        for name in inlined {
            if !std::mem::take(&mut bare) {
                self.start();
            }
            if self.options.format == Format::Json {
                json::symbol(self.out, name);
                self.out.extend_from_slice(b",\"inlined\":true},");
                continue;
            }
            if self.options.fields.sym {
                self.out.push(b' ');
                self.out.extend_from_slice(name);
            }
            self.out.extend_from_slice(b" (inlined)\n");
        }
        if !bare {
            self.start();
        }
        self.named(name, Some(offset));
    }

    /// What was made bare, now with the rest.
    pub(super) fn around(&mut self, name: &[u8], tails: &mut Tails) {
        self.start();
        self.out.extend_from_slice(name);
        if self.alone {
            return self.end();
        }
        let tail = tails.of(self.place, true, |tail| self.on(tail).end());
        self.out.extend_from_slice(tail);
    }

    /// The line of text of an address without a name.
    #[inline]
    pub(super) fn nameless(&mut self, reason: Reason, tails: &mut Tails) {
        if self.alone {
            return self.unknown(reason);
        }
        self.start();
        let tail = tails.of(self.place, false, |tail| {
            let mut shape = self.on(tail);
            shape.bare = true;
            shape.unknown(reason);
            shape.end();
        });
        self.out.extend_from_slice(tail);
    }

    /// The same on another buffer.
    fn on<'o>(&'o mut self, out: &'o mut Vec<u8>) -> Shape<'o> {
        Shape {
            out,
            options: self.options,
            spelling: self.spelling,
            alone: self.alone,
            bare: self.bare,
            address: self.address,
            ip: self.ip,
            place: self.place,
            dso: self.dso,
        }
    }

    fn named(&mut self, name: &[u8], offset: Option<u64>) {
        match self.options.format {
            Format::Text => {
                if self.options.fields.sym {
                    self.out.push(b' ');
                    self.out.extend_from_slice(name);
                    if let Some(offset) = offset
                        && self.options.fields.symoff
                    {
                        self.out.extend_from_slice(b"+0x");
                        text::hex(self.out, offset, 0);
                    }
                }
                if !self.bare {
                    self.end();
                }
            }
            Format::Json => {
                json::symbol(self.out, name);
                if let Some(offset) = offset {
                    let _ = write!(self.out, ",\"offset\":{offset}");
                }
                self.end();
            }
            Format::Folded => {}
        }
    }

    pub(super) fn unknown(&mut self, reason: Reason) {
        if !self.bare {
            self.start();
        }
        match self.options.format {
            Format::Text => self.named(b"[unknown]", None),
            Format::Json => {
                self.out.extend_from_slice(b",\"symbol\":null,\"reason\":");
                json_string(self.out, reason.text().as_bytes());
                self.end();
            }
            Format::Folded => {
                // The file at least: `[libc.so.6]`.
                let base = self.dso.rsplit(|&byte| byte == b'/').next().unwrap_or(self.dso);
                let base = base.strip_prefix(b"[").unwrap_or(base);
                let base = base.strip_suffix(b"]").unwrap_or(base);
                self.out.push(b'[');
                folded_name(self.out, base);
                self.out.push(b']');
            }
        }
    }

    /// Whose code it is, and the end of the line.
    fn end(&mut self) {
        match self.options.format {
            Format::Text => {
                if self.options.fields.dso {
                    self.out.extend_from_slice(b" (");
                    match self.place {
                        Some(place) if place.dso == DsoId::JIT => map_name(self.out, place.pid),
                        _ => self.out.extend_from_slice(self.dso),
                    }
                    self.out.push(b')');
                }
                if !self.alone {
                    self.out.push(b'\n');
                }
            }
            Format::Json => {
                self.out.extend_from_slice(b",\"dso\":");
                if self.place.is_some() {
                    let dso = self.dso_name();
                    json_string(self.out, &dso);
                    self.out.extend_from_slice(b",\"address\":\"0x");
                    text::hex(self.out, self.address, 0);
                    self.out.push(b'"');
                } else {
                    self.out.extend_from_slice(b"null");
                }
                self.out.extend_from_slice(b"},");
            }
            Format::Folded => {}
        }
    }

    fn dso_name(&self) -> Cow<'s, [u8]> {
        match self.place {
            Some(place) if place.dso == DsoId::JIT => {
                let mut name = Vec::new();
                map_name(&mut name, place.pid);
                Cow::Owned(name)
            }
            _ => Cow::Borrowed(self.dso),
        }
    }

    /// The functions inlined at an address, innermost first.
    pub(super) fn inlined_names(&mut self, index: &Index<'_>, svma: Svma) -> Vec<Vec<u8>> {
        let Ok(frames) = index.frames(svma) else { return Vec::new() };
        let functions = frames.flatten().filter(Frame::is_inlined).filter_map(|f| f.function());
        let spell = |function| {
            let mut name = Vec::new();
            self.spelling.name(function, index, &mut name);
            name
        };
        functions.map(spell).collect()
    }
}

/// The file that names the run-time code of a process.
fn map_name(out: &mut Vec<u8>, pid: i32) {
    out.extend_from_slice(b"/tmp/perf-");
    match u64::try_from(pid) {
        Ok(pid) => text::decimal(out, pid, 0, b' '),
        // Writing to memory cannot fail.
        Err(_) => drop(write!(out, "{pid}")),
    }
    out.extend_from_slice(b".map");
}

/// A name in a folded stack: `;` separates, and lines end.
pub(super) fn folded_name(out: &mut Vec<u8>, name: &[u8]) {
    if name.is_ascii() {
        let safe = |byte: u8| match byte {
            b';' => b':',
            // A line feed ends the line; others would act on a terminal.
            control if control.is_ascii_control() => b' ',
            other => other,
        };
        out.extend(name.iter().map(|&byte| safe(byte)));
        return;
    }
    // Some of the characters beyond ASCII act on a terminal, too.
    for character in String::from_utf8_lossy(name).chars() {
        match character {
            ';' => out.push(b':'),
            control if control.is_control() => out.push(b' '),
            other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread may have any bytes for a name: an escape in it acted on the terminal, and
    /// no browser opened the flame graph.
    #[test]
    fn a_name_in_a_stack_is_one_frame_of_text() {
        let mut out = Vec::new();
        folded_name(&mut out, b"a;b\n\x1b[2Jc\x7f\xc3\xa9");
        assert_eq!(out, "a:b  [2Jc é".as_bytes());
        out.clear();
        folded_name(&mut out, b"d;\xc2\x9b2J\x9b\xff");
        assert_eq!(out, "d: 2J\u{fffd}\u{fffd}".as_bytes());
    }
}
