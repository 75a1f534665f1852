//! Events: a `perf_event_attr` in, how records of it are laid out.
//!
//! Out: which fields its samples have, where time and id stand in every record.
//! Never decides anything about a record's contents.

use linux_perf_event_reader::{AttrFlags, Endianness, SampleFormat};

use crate::bytes::Cursor;

/// Bytes of the smallest attribute there ever was.
const SMALLEST: u64 = 64;

/// Kinds of events, as in `perf_event_attr.type`.
const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;

/// One recorded event and the layout of its records.
///
/// ```
/// # let mut session = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/session.rs"));
/// session.next_sample()?;
/// let event: &symidx_perf::Event = session.sample().unwrap().event().unwrap();
/// assert_eq!(event.name, "cpu-clock");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// As perf names it: `cpu-clock`, `cycles:u`.
    pub name: String,
    /// What a sample without a period of its own stands for.
    pub(crate) period: u64,
    pub(crate) fields: SampleFormat,
    /// `perf_event_attr.read_format`: what the values in a sample look like.
    pub(crate) read: u64,
    /// Records other than samples end in process, time and id.
    pub(crate) id_all: bool,
    /// Bytes from the start of a sample to its time.
    pub(crate) time_in_sample: Option<u8>,
    /// Bytes from the start of a sample to its event's id.
    pub(crate) id_in_sample: Option<u8>,
    /// The same, counted back from the end of every other record.
    pub(crate) time_from_end: Option<u8>,
    pub(crate) id_from_end: Option<u8>,
}

impl Event {
    /// From the bytes of a `perf_event_attr`, and how many of them it says it has.
    pub(crate) fn parse(bytes: &[u8], endian: Endianness) -> Option<(Self, u64)> {
        let mut cursor = Cursor::new(bytes, endian);
        let kind = cursor.u32()?;
        let size = match cursor.u32()? {
            0 => SMALLEST,
            size => u64::from(size),
        };
        if size < SMALLEST {
            return None;
        }
        let config = cursor.u64()?;
        let period = cursor.u64()?;
        let fields = SampleFormat::from_bits_truncate(cursor.u64()?);
        let read = cursor.u64()?;
        // A bit field: the first flag is the lowest bit of a little-endian word
        // and the highest of a big-endian one.
        let flags = match endian {
            Endianness::LittleEndian => cursor.u64()?,
            Endianness::BigEndian => cursor.u64()?.reverse_bits(),
        };
        let flags = AttrFlags::from_bits_truncate(flags);
        let event = Self::new(known_name(kind, config), fields, read, flags);
        Some((Self { period, ..event }, size))
    }

    fn new(name: String, fields: SampleFormat, read: u64, flags: AttrFlags) -> Self {
        let words = |of: SampleFormat| {
            u8::try_from(fields.intersection(of).bits().count_ones()).unwrap_or(0).saturating_mul(8)
        };
        let has = |field: SampleFormat| fields.contains(field);
        let id_all = flags.contains(AttrFlags::SAMPLE_ID_ALL);
        let (identifier, id) = (SampleFormat::IDENTIFIER, SampleFormat::ID);
        let first = identifier | SampleFormat::IP | SampleFormat::TID;
        let last = SampleFormat::STREAM_ID | SampleFormat::CPU | identifier;
        Self {
            name,
            period: 1,
            fields,
            read,
            id_all,
            time_in_sample: has(SampleFormat::TIME).then(|| words(first)),
            id_in_sample: match (has(identifier), has(id)) {
                (true, _) => Some(0),
                (_, true) => Some(words(first | SampleFormat::TIME | SampleFormat::ADDR)),
                _ => None,
            },
            time_from_end: (id_all && has(SampleFormat::TIME))
                .then(|| words(SampleFormat::TIME | id | last)),
            id_from_end: match (has(identifier), has(id)) {
                _ if !id_all => None,
                (true, _) => Some(8),
                (_, true) => Some(words(id | last)),
                _ => None,
            },
        }
    }
}

/// perf's name of an event that the profile does not name.
fn known_name(kind: u32, config: u64) -> String {
    let hardware = [
        "cycles",
        "instructions",
        "cache-references",
        "cache-misses",
        "branches",
        "branch-misses",
        "bus-cycles",
        "stalled-cycles-frontend",
        "stalled-cycles-backend",
        "ref-cycles",
    ];
    let software = [
        "cpu-clock",
        "task-clock",
        "page-faults",
        "context-switches",
        "cpu-migrations",
        "minor-faults",
        "major-faults",
        "alignment-faults",
        "emulation-faults",
        "dummy",
        "bpf-output",
        "cgroup-switches",
    ];
    let at = usize::try_from(config).unwrap_or(usize::MAX);
    let name = match kind {
        TYPE_HARDWARE => hardware.get(at),
        TYPE_SOFTWARE => software.get(at),
        _ => None,
    };
    match name {
        Some(name) => (*name).to_owned(),
        None => format!("{kind}:{config:#x}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn attr(fields: u64, flags: u64, big: bool) -> Vec<u8> {
        let words = [0, 4000, fields, 4, flags, 0, 0];
        let mut bytes = Vec::new();
        for half in [1u32, 64] {
            bytes.extend(if big { half.to_be_bytes() } else { half.to_le_bytes() });
        }
        for word in words {
            bytes.extend(if big { u64::to_be_bytes(word) } else { u64::to_le_bytes(word) });
        }
        bytes
    }

    #[test]
    fn places_of_time_and_id_follow_from_the_fields() {
        // IP | TID | TIME | ADDR | ID | CPU, sample_id_all.
        let bytes = attr(0xcf, 1 << 18, false);
        let (event, size) = Event::parse(&bytes, Endianness::LittleEndian).unwrap();
        assert_eq!(size, 64);
        assert_eq!(event.name, "cpu-clock");
        assert_eq!((event.time_in_sample, event.id_in_sample), (Some(16), Some(32)));
        assert_eq!((event.time_from_end, event.id_from_end), (Some(24), Some(16)));
        // With IDENTIFIER, that one counts.
        let bytes = attr(0x1_0047, 1 << 18, false);
        let event = Event::parse(&bytes, Endianness::LittleEndian).unwrap().0;
        assert_eq!((event.time_in_sample, event.id_in_sample), (Some(24), Some(0)));
        assert_eq!((event.time_from_end, event.id_from_end), (Some(24), Some(8)));
    }

    #[test]
    fn flags_of_a_big_endian_machine_count_from_the_other_end() {
        let bytes = attr(0x7, (1u64 << 18).reverse_bits(), true);
        let event = Event::parse(&bytes, Endianness::BigEndian).unwrap().0;
        assert_eq!(event.time_from_end, Some(8));
        assert!(event.id_all);
    }

    #[test]
    fn an_attribute_cut_short_or_too_small_is_none() {
        let bytes = attr(0x7, 0, false);
        for length in 0..48 {
            let cut = bytes.get(..length).unwrap_or(&[]);
            assert_eq!(Event::parse(cut, Endianness::LittleEndian), None);
        }
        let mut small = bytes;
        small.splice(4..8, 48u32.to_le_bytes());
        assert_eq!(Event::parse(&small, Endianness::LittleEndian), None);
    }
}
