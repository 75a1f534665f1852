//! Answers in the four styles.
//!
//! In: what a query came to. Out: bytes appended to the output buffer, exactly
//! as scripts expect them; nothing half-written when the index turns out broken.

use symidx::{AliasName, Corrupt};

use super::Style;
use super::image::{Found, Hit, Reason};
use crate::shown::Shown;
use crate::text::{Hex, Object, Value as _, bytes_of, hex, plain};

/// Writes answers.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    style: Style,
    names: Shown,
    all: bool,
}

impl Writer {
    /// A writer for one style.
    pub(super) fn new(style: Style, demangle: bool, all: bool) -> Self {
        Self { style, names: Shown::new(demangle), all }
    }

    /// Appends the answer; an error when there is none, after an output that
    /// keeps question and answer in step.
    pub(super) fn write(
        &mut self,
        out: &mut Vec<u8>,
        query: &[u8],
        address: u64,
        found: &Found<'_>,
    ) -> Result<(), String> {
        let start = out.len();
        let wrong = match found {
            Found::Wrong(error) => error.clone(),
            Found::Hit(hit) => match self.hit(out, query, address, hit) {
                Ok(()) => return Ok(()),
                Err(corrupt) => {
                    out.truncate(start);
                    corrupt.to_string()
                }
            },
            Found::Miss(reason) => {
                self.miss(out, query, address, reason);
                return Ok(());
            }
        };
        self.wrong(out, query, &wrong);
        let query = crate::text::printable(&String::from_utf8_lossy(query));
        Err(format!("`{query}`: {wrong}"))
    }

    fn hit(
        &mut self,
        out: &mut Vec<u8>,
        query: &[u8],
        address: u64,
        hit: &Hit<'_>,
    ) -> Result<(), Corrupt> {
        if self.style == Style::Json {
            return self.json(out, address, hit);
        }
        let name = self.names.of(&hit.symbol)?;
        match self.style {
            Style::Json => {}
            Style::Plain => {
                place(out, query, address);
                plain(out, name);
                out.push(b'+');
                hex(out, hit.offset);
                self.remarks(out, hit)?;
                out.push(b'\n');
            }
            Style::Llvm => {
                plain(out, name);
                out.extend_from_slice(b"\n??:0:0\n\n");
            }
            Style::Gnu => {
                plain(out, name);
                // GNU addr2line's words for a function without a line.
                out.extend_from_slice(b"\n??:?\n");
            }
        }
        Ok(())
    }

    /// What follows the name for people.
    fn remarks(&mut self, out: &mut Vec<u8>, hit: &Hit<'_>) -> Result<(), Corrupt> {
        if let Some(module) = hit.symbol.module()? {
            out.extend_from_slice(b" [");
            plain(out, bytes_of(module));
            out.push(b']');
        }
        if let Some(file) = hit.file {
            out.extend_from_slice(b" (");
            plain(out, file.as_os_str().as_encoded_bytes());
            out.push(b')');
        }
        if self.all {
            for (i, alias) in hit.symbol.aliases().enumerate() {
                let before: &[u8] = if i == 0 { b" aliases: " } else { b", " };
                out.extend_from_slice(before);
                plain(out, alias_name(bytes_of(hit.symbol.name()), &alias?));
            }
        }
        Ok(())
    }

    fn json(&mut self, out: &mut Vec<u8>, address: u64, hit: &Hit<'_>) -> Result<(), Corrupt> {
        let symbol = &hit.symbol;
        let name = bytes_of(symbol.name());
        let section = symbol.section()?.map(|section| bytes_of(section.name()));
        let module = symbol.module()?.map(bytes_of);
        let mut answer = Object::new(out);
        answer.field("address", Hex(address));
        let mut object = Object::new(answer.key("symbol"));
        // The frame repeats both strings: copied, not made again.
        let plain_name = object.name("name", name);
        let demangled = object.string("demangled", self.names.of(symbol)?);
        object
            .field("start", Hex(hit.start))
            .field("size", symbol.size())
            .field("offset", hit.offset)
            .field("kind", symbol.kind().as_str())
            .field("binding", symbol.binding().as_str())
            .field("extent", symbol.extent().as_str())
            .field("section", section)
            .field("module", module)
            .field("version", symbol.version().map(bytes_of));
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
            alias_name(name, &alias?).write(out);
        }
        out.push(b']');
        object.end();
        let out = answer.key("frames");
        out.extend_from_slice(b"[{\"function\":");
        out.extend_from_within(plain_name);
        out.extend_from_slice(b",\"demangled\":");
        out.extend_from_within(demangled);
        out.extend_from_slice(b",\"file\":null,\"line\":null,\"column\":null,\"inlined\":false}]");
        answer.end_line();
        Ok(())
    }

    fn miss(&self, out: &mut Vec<u8>, query: &[u8], address: u64, reason: &Reason) {
        match self.style {
            Style::Json => {
                let mut text = Vec::new();
                reason_text(&mut text, reason);
                let mut answer = Object::new(out);
                answer
                    .field("address", Hex(address))
                    .field("symbol", None::<u64>)
                    .list::<u64>("frames", &[])
                    .field("reason", text.as_slice());
                answer.end_line();
            }
            Style::Plain => {
                place(out, query, address);
                out.extend_from_slice(b"?? (");
                reason_text(out, reason);
                out.extend_from_slice(b")\n");
            }
            Style::Llvm => out.extend_from_slice(b"??\n??:0:0\n\n"),
            Style::Gnu => out.extend_from_slice(b"??\n??:0\n"),
        }
    }

    fn wrong(&self, out: &mut Vec<u8>, query: &[u8], error: &str) {
        match self.style {
            Style::Json => {
                let mut answer = Object::new(out);
                match std::str::from_utf8(query) {
                    Ok(query) => answer.field("query", query),
                    Err(_) => answer.field("query", query),
                };
                answer.field("error", error);
                answer.end_line();
            }
            Style::Plain => {
                plain(out, query);
                out.extend_from_slice(b" ?? (");
                plain(out, error.as_bytes());
                out.extend_from_slice(b")\n");
            }
            Style::Llvm => out.extend_from_slice(b"??\n??:0:0\n\n"),
            Style::Gnu => out.extend_from_slice(b"??\n??:0\n"),
        }
    }
}

/// The query as asked, for people: `0x401136 ` or `.text:0x10 `.
fn place(out: &mut Vec<u8>, query: &[u8], address: u64) {
    if let Some(colon) = memchr::memrchr(b':', query) {
        plain(out, query.get(..=colon).unwrap_or(query));
    }
    hex(out, address);
    out.push(b' ');
}

fn reason_text(out: &mut Vec<u8>, reason: &Reason) {
    match reason {
        Reason::Uncovered => out.extend_from_slice(b"no symbol covers this address"),
        Reason::Unnamed(start) => {
            out.extend_from_slice(b"unnamed function at ");
            hex(out, *start);
        }
        Reason::Text(text) => plain(out, text.as_bytes()),
    }
}

fn separate(out: &mut Vec<u8>, position: usize) {
    if position > 0 {
        out.push(b',');
    }
}

/// An alias as listed: without its version when that is the default one, so
/// that it reads like the symbol's own name; `f@V1` where it is another one.
fn alias_name<'i>(primary: &[u8], alias: &AliasName<'i>) -> &'i [u8] {
    let (name, stored) = (bytes_of(alias.name()), bytes_of(alias.stored_name()));
    let version = stored.get(name.len()..).unwrap_or(&[]);
    if version.starts_with(b"@@") && name != primary { name } else { stored }
}
