//! Writing: a [`Profile`] in, the bytes of `profile.proto` out, compressed or not.
//!
//! The same profile gives the same bytes. Nothing is checked.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use crate::profile::Profile;
use crate::wire::{put_length, put_number};

/// Encoded bytes are handed on once there are so many.
const CHUNK: usize = 64 * 1024;

impl Profile {
    /// Writes the profile as pprof stores it: protobuf inside gzip.
    ///
    /// # Errors
    /// The writer's.
    ///
    /// ```
    /// # let profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    /// use symidx_pprof::{Limits, Profile};
    ///
    /// let mut bytes = Vec::new(); // or a file, or an HTTP response
    /// profile.write(&mut bytes)?;
    /// let (again, damage) = Profile::read(bytes.as_slice(), Limits::default())?;
    /// assert!(again == profile && damage.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = GzEncoder::new(out, Compression::default());
        self.write_plain(&mut out)?;
        out.finish()?.flush()
    }

    /// Writes the profile without compression.
    ///
    /// # Errors
    /// The writer's.
    ///
    /// ```
    /// # let profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    /// // For whoever compresses it in another way.
    /// let (mut plain, mut gzip) = (Vec::new(), Vec::new());
    /// profile.write_plain(&mut plain)?;
    /// profile.write(&mut gzip)?;
    /// assert!(gzip.starts_with(b"\x1f\x8b") && !plain.starts_with(b"\x1f\x8b"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_plain(&self, out: impl Write) -> io::Result<()> {
        let mut out = Encoder { out, buffer: Vec::with_capacity(CHUNK) };
        out.messages(1, &self.sample_types)?;
        out.messages(2, &self.samples)?;
        out.messages(3, &self.mappings)?;
        out.messages(4, &self.locations)?;
        out.messages(5, &self.functions)?;
        for text in self.strings.iter() {
            put_length(&mut out.buffer, 6, text.len());
            out.buffer.extend_from_slice(text.as_bytes());
            out.relieve()?;
        }
        let mut number = |number, value| put_number(&mut out.buffer, number, value);
        number(7, self.drop_frames);
        number(8, self.keep_frames);
        number(9, self.time_nanos);
        number(10, self.duration_nanos);
        out.messages(11, self.period_type.as_slice())?;
        put_number(&mut out.buffer, 12, self.period);
        for comment in &self.comments {
            // Kept even when 0: an entry of a list is no field that is not set.
            out.buffer.push(13 << 3);
            crate::wire::put_varint(&mut out.buffer, comment.cast_unsigned());
            out.relieve()?;
        }
        put_number(&mut out.buffer, 14, self.default_sample_type);
        put_number(&mut out.buffer, 15, self.doc_url);
        out.buffer.extend_from_slice(&self.unknown);
        out.finish()
    }
}

/// Fields on their way out.
struct Encoder<W> {
    out: W,
    buffer: Vec<u8>,
}

impl<W: Write> Encoder<W> {
    fn messages<M: Message>(&mut self, number: u64, messages: &[M]) -> io::Result<()> {
        for message in messages {
            put_length(&mut self.buffer, number, message.encoded_len());
            message.encode(&mut self.buffer).map_err(io::Error::other)?;
            self.relieve()?;
        }
        Ok(())
    }

    fn relieve(&mut self) -> io::Result<()> {
        if self.buffer.len() >= CHUNK {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)
    }
}
