//! Big and hostile inputs: no quadratic step, no overflow.

use std::time::{Duration, Instant};

use super::*;

const MANY: u64 = 200_000;

/// Generous in debug builds; a quadratic step would take minutes in either.
const LIMIT: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(20) } else { Duration::from_secs(1) };

fn timed(what: &str, image: &mut Image<'_>) -> usize {
    let started = Instant::now();
    let normalised = normalise(image, NormaliseOptions::default());
    let took = started.elapsed();
    assert!(took < LIMIT, "{what}: {took:?}");
    check(image, &normalised);
    normalised.owners.len()
}

fn symbols(make: impl Fn(u64) -> (u64, u64)) -> Vec<Symbol<'static>> {
    (0..MANY)
        .map(|i| {
            let (address, size) = make(i);
            Symbol { order: i as u32, ..func("name", address, size) }
        })
        .collect()
}

#[test]
fn nested_two_hundred_thousand_deep() {
    let mut image = image(vec![section(".text", 0, u64::MAX)]);
    image.symbols = symbols(|i| (i, 2 * MANY - 2 * i));
    assert_eq!(timed("nested", &mut image), MANY as usize);
}

#[test]
fn two_hundred_thousand_sizes_at_one_start() {
    let mut image = image(vec![section(".text", 0, u64::MAX)]);
    image.symbols = symbols(|i| (7, i + 1));
    assert_eq!(timed("sizes", &mut image), MANY as usize);
}

/// Each would list all bigger ones: 600 KB of ELF made an index of 3.2 GB.
#[test]
fn many_sizes_at_one_start_do_not_all_list_each_other() {
    let mut image = image(vec![section(".text", 0, u64::MAX)]);
    image.symbols = symbols(|i| (7, i + 1));
    let normalised = normalise(&mut image, NormaliseOptions::default());
    let listed: u64 = normalised.owners.iter().map(|owner| u64::from(owner.listed_names)).sum();
    assert!(listed <= MANY * 17, "{listed}");
    // Few of them, as real files have, are all listed.
    image.symbols = symbols(|i| (7, i + 1));
    image.symbols.truncate(10);
    let normalised = normalise(&mut image, NormaliseOptions::default());
    assert_eq!(normalised.owners.iter().map(|owner| owner.listed_names).max(), Some(10));
}

#[test]
fn two_hundred_thousand_names_at_one_start() {
    let names: Vec<String> = (0..MANY).map(|i| format!("f{i}")).collect();
    let mut image = image(vec![section(".text", 0, u64::MAX)]);
    image.symbols = symbols(|i| (7, i % 2 * 16));
    for (symbol, name) in image.symbols.iter_mut().zip(&names) {
        symbol.name = name.as_bytes();
    }
    assert_eq!(timed("names", &mut image), 1);
}

#[test]
fn everything_at_the_end_of_the_address_space() {
    let mut image = image(vec![
        section(".text", u64::MAX - 5, u64::MAX),
        section(".text2", u64::MAX, u64::MAX),
        section(".data", 0, u64::MAX),
    ]);
    image.symbols = symbols(|i| (u64::MAX - i % 10, u64::MAX - i));
    image.function_starts = vec![u64::MAX, 0, u64::MAX - 1];
    image.holes = vec![(u64::MAX, u64::MAX), (3, u64::MAX)];
    timed("end", &mut image);
}

#[test]
fn two_hundred_thousand_overlapping_sections_holes_and_starts() {
    let mut image = image((0..MANY).map(|i| section(".text", i, 2 * MANY - i)).collect());
    image.symbols = symbols(|i| (i, 0));
    image.holes = (0..MANY).map(|i| (i * 3, 1)).collect();
    image.function_starts = (0..2 * MANY).rev().collect();
    timed("sections", &mut image);
    assert_eq!(image.report.warnings.len(), 1);
}

/// Functions of debug information that reach over each other ask for the name of
/// everything behind them: 2 MB of ELF took four seconds, 20 MB seven minutes.
#[test]
fn ranges_over_two_hundred_thousand_symbols_of_one_name_are_asked_in_no_time() {
    let mut image = image(vec![section(".text", 0, MANY)]);
    image.symbols = symbols(|i| (i, 1));
    let normalised = normalise(&mut image, NormaliseOptions::default());
    let started = Instant::now();
    for start in 0..MANY {
        let found = normalised.name_of_range(u32::MAX, start..MANY);
        let few = MANY - start <= super::super::MOST_PIECES as u64;
        assert_eq!(found, few.then_some((&b"name"[..], true)), "{start}");
    }
    let took = started.elapsed();
    assert!(took < LIMIT, "{took:?}");
}

/// `-ffunction-sections` makes a section for each function of a relocatable file:
/// those of all other sections were looked at for each.
#[test]
fn ranges_in_sixty_thousand_sections_are_asked_in_no_time() {
    let sections = 60_000;
    let mut image = image((0..sections).map(|_| section(".text.f", 0, 16)).collect());
    image.addresses = AddressKind::SectionOffset;
    image.symbols = (0..sections).map(|i| in_section(i, func("name", 4, 8))).collect();
    let normalised = normalise(&mut image, NormaliseOptions::default());
    let started = Instant::now();
    for section in 0..sections {
        let name = |range| normalised.name_of_range(section, range);
        assert_eq!(name(4..12), Some((&b"name"[..], true)));
        assert_eq!(name(0..12), Some((&b"name"[..], false)));
        assert_eq!(name(12..16), Some((&b""[..], false)));
    }
    let took = started.elapsed();
    assert!(took < LIMIT, "{took:?}");
}
