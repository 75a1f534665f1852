//! What the service does besides being scraped: it fills caches, and forgets most of it.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;

/// Bytes of payload that [`fill`] returns.
pub(crate) const KEPT: usize = 48 << 20;

/// A cache: documents by name.
pub(crate) type Cache = HashMap<String, Vec<u8>>;

/// Builds a cache of [`KEPT`] bytes from documents that are parsed and dropped.
pub(crate) fn fill() -> Cache {
    let mut cache = Cache::new();
    let mut kept = 0;
    for number in 0u64.. {
        let document = document(number);
        if parse(&document).len() > 1 {
            kept += document.len();
            cache.insert(format!("document {number}"), document);
        }
        if kept >= KEPT {
            break;
        }
    }
    cache
}

#[inline(never)]
fn document(number: u64) -> Vec<u8> {
    let size = 1 << (10 + number % 8);
    let mut text = Vec::with_capacity(size);
    text.extend(b"key: value\n".iter().cycle().take(size));
    text
}

#[inline(never)]
fn parse(document: &[u8]) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    for (number, line) in document.split(|&byte| byte == b'\n').take(100).enumerate() {
        let text = String::from_utf8_lossy(line).into_owned();
        if let Some((key, value)) = text.split_once(": ") {
            fields.insert(format!("{key} {number}"), value.to_owned());
        }
    }
    black_box(fields)
}
