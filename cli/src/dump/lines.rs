//! `symidx dump --lines`: every stretch of code with a source line, and its frames.
//!
//! In: an index. Out: text or JSON lines, in order of section and address, with
//! linkage names. Neighbours that print the same may still be two rows.

use std::borrow::Cow;

use symidx::{Corrupt, Index, LineRow, Svma};

use crate::failure::Failure;
use crate::frames::{Chain, FrameText, Want};
use crate::output::Output;
use crate::text::{Hex, Object, UNKNOWN, Value as _, decimal, hex, plain};

/// Prints every row; `broken` makes an error of damage.
pub(super) fn dump(
    index: &Index<'_>,
    json: bool,
    broken: impl Fn(Corrupt) -> Failure,
) -> Result<(), Failure> {
    let mut output = Output::default();
    let sections = sections(index).map_err(&broken)?;
    for row in index.line_rows() {
        let row = row.map_err(&broken)?;
        let chain = chain(index, &row).map_err(&broken)?;
        if let Some(damage) = chain.damage {
            return Err(broken(damage));
        }
        let section = section(&sections, &row);
        match json {
            true => row_json(output.buffer(), &row, section, &chain.frames),
            false => row_text(output.buffer(), &row, section, &chain.frames),
        }
        output.relieve()?;
    }
    output.flush()
}

fn chain<'i>(index: &'i Index<'_>, row: &LineRow) -> Result<Chain<'i>, Corrupt> {
    let frames = match row.section {
        Some(section) => index.frames_in(section, row.start)?,
        None => index.frames(Svma(row.start))?,
    };
    let symbol = frames.symbol()?;
    Ok(Chain::new(index, Ok(frames), symbol.as_ref(), Want { inlines: true, display: false }))
}

/// The name of every section of a relocatable file, by [`symidx::ImageSectionId`]: there
/// may be as many of them as functions, so none is looked for row by row.
fn sections<'i>(index: &'i Index<'_>) -> Result<Vec<Cow<'i, [u8]>>, Corrupt> {
    if !index.is_relocatable() {
        return Ok(Vec::new());
    }
    index.sections().map(|section| Ok(section?.name().to_bytes())).collect()
}

/// The name of the section that a row's address is an offset in.
fn section<'n>(names: &'n [Cow<'_, [u8]>], row: &LineRow) -> Option<&'n [u8]> {
    names.get(usize::try_from(row.section?.0).ok()?).map(|name| &**name)
}

/// `0x401174 6 inner at a.c:2:75`, and below it, indented, what it was inlined into.
fn row_text(out: &mut Vec<u8>, row: &LineRow, section: Option<&[u8]>, frames: &[FrameText<'_>]) {
    if let Some(section) = section {
        plain(out, section);
        out.push(b':');
    }
    hex(out, row.start);
    out.push(b' ');
    decimal(out, row.size);
    for (i, frame) in frames.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b" " } else { b"  (inlined by) " });
        plain(out, &frame.function.map_or(UNKNOWN, symidx::Name::to_bytes));
        out.extend_from_slice(b" at ");
        match frame.file {
            Some(file) => {
                let mut path = Vec::new();
                file.write(&mut path);
                plain(out, &path);
            }
            None => out.extend_from_slice(b"??"),
        }
        let column = frame.column.filter(|&column| column > 0);
        for number in frame.line.into_iter().chain(column) {
            out.push(b':');
            decimal(out, number.into());
        }
        out.push(b'\n');
    }
}

fn row_json(out: &mut Vec<u8>, row: &LineRow, section: Option<&[u8]>, frames: &[FrameText<'_>]) {
    let mut object = Object::new(out);
    object.field("address", Hex(row.start)).field("size", row.size).field("section", section);
    let out = object.key("frames");
    out.push(b'[');
    for (i, frame) in frames.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        let mut entry = Object::new(out);
        match frame.function {
            Some(function) => drop(entry.name("function", &function.to_bytes())),
            None => drop(entry.field("function", None::<u64>)),
        }
        let path = frame.file.map(|file| {
            let mut path = Vec::new();
            file.write(&mut path);
            path
        });
        path.as_deref().write(entry.key("file"));
        entry
            .field("line", frame.line.map(u64::from))
            .field("column", frame.column.map(u64::from))
            .field("inlined", frame.inlined);
        entry.end();
    }
    out.push(b']');
    object.end_line();
}
