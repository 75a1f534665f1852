#!/bin/sh
# Builds a Rust program of about 200 MB, full DWARF, many inlined frames, for the measurements of lines:
#     sh benches/big-rust.sh DIR          leaves DIR/big-rust; JOBS=N for more than one job
# A compiler for WebAssembly, a shader compiler and a Rust parser in one program; fetched by cargo from its registry,
# built outside this tree, at optimisation 3 with debug = 2. Takes tens of minutes on one core and 4 GB of disk.
set -eu

dir=${1:?"usage: big-rust.sh DIR"}
mkdir -p "$dir/src"
cat >"$dir/Cargo.toml" <<'TOML'
[package]
name = "big-rust"
version = "0.0.0"
edition = "2021"
publish = false

[workspace]

[dependencies]
naga = { version = "=27.0.0", features = ["wgsl-in", "spv-out", "msl-out", "glsl-out", "hlsl-out"] }
regex = "=1.12.2"
syn = { version = "=2.0.106", features = ["full", "extra-traits", "visit"] }
wasmtime = { version = "=37.0.2", default-features = false, features = ["cranelift", "runtime", "wat", "gc", "gc-drc", "component-model", "async", "all-arch", "std"] }

[profile.release]
debug = 2
opt-level = 3
TOML
cat >"$dir/src/main.rs" <<'RUST'
//! Calls each of the big libraries once, so that the linker keeps them.

use std::error::Error;

fn webassembly(text: &str) -> Result<String, Box<dyn Error>> {
    let mut sizes = Vec::new();
    for target in ["x86_64", "aarch64", "riscv64gc", "s390x", "pulley64"] {
        let mut config = wasmtime::Config::new();
        config.target(target)?;
        let engine = wasmtime::Engine::new(&config)?;
        sizes.push(engine.precompile_module(text.as_bytes())?.len());
    }
    Ok(format!("{sizes:?} bytes of code"))
}

fn shader(text: &str) -> Result<String, Box<dyn Error>> {
    let module = naga::front::wgsl::parse_str(text)?;
    let flags = naga::valid::ValidationFlags::all();
    let info = naga::valid::Validator::new(flags, naga::valid::Capabilities::all()).validate(&module)?;
    let words = naga::back::spv::write_vec(&module, &info, &Default::default(), None)?;
    let (msl, _) = naga::back::msl::write_string(&module, &info, &Default::default(), &Default::default())?;
    Ok(format!("{} words, {} bytes", words.len(), msl.len()))
}

fn rust(text: &str) -> Result<String, Box<dyn Error>> {
    let file = syn::parse_file(text)?;
    Ok(format!("{} items, {} bytes", file.items.len(), format!("{file:?}").len()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let kind = regex::Regex::new(r"^(?P<stem>.+)\.(?P<kind>wat|wgsl|rs)$")?;
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path)?;
        let answer = match kind.captures(&path).as_ref().map(|found| &found["kind"]) {
            Some("wat") => webassembly(&text)?,
            Some("wgsl") => shader(&text)?,
            _ => rust(&text)?,
        };
        println!("{path}: {answer}");
    }
    Ok(())
}
RUST
cd "$dir"
CARGO_TARGET_DIR="$dir/target" nice -n 19 cargo build --release --jobs "${JOBS:-1}"
cp target/release/big-rust "$dir/big-rust"
ls -l "$dir/big-rust"
