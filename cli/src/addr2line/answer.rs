//! An answer as GNU addr2line prints it.
//!
//! In: an address and its frames, innermost first. Out: bytes, exactly as
//! scripts and perf expect them. `?` for a line and `0` after `??` are the two
//! ways GNU says that something is unknown; which one comes when is its rule.

use super::options::Options;
use crate::frames::{FrameText, PathText};
use crate::shown::Shown;
use crate::text::{decimal, plain};

/// Writes answers.
#[derive(Debug)]
pub(super) struct Writer<'o> {
    options: &'o Options,
    names: Shown,
    /// Hex digits of an address.
    digits: u32,
    /// Control characters are escaped, for a terminal.
    careful: bool,
}

impl<'o> Writer<'o> {
    /// For addresses of 64 bits or of 32.
    pub(super) fn new(options: &'o Options, is_64: bool, careful: bool) -> Self {
        let digits = if is_64 { 16 } else { 8 };
        Self { options, names: Shown::new(options.demangle), digits, careful }
    }

    /// Appends an answer; without frames it says that nothing is known.
    /// The discriminator is the first frame's; GNU prints it with all of them.
    pub(super) fn write(
        &mut self,
        out: &mut Vec<u8>,
        address: u64,
        frames: &[FrameText<'_>],
        discriminator: u32,
    ) {
        let pretty = self.options.pretty;
        if self.options.addresses {
            self.address(out, address);
            out.extend_from_slice(if pretty { b": " } else { b"\n" });
        }
        if frames.is_empty() {
            if self.options.functions {
                out.extend_from_slice(if pretty { b"?? " } else { b"??\n" });
            }
            out.extend_from_slice(b"??:0\n");
            return;
        }
        let shown = if self.options.inlines { frames.len() } else { 1 };
        for (i, frame) in frames.iter().take(shown).enumerate() {
            if pretty && i > 0 {
                out.extend_from_slice(b" (inlined by) ");
            }
            if self.options.functions {
                match frame.function.filter(|name| !name.is_empty()) {
                    Some(name) => {
                        let name = name.to_bytes();
                        write(out, self.names.full(&name, frame.display), self.careful);
                    }
                    None => out.extend_from_slice(b"??"),
                }
                out.extend_from_slice(if pretty { b" at " } else { b"\n" });
            }
            self.place(out, frame.file, frame.line, discriminator);
        }
    }

    fn address(&self, out: &mut Vec<u8>, address: u64) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        out.extend_from_slice(b"0x");
        for place in (0..self.digits).rev() {
            let nibble = address.checked_shr(place.saturating_mul(4)).unwrap_or(0) & 15;
            let digit = usize::try_from(nibble).ok().and_then(|nibble| DIGITS.get(nibble));
            out.extend(digit);
        }
    }

    fn place(
        &self,
        out: &mut Vec<u8>,
        file: Option<PathText<'_>>,
        line: Option<u32>,
        discriminator: u32,
    ) {
        match file {
            Some(file) if self.options.basenames => write(out, &file.base(), self.careful),
            Some(file) => {
                let mut path = Vec::new();
                file.write(&mut path);
                write(out, &path, self.careful);
            }
            None => out.extend_from_slice(b"??"),
        }
        out.push(b':');
        match line {
            Some(line) => {
                decimal(out, line.into());
                if discriminator != 0 {
                    out.extend_from_slice(b" (discriminator ");
                    decimal(out, discriminator.into());
                    out.push(b')');
                }
            }
            None => out.push(b'?'),
        }
        out.push(b'\n');
    }
}

fn write(out: &mut Vec<u8>, bytes: &[u8], careful: bool) {
    match careful {
        true => plain(out, bytes),
        false => out.extend_from_slice(bytes),
    }
}

#[cfg(test)]
mod tests {
    use symidx::Name;

    use super::*;

    fn name(bytes: &'static [u8]) -> Name<'static> {
        Name::from(bytes)
    }

    fn chain() -> [FrameText<'static>; 2] {
        let file = Some(PathText { directory: name(b"/src"), name: name(b"lib/a.c") });
        [
            FrameText {
                function: Some(name(b"inner")),
                file,
                line: Some(2),
                inlined: true,
                ..FrameText::default()
            },
            FrameText {
                function: Some(name(b"_Z5outerv")),
                file,
                line: Some(7),
                ..FrameText::default()
            },
        ]
    }

    fn text(letters: &str, frames: &[FrameText<'_>]) -> String {
        let has = |letter| letters.contains(letter);
        let options = Options {
            addresses: has('a'),
            functions: has('f'),
            inlines: has('i'),
            pretty: has('p'),
            basenames: has('s'),
            demangle: has('C'),
            ..Options::default()
        };
        let mut out = Vec::new();
        Writer::new(&options, !has('3'), false).write(&mut out, 0x1174, frames, 0);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn a_chain_in_every_form() {
        let chain = chain();
        assert_eq!(text("", &chain), "/src/lib/a.c:2\n");
        assert_eq!(text("i", &chain), "/src/lib/a.c:2\n/src/lib/a.c:7\n");
        assert_eq!(text("f", &chain), "inner\n/src/lib/a.c:2\n");
        assert_eq!(text("fis", &chain), "inner\na.c:2\n_Z5outerv\na.c:7\n");
        assert_eq!(
            text("afipsC", &chain),
            "0x0000000000001174: inner at a.c:2\n (inlined by) outer() at a.c:7\n"
        );
        assert_eq!(text("ips", &chain), "a.c:2\n (inlined by) a.c:7\n");
        assert_eq!(text("a3s", &chain), "0x00001174\na.c:2\n");
    }

    #[test]
    fn every_frame_has_the_discriminator_of_the_first() {
        let options = Options { inlines: true, basenames: true, ..Options::default() };
        let mut out = Vec::new();
        Writer::new(&options, true, false).write(&mut out, 0, &chain(), 3);
        assert_eq!(out, b"a.c:2 (discriminator 3)\na.c:7 (discriminator 3)\n");
    }

    #[test]
    fn what_is_unknown_is_said_in_two_ways() {
        let bare = [FrameText { function: Some(name(b"f")), ..FrameText::default() }];
        assert_eq!(text("", &[]), "??:0\n");
        assert_eq!(text("af", &[]), "0x0000000000001174\n??\n??:0\n");
        assert_eq!(text("afp", &[]), "0x0000000000001174: ?? ??:0\n");
        assert_eq!(text("f", &bare), "f\n??:?\n");
        assert_eq!(text("fp", &bare), "f at ??:?\n");
        let row = [FrameText { function: None, ..chain()[1] }];
        assert_eq!(text("fs", &row), "??\na.c:7\n");
        let file = [FrameText { line: None, ..chain()[1] }];
        assert_eq!(text("s", &file), "a.c:?\n");
    }
}
