//! Compressed debug sections: packed bytes and the size they claim in, their
//! contents out. Grows as bytes come, never by the claim; a section that is not
//! whole and right is an error in words, and the caller goes on without it.

use std::io::Read as _;

/// How a section is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// A zlib stream.
    Zlib,
    /// Zstandard frames, one after the other.
    Zstd,
}

/// No section unpacks to more.
const MAX_UNPACKED: u64 = 4 << 30;
/// Nor to more than this many times its packed bytes (deflate reaches 1032) …
const MAX_RATIO: u64 = 1100;
/// … and this much.
const FREE: u64 = 1 << 20;

/// All sections of a file together do not unpack to more than this many times
/// the file: debug information of real programs comes to five or ten …
const FILE_RATIO: u64 = 32;
/// … and this much.
const FILE_FREE: u64 = 64 << 20;

/// What the sections of one file may still unpack to.
#[derive(Debug)]
pub(super) struct Room(u64);

impl Room {
    /// For a file of these bytes.
    pub(super) fn for_file(data: &[u8]) -> Self {
        let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
        Self(length.saturating_mul(FILE_RATIO).saturating_add(FILE_FREE))
    }
}

/// The unpacked bytes, exactly `claimed` of them, or what was found instead.
pub(super) fn unpack(
    method: Method,
    packed: &[u8],
    claimed: u64,
    room: &mut Room,
) -> Result<Vec<u8>, String> {
    let length = u64::try_from(packed.len()).unwrap_or(u64::MAX);
    let most = length.saturating_mul(MAX_RATIO).saturating_add(FREE).min(MAX_UNPACKED);
    let Some(limit) = usize::try_from(claimed).ok().filter(|_| claimed <= most) else {
        return Err(format!("a claim of {claimed:#x} bytes in {length:#x} packed ones"));
    };
    let Some(left) = room.0.checked_sub(claimed) else {
        return Err(format!("a claim of {claimed:#x} bytes, more than its file can be worth"));
    };
    room.0 = left;
    let mut output = Vec::new();
    match method {
        Method::Zlib => inflate(packed, limit, &mut output)?,
        Method::Zstd => unpack_frames(packed, limit, &mut output)?,
    }
    if output.len() != limit {
        return Err(format!("{:#x} bytes where {claimed:#x} are claimed", output.len()));
    }
    output.shrink_to_fit();
    Ok(output)
}

fn too_many(limit: usize) -> String {
    format!("more bytes than the {limit:#x} claimed")
}

/// One zlib stream; its checksum is checked.
fn inflate(packed: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), String> {
    const STEP: usize = 1 << 16;
    let mut stream = flate2::Decompress::new(true);
    // One byte more than claimed: room to see that there are too many.
    let room = limit.saturating_add(1);
    loop {
        if output.len() == output.capacity() {
            let more = output.len().max(STEP).min(room.saturating_sub(output.len()));
            output.reserve_exact(more);
        }
        let before = (stream.total_in(), output.len());
        let rest = usize::try_from(before.0).ok().and_then(|at| packed.get(at..)).unwrap_or(&[]);
        let status = stream
            .decompress_vec(rest, output, flate2::FlushDecompress::None)
            .map_err(|error| format!("damaged zlib data ({error})"))?;
        if output.len() > limit {
            return Err(too_many(limit));
        }
        if status == flate2::Status::StreamEnd {
            return Ok(());
        }
        if (stream.total_in(), output.len()) == before {
            return Err(format!("zlib data that ends after {:#x} bytes", output.len()));
        }
    }
}

/// All Zstandard frames; linkers that pack in parallel write several.
pub(super) fn unpack_frames(
    packed: &[u8],
    limit: usize,
    output: &mut Vec<u8>,
) -> Result<(), String> {
    use ruzstd::decoding::StreamingDecoder;
    use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
    let damaged = |error: &dyn std::fmt::Display| format!("damaged zstd data ({error})");
    let mut rest = packed;
    while !rest.is_empty() {
        let mut decoder = match StreamingDecoder::new(&mut rest) {
            Ok(decoder) => decoder,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let skip = usize::try_from(length).unwrap_or(usize::MAX);
                rest = rest.get(skip..).ok_or("a zstd frame that is cut short")?;
                continue;
            }
            Err(error) => return Err(damaged(&error)),
        };
        let left = limit.saturating_sub(output.len()).saturating_add(1);
        let left = u64::try_from(left).unwrap_or(u64::MAX);
        (&mut decoder).take(left).read_to_end(output).map_err(|error| damaged(&error))?;
        if output.len() > limit {
            return Err(too_many(limit));
        }
        let decoder = decoder.into_frame_decoder();
        let stated = decoder.get_checksum_from_data();
        if stated.is_some() && stated != decoder.get_calculated_checksum() {
            return Err("zstd data whose checksum is wrong".to_owned());
        }
    }
    Ok(())
}

/// The packed bytes and the claimed size of an old `.zdebug_*` section
/// (`ZLIB`, the size in eight big-endian bytes, a zlib stream).
pub(super) fn old_header(data: &[u8]) -> Option<(&[u8], u64)> {
    let (size, packed) = data.strip_prefix(b"ZLIB")?.split_first_chunk::<8>()?;
    Some((packed, u64::from_be_bytes(*size)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn unpack(method: Method, packed: &[u8], claimed: u64) -> Result<Vec<u8>, String> {
        super::unpack(method, packed, claimed, &mut Room::for_file(packed))
    }

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(data).unwrap();
        packer.finish().unwrap()
    }

    fn zstd(data: &[u8]) -> Vec<u8> {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        compress_to_vec(data, CompressionLevel::Fastest)
    }

    fn text() -> Vec<u8> {
        (0..20_000u32).flat_map(|i| format!("{} ", i * i).into_bytes()).collect()
    }

    fn size(data: &[u8]) -> u64 {
        data.len().try_into().unwrap()
    }

    #[test]
    fn both_methods_give_back_what_was_packed() {
        for data in [Vec::new(), b"x".to_vec(), text(), vec![0; 1_000_000]] {
            assert_eq!(unpack(Method::Zlib, &zlib(&data), size(&data)).unwrap(), data);
            assert_eq!(unpack(Method::Zstd, &zstd(&data), size(&data)).unwrap(), data);
        }
    }

    #[test]
    fn several_frames_and_skipped_ones_are_one_section() {
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let packed = [zstd(b"one "), skipped, zstd(b"two")].concat();
        assert_eq!(unpack(Method::Zstd, &packed, 7).unwrap(), b"one two");
    }

    #[test]
    fn a_wrong_claim_is_refused() {
        let data = text();
        for (method, packed) in [(Method::Zlib, zlib(&data)), (Method::Zstd, zstd(&data))] {
            for claimed in [0, 1, size(&data) - 1, size(&data) + 1, 1 << 60, u64::MAX] {
                let found = unpack(method, &packed, claimed).unwrap_err();
                assert!(found.contains("claim"), "{method:?} {claimed:#x}: {found}");
            }
        }
    }

    /// The last four bytes of a zlib stream are its checksum: without them all
    /// contents are there, and still unproven.
    #[test]
    fn every_truncation_is_refused() {
        let data: Vec<u8> = text()[..3000].to_vec();
        for (method, packed) in [(Method::Zlib, zlib(&data)), (Method::Zstd, zstd(&data))] {
            for end in 0..packed.len() {
                assert!(unpack(method, &packed[..end], size(&data)).is_err(), "{method:?} {end}");
            }
        }
    }

    #[test]
    fn a_wrong_checksum_is_refused() {
        let data = text();
        for (method, mut packed) in [(Method::Zlib, zlib(&data)), (Method::Zstd, zstd(&data))] {
            *packed.last_mut().unwrap() ^= 1;
            let found = unpack(method, &packed, size(&data)).unwrap_err();
            assert!(found.contains("damaged zlib") || found.contains("checksum"), "{found}");
        }
    }

    #[test]
    fn garbage_is_refused() {
        for method in [Method::Zlib, Method::Zstd] {
            assert!(unpack(method, b"", 5).is_err());
            assert!(unpack(method, &[0xff; 100], 5).is_err());
            assert!(unpack(method, &text(), 5).is_err());
        }
    }

    /// Three sections of zeros in a file of 9 MB took 9 GB: each ratio was one
    /// that deflate reaches, and nothing counted them together.
    #[test]
    fn sections_of_one_file_are_counted_together() {
        let packed = zlib(&vec![0; 30 << 20]);
        let mut room = Room::for_file(&packed);
        let mut unpacked = || super::unpack(Method::Zlib, &packed, 30 << 20, &mut room);
        assert!(unpacked().is_ok() && unpacked().is_ok());
        let refused = unpacked().unwrap_err();
        assert!(refused.contains("more than its file can be worth"), "{refused}");
    }

    #[test]
    fn old_headers() {
        assert_eq!(old_header(b"ZLIB\0\0\0\0\0\0\x01\x02rest"), Some((&b"rest"[..], 0x102)));
        assert_eq!(old_header(b"ZLIB\0\0\0\0\0\0\x01"), None);
        assert_eq!(old_header(b"zlib\0\0\0\0\0\0\x01\x02"), None);
    }
}
