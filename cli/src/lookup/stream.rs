//! Queries on standard input: one a line, answered in order.
//!
//! Answers are written whenever no further whole line is at hand, so that a
//! program that asks one question at a time gets each answer at once, and one
//! that sends thousands costs few system calls. Where a chunk of input holds many
//! lines, processors share it: demangling costs more than looking up.

use std::io::{BufRead as _, BufReader};

use super::image::{Found, Image};
use super::query::Query;
use super::{Session, Space, Writer, query};
use crate::failure::{Failure, exit};

/// A longer line is no address; what follows in it is skipped.
const MAX_LINE: usize = 4096;
/// Read at once, as much as a pipe holds. The answers are some megabytes then: more
/// would be written to memory that is slower.
const CHUNK: usize = 64 * 1024;
/// Lines worth a thread of their own, in bytes.
const SHARE: usize = 8 * 1024;
/// More threads would wait for the one that writes.
const MAX_THREADS: usize = 16;

/// Answers every line of standard input.
pub(super) fn run(session: &mut Session) -> Result<(), Failure> {
    let mut input = BufReader::with_capacity(CHUNK, std::io::stdin().lock());
    // The beginning of a line whose end has not come yet.
    let mut begun: Vec<u8> = Vec::new();
    loop {
        session.output.flush()?;
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(Failure::new(format!("standard input: cannot read: {error}")));
            }
        };
        if chunk.is_empty() {
            break;
        }
        let used = chunk.len();
        let mut rest = chunk;
        if !begun.is_empty()
            && let Some(end) = memchr::memchr(b'\n', rest)
        {
            let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            keep(&mut begun, line);
            session.answer(&begun)?;
            begun.clear();
            rest = after.get(1..).unwrap_or(&[]);
        }
        let whole = memchr::memrchr(b'\n', rest).map_or(0, |end| end.saturating_add(1));
        let (lines, more) = rest.split_at_checked(whole).unwrap_or((rest, &[]));
        answer_lines(session, lines)?;
        keep(&mut begun, more);
        input.consume(used);
    }
    if !begun.is_empty() {
        session.answer(&begun)?;
    }
    Ok(())
}

fn keep(begun: &mut Vec<u8>, more: &[u8]) {
    let room = MAX_LINE.saturating_sub(begun.len());
    begun.extend_from_slice(more.get(..room).unwrap_or(more));
}

/// The lines of a text that ends with a line feed, or is empty.
fn each_line(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n");
    text.into_iter().flat_map(|text| text.split(|&byte| byte == b'\n'))
}

fn answer_lines(session: &mut Session, lines: &[u8]) -> Result<(), Failure> {
    let shares = lines.len() / SHARE;
    match &session.space {
        Space::Image(image) if shares > 1 => {
            let threads =
                std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
            let shares = shares.min(threads).min(MAX_THREADS);
            let spare = std::mem::take(&mut session.spare);
            let answers = side_by_side(image, &session.writer, lines, shares, spare);
            for (mut bytes, errors) in answers {
                session.output.pass(&bytes)?;
                bytes.clear();
                session.spare.push(bytes);
                for error in errors {
                    session.code = exit::SOME_FAILED;
                    session.ui.error(error);
                }
            }
            Ok(())
        }
        _ => each_line(lines).try_for_each(|line| session.answer(line)),
    }
}

/// What a thread wrote, and what it has to complain about.
type Answers = (Vec<u8>, Vec<String>);

/// Answers the lines in `shares` threads; the answers are in order. `spare` are
/// empty buffers to write to, as many as there may be.
fn side_by_side(
    image: &Image,
    writer: &Writer,
    lines: &[u8],
    shares: usize,
    mut spare: Vec<Vec<u8>>,
) -> Vec<Answers> {
    let answer = |part: &[u8], mut bytes: Vec<u8>| {
        let (mut writer, mut errors) = (writer.clone(), Vec::new());
        for line in each_line(part) {
            let text = line.trim_ascii();
            let found = find(image, text);
            let address = Query::parse(text).map_or(0, |query| query.address);
            if let Err(error) = writer.write(&mut bytes, text, address, &found) {
                errors.push(error);
            }
        }
        (bytes, errors)
    };
    let parts = split(lines, shares);
    std::thread::scope(|scope| {
        let (first, others) = parts.split_first().unwrap_or((&lines, &[]));
        let threads: Vec<_> = others
            .iter()
            .map(|part| {
                let bytes = spare.pop().unwrap_or_default();
                let started =
                    std::thread::Builder::new().spawn_scoped(scope, || answer(part, bytes));
                (started, *part)
            })
            .collect();
        let mut answers = vec![answer(first, spare.pop().unwrap_or_default())];
        for (started, part) in threads {
            // A thread that cannot be had costs time, not answers.
            let done = started.ok().and_then(|thread| thread.join().ok());
            answers.push(done.unwrap_or_else(|| answer(part, Vec::new())));
        }
        answers
    })
}

/// The answer to one line.
pub(super) fn find<'i>(image: &'i Image, text: &[u8]) -> Found<'i> {
    match Query::parse(text) {
        Some(query) => image.find(query),
        None => Found::Wrong(query::EXPECTED.to_owned()),
    }
}

/// Splits lines into parts of about the same size, at line ends.
fn split(lines: &[u8], parts: usize) -> Vec<&[u8]> {
    let size = lines.len().checked_div(parts).unwrap_or(0);
    let mut rest = lines;
    let mut found = Vec::with_capacity(parts);
    while found.len().saturating_add(1) < parts {
        let after = rest.get(size..).unwrap_or(&[]);
        let Some(end) = memchr::memchr(b'\n', after) else { break };
        let end = size.saturating_add(end).saturating_add(1);
        let (part, others) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        found.push(part);
        rest = others;
    }
    found.push(rest);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_lines_and_nothing_is_lost() {
        let lines: Vec<u8> = (0..1000).flat_map(|n| format!("{n:x}\n").into_bytes()).collect();
        for parts in 1..20 {
            let split = split(&lines, parts);
            assert!(split.len() <= parts);
            assert!(split.iter().all(|part| part.is_empty() || part.ends_with(b"\n")));
            assert_eq!(split.concat(), lines);
        }
        assert_eq!(each_line(b"").count(), 0);
        assert_eq!(each_line(b"\n\n").count(), 2);
        assert_eq!(each_line(b"a\nb\n").collect::<Vec<_>>(), [b"a", b"b"]);
    }
}
