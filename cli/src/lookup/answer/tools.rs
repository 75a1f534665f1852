//! Answers as llvm-symbolizer and GNU addr2line print them.
//!
//! Texts and keys are theirs, in their order. What an index does not hold is
//! given as they give what they do not know: `Discriminator` 0, the
//! `StartAddress` of an inlined function empty.

use std::path::Path;

use super::{Writer, path};
use crate::frames::{FrameText, PathText};
use crate::lookup::image::{Hit, Miss};
use crate::lookup::query;
use crate::text::{Hex, Object, decimal, plain};

impl Writer {
    /// Name and `file:line:column` a frame, and an empty line after the last.
    pub(super) fn llvm_frames(&mut self, out: &mut Vec<u8>, frames: &[FrameText<'_>]) {
        let nothing = [FrameText::default()];
        for frame in if frames.is_empty() { &nothing } else { frames } {
            match frame.function {
                Some(name) => plain(out, self.llvm.full(&name.to_bytes())),
                None => out.extend_from_slice(b"??"),
            }
            out.push(b'\n');
            path(out, frame.file);
            for number in [frame.line, frame.column] {
                out.push(b':');
                decimal(out, number.unwrap_or(0).into());
            }
            out.push(b'\n');
        }
        out.push(b'\n');
    }

    /// Name and `file:line` a frame, as addr2line -f -i.
    pub(super) fn gnu_frames(&mut self, out: &mut Vec<u8>, frames: &[FrameText<'_>]) {
        for frame in frames {
            match frame.function {
                Some(name) => plain(out, self.names.full(&name.to_bytes(), frame.display)),
                None => out.extend_from_slice(b"??"),
            }
            out.push(b'\n');
            path(out, frame.file);
            out.push(b':');
            match frame.line {
                Some(line) => decimal(out, line.into()),
                // GNU addr2line's words for a function without a line.
                None => out.push(b'?'),
            }
            out.push(b'\n');
        }
        if frames.is_empty() {
            out.extend_from_slice(b"??\n??:0\n");
        }
    }

    pub(super) fn llvm_json_hit(&mut self, out: &mut Vec<u8>, address: u64, hit: &Hit<'_>) {
        self.llvm_json(out, Some(address), hit.file, &hit.chain.frames, Some(hit.start));
    }

    pub(super) fn llvm_json_miss(&mut self, out: &mut Vec<u8>, address: u64, miss: &Miss<'_>) {
        self.llvm_json(out, Some(address), None, &miss.chain.frames, None);
    }

    /// A word that begins like a number is a bad address, every other one the
    /// name of a symbol, of which this verb knows none.
    pub(super) fn llvm_json_wrong(&mut self, out: &mut Vec<u8>, query: &[u8], error: &str) {
        if error != query::EXPECTED {
            let address = query::Query::parse(query).map_or(0, |query| query.address);
            let mut answer = Object::new(out);
            answer.field("Address", Hex(address));
            let mut message = Object::new(answer.key("Error"));
            message.field("Message", error);
            message.end();
            answer.field("ModuleName", self.manner.module.as_str());
            answer.end_line();
        } else if query.first().is_none_or(u8::is_ascii_digit) {
            self.llvm_json(out, None, None, &[], None);
        } else {
            let mut answer = Object::new(out);
            answer
                .list::<u64>("Loc", &[])
                .field("ModuleName", self.manner.module.as_str())
                .field("SymName", String::from_utf8_lossy(query).as_ref());
            answer.end_line();
        }
    }

    /// The object of `--output-style=JSON`.
    pub(super) fn llvm_json(
        &mut self,
        out: &mut Vec<u8>,
        address: Option<u64>,
        file: Option<&Path>,
        frames: &[FrameText<'_>],
        start: Option<u64>,
    ) {
        let mut answer = Object::new(out);
        if let Some(address) = address {
            answer.field("Address", Hex(address));
        }
        match file {
            Some(file) => answer.field("ModuleName", file.to_string_lossy().as_ref()),
            None => answer.field("ModuleName", self.manner.module.as_str()),
        };
        let out = answer.key("Symbol");
        out.push(b'[');
        let nothing = [FrameText::default()];
        let frames = if frames.is_empty() { &nothing } else { frames };
        for (i, frame) in frames.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            let number = |number: Option<u32>| u64::from(number.unwrap_or(0));
            let function = frame.function.map(symidx::Name::to_bytes).unwrap_or_default();
            let function = self.llvm.full(&function);
            let mut object = Object::new(out);
            object
                .field("Column", number(frame.column))
                .field("Discriminator", 0u64)
                .field("FileName", joined(frame.file).as_str())
                .field("FunctionName", String::from_utf8_lossy(function).as_ref())
                .field("Line", number(frame.line));
            match start.filter(|_| i.saturating_add(1) == frames.len()) {
                Some(start) => object.field("StartAddress", Hex(start)),
                None => object.field("StartAddress", ""),
            };
            object
                .field("StartFileName", joined(frame.declared_file).as_str())
                .field("StartLine", number(frame.declared_line));
            object.end();
        }
        out.push(b']');
        answer.end_line();
    }
}

fn joined(file: Option<PathText<'_>>) -> String {
    let mut path = Vec::new();
    if let Some(file) = file {
        file.write(&mut path);
    }
    String::from_utf8_lossy(&path).into_owned()
}
