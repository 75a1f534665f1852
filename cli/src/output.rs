//! Standard output: one buffer, flushed when it is big or when the caller says so.
//!
//! A reader that has gone ends the program quietly; any other failure to write
//! is an error. Nothing is written behind the caller's back.

use std::io::{self, Write as _};

use crate::failure::Failure;

/// Written once the buffer holds this many bytes.
const FULL: usize = 64 * 1024;

/// Standard output.
#[derive(Debug, Default)]
pub(crate) struct Output {
    buffer: Vec<u8>,
}

impl Output {
    /// The bytes not written yet, to append to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes what has gathered if it is much.
    pub(crate) fn relieve(&mut self) -> Result<(), Failure> {
        if self.buffer.len() >= FULL { self.flush() } else { Ok(()) }
    }

    /// Writes what has gathered.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let written = write(&self.buffer);
        self.buffer.clear();
        written
    }

    /// Writes what has gathered, and these bytes behind it.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.flush()?;
        write(bytes)
    }
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::new(format!("standard output: cannot write: {error}")),
    })
}
