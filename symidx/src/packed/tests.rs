#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::format::{Attrs, name_hash};
use crate::names::{Name, PackedPlace, split};
use crate::open::View;

/// A packed section with these phrases and codes; where the codes start.
fn section(phrases: &[&[u8]], codes: &[u8]) -> (Vec<u8>, u32) {
    let text = phrases.concat();
    let mut bytes = (phrases.len() as u32).to_le_bytes().to_vec();
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend([0; 8]);
    let mut at = 0u32;
    for phrase in phrases {
        bytes.extend(&at.to_le_bytes()[..3]);
        bytes.push(phrase.len() as u8);
        at += phrase.len() as u32;
    }
    bytes.extend(&text);
    let start = bytes.len() as u32;
    bytes.extend(codes);
    (bytes, start)
}

fn bytes(name: PackedName<'_>) -> Vec<u8> {
    name.pieces().collect::<Vec<_>>().concat()
}

/// Bytes as codes, cut into literal runs of so many bytes.
fn literal(bytes: &[u8], run: usize) -> (Vec<u8>, u32) {
    let codes: Vec<u8> = bytes
        .chunks(run)
        .flat_map(|run| [&[CODE_LITERAL, run.len() as u8][..], run].concat())
        .collect();
    section(&[], &codes)
}

fn name(section: &[u8], at: u32, len: usize) -> PackedName<'_> {
    PackedName { section, at, skip: 0, len: len as u16 }
}

#[test]
fn every_kind_of_code_is_read() {
    let many: Vec<Vec<u8>> = (0..400u16).map(|n| n.to_be_bytes().to_vec()).collect();
    let phrases: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
    let codes = [
        3, 127, 128, 0, 129, 15, CODE_HEX, 1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 255, 2,
        b'@', 9,
    ];
    let (section, at) = section(&phrases, &codes);
    let expected = [
        &3u16.to_be_bytes()[..],
        &127u16.to_be_bytes(),
        &128u16.to_be_bytes(),
        &(128u16 + 256 + 15).to_be_bytes(),
        b"0123456789abcdef",
        b"@\t",
    ]
    .concat();
    let whole = name(&section, at, expected.len());
    assert_eq!(bytes(whole), expected);
    // Any part of it, too, and never an empty piece.
    for skip in 0..=expected.len() {
        for len in 0..=expected.len() - skip {
            let part = whole.part(skip as u16, len as u16);
            assert_eq!(bytes(part), expected[skip..skip + len]);
            assert!(part.pieces().all(|piece| !piece.is_empty()));
            let mut buffer = [b'!'; 40];
            part.copy_to(&mut buffer[..len / 2]);
            assert_eq!(buffer[..len / 2], expected[skip..skip + len / 2]);
            assert_eq!(buffer[len / 2], b'!');
        }
    }
}

/// Whatever the codes are, a name has the bytes it says it has, and takes no more steps.
#[test]
fn what_cannot_be_read_is_no_text() {
    for codes in [
        &[][..],
        &[0],
        &[CODE_LITERAL],
        &[CODE_LITERAL, 0, b'a'],
        &[CODE_LITERAL, 9, b'a'],
        &[CODE_HEX],
        &[200],
        &[200, 200],
        &[1, 1, 1],
    ] {
        let (section, at) = section(&[b"", b"a"], codes);
        let name = name(&section, at, 100);
        let mut pieces = name.pieces();
        let steps = pieces.by_ref().count();
        assert!(!pieces.is_readable() && steps <= 100, "{codes:?}");
        let found = bytes(name);
        assert_eq!(found.len(), 100);
        assert_eq!(found.last(), Some(&0xff));
    }
    // A section that is none: nothing is read of it.
    for broken in [&[][..], &[0xff; 64], &[1; 15]] {
        assert_eq!(bytes(name(broken, 3, 5)), [0xff; 5]);
    }
}

proptest! {
    /// Any bytes in a section, from anywhere: as many bytes as were asked for.
    #[test]
    fn any_section_is_borne(
        section in proptest::collection::vec(any::<u8>(), 0..300), count in 0u32..40, text in 0u32..200,
        at in 0u32..310, skip in 0u16..700, len in 0u16..700,
    ) {
        let mut section = section;
        if let Some(head) = section.first_chunk_mut::<8>() {
            head[..4].copy_from_slice(&count.to_le_bytes());
            head[4..].copy_from_slice(&text.to_le_bytes());
        }
        let name = PackedName { section: &section, at, skip, len };
        let mut steps = 0;
        for piece in name.pieces() {
            prop_assert!(!piece.is_empty());
            steps += 1;
        }
        prop_assert!(steps <= len);
        prop_assert_eq!(bytes(name).len(), usize::from(len));
    }

    /// Text and comparisons of bytes that come in pieces are those of the whole.
    #[test]
    fn pieces_are_read_as_the_whole(
        text in proptest::collection::vec(prop_oneof![
            Just(b"\xc3\xa9".to_vec()), Just(b"\xf0\x9f\xa6\x80".to_vec()), Just(b"\xff".to_vec()),
            Just(b"\xf0\x9f".to_vec()), Just(b"\x80".to_vec()), Just(b"@".to_vec()),
            Just(b"plain text and more of it".to_vec()),
        ], 0..60),
        run in 1usize..9, other in "[@a]{0,4}",
    ) {
        let text = text.concat();
        let (section, at) = literal(&text, run);
        let view = packed_view(&section);
        let place = PackedPlace { at, skip: 0, len: text.len() as u16 };
        let plain = Name::from(&text[..]);
        let packed = match view.name_at(place) {
            Some(packed) => packed,
            None => { prop_assert!(text.is_empty()); return Ok(()) }
        };
        prop_assert_eq!(packed.to_string(), plain.to_string());
        prop_assert_eq!(format!("{packed:?}"), format!("{plain:?}"));
        let again = view.name_at(place);
        prop_assert!(packed == plain && Some(packed) == again && packed == text[..]);
        prop_assert!(packed.len() == text.len() && packed.is_empty() == text.is_empty());
        prop_assert_eq!(packed.hash(), name_hash(&text));
        prop_assert_eq!(packed.as_bytes().is_none(), !text.is_empty());
        let shorter = &text[..text.len().saturating_sub(1)];
        prop_assert_eq!(packed == *shorter, text.is_empty());
        let mut longer = text.clone();
        longer.push(b'x');
        prop_assert!(packed != longer[..] && packed != Name::from(&longer[..]));
        let third = Name::from(other.as_bytes());
        prop_assert_eq!(packed.compare(&third), text[..].cmp(other.as_bytes()));
        prop_assert_eq!(third.compare(&packed), other.as_bytes().cmp(&text[..]));
        // Versions: the same parts.
        let attrs = Attrs(Attrs::VERSIONED);
        let ((a, a_version, a_default), (b, b_version, b_default)) =
            (split(packed, attrs), split(plain, attrs));
        prop_assert!(a == b && a_version == b_version && a_default == b_default);
        prop_assert!(split(packed, Attrs(0)).0 == plain);
        let mut written = String::new();
        packed.write_to(&mut written).unwrap();
        prop_assert_eq!(written, String::from_utf8_lossy(&text));
    }
}

/// A view of nothing but a packed names section.
fn packed_view(section: &[u8]) -> View<'_> {
    let golden = include_bytes!("../../../testdata/golden/packed.symidx");
    let mut view = View::open(golden).unwrap();
    assert!(view.packed);
    view.names = section;
    view
}
