//! Invariant: for any bytes, reading ends within its memory; what comes of it refers only to
//! what is there; symbolizing changes no sample, address or id, and accounts for every
//! location; what is written is read again as the same profile; and its stacks
//! add up to its samples.
#![no_main]

use std::collections::HashSet;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use symidx::Index;
use symidx_pprof::{Fault, Limits, Profile, Symbolizer};

static INDEXES: OnceLock<[Index<'static>; 3]> = OnceLock::new();

const LIMITS: Limits = Limits { bytes: 16 << 20 };

fn indexes() -> &'static [Index<'static>; 3] {
    INDEXES.get_or_init(|| {
        let all: [&'static [u8]; 3] = [
            include_bytes!("../../../../testdata/golden/lines.symidx"),
            include_bytes!("../../../../testdata/golden/kallsyms.symidx"),
            include_bytes!("../../../../testdata/golden/relocatable.symidx"),
        ];
        all.map(|bytes| Index::from_bytes(bytes).unwrap())
    })
}

fn whole(profile: &Profile) {
    let ids = |ids: Vec<u64>| {
        let set: HashSet<u64> = ids.iter().copied().collect();
        assert!(set.len() == ids.len() && !set.contains(&0));
        set
    };
    let mappings = ids(profile.mappings.iter().map(|mapping| mapping.id).collect());
    let functions = ids(profile.functions.iter().map(|function| function.id).collect());
    let locations = ids(profile.locations.iter().map(|location| location.id).collect());
    for location in &profile.locations {
        assert!(location.mapping_id == 0 || mappings.contains(&location.mapping_id));
        assert!(location.line.iter().all(|line| functions.contains(&line.function_id)));
    }
    for sample in &profile.samples {
        assert_eq!(sample.value.len(), profile.sample_types.len());
        assert!(sample.location_id.iter().all(|id| locations.contains(id)));
    }
    let text = |number: i64| assert!(profile.strings.get(number).is_some());
    for function in &profile.functions {
        [function.name, function.system_name, function.filename].into_iter().for_each(text);
    }
    profile.mappings.iter().flat_map(|m| [m.filename, m.build_id]).for_each(text);
    profile.comments.iter().copied().for_each(text);
}

fn again(profile: &Profile, limits: Limits, gzip: bool) {
    let mut bytes = Vec::new();
    match gzip {
        true => profile.write(&mut bytes).unwrap(),
        false => profile.write_plain(&mut bytes).unwrap(),
    }
    let (read, damage) = Profile::read(bytes.as_slice(), limits).unwrap();
    assert!(read == *profile);
    assert!(damage.iter().all(|(fault, _)| fault == Fault::Range), "{damage:?}");
}

fuzz_target!(|data: &[u8]| {
    let Some((&mode, data)) = data.split_first() else { return };
    let Ok((raw, _)) = Profile::read(data, LIMITS) else { return };
    whole(&raw);
    // Written plainly it may be longer than it was.
    let limits = Limits { bytes: u64::MAX };
    again(&raw, limits, mode & 64 != 0);
    let mut profile = raw.clone();
    let mut symbolizer = Symbolizer::new().force(mode & 1 != 0).inlines(mode & 2 != 0);
    if mode & 4 != 0 {
        symbolizer = symbolizer.no_demangle();
    }
    let report = symbolizer.run(&mut profile, |mapping| {
        let choice = mapping.filename.len().wrapping_add(usize::from(mode >> 3));
        indexes().get(choice % 4).ok_or_else(|| "none".to_owned())
    });
    whole(&profile);
    again(&profile, limits, false);
    assert!(profile.samples == raw.samples);
    assert!(
        profile
            .locations
            .iter()
            .map(|l| (l.id, l.address))
            .eq(raw.locations.iter().map(|l| (l.id, l.address)))
    );
    let unknown: u64 = report.mappings.iter().flat_map(|mapping| mapping.unknown.values()).sum();
    assert_eq!(report.locations(), profile.locations.len() as u64);
    assert_eq!(report.symbolized() + report.kept() + unknown, report.locations());
    for sample_type in 0..profile.sample_types.len().min(4) {
        let values = || profile.samples.iter().map(|sample| sample.value[sample_type]);
        // Sums of values that are no sums any more are not compared.
        let large: i128 = values().map(|value| i128::from(value).abs()).sum();
        if large <= i128::from(i64::MAX) {
            let folded: i128 = profile
                .folded(sample_type, |name| name.len() % 3 == 0)
                .values()
                .map(|v| i128::from(*v))
                .sum();
            assert_eq!(folded, values().map(i128::from).sum());
        }
    }
});
