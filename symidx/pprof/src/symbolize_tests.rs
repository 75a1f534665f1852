use super::*;
use crate::proto::{Function, Location, Sample, ValueType};

fn golden(name: &str) -> Result<Index<'static>, String> {
    let path = format!("{}/../../testdata/golden/{name}.symidx", env!("CARGO_MANIFEST_DIR"));
    Index::read(&path).map_err(|error| format!("{path}: {error}"))
}

const START: u64 = 0x7f00_0000_0000;

/// Mappings of files of 4096 bytes, and a location for each address, of which
/// the mapping is named.
fn profile(mappings: &[(&str, u64)], locations: &[(u64, u64)]) -> Profile {
    let mut profile = Profile { sample_types: vec![ValueType::default()], ..Profile::default() };
    for (id, (filename, memory_start)) in (1..).zip(mappings) {
        profile.mappings.push(Mapping {
            id,
            memory_start: *memory_start,
            memory_limit: memory_start.wrapping_add(0x1000),
            filename: profile.strings.intern(filename),
            ..Mapping::default()
        });
    }
    for (id, (mapping_id, address)) in (1..).zip(locations) {
        let (mapping_id, address) = (*mapping_id, *address);
        profile.locations.push(Location { id, mapping_id, address, ..Location::default() });
    }
    let location_id = profile.locations.iter().map(|location| location.id).collect();
    profile.samples.push(Sample { location_id, value: vec![1], label: Vec::new() });
    profile
}

/// Name, linkage name, file, first line, line and column of each line of each location.
type Texts = Vec<Vec<(String, String, String, i64, i64, i64)>>;

fn texts(profile: &Profile) -> Texts {
    let function = |id| profile.functions.iter().find(|f| f.id == id).copied().unwrap_or_default();
    let text = |number| profile.text(number).to_owned();
    let line = |line: &Line| {
        let Function { name, system_name, filename, start_line, .. } = function(line.function_id);
        (text(name), text(system_name), text(filename), start_line, line.line, line.column)
    };
    profile.locations.iter().map(|l| l.line.iter().map(line).collect()).collect()
}

/// The same, one text a line, for functions that are shown as they are.
fn short(profile: &Profile) -> Vec<Vec<String>> {
    let lines = texts(profile).into_iter();
    lines
        .map(|lines| {
            let lines = lines.into_iter();
            lines.map(|(name, _, file, _, line, _)| format!("{name} {file}:{line}")).collect()
        })
        .collect()
}

fn flags(profile: &Profile) -> Vec<[bool; 4]> {
    let flags =
        |m: &Mapping| [m.has_functions, m.has_filenames, m.has_line_numbers, m.has_inline_frames];
    profile.mappings.iter().map(flags).collect()
}

fn unknown(report: &Report) -> Vec<Vec<(Unknown, u64)>> {
    let mappings = report.mappings.iter();
    mappings.map(|m| m.unknown.iter().map(|(u, count)| (*u, *count)).collect()).collect()
}

#[test]
fn lines_are_innermost_first() {
    let mut profile =
        profile(&[("lines", START)], &[(1, START + 0x1b0), (1, START + 0x251), (1, START + 0x264)]);
    let report = Symbolizer::new().run(&mut profile, |mapping| golden(mapping.filename));
    let expected = [
        vec!["leaf /src/lines.c:6", "middle /src/lines.c:10", "outer /src/lines.c:17"],
        vec!["_start /src/far/away.c:100001"],
        vec!["by_hand /src/by_hand.s:12"],
    ];
    assert_eq!(short(&profile), expected);
    // Columns, and first lines where they are of the same file.
    let starts: Vec<Vec<_>> = texts(&profile)
        .iter()
        .map(|lines| lines.iter().map(|(.., start, _, column)| (*start, *column)).collect())
        .collect();
    assert_eq!(starts.first(), Some(&vec![(6, 83), (8, 12), (14, 12)]));
    assert_eq!(starts.get(1), Some(&vec![(0, 10)]));
    assert_eq!((report.locations(), report.symbolized(), report.kept()), (3, 3, 0));
    assert_eq!(flags(&profile), [[true; 4]]);
    let ids: Vec<_> = profile.functions.iter().map(|function| function.id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
    assert!(profile.locations.iter().all(|location| !location.is_folded));
    // Addresses and samples are as they were.
    assert_eq!(profile.locations.first().map(|l| (l.id, l.address)), Some((1, START + 0x1b0)));
}

#[test]
fn a_function_is_there_once() {
    let mut profile = profile(
        &[("lines", START)],
        &[(1, START + 0x1b0), (1, START + 0x1a4), (1, START + 0x220), (1, START + 0x235)],
    );
    // One that is there already, with an id that would have been given.
    let name = profile.strings.intern("_start");
    let filename = profile.strings.intern("/src/lines.c");
    let there = Function { id: 2, name, system_name: name, filename, start_line: 23 };
    profile.functions.push(there);
    Symbolizer::new().run(&mut profile, |mapping| golden(mapping.filename));
    let ids: Vec<_> = profile
        .locations
        .iter()
        .map(|l| l.line.iter().map(|line| line.function_id).collect::<Vec<_>>())
        .collect();
    assert_eq!(ids, [vec![1, 3, 4], vec![3, 4], vec![2], vec![2]]);
    assert_eq!(profile.functions.len(), 4);
}

#[test]
fn without_inlines_the_function_is_the_one_that_has_the_code() {
    let mut profile = profile(&[("lines", START)], &[(1, START + 0x1b0)]);
    Symbolizer::new().inlines(false).run(&mut profile, |mapping| golden(mapping.filename));
    assert_eq!(short(&profile), [["outer /src/lines.c:17"]]);
    assert_eq!(flags(&profile), [[true, true, true, false]]);
}

#[test]
fn a_mapping_has_functions_only_when_all_its_locations_have() {
    let mut profile = profile(
        &[("lines", START), ("rich", 2 * START)],
        &[(1, START + 0x1a4), (1, START + 0x1a0 - 1), (2, 2 * START + 0xf0)],
    );
    let report = Symbolizer::new().run(&mut profile, |mapping| golden(mapping.filename));
    assert_eq!(flags(&profile), [[false; 4], [true, false, false, false]]);
    assert_eq!(unknown(&report), [vec![(Unknown::Gap, 1)], vec![]]);
    assert_eq!(short(&profile).get(1), Some(&vec![]));
    assert_eq!(short(&profile).get(2), Some(&vec!["function_0 :0".to_owned()]));
}

/// jemalloc_pprof states one mapping of everything for each segment of a file,
/// and pprof takes the first one's flags for all: they must not be those of a
/// mapping that merely has no location.
#[test]
fn mappings_that_are_alike_have_the_same_flags() {
    let mut profile = profile(
        &[("lines", START), ("lines", START), ("lines", START)],
        &[(2, START + 0x1a4), (3, START + 0x220)],
    );
    let mut other = profile.clone();
    Symbolizer::new().run(&mut profile, |mapping| golden(mapping.filename));
    assert_eq!(flags(&profile), [[true; 4]; 3]);
    other.locations.iter_mut().skip(1).for_each(|location| location.address = START + 0x19f);
    Symbolizer::new().run(&mut other, |mapping| golden(mapping.filename));
    assert_eq!(flags(&other), [[false; 4]; 3]);
}

#[test]
fn names_are_short_and_the_linkage_name_is_kept() {
    let names = |symbolizer: &mut Symbolizer<'_>| {
        let addresses = [0x100, 0x190, 0x210, 0xf0].map(|offset| (1, START + offset));
        let mut profile = profile(&[("display", START)], &addresses);
        symbolizer.run(&mut profile, |mapping| golden(mapping.filename));
        let names =
            texts(&profile).into_iter().flatten().map(|(name, linkage, ..)| (name, linkage));
        names.collect::<Vec<_>>()
    };
    let linkage = [
        "_ZN5space6Longer5Names6methodEi",
        "_ZN4core3fmt9Formatter9write_fmt17h0123456789abcdefE",
        "_Znot_a_name",
        "main",
    ];
    let with = |shown: [&str; 4]| {
        let pairs = shown.iter().zip(linkage);
        pairs.map(|(shown, linkage)| ((*shown).to_owned(), linkage.to_owned())).collect::<Vec<_>>()
    };
    let shown = with([
        "space::Longer::Names::method",
        "core::fmt::Formatter::write_fmt",
        "_Znot_a_name",
        "main",
    ]);
    assert_eq!(names(&mut Symbolizer::new()), shown);
    assert_eq!(names(&mut Symbolizer::new().no_demangle()), with(linkage));
    // What the index stores comes first; only the rest is asked for.
    let hook = |name: &[u8]| (name == b"main").then(|| "the main one".to_owned());
    let shown = with([
        "space::Longer::Names::method",
        "core::fmt::Formatter::write_fmt",
        "_Znot_a_name",
        "the main one",
    ]);
    assert_eq!(names(&mut Symbolizer::new().demangle_with(hook)), shown);
}

#[test]
fn names_that_are_there_are_kept_unless_told_otherwise() {
    let named = |offset| {
        let mut profile = profile(&[("lines", START)], &[(1, START + offset), (1, START + 0x220)]);
        let name = profile.strings.intern("before");
        profile.functions.push(Function { id: 5, name, ..Function::default() });
        let line = Line { function_id: 5, ..Line::default() };
        profile.locations.iter_mut().take(1).for_each(|location| location.line.push(line));
        profile
    };
    let mut profile = named(0x1a4);
    let report = Symbolizer::new().run(&mut profile, |mapping| golden(mapping.filename));
    assert_eq!(short(&profile), [["before :0"], ["_start /src/lines.c:25"]]);
    assert_eq!((report.symbolized(), report.kept()), (1, 1));
    assert_eq!(flags(&profile), [[true, false, false, false]]);
    let mut profile = named(0x1a4);
    let report =
        Symbolizer::new().force(true).run(&mut profile, |mapping| golden(mapping.filename));
    assert_eq!(short(&profile).first().map(Vec::len), Some(2));
    assert_eq!((report.symbolized(), report.kept()), (2, 0));
    // Where there is no better answer, the old one stays.
    let mut profile = named(0x1a0 - 1);
    let report =
        Symbolizer::new().force(true).run(&mut profile, |mapping| golden(mapping.filename));
    assert_eq!(short(&profile).first(), Some(&vec!["before :0".to_owned()]));
    assert_eq!((report.symbolized(), report.kept()), (1, 1));
    // Nothing to do: nothing is opened, and no flag changes.
    let mut profile = named(0x1a4);
    profile.locations.truncate(1);
    let mut opened = 0;
    Symbolizer::new().run(&mut profile, |mapping| {
        opened += 1;
        golden(mapping.filename)
    });
    assert_eq!((opened, flags(&profile)), (0, vec![[false; 4]]));
}

#[test]
fn every_unknown_has_its_reason() {
    let mut profile = profile(
        &[("lines", START), ("none", 2 * START), ("rich", 3 * START), ("rich", 3 * START + 0x800)],
        &[
            (1, START + 0x268),
            (1, START + 0x1000),
            (1, 0),
            (2, 2 * START),
            (0, START + 0x1a4),
            (0, 17),
            (0, 3 * START + 0x900),
            (0, 3 * START + 0xf0),
            (3, START),
        ],
    );
    let report = Symbolizer::new().run(&mut profile, |mapping| golden(mapping.filename));
    assert_eq!(
        unknown(&report),
        [
            vec![(Unknown::NoAddress, 1), (Unknown::OutsideMapping, 1), (Unknown::NoSegment, 1)],
            vec![(Unknown::NoIndex, 1)],
            vec![(Unknown::OutsideMapping, 1)],
            vec![(Unknown::NoMapping, 1), (Unknown::SeveralMappings, 1)],
        ]
    );
    let errors: Vec<_> = report.mappings.iter().map(|m| m.error.is_some()).collect();
    assert_eq!(errors, [false, true, false, false]);
    // A mapping that was found is named.
    let mappings: Vec<_> = profile.locations.iter().map(|l| l.mapping_id).collect();
    assert_eq!(mappings, [1, 1, 1, 2, 1, 0, 0, 3, 3]);
    assert_eq!((report.locations(), report.symbolized()), (9, 2));
    assert_eq!(report.mappings.last().map(|m| m.mapping), Some(None));
}

#[test]
fn an_index_is_opened_once_for_all_mappings_of_its_file() {
    let mut profile = profile(
        &[("lines", START), ("rich", 2 * START), ("lines", 3 * START)],
        &[(3, 3 * START + 0x1a4), (1, START + 0x1a4), (2, 2 * START + 0xf0)],
    );
    let mut opened = Vec::new();
    let indexes = ["lines", "rich"].map(golden);
    Symbolizer::new().run(&mut profile, |mapping| {
        opened.push((mapping.filename.to_owned(), mapping.is_main));
        // Borrowed is as good as owned.
        let index = indexes.get(usize::from(mapping.filename == "rich")).map(Result::as_ref);
        index.unwrap_or(Err(&String::new())).map_err(Clone::clone)
    });
    assert_eq!(opened, [("lines".to_owned(), true), ("rich".to_owned(), false)]);
    assert_eq!(flags(&profile), [[true; 4], [true, false, false, false], [true; 4]]);
}
