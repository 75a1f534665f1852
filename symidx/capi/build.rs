//! Names the shared library for the loader: `libsymidx.so.0.1` stays the same
//! while the interface only grows.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let elf = !matches!(var("CARGO_CFG_TARGET_VENDOR").as_str(), "apple")
        && var("CARGO_CFG_TARGET_FAMILY").split(',').any(|family| family == "unix");
    if elf {
        let version = match var("CARGO_PKG_VERSION_MAJOR").as_str() {
            "0" => format!("0.{}", var("CARGO_PKG_VERSION_MINOR")),
            major => major.to_owned(),
        };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsymidx.so.{version}");
    }
}
