//! Reading: the bytes of a profile in, gzip or not; a [`Profile`] out, and what was wrong with it.
//!
//! Memory is bounded by [`Limits`], whatever the bytes claim. A damaged message costs only itself.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use prost::Message;

use crate::damage::{Damage, Fault};
use crate::profile::Profile;
use crate::proto::{Function, Label, Line, Location, Mapping, Sample, ValueType};
use crate::repair::repair;
use crate::strings::Strings;
use crate::wire::{Field, Fields, Value};

/// How much memory a profile may take while it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the decompressed profile and of what is decoded of it, together. A gzip
    /// stream may unpack to 64 MiB and 128 times its bytes at most, whatever this is.
    pub bytes: u64,
}

impl Default for Limits {
    /// 2 GiB: profiles of big services have some 10 MB.
    fn default() -> Self {
        Self { bytes: 2 << 30 }
    }
}

/// Why nothing could be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system's error.
    Io(io::Error),
    /// The profile takes more memory than allowed.
    TooLarge {
        /// [`Limits::bytes`].
        limit: u64,
    },
    /// The gzip stream unpacks to far more than profiles do.
    Inflated {
        /// As many times its bytes.
        times: u64,
    },
    /// These bytes are something else.
    NotAProfile {
        /// What, as far as one can tell.
        found: &'static str,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read: {error}"),
            Self::TooLarge { limit } => write!(
                f,
                "expected a profile that takes at most {limit} bytes of memory, found one that takes \
                 more; raise the limit if it is to be trusted"
            ),
            Self::Inflated { times } => write!(
                f,
                "expected a gzip stream that unpacks to at most {times} times its bytes, found one that \
                 goes on; unpack it (`gunzip`) if it is to be trusted"
            ),
            Self::NotAProfile { found } => write!(
                f,
                "expected a pprof profile (profile.proto, gzip or not), found {found}; \
                 `pprof -proto` converts older formats"
            ),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl Profile {
    /// The profile that a file or a response holds, and what was wrong with it.
    /// All that it refers to is there.
    ///
    /// # Errors
    /// [`ReadError`]: nothing of it could be read, or it is larger than allowed.
    ///
    /// ```no_run
    /// use symidx_pprof::{Limits, Profile};
    /// let file = std::fs::File::open("heap.pb.gz")?;
    /// let (profile, damage) = Profile::read(file, Limits::default())?;
    /// println!("{} samples", profile.samples.len());
    /// damage.iter().for_each(|(fault, count)| eprintln!("{count} {fault}"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(input: impl Read, limits: Limits) -> Result<(Self, Damage), ReadError> {
        let mut damage = Damage::default();
        let bytes = decompress(input, limits, &mut damage)?;
        Ok((Self::decode(&bytes, limits, &mut damage)?, damage))
    }

    /// The same of bytes that are decompressed already and count as part of the limit.
    fn decode(bytes: &[u8], limits: Limits, damage: &mut Damage) -> Result<Self, ReadError> {
        let limit = limits.bytes;
        let used = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let mut reader = Reader {
            profile: Self { strings: Strings::empty(), ..Self::default() },
            damage,
            left: limit.checked_sub(used).ok_or(ReadError::TooLarge { limit })?,
            limit,
        };
        let mut fields = Fields::new(bytes);
        for field in fields.by_ref() {
            reader.field(field)?;
        }
        if !fields.rest().is_empty() {
            reader.damage.note(Fault::Tail);
        }
        let mut profile = reader.profile;
        // Every profile says what it counts; other bytes that happen to be fields do not.
        if profile.sample_types.is_empty() {
            return Err(ReadError::NotAProfile { found: kind_of(bytes) });
        }
        repair(&mut profile, damage);
        Ok(profile)
    }
}

/// So many bytes are unpacked whatever they came from.
const INFLATED: u64 = 64 << 20;

/// Profiles unpack to some 2 to 20 times their bytes, those made to be large to a thousand.
const INFLATION: u64 = 128;

/// Counts what is taken from a stream.
struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.bytes = self.bytes.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.inner.consume(bytes);
    }
}

/// Unpacks a gzip stream, up to one byte past the limit; what it comes to beyond `free`
/// bytes is in proportion to its own.
fn unpack(
    input: impl BufRead,
    limit: u64,
    free: u64,
    bytes: &mut Vec<u8>,
) -> Result<io::Result<()>, ReadError> {
    const STEP: u64 = 1 << 20;
    let mut decoder = MultiGzDecoder::new(Counted { inner: input, bytes: 0 });
    loop {
        let done = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let most = decoder.get_ref().bytes.saturating_mul(INFLATION).saturating_add(free);
        if done > most {
            return Err(ReadError::Inflated { times: INFLATION });
        }
        let left = limit.saturating_add(1).saturating_sub(done).min(STEP);
        match decoder.by_ref().take(left).read_to_end(bytes) {
            Ok(0) => return Ok(Ok(())),
            Ok(_) => {}
            Err(error) => return Ok(Err(error)),
        }
    }
}

/// The bytes themselves, or what they decompress to.
fn decompress(input: impl Read, limits: Limits, damage: &mut Damage) -> Result<Vec<u8>, ReadError> {
    let mut input = BufReader::new(input);
    let start = input.fill_buf().map_err(ReadError::Io)?;
    let mut bytes = Vec::new();
    let limit = limits.bytes;
    if start.starts_with(&[0x1f, 0x8b]) {
        match unpack(input, limit, INFLATED, &mut bytes)? {
            Ok(()) => {}
            // What was decompressed before is as good as any.
            Err(_) if !bytes.is_empty() => damage.note(Fault::Gzip),
            Err(error) if is_content(error.kind()) => {
                return Err(ReadError::NotAProfile { found: "a gzip stream that is broken" });
            }
            Err(error) => return Err(ReadError::Io(error)),
        }
    } else {
        input.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    }
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(ReadError::TooLarge { limit });
    }
    Ok(bytes)
}

/// True for errors that are about the bytes, not about getting them.
fn is_content(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
    )
}

/// What bytes are that are no profile.
fn kind_of(bytes: &[u8]) -> &'static str {
    let starts = |text: &str| bytes.starts_with(text.as_bytes());
    match bytes {
        [] => "nothing",
        _ if starts("heap profile:") || starts("heap_v2/") => {
            "a heap profile of gperftools or jemalloc"
        }
        _ if starts("--- ") => "a profile in a format of gperftools",
        // Header of an old CPU profile: 0, 3, 0, in words of 4 or 8 bytes.
        [0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, ..]
        | [0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, ..] => "a CPU profile of gperftools",
        [0x7f, b'E', b'L', b'F', ..] => "an ELF file",
        _ if starts("PERFILE2") => "a perf.data file",
        _ if bytes
            .iter()
            .take(64)
            .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) =>
        {
            "text"
        }
        _ => "something else",
    }
}

/// Memory that a message may take for each byte of it, at most: a varint of one
/// byte becomes eight, in a vector that may have doubled just now; an empty label 32.
const GROWTH: u64 = 32;

/// A profile while it is read.
struct Reader<'d> {
    profile: Profile,
    damage: &'d mut Damage,
    left: u64,
    limit: u64,
}

impl Reader<'_> {
    /// Takes memory from what is left.
    fn charge(&mut self, bytes: usize) -> Result<(), ReadError> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let wrong = ReadError::TooLarge { limit: self.limit };
        self.left = self.left.checked_sub(bytes).ok_or(wrong)?;
        Ok(())
    }

    fn field(&mut self, field: Field<'_>) -> Result<(), ReadError> {
        let profile = &mut self.profile;
        let number = match field.number {
            1..=6 | 11 => return self.message(field),
            7 => &mut profile.drop_frames,
            8 => &mut profile.keep_frames,
            9 => &mut profile.time_nanos,
            10 => &mut profile.duration_nanos,
            12 => &mut profile.period,
            13 => return self.comments(field),
            14 => &mut profile.default_sample_type,
            15 => &mut profile.doc_url,
            _ => {
                self.charge(field.bytes.len())?;
                self.profile.unknown.extend_from_slice(field.bytes);
                return Ok(());
            }
        };
        match field.value {
            Value::Varint(value) => *number = value.cast_signed(),
            _ => self.damage.note(Fault::FieldType),
        }
        Ok(())
    }

    fn message(&mut self, field: Field<'_>) -> Result<(), ReadError> {
        let Value::Bytes(bytes) = field.value else {
            self.damage.note(Fault::FieldType);
            return Ok(());
        };
        let most = u64::try_from(bytes.len()).unwrap_or(u64::MAX).saturating_mul(GROWTH);
        if most > self.left {
            return Err(ReadError::TooLarge { limit: self.limit });
        }
        match field.number {
            1 => {
                let value: Option<ValueType> = self.decode(bytes);
                self.charge(size_of::<ValueType>())?;
                self.profile.sample_types.extend(value);
            }
            2 => {
                if let Some(mut sample) = self.decode::<Sample>(bytes) {
                    sample.location_id.shrink_to_fit();
                    sample.value.shrink_to_fit();
                    sample.label.shrink_to_fit();
                    self.charge(sample_bytes(&sample))?;
                    self.profile.samples.push(sample);
                }
            }
            3 => {
                let mapping: Option<Mapping> = self.decode(bytes);
                self.charge(size_of::<Mapping>())?;
                self.profile.mappings.extend(mapping);
            }
            4 => {
                if let Some(mut location) = self.decode::<Location>(bytes) {
                    location.line.shrink_to_fit();
                    self.charge(location_bytes(&location))?;
                    self.profile.locations.push(location);
                }
            }
            5 => {
                let function: Option<Function> = self.decode(bytes);
                self.charge(size_of::<Function>())?;
                self.profile.functions.extend(function);
            }
            6 => {
                let text = String::from_utf8_lossy(bytes);
                self.charge(text.len().saturating_add(size_of::<usize>()))?;
                self.profile.strings.push(&text);
                if matches!(text, std::borrow::Cow::Owned(_)) {
                    self.damage.note(Fault::Utf8);
                }
            }
            _ => self.profile.period_type = self.decode(bytes).or(self.profile.period_type),
        }
        Ok(())
    }

    fn decode<M: Message + Default>(&mut self, bytes: &[u8]) -> Option<M> {
        let message = M::decode(bytes);
        if message.is_err() {
            self.damage.note(Fault::Message);
        }
        message.ok()
    }

    /// Numbers, packed or one by one.
    fn comments(&mut self, field: Field<'_>) -> Result<(), ReadError> {
        /// A message with nothing but comments.
        #[derive(Clone, PartialEq, prost::Message)]
        struct Comments {
            #[prost(int64, repeated, tag = "13")]
            comment: Vec<i64>,
        }
        let most = u64::try_from(field.bytes.len()).unwrap_or(u64::MAX).saturating_mul(GROWTH);
        if most > self.left {
            return Err(ReadError::TooLarge { limit: self.limit });
        }
        if let Some(Comments { comment }) = self.decode(field.bytes) {
            self.charge(comment.len().saturating_mul(size_of::<i64>()))?;
            self.profile.comments.extend(comment);
        }
        Ok(())
    }
}

/// What an allocation costs beside its bytes.
const HEAP: usize = 16;

fn sample_bytes(sample: &Sample) -> usize {
    let numbers = sample.location_id.len().saturating_add(sample.value.len());
    let labels = sample.label.len().saturating_mul(size_of::<Label>());
    size_of::<Sample>()
        .saturating_add(numbers.saturating_mul(size_of::<u64>()))
        .saturating_add(labels)
        .saturating_add(HEAP.saturating_mul(2))
}

fn location_bytes(location: &Location) -> usize {
    let lines = location.line.len().saturating_mul(size_of::<Line>());
    size_of::<Location>().saturating_add(lines).saturating_add(HEAP)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
