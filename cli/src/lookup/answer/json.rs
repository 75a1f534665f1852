//! The JSON of the contract: one object a line, its keys in a fixed order.

use std::ops::Range;

use symidx::Corrupt;

use super::{Writer, alias_name};
use crate::frames::FrameText;
use crate::lookup::image::{Hit, Miss};
use crate::text::{Hex, Object, Value as _};

impl Writer {
    pub(super) fn json_hit(
        &mut self,
        out: &mut Vec<u8>,
        address: u64,
        hit: &Hit<'_>,
    ) -> Result<(), Corrupt> {
        let symbol = &hit.symbol;
        let name = symbol.name().to_bytes();
        let section = symbol.section()?.map(|section| section.name().to_bytes());
        let module = symbol.module()?.map(symidx::Name::to_bytes);
        let mut answer = Object::new(out);
        answer.field("address", Hex(address));
        let mut object = Object::new(answer.key("symbol"));
        // The last frame repeats both strings: copied, not made again.
        let plain_name = object.name("name", &name);
        let demangled = object.string("demangled", self.names.full(&name, symbol.display_name()?));
        object
            .field("start", Hex(hit.start))
            .field("size", symbol.size())
            .field("offset", hit.offset)
            .field("kind", symbol.kind().as_str())
            .field("binding", symbol.binding().as_str())
            .field("extent", symbol.extent().as_str())
            .field("section", section)
            .field("module", module)
            .field("version", symbol.version().map(symidx::Name::to_bytes));
        let out = object.key("flags");
        out.push(b'[');
        let flags = [
            (symbol.is_part(), "part"),
            (symbol.is_folded(), "folded"),
            (symbol.is_dwarf(), "dwarf"),
        ];
        for (i, (_, flag)) in flags.iter().filter(|(on, _)| *on).enumerate() {
            separate(out, i);
            flag.write(out);
        }
        out.push(b']');
        let out = object.key("aliases");
        out.push(b'[');
        for (i, alias) in symbol.aliases().enumerate() {
            separate(out, i);
            alias_name(&name, &alias?).write(out);
        }
        out.push(b']');
        object.end();
        self.json_frames(
            answer.key("frames"),
            &hit.chain.frames,
            Some((&name, plain_name, demangled)),
        );
        // Where several files are looked at, which one it is in.
        if let Some(file) = hit.file {
            answer.field("file", file.as_os_str().as_encoded_bytes());
        }
        svma(&mut answer, hit.svma);
        answer.end_line();
        Ok(())
    }

    pub(super) fn json_miss(&mut self, out: &mut Vec<u8>, address: u64, miss: &Miss<'_>) {
        let mut reason = Vec::new();
        miss.reason.write(&mut reason);
        let mut answer = Object::new(out);
        answer.field("address", Hex(address)).field("symbol", None::<u64>);
        self.json_frames(answer.key("frames"), &miss.chain.frames, None);
        answer.field("reason", reason.as_slice());
        if let Some(file) = miss.file {
            answer.field("file", file.as_os_str().as_encoded_bytes());
        }
        svma(&mut answer, miss.svma);
        answer.end_line();
    }

    /// The frames; `written` is a function whose name and demangled name stand
    /// in the output already.
    pub(super) fn json_frames(
        &mut self,
        out: &mut Vec<u8>,
        frames: &[FrameText<'_>],
        written: Option<(&[u8], Range<usize>, Range<usize>)>,
    ) {
        out.push(b'[');
        for (i, frame) in frames.iter().enumerate() {
            separate(out, i);
            match (frame.function, &written) {
                (Some(function), Some((name, plain_name, demangled))) if function == **name => {
                    out.extend_from_slice(b"{\"function\":");
                    out.extend_from_within(plain_name.clone());
                    out.extend_from_slice(b",\"demangled\":");
                    out.extend_from_within(demangled.clone());
                }
                (function, _) => {
                    out.extend_from_slice(b"{\"function\":");
                    let function = function.map(symidx::Name::to_bytes);
                    function.as_deref().write(out);
                    out.extend_from_slice(b",\"demangled\":");
                    let names = &mut self.names;
                    function.as_deref().map(|name| names.full(name, frame.display)).write(out);
                }
            }
            out.extend_from_slice(b",\"file\":");
            match frame.file {
                Some(file) => {
                    let mut joined = Vec::new();
                    file.write(&mut joined);
                    joined.as_slice().write(out);
                }
                None => out.extend_from_slice(b"null"),
            }
            out.extend_from_slice(b",\"line\":");
            frame.line.map(u64::from).write(out);
            out.extend_from_slice(b",\"column\":");
            frame.column.map(u64::from).write(out);
            out.extend_from_slice(b",\"inlined\":");
            frame.inlined.write(out);
            out.push(b'}');
        }
        out.push(b']');
    }
}

/// What `start` is to be compared with where `address` counts otherwise.
fn svma(answer: &mut Object<'_>, svma: Option<u64>) {
    if let Some(svma) = svma {
        answer.field("svma", Hex(svma));
    }
}

/// A query that cannot be answered.
pub(super) fn wrong(out: &mut Vec<u8>, query: &[u8], error: &str) {
    let mut answer = Object::new(out);
    match std::str::from_utf8(query) {
        Ok(query) => answer.field("query", query),
        Err(_) => answer.field("query", query),
    };
    answer.field("error", error);
    answer.end_line();
}

fn separate(out: &mut Vec<u8>, position: usize) {
    if position > 0 {
        out.push(b',');
    }
}
