//! Queries on standard input: one a line, answered in order.
//!
//! Answers are written whenever no further whole line is at hand, so that a
//! program that asks one question at a time gets each answer at once, and one
//! that sends thousands costs few system calls.

use std::io::BufRead as _;

use super::Session;
use crate::failure::Failure;

/// A longer line is no address; what follows in it is skipped.
const MAX_LINE: usize = 4096;

/// Answers every line of standard input.
pub(super) fn run(session: &mut Session) -> Result<(), Failure> {
    let mut input = std::io::stdin().lock();
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
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            rest = after.get(1..).unwrap_or(&[]);
            if begun.is_empty() {
                session.answer(line)?;
            } else {
                keep(&mut begun, line);
                session.answer(&begun)?;
                begun.clear();
            }
        }
        keep(&mut begun, rest);
        let used = chunk.len();
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
