//! PLT stubs against what disassemblers say.

use std::path::Path;
use std::process::Command;

use super::{read_file, testdata};
use crate::input::ReadOptions;
use crate::model::{Image, Source, Store};

/// (address, name) of the stubs in an image.
fn ours(image: &Image<'_>) -> Vec<(u64, String)> {
    let stubs = image.symbols.iter().filter(|symbol| symbol.source == Source::Plt);
    let mut stubs: Vec<_> =
        stubs.map(|s| (s.address, String::from_utf8_lossy(s.name).into_owned())).collect();
    stubs.sort();
    stubs
}

/// The same from `ADDRESS <NAME@plt>:` lines.
fn theirs(text: &str) -> Vec<(u64, String)> {
    let mut stubs: Vec<_> = text
        .lines()
        .filter_map(|line| {
            let (address, name) = line.split_once(' ')?;
            let name = name.strip_prefix('<')?.strip_suffix(">:")?;
            let wanted = name.ends_with("@plt") && !name.starts_with("*ABS*");
            wanted.then(|| (u64::from_str_radix(address, 16).unwrap(), name.to_owned()))
        })
        .collect();
    stubs.sort();
    stubs
}

#[test]
fn stubs_are_where_the_disassembler_puts_them() {
    for name in [
        "plt-ifunc/plt",
        "plt-ifunc/ibt",
        "plt-ifunc/now",
        "plt/aarch64",
        "plt/aarch64-bti",
        "plt/arm",
        "plt/i386",
        "plt/riscv64",
    ] {
        let text = std::fs::read_to_string(testdata(&format!("{name}.addrs"))).unwrap();
        let store = Store::new();
        let image = read_file(&format!("{name}.so"), &store, &ReadOptions::default());
        assert!(!theirs(&text).is_empty());
        assert_eq!(ours(&image), theirs(&text), "{name}");
        // Each stub lies in its section, none in a hole, and none overlap.
        let mut stubs: Vec<_> = image.symbols.iter().filter(|s| s.source == Source::Plt).collect();
        stubs.sort_by_key(|s| s.address);
        for pair in stubs.windows(2) {
            assert!(pair[0].address + pair[0].size <= pair[1].address, "{name}");
        }
        for stub in stubs {
            assert!(stub.size >= 8, "{name}");
            let section = &image.sections[stub.section as usize];
            assert!(stub.address >= section.address, "{name}");
            assert!(stub.address + stub.size <= section.address + section.size, "{name}");
            for &(start, size) in &image.holes {
                assert!(stub.address + stub.size <= start || start + size <= stub.address);
            }
        }
    }
}

/// llvm-symbolizer 14 calls every stub `_init`: PLT0 comes right after that
/// symbol of unknown size, which must not reach into it.
#[test]
fn plt0_is_a_hole() {
    let store = Store::new();
    let image = read_file("plt-ifunc/plt.so", &store, &ReadOptions::default());
    assert_eq!(image.holes, [(0x1010, 0x10)]);
    // With IBT, all of .plt only pushes indexes; the stubs are in .plt.sec.
    let image = read_file("plt-ifunc/ibt.so", &store, &ReadOptions::default());
    assert_eq!(image.holes, [(0x1010, 0x40)]);
}

#[test]
fn objdump_agrees_on_system_files() {
    let mut compared = 0;
    for file in [
        "/bin/bash",
        "/usr/bin/perl",
        "/usr/bin/python3",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
        "/lib/aarch64-linux-gnu/libc.so.6",
    ] {
        let path = Path::new(file);
        let objdump = Command::new("objdump")
            .args(["-d", "--no-show-raw-insn", "-j", ".plt", "-j", ".plt.sec", "-j", ".plt.got"])
            .arg(path)
            .output();
        let Ok(objdump) = objdump else {
            eprintln!("SKIPPED: no objdump on this machine; stubs were not compared with it");
            return;
        };
        if !path.exists() || objdump.stdout.is_empty() {
            continue;
        }
        let store = Store::new();
        let image = crate::input::read(path, &store, &ReadOptions::default()).unwrap();
        assert_eq!(ours(&image), theirs(&String::from_utf8_lossy(&objdump.stdout)), "{file}");
        compared += 1;
    }
    if compared == 0 {
        eprintln!(
            "SKIPPED: none of the system files is here; stubs were not compared with objdump"
        );
    }
}
