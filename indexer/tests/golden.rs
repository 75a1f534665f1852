//! Building the golden inputs today gives the golden files: any change of the
//! bytes that an input is turned into is noticed here, and must be meant.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::path::{Path, PathBuf};

use symidx::Index;
use symidx::format::{Identity, SectionId};
use symidx_indexer::{BuildOptions, build_bytes, build_from_bytes};
use zerocopy::{FromBytes, IntoBytes};

const GOLDEN: [(&str, &str); 9] = [
    ("example", "golden/example.elf"),
    ("rich", "golden/rich.elf"),
    ("libal", "elf/alias-choice/libal.so"),
    ("relocatable", "elf/relocatable/r.o"),
    ("macho", "macho/symbols/sym.macho"),
    ("kallsyms", "kallsyms/kallsyms"),
    ("lines", "golden/lines.elf"),
    ("display", "golden/display.elf"),
    ("packed", "golden/display.elf"),
];

/// What each was built with.
fn options(name: &str) -> BuildOptions {
    // Made before lines were, from an input that has some.
    let names_only = matches!(name, "relocatable" | "macho");
    BuildOptions {
        names_only,
        demangle: matches!(name, "display" | "packed"),
        pack_names: name == "packed",
        ..BuildOptions::default()
    }
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata")
}

/// The bytes of every section but the metadata, with the digest that the
/// release is part of taken out.
fn sections(index: &Index<'_>) -> Vec<(SectionId, Vec<u8>)> {
    let bytes = |offset: u64, size: u64| {
        let start = usize::try_from(offset).unwrap();
        index.as_bytes()[start..start + usize::try_from(size).unwrap()].to_vec()
    };
    index
        .file_sections()
        .filter(|section| section.id != SectionId::METADATA)
        .map(|section| match section.id {
            SectionId::IDENTITY => {
                let bytes = bytes(section.offset, section.size);
                let mut identity = Identity::read_from_bytes(&bytes).unwrap();
                identity.inputs_digest = [0; 32];
                (section.id, identity.as_bytes().to_vec())
            }
            id => (id, bytes(section.offset, section.size)),
        })
        .collect()
}

#[test]
fn building_again_gives_the_same_bytes() {
    for (name, input) in GOLDEN {
        let path = testdata().join("golden").join(name).with_extension("symidx");
        let stored = std::fs::read(&path).unwrap();
        let (built, _) = build_bytes(&testdata().join(input), &options(name)).unwrap();
        let old = Index::from_bytes(&stored).unwrap();
        let new = Index::from_bytes(&built).unwrap();
        let (before, now) = (sections(&old), sections(&new));
        let ids = |all: &[(SectionId, Vec<u8>)]| all.iter().map(|s| s.0).collect::<Vec<_>>();
        assert_eq!(ids(&before), ids(&now), "{name}");
        for (old, new) in before.iter().zip(&now) {
            assert_eq!(old, new, "{name}: section {:?}", old.0.name());
        }
        let producer = |index| symidx::metadata::read(index).unwrap().unwrap().producer;
        // Another release has another digest; its own files stay as they are.
        if producer(&old) == producer(&new) && !options(name).names_only {
            assert!(stored == built, "{name}: the same sections, but not the same bytes");
        }
    }
}

#[test]
fn the_path_and_the_way_in_do_not_matter() {
    for (name, input) in GOLDEN {
        let input = testdata().join(input);
        let data = std::fs::read(&input).unwrap();
        let options = options(name);
        let (by_path, _) = build_bytes(&input, &options).unwrap();
        let (by_bytes, _) =
            build_from_bytes(Path::new("/elsewhere/other"), &data, &options).unwrap();
        assert!(by_path == by_bytes, "{name}");
    }
}

/// Said in either place, the option is part of what the index is: an index
/// with lines is not fresh for it.
#[test]
fn names_only_is_one_option_wherever_it_is_said() {
    let input = testdata().join("golden/lines.elf");
    let mut options = BuildOptions { names_only: true, ..BuildOptions::default() };
    let (said, _) = build_bytes(&input, &options).unwrap();
    (options.names_only, options.read.names_only) = (false, true);
    let (read, _) = build_bytes(&input, &options).unwrap();
    let (with_lines, _) = build_bytes(&input, &BuildOptions::default()).unwrap();
    assert!(said == read, "the same option, not the same bytes");
    let digest = |bytes| Index::from_bytes(bytes).unwrap().inputs_digest().to_owned();
    assert_ne!(digest(&read), digest(&with_lines));
}
