//! Packed inputs: kernel modules as distributions install them (`.ko.xz`, `.ko.zst`,
//! `.ko.gz`), told by their first bytes. The packed file in, the ELF file in it
//! out, up to a limit that grows with what is there. Nothing else is unpacked.
//!
//! ```
//! use symidx_indexer::input::packed::is_packed;
//!
//! // Kernel modules come as `.ko.xz`, `.ko.zst`, `.ko.gz`; `input::open` unpacks them.
//! assert!(is_packed(b"\xfd7zXZ\0 and so on"));
//! ```

use std::io::{self, Read};
use std::path::Path;

use super::{InputError, compressed, elf};

/// No file unpacks to more …
const MAX_UNPACKED: u64 = 1 << 30;
/// … nor to more than this many times its bytes: modules come to three or four …
const MAX_RATIO: u64 = 32;
/// … and this much.
const FREE: u64 = 64 << 20;
/// Memory of the xz decoder in KiB: `xz -9` needs a dictionary of 64 MiB.
const MAX_XZ: u32 = 80 << 10;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Gzip,
    Xz,
    Zstd,
}

/// By the first bytes.
fn method(data: &[u8]) -> Option<Method> {
    match data {
        [0x1f, 0x8b, 8, ..] => Some(Method::Gzip),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Method::Xz),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Method::Zstd),
        _ => None,
    }
}

/// True when the bytes start like a packed file.
///
/// ```
/// assert!(symidx_indexer::input::packed::is_packed(b"\x28\xb5\x2f\xfd and so on")); // zstd
/// assert!(!symidx_indexer::input::packed::is_packed(b"\x7fELF"));
/// ```
#[must_use]
pub fn is_packed(data: &[u8]) -> bool {
    method(data).is_some()
}

/// The ELF file that is packed in there, if one is.
///
/// # Errors
/// [`InputError::Malformed`] when an ELF file begins there and the rest of it
/// cannot be unpacked: what a module has at its end is its symbol table.
pub(super) fn unpack(path: &Path, data: &[u8]) -> Result<Option<Vec<u8>>, InputError> {
    let Some(method) = method(data).filter(|&method| starts_with_elf(method, data)) else {
        return Ok(None);
    };
    unpack_to(method, data, limit(data.len())).map(Some).map_err(|found| InputError::Malformed {
        path: path.to_path_buf(),
        offset: None,
        expected: "a packed ELF file".to_owned(),
        found,
        advice: "copy the file again, or unpack it and index that",
    })
}

/// The most that so many packed bytes may unpack to.
fn limit(packed: usize) -> u64 {
    let packed = u64::try_from(packed).unwrap_or(u64::MAX);
    packed.saturating_mul(MAX_RATIO).saturating_add(FREE).min(MAX_UNPACKED)
}

fn starts_with_elf(method: Method, data: &[u8]) -> bool {
    let mut start = Vec::new();
    let read = |reader: &mut dyn Read, start: &mut Vec<u8>| reader.take(4).read_to_end(start);
    let read = match method {
        Method::Gzip => read(&mut flate2::read::GzDecoder::new(data), &mut start),
        Method::Xz => read(&mut xz(data), &mut start),
        Method::Zstd => match ruzstd::decoding::StreamingDecoder::new(data) {
            Ok(mut decoder) => read(&mut decoder, &mut start),
            Err(_) => return false,
        },
    };
    read.is_ok() && elf::is_elf(&start)
}

fn xz(data: &[u8]) -> lzma_rust2::XzReader<&[u8]> {
    lzma_rust2::XzReader::new_mem_limit(data, false, MAX_XZ)
}

/// All of it, or what was found instead.
fn unpack_to(method: Method, data: &[u8], limit: u64) -> Result<Vec<u8>, String> {
    match method {
        Method::Gzip => all("gzip", flate2::read::MultiGzDecoder::new(data), limit),
        Method::Xz => all("xz", xz(data), limit),
        Method::Zstd => {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let mut output = Vec::new();
            compressed::unpack_frames(data, limit, &mut output)?;
            Ok(output)
        }
    }
}

fn all(what: &str, reader: impl Read, limit: u64) -> Result<Vec<u8>, String> {
    let mut output = Vec::new();
    let damaged = |error: io::Error| format!("damaged {what} data ({error})");
    reader.take(limit.saturating_add(1)).read_to_end(&mut output).map_err(damaged)?;
    match u64::try_from(output.len()).is_ok_and(|length| length <= limit) {
        true => Ok(output),
        false => Err(format!("more than {limit:#x} bytes in {what} data of this size")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(data).unwrap();
        packer.finish().unwrap()
    }

    fn zstd(data: &[u8]) -> Vec<u8> {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        compress_to_vec(data, CompressionLevel::Fastest)
    }

    fn module() -> Vec<u8> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/elf/relocatable");
        std::fs::read(root.join("fake.ko")).unwrap()
    }

    /// Packed by `xz --check=crc32 --lzma2=dict=2MiB`, as `modules_install` does.
    fn xz_module() -> Vec<u8> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/elf/relocatable");
        std::fs::read(root.join("fake.ko.xz")).unwrap()
    }

    fn unpacked(data: &[u8]) -> Result<Option<Vec<u8>>, String> {
        unpack(Path::new("m.ko.x"), data).map_err(|error| error.to_string())
    }

    #[test]
    fn modules_are_unpacked_by_their_first_bytes() {
        for packed in [gzip(&module()), zstd(&module()), xz_module()] {
            assert!(is_packed(&packed));
            assert_eq!(unpacked(&packed).unwrap().unwrap(), module());
        }
    }

    #[test]
    fn what_is_no_elf_file_stays_packed() {
        for data in [gzip(b"text"), zstd(b""), b"\x1f\x8b\x08".to_vec(), module()] {
            assert_eq!(unpacked(&data).unwrap(), None);
        }
    }

    #[test]
    fn every_truncation_is_an_error_or_no_module() {
        for packed in [gzip(&module()), zstd(&module()), xz_module()] {
            let step = (packed.len() / 64).max(1);
            for end in (0..packed.len()).step_by(step).chain([packed.len() - 1]) {
                match unpacked(&packed[..end]) {
                    Ok(found) => assert_eq!(found, None, "{end} of {}", packed.len()),
                    Err(error) => assert!(error.contains("expected a packed ELF file"), "{error}"),
                }
            }
        }
    }

    /// Zeros pack a thousandfold: a file is refused before it fills the memory.
    #[test]
    fn a_file_that_would_fill_the_memory_is_refused() {
        assert_eq!((limit(1 << 20), limit(1 << 30)), (96 << 20, 1 << 30));
        let size = u64::try_from(module().len()).unwrap();
        let all = [
            (Method::Gzip, gzip(&module())),
            (Method::Zstd, zstd(&module())),
            (Method::Xz, xz_module()),
        ];
        for (method, packed) in all {
            assert_eq!(unpack_to(method, &packed, size).unwrap(), module());
            let error = unpack_to(method, &packed, size - 1).unwrap_err();
            assert!(error.contains("more "), "{error}");
        }
    }
}
