//! In: a binary, or a file with lines made from it. Out: frames through each library's own API.
//! Each as its users would: mapped where it can be, no demangling, no companion files, scratch space kept between lookups.
//! Never: gives a rival less than its best documented path.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use blazesym::symbolize::cache::{self, Cache};
use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};
use gsym::convert::{ConversionOptions, DiscoveryPolicy, ElfConverter, ElfInputs};
use gsym::{FrameLookupOptions, LookupScratch, MappedGsym};
use symbolic_debuginfo::Archive;
use symbolic_symcache::{SymCache, SymCacheConverter};
use symidx::{Index, Svma};
use symidx_indexer::BuildOptions;

use super::{Buffer, Contender, Rival, Session, View, Walk};
use crate::Result;
use crate::contenders::{Artifact, llvm_gsymutil};
use crate::mapped::{self, Parsed};

struct Runner<C>(PhantomData<C>);

impl<C: Contender> Rival for Runner<C>
where
    C::Opened: 'static,
{
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn artifact(&self) -> Artifact {
        C::ARTIFACT
    }

    fn threads(&self) -> bool {
        C::THREADS
    }

    fn answers(&self) -> bool {
        C::ANSWERS
    }

    fn build(&self, binary: &Path, out: &Path, threads: usize) -> Result<()> {
        C::build(binary, out, threads)
    }

    fn session(&self, artifact: &Path, base: u64) -> Result<Box<dyn Session>> {
        Ok(Box::new(C::open(artifact, base)?))
    }
}

pub fn all() -> Vec<Box<dyn Rival>> {
    fn runner<C: Contender + 'static>() -> Box<dyn Rival> {
        Box::new(Runner::<C>(PhantomData))
    }
    vec![
        runner::<Symidx>(),
        runner::<SymidxNames>(),
        runner::<SymidxBounded>(),
        runner::<Symcache>(),
        runner::<GsymRs>(),
        runner::<GsymLlvm>(),
        runner::<Blazesym>(),
        runner::<Addr2line>(),
    ]
}

// ---- symidx -----------------------------------------------------------------------------------

/// With lines; data objects are left out, as the rivals leave them.
struct Symidx;
/// The same without lines: what lines cost a lookup that does not ask for them.
struct SymidxNames;
/// The build alone, with a bound on its memory.
struct SymidxBounded;

fn build_symidx(
    binary: &Path,
    out: &Path,
    names_only: bool,
    max_memory: Option<u64>,
) -> Result<()> {
    let force = true;
    let options =
        BuildOptions { code_only: true, names_only, max_memory, force, ..BuildOptions::default() };
    symidx_indexer::build_file(binary, out, &options)?;
    Ok(())
}

struct OpenedSymidx {
    index: Index<'static>,
    buffer: Buffer,
}

fn open_symidx(artifact: &Path) -> Result<OpenedSymidx> {
    // SAFETY: the run's own file, complete before it is opened and not written after.
    Ok(OpenedSymidx { index: unsafe { Index::map(artifact)? }, buffer: Buffer::new() })
}

/// A corrupt index gives no frames; the check before the timing turns that into a difference.
fn each_frame<'a>(index: &'a Index<'static>, addr: u64, mut f: impl FnMut(View<'a>)) {
    let Ok(frames) = index.frames(Svma(addr)) else { return };
    for frame in frames {
        let Ok(frame) = frame else { break };
        let file = frame.file();
        f(View {
            function: frame.function().and_then(|name| name.as_bytes()).unwrap_or_default(),
            directory: file.and_then(|file| file.directory().as_bytes()).unwrap_or_default(),
            file: file.and_then(|file| file.name().as_bytes()).unwrap_or_default(),
            line: frame.line().unwrap_or(0),
        });
    }
}

impl Contender for Symidx {
    const NAME: &'static str = "symidx";
    const ARTIFACT: Artifact = Artifact::Own;
    const THREADS: bool = true;
    type Opened = OpenedSymidx;

    fn build(binary: &Path, out: &Path, _threads: usize) -> Result<()> {
        build_symidx(binary, out, false, None)
    }

    fn open(artifact: &Path, _base: u64) -> Result<Self::Opened> {
        open_symidx(artifact)
    }
}

impl Contender for SymidxNames {
    const NAME: &'static str = "symidx-names";
    const ARTIFACT: Artifact = Artifact::Own;
    type Opened = OpenedSymidx;

    fn build(binary: &Path, out: &Path, _threads: usize) -> Result<()> {
        build_symidx(binary, out, true, None)
    }

    fn open(artifact: &Path, _base: u64) -> Result<Self::Opened> {
        open_symidx(artifact)
    }
}

impl Contender for SymidxBounded {
    const NAME: &'static str = "symidx-256M";
    const ARTIFACT: Artifact = Artifact::Own;
    const THREADS: bool = true;
    const ANSWERS: bool = false;
    type Opened = OpenedSymidx;

    fn build(binary: &Path, out: &Path, _threads: usize) -> Result<()> {
        build_symidx(binary, out, false, Some(256 << 20))
    }

    fn open(artifact: &Path, _base: u64) -> Result<Self::Opened> {
        open_symidx(artifact)
    }
}

impl Walk for OpenedSymidx {
    fn walk(&mut self, addr: u64, f: impl FnMut(View<'_>)) {
        each_frame(&self.index, addr, f);
    }

    fn walk_paths(&mut self, addr: u64, mut f: impl FnMut(View<'_>)) {
        let Self { index, buffer } = self;
        each_frame(index, addr, |view| {
            f(View { directory: b"", file: buffer.join(&[view.directory, view.file]), ..view });
        });
    }

    fn symbol(&mut self, addr: u64) -> Option<u64> {
        Some(self.index.lookup(Svma(addr)).ok()??.start().0)
    }

    const SYMBOLS: bool = true;
}

// ---- symcache ---------------------------------------------------------------------------------

struct Symcache;

struct OpenedSymcache {
    cache: Parsed<SymCache<'static>>,
    base: u64,
}

impl Contender for Symcache {
    const NAME: &'static str = "symcache";
    const ARTIFACT: Artifact = Artifact::Own;
    type Opened = OpenedSymcache;

    fn build(binary: &Path, out: &Path, _threads: usize) -> Result<()> {
        let map = mapped::map(binary)?;
        let archive = Archive::parse(&map)?;
        let object = archive.objects().next().ok_or("no object in the file")??;
        let mut converter = SymCacheConverter::new();
        converter.process_object(&object)?;
        let mut file = BufWriter::new(File::create(out)?);
        converter.serialize(&mut file)?;
        Ok(file.flush()?)
    }

    fn open(artifact: &Path, base: u64) -> Result<OpenedSymcache> {
        let cache = Parsed::open(artifact, |bytes| Ok(SymCache::parse(bytes)?))?;
        Ok(OpenedSymcache { cache, base })
    }
}

impl Walk for OpenedSymcache {
    /// The file's parts are private: its handle is read, its strings are not.
    fn walk(&mut self, addr: u64, mut f: impl FnMut(View<'_>)) {
        for location in self.cache.lookup(addr.wrapping_sub(self.base)) {
            let function = location.function();
            std::hint::black_box(location.file());
            f(View {
                function: function.name().as_bytes(),
                directory: b"",
                file: b"",
                line: location.line(),
            });
        }
    }

    fn walk_paths(&mut self, addr: u64, mut f: impl FnMut(View<'_>)) {
        for location in self.cache.lookup(addr.wrapping_sub(self.base)) {
            let function = location.function();
            let path = location.file().map(|file| file.full_path()).unwrap_or_default();
            f(View {
                function: function.name().as_bytes(),
                directory: b"",
                file: path.as_bytes(),
                line: location.line(),
            });
        }
    }
}

// ---- GSYM -------------------------------------------------------------------------------------

struct GsymRs;
struct GsymLlvm;

struct OpenedGsym {
    gsym: MappedGsym,
    scratch: LookupScratch,
    buffer: Buffer,
}

const EVERYTHING: FrameLookupOptions =
    FrameLookupOptions { line_information: true, inline_frames: true };

fn open_gsym(artifact: &Path) -> Result<OpenedGsym> {
    // SAFETY: the run's own file, complete before it is opened and not written after.
    let gsym = unsafe { MappedGsym::map(artifact)? };
    Ok(OpenedGsym { gsym, scratch: LookupScratch::default(), buffer: Buffer::new() })
}

impl Contender for GsymRs {
    const NAME: &'static str = "gsym-rs";
    const ARTIFACT: Artifact = Artifact::Own;
    type Opened = OpenedGsym;

    fn build(binary: &Path, out: &Path, _threads: usize) -> Result<()> {
        let map = mapped::map(binary)?;
        let options = ConversionOptions {
            discovery: DiscoveryPolicy::Disabled,
            debuginfod_urls: Vec::new(),
            ..ConversionOptions::default()
        };
        let report = ElfConverter::new(options).convert(ElfInputs::new(&map))?;
        Ok(std::fs::write(out, report.builder.to_bytes()?)?)
    }

    fn open(artifact: &Path, _base: u64) -> Result<OpenedGsym> {
        open_gsym(artifact)
    }
}

impl Contender for GsymLlvm {
    const NAME: &'static str = "gsym-llvm";
    const ARTIFACT: Artifact = Artifact::Own;
    const THREADS: bool = true;
    type Opened = OpenedGsym;

    /// Becomes `llvm-gsymutil`: the process that is measured is the tool itself.
    fn build(binary: &Path, out: &Path, threads: usize) -> Result<()> {
        let mut command = Command::new(llvm_gsymutil().ok_or("llvm-gsymutil is not installed")?);
        command
            .arg("--convert")
            .arg(binary)
            .arg("--out-file")
            .arg(out)
            .arg(format!("--num-threads={threads}"))
            .arg("--quiet")
            .stdout(Stdio::null());
        Err(command.exec().into())
    }

    fn open(artifact: &Path, _base: u64) -> Result<OpenedGsym> {
        open_gsym(artifact)
    }
}

/// A damaged record gives no frames; the check before the timing shows it.
fn each_gsym<'a>(
    gsym: &'a MappedGsym,
    scratch: &mut LookupScratch,
    addr: u64,
    mut f: impl FnMut(View<'a>),
) {
    let visit = |frame: gsym::LookupFrame<'a>| {
        f(View {
            function: frame.name,
            directory: frame.directory,
            file: frame.basename,
            line: frame.line,
        });
    };
    let _ = gsym.for_each_frame(addr, EVERYTHING, scratch, visit);
}

impl Walk for OpenedGsym {
    fn walk(&mut self, addr: u64, f: impl FnMut(View<'_>)) {
        each_gsym(&self.gsym, &mut self.scratch, addr, f);
    }

    fn walk_paths(&mut self, addr: u64, mut f: impl FnMut(View<'_>)) {
        let Self { gsym, scratch, buffer } = self;
        each_gsym(gsym, scratch, addr, |view| {
            f(View { directory: b"", file: buffer.join(&[view.directory, view.file]), ..view });
        });
    }
}

// ---- on the binary itself ---------------------------------------------------------------------

struct Blazesym;

struct OpenedBlazesym {
    symbolizer: Symbolizer,
    source: Source<'static>,
}

impl Contender for Blazesym {
    const NAME: &'static str = "blazesym";
    const ARTIFACT: Artifact = Artifact::Binary;
    type Opened = OpenedBlazesym;

    fn open(artifact: &Path, _base: u64) -> Result<OpenedBlazesym> {
        let symbolizer =
            Symbolizer::builder().enable_auto_reload(false).enable_demangling(false).build();
        symbolizer.cache(&Cache::from(cache::Elf::new(artifact)))?;
        Ok(OpenedBlazesym { symbolizer, source: Source::Elf(Elf::new(artifact)) })
    }
}

impl OpenedBlazesym {
    fn each(&mut self, addr: u64, mut f: impl FnMut(&str, Option<&CodeInfo<'_>>)) {
        let answer = self.symbolizer.symbolize_single(&self.source, Input::VirtOffset(addr));
        if let Ok(Symbolized::Sym(symbol)) = answer {
            for inlined in symbol.inlined.iter().rev() {
                f(&inlined.name, inlined.code_info.as_ref());
            }
            f(&symbol.name, symbol.code_info.as_deref());
        }
    }
}

impl Walk for OpenedBlazesym {
    fn walk(&mut self, addr: u64, mut f: impl FnMut(View<'_>)) {
        self.each(addr, |name, place| {
            f(View {
                function: name.as_bytes(),
                directory: place
                    .and_then(|place| place.dir.as_deref())
                    .map_or(b"", |dir| dir.as_os_str().as_bytes()),
                file: place.map_or(b"", |place| place.file.as_bytes()),
                line: place.and_then(|place| place.line).unwrap_or(0),
            });
        });
    }

    fn walk_paths(&mut self, addr: u64, mut f: impl FnMut(View<'_>)) {
        self.each(addr, |name, place| {
            let path = place.map(CodeInfo::to_path).unwrap_or_default();
            let line = place.and_then(|place| place.line).unwrap_or(0);
            f(View {
                function: name.as_bytes(),
                directory: b"",
                file: path.as_os_str().as_bytes(),
                line,
            });
        });
    }
}

struct Addr2line;

struct OpenedAddr2line(addr2line::Loader);

impl Contender for Addr2line {
    const NAME: &'static str = "addr2line";
    const ARTIFACT: Artifact = Artifact::Binary;
    type Opened = OpenedAddr2line;

    fn open(artifact: &Path, _base: u64) -> Result<OpenedAddr2line> {
        let loader = addr2line::Loader::new(artifact);
        loader.map(OpenedAddr2line).map_err(|error| error.to_string().into())
    }
}

impl Walk for OpenedAddr2line {
    /// Its paths come joined: there is no cheaper way to ask.
    fn walk(&mut self, addr: u64, mut f: impl FnMut(View<'_>)) {
        let Ok(mut frames) = self.0.find_frames(addr) else { return };
        while let Ok(Some(frame)) = frames.next() {
            let name =
                frame.function.as_ref().and_then(|name| name.raw_name().ok()).unwrap_or_default();
            let place = frame.location.as_ref();
            f(View {
                function: name.as_bytes(),
                directory: b"",
                file: place.and_then(|place| place.file).map_or(b"", str::as_bytes),
                line: place.and_then(|place| place.line).unwrap_or(0),
            });
        }
    }

    fn walk_paths(&mut self, addr: u64, f: impl FnMut(View<'_>)) {
        self.walk(addr, f);
    }
}
