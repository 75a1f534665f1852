//! The library installed as its users have it, and C programs built against it.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use symidx::process::Modules;
use symidx_indexer::{BuildOptions, build_file};
use tempfile::TempDir;

pub(crate) const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"];

/// A compiler, with what makes it one for the language.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Language {
    pub(crate) name: &'static str,
    compiler: &'static [&'static str],
}

pub(crate) const C: Language = Language { name: "c", compiler: &["cc", "-std=c99"] };
pub(crate) const CPP: Language =
    Language { name: "cpp", compiler: &["c++", "-std=c++11", "-x", "c++"] };

/// How a program gets the library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Link {
    Static,
    Shared,
}

/// Whether a tool is there; says loudly what is skipped when it is not.
pub(crate) fn there(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok();
    if !there {
        eprintln!("SKIPPED: {tool} is not there; what needs it was not tested");
    }
    there
}

pub(crate) fn crate_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Where cargo put the library for this test.
pub(crate) fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// A directory of a test's own, and in it a prefix with the library.
pub(crate) struct Installed {
    pub(crate) directory: TempDir,
}

impl Installed {
    /// The directory alone, for tests that call the library without C.
    pub(crate) fn nothing() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn new() -> Self {
        let installed = Self::nothing();
        let mut script = Command::new(crate_file("install.sh"));
        succeed(script.arg("--built").arg(built()).arg(installed.prefix()));
        // A test build's debug information is not what a test's index is for: it
        // only makes each index of a statically linked program slow to build.
        let mut strip = Command::new("strip");
        let _ = strip.arg("-g").arg(installed.library().join("libsymidx.a")).output();
        installed
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn prefix(&self) -> PathBuf {
        self.path("prefix")
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.prefix().join("lib")
    }

    /// Compiles sources to a program, every warning an error.
    pub(crate) fn compile(
        &self,
        language: Language,
        link: Link,
        sources: &[&Path],
        output: &str,
    ) -> PathBuf {
        let output = self.path(output);
        let mut command = Command::new(language.compiler.first().unwrap());
        command.args(language.compiler.iter().skip(1)).args(WARNINGS).arg("-g");
        command.arg("-I").arg(self.prefix().join("include")).args(sources);
        // What follows is no source.
        if language.name == CPP.name {
            command.args(["-x", "none"]);
        }
        match link {
            Link::Shared => command.arg("-L").arg(self.library()).arg("-lsymidx"),
            Link::Static => command.arg(self.library().join("libsymidx.a")).args([
                "-lgcc_s",
                "-lutil",
                "-lrt",
                "-lpthread",
                "-lm",
                "-ldl",
            ]),
        };
        succeed(command.arg("-o").arg(&output));
        output
    }

    /// A command that finds the shared library, and no index but those given.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env("LD_LIBRARY_PATH", self.library())
            .env("HOME", self.directory.path())
            .env_remove("XDG_CACHE_HOME")
            .env_remove("SYMIDX_PATH");
        command
    }

    /// A store with an index of libc.
    pub(crate) fn store_with_libc(&self) -> PathBuf {
        let store = self.path("store");
        let modules = Modules::capture();
        let is_libc = |path: &Path| path.file_name().is_some_and(|name| name == "libc.so.6");
        let libc = modules.iter().find(|module| is_libc(module.path())).unwrap();
        let id = libc.id().unwrap().to_string();
        let (directory, file) = id.split_at(2);
        let directory = store.join(".build-id").join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        build(libc.path(), &directory.join(format!("{file}.symidx")));
        store
    }
}

/// Builds an index beside a program.
pub(crate) fn index(program: &Path) -> PathBuf {
    let mut path = program.as_os_str().to_owned();
    path.push(".symidx");
    build(program, Path::new(&path));
    path.into()
}

fn build(input: &Path, output: &Path) {
    let options = BuildOptions { demangle: true, ..BuildOptions::default() };
    build_file(input, output, &options).unwrap();
}

pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    output
}

pub(crate) fn stdout(command: &mut Command) -> String {
    String::from_utf8(succeed(command).stdout).unwrap()
}
