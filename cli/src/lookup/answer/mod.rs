//! Answers in the styles: for people here, for programs in `json` and `tools`.
//!
//! In: what a query came to. Out: bytes appended to the output buffer, exactly
//! as scripts expect them; nothing half-written when the index turns out broken.

mod json;
mod tools;

use std::borrow::Cow;
use std::path::Path;

use symidx::{AliasName, Corrupt, DisplayName};
use symidx_indexer::demangle::{Demangler, Spelling};

use super::Style;
use super::image::{Found, Hit, Miss, Reason};
use crate::frames::{FrameText, PathText};
use crate::shown::Shown;
use crate::text::{UNKNOWN, decimal, hex, plain};

/// How to write answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Manner {
    /// The style.
    pub(super) style: Style,
    /// Names as people wrote them.
    pub(super) demangle: bool,
    /// Every alias.
    pub(super) all: bool,
    /// Colours, for people.
    pub(super) color: bool,
    /// What llvm-symbolizer's JSON calls the file.
    pub(super) module: String,
}

/// Writes answers.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    manner: Manner,
    names: Shown,
    /// Names as LLVM spells them, which no index stores.
    llvm: Demangler,
}

impl Writer {
    /// A writer of this manner.
    pub(super) fn new(manner: Manner) -> Self {
        let llvm = Demangler::spelling(manner.demangle, Spelling::Llvm);
        Self { names: Shown::new(manner.demangle), llvm, manner }
    }

    /// Appends the answer; an error when there is none, after an output that
    /// keeps question and answer in step, or when a part of it is missing.
    pub(super) fn write(
        &mut self,
        out: &mut Vec<u8>,
        query: &[u8],
        address: u64,
        found: &Found<'_>,
    ) -> Result<(), String> {
        let start = out.len();
        let (written, damage) = match found {
            Found::Wrong(error) => (Err(error.clone()), None),
            Found::Hit(hit) => (self.hit(out, query, address, hit), hit.chain.damage),
            Found::Miss(miss) => {
                self.miss(out, query, address, miss);
                (Ok(()), miss.chain.damage)
            }
        };
        let complaint = |what: &str| {
            let query = crate::text::printable(&String::from_utf8_lossy(query));
            format!("`{query}`: {what}")
        };
        match (written, damage) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(damage)) => {
                Err(complaint(&format!("lines and inlined functions are missing: {damage}")))
            }
            (Err(wrong), _) => {
                out.truncate(start);
                self.wrong(out, query, &wrong);
                Err(complaint(&wrong))
            }
        }
    }

    fn hit(
        &mut self,
        out: &mut Vec<u8>,
        query: &[u8],
        address: u64,
        hit: &Hit<'_>,
    ) -> Result<(), String> {
        let written = match self.manner.style {
            Style::Json => self.json_hit(out, address, hit),
            Style::Plain => self.plain_hit(out, query, address, hit),
            Style::Llvm => {
                self.llvm_frames(out, &hit.chain.frames);
                Ok(())
            }
            Style::LlvmJson => {
                self.llvm_json_hit(out, address, hit);
                Ok(())
            }
            Style::Gnu => {
                self.gnu_frames(out, &hit.chain.frames);
                Ok(())
            }
        };
        written.map_err(|corrupt| corrupt.to_string())
    }

    fn miss(&mut self, out: &mut Vec<u8>, query: &[u8], address: u64, miss: &Miss<'_>) {
        match self.manner.style {
            Style::Json => self.json_miss(out, address, miss),
            Style::Plain => self.plain_miss(out, query, address, miss),
            Style::Llvm => self.llvm_frames(out, &miss.chain.frames),
            Style::LlvmJson => self.llvm_json_miss(out, address, miss),
            Style::Gnu => self.gnu_frames(out, &miss.chain.frames),
        }
    }

    fn wrong(&mut self, out: &mut Vec<u8>, query: &[u8], error: &str) {
        match self.manner.style {
            Style::Json => json::wrong(out, query, error),
            Style::Plain => {
                plain(out, query);
                out.extend_from_slice(b" ?? (");
                plain(out, error.as_bytes());
                out.extend_from_slice(b")\n");
            }
            Style::Llvm => self.llvm_frames(out, &[]),
            Style::LlvmJson => self.llvm_json_wrong(out, query, error),
            Style::Gnu => self.gnu_frames(out, &[]),
        }
    }

    /// `0x401174 inner at a.c:2:75`, and below it, indented, what it was
    /// inlined into; the symbol, which comes last, with the offset in it.
    fn plain_hit(
        &mut self,
        out: &mut Vec<u8>,
        query: &[u8],
        address: u64,
        hit: &Hit<'_>,
    ) -> Result<(), Corrupt> {
        self.question(out, query, address);
        let (outermost, inner) = match hit.chain.frames.split_last() {
            Some((outermost, inner)) => (*outermost, inner),
            None => (FrameText::default(), &[][..]),
        };
        for (i, frame) in inner.iter().enumerate() {
            self.inlined_by(out, i);
            self.function(
                out,
                &frame.function.map_or(UNKNOWN, symidx::Name::to_bytes),
                frame.display,
            );
            self.place(out, frame);
            out.push(b'\n');
        }
        self.inlined_by(out, inner.len());
        self.function(out, &hit.symbol.name().to_bytes(), hit.symbol.display_name()?);
        out.push(b'+');
        hex(out, hit.offset);
        self.place(out, &outermost);
        self.remarks(out, hit)?;
        out.push(b'\n');
        Ok(())
    }

    fn plain_miss(&mut self, out: &mut Vec<u8>, query: &[u8], address: u64, miss: &Miss<'_>) {
        self.question(out, query, address);
        let frames = &miss.chain.frames;
        for (i, frame) in frames.iter().enumerate() {
            if i > 0 {
                out.push(b'\n');
            }
            self.inlined_by(out, i);
            self.function(
                out,
                &frame.function.map_or(UNKNOWN, symidx::Name::to_bytes),
                frame.display,
            );
            self.place(out, frame);
        }
        if frames.is_empty() {
            out.extend_from_slice(b"??");
        }
        out.extend_from_slice(b" (");
        miss.reason.write(out);
        out.push(b')');
        self.file(out, miss.file);
        out.push(b'\n');
    }

    /// The mapped file, where several are looked at.
    fn file(&self, out: &mut Vec<u8>, file: Option<&Path>) {
        if let Some(file) = file {
            out.extend_from_slice(b" (");
            plain(out, file.as_os_str().as_encoded_bytes());
            out.push(b')');
        }
    }

    /// The query as asked: `0x401136 ` or `.text:0x10 `.
    fn question(&self, out: &mut Vec<u8>, query: &[u8], address: u64) {
        self.painted(out, b"2", |out| {
            if let Some(colon) = memchr::memrchr(b':', query) {
                plain(out, query.get(..=colon).unwrap_or(query));
            }
            hex(out, address);
        });
        out.push(b' ');
    }

    fn inlined_by(&self, out: &mut Vec<u8>, position: usize) {
        if position > 0 {
            out.extend_from_slice(b"    ");
            self.painted(out, b"2", |out| out.extend_from_slice(b"(inlined by)"));
            out.push(b' ');
        }
    }

    fn function(&mut self, out: &mut Vec<u8>, name: &[u8], display: Option<DisplayName<'_>>) {
        let color = self.manner.color;
        let name = self.names.full(name, display);
        painted(color, out, b"1", |out| plain(out, name));
    }

    /// ` at a.c:2:75`, as much of it as is known.
    fn place(&self, out: &mut Vec<u8>, frame: &FrameText<'_>) {
        if frame.file.is_none() && frame.line.is_none() {
            return;
        }
        out.extend_from_slice(b" at ");
        self.painted(out, b"36", |out| {
            path(out, frame.file);
            if let Some(line) = frame.line {
                out.push(b':');
                decimal(out, line.into());
                if let Some(column) = frame.column.filter(|&column| column > 0) {
                    out.push(b':');
                    decimal(out, column.into());
                }
            }
        });
    }

    /// What follows the name for people.
    fn remarks(&mut self, out: &mut Vec<u8>, hit: &Hit<'_>) -> Result<(), Corrupt> {
        if let Some(module) = hit.symbol.module()? {
            out.extend_from_slice(b" [");
            plain(out, &module.to_bytes());
            out.push(b']');
        }
        self.file(out, hit.file);
        if self.manner.all {
            for (i, alias) in hit.symbol.aliases().enumerate() {
                let before: &[u8] = if i == 0 { b" aliases: " } else { b", " };
                out.extend_from_slice(before);
                plain(out, &alias_name(&hit.symbol.name().to_bytes(), &alias?));
            }
        }
        Ok(())
    }

    fn painted(&self, out: &mut Vec<u8>, color: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
        painted(self.manner.color, out, color, write);
    }
}

/// What `write` writes, in a colour if there are to be any.
fn painted(on: bool, out: &mut Vec<u8>, color: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
    if on {
        out.extend_from_slice(b"\x1b[");
        out.extend_from_slice(color);
        out.push(b'm');
    }
    write(out);
    if on {
        out.extend_from_slice(b"\x1b[0m");
    }
}

/// The joined path, safe to show; `??` when it is not known.
fn path(out: &mut Vec<u8>, file: Option<PathText<'_>>) {
    match file {
        Some(file) => {
            let mut joined = Vec::new();
            file.write(&mut joined);
            plain(out, &joined);
        }
        None => out.extend_from_slice(b"??"),
    }
}

impl Reason {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Uncovered => out.extend_from_slice(symidx::UNCOVERED.as_bytes()),
            Self::Unnamed(start) => {
                out.extend_from_slice(b"unnamed function at ");
                hex(out, *start);
            }
            Self::Text(text) => plain(out, text.as_bytes()),
        }
    }
}

/// An alias as listed: without its version when that is the default one, so
/// that it reads like the symbol's own name; `f@V1` where it is another one.
fn alias_name<'i>(primary: &[u8], alias: &AliasName<'i>) -> Cow<'i, [u8]> {
    let (name, stored) = (alias.name().to_bytes(), alias.stored_name().to_bytes());
    let version = stored.get(name.len()..).unwrap_or(&[]);
    if version.starts_with(b"@@") && *name != *primary { name } else { stored }
}

#[cfg(test)]
mod tests;
