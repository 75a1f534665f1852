//! What the targets that take a whole input file have in common.

use std::path::Path;

use symidx::{ImageSectionId, Index, Svma};
use symidx_indexer::{BuildOptions, build_from_bytes};

#[path = "../../../../symidx/tests/support/mod.rs"]
pub(crate) mod support;

/// Builds the index of `data`, if it can be built, and checks it: it opens
/// and verifies, the same input gives the same bytes, and every symbol that
/// it lists is found at its own start or hidden there by a smaller one.
#[allow(dead_code, reason = "the normalise target has no input file")]
pub(crate) fn build_and_check(data: &[u8]) {
    let options = BuildOptions { allow_empty: true, demangle: true, ..BuildOptions::default() };
    // A path that is not there: nothing is read but `data`.
    let name = Path::new("/nonexistent/fuzz/input");
    let (bytes, report) = match build_from_bytes(name, data, &options) {
        Ok(built) => built,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n'), "an error of one line: {text}");
            return;
        }
    };
    assert!(report.warnings.iter().all(|warning| !warning.contains('\n')));
    check(&bytes);
}

/// Checks an index that was just built.
pub(crate) fn check(bytes: &[u8]) {
    let index = Index::from_bytes(bytes).expect("a built index opens");
    index.verify().expect("a built index verifies");
    let addresses = support::borders(&index, 1024);
    let tally = support::ask_everything(&index, &addresses, 256);
    assert_eq!(tally.corrupt, None);
    support::compare_with_slow(&index, &addresses);
    support::compare_find(&index, 64);
    support::compare_display(&index, 64);
    for symbol in index.symbols().take(1024) {
        let symbol = symbol.expect("verified");
        let start = symbol.start();
        let found = match index.is_relocatable() {
            true => {
                let section = symbol.section().expect("verified").expect("a section");
                index.lookup_in(ImageSectionId(section.id().0), start.0)
            }
            false => index.lookup(Svma(start.0)),
        };
        let found = found.expect("verified").expect("a symbol covers its own start");
        assert!(found.id() == symbol.id() || found.size() < symbol.size());
    }
}
