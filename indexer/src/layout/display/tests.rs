//! Texts stored and read back.

#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn texts<'t>(full: &'t [u8], short: &'t [u8]) -> Texts<'t> {
    Texts { full, short }
}

/// The run of an entry, read back.
fn run(packer: &Packer, entry: Display) -> Vec<u8> {
    let text = usize::try_from(entry.text.get()).unwrap();
    if entry.pieces.get() == 1 {
        return packer.literals[text..text + entry.run_len()].to_vec();
    }
    let lists = &packer.lists[text..];
    let pieces = usize::from(entry.pieces.get());
    let list = lists.as_chunks::<6>().0[..pieces].iter();
    list.flat_map(|piece| {
        let [a, b, c, d, len @ ..] = *piece;
        let at = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap();
        packer.literals[at..at + usize::from(u16::from_le_bytes(len))].to_vec()
    })
    .collect()
}

#[test]
fn what_repeats_is_stored_once() {
    let mut packer = Packer::new(1 << 12);
    let first = b"space::Longer::Names::method(int, char const*)";
    let entry = packer.store(&texts(first, &first[..28])).unwrap();
    assert_eq!((entry.pieces.get(), packer.literals.len()), (1, first.len()));
    let second = b"space::Longer::Names::other(int, char const*)";
    let entry = packer.store(&texts(second, &second[..27])).unwrap();
    assert_eq!(entry.pieces.get(), 3);
    assert!(packer.literals.len() < first.len() + 8);
    assert_eq!(run(&packer, entry), second);
    // A part of an old text is one piece and needs no list.
    let lists = packer.lists.len();
    let entry = packer.store(&texts(&first[7..], &first[7..28])).unwrap();
    assert_eq!((entry.pieces.get(), packer.lists.len()), (1, lists));
    assert_eq!(run(&packer, entry), &first[7..]);
}

#[test]
fn a_short_text_is_a_part_of_the_full_one_or_follows_it() {
    let mut packer = Packer::new(1 << 12);
    let entry = packer.store(&texts(b"int f<int>(int)", b"f<int>")).unwrap();
    assert_eq!((entry.short_start.get(), entry.short_len.get()), (4, 6));
    let entry = packer.store(&texts(b"f(int) [clone .cold]", b"f [clone .cold]")).unwrap();
    assert_eq!((entry.full_len.get(), entry.short_start.get()), (20, 20));
    assert_eq!(run(&packer, entry), b"f(int) [clone .cold]f [clone .cold]");
}

/// Made of too many old parts, a text would be slow to read.
#[test]
fn a_text_of_many_parts_is_stored_whole() {
    let mut packer = Packer::new(1 << 12);
    let part = |i: u8| [b'a' + i; 20];
    let mut all = Vec::new();
    for i in 0..10 {
        packer.store(&texts(&part(i), &part(i))).unwrap();
        all.splice(0..0, part(i));
    }
    let before = packer.literals.len();
    let entry = packer.store(&texts(&all, &all)).unwrap();
    assert_eq!(entry.pieces.get(), 1);
    assert_eq!(packer.literals.len(), before + all.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_text_is_read_back(words in prop::collection::vec(
        prop::collection::vec(0..12_usize, 1..40), 1..40)
    ) {
        const WORDS: [&str; 12] = [
            "a", "::", "std::vector<int, std::allocator<int> >", "é", "öäüß", "(", ")",
            "const&", "aaaaaaaaaaaaaaaaaaaaaaaaaaa", "ééééééééééééééé", "at::Tensor", ", ",
        ];
        let mut packer = Packer::new(1 << 10);
        let mut stored = Vec::new();
        for text in &words {
            let text: String = text.iter().map(|&word| WORDS[word]).collect();
            let short = &text.as_bytes()[..1];
            stored.push((packer.store(&texts(text.as_bytes(), short)).unwrap(), text.clone()));
        }
        for (entry, text) in stored {
            prop_assert!((1..=MAX_PIECES).contains(&entry.pieces.get()));
            prop_assert_eq!(run(&packer, entry), text.as_bytes());
            let pieces = usize::from(entry.pieces.get());
            let start = usize::try_from(entry.text.get()).unwrap();
            if pieces > 1 {
                for piece in &packer.lists[start..].as_chunks::<6>().0[..pieces] {
                    let [a, b, c, d, len @ ..] = *piece;
                    let at = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap();
                    let len = usize::from(u16::from_le_bytes(len));
                    let piece = &packer.literals[at..at + len];
                    prop_assert!(std::str::from_utf8(piece).is_ok() && !piece.is_empty());
                }
            }
        }
    }
}
