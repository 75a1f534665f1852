//! In: a binary, then its GSYM file. Out: symbols from `gsym-rs`'s mapped reader.
//! Two contenders: the file `gsym-rs` itself writes, and the one LLVM's `llvm-gsymutil` writes.
//! Never: imports DWARF; where a binary has some, `llvm-gsymutil` gets a copy without it.

use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gsym::convert::{ConversionOptions, DiscoveryPolicy, ElfConverter, ElfInputs};
use gsym::{FrameLookupOptions, Gsym, LookupScratch, MappedGsym};
use object::{Object, ObjectSection};

use super::{Artifact, Contender, Inventory, Lookup};
use crate::{Result, mapped};

pub struct GsymRs;
pub struct GsymLlvm;

pub struct Opened {
    gsym: MappedGsym,
    scratch: LookupScratch,
}

const NAMES_ONLY: FrameLookupOptions = FrameLookupOptions {
    line_information: false,
    inline_frames: false,
};

fn open(artifact: &Path) -> Result<Opened> {
    // SAFETY: the run's own file, complete before it is opened and not written after.
    let gsym = unsafe { MappedGsym::map(artifact)? };
    Ok(Opened {
        gsym,
        scratch: LookupScratch::default(),
    })
}

fn parse(mapped: &'static [u8]) -> Result<()> {
    black_box(Gsym::parse(mapped)?);
    Ok(())
}

impl Contender for GsymRs {
    const NAME: &'static str = "gsym-rs";
    const PACKAGE: &'static str = "gsym-rs";
    const ARTIFACT: Artifact = Artifact::Own;
    type Opened = Opened;

    fn build(binary: &Path, out: &Path) -> Result<()> {
        let map = mapped::map(binary)?;
        let options = ConversionOptions {
            dwarf: None,
            discovery: DiscoveryPolicy::Disabled,
            debuginfod_urls: Vec::new(),
            ..ConversionOptions::default()
        };
        let report = ElfConverter::new(options).convert(ElfInputs::new(&map))?;
        Ok(std::fs::write(out, report.builder.to_bytes()?)?)
    }

    fn open(artifact: &Path, _base: u64) -> Result<Opened> {
        open(artifact)
    }

    fn parse(mapped: &'static [u8]) -> Option<Result<()>> {
        Some(parse(mapped))
    }
}

impl Contender for GsymLlvm {
    const NAME: &'static str = "gsym-llvm";
    const PACKAGE: &'static str = "gsym-rs";
    const ARTIFACT: Artifact = Artifact::Own;
    type Opened = Opened;

    fn input(binary: &Path, dir: &Path) -> Result<PathBuf> {
        let map = mapped::map(binary)?;
        let file = object::File::parse(&*map)?;
        let debug = file.sections().any(|section| {
            section
                .name()
                .is_ok_and(|name| name.starts_with(".debug_") || name.starts_with(".zdebug_"))
        });
        if !debug {
            return Ok(binary.to_path_buf());
        }
        let copy = dir.join("without-dwarf");
        let tool = find(&["llvm-objcopy-19", "llvm-objcopy", "objcopy"])
            .ok_or("llvm-gsymutil needs a copy without DWARF, and no objcopy is installed")?;
        let status = Command::new(tool)
            .arg("--strip-debug")
            .arg(binary)
            .arg(&copy)
            .status()?;
        if !status.success() {
            return Err(format!("objcopy --strip-debug: {status}").into());
        }
        Ok(copy)
    }

    /// Becomes `llvm-gsymutil`: the process that is measured is the tool itself.
    fn build(binary: &Path, out: &Path) -> Result<()> {
        let tool = llvm_gsymutil().ok_or("llvm-gsymutil is not installed")?;
        let mut command = Command::new(tool);
        command
            .arg("--convert")
            .arg(binary)
            .arg("--out-file")
            .arg(out)
            .arg("--quiet")
            .stdout(Stdio::null());
        Err(command.exec().into())
    }

    fn open(artifact: &Path, _base: u64) -> Result<Opened> {
        open(artifact)
    }

    fn parse(mapped: &'static [u8]) -> Option<Result<()>> {
        Some(parse(mapped))
    }
}

/// LLVM's converter, the newest that is installed.
pub fn llvm_gsymutil() -> Option<PathBuf> {
    find(&["llvm-gsymutil-19", "llvm-gsymutil", "/usr/lib/llvm-19/bin/llvm-gsymutil"])
}

/// First of `tools` that exists, by absolute path or on PATH.
fn find(tools: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = |tool: &&str| {
        std::env::split_paths(&path)
            .map(|dir| dir.join(tool))
            .find(|file| file.is_file())
    };
    tools.iter().find_map(on_path)
}

impl Lookup for Opened {
    fn start(&mut self, addr: u64) -> Option<u64> {
        self.named(addr, |_, start| start)
    }

    fn named<R>(&mut self, addr: u64, f: impl FnOnce(&[u8], u64) -> R) -> Option<R> {
        let mut answer = None;
        let mut f = Some(f);
        let visit = |frame: gsym::LookupFrame<'_>| {
            if let Some(f) = f.take() {
                answer = Some(f(frame.name, addr.wrapping_sub(frame.offset)));
            }
        };
        // A damaged record counts as no answer; the check before the timing shows it.
        self.gsym
            .for_each_frame(addr, NAMES_ONLY, &mut self.scratch, visit)
            .ok()?;
        answer
    }

    fn inventory(&mut self) -> Option<Inventory> {
        let functions: Vec<_> = self
            .gsym
            .functions()
            .collect::<std::result::Result<_, _>>()
            .ok()?;
        Some(Inventory::count(
            functions
                .iter()
                .map(|function| (function.range().start, function.name())),
        ))
    }
}
