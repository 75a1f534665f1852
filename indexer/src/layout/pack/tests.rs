use symidx::format::{LONG_NAME, Record};
use zerocopy::FromZeros;

use super::*;

/// The names through a dictionary made of them, and back by the codes' table in FORMAT.md.
fn there_and_back(names: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let total = names.iter().map(|name| name.len() as u64).sum();
    let mut packer = Packer::new(|_| names.iter().cloned(), total);
    let starts: Vec<usize> = names
        .iter()
        .map(|name| {
            let start = packer.place().unwrap();
            packer.push(name, false).unwrap();
            start as usize
        })
        .collect();
    starts
        .iter()
        .zip(names)
        .map(|(&start, name)| unpack(&packer.section, start, name.len()))
        .collect()
}

/// What the page says, written down once more.
fn unpack(section: &[u8], start: usize, len: usize) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(section[at..at + 4].try_into().unwrap()) as usize;
    let (phrases, text) = (word(0), 16 + word(0) * 4);
    let phrase = |number: usize| {
        assert!(number < phrases, "phrase {number} of {phrases}");
        let entry = word(16 + number * 4);
        &section[text + (entry & 0xff_ffff)..][..entry >> 24]
    };
    let (mut at, mut name) = (start, Vec::new());
    while name.len() < len {
        let code = section[at] as usize;
        at += 1;
        match code {
            0..128 => name.extend_from_slice(phrase(code)),
            128..254 => {
                name.extend_from_slice(phrase(128 + (code - 128) * 256 + section[at] as usize));
                at += 1;
            }
            254 => {
                for byte in &section[at..at + 8] {
                    name.extend_from_slice(format!("{byte:02x}").as_bytes());
                }
                at += 8;
            }
            _ => {
                let count = section[at] as usize;
                name.extend_from_slice(&section[at + 1..][..count]);
                at += 1 + count;
            }
        }
    }
    name.truncate(len);
    name
}

fn names(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_come_back(names in proptest::collection::vec(
        proptest::collection::vec(proptest::prelude::any::<u8>(), 0..600), 0..20,
    )) {
        proptest::prop_assert_eq!(there_and_back(&names), names);
    }

    /// Few letters: so that phrases are found, overlap and end anywhere.
    #[test]
    fn any_repeats_come_back(names in proptest::collection::vec("[ab0_]{0,200}", 0..40)) {
        let names: Vec<_> = names.into_iter().map(String::into_bytes).collect();
        proptest::prop_assert_eq!(there_and_back(&names), names);
    }

}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]

    /// 500 names of random bytes took a quarter more than plain and more, many of one byte too:
    /// phrases between bytes that nothing fits. Such names stay plain now.
    #[test]
    fn packed_names_are_never_larger_by_more_than_the_limit(
        names in proptest::collection::vec(
            proptest::collection::vec(proptest::prelude::any::<u8>(), 1..90), 1..600,
        ),
        letters in proptest::collection::vec("[ab0_]{1,40}", 0..600),
    ) {
        let letters = letters.into_iter().map(String::into_bytes);
        let names: Vec<_> = names.into_iter().chain(letters).collect();
        let (plain, stored, packed) = sizes(&names);
        proptest::prop_assert!(stored <= plain + 256, "{} plain, {} stored", plain, stored);
        proptest::prop_assert!(packed || stored == plain);
    }
}

/// Bytes of the names' section before and after packing, and whether they are packed.
fn sizes(names: &[Vec<u8>]) -> (u64, u64, bool) {
    let mut plan = Plan::default();
    names.iter().for_each(|name| plan.names.push_other(name));
    let plain = plan.names.size;
    pack_names(&mut plan).unwrap();
    (plain, plan.names.size, plan.is_packed())
}

/// As `pack_names` did it before: all packed, whatever that takes.
fn packed_anyway(names: &[Vec<u8>]) -> u64 {
    let total = names.iter().map(|name| name.len() as u64).sum();
    let mut packer = Packer::new(|_| names.iter().cloned(), total);
    names.iter().for_each(|name| packer.push(name, false).unwrap());
    packer.section.len() as u64
}

#[test]
fn names_that_grow_stay_plain_and_a_few_more_bytes_are_taken() {
    let mut state = 1u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        0x80 | (state >> 57) as u8
    };
    let random: Vec<Vec<u8>> = (0..500).map(|_| (0..120).map(|_| byte()).collect()).collect();
    let single: Vec<Vec<u8>> = (1..=255u8).map(|byte| vec![byte]).collect();
    for grows in [&random, &single] {
        let (plain, stored, packed) = sizes(grows);
        assert!(packed_anyway(grows) > plain + MOST_GROWTH);
        assert_eq!((stored, packed), (plain, false));
    }
    // As many bytes more as are allowed: three for each name of one byte, less its own, and the head.
    for (count, packed) in [(120usize, true), (121, false)] {
        let few = &single[..count];
        assert_eq!(packed_anyway(few), 16 + 3 * count as u64);
        assert_eq!(sizes(few).2, packed, "{count}");
    }
}

#[test]
fn phrases_of_two_bytes_of_code_come_back() {
    // More than 128 phrases: three of each of a thousand words.
    let all: Vec<Vec<u8>> = (0..3000u32)
        .map(|n| format!("_word{:x}_", (n % 1000).wrapping_mul(2_654_435_761)).into_bytes())
        .collect();
    let mut packer = Packer::new(|_| all.iter().cloned(), 40_000);
    let phrases = u32::from_le_bytes(packer.section[..4].try_into().unwrap());
    assert!(phrases > 400, "{phrases}");
    let before = packer.section.len();
    all.iter().for_each(|name| packer.push(name, false).unwrap());
    let two_bytes = packer.section[before..].iter().filter(|&&byte| byte >= ONE_BYTE_CODES);
    assert!(two_bytes.count() > 1000);
    assert_eq!(there_and_back(&all), all);
}

#[test]
fn repeated_names_shrink_and_hashes_are_digits() {
    let all: Vec<Vec<u8>> = (0..500u64)
        .map(|n| {
            let hash = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!("_ZN4core3fmt9Formatter9write_fmt17h{hash:016x}E").into_bytes()
        })
        .collect();
    let total: usize = all.iter().map(Vec::len).sum();
    let mut packer = Packer::new(|_| all.iter().cloned(), total as u64);
    let dictionary = packer.section.len();
    all.iter().for_each(|name| packer.push(name, false).unwrap());
    let each = (packer.section.len() - dictionary).div_ceil(all.len());
    // The beginning, a code and eight bytes of digits, the end.
    assert!(each <= 12 && dictionary < 200, "{each} bytes a name, {dictionary} of dictionary");
}

#[test]
fn sixteen_digits_are_packed_and_nothing_else() {
    let found = |text: &'static str| hex_run(text.as_bytes());
    let (packed, behind) = found("0123456789abcdefE").unwrap();
    assert_eq!((packed, behind), ([0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef], &b"E"[..]));
    assert!(found("0123456789abcde").is_none());
    assert!(found("0123456789abcdEf").is_none());
    assert!(found("0123456789abcdeg").is_none());
}

#[test]
fn the_longest_phrase_is_found() {
    let phrases = ["ab", "abcd", "b", "ab", "bcx"].map(str::as_bytes);
    let matcher = Matcher::new(phrases.into_iter());
    assert_eq!(matcher.longest(b"abcx"), Some((0, 2)));
    assert_eq!(matcher.longest(b"abcde"), Some((1, 4)));
    assert_eq!(matcher.longest(b"bcd"), Some((2, 1)));
    assert_eq!(matcher.longest(b"xab"), None);
    assert_eq!(matcher.longest(b""), None);
}

#[test]
fn halves_lie_in_the_phrases_made_of_them() {
    let all = names(&["space6Longer", "space6Longer", "space6Longer", "space6Longer"]);
    let trained = train(all.iter().map(Vec::as_slice));
    let longest = (0..trained.len()).max_by_key(|&number| trained[number].bytes.len()).unwrap();
    assert_eq!(trained[longest].bytes, b"space6Longer");
    let mut parts = vec![longest];
    let mut at = 0;
    while let Some(&part) = parts.get(at) {
        parts.extend(trained[part].halves());
        at += 1;
    }
    let (text, phrases) = lay_out(&trained, &parts);
    assert_eq!(text, b"space6Longer");
    assert!(parts.len() > 12);
    for (phrase, &number) in phrases.iter().zip(&parts) {
        let at = phrase.at() as usize;
        assert_eq!(text[at..at + usize::from(phrase.len)], trained[number].bytes);
    }
}

#[test]
fn a_sample_is_even_and_as_long_as_asked() {
    let symbols: Vec<String> = (0..1000).map(|n| format!("name_number_{n:04}")).collect();
    let mut plan = Plan::default();
    for symbol in &symbols {
        plan.names.push_other(symbol.as_bytes());
    }
    let total = plan.names.size;
    assert_eq!(total, 16_000);
    let taken: Vec<Vec<u8>> = sample(&plan, total, 1600).collect();
    assert_eq!(taken.len(), 100);
    let number = |name: &[u8]| std::str::from_utf8(&name[12..]).unwrap().parse::<usize>().unwrap();
    for pair in taken.windows(2) {
        assert!((9..=11).contains(&(number(&pair[1]) - number(&pair[0]))));
    }
    assert_eq!(sample(&plan, total, 1 << 20).count(), symbols.len());
}

#[test]
fn references_move_and_resumes_stay() {
    let moved = Moved(vec![(0, 100), (7, 130)]);
    let record = |name: u32, len: u16| {
        let mut record = Record::new_zeroed();
        (record.name, record.name_len) = (name.into(), len.into());
        record
    };
    let mut plan =
        Plan { records: vec![record(7, 3), record(0, 0), record(0, LONG_NAME)], ..Plan::default() };
    move_names(&mut plan, &moved);
    let names: Vec<u32> = plan.records.iter().map(|record| record.name.get()).collect();
    // The second one resumes record 0: that is no name.
    assert_eq!(names, [130, 0, 100]);
}
