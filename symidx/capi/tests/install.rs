//! What `install.sh` puts where, and that pkg-config and the loader find it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that goes wrong should stop")]

mod common;

use std::process::Command;

use common::{Installed, built, crate_file, stdout, succeed, there};

const PROGRAM: &str = "\
#include <stdio.h>
#include <symidx.h>
int main(void) { return puts(symidx_version()) < 0; }
";

#[test]
fn programs_are_built_by_what_pkg_config_says() {
    if !there("cc") || !there("pkg-config") {
        return;
    }
    let installed = Installed::new();
    let config = |args: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", installed.library().join("pkgconfig"));
        stdout(command.args(args).arg("symidx")).trim().to_owned()
    };
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(config(&["--modversion"]), version);
    let source = installed.path("version.c");
    std::fs::write(&source, PROGRAM).unwrap();
    for (name, extra) in [("shared", None), ("static", Some("--static"))] {
        let mut args = vec!["--cflags", "--libs"];
        args.extend(extra);
        let mut flags: Vec<String> = config(&args).split_whitespace().map(str::to_owned).collect();
        if extra.is_some() {
            for flag in flags.iter_mut().filter(|flag| *flag == "-lsymidx") {
                "-l:libsymidx.a".clone_into(flag);
            }
        }
        let program = installed.path(name);
        succeed(Command::new("cc").arg(&source).args(flags).arg("-o").arg(&program));
        let mut run = installed.command(&program);
        if extra.is_some() {
            run.env_remove("LD_LIBRARY_PATH");
        }
        assert_eq!(stdout(&mut run).trim(), version);
    }
}

#[test]
fn packages_are_made_below_destdir() {
    let root = tempfile::tempdir().unwrap();
    let script = crate_file("install.sh");
    succeed(
        Command::new(&script)
            .args(["--libdir", "lib64", "--built"])
            .arg(built())
            .arg("/usr")
            .env("DESTDIR", root.path()),
    );
    for (file, holds) in [
        ("usr/lib64/libsymidx.so", None),
        ("usr/lib64/libsymidx.so.0.1", None),
        ("usr/lib64/libsymidx.a", None),
        ("usr/include/symidx.h", Some("symidx_lookup")),
        ("usr/lib64/pkgconfig/symidx.pc", Some("prefix=/usr\nlibdir=${prefix}/lib64\n")),
    ] {
        let path = root.path().join(file);
        assert!(path.is_file(), "{file}");
        if let Some(holds) = holds {
            assert!(std::fs::read_to_string(path).unwrap().contains(holds), "{file}");
        }
    }
}

#[test]
fn what_was_not_built_is_not_installed() {
    let root = tempfile::tempdir().unwrap();
    let output = Command::new(crate_file("install.sh"))
        .arg("--built")
        .arg(root.path())
        .arg(root.path().join("prefix"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("expected libsymidx_capi.so in "), "{text}");
    assert!(!root.path().join("prefix").exists());
    let output = Command::new(crate_file("install.sh")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
