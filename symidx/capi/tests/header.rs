//! The committed header is the one that the exported functions make.
#![allow(clippy::unwrap_used, reason = "a test that goes wrong should stop")]

use std::path::Path;

const REFRESH: &str = "SYMIDX_HEADER=write cargo test -p symidx-capi --test header";

fn generated() -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(directory.join("cbindgen.toml")).unwrap();
    let bindings =
        cbindgen::Builder::new().with_crate(directory).with_config(config).generate().unwrap();
    let mut bytes = Vec::new();
    bindings.write(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_header_is_that_of_the_functions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/symidx.h");
    let generated = generated();
    if std::env::var_os("SYMIDX_HEADER").is_some_and(|value| value == "write") {
        std::fs::write(&path, &generated).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = committed.lines().zip(generated.lines()).position(|(a, b)| a != b);
    let line = differs.unwrap_or_else(|| committed.lines().count().min(generated.lines().count()));
    assert!(
        committed == generated,
        "{} differs from what cbindgen makes of the functions, first in line {}; refresh it: {REFRESH}",
        path.display(),
        line.saturating_add(1),
    );
}
