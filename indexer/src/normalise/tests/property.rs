//! Small random images, compared with the slow version at every address.

use proptest::prelude::*;

use super::super::reference::Slow;
use super::*;

const SPAN: u64 = 48;

#[derive(Clone, Debug)]
struct Case {
    base: u64,
    sections: Vec<(u64, u64, u8)>,
    symbols: Vec<(u64, u64, u32, u8, u8, u8)>,
    starts: Vec<u64>,
    holes: Vec<(u64, u64)>,
    by_offset: bool,
    code_only: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let size = prop_oneof![
        3 => Just(0),
        6 => 1..20_u64,
        1 => Just(u64::MAX),
        1 => Just(1 << 63),
    ];
    let sections = prop::collection::vec((0..SPAN, 0..24_u64, 0..8_u8), 1..5);
    let symbols =
        prop::collection::vec((0..SPAN, size, 0..6_u32, 0..8_u8, 0..3_u8, 0..8_u8), 0..24);
    let starts = prop::collection::vec(0..SPAN, 0..6);
    let holes = prop::collection::vec((0..SPAN, 0..6_u64), 0..3);
    let base = prop_oneof![Just(0), Just(u64::MAX - SPAN), Just(u64::MAX - SPAN / 2)];
    (base, sections, symbols, starts, holes, any::<bool>(), any::<bool>()).prop_map(
        |(base, sections, symbols, starts, holes, by_offset, code_only)| Case {
            base: if by_offset { 0 } else { base },
            sections,
            symbols,
            starts,
            holes,
            by_offset,
            code_only,
        },
    )
}

fn names() -> Vec<String> {
    (0..64).map(|i| format!("{}n{i}{}", "_".repeat(i % 3), ".cold".repeat(i % 2))).collect()
}

fn build<'data>(case: &Case, names: &'data [String]) -> Image<'data> {
    let place = |offset: u64| case.base.saturating_add(offset);
    let mut image = image(Vec::new());
    if case.by_offset {
        image.addresses = AddressKind::SectionOffset;
    }
    for (offset, size, bits) in &case.sections {
        let name = match bits % 4 {
            0 => ".data",
            1 if *bits > 4 => ".tbss",
            _ => ".text",
        };
        image.sections.push(section(name, place(*offset), *size));
    }
    for (index, (offset, size, section, kind, binding, source)) in case.symbols.iter().enumerate() {
        image.symbols.push(Symbol {
            name: names[index].as_bytes(),
            address: place(*offset),
            size: *size,
            section: *section,
            order: index as u32,
            version: NO_VERSION,
            kind: [
                Kind::Function,
                Kind::Function,
                Kind::Object,
                Kind::Label,
                Kind::Label,
                Kind::Ifunc,
                Kind::Function,
                Kind::Tls,
            ][usize::from(*kind)],
            binding: [Binding::Global, Binding::Weak, Binding::Local][usize::from(*binding)],
            source: [Source::Symtab, Source::Dynsym, Source::Plt][usize::from(source / 3)],
            default_version: false,
        });
    }
    image.function_starts = case.starts.iter().map(|offset| place(*offset)).collect();
    image.holes = case.holes.iter().map(|(offset, size)| (place(*offset), *size)).collect();
    image
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn equal_to_the_slow_version_at_every_address(case in case()) {
        let names = names();
        let original = build(&case, &names);
        let slow = Slow::new(&original, case.code_only);
        let mut image = original.clone();
        let fast = normalise(&mut image, NormaliseOptions { code_only: case.code_only });
        check(&image, &fast);

        let mut places: Vec<(Option<u32>, u64)> = Vec::new();
        for offset in 0..=2 * SPAN {
            let address = case.base.saturating_add(offset);
            if case.by_offset {
                places.extend((0..case.sections.len() as u32).map(|s| (Some(s), address)));
            } else {
                places.push((None, address));
            }
        }
        for (section, address) in places {
            let expected = section
                .or_else(|| slow.section_at(address))
                .and_then(|section| slow.answer(section, address));
            let found = owner_at(&fast, section, address);
            prop_assert_eq!(found.is_some(), expected.is_some(), "{:?} {:#x}", section, address);
            if let (Some(found), Some(expected)) = (found, expected) {
                prop_assert_eq!(found.address, expected.start, "at {:#x}", address);
                prop_assert_eq!(found.end(), expected.end, "at {:#x}", address);
                prop_assert_eq!(found.section, expected.section);
                prop_assert_eq!(found.extent, expected.extent);
                let mut own: Vec<Vec<u8>> =
                    fast.primary(found).into_iter().chain(fast.own_aliases(found)).map(|s| s.name.to_vec()).collect();
                if let Some((_, rest)) = own.split_first_mut() {
                    rest.sort();
                }
                prop_assert_eq!(&own, &expected.names);
            }
        }
        prop_assert_eq!(fast.owners.len(), slow.owners.len());
        if !case.code_only {
            prop_assert_eq!(fast.names.len() + fast.names_only.len(), original.symbols.len());
        }
    }

    #[test]
    fn the_order_of_symbols_does_not_matter(
        case in case(),
        seed in prop::collection::vec(any::<u32>(), 24),
        few_names in any::<bool>(),
    ) {
        let names = names();
        let mut original = build(&case, &names);
        let versioned = ["a", "a@V1", "a@@V2", "b", "b@@V1"];
        for (index, symbol) in original.symbols.iter_mut().enumerate() {
            if few_names {
                symbol.name = versioned[index % versioned.len()].as_bytes();
                symbol.order /= 2;
            }
        }
        let mut shuffled = original.clone();
        let mut keyed: Vec<_> = seed.iter().zip(original.symbols.iter().copied()).collect();
        keyed.sort_by_key(|(key, _)| **key);
        shuffled.symbols = keyed.into_iter().map(|(_, symbol)| symbol).collect();
        shuffled.function_starts.reverse();
        shuffled.holes.reverse();
        let options = NormaliseOptions { code_only: case.code_only };
        let a = normalise(&mut original, options);
        let b = normalise(&mut shuffled, options);
        check(&original, &a);
        prop_assert_eq!(a.spaces, b.spaces);
        prop_assert_eq!(a.pieces, b.pieces);
        prop_assert_eq!(a.owners, b.owners);
        prop_assert_eq!(a.names, b.names);
        prop_assert_eq!(a.names_only, b.names_only);
        prop_assert_eq!(a.versions, b.versions);
        prop_assert_eq!(original.report, shuffled.report);
    }
}
